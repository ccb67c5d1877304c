/* Types and shapes over whole models, constants, regions, and programs of regions. */
#include "eval/eval.h"
#include "graph_models.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

/* view(x.size(0), -1), as PyTorch exports it. */
static void reshape_of_shape(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;

	input(m, "x", TYPE_F32, "N 3 H W");
	output(m, "y", TYPE_F32, "N ?");
	constant(m, "zero", TYPE_I64, 0, NULL, (double[]){ 0 });
	ints(m, "axis", 1, (double[]){ 0 });
	ints(m, "rest", 1, (double[]){ -1 });
	node(m, "Shape", "x", "shape");
	onnx_node_set_int(m, node(m, "Gather", "shape zero", "n"), "axis", 0);
	node(m, "Unsqueeze", "n axis", "n1");
	onnx_node_set_int(m, node(m, "Concat", "n1 rest", "to"), "axis", 0);
	node(m, "Reshape", "x to", "y");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "shape"), "i64[4]");
	CHECK_STR(type_of(g, "n"), "i64[]");
	CHECK_STR(type_of(g, "to"), "i64[2]");
	CHECK_STR(type_of(g, "y"), "f32[N,H * W * 3]");
	CHECK_INT(g->warnings.n, 0);
	for (int i = 0; i < g->nodes.n; i++)
		CHECK(g->nodes.at[i].known && !g->nodes.at[i].folded);
	CHECK(!graph_value_find(g, "to")->is_constant && graph_value_find(g, "to")->content);
	/* The shape is an input that nothing reads; its content is known from x. */
	CHECK_STR(program_text(g, (const char *[]){ "y" }, 1, NULL),
	          "program reshape(data: f32[N,3,H,W], shape: i64[2]) -> (reshaped: f32[N,H * W * 3])\n"
	          "  reshaped: f32[N,H * W * 3] = map (i, j) data[i, floordiv(floordiv(j, W), H), mod(floordiv(j, W), "
	          "H), mod(j, W)]\n");
	graph_free(g);
	onnx_model_free(m);
}

/* The types to which a value's computation rounds: not those of tensors that are only moved, or of wider copies. */
static void roundings(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;

	input(m, "h", TYPE_F16, "N 4");
	input(m, "x", TYPE_F32, "N 4");
	node(m, "Transpose", "h", "turned");
	onnx_node_set_int(m, node(m, "Cast", "turned", "copy"), "to", TYPE_F64);
	node(m, "Add", "h h", "sum");
	onnx_node_set_int(m, node(m, "Cast", "sum", "wide"), "to", TYPE_F64);
	onnx_node_set_int(m, node(m, "Cast", "x", "narrow"), "to", TYPE_F16);
	onnx_node_set_int(m, node(m, "Cast", "narrow", "again"), "to", TYPE_F32);
	node(m, "Softmax", "x", "soft");
	onnx_node_set_int(m, node(m, "Cast", "soft", "double"), "to", TYPE_F64);
	node(m, "ReduceSum", "copy", "total");
	output(m, "copy", TYPE_F64, "4 N");
	output(m, "wide", TYPE_F64, "N 4");
	output(m, "again", TYPE_F32, "N 4");
	output(m, "double", TYPE_F64, "N 4");
	output(m, "total", TYPE_F64, "1 1");
	g = graph_of(m, NULL);
	CHECK_STR(type_name(graph_rounded(g, graph_value_find(g, "h"))), type_name(TYPE_NONE));
	CHECK_STR(type_name(graph_rounded(g, graph_value_find(g, "copy"))), type_name(TYPE_NONE));
	CHECK_STR(type_name(graph_rounded(g, graph_value_find(g, "wide"))), "f16");
	CHECK_STR(type_name(graph_rounded(g, graph_value_find(g, "again"))), "f16");
	CHECK_STR(type_name(graph_rounded(g, graph_value_find(g, "double"))), "f32");
	CHECK_STR(type_name(graph_rounded(g, graph_value_find(g, "total"))), "f64");
	graph_free(g);
	onnx_model_free(m);
}

