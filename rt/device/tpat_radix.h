/* SPDX-License-Identifier: Apache-2.0
 * tpat_radix.h: radix sort by digits of 8 bits, least significant first: long rows in passes over all tiles of a row
 * (radix_count, radix_pass), short ones in shared memory (radix_row). For keys and the functions that a kernel passes,
 * see tpat_sort.h. */
#ifndef TPAT_RADIX_H
#define TPAT_RADIX_H

#include "tpat_sort.h"

#define TPAT_FN __device__ __forceinline__

/* ---- Whole long rows: a pass for each digit of 8 bits, least significant first. */

enum { DIGITS = 256 };

/* Returns digit `pass` of the key. `pass` may be a variable: no shift of 64 bits. */
template <class K> TPAT_FN int digit_of(K key, int pass)
{
	const u32 word = sizeof(K) > 4 && pass >= 4 ? (u32)((u64)key >> 32) : (u32)key;
	return (int)(word >> 8 * (pass % 4) & (DIGITS - 1));
}

template <class K> struct radix_counts {
	enum { PASSES = sizeof(K), COPIES = sizeof(K) > 4 ? 2 : 4 };
	u32 count[PASSES * DIGITS * COPIES]; /* copies, so that fewer lanes collide */
};

/* Adds the digit counts of a tile of TILE keys of a row to count[pass][digit], and clears the tile's parts of
 * `progress`, `stride` apart between passes. */
template <int THREADS, int TILE, class K, class Tile, class Index, class Key>
TPAT_FN void radix_count(radix_counts<K> &shared, Tile tile, Index n, u32 *count, u32 *progress, i64 stride, Key key)
{
	typedef radix_counts<K> counts;
	enum { ITEMS = TILE / THREADS };
	const int thread = block_thread(), copy = thread & (counts::COPIES - 1);
	const Index first = (Index)tile * TILE;
	const int here = n - first < TILE ? (int)(n - first) : TILE;
	K found[ITEMS];
	if (here > 0) { /* no tile of a row that is shorter than its upper bound */
#pragma unroll
		for (int i = 0; i < ITEMS; i++) /* beyond the end the first key again, which does not count */
			found[i] = key(first + (thread + i * THREADS < here ? thread + i * THREADS : 0));
	}
	for (int i = thread; i < counts::PASSES * DIGITS * counts::COPIES; i += THREADS)
		shared.count[i] = 0;
	for (int pass = 0; pass < counts::PASSES; pass++)
		for (int digit = thread; digit < DIGITS; digit += THREADS)
			progress[pass * stride + digit] = 0;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		if (thread + i * THREADS >= here)
			break;
#pragma unroll
		for (int pass = 0; pass < counts::PASSES; pass++)
			atomic_add(&shared.count[(pass * DIGITS + digit_of(found[i], pass)) * counts::COPIES + copy],
			           1u);
	}
	__syncthreads();
	for (int i = thread; i < counts::PASSES * DIGITS; i += THREADS) {
		u32 sum = 0;
		for (int c = 0; c < counts::COPIES; c++)
			sum += shared.count[i * counts::COPIES + c];
		if (sum)
			atomic_add(&count[i], sum);
	}
}

template <class K, int THREADS, int TILE> struct radix_tile {
	union {                                          /* one after the other */
		u32 place_in_tile[THREADS / 32][DIGITS]; /* of each warp's next key with the digit */
		K key[TILE];
		int place[TILE];
	};
	int place_in_row[DIGITS]; /* minus the place in the tile */
	u64 across[DIGITS / 32];
	int turn;
};

/* Blocks take turns in the order in which they start, so that the ones they wait for are running. */
template <class Shared> TPAT_FN int radix_turn(Shared &shared, u32 *turns)
{
	if (block_thread() == 0)
		shared.turn = (int)atomic_add(turns, 1u);
	__syncthreads();
	return shared.turn;
}

/* Returns a mask of the lanes with the same digit. From sm_100 on, ptxas 13.0 runs out of predicates for the former
 * way in some kernels. */
