/* SPDX-License-Identifier: Apache-2.0
 *
 * tpat_cpu.h: functions for kernels in C, the counterpart of tpat_device.h for a processor. C has no overloading, so
 * function names contain types: f16_of_f32(x), floor_div_index(a, b). Written for clarity; used only in
 * verification. */
/* clang-format off */
#ifndef TPAT_CPU_H
#define TPAT_CPU_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef i64 index_type;

typedef struct { u16 bits; } f16;
typedef struct { u16 bits; } bf16;
typedef struct { u8 bits; } f8e4m3fn;
typedef struct { u8 bits; } f8e4m3fnuz;
typedef struct { u8 bits; } f8e5m2;
typedef struct { u8 bits; } f8e5m2fnuz;
typedef struct { u8 bits; } f8e8m0;

/* Types narrower than a byte: a value has a byte of its own, elements in memory share one; pointers to them are
 * pointers to u8. */
typedef u8 u4;
typedef i8 i4;
typedef u8 u2;
typedef i8 i2;
typedef struct { u8 bits; } f4e2m1;

/* ---- Small floats: mantissa bits, bias, and values beyond the largest finite one. */

enum small_kind { SMALL_IEEE, SMALL_FN, SMALL_FNUZ, SMALL_FINITE /* neither infinity nor NaN */ };

static inline double small_decode(unsigned bits, int width, int mantissa, int bias, enum small_kind kind)
{
	unsigned sign = bits >> (width - 1) & 1, magnitude = bits & ((1u << (width - 1)) - 1);
	unsigned exponent = magnitude >> mantissa, fraction = magnitude & ((1u << mantissa) - 1);
	unsigned top = (1u << (width - 1 - mantissa)) - 1;
	double x;
	if (kind == SMALL_FNUZ && sign && !magnitude)
		return NAN;
	if (kind == SMALL_FN && magnitude == (1u << (width - 1)) - 1)
		return NAN;
	if (kind == SMALL_IEEE && exponent == top)
		x = fraction ? NAN : INFINITY;
	else if (exponent)
		x = ldexp((double)(fraction | 1u << mantissa), (int)exponent - bias - mantissa);
	else
		x = ldexp((double)fraction, 1 - bias - mantissa);
	return sign ? -x : x;
}

static inline unsigned small_encode(double x, int width, int mantissa, int bias, enum small_kind kind, bool saturate)
{
	unsigned sign = signbit(x) ? 1u << (width - 1) : 0, all = (1u << (width - 1)) - 1, top = all >> mantissa;
	unsigned nan = kind == SMALL_FNUZ ? 1u << (width - 1) : kind == SMALL_FN ? all :
		       (top << mantissa) | 1u << (mantissa - 1);
	unsigned largest = kind == SMALL_IEEE ? (top << mantissa) - 1 : kind == SMALL_FN ? all - 1 : all;
	unsigned over = saturate || kind == SMALL_FINITE ? largest : kind == SMALL_IEEE ? top << mantissa : nan;
	int exponent;
	if (isnan(x) && kind == SMALL_FINITE)
		return sign ^ 1u << (width - 1);
	if (isnan(x))
		return nan | (kind == SMALL_FNUZ ? 0 : sign);
	x = fabs(x);
	if (isinf(x))
		return over == nan && kind == SMALL_FNUZ ? nan : over | sign;
	frexp(x, &exponent); /* x = f * 2^exponent, 0.5 <= f < 1 */
	exponent = exponent - 1 > 1 - bias ? exponent - 1 : 1 - bias;
	double units = nearbyint(ldexp(x, mantissa - exponent)); /* of the last mantissa bit; to nearest even */
	unsigned magnitude = units == 0 ? 0 : (unsigned)(exponent + bias - 1) * (1u << mantissa) + (unsigned)units;
	if (units < (double)(1u << mantissa)) /* subnormal */
		magnitude = (unsigned)units;
	if (exponent + bias > (int)top + 1 || magnitude > largest)
		return over == nan && kind == SMALL_FNUZ ? nan : over | sign;
	return kind == SMALL_FNUZ && !magnitude ? 0 : magnitude | sign;
}

