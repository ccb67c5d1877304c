/* Bodies as graphs of their own: inference, names and selection of their nodes, and models with plugins inside them.
 * tests/cli/bodies.sh runs such models in ONNX Runtime. */
#include "graph_models.h"

static Onnx__GraphProto *body(struct onnx_model *m, const char *name)
{
	return onnx_graph_new(m, name);
}

static void gives(struct onnx_model *m, Onnx__GraphProto *b, const char *name, enum type t)
{
	onnx_graph_add_output(m, b, onnx_value_info_new(m, name, t, -1, NULL, NULL));
}

static void takes(struct onnx_model *m, Onnx__GraphProto *b, const char *name, enum type t)
{
	onnx_graph_add_input(m, b, onnx_value_info_new(m, name, t, -1, NULL, NULL));
}

static Onnx__NodeProto *add(struct onnx_model *m, Onnx__GraphProto *b, const char *type, const char *in,
                            const char *out)
{
	Onnx__NodeProto *n = make(m, type, in, out);

	onnx_graph_add_node(m, b, n);
	return n;
}

/* then_branch: t = Exp(Neg(a)); else_branch: t = Neg(a) + k, with `k` its own. */
static Onnx__NodeProto *add_if(struct onnx_model *m, const char *out)
{
	Onnx__GraphProto *then = body(m, "then"), *other = body(m, "else");
	Onnx__NodeProto *n = node(m, "If", "c", out);
	int64_t four = 4;
	struct tensor k;
	struct err e = { 0 };

	add(m, then, "Neg", "a", "s");
	add(m, then, "Exp", "s", "t");
	add(m, other, "Neg", "a", "s");
	add(m, other, "Add", "s k", "t");
	CHECK(tensor_new(&k, TYPE_F32, 1, &four, arena, &e) == 0);
	for (int i = 0; i < 4; i++)
		tensor_set_float(&k, i, i);
	onnx_graph_add_initializer(m, other, onnx_tensor_store(&k, "k", m->arena));
	gives(m, then, "t", TYPE_F32);
	gives(m, other, "t", TYPE_F32);
	onnx_node_set_graph(m, n, "then_branch", then);
	onnx_node_set_graph(m, n, "else_branch", other);
	return n;
}

static struct onnx_model *if_model(void)
{
	struct onnx_model *m = model(8, 16);

	input(m, "x", TYPE_F32, "N 4");
	input(m, "c", TYPE_BOOL, "");
	output(m, "y", TYPE_F32, "N 4");
	node(m, "Relu", "x", "a");
	add_if(m, "y");
	return m;
}

/* Three iterations: i, go, s -> go, s + i + outer, Erf of that; `type`: the operator that makes the state's next
 * value. */
static Onnx__GraphProto *add_loop(struct onnx_model *m, const char *type)
{
	Onnx__GraphProto *b = body(m, "turn");

	takes(m, b, "i", TYPE_I64);
	takes(m, b, "go", TYPE_BOOL);
	takes(m, b, "s", TYPE_F32);
	onnx_node_set_int(m, add(m, b, "Cast", "i", "f"), "to", TYPE_F32);
	add(m, b, "Add", "s f", "moved");
	onnx_node_set_int(m, add(m, b, type, "moved x", "next"), "axis", 0);
	add(m, b, "Erf", "next", "kept");
	add(m, b, "Identity", "go", "still");
	gives(m, b, "still", TYPE_BOOL);
	gives(m, b, "next", TYPE_F32);
	gives(m, b, "kept", TYPE_F32);
	onnx_node_set_graph(m, node(m, "Loop", "n - x", "y all"), "body", b);
	return b;
}

static struct onnx_model *loop_model(double turns)
{
	struct onnx_model *m = model(8, 16);

	input(m, "x", TYPE_F32, "N 4");
	output(m, "y", TYPE_F32, "N 4");
	output(m, "all", TYPE_F32, "? N 4");
	ints(m, "n", 1, &turns);
	return m;
}

