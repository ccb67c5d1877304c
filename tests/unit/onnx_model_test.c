/* The model file: reading and writing preserves every byte; damaged files are refused with a sentence. */
#include "onnx/onnx.h"
#include "onnx_make.h"

#include "test.h"

/* ------------------------------------------------------------------ bytes by hand */

struct wire {
	unsigned char at[4096];
	size_t n;
};

static void put(struct wire *w, unsigned long long x)
{
	for (; x >= 0x80; x >>= 7)
		w->at[w->n++] = (unsigned char)(x | 0x80);
	w->at[w->n++] = (unsigned char)x;
}

static void put_int(struct wire *w, int field, unsigned long long x)
{
	put(w, (unsigned)field << 3);
	put(w, x);
}

static void put_bytes(struct wire *w, int field, const void *data, size_t n)
{
	put(w, (unsigned)field << 3 | 2);
	put(w, n);
	memcpy(w->at + w->n, data, n);
	w->n += n;
}

static void put_text(struct wire *w, int field, const char *s)
{
	put_bytes(w, field, s, strlen(s));
}

static void put_message(struct wire *w, int field, const struct wire *m)
{
	put_bytes(w, field, m->at, m->n);
}

/* Fields of a later format: a number, a text, 4 and 8 bytes. */
static void put_unknown(struct wire *w)
{
	put_int(w, 900, 12345678901234ull);
	put_text(w, 901, "a field of IR version 99");
	put(w, 902 << 3 | 5);
	memcpy(w->at + w->n, "\1\2\3\4", 4);
	w->n += 4;
	put(w, 903 << 3 | 1);
	memcpy(w->at + w->n, "\1\2\3\4\5\6\7\10", 8);
	w->n += 8;
}

/* If(c) with a body that reads "x" of the graph; a constant "w" with raw data; a function; unknown fields everywhere.
 * Fields ascend and unknown ones come last, as protobuf-c writes them. `opset_last` instead ends the file with what
 * a model cannot do without. */
static struct wire sample(bool opset_last)
{
	struct wire value = { 0 }, body_node = { 0 }, body = { 0 }, attr = { 0 }, node = { 0 }, tensor = { 0 },
	            graph = { 0 }, opset = { 0 }, fn = { 0 }, fn_node = { 0 }, empty = { 0 }, model = { 0 };
	put_text(&body_node, 1, "x");
	put_text(&body_node, 2, "y1");
	put_text(&body_node, 4, "Identity");
	put_unknown(&body_node);
	put_text(&value, 1, "y1");
	put_message(&body, 1, &body_node);
	put_text(&body, 2, "then");
	put_message(&body, 12, &value);
	put_unknown(&body);
	put_text(&attr, 1, "then_branch");
	put_message(&attr, 6, &body);
	put_int(&attr, 20, 5);
	put_unknown(&attr);
	put_text(&node, 1, "c");
	put_text(&node, 2, "y");
	put_text(&node, 3, "");
	put_text(&node, 4, "If");
	put_message(&node, 5, &attr);
	put_text(&node, 7, "");
	put_unknown(&node);
	put_int(&tensor, 1, 2);
	put_int(&tensor, 2, TYPE_F32);
	put_text(&tensor, 8, "w");
	put_bytes(&tensor, 9, "\0\0\200\77\0\0\0\100", 8);
	put_unknown(&tensor);
	put_message(&graph, 1, &node);
	put_text(&graph, 2, "g");
	put_message(&graph, 5, &tensor);
	value.n = 0;
	put_text(&value, 1, "x");
	put_message(&graph, 11, &value);
	value.n = 0;
	put_text(&value, 1, "c");
	put_message(&value, 2, &empty);
	put_message(&graph, 11, &value);
	value.n = 0;
	put_text(&value, 1, "y");
	put_message(&graph, 12, &value);
	put_unknown(&graph);
	put_text(&fn_node, 1, "a");
	put_text(&fn_node, 2, "b");
	put_text(&fn_node, 4, "Relu");
	put_text(&fn, 1, "F");
	put_text(&fn, 4, "a");
	put_text(&fn, 5, "b");
	put_message(&fn, 7, &fn_node);
	put_text(&opset, 1, "");
	put_int(&opset, 2, 17);
	put_unknown(&opset);
	put_message(&fn, 9, &opset);
	put_text(&fn, 10, "local");
	put_unknown(&fn);
	put_int(&model, 1, 8);
	put_text(&model, 2, "");
	put_int(&model, 5, 0);
	put_message(&model, 7, &graph);
	if (!opset_last)
		put_message(&model, 8, &opset);
	put_message(&model, 25, &fn);
	if (opset_last)
		put_message(&model, 8, &opset);
	else
		put_unknown(&model);
	return model;
}

