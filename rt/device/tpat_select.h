/* SPDX-License-Identifier: Apache-2.0
 * tpat_select.h: the first k of a row by the blocks of a cluster (select_cluster), which keep the whole row in
 * registers. For keys and the functions that a kernel passes, see tpat_sort.h. */
#ifndef TPAT_SELECT_H
#define TPAT_SELECT_H

#include "tpat_cluster.h"
#include "tpat_digits.h"

#define TPAT_FN __device__ __forceinline__

/* Candidates of a block, and what it shows to the others. */
template <class K, int N> struct cluster_kept {
	alignas(16) digits_kept<K, N> digits; /* its items are the candidates */
	alignas(16) typename item_of<K>::type bound[1];
	int count[1];
};

/* The item that comes first, or last. */
struct op_first {
	template <class T> TPAT_FN T operator()(T a, T b) const { return b < a ? b : a; }
};
struct op_last {
	template <class T> TPAT_FN T operator()(T a, T b) const { return a < b ? b : a; }
};

/* A block's share of k is the number of its warps' best items that the bound must leave, of BEST items of each warp.
 * The bound is the last of all blocks' shares, so that at least k items satisfy it, and seldom many more. */
template <int THREADS, int BLOCKS, int BEST, class K, int N>
TPAT_FN typename item_of<K>::type cluster_bound(cluster_kept<K, N> &shared, typename item_of<K>::type best, int k)
{
	typedef typename item_of<K>::type I;
	enum { COMPARED = THREADS / 32 * BEST };
	static_assert(COMPARED >= 32 && COMPARED <= N, "a warp's items or more");
	I *const list = shared.digits.kept.item;
	const int warp = block_thread() / 32, lane = warp_lane(), share = (k + BLOCKS - 1) / BLOCKS - 1;
	if constexpr (BEST > 1)
		best = warp_sort(best);
	else
		best = warp_reduce(best, op_first());
	if (lane < BEST)
		list[warp * BEST + lane] = best;
	if constexpr (COMPARED > 32) {
		sort_by_merges<THREADS, K>(shared.digits.kept.item, COMPARED);
		if (block_thread() == 0)
			shared.bound[0] = list[share];
	} else {
		__syncthreads();
		if (warp == 0) {
			best = shuffle(warp_sort(list[lane]), share);
			if (lane == 0)
				shared.bound[0] = best;
		}
	}
	cluster_sync();
	I own[1];
	cluster_load(own, shared.bound, lane % BLOCKS);
	return warp_reduce<BLOCKS>(own[0], op_last());
}

/* The key of the best of a thread's items, and the place of the first one that has it, from that of the first item. */
template <bool DESCENDING, int WIDTH, int STRIDE, class V, int N> TPAT_FN auto best_key(const V (&x)[N], int &at)
{
	const auto best = first_key<DESCENDING>(x);
#pragma unroll
	for (int i = N - 1; i >= 0; i--)
		at = key_in_order<DESCENDING>(x[i]) == best ? i / WIDTH * STRIDE + i % WIDTH : at;
	return best;
}

/* Compares the numbers themselves. */
template <bool DESCENDING, int WIDTH, int STRIDE, int N> TPAT_FN u32 best_key(const float (&x)[N], int &at)
{
	float best = x[0];
#pragma unroll
	for (int i = 1; i < N; i++)
		best = DESCENDING ? nan_max(best, x[i]) : fminf(best, x[i]);
	const bool nan = best != best;
#pragma unroll
	for (int i = N - 1; i >= 0; i--)
		at = x[i] == best || (nan && x[i] != x[i]) ? i / WIDTH * STRIDE + i % WIDTH : at;
	return key_in_order<DESCENDING>(best);
}

/* Puts the first k of `count` items; missing ones come last, with PLACE_NONE. The place of one of few items is the
 * number of items before it, which several lanes count. */
template <int THREADS, class K, int N, class Put>
TPAT_FN void put_few(typename item_of<K>::type (&item)[N], int count, int k, Put put)
{
	enum { LANES = 8 };
	typedef typename item_of<K>::type I;
	const int thread = block_thread(), mine = thread / LANES;
	for (int j = count + thread; j < k; j += THREADS)
		put(j, (K) ~(K)0, (int)PLACE_NONE);
	if (count <= THREADS / LANES) {
		const I own = item[mine < count ? mine : 0];
		int before = 0;
#pragma unroll 4
		for (int i = thread % LANES; i < count; i += LANES)
			before += item[i] < own;
		before = warp_sum<LANES>(before);
		if (mine < count && thread % LANES == 0 && before < k)
			put(before, key_of<K>(own), place_of<K>(own));
		return;
	}
	sort_by_merges<THREADS, K>(item, count);
	for (int j = thread; j < k && j < count; j += THREADS)
		put(j, key_of<K>(item[j]), place_of<K>(item[j]));
}