static const char *found(struct graph *g, const char *text)
{
	struct err e = { 0 };
	struct graph *in;
	int node;

	if (graph_node_find(&in, &node, g, text, &e) < 0)
		return arena_printf(arena, "%s %s", e.text, e.advice);
	return arena_printf(arena, "%s:%d", *in->name ? in->name : "main", node);
}

static struct graph *graph_named(struct graph *g, const char *name)
{
	vec_each (some, &g->graphs)
		if (strcmp((*some)->name, name) == 0)
			return *some;
	return NULL;
}

/* ---- Names. */

static void labels(void)
{
	struct onnx_model *m = if_model();
	struct graph *g = graph_of(m, NULL), *then = graph_named(g, "y/then_branch"),
	             *other = graph_named(g, "y/else_branch");

	CHECK_INT(g->graphs.n, 3);
	CHECK(then && other && then->outer == g && then->holder == 1 && then->root == g);
	CHECK_INT(g->nodes.at[1].bodies.n, 2);
	CHECK_STR(then->nodes.at[0].label, "y/then_branch/s");
	CHECK_STR(other->nodes.at[0].label, "y/else_branch/s");
	CHECK_STR(found(g, "y/else_branch/s"), "y/else_branch:0");
	CHECK_STR(found(g, "y/then_branch/#1"), "y/then_branch:1");
	CHECK_STR(found(g, "#1/else_branch/#1"), "y/else_branch:1");
	CHECK_STR(found(g, "#1/else_branch/t"), "y/else_branch:1");
	CHECK_STR(found(g, "y"), "main:1");
	CHECK(strstr(found(g, "s"), "the name \"s\" belongs to 2 nodes") &&
	      strstr(found(g, "s"), "y/then_branch/s, y/else_branch/s"));
	CHECK(strstr(found(g, "y/then_branch/#2"), "there is no node"));
	graph_free(g);
	onnx_model_free(m);
}

