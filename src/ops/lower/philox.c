/* Philox4x32-10 over integer expressions, and uniform and normal draws from its words. No state is kept between runs:
 * a node draws the same numbers each time it runs. Source: Salmon, Moraes, Dror, Shaw: Parallel random numbers: as
 * easy as 1, 2, 3 (SC 2011), for the rounds and their constants; Box and Muller: A note on the generation of random
 * normal deviates (1958). */
#include "ops/lower/philox.h"

#include <string.h>

enum { ROUNDS = 10 };

static expr word_of(expr like, uint32_t x)
{
	return ir_int(like->pool, TYPE_U32, x);
}

static expr low_half(expr x)
{
	return cast(x, TYPE_U32);
}

static expr high_half(expr x)
{
	return cast(ir_binary(IR_SHR, x, with(x, 32)), TYPE_U32);
}

static expr wide_product(expr x, uint32_t factor)
{
	return mul(cast(x, TYPE_U64), ir_int(x->pool, TYPE_U64, factor));
}

static expr exclusive_or(expr a, expr b, uint32_t key)
{
	return ir_binary(IR_BITXOR, ir_binary(IR_BITXOR, a, b), word_of(a, key));
}

void philox(uint64_t key, expr counter, uint64_t stream, expr word[4])
{
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

	word[0] = low_half(counter);
	word[1] = high_half(counter);
	word[2] = word_of(counter, (uint32_t)stream);
	word[3] = word_of(counter, (uint32_t)(stream >> 32));
	for (int i = 0; i < ROUNDS; i++) {
		expr a = wide_product(word[0], 0xd2511f53), b = wide_product(word[2], 0xcd9e8d57);

		word[0] = exclusive_or(high_half(b), word[1], k0);
		word[1] = low_half(b);
		word[2] = exclusive_or(high_half(a), word[3], k1);
		word[3] = low_half(a);
		k0 += 0x9e3779b9;
		k1 += 0xbb67ae85;
	}
}

/* FNV-1a. */
static uint64_t hash_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3;
	return h;
}

uint64_t random_key(struct lower *l)
{
	const struct attr_value *seed = lower_attr(l, "seed");
	float f;
	uint32_t bits;

	l->random = true;
	if (!seed)
		return hash_name(l->name ? l->name : "");
	if (seed->kind == OP_INT)
		return (uint64_t)seed->i;
	f = (float)seed->f;
	memcpy(&bits, &f, sizeof bits);
	return bits;
}

/* The bits of two words, or of one, as a number in [0, 1). */
static expr fraction(enum type t, expr high, expr low)
{
	expr bits;

	if (t != TYPE_F64)
		return mul(cast(ir_binary(IR_SHR, high, with(high, 8)), t), ir_float(high->pool, t, 0x1p-24));
	bits = cast(high, TYPE_U64);
	bits = ir_binary(IR_BITOR, ir_binary(IR_SHL, bits, with(bits, 32)), cast(low, TYPE_U64));
	return mul(cast(ir_binary(IR_SHR, bits, with(bits, 11)), t), ir_float(high->pool, t, 0x1p-53));
}

expr random_uniform(enum type t, uint64_t key, expr position)
{
	expr word[4];

	philox(key, cast(position, TYPE_U64), 0, word);
	return fraction(t, word[0], word[1]);
}

expr random_normal(enum type t, uint64_t key, expr position)
{
	expr word[4], u, v;

	philox(key, cast(position, TYPE_U64), 0, word);
	u = fraction(t, word[0], word[1]);
	v = fraction(t, word[2], word[3]);
	u = unary(IR_LOG, sub(with(u, 1), u)); /* in (0, 1]: never the logarithm of zero */
	v = unary(IR_COS, mul(v, with(v, 2 * 3.14159265358979323846)));
	return mul(unary(IR_SQRT, mul(u, with(u, -2))), v);
}

int random_type(struct lower *l, uint32_t types, enum type absent, enum type *out)
{
	int64_t asked = lower_int(l, "dtype");

	*out = lower_has(l, "dtype") && asked > 0 && asked < TYPE_COUNT ? (enum type)asked : absent;
	if (lower_has(l, "dtype") && *out != (enum type)asked)
		return lower_fail(l, ERR_MODEL, "dtype %lld is not the number of a type.", (long long)asked);
	if (!(types & 1u << *out))
		return lower_fail(l, ERR_UNSUPPORTED, "random values of type %s are not supported.", type_name(*out));
	return 0;
}
