/* Regions of joined nodes: what may be joined, and what a plugin's edge allows. */
#include <string.h>

#include "graph/graph_join.h"

static bool may_link(const struct join *j, const struct graph_node *n)
{
	return n->known && !n->folded && n->work == GRAPH_MAPS && !n->bodies.n && !n->sizes.n &&
	       !j->blocked[n->index] && j->owner[n->index] < 0 && graph_node_used(j->g, n->index) &&
	       strcmp(onnx_domain(n->proto->domain), GRAPH_PLUGIN_DOMAIN) != 0;
}

/* ---- Tensors that only the inside of a plugin can have. */

static bool reads_misfit(const struct join *j, const struct graph_node *n)
{
	vec_each (v, &n->reads)
		if (!graph_fits_edge(j->g, *v) && ((*v)->producer < 0 || j->of[(*v)->producer] != j->of[n->index]))
			return true;
	return false;
}

static bool makes_misfit(const struct join *j, const struct graph_node *n)
{
	for (size_t k = 0; k < n->proto->n_output; k++) {
		const struct graph_value *v = graph_value_find(j->g, n->proto->output[k]);
		bool out = v && (v->is_output || v->captured);

		if (!v || graph_fits_edge(j->g, v))
			continue;
		for (int i = 0; i < v->consumers.n; i++)
			out |= j->of[v->consumers.at[i]] != j->of[n->index] &&
			       !j->g->nodes.at[v->consumers.at[i]].folded;
		if (out)
			return true;
	}
	return false;
}

/* Leaves out nodes at an edge that no plugin can have: they stay with the engine, and no later round adopts them. */
static bool drop_misfits(struct join *j, bool *blocked)
{
	bool any = false;

	vec_each (n, &j->g->nodes)
		if (j->of[n->index] >= 0 && (reads_misfit(j, n) || makes_misfit(j, n))) {
			j->seed[n->index] = j->link[n->index] = false;
			any = blocked[n->index] = true;
		}
	return any;
}

/* ---- Regions. */

static int make_region(struct graph_regions *out, const struct join *j, const int *node, int n, struct err *e)
{
	struct graph_region *r;

	TRY(graph_region_new(&r, j->g, node, n, e));
	r->joined = true;
	r->fast = j->fast;
	for (int i = 0; i < n && !j->fast; i++)
		r->refused += j->seed[node[i]];
	r->apart_ns = join_apart_ns(j, node, n);
	r->together_ns = join_together_ns(j, node, n);
	vec_push(j->g->arena, out, r);
	return 0;
}

static int nodes_of(const struct join *j, int region, int *node)
{
	int n = 0;

	for (int i = 0; i < j->g->nodes.n; i++)
		if (j->of[i] == region)
			node[n++] = i;
	return n;
}

/* Makes a region of each seed of a region that cannot be one. */
static int make_seeds(struct graph_regions *out, const struct join *j, const int *node, int n, struct err *e)
{
	for (int i = 0; i < n; i++)
		if (j->seed[node[i]] && !graph_misfit(j->g, node[i]))
			TRY(make_region(out, j, &node[i], 1, e));
	return 0;
}

static int make_regions(struct graph_regions *out, const struct join *j, int regions, struct err *e)
{
	int *node = NEWN(j->scratch, int, j->g->nodes.n + 1);

	for (int r = 0; r < regions; r++) {
		struct err ignored = { 0 };
		int n = nodes_of(j, r, node);

		if (make_region(out, j, node, n, n > 1 ? &ignored : e) == 0)
			continue;
		if (n == 1)
			return e->code;
		TRY(make_seeds(out, j, node, n, e));
	}
	return 0;
}

static struct join join_new(struct graph *g, const struct graph_rates *rates, const int *owner, const bool *blocked,
                            struct arena *scratch)
{
	return (struct join){ .g = g,
		              .rates = rates,
		              .seed = NEWN(scratch, bool, g->nodes.n + 1),
		              .link = NEWN(scratch, bool, g->nodes.n + 1),
		              .owner = owner,
		              .blocked = blocked,
		              .scratch = scratch };
}