/* interpolate(x, scale_factor=0.5), as PyTorch exports it. */
static void scale_through_floats(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	int64_t two = 2;

	input(m, "x", TYPE_F32, "N 3 H W");
	output(m, "y", TYPE_F32, "N 3 ? ?");
	ints(m, "zero", 1, (double[]){ 0 });
	ints(m, "two", 1, (double[]){ 2 });
	ints(m, "four", 1, (double[]){ 4 });
	constant(m, "half", TYPE_F32, 1, &two, (double[]){ 0.5, 1.5 });
	node(m, "Shape", "x", "shape");
	node(m, "Slice", "shape zero two zero", "front");
	node(m, "Slice", "shape two four zero", "back");
	onnx_node_set_int(m, node(m, "Cast", "back", "float"), "to", TYPE_F32);
	node(m, "Mul", "float half", "scaled");
	node(m, "Floor", "scaled", "floor");
	onnx_node_set_int(m, node(m, "Cast", "floor", "int"), "to", TYPE_I64);
	onnx_node_set_int(m, node(m, "Concat", "front int", "sizes"), "axis", 0);
	onnx_node_set_string(m, node(m, "Resize", "x - - sizes", "y"), "mode", "nearest");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "y"), "f32[N,3,floordiv(H, 2),floordiv(W * 3, 2)]");
	CHECK(g->nodes.at[8].known);
	graph_free(g);
	onnx_model_free(m);
}

static void symbols(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	struct graph_shape shape = { "x", 3, { { "B", 0 }, { NULL, 5 }, { NULL, 7 } } };
	struct graph_options o = { .shapes = 1, .shape = &shape };
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "i ? batch/2");
	input(m, "z", TYPE_F32, "i 7");
	output(m, "y", TYPE_F32, "i ? ?");
	node(m, "Relu", "x", "y");
	node(m, "Relu", "z", "w");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "y"), "f32[i_,d0,batch_2]"); /* i is the name of an axis */
	CHECK_STR(type_of(g, "w"), "f32[i_,7]");
	CHECK_INT(g->symbols.n, 3);
	graph_free(g);
	g = graph_of(m, &o); /* an extent given for one input replaces its name everywhere */
	CHECK_STR(type_of(g, "y"), "f32[B,5,7]");
	CHECK_STR(type_of(g, "w"), "f32[B,7]");
	graph_free(g);
	shape.name = "q";
	CHECK_INT(graph_new(&g, m, &o, &e), ERR_USAGE);
	CHECK(!g && strstr(e.text, "no input"));
	err_clear(&e);
	shape = (struct graph_shape){ "z", 2, { { NULL, 1 }, { NULL, 8 } } };
	CHECK_INT(graph_new(&g, m, &o, &e), ERR_USAGE);
	CHECK(strstr(e.text, "has the extent 7") != NULL);
	onnx_model_free(m);
}

/* Which axes a Squeeze without axes removes is known with the extents; the engine's parser leaves open ones. */
static void squeeze(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_shape shape = { "x", 3, { { NULL, 1 }, { NULL, 1 }, { NULL, 4 } } };
	struct graph *g;

	input(m, "x", TYPE_F32, "N 1 4");
	output(m, "y", TYPE_F32, "?");
	node(m, "Squeeze", "x", "y");
	g = graph_of(m, NULL);
	CHECK(!g->nodes.at[0].known);
	graph_free(g);
	g = graph_of(m, &(struct graph_options){ .engine_ranks = true });
	CHECK_STR(type_of(g, "y"), "f32[N,4]");
	graph_free(g);
	g = graph_of(m, &(struct graph_options){ .shapes = 1, .shape = &shape, .engine_ranks = true });
	CHECK_STR(type_of(g, "y"), "f32[4]");
	graph_free(g);
	onnx_model_free(m);
}

