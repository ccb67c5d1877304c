/* SPDX-License-Identifier: Apache-2.0
 * tpat_device.h: what generated kernels call. Small element types and their conversions, vector access, reductions over
 * a warp or block, atomics on every element type, and the little arithmetic that CUDA C lacks.
 *
 * Needs no other header: compiled by NVRTC, by nvcc, and by a C++17 compiler under the emulator (TPAT_EMULATOR). Inline
 * PTX lives here and nowhere else; each piece has a plain twin for the emulator. */
#ifndef TPAT_DEVICE_H
#define TPAT_DEVICE_H

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

template <class T> struct is_small_float { static const bool value = false; };
template <> struct is_small_float<f16> { static const bool value = true; };
template <> struct is_small_float<bf16> { static const bool value = true; };
template <> struct is_small_float<f8e4m3fn> { static const bool value = true; };
template <> struct is_small_float<f8e4m3fnuz> { static const bool value = true; };
template <> struct is_small_float<f8e5m2> { static const bool value = true; };
template <> struct is_small_float<f8e5m2fnuz> { static const bool value = true; };

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

/* Two 4-bit integers a byte, low half first; `i` counts elements. */
TPAT_FN int load_u4(const u8 *p, i64 i) { return p[i >> 1] >> (i & 1) * 4 & 15; }
TPAT_FN int load_i4(const u8 *p, i64 i) { return (load_u4(p, i) ^ 8) - 8; }

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

/* Toward minus infinity; by zero gives 0. */
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

/* a - floor_div(a, b) * b: has the sign of b; by zero gives a. */
TPAT_FN u32 floor_mod(u32 a, u32 b) { return b == 0 ? a : a % b; }
TPAT_FN u64 floor_mod(u64 a, u64 b) { return b == 0 ? a : a % b; }
TPAT_FN int floor_mod(int a, int b) { return (int)((u32)a - (u32)floor_div(a, b) * (u32)b); }
TPAT_FN i64 floor_mod(i64 a, i64 b) { return (i64)((u64)a - (u64)floor_div(a, b) * (u64)b); }
TPAT_FN i64 floor_mod(i64 a, int b) { return floor_mod(a, (i64)b); }
TPAT_FN i64 floor_mod(int a, i64 b) { return floor_mod((i64)a, b); }

/* A tensor's value as a 32-bit position: one that no int holds must not become a valid one. */
TPAT_FN int to_index(i64 x) { return (int)(x < -2147483647LL ? -2147483647LL : x > 2147483647LL ? 2147483647LL : x); }
TPAT_FN int to_index(u64 x) { return (int)(x > 2147483647ull ? 2147483647ull : x); }
TPAT_FN int to_index(u32 x) { return (int)(x > 2147483647u ? 2147483647u : x); }

/* Toward zero; by zero gives 0. */
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

/* Shifts; by the width of the type or more: 0. */
template <class T, class N> TPAT_FN T shift_left(T a, N n) { return (u64)n >= sizeof(T) * 8 ? (T)0 : (T)((u64)a << n); }
template <class T, class N> TPAT_FN T shift_right(T a, N n) { return (u64)n >= sizeof(T) * 8 ? (T)0 : (T)(a >> n); }

/* The larger, the smaller: NaN if one of them is. */
template <class T> TPAT_FN T nan_max(T a, T b) { return a > b || a != a ? a : b; }
template <class T> TPAT_FN T nan_min(T a, T b) { return a < b || a != a ? a : b; }

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

/* ---- Vector access ----------------------------------------------------------------------------------------------- */

template <int N> TPAT_FN void copy_vector(void *to, const void *from)
{
	if constexpr (N == 1)
		*(u8 *)to = *(const u8 *)from;
	else if constexpr (N == 2)
		*(u16 *)to = *(const u16 *)from;
	else if constexpr (N == 4)
		*(u32 *)to = *(const u32 *)from;
	else if constexpr (N == 8)
		*(uint2 *)to = *(const uint2 *)from;
	else
		*(uint4 *)to = *(const uint4 *)from;
}

/* The widest access that divides N bytes. */
template <int N> struct vector_part {
	static const int bytes = N % 16 == 0 ? 16 : N % 8 == 0 ? 8 : N % 4 == 0 ? 4 : N % 2 == 0 ? 2 : 1;
};

