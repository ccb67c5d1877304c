/* Rewrites models without compiling anything: rewrite_test OUT MODEL ... For the n-th model (from 0) it writes
 * OUT/<n>.each.onnx, where every supported node is a plugin, OUT/<n>.three.onnx, where every three of them are
 * one, and OUT/<n>.half.onnx, where each half of them is one, all of the main graph; and OUT/<n>.inside.onnx and
 * OUT/<n>.within.onnx, where all nodes of graphs inside of nodes are plugins, one each, or each half of a graph.
 * checked.py looks at what comes out. A model that cannot be rewritten is left out. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "graph/graph.h"
#include "unit/test.h"

struct rewriter {
	struct arena *arena;
	struct onnx_model *model;
	struct graph *graph;
	struct graph_regions regions;
	struct {
		VEC(struct graph_plugin);
	} plugins;
	struct err err;
};

/* Sets *p to the region's plugin; false if it cannot be one. */
static bool plugin_of(struct graph_plugin *p, struct rewriter *w, const struct graph_region *r)
{
	struct graph_program_options o = { .sizes = true };
	struct ir_program *program;
	char hash[33];

	*p = (struct graph_plugin){ NULL, NULL, 0 };
	if (r->folded)
		return true;
	if (graph_region_program(&program, r, &o, w->arena, &w->err) < 0)
		return false;
	ir_hash(program, hash);
	int *index = NEWN(w->arena, int, r->shapes + 1);
	for (int k = 0; k < r->shapes; k++)
		index[k] = r->inputs.n - r->shapes + k;
	*p = (struct graph_plugin){ arena_printf(w->arena, "plugin_%s", hash), index, r->shapes };
	return true;
}

/* Adds a region if it can be a plugin. */
static void add_region(struct rewriter *w, struct graph *g, const int *node, int n)
{
	struct graph_region *r;
	struct graph_plugin p;

	err_clear(&w->err);
	if (n > 0 && graph_region_new(&r, g, node, n, &w->err) == 0 && plugin_of(&p, w, r))
		vec_push(w->arena, &w->regions, r);
}

/* Makes the plugins of all regions; false if one of them cannot be one together with the others. */
static bool make_plugins(struct rewriter *w)
{
	err_clear(&w->err);
	graph_regions_settle(&w->regions);
	vec_each (r, &w->regions) {
		struct graph_plugin p;

		if (!plugin_of(&p, w, *r))
			return false;
		vec_push(w->arena, &w->plugins, p);
	}
	return w->regions.n > 0;
}

/* Makes regions of `size` nodes of the graph; 0: two halves. In inner graphs skips nodes with graphs, whose nodes are
 * selected. */
static void add_regions(struct rewriter *w, struct graph *g, int size)
{
	struct {
		VEC(int);
	} taken = { 0 };
	vec_each (n, &g->nodes)
		if (n->known && !n->folded && graph_node_used(g, n->index) && !(g->outer && n->bodies.n))
			vec_push(w->arena, &taken, n->index);
	size = size ? size : (taken.n + 1) / 2;
	for (int i = 0; i < taken.n; i += size)
		add_region(w, g, &taken.at[i], i + size < taken.n ? size : taken.n - i);
}

static void rewrite(const char *path, const char *out, int size, bool inside)
{
	struct arena *a = arena_new();
	struct rewriter w = { .arena = a };

	if (onnx_model_read(&w.model, path, &w.err) == 0 && onnx_model_check(w.model, &w.err) == 0 &&
	    graph_new(&w.graph, w.model, NULL, &w.err) == 0) {
		for (int i = inside; i < (inside ? w.graph->graphs.n : 1); i++)
			add_regions(&w, w.graph->graphs.at[i], size);
		if (make_plugins(&w) && graph_rewrite(w.graph, &w.regions, w.plugins.at, NULL, &w.err) == 0)
			CHECK(onnx_model_write(w.model, out, NULL, &w.err) == 0);
	}
	graph_free(w.graph);
	onnx_model_free(w.model);
	arena_free(a);
}

int main(int argc, char **argv)
{
	struct arena *a = arena_new();

	if (argc < 3) {
		fprintf(stderr, "usage: %s OUT MODEL ...\n", argv[0]);
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		rewrite(argv[i], arena_printf(a, "%s/%d.each.onnx", argv[1], i - 2), 1, false);
		rewrite(argv[i], arena_printf(a, "%s/%d.three.onnx", argv[1], i - 2), 3, false);
		rewrite(argv[i], arena_printf(a, "%s/%d.half.onnx", argv[1], i - 2), 0, false);
		rewrite(argv[i], arena_printf(a, "%s/%d.inside.onnx", argv[1], i - 2), 1, true);
		rewrite(argv[i], arena_printf(a, "%s/%d.within.onnx", argv[1], i - 2), 0, true);
	}
	arena_free(a);
	return test_done();
}
