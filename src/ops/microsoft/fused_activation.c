/* FusedConv: y = activation(convolution of x with w, + b + z); FusedGemm: y = activation(alpha * a' b' + beta * c).
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/convolution.h"
#include "ops/lower/formulas.h"
#include "ops/lower/product.h"
#include "ops/microsoft/fused.h"

#include <string.h>

enum { ALPHA = 1, BETA = 2, GAMMA = 4, PARAMETERS = 3 };

/* The numbers that a node gives to its activation: alpha, beta, gamma. */
struct parameters {
	double at[PARAMETERS];
	int given; /* which */
};

static expr sigmoid_of(expr x, const expr *p)
{
	(void)p;
	return sigmoid(x);
}

static expr none_of(expr x, const expr *p)
{
	(void)p;
	return x;
}

static expr relu_of(expr x, const expr *p)
{
	(void)p;
	return max_(x, with(x, 0));
}

static expr hyperbolic_tangent_of(expr x, const expr *p)
{
	(void)p;
	return unary(IR_TANH, x);
}

static expr scaled_tanh_of(expr x, const expr *p)
{
	return mul(p[0], unary(IR_TANH, mul(p[1], x)));
}

static expr leaky_relu_of(expr x, const expr *p)
{
	return leaky_relu(x, p[0]);
}

static expr thresholded_relu_of(expr x, const expr *p)
{
	return select_(gt(x, p[0]), x, with(x, 0));
}

static expr clip_of(expr x, const expr *p)
{
	return clamp(x, p[0], p[1]);
}

static expr hard_sigmoid_of(expr x, const expr *p)
{
	return hard_sigmoid(x, p[0], p[1]);
}

static expr hard_swish_of(expr x, const expr *p)
{
	(void)p;
	return mul(x, hard_sigmoid(x, with(x, 1 / 6.0), with(x, 0.5)));
}

static expr softsign_of(expr x, const expr *p)
{
	(void)p;
	return softsign(x);
}

static expr softplus_of(expr x, const expr *p)
{
	(void)p;
	return softplus(x);
}

static expr parametric_softplus_of(expr x, const expr *p)
{
	return mul(p[0], softplus(mul(p[1], x)));
}

static expr elu_of(expr x, const expr *p)
{
	return elu(x, p[0]);
}

static expr selu_of(expr x, const expr *p)
{
	return mul(p[2], elu(x, p[0]));
}

static expr celu_of(expr x, const expr *p)
{
	return select_(gt(x, with(x, 0)), x, mul(p[0], unary(IR_EXPM1, divide(x, p[0]))));
}

static const struct activation {
	const char *name;
	expr (*map)(expr x, const expr *p);
	int needs;
	struct parameters standard; /* defaults */
} activations[] = {
	{ "", none_of, 0, { { 0 }, 0 } },
	{ "Relu", relu_of, 0, { { 0 }, 0 } },
	{ "Tanh", hyperbolic_tangent_of, 0, { { 0 }, 0 } },
	{ "ScaledTanh", scaled_tanh_of, ALPHA | BETA, { { 0 }, 0 } },
	{ "Sigmoid", sigmoid_of, 0, { { 0 }, 0 } },
	{ "LeakyRelu", leaky_relu_of, ALPHA, { { 0.01 }, ALPHA } },
	{ "ThresholdedRelu", thresholded_relu_of, ALPHA, { { 1 }, ALPHA } },
	{ "Clip", clip_of, ALPHA | BETA, { { 0, 6 }, ALPHA | BETA } },
	{ "HardSigmoid", hard_sigmoid_of, ALPHA | BETA, { { 0.2, 0.5 }, ALPHA | BETA } },
	{ "HardSwish", hard_swish_of, 0, { { 0 }, 0 } },
	{ "Softsign", softsign_of, 0, { { 0 }, 0 } },
	{ "Softplus", softplus_of, 0, { { 0 }, 0 } },
	{ "ParametricSoftplus", parametric_softplus_of, ALPHA | BETA, { { 0 }, 0 } },
	{ "Elu", elu_of, ALPHA, { { 1 }, ALPHA } },
	{ "Selu",
	  selu_of,
	  ALPHA | GAMMA,
	  { { 1.67326319217681884765625, 0, 1.05070102214813232421875 }, ALPHA | GAMMA } },
	{ "Celu", celu_of, ALPHA, { { 1 }, ALPHA } },
};