/* 2^(bits - 127); 255 is NaN. */
static inline double f64_of_f8e8m0(f8e8m0 x) { return x.bits == 255 ? NAN : ldexp(1, x.bits - 127); }

/* Rounds to nearest, ties up; out of range: the nearer end if `saturate`, whatever the sign, else NaN. */
static inline f8e8m0 round_f8e8m0(double x, bool saturate)
{
	int exponent;
	f8e8m0 y = { 255 };
	if (isnan(x) || (!saturate && !(x >= 0x1p-127 && x <= 0x1p127)))
		return y;
	double size = fmin(fmax(fabs(x), 0x1p-127), 0x1p127), half = frexp(size, &exponent); /* 0.5 <= half < 1 */
	y.bits = (u8)(exponent - 1 + (half >= 0.75) + 127);
	return y;
}
static inline f8e8m0 f8e8m0_of_f64(double x) { return round_f8e8m0(x, false); }
static inline f8e8m0 f8e8m0_sat_of_f64(double x) { return round_f8e8m0(x, true); }

#define SMALL_FLOAT(T, width, mantissa, bias, kind) \
	static inline double f64_of_##T(T x) { return small_decode(x.bits, width, mantissa, bias, kind); } \
	static inline T T##_of_f64(double x) \
	{ T y = { small_encode(x, width, mantissa, bias, kind, false) }; return y; } \
	static inline T T##_sat_of_f64(double x) \
	{ T y = { small_encode(x, width, mantissa, bias, kind, true) }; return y; }
SMALL_FLOAT(f16, 16, 10, 15, SMALL_IEEE)
SMALL_FLOAT(bf16, 16, 7, 127, SMALL_IEEE)
SMALL_FLOAT(f8e4m3fn, 8, 3, 7, SMALL_FN)
SMALL_FLOAT(f8e4m3fnuz, 8, 3, 8, SMALL_FNUZ)
SMALL_FLOAT(f8e5m2, 8, 2, 15, SMALL_IEEE)
SMALL_FLOAT(f8e5m2fnuz, 8, 2, 16, SMALL_FNUZ)
SMALL_FLOAT(f4e2m1, 4, 1, 1, SMALL_FINITE)

/* Converts a 64-bit integer to double, rounding to odd, so that a second rounding is the same as rounding once. */
static inline double odd_u64(u64 x)
{
	if (x >> 53) {
		int shift = 64 - 53 - __builtin_clzll(x);
		u64 low = x & (((u64)1 << shift) - 1);
		x = (x >> shift | (low != 0)) << shift;
	}
	return (double)x;
}
static inline double odd_i64(i64 x) { return x < 0 ? -odd_u64(0 - (u64)x) : odd_u64((u64)x); }

#define SMALL_TO_SMALL(T, S) \
	static inline T T##_of_##S(S x) { return T##_of_f64(f64_of_##S(x)); } \
	static inline T T##_sat_of_##S(S x) { return T##_sat_of_f64(f64_of_##S(x)); }
#define SMALL_OF_INT(T, S) static inline T T##_of_##S(S x) { return T##_of_f64(x); }
#define EACH_SMALL(WHAT, T) \
	WHAT(T, f16) WHAT(T, bf16) WHAT(T, f8e4m3fn) WHAT(T, f8e4m3fnuz) WHAT(T, f8e5m2) WHAT(T, f8e5m2fnuz) \
	WHAT(T, f8e8m0) WHAT(T, f4e2m1)
#define SMALL_CONVERSIONS(T) \
	static inline float f32_of_##T(T x) { return (float)f64_of_##T(x); } \
	static inline bool bool_of_##T(T x) { return f64_of_##T(x) != 0; } \
	static inline T T##_of_f32(float x) { return T##_of_f64(x); } \
	static inline T T##_sat_of_f32(float x) { return T##_sat_of_f64(x); } \
	SMALL_OF_INT(T, bool) SMALL_OF_INT(T, i2) SMALL_OF_INT(T, u2) SMALL_OF_INT(T, i4) SMALL_OF_INT(T, u4) \
	SMALL_OF_INT(T, i8) SMALL_OF_INT(T, u8) SMALL_OF_INT(T, i16) SMALL_OF_INT(T, u16) SMALL_OF_INT(T, i32) \
	SMALL_OF_INT(T, u32) \
	static inline T T##_of_i64(i64 x) { return T##_of_f64(odd_i64(x)); } \
	static inline T T##_of_u64(u64 x) { return T##_of_f64(odd_u64(x)); } \
	EACH_SMALL(SMALL_TO_SMALL, T)
