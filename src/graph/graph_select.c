/* Selection: what the user names, and what TensorRT refuses, as regions. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph_internal.h"

struct select {
	struct graph *g;
	const struct graph_selection *s;
	struct graph_regions *out;
	struct err *err;
	bool *taken, *excepted; /* by node */
};

static int add_region(struct select *s, const int *node, int n)
{
	struct graph_region *r;

	TRY(graph_region_new(&r, s->g, node, n, s->err));
	for (int i = 0; i < n; i++)
		s->taken[node[i]] = true;
	vec_push(s->g->arena, s->out, r);
	return 0;
}

/* Nodes of constants in a region of others become initializers by themselves. */
static int add_nodes(struct select *s, const int *node, int n)
{
	int folded = 0;

	for (int i = 0; i < n; i++)
		folded += s->g->nodes.at[node[i]].folded;
	TRY(add_region(s, node, n));
	for (int i = 0; folded < n && i < n; i++)
		if (s->g->nodes.at[node[i]].folded)
			TRY(add_region(s, &node[i], 1));
	return 0;
}

static int select_region(struct select *s, const struct graph_region_names *names)
{
	int *node = NEWN(s->g->arena, int, names->n + 1), n = 0;

	for (int i = 0; i < names->n; i++) {
		int x;

		TRY(onnx_node_find(&x, s->g->index, names->name[i], s->err));
		if (s->taken[x])
			return err_set(s->err, ERR_USAGE, "%s: node %s is in two regions.", s->g->model->path,
				       s->g->nodes.at[x].label);
		node[n++] = x;
	}
	return n ? add_nodes(s, node, n) : err_set(s->err, ERR_USAGE, "%s: a region names no node.", s->g->model->path);
}

static int select_name(struct select *s, const char *name)
{
	int node;

	TRY(onnx_node_find(&node, s->g->index, name, s->err));
	return s->taken[node] ? 0 : add_region(s, &node, 1);
}

/* "Type", or "domain.Type". */
static bool is_type(const struct graph_node *n, const char *type)
{
	const char *domain = onnx_domain(n->proto->domain), *op = onnx_text(n->proto->op_type);
	size_t len = strlen(domain);

	if (strcmp(op, type) == 0)
		return true;
	return len && strncmp(type, domain, len) == 0 && type[len] == '.' && strcmp(type + len + 1, op) == 0;
}

static int no_type(struct select *s, const char *type)
{
	struct graph *g = s->g;
	const char **names = NEWN(g->arena, const char *, g->nodes.n + 1), *closest;
	struct map seen = map_new(g->arena);
	struct str list = str_new(g->arena);

	vec_each(n, &g->nodes)
		map_put(&seen, onnx_text(n->proto->op_type), g);
	for (int i = 0; i < seen.n; i++) {
		names[i] = seen.entry[i].name;
		if (i < 24)
			str_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	closest = str_closest(type, names);
	err_set(s->err, ERR_USAGE, "%s: there is no node of type %s.", g->model->path, type);
	return closest ? err_advise(s->err, "Did you mean %s?", closest)
		       : err_advise(s->err, "The model has %s%s.", str_text(&list), seen.n > 24 ? " ..." : "");
}

static int select_type(struct select *s, const char *type)
{
	int found = 0, known = 0, refused = -1;

	vec_each(n, &s->g->nodes) {
		if (!is_type(n, type))
			continue;
		found++;
		known += n->known;
		if (!n->known && refused < 0)
			refused = n->index;
		if (n->known && !s->taken[n->index] && !s->excepted[n->index] && graph_node_used(s->g, n->index))
			TRY(add_region(s, &n->index, 1));
	}
	if (!found)
		return no_type(s, type);
	return known ? 0 : graph_node_check(s->g, refused, s->err);
}

static int select_refused(struct select *s)
{
	const char *reason;

	vec_each(n, &s->g->nodes) {
		if (!n->known || s->taken[n->index] || s->excepted[n->index] || !graph_node_used(s->g, n->index) ||
		    graph_trt_misfit(s->g, n->index))
			continue;
		if (graph_trt_support(s->g, n->index, &reason) == GRAPH_TRT_NO)
			TRY(add_region(s, &n->index, 1));
	}
	return 0;
}

static int compare_regions(const void *a, const void *b)
{
	const struct graph_region *x = *(struct graph_region *const *)a, *y = *(struct graph_region *const *)b;

	return x->nodes.at[0] - y->nodes.at[0];
}

static int select_all(struct select *s)
{
	const struct graph_selection *o = s->s;

	for (int i = 0; i < o->excepts; i++) {
		int node;

		TRY(onnx_node_find(&node, s->g->index, o->except[i], s->err));
		s->excepted[node] = true;
	}
	for (int i = 0; i < o->regions; i++)
		TRY(select_region(s, &o->region[i]));
	for (int i = 0; i < o->names; i++)
		TRY(select_name(s, o->name[i]));
	for (int i = 0; i < o->types; i++)
		TRY(select_type(s, o->type[i]));
	return o->automatic ? select_refused(s) : 0;
}

int graph_select(struct graph_regions *out, struct graph *g, const struct graph_selection *o, struct err *e)
{
	struct select s = { g, o, out, e, NEWN(g->arena, bool, g->nodes.n + 1), NEWN(g->arena, bool, g->nodes.n + 1) };

	*out = (struct graph_regions){ 0 };
	TRY(select_all(&s));
	if (out->n)
		qsort(out->at, (size_t)out->n, sizeof out->at[0], compare_regions);
	return 0;
}