static int activate(struct lower *l, const struct parameters *given, expr x, expr *out)
{
	static const char *const letters[] = { "alpha", "beta", "gamma" };
	const char *name = lower_word(l, "activation");
	const struct activation *a = NULL;
	expr p[PARAMETERS];

	for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
		if (!strcmp(activations[i].name, name))
			a = &activations[i];
	if (!a)
		return lower_fail(l, ERR_UNSUPPORTED, "activation \"%s\" is not known.", name);
	for (int i = 0; i < PARAMETERS; i++) {
		int bit = 1 << i;

		if ((a->needs & bit) && !((given->given | a->standard.given) & bit))
			return lower_fail(l, ERR_MODEL, "activation %s needs its number %s.", name, letters[i]);
		p[i] = with(x, given->given & bit ? given->at[i] : (float)a->standard.at[i]);
	}
	*out = a->map(x, p);
	return 0;
}

static int conv_finish(struct lower *l, const struct space *out, expr y, expr *result)
{
	struct value z = lower_input(l, 3);
	struct parameters p = { .given = 0 };
	const double *list;
	int n = lower_floats(l, "activation_params", &list);

	for (int i = 0; i < n && i < PARAMETERS; i++) {
		p.at[i] = list[i];
		p.given |= 1 << i;
	}
	if (z.given && value_rank(z) != out->rank)
		return lower_fail(l, ERR_MODEL, "z is of rank %d and the result of rank %d; they must be equal.",
		                  value_rank(z), out->rank);
	if (z.given)
		y = add(y, wide(at(z, out)));
	return activate(l, &p, y, result);
}

static int conv_lower(struct lower *l)
{
	return convolution_fused(l, conv_finish);
}

int fused_activation(struct lower *l, expr x, expr *out)
{
	static const char *const names[] = { "activation_alpha", "activation_beta", "activation_gamma" };
	struct parameters p = { .given = 0 };

	for (int i = 0; i < PARAMETERS; i++) {
		p.at[i] = lower_float(l, names[i]);
		p.given |= lower_has(l, names[i]) ? 1 << i : 0;
	}
	return activate(l, &p, x, out);
}

static int gemm_finish(struct lower *l, const struct space *out, expr y, expr *result)
{
	(void)out;
	return fused_activation(l, y, result);
}

static int gemm_lower(struct lower *l)
{
	return product_gemm(l, gemm_finish);
}

/* clang-format off */
#define ACTIVATION ATTR("activation", OP_STRING, 0, "", "Relu, Tanh, Sigmoid, LeakyRelu, Clip, HardSigmoid ...", false)

#define CONV                                                                                                           \
	.inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)),     \
		    OPT("z", TS_FLOAT, RANK_FROM(3)) },                                                                \
	.outputs = { OUT("y") },                                                                                       \
	.attrs = { WINDOW_ATTRS, GROUP_ATTR, ACTIVATION,                                                               \
		   ATTR_FLOATS("activation_params", "numbers of the activation") },                                    \
	.lower = conv_lower

const struct op_def ops_fused_activation[] = {
	{ .name = "FusedConv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(convolution of x with w, + b + z)",
	  CONV,
	  .cases = { "x:f32[N,8,H,W] w:f32[16,8,3,3] b:f32[16] pads=1,1,1,1 activation=Relu" } },
	{ .name = "NhwcFusedConv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(convolution of x with w, + b + z), channels last",
	  CONV,
	  .cases = { "x:f16[N,H,W,8] w:f16[16,8,3,3] b:f16[16] z:f16[N,H,W,16] pads=1,1,1,1 activation=Relu" } },
	{ .name = "FusedGemm", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = activation(alpha * a' b' + beta * c)",
	  .inputs = { IN("a", TS_FLOAT, RANK(2)), IN("b", TS_FLOAT, RANK(2)), OPT("c", TS_FLOAT, RANKS(0, 2)) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_FLOAT("alpha", 1, "factor of the product"), ATTR_FLOAT("beta", 1, "factor of c"),
		     ATTR_INT("transA", 0, "a is stored transposed"), ATTR_INT("transB", 0, "b is stored transposed"),
		     ACTIVATION, ATTR_FLOAT("activation_alpha", 0, "first number of the activation"),
		     ATTR_FLOAT("activation_beta", 0, "second number of the activation"),
		     ATTR_FLOAT("activation_gamma", 0, "third number of the activation") },
	  .lower = gemm_lower,
	  .cases = { "a:f32[M,64] b:f32[33,64] c:f32[33] transB=1 activation=Relu",
	             "a:f32[M,8] b:f32[8,5] activation=Selu activation_alpha=1.5 activation_gamma=0.75",
	             "a:f16[M,8] b:f16[8,5] c:f16[5] activation=ThresholdedRelu activation_alpha=0.5" } },
	{ .name = NULL },
};
/* clang-format on */
