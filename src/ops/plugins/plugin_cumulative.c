/* Running extremes, of mmcv:
 *   cummax, cummin   y[i] = the extreme of x[0..i] along an axis, and the last position up to i that has it
 *   MMCVCornerPool   the running maximum along one spatial axis: to the top, the bottom, the left or the right
 * The position is a running maximum too: of the places i where x equals its running extreme.
 * Source: mmcv's ONNX Runtime operators of these names; PyTorch, torch.cummax. */
#include "ops/lower/lower.h"

static int cumulative(struct lower *l, enum ir_combine c)
{
	struct value x = lower_input(l, 0), y;
	struct space s = space_of(l, x);
	int axis;
	expr e, i;

	TRY(lower_axis(l, lower_int(l, "dim"), s.rank, false, &axis));
	e = wide(load(x, s.at));
	y = lower_scan(l, NULL, value_type(x), &s, axis, c, false, false, e, NULL);
	lower_output(l, 0, y);
	if (!lower_wants(l, 1))
		return 0;
	/* a NaN is its own extreme, too */
	i = wide(load(y, s.at));
	i = type_is_float(i->type) ? or_(eq(e, i), unary(IR_ISNAN, e)) : eq(e, i);
	i = select_(i, cast(s.at[axis], TYPE_I64), num(l, TYPE_I64, 0));
	lower_output(l, 1,
	             lower_scan(l, l->op->outputs[1].name, TYPE_I64, &s, axis, IR_MAXIMUM, false, false, i, NULL));
	return 0;
}

static int cummax_lower(struct lower *l)
{
	return cumulative(l, IR_MAXIMUM);
}

static int cummin_lower(struct lower *l)
{
	return cumulative(l, IR_MINIMUM);
}

static int corner_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	int64_t mode = lower_int(l, "mode");

	if (s.rank != 4 || mode < 0 || mode > 3)
		return lower_fail(l, ERR_MODEL,
		                  "the input has %d axes and mode is %lld; it must have four, and mode be 0 to 3.",
		                  s.rank, (long long)mode);
	lower_output(l, 0,
	             lower_scan(l, NULL, value_type(x), &s, mode < 2 ? 2 : 3, IR_MAXIMUM, false, mode % 2 == 0,
	                        wide(load(x, s.at)), NULL));
	return 0;
}

/* clang-format off */
#define PLUGIN .domain = OP_ANY_DOMAIN, .since = { 1 }
#define EXTREME                                                                                                        \
	PLUGIN, .inputs = { IN("x", TS_FLOAT | TS(I32) | TS(I64)) }, .outputs = { OUT("y"), OPTOUT("indices") },       \
	.attrs = { ATTR_INT("dim", 0, "the axis") }

const struct op_def ops_plugin_cumulative[] = {
	{ .name = "cummax", EXTREME, .formula = "y[i] = the largest of x[0..i] along the axis", .lower = cummax_lower,
	  .cases = { "x:f32[N,33] dim=1 outputs=2", "x:f16[N,K,5] dim=-2 outputs=2" } },
	{ .name = "cummin", EXTREME, .formula = "y[i] = the least of x[0..i] along the axis", .lower = cummin_lower,
	  .cases = { "x:f32[N,33] dim=0 outputs=2" } },
	{ .name = "MMCVCornerPool", PLUGIN, .formula = "y = the running maximum of x along a spatial axis",
	  .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INT("mode", 0, "0: from the bottom to the top, 1: down, 2: to the left, 3: to the right") },
	  .lower = corner_lower,
	  .cases = { "x:f32[N,2,H,W]", "x:f16[N,2,H,W] mode=3" } },
	{ .name = NULL },
};
/* clang-format on */
