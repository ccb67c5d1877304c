/* The nodes that tpat takes, in groups that become one node each. See provider.h.
 *
 * A group is a set of nodes of one level. A node's level is the largest number of times that a path to it leaves the
 * nodes that are taken. So no path between two taken nodes of a level passes a node that is not taken, and groups need
 * each other's results in the order of their levels only. */
#include <string.h>

#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

struct choice {
	struct provider *p;
	const struct ort_graph *graph;
	struct ort_graph_support *support;
	struct provider_nodes nodes;
	struct provider_io *io; /* of each node */
	bool *taken;            /* each node */
	bool *compiled;         /* each node: a region of a compiled model */
	int *level;
	struct map made; /* the node that makes a tensor: 1 + its number, by name */
	struct onnx_model *model;
	struct graph *model_graph;
	struct arena *scratch;
	struct err *err;
};

static void forget_model(struct choice *c)
{
	graph_free(c->model_graph);
	onnx_model_free(c->model);
	c->model_graph = NULL;
	c->model = NULL;
}

static void say(const struct choice *c, const char *node, const char *type, const char *why)
{
	provider_log(
	        c->p, ORT_LOG_INFO,
	        arena_printf(c->scratch, PROVIDER_NAME " leaves the node \"%s\" (%s) to others: %s", node, type, why));
}

static int leave(struct choice *c, size_t node, const char *why)
{
	const struct provider_host *h = &c->p->host;
	struct err *e = c->err;
	const char *name, *type;
	ASK(node_name(c->nodes.at[node], &name));
	ASK(node_type(c->nodes.at[node], &type));
	c->taken[node] = false;
	say(c, name, type, why);
	return 0;
}

/* ---- Which nodes tpat takes. */

static bool is_known(const struct graph_value *v)
{
	return v->type != TYPE_NONE && v->rank >= 0;
}

/* True if the node is refused for its own sake, not since it reads what another refused node makes. */
static bool is_cause(const struct graph *g, const struct graph_node *n)
{
	vec_each (v, &n->reads)
		if ((*v)->producer >= 0 && !g->nodes.at[(*v)->producer].known)
			return false;
	return !n->known;
}

/* Takes no node that the graph refuses. `node`: the numbers of the graph's nodes. Returns true if a node was taken
 * before. */
static int leave_refused(bool *changed, struct choice *c, const size_t *node, bool causes)
{
	const struct graph *g = c->model_graph;
	vec_each (n, &g->nodes) {
		if (n->known || (causes && !is_cause(g, n)))
			continue;
		*changed = true;
		TRY(leave(c, node[n->index], n->why ? n->why : "it is not supported."));
	}
	return 0;
}

static int open_part(struct choice *c, const struct provider_part *part)
{
	forget_model(c);
	TRY(provider_model(&c->model, &c->p->host, part, c->scratch, c->err));
	ck(c->model->proto->graph->n_node == part->nodes.n);
	return graph_new(&c->model_graph, c->model, NULL, c->err);
}

/* Compiled regions are nodes by themselves. */
static int fuse_contexts(struct choice *c)
{
	const struct provider_host *h = &c->p->host;
	struct err *e = c->err;
	const struct ort_fusion o = { .version = ORT_GRAPHS, .drop_constants = true };
	for (size_t i = 0; i < c->nodes.n; i++) {
		TRY(provider_is_context(&c->compiled[i], h, c->nodes.at[i], c->scratch, e));
		if (c->compiled[i])
			TRY(provider_check(h, h->ep->fuse(c->support, &c->nodes.at[i], 1, &o), e));
	}
	return 0;
}

/* Leaves nodes that cannot be told to tpat: with attributes or constants of other types. */
static int leave_untold(struct choice *c)
{
	for (size_t i = 0; i < c->nodes.n; i++) {
		if (c->compiled[i])
			continue;
		struct provider_part one = { .graph = c->graph, .nodes = { &c->nodes.at[i], 1 }, .borrow = true };
		struct err why;
		why.code = 0;
		err_clear(&why);
		if (c->io[i].captured.n && c->p->host.version < ORT_FUSES_CAPTURES) {
			TRY(leave(c, i, "its graphs read tensors around them, which needs ONNX Runtime 1.28."));
			continue;
		}
		forget_model(c);
		c->taken[i] = provider_model(&c->model, &c->p->host, &one, c->scratch, &why) == 0;
		if (!c->taken[i])
			TRY(leave(c, i, why.text));
	}
	forget_model(c);
	return 0;
}

