/* Models made by tests: attributes, nodes, inputs and outputs that tpat itself never adds. */
#ifndef TPAT_TESTS_ONNX_MAKE_H
#define TPAT_TESTS_ONNX_MAKE_H

#include <string.h>

#include "onnx/onnx_internal.h"

/* Makes a model with an empty graph `graph_name` that imports `opset` of the default domain. */
static inline struct onnx_model *onnx_model_empty(int64_t ir_version, int64_t opset, const char *graph_name)
{
	static const char empty_graph[] = { 0x3a, 0 }; /* field 7 of a ModelProto, without a byte */
	struct onnx_model *m;
	struct err e = { 0 };
	ck(onnx_model_parse(&m, empty_graph, sizeof empty_graph, NULL, &e) == 0);
	m->proto->has_ir_version = 1;
	m->proto->ir_version = ir_version;
	m->proto->graph = onnx_graph_new(m, graph_name);
	onnx_opset_import(m, "", opset);
	return m;
}

/* Writes a file of one TensorProto. */
static inline int onnx_tensor_write_file(const char *path, const struct tensor *t, const char *name, struct err *e)
{
	struct arena *scratch = arena_new();
	struct file_out f;
	int rc = file_out_begin(&f, path, e);
	if (rc == 0)
		rc = onnx_wire_write(&f, &onnx_tensor_store(t, name, scratch)->base, e);
	if (rc == 0)
		rc = file_out_commit(&f, e);
	file_out_abandon(&f);
	arena_free(scratch);
	return rc;
}

static inline void onnx_node_set_float(struct onnx_model *m, Onnx__NodeProto *node, const char *name, float x)
{
	Onnx__AttributeProto *a = onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
	a->has_f = 1;
	a->f = x;
}

static inline void onnx_node_set_floats(struct onnx_model *m, Onnx__NodeProto *node, const char *name, const float *x,
                                        int n)
{
	Onnx__AttributeProto *a = onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
	a->floats = NEWN(m->arena, float, n);
	a->n_floats = (size_t)n;
	if (n)
		memcpy(a->floats, x, sizeof *x * (size_t)n);
}

static inline void onnx_node_set_strings(struct onnx_model *m, Onnx__NodeProto *node, const char *name,
                                         const char *const *x, int n)
{
	Onnx__AttributeProto *a = onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS);
	a->strings = NEWN(m->arena, ProtobufCBinaryData, n);
	a->n_strings = (size_t)n;
	for (int i = 0; i < n; i++)
		a->strings[i] = (ProtobufCBinaryData){ strlen(x[i]), (uint8_t *)arena_strdup(m->arena, x[i]) };
}

#endif
