/* MurmurHash3: each element's bytes, of four or eight, hashed to 32 bits.
 * Source: Austin Appleby's MurmurHash3_x86_32, in the public domain; ONNX Runtime, com.microsoft.MurmurHash3. Strings
 * are not supported. */
#include "ops/lower/lower.h"

static expr rotate(expr x, int by)
{
	return ir_binary(IR_BITOR, ir_binary(IR_SHL, x, with(x, by)), ir_binary(IR_SHR, x, with(x, 32 - by)));
}

static expr times(expr x, uint32_t factor)
{
	return mul(x, ir_int(x->pool, TYPE_U32, factor));
}

static expr mix(expr h, expr block)
{
	block = times(rotate(times(block, 0xcc9e2d51), 15), 0x1b873593);
	h = rotate(ir_binary(IR_BITXOR, h, block), 13);
	return add(times(h, 5), ir_int(h->pool, TYPE_U32, 0xe6546b64));
}

static expr fold(expr h, int by)
{
	return ir_binary(IR_BITXOR, h, ir_binary(IR_SHR, h, with(h, by)));
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = space_of(l, x);
	int bytes = type_info(value_type(x))->bits / 8;
	expr h = ir_int(l->program->pool, TYPE_U32, (int64_t)(uint32_t)lower_int(l, "seed")), e = at(x, &s);

	e = ir_bitcast(e, bytes == 8 ? TYPE_U64 : TYPE_U32);
	h = mix(h, cast(e, TYPE_U32));
	if (bytes == 8)
		h = mix(h, cast(ir_binary(IR_SHR, e, with(e, 32)), TYPE_U32));
	h = ir_binary(IR_BITXOR, h, with(h, bytes));
	h = times(fold(h, 16), 0x85ebca6b);
	h = fold(times(fold(h, 13), 0xc2b2ae35), 16);
	if (lower_int(l, "positive"))
		lower_output(l, 0, lower_map(l, NULL, TYPE_U32, &s, h));
	else
		lower_output(l, 0, lower_map(l, NULL, TYPE_I32, &s, ir_bitcast(h, TYPE_I32)));
	return 0;
}

const struct op_def op_murmur_hash = {
	.name = "MurmurHash3",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = MurmurHash3_x86_32 of the bytes of x",
	.inputs = { IN("x", TS(I32) | TS(U32) | TS(I64) | TS(U64) | TS(F32) | TS(F64)) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT("seed", 0, "what the hash begins with"), ATTR_INT("positive", 1, "0: a signed result") },
	.lower = lower,
	.cases = { "x:i32[N,33] seed=7", "x:i64[N] positive=0", "x:f32[N]" },
};
