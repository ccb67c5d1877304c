/* Lookups in a graph, its attributes, the structural check, and edits. */
#include "base/foreign.h"
#include "onnx/onnx_internal.h"
#include "onnx_make.h"

#include "test.h"

static struct arena *scratch;

/* A model from lines "name op in,in out,out" ("-": none), with graph input x and graph output `output`. */
static struct onnx_model *graph(const char *output, const char *const *line)
{
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	int64_t dim[1] = { 4 };
	for (; *line; line++) {
		char name[64], op[64], in[64], out[64], *save, *s;
		sscanf(*line, "%63s %63s %63s %63s", name, op, in, out);
		Onnx__NodeProto *node = onnx_node_new(m, "", op, strcmp(name, "-") ? name : NULL);
		for (s = strtok_r(in, ",", &save); s && strcmp(in, "-"); s = strtok_r(NULL, ",", &save))
			onnx_node_input(m, node, s);
		for (s = strtok_r(out, ",", &save); s && strcmp(out, "-"); s = strtok_r(NULL, ",", &save))
			onnx_node_output(m, node, s);
		onnx_graph_add_node(m, m->proto->graph, node);
	}
	onnx_graph_add_input(m, m->proto->graph, onnx_value_info_new(m, "x", TYPE_F32, 1, dim, NULL));
	onnx_graph_add_output(m, m->proto->graph, onnx_value_info_new(m, output, TYPE_F32, 1, dim, NULL));
	return m;
}
#define GRAPH(output, ...) graph(output, (const char *const[]){ __VA_ARGS__, NULL })

static void add_weight(struct onnx_model *m, Onnx__GraphProto *g, const char *name)
{
	int64_t dim[1] = { 4 };
	struct tensor t;
	struct err e = { 0 };
	CHECK_INT(tensor_new(&t, TYPE_F32, 1, dim, scratch, &e), 0);
	onnx_graph_add_initializer(m, g, onnx_tensor_store(&t, name, m->arena));
}

/* The order of the nodes by their outputs: "a b c". */
static const char *order(const Onnx__GraphProto *g)
{
	struct str s = str_new(scratch);
	for (size_t i = 0; i < g->n_node; i++)
		str_printf(&s, "%s%s", i ? " " : "", g->node[i]->output[0]);
	return str_text(&s);
}

/* An If on "x" whose branch reads `reads` and "inner_w", its own initializer. */
static Onnx__NodeProto *if_node(struct onnx_model *m, const char *reads, const char *output)
{
	Onnx__GraphProto *body = onnx_graph_new(m, "body");
	Onnx__NodeProto *add = onnx_node_new(m, "", "Add", "inner_add"), *node = onnx_node_new(m, "", "If", NULL);
	onnx_node_input(m, add, reads);
	onnx_node_input(m, add, "inner_w");
	onnx_node_output(m, add, "inner_y");
	onnx_graph_add_node(m, body, add);
	add_weight(m, body, "inner_w");
	onnx_graph_add_output(m, body, onnx_value_info_new(m, "inner_y", TYPE_F32, -1, NULL, NULL));
	onnx_node_input(m, node, "x");
	onnx_node_output(m, node, output);
	onnx_node_set_graph(m, node, "then_branch", body);
	onnx_node_set_graph(m, node, "else_branch", body);
	return node;
}

static void expect_find(const struct onnx_index *x, const char *text, int want, const char *advice)
{
	struct err e = { 0 };
	int got = -1, rc = onnx_node_find(&got, x, text, &e);
	CHECK_INT(got, want);
	CHECK_INT(rc, want >= 0 ? 0 : ERR_USAGE);
	CHECK_STR(e.advice, advice);
}

