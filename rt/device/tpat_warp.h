/* SPDX-License-Identifier: Apache-2.0
 * tpat_warp.h: operations of reductions, and the lanes of a warp: shuffles, reductions, scans. Part of tpat_device.h.
 */
#ifndef TPAT_WARP_H
#define TPAT_WARP_H

#include "tpat_vector.h"

/* ---- Operations of reductions ------------------------------------------------------------------------------------ */

struct op_sum {
	template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a + b); }
};
struct op_prod {
	template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a * b); }
};
struct op_max {
	template <class T> TPAT_FN T operator()(T a, T b) const { return nan_max(a, b); }
};
struct op_min {
	template <class T> TPAT_FN T operator()(T a, T b) const { return nan_min(a, b); }
};
struct op_and {
	template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a & b); }
};
struct op_or {
	template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a | b); }
};
struct op_xor {
	template <class T> TPAT_FN T operator()(T a, T b) const { return (T)(a ^ b); }
};

/* A value and its index. */
template <class T, class I = int> struct indexed {
	T value;
	I index;
};

/* NaN counts as the largest (op_argmax) or smallest (op_argmin); of equal values the first, or the LAST. */
template <bool LAST> struct op_argmax {
	template <class T, class I> TPAT_FN indexed<T, I> operator()(indexed<T, I> a, indexed<T, I> b) const
	{
		const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
		const bool same = (a.value == b.value) | (a_nan & b_nan); /* without branches */
		const bool later = LAST ? b.index > a.index : b.index < a.index;
		return (same ? later : b_nan | (!a_nan & (b.value > a.value))) ? b : a;
	}
};

