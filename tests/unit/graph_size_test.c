/* Sizes that are known only at run time, in graphs, in programs of regions, and in rewritten models. */
#include "eval/eval.h"
#include "graph_models.h"

static const Onnx__NodeProto *node_of(const Onnx__FunctionProto *f, const char *type)
{
	for (size_t i = 0; i < f->n_node; i++)
		if (strcmp(f->node[i]->op_type, type) == 0)
			return f->node[i];
	return NULL;
}

/* Each size has its own symbol, which later nodes treat like any other. */
static void symbols(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;

	input(m, "x", TYPE_F32, "N 3");
	input(m, "found0", TYPE_F32, "found0");
	output(m, "r", TYPE_I64, "?");
	node(m, "NonZero", "x", "a");
	node(m, "NonZero", "found0", "b");
	onnx_node_set_int(m, node(m, "Concat", "a a", "c"), "axis", 1);
	node(m, "Shape", "c", "s");
	ints(m, "minus", 1, (double[]){ -1 });
	node(m, "Reshape", "c minus", "flat");
	node(m, "Transpose", "c", "t");
	node(m, "Expand", "b s", "r");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "a"), "i64[2,found1]");
	CHECK_STR(type_of(g, "b"), "i64[1,found2]");
	CHECK_STR(type_of(g, "c"), "i64[2,found1 * 2]");
	CHECK_STR(type_of(g, "flat"), "i64[found1 * 4]");
	CHECK_STR(type_of(g, "t"), "i64[found1 * 2,2]");
	CHECK_STR(type_of(g, "s"), "i64[2]");
	CHECK(graph_value_find(g, "s")->content != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* With constant inputs they are numbers at once. */
static void folded(void)
{
	struct onnx_model *m = model(8, 13);
	const struct tensor *t;
	struct graph *g;
	struct err e = { 0 };

	constant(m, "x", TYPE_F32, 2, (int64_t[]){ 2, 3 }, (double[]){ 0, 1, 2, 0, 0, 3 });
	output(m, "t", TYPE_I64, "? 2");
	node(m, "NonZero", "x", "a");
	node(m, "Transpose", "a", "t");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "a"), "i64[2,3]");
	CHECK_STR(type_of(g, "t"), "i64[3,2]");
	CHECK(graph_constant(&t, g, graph_value_find(g, "t"), &e) == 0);
	CHECK(tensor_int(t, 1) == 1 && tensor_int(t, 3) == 2 && tensor_int(t, 4) == 1 && tensor_int(t, 5) == 2);
	graph_free(g);
	onnx_model_free(m);
}