/* v = p[0 .. N), one access of 1, 2, 4, 8 or 16 bytes each; p is aligned to that (16 bytes at most). */
template <int N, class T> TPAT_FN void load(T (&v)[N], const T *p)
{
	const int bytes = N * sizeof(T), part = vector_part<bytes>::bytes;
#ifdef TPAT_EMULATOR
	for (int i = 0; i < bytes; i += part)
		emulator_load((char *)v + i, (const char *)p + i, part);
#else
	union { uint4 align; char byte[bytes]; } u;
#pragma unroll
	for (int i = 0; i < bytes; i += part)
		copy_vector<part>(u.byte + i, (const char *)p + i);
	memcpy(v, u.byte, bytes);
#endif
}

/* p[0 .. N) = v */
template <int N, class T> TPAT_FN void store(T *p, const T (&v)[N])
{
	const int bytes = N * sizeof(T), part = vector_part<bytes>::bytes;
#ifdef TPAT_EMULATOR
	for (int i = 0; i < bytes; i += part)
		emulator_store((char *)p + i, (const char *)v + i, part);
#else
	union { uint4 align; char byte[bytes]; } u;
	memcpy(u.byte, v, bytes);
#pragma unroll
	for (int i = 0; i < bytes; i += part)
		copy_vector<part>((char *)p + i, u.byte + i);
#endif
}

/* ---- Operations of reductions ------------------------------------------------------------------------------------ */

struct op_sum { template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a + b); } };
struct op_prod { template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a * b); } };
struct op_max { template <class T> TPAT_FN T operator()(T a, T b) const { return nan_max(a, b); } };
struct op_min { template <class T> TPAT_FN T operator()(T a, T b) const { return nan_min(a, b); } };
struct op_and { template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a & b); } };
struct op_or { template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a | b); } };
struct op_xor { template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a ^ b); } };

/* A value and where it was found. */
template <class T, class I = int> struct indexed {
	T value;
	I index;
};

/* NaN counts as the largest (op_argmax) or smallest (op_argmin); of equals the first, or the LAST. */
template <bool LAST> struct op_argmax {
	template <class T, class I> TPAT_FN indexed<T, I> operator()(indexed<T, I> a, indexed<T, I> b) const
	{
		const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
		const bool same = a.value == b.value || (a_nan && b_nan);
		const bool later = LAST ? b.index > a.index : b.index < a.index;
		return (same ? later : b_nan || (!a_nan && b.value > a.value)) ? b : a;
	}
};

template <bool LAST> struct op_argmin {
	template <class T, class I> TPAT_FN indexed<T, I> operator()(indexed<T, I> a, indexed<T, I> b) const
	{
		const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
		const bool same = a.value == b.value || (a_nan && b_nan);
		const bool later = LAST ? b.index > a.index : b.index < a.index;
		return (same ? later : b_nan || (!a_nan && b.value < a.value)) ? b : a;
	}
};

/* ---- Warp: all 32 lanes take part -------------------------------------------------------------------------------- */

template <class T> struct words {
	u32 w[(sizeof(T) + 3) / 4];
	TPAT_FN words() {}
	TPAT_FN words(T v)
	{
		w[sizeof w / 4 - 1] = 0;
		memcpy(w, &v, sizeof v);
	}
	TPAT_FN T value() const
	{
		T v;
		memcpy(&v, w, sizeof v);
		return v;
	}
};

#define TPAT_SHUFFLE(name, intrinsic)                                       \
	template <class T> TPAT_FN T name(T v, int lane)                    \
	{                                                                   \
		words<T> a(v), b;                                           \
		for (unsigned i = 0; i < sizeof a.w / 4; i++)               \
			b.w[i] = intrinsic(0xffffffffu, a.w[i], lane);      \
		return b.value();                                           \
	}
TPAT_SHUFFLE(shuffle_xor, __shfl_xor_sync)   /* of lane ^ `lane` */
TPAT_SHUFFLE(shuffle_up, __shfl_up_sync)     /* of lane - `lane`, or its own where there is none */
TPAT_SHUFFLE(shuffle_down, __shfl_down_sync) /* of lane + `lane`, or its own where there is none */
TPAT_SHUFFLE(shuffle, __shfl_sync)           /* of lane `lane` */
#undef TPAT_SHUFFLE

TPAT_FN int block_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
TPAT_FN int warp_lane() { return block_thread() & 31; }

