/* FusedConv: y = activation(convolution of x with w, + b + z); FusedGemm: y = activation(alpha * a' b' + beta * c).
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/fused.h"
#include "ops/window.h"

#include <string.h>

struct activation {
	const char *name;
	int parameters;
	double parameter[2]; /* where the node says nothing */
};
static const struct activation activations[] = {
	{ "", 0, { 0 } },
	{ "Relu", 0, { 0 } },
	{ "Tanh", 0, { 0 } },
	{ "Sigmoid", 0, { 0 } },
	{ "LeakyRelu", 1, { 0.01 } },
	{ "Clip", 2, { 0, 6 } },
	{ "HardSigmoid", 2, { 0.2, 0.5 } },
	{ "Softsign", 0, { 0 } },
	{ "Elu", 1, { 1 } },
};

static int activate(struct lower *l, const double *p, int given, expr x, expr *out)
{
	const char *name = lower_word(l, "activation");
	const struct activation *a = NULL;
	expr zero = with(x, 0), one = with(x, 1), first, second;

	for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
		if (!strcmp(activations[i].name, name))
			a = &activations[i];
	if (!a)
		return lower_fail(l, ERR_UNSUPPORTED, "activation \"%s\" is not known.", name);
	if (given && given < a->parameters)
		return lower_fail(l, ERR_MODEL, "activation %s has %d parameters; it needs %d.", name, given,
		                  a->parameters);
	first = with(x, given ? p[0] : (float)a->parameter[0]);
	second = with(x, given > 1 ? p[1] : (float)a->parameter[1]);
	if (!*name)
		*out = x;
	else if (!strcmp(name, "Relu"))
		*out = max_(x, zero);
	else if (!strcmp(name, "Tanh"))
		*out = unary(IR_TANH, x);
	else if (!strcmp(name, "Sigmoid"))
		*out = divide(one, add(one, unary(IR_EXP, unary(IR_NEG, x))));
	else if (!strcmp(name, "LeakyRelu"))
		*out = select_(lt(x, zero), mul(first, x), x);
	else if (!strcmp(name, "Clip"))
		*out = clamp(x, first, second);
	else if (!strcmp(name, "HardSigmoid"))
		*out = clamp(add(mul(first, x), second), zero, one);
	else if (!strcmp(name, "Softsign"))
		*out = divide(x, add(one, unary(IR_ABS, x)));
	else
		*out = select_(gt(x, zero), x, mul(first, unary(IR_EXPM1, x)));
	return 0;
}

static int conv_finish(struct lower *l, const struct space *out, expr y, expr *result)
{
	struct value z = lower_input(l, 3);
	const double *parameters;
	int n = lower_floats(l, "activation_params", &parameters);

	if (z.given && value_rank(z) != out->rank)
		return lower_fail(l, ERR_MODEL, "z is of rank %d and the result of rank %d; they must be equal.",
		                  value_rank(z), out->rank);
	if (z.given)
		y = add(y, wide(at(z, out)));
	return activate(l, parameters, n, y, result);
}

static int conv_lower(struct lower *l)
{
	return convolution_fused(l, conv_finish);
}

static int gemm_finish(struct lower *l, const struct space *out, expr y, expr *result)
{
	double p[2] = { lower_float(l, "activation_alpha"), lower_float(l, "activation_beta") };
	int n = lower_has(l, "activation_beta") ? 2 : lower_has(l, "activation_alpha");

	(void)out;
	return activate(l, p, n, y, result);
}

static int gemm_lower(struct lower *l)
{
	return gemm_fused(l, gemm_finish);
}

/* clang-format off */
#define ACTIVATION { "activation", OP_STRING, 0, "", "Relu, Tanh, Sigmoid, LeakyRelu, Clip, HardSigmoid ...", false }

const struct op_def ops_fused_activation[] = {
	{ .name = "FusedConv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(convolution of x with w, + b + z)",
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)),
		      OPT("z", TS_FLOAT, RANK_FROM(3)) },
	  .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, ATTR_INT("group", 1, "groups of channels that do not mix"), ACTIVATION,
		     ATTR_FLOATS("activation_params", "numbers of the activation") },
	  .lower = conv_lower,
	  .cases = { "x:f32[N,8,H,W] w:f32[16,8,3,3] b:f32[16] pads=1,1,1,1 activation=Relu" } },
	{ .name = "NhwcFusedConv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(convolution of x with w, + b + z), channels last",
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)),
		      OPT("z", TS_FLOAT, RANK_FROM(3)) },
	  .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, ATTR_INT("group", 1, "groups of channels that do not mix"), ACTIVATION,
		     ATTR_FLOATS("activation_params", "numbers of the activation") },
	  .lower = conv_lower,
	  .cases = { "x:f16[N,H,W,8] w:f16[16,8,3,3] b:f16[16] z:f16[N,H,W,16] pads=1,1,1,1 activation=Relu" } },
	{ .name = "FusedGemm", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(alpha * a' b' + beta * c)",
	  .inputs = { IN("a", TS_FLOAT, RANK(2)), IN("b", TS_FLOAT, RANK(2)), OPT("c", TS_FLOAT, RANKS(0, 2)) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_FLOAT("alpha", 1, "factor of the product"), ATTR_FLOAT("beta", 1, "factor of c"),
		     ATTR_INT("transA", 0, "a is stored transposed"), ATTR_INT("transB", 0, "b is stored transposed"),
		     ACTIVATION, ATTR_FLOAT("activation_alpha", 0, "first number of the activation"),
		     ATTR_FLOAT("activation_beta", 0, "second number of the activation"),
		     ATTR_FLOAT("activation_gamma", 0, "has no effect") },
	  .lower = gemm_lower, .cases = { "a:f32[M,64] b:f32[33,64] c:f32[33] transB=1 activation=Relu" } },
	{ .name = NULL },
};
/* clang-format on */