int graph_join_regions(struct graph_regions *out, struct graph *g, const bool *seed, const int *owner,
                       const bool *blocked, const struct graph_rates *rates, struct err *e)
{
	return graph_join_seeds(out, g, seed, owner, blocked, false, rates, e);
}

int graph_join_seeds(struct graph_regions *out, struct graph *g, const bool *seed, const int *owner,
                     const bool *blocked, bool fast, const struct graph_rates *rates, struct err *e)
{
	struct arena *scratch = arena_new();
	bool *stays = NEWN(scratch, bool, g->nodes.n + 1);
	struct join j = join_new(g, rates, owner, stays, scratch);
	int regions, rc;

	j.fast = fast;
	vec_each (n, &g->nodes) {
		stays[n->index] = blocked[n->index];
		j.seed[n->index] = seed[n->index] && !n->folded;
		j.link[n->index] = !j.seed[n->index] && may_link(&j, n);
	}
	do
		regions = graph_join(&j);
	while (drop_misfits(&j, stays));
	rc = make_regions(out, &j, regions, e);
	arena_free(scratch);
	return rc;
}

double graph_engine_ns(struct graph *g, const int *node, int n, const struct graph_rates *rates)
{
	struct arena *scratch = arena_new();
	struct join j = join_new(g, rates, NULL, NULL, scratch);
	double ns = join_apart_ns(&j, node, n);

	arena_free(scratch);
	return ns;
}

int graph_region_cut(struct graph_regions *out, const struct graph_region *r, const struct graph_rates *rates)
{
	struct graph *g = r->graph;
	struct arena *scratch = arena_new();
	int *owner = NEWN(scratch, int, g->nodes.n + 1), parts = out->n;
	struct join j = join_new(g, rates, owner, NEWN(scratch, bool, g->nodes.n + 1), scratch);
	struct err ignored = { 0 };
	const char *reason;

	j.fast = r->fast;
	j.of = NEWN(scratch, int, g->nodes.n + 1);
	for (int i = 0; i < g->nodes.n; i++)
		j.of[i] = owner[i] = JOIN_NONE;
	vec_each (i, &r->nodes) {
		j.seed[*i] = r->fast ? graph_fast_seed(&g->nodes.at[*i])
		                     : r->refused == r->nodes.n || graph_support(g, *i, &reason) == ENGINE_NO;
		j.link[*i] = !j.seed[*i];
		j.of[*i] = 0;
	}
	if (r->nodes.n > 1) {
		struct join_size size = join_size(&j, NULL, r->nodes.at, r->nodes.n);
		int first = join_cut(&j, NULL, r->nodes.at, r->nodes.n, (size.products + 1) / 2);

		for (int i = first; i < r->nodes.n; i++)
			j.of[r->nodes.at[i]] = 1;
		join_trim(&j);
		make_regions(out, &j, join_number(&j, false), &ignored);
	}
	arena_free(scratch);
	return out->n - parts;
}

bool graph_region_loses(const struct graph_region *r)
{
	struct graph *g = r->graph;
	const char *reason;
	bool fuses = false;

	if (r->folded || r->fast)
		return false;
	vec_each (i, &r->nodes) {
		if (g->nodes.at[*i].work != GRAPH_MAPS || graph_support(g, *i, &reason) != ENGINE_YES)
			return false;
		vec_each (v, &g->nodes.at[*i].reads) {
			int p = (*v)->producer;
			bool inside = false;

			vec_each (k, &r->nodes)
				inside |= *k == p;
			fuses |= p >= 0 && !inside && !(*v)->is_constant && !(*v)->content &&
			         graph_support(g, p, &reason) == ENGINE_YES;
		}
	}
	return fuses;
}
