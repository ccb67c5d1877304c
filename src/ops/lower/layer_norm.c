/* Layer normalisation with one inverse deviation a row. */
#include "ops/lower/layer_norm.h"

struct layer_norm layer_norm(struct lower *l, struct value x, int axis, bool centred, struct value gamma,
                             struct value beta, enum type t)
{
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct layer_norm n = { .mean = { .given = false } };
	struct reduction r;
	expr e, d, y;

	reduce_from(reduced, s.rank, axis);
	r = reduce_space(l, x, reduced, true);
	e = wide(load(x, r.index));
	if (centred) {
		n.mean = reduce_mean(l, "mean", e->type, &r, e);
		e = sub(e, load(n.mean, r.s.at));
	}
	d = divide(acc(l, e->type), cast(r.count, e->type));
	d = unary(IR_SQRT, add(d, with(d, lower_float(l, "epsilon"))));
	n.inverse = lower_reduce(l, "inv_std_var", e->type, &r.s, r.rank, IR_SUM, mul(e, e), divide(with(d, 1), d));

	y = wide(at(x, &s));
	if (centred)
		y = sub(y, at(n.mean, &s));
	y = mul(y, at(n.inverse, &s));
	if (gamma.given)
		y = mul(y, cast(at(gamma, &s), y->type));
	if (beta.given)
		y = add(y, cast(at(beta, &s), y->type));
	n.y = lower_map(l, NULL, t, &s, y);
	return n;
}
