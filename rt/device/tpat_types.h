/* SPDX-License-Identifier: Apache-2.0
 * tpat_types.h: the element types of generated kernels, conversions between them, and arithmetic that CUDA C lacks.
 * Part of tpat_device.h, which lists the compilers. */
#ifndef TPAT_TYPES_H
#define TPAT_TYPES_H

#define TPAT_FN __device__ __forceinline__

#ifdef __CUDA_ARCH__
#define TPAT_ARCH __CUDA_ARCH__
#else
#define TPAT_ARCH 0 /* emulator, and nvcc's host pass */
#endif

/* ---- Types ------------------------------------------------------------------------------------------------------- */

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

/* Small floats hold their bits; arithmetic goes through to_f32(). */
struct f16 {
	u16 bits;
};
struct bf16 {
	u16 bits;
};
struct f8e4m3fn {
	u8 bits;
};
struct f8e4m3fnuz {
	u8 bits;
};
struct f8e5m2 {
	u8 bits;
};
struct f8e5m2fnuz {
	u8 bits;
};
struct f8e8m0 {
	u8 bits;
}; /* 2^(bits - 127) */

/* Types narrower than a byte. A value has a byte of its own; in memory 8 / BITS elements share one, the first in the
 * low bits. Pointers to them are pointers to u8: see load_u4() and store_u4(). */
typedef u8 u4;
typedef i8 i4;
typedef u8 u2;
typedef i8 i2;
struct f4e2m1 {
	u8 bits;
};

/* ---- To float and double: exact ---------------------------------------------------------------------------------- */

TPAT_FN float as_float(u32 bits) { return __uint_as_float(bits); }
TPAT_FN u32 as_bits(float x) { return __float_as_uint(x); }

/* Converts a small float with MANT mantissa bits, ignoring special values. */
template <int MANT, int BIAS> TPAT_FN float unpack_float(u32 magnitude, bool negative)
{
	const u32 exponent = magnitude >> MANT;
	const u32 denormal_unit = (u32)(127 + 1 - BIAS - MANT) << 23; /* 2^(1 - BIAS - MANT) */
	const float x = exponent ? as_float((magnitude << (23 - MANT)) + ((u32)(127 - BIAS) << 23))
	                         : (float)magnitude * as_float(denormal_unit);
	return negative ? -x : x;
}

template <class T> TPAT_FN float to_f32(T x) { return (float)x; } /* types that C has */

TPAT_FN float to_f32(f16 x)
{
#if TPAT_ARCH
	float y;
	asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
	return y;
#else
	const u32 m = x.bits & 0x7fff;
	const float y = m < 0x7c00 ? unpack_float<10, 15>(m, false) : as_float(0x7f800000 | (m & 0x3ff) << 13);
	return x.bits & 0x8000 ? -y : y;
#endif
}

TPAT_FN float to_f32(bf16 x) { return as_float((u32)x.bits << 16); }

TPAT_FN float to_f32(f8e4m3fn x)
{
	const u32 m = x.bits & 0x7f;
	return m == 0x7f ? as_float(0x7fc00000) : unpack_float<3, 7>(m, x.bits & 0x80);
}

TPAT_FN float to_f32(f8e4m3fnuz x)
{
	return x.bits == 0x80 ? as_float(0x7fc00000) : unpack_float<3, 8>(x.bits & 0x7f, x.bits & 0x80);
}

TPAT_FN float to_f32(f8e5m2 x) { return to_f32(f16{ (u16)(x.bits << 8) }); }

TPAT_FN float to_f32(f8e5m2fnuz x)
{
	return x.bits == 0x80 ? as_float(0x7fc00000) : unpack_float<2, 16>(x.bits & 0x7f, x.bits & 0x80);
}

TPAT_FN float to_f32(f8e8m0 x)
{
	return as_float(x.bits == 0xff ? 0x7fc00000 : x.bits ? (u32)x.bits << 23 : 0x00400000);
}

TPAT_FN float to_f32(f4e2m1 x) { return unpack_float<1, 1>(x.bits & 7, x.bits & 8); }

/* Exact: puts the byte into the low bits of 2^23 and subtracts that. The GPU's conversion has at most a quarter of the
 * throughput. */
