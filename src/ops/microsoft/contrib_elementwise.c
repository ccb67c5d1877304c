/* Small elementwise operators of ONNX Runtime. Half floats are rounded where the operators say so, between a product
 * and the sum that follows. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/elementwise.h"
#include "ops/lower/formulas.h"

/* x rounded to the type of the node's first input, as a stored tensor would be. */
static expr rounded(struct lower *l, expr x)
{
	return wide(narrow(x, value_type(l->input[0])));
}

static expr scaled_silu_map(struct lower *l, const expr *x)
{
	bool given = lower_input(l, 1).given;
	expr z = rounded(l, mul(given ? x[1] : with(x[0], lower_float(l, "alpha")), x[0]));
	expr s = rounded(l, sigmoid(z));

	return mul(z, s);
}

static expr gated_add_map(struct lower *l, const expr *x)
{
	return add(x[0], rounded(l, mul(x[1], x[2])));
}

static expr sum_map(struct lower *l, const expr *x)
{
	(void)l;
	return add(add(x[0], x[1]), x[2]);
}

static expr zero_of(struct lower *l, const expr *x, int i)
{
	return lower_input(l, i).given ? x[i] : with(x[0], 0);
}

static expr integer_map(struct lower *l, const expr *x)
{
	return mul(sub(x[0], zero_of(l, x, 1)), sub(x[2], zero_of(l, x, 3)));
}

/* Pairs along the last axis are complex numbers; with `sign` -1 the second factor is conjugated. */
static int complex_product(struct lower *l, double sign)
{
	struct value v[2] = { lower_input(l, 0), lower_input(l, 1) };
	struct space s, part[2];
	expr x[2][2], y;

	TRY(space_broadcast(l, &s, 2, v));
	if (s.rank < 1 || !ir_is_int(s.dim[s.rank - 1], 2))
		return lower_fail(l, ERR_MODEL, "the last axis must have extent 2: real and imaginary part.");
	for (int k = 0; k < 2; k++) {
		part[k] = s;
		part[k].at[s.rank - 1] = idx(l, k);
		x[0][k] = wide(at(v[0], &part[k]));
		x[1][k] = wide(at(v[1], &part[k]));
	}
	x[1][1] = mul(x[1][1], with(x[1][1], sign));
	y = select_(eq(s.at[s.rank - 1], idx(l, 0)), sub(mul(x[0][0], x[1][0]), mul(x[0][1], x[1][1])),
	            add(mul(x[0][0], x[1][1]), mul(x[0][1], x[1][0])));
	lower_output(l, 0, lower_map(l, NULL, value_type(v[0]), &s, y));
	return 0;
}

static int complex_lower(struct lower *l)
{
	return complex_product(l, 1);
}

static int conjugate_lower(struct lower *l)
{
	return complex_product(l, -1);
}

/* left * gelu(right) of the two halves of x + bias along the last axis. */
static int bias_split_gelu_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), bias = lower_input(l, 1);
	struct space s = space_of(l, x);
	expr half, index[IR_MAX_RANK], y[2];

	if (s.rank < 1 || value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the bias must have one axis, the input's last one.");
	TRY(lower_equal(l, x, s.rank - 1, bias, 0));
	half = floordiv(s.dim[s.rank - 1], idx(l, 2));
	s.dim[s.rank - 1] = half;
	s = space_new(l, s.rank, s.dim);
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < s.rank; i++)
			index[i] = s.at[i];
		index[s.rank - 1] = k ? add(s.at[s.rank - 1], half) : s.at[s.rank - 1];
		y[k] = add(wide(load(x, index)), wide(load(bias, &index[s.rank - 1])));
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, mul(y[0], gelu(y[1]))));
	return 0;
}

/* clang-format off */
#define MICROSOFT .domain = "com.microsoft", .since = { 1 }, .outputs = { OUT("y") }

const struct op_def ops_contrib_elementwise[] = {
	{ .name = "ScaledSiLU", MICROSOFT, .formula = "y = z * sigmoid(z), z = scale * x",
	  .inputs = { IN("x", TS_FLOAT), OPT("scale", TS_FLOAT) },
	  .attrs = { ATTR_FLOAT("alpha", 1, "the scale without one") },
	  .lower = elementwise_lower, .map = scaled_silu_map,
	  .cases = { "x:f16[N,33] alpha=0.5", "x:f32[N,33] scale:f32[1]" } },
	{ .name = "GatedAdd", MICROSOFT, .formula = "y = x + gate * y",
	  .inputs = { IN("x", TS_FLOAT), IN("y", TS_FLOAT), IN("gate", TS_FLOAT) },
	  .lower = elementwise_lower, .map = gated_add_map, .cases = { "x:f16[N,33] y:f16[N,33] gate:f16[N,1]" } },
	{ .name = "BiasAdd", MICROSOFT, .formula = "y = x + bias + skip",
	  .inputs = { IN("x", TS_FLOAT), IN("bias", TS_FLOAT), IN("skip", TS_FLOAT) },
	  .lower = elementwise_lower, .map = sum_map, .cases = { "x:f16[N,5,320] bias:f16[320] skip:f16[N,5,320]" } },
	{ .name = "MulInteger", MICROSOFT, .formula = "y = (a - a_zero_point) * (b - b_zero_point)",
	  .inputs = { IN("a", TS(U8) | TS(I8)), OPT("a_zero_point", TS(U8) | TS(I8)), IN("b", TS(U8) | TS(I8)),
		      OPT("b_zero_point", TS(U8) | TS(I8)) },
	  .lower = elementwise_lower, .map = integer_map, .result = TYPE_I32,
	  .cases = { "a:u8[N,33] a_zero_point:u8[] b:u8[33] b_zero_point:u8[]" } },
	{ .name = "ComplexMul", MICROSOFT, .formula = "y = a * b, of complex numbers in pairs along the last axis",
	  .inputs = { IN("a", TS_FLOAT), IN("b", TS_FLOAT) }, .lower = complex_lower,
	  .cases = { "a:f32[N,33,2] b:f32[33,2]" } },
	{ .name = "ComplexMulConj", MICROSOFT,
	  .formula = "y = a * conjugate(b), of complex numbers in pairs along the last axis",
	  .inputs = { IN("a", TS_FLOAT), IN("b", TS_FLOAT) }, .lower = conjugate_lower,
	  .cases = { "a:f16[N,33,2] b:f16[1,33,2]" } },
	{ .name = "BiasSplitGelu", MICROSOFT, .formula = "y = left * gelu(right), the halves of x + bias",
	  .inputs = { IN("x", TS_FLOAT), IN("bias", TS_FLOAT) }, .lower = bias_split_gelu_lower,
	  .cases = { "x:f16[N,5,64] bias:f16[64]" } },
	{ .name = NULL },
};
/* clang-format on */
