/* The rewritten model: plugins' nodes, their functions, casts at their edges, constants. */
#include "graph_models.h"

static int count_type(const struct onnx_model *m, const char *type)
{
	int n = 0;

	for (size_t i = 0; i < m->proto->graph->n_node; i++)
		n += strcmp(m->proto->graph->node[i]->op_type, type) == 0;
	return n;
}

/* Two plugins with a bool tensor between them: no cast there, one after them. */
static void rewrite_edges(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_selection s = { .names = 3, .name = (const char *[]){ "b", "c", "d" } };
	struct graph_plugin plugin[] = { { "plugin_and", NULL, 0 },
		                         { "plugin_not", NULL, 0 },
		                         { "plugin_not", NULL, 0 } };
	struct ir_program *p[3];
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };
	const Onnx__NodeProto *n;
	char hash[3][33];

	input(m, "x", TYPE_BOOL, "N 4");
	input(m, "y", TYPE_BOOL, "N 4");
	output(m, "d", TYPE_BOOL, "N 4");
	node(m, "And", "x y", "b");
	node(m, "Not", "b", "c");
	node(m, "Not", "c", "d");
	g = graph_of(m, NULL);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK_INT(r.n, 3);
	for (int i = 0; i < r.n; i++) {
		CHECK(graph_region_program(&p[i], r.at[i], NULL, arena, &e) == 0);
		ir_hash(p[i], hash[i]);
	}
	CHECK_STR(hash[1], hash[2]);
	CHECK(p[0]->inputs.at[0]->type == TYPE_I32 && p[0]->outputs.at[0]->type == TYPE_I32);
	CHECK(graph_rewrite(g, &r, plugin, NULL, &e) == 0);
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0);
	CHECK_INT(count_type(m, "Cast"), 3);
	CHECK_INT(count_type(m, "plugin_not"), 2);
	CHECK_INT(m->proto->n_functions, 2); /* equal programs share one */
	CHECK_INT(onnx_opset(m, "tpat"), 1);
	n = m->proto->graph->node[2];
	CHECK_STR(n->op_type, "plugin_and");
	CHECK_STR(n->name, "b");
	CHECK_STR(n->domain, "tpat");
	CHECK_STR(n->input[0], "x_int32");
	CHECK(onnx_attr(n, "plugin_version") && onnx_attr(n, "plugin_namespace"));
	/* A rewritten model can be read again: the functions define the plugins. */
	g = graph_of(m, NULL);
	for (int i = 0; i < g->nodes.n; i++)
		CHECK(g->nodes.at[i].known);
	CHECK_STR(type_of(g, "d"), "bool[N,4]");
	graph_free(g);
	onnx_model_free(m);
}

/* A file of IR 3: initializers are inputs too; constants move into the function, shapes of constants into the model. */
static void rewrite_old(void)
{
	struct onnx_model *m = model(3, 8);
	struct graph_selection s = { .names = 1, .name = (const char *[]){ "y" } };
	struct graph_plugin plugin = { "plugin_reshape", (int[]){ 0 }, 1 };
	const char *name_space[] = { "mine" };
	struct graph_rewrite_options o = { .name_space = name_space };
	struct graph_regions r;
	const Onnx__FunctionProto *f;
	const char *text;
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "2 3");
	input(m, "to", TYPE_I64, "1");
	output(m, "y", TYPE_F32, "6");
	ints(m, "to", 1, (double[]){ 6 });
	node(m, "Reshape", "x to", "y");
	g = graph_of(m, NULL);
	CHECK_INT(g->inputs.n, 1);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK(r.at[0]->inputs.n == 1 && r.at[0]->constants.n == 1);
	CHECK(graph_rewrite(g, &r, &plugin, &o, &e) == 0);
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0);
	CHECK_INT(m->proto->ir_version, 8);
	CHECK_INT(m->proto->graph->n_input, 1);
	CHECK_INT(m->proto->graph->n_initializer, 0);
	CHECK_INT(m->proto->graph->n_node, 1);
	CHECK(onnx_attr_string(&text, m->proto->graph->node[0], "plugin_namespace", NULL, arena, &e) == 0);
	CHECK_STR(text, "mine");
	CHECK(onnx_attr(m->proto->graph->node[0], "tensorrt_plugin_shape_input_indices") != NULL);
	f = onnx_function_find(m, "tpat", "plugin_reshape", NULL);
	CHECK(f && f->n_node == 3); /* before opset 9 integers are constants of doubles, cast */
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "y"), "f32[6]");
	graph_free(g);
	onnx_model_free(m);
}