SMALL_CONVERSIONS(f16) SMALL_CONVERSIONS(bf16) SMALL_CONVERSIONS(f8e4m3fn) SMALL_CONVERSIONS(f8e4m3fnuz)
SMALL_CONVERSIONS(f8e5m2) SMALL_CONVERSIONS(f8e5m2fnuz) SMALL_CONVERSIONS(f8e8m0) SMALL_CONVERSIONS(f4e2m1)

static inline double f64_of_f32(float x) { return x; }
static inline float f32_of_f64(double x) { return (float)x; }

/* ---- Floats to integers: truncate, saturate, NaN gives 0. */

#define INT_OF_FLOAT(T, low, high, S, F) \
	static inline T T##_of_##S(F x) \
	{ \
		return x != x ? 0 : x <= (double)(low) ? (low) : x >= (double)(high) ? (high) : (T)x; \
	}
#define INT_OF_SMALL(T, S) static inline T T##_of_##S(S x) { return T##_of_f64(f64_of_##S(x)); }
#define INT_TYPE(T, low, high) \
	INT_OF_FLOAT(T, low, high, f32, float) \
	INT_OF_FLOAT(T, low, high, f64, double) \
	EACH_SMALL(INT_OF_SMALL, T)
INT_TYPE(i8, INT8_MIN, INT8_MAX)
INT_TYPE(u8, 0, UINT8_MAX)
INT_TYPE(i16, INT16_MIN, INT16_MAX)
INT_TYPE(u16, 0, UINT16_MAX)
INT_TYPE(i32, INT32_MIN, INT32_MAX)
INT_TYPE(u32, 0, UINT32_MAX)
INT_TYPE(i64, INT64_MIN, INT64_MAX)
INT_TYPE(u64, 0, UINT64_MAX)
INT_TYPE(i4, -8, 7)
INT_TYPE(u4, 0, 15)
INT_TYPE(i2, -2, 1)
INT_TYPE(u2, 0, 3)

/* Integers to types that C lacks: wraps. */
#define NARROW_OF_INT(T, S) static inline T T##_of_##S(S x) { return T##_of_low((int)((u64)x & 15)); }
#define NARROW_TYPE(T, low, high) \
	static inline T T##_of_low(int x) \
	{ \
		x &= (high) - (low); \
		return (T)(x > (high) ? x - ((high) - (low) + 1) : x); \
	} \
	NARROW_OF_INT(T, bool) NARROW_OF_INT(T, i2) NARROW_OF_INT(T, u2) NARROW_OF_INT(T, i4) NARROW_OF_INT(T, u4) \
	NARROW_OF_INT(T, i8) NARROW_OF_INT(T, u8) NARROW_OF_INT(T, i16) NARROW_OF_INT(T, u16) \
	NARROW_OF_INT(T, i32) NARROW_OF_INT(T, u32) NARROW_OF_INT(T, i64) NARROW_OF_INT(T, u64)
NARROW_TYPE(i4, -8, 7)
NARROW_TYPE(u4, 0, 15)
NARROW_TYPE(i2, -2, 1)
NARROW_TYPE(u2, 0, 3)

/* ---- Elements narrower than a byte: element i of BITS bits; several elements start at a whole byte. CODE: the bits of
 * x. */

#define PACKED(T, BITS, CODE, VALUE) \
	static inline T load_##T(const u8 *p, i64 i) \
	{ \
		int code = p[i / (8 / BITS)] >> i % (8 / BITS) * BITS & ((1 << BITS) - 1); \
		T x = VALUE; \
		return x; \
	} \
	static inline void load_vector_##T(const u8 *p, i64 i, T *v, int n) \
	{ \
		for (int k = 0; k < n; k++) \
			v[k] = load_##T(p, i + k); \
	} \
	static inline void store_vector_##T(u8 *p, i64 i, const T *v, int n) \
	{ \
		memset(p + i / (8 / BITS), 0, (size_t)n / (8 / BITS)); \
		for (int k = 0; k < n; k++) { \
			T x = v[k]; \
			p[(i + k) / (8 / BITS)] |= (u8)((CODE & ((1 << BITS) - 1)) << (i + k) % (8 / BITS) * BITS); \
		} \
	}
