/* SPDX-License-Identifier: Apache-2.0
 * tpat_device.h: functions for generated kernels. Element types, their conversions and arithmetic (tpat_types.h),
 * vector access (tpat_vector.h), reductions over a warp (tpat_warp.h) or block, and atomics on every element type.
 * Needs no other headers: compiled by NVRTC, by nvcc, and by a C++17 compiler for the emulator (TPAT_EMULATOR). Each
 * piece of inline PTX has a plain counterpart for the emulator. */
#ifndef TPAT_DEVICE_H
#define TPAT_DEVICE_H

#include "tpat_types.h"
#include "tpat_vector.h"
#include "tpat_warp.h"

/* ---- Consecutive kernels ------------------------------------------------------------------------------ */

/* A divisor of positions with its inverse, floor(2^62 / by) + 1, or 0 for zero: x / d is one multiplication, for x >= 0
 * and below 2^31. After: T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", 1994. */
struct divisor {
	int by;
	u64 inverse;
};
TPAT_FN int operator/(int x, divisor d)
{
	u64 low = (u64)(u32)x * (u32)d.inverse, high = (u64)(u32)x * (u32)(d.inverse >> 32);
	return (int)((high + (low >> 32)) >> 30);
}
TPAT_FN int operator%(int x, divisor d) { return x - x / d * d.by; }
TPAT_FN int floor_div(int x, divisor d) { return (x ^ x >> 31) / d ^ x >> 31; } /* -1 - (-1 - x) / d below zero */
TPAT_FN int floor_mod(int x, divisor d) { return x - floor_div(x, d) * d.by; }

/* Programmatic dependent launch, from sm_90 on: a kernel that begins with this call may be set up while the previous
 * kernel still runs. Waits until that one has ended and its writes are visible; returns at once if this kernel was
 * launched to start after it. Before this call, do not access memory. No kernel allows the next one to start before its
 * own end (griddepcontrol.launch_dependents): on an H100 that delays a kernel of 4096 small blocks by 2 us, and saves
 * no more than waiting does. */
TPAT_FN void wait_for_last_kernel()
{
#if !defined(TPAT_EMULATOR) && __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- Elements narrower than a byte ------------------------------------------------------------------------------- */

/* For a type T of BITS bits; `i` counts elements and is not negative.
 *   load_T(p, i)      returns the element i
 *   load_T(v, p, i)   v = the elements i .. i + N; whole bytes, aligned as for load()
 *   store_T(p, i, v)  the same elements = v
 * There is no store of one element, since threads must not share a byte. CODE: the bits of `x`, in the low bits of an
 * int; VALUE: the value of the bits `code`. */
#define TPAT_PACKED(T, BITS, CODE, VALUE) \
	template <class I> TPAT_FN T load_##T(const u8 *p, I i) \
	{ \
		const int each = 8 / BITS, place = (int)i & (each - 1); \
		const int code = p[i >> (each == 2 ? 1 : 2)] >> place * BITS & ((1 << BITS) - 1); \
		return VALUE; \
	} \
	template <int N, class I> TPAT_FN void load_##T(T(&v)[N], const u8 *p, I i) \
	{ \
		static_assert(N * BITS % 8 == 0, "whole bytes"); \
		u8 bytes[N * BITS / 8]; \
		load(bytes, p + (i >> (BITS == 4 ? 1 : 2))); \
		_Pragma("unroll") for (int k = 0; k < N; k++) v[k] = load_##T(bytes, k); \
	} \
	template <int N, class I> TPAT_FN void store_##T(u8 *p, I i, const T(&v)[N]) \
	{ \
		static_assert(N * BITS % 8 == 0, "whole bytes"); \
		const int each = 8 / BITS; \
		u8 bytes[N / each]; \
		_Pragma("unroll") for (int k = 0; k < N / each; k++) \
		{ \
			int byte = 0; \
			for (int j = 0; j < each; j++) { \
				const T x = v[k * each + j]; \
				byte |= ((CODE) & ((1 << BITS) - 1)) << j * BITS; \
			} \
			bytes[k] = (u8)byte; \
		} \
		store(p + (i >> (each == 2 ? 1 : 2)), bytes); \
	}
TPAT_PACKED(u4, 4, x, (u4)code)
TPAT_PACKED(i4, 4, x, (i4)((code ^ 8) - 8))
TPAT_PACKED(u2, 2, x, (u2)code)
TPAT_PACKED(i2, 2, x, (i2)((code ^ 2) - 2))
TPAT_PACKED(f4e2m1, 4, x.bits, f4e2m1{ (u8)code })
#undef TPAT_PACKED

/* ---- Block: all THREADS threads (a multiple of 32, at most 1024) take part --------------------------------------- */

/* Copies a value from memory, without padding between its members. */
template <class T> TPAT_FN T copy_of(const T &x) { return x; }
template <class T, class I> TPAT_FN indexed<T, I> copy_of(const indexed<T, I> &x) { return { x.value, x.index }; }

/* Reduces over the block; every thread gets the result. `shared`: THREADS / 32 elements; reusable after the next
 * __syncthreads(). */
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
			v = warp_reduce_copies<warps>(copy_of(shared[thread % warps]), op);
		} else {
			v = copy_of(shared[0]);
			for (int i = 1; i < warps; i++)
				v = op(v, copy_of(shared[i]));
		}
	}
	return v;
}

