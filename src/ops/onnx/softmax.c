/* Softmax: y = exp(x - m) / sum exp(x - m) with m the largest x; LogSoftmax: y = x - m - log(sum exp(x - m)); Hardmax:
 * y = 1 at the first largest x, 0 elsewhere. All over one axis, or before opset 13 over all axes from `axis` on.
 * Source: ONNX, operators Softmax, LogSoftmax, Hardmax, opsets 1 to 13. Computed in f32, or f64 for f64. */
#include "ops/lower/reduction.h"

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
	sum = lower_reduce(l, "exp_sum", x->type, &m.r.s, m.r.rank, IR_SUM, unary(IR_EXP, sub(x, load(top, m.r.s.at))),
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

/* The flattened position of an element in the reduced space. */
static expr place_of(struct lower *l, const struct softmax *m, const expr *at)
{
	expr place = idx(l, 0);
	for (int i = 0; i < value_rank(m->x); i++)
		if (m->reduced[i])
			place = add(mul(place, m->s.dim[i]), at[i]);
	return place;
}

/* The first maximum is the least position among the elements that equal the maximum, so that each of the three stages
 * reads a row once. With a NaN in the row it is the first NaN. */
static int hardmax_lower(struct lower *l)
{
	struct softmax m = { 0 };
	struct value top, first;
	enum type places = TYPE_I64;
	expr x, is_top, y;
	int64_t n;

	TRY(begin(l, &m));
	if (ir_const_int(m.r.count, &n) && n <= INT32_MAX)
		places = TYPE_I32;
	x = wide(load(m.x, m.r.index));
	top = lower_reduce(l, "largest", x->type, &m.r.s, m.r.rank, IR_MAXIMUM, x, NULL);
	is_top = or_(eq(x, load(top, m.r.s.at)), unary(IR_ISNAN, x));
	first = lower_reduce(l, "first", places, &m.r.s, m.r.rank, IR_MINIMUM,
	                     cast(select_(is_top, place_of(l, &m, m.r.index), m.r.count), places), NULL);
	y = eq(cast(at(first, &m.s), TYPE_INDEX), place_of(l, &m, m.s.at));
	lower_output(l, 0, lower_map(l, NULL, value_type(m.x), &m.s, cast(y, value_type(m.x))));
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
