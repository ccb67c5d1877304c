/* Nodes with bodies: captured values through inference, regions, programs and the rewrite; and local functions. The
 * operator is If; its results are tested against ONNX Runtime (tests/ort/ops_control.py). */
#include "graph_models.h"

static Onnx__GraphProto *body(struct onnx_model *m, const char *name, const char *outputs, enum type t)
{
	Onnx__GraphProto *b = onnx_graph_new(m, name);

	for (const char *s = outputs; *s; s += strspn(s, " ")) {
		size_t n = strcspn(s, " ");

		onnx_graph_add_output(m, b, onnx_value_info_new(m, arena_strndup(arena, s, n), t, -1, NULL, NULL));
		s += n;
	}
	return b;
}

static Onnx__NodeProto *add(struct onnx_model *m, Onnx__GraphProto *b, const char *type, const char *in,
                            const char *out)
{
	Onnx__NodeProto *n = make(m, type, in, out);

	onnx_graph_add_node(m, b, n);
	return n;
}

static Onnx__NodeProto *branches(struct onnx_model *m, Onnx__NodeProto *n, Onnx__GraphProto *yes, Onnx__GraphProto *no)
{
	onnx_node_set_graph(m, n, "then_branch", yes);
	onnx_node_set_graph(m, n, "else_branch", no);
	return n;
}

/* Branches of one node each, that read these names. */
static Onnx__NodeProto *simple_if(struct onnx_model *m, const char *cond, const char *yes, const char *no,
                                  const char *out)
{
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);

	add(m, then, "Neg", yes, "t"); /* both call it t: they do not see each other */
	add(m, other, "Abs", no, "t");
	return branches(m, node(m, "If", cond, out), then, other);
}

static const char *names(const struct graph_value *const *v, int n)
{
	struct str s = str_new(arena);

	for (int i = 0; i < n; i++)
		str_printf(&s, "%s%s", i ? " " : "", v[i]->name);
	return str_text(&s);
}
#define NAMES(list) names((const struct graph_value *const *)(list).at, (list).n)

static const char *why(const struct graph *g, const char *label)
{
	struct err e = { 0 };
	int n;

	return onnx_node_find(&n, g->index, label, &e) < 0 ? "no such node"
	       : g->nodes.at[n].known                      ? ""
	                                                   : g->nodes.at[n].why;
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

/* ---- Local functions. */

/* The attribute `name` of the node is the function's `of`. */
static void refer(struct onnx_model *m, Onnx__NodeProto *n, const char *name, const char *of)
{
	Onnx__AttributeProto *a = NEW(m->arena, Onnx__AttributeProto);

	onnx__attribute_proto__init(a);
	a->name = arena_strdup(m->arena, name);
	a->ref_attr_name = arena_strdup(m->arena, of);
	n->attribute = NEWN(m->arena, Onnx__AttributeProto *, 1);
	n->attribute[n->n_attribute++] = a;
}

static Onnx__NodeProto *call(struct onnx_model *m, const char *function, const char *in, const char *out)
{
	Onnx__NodeProto *n = make(m, function, in, out);

	n->domain = arena_strdup(m->arena, "my");
	return n;
}

static void function(struct onnx_model *m, const char *name, const char *input, const char *output,
                     Onnx__NodeProto **body, int n)
{
	const char *in[4], *out = output;
	int inputs = 0;
	struct err e = { 0 };
	Onnx__FunctionProto *f;

	for (const char *s = input; *s; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");

		in[inputs++] = arena_strndup(arena, s, len);
		s += len;
	}
	f = onnx_function_new(m, "my", name, in, inputs, &out, 1, body, n);
	CHECK(onnx_model_add_function(m, f, &e) == 0);
}

/* A function that calls another inside a branch and passes on its attribute and an omitted input; the branch sees the
 * function's names, not the model's. */
static void functions_in_branches(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__NodeProto *soft[2] = { make(m, "LeakyRelu", "a", "b"), make(m, "Clip", "b low -", "r") }, *choose, *n;
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);
	struct graph *g;

	onnx_opset_import(m, "my", 1);
	refer(m, soft[0], "alpha", "slope");
	function(m, "Soft", "a low", "r", soft, 2);
	n = call(m, "Soft", "v low", "t");
	refer(m, n, "slope", "alpha");
	onnx_graph_add_node(m, then, n);
	add(m, other, "Neg", "v", "t");
	choose = branches(m, make(m, "If", "c", "r"), then, other);
	function(m, "Choose", "c v low", "r", &choose, 1);
	input(m, "v", TYPE_F32, "N"); /* also a name in the function, with another meaning */
	input(m, "x", TYPE_F32, "N");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "N");
	n = call(m, "Choose", "c x", "y");
	onnx_node_set_float(m, n, "alpha", 0.25f);
	onnx_graph_add_node(m, m->proto->graph, n);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "");
	CHECK_STR(program_text(g, (const char *[]){ "y" }, 1, NULL),
	          "program choose(c: i32[], x: f32[N]) -> (y: f32[N])\n"
	          "  y: f32[N] = map (i) select(bool(c[]), select(x[i] < 0.0, 0.25 * x[i], x[i]), neg(x[i]))\n");
	graph_free(g);
	onnx_model_free(m);
}

