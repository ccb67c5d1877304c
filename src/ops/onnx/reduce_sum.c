/* ReduceSum and its family: y = f(x over the reduced axes). Sums are made in f32 (f16, bf16), or in the integer type.
 * Source: ONNX, operators Reduce*, opsets 1 to 28: axes as an attribute, since 13 (ReduceSum) or 18 as an input. */
#include "ops/lower/reduction.h"

#include <string.h>

/* Marks the axes that the node reduces, from the attribute or the input; an empty list means all axes, or with
 * noop_with_empty_axes none. */
static int reduced_axes(struct lower *l, bool *reduced)
{
	int rank = value_rank(lower_input(l, 0)), axis;
	struct ints axes;
	bool given;

	TRY(lower_ints_or_input(l, "axes", 1, &axes, &given));
	for (int i = 0; i < rank; i++)
		reduced[i] = axes.n == 0 && !lower_int(l, "noop_with_empty_axes");
	for (int i = 0; i < axes.n; i++) {
		TRY(lower_axis(l, axes.at[i], rank, false, &axis));
		reduced[axis] = true;
	}
	return 0;
}

static int reduction_of(struct lower *l, struct reduction *r)
{
	bool reduced[IR_MAX_RANK];

	TRY(reduced_axes(l, reduced));
	*r = reduce_space(l, lower_input(l, 0), reduced, lower_int(l, "keepdims") != 0);
	return 0;
}

/* The element in the type of the sum; roots and logarithms of integers are taken in f64. */
static expr element(struct lower *l, const struct reduction *r)
{
	return wide(load(lower_input(l, 0), r->index));
}

static expr as_float(expr x)
{
	return type_is_float(x->type) ? x : cast(x, TYPE_F64);
}

/* The output: x's own type, from values over r; `post` may be null. */
static int finish(struct lower *l, const struct reduction *r, enum ir_combine c, expr value, expr post)
{
	lower_output(l, 0, lower_reduce(l, NULL, value_type(lower_input(l, 0)), &r->s, r->rank, c, value, post));
	return 0;
}

/* y = post(c over term(x)); both functions may be null. */
static int reduce(struct lower *l, enum ir_combine c, expr (*term)(expr x), expr (*post)(expr y))
{
	struct reduction r;
	expr x;

	TRY(reduction_of(l, &r));
	x = element(l, &r);
	return finish(l, &r, c, term ? term(x) : x, post ? post(acc(l, x->type)) : NULL);
}

static expr magnitude(expr x)
{
	return type_info(x->type)->class == CLASS_UINT ? x : unary(IR_ABS, x);
}

static expr square(expr x)
{
	return mul(x, x);
}

static expr root(expr x)
{
	return unary(IR_SQRT, as_float(x));
}

static expr logarithm(expr x)
{
	return unary(IR_LOG, as_float(x));
}

static int sum_lower(struct lower *l)
{
	return reduce(l, IR_SUM, NULL, NULL);
}

static int mean_lower(struct lower *l)
{
	struct reduction r;

	TRY(reduction_of(l, &r));
	lower_output(l, 0, reduce_mean(l, NULL, value_type(lower_input(l, 0)), &r, element(l, &r)));
	return 0;
}

static int prod_lower(struct lower *l)
{
	return reduce(l, IR_PROD, NULL, NULL);
}

static int l1_lower(struct lower *l)
{
	return reduce(l, IR_SUM, magnitude, NULL);
}

static int l2_lower(struct lower *l)
{
	return reduce(l, IR_SUM, square, root);
}

static int sum_square_lower(struct lower *l)
{
	return reduce(l, IR_SUM, square, NULL);
}

static int log_sum_lower(struct lower *l)
{
	return reduce(l, IR_SUM, NULL, logarithm);
}

/* log(sum exp(x)) = m + log(sum exp(x - m)) with m the maximum, or 0 where that is infinite: nothing overflows. */
static int log_sum_exp_lower(struct lower *l)
{
	struct reduction r;
	struct value m;
	expr x, top;

	TRY(reduction_of(l, &r));
	x = as_float(element(l, &r));
	m = lower_reduce(l, "largest", x->type, &r.s, r.rank, IR_MAXIMUM, x, NULL);
	top = load(m, r.s.at);
	top = select_(unary(IR_ISINF, top), with(top, 0), top);
	return finish(l, &r, IR_SUM, unary(IR_EXP, sub(x, top)), add(unary(IR_LOG, acc(l, x->type)), top));
}

