/* SPDX-License-Identifier: Apache-2.0
 * tpat_types.h: the element types of generated kernels and the conversions between them. Part of tpat_device.h, whose head
 * says what compiles it. */
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
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct f8e4m3fn { u8 bits; };
struct f8e4m3fnuz { u8 bits; };
struct f8e5m2 { u8 bits; };
struct f8e5m2fnuz { u8 bits; };
struct f8e8m0 { u8 bits; }; /* 2^(bits - 127) */

/* Narrower than a byte. As a value each has a byte of its own; in memory 8 / BITS share one, the first in its low bits, so
 * that pointers to them are pointers to u8: see load_u4() and store_u4(). */
typedef u8 u4;
typedef i8 i4;
typedef u8 u2;
typedef i8 i2;
struct f4e2m1 { u8 bits; };

/* ---- To float and double: exact ---------------------------------------------------------------------------------- */

TPAT_FN float as_float(u32 bits) { return __uint_as_float(bits); }
TPAT_FN u32 as_bits(float x) { return __float_as_uint(x); }

/* A float of sign, EXP and MANT bits without the meaning of its special values. */
template <int MANT, int BIAS> TPAT_FN float unpack_float(u32 magnitude, bool negative)
{
	const u32 exponent = magnitude >> MANT;
	const u32 denormal_unit = (u32)(127 + 1 - BIAS - MANT) << 23; /* 2^(1 - BIAS - MANT) */
	const float x = exponent ? as_float((magnitude << (23 - MANT)) + ((u32)(127 - BIAS) << 23))
				 : (float)magnitude * as_float(denormal_unit);
	return negative ? -x : x;
}

template <class T> TPAT_FN float to_f32(T x) { return (float)x; } /* numbers that C has */

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

template <class T> struct is_small_float { static const bool value = false; };
template <> struct is_small_float<f16> { static const bool value = true; };
template <> struct is_small_float<bf16> { static const bool value = true; };
template <> struct is_small_float<f8e4m3fn> { static const bool value = true; };
template <> struct is_small_float<f8e4m3fnuz> { static const bool value = true; };
template <> struct is_small_float<f8e5m2> { static const bool value = true; };
template <> struct is_small_float<f8e5m2fnuz> { static const bool value = true; };
template <> struct is_small_float<f8e8m0> { static const bool value = true; };
template <> struct is_small_float<f4e2m1> { static const bool value = true; };

template <class T> TPAT_FN double to_f64(T x)
{
	if constexpr (is_small_float<T>::value)
		return to_f32(x);
	else
		return (double)x;
}

/* ---- To small floats: one rounding, to nearest even -------------------------------------------------------------- */

/* Rounding in two steps is right when the first one rounds to odd: what is inexact gets its last bit set. So every
 * conversion to a small float goes through a float made this way. */
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
	if (x >> 53) /* to 53 bits, odd; then it is a double */
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

/* The magnitude of |x|, finite, in a float format; what is too large for its exponent just counts on. */
template <int MANT, int BIAS> TPAT_FN u32 round_magnitude(float x)
{
	const u32 bits = as_bits(x) & 0x7fffffff;
	if (bits >= (u32)(127 - BIAS + 1) << 23) {
		const u32 shifted = bits - ((u32)(127 - BIAS) << 23);
		return (shifted + ((1u << (22 - MANT)) - 1) + (shifted >> (23 - MANT) & 1)) >> (23 - MANT);
	}
	/* Denormal there: adding 2^23 of its units leaves the rounded count of units in the low bits. */
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

/* ONNX's Cast: what lies beyond the LARGEST finite value (infinity too) gives that one if `saturate`, else OVER. */
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

/* The nearest power of two, ties up. What is out of range gives the nearer end if `saturate`, whatever its sign, else NaN. */
TPAT_FN f8e8m0 round_f8e8m0(float x, bool saturate)
{
	const u32 m = as_bits(x) & 0x7fffffff, least = 0x00400000, most = 0x7f000000; /* 2^-127, which is denormal; 2^127 */
	const bool outside = m < least || m > most || m != as_bits(x);
	const u32 code = m < 2 * least ? m >= least + least / 2 : (m + least) >> 23;
	return f8e8m0{ (u8)(x != x || (outside && !saturate) ? 255 : code < 254 ? code : 254) };
}

/* Has neither infinity nor NaN: what is too large gives the largest value, NaN a zero of the other sign. */
TPAT_FN f4e2m1 round_f4e2m1(float x)
{
	const u32 sign = as_bits(x) >> 28 & 8, m = x - x == 0 ? round_magnitude<1, 1>(x) : 7;
	return f4e2m1{ (u8)(x != x ? sign ^ 8 : sign | (m < 7 ? m : 7)) };
}

/* From any element type. */
template <class T> TPAT_FN f16 to_f16(T x) { return round_f16(odd_float(x)); }
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

/* LOW and HIGH: the ends of an integer type that C does not have. */
template <int LOW, int HIGH> TPAT_FN int to_narrow(double x) { return x != x ? 0 : x <= LOW ? LOW : x >= HIGH ? HIGH : (int)x; }
template <int LOW, int HIGH> TPAT_FN int to_narrow(float x) { return x != x ? 0 : x <= LOW ? LOW : x >= HIGH ? HIGH : (int)x; }
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

/* The same bits as another type of the same size. */
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

#endif
