/* Matrices brought to a simple form row by row, with the largest element of a column as its pivot.
 *   Det: the product of the pivots, negative for every exchange of rows
 *   Inverse: [a | 1] is brought to [1 | inverse]
 * Leading axes are a batch. Matrices of up to three rows have their determinant's formula.
 * Source: ONNX, operator Det, opsets 11 and 22; ONNX Runtime, operator Inverse in com.microsoft. */
#include "ops/lower/lower.h"

#include <string.h>

struct elimination {
	struct lower *l;
	struct value x;
	enum type type; /* of arithmetic */
	int batch;      /* leading axes */
	expr n;         /* rows */
	struct lower_loop loop;
	struct value m, pivot; /* the matrices, their pivots' rows */
};

static int begin(struct lower *l, struct elimination *e)
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

/* Element (i, j) of the matrix `v` that the batch axes of `at` say. */
static expr element(const struct elimination *e, struct value v, const expr *at, expr i, expr j)
{
	expr index[IR_MAX_RANK];

	memcpy(index, at, sizeof at[0] * (size_t)e->batch);
	index[e->batch] = i;
	index[e->batch + 1] = j;
	return load(v, index);
}

/* The loop over columns, its matrices [batch..., n, columns], and the row of this turn's pivot: at or below the
 * turn's. */
static void begin_loop(struct elimination *e, expr columns, expr (*first)(struct elimination *e, const struct space *s))
{
	struct lower *l = e->l;
	struct space s = space_new(l, e->batch, e->x.buf->dim), rows = s;
	expr r;

	e->loop = lower_loop_begin(l, e->n);
	space_push(l, &s, e->n);
	space_push(l, &s, columns);
	e->m = lower_carry(l, &e->loop, "m", e->type, &s, first(e, &s));
	r = space_push(l, &rows, e->n);
	expr size = unary(IR_ABS, element(e, e->m, rows.at, r, e->loop.turn));

	e->pivot = lower_reduce(l, "pivot", TYPE_I64, &rows, e->batch, IR_ARGMAX,
	                        select_(lt(r, e->loop.turn), num(l, e->type, -1), size), NULL);
}

/* The row of the pivot, for the batch axes of `at`. */
static expr pivot_row(const struct elimination *e, const expr *at)
{
	return clamp(cast(load(e->pivot, at), TYPE_INDEX), e->loop.turn, addi(e->n, -1));
}

/* Element (i, j) once the turn's row and the pivot's have changed places. */
static expr exchanged(const struct elimination *e, const struct space *s, expr i, expr j)
{
	expr p = pivot_row(e, s->at), t = e->loop.turn;

	return element(e, e->m, s->at, select_(eq(i, t), p, select_(eq(i, p), t, i)), j);
}

/* ---- Det. */

static expr input_element(struct elimination *e, const struct space *s)
{
	return wide(load(e->x, s->at));
}

static expr x_at(struct elimination *e, const struct space *s, int i, int j)
{
	return wide(element(e, e->x, s->at, idx(e->l, i), idx(e->l, j)));
}

/* The determinant of rows first..n-1 without the columns in `gone`, along the first row. */
static expr minor_of(struct elimination *e, const struct space *s, int first, int n, unsigned gone)
{
	expr sum = num(e->l, e->type, first == n);
	bool minus = false, any = false;

	for (int j = 0; j < n && first < n; j++) {
		if (gone >> j & 1)
			continue;
		expr a = x_at(e, s, first, j);
		expr part = first + 1 == n ? a : mul(a, minor_of(e, s, first + 1, n, gone | 1u << j));

		sum = !any ? part : minus ? sub(sum, part) : add(sum, part);
		any = true;
		minus = !minus;
	}
	return sum;
}

