/* Functions of one element. */
#include "ops/lower/formulas.h"

static expr one_plus_exp(expr x)
{
	return add(with(x, 1), unary(IR_EXP, x));
}

expr sigmoid(expr x)
{
	return divide(with(x, 1), one_plus_exp(unary(IR_NEG, x)));
}

expr silu(expr x, expr gate)
{
	return divide(x, one_plus_exp(unary(IR_NEG, gate)));
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
expr softplus(expr x)
{
	return add(max_(x, with(x, 0)), unary(IR_LOG1P, unary(IR_EXP, unary(IR_NEG, unary(IR_ABS, x)))));
}

expr softsign(expr x)
{
	return divide(x, add(with(x, 1), unary(IR_ABS, x)));
}

expr leaky_relu(expr x, expr alpha)
{
	return select_(lt(x, with(x, 0)), mul(alpha, x), x);
}

expr elu(expr x, expr alpha)
{
	return select_(gt(x, with(x, 0)), x, mul(alpha, unary(IR_EXPM1, x)));
}

expr hard_sigmoid(expr x, expr alpha, expr beta)
{
	return clamp(add(mul(alpha, x), beta), with(x, 0), with(x, 1));
}

expr gelu(expr x)
{
	return mul(mul(with(x, 0.5), x), add(with(x, 1), unary(IR_ERF, mul(x, with(x, 0.70710678118654752440)))));
}

expr gelu_tanh(expr x)
{
	expr inner = mul(with(x, 0.79788456080286535588), add(x, mul(with(x, 0.044715), mul(x, mul(x, x)))));

	return mul(mul(with(x, 0.5), x), add(with(x, 1), unary(IR_TANH, inner)));
}
