/* Tensors that only plugins write and read: which ones, their types at the edge, and what the rewritten model computes.
 */
#include "eval/eval.h"
#include "graph_models.h"

/* uint8 q, uint4 h, bool b between nodes of all kinds of readers. */
static struct onnx_model *between(void)
{
	struct onnx_model *m = model(10, 21);
	const double scale = 0.25;
	Onnx__NodeProto *n;

	input(m, "x", TYPE_F32, "N 6");
	output(m, "y", TYPE_F32, "N 6");
	output(m, "z", TYPE_F32, "N 6");
	output(m, "e", TYPE_BOOL, "N 6");
	constant(m, "s", TYPE_F32, 0, NULL, &scale);
	n = node(m, "QuantizeLinear", "x s", "q"); /* uint8 */
	n = node(m, "DequantizeLinear", "q s", "d");
	n = node(m, "QuantizeLinear", "d s", "h");
	onnx_node_set_int(m, n, "output_dtype", TYPE_U4);
	node(m, "DequantizeLinear", "h s", "y");
	node(m, "Greater", "d x", "b");
	node(m, "Not", "b", "c");
	node(m, "Where", "c d x", "z");
	node(m, "Not", "c", "e");
	return m;
}

static const char *const all[] = { "q", "d", "h", "y", "b", "c", "z", "e" };
enum { NODES = sizeof all / sizeof *all };

static void select_nodes(struct graph_regions *r, struct graph *g, int n, const char *const *name)
{
	struct graph_selection s = { .names = n, .name = name };
	struct err e = { 0 };

	CHECK(graph_select(r, g, &s, &e) == 0);
	graph_exchange(r);
}

static enum type edge_of(struct graph *g, const char *name)
{
	return graph_edge_type(g, graph_value_find(g, name), NULL);
}

static void which_tensors(void)
{
	struct onnx_model *m = between();
	struct graph *g = graph_of(m, NULL);
	const struct graph_program_options keep = { .keep_types = true };
	struct graph_regions r;

	select_nodes(&r, g, NODES, all);
	CHECK_INT(r.n, NODES);
	CHECK(edge_of(g, "q") == TYPE_I8 && edge_of(g, "b") == TYPE_I8 && edge_of(g, "c") == TYPE_I8);
	CHECK(edge_of(g, "h") == TYPE_I8 && graph_edge_packs(g, graph_value_find(g, "h"), NULL) == 2);
	CHECK_INT(graph_edge_packs(g, graph_value_find(g, "q"), NULL), 1);
	CHECK(edge_of(g, "e") == TYPE_I32);                                    /* an output of the model */
	CHECK(edge_of(g, "x") == TYPE_F32 && edge_of(g, "d") == TYPE_F32);     /* the engine has them */
	CHECK(graph_edge_type(g, graph_value_find(g, "q"), &keep) == TYPE_U8); /* --keep-types */
	CHECK_INT(graph_edge_packs(g, graph_value_find(g, "h"), &keep), 1);
	/* "z" stays with the engine, and reads "c". A second call forgets the first one's regions. */
	select_nodes(&r, g, 2, (const char *const[]){ "b", "c" });
	CHECK(edge_of(g, "b") == TYPE_I8 && edge_of(g, "c") == TYPE_I32 && edge_of(g, "q") == TYPE_I32);
	/* An earlier TensorRT needs scales. */
	graph_free(g);
	g = graph_of(m, &(struct graph_options){ .version = "8.6" });
	select_nodes(&r, g, 2, (const char *const[]){ "b", "c" });
	CHECK(edge_of(g, "b") == TYPE_I32);
	graph_free(g);
	onnx_model_free(m);
}

/* Rows that do not fill bytes, and open ones, keep uint4 inside plugins. */
static void rows_of_bytes(const char *extents, bool fit)
{
	struct onnx_model *m = model(10, 21);
	const double scale = 0.25;
	struct graph_regions r;
	struct ir_program *p;
	struct err e = { 0 };

	input(m, "x", TYPE_F32, extents);
	output(m, "y", TYPE_F32, extents);
	constant(m, "s", TYPE_F32, 0, NULL, &scale);
	onnx_node_set_int(m, node(m, "QuantizeLinear", "x s", "h"), "output_dtype", TYPE_U4);
	node(m, "DequantizeLinear", "h s", "y");
	struct graph *g = graph_of(m, NULL);
	select_nodes(&r, g, 2, (const char *const[]){ "h", "y" });
	CHECK((edge_of(g, "h") == TYPE_I8) == fit);
	int rc = graph_region_program(&p, r.at[0], NULL, arena, &e);
	CHECK(fit ? rc == 0 : rc == ERR_UNSUPPORTED && strstr(e.text, "uint4"));
	if (fit)
		CHECK(p->outputs.at[0]->type == TYPE_U4 && p->outputs.at[0]->edge == TYPE_I8);
	graph_free(g);
	onnx_model_free(m);
}

