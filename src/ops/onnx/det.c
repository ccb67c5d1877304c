/* Det: the determinant of each matrix: the product of the pivots, negated for every exchange of rows. Matrices of up to
 * three rows use the formula. Leading axes are a batch. Source: ONNX, operator Det, opsets 11 and 22. */
#include "ops/lower/elimination.h"

static expr input_element(struct elimination *e, const struct space *s)
{
	return wide(load(e->x, s->at));
}

static expr x_at(struct elimination *e, const struct space *s, int i, int j)
{
	return wide(elimination_element(e, e->x, s->at, idx(e->l, i), idx(e->l, j)));
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

static int lower(struct lower *l)
{
	enum { FORMULA = 3 };
	struct elimination e;
	int64_t n;

	TRY(elimination_begin(l, &e));
	enum type t = value_type(e.x);
	struct space batch = space_new(l, e.batch, e.x.buf->dim);

	if (ir_const_int(e.n, &n) && n <= FORMULA) {
		lower_output(l, 0, lower_map(l, NULL, t, &batch, narrow(minor_of(&e, &batch, 0, (int)n, 0), t)));
		return 0;
	}
	elimination_loop(&e, e.n, input_element);
	struct value det = lower_carry(l, &e.loop, "det", e.type, &batch, num(l, e.type, 1));
	struct space s = space_of(l, e.m);
	expr i = s.at[e.batch], j = s.at[e.batch + 1], turn = e.loop.turn, zero = num(l, e.type, 0);
	expr pivot = elimination_exchanged(&e, &s, turn, turn), own = elimination_exchanged(&e, &s, i, j);
	expr factor = select_(eq(pivot, zero), zero, divide(elimination_exchanged(&e, &s, i, turn), pivot));
	expr below = sub(own, mul(factor, elimination_exchanged(&e, &s, turn, j)));
	struct value next_m = lower_map(l, "next_m", e.type, &s, select_(lt(turn, i), below, own));
	expr here = mul(load(det, batch.at), elimination_exchanged(&e, &batch, turn, turn));
	expr sign = eq(elimination_pivot(&e, batch.at), turn);

	lower_next(l, &e.loop, e.m, next_m);
	lower_next(l, &e.loop, det, lower_map(l, "next_det", e.type, &batch, select_(sign, here, unary(IR_NEG, here))));
	lower_loop_end(l, &e.loop);
	lower_output(l, 0, t == e.type ? det : lower_map(l, NULL, t, &batch, narrow(load(det, batch.at), t)));
	return 0;
}

const struct op_def op_det = {
	.name = "Det",
	.since = { 11, 22 },
	.formula = "y = the determinant of each matrix",
	.inputs = { IN("x", TS_FLOAT) },
	.outputs = { OUT("y") },
	.lower = lower,
	.cases = { "x:f32[N,9,9]", "x:f64[K,K]", "x:f16[N,2,2]", "x:f32[2,N,3,3]", "x:f32[N,0,0]" },
};