/* ------------------------------------------------------------------ tests */

static const char *folder;
static struct arena *scratch;

static const char *in_folder(const char *name)
{
	return path_join(scratch, folder, name);
}

static void test_round_trip(void)
{
	struct wire w = sample(false);
	struct onnx_model *m = NULL;
	struct err e = { 0 };
	struct file_map f;
	CHECK_INT(onnx_model_parse(&m, w.at, w.n, NULL, &e), 0);
	CHECK_INT(onnx_model_write(m, in_folder("first.onnx"), NULL, &e), 0);
	onnx_model_free(m);
	CHECK_INT(file_map_open(&f, in_folder("first.onnx"), &e), 0);
	CHECK(f.size == w.n && memcmp(f.data, w.at, w.n) == 0);
	file_map_close(&f);

	CHECK_INT(onnx_model_read(&m, in_folder("first.onnx"), &e), 0);
	CHECK_INT(onnx_model_check(m, &e), 0);
	CHECK_STR(e.text, "");
	CHECK_INT(onnx_model_write(m, in_folder("first.onnx"), NULL, &e), 0); /* over the file that is mapped */
	CHECK_INT(file_map_open(&f, in_folder("first.onnx"), &e), 0);
	CHECK(f.size == w.n && memcmp(f.data, w.at, w.n) == 0);
	file_map_close(&f);

	const Onnx__GraphProto *g = m->proto->graph;
	CHECK_INT(g->n_node, 1);
	CHECK_INT(g->node[0]->base.n_unknown_fields, 4);
	CHECK_INT(g->node[0]->attribute[0]->g->node[0]->base.n_unknown_fields, 4);
	CHECK_INT(g->initializer[0]->base.n_unknown_fields, 4);
	CHECK_INT(m->proto->functions[0]->base.n_unknown_fields, 4);
	CHECK(g->node[0]->name && !*g->node[0]->name);
	CHECK(!g->doc_string);
	CHECK(g->input[1]->type && !g->input[0]->type);
	CHECK(m->proto->has_model_version && m->proto->model_version == 0);
	CHECK_INT(m->proto->base.n_unknown_fields, 4);
	CHECK_INT(onnx_opset(m, "ai.onnx"), 17);
	CHECK_INT(onnx_opset(m, ""), 17);
	CHECK_INT(onnx_opset(m, "other"), 0);
	onnx_model_free(m);
}

/* raw_data is not copied, even if a tensor or a field occurs twice. */
static void test_raw_data_in_place(void)
{
	struct wire w = sample(false);
	struct onnx_model *m = NULL;
	struct err e = { 0 };
	CHECK_INT(onnx_model_parse(&m, w.at, w.n, NULL, &e), 0);
	const Onnx__TensorProto *t = m->proto->graph->initializer[0];
	CHECK_INT(t->raw_data.len, 8);
	CHECK(t->raw_data.data > w.at && t->raw_data.data < w.at + w.n);
	onnx_model_free(m);

	struct wire tensor = { 0 }, attr = { 0 }, node = { 0 }, graph = { 0 }, model = { 0 };
	put_bytes(&tensor, 9, "old", 3);
	put_bytes(&tensor, 9, "new!", 4);
	put_message(&attr, 5, &tensor);
	tensor.n = 0;
	put_text(&tensor, 8, "merged");
	put_message(&attr, 5, &tensor); /* the same field again: protobuf joins the two */
	put_message(&node, 5, &attr);
	put_message(&graph, 1, &node);
	put_message(&model, 7, &graph);
	CHECK_INT(onnx_model_parse(&m, model.at, model.n, NULL, &e), 0);
	t = m->proto->graph->node[0]->attribute[0]->t;
	CHECK_STR(t->name, "merged");
	CHECK_INT(t->raw_data.len, 4);
	CHECK(memcmp(t->raw_data.data, "new!", 4) == 0);
	onnx_model_free(m);
}

