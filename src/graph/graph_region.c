/* Regions: their inputs and outputs, and the check that the nodes can become one node. */
#include <string.h>

#include "graph/graph_internal.h"

static const char *node_text(struct graph *g, int i)
{
	const struct graph_node *n = &g->nodes.at[i];

	return arena_printf(g->arena, "%s (%s)", n->label, onnx_text(n->proto->op_type));
}

/* ---- Convex: no path leaves and re-enters the region ------------------------------------------------------------ */

/* Skips a node of constants: it depends on no region. If it reads a region's extents (Shape), its result replaces
 * it. */
static bool is_reader(const struct graph *g, int node)
{
	return !g->nodes.at[node].folded;
}

/* True if the node has a result that the graph gives, or that a node reads of which this is known. */
static bool is_needed(const struct graph *g, const struct graph_node *n)
{
	for (size_t k = 0; k < n->proto->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[k]);

		for (int i = 0; v && i < v->consumers.n; i++)
			if (n->folded || (is_reader(g, v->consumers.at[i]) && g->nodes.at[v->consumers.at[i]].used))
				return true;
		if (v && v->is_output)
			return true;
	}
	return false;
}

void graph_note_used(struct graph *g)
{
	bool more = true;

	while (more) { /* twice, where nodes are in the order of their execution */
		more = false;
		for (int i = g->nodes.n - 1; i >= 0; i--) {
			struct graph_node *n = &g->nodes.at[i];

			if (!n->used && is_needed(g, n))
				n->used = more = true;
		}
	}
}

bool graph_node_used(const struct graph *g, int node)
{
	return g->nodes.at[node].used;
}

bool *graph_stuck(const struct graph *g, struct arena *a)
{
	bool *stuck = NEWN(a, bool, g->nodes.n + 1), *reached = NEWN(a, bool, g->nodes.n + 1);

	vec_each (n, &g->nodes) {
		bool all = true;

		vec_each (v, &n->reads)
			all &= (*v)->is_constant || (*v)->producer < 0 || reached[(*v)->producer];
		reached[n->index] = n->folded || (n->known && all);
		stuck[n->index] = n->used && !reached[n->index] && all;
	}
	return stuck;
}

static void mark_consumers(const struct graph *g, const struct graph_node *n, const bool *in, bool *after)
{
	for (size_t k = 0; k < n->proto->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[k]);

		for (int i = 0; v && i < v->consumers.n; i++)
			if (!in[v->consumers.at[i]] && is_reader(g, v->consumers.at[i]))
				after[v->consumers.at[i]] = true;
	}
}

static bool feeds(const struct graph *g, const struct graph_node *n, const bool *set)
{
	for (size_t k = 0; k < n->proto->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[k]);

		for (int i = 0; v && i < v->consumers.n; i++)
			if (set[v->consumers.at[i]] && is_reader(g, v->consumers.at[i]))
				return true;
	}
	return false;
}

static int not_convex(struct graph *g, const struct graph_region *r, const bool *between, struct err *e)
{
	struct str list = str_new(g->arena);
	int blocked = -1, first = -1;

	for (int i = 0; i < g->nodes.n; i++) {
		if (!between[i])
			continue;
		str_printf(&list, "%s%s", list.n ? ", " : "", g->nodes.at[i].label);
		first = first < 0 ? i : first;
		if (!g->nodes.at[i].known && blocked < 0)
			blocked = i;
	}
	err_set(e, ERR_USAGE,
	        "%s: region %s: node %s reads results of the region, and the region reads results that follow from it, "
	        "so these nodes cannot become one node.",
	        g->model->path, r->label, node_text(g, first));
	if (blocked >= 0)
		return err_advise(e, "Make two regions, one on each side of %s, which tpat does not support: %s",
		                  g->nodes.at[blocked].label, g->nodes.at[blocked].why);
	return err_advise(e, "Add %s to the region.", str_text(&list));
}

static int check_convex(struct graph *g, const struct graph_region *r, const bool *in, struct arena *scratch,
                        struct err *e)
{
	bool *after = NEWN(scratch, bool, g->nodes.n + 1), *before = NEWN(scratch, bool, g->nodes.n + 1);
	bool *between = NEWN(scratch, bool, g->nodes.n + 1), *set = NEWN(scratch, bool, g->nodes.n + 1), any = false;
	int first = r->nodes.at[0], last = r->nodes.at[r->nodes.n - 1]; /* nodes are in execution order */

