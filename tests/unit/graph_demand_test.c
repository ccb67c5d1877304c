/* Constraints on extents: merged symbols, checks left for run time, and that the interpreter and random extents respect
 * them. */
#include <string.h>

#include "check/verify.h"
#include "eval/eval.h"
#include "tests/program/program_text.h"
#include "graph_models.h"

/* The program of a model's one node, whose name is "y". */
static struct ir_program *program_of(struct graph *g)
{
	struct graph_program_options o = { .any_types = true, .keep_types = true };
	struct graph_region *r;
	struct ir_program *p = NULL;
	struct err e = { 0 };
	int node = 0;

	CHECK_INT(graph_region_new(&r, g, &node, 1, &e), 0);
	CHECK_INT(graph_region_program(&p, r, &o, arena, &e), 0);
	return p;
}

/* Returns the interpreter's error for inputs of these extents, two each; "" if it runs. */
static const char *run(const struct ir_program *p, const int64_t *dim)
{
	struct tensor in[4], out[2];
	const struct tensor *inputs[4];
	struct err e = { 0 };

	for (int i = 0; i < p->inputs.n; i++) {
		CHECK_INT(tensor_new(&in[i], p->inputs.at[i]->type, 2, dim + 2 * i, arena, &e), 0);
		inputs[i] = &in[i];
	}
	eval_program(p, inputs, out, NULL, arena, &e);
	return arena_strdup(arena, e.text);
}

static bool draws(const struct ir_program *p, int run)
{
	struct verify_input input[8] = {
		{ .rank = -1 }, { .rank = -1 }, { .rank = -1 }, { .rank = -1 }, { .rank = -1 }
	};
	struct tensor in[8], out[2];
	struct verify_case c = { .plugin = "p", .reference = p, .input = input, .seed = 7 };
	struct err e = { 0 };

	if (verify_draw(in, out, &c, run, arena, &e) == 0)
		return true;
	printf("  %s\n", e.text);
	return false;
}

/* Symbols that must be equal are one, also for later nodes. */
static void concat(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;
	struct ir_program *p;

	input(m, "a", TYPE_F32, "n 2 h w");
	input(m, "b", TYPE_F32, "n 3 h2 w2");
	output(m, "y", TYPE_F32, "? ? ? ?");
	onnx_node_set_int(m, node(m, "Concat", "a b", "y"), "axis", 1);
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "b"), "f32[n_,3,h,w_]");
	CHECK_STR(type_of(g, "y"), "f32[n_,5,h,w_]");
	p = program_of(g);
	CHECK_INT(p->demands.n, 0); /* the inputs' extents say it */
	CHECK(p->inputs.at[0]->dim[2] == p->inputs.at[1]->dim[2]);
	graph_free(g);
	onnx_model_free(m);
}

/* The neck of a detector: extents that agree only for some image sizes. */
static void neck(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;
	struct ir_program *p;
	struct verify_input input_of[2] = { { .rank = 2, .dim = { 7, 9 } } };
	struct tensor in[2];
	struct err e = { 0 };
	int nodes[] = { 0, 1, 2, 3 };
	struct graph_region *r;

	input(m, "x", TYPE_F32, "h w");
	output(m, "y", TYPE_F32, "? ?");
	ints(m, "start", 1, (double[]){ 0 });
	ints(m, "end", 1, (double[]){ 1 << 20 });
	ints(m, "axis", 1, (double[]){ 0 });
	ints(m, "two", 1, (double[]){ 2 });
	ints(m, "twice", 2, (double[]){ 2, 1 });
	node(m, "Slice", "x start end axis two", "half");
	node(m, "Tile", "half twice", "up");
	node(m, "Identity", "x", "same");
	onnx_node_set_int(m, node(m, "Concat", "up same", "y"), "axis", 1);
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "up"), "f32[floordiv(min(1048576, h) + 1, 2) * 2,w_]");
	CHECK_STR(type_of(g, "y"), "f32[h,w_ * 2]"); /* the simpler one */
	CHECK_INT(graph_region_new(&r, g, nodes, 4, &e), 0);
	CHECK_INT(graph_region_program(&p, r, NULL, arena, &e), 0);
	CHECK_INT(p->demands.n, 1);
	CHECK_STR(run(p, (int64_t[]){ 4, 5 }), "");
	CHECK_STR(run(p, (int64_t[]){ 5, 5 }), "Program region_slice_concat: node y: extent 0 of up is 6 and extent 0 "
	                                       "of same is 5; they must be equal.");
	for (int i = 0; i < 20; i++)
		CHECK(draws(p, i));
	/* Extents that were given, and do not fit. */
	struct verify_case c = { .plugin = "p", .reference = p, .input = input_of, .seed = 7 };
	CHECK_INT(verify_draw(in, NULL, &c, 0, arena, &e), ERR_MODEL);
	CHECK_STR(e.text, "node y: extent 0 of up is 8 and extent 0 of same is 7; they must be equal.");
	graph_free(g);
	onnx_model_free(m);
}

