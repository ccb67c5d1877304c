/* MatMulIntegerToFloat: y = (a - a_zero) (b - b_zero) * a_scale * b_scale + bias, with the product in i32 and the rest
 * in f32. DynamicQuantizeMatMul: the same for an f32 a, which is first quantised to u8 by its own range; see
 * quantize_range(). b's scale and zero point are single numbers, or one for each column. MatMulInteger16: y = a b of
 * 16-bit integers, in i32.
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/product.h"
#include "ops/lower/quantize.h"
#include "ops/lower/reduction.h"

struct operand {
	struct value v, scale, zero;
};

static int product(struct lower *l, const struct operand *a, const struct operand *b, struct value bias, enum type t)
{
	struct product p;
	expr x, y, sa, sb;

	TRY(product_space(l, a->v, b->v, &p));
	TRY(product_integers(l, &p, a->v, a->zero, b->v, b->zero, &x));
	TRY(product_parameter(l, a->scale, a->v, p.a, product_row(a->v), &sa));
	TRY(product_parameter(l, b->scale, b->v, p.b, product_column(b->v), &sb));
	y = mul(cast(acc(l, TYPE_I32), TYPE_F32), mul(wide(sa), wide(sb)));
	if (bias.given) {
		if (value_rank(bias) != 1)
			return lower_fail(l, ERR_MODEL, "the bias has %d axes; it must have one.", value_rank(bias));
		y = add(y, wide(load_list(bias, 1, p.column)));
	}
	lower_output(l, 0, lower_reduce(l, NULL, t, &p.s, p.rank, IR_SUM, x, y));
	return 0;
}

static int integer_lower(struct lower *l)
{
	struct operand a = { lower_input(l, 0), lower_input(l, 2), lower_input(l, 4) };
	struct operand b = { lower_input(l, 1), lower_input(l, 3), lower_input(l, 5) };

	return product(l, &a, &b, lower_input(l, 6), value_type(a.scale));
}

static int dynamic_lower(struct lower *l)
{
	static const char *const names[] = { "high", "low", "a_scale", "a_zero_point" };
	struct value x = lower_input(l, 0);
	struct operand b = { lower_input(l, 1), lower_input(l, 2), lower_input(l, 3) }, a;
	struct space s = space_of(l, x);
	bool reduced[IR_MAX_RANK];
	struct reduction r;
	struct quantize_range u8;
	expr y;

	reduce_from(reduced, s.rank, 0);
	r = reduce_space(l, x, reduced, false);
	u8 = quantize_range(l, names, &r.s, 0, load(x, r.index));
	y = quantize_element(divide(at(x, &s), at(u8.scale, &s)), at(u8.zero, &s), TYPE_U8);
	a = (struct operand){ lower_map(l, "a_quantized", TYPE_U8, &s, y), u8.scale, u8.zero };
	return product(l, &a, &b, lower_input(l, 4), TYPE_F32);
}

static int short_lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1), none = { 0 };
	struct product p;
	expr e;

	TRY(product_space(l, a, b, &p));
	TRY(product_integers(l, &p, a, none, b, none, &e));
	lower_output(l, 0, lower_reduce(l, NULL, TYPE_I32, &p.s, p.rank, IR_SUM, e, NULL));
	return 0;
}

/* clang-format off */
#define TS_SCALE (TS(F32) | TS(F16))

const struct op_def ops_matmul_dynamic[] = {
	{ .name = "MatMulIntegerToFloat", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = (a - a_zero_point) (b - b_zero_point) * a_scale * b_scale + bias",
	  .inputs = { IN("a", TS_Q8), IN("b", TS_Q8), IN("a_scale", TS_SCALE), IN("b_scale", TS_SCALE),
		      OPT("a_zero_point", TS_Q8), OPT("b_zero_point", TS_Q8), OPT("bias", TS_SCALE) },
	  .outputs = { OUT("y") }, .lower = integer_lower,
	  .cases = { "a:u8[M,256] b:i8[256,128] a_scale:f32[] b_scale:f32[128] a_zero_point:u8[] b_zero_point:i8[128] "
		     "bias:f32[128]" } },
	{ .name = "DynamicQuantizeMatMul", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = (quantized(a) - a_zero_point) (b - b_zero_point) * a_scale * b_scale + bias",
	  .inputs = { IN("a", TS(F32)), IN("b", TS_Q8), IN("b_scale", TS(F32)), OPT("b_zero_point", TS_Q8),
		      OPT("bias", TS(F32)) },
	  .outputs = { OUT("y") }, .lower = dynamic_lower,
	  .cases = { "a:f32[B,S,64] b:i8[64,96] b_scale:f32[] b_zero_point:i8[] bias:f32[96]" } },
	{ .name = "MatMulInteger16", .domain = "com.microsoft", .since = { 1 }, .formula = "y = a b, matrix product",
	  .inputs = { IN("a", TS(I16)), IN("b", TS(I16)) }, .outputs = { OUT("y") }, .lower = short_lower,
	  .cases = { "a:i16[M,64] b:i16[64,33]" } },
	{ .name = NULL },
};
/* clang-format on */
