/* Elementwise operators on 8-bit numbers: y = saturate(round(f(x) / y_scale) + y_zero), x = (q - zero) * scale.
 *   QLinearAdd, QLinearMul, QLinearSigmoid, QLinearLeakyRelu; QLinearConcat: each input with its own scale;
 *   QLinearSoftmax along one axis; QLinearWhere
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/quantize.h"
#include "ops/lower/formulas.h"
#include "ops/lower/reduction.h"

/* The real number of q, an element of a tensor whose scale and zero point are inputs `scale` and `scale + 1`. */
static expr real(struct lower *l, expr q, int scale)
{
	struct value zero = lower_input(l, scale + 1);
	expr x = cast(q, TYPE_I32);

	if (zero.given)
		x = sub(x, cast(at_first(zero), TYPE_I32));
	return mul(cast(x, TYPE_F32), at_first(lower_input(l, scale)));
}

/* y as an element of type t, whose scale and zero point are inputs `scale` and `scale + 1`. */
static expr quantized(struct lower *l, expr y, int scale, enum type t)
{
	struct value zero = lower_input(l, scale + 1);

	return quantize_element(divide(y, at_first(lower_input(l, scale))), zero.given ? at_first(zero) : NULL, t);
}

/* Scales and zero points, from input `first` on in pairs, are single numbers. */
static int check_single(struct lower *l, int first)
{
	for (int i = first; i < l->inputs; i++)
		if (l->input[i].given && value_rank(l->input[i]) > 1)
			return lower_fail(l, ERR_UNSUPPORTED, "input number %d must be one number.", i + 1);
	return 0;
}

static int binary(struct lower *l, expr (*f)(expr, expr))
{
	struct value x[2] = { lower_input(l, 0), lower_input(l, 3) };
	enum type t = value_type(x[0]);
	struct space s;
	expr y;

	TRY(space_broadcast(l, &s, 2, x));
	y = f(real(l, at(x[0], &s), 1), real(l, at(x[1], &s), 4));
	lower_output(l, 0, lower_map(l, NULL, t, &s, quantized(l, y, 6, t)));
	return 0;
}

static int add_lower(struct lower *l)
{
	return binary(l, add);
}

static int mul_lower(struct lower *l)
{
	return binary(l, mul);
}

static expr sigmoid_of(struct lower *l, expr x)
{
	(void)l;
	return sigmoid(x);
}

static expr leaky_relu_of(struct lower *l, expr x)
{
	return select_(ge(x, with(x, 0)), x, mul(with(x, lower_float(l, "alpha")), x));
}

static int map(struct lower *l, expr (*f)(struct lower *l, expr x))
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);

	lower_output(
	        l, 0,
	        lower_map(l, NULL, value_type(x), &s, quantized(l, f(l, real(l, at(x, &s), 1)), 3, value_type(x))));
	return 0;
}

static int sigmoid_lower(struct lower *l)
{
	return map(l, sigmoid_of);
}

static int leaky_relu_lower(struct lower *l)
{
	return map(l, leaky_relu_of);
}

/* y = condition ? x : y, both rescaled to the result's scale. */
static int where_lower(struct lower *l)
{
	struct value v[3] = { lower_input(l, 0), lower_input(l, 1), lower_input(l, 4) };
	enum type t = value_type(v[1]);
	struct space s;
	expr y;

	TRY(space_broadcast(l, &s, 3, v));
	y = select_(at(v[0], &s), real(l, at(v[1], &s), 2), real(l, at(v[2], &s), 5));
	lower_output(l, 0, lower_map(l, NULL, t, &s, quantized(l, y, 7, t)));
	return 0;
}

/* exp(x - largest) / sum along the axis; before opset 13 along all axes from it on. The scale of x is positive, and
 * its zero point does not matter. */
static int softmax_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), top, sum;
	int64_t opset = lower_int(l, "opset");
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct reduction r;
	expr scale = at_first(lower_input(l, 1)), e;
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), s.rank, false, &axis));
	for (int i = 0; i < s.rank; i++)
		reduced[i] = opset < 13 ? i >= axis : i == axis;
	r = reduce_space(l, x, reduced, true);
	e = cast(load(x, r.index), TYPE_I32);
	top = lower_reduce(l, "largest", TYPE_I32, &r.s, r.rank, IR_MAXIMUM, e, NULL);
	e = unary(IR_EXP, mul(cast(sub(e, load(top, r.s.at)), TYPE_F32), scale));
	sum = lower_reduce(l, "total", TYPE_F32, &r.s, r.rank, IR_SUM, e, NULL);
	e = unary(IR_EXP, mul(cast(sub(cast(at(x, &s), TYPE_I32), at(top, &s)), TYPE_F32), scale));
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(x), &s, quantized(l, divide(e, at(sum, &s)), 3, value_type(x))));
	return 0;
}

