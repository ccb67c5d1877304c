/* The nodes' constraints on extents, over the whole model. Symbols of the model's inputs that must be equal become one
 * symbol, or a number; undecided constraints are kept. */
#include <string.h>

#include "graph/graph_internal.h"

struct renaming {
	const char *symbol;
	expr to;
	struct map done; /* by id: many tensors share an extent */
};

static expr put_symbol(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	const struct renaming *x = user;

	(void)p;
	(void)arg;
	return e->op == IR_SYMBOL && strcmp(e->name, x->symbol) == 0 ? x->to : NULL;
}

static expr renamed(struct graph *g, struct renaming *x, expr e)
{
	expr known = map_get_u64(&x->done, e->id);

	if (!known) {
		known = ir_copy(g->pool, e, put_symbol, x);
		map_put_u64(&x->done, e->id, known);
	}
	return known;
}

static void rename_value(struct graph *g, struct renaming *x, struct graph_value *v)
{
	const expr *known = v->content ? v->content : v->some;
	int64_t n = known && v->rank >= 0 ? graph_count(v->rank, v->dim) : -1;
	expr *content;

	for (int i = 0; i < v->rank; i++)
		v->dim[i] = renamed(g, x, v->dim[i]);
	if (n < 0)
		return;
	content = NEWN(g->arena, expr, n + 1);
	for (int64_t k = 0; k < n; k++)
		content[k] = known[k] ? renamed(g, x, known[k]) : NULL;
	*(v->content ? &v->content : &v->some) = content;
}

static void substitute(struct graph *g, const char *symbol, expr to)
{
	struct arena *scratch = arena_new();
	struct renaming x = { symbol, to, map_new(scratch) };
	int n = 0;

	vec_each (some, &g->root->graphs)
		vec_each (v, &(*some)->values)
			rename_value(g, &x, *v);
	for (int i = 0; i < g->root->meaning.n; i++)
		map_put(&g->root->meaning, g->root->meaning.entry[i].name,
		        renamed(g, &x, g->root->meaning.entry[i].value));
	for (int i = 0; i < g->root->symbols.n; i++)
		if (strcmp(g->root->symbols.at[i], symbol) != 0)
			g->root->symbols.at[n++] = g->root->symbols.at[i];
	g->root->symbols.n = n;
	vec_each (d, &g->root->demands)
		for (int k = 0; k < 2; k++)
			d->extent[k] = renamed(g, &x, d->extent[k]);
	arena_free(scratch);
}

/* Returns a symbol's rank among those of the model's inputs, named ones before numbered ones; -1: it is none of
 * them. */
static int symbol_place(const struct graph *g, expr e)
{
	for (int i = 0; e->op == IR_SYMBOL && i < g->root->symbols.n; i++)
		if (strcmp(g->root->symbols.at[i], e->name) == 0)
			return map_get(&g->root->origin, e->name) ? i : i + g->root->symbols.n;
	return -1;
}

/* A symbol that must be a number. Nodes before may have been taken for unsupported, or to compute sizes, because the
 * number was not known. */
static void fix(struct graph *g, expr symbol, expr number)
{
	map_put(&g->root->fixed, symbol->name, number);
	vec_each (n, &g->root->nodes)
		g->root->fixed_late |= n->why || n->sizes.n > 0;
	substitute(g, symbol->name, number);
}

void graph_fix_symbols(struct graph *g, const struct map *fixed)
{
	for (int i = 0; i < fixed->n; i++)
		for (int k = 0; k < g->symbols.n; k++)
			if (strcmp(g->symbols.at[k], fixed->entry[i].name) == 0) {
				const int64_t *number = fixed->entry[i].value;

				substitute(g, fixed->entry[i].name, ir_index(g->pool, *number));
				break;
			}
}

static void unify(struct graph *g, expr a, expr b)
{
	int i = symbol_place(g, a), k = symbol_place(g, b);

	if (i >= 0 && k >= 0)
		substitute(g, i < k ? b->name : a->name, i < k ? a : b);
	else if (i >= 0 && b->op == IR_CONST_INT)
		fix(g, a, b);
	else if (k >= 0 && a->op == IR_CONST_INT)
		fix(g, b, a);
}

/* Both branches of an If are lowered, but only one runs: the other one's constraints do not apply to the model, neither
 * those of the If nor those of the branch's own nodes. */
static bool has_graphs(const struct graph_node *n)
{
	for (int i = 0; n->op && i < OP_MAX_ATTRS && n->op->attrs[i].kind; i++)
		if (n->op->attrs[i].kind == OP_GRAPH)
			return true;
	return false;
}

void graph_take_demands(struct graph *g, const struct graph_node *n, const struct ir_program *p)
{
	if (has_graphs(n) || g->outer)
		return;
	vec_each (from, &p->demands) {
		struct ir_demand d = *from;

		for (int k = 0; k < 2; k++) {
			d.extent[k] = graph_size_rename(g, n, p, from->extent[k]);
			d.tensor[k] = d.tensor[k] ? arena_strdup(g->arena, d.tensor[k]) : NULL;
		}
		d.node = n->label;
		vec_push(g->arena, &g->root->demands, d);
	}
	for (int i = g->root->demands.n - p->demands.n; i < g->root->demands.n; i++)
		if (g->root->demands.at[i].relation == IR_SAME)
			unify(g, g->root->demands.at[i].extent[0], g->root->demands.at[i].extent[1]);
}