static void failures_stop_nothing(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "N 4");
	output(m, "b", TYPE_F32, "N 4");
	output(m, "c", TYPE_F32, "N 5");
	onnx_graph_add_value_info(m, m->proto->graph, info(m, "u", TYPE_F32, "N 4"));
	node(m, "NoSuchOperator", "x", "u v");
	node(m, "Relu", "u", "a");
	node(m, "Relu", "v", "b");
	node(m, "Relu", "x", "c");
	node(m, "Tanh", "v", "d");
	node(m, "Abs", "d", "e");
	g = graph_of(m, NULL);
	CHECK(!g->nodes.at[0].known && g->nodes.at[1].known && !g->nodes.at[2].known && g->nodes.at[3].known);
	CHECK_STR(g->nodes.at[0].why, "tpat does not support the operator NoSuchOperator.");
	CHECK_STR(g->nodes.at[0].advice, "Leave this node out of the selection.");
	CHECK_STR(type_of(g, "a"), "f32[N,4]"); /* from value_info */
	CHECK_STR(type_of(g, "v"), "?");
	CHECK_STR(type_of(g, "b"), "f32[N,4]"); /* from the model's output */
	CHECK_STR(g->nodes.at[2].why, "the shape of its input \"v\" is not known: tpat does not support node \"u\" "
	                              "(NoSuchOperator) before it.");
	CHECK_STR(g->nodes.at[5].why, "the shape of its input \"d\" is not known: tpat does not support node \"u\" "
	                              "(NoSuchOperator) before it."); /* not the Tanh in between */
	CHECK_INT(graph_node_check(g, 2, &e), ERR_UNSUPPORTED);
	CHECK(strstr(e.text, "node b (Relu, opset 13): the shape of") != NULL);
	CHECK_INT(g->warnings.n, 1); /* c is f32[N,4] */
	CHECK_STR(type_of(g, "c"), "f32[N,4]");
	graph_free(g);
	onnx_model_free(m);
}

