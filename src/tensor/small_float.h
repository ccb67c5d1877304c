/* Converts floats narrower than f32 to and from double. Private to src/tensor/. Every function is inlined with a
 * constant format, so that a loop over one type has no table and no branch on the format. */
#ifndef TPAT_TENSOR_SMALL_FLOAT_H
#define TPAT_TENSOR_SMALL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct small_float {
	int mantissa, bias; /* mantissa bits; exponent bias */
	uint32_t sign;      /* the sign bit */
	uint32_t max;       /* code of the largest finite value */
	uint32_t infinity;  /* code of infinity; 0: none */
	uint32_t nan;       /* code of NaN when writing; 0: none */
	bool unsigned_zero; /* "FNUZ": the code of -0 is the only NaN */
	bool clamps;        /* cannot overflow: always the largest value */
};

/* Widths and special codes. Source: IEEE 754; ONNX, "Float stored in 8 bits" and "Float stored in 4 bits"; OCP MX
 * 1.0. */
static const struct small_float FLOAT_F16 = { 10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, false, false };
static const struct small_float FLOAT_BF16 = { 7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, false, false };
static const struct small_float FLOAT_F8E4M3FN = { 3, 7, 0x80, 0x7e, 0, 0x7f, false, false };
static const struct small_float FLOAT_F8E4M3FNUZ = { 3, 8, 0x80, 0x7f, 0, 0x80, true, false };
static const struct small_float FLOAT_F8E5M2 = { 2, 15, 0x80, 0x7b, 0x7c, 0x7e, false, false };
static const struct small_float FLOAT_F8E5M2FNUZ = { 2, 16, 0x80, 0x7f, 0, 0x80, true, false };
static const struct small_float FLOAT_F4E2M1 = { 1, 1, 0x8, 0x7, 0, 0, false, true };

#define SMALL_FLOAT_INLINE static inline __attribute__((always_inline))

SMALL_FLOAT_INLINE uint64_t double_bits(double x)
{
	uint64_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

SMALL_FLOAT_INLINE double double_from_bits(uint64_t u)
{
	double x;
	memcpy(&x, &u, sizeof x);
	return x;
}

/* 2^k for an exponent of normal doubles. */
SMALL_FLOAT_INLINE double double_power_of_two(int k)
{
	return double_from_bits((uint64_t)(1023 + k) << 52);
}

SMALL_FLOAT_INLINE uint32_t small_float_encode(struct small_float f, double x, bool saturate)
{
	uint64_t bits = double_bits(x), u = bits & INT64_MAX;
	uint32_t sign = bits >> 63 ? f.sign : 0, code;
	if (u > UINT64_C(0x7ff) << 52) /* a type without NaN gets a zero, signed as in ml_dtypes */
		return f.unsigned_zero ? f.nan : f.nan ? sign | f.nan : sign ^ f.sign;
	double least_normal = double_power_of_two(1 - f.bias), magnitude = double_from_bits(u);
	if (magnitude < least_normal) {
		/* The last bit of `aligner` equals the type's last subnormal bit, so the addition rounds. */
		double aligner = double_power_of_two(1 - f.bias + 52 - f.mantissa);
		code = (uint32_t)(double_bits(magnitude + aligner) - double_bits(aligner));
	} else {
		int drop = 52 - f.mantissa;
		u += ((UINT64_C(1) << (drop - 1)) - 1) + ((u >> drop) & 1);
		uint64_t wide = (u >> drop) - ((uint64_t)(1023 - f.bias) << f.mantissa);
		if (wide > f.max)
			wide = saturate || f.clamps ? f.max : f.infinity ? f.infinity : f.nan;
		code = (uint32_t)wide;
	}
	return f.unsigned_zero && (code == 0 || code == f.nan) ? code : sign | code;
}

SMALL_FLOAT_INLINE double small_float_decode(struct small_float f, uint32_t code)
{
	uint32_t magnitude = code & (f.sign - 1);
	uint64_t sign = code & f.sign ? UINT64_C(1) << 63 : 0, u;
	u = ((uint64_t)magnitude << (52 - f.mantissa)) + ((uint64_t)(1023 - f.bias) << 52);
	if (magnitude >> f.mantissa == 0)
		u = double_bits((double)(int32_t)magnitude * double_power_of_two(1 - f.bias - f.mantissa));
	if (magnitude > f.max)
		u = f.infinity && magnitude == f.infinity ? UINT64_C(0x7ff) << 52 : UINT64_C(0x7ff8) << 48;
	if (f.unsigned_zero && code == f.nan)
		return double_from_bits(UINT64_C(0x7ff8) << 48);
	return double_from_bits(sign | u);
}

/* E8M0: 2^(code - 127), 255 is NaN; no sign, no zero. Rounds to nearest, ties up, as ONNX Cast. With saturation drops
 * the sign and clamps; without it values out of range give NaN, even those that would round back into it. */
SMALL_FLOAT_INLINE uint32_t e8m0_encode(double x, bool saturate)
{
	uint64_t bits = double_bits(x), u = bits & INT64_MAX;
	uint64_t least = UINT64_C(896) << 52, most = UINT64_C(1150) << 52; /* 2^-127 and 2^127 */
	int64_t code = (int64_t)((u + (UINT64_C(1) << 51)) >> 52) - 1023 + 127;
	if (u > UINT64_C(0x7ff) << 52 || (!saturate && (bits >> 63 || u < least || u > most)))
		return 255;
	return code < 0 ? 0 : code > 254 ? 254 : (uint32_t)code;
}

SMALL_FLOAT_INLINE double e8m0_decode(uint32_t code)
{
	return double_from_bits(code == 255 ? UINT64_C(0x7ff8) << 48 : (uint64_t)(code + 1023 - 127) << 52);
}

/* Converts an integer to double, rounded to odd: a later rounding to fewer bits then equals a single rounding. */
SMALL_FLOAT_INLINE double double_of_magnitude(uint64_t m)
{
	if (m >> 53 == 0)
		return (double)m;
	int drop = 11 - __builtin_clzll(m);
	uint64_t sticky = (m & ((UINT64_C(1) << drop) - 1)) != 0;
	return (double)(m >> drop | sticky) * (double)(UINT64_C(1) << drop);
}

SMALL_FLOAT_INLINE double double_of_int(int64_t x)
{
	return x < 0 ? -double_of_magnitude(0 - (uint64_t)x) : double_of_magnitude((uint64_t)x);
}

#endif