/* Inputs: the result's scale and zero point, then tensor, scale and zero point of each part. */
static int concat_lower(struct lower *l)
{
	int n = (l->inputs - 2) / 3, rank, axis;
	enum type t = value_type(lower_input(l, 1));
	expr start = idx(l, 0), first[128], index[IR_MAX_RANK], y = NULL, dim[IR_MAX_RANK];
	struct space s;

	if (n < 1 || n > 128 || l->inputs != 2 + 3 * n)
		return lower_fail(l, ERR_MODEL, "it has %d inputs; it takes two and then three a part.", l->inputs);
	rank = value_rank(lower_input(l, 2));
	TRY(lower_axis(l, lower_int(l, "axis"), rank, false, &axis));
	for (int k = 0; k < n; k++) {
		struct value x = lower_input(l, 2 + 3 * k);

		if (value_rank(x) != rank || !type_is_float(value_type(lower_input(l, 3 + 3 * k))))
			return lower_fail(l, ERR_MODEL,
			                  "part %d has %d axes, the first %d; or its scale is not a float.", k + 1,
			                  value_rank(x), rank);
		first[k] = start;
		start = add(start, value_dim(x, axis));
	}
	for (int i = 0; i < rank; i++)
		dim[i] = i == axis ? start : value_dim(lower_input(l, 2), i);
	s = space_new(l, rank, dim);
	for (int k = n - 1; k >= 0; k--) {
		expr part;

		for (int i = 0; i < rank; i++)
			index[i] = i == axis ? sub(s.at[i], first[k]) : s.at[i];
		part = real(l, load(lower_input(l, 2 + 3 * k), index), 3 + 3 * k);
		y = y ? select_(lt(s.at[axis], first[k + 1]), part, y) : part;
	}
	lower_output(l, 0, lower_map(l, NULL, t, &s, quantized(l, y, 0, t)));
	return 0;
}

static int checked_add(struct lower *l)
{
	TRY(check_single(l, 6));
	return add_lower(l);
}

static int checked_mul(struct lower *l)
{
	TRY(check_single(l, 6));
	return mul_lower(l);
}

/* clang-format off */
#define QUANTIZED(x) IN(x, TS_Q8), IN(x "_scale", TS(F32)), OPT(x "_zero_point", TS_Q8)
#define RESULT IN("y_scale", TS(F32)), OPT("y_zero_point", TS_Q8)
#define MICROSOFT .domain = "com.microsoft", .since = { 1 }, .outputs = { OUT("y") }

const struct op_def ops_qlinear_elementwise[] = {
	{ .name = "QLinearAdd", MICROSOFT, .formula = "y = quantized(a + b)",
	  .inputs = { QUANTIZED("a"), QUANTIZED("b"), RESULT }, .lower = checked_add,
	  .cases = { "a:u8[N,33] a_scale:f32[] a_zero_point:u8[] b:u8[33] b_scale:f32[] b_zero_point:u8[] "
		     "y_scale:f32[] y_zero_point:u8[]" } },
	{ .name = "QLinearMul", MICROSOFT, .formula = "y = quantized(a * b)",
	  .inputs = { QUANTIZED("a"), QUANTIZED("b"), RESULT }, .lower = checked_mul,
	  .cases = { "a:i8[N,33] a_scale:f32[] a_zero_point:i8[] b:i8[N,1] b_scale:f32[] b_zero_point:i8[] "
		     "y_scale:f32[] y_zero_point:i8[]" } },
	{ .name = "QLinearSigmoid", MICROSOFT, .formula = "y = quantized(1 / (1 + exp(-x)))",
	  .inputs = { QUANTIZED("x"), RESULT }, .lower = sigmoid_lower,
	  .cases = { "x:u8[N,33] x_scale:f32[] x_zero_point:u8[] y_scale:f32[] y_zero_point:u8[]" } },
	{ .name = "QLinearLeakyRelu", MICROSOFT, .formula = "y = quantized(x < 0 ? alpha * x : x)",
	  .inputs = { QUANTIZED("x"), RESULT }, .attrs = { ATTR_FLOAT("alpha", 0.01, "factor") },
	  .lower = leaky_relu_lower,
	  .cases = { "x:i8[N,33] x_scale:f32[] x_zero_point:i8[] y_scale:f32[] y_zero_point:i8[]" } },
	{ .name = "QLinearWhere", MICROSOFT, .formula = "z = quantized(condition ? x : y)",
	  .inputs = { IN("condition", TS(BOOL)), QUANTIZED("x"), QUANTIZED("y"), IN("z_scale", TS(F32)),
		      OPT("z_zero_point", TS_Q8) },
	  .lower = where_lower,
	  .cases = { "condition:bool[N,33] x:u8[33] x_scale:f32[] x_zero_point:u8[] y:u8[N,33] y_scale:f32[] "
		     "y_zero_point:u8[] z_scale:f32[] z_zero_point:u8[]" } },
	{ .name = "QLinearSoftmax", MICROSOFT, .formula = "y = quantized(exp(x - max) / sum of exp(x - max))",
	  .inputs = { QUANTIZED("x"), RESULT },
	  .attrs = { ATTR_INT("axis", -1, "the axis"),
		     ATTR_INT("opset", 13, "of the Softmax that is meant: before 13 all axes from `axis` on") },
	  .lower = softmax_lower,
	  .cases = { "x:u8[N,33] x_scale:f32[] x_zero_point:u8[] y_scale:f32[] y_zero_point:u8[] opset=1" } },
	{ .name = "QLinearConcat", MICROSOFT, .formula = "y = the inputs, one after the other, in one scale",
	  .inputs = { IN("y_scale", TS(F32)), IN("y_zero_point", TS_Q8), MANY("inputs", TS_Q8 | TS(F32)) },
	  .attrs = { ATTR_INT_REQUIRED("axis", "the axis") }, .lower = concat_lower,
	  .cases = { "y_scale:f32[] y_zero_point:u8[] a:u8[N,3,7] a_scale:f32[] a_zero_point:u8[] b:u8[N,5,7] "
		     "b_scale:f32[] b_zero_point:u8[] axis=1" } },
	{ .name = NULL },
};
/* clang-format on */
