/* Nodes with bodies: captured values through inference, regions, programs and the rewrite. The operator is If; its
 * results are tested against ONNX Runtime (tests/ort/ops_control.py). */
#include "graph_bodies.h"

/* Branches of one node each, that read these names. */
static Onnx__NodeProto *simple_if(struct onnx_model *m, const char *cond, const char *yes, const char *no,
                                  const char *out)
{
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);

	add(m, then, "Neg", yes, "t"); /* both call it t: they do not see each other */
	add(m, other, "Abs", no, "t");
	return branches(m, node(m, "If", cond, out), then, other);
}

/* ---- Captured values ----------------------------------------------------------------------------------- */

static void captures(void)
{
	struct onnx_model *m = model(8, 16);
	struct graph_region *r;
	struct graph *g;
	struct err e = { 0 };
	int64_t four = 4;

	input(m, "x", TYPE_F32, "N 4");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "N 4");
	constant(m, "k", TYPE_F32, 1, &four, (double[]){ 1, 2, 3, 4 });
	simple_if(m, "c", "a", "b", "y"); /* before the node whose result it captures: the check reorders them */
	node(m, "Relu", "x", "a");
	node(m, "Add", "x k", "b");
	g = graph_of(m, NULL);
	CHECK_STR(g->nodes.at[2].label, "y");
	CHECK_STR(NAMES(g->nodes.at[2].reads), "c a b");
	CHECK_STR(type_of(g, "y"), "f32[N,4]");
	CHECK_INT(graph_value_find(g, "a")->consumers.n, 1);
	CHECK(graph_value_find(g, "a")->captured && !graph_value_find(g, "x")->captured);
	CHECK(graph_region_new(&r, g, (int[]){ 2 }, 1, &e) == 0);
	CHECK_STR(NAMES(r->inputs), "c a b");
	CHECK(graph_region_new(&r, g, (int[]){ 1, 2 }, 2, &e) == 0);
	CHECK_STR(NAMES(r->inputs), "x c a");
	CHECK_STR(NAMES(r->constants), "k");
	CHECK_STR(program_text(g, (const char *[]){ "y" }, 1, NULL),
	          "program if(cond: i32[], a: f32[N,4], b: f32[N,4]) -> (outputs1: f32[N,4])\n"
	          "  outputs1: f32[N,4] = map (i, j) select(bool(cond[]), neg(a[i, j]), abs(b[i, j]))\n");
	graph_free(g);
	onnx_model_free(m);
}

/* A nested branch captures values from both enclosing graphs, and its own name hides an outer one. */
static void nested(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *then = body(m, "then", "u", TYPE_F32), *other = body(m, "else", "v", TYPE_F32);
	Onnx__GraphProto *inner = body(m, "then", "w", TYPE_F32), *last = body(m, "else", "w", TYPE_F32);
	int64_t two = 2;
	struct tensor k;
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "2");
	input(m, "c", TYPE_BOOL, "1");
	input(m, "d", TYPE_BOOL, "1");
	output(m, "y", TYPE_F32, "2");
	add(m, then, "Exp", "x", "t");
	branches(m, add(m, then, "If", "d", "u"), inner, last);
	add(m, inner, "Mul", "t x", "w");
	add(m, last, "Add", "t k", "w");
	CHECK(tensor_new(&k, TYPE_F32, 1, &two, arena, &e) == 0);
	tensor_set_float(&k, 0, 5);
	tensor_set_float(&k, 1, 5);
	onnx_graph_add_initializer(m, last, onnx_tensor_store(&k, "k", m->arena));
	add(m, other, "Neg", "x", "v");
	branches(m, node(m, "If", "c", "y"), then, other);
	constant(m, "k", TYPE_F32, 1, &two, (double[]){ 7, 7 }); /* hidden by the branch's own */
	g = graph_of(m, NULL);
	CHECK_STR(NAMES(g->nodes.at[0].reads), "c x d");
	CHECK_STR(program_text(g, (const char *[]){ "y" }, 1, NULL),
	          "program if(cond: i32[1], x: f32[2], d: i32[1]) -> (outputs1: f32[2])\n"
	          "  const k_2: f32[2] = {5.0, 5.0}\n"
	          "  outputs1: f32[2] = map (i) let _0 = exp(x[i]); select(bool(cond[0]), select(bool(d[0]), _0 * "
	          "x[i], _0 + k_2[i]), neg(x[i]))\n");
	graph_free(g);
	onnx_model_free(m);
}

