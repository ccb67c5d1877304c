/* See zoo_cut.h. */
#include "tests/zoo/zoo_cut.h"

#include <stdlib.h>
#include <string.h>

enum { RANDOM_REGIONS = 8, LARGEST = 24 };

int zoo_cuts_read(int *cut, const char *text)
{
	int n = 0;
	for (const char *at = text; *at && n < ZOO_MOST_CUTS; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
		cut[n] = *at == 'r'   ? ZOO_RANDOM
		         : *at == 'j' ? ZOO_JOINED
		         : *at == 'f' ? ZOO_FAST
		         : *at == 'x' ? ZOO_EXCHANGE
		                      : atoi(at);
		if (cut[n] == 0)
			return 0;
		n++;
	}
	return n;
}

const char *zoo_cut_name(int cut, struct arena *a)
{
	static const char *const named[] = { "r", "j", "f", "x" };
	return cut < 0 ? named[-1 - cut] : arena_printf(a, "%d", cut);
}

static uint64_t seed;

void zoo_cut_seed(uint64_t x)
{
	seed = x * 0x9e3779b97f4a7c15u;
}

static bool wanted(struct graph *g, int i)
{
	const struct graph_node *n = &g->nodes.at[i];
	return n->known && !n->folded && graph_node_used(g, i);
}

/* Nodes that do nothing at run time neither belong to a region nor split one. */
static bool parts(const struct graph_node *n)
{
	return !n->known;
}

/* ---- Random regions: a node, then repeatedly a neighbour, and all nodes between. */

struct chance {
	struct graph *graph;
	uint64_t state;
	bool *in, *after, *before;
};

static int below(struct chance *c, int n)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	return (int)((c->state >> 33) % (uint64_t)n);
}

/* Marks each node that reads an output of node i. */
static void mark_readers(const struct graph *g, int i, bool *mark)
{
	const Onnx__NodeProto *p = g->nodes.at[i].proto;
	for (size_t k = 0; k < p->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, p->output[k]);
		for (int c = 0; v && c < v->consumers.n; c++)
			if (!g->nodes.at[v->consumers.at[c]].folded)
				mark[v->consumers.at[c]] = true;
	}
}

static void mark_makers(const struct graph *g, int i, bool *mark)
{
	vec_each (v, &g->nodes.at[i].reads)
		if ((*v)->producer >= 0 && !g->nodes.at[(*v)->producer].folded)
			mark[(*v)->producer] = true;
}

/* Adds the nodes on paths from the set to itself. False if one of them is unsupported. */
static bool close_set(struct chance *c)
{
	const struct graph *g = c->graph;
	size_t n = (size_t)g->nodes.n;
	memset(c->after, 0, n);
	memset(c->before, 0, n);
	for (int i = 0; i < g->nodes.n; i++)
		if (c->in[i] || c->after[i])
			mark_readers(g, i, c->after);
	for (int i = g->nodes.n - 1; i >= 0; i--)
		if (c->in[i] || c->before[i])
			mark_makers(g, i, c->before);
	for (int i = 0; i < g->nodes.n; i++) {
		c->in[i] |= c->after[i] && c->before[i];
		if (c->in[i] && !wanted(c->graph, i))
			return false;
	}
	return true;
}

static int members(const struct chance *c, int *node)
{
	int n = 0;
	for (int i = 0; i < c->graph->nodes.n; i++)
		if (c->in[i])
			node[n++] = i;
	return n;
}

/* Returns one of the marked nodes that are supported, or -1. */
static int pick(struct chance *c, const bool *mark)
{
	int n = 0, chosen = -1;
	for (int i = 0; i < c->graph->nodes.n; i++)
		if (mark[i] && !c->in[i] && wanted(c->graph, i) && below(c, ++n) == 0)
			chosen = i;
	return chosen;
}