/* The nodes for which `level` is theirs, or all taken ones (-1). */
static void select_nodes(struct provider_nodes *out, size_t *number, const struct choice *c, int level)
{
	out->n = 0;
	for (size_t i = 0; i < c->nodes.n; i++)
		if (c->taken[i] && (level < 0 || c->level[i] == level)) {
			number[out->n] = i;
			out->at[out->n++] = c->nodes.at[i];
		}
}

/* All nodes together, since what one computes may decide the extents of another. */
static int leave_unsupported(struct choice *c)
{
	size_t *number = NEWN(c->scratch, size_t, c->nodes.n + 1);
	struct provider_part all = { .graph = c->graph, .borrow = true, .types = true };
	bool changed;
	all.nodes.at = NEWN(c->scratch, const struct ort_node *, c->nodes.n + 1);
	TRY(provider_graph_outputs(&all.outputs, &c->p->host, c->graph, c->scratch, c->err));
	select_nodes(&all.nodes, number, c, -1);
	/* A graph's outputs may be its inputs, or made by nodes that are not taken. */
	size_t n = 0;
	for (size_t i = 0; i < all.outputs.n; i++) {
		const char *name;
		TRY(provider_value_name(&name, &c->p->host, all.outputs.at[i], c->err));
		uintptr_t maker = (uintptr_t)map_get(&c->made, name);
		if (maker && c->taken[maker - 1])
			all.outputs.at[n++] = all.outputs.at[i];
	}
	all.outputs.n = n;
	TRY(open_part(c, &all));
	return leave_refused(&changed, c, number, false);
}

/* ---- Groups. */

static int level_after(const struct choice *c, size_t node, const struct provider_values *reads, int level,
                       struct err *e)
{
	for (size_t i = 0; i < reads->n; i++) {
		const char *name;
		TRY(provider_value_name(&name, &c->p->host, reads->at[i], e));
		uintptr_t maker = (uintptr_t)map_get(&c->made, name);
		if (!maker)
			continue;
		int before = c->level[maker - 1] + (c->taken[maker - 1] && !c->taken[node]);
		level = before > level ? before : level;
	}
	return level;
}

static int find_levels(int *levels, struct choice *c)
{
	*levels = 0;
	for (size_t i = 0; i < c->nodes.n; i++) {
		int level = level_after(c, i, &c->io[i].in, 0, c->err);
		TRY(level);
		level = level_after(c, i, &c->io[i].captured, level, c->err);
		TRY(level);
		c->level[i] = level;
		*levels = level >= *levels ? level + 1 : *levels;
	}
	return 0;
}

/* Marks the tensors that nodes outside the level read. */
static int mark_read(struct map *read, const struct choice *c, const struct provider_values *v)
{
	for (size_t i = 0; i < v->n; i++) {
		const char *name;
		TRY(provider_value_name(&name, &c->p->host, v->at[i], c->err));
		map_put(read, name, c);
	}
	return 0;
}

/* The results of a level's nodes that others need. */
static int find_outputs(struct provider_values *out, struct choice *c, int level)
{
	const struct provider_host *h = &c->p->host;
	struct err *e = c->err;
	struct map read = map_new(c->scratch);
	size_t most = 0;
	for (size_t i = 0; i < c->nodes.n; i++) {
		most += c->io[i].out.n;
		if (c->taken[i] && c->level[i] == level)
			continue;
		TRY(mark_read(&read, c, &c->io[i].in));
		TRY(mark_read(&read, c, &c->io[i].captured));
	}
	out->at = NEWN(c->scratch, const struct ort_value_info *, most + 1);
	out->n = 0;
	for (size_t i = 0; i < c->nodes.n; i++)
		for (size_t j = 0; c->taken[i] && c->level[i] == level && j < c->io[i].out.n; j++) {
			const struct ort_value_info *v = c->io[i].out.at[j];
			const char *name;
			bool wanted = false;
			TRY(provider_value_name(&name, h, v, e));
			if (!*name)
				continue;
			ASK(value_is_output(v, &wanted));
			if (wanted || map_get(&read, name))
				out->at[out->n++] = v;
		}
	return 0;
}