/* A known condition selects one branch; inputs and errors of the other one do not matter. */
static void known_condition(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);
	struct graph *g;

	input(m, "x", TYPE_F32, "3");
	input(m, "n", TYPE_F32, "N");
	output(m, "y", TYPE_F32, "3");
	constant(m, "c", TYPE_BOOL, 0, NULL, (double[]){ 1 });
	add(m, then, "Neg", "x", "t");
	add(m, other, "NoSuchOperator", "n secret", "t");
	node(m, "NoSuchOperator", "n", "secret");
	branches(m, node(m, "If", "c", "y"), then, other);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "");
	CHECK_STR(type_of(g, "y"), "f32[3]");
	/* but the plugin's function would need it as an input */
	CHECK(strstr(program_text(g, (const char *[]){ "y" }, 1, NULL),
	             "the shape of its input \"secret\" is not known"));
	graph_free(g);
	onnx_model_free(m);
}

/* An If of constants is folded, unless a branch captures a non-constant. */
static void folding(void)
{
	struct onnx_model *m = model(8, 16);
	int64_t two = 2;
	struct graph *g;

	input(m, "x", TYPE_F32, "2");
	output(m, "y", TYPE_F32, "2");
	output(m, "z", TYPE_F32, "2");
	constant(m, "c", TYPE_BOOL, 0, NULL, (double[]){ 0 });
	constant(m, "k", TYPE_F32, 1, &two, (double[]){ -3, 4 });
	simple_if(m, "c", "k", "k", "y");
	simple_if(m, "c", "k", "x", "z");
	g = graph_of(m, NULL);
	CHECK(g->nodes.at[0].folded && !g->nodes.at[1].folded);
	CHECK(graph_value_find(g, "y")->constant && tensor_float(graph_value_find(g, "y")->constant, 0) == 3);
	graph_free(g);
	onnx_model_free(m);
}

static void refusals(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);
	Onnx__GraphProto *two = body(m, "then", "t t", TYPE_F32);
	struct graph *g;

	input(m, "x", TYPE_F32, "2");
	input(m, "c", TYPE_BOOL, "");
	input(m, "d", TYPE_BOOL, "2");
	output(m, "y", TYPE_I32, "2");
	output(m, "z", TYPE_F32, "2");
	output(m, "u", TYPE_F32, "2");
	add(m, then, "Neg", "x", "t");
	onnx_node_set_int(m, add(m, other, "Cast", "x", "t"), "to", TYPE_I32);
	add(m, two, "Neg", "x", "t");
	branches(m, node(m, "If", "c", "y"), then, other);
	branches(m, node(m, "If", "c", "z"), two, then);
	branches(m, node(m, "If", "d", "u"), then, then);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "output number 1 is f32 in then_branch, but i32 in else_branch.");
	CHECK_STR(why(g, "z"), "its \"then_branch\" has 2 outputs; the node needs 1.");
	CHECK_STR(why(g, "u"), "the condition must be one element.");
	graph_free(g);
	onnx_model_free(m);
}