/* A size used only in its own region is not an output, unless an output's extent mentions it. */
static void inside(void)
{
	static const struct graph_program_options o = { .sizes = true };
	struct onnx_model *m = model(8, 13);
	struct graph *g;

	input(m, "x", TYPE_F32, "N");
	output(m, "n", TYPE_I64, "1");
	output(m, "v", TYPE_F32, "?");
	node(m, "NonZero", "x", "a");
	node(m, "Transpose", "a", "t");
	node(m, "GatherND", "x t", "v");
	node(m, "ReduceMax", "a", "top");
	node(m, "Shape", "v", "n");
	g = graph_of(m, NULL);
	CHECK(strstr(program_text(g, (const char *[]){ "a", "t", "v", "n" }, 4, &o), "_count: i64[])") != NULL);
	CHECK(strstr(program_text(g, (const char *[]){ "v" }, 1, &o),
	             "(data: f32[N], indices: i64[found0,1]) -> (output: f32[found0])") != NULL);
	graph_free(g);
	onnx_model_free(m);

	m = model(8, 13);
	input(m, "x", TYPE_F32, "N");
	output(m, "n", TYPE_I64, "1");
	node(m, "NonZero", "x", "a");
	node(m, "Size", "a", "n");
	g = graph_of(m, NULL);
	CHECK(strstr(program_text(g, (const char *[]){ "a", "n" }, 2, &o), "-> (n: i64[])\n") != NULL ||
	      strstr(program_text(g, (const char *[]){ "a", "n" }, 2, &o), "-> (n_: i64[])\n") != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* If only twice the size is an extent of an output, the function halves it. */
static void halved(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_selection s = { .names = 1, .name = (const char *[]){ "y" } };
	struct graph_plugin plugin = { "plugin_twice", NULL, 0 };
	static const struct graph_program_options o = { .sizes = true };
	const char *in[] = { "v" }, *out[] = { "w" };
	Onnx__NodeProto *body[2], *call;
	const Onnx__FunctionProto *f;
	struct graph_regions r;
	struct ir_program *p;
	struct tensor x, y[2];
	const struct tensor *given = &x;
	struct graph *g;
	struct err e = { 0 };

	body[0] = make(m, "NonZero", "v", "at");
	body[1] = make(m, "Concat", "at at", "w");
	onnx_node_set_int(m, body[1], "axis", 1);
	CHECK(onnx_model_add_function(m, onnx_function_new(m, "my", "Twice", in, 1, out, 1, body, 2), &e) == 0);
	input(m, "x", TYPE_F32, "N");
	output(m, "y", TYPE_I64, "1 ?");
	call = onnx_node_new(m, "my", "Twice", "y");
	onnx_node_input(m, call, "x");
	onnx_node_output(m, call, "y");
	onnx_graph_add_node(m, m->proto->graph, call);
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "y"), "i64[1,found0 * 2]");
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK(graph_region_sizes(r.at[0]).n == 1);
	CHECK(graph_region_program(&p, r.at[0], &o, arena, &e) == 0);
	CHECK(tensor_new(&x, TYPE_F32, 1, (int64_t[]){ 3 }, arena, &e) == 0);
	tensor_set_float(&x, 0, 2);
	tensor_set_float(&x, 1, 0);
	tensor_set_float(&x, 2, -1);
	CHECK(p->outputs.n == 2 && eval_program(p, &given, y, NULL, arena, &e) == 0);
	CHECK(y[0].dim[1] == 4 && y[1].rank == 0 && tensor_int(&y[1], 0) == 2);
	CHECK(graph_rewrite(g, &r, &plugin, NULL, &e) == 0);
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0);
	CHECK(m->proto->graph->node[0]->n_output == 2);
	f = onnx_function_find(m, "tpat", "plugin_twice", NULL);
	CHECK(f && f->n_output == 2 && node_of(f, "Shape") && node_of(f, "Gather") && node_of(f, "Div"));
	g = graph_of(m, NULL);
	CHECK(g->nodes.at[0].known);
	graph_free(g);
	onnx_model_free(m);
}

/* A region reads a size as an element of a shape tensor, and gets it from a tensor inside another region. */
static void between_regions(void)
{
	static const struct graph_program_options o = { .sizes = true };
	struct onnx_model *m = model(8, 13);
	struct graph_regions r = { 0 };
	struct graph_plugin plugin[2];
	struct ir_program *p;
	struct err e = { 0 };
	const int shape = 1; /* the plugin's input that is one */
	struct graph *g;

	input(m, "x", TYPE_F32, "N");
	input(m, "n", TYPE_I64, "1");
	output(m, "z", TYPE_F32, "? ? ?");
	node(m, "NonZero", "x", "a");
	node(m, "Shape", "a", "s");
	onnx_node_set_int(m, node(m, "Concat", "s n", "target"), "axis", 0);
	node(m, "ConstantOfShape", "target", "z");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "z"), "f32[1,found0,value0]");
	for (int i = 0; i < 2; i++) {
		struct graph_region *made;

		CHECK(graph_region_new(&made, g, (const int[]){ 3 * i, 3 * i + 1, 3 * i + 2 }, i ? 1 : 3, &e) == 0);
		vec_push(arena, &r, made);
	}
	CHECK(r.at[0]->outputs.n == 1 && r.at[1]->inputs.n == 2);
	graph_regions_settle(&r);
	CHECK(r.at[0]->outputs.n == 2);
	CHECK_STR(r.at[0]->outputs.at[0]->name, "a");
	CHECK_STR(r.at[0]->outputs.at[1]->name, "target");
	for (int i = 0; i < 2; i++) {
		CHECK(graph_region_program(&p, r.at[i], &o, arena, &e) == 0);
		plugin[i] = (struct graph_plugin){ i ? "fill" : "find", &shape, i };
	}
	CHECK(graph_rewrite(g, &r, plugin, NULL, &e) == 0);
	graph_free(g);
	CHECK(onnx_model_check(m, &e) == 0); /* all that the second plugin reads is made */
	onnx_model_free(m);
}

