/* Operators that ai.onnx had in opset 1 only, as experimental ones: Affine, Crop, ImageScaler, ParametricSoftplus,
 * Scale, ScaledTanh. Source: ONNX, opset 1; ONNX Runtime, which still runs them. */
#include "ops/lower/elementwise.h"

#include <string.h>

static expr affine_map(struct lower *l, const expr *x)
{
	return add(mul(x[0], with(x[0], lower_float(l, "alpha"))), with(x[0], lower_float(l, "beta")));
}

static expr softplus_map(struct lower *l, const expr *x)
{
	expr e = unary(IR_EXP, mul(x[0], with(x[0], lower_float(l, "beta"))));

	return mul(with(e, lower_float(l, "alpha")), unary(IR_LOG, add(e, with(e, 1))));
}

static expr scale_map(struct lower *l, const expr *x)
{
	return mul(x[0], with(x[0], lower_float(l, "scale")));
}

static expr tanh_map(struct lower *l, const expr *x)
{
	return mul(with(x[0], lower_float(l, "alpha")), unary(IR_TANH, mul(x[0], with(x[0], lower_float(l, "beta")))));
}

static int image_scaler_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	const double *bias;
	int n = lower_floats(l, "bias", &bias);
	expr y = wide(at(x, &s)), b = with(y, 0);
	int64_t channels;

	if (s.rank != 4)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have four.", s.rank);
	if (n && (!ir_const_int(s.dim[1], &channels) || channels != n))
		return lower_fail(l, ERR_MODEL, "there are %d biases, which is not the number of channels.", n);
	for (int k = n; k-- > 0;)
		b = k == n - 1 ? with(y, bias[k]) : select_(eq(s.at[1], idx(l, k)), with(y, bias[k]), b);
	y = add(mul(y, with(y, lower_float(l, "scale"))), b);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}

/* border: left, top, right, bottom. With a scale (height, width) the image begins at left and top and has that size. */
static int crop_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct ints border = lower_ints(l, "border"), scale = lower_ints(l, "scale");
	struct space s = space_of(l, x);
	expr index[IR_MAX_RANK];

	if (s.rank != 4 || border.n != 4 || (scale.n && scale.n != 2))
		return lower_fail(l, ERR_MODEL,
		                  "the input must have four axes, border four numbers, and scale two or none.");
	for (int i = 0; i < 2; i++)
		s.dim[2 + i] = scale.n ? idx(l, scale.at[i]) : addi(s.dim[2 + i], -border.at[1 - i] - border.at[3 - i]);
	s = space_new(l, 4, s.dim);
	memcpy(index, s.at, sizeof index);
	for (int i = 0; i < 2; i++)
		index[2 + i] = min_(addi(s.at[2 + i], border.at[1 - i]), addi(value_dim(x, 2 + i), -1));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

/* clang-format off */
#define ONE_INPUT .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") }

const struct op_def ops_experimental[] = {
	{ .name = "Affine", .since = { 1 }, .formula = "y = alpha * x + beta", ONE_INPUT,
	  .attrs = { ATTR_FLOAT("alpha", 1, "factor"), ATTR_FLOAT("beta", 0, "what is added"), ATTR_CONSUMED },
	  .lower = elementwise_lower, .map = affine_map, .cases = { "x:f32[N,33] alpha=2 beta=0.5" } },
	{ .name = "ParametricSoftplus", .since = { 1 }, .formula = "y = alpha * log(exp(beta * x) + 1)", ONE_INPUT,
	  .attrs = { ATTR_FLOAT("alpha", 1, "factor"), ATTR_FLOAT("beta", 1, "factor of x"), ATTR_CONSUMED },
	  .lower = elementwise_lower, .map = softplus_map, .cases = { "x:f32[N,33] alpha=2 beta=0.5" } },
	{ .name = "Scale", .since = { 1 }, .formula = "y = scale * x", ONE_INPUT,
	  .attrs = { ATTR_FLOAT("scale", 1, "factor"), ATTR_CONSUMED },
	  .lower = elementwise_lower, .map = scale_map, .cases = { "x:f16[N,33] scale=2" } },
	{ .name = "ScaledTanh", .since = { 1 }, .formula = "y = alpha * tanh(beta * x)", ONE_INPUT,
	  .attrs = { ATTR_FLOAT("alpha", 1, "factor"), ATTR_FLOAT("beta", 1, "factor of x"), ATTR_CONSUMED },
	  .lower = elementwise_lower, .map = tanh_map, .cases = { "x:f32[N,33] alpha=2 beta=0.5" } },
	{ .name = "ImageScaler", .since = { 1 }, .formula = "y[n, c, h, w] = scale * x[n, c, h, w] + bias[c]",
	  ONE_INPUT,
	  .attrs = { ATTR_FLOAT("scale", 1, "factor"), ATTR_FLOATS("bias", "one number a channel") },
	  .lower = image_scaler_lower, .cases = { "x:f32[N,3,H,W] scale=2 bias=1,2,3", "x:f16[N,C,4,4]" } },
	{ .name = "Crop", .since = { 1 }, .formula = "y = x without its borders", .inputs = { IN("x", TS_FLOAT) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_INTS("border", "left, top, right, bottom"),
		     ATTR_INTS("scale", "height and width of the result") },
	  .lower = crop_lower, .cases = { "x:f32[N,3,12,14] border=1,2,3,4",
					  "x:f32[N,3,12,14] border=1,2,3,4 scale=5,6" } },
	{ .name = NULL },
};
/* clang-format on */