/* Over groups of LANES lanes (a power of two); every lane gets the result. */
template <int LANES = 32, class T, class Op> TPAT_FN T warp_reduce(T v, Op op)
{
#pragma unroll
	for (int lane = LANES / 2; lane > 0; lane >>= 1)
		v = op(v, shuffle_xor(v, lane));
	return v;
}

template <int LANES = 32, class T> TPAT_FN T warp_sum(T v) { return warp_reduce<LANES>(v, op_sum()); }
template <int LANES = 32, class T> TPAT_FN T warp_prod(T v) { return warp_reduce<LANES>(v, op_prod()); }
template <int LANES = 32, class T> TPAT_FN T warp_max(T v) { return warp_reduce<LANES>(v, op_max()); }
template <int LANES = 32, class T> TPAT_FN T warp_min(T v) { return warp_reduce<LANES>(v, op_min()); }
template <int LANES = 32, class T> TPAT_FN T warp_and(T v) { return warp_reduce<LANES>(v, op_and()); }
template <int LANES = 32, class T> TPAT_FN T warp_or(T v) { return warp_reduce<LANES>(v, op_or()); }

/* In every lane: the largest (smallest) value of the warp and its index; of equals the first or the last. */
template <class T, class I> TPAT_FN indexed<T, I> warp_argmax(T value, I index, bool last)
{
	const indexed<T, I> v = { value, index };
	return last ? warp_reduce(v, op_argmax<true>()) : warp_reduce(v, op_argmax<false>());
}
template <class T, class I> TPAT_FN indexed<T, I> warp_argmin(T value, I index, bool last)
{
	const indexed<T, I> v = { value, index };
	return last ? warp_reduce(v, op_argmin<true>()) : warp_reduce(v, op_argmin<false>());
}

/* Running op over the lanes up to this one, it included. */
template <class T, class Op> TPAT_FN T warp_scan(T v, Op op)
{
	const int lane = warp_lane();
#pragma unroll
	for (int d = 1; d < 32; d <<= 1) {
		const T before = shuffle_up(v, d);
		if (lane >= d)
			v = op(before, v);
	}
	return v;
}

/* The same, going on from `carry`, which becomes the last lane's. */
template <class T, class Op> TPAT_FN T warp_scan_on(T v, Op op, T &carry)
{
	v = op(carry, warp_scan(v, op));
	carry = shuffle(v, 31);
	return v;
}

/* ---- Block: all THREADS threads (a multiple of 32, at most 1024) take part --------------------------------------- */

/* Every thread gets the result. `shared`: THREADS / 32 elements; free for other use after the next __syncthreads(). */
template <int THREADS, class T, class Op> TPAT_FN T block_reduce(T v, Op op, T *shared)
{
	static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
	const int warps = THREADS / 32;
	v = warp_reduce(v, op);
	if constexpr (warps > 1) {
		const int thread = block_thread();
		__syncthreads(); /* an earlier reduction may still be reading */
		if (thread % 32 == 0)
			shared[thread / 32] = v;
		__syncthreads();
		if constexpr ((warps & (warps - 1)) == 0) {
			v = warp_reduce<warps>(shared[thread % warps], op);
		} else {
			v = shared[0];
			for (int i = 1; i < warps; i++)
				v = op(v, shared[i]);
		}
	}
	return v;
}

/* Running op over the threads up to this one, it included; the last thread has the total. `shared`: as above. */
template <int THREADS, class T, class Op> TPAT_FN T block_scan(T v, Op op, T *shared)
{
	static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
	v = warp_scan(v, op);
	if constexpr (THREADS > 32) {
		const int thread = block_thread();
		__syncthreads();
		if (thread % 32 == 31)
			shared[thread / 32] = v;
		__syncthreads();
		if (thread >= 32) {
			T before = shared[0];
			for (int i = 1; i < thread / 32; i++)
				before = op(before, shared[i]);
			v = op(before, v);
		}
	}
	return v;
}

/* The same, going on from `carry`, which becomes what all threads make of it. */
template <int THREADS, class T, class Op> TPAT_FN T block_scan_on(T v, Op op, T *shared, T &carry)
{
	static_assert(THREADS > 32, "one warp shares nothing");
	v = op(carry, block_scan<THREADS>(v, op, shared));
	for (int i = 0; i < THREADS / 32; i++)
		carry = op(carry, shared[i]);
	return v;
}

/* ---- Atomics: give what was there before ------------------------------------------------------------------------- */


