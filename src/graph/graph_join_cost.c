/* Estimates of regions, as a whole and in pieces: bytes moved, launches, and arithmetic. */
#include "graph/graph_join.h"

/* A node of the engine is only adopted for this gain: its own kernels are measured on the GPU, estimates are not. */
#define ADOPTED_GAIN 1.25

static double elements(const struct join *j, const struct graph_value *v)
{
	double n = 1;

	for (int i = 0; i < v->rank; i++)
		n *= (double)j->rates->extent(j->rates->user, v->dim[i]);
	return n;
}

static double bytes_of(const struct join *j, const struct graph_value *v, enum type t)
{
	if (v->is_constant || v->initializer || v->content || v->rank < 0 || !t)
		return 0;
	return elements(j, v) * type_info(t)->bits / 8.0;
}

/* The bytes of a tensor's elements inside a region. 0 if it is constant. */
static double inner_bytes(const struct join *j, const struct graph_value *v)
{
	return bytes_of(j, v, v->type);
}

double join_edge_bytes(const struct join *j, const struct graph_value *v)
{
	enum type edge = j->g->engine->edge(j->g->version, v->type);

	return bytes_of(j, v, edge ? edge : v->type);
}

/* Nanoseconds of a node's multiply-adds. */
static double arithmetic_ns(const struct join *j, const struct graph_node *n, const double *rate)
{
	const struct graph_value *out = graph_value_find(j->g, n->proto->output[0]);
	enum type t = out ? out->type : TYPE_NONE;
	double points = n->points.n ? 1 : 0;

	vec_each (e, &n->points)
		points *= (double)j->rates->extent(j->rates->user, *e);
	return rate[t] > 0 ? points / rate[t] : 0;
}

/* ---- The nodes of a region, in groups: each is a plugin, or kernels of the engine. */

struct groups {
	const struct join *j;
	const int *node;
	int n;
	int *of;      /* group of each node of the graph; JOIN_NONE: not of the region */
	bool *plugin; /* of each group */
};

static bool computes(const struct join *j, const struct graph_node *n)
{
	const struct graph_value *out = graph_value_find(j->g, n->proto->output[0]);

	return !(out && out->content);
}

/* Each group has a kernel for each node that is no map, and one for the others if there is none. */
static double launches(const struct groups *x, int groups)
{
	int *kernels = NEWN(x->j->scratch, int, groups + 1), all = 0;
	bool *maps = NEWN(x->j->scratch, bool, groups + 1);

	for (int i = 0; i < x->n; i++) {
		const struct graph_node *n = &x->j->g->nodes.at[x->node[i]];

		kernels[x->of[n->index]] += n->work != GRAPH_MAPS;
		maps[x->of[n->index]] |= computes(x->j, n);
	}
	for (int k = 0; k < groups; k++)
		all += kernels[k] ? kernels[k] : maps[k];
	return all;
}

/* True if only plugins write and read the value: then they exchange its bytes. */
static bool is_exchanged(const struct groups *x, const struct graph_value *v, int own)
{
	const struct graph *g = x->j->g;

	if (own < 0 || !x->plugin[own] || v->is_output || v->captured || !g->engine->exchange ||
	    !g->engine->exchange(g->version, v->type))
		return false;
	for (int i = 0; i < v->consumers.n; i++) {
		int group = x->of[v->consumers.at[i]];

		if (!g->nodes.at[v->consumers.at[i]].folded && (group < 0 || !x->plugin[group]))
			return false;
	}
	return true;
}

/* Bytes that a value moves: one write if anything but a map of its own group reads it, and a read for each group, and
 * for each product or reduction of its own. A tensor whose type a plugin lacks is converted on its way to the engine.
 */