/* ONNX Runtime's optimiser writes operators that only its own kernels know. */
static void internal_operators(void)
{
	struct onnx_model *m = model(8, 13);
	Onnx__NodeProto *n = onnx_node_new(m, "com.microsoft.nchwc", "Conv", "y");
	struct graph *g;

	input(m, "x", TYPE_F32, "N 4");
	output(m, "y", TYPE_F32, "N 4");
	onnx_node_input(m, n, "x");
	onnx_node_output(m, n, "y");
	onnx_graph_add_node(m, m->proto->graph, n);
	onnx_opset_import(m, "com.microsoft.nchwc", 1);
	g = graph_of(m, NULL);
	CHECK_STR(g->nodes.at[0].why, "tpat does not support the operator com.microsoft.nchwc.Conv.");
	CHECK(strstr(g->nodes.at[0].advice, "give tpat the model from before") != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* A chain of which only the shape is read, which is known: none of its nodes is used. */
static void unused_chain(void)
{
	static const char *const used[] = { "d", "z" };
	struct onnx_model *m = model(8, 13);
	struct graph_selection s = { .types = 1, .type = (const char *[]){ "Neg" } };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "2 3");
	output(m, "z", TYPE_F32, "2 3");
	node(m, "Neg", "x", "a");
	node(m, "Transpose", "a", "b");
	node(m, "Exp", "b", "c");
	node(m, "Shape", "c", "s");
	node(m, "ConstantOfShape", "s", "t");
	node(m, "Neg", "x", "d");
	node(m, "Abs", "d", "z");
	g = graph_of(m, NULL);
	vec_each (n, &g->nodes) {
		bool want = false;

		for (size_t i = 0; i < sizeof used / sizeof *used; i++)
			want |= strcmp(n->label, used[i]) == 0;
		CHECK(graph_node_used(g, n->index) == want || n->folded);
	}
	CHECK_INT(graph_select(&r, g, &s, &e), 0);
	CHECK(r.n == 1 && strcmp(r.at[0]->label, "d") == 0);
	graph_free(g);
	onnx_model_free(m);
}

static void strings_are_refused(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;

	input(m, "x", TYPE_F32, "4 4");
	input(m, "idx", TYPE_STRING, "3");
	output(m, "y", TYPE_F32, "3 4");
	node(m, "Gather", "x idx", "y");
	g = graph_of(m, NULL);
	CHECK(!g->nodes.at[0].known);
	CHECK(g->nodes.at[0].why && strstr(g->nodes.at[0].why, "TensorRT has no strings") != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* No supported operator is listed as impossible; and each row has its texts. */
static void refused_operators(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph *g;

	for (const struct graph_refusal *r = graph_refusals(); r->op; r++) {
		CHECK(op_find(r->domain, r->op) == NULL);
		CHECK(graph_refusal_find(r->domain, r->op) == r);
		CHECK(*r->what && *r->way_out && *graph_refusal_title(r->kind) &&
		      *graph_refusal_reason(r->kind, engine_find(NULL), arena));
	}
	CHECK(graph_refusal_find("", "Relu") == NULL && graph_refusal_find("", "ZipMap") == NULL);
	input(m, "x", TYPE_F32, "4 4");
	output(m, "y", TYPE_F32, "?");
	node(m, "SequenceConstruct", "x x", "s");
	node(m, "ConcatFromSequence", "s", "y");
	g = graph_of(m, NULL);
	CHECK_STR(g->nodes.at[0].why, "it makes a sequence; TensorRT has no sequences, so no plugin can take it.");
	CHECK(strstr(g->nodes.at[1].advice, "--shape") != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Constants --------------------------------------------------------------------------------------------------- */

static void folding(void)
{
	struct onnx_model *m = model(8, 13);
	struct tensor bound;
	struct graph_bound b = { "k", &bound };
	struct graph_options o = { .bounds = 1, .bound = &b };
	const struct tensor *t;
	struct graph *g;
	struct err e = { 0 };
	int64_t one = 1, three = 3;

	input(m, "x", TYPE_F32, "2 3");
	input(m, "k", TYPE_I64, "1");
	output(m, "y", TYPE_F32, "2 3");
	output(m, "z", TYPE_F32, "?");
	constant(m, "c", TYPE_F32, 1, &three, (double[]){ 1, 2, 4 });
	node(m, "Neg", "c", "negative");
	node(m, "Mul", "negative negative", "square");
	node(m, "Add", "x square", "y");
	node(m, "Tile", "c k", "z");
	node(m, "Unsqueeze", "c k", "w");
	g = graph_of(m, NULL);
	CHECK(g->nodes.at[0].folded && g->nodes.at[1].folded && !g->nodes.at[2].folded);
	CHECK_STR(type_of(g, "z"), "f32[value0 * 3]"); /* the repeats are known only at run time */
	CHECK(!g->nodes.at[4].known && strstr(g->nodes.at[4].why, "plain numbers are needed"));
	CHECK(graph_constant(&t, g, graph_value_find(g, "square"), &e) == 0);
	CHECK(tensor_float(t, 2) == 16);
	graph_free(g);
	CHECK(tensor_new(&bound, TYPE_I64, 1, &one, arena, &e) == 0);
	tensor_set_int(&bound, 0, 2);
	g = graph_of(m, &o);
	CHECK(g->nodes.at[3].known && g->nodes.at[3].folded);
	CHECK_STR(type_of(g, "z"), "f32[6]");
	CHECK_INT(g->inputs.n, 1);
	/* The constant is part of the program. */
	CHECK_STR(program_text(g, (const char *[]){ "y" }, 1, NULL), "program add(a: f32[2,3]) -> (c: f32[2,3])\n"
	                                                             "  const b: f32[3] = {1.0, 4.0, 16.0}\n"
	                                                             "  c: f32[2,3] = map (i, j) a[i, j] + b[j]\n");
	graph_free(g);
	onnx_model_free(m);
}

/* The known elements of a list stay known; only the others become values. */
static void lists_known_in_part(void)
{
	struct onnx_model *m = model(8, 13);
	int64_t two = 2;
	struct graph *g;

	input(m, "x", TYPE_F32, "N 3");
	input(m, "k", TYPE_I64, "1");
	input(m, "c", TYPE_F32, "1 1 1");
	constant(m, "d", TYPE_I64, 1, &two, (double[]){ 0, 1 });
	output(m, "y", TYPE_F32, "?");
	node(m, "Shape", "x", "s");
	node(m, "Add", "s d", "t");
	onnx_node_set_int(m, node(m, "Concat", "t k", "list"), "axis", 0);
	node(m, "Tile", "c list", "y");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "y"), "f32[N,4,value0]");
	graph_free(g);
	onnx_model_free(m);
}

/* Large constants are computed on demand. */
static void folding_later(void)
{
	struct onnx_model *m = model(8, 13);
	const struct graph_value *v;
	const struct tensor *t;
	struct graph *g;
	struct err e = { 0 };
	double *value = NEWN(arena, double, 5000);
	int64_t n = 5000;

	for (int i = 0; i < n; i++)
		value[i] = i;
	output(m, "y", TYPE_F32, "5000");
	constant(m, "c", TYPE_F32, 1, &n, value);
	node(m, "Neg", "c", "b");
	node(m, "Abs", "b", "y");
	g = graph_of(m, NULL);
	v = graph_value_find(g, "y");
	CHECK(v->is_constant && !v->constant && g->nodes.at[1].folded);
	CHECK(graph_constant(&t, g, graph_value_find(g, "y"), &e) == 0);
	CHECK(tensor_float(t, 4999) == 4999);
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Regions ----------------------------------------------------------------------------------------------------- */

static void convexity(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_selection s = { 0 };
	struct graph_region_names names = { 2, (const char *[]){ "a", "c" } };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "N 4");
	output(m, "c", TYPE_F32, "N 4");
	node(m, "Relu", "x", "a");
	node(m, "Exp", "a", "b");
	node(m, "Add", "a b", "c");
	g = graph_of(m, NULL);
	s.regions = 1;
	s.region = &names;
	CHECK_INT(graph_select(&r, g, &s, &e), ERR_USAGE);
	CHECK(strstr(e.text, "node b (Exp)") != NULL);
	CHECK_STR(e.advice, "Add b to the region.");
	err_clear(&e);
	names = (struct graph_region_names){ 3, (const char *[]){ "c", "a", "b" } };
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK(r.n == 1 && r.at[0]->nodes.n == 3 && r.at[0]->inputs.n == 1 && r.at[0]->outputs.n == 1);
	CHECK_STR(program_text(g, names.name, 3, NULL),
	          "program region_relu_add(x: f32[N,4]) -> (c: f32[N,4])\n"
	          "  c: f32[N,4] = map (i, j) let _0 = max(x[i, j], 0.0); _0 + exp(_0)\n");
	s = (struct graph_selection){ .types = 1, .type = (const char *[]){ "Reluu" } };
	CHECK_INT(graph_select(&r, g, &s, &e), ERR_USAGE);
	CHECK_STR(e.advice, "Did you mean Relu?");
	err_clear(&e);
	s = (struct graph_selection){
		.names = 1, .name = (const char *[]){ "#1" }, .types = 1, .type = (const char *[]){ "Exp" }
	};
	CHECK(graph_select(&r, g, &s, &e) == 0);
	CHECK_INT(r.n, 1); /* named twice, taken once */
	graph_free(g);
	onnx_model_free(m);
}

/* Extents that are not plain symbols get their own symbols; outer sizes are expressed in them, or refused. */
static void symbol_translation(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;

	input(m, "x", TYPE_F32, "N H");
	input(m, "w", TYPE_F32, "1");
	output(m, "r", TYPE_F32, "? ?");
	output(m, "s", TYPE_F32, "? ?");
	ints(m, "zero", 1, (double[]){ 0 });
	ints(m, "big", 1, (double[]){ 9999999 });
	ints(m, "step", 1, (double[]){ 2 });
	ints(m, "axis", 1, (double[]){ 1 });
	node(m, "Slice", "x zero big axis step", "half"); /* N, ceil(H/2) */
	node(m, "Neg", "half", "n");
	node(m, "Shape", "half", "shape");
	node(m, "Expand", "n shape", "r");
	node(m, "Expand", "w shape", "s");
	g = graph_of(m, NULL);
	CHECK_STR(program_text(g, (const char *[]){ "n" }, 1, NULL), "program neg(x: f32[N,n0]) -> (y: f32[N,n0])\n"
	                                                             "  y: f32[N,n0] = map (i, j) neg(x[i, j])\n");
	CHECK_STR(program_text(g, (const char *[]){ "r" }, 1, NULL),
	          "program expand(input: f32[N,n0], shape: i64[2]) -> (output: f32[N,n0])\n"
	          "  output: f32[N,n0] = map (i, j) input[i, j]\n");
	/* w lacks the needed extents: x becomes an input only for its extents. */
	CHECK_STR(program_text(g, (const char *[]){ "s" }, 1, NULL),
	          "program expand(input: f32[1], shape: i64[2], x: f32[N,H]) -> (output: f32[N,floordiv(min(9999999, "
	          "H) + 1, 2)])\n"
	          "  output: f32[N,floordiv(min(9999999, H) + 1, 2)] = map (i, j) input[0]\n");
	graph_free(g);
	onnx_model_free(m);
}

/* Symbols, axes and buffers share a program's namespace, so their names must differ. */
static void names_differ(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	const char *text;

	input(m, "output", TYPE_F32, "x input");
	output(m, "k", TYPE_F32, "x input");
	onnx_node_set_int(m, node(m, "Softmax", "output", "x"), "axis", -1);
	node(m, "Mul", "x x", "k");
	g = graph_of(m, NULL);
	text = program_text(g, (const char *[]){ "x" }, 1, NULL);
	CHECK(strstr(text, "program softmax(input_: f32[x,input]) -> (output: f32[x,input])") == text);
	text = program_text(g, (const char *[]){ "x", "k" }, 2, NULL);
	CHECK(strstr(text, "(output: f32[x,input]) -> (k_: f32[x,input])") != NULL);
	CHECK(!strstr(text, " x: ") && !strstr(text, " input: "));
	graph_free(g);
	onnx_model_free(m);
}

/* The program of an Expand to the shape of x[N], which is not an input of the region. */
static const char *expand_to_shape_of(enum type x)
{
	struct onnx_model *m = model(8, 13);
	struct graph *g;
	const char *text;

	input(m, "x", x, "N");
	input(m, "w", TYPE_F32, "1");
	output(m, "s", TYPE_F32, "?");
	node(m, "Shape", "x", "shape");
	node(m, "Expand", "w shape", "s");
	g = graph_of(m, NULL);
	text = program_text(g, (const char *[]){ "s" }, 1, NULL);
	graph_free(g);
	onnx_model_free(m);
	return text;
}

/* x becomes an input only for its extent, even if its elements have to be converted for that; a plugin can have no
 * uint64 at all. */
static void size_from_elsewhere(void)
{
	CHECK(strstr(expand_to_shape_of(TYPE_F32), "x: f32[N]) -> ") != NULL);
	CHECK(strstr(expand_to_shape_of(TYPE_BOOL), "x: i32[N]) -> ") != NULL);
	CHECK(strstr(expand_to_shape_of(TYPE_U64), "depends on N, which no input of the region has as an extent") !=
	      NULL);
}

/* ---- TensorRT ---------------------------------------------------------------------------------------------------- */

static void what_tensorrt_takes(void)
{
	struct onnx_model *m = model(8, 18);
	struct graph_selection s = { .automatic = true };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };
	const char *why;

	input(m, "x", TYPE_F32, "4 4");
	input(m, "d", TYPE_F64, "4 4");
	input(m, "at", TYPE_I64, "2 1");
	input(m, "u", TYPE_F32, "2 4");
	output(m, "a", TYPE_F32, "4 4");
	output(m, "b", TYPE_F32, "4 4");
	output(m, "c", TYPE_F32, "4 4");
	output(m, "f", TYPE_F64, "4 4");
	output(m, "q", TYPE_U8, "4 4");
	node(m, "Relu", "x", "a");
	onnx_node_set_string(m, node(m, "ScatterND", "x at u", "b"), "reduction", "add");
	onnx_node_set_string(m, node(m, "ScatterND", "x at u", "c"), "reduction", "none");
	node(m, "Relu", "d", "f");
	node(m, "DynamicQuantizeLinear", "x", "q qs qz");
	g = graph_of(m, NULL);
	CHECK_INT(graph_support(g, 0, &why), ENGINE_YES);
	CHECK_INT(graph_support(g, 1, &why), ENGINE_NO);
	CHECK(strstr(why, "no reduction") != NULL);
	CHECK_INT(graph_support(g, 2, &why), ENGINE_YES);
	CHECK_INT(graph_support(g, 3, &why), ENGINE_NO);
	CHECK(strstr(why, "double") != NULL);
	CHECK_INT(graph_support(g, 4, &why), ENGINE_NO);
	CHECK(graph_select(&r, g, &s, &e) == 0); /* a plugin has no doubles either */
	CHECK_INT(r.n, 2);
	CHECK_STR(r.at[0]->label, "b");
	CHECK_STR(r.at[1]->label, "q");
	CHECK(strstr(program_text(g, (const char *[]){ "f" }, 1, NULL), "TensorRT has no double") != NULL);
	CHECK(strstr(program_text(g, (const char *[]){ "f" }, 1, &(struct graph_program_options){ .any_types = true }),
	             "f64[4,4]") != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Local functions --------------------------------------------------------------------------------------------- */

static void local_functions(void)
{
	struct onnx_model *m = model(8, 13);
	Onnx__NodeProto *leaky = make(m, "LeakyRelu", "p", "q"), *call;
	Onnx__FunctionProto *f;
	Onnx__AttributeProto *a;
	struct graph *g;
	struct err e = { 0 };

	onnx_node_set_float(m, leaky, "alpha", 0);
	a = leaky->attribute[0];
	a->has_f = 0;
	a->ref_attr_name = arena_strdup(m->arena, "slope");
	f = onnx_function_new(m, "my", "Slope", (const char *[]){ "p" }, 1, (const char *[]){ "q" }, 1, &leaky, 1);
	f->attribute = NEWN(m->arena, char *, 1);
	f->attribute[0] = arena_strdup(m->arena, "slope");
	f->n_attribute = 1;
	CHECK(onnx_model_add_function(m, f, &e) == 0);
	input(m, "x", TYPE_F32, "N");
	output(m, "y", TYPE_F32, "N");
	call = onnx_node_new(m, "my", "Slope", "y");
	onnx_node_input(m, call, "x");
	onnx_node_output(m, call, "y");
	onnx_node_set_float(m, call, "slope", 0.25f);
	onnx_graph_add_node(m, m->proto->graph, call);
	g = graph_of(m, NULL);
	CHECK(g->nodes.at[0].known && g->nodes.at[0].function);
	CHECK_STR(type_of(g, "y"), "f32[N]");
	CHECK(strstr(program_text(g, (const char *[]){ "y" }, 1, NULL), "0.25") != NULL);
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Descriptions of regions --------------------------------------------------------------------------------------
 * */

static void region_runs(void)
{
	struct onnx_model *m = model(8, 13);
	struct graph_region *r;
	struct ir_program *p;
	struct tensor x, y;
	const struct tensor *in[1] = { &x };
	struct graph *g;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, "N 3");
	output(m, "y", TYPE_F32, "N 3");
	onnx_node_set_int(m, node(m, "Softmax", "x", "a"), "axis", -1);
	node(m, "Mul", "a a", "y");
	g = graph_of(m, NULL);
	CHECK(graph_region_new(&r, g, (int[]){ 1, 0 }, 2, &e) == 0);
	CHECK(graph_region_program(&p, r, NULL, arena, &e) == 0);
	CHECK(tensor_new(&x, TYPE_F32, 2, (int64_t[]){ 2, 3 }, arena, &e) == 0);
	CHECK(eval_program(p, in, &y, NULL, arena, &e) == 0);
	CHECK(y.rank == 2 && y.dim[0] == 2 && y.dim[1] == 3);
	CHECK(tensor_float(&y, 4) > 0.1111 && tensor_float(&y, 4) < 0.1112);
	graph_free(g);
	onnx_model_free(m);
}

/* Tensors with names of hundreds of characters, alike at their start or end, have short and different ones in a region.
 */
static void long_names(void)
{
	static const char *const prefix = "model_1/cq_t2010v2_1/conv1d_1/Squeeze";
	struct onnx_model *m = model(8, 13);
	struct graph_region *r;
	struct ir_program *p;
	struct graph *g;
	struct err e = { 0 };
	struct str x = str_new(arena), y = str_new(arena);

	for (int i = 0; i < 40; i++) {
		str_printf(&x, "%s;", prefix);
		str_printf(&y, "/encoder/layer.%d", i);
	}
	str_add(&x, "a");
	const char *a = str_text(&x), *b = arena_printf(arena, "%sb", a), *c = str_text(&y);
	input(m, a, TYPE_F32, "N 3");
	input(m, b, TYPE_F32, "N 3");
	output(m, c, TYPE_F32, "N 3");
	node(m, "Mul", arena_printf(arena, "%s %s", a, b), "t");
	node(m, "Add", arena_printf(arena, "t %s", a), c);
	g = graph_of(m, NULL);
	CHECK(graph_region_new(&r, g, (int[]){ 0, 1 }, 2, &e) == 0);
	CHECK(graph_region_program(&p, r, NULL, arena, &e) == 0);
	vec_each (u, &p->buffers)
		CHECK(strlen((*u)->name) < 60);
	CHECK_STR(p->inputs.at[0]->name, "model_1_cq_t2010v2_1_conv1d_1_Squeeze");
	CHECK(strcmp(p->inputs.at[0]->name, p->inputs.at[1]->name) != 0);
	CHECK_STR(p->outputs.at[0]->name, "layer_37_encoder_layer_38_encoder_layer_39");
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	reshape_of_shape();
	roundings();
	scale_through_floats();
	symbols();
	squeeze();
	failures_stop_nothing();
	internal_operators();
	unused_chain();
	strings_are_refused();
	refused_operators();
	folding();
	lists_known_in_part();
	folding_later();
	convexity();
	symbol_translation();
	names_differ();
	size_from_elsewhere();
	what_tensorrt_takes();
	local_functions();
	region_runs();
	long_names();
	arena_free(arena);
	return test_done();
}
