/* Sizes that a node computes at run time: their symbols in the graph, those that a plugin must return as outputs, and
 * the nodes of a local function that compute the same numbers. */
#include <stdio.h>
#include <string.h>

#include "graph/graph_internal.h"

/* ---- Symbols ----------------------------------------------------------------------------------------------------- */

void graph_size_symbols(struct graph *g, struct graph_node *n, const struct ir_program *p)
{
	char name[32];

	for (int i = n->sizes.n; i < p->sizes.n; i++) {
		char *copy;

		do
			snprintf(name, sizeof name, "found%d", g->root->found++);
		while (map_get(&g->root->used, name));
		copy = arena_strdup(g->arena, name);
		map_put(&g->root->used, copy, copy);
		vec_push(g->arena, &n->sizes, copy);
	}
}

struct rename {
	const struct graph_node *n;
	const struct ir_program *p;
};

static expr rename_size(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct rename *r = user;

	(void)arg;
	for (int i = 0; i < r->p->sizes.n; i++)
		if (r->p->sizes.at[i].symbol == e)
			return ir_symbol(pool, r->n->sizes.at[i]);
	return NULL;
}

expr graph_size_rename(struct graph *g, const struct graph_node *n, const struct ir_program *p, expr e)
{
	struct rename r = { n, p };

	return ir_copy(g->pool, e, rename_size, &r);
}

/* ---- Sizes of a region. */

struct mention {
	struct graph *g;
	const struct graph_region *r;
	struct graph_names *out;
};

static bool is_found(const struct mention *m, const char *symbol)
{
	vec_each (i, &m->r->nodes)
		vec_each (s, &m->g->nodes.at[*i].sizes)
			if (strcmp(*s, symbol) == 0)
				return true;
	return false;
}

static void add_mention(void *user, expr e)
{
	struct mention *m = user;

	if (e->op != IR_SYMBOL || !is_found(m, e->name))
		return;
	vec_each (s, m->out)
		if (strcmp(*s, e->name) == 0)
			return;
	vec_push(m->g->arena, m->out, e->name);
}

struct graph_names graph_region_sizes(const struct graph_region *r)
{
	struct graph *g = r->graph;
	struct graph_names names = { 0 };
	struct mention m = { g, r, &names };

	vec_each (v, &r->outputs)
		for (int i = 0; i < (*v)->rank; i++)
			ir_walk((*v)->dim[i], add_mention, &m);
	return names;
}

/* ---- Sizes in a function ----------------------------------------------------------------------------------- */

/* extent = factor * symbol + rest; false for any other extent. */
struct linear {
	const char *symbol;
	int64_t factor, rest;
	bool other;
};

static void add_term(void *user, int64_t coefficient, int factors, const expr *factor)
{
	struct linear *l = user;

	if (!factors)
		l->rest += coefficient;
	else if (factors == 1 && factor[0]->op == IR_SYMBOL && strcmp(factor[0]->name, l->symbol) == 0)
		l->factor += coefficient;
	else
		l->other = true;
}

static bool is_linear(expr extent, struct linear *l)
{
	l->factor = l->rest = 0;
	l->other = false;
	ir_poly_terms(extent, add_term, l);
	return !l->other && l->factor > 0;
}

/* Finds the first axis of a tensor whose extent determines the size; with `plain`: equals it. False if there is
 * none. */
static bool find_axis(const struct graph_value *v, bool plain, struct linear *l, int *axis)
{
	for (*axis = 0; v && *axis < v->rank; ++*axis)
		if (is_linear(v->dim[*axis], l) && (!plain || (l->factor == 1 && !l->rest)))
			return true;
	return false;
}

static const struct graph_value *find_made(struct graph *g, const struct graph_region *r, bool plain, struct linear *l,
                                           int *axis)
{
	vec_each (i, &r->nodes) {
		const Onnx__NodeProto *p = g->nodes.at[*i].proto;

		for (size_t k = 0; k < p->n_output; k++) {
			const struct graph_value *v = graph_value_find(g, p->output[k]);

			if (find_axis(v, plain, l, axis))
				return v;
		}
	}
	return NULL;
}

/* Finds a tensor in the region with an extent that determines the size, preferably equals it. */
static const struct graph_value *find_extent(struct graph *g, const struct graph_region *r, struct linear *l, int *axis)
{
	const struct graph_value *v = find_made(g, r, true, l, axis);

	return v ? v : find_made(g, r, false, l, axis);
}

static const char *new_name(struct graph *g, const char *symbol, const char *what)
{
	return onnx_name_unique(g->model, arena_printf(g->model->arena, "%s_%s", symbol, what));
}

static const char *add_node(struct graph *g, struct graph_function_body *body, const char *type, const char *a,
                            const char *b, const char *out)
{
	Onnx__NodeProto *n = onnx_node_new(g->model, "", type, NULL);

	onnx_node_input(g->model, n, a);
	if (b)
		onnx_node_input(g->model, n, b);
	onnx_node_output(g->model, n, out);
	vec_push(g->arena, body, n);
	return out;
}

int graph_size_output(struct graph *g, const struct graph_region *r, const char *symbol,
                      struct graph_function_body *body, const char **out, struct err *e)
{
	struct linear l = { .symbol = symbol };
	const char *number, *shape;
	int axis;
	const struct graph_value *v = find_extent(g, r, &l, &axis);

	if (!v)
		return err_set(e, ERR_UNSUPPORTED,
		               "region %s: an extent of its results depends on a number computed at run time, and no "
		               "tensor inside has that number as an extent.",
		               r->label);
	shape = add_node(g, body, "Shape", v->name, NULL, new_name(g, symbol, "shape"));
	TRY(graph_constant_node(g, body, new_name(g, symbol, "axis"), axis, &number, e));
	*out = add_node(g, body, "Gather", shape, number, new_name(g, symbol, "size"));
	if (l.rest) {
		TRY(graph_constant_node(g, body, new_name(g, symbol, "rest"), l.rest, &number, e));
		*out = add_node(g, body, "Sub", *out, number, new_name(g, symbol, "size"));
	}
	if (l.factor != 1) {
		TRY(graph_constant_node(g, body, new_name(g, symbol, "factor"), l.factor, &number, e));
		*out = add_node(g, body, "Div", *out, number, new_name(g, symbol, "size"));
	}
	return 0;
}
