/* MatMulInteger: y = sum over k of (a - a_zero_point) * (b - b_zero_point), in i32. QLinearMatMul: the same, quantised
 * to 8 bits: y = saturate(round(sum * (a_scale * b_scale / y_scale)) + y_zero_point). A zero point or scale is one
 * number, a list for a's rows or b's columns, or has the operand's axes. Source: ONNX, operators MatMulInteger (opset
 * 10) and QLinearMatMul (opsets 10 and 21). */
#include "ops/lower/product.h"
#include "ops/lower/quantize.h"

static int integer_lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1);
	struct product p;
	expr e;

	TRY(product_space(l, a, b, &p));
	TRY(product_integers(l, &p, a, lower_input(l, 2), b, lower_input(l, 3), &e));
	lower_output(l, 0, lower_reduce(l, NULL, TYPE_I32, &p.s, p.rank, IR_SUM, e, NULL));
	return 0;
}

static int qlinear_lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 3), zero = lower_input(l, 7), scale = lower_input(l, 6);
	struct product p;
	expr e, sa, sb, post;

	TRY(product_space(l, a, b, &p));
	TRY(product_integers(l, &p, a, lower_input(l, 2), b, lower_input(l, 5), &e));
	TRY(product_parameter(l, lower_input(l, 1), a, p.a, product_row(a), &sa));
	TRY(product_parameter(l, lower_input(l, 4), b, p.b, product_column(b), &sb));
	if (value_rank(scale) > 1 || value_rank(zero) > 1)
		return lower_fail(l, ERR_UNSUPPORTED, "y_scale and y_zero_point must each be one number.");
	post = mul(cast(acc(l, TYPE_I32), TYPE_F32), divide(mul(wide(sa), wide(sb)), wide(at_first(scale))));
	post = quantize_element(post, at_first(zero), value_type(zero));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(zero), &p.s, p.rank, IR_SUM, e, post));
	return 0;
}

/* clang-format off */

const struct op_def ops_matmul_integer[] = {
	{ .name = "MatMulInteger", .since = { 10 },
	  .formula = "y = (a - a_zero_point) (b - b_zero_point), matrix product",
	  .inputs = { IN("a", TS_Q8), IN("b", TS_Q8), OPT("a_zero_point", TS_Q8), OPT("b_zero_point", TS_Q8) },
	  .outputs = { OUT("y") }, .lower = integer_lower,
	  .cases = { "a:u8[M,256] b:i8[256,128] a_zero_point:u8[] b_zero_point:i8[]",
		     "a:u8[B,S,64] b:i8[64,96] a_zero_point:u8[] b_zero_point:i8[96]" } },
	{ .name = "QLinearMatMul", .since = { 10, 21 },
	  .formula = "y = saturate(round((a - a_zero_point) (b - b_zero_point) a_scale b_scale / y_scale) + y_zero)",
	  .inputs = { IN("a", TS_Q8), IN("a_scale", TS_FLOAT32), IN("a_zero_point", TS_Q8), IN("b", TS_Q8),
		      IN("b_scale", TS_FLOAT32), IN("b_zero_point", TS_Q8), IN("y_scale", TS_FLOAT32),
		      IN("y_zero_point", TS_Q8) },
	  .outputs = { OUT("y") }, .lower = qlinear_lower,
	  .cases = { "a:u8[M,64] a_scale:f32[] a_zero_point:u8[] b:i8[64,96] b_scale:f32[96] b_zero_point:i8[96] "
		     "y_scale:f32[] y_zero_point:u8[]" } },
	{ .name = NULL },
};
/* clang-format on */
