/* Fuzz target: a model file from memory through reading, checking, indexing, decoding of tensors, writing and reading
 * again. */
#include "onnx/onnx.h"

#include "tests/fuzz/fuzz_main.h"

struct decode {
	struct onnx_model *model;
	struct arena *scratch;
};

static volatile uint64_t sum;

static int decode(void *arg, ProtobufCMessage *message)
{
	struct decode *d = arg;
	struct err e = { 0 };
	struct tensor t;
	if (onnx_tensor_load(&t, (const Onnx__TensorProto *)message, d->model, d->scratch, &e) == 0 && t.data)
		sum ^= hash_bytes(0, t.data, (size_t)tensor_bytes(&t)); /* touches every byte */
	return 0;
}

static int index_graph(void *arg, ProtobufCMessage *message)
{
	struct decode *d = arg;
	Onnx__GraphProto *g = (Onnx__GraphProto *)message;
	struct onnx_index *x = onnx_index_new(d->model, g, d->scratch);
	struct err e = { 0 };
	int found;
	for (size_t i = 0; i < g->n_node && i < 50; i++) {
		/* every label must find its own node: else users cannot select it */
		if (onnx_node_find(&found, x, onnx_node_label(x, (int)i), &e) < 0 || found != (int)i)
			finding("a label finds another node", e.text);
	}
	(void)onnx_node_find(&found, x, "no such node", &e);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct onnx_model *m, *again;
	struct err e = { 0 };
	limit_time();
	if (onnx_model_parse(&m, data, size, NULL, &e) < 0) {
		look_at(&e);
		if (m)
			finding("a failure with a model", e.text);
		return 0;
	}
	struct decode d = { m, arena_new() };
	onnx_visit(&m->proto->base, &onnx__tensor_proto__descriptor, decode, &d);
	onnx_visit(&m->proto->base, &onnx__graph_proto__descriptor, index_graph, &d);
	if (onnx_model_check(m, &e) == 0)
		onnx_graph_drop_unused(m, m->proto->graph);
	else
		look_at(&e);
	onnx_name_unique(m, "x");
	size_t packed = protobuf_c_message_get_packed_size(&m->proto->base);
	uint8_t *bytes = arena_alloc(d.scratch, packed);
	if (protobuf_c_message_pack(&m->proto->base, bytes) != packed)
		finding("packed, it has another size", "");
	err_clear(&e);
	if (onnx_model_parse(&again, bytes, packed, NULL, &e) < 0) /* written files must be readable */
		finding("what is written cannot be read", e.text);
	onnx_model_free(again);
	arena_free(d.scratch);
	onnx_model_free(m);
	return 0;
}