/* A name that no other node of the model has is the label; one of the main graph's comes first. */
static void own_labels(void)
{
	struct onnx_model *m = loop_model(3);
	Onnx__GraphProto *b = add_loop(m, "Add");
	struct graph *g;

	b->node[0]->name = arena_strdup(m->arena, "y"); /* as the Loop */
	b->node[4]->name = NULL;
	g = graph_of(m, NULL);
	CHECK_STR(g->graphs.at[1]->nodes.at[0].label, "y/body/y");
	CHECK_STR(g->graphs.at[1]->nodes.at[1].label, "moved");
	CHECK_STR(g->graphs.at[1]->nodes.at[4].label, "y/body/#4");
	CHECK_STR(found(g, "y"), "main:0");
	CHECK_STR(found(g, "moved"), "y/body:1");
	CHECK_STR(found(g, "f"), "y/body:0"); /* a tensor */
	CHECK_STR(found(g, "still"), "y/body:4");
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Shapes. */

static void shapes(void)
{
	struct onnx_model *m = loop_model(3);
	struct graph *g, *b;

	add_loop(m, "Add");
	g = graph_of(m, NULL);
	b = g->graphs.at[1];
	CHECK_STR(type_of(b, "i"), "i64[]");
	CHECK_STR(type_of(b, "go"), "bool[]");
	CHECK_STR(type_of(b, "s"), "f32[N,4]");
	CHECK_STR(type_of(b, "x"), "f32[N,4]");
	CHECK_STR(type_of(b, "kept"), "f32[N,4]");
	CHECK(graph_value_find(b, "x")->outside == graph_value_find(g, "x"));
	CHECK(!graph_value_find(b, "n") && !graph_value_find(g, "s"));
	CHECK(graph_value_find(b, "i")->is_input && !graph_value_find(b, "i")->is_constant);
	graph_free(g);
	onnx_model_free(m);
}

/* A growing state of an unrolled loop keeps the extents that all iterations share. */
static void growing_state(void)
{
	struct onnx_model *m = loop_model(3);
	struct graph *g, *b;

	add_loop(m, "Concat")->n_output = 2; /* nothing is concatenated */
	m->proto->graph->node[0]->n_output = 1;
	m->proto->graph->n_output = 1;
	g = graph_of(m, NULL);
	b = g->graphs.at[1];
	CHECK(g->nodes.at[0].known);
	CHECK_STR(type_of(g, "y"), "f32[N * 4,4]");
	CHECK_STR(type_of(b, "s"), "f32[d0,4]");
	CHECK_STR(type_of(b, "next"), "f32[N + d0,4]");
	graph_free(g);
	onnx_model_free(m);
}

/* If the loop is unsupported, so are nodes that need the state; the rest of the body is supported. */
static void growing_for_long(void)
{
	struct onnx_model *m = loop_model(100);
	struct graph *g, *b;

	add_loop(m, "Concat");
	g = graph_of(m, NULL);
	b = g->graphs.at[1];
	CHECK(!g->nodes.at[0].known);
	CHECK_STR(type_of(b, "s"), "f32[?]");
	CHECK(b->nodes.at[0].known && !b->nodes.at[1].known);
	CHECK(b->nodes.at[1].why &&
	      strstr(b->nodes.at[1].why, "the rank of \"s\", an input of the graph y/body, is not known."));
	graph_free(g);
	onnx_model_free(m);
}

/* The extents of a state may agree with those of its next value, and the Loop demands it where it is a plugin. One in
 * the body does not rely on it. */
static void perhaps_growing(void)
{
	struct onnx_model *m = loop_model(100);
	Onnx__GraphProto *b = add_loop(m, "Add");
	struct graph *g;

	input(m, "z", TYPE_F32, "M 4");
	b->node[1] = make(m, "Add", "z f", "moved");
	b->node[2] = make(m, "Abs", "moved", "next");
	g = graph_of(m, NULL);
	CHECK(g->nodes.at[0].known);
	CHECK_STR(type_of(g->graphs.at[1], "s"), "f32[d0,d1]");
	CHECK_STR(type_of(g->graphs.at[1], "next"), "f32[M,4]");
	graph_free(g);
	onnx_model_free(m);
}

/* A Loop that is unsupported because of one node: the others are supported, by the declared shapes. */
static void unknown_inside(void)
{
	struct onnx_model *m = loop_model(3);
	Onnx__GraphProto *b = add_loop(m, "Add");
	struct graph *g;

	b->input[2] = info(m, "s", TYPE_F32, "N 4");
	b->node[3]->op_type = arena_strdup(m->arena, "Unheard");
	g = graph_of(m, NULL);
	CHECK(!g->nodes.at[0].known);
	CHECK_STR(type_of(g->graphs.at[1], "next"), "f32[N,4]");
	CHECK(g->graphs.at[1]->nodes.at[2].known && !g->graphs.at[1]->nodes.at[3].known);
	graph_free(g);
	onnx_model_free(m);
}

static void slices(void)
{
	struct onnx_model *m = model(8, 16);
	Onnx__GraphProto *b = body(m, "step");
	Onnx__NodeProto *n;
	struct graph *g;

	input(m, "x", TYPE_F32, "4 N 5");
	input(m, "first", TYPE_F32, "4");
	output(m, "last", TYPE_F32, "4");
	output(m, "y", TYPE_F32, "N 4 5");
	takes(m, b, "sum", TYPE_F32);
	takes(m, b, "part", TYPE_F32);
	add(m, b, "Neg", "sum", "next");
	add(m, b, "Exp", "part", "z");
	gives(m, b, "next", TYPE_F32);
	gives(m, b, "z", TYPE_F32);
	n = node(m, "Scan", "first x", "last y");
	onnx_node_set_int(m, n, "num_scan_inputs", 1);
	onnx_node_set_ints(m, n, "scan_input_axes", (int64_t[]){ 1 }, 1);
	onnx_node_set_graph(m, n, "body", b);
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g->graphs.at[1], "sum"), "f32[4]");
	CHECK_STR(type_of(g->graphs.at[1], "part"), "f32[4,5]");
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Selection. */

