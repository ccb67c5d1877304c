/* SwiGLU: y = a / (1 + exp(-alpha * a)) * b. Source: ONNX, operator SwiGLU, opset 28. */
#include "ops/lower/elementwise.h"
#include "ops/lower/formulas.h"

static expr swiglu_map(struct lower *l, const expr *x)
{
	return mul(silu(x[0], mul(with(x[0], lower_float(l, "alpha")), x[0])), x[1]);
}

const struct op_def op_swiglu = {
	.name = "SwiGLU",
	.since = { 28 },
	.formula = "y = a / (1 + exp(-alpha * a)) * b",
	.inputs = { IN("a", TS_FLOAT), IN("b", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_FLOAT("alpha", 1, "factor of the gate in the sigmoid") },
	.lower = elementwise_lower,
	.map = swiglu_map,
	.cases = { "a:f32[N,33] b:f32[N,33]", "a:f16[B,S,1024] b:f16[B,S,1024]" },
};
