/* The kind of work that a node's stages do, for estimates of regions: maps, which fuse with their neighbours, other
 * stages, or products. */
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

void graph_note_work(struct graph *g, struct graph_node *n, const struct ir_program *p)
{
	n->work = GRAPH_MAPS;
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
