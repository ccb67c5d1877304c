/* Regions of refused nodes joined with what connects them: chains, random graphs, and cuts. */
#include "graph_models.h"

static int64_t extent(void *user, expr e)
{
	int64_t n = 64;

	(void)user;
	ir_const_int(e, &n);
	return n;
}

/* Rates of a GPU whose launches cost as much as moving a number of bytes. */
static struct graph_rates rates(double launch_ns)
{
	struct graph_rates r = { .bytes_per_ns = 3000, .launch_ns = launch_ns, .extent = extent };

	for (int i = 0; i < TYPE_COUNT; i++)
		r.plugin_work[i] = r.engine_work[i] = 10000;
	return r;
}

static struct graph_regions select_more(struct graph *g, const struct graph_rates *r, bool fast)
{
	struct graph_selection s = { .automatic = true, .fast = fast, .rates = r };
	struct graph_regions out;
	struct err e = { 0 };

	CHECK(graph_select(&out, g, &s, &e) == 0);
	return out;
}

static struct graph_regions select_with(struct graph *g, const struct graph_rates *r)
{
	return select_more(g, r, false);
}

static const char *labels(const struct graph_regions *r)
{
	struct str s = str_new(arena);

	vec_each (region, r) {
		str_printf(&s, "%s", s.n ? " |" : "");
		vec_each (i, &(*region)->nodes)
			str_printf(&s, "%s%s", s.n ? " " : "", (*region)->graph->nodes.at[*i].label);
	}
	return str_text(&s);
}

/* A node that the engine refuses and tpat supports. */
static void refused(struct onnx_model *m, const char *in, const char *out)
{
	Onnx__NodeProto *n = onnx_node_new(m, "com.microsoft", "QuickGelu", arena_strdup(arena, out));

	onnx_opset_import(m, "com.microsoft", 1);
	add_names(m, n, in, onnx_node_input);
	add_names(m, n, out, onnx_node_output);
	onnx_graph_add_node(m, m->proto->graph, n);
}

/* Quantise, product, scale, activation: one region. What follows a node of the engine stays there with it. */
static void joins_chain(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph_rates r = rates(2000);
	struct graph_regions regions;
	struct graph *g;

	input(m, "x", TYPE_F32, "64 64");
	input(m, "w", TYPE_U8, "64 64");
	input(m, "v", TYPE_F32, "64 64");
	output(m, "end", TYPE_F32, "64 64");
	node(m, "MatMul", "x v", "a");
	node(m, "Relu", "a", "b");
	node(m, "DynamicQuantizeLinear", "b", "q s z");
	node(m, "MatMulInteger", "q w z", "c");
	onnx_node_set_int(m, node(m, "Cast", "c", "d"), "to", 1);
	node(m, "Mul", "d s", "e");
	node(m, "Add", "e v", "f");
	node(m, "Softmax", "f", "end");
	g = graph_of(m, NULL);
	regions = select_with(g, &r);
	CHECK_STR(labels(&regions), "q c d e f");
	CHECK_INT(regions.at[0]->refused, 2);
	CHECK(regions.at[0]->together_ns < regions.at[0]->apart_ns);
	graph_free(g);
	onnx_model_free(m);
}

/* A product of floats between refused nodes: with the engine if it is large, else inside. */
static void adopts_small(void)
{
	for (int large = 0; large < 2; large++) {
		struct onnx_model *m = model(8, 17);
		struct graph_rates r = rates(large ? 0 : 2000);
		struct graph_regions regions;
		struct graph *g;

		r.engine_work[TYPE_F32] = large ? 1e9 : 10000;
		r.plugin_work[TYPE_F32] = large ? 1 : 10000;
		input(m, "x", TYPE_F32, "64 64");
		input(m, "w", TYPE_F32, "64 64");
		output(m, "e", TYPE_F32, "64 64");
		refused(m, "x", "a");
		node(m, "MatMul", "a a", "b");
		node(m, "Relu", "b", "c");
		refused(m, "c", "d");
		node(m, "Neg", "d", "e");
		g = graph_of(m, NULL);
		regions = select_with(g, &r);
		CHECK_STR(labels(&regions), large ? "a | d e" : "a b c d e");
		graph_free(g);
		onnx_model_free(m);
	}
}

