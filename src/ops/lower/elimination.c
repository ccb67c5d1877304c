/* Gaussian elimination with partial pivoting. */
#include "ops/lower/elimination.h"

#include <string.h>

int elimination_begin(struct lower *l, struct elimination *e)
{
	int rank;

	*e = (struct elimination){ .l = l, .x = lower_input(l, 0) };
	rank = value_rank(e->x);
	e->type = compute_type(value_type(e->x));
	e->batch = rank - 2;
	if (rank < 2)
		return lower_fail(l, ERR_MODEL, "its input has %d axes; matrices need two.", rank);
	return lower_same(l, e->x, rank - 2, e->x, rank - 1, &e->n);
}

expr elimination_element(const struct elimination *e, struct value v, const expr *at, expr i, expr j)
{
	expr index[IR_MAX_RANK];

	memcpy(index, at, sizeof at[0] * (size_t)e->batch);
	index[e->batch] = i;
	index[e->batch + 1] = j;
	return load(v, index);
}

void elimination_loop(struct elimination *e, expr columns, expr (*first)(struct elimination *e, const struct space *s))
{
	struct lower *l = e->l;
	struct space s = space_new(l, e->batch, e->x.buf->dim), rows = s;
	expr r;

	e->loop = lower_loop_begin(l, e->n);
	space_push(l, &s, e->n);
	space_push(l, &s, columns);
	e->m = lower_carry(l, &e->loop, "m", e->type, &s, first(e, &s));
	r = space_push(l, &rows, e->n);
	expr size = unary(IR_ABS, elimination_element(e, e->m, rows.at, r, e->loop.turn));

	e->pivot = lower_reduce(l, "pivot", TYPE_I64, &rows, e->batch, IR_ARGMAX,
	                        select_(lt(r, e->loop.turn), num(l, e->type, -1), size), NULL);
}

expr elimination_pivot(const struct elimination *e, const expr *at)
{
	return clamp(cast(load(e->pivot, at), TYPE_INDEX), e->loop.turn, addi(e->n, -1));
}

expr elimination_exchanged(const struct elimination *e, const struct space *s, expr i, expr j)
{
	expr p = elimination_pivot(e, s->at), t = e->loop.turn;

	return elimination_element(e, e->m, s->at, select_(eq(i, t), p, select_(eq(i, p), t, i)), j);
}
