/* Activation functions: y = f(x), elementwise. The formulas do not overflow where the result is finite. Source: ONNX,
 * the operators of these names. */
#include "ops/lower/elementwise.h"
#include "ops/lower/formulas.h"

#include <string.h>

static expr zero_of(expr x)
{
	return with(x, 0);
}

static expr attr(struct lower *l, const char *name, expr x)
{
	return with(x, lower_float(l, name));
}

static expr sigmoid_map(struct lower *l, const expr *x)
{
	(void)l;
	return sigmoid(x[0]);
}

static expr softplus_map(struct lower *l, const expr *x)
{
	(void)l;
	return softplus(x[0]);
}

static expr mish_map(struct lower *l, const expr *x)
{
	(void)l;
	return mul(x[0], unary(IR_TANH, softplus(x[0])));
}

static expr swish_map(struct lower *l, const expr *x)
{
	return mul(x[0], sigmoid(mul(attr(l, "alpha", x[0]), x[0])));
}

static expr softsign_map(struct lower *l, const expr *x)
{
	(void)l;
	return softsign(x[0]);
}

static expr hard_sigmoid_map(struct lower *l, const expr *x)
{
	return hard_sigmoid(x[0], attr(l, "alpha", x[0]), attr(l, "beta", x[0]));
}

static expr hard_swish_map(struct lower *l, const expr *x)
{
	(void)l;
	return mul(x[0], hard_sigmoid(x[0], with(x[0], 1.0 / 6), with(x[0], 0.5)));
}

static expr relu_map(struct lower *l, const expr *x)
{
	(void)l;
	return max_(x[0], zero_of(x[0]));
}

static expr leaky_relu_map(struct lower *l, const expr *x)
{
	return leaky_relu(x[0], attr(l, "alpha", x[0]));
}

static expr thresholded_relu_map(struct lower *l, const expr *x)
{
	return select_(gt(x[0], attr(l, "alpha", x[0])), x[0], zero_of(x[0]));
}

static expr elu_map(struct lower *l, const expr *x)
{
	return elu(x[0], attr(l, "alpha", x[0]));
}

/* The constants are of opset 6; opset 1 had them rounded to four digits. */
static expr selu_map(struct lower *l, const expr *x)
{
	bool old = l->opset < 6;
	expr alpha = old && !lower_has(l, "alpha") ? with(x[0], 1.6732f) : attr(l, "alpha", x[0]);
	expr gamma = old && !lower_has(l, "gamma") ? with(x[0], 1.0507f) : attr(l, "gamma", x[0]);

	return mul(gamma, elu(x[0], alpha));
}

static expr celu_map(struct lower *l, const expr *x)
{
	expr zero = zero_of(x[0]), alpha = attr(l, "alpha", x[0]);

	return add(max_(x[0], zero), min_(zero, mul(alpha, unary(IR_EXPM1, divide(x[0], alpha)))));
}

static expr gelu_map(struct lower *l, const expr *x)
{
	return strcmp(lower_word(l, "approximate"), "tanh") ? gelu(x[0]) : gelu_tanh(x[0]);
}

/* Integers are compared and shifted as f64, and truncated. */
static expr shrink_map(struct lower *l, const expr *x)
{
	expr v = type_is_float(x[0]->type) ? x[0] : cast(x[0], TYPE_F64), bias = attr(l, "bias", v);
	expr lambd = attr(l, "lambd", v);

	return cast(select_(lt(v, with(v, -lower_float(l, "lambd"))), add(v, bias),
	                    select_(gt(v, lambd), sub(v, bias), zero_of(v))),
	            x[0]->type);
}

static expr prelu_map(struct lower *l, const expr *x)
{
	(void)l;
	return leaky_relu(x[0], x[1]);
}

/* Before opset 7 a slope of one axis belongs to the channels, axis 1. */
static int prelu_lower(struct lower *l)
{
	if (l->opset < 7 && value_rank(l->input[1]) == 1 && value_rank(l->input[0]) > 1 &&
	    !ir_is_int(value_dim(l->input[1], 0), 1))
		return elementwise_lower_axis(l, 1);
	return elementwise_lower(l);
}

/* y = min(max(x, low), high). Before opset 11 the bounds are attributes, then optional inputs; x's NaN stays. */
static expr clip_map(struct lower *l, const expr *x)
{
	expr y = x[0], low = l->inputs > 1 ? x[1] : NULL, high = l->inputs > 2 ? x[2] : NULL;

	if (lower_has(l, "min"))
		low = attr(l, "min", y);
	if (lower_has(l, "max"))
		high = attr(l, "max", y);
	if (low)
		y = max_(y, low);
	return high ? min_(y, high) : y;
}

static int clip_lower(struct lower *l)
{
	for (int i = 1; i < l->inputs; i++)
		if (l->input[i].given && value_rank(l->input[i]) > 1)
			return lower_fail(l, ERR_MODEL, "input \"%s\" must be a scalar.", i == 1 ? "min" : "max");
	return elementwise_lower(l);
}