/* Extents that differ between the branches become sizes; outputs with the same two extents have one size together. */
static void extents(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *then = body(m, "then", "t u", TYPE_F32), *other = body(m, "else", "t u", TYPE_F32);
	struct graph *g;

	input(m, "x", TYPE_F32, "N 4");
	input(m, "c", TYPE_BOOL, "");
	output(m, "z", TYPE_F32, "? 8");
	add(m, then, "Neg", "x", "t");
	add(m, then, "Abs", "x", "u");
	onnx_node_set_int(m, add(m, other, "Concat", "x x", "t"), "axis", 0);
	add(m, other, "Neg", "t", "u");
	branches(m, node(m, "If", "c", "a b"), then, other);
	onnx_node_set_int(m, node(m, "Concat", "a b", "z"), "axis", 1);
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "a"), "f32[found0,4]");
	CHECK_STR(type_of(g, "b"), "f32[found0,4]");
	CHECK_STR(type_of(g, "z"), "f32[found0,8]");
	CHECK_STR(
	        program_text(g, (const char *[]){ "a" }, 1, NULL),
	        "program if(cond: i32[], x: f32[N,4]) -> (outputs1: f32[chosen_size,4], outputs2: f32[chosen_size,4])\n"
	        "  size chosen_size = chosen_count <= N * 2\n"
	        "  chosen_count: i64[] = map () select(bool(cond[]), i64(N), i64(N * 2))\n"
	        "  outputs1: f32[chosen_size,4] = map (i, j) select(bool(cond[]), neg(x[i, j]), select(i < N, x[i, j], "
	        "x[i - N, j]))\n"
	        "  outputs2: f32[chosen_size,4] = map (i, j) select(bool(cond[]), abs(x[i, j]), neg(select(i < N, x[i, "
	        "j], x[i - N, j])))\n");
	graph_free(g);
	onnx_model_free(m);
}

/* An output whose rank differs between branches only keeps its type; other outputs keep everything known. */
static void ranks(void)
{
	struct onnx_model *m = model(8, 11);
	Onnx__GraphProto *then = body(m, "then", "t u", TYPE_F32), *other = body(m, "else", "t u", TYPE_F32);
	struct graph *g;
	struct err e = { 0 };
	int64_t zero = 0;

	input(m, "x", TYPE_F32, "2");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "?");
	output(m, "z", TYPE_F32, "2");
	add(m, then, "Neg", "x", "t");
	add(m, then, "Abs", "x", "u");
	onnx_node_set_ints(m, add(m, other, "Unsqueeze", "x", "t"), "axes", &zero, 1);
	add(m, other, "Neg", "x", "u");
	branches(m, node(m, "If", "c", "a b"), then, other);
	node(m, "Relu", "a", "y");
	node(m, "Relu", "b", "z");
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "a"),
	          "the condition is not known at build time, and output number 1 has 1 axes in then_branch, but 2 in "
	          "else_branch.");
	CHECK_STR(type_of(g, "a"), "f32[?]");
	CHECK_STR(type_of(g, "b"), "f32[2]");
	CHECK_STR(why(g, "y"),
	          "the shape of its input \"a\" is not known: tpat does not support node \"a\" (If) before it.");
	CHECK_STR(why(g, "z"), "");
	CHECK(graph_node_check(g, 0, &e) == ERR_UNSUPPORTED);
	graph_free(g);
	onnx_model_free(m);
}

/* Nodes of a body that make none of its results, directly or not, need no support. */
static void unneeded(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);
	struct graph *g;

	input(m, "x", TYPE_F32, "N");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "N");
	add(m, then, "Unknown", "x", "u");
	add(m, then, "Relu", "u", "v");
	add(m, then, "Exp", "x", "t");
	add(m, other, "Abs", "x", "t");
	branches(m, node(m, "If", "c", "y"), then, other);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "");
	CHECK_STR(type_of(g, "y"), "f32[N]");
	graph_free(g);
	onnx_model_free(m);
}

/* ---- The rewritten model. */

/* Captured values are inputs of the plugin and of its function; a captured bool is INT32 at the edge, with nodes
 * between the casts. A body of another node reads the result. */