TPAT_FN u32 lanes_with(u32 digit)
{
	u32 same = 0xffffffffu;
#pragma unroll
	for (int bit = 0; bit < 8; bit++) {
		u32 lanes;
#if TPAT_ARCH && TPAT_ARCH < 1000
		asm volatile("{\n\t.reg .pred set;\n\t.reg .b32 only;\n\t"
		             "and.b32 only, %1, %2;\n\tsetp.ne.u32 set, only, 0;\n\t"
		             "vote.sync.ballot.b32 %0, set, 0xffffffff;\n\t@!set not.b32 %0, %0;\n\t}"
		             : "=r"(lanes)
		             : "r"(digit), "r"(1u << bit));
#else
		lanes = __ballot_sync(0xffffffffu, digit >> bit & 1);
		lanes = digit >> bit & 1 ? lanes : ~lanes;
#endif
		same &= lanes;
	}
	return same;
}

/* A tile publishes 1 + its own count of a digit; the last tile of a group later publishes the row's inclusive count,
 * with the highest bit set. A group publishes the sum of its tiles' counts, and above SUM_BITS the number of tiles
 * included. */
enum { GROUP = 16, SUM_BITS = 24 };

template <int N> TPAT_FN void ask_groups(u32 (&sum)[N], const volatile u32 *group, i64 groups)
{
#pragma unroll
	for (int i = 0; i < N; i++)
		sum[i] = i < groups ? group[-(i + 1) * DIGITS] : 0;
}

/* Returns the number of keys with this digit in the row's earlier tiles: from the tiles of its own group, and from
 * earlier groups, GROUP of them at once. */
TPAT_FN int radix_before(const volatile u32 *progress, const volatile u32 *group, i64 tile)
{
	const int own = (int)(tile % GROUP);
	i64 groups = tile / GROUP;
	const volatile u32 *last = progress - (own + 1) * DIGITS; /* of the previous group */
	u32 before = 0, said[GROUP], sums[GROUP];
#pragma unroll
	for (int i = 1; i < GROUP; i++)
		said[i] = i <= own ? progress[-i * DIGITS] : 1;
	ask_groups(sums, group, groups);
#pragma unroll
	for (int i = 1; i < GROUP; i++) {
		while (!said[i])
			said[i] = progress[-i * DIGITS];
		before += said[i] - 1;
	}
	while (groups > 0) {
		const u32 all = groups > GROUP ? *last : 0;
		if (all >> 31)
			return (int)(before + (all & 0x7fffffffu));
#pragma unroll
		for (int i = 0; i < GROUP; i++) {
			while (i < groups && sums[i] >> SUM_BITS != GROUP)
				sums[i] = group[-(i + 1) * DIGITS];
			before += sums[i] & ((1u << SUM_BITS) - 1);
		}
		groups -= GROUP;
		group -= GROUP * DIGITS;
		last -= GROUP * GROUP * DIGITS;
		ask_groups(sums, group, groups);
	}
	return (int)before;
}

/* For each of the warp's keys, counts the earlier ones with the same digit; i is the outer order, lanes the inner.
 * count: of each digit, initially zero. */
template <int ITEMS, class K>
TPAT_FN void rank_in_warp(u32 (&rank)[ITEMS], u32 (&count)[DIGITS], const K (&found)[ITEMS], int pass)
{
	const int lane = warp_lane();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const int digit = digit_of(found[i], pass);
		const u32 same = lanes_with((u32)digit);
		const int leader = __ffs((int)same) - 1;
		u32 before = 0;
		if (lane == leader) {
			before = count[digit];
			count[digit] = before + __popc(same);
		}
		rank[i] = shuffle(before, leader) + __popc(same & ((1u << lane) - 1));
		__syncwarp();
	}
}

/* Moves a tile of a row's elements to their places by digit `pass`: put(j, key, place); only keys without PLACES.
 * `count`: of this pass; `progress`: of this tile in this pass, after those of earlier tiles; `group`: of its group.
 * After: A. Adinets, D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022. */
