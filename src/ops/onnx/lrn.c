/* LRN: y = x / (bias + alpha / size * sum of x^2 over `size` channels around)^beta, the sum from channel
 * c - floor((size - 1) / 2) to c + ceil((size - 1) / 2), as far as they exist.
 * Source: ONNX, operator LRN, opsets 1 and 13. */
#include "ops/lower/lower.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), sum;
	int rank = value_rank(x);
	int64_t size = lower_int(l, "size");
	double bias = lower_float(l, "bias"), alpha = lower_float(l, "alpha"), beta = lower_float(l, "beta");
	struct space s = space_of(l, x), around = s;
	expr index[IR_MAX_RANK], channel, e, y;

	if (rank < 2 || rank + 1 > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs two or more.", rank);
	if (size < 1)
		return lower_fail(l, ERR_MODEL, "size is %lld; it must be positive.", (long long)size);
	channel = add(addi(s.at[1], -((size - 1) / 2)), space_push(l, &around, idx(l, size)));
	for (int i = 0; i < rank; i++)
		index[i] = i == 1 ? channel : s.at[i];
	e = wide(load(x, index));
	e = select_(and_(ge(channel, with(channel, 0)), lt(channel, value_dim(x, 1))), mul(e, e), with(e, 0));
	sum = lower_reduce(l, "square_sum", e->type, &around, rank, IR_SUM, e, NULL);

	y = at(sum, &s);
	y = add(with(y, bias), mul(with(y, (float)alpha / (double)size), y));
	y = divide(wide(at(x, &s)), bias >= 0 && alpha >= 0 ? pow_nonnegative(y, beta) : pow_(y, with(y, beta)));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}

const struct op_def op_lrn = {
	.name = "LRN",
	.since = { 1, 13 },
	.formula = "y = x / (bias + alpha / size * sum of x^2 over channels around)^beta",
	.inputs = { IN("x", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT_REQUIRED("size", "channels that are summed"), ATTR_FLOAT("alpha", 1e-4, "factor"),
	           ATTR_FLOAT("beta", 0.75, "exponent"), ATTR_FLOAT("bias", 1, "added to the sum") },
	.lower = lower,
	.cases = { "x:f32[N,32,H,W] size=5", "x:f16[N,7,14,14] size=4 alpha=0.001" },
};
