/* The kind of work that a node's stages do, for estimates of regions: maps, which fuse with their neighbours, other
 * stages, or products. */
#include <string.h>

#include "graph/graph_internal.h"

struct reading {
	int rank; /* of the result: later axes are summed */
	bool summed;
	expr first; /* a load at an index with a summed axis; null: none yet */
	bool two;
};

static void note_summed(void *user, expr e)
{
	struct reading *r = user;

	r->summed |= e->op == IR_AXIS && e->i >= r->rank;
}

static void note_load(void *user, expr e)
{
	struct reading *r = user;

	if (e->op != IR_LOAD)
		return;
	r->summed = false;
	for (int i = 0; i < e->n; i++)
		ir_walk(e->arg[i], note_summed, r);
	if (!r->summed)
		return;
	r->two |= r->first && r->first != e;
	r->first = e;
}

/* True for a sum over elements read at two places, such as a matrix product or a convolution. */
static bool is_product(const struct ir_stage *s)
{
	struct reading r = { .rank = s->out->rank };

	if (s->kind != IR_REDUCE || s->combine != IR_SUM)
		return false;
	ir_walk(s->value, note_load, &r);
	return r.two;
}

/* Takes the extents of a product: all its multiply-adds are their product. */
static void take_points(struct graph *g, struct graph_node *n, const struct ir_program *p, const struct ir_stage *s)
{
	n->points.n = 0;
	for (int i = 0; i < s->out->rank; i++)
		vec_push(g->arena, &n->points, graph_size_rename(g, n, p, s->out->dim[i]));
	for (int i = 0; i < s->space_rank; i++)
		vec_push(g->arena, &n->points, graph_size_rename(g, n, p, s->space[i]));
}

struct place {
	int rank; /* of the result */
	bool moved;
};

/* A load at the result's own place reads each axis by its number, or only the first element of it. */
static void note_place(void *user, expr e)
{
	struct place *x = user;

	for (int i = 0; e->op == IR_LOAD && i < e->n; i++) {
		expr at = e->arg[i];

		x->moved |= !(at->op == IR_CONST_INT || (at->op == IR_AXIS && at->i == x->rank - e->n + i));
	}
}

static bool moves_elements(const struct ir_program *p)
{
	struct place x = { 0 };

	vec_each (s, &p->stages) {
		x.rank = (*s)->out->rank;
		if ((*s)->kind == IR_MAP)
			ir_walk((*s)->value, note_place, &x);
	}
	return x.moved;
}

void graph_note_work(struct graph *g, struct graph_node *n, const struct ir_program *p)
{
	n->work = GRAPH_MAPS;
	n->moves = moves_elements(p);
	vec_each (s, &p->stages)
		if (is_product(*s)) {
			n->work = GRAPH_PRODUCT;
			take_points(g, n, p, *s);
		} else if ((*s)->kind == IR_LOOP) {
			n->work = GRAPH_PRODUCT;
		} else if ((*s)->kind != IR_MAP && n->work == GRAPH_MAPS) {
			n->work = GRAPH_ROWS;
		}
}

/* Operators that only give a tensor other extents: the engine runs no kernel for them. */
static bool is_view(const struct graph_node *n)
{
	static const char *const view[] = { "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", NULL };
	const char *type = onnx_text(n->proto->op_type);

	for (const char *const *v = view; *v; v++)
		if (strcmp(*v, type) == 0)
			return true;
	return false;
}

bool graph_fast_seed(const struct graph_node *n)
{
	return n->work == GRAPH_ROWS || (n->work == GRAPH_MAPS && n->moves && !is_view(n));
}
