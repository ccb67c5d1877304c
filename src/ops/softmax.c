/* Softmax: y = exp(x - m) / sum exp(x - m) with m the largest x; LogSoftmax: y = x - m - log(sum exp(x - m));
 * Hardmax: y = 1 at the first largest x, 0 elsewhere. All over one axis, or before opset 13 over all axes from `axis`
 * on. Source: ONNX, operators Softmax, LogSoftmax, Hardmax, opsets 1 to 13. Computed in f32, of f64 in f64. */
#include "ops/reduction.h"

struct softmax {
	struct value x;
	struct reduction r;
	struct space s; /* x's own */
	bool reduced[IR_MAX_RANK];
};

static int begin(struct lower *l, struct softmax *m)
{
	int64_t axis = lower_has(l, "axis") ? lower_int(l, "axis") : l->opset < 13 ? 1 : -1;
	int rank, first;

	m->x = lower_input(l, 0);
	rank = value_rank(m->x);
	TRY(lower_axis(l, axis, rank, l->opset < 13, &first));
	for (int i = 0; i < rank; i++)
		m->reduced[i] = l->opset < 13 ? i >= first : i == first;
	m->r = reduce_space(l, m->x, m->reduced, true);
	m->s = space_of(l, m->x);
	return 0;
}

static int softmax(struct lower *l, bool logarithm)
{
	struct softmax m = { 0 };
	struct value top, sum;
	expr x, y;

	TRY(begin(l, &m));
	x = wide(load(m.x, m.r.index));
	top = lower_reduce(l, "largest", x->type, &m.r.s, m.r.rank, IR_MAXIMUM, x, NULL);
	sum = lower_reduce(l, "sum", x->type, &m.r.s, m.r.rank, IR_SUM, unary(IR_EXP, sub(x, load(top, m.r.s.at))),
	                   NULL);
	y = sub(wide(at(m.x, &m.s)), at(top, &m.s));
	y = logarithm ? sub(y, unary(IR_LOG, at(sum, &m.s))) : divide(unary(IR_EXP, y), at(sum, &m.s));
	lower_output(l, 0, lower_map(l, NULL, value_type(m.x), &m.s, y));
	return 0;
}

static int softmax_lower(struct lower *l)
{
	return softmax(l, false);
}

static int log_softmax_lower(struct lower *l)
{
	return softmax(l, true);
}

static int hardmax_lower(struct lower *l)
{
	struct softmax m = { 0 };
	struct value where;
	expr position, t;

	TRY(begin(l, &m));
	where = lower_reduce(l, "where", TYPE_I64, &m.r.s, m.r.rank, IR_ARGMAX, wide(load(m.x, m.r.index)), NULL);
	position = idx(l, 0);
	for (int i = 0; i < value_rank(m.x); i++)
		if (m.reduced[i])
			position = add(mul(position, m.s.dim[i]), m.s.at[i]);
	t = eq(cast(at(where, &m.s), TYPE_INDEX), position);
	lower_output(l, 0, lower_map(l, NULL, value_type(m.x), &m.s, cast(t, value_type(m.x))));
	return 0;
}

/* clang-format off */
#define ROW(op, text, fn)                                                                                              \
	{ .name = op, .since = { 1, 11, 13 }, .formula = text, .inputs = { IN("input", TS_FLOAT) },                    \
	  .outputs = { OUT("output") },                                                                                \
	  .attrs = { ATTR_INT("axis", -1, "the axis; before opset 13 the first of the axes, by default 1") },          \
	  .lower = fn, .cases = { "input:f32[N,1000]", "input:f16[B,12,S,S]", "input:f32[N,5,7] axis=1 opset=11" } }

const struct op_def ops_softmax[] = {
	ROW("Softmax", "y = exp(x - max) / sum of exp(x - max)", softmax_lower),
	ROW("LogSoftmax", "y = x - max - log(sum of exp(x - max))", log_softmax_lower),
	ROW("Hardmax", "y = 1 at the first largest x, else 0", hardmax_lower),
	{ .name = NULL },
};
/* clang-format on */
