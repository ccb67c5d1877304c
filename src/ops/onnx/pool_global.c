/* GlobalAveragePool, GlobalMaxPool, GlobalLpPool: y[n, c, 1...] = mean, max or p-norm of x over all spatial axes.
 * Source: ONNX, the operators of these names, opsets 1 to 22. */
#include "ops/lower/reduction.h"

static int begin(struct lower *l, struct reduction *r, expr *x)
{
	struct value in = lower_input(l, 0);
	bool reduced[IR_MAX_RANK];

	if (value_rank(in) < 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs batch and channels.", value_rank(in));
	reduce_from(reduced, value_rank(in), 2);
	*r = reduce_space(l, in, reduced, true);
	*x = wide(load(in, r->index));
	return 0;
}

static int average_lower(struct lower *l)
{
	struct reduction r;
	expr x;

	TRY(begin(l, &r, &x));
	lower_output(l, 0, reduce_mean(l, NULL, value_type(lower_input(l, 0)), &r, x));
	return 0;
}

static int max_lower(struct lower *l)
{
	struct reduction r;
	expr x;

	TRY(begin(l, &r, &x));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(lower_input(l, 0)), &r.s, r.rank, IR_MAXIMUM, x, NULL));
	return 0;
}

static int lp_lower(struct lower *l)
{
	double p = lower_float(l, "p");
	struct reduction r;
	expr x, post;

	TRY(begin(l, &r, &x));
	post = acc(l, x->type);
	post = p == 2 ? unary(IR_SQRT, post) : p == 1 ? post : pow_nonnegative(post, 1 / p);
	x = p == 2 ? mul(x, x) : p == 1 ? unary(IR_ABS, x) : pow_nonnegative(unary(IR_ABS, x), p);
	lower_output(l, 0, lower_reduce(l, NULL, value_type(lower_input(l, 0)), &r.s, r.rank, IR_SUM, x, post));
	return 0;
}

/* clang-format off */
#define ROW(op, versions, text, fn, ...)                                                                               \
	{ .name = op, .since = versions, .formula = text, .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },    \
	  .attrs = { __VA_ARGS__ }, .lower = fn, .cases = { "x:f32[N,32,H,W]", "x:f16[N,C,7,7]" } }

const struct op_def ops_pool_global[] = {
	ROW("GlobalAveragePool", SINCE(1, 22), "y = the mean of x over the spatial axes", average_lower, { 0 }),
	ROW("GlobalMaxPool", SINCE(1, 22), "y = the largest x over the spatial axes", max_lower, { 0 }),
	ROW("GlobalLpPool", SINCE(1, 2, 22), "y = (sum of |x|^p over the spatial axes)^(1/p)", lp_lower,
	    ATTR_FLOAT("p", 2, "of the norm")),
	{ .name = NULL },
};
/* clang-format on */