/* Finds the first k of a row of n <= THREADS * BLOCKS * ITEMS, by the block of this rank in its cluster and the others;
 * k <= N / 2 and BLOCKS times the items that a block compares for the bound. values(r, found) returns WIDTH neighbours;
 * a row consists of such vectors. Items up to the bound are candidates. If there are too many for the lists, which only
 * rows in special orders cause, the first block finds the k by digits. */
template <class V, bool DESCENDING, int THREADS, int BLOCKS, int ITEMS, int WIDTH, int BEST, class K, class Rank,
          class Index, int N, class Values, class Put>
TPAT_FN void select_cluster(cluster_kept<K, N> &shared, Rank rank, Index n, int k, Values values, Put put)
{
	static_assert(ITEMS % WIDTH == 0 && N >= THREADS, "whole vectors, room for an item of each thread");
	enum { STRIDE = THREADS * BLOCKS * WIDTH, DIGIT_ITEMS = WIDTH > 4 ? WIDTH : 4 };
	typedef item_of<K> item;
	typedef typename item::type I;
	const int thread = block_thread();
	sort_kept<K, N> &kept = shared.digits.kept;
	/* Warps of the blocks take turns, so that neighbours are spread over the blocks. */
	const int first = ((thread / 32 * BLOCKS + (int)rank) * 32 + thread % 32) * WIDTH, here = (int)n - first;
	V found[ITEMS];
	if (k <= 0)
		return;
	if (thread == 0)
		shared.count[0] = 0;
#pragma unroll
	for (int v = 0; v < ITEMS / WIDTH; v++) { /* beyond the end, the thread's first elements again, or any */
		V part[WIDTH];
		values((Index)(v * STRIDE < here ? first + v * STRIDE : here > 0 ? first : 0), part);
#pragma unroll
		for (int i = 0; i < WIDTH; i++)
			found[v * WIDTH + i] = part[i];
	}
	int at = 0;
	const K best = (K)best_key<DESCENDING, WIDTH, STRIDE>(found, at);
	const I own = here > 0 ? item::make(best, first + at) : item::make((K) ~(K)0, PLACE_NONE);
	const I bound = cluster_bound<THREADS, BLOCKS, BEST>(shared, own, k);
	if (here > 0 && !(bound < own)) {
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			const int r = i / WIDTH * STRIDE + i % WIDTH;
			const I x = item::make((K)key_in_order<DESCENDING>(found[i]), first + r);
			if (r < here && !(bound < x)) {
				const int to = atomic_add(&shared.count[0], 1);
				if (to < N)
					kept.item[to] = x;
			}
		}
	}
	cluster_sync();
	int count[1], all = 0, first_ones = 0; /* all candidates; of each block, the first k */
	cluster_load(count, shared.count, warp_lane() % BLOCKS);
	const int most = warp_reduce<BLOCKS>(count[0], op_max());
#pragma unroll
	for (int b = 0; b < BLOCKS; b++) {
		const int more = shuffle(count[0], b);
		all += more;
		first_ones += more < k ? more : k;
	}
	if (most > N || first_ones > N) {
		cluster_sync(); /* all counts are read */
		const auto keys = [&](Index r, K(&to)[WIDTH]) {
			V part[WIDTH];
			values(r, part);
#pragma unroll
			for (int i = 0; i < WIDTH; i++)
				to[i] = (K)key_in_order<DESCENDING>(part[i]);
		};
		const auto place = [](Index r) { return (int)r; };
		if (rank == 0)
			select_digits<THREADS, DIGIT_ITEMS, WIDTH, true>(shared.digits, 0, n, k, keys, place, put);
		return;
	}
	if (all > N) {
		sort_by_merges<THREADS, K>(kept.item, shuffle(count[0], (int)rank));
		count[0] = count[0] < k ? count[0] : k;
		cluster_sync();
	}
	all = 0;
#pragma unroll
	for (int b = 0; b < BLOCKS; b++) { /* the first block takes the others' items after its own */
		const int more = shuffle(count[0], b);
		if (b > 0 && rank == 0)
			for (int i = thread; i < more; i += THREADS) {
				I x[1];
				cluster_load(x, &kept.item[i], b);
				kept.item[all + i] = x[0];
			}
		all += more;
	}
	cluster_sync(); /* blocks end when theirs are read */
	if (rank != 0)
		return;
	put_few<THREADS, K>(kept.item, all, k, put);
}

#undef TPAT_FN
#endif