/* Nodes of constants that read a region's extents are replaced by their results; selected ones become initializers. */
static void rewrite_folded(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_region_names names = { 2, (const char *[]){ "a", "y" } };
	struct graph_selection s = { .regions = 1, .region = &names, .names = 1, .name = (const char *[]){ "n" } };
	struct graph_plugin plugin[2] = { { "plugin_region", NULL, 0 }, { NULL, NULL, 0 } };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };
	int64_t three = 3;

	input(m, "x", TYPE_F32, "2 3");
	output(m, "y", TYPE_F32, "2 3");
	output(m, "z", TYPE_I64, "2");
	output(m, "n", TYPE_F32, "3");
	constant(m, "c", TYPE_F32, 1, &three, (double[]){ 1, 2, 3 });
	node(m, "Relu", "x", "a");
	node(m, "Shape", "a", "shape");
	node(m, "Identity", "shape", "z");
	node(m, "Exp", "a", "y");
	node(m, "Neg", "c", "n");
	g = graph_of(m, NULL);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK(r.n == 2 && !r.at[0]->folded && r.at[1]->folded);
	CHECK(graph_rewrite(g, &r, plugin, NULL, &e) == 0);
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0);
	CHECK_INT(count_type(m, "Shape"), 0);
	CHECK_INT(count_type(m, "Neg"), 0);
	CHECK_INT(count_type(m, "Identity"), 1);
	CHECK_INT(m->proto->graph->n_initializer, 2); /* shape and n; c is read no more */
	graph_free(graph_of(m, NULL));
	onnx_model_free(m);
}

/* Each region is convex, but they need each other's results: refused, and the model is unchanged. */
static void rewrite_cycle(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_region_names names[2] = { { 2, (const char *[]){ "a", "d" } },
		                               { 2, (const char *[]){ "b", "c" } } };
	struct graph_selection s = { .regions = 2, .region = names };
	struct graph_plugin plugin[2] = { { "one", NULL, 0 }, { "two", NULL, 0 } };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "4");
	output(m, "d", TYPE_F32, "4");
	output(m, "b", TYPE_F32, "4");
	node(m, "Relu", "x", "a");
	node(m, "Exp", "a", "b");
	node(m, "Neg", "x", "c");
	node(m, "Abs", "c", "d");
	g = graph_of(m, NULL);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK_INT(graph_rewrite(g, &r, plugin, NULL, &e), ERR_USAGE);
	CHECK_INT(m->proto->graph->n_node, 4);
	CHECK_INT(m->proto->n_functions, 0);
	CHECK_STR(m->proto->graph->node[0]->op_type, "Relu");
	graph_free(g);
	onnx_model_free(m);
}

/* A constant computed from extents of the region's result, through a non-constant node: 100 from the shape [N,100]. */
static void rewrite_extents(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph_region_names names = { 2, (const char *[]){ "a", "y" } };
	struct graph_selection s = { .regions = 1, .region = &names };
	struct graph_plugin plugin = { "one", NULL, 0 };
	struct graph_regions r;
	struct err e = { 0 };
	int64_t none;

	input(m, "x", TYPE_F32, "N 100");
	output(m, "y", TYPE_F32, "N 100");
	constant(m, "zero", TYPE_I64, 0, &none, (double[]){ 0 });
	constant(m, "one", TYPE_I64, 0, &none, (double[]){ 1 });
	node(m, "Relu", "x", "a");
	node(m, "Shape", "a", "s");
	node(m, "Gather", "s one", "length");
	node(m, "Range", "zero length one", "places");
	onnx_node_set_int(m, node(m, "Cast", "places", "c"), "to", 1);
	node(m, "Mul", "a c", "y");
	struct graph *g = graph_of(m, NULL);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK_INT(graph_rewrite(g, &r, &plugin, NULL, &e), 0);
	CHECK_INT(m->proto->graph->n_node, 3); /* the plugin, and the nodes that compute "c" from constants */
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0);
	onnx_model_free(m);
}

/* A plugin with a sum of integers and one of floats takes the first weights back in as bytes, and reads the second as
 * floats, whether a node dequantises them or a Constant holds them. Whoever opens the rewritten model finds the inputs
 * that the plugin has. */