/* Broadcasting allows a 1 on either side, and does not confuse symbols. */
static void broadcast(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;
	struct ir_program *p;

	input(m, "a", TYPE_F32, "n k");
	input(m, "b", TYPE_F32, "n2 k2");
	output(m, "y", TYPE_F32, "? ?");
	node(m, "Sum", "a b", "y");
	g = graph_of(m, NULL);
	p = program_of(g);
	CHECK_INT(p->demands.n, 2);
	CHECK_STR(run(p, (int64_t[]){ 3, 4, 3, 4 }), "");
	CHECK_STR(run(p, (int64_t[]){ 1, 4, 3, 1 }), "");
	CHECK_STR(run(p, (int64_t[]){ 3, 4, 5, 4 }), "Program sum: node y: extent 0 of a is 3 and extent 0 of b is 5; "
	                                             "they must be equal, or one of them 1.");
	for (int i = 0; i < 20; i++)
		CHECK(draws(p, i));
	graph_free(g);
	onnx_model_free(m);
}

/* The inner extent of a product, also with a constant, which the symbol then equals. */
static void product(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;
	const int64_t dim[] = { 4, 2 };

	input(m, "a", TYPE_F32, "n k");
	input(m, "b", TYPE_F32, "k2 m");
	output(m, "z", TYPE_F32, "? ?");
	constant(m, "w", TYPE_F32, 2, dim, (double[]){ 1, 2, 3, 4, 5, 6, 7, 8 });
	node(m, "MatMul", "a b", "y");
	node(m, "MatMul", "a w", "z");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "a"), "f32[n_,4]");
	CHECK_STR(type_of(g, "b"), "f32[4,m_]");
	graph_free(g);
	onnx_model_free(m);
}

/* Channels: those of the weights, of scales, of running statistics. */
static void channels(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;

	input(m, "x", TYPE_F32, "N C H W");
	input(m, "f", TYPE_F32, "M C2 3 3");
	input(m, "s", TYPE_F32, "S");
	input(m, "t", TYPE_F32, "T");
	input(m, "u", TYPE_F32, "U");
	input(m, "v", TYPE_F32, "V");
	output(m, "z", TYPE_F32, "? ? ? ?");
	node(m, "Conv", "x f", "y");
	node(m, "BatchNormalization", "y s t u v", "z");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "f"), "f32[M,C,3,3]");
	CHECK_STR(type_of(g, "s"), "f32[S]"); /* at most: by the elements read */
	CHECK(g->demands.n >= 5);
	graph_free(g);
	onnx_model_free(m);
}

/* Before opset 14 a model for inference may list the statistics as outputs. */
static void listed_statistics(void)
{
	struct onnx_model *m;
	struct graph *g;

	for (int opset = 13; opset < 15; opset++) {
		m = model(8, opset);
		input(m, "x", TYPE_F32, "N 3 H");
		for (const char *name = "stuv"; *name; name++)
			input(m, (char[]){ *name, 0 }, TYPE_F32, "3");
		output(m, "y", TYPE_F32, "? ? ?");
		node(m, "BatchNormalization", "x s t u v", "y m w n k");
		g = graph_of(m, NULL);
		CHECK(!g->nodes.at[0].why == (opset < 14));
		CHECK_STR(type_of(g, "w"), opset < 14 ? "f32[3]" : "?");
		graph_free(g);
		onnx_model_free(m);
	}
}

/* GatherElements: the indices' other axes may be shorter than the data's. */
static void elements(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;
	struct ir_program *p;

	input(m, "x", TYPE_F32, "n k");
	input(m, "i", TYPE_I64, "n2 k2");
	output(m, "y", TYPE_F32, "? ?");
	onnx_node_set_int(m, node(m, "GatherElements", "x i", "y"), "axis", 1);
	g = graph_of(m, NULL);
	p = program_of(g);
	CHECK_STR(run(p, (int64_t[]){ 3, 4, 2, 7 }), "");
	CHECK_STR(run(p, (int64_t[]){ 3, 4, 5, 7 }),
	          "Program gather_elements: node y: extent 0 of i is 5 and extent 0 of x is 3; the first must not be "
	          "larger than the second.");
	for (int i = 0; i < 20; i++)
		CHECK(draws(p, i));
	graph_free(g);
	onnx_model_free(m);
}

