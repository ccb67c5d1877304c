/* Identity: y = x.
 * Source: ONNX, operator Identity, opset 1 to 25. */
#include "ops/lower/lower.h"

static int lower(struct lower *l)
{
	lower_output(l, 0, lower_input(l, 0));
	return 0;
}

const struct op_def op_identity = {
	.name = "Identity",
	.since = { 1, 13, 14, 16, 19, 21, 23, 24, 25 },
	.formula = "y = x",
	.inputs = { IN("input", TS_ALL) },
	.outputs = { OUT("output") },
	.lower = lower,
	.cases = { "input:f32[N,3,H,W]" },
};