static const char *selected(struct graph *g, const struct graph_selection *s)
{
	struct graph_regions r;
	struct err e = { 0 };
	struct str list = str_new(arena);

	if (graph_select(&r, g, s, &e) < 0)
		return arena_printf(arena, "%s %s", e.text, e.advice);
	vec_each (x, &r)
		str_printf(&list, "%s%s", list.n ? " " : "", (*x)->label);
	return str_text(&list);
}

static void selection(void)
{
	struct onnx_model *m = if_model();
	struct graph *g = graph_of(m, NULL);
	struct graph_region_names two = { .n = 2 };
	const char *text;

	CHECK_STR(selected(g, &(struct graph_selection){ .types = 1, .type = (const char *[]){ "Neg" } }),
	          "y/then_branch/s y/else_branch/s");
	CHECK_STR(selected(g, &(struct graph_selection){ .types = 2, .type = (const char *[]){ "Neg", "If" } }), "y");
	CHECK_STR(selected(g, &(struct graph_selection){ .types = 2,
	                                                 .type = (const char *[]){ "Neg", "If" },
	                                                 .excepts = 1,
	                                                 .except = (const char *[]){ "y" } }),
	          "y/then_branch/s y/else_branch/s");
	text = selected(g, &(struct graph_selection){ .names = 2, .name = (const char *[]){ "y/then_branch/s", "y" } });
	CHECK(strstr(text, "node y/then_branch/s is inside of node y, and both are selected."));
	text = selected(g, &(struct graph_selection){ .names = 2, .name = (const char *[]){ "y", "y/then_branch/s" } });
	CHECK(strstr(text, "node y/then_branch/s is inside of node y, and both are selected."));
	two.name = (const char *[]){ "y/then_branch/s", "y/then_branch/t" };
	CHECK_STR(selected(g, &(struct graph_selection){ .regions = 1, .region = &two }),
	          "y/then_branch/s..y/then_branch/t");
	two.name = (const char *[]){ "y/then_branch/s", "y/else_branch/t" };
	CHECK(strstr(selected(g, &(struct graph_selection){ .regions = 1, .region = &two }), "must be in one graph"));
	two.name = (const char *[]){ "a", "y/else_branch/t" };
	CHECK(strstr(selected(g, &(struct graph_selection){ .regions = 1, .region = &two }),
	             "node a is in the main graph"));
	graph_free(g);
	onnx_model_free(m);
}

/* ---- The rewrite. */

static void rewritten(void)
{
	struct onnx_model *m = if_model();
	struct graph *g = graph_of(m, NULL);
	struct graph_selection s = { .types = 2, .type = (const char *[]){ "Neg", "Add" } };
	struct graph_regions r;
	struct graph_plugin p[3] = { { "P", NULL, 0 }, { "P", NULL, 0 }, { "Q", NULL, 0 } };
	struct err e = { 0 };
	const Onnx__GraphProto *then, *other;

	CHECK_INT(graph_select(&r, g, &s, &e), 0);
	CHECK_INT(r.n, 3);
	CHECK_INT(graph_rewrite(g, &r, p, NULL, &e), 0);
	CHECK_INT(m->proto->n_functions, 2); /* of both branches and of the model */
	CHECK_INT(m->proto->graph->n_node, 2);
	then = m->proto->graph->node[1]->attribute[0]->g;
	other = m->proto->graph->node[1]->attribute[1]->g;
	CHECK_STR(then->node[0]->op_type, "P");
	CHECK_STR(then->node[0]->domain, "tpat");
	CHECK_STR(then->node[0]->input[0], "a");
	CHECK_STR(then->node[1]->op_type, "Exp");
	CHECK_STR(other->node[1]->op_type, "Q");
	CHECK_INT(then->n_value_info, 1);   /* s */
	CHECK_INT(other->n_initializer, 0); /* k is in the function */
	CHECK_INT(m->proto->graph->n_value_info, 0);
	graph_free(g);
	CHECK_INT(onnx_model_check(m, &e), 0);
	g = graph_of(m, NULL);
	CHECK(g->graphs.at[1]->nodes.at[0].function && g->graphs.at[1]->nodes.at[0].known);
	CHECK_STR(type_of(g, "y"), "f32[N,4]");
	graph_free(g);
	onnx_model_free(m);
}