/* Scale and zero point: one for all, or one for each. */
static void scale(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	struct ir_program *p;
	struct err e = { 0 };
	bool one = false, each = false;

	input(m, "x", TYPE_F32, "n c");
	input(m, "s", TYPE_F32, "k");
	output(m, "y", TYPE_U8, "? ?");
	node(m, "QuantizeLinear", "x s", "y");
	g = graph_of(m, NULL);
	p = program_of(g);
	CHECK_INT(p->demands.n, 1);
	for (int i = 0; i < 12; i++) {
		struct verify_input input[2] = { { .rank = -1 }, { .rank = -1 } };
		struct tensor in[2], out;
		struct verify_case c = { .plugin = "p", .reference = p, .input = input, .seed = 3 };

		CHECK_INT(verify_draw(in, &out, &c, i, arena, &e), 0);
		one |= in[1].dim[0] == 1 && in[0].dim[1] > 1;
		each |= in[1].dim[0] == in[0].dim[1] && in[0].dim[1] > 1;
		CHECK(in[1].dim[0] == 1 || in[1].dim[0] == in[0].dim[1]);
	}
	CHECK(one && each);
	graph_free(g);
	onnx_model_free(m);
}

/* Sizes computed at run time: before a launch only their bounds are known. */
static void sizes(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph_program_options o = { .any_types = true, .keep_types = true };
	struct graph_region *r;
	struct ir_program *p = NULL;
	struct ir_demand limits;
	struct err e = { 0 };
	struct graph *g;
	int nodes[] = { 0, 1, 2 };

	input(m, "x", TYPE_F32, "N");
	input(m, "z", TYPE_F32, "M");
	output(m, "y", TYPE_I64, "? ?");
	node(m, "NonZero", "x", "a");
	node(m, "NonZero", "z", "b");
	onnx_node_set_int(m, node(m, "Concat", "a b", "y"), "axis", 0);
	g = graph_of(m, NULL);
	CHECK_INT(graph_region_new(&r, g, nodes, 3, &e), 0);
	CHECK_INT(graph_region_program(&p, r, &o, arena, &e), 0);
	CHECK_INT(p->demands.n, 1);
	CHECK(ir_demand_of_limits(p, &p->demands.at[0], &limits));
	CHECK_INT(limits.relation, IR_AT_MOST);
	CHECK_STR(ir_demand_text(&limits, "5", "4", arena),
	          "the most that extent 1 of a can be is 5 and the most that extent 1 of b can be is 4; the first must "
	          "not be larger than the second");
	graph_free(g);
	onnx_model_free(m);
}

/* Written and read back. */
static void text(void)
{
	static const char program[] = "program p(x: f32[N,K], y: f32[M]) -> (z: f32[N,K])\n"
	                              "  demand N * 2 == M (\"a b\" 0, \"c\" 0, \"node\")\n"
	                              "  demand M is_one_or K (\"y\" 0, \"x\" 1, \"other\")\n"
	                              "  demand N <= M (\"\" 0, \"y\" 0, \"node\")\n"
	                              "  z: f32[N,K] = map (i, j) x[i, j]\n";
	struct ir_program *p = NULL;
	struct str out = str_new(arena);
	struct err e = { 0 };
	char hash[33], other[33];

	CHECK_INT(ir_parse_program(&p, program, arena, &e), 0);
	CHECK_STR(e.text, "");
	if (!p)
		return;
	ir_print_program(&out, p);
	CHECK_STR(str_text(&out), program);
	ir_hash(p, hash);
	ir_demands_unify(p); /* M is 2 N */
	CHECK_INT(p->demands.n, 1);
	ir_hash(p, other);
	CHECK(strcmp(hash, other) != 0);
	CHECK_INT(ir_parse_program(&p,
	                           "program p(x: f32[N]) -> (z: f32[N])\n  demand N ~ 2 (\"x\" 0, \"x\" 0, \"y\")\n",
	                           arena, &e),
	          ERR_MODEL);
}

/* Larger extents leave nothing: one scale for all axes, so that the first one makes the others zero. */
static void shrinking(void)
{
	struct onnx_model *m = model(9, 19);
	Onnx__NodeProto *n;
	struct graph *g;
	struct ir_program *p;

	input(m, "x", TYPE_F32, "n 3 h w");
	output(m, "y", TYPE_F32, "? ? ? ?");
	ints(m, "sizes", 4, (double[]){ 1, 3, 12, 8 });
	n = node(m, "Resize", "x - - sizes", "y");
	onnx_node_set_string(m, n, "keep_aspect_ratio_policy", "not_larger");
	onnx_node_set_string(m, n, "mode", "cubic");
	g = graph_of(m, NULL);
	p = program_of(g);
	for (int i = 0; i < 20; i++)
		CHECK(draws(p, i));
	graph_free(g);
	onnx_model_free(m);
}