/* Every proper prefix of a model either cannot be parsed or fails the check. */
static void test_truncated(void)
{
	struct wire w = sample(true);
	int accepted = 0, without_sentence = 0;
	for (size_t n = 0; n < w.n; n++) {
		struct onnx_model *m;
		struct err e = { 0 };
		void *copy = arena_alloc(scratch, n); /* so that AddressSanitizer sees a read past the end */
		memcpy(copy, w.at, n);
		int rc = onnx_model_parse(&m, copy, n, NULL, &e);
		if (rc == 0) {
			rc = onnx_model_check(m, &e);
			onnx_model_free(m);
		} else {
			CHECK(m == NULL);
			without_sentence += !strstr(e.text, "is not an ONNX model, or is cut off") || !e.advice[0];
		}
		accepted += rc == 0;
		CHECK_INT(rc, ERR_MODEL);
	}
	CHECK_INT(accepted, 0);
	CHECK_INT(without_sentence, 0);
}

static void expect_bad(const struct wire *w, const char *words)
{
	struct onnx_model *m;
	struct err e = { 0 };
	CHECK_INT(onnx_model_parse(&m, w->at, w->n, NULL, &e), ERR_MODEL);
	CHECK(m == NULL);
	if (!strstr(e.text, words))
		CHECK_STR(e.text, words);
}

static void test_damaged(void)
{
	struct wire w = { 0 };
	expect_bad(&w, "there is no graph");
	put_int(&w, 7, 1); /* the graph as a number */
	expect_bad(&w, "another type");
	w.n = 0;
	put_int(&w, 0, 1);
	expect_bad(&w, "a field number is impossible");
	w.n = 0;
	put(&w, 5 << 3 | 3); /* a group */
	expect_bad(&w, "a wire type that ONNX does not use");
	w.n = 0;
	put_bytes(&w, 2, "a\0b", 3);
	expect_bad(&w, "a text contains a NUL");
	w.n = 0;
	put(&w, 7 << 3 | 2);
	put(&w, ~0ull); /* a length of 2^64 - 1 */
	expect_bad(&w, "longer than the rest of the file");
	w.n = 0;
	put(&w, 1 << 3);
	memset(w.at + w.n, 0xff, 12);
	w.n += 12;
	expect_bad(&w, "is not terminated");

	/* subgraphs in subgraphs: 30 levels are read, 40 are not */
	for (int levels = 30; levels <= 40; levels += 10) {
		struct wire graph = { 0 };
		for (int i = 0; i < levels; i++) {
			struct wire attr = { 0 }, node = { 0 };
			put_message(&attr, 6, &graph);
			put_message(&node, 5, &attr);
			graph.n = 0;
			put_message(&graph, 1, &node);
		}
		w.n = 0;
		put_message(&w, 7, &graph);
		struct onnx_model *m = NULL;
		struct err e = { 0 };
		CHECK_INT(onnx_model_parse(&m, w.at, w.n, NULL, &e), levels == 30 ? 0 : ERR_MODEL);
		CHECK(levels == 30 || strstr(e.text, "nested more than 100 levels"));
		onnx_model_free(m);
	}

	struct onnx_model *m;
	struct err e = { 0 };
	CHECK_INT(onnx_model_parse(&m, "version https://git-lfs.github.com/spec/v1\n", 43, NULL, &e), ERR_MODEL);
	CHECK(strstr(e.advice, "git lfs pull"));
	err_clear(&e);
	CHECK_INT(onnx_model_read(&m, in_folder("absent.onnx"), &e), ERR_MODEL);
	CHECK(strstr(e.text, "absent.onnx: cannot be opened"));
}