template <bool PLACES, int THREADS, class K, int TILE, class Tile, class Index, class Key, class Place, class Put>
TPAT_FN void radix_move(radix_tile<K, THREADS, TILE> &shared, Tile tile, Index n, int pass, const u32 *count,
                        u32 *progress, u32 *group, Key key, Place place, Put put)
{
	static_assert(THREADS >= DIGITS && TILE * GROUP < 1 << SUM_BITS,
	              "a thread a digit, and room for a group's sum");
	enum { ITEMS = TILE / THREADS, WARPS = THREADS / 32 };
	const int thread = block_thread(), warp = thread / 32, lane = thread % 32;
	const bool counts = thread < DIGITS; /* this thread counts the tile's keys with digit `thread` */
	const Index first = (Index)tile * TILE;
	const int here = n - first < TILE ? (int)(n - first) : TILE, own = warp * 32 * ITEMS + lane;
	const u32 in_row = counts ? count[thread] : 0;
	K found[ITEMS];
	int found_place[ITEMS];
	u32 rank[ITEMS];
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		found[i] = (K) ~(K)0; /* these come last */
		found_place[i] = PLACE_NONE;
	}
	if (here > 0) {
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			const bool inside = own + i * 32 < here;
			const Index at = first + (inside ? own + i * 32 : 0); /* without branches, loads do not wait */
			const K loaded = key(at);
			found[i] = inside ? loaded : found[i];
			if constexpr (PLACES) {
				const int loaded_place = place(at);
				found_place[i] = inside ? loaded_place : found_place[i];
			}
		}
	}
	/* All keys of the row have the same digit: nothing moves. */
	if (__syncthreads_or(in_row == (u32)n)) {
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			if (own + i * 32 < here)
				put(first + own + i * 32, found[i], found_place[i]);
		return;
	}
	for (int digit = lane; digit < DIGITS; digit += 32)
		shared.place_in_tile[warp][digit] = 0;
	__syncwarp();
	rank_in_warp(rank, shared.place_in_tile[warp], found, pass);
	__syncthreads();
	/* Then sum this thread's digit over warps, and digits over the tile and the row. */
	u32 sum = 0;
	volatile u32 *const said = progress + thread;
	if (counts) {
#pragma unroll
		for (int w = 0; w < WARPS; w++)
			sum += shared.place_in_tile[w][thread];
		*said = 1 + sum;
		atomic_add(group + thread, 1u << SUM_BITS | sum);
	}
	const u64 both = (u64)in_row << 32 | sum, in_warp = warp_scan(both, op_sum());
	if (counts && lane == 31)
		shared.across[warp] = in_warp;
	__syncthreads();
	u64 starts = in_warp - both;
#pragma unroll
	for (int w = 0; w < DIGITS / 32; w++)
		starts += counts && w < warp ? shared.across[w] : 0;
	const u32 start = (u32)starts, start_in_row = (u32)(starts >> 32);
	u32 running = start;
#pragma unroll
	for (int w = 0; w < WARPS && counts; w++) {
		const u32 here_too = shared.place_in_tile[w][thread];
		shared.place_in_tile[w][thread] = running;
		running += here_too;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		rank[i] += shared.place_in_tile[warp][digit_of(found[i], pass)];
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		shared.key[rank[i]] = found[i];
	if (counts) {
		const int before = radix_before(said, group + thread, tile);
		if (tile % GROUP == GROUP - 1)
			*said = 0x80000000u | (u32)(before + sum);
		shared.place_in_row[thread] = (int)(start_in_row + before - start);
	}
	__syncthreads();
	/* Neighbours in the sorted tile are neighbours in the row. */
	Index to[ITEMS];
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const int e = thread + i * THREADS;
		found[i] = shared.key[e];
		to[i] = (Index)shared.place_in_row[digit_of(found[i], pass)] + e;
	}
	if constexpr (PLACES) {
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			shared.place[rank[i]] = found_place[i];
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const int e = thread + i * THREADS;
		if (e < here)
			put(to[i], found[i], PLACES ? shared.place[e] : 0);
	}
}

