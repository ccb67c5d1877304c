/* DynamicQuantizeLinear: x to u8 with a scale and zero point taken from its own range, which always holds 0:
 *   high = max(0, max x), low = min(0, min x), y_scale = (high - low) / 255, 1 where that is 0
 *   y_zero_point = round(saturate(0 - low / y_scale)),  y = saturate(round(x / y_scale) + y_zero_point)
 * Source: ONNX, operator DynamicQuantizeLinear, opset 11; the scale of an all-zero tensor as ONNX Runtime has it. Every
 * step is one f32 operation, so that the result is bit-equal to theirs. */
#include "ops/lower/quantize.h"
#include "ops/lower/reduction.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), high, low, scale, zero;
	bool reduced[IR_MAX_RANK];
	struct space s = space_of(l, x), none = { 0 };
	struct reduction r;
	expr range, y, e = num(l, TYPE_F32, 0);

	reduce_from(reduced, value_rank(x), 0);
	r = reduce_space(l, x, reduced, false);
	high = lower_reduce(l, "high", TYPE_F32, &r.s, 0, IR_MAXIMUM, load(x, r.index), max_(acc(l, TYPE_F32), e));
	low = lower_reduce(l, "low", TYPE_F32, &r.s, 0, IR_MINIMUM, load(x, r.index), min_(acc(l, TYPE_F32), e));

	range = sub(at(high, &none), at(low, &none));
	scale = lower_map(l, "y_scale", TYPE_F32, &none,
	                  select_(eq(range, e), with(e, 1), divide(range, with(e, 255))));
	y = clamp(sub(e, divide(at(low, &none), at(scale, &none))), e, with(e, 255));
	zero = lower_map(l, "y_zero_point", TYPE_U8, &none, cast(unary(IR_ROUND_EVEN, y), TYPE_U8));

	y = quantize_element(divide(at(x, &s), at(scale, &s)), at(zero, &s), TYPE_U8);
	lower_output(l, 0, lower_map(l, "y", TYPE_U8, &s, y));
	lower_output(l, 1, scale);
	lower_output(l, 2, zero);
	return 0;
}

const struct op_def op_dynamic_quantize_linear = {
	.name = "DynamicQuantizeLinear",
	.since = { 11 },
	.formula = "y = saturate(round(x / y_scale) + y_zero_point), y_scale = (max(0, max x) - min(0, min x)) / 255",
	.inputs = { IN("x", TS(F32)) },
	.outputs = { OUT("y"), OUT("y_scale"), OUT("y_zero_point") },
	.lower = lower,
	.cases = { "x:f32[N,768]", "x:f32[1,3,H,W]" },
};
