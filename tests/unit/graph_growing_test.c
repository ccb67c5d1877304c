/* States of Loop and Scan that change their shapes, or have to keep them. */
#include "graph_bodies.h"

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

/* By at least one row in each turn, if there are any. */
static void growing_by_slices(void)
{
	for (int rows = 1; rows < 6; rows++) {
		struct onnx_model *m = model(8, 16);
		Onnx__GraphProto *b = onnx_graph_new(m, "body");

		onnx_graph_add_input(m, b, info(m, "i", TYPE_I64, ""));
		onnx_graph_add_input(m, b, info(m, "go", TYPE_BOOL, ""));
		onnx_graph_add_input(m, b, info(m, "s", TYPE_F32, "? ?"));
		add(m, b, "Identity", "go", "on");
		onnx_node_set_int(m, add(m, b, "Concat", "s part", "t"), "axis", 0);
		onnx_graph_add_output(m, b, info(m, "on", TYPE_BOOL, ""));
		onnx_graph_add_output(m, b, info(m, "t", TYPE_F32, "? ?"));
		input(m, "x", TYPE_F32, "N 4");
		input(m, "k", TYPE_F32, "K 4");
		input(m, "m", TYPE_I64, "");
		ints(m, "zero", 1, (double[]){ 0 });
		ints(m, "rows", 1, (double[]){ rows });
		node(m, "Slice", "k zero rows", "part");
		output(m, "y", TYPE_F32, "? ?");
		onnx_node_set_graph(m, node(m, "Loop", "m - x", "y"), "body", b);
		struct graph *g = graph_of(m, NULL);
		CHECK(strstr(why(g, "y"), "its state \"s\" is f32[N,4] before an iteration and f32[") != NULL);
		graph_free(g);
		onnx_model_free(m);
	}
}

static uint64_t state = 1;

static int draw(int n)
{
	state = hash_u64(state, 0x9e3779b97f4a7c15u);
	return (int)(state % (uint64_t)n);
}

/* A loop appends x[rows,2] to its state while its length is below a limit, and the turn's number, or either. */
static void ended_by_shapes(void)
{
	static const char *const ops[] = { "And", "Or", "length", "turn" };
	int supported = 0;

	for (int i = 0; i < 300; i++) {
		struct onnx_model *m = model(8, 16);
		Onnx__GraphProto *b = onnx_graph_new(m, "body");
		int op = draw(4), limit = 1 + draw(12), last = 1 + draw(5), rows = 1 + draw(2), most = 1 + draw(20);
		int length = rows, turns = 0;
		bool bounded = draw(2), goes = true;

		while (goes && turns < (bounded ? most : 99)) {
			bool shorter = (length += rows) < limit, fewer = turns++ < last;

			goes = op == 0 ? shorter && fewer : op == 1 ? shorter || fewer : op == 2 ? shorter : fewer;
		}
		onnx_graph_add_input(m, b, info(m, "i", TYPE_I64, ""));
		onnx_graph_add_input(m, b, info(m, "go", TYPE_BOOL, ""));
		onnx_graph_add_input(m, b, info(m, "s", TYPE_F32, "? ?"));
		onnx_node_set_int(m, add(m, b, "Concat", "s x", "t"), "axis", 0);
		add(m, b, "Shape", "t", "extents");
		add(m, b, "Gather", "extents zero", "n");
		add(m, b, "Less", "n limit", "shorter");
		add(m, b, "Less", "i last", "fewer");
		add(m, b, op < 2 ? ops[op] : "Identity",
		    op < 2    ? "shorter fewer"
		    : op == 2 ? "shorter"
		              : "fewer",
		    "on");
		onnx_graph_add_output(m, b, info(m, "on", TYPE_BOOL, ""));
		onnx_graph_add_output(m, b, info(m, "t", TYPE_F32, "? ?"));
		input(m, "x", TYPE_F32, rows == 1 ? "1 2" : "2 2");
		constant(m, "zero", TYPE_I64, 0, NULL, (double[]){ 0 });
		constant(m, "limit", TYPE_I64, 0, NULL, (double[]){ limit });
		constant(m, "last", TYPE_I64, 0, NULL, (double[]){ last });
		constant(m, "most", TYPE_I64, 0, NULL, (double[]){ most });
		output(m, "y", TYPE_F32, "? ?");
		onnx_node_set_graph(m, node(m, "Loop", bounded ? "most - x" : "- - x", "y"), "body", b);
		struct graph *g = graph_of(m, NULL);
		if (strcmp(why(g, "y"), "") == 0) {
			supported++;
			CHECK_STR(type_of(g, "y"), arena_printf(arena, "f32[%d,2]", length));
		}
		graph_free(g);
		onnx_model_free(m);
	}
	CHECK(supported > 150);
}