static void test_names(void)
{
	struct onnx_model *m =
	        GRAPH("e", "conv1 Conv x a", "- Relu a b", "same Add a,b c", "same Add b,c d,d2", "#1 Add d e");
	onnx_graph_add_node(m, m->proto->graph, if_node(m, "c", "f"));
	struct onnx_index *x = onnx_index_new(m, NULL, scratch);
	static const char *const label[] = { "conv1", "#1", "#2", "#3", "#4", "#5" };
	for (int i = 0; i < 6; i++) {
		CHECK_STR(onnx_node_label(x, i), label[i]);
		expect_find(x, label[i], i, "");
	}
	expect_find(x, "a", 0, "");
	expect_find(x, "d2", 3, "");
	expect_find(x, "same", -1, "Name one of them: #2, #3.");
	expect_find(x, "cnv1", -1, "Did you mean \"conv1\"?");
	expect_find(x, "#6", -1, "The graph's nodes are #0 to #5.");
	expect_find(x, "x", -1, "\"x\" is an input of the graph: name the node that reads it.");
	expect_find(x, "inner_add", -1,
	            "\"inner_add\" is inside of a subgraph or a function; name the node that holds or calls it.");
	expect_find(x, "", -1, "tpat list model shows the nodes.");

	struct onnx_value *v = onnx_value_find(x, "c");
	CHECK(v && v->producer == 2 && v->output == 0 && v->readers.n == 2 && v->readers.at[0] == 3 &&
	      v->readers.at[1] == 5);
	v = onnx_value_find(x, "d2");
	CHECK(v && v->producer == 3 && v->output == 1 && v->readers.n == 0);
	v = onnx_value_find(x, "x");
	CHECK(v && v->producer == -1 && v->is_input && !v->is_output && v->info && v->readers.n == 2);
	v = onnx_value_find(x, "e");
	CHECK(v && v->is_output && v->producer == 4);
	CHECK(!onnx_value_find(x, "inner_w") && !onnx_value_find(x, "") && !onnx_value_find(x, "nothing"));
	struct map outside = onnx_node_captures(m->proto->graph->node[5], scratch);
	CHECK_INT(outside.n, 1);
	CHECK_STR(outside.entry[0].name, "c");

	enum type type = TYPE_NONE;
	const Onnx__TensorShapeProto *shape = NULL;
	CHECK(onnx_value_type(onnx_value_find(x, "e")->info, &type, &shape));
	CHECK(type == TYPE_F32 && shape && shape->n_dim == 1 && shape->dim[0]->dim_value == 4);
	CHECK(!onnx_value_type(onnx_value_find(x, "a")->info, &type, &shape));

	CHECK_STR(onnx_name_unique(m, "fresh"), "fresh");
	CHECK_STR(onnx_name_unique(m, "fresh"), "fresh_1");
	CHECK_STR(onnx_name_unique(m, "inner_w"), "inner_w_1");
	CHECK_STR(onnx_name_unique(m, "conv1"), "conv1_1");
	onnx_node_output(m, m->proto->graph->node[0], "later");
	CHECK_STR(onnx_name_unique(m, "later"), "later_1");
	onnx_model_free(m);
}

static void test_attributes(void)
{
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	Onnx__NodeProto *n = onnx_node_new(m, "", "Gather", NULL);
	struct err e = { 0 };
	int64_t i, list[2] = { 3, -4 };
	float floats[1] = { 2.5f };
	const char *s, *text[2] = { "a", "" };
	onnx_node_output(m, n, "y");
	onnx_node_set_int(m, n, "axis", 1);
	onnx_node_set_int(m, n, "axis", -2); /* replaces */
	onnx_node_set_float(m, n, "alpha", 0.5f);
	onnx_node_set_string(m, n, "mode", "linear");
	onnx_node_set_ints(m, n, "pads", list, 2);
	onnx_node_set_floats(m, n, "scales", floats, 1);
	onnx_node_set_strings(m, n, "names", text, 2);
	onnx_node_set_ints(m, n, "none", NULL, 0);
	CHECK_INT(n->n_attribute, 7);
	CHECK(onnx_attr_int(&i, n, "axis", 7, &e) == 0 && i == -2);
	CHECK(onnx_attr_int(&i, n, "absent", 7, &e) == 0 && i == 7);
	CHECK_INT(onnx_attr_string(&s, n, "mode", "x", scratch, &e), 0);
	CHECK_STR(s, "linear");
	CHECK_INT(onnx_attr_string(&s, n, "absent", "x", scratch, &e), 0);
	CHECK_STR(s, "x");

	CHECK_INT(onnx_attr_int(&i, n, "mode", 0, &e), ERR_MODEL);
	CHECK_STR(
	        e.text,
	        "attribute \"mode\" of the node (Gather) that makes \"y\" must be an integer, the file has a string.");
	err_clear(&e);
	n->name = (char *)"pick";
	CHECK_INT(onnx_attr_string(&s, n, "axis", "x", scratch, &e), ERR_MODEL);
	CHECK_STR(e.text, "attribute \"axis\" of node \"pick\" (Gather) must be a string, the file has an integer.");
	err_clear(&e);
	n->attribute[0]->has_type = 0; /* IR version 1: the present field implies the type */
	CHECK(onnx_attr_int(&i, n, "axis", 7, &e) == 0 && i == -2);
	CHECK_INT(onnx_attr_string(&s, n, "axis", "x", scratch, &e), ERR_MODEL);
	err_clear(&e);
	n->attribute[0]->has_type = 1;
	n->attribute[0]->type = 77;
	CHECK_INT(onnx_attr_int(&i, n, "axis", 7, &e), ERR_MODEL);
	CHECK(strstr(e.text, "a type of a later ONNX version"));
	err_clear(&e);
	n->attribute[0]->ref_attr_name = (char *)"outer";
	CHECK_INT(onnx_attr_int(&i, n, "axis", 7, &e), ERR_UNSUPPORTED);
	CHECK(strstr(e.text, "\"outer\" of a function"));
	onnx_model_free(m);
}

