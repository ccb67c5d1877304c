/* SPDX-License-Identifier: Apache-2.0
 * tpat_digits.h: the first k of a row by digits (select_digits). A block counts the digits of the row's keys, the
 * highest first, until the keys up to that of the k-th element are few enough to be kept in shared memory, and sorts
 * those. For keys and the functions that a kernel passes, see tpat_sort.h. */
#ifndef TPAT_DIGITS_H
#define TPAT_DIGITS_H

#include "tpat_sort.h"

#define TPAT_FN __device__ __forceinline__

enum { SELECT_BITS = 11, SELECT_DIGITS = 1 << SELECT_BITS, PLACE_BITS = 31 };

template <class K, int N> struct digits_kept {
	sort_kept<K, N> kept;
	u32 count[SELECT_DIGITS]; /* of the keys with each digit */
	u32 across[32];
	u32 digit, before, same; /* the digit of the k-th key, and the numbers of keys with smaller ones and with it */
};

/* True if x comes before `own`, or at the same place if it is in the run before own's. */
template <class I> TPAT_FN bool goes_before(I x, I own, bool in_earlier) { return in_earlier ? !(own < x) : x < own; }

/* Sorts n <= N items: warps sort 32 each, then neighbouring runs are merged, where each item finds its place by a
 * binary search. All threads call it; item[] has N elements, and the first n may be read after it. */
template <int THREADS, class K, int N> TPAT_FN void sort_by_merges(typename item_of<K>::type (&item)[N], int n)
{
	static_assert(N % THREADS == 0, "whole items a thread");
	typedef typename item_of<K>::type I;
	enum { EACH = N / THREADS };
	const int thread = block_thread();
	int all = 32, to[EACH];
	I own[EACH];
	while (all < n)
		all *= 2;
	__syncthreads();
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		const int at = thread + e * THREADS;
		if (at < all) /* or none of the warp's lanes */
			item[at] = warp_sort(at < n ? item[at] : item_of<K>::make((K) ~(K)0, PLACE_NONE));
	}
	for (int run = 32; run < all; run *= 2) {
		__syncthreads();
#pragma unroll
		for (int e = 0; e < EACH; e++) {
			const int at = thread + e * THREADS, pair = at & ~(2 * run - 1);
			if (at >= all)
				continue;
			const bool later = at & run;
			const I *const other = item + pair + (later ? 0 : run);
			int before = 0;
			own[e] = item[at];
			for (int step = run / 2; step > 0; step /= 2)
				before += goes_before(other[before + step - 1], own[e], later) ? step : 0;
			before += goes_before(other[before], own[e], later);
			to[e] = pair + (at & (run - 1)) + before;
		}
		__syncthreads();
#pragma unroll
		for (int e = 0; e < EACH; e++)
			if (thread + e * THREADS < all)
				item[to[e]] = own[e];
	}
	__syncthreads();
}

/* The bits of x from `shift` on, which may be all of them. */
template <class K> TPAT_FN K leading_bits(K x, int shift)
{
	return shift >= (int)(8 * sizeof(K)) ? (K)0 : (K)(x >> shift);
}

/* Finds the digit of the `wanted`-th key (from 1) among the counted ones. Starts and ends with a barrier. */
template <int THREADS, class K, int N> TPAT_FN void find_digit(digits_kept<K, N> &shared, u32 wanted)
{
	static_assert(SELECT_DIGITS % THREADS == 0, "whole digits a thread");
	enum { EACH = SELECT_DIGITS / THREADS };
	const int first = block_thread() * EACH;
	u32 own[EACH], sum = 0;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < EACH; i++) {
		own[i] = shared.count[first + i];
		sum += own[i];
	}
	u32 before = block_scan<THREADS>(sum, op_sum(), shared.across) - sum;
	if (before < wanted && wanted <= before + sum) {
#pragma unroll
		for (int i = 0; i < EACH; i++) {
			if (before < wanted && wanted <= before + own[i]) {
				shared.digit = first + i;
				shared.before = before;
				shared.same = own[i];
			}
			before += own[i];
		}
	}
	__syncthreads();
}

/* Finds the first k <= N of the positions [from, to). If there are at most THREADS * ITEMS, each is read once, else
 * once for each digit. keys(r, found) returns the keys of WIDTH neighbours; a row consists of such vectors. ORDERED:
 * puts them in their order, else in any. If there are fewer than k, the rest comes last, with PLACE_NONE. */
template <int THREADS, int ITEMS, int WIDTH, bool ORDERED, class K, class From, class Index, int N, class Keys,
          class Place, class Put>