/* Sources of a branch's constants are also removed from the outer graph. */
static void pruned_around(void)
{
	struct onnx_model *m = if_model();
	Onnx__GraphProto *then = m->proto->graph->node[1]->attribute[0]->g;
	struct graph_selection s = { .names = 1, .name = (const char *[]){ "y/then_branch/t" } };
	struct graph_plugin p = { "P", NULL, 0 };
	struct graph_regions r;
	struct graph *g;
	struct err e = { 0 };
	int64_t four = 4;

	constant(m, "w", TYPE_F32, 1, &four, (double[]){ 1, 2, 3, 4 });
	node(m, "Exp", "w", "v");
	then->node[1] = make(m, "Mul", "s v", "t");
	g = graph_of(m, NULL);
	CHECK_STR(type_of(graph_named(g, "y/then_branch"), "v"), "f32[4]");
	CHECK(graph_value_find(graph_named(g, "y/then_branch"), "v")->is_constant);
	CHECK_INT(graph_select(&r, g, &s, &e), 0);
	CHECK_INT(r.at[0]->constants.n, 1);
	CHECK_INT(graph_rewrite(g, &r, &p, NULL, &e), 0);
	CHECK_INT(m->proto->graph->n_node, 2);
	CHECK_INT(m->proto->graph->n_initializer, 0);
	graph_free(g);
	onnx_model_free(m);
}

/* Regions of one body that need each other's results: no graph is changed. */
static void unchanged(void)
{
	struct onnx_model *m = if_model();
	Onnx__GraphProto *then = m->proto->graph->node[1]->attribute[0]->g;
	struct graph_plugin p[3] = { { "P", NULL, 0 }, { "Q", NULL, 0 }, { "R", NULL, 0 } };
	struct graph_regions r = { 0 };
	struct graph_region *made[3];
	struct graph *g, *b;
	struct err e = { 0 };

	add(m, then, "Abs", "a", "s2");
	add(m, then, "Tanh", "s2", "t2");
	gives(m, then, "t2", TYPE_F32);
	gives(m, m->proto->graph->node[1]->attribute[1]->g, "s", TYPE_F32);
	onnx_node_output(m, m->proto->graph->node[1], "y2");
	g = graph_of(m, NULL);
	b = graph_named(g, "y/then_branch");
	CHECK_INT(graph_region_new(&made[0], g, (int[]){ 0 }, 1, &e), 0);
	CHECK_INT(graph_region_new(&made[1], b, (int[]){ 0, 3 }, 2, &e), 0); /* Neg, Tanh */
	CHECK_INT(graph_region_new(&made[2], b, (int[]){ 1, 2 }, 2, &e), 0); /* Exp, Abs */
	for (int i = 0; i < 3; i++)
		vec_push(g->arena, &r, made[i]);
	CHECK_INT(graph_rewrite(g, &r, p, NULL, &e), ERR_USAGE);
	CHECK(strstr(e.where, "two regions need each other's results"));
	CHECK_STR(m->proto->graph->node[0]->op_type, "Relu");
	CHECK_STR(then->node[0]->op_type, "Neg");
	CHECK_INT(then->n_node, 4);
	CHECK_INT(m->proto->n_functions, 0);
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	labels();
	own_labels();
	shapes();
	growing_state();
	growing_for_long();
	perhaps_growing();
	unknown_inside();
	slices();
	selection();
	rewritten();
	pruned_around();
	unchanged();
	arena_free(arena);
	return test_done();
}