/* A graph passed to the function: its names are those of the caller. */
static void graph_handed_on(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__NodeProto *choose = make(m, "If", "c", "r"), *n;
	Onnx__GraphProto *other = body(m, "else", "t", TYPE_F32), *given = body(m, "given", "t", TYPE_F32);
	struct graph *g;

	onnx_opset_import(m, "my", 1);
	refer(m, choose, "then_branch", "way");
	choose->attribute =
	        memcpy(NEWN(m->arena, Onnx__AttributeProto *, 2), choose->attribute, sizeof *choose->attribute);
	add(m, other, "Neg", "v", "t");
	onnx_node_set_graph(m, choose, "else_branch", other);
	function(m, "Choose", "c v", "r", &choose, 1);
	input(m, "v", TYPE_F32, "N");
	input(m, "x", TYPE_F32, "N");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "N");
	n = call(m, "Choose", "c x", "y");
	add(m, given, "Exp", "v", "t");
	onnx_node_set_graph(m, n, "way", given);
	onnx_graph_add_node(m, m->proto->graph, n);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "");
	CHECK_STR(NAMES(g->nodes.at[0].reads), "c x v");
	CHECK_STR(program_text(g, (const char *[]){ "y" }, 1, NULL),
	          "program choose(c: i32[], x: f32[N], v_: f32[N]) -> (y: f32[N])\n"
	          "  y: f32[N] = map (i) select(bool(c[]), exp(v_[i]), neg(x[i]))\n");
	graph_free(g);
	onnx_model_free(m);
}

/* A function's nodes use the opsets that the function imports, also inside branches. */
static void own_opset(void)
{
	struct onnx_model *m = model(8, 11);
	Onnx__NodeProto *n[2] = { make(m, "Constant", "", "axes"), make(m, "If", "c", "r") };
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);
	struct graph *g;

	onnx_opset_import(m, "my", 1);
	onnx_node_set_ints(m, n[0], "value_ints", (int64_t[]){ 0 }, 1);
	add(m, then, "Unsqueeze", "v axes", "t"); /* since opset 13 the axes are an input */
	add(m, other, "Unsqueeze", "v axes", "s");
	add(m, other, "Neg", "s", "t");
	branches(m, n[1], then, other);
	function(m, "Raise", "c v", "r", n, 2);
	m->proto->functions[0]->opset_import[0]->version = 13;
	input(m, "x", TYPE_F32, "N");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "1 N");
	output(m, "z", TYPE_F32, "1 N");
	onnx_graph_add_node(m, m->proto->graph, call(m, "Raise", "c x", "y"));
	onnx_node_set_ints(m, node(m, "Unsqueeze", "x", "z"), "axes", (int64_t[]){ 0 }, 1);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "");
	CHECK_STR(type_of(g, "y"), "f32[1,N]");
	CHECK_STR(type_of(g, "z"), "f32[1,N]");
	graph_free(g);
	onnx_model_free(m);
}