static void expect_check(struct onnx_model *m, const char *words, const char *advice)
{
	struct err e = { 0 };
	CHECK_INT(onnx_model_check(m, &e), *words ? ERR_MODEL : 0);
	if (*words ? !strstr(e.text, words) : e.text[0])
		CHECK_STR(e.text, words);
	if (!strstr(e.advice, advice))
		CHECK_STR(e.advice, advice);
	CHECK(!*words || strstr(e.where, "model: "));
	onnx_model_free(m);
}

static void test_structure(void)
{
	struct onnx_model *m;
	expect_check(onnx_model_empty(8, 17, "empty"), "", "");
	expect_check(GRAPH("b", "- A x a", "- B a b"), "", "");
	expect_check(onnx_model_empty(0, 17, "g"), "no IR version", "ir_version");
	expect_check(GRAPH("b", "- A x a", "n B aa b"), "node \"n\" (B) reads \"aa\", which no", "\"a\"");
	expect_check(GRAPH("b", "- A x a"), "gives out \"b\"", "");
	expect_check(GRAPH("a", "- A x a", "n B x a"),
	             "\"a\" is defined twice: by the node (A) that makes \"a\" and by node \"n\" (B)", "rename");
	expect_check(GRAPH("a", "- A x a", "n B x x"), "\"x\" is defined twice: by an input and by node \"n\"", "");
	expect_check(GRAPH("c", "- A x,c a", "- B a b", "q C b c", "- D c d"),
	             "form a cycle: #0 (A) -> #1 (B) -> q (C) -> #0", "cannot have a cycle");
	expect_check(GRAPH("a", "self A x,a a"), "form a cycle: self (A) -> self", "");

	m = GRAPH("d", "- D c d", "- B a b", "- A x a", "- C b,a c", "- E x e"); /* merely unsorted */
	struct err e = { 0 };
	CHECK_INT(onnx_model_check(m, &e), 0);
	CHECK_STR(order(m->proto->graph), "a b c d e");
	onnx_model_free(m);
	m = GRAPH("f", "- A x a"); /* the If reads "b" inside only */
	onnx_graph_add_node(m, m->proto->graph, if_node(m, "b", "f"));
	Onnx__NodeProto *late = onnx_node_new(m, "", "B", NULL);
	onnx_node_input(m, late, "a");
	onnx_node_output(m, late, "b");
	onnx_graph_add_node(m, m->proto->graph, late);
	CHECK_INT(onnx_model_check(m, &e), 0);
	CHECK_STR(order(m->proto->graph), "a b f");
	m->proto->graph->node[2]->attribute[0]->g->node[0]->input[0] = (char *)"bb";
	expect_check(m, "node \"inner_add\" (Add) reads \"bb\"", "");

	m = GRAPH("a", "- A x a");
	m->proto->graph->node[0]->domain = (char *)"com.other"; /* is imported then */
	CHECK_INT(onnx_model_check(m, &e), 0);
	CHECK_INT(onnx_opset(m, "com.other"), 1);
	onnx_model_free(m);
	m = GRAPH("a", "- A x a");
	m->proto->n_opset_import = 0;
	expect_check(m, "domain \"ai.onnx\", but", "");
	m = GRAPH("a", "- A x a");
	m->proto->n_opset_import = 0;
	m->proto->ir_version = 2;
	expect_check(m, "", "");
	m = GRAPH("a", "- A x a");
	m->proto->opset_import[0]->version = 0;
	expect_check(m, "has version 0", "");
	m = GRAPH("a", "- A x a");
	add_weight(m, m->proto->graph, "w");
	m->proto->graph->initializer[0]->dims[0] = -3;
	expect_check(m, "tensor \"w\" has the negative extent -3", "");
	m = GRAPH("a", "- A x a");
	add_weight(m, m->proto->graph, "x"); /* input and initializer: the input's default */
	expect_check(m, "", "");
	m = GRAPH("a", "n A x a");
	m->proto->graph->node[0]->op_type = NULL;
	expect_check(m, "has no op_type", "");
	m = GRAPH("a", "n A x a");
	onnx_node_set_int(m, m->proto->graph->node[0], "p", 1);
	onnx_node_set_int(m, m->proto->graph->node[0], "q", 1);
	m->proto->graph->node[0]->attribute[1]->name = (char *)"p";
	expect_check(m, "has two attributes \"p\"", "");
}