TPAT_FN void select_digits(digits_kept<K, N> &shared, From from, Index to, int k, Keys keys, Place place, Put put)
{
	static_assert(ITEMS <= 32 && ITEMS % WIDTH == 0, "a bit an item, whole vectors");
	enum { CHUNK = THREADS * ITEMS, STRIDE = THREADS * WIDTH };
	const int thread = block_thread(), most = ORDERED ? N : k;
	const Index length = to > (Index)from ? to - (Index)from : 0;
	const bool held = length <= CHUNK;
	/* Candidates have leading bits of the key, and then of the place, up to these. */
	int key_shift = 8 * sizeof(K), place_shift = PLACE_BITS;
	K key_bound = 0;
	u32 place_bound = 0, wanted = (u32)k; /* the k-th element's number among those with these leading bits */
	Index candidates = length;
	K found[ITEMS];
	if (k <= 0)
		return;
	if (thread == 0)
		shared.kept.count = 0;
	if (held && length > 0)
		load_keys<THREADS, ITEMS, WIDTH>(found, (Index)from + thread * WIDTH, (int)length - thread * WIDTH,
		                                 (Index)from, keys);
	while (candidates > most && candidates > k && place_shift > 0) {
		const bool by_key = key_shift > 0;
		const int above = by_key ? key_shift : place_shift,
		          shift = above > SELECT_BITS ? above - SELECT_BITS : 0;
		const u32 mask = (1u << (above - shift)) - 1;
		for (int i = thread; i < SELECT_DIGITS; i += THREADS)
			shared.count[i] = 0;
		__syncthreads();
		for (Index left = length; left > 0; left -= left < CHUNK ? left : (Index)CHUNK) {
			const Index chunk = to - left + thread * WIDTH;
			const int here = left < CHUNK ? (int)left - thread * WIDTH : (int)CHUNK;
			if (!held)
				load_keys<THREADS, ITEMS, WIDTH>(found, chunk, here, (Index)from, keys);
#pragma unroll
			for (int i = 0; i < ITEMS; i++) {
				const Index r = chunk + i / WIDTH * STRIDE + i % WIDTH;
				if (i / WIDTH * STRIDE >= here || leading_bits(found[i], key_shift) != key_bound)
					continue;
				if (by_key)
					atomic_add(&shared.count[(u32)(found[i] >> shift) & mask], 1u);
				else if ((u32)place(r) >> place_shift == place_bound)
					atomic_add(&shared.count[(u32)place(r) >> shift & mask], 1u);
			}
		}
		find_digit<THREADS>(shared, wanted);
		wanted -= shared.before;
		candidates = (Index)(k - (int)wanted) + (Index)shared.same;
		if (by_key) {
			key_bound = (K)((u64)key_bound << (above - shift) | shared.digit);
			key_shift = shift;
		} else {
			place_bound = place_bound << (above - shift) | shared.digit;
			place_shift = shift;
		}
	}
	__syncthreads();
	for (Index left = length; left > 0; left -= left < CHUNK ? left : (Index)CHUNK) {
		const Index chunk = to - left + thread * WIDTH;
		const int here = left < CHUNK ? (int)left - thread * WIDTH : (int)CHUNK;
		u32 kept = 0; /* bit i: found[i] is a candidate */
		if (!held)
			load_keys<THREADS, ITEMS, WIDTH>(found, chunk, here, (Index)from, keys);
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			const Index r = chunk + i / WIDTH * STRIDE + i % WIDTH;
			const K bits = leading_bits(found[i], key_shift);
			if (i / WIDTH * STRIDE < here &&
			    (bits < key_bound || (bits == key_bound && (place_shift == PLACE_BITS ||
			                                                (u32)place(r) >> place_shift <= place_bound))))
				kept |= 1u << i;
		}
		const int own = __popc(kept), up_to = warp_scan(own, op_sum());
		int at = 0;
		if (warp_lane() == 31 && up_to)
			at = atomic_add(&shared.kept.count, up_to);
		at = shuffle(at, 31) + up_to - own;
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			if (!(kept >> i & 1))
				continue;
			const int r = place(chunk + i / WIDTH * STRIDE + i % WIDTH);
			if (!ORDERED && at < k)
				put(at, found[i], r);
			else if (ORDERED && at < N)
				shared.kept.item[at] = item_of<K>::make(found[i], r);
			at++;
		}
	}
	__syncthreads();
	const int count = shared.kept.count < most ? shared.kept.count : most;
	for (int j = count + thread; j < k; j += THREADS)
		put(j, (K) ~(K)0, (int)PLACE_NONE);
	if constexpr (ORDERED) {
		sort_by_merges<THREADS, K>(shared.kept.item, count);
		for (int j = thread; j < k && j < count; j += THREADS)
			put(j, key_of<K>(shared.kept.item[j]), place_of<K>(shared.kept.item[j]));
	}
}

#undef TPAT_FN
#endif