/* A loop without turns gives its states, and empty tensors of what it collects, whatever is in its body; in runs and in
 * builds. */
static void no_turns(void)
{
	static const struct {
		const char *turns, *goes; /* the loop's inputs */
	} cases[] = { { "zero", "-" }, { "minus", "-" }, { "zero", "true" }, { "m", "false" }, { "-", "false" } };

	for (int i = 0; i < 30; i++) {
		struct onnx_model *m = model(8, 16);
		Onnx__GraphProto *b = onnx_graph_new(m, "body");
		const struct graph_options o = { .take_apart = i % 2 };
		const char *in = arena_printf(arena, "%s %s x", cases[i / 6].turns, cases[i / 6].goes);
		bool collects = i / 2 % 3, ranked = i / 2 % 3 == 1; /* an unknown operator's rank is not known */
		struct graph *g;
		struct err e = { 0 };

		onnx_graph_add_input(m, b, info(m, "i", TYPE_I64, ""));
		onnx_graph_add_input(m, b, info(m, "go", TYPE_BOOL, ""));
		onnx_graph_add_input(m, b, info(m, "s", TYPE_I64, "? ?"));
		add(m, b, "Identity", "go", "on");
		add(m, b, "NonZero", "s", "t");
		onnx_graph_add_output(m, b, info(m, "on", TYPE_BOOL, ""));
		onnx_graph_add_output(m, b, info(m, "t", TYPE_I64, "? ?"));
		if (collects) {
			add(m, b, ranked ? "Transpose" : "Secret", "t", "u");
			onnx_graph_add_output(m, b,
			                      ranked ? info(m, "u", TYPE_I64, "? ?")
			                             : onnx_value_info_new(m, "u", TYPE_I64, -1, NULL, NULL));
		}
		input(m, "x", TYPE_I64, "N 4");
		input(m, "m", TYPE_I64, "");
		constant(m, "zero", TYPE_I64, 0, NULL, (double[]){ 0 });
		constant(m, "minus", TYPE_I64, 0, NULL, (double[]){ -2 });
		constant(m, "true", TYPE_BOOL, 0, NULL, (double[]){ 1 });
		constant(m, "false", TYPE_BOOL, 0, NULL, (double[]){ 0 });
		output(m, "y", TYPE_I64, "? ?");
		if (collects)
			onnx_graph_add_output(m, m->proto->graph,
			                      onnx_value_info_new(m, "z", TYPE_I64, -1, NULL, NULL));
		onnx_node_set_graph(m, node(m, "Loop", in, collects ? "y z" : "y"), "body", b);
		CHECK_INT(onnx_model_check(m, &e), 0);
		CHECK_INT(graph_open(&g, m, &o, &e), 0);
		CHECK_STR(e.text, "");
		CHECK_STR(type_of(g, "y"), "i64[N,4]");
		if (collects)
			CHECK_STR(type_of(g, "z"), ranked ? "i64[0,0,2]" : "i64[0]");
		vec_each (n, &g->nodes)
			CHECK_STR(why(g, n->label), "");
		graph_free(g);
		onnx_model_free(m);
	}
}

int main(void)
{
	arena = arena_new();
	growing_states();
	growing_scan();
	scan_of_nothing();
	state_demanded();
	growing_by_slices();
	no_turns();
	ended_by_shapes();
	arena_free(arena);
	return test_done();
}