static void test_drop_unused(void)
{
	struct onnx_model *m = GRAPH("y", "- Add x,w y");
	Onnx__GraphProto *g = m->proto->graph;
	int64_t dim[1] = { 4 };
	static const char *const name[] = { "unused", "w", "captured", "given_out", "unused_input" };
	for (int i = 0; i < 5; i++)
		add_weight(m, g, name[i]);
	onnx_graph_add_node(m, g, if_node(m, "captured", "z"));
	onnx_graph_add_input(m, g, onnx_value_info_new(m, "unused_input", TYPE_F32, 1, dim, NULL));
	onnx_graph_add_output(m, g, onnx_value_info_new(m, "given_out", TYPE_F32, 1, dim, NULL));
	onnx_graph_add_value_info(m, g, onnx_value_info_new(m, "y", TYPE_F32, 1, dim, NULL));
	onnx_graph_add_value_info(m, g, onnx_value_info_new(m, "long_gone", TYPE_F32, 1, dim, NULL));
	CHECK_INT(onnx_graph_drop_unused(m, g), 2);
	CHECK_INT(g->n_initializer, 3);
	CHECK_STR(g->initializer[0]->name, "w");
	CHECK_STR(g->initializer[1]->name, "captured");
	CHECK_STR(g->initializer[2]->name, "given_out");
	CHECK_INT(g->n_input, 1);
	CHECK_INT(g->n_value_info, 1);
	CHECK_INT(onnx_graph_drop_unused(m, g), 0);
	expect_check(m, "", "");
}

static void test_functions(void)
{
	struct onnx_model *m = GRAPH("c", "- A x a", "- B a b", "- C b c");
	Onnx__GraphProto *g = m->proto->graph;
	Onnx__NodeProto *body[2] = { g->node[0], g->node[1] }, *call = onnx_node_new(m, "tpat", "AB", "call");
	const char *input = "x", *output = "b";
	struct err e = { 0 };
	m->proto->ir_version = 6;
	onnx_node_input(m, call, "x");
	onnx_node_output(m, call, "b");
	g->node[0] = call;
	g->node[1] = g->node[2];
	g->n_node = 2;
	Onnx__FunctionProto *f = onnx_function_new(m, "tpat", "AB", &input, 1, &output, 1, body, 2);
	CHECK_INT(onnx_model_add_function(m, f, &e), 0);
	CHECK_INT(m->proto->ir_version, 8);
	CHECK_INT(onnx_opset(m, "tpat"), 1);
	CHECK(onnx_function_find(m, "tpat", "AB", NULL) == f && !onnx_function_find(m, "", "AB", NULL));
	CHECK(!onnx_function_find(m, "tpat", "AB", "other"));
	CHECK_INT(f->n_opset_import, 1);
	CHECK_INT(f->opset_import[0]->version, 17);
	CHECK_INT(onnx_model_check(m, &e), 0);
	CHECK_STR(e.text, "");
	CHECK_INT(onnx_model_add_function(m, onnx_function_new(m, "else", "AB", NULL, 0, NULL, 0, NULL, 0), &e),
	          ERR_USAGE);
	CHECK(strstr(e.text, "a function \"AB\" already"));
	f->output[0] = (char *)"nothing";
	expect_check(m, "the function gives out \"nothing\"", "");
}

/* A model with the initializer "w" of 2 x 3 elements, of which two are given by indices of this shape. */
static struct onnx_model *sparse_model(int rank, const int64_t *indices)
{
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	Onnx__SparseTensorProto *s = NEW(m->arena, Onnx__SparseTensorProto);
	struct tensor value = { .type = TYPE_F32, .rank = 1, .dim = { 2 }, .data = (float[]){ 5, 7 } };
	struct tensor index = { .type = TYPE_I64, .rank = rank, .dim = { 2, 2 }, .data = drop_const(indices) };

