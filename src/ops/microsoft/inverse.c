/* Inverse: the inverse of each matrix: elimination turns [a | 1] into [1 | inverse]. Leading axes are a batch.
 * Source: ONNX Runtime, com.microsoft.Inverse. */
#include "ops/lower/elimination.h"

static expr augmented(struct elimination *e, const struct space *s)
{
	expr i = s->at[e->batch], j = s->at[e->batch + 1], left = min_(j, addi(e->n, -1));
	expr one = cast(eq(sub(j, e->n), i), e->type);

	return select_(lt(j, e->n), wide(elimination_element(e, e->x, s->at, i, left)), one);
}

static int lower(struct lower *l)
{
	struct elimination e;

	TRY(elimination_begin(l, &e));
	enum type t = value_type(e.x);

	elimination_loop(&e, muli(e.n, 2), augmented);
	struct space s = space_of(l, e.m), out = space_of(l, e.x);
	expr i = s.at[e.batch], j = s.at[e.batch + 1], turn = e.loop.turn;
	expr scaled = divide(elimination_exchanged(&e, &s, turn, j), elimination_exchanged(&e, &s, turn, turn));
	expr other = sub(elimination_exchanged(&e, &s, i, j), mul(elimination_exchanged(&e, &s, i, turn), scaled));

	lower_next(l, &e.loop, e.m, lower_map(l, "next_m", e.type, &s, select_(eq(i, turn), scaled, other)));
	lower_loop_end(l, &e.loop);
	i = out.at[e.batch];
	j = add(out.at[e.batch + 1], e.n);
	lower_output(l, 0, lower_map(l, NULL, t, &out, narrow(elimination_element(&e, e.m, out.at, i, j), t)));
	return 0;
}

const struct op_def op_inverse = {
	.name = "Inverse",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = the inverse of each matrix",
	.inputs = { IN("x", TS_FLOAT) },
	.outputs = { OUT("y") },
	.lower = lower,
	.cases = { "x:f32[N,5,5]", "x:f64[K,K]", "x:f16[2,N,4,4]", "x:f32[N,1,1]", "x:f32[0,5,5]" },
};