	for (int i = first; i < last; i++)
		if ((in[i] && is_reader(g, i)) || after[i])
			mark_consumers(g, &g->nodes.at[i], in, after);
	for (int i = last; i >= first; i--) {
		set[i] = in[i];
		if (!in[i] && feeds(g, &g->nodes.at[i], set))
			set[i] = before[i] = true;
		between[i] = before[i] && after[i];
		any |= between[i];
	}
	return any ? not_convex(g, r, between, e) : 0;
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

/* The opset from which on a Constant can hold a value of the type. Source: ONNX, operator Constant, opset 1 to 25. */
static int64_t constant_since(enum type t)
{
	switch (t) {
	case TYPE_BF16: return 13;
	case TYPE_F8E4M3FN:
	case TYPE_F8E4M3FNUZ:
	case TYPE_F8E5M2:
	case TYPE_F8E5M2FNUZ: return 19;
	case TYPE_U4:
	case TYPE_I4: return 21;
	case TYPE_F4E2M1: return 23;
	case TYPE_F8E8M0: return 24;
	case TYPE_U2:
	case TYPE_I2: return 25;
	default: return 0;
	}
}

/* True for a tensor with a known value that becomes part of the program, and a Constant of the region's function: a
 * small one, or one whose elements can be computed. The plugin reads all others as inputs. Large ones stay inputs,
 * which an engine can refit, if the engine has their type. An opset before 9 would store them as numbers of 64 bits. */
static bool is_part(struct graph *g, struct graph_value *v)
{
	enum { ANY_TYPE = 9 };
	struct graph_progression counts;
	int64_t opset = onnx_opset(g->model, "");

	if (opset < constant_since(v->type))
		return false;
	return graph_is_small(v) || graph_progression_of(g, v, &counts) ||
	       (v->is_constant && v->type != TYPE_STRING && opset >= ANY_TYPE &&
	        g->engine->edge(g->version, v->type) != v->type && graph_count(v->rank, v->dim) > 0);
}

static void take_input(struct graph *g, struct graph_region *r, struct graph_value *v)
{
	bool constant = is_part(g, v);

	vec_each (c, &r->constants)
		if (*c == v)
			return;
	vec_each (c, &r->inputs)
		if (*c == v)
			return;
	if (constant)
		vec_push(g->arena, &r->constants, v);
	else
		vec_push(g->arena, &r->inputs, v);
}

static void find_edges(struct graph *g, struct graph_region *r, const bool *in)
{
	vec_each (i, &r->nodes) {
		const Onnx__NodeProto *p = g->nodes.at[*i].proto;

		vec_each (v, &g->nodes.at[*i].reads)
			if ((*v)->producer < 0 || !in[(*v)->producer])
				take_input(g, r, *v);
		if (!r->folded && !is_reader(g, *i)) /* restored: others read the constant */
			continue;
		for (size_t k = 0; k < p->n_output; k++) {
			struct graph_value *v = graph_value_find(g, p->output[k]);
			bool used = v && v->is_output;

			for (int c = 0; v && c < v->consumers.n; c++)
				used |= !in[v->consumers.at[c]] && (r->folded || is_reader(g, v->consumers.at[c]));
			if (used)
				vec_push(g->arena, &r->outputs, v);
		}
	}
}

/* Marks the nodes whose results the region needs, directly or not. An edge from one of them to the region closes no
 * circle, whatever other regions there are. */
static bool *find_ancestors(const struct graph *g, const struct graph_region *r, struct arena *scratch)
{
	bool *out = NEWN(scratch, bool, g->nodes.n + 1);

	vec_each (i, &r->nodes)
		out[*i] = true;
	for (int i = r->nodes.at[r->nodes.n - 1]; i >= 0; i--)
		vec_each (v, &g->nodes.at[i].reads)
			if (out[i] && (*v)->producer >= 0)
				out[(*v)->producer] = true;
	vec_each (i, &r->nodes)
		out[*i] = false;
	return out;
}

/* Returns a tensor that exists before the region and has the extent `symbol`, or null. One that is converted at a
 * plugin's edge is taken only if there is no other. */
static struct graph_value *find_carrier(const struct graph *g, const bool *ancestor, const char *symbol)
{
	struct graph_value *converted = NULL;