/* Tensors that go in and out must be such that tpat has. */
static int leave_edges(bool *changed, struct choice *c, const size_t *number)
{
	const struct graph *g = c->model_graph;
	vec_each (v, &g->outputs)
		if (!is_known(*v) || (*v)->producer < 0) {
			*changed = true;
			if ((*v)->producer >= 0)
				TRY(leave(c, number[(*v)->producer], "it makes a tensor that tpat lacks."));
		}
	return 0;
}

static int check_level(bool *changed, struct choice *c, int level)
{
	struct provider_part part = { .graph = c->graph, .borrow = true };
	size_t *number = NEWN(c->scratch, size_t, c->nodes.n + 1);
	part.nodes.at = NEWN(c->scratch, const struct ort_node *, c->nodes.n + 1);
	select_nodes(&part.nodes, number, c, level);
	if (!part.nodes.n)
		return 0;
	TRY(find_outputs(&part.outputs, c, level));
	TRY(open_part(c, &part));
	TRY(leave_refused(changed, c, number, true));
	return *changed ? 0 : leave_edges(changed, c, number);
}

static int fuse_level(struct choice *c, int level)
{
	const struct provider_host *h = &c->p->host;
	struct err *e = c->err;
	const struct ort_fusion o = { .version = ORT_GRAPHS, .drop_constants = true };
	struct provider_nodes nodes = { NEWN(c->scratch, const struct ort_node *, c->nodes.n + 1), 0 };
	size_t *number = NEWN(c->scratch, size_t, c->nodes.n + 1);
	select_nodes(&nodes, number, c, level);
	return nodes.n ? provider_check(h, h->ep->fuse(c->support, nodes.at, nodes.n, &o), e) : 0;
}

static int read_nodes(struct choice *c)
{
	const struct provider_host *h = &c->p->host;
	TRY(provider_graph_nodes(&c->nodes, h, c->graph, c->scratch, c->err));
	size_t n = c->nodes.n;
	c->io = NEWN(c->scratch, struct provider_io, n + 1);
	c->taken = NEWN(c->scratch, bool, n + 1);
	c->compiled = NEWN(c->scratch, bool, n + 1);
	c->level = NEWN(c->scratch, int, n + 1);
	c->made = map_new(c->scratch);
	for (size_t i = 0; i < n; i++) {
		TRY(provider_node_io(&c->io[i], h, c->nodes.at[i], c->scratch, c->err));
		for (size_t j = 0; j < c->io[i].out.n; j++) {
			const char *name;
			TRY(provider_value_name(&name, h, c->io[i].out.at[j], c->err));
			if (*name)
				map_put(&c->made, name, (const void *)(uintptr_t)(i + 1));
		}
	}
	return 0;
}

static int choose(struct choice *c)
{
	const struct provider_host *h = &c->p->host;
	struct err *e = c->err;
	const struct ort_node *holder = NULL;
	int levels;
	/* A node that holds graphs is taken as a whole, or left: ONNX Runtime asks for the graphs first. */
	ASK(graph_holder(c->graph, &holder));
	if (holder)
		return 0;
	TRY(read_nodes(c));
	TRY(fuse_contexts(c));
	TRY(leave_untold(c));
	TRY(leave_unsupported(c));
	for (bool changed = true; changed;) {
		changed = false;
		TRY(find_levels(&levels, c));
		for (int i = 0; i < levels && !changed; i++)
			TRY(check_level(&changed, c, i));
	}
	for (int i = 0; i < levels; i++)
		TRY(fuse_level(c, i));
	return 0;
}

static int choose_in(void *arg, struct arena *scratch, struct err *e)
{
	struct choice *c = arg;
	c->scratch = scratch;
	c->err = e;
	return choose(c);
}

struct ort_status *provider_capability(struct ort_ep *ep, const struct ort_graph *graph,
                                       struct ort_graph_support *support)
{
	struct choice c = { .p = (struct provider *)ep, .graph = graph, .support = support };
	struct ort_status *status = provider_call(&c.p->host, choose_in, &c);
	forget_model(&c);
	return status;
}