	onnx__sparse_tensor_proto__init(s);
	s->values = onnx_tensor_store(&value, "w", m->arena);
	s->indices = onnx_tensor_store(&index, "w_at", m->arena);
	s->n_dims = 2;
	s->dims = NEWN(m->arena, int64_t, 2);
	s->dims[0] = 2;
	s->dims[1] = 3;
	onnx_array_push(m, &m->proto->graph->sparse_initializer, &m->proto->graph->n_sparse_initializer, s);
	return m;
}

/* Sparse initializers become dense. */
static void test_sparse(void)
{
	static const int64_t flat[] = { 1, 5 }, pairs[] = { 0, 1, 1, 2 }, outside[] = { 0, 1, 2, 0 },
	                     negative[] = { -1, 0 };
	struct err e = { 0 };

	for (int rank = 1; rank < 3; rank++) {
		struct onnx_model *m = sparse_model(rank, rank == 1 ? flat : pairs);
		struct tensor t;

		CHECK_INT(onnx_model_check(m, &e), 0);
		CHECK_INT(m->proto->graph->n_sparse_initializer, 0);
		CHECK_INT(m->proto->graph->n_initializer, 1);
		CHECK_STR(m->proto->graph->initializer[0]->name, "w");
		CHECK_INT(onnx_tensor_load(&t, m->proto->graph->initializer[0], m, m->arena, &e), 0);
		CHECK(t.rank == 2 && t.dim[0] == 2 && t.dim[1] == 3);
		CHECK(memcmp(t.data, (float[]){ 0, 5, 0, 0, 0, 7 }, 24) == 0);
		onnx_model_free(m);
	}
	expect_check(sparse_model(2, outside), "the sparse tensor \"w\" has an index outside its extents", "");
	expect_check(sparse_model(1, negative), "the sparse tensor \"w\" has an index outside its extents", "");
}

/* Of ONNX's own domain under both names the higher version counts, unless the lower one is last. A function has only
 * "", since ONNX Runtime does not know "ai.onnx" there. */
static void test_alias(void)
{
	struct onnx_model *m = onnx_model_empty(8, 13, "g");
	Onnx__NodeProto *node = onnx_node_new(m, "", "Relu", NULL);
	const char *in = "x", *out = "y";
	Onnx__FunctionProto *f;

	onnx_array_push(m, &m->proto->opset_import, &m->proto->n_opset_import, onnx_opset_new(m, "ai.onnx", 17));
	node->domain = (char *)"ai.onnx";
	onnx_node_input(m, node, in);
	onnx_node_output(m, node, out);
	CHECK_INT(onnx_opset(m, ""), 17);
	f = onnx_function_new(m, "tpat", "F", &in, 1, &out, 1, &node, 1);
	CHECK_INT(f->n_opset_import, 1);
	CHECK_STR(f->opset_import[0]->domain, "");
	CHECK_INT(f->opset_import[0]->version, 17);
	CHECK_STR(onnx_text(f->node[0]->domain), "");
	m->proto->opset_import[1]->version = 11;
	expect_check(m, "imported with two versions, 13 and then 11", "remove the wrong one");
}

/* Adding thousands of nodes must not copy the array each time, and sorting them must not be quadratic. */
static void test_many(void)
{
	enum { N = 20000 };
	struct onnx_model *m = onnx_model_empty(8, 17, "g");
	char in[32], out[32];
	struct err e = { 0 };
	for (int i = 0; i < N; i++) { /* backwards: node i makes N - i from N - i - 1 */
		Onnx__NodeProto *node = onnx_node_new(m, "", "Relu", NULL);
		snprintf(in, sizeof in, "%d", N - i - 1);
		snprintf(out, sizeof out, "%d", N - i);
		onnx_node_input(m, node, in);
		onnx_node_output(m, node, out);
		onnx_graph_add_node(m, m->proto->graph, node);
	}
	onnx_graph_add_input(m, m->proto->graph, onnx_value_info_new(m, "0", TYPE_F32, -1, NULL, NULL));
	CHECK_INT(onnx_model_check(m, &e), 0);
	CHECK_STR(m->proto->graph->node[0]->output[0], "1");
	CHECK_STR(m->proto->graph->node[N - 1]->output[0], "20000");
	CHECK(arena_bytes(m->arena) < 40u << 20);
	onnx_model_free(m);
}

int main(void)
{
	scratch = arena_new();
	test_names();
	test_attributes();
	test_structure();
	test_drop_unused();
	test_functions();
	test_sparse();
	test_alias();
	test_many();
	arena_free(scratch);
	return test_done();
}