	vec_each (pv, &g->values) {
		struct graph_value *v = *pv;
		bool before = v->is_input || v->outside || (v->producer >= 0 && ancestor[v->producer]);
		enum type edge = before ? g->engine->edge(g->version, v->type) : TYPE_NONE;

		if (edge == TYPE_NONE || v->is_constant || v->rank < 1 || v->rank > g->engine->most_axes ||
		    (edge != v->type && converted))
			continue;
		for (int i = 0; i < v->rank; i++) {
			if (v->dim[i]->op != IR_SYMBOL || strcmp(v->dim[i]->name, symbol) != 0)
				continue;
			if (edge == v->type)
				return v;
			converted = v;
		}
	}
	return converted;
}

/* A plugin cannot read outer sizes that are elements of a shape tensor when the engine asks for its shapes. It gets one
 * more input: a tensor with these extents, of which it reads nothing else. */
static void add_carriers(struct graph *g, struct graph_region *r, struct arena *scratch)
{
	const bool *ancestor = find_ancestors(g, r, scratch);
	const char *symbol, *last = "";

	while ((symbol = graph_region_missing(r)) && strcmp(symbol, last) != 0) {
		struct graph_value *v = find_carrier(g, ancestor, symbol);

		if (!v)
			return;
		vec_push(g->arena, &r->inputs, v);
		last = symbol;
	}
}

static int build(struct graph *g, struct graph_region *r, struct arena *scratch, struct err *e)
{
	bool *in = NEWN(scratch, bool, g->nodes.n + 1);

	r->folded = true;
	vec_each (i, &r->nodes) {
		TRY(graph_node_check(g, *i, e));
		r->folded &= g->nodes.at[*i].folded;
	}
	/* Nodes of constants stay outside: their results are known, so the engine need not compute them either. */
	if (!r->folded) {
		int n = 0;

		for (int i = 0; i < r->nodes.n; i++)
			if (!g->nodes.at[r->nodes.at[i]].folded)
				r->nodes.at[n++] = r->nodes.at[i];
		r->nodes.n = n;
		graph_restore(g, r);
	}
	vec_each (i, &r->nodes)
		in[*i] = true;
	TRY(check_convex(g, r, in, scratch, e));
	find_edges(g, r, in);
	vec_each (v, &r->inputs) /* a body may capture it, even if nothing reads it there */
		if ((*v)->type == TYPE_NONE || (*v)->rank < 0) {
			graph_shape_unknown(g, *v, e);
			return err_where(e, "%s: region %s: ", g->model->path, r->label);
		}
	if (!r->folded) {
		add_carriers(g, r, scratch);
		graph_region_order(r);
	}
	if (!r->outputs.n) {
		err_set(e, ERR_USAGE, "%s: region %s: nothing uses its results.", g->model->path, r->label);
		return err_advise(e, "Remove the node from the model.");
	}
	return 0;
}

bool graph_region_has(const struct graph_region *r, int node)
{
	bool found = false;

	vec_each (i, &r->nodes)
		found |= *i == node;
	return found;
}

static bool is_result(const struct graph_region *r, const struct graph_value *v)
{
	bool found = false;

	vec_each (out, &r->outputs)
		found |= *out == v;
	return found;
}

/* Adds a result, in the order of the nodes. */
static void add_result(struct graph_region *r, struct graph_value *v)
{
	int at = r->outputs.n;

	vec_push(r->graph->arena, &r->outputs, v);
	for (; at > 0 && r->outputs.at[at - 1]->producer > v->producer; at--)
		r->outputs.at[at] = r->outputs.at[at - 1];
	r->outputs.at[at] = v;
}

/* The region of each node of a graph, or null. */
static struct graph_region **find_owners(const struct graph_regions *regions, const struct graph *g,
                                         struct arena *scratch)
{
	struct graph_region **owner = NEWN(scratch, struct graph_region *, g->nodes.n + 1);

	vec_each (r, regions)
		for (int i = 0; (*r)->graph == g && i < (*r)->nodes.n; i++)
			owner[(*r)->nodes.at[i]] = *r;
	return owner;
}

void graph_regions_settle(const struct graph_regions *regions)
{
	struct arena *scratch = arena_new();
	struct map owners = map_new(scratch);

	vec_each (reader, regions) {
		struct graph *g = (*reader)->graph;
		struct graph_region **owner = map_get_u64(&owners, (uintptr_t)g);

		if (!owner)
			map_put_u64(&owners, (uintptr_t)g, owner = find_owners(regions, g, scratch));
		for (int i = 0; i < (*reader)->inputs.n && !(*reader)->folded; i++) { /* else a constant replaces it */
			struct graph_value *v = (*reader)->inputs.at[i];

			if (v->producer >= 0 && owner[v->producer] && !is_result(owner[v->producer], v))
				add_result(owner[v->producer], v);
		}
	}
	arena_free(scratch);
}

int graph_region_new(struct graph_region **out, struct graph *g, const int *node, int n, struct err *e)
{
	struct graph_region *r = NEW(g->arena, struct graph_region);
	struct arena *scratch = arena_new();
	int rc;

	ck(n > 0);
	r->graph = g;
	for (int i = 0; i < n; i++)
		vec_push(g->arena, &r->nodes, node[i]);
	vec_sort_ints(r->nodes.at, n);
	r->nodes.n = 1;
	for (int i = 1; i < n; i++)
		if (r->nodes.at[i] != r->nodes.at[r->nodes.n - 1])
			r->nodes.at[r->nodes.n++] = r->nodes.at[i];
	r->label = g->nodes.at[r->nodes.at[0]].label;
	if (r->nodes.n > 1)
		r->label = arena_printf(g->arena, "%s..%s", r->label, g->nodes.at[r->nodes.at[r->nodes.n - 1]].label);
	rc = build(g, r, scratch, e);
	arena_free(scratch);
	*out = rc < 0 ? NULL : r;
	return rc;
}