/* Reduces each of COLUMNS columns separately, over the threads t, t + COLUMNS ... of the block's PARTS * COLUMNS; all
 * of these get the result. PARTS: a power of two. `shared`: an element for each thread. */
template <int COLUMNS, int PARTS, class T, class Op> TPAT_FN T block_reduce_columns(T v, Op op, T *shared)
{
	const int thread = block_thread();
	__syncthreads(); /* an earlier reduction may still be reading */
	shared[thread] = v;
	__syncthreads();
#pragma unroll
	for (int half = PARTS / 2; half > 0; half /= 2) {
		if (thread < half * COLUMNS) {
			v = op(v, copy_of(shared[thread + half * COLUMNS]));
			shared[thread] = v;
		}
		__syncthreads();
	}
	return copy_of(shared[thread % COLUMNS]);
}

/* The same for ITEMS values per thread. `shared`: ITEMS elements for each thread. */
template <int COLUMNS, int PARTS, int ITEMS, class T, class Op>
TPAT_FN void block_reduce_columns_on(T (&v)[ITEMS], Op op, T *shared)
{
	const int thread = block_thread();
	__syncthreads(); /* an earlier reduction may still be reading */
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		shared[i * COLUMNS * PARTS + thread] = v[i];
	__syncthreads();
#pragma unroll
	for (int half = PARTS / 2; half > 0; half /= 2) {
		if (thread < half * COLUMNS) {
#pragma unroll
			for (int i = 0; i < ITEMS; i++) {
				T *mine = shared + i * COLUMNS * PARTS + thread;
				v[i] = op(v[i], copy_of(mine[half * COLUMNS]));
				*mine = v[i];
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		v[i] = copy_of(shared[i * COLUMNS * PARTS + thread % COLUMNS]);
}

/* Inclusive scan over the block's threads; the last thread has the total. `shared`: as for block_reduce(). */
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

/* The same, starting from `carry`, which becomes the result of all threads. */
template <int THREADS, class T, class Op> TPAT_FN T block_scan_on(T v, Op op, T *shared, T &carry)
{
	static_assert(THREADS > 32, "one warp shares nothing");
	v = op(carry, block_scan<THREADS>(v, op, shared));
	for (int i = 0; i < THREADS / 32; i++)
		carry = op(carry, shared[i]);
	return v;
}

/* Scan over the items of all THREADS threads, starting from `carry`, which becomes the result of all items. A warp's
 * items are contiguous: first each lane's first vector v[0 .. WIDTH), lane by lane, then the second ones. So vector
 * loads coalesce, and warps synchronise only once. EXCLUSIVE: an item becomes the combination of those before it.
 * `none`: the neutral element; `shared`: an element for each warp. With 32 THREADS each warp of the block scans
 * separately, and `shared` is unused. */
template <int THREADS, int WIDTH, bool EXCLUSIVE, class T, int N, class Op>
TPAT_FN void block_scan_items_on(T (&v)[N], Op op, typename identity<T>::type none, T *shared, T &carry)
{
	const int steps = N / WIDTH, lane = warp_lane();
	T before[steps], total[steps], start = carry;
#pragma unroll
	for (int s = 0; s < steps; s++) {
#pragma unroll
		for (int i = 1; i < WIDTH; i++)
			v[s * WIDTH + i] = op(v[s * WIDTH + i - 1], v[s * WIDTH + i]);
		const T up_to = warp_scan(v[s * WIDTH + WIDTH - 1], op);
		total[s] = shuffle(up_to, 31);
		before[s] = shuffle_up(up_to, 1);
		if (lane == 0)
			before[s] = none;
	}
	if constexpr (THREADS > 32) {
		const int warps = THREADS / 32, warp = block_thread() / 32;
		T sum = total[0];
#pragma unroll
		for (int s = 1; s < steps; s++)
			sum = op(sum, total[s]);
		__syncthreads(); /* an earlier one may still be reading */
		if (lane == 0)
			shared[warp] = sum;
		__syncthreads();
		T up_to = none;
		if (lane < warps)
			up_to = shared[lane];
		up_to = warp_scan(up_to, op);
		if (warp > 0)
			start = op(carry, shuffle(up_to, warp - 1));
		carry = op(carry, shuffle(up_to, warps - 1));
	}
#pragma unroll
	for (int s = 0; s < steps; s++) {
		const T from = op(start, before[s]);
#pragma unroll
		for (int i = WIDTH - 1; i >= 0; i--)
			if constexpr (EXCLUSIVE)
				v[s * WIDTH + i] = i > 0 ? op(from, v[s * WIDTH + (i > 0 ? i - 1 : 0)]) : from;
			else
				v[s * WIDTH + i] = op(from, v[s * WIDTH + i]);
		start = op(start, total[s]);
	}
	if constexpr (THREADS == 32)
		carry = start;
}

/* ---- Atomics: return the old value ------------------------------------------------------------------------- */

template <class T, class Op> TPAT_FN T apply(Op op, T a, T b) { return op(a, b); }
/* A float operation, then one rounding, gives the correctly rounded sum or product. */
template <class Op> TPAT_FN f16 apply(Op op, f16 a, f16 b) { return round_f16(op(to_f32(a), to_f32(b))); }
template <class Op> TPAT_FN bf16 apply(Op op, bf16 a, bf16 b) { return round_bf16(op(to_f32(a), to_f32(b))); }

template <int BYTES> struct atomic_word {
	typedef u32 type;
};
template <> struct atomic_word<8> {
	typedef u64 type;
};

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

template <class T> TPAT_FN T atomic_add(T *p, typename identity<T>::type v) { return atomic_update(p, v, op_sum()); }
template <class T> TPAT_FN T atomic_mul(T *p, typename identity<T>::type v) { return atomic_update(p, v, op_prod()); }
template <class T> TPAT_FN T atomic_max(T *p, typename identity<T>::type v) { return atomic_update(p, v, op_max()); }
template <class T> TPAT_FN T atomic_min(T *p, typename identity<T>::type v) { return atomic_update(p, v, op_min()); }

/* Operations that the GPU has. */
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
/* Without a result, as for scattered sums: runs in the memory system. */
#if TPAT_ARCH >= 700
TPAT_FN void atomic_add(f16 *p, f16 v) { asm volatile("red.add.noftz.f16 [%0], %1;" ::"l"(p), "h"(v.bits) : "memory"); }
#endif
#if TPAT_ARCH >= 900
TPAT_FN void atomic_add(bf16 *p, bf16 v)
{
	asm volatile("red.add.noftz.bf16 [%0], %1;" ::"l"(p), "h"(v.bits) : "memory");
}
#endif

/* *p += v, without a result, if the 32-bit word that holds *p holds another element of the array as well. GPUs add
 * pairs of 16-bit floats in the memory system, but single ones in a loop, which takes 25 times as long on an H200. The
 * other element of the pair gets -0 added, which changes no number. */
template <class T> TPAT_FN void atomic_add_paired(T *p, T v) { atomic_add(p, v); }

#define TPAT_ADD_PAIR(T) \
	TPAT_FN void atomic_add_word(T *p, u32 word) \
	{ \
		asm volatile("red.add.noftz." #T "x2 [%0], %1;" ::"l"(p), "r"(word) : "memory"); \
	} \
	TPAT_FN void atomic_add_paired(T *p, T v) \
	{ \
		const u64 odd = (u64)p & 2; \
		atomic_add_word((T *)((u64)p - odd), odd ? (u32)v.bits << 16 | 0x8000u : 0x80000000u | v.bits); \
	} \
	TPAT_FN void atomic_add_vector(T *p, const T(&v)[2]) { atomic_add_word(p, (u32)v[1].bits << 16 | v[0].bits); }
#if TPAT_ARCH >= 700
TPAT_ADD_PAIR(f16)
#endif
#if TPAT_ARCH >= 900
TPAT_ADD_PAIR(bf16)
#endif
#undef TPAT_ADD_PAIR

/* p[0 .. N) += v, each element atomically; global memory, aligned as for store(). */
template <int N, class T> TPAT_FN void atomic_add_vector(T *p, const T (&v)[N])
{
	if constexpr (sizeof(T) == 2 && N > 2 && N % 2 == 0) {
#pragma unroll
		for (int i = 0; i < N; i += 2) {
			const T pair[2] = { v[i], v[i + 1] };
			atomic_add_vector(p + i, pair);
		}
	} else {
#pragma unroll
		for (int i = 0; i < N; i++)
			atomic_add(p + i, v[i]);
	}
}

#if TPAT_ARCH >= 900
TPAT_FN void atomic_add_vector(float *p, const float (&v)[2])
{
	asm volatile("red.global.add.v2.f32 [%0], { %1, %2 };" ::"l"(p), "f"(v[0]), "f"(v[1]) : "memory");
}

TPAT_FN void atomic_add_vector(float *p, const float (&v)[4])
{
	asm volatile("red.global.add.v4.f32 [%0], { %1, %2, %3, %4 };" ::"l"(p), "f"(v[0]), "f"(v[1]), "f"(v[2]),
	             "f"(v[3])
	             : "memory");
}

#define TPAT_ADD_PAIRS(T) \
	TPAT_FN void atomic_add_vector(T *p, const T(&v)[4]) \
	{ \
		u32 w[2]; \
		memcpy(w, v, sizeof w); \
		asm volatile("red.global.add.noftz.v2." #T "x2 [%0], { %1, %2 };" ::"l"(p), "r"(w[0]), "r"(w[1]) \
		             : "memory"); \
	} \
	TPAT_FN void atomic_add_vector(T *p, const T(&v)[8]) \
	{ \
		u32 w[4]; \
		memcpy(w, v, sizeof w); \
		asm volatile("red.global.add.noftz.v4." #T "x2 [%0], { %1, %2, %3, %4 };" ::"l"(p), "r"(w[0]), \
		             "r"(w[1]), "r"(w[2]), "r"(w[3]) \
		             : "memory"); \
	}
TPAT_ADD_PAIRS(f16)
TPAT_ADD_PAIRS(bf16)
#undef TPAT_ADD_PAIRS
#endif

/* Updates of rows: the index of the last one, or a linked list of all. Both start as -1. */
TPAT_FN void note_last(int *last, int number) { atomicMax(last, number); }
TPAT_FN void note_next(int *first, int *next, int number) { *next = atomicExch(first, number); }

/* ---- Tiles: pieces of a row, one for each block, which continues from the tiles before it -------------------- */

/* One pass over the data: a block takes the next tile, publishes its total, and looks back over earlier tiles' totals
 * until one has published its prefix. Blocks take tiles in the order in which they start, so that earlier ones are
 * running or done. Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back.
 *
 * `state`, all zero before the kernel starts, holds a counter, then for each tile one word with a mark and the value,
 * or for 8-byte values three words: mark, total, prefix. */
enum tile_mark { TILE_NOTHING, TILE_TOTAL, TILE_ALL };

TPAT_FN u64 load_fresh(const u64 *p)
{
#ifdef TPAT_EMULATOR
	u64 v;
	emulator_load(&v, p, sizeof v);
	return v;
#else
	return *(const volatile u64 *)p;
#endif
}

TPAT_FN void store_fresh(u64 *p, u64 v)
{
#ifdef TPAT_EMULATOR
	emulator_store(p, &v, sizeof v);
#else
	*(volatile u64 *)p = v;
#endif
}

template <class T> TPAT_FN void tile_show(u64 *state, i64 tile, T v, u32 mark)
{
	u64 bits = 0;
	memcpy(&bits, &v, sizeof v);
	if constexpr (sizeof(T) <= 4) {
		store_fresh(state + 1 + tile, bits | (u64)mark << 32);
	} else {
		store_fresh(state + 1 + 3 * tile + mark, bits);
		__threadfence();
		store_fresh(state + 1 + 3 * tile, mark);
	}
}

/* Returns the mark of a tile, and its published value in v. */
template <class T> TPAT_FN u32 tile_look(const u64 *state, i64 tile, T &v)
{
	u64 bits = load_fresh(state + 1 + (sizeof(T) <= 4 ? 1 : 3) * tile);
	const u32 mark = sizeof(T) <= 4 ? (u32)(bits >> 32) : (u32)bits;
	if (sizeof(T) > 4 && mark) {
		__threadfence();
		bits = load_fresh(state + 1 + 3 * tile + mark);
	}
	memcpy(&v, &bits, sizeof v);
	return mark;
}

/* Returns the block's tile index, in all threads. `shared`: one element, not that of the function below. */
TPAT_FN u64 tile_next(u64 *state, u64 *shared)
{
	if (block_thread() == 0)
		*shared = atomic_add(state, (u64)1);
	__syncthreads();
	return *shared;
}

/* Combines the totals of the `n` tiles before this one with op, or returns `none` if n is 0, in all threads; all pass
 * `total`. */
template <class T, class Op>
TPAT_FN T tiles_before(T total, Op op, u64 *state, i64 tile, i64 n, typename identity<T>::type none, T *shared)
{
	const int lane = block_thread();
	if (lane < 32) { /* the first warp reads 32 tiles at a time, lane 0 the nearest */
		T before = none;
		if (lane == 0)
			tile_show(state, tile, total, n ? TILE_TOTAL : TILE_ALL);
		for (i64 seen = 0; seen < n;) {
			const i64 away = seen + lane;
			T v = none;
			u32 mark;
			do
				mark = away < n ? tile_look(state, tile - 1 - away, v) : (u32)TILE_ALL;
			while (__any_sync(0xffffffffu, mark == TILE_NOTHING));
			const u32 ends = __ballot_sync(0xffffffffu, mark == TILE_ALL);
			const int last = ends ? __ffs((int)ends) - 1 : 31; /* it includes farther ones */
			for (int d = 1; d < 32; d <<= 1) {
				const T farther = shuffle_down(v, d);
				if (lane + d <= last)
					v = op(farther, v);
			}
			before = seen ? op(v, before) : v;
			seen = ends ? n : seen + 32;
		}
		if (lane == 0) {
			if (n)
				tile_show(state, tile, op(before, total), TILE_ALL);
			*shared = before;
		}
	}
	__syncthreads();
	return *shared;
}

#undef TPAT_FN
#endif
