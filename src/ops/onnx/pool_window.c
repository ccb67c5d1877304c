/* MaxPool, AveragePool, LpPool: y[n, c, o...] = max, mean or p-norm of x over the window at o. MaxPool's second output
 * is the position of the maximum, flattened over all of x. A mean counts the places in the input, or with
 * count_include_pad those in the padding too, but never the places that windows of ceil_mode have beyond it.
 * Source: ONNX, operators MaxPool (opsets 1 to 22), AveragePool (1 to 22), LpPool (1 to 22). */
#include "ops/lower/pooling.h"

static int average_lower(struct lower *l)
{
	struct pooling p;
	expr e;

	TRY(pooling_begin(l, &p));
	e = wide(load(p.in, p.x));
	e = select_(p.inside, e, with(e, 0));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_SUM, e,
	                          divide(acc(l, e->type), cast(pooling_count(l, &p), e->type))));
	return 0;
}

/* (sum of |x|^p)^(1/p): the term of the sum, and the root. */
static expr norm_element(expr x, double p)
{
	return p == 2 ? mul(x, x) : p == 1 ? unary(IR_ABS, x) : pow_nonnegative(unary(IR_ABS, x), p);
}

static expr norm_root(expr sum, double p)
{
	return p == 2 ? unary(IR_SQRT, sum) : p == 1 ? sum : pow_nonnegative(sum, 1 / p);
}

static int lp_lower(struct lower *l)
{
	double power = lower_float(l, "p");
	struct pooling p;
	expr e;

	TRY(pooling_begin(l, &p));
	e = wide(load(p.in, p.x));
	e = select_(p.inside, norm_element(e, power), with(e, 0));
	lower_output(
	        l, 0,
	        lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_SUM, e, norm_root(acc(l, e->type), power)));
	return 0;
}

/* clang-format off */
const struct op_def ops_pool_window[] = {
	{ .name = "MaxPool", .since = { 1, 8, 10, 11, 12, 22 }, .formula = "y = the largest x in the window",
	  .inputs = { IN("x", TS_FLOAT | TS(I8) | TS(U8)) }, .outputs = { OUT("y"), OPTOUT("indices") },
	  .attrs = { WINDOW_ATTRS, POOLING_CEIL,
		     ATTR_INT("storage_order", 0, "1: indices count spatial axes column-major") },
	  .lower = max_pool_lower,
	  .cases = { "x:f32[N,16,H,W] kernel_shape=3,3 strides=2,2 pads=1,1,1,1",
		     "x:u8[N,8,14,14] kernel_shape=2,2 strides=2,2",
		     "x:f16[N,4,L] kernel_shape=3 ceil_mode=1 strides=2" } },
	{ .name = "AveragePool", .since = { 1, 7, 10, 11, 19, 22 }, .formula = "y = the mean of x in the window",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, POOLING_CEIL,
		     ATTR_INT("count_include_pad", 0, "the mean counts the padding, as zeros") },
	  .lower = average_lower,
	  .cases = { "x:f32[N,16,H,W] kernel_shape=3,3 strides=2,2 pads=1,1,1,1",
		     "x:f16[N,8,14,14] kernel_shape=2,2 auto_pad=SAME_UPPER count_include_pad=1" } },
	{ .name = "LpPool", .since = { 1, 2, 11, 18, 22 }, .formula = "y = (sum of |x|^p in the window)^(1/p)",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, POOLING_CEIL, ATTR_FLOAT("p", 2, "of the norm") }, .lower = lp_lower,
	  .cases = { "x:f32[N,8,H,W] kernel_shape=3,3 p=2" } },
	{ .name = NULL },
};
/* clang-format on */