static void rewritten(void)
{
	struct onnx_model *m = model(8, 16);
	struct graph_selection s = { .names = 1, .name = (const char *[]){ "y" } };
	struct graph_plugin plugin[1] = { { "plugin_if", NULL, 0 } };
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_BOOL), *other = body(m, "else", "t", TYPE_BOOL);
	const Onnx__FunctionProto *f;
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "N");
	input(m, "c", TYPE_BOOL, "");
	input(m, "b", TYPE_BOOL, "N");
	output(m, "z", TYPE_F32, "N");
	add(m, then, "Not", "b", "t");
	add(m, other, "And", "b h", "t");
	node(m, "Less", "x k", "h");
	constant(m, "k", TYPE_F32, 0, NULL, (double[]){ 0.5 });
	branches(m, node(m, "If", "c", "y"), then, other);
	then = body(m, "then", "t", TYPE_F32);
	other = body(m, "else", "t", TYPE_F32);
	onnx_node_set_int(m, add(m, then, "Cast", "y", "t"), "to", TYPE_F32);
	add(m, other, "Exp", "x", "t");
	branches(m, node(m, "If", "c", "z"), then, other);
	g = graph_of(m, NULL);
	CHECK(graph_select(&r, g, &s, &e) == 0 && r.n == 1);
	CHECK(graph_rewrite(g, &r, plugin, NULL, &e) == 0);
	graph_free(g);
	f = onnx_function_find(m, "tpat", "plugin_if", NULL);
	CHECK(f && f->n_input == 3 && f->n_output == 1);
	/* c: Cast; b and h, which the branches capture: Neg, Neg and Cast; If; Cast */
	CHECK_INT(f->n_node, 1 + 3 + 3 + 1 + 1);
	CHECK_STR(f->node[7]->op_type, "If");
	for (size_t i = 0; i < m->proto->graph->n_node; i++) {
		const Onnx__NodeProto *n = m->proto->graph->node[i];

		if (strcmp(n->op_type, "plugin_if") == 0)
			CHECK(n->n_input == 3 && strcmp(n->input[1], "b_int32") == 0 &&
			      strcmp(n->input[2], "h_int32") == 0);
	}
	g = graph_of(m, NULL); /* the model can be read again and means the same */
	CHECK_STR(type_of(g, "z"), "f32[N]");
	graph_free(g);
	onnx_model_free(m);
}

/* An INT64 that a branch captures is INT32 at the edge for TensorRT 8.6: the nodes between the casts keep its sign. */
static void signs(void)
{
	struct onnx_model *m = model(8, 16);
	struct graph_selection s = { .names = 1, .name = (const char *[]){ "y" } };
	struct graph_plugin plugin[1] = { { "plugin_if", NULL, 0 } };
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_I64), *other = body(m, "else", "t", TYPE_I64);
	const Onnx__FunctionProto *f;
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };

	input(m, "c", TYPE_BOOL, "");
	input(m, "i", TYPE_I64, "N");
	output(m, "y", TYPE_I64, "N");
	add(m, then, "Sign", "i", "t");
	add(m, other, "Identity", "i", "t");
	branches(m, node(m, "If", "c", "y"), then, other);
	g = graph_of(m, &(struct graph_options){ .version = "8.6" });
	CHECK(graph_select(&r, g, &s, &e) == 0 && r.n == 1);
	CHECK(graph_rewrite(g, &r, plugin, NULL, &e) == 0);
	graph_free(g);
	f = onnx_function_find(m, "tpat", "plugin_if", NULL);
	CHECK(f && f->n_node == 1 + 3 + 1 + 1); /* c: Cast; i: Neg, Neg, Cast; If; Cast */
	CHECK_STR(f->node[1]->op_type, "Neg");
	CHECK_STR(f->node[2]->op_type, "Neg");
	CHECK_STR(f->node[2]->input[0], f->node[1]->output[0]);
	CHECK_STR(f->node[3]->input[0], f->node[2]->output[0]);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	captures();
	nested();
	known_condition();
	folding();
	refusals();
	extents();
	ranks();
	unneeded();
	rewritten();
	signs();
	arena_free(arena);
	return test_done();
}