/* A tensor that no plugin can have at its edge stays inside; without a neighbour the node is left out. */
static void keeps_misfits_inside(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph_rates r = rates(2000);
	struct graph_regions regions;
	struct graph *g;

	input(m, "x", TYPE_F32, "4 4");
	input(m, "y", TYPE_F64, "4 4");
	output(m, "c", TYPE_F32, "4 4");
	output(m, "n", TYPE_F64, "4 4");
	onnx_node_set_int(m, node(m, "Cast", "x", "a"), "to", 11);
	node(m, "Neg", "a", "b");
	onnx_node_set_int(m, node(m, "Cast", "b", "c"), "to", 1);
	node(m, "Neg", "y", "n");
	g = graph_of(m, NULL);
	regions = select_with(g, &r);
	CHECK_STR(labels(&regions), "a b c");
	graph_free(g);
	onnx_model_free(m);
}

/* A Shape that is known at build time needs no tensor at the edge. */
static void ignores_known_shapes(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph_rates r = rates(2000);
	struct graph_regions regions;
	struct graph *g;

	input(m, "x", TYPE_F32, "4 4");
	output(m, "d", TYPE_F32, "4 4");
	onnx_node_set_int(m, node(m, "Cast", "x", "a"), "to", 11);
	node(m, "Neg", "a", "b");
	node(m, "Shape", "b", "s");
	node(m, "Reshape", "b s", "c");
	onnx_node_set_int(m, node(m, "Cast", "c", "d"), "to", 1);
	g = graph_of(m, NULL);
	regions = select_with(g, &r);
	CHECK_STR(labels(&regions), "a b c d | s"); /* s: a constant */
	graph_free(g);
	onnx_model_free(m);
}

/* ---- Random graphs. */

static unsigned state;

static int below(int n)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 8) % (unsigned)n);
}

/* Nodes of one or two inputs: refused ones, maps and others. */
static struct onnx_model *random_model(int nodes)
{
	static const char *const one[] = { "Relu", "Neg", "Softmax", "Sigmoid" };
	struct onnx_model *m = model(8, 17);
	bool *read = NEWN(arena, bool, nodes);

	input(m, "t0", TYPE_F32, "8 8");
	for (int i = 1; i < nodes; i++) {
		int a = i > 6 ? i - 1 - below(6) : below(i), b = i > 6 ? i - 1 - below(6) : below(i), kind = below(8);
		const char *out = arena_printf(arena, "t%d", i);

		if (kind < 2)
			refused(m, arena_printf(arena, "t%d", a), out);
		else if (kind < 6)
			node(m, one[kind - 2], arena_printf(arena, "t%d", a), out);
		else
			node(m, kind == 6 ? "Add" : "MatMul", arena_printf(arena, "t%d t%d", a, b), out);
		read[a] = true;
		read[b] |= kind >= 6;
	}
	for (int i = 1; i < nodes; i++)
		if (!read[i])
			output(m, arena_printf(arena, "t%d", i), TYPE_F32, "8 8");
	return m;
}

/* A chain has no products, and each kernel that the engine may run for it is convex, as a region must be. */
static void check_fast(struct graph *g, const struct graph_region *r)
{
	int *kernel = NEWN(arena, int, r->nodes.n), *node = NEWN(arena, int, r->nodes.n);
	int kernels = graph_engine_kernels(r, kernel), all = 0;
	struct graph_region *part;
	struct err e = { 0 };

	CHECK(r->nodes.n > 1 && kernels > 0);
	vec_each (i, &r->nodes)
		CHECK(g->nodes.at[*i].work != GRAPH_PRODUCT);
	for (int k = 0; k < kernels; k++) {
		int n = 0;

		for (int i = 0; i < r->nodes.n; i++)
			if (kernel[i] == k)
				node[n++] = r->nodes.at[i];
		CHECK(n > 0 && graph_region_new(&part, g, node, n, &e) == 0);
		all += n;
	}
	CHECK_INT(all, r->nodes.n);
}

/* Each refused node is in one region, and the model can be rewritten: regions are convex, and none need each other's
 * results. Whether a region is convex is checked by graph_region_new(). */
static void check_regions(struct graph *g, const struct graph_regions *r)
{
	int *times = NEWN(arena, int, g->nodes.n + 1);
	struct graph_plugin *plugin = NEWN(arena, struct graph_plugin, r->n + 1);
	struct err e = { 0 };
	const char *why;

	vec_each (region, r) {
		struct graph_region *again;

		vec_each (i, &(*region)->nodes)
			times[*i]++;
		CHECK(graph_region_new(&again, g, (*region)->nodes.at, (*region)->nodes.n, &e) == 0);
		CHECK((*region)->fast ? (*region)->refused == 0 : (*region)->refused > 0);
		if ((*region)->fast)
			check_fast(g, *region);
	}
	for (int i = 0; i < g->nodes.n; i++) {
		CHECK(times[i] <= 1);
		if (graph_support(g, i, &why) == ENGINE_NO)
			CHECK_INT(times[i], 1);
	}
	for (int i = 0; i < r->n; i++)
		plugin[i].name = arena_printf(arena, "plugin%d", i);
	CHECK(graph_rewrite(g, r, plugin, NULL, &e) == 0);
}