static int det_lower(struct lower *l)
{
	enum { FORMULA = 3 };
	struct elimination e;
	int64_t n;

	TRY(begin(l, &e));
	enum type t = value_type(e.x);
	struct space batch = space_new(l, e.batch, e.x.buf->dim);

	if (ir_const_int(e.n, &n) && n <= FORMULA) {
		lower_output(l, 0, lower_map(l, NULL, t, &batch, narrow(minor_of(&e, &batch, 0, (int)n, 0), t)));
		return 0;
	}
	begin_loop(&e, e.n, input_element);
	struct value det = lower_carry(l, &e.loop, "det", e.type, &batch, num(l, e.type, 1));
	struct space s = space_of(l, e.m);
	expr i = s.at[e.batch], j = s.at[e.batch + 1], turn = e.loop.turn, zero = num(l, e.type, 0);
	expr pivot = exchanged(&e, &s, turn, turn), own = exchanged(&e, &s, i, j);
	expr factor = select_(eq(pivot, zero), zero, divide(exchanged(&e, &s, i, turn), pivot));
	expr below = sub(own, mul(factor, exchanged(&e, &s, turn, j)));
	struct value next_m = lower_map(l, "next_m", e.type, &s, select_(lt(turn, i), below, own));
	expr here = mul(load(det, batch.at), exchanged(&e, &batch, turn, turn));
	expr sign = eq(pivot_row(&e, batch.at), turn);

	lower_next(l, &e.loop, e.m, next_m);
	lower_next(l, &e.loop, det, lower_map(l, "next_det", e.type, &batch, select_(sign, here, unary(IR_NEG, here))));
	lower_loop_end(l, &e.loop);
	lower_output(l, 0, t == e.type ? det : lower_map(l, NULL, t, &batch, narrow(load(det, batch.at), t)));
	return 0;
}

/* ---- Inverse. */

static expr augmented(struct elimination *e, const struct space *s)
{
	expr i = s->at[e->batch], j = s->at[e->batch + 1], left = min_(j, addi(e->n, -1));
	expr one = cast(eq(sub(j, e->n), i), e->type);

	return select_(lt(j, e->n), wide(element(e, e->x, s->at, i, left)), one);
}

static int inverse_lower(struct lower *l)
{
	struct elimination e;

	TRY(begin(l, &e));
	enum type t = value_type(e.x);

	begin_loop(&e, muli(e.n, 2), augmented);
	struct space s = space_of(l, e.m), out = space_of(l, e.x);
	expr i = s.at[e.batch], j = s.at[e.batch + 1], turn = e.loop.turn;
	expr scaled = divide(exchanged(&e, &s, turn, j), exchanged(&e, &s, turn, turn));
	expr other = sub(exchanged(&e, &s, i, j), mul(exchanged(&e, &s, i, turn), scaled));

	lower_next(l, &e.loop, e.m, lower_map(l, "next_m", e.type, &s, select_(eq(i, turn), scaled, other)));
	lower_loop_end(l, &e.loop);
	i = out.at[e.batch];
	j = add(out.at[e.batch + 1], e.n);
	lower_output(l, 0, lower_map(l, NULL, t, &out, narrow(element(&e, e.m, out.at, i, j), t)));
	return 0;
}

const struct op_def ops_elimination[] = {
	{ .name = "Det",
	  .since = { 11, 22 },
	  .formula = "y = the determinant of each matrix",
	  .inputs = { IN("x", TS_FLOAT) },
	  .outputs = { OUT("y") },
	  .lower = det_lower,
	  .cases = { "x:f32[N,9,9]", "x:f64[K,K]", "x:f16[N,2,2]", "x:f32[2,N,3,3]", "x:f32[N,0,0]" } },
	{ .name = "Inverse",
	  .domain = "com.microsoft",
	  .since = { 1 },
	  .formula = "y = the inverse of each matrix",
	  .inputs = { IN("x", TS_FLOAT) },
	  .outputs = { OUT("y") },
	  .lower = inverse_lower,
	  .cases = { "x:f32[N,5,5]", "x:f64[K,K]", "x:f16[2,N,4,4]", "x:f32[N,1,1]", "x:f32[0,5,5]" } },
	{ .name = NULL },
};