static void rewrite_restored(bool dequantised)
{
	enum { K = 16, N = 24 };
	struct onnx_model *m = model(8, 13);
	struct graph_region_names names = { 6, (const char *[]){ "q", "d", "s", "h", "y", "z" } };
	struct graph_selection s = { .regions = 1, .region = &names };
	struct graph_plugin plugin = { "plugin_products", NULL, 0 };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };
	double value[N * N] = { 0 };

	for (int i = 0; i < N * N; i++)
		value[i] = i % 7 - 3;
	input(m, "x", TYPE_F32, "B 16");
	output(m, "z", TYPE_F32, "B 24");
	constant(m, "scale", TYPE_F32, 0, NULL, (double[]){ 0.5 });
	constant(m, "zero", TYPE_I8, 0, NULL, (double[]){ 0 });
	constant(m, "a", TYPE_I8, 2, (int64_t[]){ K, N }, value);
	node(m, "DequantizeLinear", "a scale zero", "a_float");
	constant(m, dequantised ? "b" : "c_float", dequantised ? TYPE_I8 : TYPE_F32, 2, (int64_t[]){ N, N }, value);
	if (dequantised) {
		node(m, "DequantizeLinear", "b scale zero", "b_float");
	} else {
		Onnx__GraphProto *of = m->proto->graph;

		onnx_node_set_tensor(m, node(m, "Constant", "", "b_float"), "value",
		                     of->initializer[--of->n_initializer]);
	}
	node(m, "QuantizeLinear", "x scale zero", "q");
	node(m, "DequantizeLinear", "q scale zero", "d");
	node(m, "MatMul", "d a_float", "s");
	node(m, "Tanh", "s", "h");
	node(m, "MatMul", "h b_float", "y");
	node(m, "Neg", "y", "z");
	g = graph_of(m, NULL);
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK_INT(r.at[0]->inputs.n, 3);
	CHECK(graph_rewrite(g, &r, &plugin, NULL, &e) == 0);
	graph_free(g);
	g = graph_of(m, NULL);
	for (int i = 0; i < g->nodes.n; i++) {
		const Onnx__NodeProto *n = g->nodes.at[i].proto;
		struct graph_region *again;

		if (strcmp(n->op_type, "plugin_products") != 0)
			continue;
		CHECK(graph_region_new(&again, g, &i, 1, &e) == 0);
		CHECK_INT(again->inputs.n, (int)n->n_input);
		for (int k = 0; k < again->inputs.n; k++)
			CHECK_STR(again->inputs.at[k]->name, n->input[k]);
	}
	graph_free(g);
	onnx_model_free(m);
}

/* Plain nodes in place of a node of which one result follows from constants: both results are there. */
static void plain_of_known_result(void)
{
	struct onnx_model *m = model(8, 21);
	const int64_t three = 3, shape[] = { 1, 1, 3 };
	const double value[] = { 0.5, -1, 2 };
	struct graph_plains *plains;
	struct graph *g, *now;
	struct err e = { 0 };

	onnx_opset_import(m, "com.microsoft", 1);
	constant(m, "a", TYPE_F32, 3, shape, value);
	constant(m, "bias", TYPE_F32, 1, &three, value);
	constant(m, "b", TYPE_F32, 3, shape, value);
	input(m, "scale", TYPE_F32, "3");
	output(m, "y", TYPE_F32, "1 1 3");
	output(m, "twice", TYPE_F32, "1 1 3");
	node(m, "LinearAttentionGate", "a bias scale b", "y beta")->domain = arena_strdup(m->arena, "com.microsoft");
	node(m, "Add", "beta beta", "twice");
	g = graph_of(m, NULL);
	plains = graph_plains_new(g, true);
	CHECK(graph_plains_put(plains) == 1);
	now = graph_of(m, NULL);
	CHECK(onnx_model_check(m, &e) == 0 && graph_value_find(now, "beta") && graph_value_find(now, "y"));
	CHECK(graph_value_find(now, "twice") && graph_value_find(now, "twice")->is_constant);
	graph_plains_take_out(plains);
	graph_free(now);
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	rewrite_edges();
	rewrite_old();
	rewrite_folded();
	rewrite_cycle();
	rewrite_extents();
	rewrite_restored(true);
	rewrite_restored(false);
	plain_of_known_result();
	arena_free(arena);
	return test_done();
}
