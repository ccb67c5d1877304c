/* DynamicQuantizeLinear: x in u8, with scale and zero point from x's own range; see quantize_range().
 *   y = saturate(round(x / y_scale) + y_zero_point)
 * Source: ONNX, operator DynamicQuantizeLinear, opset 11; the scale of an all-zero tensor as in ONNX Runtime. Every
 * step is one f32 operation, so that the result is bit-equal to theirs. */
#include "ops/lower/quantize.h"
#include "ops/lower/reduction.h"

static int lower(struct lower *l)
{
	static const char *const names[] = { "high", "low", "y_scale", "y_zero_point" };
	struct value x = lower_input(l, 0);
	bool reduced[IR_MAX_RANK];
	struct space s = space_of(l, x);
	struct reduction r;
	struct quantize_range u8;
	expr y;

	reduce_from(reduced, value_rank(x), 0);
	r = reduce_space(l, x, reduced, false);
	u8 = quantize_range(l, names, &r.s, 0, load(x, r.index));
	y = quantize_element(divide(at(x, &s), at(u8.scale, &s)), at(u8.zero, &s), TYPE_U8);
	lower_output(l, 0, lower_map(l, "y", TYPE_U8, &s, y));
	lower_output(l, 1, u8.scale);
	lower_output(l, 2, u8.zero);
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