/* Small integers and bool are compared as they are, so that an empty reduction gives the bound of their own type. */
static int extreme_lower(struct lower *l, enum ir_combine c, enum ir_combine of_bool)
{
	struct reduction r;
	struct value x = lower_input(l, 0);
	expr e;

	TRY(reduction_of(l, &r));
	e = load(x, r.index);
	if (type_is_float(e->type))
		e = wide(e);
	return finish(l, &r, e->type == TYPE_BOOL ? of_bool : c, e, NULL);
}

static int max_lower(struct lower *l)
{
	return extreme_lower(l, IR_MAXIMUM, IR_ANY);
}

static int min_lower(struct lower *l)
{
	return extreme_lower(l, IR_MINIMUM, IR_ALL);
}

/* clang-format off */
#define ROW(op, versions, text, types, fn, ...)                                                                        \
	{ .name = op, .since = versions, .formula = text, .inputs = { IN("data", types), OPT("axes", TS(I64)) },       \
	  .outputs = { OUT("reduced") },                                                                               \
	  .attrs = { ATTR_INTS("axes", "the axes that are reduced, of older opsets; none: all"),                       \
		     ATTR_INT("keepdims", 1, "reduced axes stay with extent 1"),                                       \
		     ATTR_INT("noop_with_empty_axes", 0, "without axes nothing is reduced") },                         \
	  .lower = fn, .cases = { __VA_ARGS__ } }

const struct op_def ops_reduce[] = {
	ROW("ReduceSum", SINCE(1, 11, 13), "y = sum of x", TS_WIDE, sum_lower, "data:f32[N,33,7]",
	    "data:f16[N,770] axes=1 opset=12", "data:f32[N,C,49] axes=2 keepdims=0 opset=12"),
	ROW("ReduceMean", SINCE(1, 11, 13, 18), "y = sum of x / count", TS_WIDE, mean_lower,
	    "data:f32[N,768] axes=-1 opset=17", "data:f16[N,C,7,7] axes=2,3 opset=17"),
	ROW("ReduceMax", SINCE(1, 11, 12, 13, 18, 20), "y = the largest x", TS_WIDE | TS(U8) | TS(I8) | TS(BOOL),
	    max_lower, "data:f32[N,33] axes=1 opset=17", "data:i8[N,33] axes=0 opset=17"),
	ROW("ReduceMin", SINCE(1, 11, 12, 13, 18, 20), "y = the smallest x", TS_WIDE | TS(U8) | TS(I8) | TS(BOOL),
	    min_lower, "data:f32[N,33] axes=1 opset=17"),
	ROW("ReduceProd", SINCE(1, 11, 13, 18), "y = product of x", TS_WIDE, prod_lower,
	    "data:f32[N,7] axes=1 opset=17"),
	ROW("ReduceL1", SINCE(1, 11, 13, 18), "y = sum of |x|", TS_WIDE, l1_lower, "data:f32[N,33] axes=1 opset=17"),
	ROW("ReduceL2", SINCE(1, 11, 13, 18), "y = sqrt(sum of x^2)", TS_WIDE, l2_lower,
	    "data:f32[N,33] axes=1 opset=17"),
	ROW("ReduceSumSquare", SINCE(1, 11, 13, 18), "y = sum of x^2", TS_WIDE, sum_square_lower,
	    "data:f32[N,33] axes=1 opset=17"),
	ROW("ReduceLogSum", SINCE(1, 11, 13, 18, 28), "y = log(sum of x)", TS_WIDE, log_sum_lower,
	    "data:f32[N,33] axes=1 opset=17"),
	ROW("ReduceLogSumExp", SINCE(1, 11, 13, 18, 28), "y = log(sum of exp(x))", TS_WIDE, log_sum_exp_lower,
	    "data:f32[N,33] axes=1 opset=17"),
	{ .name = NULL },
};
/* clang-format on */