static void grow(struct chance *c, int size, int *node, int *count)
{
	const struct graph *g = c->graph;
	bool *near = NEWN(g->arena, bool, g->nodes.n + 1), *kept = NEWN(g->arena, bool, g->nodes.n + 1);
	while (*count < size) {
		memset(near, 0, (size_t)g->nodes.n);
		memcpy(kept, c->in, (size_t)g->nodes.n);
		for (int i = 0; i < *count; i++) {
			mark_readers(g, node[i], near);
			mark_makers(g, node[i], near);
		}
		int next = pick(c, near);
		if (next < 0)
			return;
		c->in[next] = true;
		if (!close_set(c)) {
			memcpy(c->in, kept, (size_t)g->nodes.n);
			return;
		}
		*count = members(c, node);
	}
}

static void cut_by_chance(struct graph *g, void (*each)(void *user, const int *node, int n), void *user, int nodes)
{
	struct chance c = { g, seed + 12345u + (uint64_t)g->nodes.n, NEWN(g->arena, bool, g->nodes.n + 1),
		            NEWN(g->arena, bool, g->nodes.n + 1), NEWN(g->arena, bool, g->nodes.n + 1) };
	int *node = NEWN(g->arena, int, g->nodes.n + 1);
	for (int k = 0; k < RANDOM_REGIONS && nodes > 1; k++) {
		bool *any = NEWN(g->arena, bool, g->nodes.n + 1);
		int n = 1;
		memset(c.in, 0, (size_t)g->nodes.n);
		memset(any, 1, (size_t)g->nodes.n);
		node[0] = pick(&c, any);
		c.in[node[0]] = true;
		grow(&c, 2 + below(&c, LARGEST - 1), node, &n);
		each(user, node, n);
	}
}

/* ---- Joined regions. */

static int64_t some_extent(void *user, expr e)
{
	int64_t n = 64;
	(void)user;
	ir_const_int(e, &n);
	return n;
}

/* Calls `each` with the region, or with parts of it that can be programs. */
static void settle(const struct graph_region *r, const struct graph_rates *rates,
                   void (*each)(void *user, const int *node, int n), void *user)
{
	const struct graph_program_options options = { .any_types = true, .sizes = true };
	struct graph_regions parts = { 0 };
	struct arena *scratch = arena_new();
	struct ir_program *p;
	struct err e = { 0 };
	bool fits = r->folded || graph_region_program(&p, r, &options, scratch, &e) == 0;
	arena_free(scratch);
	if (fits || !graph_region_cut(&parts, r, rates))
		each(user, r->nodes.at, r->nodes.n);
	vec_each (part, &parts)
		settle(*part, rates, each, user);
}

/* Both kinds of regions, of which `fast` says the one wanted: the others are in the way, as in a build. */
static void cut_as_auto(struct graph *g, bool fast, void (*each)(void *user, const int *node, int n), void *user)
{
	struct graph_rates rates = { .bytes_per_ns = 3000, .launch_ns = 2000, .extent = some_extent };
	struct graph_selection s = { .automatic = true, .fast = fast, .rates = &rates };
	struct chance c = { .graph = g, .state = seed + 54321u + (uint64_t)g->nodes.n };
	struct graph_regions out;
	struct err e = { 0 };
	for (int i = 0; i < TYPE_COUNT; i++)
		rates.plugin_work[i] = rates.engine_work[i] = 10000;
	vec_each (n, &g->nodes)
		n->reported = below(&c, fast ? 10 : 3) == 0 ? "by chance" : NULL;
	if (graph_select(&out, g, &s, &e) == 0)
		vec_each (r, &out)
			if ((*r)->graph == g && (*r)->fast == fast)
				settle(*r, &rates, each, user);
	vec_each (n, &g->nodes)
		n->reported = NULL;
}

/* ---- Regions that exchange tensors. */

static bool exchanges(const struct graph_region *r)
{
	vec_each (v, &r->inputs)
		if ((*v)->exchanged)
			return true;
	vec_each (v, &r->outputs)
		if ((*v)->exchanged)
			return true;
	return false;
}