template <class T, class Op> TPAT_FN T apply(Op op, T a, T b) { return op(a, b); }
/* One float operation and one rounding give the correctly rounded sum or product. */
template <class Op> TPAT_FN f16 apply(Op op, f16 a, f16 b) { return round_f16(op(to_f32(a), to_f32(b))); }
template <class Op> TPAT_FN bf16 apply(Op op, bf16 a, bf16 b) { return round_bf16(op(to_f32(a), to_f32(b))); }

template <int BYTES> struct atomic_word { typedef u32 type; };
template <> struct atomic_word<8> { typedef u64 type; };

/* *p = op(*p, v), atomically, by compare-and-swap on the 32-bit (64-bit) word that holds *p. */
template <class T, class Op> TPAT_FN T atomic_update(T *p, T v, Op op)
{
	T old;
#ifdef TPAT_EMULATOR
	emulator_atomic_get(&old, p, sizeof old);
	v = apply(op, old, v);
	emulator_atomic_put(p, &v, sizeof v);
#else
	typedef typename atomic_word<sizeof(T)>::type word;
	const int shift = sizeof(T) < 4 ? (int)((u64)p & 3) * 8 : 0;
	word *const at = sizeof(T) < 4 ? (word *)((u64)p & ~(u64)3) : (word *)p;
	const word mask = (sizeof(T) < 4 ? ((word)1 << sizeof(T) * 8 % 32) - 1 : ~(word)0) << shift;
	word seen = *(volatile word *)at, expected;
	do {
		expected = seen;
		word bits = expected >> shift;
		memcpy(&old, &bits, sizeof old);
		const T next = apply(op, old, v);
		bits = 0;
		memcpy(&bits, &next, sizeof next);
		seen = atomicCAS(at, expected, (expected & ~mask) | bits << shift);
	} while (seen != expected);
#endif
	return old;
}

/* The value converts to the element's type, as C's arithmetic on small integers gives int. */
template <class T> struct element { typedef T type; };
template <class T> TPAT_FN T atomic_add(T *p, typename element<T>::type v) { return atomic_update(p, v, op_sum()); }
template <class T> TPAT_FN T atomic_mul(T *p, typename element<T>::type v) { return atomic_update(p, v, op_prod()); }
template <class T> TPAT_FN T atomic_max(T *p, typename element<T>::type v) { return atomic_update(p, v, op_max()); }
template <class T> TPAT_FN T atomic_min(T *p, typename element<T>::type v) { return atomic_update(p, v, op_min()); }

/* Where the GPU has the operation itself. */
TPAT_FN int atomic_add(int *p, int v) { return atomicAdd(p, v); }
TPAT_FN u32 atomic_add(u32 *p, u32 v) { return atomicAdd(p, v); }
TPAT_FN i64 atomic_add(i64 *p, i64 v) { return (i64)atomicAdd((u64 *)p, (u64)v); }
TPAT_FN u64 atomic_add(u64 *p, u64 v) { return atomicAdd(p, v); }
TPAT_FN float atomic_add(float *p, float v) { return atomicAdd(p, v); }
TPAT_FN double atomic_add(double *p, double v) { return atomicAdd(p, v); }
TPAT_FN int atomic_max(int *p, int v) { return atomicMax(p, v); }
TPAT_FN u32 atomic_max(u32 *p, u32 v) { return atomicMax(p, v); }
TPAT_FN i64 atomic_max(i64 *p, i64 v) { return atomicMax(p, v); }
TPAT_FN u64 atomic_max(u64 *p, u64 v) { return atomicMax(p, v); }
TPAT_FN int atomic_min(int *p, int v) { return atomicMin(p, v); }
TPAT_FN u32 atomic_min(u32 *p, u32 v) { return atomicMin(p, v); }
TPAT_FN i64 atomic_min(i64 *p, i64 v) { return atomicMin(p, v); }
TPAT_FN u64 atomic_min(u64 *p, u64 v) { return atomicMin(p, v); }
#if TPAT_ARCH >= 700
TPAT_FN f16 atomic_add(f16 *p, f16 v)
{
	f16 old;
	asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old.bits) : "l"(p), "h"(v.bits) : "memory");
	return old;
}
#endif
#if TPAT_ARCH >= 900
TPAT_FN bf16 atomic_add(bf16 *p, bf16 v)
{
	bf16 old;
	asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(old.bits) : "l"(p), "h"(v.bits) : "memory");
	return old;
}
#endif

#undef TPAT_FN
#endif