/* As many indices as are found, none at run time, into a tensor without elements. */
static void into_nothing(void)
{
	static const char *const gather[] = { "Gather", "GatherElements", "GatherND" };

	for (int i = 0; i < 3; i++) {
		struct onnx_model *m = model(8, 13);
		struct graph *g;

		input(m, "x", TYPE_F32, "N");
		input(m, "empty", TYPE_F32, "0");
		output(m, "y", TYPE_F32, "?");
		node(m, "NonZero", "x", "found");
		node(m, "Transpose", "found", "places");
		ints(m, "minus", 1, (double[]){ -1 });
		node(m, "Reshape", "found minus", "flat");
		node(m, gather[i], i < 2 ? "empty flat" : "empty places", "y");
		g = graph_of(m, NULL);
		CHECK(g->nodes.at[3].known);
		CHECK_STR(type_of(g, "y"), "f32[found0]");
		graph_free(g);
		onnx_model_free(m);
	}
}

/* An extent that sums an input's element and a size found at run time is known when the size is: not before. */
static void value_and_size(void)
{
	struct onnx_model *m = model(8, 13);
	struct ir_program *p = NULL;
	struct graph_region *r;
	struct tensor in[3], out;
	const struct tensor *given[3];
	struct err e = { 0 };

	input(m, "one", TYPE_I64, "1 1");
	input(m, "extents", TYPE_I64, "2");
	input(m, "x", TYPE_F32, "N");
	output(m, "y", TYPE_I64, "? ?");
	node(m, "Expand", "one extents", "filled");
	node(m, "NonZero", "x", "found");
	node(m, "Transpose", "found", "places");
	onnx_node_set_int(m, node(m, "Concat", "filled places", "y"), "axis", 0);
	struct graph *g = graph_of(m, NULL);
	CHECK(graph_region_new(&r, g, (const int[]){ 0, 1, 2, 3 }, 4, &e) == 0);
	CHECK(graph_region_program(&p, r, NULL, arena, &e) == 0);
	CHECK_STR(e.text, "");
	CHECK_INT(p->inputs.n, 3);
	for (int i = 0; i < 3; i++) {
		bool x = strcmp(p->inputs.at[i]->name, "x") == 0, extents = p->inputs.at[i]->rank == 1 && !x;

		given[i] = &in[i];
		CHECK(tensor_new(&in[i], p->inputs.at[i]->type, p->inputs.at[i]->rank,
		                 (int64_t[]){ x         ? 7
		                              : extents ? 2
		                                        : 1,
		                              1 },
		                 arena, &e) == 0);
		if (x)
			tensor_set_float(&in[i], 5, 2);
		else
			for (int k = 0; k < tensor_count(&in[i]); k++)
				tensor_set_int(&in[i], k, extents && !k ? 3 : 1);
	}
	CHECK_INT(eval_program(p, given, &out, NULL, arena, &e), 0);
	CHECK_STR(e.text, "");
	CHECK(out.dim[0] == 4 && out.dim[1] == 1 && tensor_int(&out, 2) == 1 && tensor_int(&out, 3) == 5);
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	value_and_size();
	into_nothing();
	between_regions();
	symbols();
	folded();
	inside();
	halved();
	arena_free(arena);
	return test_done();
}
