/* Gelu and its relatives of ONNX Runtime, some of which add a bias first.
 * Source: ONNX Runtime, com.microsoft operators Gelu, BiasGelu, FastGelu, QuickGelu. */
#include "ops/lower/elementwise.h"
#include "ops/lower/formulas.h"

static expr gelu_map(struct lower *l, const expr *x)
{
	return gelu(l->inputs > 1 && x[1] ? add(x[0], x[1]) : x[0]);
}

static expr fast_map(struct lower *l, const expr *in)
{
	return gelu_tanh(l->inputs > 1 && in[1] ? add(in[0], in[1]) : in[0]);
}

static expr quick_map(struct lower *l, const expr *x)
{
	expr gate = mul(with(x[0], lower_float(l, "alpha")), x[0]);

	return silu(x[0], gate);
}

/* clang-format off */
#define ROW(op, text, fn, cases_, ...)                                                                                 \
	{ .name = op, .domain = "com.microsoft", .since = { 1 }, .formula = text, .inputs = { __VA_ARGS__ },           \
	  .outputs = { OUT("y") }, .attrs = { ATTR_FLOAT("alpha", 1.702, "QuickGelu: factor in the sigmoid") },        \
	  .lower = elementwise_lower, .map = fn, .cases = { cases_ } }

const struct op_def ops_gelu[] = {
	ROW("Gelu", "y = x / 2 * (1 + erf(x / sqrt(2)))", gelu_map, "x:f32[N,33]", IN("x", TS_FLOAT)),
	ROW("BiasGelu", "y = gelu(a + b)", gelu_map, "a:f16[N,768] b:f16[768]", IN("a", TS_FLOAT), IN("b", TS_FLOAT)),
	ROW("FastGelu", "y = x' / 2 * (1 + tanh(sqrt(2/pi) * (x' + 0.044715 * x'^3))), x' = x + bias", fast_map,
	    "x:f32[N,768] bias:f32[768]", IN("x", TS_FLOAT), OPT("bias", TS_FLOAT)),
	ROW("QuickGelu", "y = x / (1 + exp(-alpha * x))", quick_map, "x:f16[N,33]", IN("x", TS_FLOAT)),
	{ .name = NULL },
};
/* clang-format on */