/* A function that calls itself, through another one and inside a branch. */
static void recursion(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__NodeProto *first = call(m, "Second", "c v", "r"), *second = make(m, "If", "c", "r");
	Onnx__GraphProto *then = body(m, "then", "t", TYPE_F32), *other = body(m, "else", "t", TYPE_F32);
	struct err e = { 0 };

	onnx_opset_import(m, "my", 1);
	onnx_graph_add_node(m, then, call(m, "First", "c v", "t"));
	add(m, other, "Neg", "v", "t");
	branches(m, second, then, other);
	function(m, "First", "c v", "r", &first, 1);
	function(m, "Second", "c v", "r", &second, 1);
	CHECK_INT(onnx_model_check(m, &e), ERR_MODEL);
	CHECK_STR(e.text, "the function \"First\" calls itself, or a function that calls it.");
	onnx_model_free(m);
}

/* Functions that call the one before twice, 2^n times the first one's node in all. */
static void doubling(void)
{
	static const int levels[] = { 10, 22, 70 };
	for (int i = 0; i < 3; i++) {
		struct onnx_model *m = model(8, 16);
		Onnx__NodeProto *two[2] = { make(m, "Neg", "v", "r") };
		struct err e = { 0 };

		onnx_opset_import(m, "my", 1);
		function(m, "D0", "v", "r", two, 1);
		for (int k = 1; k <= levels[i]; k++) {
			char name[16], last[16];
			snprintf(name, sizeof name, "D%d", k);
			snprintf(last, sizeof last, "D%d", k - 1);
			two[0] = call(m, last, "v", "s");
			two[1] = call(m, last, "s", "r");
			function(m, name, "v", "r", two, 2);
		}
		CHECK_INT(onnx_model_check(m, &e), i == 0 ? 0 : ERR_MODEL);
		if (i > 0)
			CHECK_STR(e.text, "the function \"D17\" stands for more than 200000 nodes, with those of the "
			                  "functions that are called there.");
		onnx_model_free(m);
	}
}

/* ---- States that change their shapes. */

/* A Loop "y" (and "z": the collected values) of `turns` iterations, or m if that is negative, over the state s,
 * initially x[N,4]; its body computes t from it, with a node of `type` that reads `reads`. */
static struct graph *growing(struct onnx_model **out, int turns, const char *type, const char *reads, bool collects)
{
	struct onnx_model *m = *out = model(8, 16);
	Onnx__GraphProto *b = onnx_graph_new(m, "body");
	Onnx__NodeProto *n;

	onnx_graph_add_input(m, b, info(m, "i", TYPE_I64, ""));
	onnx_graph_add_input(m, b, info(m, "go", TYPE_BOOL, ""));
	onnx_graph_add_input(m, b, info(m, "s", TYPE_F32, "? ?"));
	add(m, b, "Identity", "go", "on");
	n = add(m, b, type, reads, "t");
	if (!strcmp(type, "Concat"))
		onnx_node_set_int(m, n, "axis", 0);
	onnx_graph_add_output(m, b, info(m, "on", TYPE_BOOL, ""));
	onnx_graph_add_output(m, b, info(m, "t", TYPE_F32, "? ?"));
	if (collects) {
		add(m, b, "Neg", "s", "u");
		onnx_graph_add_output(m, b, info(m, "u", TYPE_F32, "? ?"));
	}
	input(m, "x", TYPE_F32, "N 4");
	input(m, "k", TYPE_F32, "K 4");
	if (turns < 0)
		input(m, "m", TYPE_I64, "");
	else
		constant(m, "m", TYPE_I64, 0, NULL, (double[]){ turns });
	output(m, "y", TYPE_F32, "? ?");
	onnx_node_set_graph(m, node(m, "Loop", "m - x", collects ? "y z" : "y"), "body", b);
	return graph_of(m, NULL);
}

/* Each iteration may change a state's shape if their number is known and small: the result has the last one's.
 * Otherwise a state that must change its shape is refused, and one that may keep it is checked at run time. */