static void random_graphs(void)
{
	int chains = 0;

	for (int i = 0; i < 300; i++) {
		struct onnx_model *m;
		struct graph_rates r = rates(i % 3 ? 2000 : 0);
		struct graph_regions regions;
		struct graph *g;

		state = (unsigned)i;
		m = random_model(4 + below(60));
		g = graph_of(m, NULL);
		regions = select_more(g, &r, i % 2);
		vec_each (region, &regions)
			chains += (*region)->fast;
		check_regions(g, &regions);
		graph_free(g);
		onnx_model_free(m);
	}
	CHECK(chains > 50);
}

/* A softmax between products is attention, with its scale and the transposed key; one that no product reads is not. */
static void leaves_attention(void)
{
	struct onnx_model *m = model(8, 17);
	struct graph_rates r = rates(2000);
	struct graph_regions regions;
	struct graph *g;

	input(m, "x", TYPE_F32, "8 8");
	output(m, "y", TYPE_F32, "8 8");
	output(m, "last", TYPE_F32, "8 8");
	node(m, "MatMul", "x x", "q");
	node(m, "Transpose", "q", "k");
	node(m, "MatMul", "q k", "scores");
	node(m, "Neg", "scores", "negative");
	node(m, "Softmax", "negative", "weights");
	node(m, "MatMul", "weights q", "y");
	node(m, "Transpose", "y", "turned");
	node(m, "Add", "turned y", "sum");
	node(m, "Softmax", "sum", "last");
	g = graph_of(m, NULL);
	regions = select_more(g, &r, true);
	CHECK_STR(labels(&regions), "turned sum last");
	graph_free(g);
	onnx_model_free(m);
}

/* Halves of halves: every cut leaves regions with all refused nodes, each once. */
static void cuts(void)
{
	for (int i = 0; i < 60; i++) {
		struct onnx_model *m;
		struct graph_rates r = rates(2000);
		struct graph_regions regions, all = { 0 };
		struct graph *g;

		state = (unsigned)i + 1000;
		m = random_model(40);
		g = graph_of(m, NULL);
		regions = select_with(g, &r);
		for (int k = 0; k < regions.n; k++) {
			if (regions.at[k]->nodes.n > 1 && graph_region_cut(&regions, regions.at[k], &r))
				continue;
			vec_push(arena, &all, regions.at[k]);
		}
		check_regions(g, &all);
		graph_free(g);
		onnx_model_free(m);
	}
}

/* Returns the number of regions of 40 quantised layers, whose widths grow by `more`. */
static int layers(int more)
{
	struct onnx_model *m = model(8, 17);
	struct graph_rates r = rates(2000);
	struct graph *g;
	int regions;

	input(m, "x0", TYPE_F32, "64 64");
	for (int i = 0, width = 64; i < 40; i++, width += more) {
#define NAME(...) arena_printf(arena, __VA_ARGS__)
		input(m, NAME("w%d", i), TYPE_U8, NAME("%d %d", width, width + more));
		node(m, "DynamicQuantizeLinear", NAME("x%d", i), NAME("q%d s%d z%d", i, i, i));
		node(m, "MatMulInteger", NAME("q%d w%d z%d", i, i, i), NAME("c%d", i));
		onnx_node_set_int(m, node(m, "Cast", NAME("c%d", i), NAME("d%d", i)), "to", 1);
		node(m, "Mul", NAME("d%d s%d", i, i), NAME("x%d", i + 1));
#undef NAME
	}
	output(m, "x40", TYPE_F32, more ? "64 104" : "64 64");
	g = graph_of(m, NULL);
	regions = select_with(g, &r).n;
	graph_free(g);
	onnx_model_free(m);
	return regions;
}

/* Layers that a model repeats share their kernels, so they do not make a region large. */
static void repeats(void)
{
	CHECK_INT(layers(0), 1);
	CHECK(layers(1) >= 5); /* of at most eight products */
}

static void many_nodes(void)
{
	struct onnx_model *m;
	struct graph_rates r = rates(2000);
	struct graph_regions regions;
	struct graph *g;

	state = 7;
	m = random_model(2500);
	g = graph_of(m, NULL);
	regions = select_with(g, &r);
	check_regions(g, &regions);
	graph_free(g);
	onnx_model_free(m);
}

int main(void)
{
	arena = arena_new();
	joins_chain();
	adopts_small();
	keeps_misfits_inside();
	ignores_known_shapes();
	leaves_attention();
	random_graphs();
	cuts();
	repeats();
	many_nodes();
	arena_free(arena);
	return test_done();
}