/* Runs after the first ones take little work, and extents without demands stay small where others must be large. */
static void light(void)
{
	struct onnx_model *m = model(8, 17);
	struct verify_input given[2] = { { .rank = -1 }, { .rank = -1 } };
	struct graph *g;
	struct ir_program *p;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "b k");
	input(m, "w", TYPE_F32, "k 512");
	output(m, "y", TYPE_F32, "? ?");
	node(m, "MatMul", "x w", "y");
	g = graph_of(m, NULL);
	p = program_of(g);
	/* Only multiples of 128 satisfy it. */
	struct ir_demand d = { .relation = IR_SAME, .node = "y", .tensor = { "x", "x" } };
	expr k = p->inputs.at[0]->dim[1];
	d.extent[0] = k;
	d.extent[1] = ir_binary(IR_MUL, ir_binary(IR_FLOORDIV, k, ir_index(p->pool, 128)), ir_index(p->pool, 128));
	vec_push(p->arena, &p->demands, d);
	for (int run = 0; run < 9; run++) {
		struct tensor in[2];
		struct verify_case c = { .plugin = "p", .reference = p, .input = given, .seed = 7 };

		CHECK_INT(verify_draw(in, NULL, &c, run, arena, &e), 0);
		CHECK(in[0].dim[1] % 128 == 0 && in[0].dim[1] <= 256);
		CHECK(in[0].dim[0] <= (run < 3 ? 40 : 4));
	}
	graph_free(g);
	onnx_model_free(m);
}

/* The parts of a Split are all of its axis: an open one is their sum, and equal parts divide it. */
static void split(void)
{
	static const double parts[] = { 3, 1 };
	struct onnx_model *m = model(8, 17);
	struct graph *g;
	struct ir_program *p;
	bool even = false;

	input(m, "x", TYPE_F32, "n c");
	ints(m, "parts", 2, parts);
	output(m, "y", TYPE_F32, "? ?");
	output(m, "z", TYPE_F32, "? ?");
	output(m, "v", TYPE_F32, "? ?");
	output(m, "w", TYPE_F32, "? ?");
	onnx_node_set_int(m, node(m, "Split", "x parts", "y z"), "axis", 1);
	node(m, "Split", "y", "v w");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "x"), "f32[n_,4]");
	p = program_of(g);
	CHECK_INT(p->demands.n, 0);
	vec_each (d, &g->demands)
		even |= d->relation == IR_SAME && strcmp(d->node, "v") == 0;
	CHECK(even);
	graph_free(g);
	onnx_model_free(m);
}

/* What the last node demands decides the first one, which else would compute a size at run time. */
static void late(void)
{
	static const int64_t w[] = { 4, 3 }, kept[] = { 4 };
	static const double condition[] = { 1, 0, 1, 0 }, weights[12];
	struct onnx_model *m = model(8, 17);
	struct graph *g;

	input(m, "x", TYPE_F32, "n k");
	constant(m, "condition", TYPE_BOOL, 1, kept, condition);
	constant(m, "w", TYPE_F32, 2, w, weights);
	output(m, "y", TYPE_F32, "? ?");
	output(m, "z", TYPE_F32, "? ?");
	onnx_node_set_int(m, node(m, "Compress", "x condition", "y"), "axis", 1);
	node(m, "MatMul", "x w", "z");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "x"), "f32[n_,4]");
	CHECK_STR(type_of(g, "y"), "f32[n_,2]");
	CHECK_STR(type_of(g, "z"), "f32[n_,3]");
	graph_free(g);
	onnx_model_free(m);
}

/* Of two lower bounds on a symbol the larger one counts, in any order. */
static void bounds(void)
{
	struct onnx_model *m = model(8, 17);
	struct verify_input given[1] = { { .rank = -1 } };
	struct graph *g;
	struct ir_program *p;
	struct err e = { 0 };
	bool least = false, more = false;

	input(m, "x", TYPE_F32, "n 4");
	output(m, "y", TYPE_F32, "? ?");
	node(m, "Relu", "x", "y");
	g = graph_of(m, NULL);
	p = program_of(g);
	for (int64_t bound = 1; bound <= 2; bound++) {
		struct ir_demand d = { .relation = IR_AT_MOST, .node = "y", .tensor = { "x", "x" } };
		d.extent[0] = ir_index(p->pool, bound);
		d.extent[1] = p->inputs.at[0]->dim[0];
		vec_push(p->arena, &p->demands, d);
	}
	for (int run = 0; run < 12; run++) {
		struct tensor in[1];
		struct verify_case c = { .plugin = "p", .reference = p, .input = given, .seed = 7 };

		CHECK_INT(verify_draw(in, NULL, &c, run, arena, &e), 0);
		CHECK(in[0].dim[0] >= 2);
		least |= in[0].dim[0] == 2;
		more |= in[0].dim[0] > 2;
	}
	CHECK(least && more);
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	concat();
	split();
	late();
	bounds();
	neck();
	broadcast();
	product();
	channels();
	listed_statistics();
	elements();
	scale();
	sizes();
	text();
	shrinking();
	light();
	arena_free(arena);
	return test_done();
}
