/* QGemm: y = alpha * a_scale * b_scale * ((a' - a_zero) (b' - b_zero) + c), with c in i32; f32, or with y_scale
 * quantised to 8 bits. a' and b' are a and b or their transposes. b's scale and zero point may be one for each column.
 * Source: ONNX Runtime, com.microsoft.QGemm. */
#include "ops/lower/quantize.h"

static int lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 3), c = lower_input(l, 6), scale = lower_input(l, 7),
	             zero = lower_input(l, 8);
	bool ta = lower_int(l, "transA") != 0, tb = lower_int(l, "transB") != 0;
	struct space s = { 0 };
	expr m, n, k, x, y, sum, zero_b, scale_b;
	enum type t = TYPE_F32;

	if (value_rank(a) != 2 || value_rank(b) != 2 || (c.given && value_rank(c) > 2))
		return lower_fail(l, ERR_MODEL, "a and b must have two axes, c at most two.");
	if (value_rank(lower_input(l, 4)) > 1 || value_rank(lower_input(l, 5)) > 1)
		return lower_fail(l, ERR_MODEL, "b's scale and zero point can have one axis, the columns.");
	m = space_push(l, &s, value_dim(a, ta));
	n = space_push(l, &s, value_dim(b, !tb));
	sum = acc(l, TYPE_I32);
	if (c.given)
		sum = add(sum, at(c, &s));
	TRY(lower_same(l, a, !ta, b, tb, &k));
	k = space_push(l, &s, k);
	TRY(lower_parameter(l, lower_input(l, 5), b, !tb, n, &zero_b));
	TRY(lower_parameter(l, lower_input(l, 4), b, !tb, n, &scale_b));
	x = sub(cast(ta ? load_list(a, 2, k, m) : load_list(a, 2, m, k), TYPE_I32),
	        cast(at_first(lower_input(l, 2)), TYPE_I32));
	y = sub(cast(tb ? load_list(b, 2, n, k) : load_list(b, 2, k, n), TYPE_I32), cast(zero_b, TYPE_I32));
	x = mul(x, y);
	y = mul(at_first(lower_input(l, 1)), scale_b);
	y = mul(cast(sum, TYPE_F32), mul(y, with(y, lower_float(l, "alpha"))));
	if (scale.given) {
		t = value_type(zero.given ? zero : a);
		y = quantize_element(divide(y, at_first(scale)), zero.given ? at_first(zero) : NULL, t);
	}
	lower_output(l, 0, lower_reduce(l, NULL, t, &s, 2, IR_SUM, x, y));
	return 0;
}

const struct op_def op_qgemm = {
	.name = "QGemm",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = alpha * a_scale * b_scale * ((a' - a_zero_point) (b' - b_zero_point) + c)",
	.inputs = { IN("a", TS_Q8), IN("a_scale", TS(F32)), IN("a_zero_point", TS_Q8), IN("b", TS_Q8),
	            IN("b_scale", TS(F32)), IN("b_zero_point", TS_Q8), OPT("c", TS(I32)), OPT("y_scale", TS(F32)),
	            OPT("y_zero_point", TS_Q8) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_FLOAT("alpha", 1, "factor of the product"), ATTR_INT("transA", 0, "a is stored transposed"),
	           ATTR_INT("transB", 0, "b is stored transposed") },
	.lower = lower,
	.cases = { "a:u8[M,64] a_scale:f32[] a_zero_point:u8[] b:i8[64,33] b_scale:f32[33] b_zero_point:i8[33] "
	           "c:i32[33]",
	           "a:u8[M,64] a_scale:f32[] a_zero_point:u8[] b:i8[33,64] b_scale:f32[] b_zero_point:i8[] transB=1 "
	           "y_scale:f32[] y_zero_point:u8[]" },
};