static double value_ns(const struct groups *x, const struct graph_value *v, int own)
{
	const struct graph_rates *r = x->j->rates;
	double inside = inner_bytes(x->j, v), bytes = 0, ns = 0;
	double edge = is_exchanged(x, v, own) ? inside : join_edge_bytes(x->j, v);
	bool out = v->is_output || v->captured, stored = false, converted = false;
	int last = JOIN_NONE;

	for (int i = 0; i < v->consumers.n; i++) {
		int c = v->consumers.at[i], group = x->of[c];

		if (x->j->g->nodes.at[c].folded)
			continue;
		if (own >= 0 && group == own) {
			if (x->j->g->nodes.at[c].work != GRAPH_MAPS) {
				bytes += inside;
				stored = true;
			}
			continue;
		}
		if (group == last && group >= 0)
			continue;
		last = group;
		out = true;
		bytes += group >= 0 ? edge : 0;
		converted |= edge != inside &&
		             (own >= 0 ? x->plugin[own] : false) != (group >= 0 ? x->plugin[group] : false);
	}
	if (own >= 0 && (out || stored))
		bytes += out ? edge : inside;
	if (converted) {
		bytes += inside + edge;
		ns += r->launch_ns;
	}
	return ns + bytes / r->bytes_per_ns;
}

static double groups_ns(const struct groups *x, int groups)
{
	const struct join *j = x->j;
	double ns = launches(x, groups) * j->rates->launch_ns;
	struct map seen = map_new(j->scratch);

	for (int i = 0; i < x->n; i++) {
		const struct graph_node *n = &j->g->nodes.at[x->node[i]];

		ns += arithmetic_ns(j, n, x->plugin[x->of[n->index]] ? j->rates->plugin_work : j->rates->engine_work);
		for (size_t k = 0; k < n->proto->n_output; k++) {
			const struct graph_value *v = graph_value_find(j->g, n->proto->output[k]);

			ns += v ? value_ns(x, v, x->of[n->index]) : 0;
		}
		vec_each (v, &n->reads) {
			if (((*v)->producer >= 0 && x->of[(*v)->producer] >= 0) || map_get(&seen, (*v)->name))
				continue;
			map_put(&seen, (*v)->name, *v);
			ns += value_ns(x, *v, JOIN_NONE);
		}
	}
	return ns;
}

static struct groups groups_new(const struct join *j, const int *node, int n)
{
	struct groups x = { j, node, n, NEWN(j->scratch, int, j->g->nodes.n + 1), NEWN(j->scratch, bool, n + 1) };

	for (int i = 0; i < j->g->nodes.n; i++)
		x.of[i] = JOIN_NONE;
	return x;
}

double join_together_ns(const struct join *j, const int *node, int n)
{
	struct groups x = groups_new(j, node, n);

	for (int i = 0; i < n; i++)
		x.of[node[i]] = 0;
	x.plugin[0] = true;
	return groups_ns(&x, 1);
}

/* The engine fuses maps into a kernel that it runs before them. */
static int engine_group(const struct groups *x, const struct graph_node *n)
{
	if (n->work == GRAPH_MAPS)
		vec_each (v, &n->reads) {
			int p = (*v)->producer;

			if (p >= 0 && x->of[p] >= 0 && !x->plugin[x->of[p]])
				return x->of[p];
		}
	return JOIN_NONE;
}

double join_apart_ns(const struct join *j, const int *node, int n)
{
	struct groups x = groups_new(j, node, n);
	int groups = 0;

	for (int i = 0; i < n; i++) {
		int with = j->seed[node[i]] ? JOIN_NONE : engine_group(&x, &j->g->nodes.at[node[i]]);

		if (with < 0) {
			x.plugin[groups] = j->seed[node[i]];
			with = groups++;
		}
		x.of[node[i]] = with;
	}
	return groups_ns(&x, groups);
}

bool join_adopts(const struct join *j, int node)
{
	const struct graph_node *n = &j->g->nodes.at[node];
	const struct graph_rates *r = j->rates;
	double inside = 0, edge = 0, crossings = 0;

	vec_each (v, &n->reads) {
		inside += inner_bytes(j, *v);
		edge += join_edge_bytes(j, *v);
		crossings += !(*v)->is_constant;
	}
	for (size_t k = 0; k < n->proto->n_output; k++) {
		const struct graph_value *v = graph_value_find(j->g, n->proto->output[k]);

		inside += v ? inner_bytes(j, v) : 0;
		edge += v ? join_edge_bytes(j, v) : 0;
		crossings += v != NULL;
	}
	/* With the engine, the tensors are written and read again, and the plugins on both sides have launches of their
	 * own. */
	return ADOPTED_GAIN * (arithmetic_ns(j, n, r->plugin_work) + inside / r->bytes_per_ns) <
	       arithmetic_ns(j, n, r->engine_work) + 2 * edge / r->bytes_per_ns + crossings * r->launch_ns;
}