template <bool LAST> struct op_argmin {
	template <class T, class I> TPAT_FN indexed<T, I> operator()(indexed<T, I> a, indexed<T, I> b) const
	{
		const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
		const bool same = (a.value == b.value) | (a_nan & b_nan); /* without branches */
		const bool later = LAST ? b.index > a.index : b.index < a.index;
		return (same ? later : b_nan | (!a_nan & (b.value < a.value))) ? b : a;
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

#define TPAT_SHUFFLE(name, intrinsic) \
	template <class T> TPAT_FN T name(T v, int lane) \
	{ \
		words<T> a(v), b; \
		for (unsigned i = 0; i < sizeof a.w / 4; i++) \
			b.w[i] = intrinsic(0xffffffffu, a.w[i], lane); \
		return b.value(); \
	}
TPAT_SHUFFLE(shuffle_xor, __shfl_xor_sync)   /* of lane ^ `lane` */
TPAT_SHUFFLE(shuffle_up, __shfl_up_sync)     /* of lane - `lane`, or its own if there is none */
TPAT_SHUFFLE(shuffle_down, __shfl_down_sync) /* of lane + `lane`, or its own if there is none */
TPAT_SHUFFLE(shuffle, __shfl_sync)           /* of lane `lane` */
#undef TPAT_SHUFFLE

TPAT_FN int block_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
TPAT_FN int warp_lane() { return block_thread() & 31; }

template <int LANES, class T, class Op> TPAT_FN T warp_reduce_by_steps(T v, Op op)
{
#pragma unroll
	for (int lane = LANES / 2; lane > 0; lane >>= 1)
		v = op(v, shuffle_xor(v, lane));
	return v;
}

/* Reduces over groups of LANES lanes (a power of two); every lane gets the result. */
template <int LANES = 32, class T, class Op> TPAT_FN T warp_reduce(T v, Op op)
{
	return warp_reduce_by_steps<LANES>(v, op);
}

/* The largest of the warp's numbers: one instruction from sm_80 on. */
TPAT_FN u32 warp_largest(u32 x)
{
#if TPAT_ARCH >= 800
	return __reduce_max_sync(0xffffffffu, x);
#else
	return warp_reduce_by_steps<32>(x, op_max());
#endif
}

/* Numbers of up to 32 bits have keys in their order; that of NaN is `of_nan`. */
template <class T> struct has_key {
	static const bool yes = false;
};
template <> struct has_key<float> {
	static const bool yes = true;
};
template <> struct has_key<int> {
	static const bool yes = true;
};
template <> struct has_key<u32> {
	static const bool yes = true;
};
TPAT_FN u32 number_key(float x, u32 of_nan)
{
	const u32 sign = 0x80000000u, magnitude = as_bits(x) & ~sign;
	return magnitude > 0x7f800000u ? of_nan : as_bits(x) & sign ? sign - magnitude : sign + magnitude;
}
TPAT_FN u32 number_key(int x, u32) { return (u32)x ^ 0x80000000u; }
TPAT_FN u32 number_key(u32 x, u32) { return x; }

/* The warp's best number by key, then the first or LAST of its indices. */
template <bool LARGEST, bool LAST, class T> TPAT_FN indexed<T, int> warp_best(indexed<T, int> v)
{
	const u32 flip = LAST ? 0x80000000u : 0x7fffffffu; /* an index's order */
	const u32 key = LARGEST ? number_key(v.value, 0xffffffffu) : ~number_key(v.value, 0), best = warp_largest(key);
	const u32 place = (u32)v.index ^ flip, at = warp_largest(key == best ? place : 0);
	const u32 lanes = __ballot_sync(0xffffffffu, key == best && place == at);
	return indexed<T, int>{ shuffle(v.value, __ffs((int)lanes) - 1), (int)(at ^ flip) };
}

template <int LANES = 32, class T, class I, bool LAST>
TPAT_FN indexed<T, I> warp_reduce(indexed<T, I> v, op_argmax<LAST> op)
{
	if constexpr (LANES == 32 && has_key<T>::yes && sizeof(I) == sizeof(int))
		return warp_best<true, LAST>(v);
	else
		return warp_reduce_by_steps<LANES>(v, op);
}
template <int LANES = 32, class T, class I, bool LAST>
TPAT_FN indexed<T, I> warp_reduce(indexed<T, I> v, op_argmin<LAST> op)
{
	if constexpr (LANES == 32 && has_key<T>::yes && sizeof(I) == sizeof(int))
		return warp_best<false, LAST>(v);
	else
		return warp_reduce_by_steps<LANES>(v, op);
}

/* Reduces over groups of LANES lanes, all of which hold the same values. */
template <int LANES, class T, class Op> TPAT_FN T warp_reduce_copies(T v, Op op) { return warp_reduce<LANES>(v, op); }
template <int LANES, class T, class I, bool LAST>
TPAT_FN indexed<T, I> warp_reduce_copies(indexed<T, I> v, op_argmax<LAST> op)
{
	return warp_reduce(v, op);
}
template <int LANES, class T, class I, bool LAST>
TPAT_FN indexed<T, I> warp_reduce_copies(indexed<T, I> v, op_argmin<LAST> op)
{
	return warp_reduce(v, op);
}

/* The same for N values: their shuffles overlap. */
template <int LANES, class T, int N, class Op> TPAT_FN void warp_reduce_each(T (&v)[N], Op op)
{
#pragma unroll
	for (int lane = LANES / 2; lane > 0; lane >>= 1)
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = op(v[i], shuffle_xor(v[i], lane));
}

template <int LANES = 32, class T> TPAT_FN T warp_sum(T v) { return warp_reduce<LANES>(v, op_sum()); }
template <int LANES = 32, class T> TPAT_FN T warp_prod(T v) { return warp_reduce<LANES>(v, op_prod()); }
template <int LANES = 32, class T> TPAT_FN T warp_max(T v) { return warp_reduce<LANES>(v, op_max()); }
template <int LANES = 32, class T> TPAT_FN T warp_min(T v) { return warp_reduce<LANES>(v, op_min()); }
template <int LANES = 32, class T> TPAT_FN T warp_and(T v) { return warp_reduce<LANES>(v, op_and()); }
template <int LANES = 32, class T> TPAT_FN T warp_or(T v) { return warp_reduce<LANES>(v, op_or()); }

/* Returns in every lane the warp's largest (smallest) value and its index; of equal values the first or the last. */
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

/* x[0 .. HALF) = the lane's half of x[0 .. 2 HALF), reduced over the lanes that differ in the bit HALF; and so on. */
template <int HALF, class T, int N, class Op> TPAT_FN void reduce_halves(T (&x)[N], Op op)
{
	if constexpr (HALF > 0) {
		const bool upper = warp_lane() & HALF;
#pragma unroll
		for (int i = 0; i < HALF; i++) {
			const T low = x[i], high = x[i + HALF]; /* a choice of elements would be one of addresses */
			x[i] = op(upper ? high : low, shuffle_xor(upper ? low : high, HALF));
		}
		reduce_halves<HALF / 2>(x, op);
	}
}

/* Reduces each of N values over the warp: v[0] of lane l becomes the result of v[l % P], P being the power of two from
 * N on. Lanes halve the values that they hold while they add: P - 1 shuffles instead of 5 N. */
template <class T, int N, class Op> TPAT_FN void warp_reduce_apart(T (&v)[N], Op op)
{
	static_assert(N <= 32, "a value a lane");
	const int most = N > 16 ? 32 : N > 8 ? 16 : N > 4 ? 8 : N > 2 ? 4 : N;
	T x[most];
#pragma unroll
	for (int i = 0; i < most; i++)
		x[i] = v[i < N ? i : 0];
	reduce_halves<most / 2>(x, op);
#pragma unroll
	for (int d = most; d < 32; d *= 2)
		x[0] = op(x[0], shuffle_xor(x[0], d));
	v[0] = x[0];
}

/* Inclusive scan over the lanes. */
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

/* The same, starting from `carry`, which becomes the last lane's result. */
template <class T, class Op> TPAT_FN T warp_scan_on(T v, Op op, T &carry)
{
	v = op(carry, warp_scan(v, op));
	carry = shuffle(v, 31);
	return v;
}

/* A parameter that converts to T, as C's arithmetic on small integers gives int: T is not deduced from `typename
 * identity<T>::type x`. */
template <class T> struct identity {
	typedef T type;
};

#endif