/* No changed byte causes a crash, and a model that can be read can be written and read again. */
static void test_flipped(void)
{
	struct wire w = sample(false);
	int read = 0, again = 0;
	for (size_t i = 0; i < w.n; i++) {
		for (int bit = 0; bit < 8; bit++) {
			struct onnx_model *m, *second;
			struct err e = { 0 };
			w.at[i] ^= (unsigned char)(1 << bit);
			if (onnx_model_parse(&m, w.at, w.n, NULL, &e) == 0) {
				size_t n = protobuf_c_message_get_packed_size(&m->proto->base);
				struct arena *a = arena_new();
				unsigned char *bytes = arena_alloc(a, n);
				read++;
				onnx_model_check(m, &e);
				err_clear(&e);
				n = protobuf_c_message_pack(&m->proto->base, bytes);
				again += onnx_model_parse(&second, bytes, n, NULL, &e) == 0;
				onnx_model_free(second);
				onnx_model_free(m);
				arena_free(a);
			}
			w.at[i] ^= (unsigned char)(1 << bit);
		}
	}
	CHECK(read > 100);
	CHECK_INT(again, read);
}

static int count_graph(void *arg, ProtobufCMessage *message)
{
	(void)message;
	return ++*(int *)arg == 100 ? -1 : 0;
}

static void test_visit(void)
{
	struct wire w = sample(false);
	struct onnx_model *m = NULL;
	struct err e = { 0 };
	int graphs = 0, nodes = 0;
	CHECK_INT(onnx_model_parse(&m, w.at, w.n, NULL, &e), 0);
	CHECK_INT(onnx_visit(&m->proto->base, &onnx__graph_proto__descriptor, count_graph, &graphs), 0);
	CHECK_INT(onnx_visit(&m->proto->base, &onnx__node_proto__descriptor, count_graph, &nodes), 0);
	CHECK_INT(graphs, 2);
	CHECK_INT(nodes, 3); /* the If, its body's, the function's */
	nodes = 98;
	CHECK_INT(onnx_visit(&m->proto->base, &onnx__node_proto__descriptor, count_graph, &nodes), -1);
	CHECK_INT(nodes, 100);
	onnx_model_free(m);
}

static void test_write_fails_whole(void)
{
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	struct err e = { 0 };
	CHECK_INT(onnx_model_write(m, in_folder("no/such/folder/x.onnx"), NULL, &e), ERR_USAGE);
	CHECK(strstr(e.text, "no/such/folder/x.onnx"));
	onnx_model_free(m);
}

static void test_versions(void)
{
	struct onnx_model *m = onnx_model_empty(3, 9, "g");
	int64_t dim[1] = { 2 };
	struct tensor t;
	struct err e = { 0 };
	CHECK_INT(tensor_new(&t, TYPE_F32, 1, dim, scratch, &e), 0);
	onnx_graph_add_input(m, m->proto->graph, onnx_value_info_new(m, "x", TYPE_F32, 1, dim, NULL));
	onnx_graph_add_input(m, m->proto->graph, onnx_value_info_new(m, "w", TYPE_F32, 1, dim, NULL));
	onnx_graph_add_initializer(m, m->proto->graph, onnx_tensor_store(&t, "w", m->arena));
	onnx_ir_raise(m, 2);
	CHECK_INT(m->proto->ir_version, 3);
	CHECK_INT(m->proto->graph->n_input, 2);
	onnx_ir_raise(m, 8); /* "w" is a constant; as an input it would be a default that callers may replace */
	CHECK_INT(m->proto->ir_version, 8);
	CHECK_INT(m->proto->graph->n_input, 1);
	CHECK_STR(m->proto->graph->input[0]->name, "x");
	onnx_opset_import(m, "ai.onnx", 13);
	CHECK_INT(onnx_opset(m, ""), 9);
	onnx_opset_import(m, "tpat", 1);
	CHECK_INT(onnx_opset(m, "tpat"), 1);
	CHECK_INT(m->proto->n_opset_import, 2);
	m->proto->n_opset_import = 0;
	m->proto->ir_version = 2; /* has no field for it yet */
	CHECK_INT(onnx_opset(m, ""), 1);
	onnx_model_free(m);
}

int main(void)
{
	struct err e = { 0 };
	char *path;
	scratch = arena_new();
	CHECK_INT(file_temp_dir(&path, scratch, &e), 0);
	folder = path;
	test_round_trip();
	test_raw_data_in_place();
	test_truncated();
	test_damaged();
	test_flipped();
	test_visit();
	test_write_fails_whole();
	test_versions();
	file_remove_tree(folder);
	arena_free(scratch);
	return test_done();
}