/* The kernels see the elements: no conversion, but of a bool that is read. */
static void programs(void)
{
	struct onnx_model *m = between();
	struct graph *g = graph_of(m, NULL);
	struct graph_regions r;
	struct ir_program *p[NODES];
	struct err e = { 0 };

	select_nodes(&r, g, NODES, all);
	for (int i = 0; i < NODES; i++)
		CHECK(graph_region_program(&p[i], r.at[i], NULL, arena, &e) == 0);
	CHECK(p[0]->outputs.at[0]->type == TYPE_U8 && p[0]->outputs.at[0]->edge == TYPE_I8);
	CHECK(p[1]->inputs.at[0]->type == TYPE_U8 && p[1]->inputs.at[0]->edge == TYPE_I8);
	CHECK(!p[1]->outputs.at[0]->edge && p[1]->stages.n == 1);
	CHECK(p[4]->outputs.at[0]->type == TYPE_BOOL && p[4]->outputs.at[0]->edge == TYPE_I8);
	CHECK(p[5]->inputs.at[0]->type == TYPE_I8 && !p[5]->inputs.at[0]->edge && p[5]->stages.n == 1);
	graph_free(g);
	onnx_model_free(m);
}

/* Computes the model's outputs for an input of `n` rows. */
static void compute(struct onnx_model *m, int64_t n, struct tensor *out)
{
	struct graph *g = graph_of(m, NULL);
	const struct graph_program_options o = { .any_types = true, .keep_types = true };
	int *node_of = NEWN(arena, int, g->nodes.n + 1), nodes = 0;
	const struct tensor *in[1];
	struct graph_region *r;
	struct ir_program *p;
	struct tensor x;
	struct err e = { 0 };

	CHECK(tensor_new(&x, TYPE_F32, 2, (const int64_t[]){ n, 6 }, arena, &e) == 0);
	tensor_random(&x, 7, -40, 40);
	in[0] = &x;
	vec_each (node, &g->nodes)
		if (!node->folded)
			node_of[nodes++] = node->index;
	CHECK(graph_region_new(&r, g, node_of, nodes, &e) == 0);
	CHECK(graph_region_program(&p, r, &o, arena, &e) == 0);
	CHECK_INT(p->inputs.n, 1);
	CHECK_INT(p->outputs.n, 3);
	for (int i = 0; i < p->outputs.n; i++) {
		struct tensor some[3];
		const char *const name[] = { "y", "z", "e" };

		CHECK(eval_program(p, in, some, NULL, arena, &e) == 0);
		for (int k = 0; k < 3; k++)
			if (strcmp(r->outputs.at[i]->name, name[k]) == 0)
				out[k] = some[i];
	}
	graph_free(g);
}

/* The functions of the rewritten model convert, so that it computes the same as before. */
static void rewritten(void)
{
	struct onnx_model *m = between();
	struct tensor want[3], got[3];
	struct graph_plugin plugin[NODES];
	struct graph_regions r;
	struct err e = { 0 };

	compute(m, 5, want);
	struct graph *g = graph_of(m, NULL);
	select_nodes(&r, g, NODES, all);
	for (int i = 0; i < NODES; i++)
		plugin[i] = (struct graph_plugin){ arena_printf(arena, "plugin_%d", i), NULL, 0 };
	CHECK(graph_rewrite(g, &r, plugin, NULL, &e) == 0);
	graph_free(g);
	g = graph_of(m, NULL);
	CHECK_STR(type_of(g, "q_int8"), "i8[N,6]");
	CHECK_STR(type_of(g, "h_int8"), "i8[N,3]");
	CHECK_STR(type_of(g, "b_int8"), "i8[N,6]");
	CHECK_STR(type_of(g, "e_int32"), "i32[N,6]");
	graph_free(g);
	compute(m, 5, got);
	for (int k = 0; k < 3; k++) {
		struct tensor_difference d;

		CHECK(tensor_compare(&d, &got[k], &want[k], (struct tensor_tolerance){ 0, 0 }) && d.differing == 0);
	}
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	which_tensors();
	rows_of_bytes("N 6", true);
	rows_of_bytes("N 7", false);
	rows_of_bytes("6 N", false);
	programs();
	rewritten();
	arena_free(arena);
	return test_done();
}
