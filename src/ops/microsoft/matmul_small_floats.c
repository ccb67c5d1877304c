/* Products with weights of small floats that have a scale for each block of block_size numbers along K:
 *   MatMulBlockQuantizedFp8Weight: y[.., n] = sum over k of a[.., k] b[n, k] b_scale[n, block] + bias[n]; with
 *     a_scale, a is first rounded to a_scale times an fp8
 *   MatMulBlockQuantizedFp4Weight: b is e2m1, two to a byte, low bits first; scales are bytes of e4m3, times
 *     weight_scale_2
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/microsoft/packed_bytes.h"

/* The sum over `count` = K of a times weight(n, k), which is over `s`: a's leading axes, n, k. */
struct product {
	struct space s;
	int rank;
	expr a, n, k;
};

static int product_of(struct lower *l, struct value a, struct value b, expr count, struct product *p)
{
	expr index[IR_MAX_RANK];
	int64_t have, want;

	*p = (struct product){ .rank = value_rank(a) };
	if (p->rank < 1 || value_rank(b) != 2)
		return lower_fail(l, ERR_MODEL, "a has %d axes, and b %d; b must have two.", p->rank, value_rank(b));
	if (ir_const_int(value_dim(a, p->rank - 1), &have) && ir_const_int(count, &want) && have != want)
		return lower_fail(l, ERR_MODEL, "the last axis of a has %lld elements, and the weights %lld columns.",
		                  (long long)have, (long long)want);
	if (lower_int(l, "block_size") < 1)
		return lower_fail(l, ERR_MODEL, "block_size is %lld.", (long long)lower_int(l, "block_size"));
	for (int i = 0; i + 1 < p->rank; i++)
		index[i] = space_push(l, &p->s, value_dim(a, i));
	p->n = space_push(l, &p->s, value_dim(b, 0));
	p->k = index[p->rank - 1] = space_push(l, &p->s, count);
	p->a = wide(load(a, index));
	return 0;
}

static int finish(struct lower *l, const struct product *p, struct value bias, expr e)
{
	expr y = acc(l, TYPE_F32);

	if (bias.given && value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the bias has %d axes; it must have one.", value_rank(bias));
	if (bias.given)
		y = add(y, wide(load(bias, &p->n)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(lower_input(l, 0)), &p->s, p->rank, IR_SUM, e, y));
	return 0;
}

static int fp8_lower(struct lower *l)
{
	struct value b = lower_input(l, 1), scale = lower_input(l, 2), a_scale = lower_input(l, 3);
	struct product p;
	expr block, e, by;

	if (value_rank(scale) != 2 || value_rank(b) != 2)
		return lower_fail(l, ERR_MODEL, "b and b_scale have %d and %d axes; they must have two.", value_rank(b),
		                  value_rank(scale));
	TRY(product_of(l, lower_input(l, 0), b, value_dim(b, value_rank(b) - 1), &p));
	e = p.a;
	if (a_scale.given) {
		by = at_first(a_scale);
		e = divide(e, by); /* to the nearest; saturates */
		e = mul(cast(cast(clamp(e, with(e, -448), with(e, 448)), TYPE_F8E4M3FN), TYPE_F32), by);
	}
	block = floordiv(p.k, idx(l, lower_int(l, "block_size")));
	e = mul(e, mul(cast(load_list(b, 2, p.n, p.k), TYPE_F32), load_list(scale, 2, p.n, block)));
	return finish(l, &p, lower_input(l, 4), e);
}

/* The value of a 4-bit float: sign, two bits of exponent, one of fraction. */
static expr e2m1(expr bits)
{
	expr exponent = ir_binary(IR_BITAND, ir_binary(IR_SHR, bits, with(bits, 1)), with(bits, 3)), x;
	expr fraction = cast(ir_binary(IR_BITAND, bits, with(bits, 1)), TYPE_F32), power;

	power = cast(ir_binary(IR_SHL, with(bits, 1), max_(addi(exponent, -1), with(bits, 0))), TYPE_F32);
	x = mul(power, select_(eq(exponent, with(bits, 0)), mul(fraction, with(fraction, 0.5)),
	                       add(with(fraction, 1), mul(fraction, with(fraction, 0.5)))));
	return select_(ge(bits, with(bits, 8)), unary(IR_NEG, x), x);
}

static int fp4_lower(struct lower *l)
{
	struct value b = lower_input(l, 1), scale = lower_input(l, 2), global = lower_input(l, 3);
	struct product p;
	expr block, byte, e;

	if (value_rank(scale) != 2 || value_rank(b) != 2)
		return lower_fail(l, ERR_MODEL, "weights and scales must have two axes.");
	TRY(product_of(l, lower_input(l, 0), b, muli(value_dim(b, 1), 2), &p));
	byte = cast(load_list(b, 2, p.n, floordiv(p.k, packed_a_byte(p.k, 4))), TYPE_I32);
	byte = packed_half(byte, p.k, false);
	block = floordiv(p.k, idx(l, lower_int(l, "block_size")));
	e = cast(ir_bitcast(load_list(scale, 2, p.n, block), TYPE_F8E4M3FN), TYPE_F32);
	e = mul(p.a, mul(e2m1(byte), mul(e, at_first(global))));
	return finish(l, &p, lower_input(l, 5), e);
}

/* clang-format off */
const struct op_def ops_matmul_small_floats[] = {
	{ .name = "MatMulBlockQuantizedFp8Weight", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = a (b * b_scale of each block)' + bias",
	  .inputs = { IN("A", TS(F16) | TS(BF16)), IN("B", TS(F8E4M3FN)), IN("b_scale", TS(F32)),
		      OPT("a_scale", TS(F32)),
		      OPT("bias", TS(F16) | TS(BF16)) },
	  .outputs = { OUT("Y") }, .attrs = { ATTR_INT("block_size", 128, "numbers along K that share a scale") },
	  .lower = fp8_lower,
	  .cases = { "A:f16[B,S,64] B:f8e4m3fn[33,64] b_scale:f32[33,2] bias:f16[33] block_size=32",
		     "A:bf16[M,33] B:f8e4m3fn[7,33] b_scale:f32[7,3] a_scale:f32[] block_size=16" } },
	{ .name = "MatMulBlockQuantizedFp4Weight", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = a (e2m1(b) * e4m3(weight_scale of each block) * weight_scale_2)' + bias",
	  .inputs = { IN("A", TS(F16) | TS(BF16)), IN("B", TS(U8)), IN("weight_scale", TS(U8)),
		      IN("weight_scale_2", TS(F32)),
		      OPT("input_scale", TS(F32)), OPT("bias", TS(F16) | TS(BF16)) },
	  .outputs = { OUT("Y") }, .attrs = { ATTR_INT("block_size", 16, "numbers along K that share a scale") },
	  .lower = fp4_lower,
	  .cases = { "A:f16[B,S,64] B:u8[33,32] weight_scale:u8[33,4] weight_scale_2:f32[] bias:f16[33]" } },
	{ .name = NULL },
};
/* clang-format on */