template <int THREADS, class K, int TILE, class Tile, class Index, class Key, class Place, class Put>
TPAT_FN void radix_pass(radix_tile<K, THREADS, TILE> &shared, Tile tile, Index n, int pass, const u32 *count,
                        u32 *progress, u32 *group, Key key, Place place, Put put)
{
	radix_move<true>(shared, tile, n, pass, count, progress, group, key, place, put);
}

/* Only keys: put(j, key). */
template <int THREADS, class K, int TILE, class Tile, class Index, class Key, class Put>
TPAT_FN void radix_pass_alone(radix_tile<K, THREADS, TILE> &shared, Tile tile, Index n, int pass, const u32 *count,
                              u32 *progress, u32 *group, Key key, Put put)
{
	radix_move<false>(
	        shared, tile, n, pass, count, progress, group, key, [](Index) { return 0; },
	        [&](Index j, K found, int) { put(j, found); });
}

/* ---- Whole short rows: a block keeps one in shared memory ------------------------------------------- */

template <class K, int THREADS, int ITEMS, bool PLACES = true> struct radix_row_keys {
	u32 place_in_row[THREADS / 32][DIGITS]; /* of each warp's next key with the digit */
	K key[THREADS * ITEMS];
	u16 place[PLACES ? THREADS * ITEMS : 1];
	u32 across[THREADS / 32];
};

/* Sorts n <= THREADS * ITEMS keys of a row and puts the first k: put(j, place), or, without PLACES, put(j, key). */
template <int THREADS, int ITEMS, bool PLACES, class K, class Key, class Put>
TPAT_FN void radix_row(radix_row_keys<K, THREADS, ITEMS, PLACES> &shared, int n, int k, Key key, Put put)
{
	static_assert(DIGITS % THREADS == 0 && THREADS * ITEMS <= 65536, "whole digits a thread; places of 16 bits");
	enum { EACH = DIGITS / THREADS, WARPS = THREADS / 32 };
	const int thread = block_thread(), warp = thread / 32, lane = thread % 32, own = warp * 32 * ITEMS + lane;
	K found[ITEMS];
	int found_place[ITEMS];
	u32 rank[ITEMS];
	if (n <= 0)
		return;
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const bool inside = own + i * 32 < n;
		const K loaded = key(inside ? own + i * 32 : 0); /* without a branch, loads need not wait */
		found[i] = inside ? loaded : (K) ~(K)0;          /* these come last */
		found_place[i] = own + i * 32;
	}
#pragma unroll 1
	for (int pass = 0; pass < (int)sizeof(K); pass++) {
		for (int digit = lane; digit < DIGITS; digit += 32)
			shared.place_in_row[warp][digit] = 0;
		__syncwarp();
		rank_in_warp(rank, shared.place_in_row[warp], found, pass);
		__syncthreads();
		/* Then sum this thread's digits over warps. */
		u32 before[EACH][WARPS], sum = 0;
#pragma unroll
		for (int d = 0; d < EACH; d++)
#pragma unroll
			for (int w = 0; w < WARPS; w++) {
				before[d][w] = sum;
				sum += shared.place_in_row[w][thread * EACH + d];
			}
		const u32 start = block_scan<THREADS>(sum, op_sum(), shared.across) - sum;
#pragma unroll
		for (int d = 0; d < EACH; d++)
#pragma unroll
			for (int w = 0; w < WARPS; w++)
				shared.place_in_row[w][thread * EACH + d] = start + before[d][w];
		__syncthreads();
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			const int to = (int)(shared.place_in_row[warp][digit_of(found[i], pass)] + rank[i]);
			shared.key[to] = found[i];
			if (PLACES)
				shared.place[to] = (u16)found_place[i];
		}
		__syncthreads();
		if (pass + 1 == (int)sizeof(K))
			break;
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			found[i] = shared.key[own + i * 32];
			if (PLACES)
				found_place[i] = shared.place[own + i * 32];
		}
	}
	for (int j = thread; j < k; j += THREADS) {
		if constexpr (PLACES)
			put(j, (int)shared.place[j]);
		else
			put(j, shared.key[j]);
	}
}

#undef TPAT_FN
#endif