TPAT_FN float byte_to_f32(u8 x) { return as_float(0x4b000000u | x) - 8388608.0f; }
TPAT_FN float byte_to_f32(i8 x) { return as_float(0x4b000000u | (u8)(x ^ 0x80)) - 8388736.0f; }

template <class T> struct is_small_float {
	static const bool value = false;
};
template <> struct is_small_float<f16> {
	static const bool value = true;
};
template <> struct is_small_float<bf16> {
	static const bool value = true;
};
template <> struct is_small_float<f8e4m3fn> {
	static const bool value = true;
};
template <> struct is_small_float<f8e4m3fnuz> {
	static const bool value = true;
};
template <> struct is_small_float<f8e5m2> {
	static const bool value = true;
};
template <> struct is_small_float<f8e5m2fnuz> {
	static const bool value = true;
};
template <> struct is_small_float<f8e8m0> {
	static const bool value = true;
};
template <> struct is_small_float<f4e2m1> {
	static const bool value = true;
};

template <class T> TPAT_FN double to_f64(T x)
{
	if constexpr (is_small_float<T>::value)
		return to_f32(x);
	else
		return (double)x;
}

/* ---- To small floats: one rounding, to nearest even -------------------------------------------------------------- */

/* Rounding in two steps is correct if the first one rounds to odd: inexact results get their last bit set. Every
 * conversion to a small float goes through such a float. */
TPAT_FN float odd_float(float x) { return x; }

TPAT_FN float odd_float(double x)
{
	const float y = (float)x;
	if ((double)y == x || x != x)
		return y;
	const double size = x < 0 ? -x : x, rounded = y < 0 ? -(double)y : (double)y;
	const u32 bits = as_bits(y);
	return as_float((rounded > size ? bits - 1 : bits) | 1);
}

TPAT_FN float odd_float(u64 x)
{
	if (x >> 53) /* to 53 bits, to odd: then it fits a double */
		x = (x & ~(u64)0x7ff) | (u64)((x & 0x7ff) != 0) << 11;
	return odd_float((double)x);
}

template <class T> TPAT_FN float odd_float(T x)
{
	if constexpr (is_small_float<T>::value)
		return to_f32(x);
	else if constexpr (sizeof(T) < 4)
		return (float)x;
	else if constexpr (sizeof(T) == 4)
		return odd_float((double)x);
	else
		return x < 0 ? -odd_float(0 - (u64)x) : odd_float((u64)x);
}

/* Rounds finite |x| to a float format's bits; larger magnitudes continue past its largest exponent. */
template <int MANT, int BIAS> TPAT_FN u32 round_magnitude(float x)
{
	const u32 bits = as_bits(x) & 0x7fffffff;
	if (bits >= (u32)(127 - BIAS + 1) << 23) {
		const u32 shifted = bits - ((u32)(127 - BIAS) << 23);
		return (shifted + ((1u << (22 - MANT)) - 1) + (shifted >> (23 - MANT) & 1)) >> (23 - MANT);
	}
	/* Denormal in that format: adding 2^23 of its units leaves the rounded number of units in the low bits. */
	const float magic = as_float((u32)(127 + 1 - BIAS - MANT + 23) << 23);
	return as_bits(as_float(bits) + magic) - as_bits(magic);
}

TPAT_FN f16 round_f16(float x)
{
	f16 y;
#if TPAT_ARCH
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
	const u32 m = x - x == 0 ? round_magnitude<10, 15>(x) : x != x ? 0x7fff : 0x7c00;
	y.bits = x != x ? 0x7fff : (u16)((m < 0x7c00 ? m : 0x7c00) | (as_bits(x) >> 16 & 0x8000));
#endif
	return y;
}