PACKED(i4, 4, x, (i4)((code ^ 8) - 8))
PACKED(u4, 4, x, (u4)code)
PACKED(i2, 2, x, (i2)((code ^ 2) - 2))
PACKED(u2, 2, x, (u2)code)
PACKED(f4e2m1, 4, x.bits, { (u8)code })

/* ---- Arithmetic. */

#define ARITHMETIC(name, T, U, width) \
	static inline T min_##name(T a, T b) { return a < b ? a : b; } \
	static inline T max_##name(T a, T b) { return a > b ? a : b; } \
	static inline T shift_left_##name(T a, u64 n) { return n >= width ? 0 : (T)((u64)a << n); } \
	static inline T shift_right_##name(T a, u64 n) { return n >= width ? 0 : (T)(a >> n); } \
	static inline T ipow_##name(T base, T exponent) \
	{ \
		u64 result = 1; \
		if ((T)-1 < 0 && exponent < 1 && exponent != 0) \
			return base == 1 ? 1 : base == (T)-1 ? (exponent % 2 ? base : (T)1) : (T)0; \
		for (u64 b = (u64)base, e = (u64)exponent; e; e >>= 1, b *= b) \
			if (e & 1) \
				result *= b; \
		return (T)result; \
	}
#define SIGNED_DIVISION(name, T, U) \
	static inline T trunc_div_##name(T a, T b) { return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : a / b; } \
	static inline T trunc_rem_##name(T a, T b) { return b == 0 || b == -1 ? 0 : a % b; } \
	static inline T floor_div_##name(T a, T b) \
	{ \
		T q = trunc_div_##name(a, b); \
		return q - (b != 0 && trunc_rem_##name(a, b) != 0 && (a < 0) != (b < 0)); \
	} \
	static inline T floor_mod_##name(T a, T b) { return (T)((U)a - (U)floor_div_##name(a, b) * (U)b); } \
	static inline T abs_##name(T a) { return a < 0 ? (T)(0 - (U)a) : a; }
#define UNSIGNED_DIVISION(name, T) \
	static inline T trunc_div_##name(T a, T b) { return b == 0 ? 0 : a / b; } \
	static inline T trunc_rem_##name(T a, T b) { return b == 0 ? 0 : a % b; } \
	static inline T floor_div_##name(T a, T b) { return trunc_div_##name(a, b); } \
	static inline T floor_mod_##name(T a, T b) { return b == 0 ? a : a % b; }
ARITHMETIC(i8, i8, u8, 8) ARITHMETIC(u8, u8, u8, 8) ARITHMETIC(i16, i16, u16, 16) ARITHMETIC(u16, u16, u16, 16)
ARITHMETIC(i32, i32, u32, 32) ARITHMETIC(u32, u32, u32, 32) ARITHMETIC(i64, i64, u64, 64) ARITHMETIC(u64, u64, u64, 64)
ARITHMETIC(index, i64, u64, 64)
SIGNED_DIVISION(i8, i8, u8) SIGNED_DIVISION(i16, i16, u16) SIGNED_DIVISION(i32, i32, u32) SIGNED_DIVISION(i64, i64, u64)
SIGNED_DIVISION(index, i64, u64)
UNSIGNED_DIVISION(u8, u8) UNSIGNED_DIVISION(u16, u16) UNSIGNED_DIVISION(u32, u32) UNSIGNED_DIVISION(u64, u64)

/* Maximum and minimum: NaN if either is. */
static inline float nan_max_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float nan_min_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline double nan_max_f64(double a, double b) { return a > b || a != a ? a : b; }
static inline double nan_min_f64(double a, double b) { return a < b || a != a ? a : b; }

/* Reinterprets the bits as another type of the same size. */
#define BITS(T, C, S, D) static inline C T##_bits_of_##S(D x) { C y; memcpy(&y, &x, sizeof y); return y; }
BITS(i32, i32, f32, float) BITS(u32, u32, f32, float) BITS(f32, float, i32, i32) BITS(f32, float, u32, u32)
BITS(i64, i64, f64, double) BITS(u64, u64, f64, double) BITS(f64, double, i64, i64) BITS(f64, double, u64, u64)
BITS(i16, i16, f16, f16) BITS(u16, u16, f16, f16) BITS(f16, f16, i16, i16) BITS(f16, f16, u16, u16)
BITS(i16, i16, bf16, bf16) BITS(u16, u16, bf16, bf16) BITS(bf16, bf16, i16, i16) BITS(bf16, bf16, u16, u16)
BITS(bf16, bf16, f16, f16) BITS(f16, f16, bf16, bf16)
#define BITS_F8(T) BITS(i8, i8, T, T) BITS(u8, u8, T, T) BITS(T, T, i8, i8) BITS(T, T, u8, u8)
BITS_F8(f8e4m3fn) BITS_F8(f8e4m3fnuz) BITS_F8(f8e5m2) BITS_F8(f8e5m2fnuz) BITS_F8(f8e8m0)
BITS(u4, u4, f4e2m1, f4e2m1) BITS(f4e2m1, f4e2m1, u4, u4) BITS(u8, u8, bool, bool) BITS(i8, i8, bool, bool)
BITS(i8, i8, u8, u8) BITS(u8, u8, i8, i8) BITS(i16, i16, u16, u16) BITS(u16, u16, i16, i16)
BITS(i32, i32, u32, u32) BITS(u32, u32, i32, i32) BITS(i64, i64, u64, u64) BITS(u64, u64, i64, i64)

/* ---- Sorting: keys in the order of the values (-0 is 0, NaN larger than all numbers), and original positions. */

struct sort_item {
	u64 key;
	i64 place;
};

/* Allocates n items, and a buffer of the same size for sorting. Free it with free(). */
static inline struct sort_item *sort_new(i64 n)
{
	struct sort_item *item = malloc(2 * (size_t)n * sizeof *item + 1);
	if (!item)
		abort();
	return item;
}

/* Stable merge sort in ascending order of keys. */
static inline void sort_items(struct sort_item *item, i64 n)
{
	struct sort_item *from = item, *to = item + n;
	for (i64 width = 1; width < n; width *= 2) {
		for (i64 low = 0; low < n; low += 2 * width) {
			i64 middle = low + width < n ? low + width : n, high = middle + width < n ? middle + width : n;
			for (i64 i = low, a = low, b = middle; i < high; i++)
				to[i] = b == high || (a < middle && from[a].key <= from[b].key) ? from[a++] : from[b++];
		}
		struct sort_item *made = to;
		to = from;
		from = made;
	}
	if (from != item)
		memcpy(item, from, (size_t)n * sizeof *item);
}

static inline u64 key_of_bits(u64 bits, u64 sign, u64 infinity)
{
	u64 magnitude = bits & (sign - 1);
	return magnitude > infinity ? 2 * sign - 1 : bits & sign ? sign - magnitude : sign + magnitude;
}
#define KEYS(name, T, key) \
	static inline u64 key_ascending_##name(T x) { return (key); } \
	static inline u64 key_descending_##name(T x) { return ~(u64)(key); }
#define INT_KEYS(T) KEYS(T, T, (u64)(i64)x ^ (u64)1 << 63)
#define UINT_KEYS(T) KEYS(T, T, (u64)x)
INT_KEYS(i8) INT_KEYS(i16) INT_KEYS(i32) INT_KEYS(i64) KEYS(bool, bool, x) UINT_KEYS(u8) UINT_KEYS(u16) UINT_KEYS(u32)
UINT_KEYS(u64)
KEYS(f16, f16, key_of_bits(x.bits, 0x8000, 0x7c00)) KEYS(bf16, bf16, key_of_bits(x.bits, 0x8000, 0x7f80))
KEYS(f32, float, key_of_bits(u32_bits_of_f32(x), 0x80000000, 0x7f800000))
KEYS(f64, double, key_of_bits(u64_bits_of_f64(x), (u64)1 << 63, (u64)0x7ff << 52))

#endif