static void cut_exchanging(struct graph *g, void (*each)(void *user, const int *node, int n), void *user)
{
	struct chance c = { .graph = g, .state = seed + 98765u + (uint64_t)g->nodes.n };
	struct graph_regions all = { 0 };
	int node[4], n = 0, size = 1 + below(&c, 4);
	for (int i = 0; i <= g->nodes.n; i++) {
		struct graph_region *r;
		struct err e = { 0 };
		bool ends = n == size || i == g->nodes.n || parts(&g->nodes.at[i]);
		if (n && ends) {
			if (graph_region_new(&r, g, node, n, &e) == 0)
				vec_push(g->arena, &all, r);
			n = 0;
			size = 1 + below(&c, 4);
		}
		if (i < g->nodes.n && wanted(g, i))
			node[n++] = i;
	}
	graph_exchange(&all);
	vec_each (r, &all)
		if (exchanges(*r))
			each(user, (*r)->nodes.at, (*r)->nodes.n);
	vec_each (v, &g->values)
		(*v)->exchanged = TYPE_NONE;
}

int zoo_cut(struct graph *g, int cut, void (*each)(void *user, const int *node, int n), void *user)
{
	int *node = NEWN(g->arena, int, g->nodes.n + 1), n = 0, all = 0;
	for (int i = 0; i < g->nodes.n; i++) {
		if (cut > 0 && n > 0 && parts(&g->nodes.at[i])) {
			each(user, node, n);
			n = 0;
		}
		if (!wanted(g, i))
			continue;
		all++;
		if (cut < 0)
			continue;
		node[n++] = i;
		if (n == cut) {
			each(user, node, n);
			n = 0;
		}
	}
	if (n > 0)
		each(user, node, n);
	if (cut == ZOO_RANDOM)
		cut_by_chance(g, each, user, all);
	else if (cut == ZOO_EXCHANGE)
		cut_exchanging(g, each, user);
	else if (cut < 0)
		cut_as_auto(g, cut == ZOO_FAST, each, user);
	return all;
}

/* ---- Rewriting. */

struct rewriting {
	struct graph *graph;
	struct arena *arena;
	struct graph_regions regions;
	bool *taken; /* by node */
	struct {
		VEC(struct graph_plugin);
	} plugins;
};

static void take_region(void *user, const int *node, int n)
{
	struct rewriting *w = user;
	struct graph_program_options options = { .any_types = true, .sizes = true };
	struct graph_region *r;
	struct ir_program *p;
	struct err e = { 0 };
	for (int i = 0; i < n; i++)
		if (w->taken[node[i]])
			return;
	if (graph_region_new(&r, w->graph, node, n, &e) < 0)
		return;
	if (!r->folded && graph_region_program(&p, r, &options, w->arena, &e) < 0)
		return;
	int *shape = NEWN(w->arena, int, r->shapes + 1);
	for (int i = 0; i < r->shapes; i++)
		shape[i] = r->inputs.n - r->shapes + i;
	for (int i = 0; i < n; i++)
		w->taken[node[i]] = true;
	struct graph_plugin plugin = { r->folded ? NULL : arena_printf(w->arena, "zoo_%d", w->regions.n), shape,
		                       r->shapes };
	vec_push(w->arena, &w->regions, r);
	vec_push(w->arena, &w->plugins, plugin);
}

int zoo_rewrite(struct graph *g, int cut, struct arena *a, struct err *e)
{
	struct rewriting w = { .graph = g, .arena = a, .taken = NEWN(a, bool, g->nodes.n + 1) };
	struct graph_rewrite_options o = { 0 };
	zoo_cut(g, cut, take_region, &w);
	while (w.regions.n > 0) {
		graph_regions_settle(&w.regions);
		graph_exchange(&w.regions);
		if (graph_rewrite(g, &w.regions, w.plugins.at, &o, e) == 0)
			return 0;
		if (cut != ZOO_RANDOM)
			return -1;
		w.regions.n--; /* two of them need each other's results */
		*e = (struct err){ 0 };
	}
	return 0;
}