static void growing_states(void)
{
	static const char grows[] = "its state \"s\" is f32[N,4] before an iteration and f32[N * 2,4] after it.";
	static const struct {
		int turns;
		const char *type, *reads;
		bool collects;
		const char *result, *state, *why; /* the types of y, and of s in all iterations */
	} cases[] = {
		{ 0, "Concat", "s s", false, "f32[N,4]", "f32[N,4]", "" },
		{ 1, "Concat", "s s", false, "f32[N * 2,4]", "f32[N,4]", "" },
		{ 3, "Concat", "s s", false, "f32[N * 8,4]", "f32[d0,4]", "" },
		{ 3, "Concat", "s k", false, "f32[K * 3 + N,4]", "f32[d0,4]", "" },
		{ 99, "Concat", "s s", false, "f32[d0,d1]", "f32[d2,d3]", grows },
		{ -1, "Concat", "s s", false, "f32[d0,d1]", "f32[d2,d3]", grows },
		{ 1, "Concat", "s s", true, "f32[N * 2,4]", "f32[N,4]", "" },
		{ 2, "Concat", "s s", true, "f32[d0,d1]", "f32[d2,d3]",
		  "its output number 2 collects f32[N,4] in iteration 1 and f32[N * 2,4] in iteration 2." },
		{ 1, "Neg", "k", false, "f32[K,4]", "f32[N,4]", "" },
		{ 99, "Neg", "k", false, "f32[N,4]", "f32[d0,d1]", "" }, /* nothing checks K in the body's own
		                                                          * plugins */
		{ 99, "Neg", "s", false, "f32[N,4]", "f32[N,4]", "" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct onnx_model *m;
		struct graph *g = growing(&m, cases[i].turns, cases[i].type, cases[i].reads, cases[i].collects);

		CHECK_STR(type_of(g, "y"), cases[i].result);
		CHECK_STR(type_of(g->graphs.at[1], "s"), cases[i].state);
		CHECK_STR(why(g, "y"), cases[i].why);
		graph_free(g);
		onnx_model_free(m);
	}
}

/* Only in opset 8 the first input may be omitted; it is sequence_lens there. */
static void scan_of_nothing(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *b = onnx_graph_new(m, "body");
	Onnx__NodeProto *n;
	struct graph *g;

	onnx_graph_add_input(m, b, info(m, "e", TYPE_F32, "2"));
	add(m, b, "Neg", "e", "u");
	onnx_graph_add_output(m, b, info(m, "u", TYPE_F32, "2"));
	output(m, "z", TYPE_F32, "? ?");
	n = node(m, "Scan", "-", "z");
	onnx_node_set_graph(m, n, "body", b);
	onnx_node_set_int(m, n, "num_scan_inputs", 1);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "z"), "input number 1 is missing; the operator needs it.");
	graph_free(g);
	onnx_model_free(m);
}

static void growing_scan(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *b = onnx_graph_new(m, "body");
	Onnx__NodeProto *n;
	struct graph *g;

	onnx_graph_add_input(m, b, info(m, "s", TYPE_F32, "? 2"));
	onnx_graph_add_input(m, b, info(m, "e", TYPE_F32, "2"));
	onnx_node_set_int(m, add(m, b, "Concat", "s s", "t"), "axis", 0);
	add(m, b, "Neg", "e", "u");
	onnx_graph_add_output(m, b, info(m, "t", TYPE_F32, "? 2"));
	onnx_graph_add_output(m, b, info(m, "u", TYPE_F32, "2"));
	input(m, "x", TYPE_F32, "N 2");
	input(m, "l", TYPE_F32, "T 2");
	output(m, "z", TYPE_F32, "? ?");
	n = node(m, "Scan", "x l", "y z");
	onnx_node_set_graph(m, n, "body", b);
	onnx_node_set_int(m, n, "num_scan_inputs", 1);
	g = graph_of(m, NULL);
	CHECK_STR(why(g, "y"), "its state \"s\" is f32[N,2] before an iteration and f32[N * 2,2] after it.");
	graph_free(g);
	onnx_model_free(m);
}

/* A result that can have the state's shape gets demands that it does. */
static void state_demanded(void)
{
	struct onnx_model *m;
	struct graph *g = growing(&m, -1, "Neg", "k", false);
	const char *text = program_text(g, (const char *[]){ "y" }, 1, NULL);

	CHECK(strstr(text, "v_initial1: f32[N,4], k_: f32[N,4]") != NULL); /* one symbol of two */
	graph_free(g);
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
	functions_in_branches();
	graph_handed_on();
	own_opset();
	recursion();
	doubling();
	growing_states();
	growing_scan();
	scan_of_nothing();
	state_demanded();
	arena_free(arena);
	return test_done();
}
