/* Local functions: their attributes, opsets and names, inside branches too; functions that call themselves or too many
 * others. */
#include "graph_bodies.h"

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

int main(void)
{
	arena = arena_new();
	functions_in_branches();
	graph_handed_on();
	own_opset();
	recursion();
	doubling();
	arena_free(arena);
	return test_done();
}