TPAT_FN bf16 round_bf16(float x)
{
	bf16 y;
#if TPAT_ARCH >= 800
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#else
	const u32 bits = as_bits(x);
	y.bits = x != x ? 0x7fff : (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
	return y;
}

/* ONNX's Cast: values beyond the LARGEST finite one (and infinity) become LARGEST if `saturate`, else OVER. */
template <int MANT, int BIAS, u32 LARGEST, u32 OVER> TPAT_FN u32 round_f8(float x, bool saturate)
{
	const u32 m = x - x == 0 ? round_magnitude<MANT, BIAS>(x) : 0xff;
	return m <= LARGEST ? m : saturate ? LARGEST : OVER;
}

TPAT_FN u32 sign_f8(float x) { return as_bits(x) >> 24 & 0x80; }

TPAT_FN f8e4m3fn round_f8e4m3fn(float x, bool saturate)
{
	return f8e4m3fn{ (u8)(x != x ? 0x7f : round_f8<3, 7, 0x7e, 0x7f>(x, saturate) | sign_f8(x)) };
}

TPAT_FN f8e5m2 round_f8e5m2(float x, bool saturate)
{
	return f8e5m2{ (u8)(x != x ? 0x7f : round_f8<2, 15, 0x7b, 0x7c>(x, saturate) | sign_f8(x)) };
}

/* FNUZ: no infinity, no negative zero; 0x80 is the one NaN. */
TPAT_FN u8 sign_fnuz(u32 m, float x) { return (u8)(m == 0 || m == 0x80 ? m : m | sign_f8(x)); }

TPAT_FN f8e4m3fnuz round_f8e4m3fnuz(float x, bool saturate)
{
	return f8e4m3fnuz{ sign_fnuz(x != x ? 0x80 : round_f8<3, 8, 0x7f, 0x80>(x, saturate), x) };
}

TPAT_FN f8e5m2fnuz round_f8e5m2fnuz(float x, bool saturate)
{
	return f8e5m2fnuz{ sign_fnuz(x != x ? 0x80 : round_f8<2, 16, 0x7f, 0x80>(x, saturate), x) };
}

/* Rounds to the nearest power of two, ties up; out of range: the nearer end if `saturate`, whatever the sign, else
 * NaN. */
TPAT_FN f8e8m0 round_f8e8m0(float x, bool saturate)
{
	const u32 m = as_bits(x) & 0x7fffffff, least = 0x00400000, most = 0x7f000000; /* 2^-127, which is denormal;
	                                                                                 2^127 */
	const bool outside = m < least || m > most || m != as_bits(x);
	const u32 code = m < 2 * least ? m >= least + least / 2 : (m + least) >> 23;
	return f8e8m0{ (u8)(x != x || (outside && !saturate) ? 255 : code < 254 ? code : 254) };
}

/* The type has neither infinity nor NaN: larger values saturate, NaN becomes a zero of the other sign. */
TPAT_FN f4e2m1 round_f4e2m1(float x)
{
	const u32 sign = as_bits(x) >> 28 & 8, m = x - x == 0 ? round_magnitude<1, 1>(x) : 7;
	return f4e2m1{ (u8)(x != x ? sign ^ 8 : sign | (m < 7 ? m : 7)) };
}

/* From any element type. */
template <class T> TPAT_FN f16 to_f16(T x) { return round_f16(odd_float(x)); }
/* Clamped to integers that f32 holds exactly, or that become infinity. */
TPAT_FN f16 to_f16(i32 x) { return round_f16((float)(x > 1 << 17 ? 1 << 17 : x < -(1 << 17) ? -(1 << 17) : x)); }
TPAT_FN f16 to_f16(u32 x) { return to_f16((i32)(x > 1u << 17 ? 1u << 17 : x)); }
TPAT_FN f16 to_f16(i64 x) { return round_f16((float)(i32)(x > 1 << 17 ? 1 << 17 : x < -(1 << 17) ? -(1 << 17) : x)); }
TPAT_FN f16 to_f16(u64 x) { return to_f16((i32)(x > 1u << 17 ? 1u << 17 : x)); }
template <class T> TPAT_FN bf16 to_bf16(T x) { return round_bf16(odd_float(x)); }
template <class T> TPAT_FN f8e4m3fn to_f8e4m3fn(T x) { return round_f8e4m3fn(odd_float(x), false); }
template <class T> TPAT_FN f8e4m3fn to_f8e4m3fn_sat(T x) { return round_f8e4m3fn(odd_float(x), true); }
template <class T> TPAT_FN f8e4m3fnuz to_f8e4m3fnuz(T x) { return round_f8e4m3fnuz(odd_float(x), false); }
template <class T> TPAT_FN f8e4m3fnuz to_f8e4m3fnuz_sat(T x) { return round_f8e4m3fnuz(odd_float(x), true); }
template <class T> TPAT_FN f8e5m2 to_f8e5m2(T x) { return round_f8e5m2(odd_float(x), false); }
template <class T> TPAT_FN f8e5m2 to_f8e5m2_sat(T x) { return round_f8e5m2(odd_float(x), true); }
template <class T> TPAT_FN f8e5m2fnuz to_f8e5m2fnuz(T x) { return round_f8e5m2fnuz(odd_float(x), false); }
template <class T> TPAT_FN f8e5m2fnuz to_f8e5m2fnuz_sat(T x) { return round_f8e5m2fnuz(odd_float(x), true); }

template <class T> TPAT_FN f8e8m0 to_f8e8m0(T x) { return round_f8e8m0(odd_float(x), false); }
template <class T> TPAT_FN f8e8m0 to_f8e8m0_sat(T x) { return round_f8e8m0(odd_float(x), true); }
template <class T> TPAT_FN f4e2m1 to_f4e2m1(T x) { return round_f4e2m1(odd_float(x)); }
template <class T> TPAT_FN f4e2m1 to_f4e2m1_sat(T x) { return round_f4e2m1(odd_float(x)); }

/* ---- To integers: floats truncate, saturate, and NaN gives 0; integers wrap -------------------------------------- */

template <class T> struct limits {
	static const bool is_signed = (T)-1 < (T)0;
	static const T highest = (T)(is_signed ? ((u64)1 << (8 * sizeof(T) - 1)) - 1 : ~(u64)0);
	static const T lowest = (T)(is_signed ? (u64)1 << (8 * sizeof(T) - 1) : 0);
};

template <class I, class F> TPAT_FN I truncate_to(F x)
{
#if TPAT_ARCH
	if constexpr (sizeof(I) >= 4) /* cvt.rzi saturates; NaN gives 0 only from f32 to 32 bits */
		return (sizeof(I) > 4 || sizeof(F) > 4) && x != x ? (I)0 : (I)x;
#endif
	const I lowest = limits<I>::lowest, highest = limits<I>::highest;
	return x != x ? (I)0 : x <= (F)lowest ? lowest : x >= (F)highest ? highest : (I)x;
}

template <class I> TPAT_FN I to_integer(float x) { return truncate_to<I>(x); }
template <class I> TPAT_FN I to_integer(double x) { return truncate_to<I>(x); }
template <class I, class T> TPAT_FN I to_integer(T x)
{
	if constexpr (is_small_float<T>::value)
		return truncate_to<I>(to_f32(x));
	else
		return (I)x;
}

template <class T> TPAT_FN i8 to_i8(T x) { return to_integer<i8>(x); }
template <class T> TPAT_FN u8 to_u8(T x) { return to_integer<u8>(x); }
template <class T> TPAT_FN i16 to_i16(T x) { return to_integer<i16>(x); }
template <class T> TPAT_FN u16 to_u16(T x) { return to_integer<u16>(x); }
template <class T> TPAT_FN i32 to_i32(T x) { return to_integer<i32>(x); }
template <class T> TPAT_FN u32 to_u32(T x) { return to_integer<u32>(x); }
template <class T> TPAT_FN i64 to_i64(T x) { return to_integer<i64>(x); }
template <class T> TPAT_FN u64 to_u64(T x) { return to_integer<u64>(x); }

/* Rounds to the nearest integer, ties to even; saturates; NaN gives 0. */
#if TPAT_ARCH
#define TPAT_ROUND_TO(T, instruction) \
	TPAT_FN T round_to_##T(float x) \
	{ \
		int y; \
		asm(instruction " %0, %1;" : "=r"(y) : "f"(x)); \
		return (T)y; \
	}
#else
#define TPAT_ROUND_TO(T, instruction) \
	TPAT_FN T round_to_##T(float x) { return to_integer<T>(rintf(x)); }
#endif
TPAT_ROUND_TO(i8, "cvt.rni.sat.s8.f32")
TPAT_ROUND_TO(u8, "cvt.rni.sat.u8.f32")
TPAT_ROUND_TO(i16, "cvt.rni.sat.s16.f32")
TPAT_ROUND_TO(u16, "cvt.rni.sat.u16.f32")
#undef TPAT_ROUND_TO

/* LOW and HIGH: the bounds of an integer type that C lacks. */
template <int LOW, int HIGH> TPAT_FN int to_narrow(double x)
{
	return x != x ? 0 : x <= LOW ? LOW : x >= HIGH ? HIGH : (int)x;
}
template <int LOW, int HIGH> TPAT_FN int to_narrow(float x)
{
	return x != x ? 0 : x <= LOW ? LOW : x >= HIGH ? HIGH : (int)x;
}
template <int LOW, int HIGH, class T> TPAT_FN int to_narrow(T x)
{
	if constexpr (is_small_float<T>::value) {
		return to_narrow<LOW, HIGH>(to_f32(x));
	} else {
		const int low = (int)x & (HIGH - LOW);
		return low > HIGH ? low - (HIGH - LOW + 1) : low;
	}
}

template <class T> TPAT_FN i4 to_i4(T x) { return (i4)to_narrow<-8, 7>(x); }
template <class T> TPAT_FN u4 to_u4(T x) { return (u4)to_narrow<0, 15>(x); }
template <class T> TPAT_FN i2 to_i2(T x) { return (i2)to_narrow<-2, 1>(x); }
template <class T> TPAT_FN u2 to_u2(T x) { return (u2)to_narrow<0, 3>(x); }

template <class T> TPAT_FN bool to_bool(T x)
{
	if constexpr (is_small_float<T>::value)
		return to_f32(x) != 0.0f;
	else
		return x != (T)0;
}

/* Reinterprets the bits as another type of the same size. */
template <class T, class S> TPAT_FN T bit_cast_to(S x)
{
	static_assert(sizeof(T) == sizeof(S), "one size");
	union U {
		S from;
		T to;
		TPAT_FN U() {}
	} u;
	u.from = x;
	return u.to;
}

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

/* Rounds toward minus infinity; division by zero gives 0. */
TPAT_FN u32 floor_div(u32 a, u32 b) { return b == 0 ? 0 : a / b; }
TPAT_FN u64 floor_div(u64 a, u64 b) { return b == 0 ? 0 : a / b; }
TPAT_FN int floor_div(int a, int b)
{
	if (b == 0 || b == -1)
		return b == 0 ? 0 : (int)(0 - (u32)a); /* the lowest number wraps */
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
TPAT_FN i64 floor_div(i64 a, i64 b)
{
	if (b == 0 || b == -1)
		return b == 0 ? 0 : (i64)(0 - (u64)a);
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
TPAT_FN i64 floor_div(i64 a, int b) { return floor_div(a, (i64)b); }
TPAT_FN i64 floor_div(int a, i64 b) { return floor_div((i64)a, b); }

/* a - floor_div(a, b) * b: has the sign of b; a if b is zero. */
TPAT_FN u32 floor_mod(u32 a, u32 b) { return b == 0 ? a : a % b; }
TPAT_FN u64 floor_mod(u64 a, u64 b) { return b == 0 ? a : a % b; }
TPAT_FN int floor_mod(int a, int b) { return (int)((u32)a - (u32)floor_div(a, b) * (u32)b); }
TPAT_FN i64 floor_mod(i64 a, i64 b) { return (i64)((u64)a - (u64)floor_div(a, b) * (u64)b); }
TPAT_FN i64 floor_mod(i64 a, int b) { return floor_mod(a, (i64)b); }
TPAT_FN i64 floor_mod(int a, i64 b) { return floor_mod((i64)a, b); }

/* Converts a tensor's value to a 32-bit position; clamps, so that a value out of range never becomes a valid
 * position. */
TPAT_FN int to_index(i64 x) { return (int)(x < -2147483647LL ? -2147483647LL : x > 2147483647LL ? 2147483647LL : x); }
TPAT_FN int to_index(u64 x) { return (int)(x > 2147483647ull ? 2147483647ull : x); }
TPAT_FN int to_index(u32 x) { return (int)(x > 2147483647u ? 2147483647u : x); }

/* Rounds toward zero; division by zero gives 0. */
template <class T> TPAT_FN T trunc_div(T a, T b)
{
	if (b == 0 || (limits<T>::is_signed && b == (T)-1))
		return b == 0 ? (T)0 : (T)(0 - (u64)a); /* the lowest number wraps */
	return a / b;
}
template <class T> TPAT_FN T trunc_rem(T a, T b)
{
	return b == 0 || (limits<T>::is_signed && b == (T)-1) ? (T)0 : (T)(a % b);
}

/* Shifts; 0 for a shift by the type's width or more. */
template <class T, class N> TPAT_FN T shift_left(T a, N n) { return (u64)n >= sizeof(T) * 8 ? (T)0 : (T)((u64)a << n); }
template <class T, class N> TPAT_FN T shift_right(T a, N n) { return (u64)n >= sizeof(T) * 8 ? (T)0 : (T)(a >> n); }

/* -x, wrapping. Compiled as ~x + 1, since ptxas of CUDA 13.0, for sm_90, loses the sign of an operand in max(max(a,
 * -b), c). */
TPAT_FN int neg(int x)
{
#ifdef TPAT_EMULATOR
	return (int)(0u - (u32)x);
#else
	int y;
	asm("{ .reg .b32 t; not.b32 t, %1; add.s32 %0, t, 1; }" : "=r"(y) : "r"(x));
	return y;
#endif
}
TPAT_FN u32 neg(u32 x) { return (u32)neg((int)x); }
TPAT_FN u64 neg(u64 x) { return 0 - x; }
TPAT_FN i64 neg(i64 x) { return (i64)neg((u64)x); }

/* Maximum and minimum: NaN if either is. */
template <class T> TPAT_FN T nan_max(T a, T b) { return a > b || a != a ? a : b; }
template <class T> TPAT_FN T nan_min(T a, T b) { return a < b || a != a ? a : b; }
#if TPAT_ARCH >= 800
TPAT_FN float nan_max(float a, float b)
{
	float y;
	asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
	return y;
}
TPAT_FN float nan_min(float a, float b)
{
	float y;
	asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
	return y;
}
#endif

/* a / b, for many a and one b: parts that depend only on b are computed once, and no slow path diverges. Correctly
 * rounded unless the remainder underflows, for a below 2^-102 times b's power of two: there within one unit in the last
 * place. Source: Brisebarre, Muller, Raina, Accelerating Correctly Rounded Floating-Point Division When the Divisor Is
 * Known in Advance (2004). */
TPAT_FN float quotient(float a, float b)
{
	const float size = fabsf(b); /* scaled so that its reciprocal is normal; signed_scale has the sign, for zeros */
	const float scale = size < 0x1p-100f ? 0x1p64f : size > 0x1p100f ? 0x1p-64f : 1.0f;
	const float divisor = size * scale, reciprocal = 1.0f / divisor, signed_scale = copysignf(scale, b);
	const float dividend = a * signed_scale, q = dividend * reciprocal;
	const float corrected = fmaf(fmaf(divisor, q, -dividend), -reciprocal, q);
	return corrected == corrected ? corrected : q; /* infinities, zeros and NaN have no remainder */
}

/* Approximate, one GPU instruction: results below 2^-126 are 0. Exact on the emulator. */
#ifdef TPAT_EMULATOR
#define TPAT_ROUGH(name, instruction, exactly) \
	TPAT_FN float name(float x) { return exactly; }
#else
#define TPAT_ROUGH(name, instruction, exactly) \
	TPAT_FN float name(float x) \
	{ \
		float y; \
		asm(instruction " %0, %1;" : "=f"(y) : "f"(x)); \
		return y; \
	}
#endif
TPAT_ROUGH(rough_exp2, "ex2.approx.ftz.f32", exp2f(x))
TPAT_ROUGH(rough_log2, "lg2.approx.ftz.f32", log2f(x))
TPAT_ROUGH(rough_reciprocal, "rcp.approx.ftz.f32", 1.0f / x)
#undef TPAT_ROUGH

/* 1 / x for x of at least 2^-126, or NaN: no slow path diverges, so that several overlap. Correctly rounded; below
 * 2^-126 within one unit in the last place. */
TPAT_FN float reciprocal(float x)
{
	const float y = rough_reciprocal(x), denormal = 0.25f * rough_reciprocal(0.25f * x);
	return x > 0x1p126f ? denormal : fmaf(fmaf(-x, y, 1.0f), y, y);
}

/* For f16, rounded once. */
#if TPAT_ARCH
#define TPAT_HALF(name, instruction, operator) \
	TPAT_FN f16 name(f16 a, f16 b) \
	{ \
		f16 y; \
		asm(instruction " %0, %1, %2;" : "=h"(y.bits) : "h"(a.bits), "h"(b.bits)); \
		return y; \
	}
#else
#define TPAT_HALF(name, instruction, operator) \
	TPAT_FN f16 name(f16 a, f16 b) { return round_f16(to_f32(a) operator to_f32(b)); }
#endif
TPAT_HALF(half_add, "add.rn.f16", +)
TPAT_HALF(half_sub, "sub.rn.f16", -)
TPAT_HALF(half_mul, "mul.rn.f16", *)
#undef TPAT_HALF
TPAT_FN f16 half_neg(f16 x) { return { (u16)(x.bits ^ 0x8000) }; }
TPAT_FN bf16 half_neg(bf16 x) { return { (u16)(x.bits ^ 0x8000) }; }

/* For results that are rounded to 16 bits: relative error of a few millionths. exp; a / b for many a and one b of at
 * least 2^-126, where parts that depend only on b are computed once; a / b. */
TPAT_FN float coarse_exp(float x) { return rough_exp2(x * 1.44269504f); }
/* Near zero, where adding 1 loses digits, by the first terms of their series: both within 4e-6. */
TPAT_FN float coarse_log1p(float x)
{
	const float near_zero = x * fmaf(x, fmaf(x, fmaf(x, -0.25f, 0.333333333f), -0.5f), 1.0f);
	return fabsf(x) < 0.0625f ? near_zero : 0.693147181f * rough_log2(1.0f + x);
}
TPAT_FN float coarse_tanh(float x)
{
	const float square = x * x;
	const float near_zero =
	        x * fmaf(square, fmaf(square, fmaf(square, -0.0539682540f, 0.133333333f), -0.333333333f), 1.0f);
	const float elsewhere = fmaf(-2.0f, rough_reciprocal(1.0f + coarse_exp(2.0f * x)), 1.0f);
	return fabsf(x) < 0.25f ? near_zero : elsewhere;
}
/* 1 + tanh(x) = 2 / (1 + exp(-2 x)), without cancellation where tanh(x) is near -1. */
TPAT_FN float one_plus_tanh(float x) { return rough_reciprocal(fmaf(0.5f, rough_exp2(x * -2.88539008f), 0.5f)); }
TPAT_FN float coarse_quotient(float a, float b)
{
#ifdef TPAT_EMULATOR
	const float reciprocal = 1.0f / b;
#else
	float reciprocal; /* denormal for huge b */
	asm("rcp.approx.f32 %0, %1;" : "=f"(reciprocal) : "f"(b));
	const float corrected = fmaf(fmaf(-b, reciprocal, 1.0f), reciprocal, reciprocal);
	reciprocal = corrected == corrected ? corrected : reciprocal; /* of zero and infinity */
#endif
	return a * reciprocal;
}
TPAT_FN float coarse_division(float a, float b)
{
#ifdef TPAT_EMULATOR
	return a / b;
#else
	float y;
	asm("div.full.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
	return y;
#endif
}

/* 1 + erf(x) = erfc(-x), without erf's branches, and without cancellation where erf(x) is near -1: erfc(z) = exp(-z^2)
 * t P(t) for z >= 0, with t = 1 / (1 + 0.3275911 z) as in Abramowitz and Stegun 7.1.26; P of minimal relative error,
 * 1e-7. Total relative error within 5e-7 for x >= -1, 2e-6 for x >= -4. */
TPAT_FN float one_plus_erf(float x)
{
	const float t = rough_reciprocal(fmaf(0.3275911f, fabsf(x), 1.0f));
	float y = fmaf(-0.142076671f, t, 0.50066632f);
	y = fmaf(y, t, -0.412814468f);
	y = fmaf(y, t, 0.459675461f);
	y = fmaf(y, t, 0.0219652522f);
	y = fmaf(y, t, 0.206968665f);
	y = fmaf(y, t, 0.180550292f);
	y = fmaf(y, t, 0.185065284f);
	y = y * t * rough_exp2(x * x * -1.44269504f);
	return x < 0.0f ? y : 2.0f - y;
}

/* 0.5 x (1 + erf(x / sqrt(2))): max(x, 0) - |x| erfc(|x| / sqrt(2)) / 2, with erfc as above. Relative error within 1e-6
 * for x >= -1, 3e-6 for x >= -4. */
TPAT_FN float gelu(float x)
{
	const float z = nan_min(x, 100.0f); /* beyond 100 there is nothing to subtract; avoids infinity */
	const float t = rough_reciprocal(fmaf(0.231641888f, fabsf(z), 1.0f));
	float y = fmaf(-0.0710383355f, t, 0.25033316f);
	y = fmaf(y, t, -0.206407234f);
	y = fmaf(y, t, 0.22983773f);
	y = fmaf(y, t, 0.0109826261f);
	y = fmaf(y, t, 0.103484332f);
	y = fmaf(y, t, 0.090275146f);
	y = fmaf(y, t, 0.092532642f);
	y = y * t * rough_exp2(z * z * -0.721347520f);
	return fmaf(-fabsf(z), y, fmaxf(x, 0.0f));
}

/* The same for a result that is rounded at once: max(x, 0) - |x| 2^P(|x|), where P approximates log2(erfc(|x| /
 * sqrt(2)) / 2) with minimal error up to 6 for f16, 13.1 for bf16. Beyond, P still falls. Relative error before
 * rounding within 6e-6 where the result is an f16 but zero; 2.2e-5 for bf16 of at least 2^-118. */
TPAT_FN f16 gelu_to_f16(float x)
{
	const float z = fabsf(nan_min(x, 100.0f)); /* avoids infinity, as above */
	float y = fmaf(-1.83481097e-06f, z, 6.15982863e-05f);
	y = fmaf(y, z, -0.00093052478f);
	y = fmaf(y, z, 0.00850789063f);
	y = fmaf(y, z, -0.05396007f);
	y = fmaf(y, z, -0.458464384f);
	y = fmaf(y, z, -1.15125108f);
	y = fmaf(y, z, -0.999995291f);
	return to_f16(fmaf(-z, rough_exp2(y), fmaxf(x, 0.0f)));
}
TPAT_FN bf16 gelu_to_bf16(float x)
{
	const float z = fabsf(nan_min(x, 100.0f));
	float y = fmaf(-1.96749461e-09f, z, 1.42797305e-07f);
	y = fmaf(y, z, -4.55991767e-06f);
	y = fmaf(y, z, 8.48181953e-05f);
	y = fmaf(y, z, -0.00102926418f);
	y = fmaf(y, z, 0.00870160107f);
	y = fmaf(y, z, -0.0540373139f);
	y = fmaf(y, z, -0.458697766f);
	y = fmaf(y, z, -1.15102279f);
	y = fmaf(y, z, -1.00002754f);
	return to_bf16(fmaf(-z, rough_exp2(y), fmaxf(x, 0.0f)));
}

/* erf(x) for results rounded to f16 or bf16 at once: x P(x^2) of minimal relative error, 1.3e-6 before rounding, for
 * |x| up to 2.75; beyond, an f16 is 1. */
TPAT_FN float erf_to_16(float x)
{
	const float z = nan_max(nan_min(x, 2.75f), -2.75f), t = z * z;
	float y = fmaf(-7.00367497e-09f, t, 3.18686944e-07f);
	y = fmaf(y, t, -6.60741807e-06f);
	y = fmaf(y, t, 8.3981904e-05f);
	y = fmaf(y, t, -0.000746512145f);
	y = fmaf(y, t, 0.0050178729f);
	y = fmaf(y, t, -0.0266319606f);
	y = fmaf(y, t, 0.11269816f);
	y = fmaf(y, t, -0.376092881f);
	y = fmaf(y, t, 1.1283778f);
	return y * z;
}

/* base to the power of exponent, wrapping; negative exponents give 1, -1 or 0. */
template <class T> TPAT_FN T ipow(T base, T exponent)
{
	if (limits<T>::is_signed && exponent < (T)1 && exponent != 0)
		return base == 1 ? 1 : base == (T)-1 ? (exponent % 2 ? base : (T)1) : (T)0;
	u64 result = 1;
	for (u64 b = (u64)base, e = (u64)exponent; e; e >>= 1, b *= b)
		if (e & 1)
			result *= b;
	return (T)result;
}

#endif
