/* CumSum and CumProd: y = the running sum or product of x along `axis`, an input.
 * Source: ONNX, operators CumSum, opsets 11 and 14, and CumProd, opset 26. */
#include "ops/lower/lower.h"

static int cumulative(struct lower *l, enum ir_combine c)
{
	struct value x = lower_input(l, 0);
	enum type t = value_type(x);
	struct space s = space_of(l, x);
	struct ints axes;
	int axis;

	TRY(lower_known_ints(l, 1, &axes));
	if (axes.n != 1)
		return lower_fail(l, ERR_MODEL, "axis has %d elements; it must have one.", axes.n);
	TRY(lower_axis(l, axes.at[0], s.rank, false, &axis));
	lower_output(l, 0,
	             lower_scan(l, NULL, t, &s, axis, c, lower_int(l, "exclusive") != 0, lower_int(l, "reverse") != 0,
	                        cast(load(x, s.at), accumulator_type(t)), NULL));
	return 0;
}

static int cumsum_lower(struct lower *l)
{
	return cumulative(l, IR_SUM);
}

static int cumprod_lower(struct lower *l)
{
	return cumulative(l, IR_PROD);
}

/* clang-format off */
#define ROW(op, versions, text, fn, ...)                                                                               \
	{ .name = op, .since = versions, .formula = text,                                                              \
	  .inputs = { IN("x", TS_WIDE), IN("axis", TS_INDICES) }, .outputs = { OUT("y") },                      \
	  .attrs = { ATTR_INT("exclusive", 0, "an element is not part of its own result"),                             \
		     ATTR_INT("reverse", 0, "from the end of the axis") },                                             \
	  .lower = fn, .cases = { __VA_ARGS__ } }

const struct op_def ops_cumulative[] = {
	ROW("CumSum", SINCE(11, 14), "y[i] = x[0] + .. + x[i] along the axis", cumsum_lower,
	    "x:f32[N,K] axis:i64[]={1}", "x:f16[N,K,40] axis:i64[]={1} exclusive=1 reverse=1"),
	ROW("CumProd", SINCE(26), "y[i] = x[0] * .. * x[i] along the axis", cumprod_lower,
	    "x:f32[N,33] axis:i64[]={1}"),
	{ .name = NULL },
};
/* clang-format on */