/* clang-format off */
#define ROW(op, versions, text, types, fn, ...)                                                                        \
	{ .name = op, .since = versions, .formula = text, .inputs = { IN("x", types) }, .outputs = { OUT("y") },       \
	  .attrs = { ATTR_CONSUMED, __VA_ARGS__ }, .lower = elementwise_lower, .map = fn,                              \
	  .cases = { "x:f32[N,33]", "x:f16[4,N]" } }
#define ALPHA(x) ATTR_FLOAT("alpha", x, "factor")

const struct op_def ops_activation[] = {
	ROW("Sigmoid", SINCE(1, 6, 13), "y = 1 / (1 + exp(-x))", TS_FLOAT, sigmoid_map, { 0 }),
	ROW("HardSigmoid", SINCE(1, 6, 22), "y = max(0, min(1, alpha * x + beta))", TS_FLOAT, hard_sigmoid_map,
	    ALPHA(0.2),
	    ATTR_FLOAT("beta", 0.5, "offset")),
	ROW("HardSwish", SINCE(14, 22), "y = x * max(0, min(1, x / 6 + 0.5))", TS_FLOAT, hard_swish_map, { 0 }),
	ROW("Relu", SINCE(1, 6, 13, 14), "y = max(x, 0)", TS_FLOAT | TS_SINT, relu_map, { 0 }),
	ROW("LeakyRelu", SINCE(1, 6, 16), "y = x < 0 ? alpha * x : x", TS_FLOAT, leaky_relu_map, ALPHA(0.01)),
	ROW("ThresholdedRelu", SINCE(10, 22), "y = x > alpha ? x : 0", TS_FLOAT, thresholded_relu_map, ALPHA(1)),
	ROW("Elu", SINCE(1, 6, 22), "y = x > 0 ? x : alpha * (exp(x) - 1)", TS_FLOAT, elu_map, ALPHA(1)),
	ROW("Selu", SINCE(1, 6, 22), "y = gamma * (x > 0 ? x : alpha * (exp(x) - 1))", TS_FLOAT, selu_map,
	    ALPHA(1.67326319217681884765625), ATTR_FLOAT("gamma", 1.05070102214813232421875, "scale")),
	ROW("Celu", SINCE(12, 28), "y = max(0, x) + min(0, alpha * (exp(x / alpha) - 1))", TS_FLOAT, celu_map,
	    ALPHA(1)),
	ROW("Gelu", SINCE(20), "y = x / 2 * (1 + erf(x / sqrt(2)))", TS_FLOAT, gelu_map,
	    ATTR_WORD("approximate", "none|tanh", "tanh: erf by tanh(sqrt(2/pi) * (x + 0.044715 * x^3))")),
	ROW("Softplus", SINCE(1, 22), "y = log(1 + exp(x))", TS_FLOAT, softplus_map, { 0 }),
	ROW("Softsign", SINCE(1, 22), "y = x / (1 + |x|)", TS_FLOAT, softsign_map, { 0 }),
	ROW("Mish", SINCE(18, 22), "y = x * tanh(log(1 + exp(x)))", TS_FLOAT, mish_map, { 0 }),
	ROW("Swish", SINCE(24), "y = x / (1 + exp(-alpha * x))", TS_FLOAT, swish_map, ALPHA(1)),
	ROW("Shrink", SINCE(9), "y = x < -lambd ? x + bias : x > lambd ? x - bias : 0", TS_NUMBER, shrink_map,
	    ATTR_FLOAT("bias", 0, "how far the rest is moved toward zero"),
	    ATTR_FLOAT("lambd", 0.5, "up to here everything becomes zero")),

	{ .name = "PRelu", .since = { 1, 6, 7, 9, 16 }, .formula = "y = x < 0 ? slope * x : x",
	  .inputs = { IN("x", TS_WIDE),
		      IN("slope", TS_WIDE) },
	  .outputs = { OUT("y") }, .attrs = { ATTR_CONSUMED }, .lower = prelu_lower, .map = prelu_map,
	  .cases = { "x:f32[N,8,5] slope:f32[8,1]" } },
	{ .name = "Clip", .since = { 1, 6, 11, 12, 13 }, .formula = "y = min(max(x, min), max)",
	  .inputs = { IN("x", TS_NUMBER), OPT("min", TS_NUMBER), OPT("max", TS_NUMBER) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_CONSUMED, ATTR_FLOAT("min", 0, "before opset 11: the lower bound"),
		     ATTR_FLOAT("max", 0, "before opset 11: the upper bound") },
	  .lower = clip_lower, .map = clip_map,
	  .cases = { "x:f32[N,33] min:f32[] max:f32[]", "x:f16[N] min=-1 max=1 opset=6" } },
	{ .name = NULL },
};
/* clang-format on */
