/* SPDX-License-Identifier: Apache-2.0
 * tpat_radix.h: sorting by digits of 8 bits, the least first: long rows in passes over all of a row's tiles (radix_count,
 * radix_pass), short ones whole in shared memory (radix_row). Keys, and the functions that a kernel gives: see tpat_sort.h. */
#ifndef TPAT_RADIX_H
#define TPAT_RADIX_H

#include "tpat_sort.h"

#define TPAT_FN __device__ __forceinline__

/* ---- Whole long rows: a pass for each digit of 8 bits, the least first ---------------------------------------------- */

enum { DIGITS = 256 };

/* Bits of K's digit number `pass`. */
template <class K> TPAT_FN int digit_of(K key, int pass) { return (int)(key >> 8 * pass & (DIGITS - 1)); }

template <class K> struct radix_counts {
	enum { PASSES = sizeof(K), COPIES = sizeof(K) > 4 ? 2 : 4 };
	u32 count[PASSES * DIGITS * COPIES]; /* copies, so that fewer lanes meet at one */
};

/* Adds how often each digit is found among a tile of TILE keys of a row to count[pass][digit], and empties the tile's own
 * parts of `progress`, which are `stride` apart from pass to pass. */
template <int THREADS, int TILE, class K, class Tile, class Index, class Key>
TPAT_FN void radix_count(radix_counts<K> &shared, Tile tile, Index n, u32 *count, u32 *progress, i64 stride, Key key)
{
	typedef radix_counts<K> counts;
	const int thread = block_thread(), copy = thread & (counts::COPIES - 1);
	for (int i = thread; i < counts::PASSES * DIGITS * counts::COPIES; i += THREADS)
		shared.count[i] = 0;
	for (int pass = 0; pass < counts::PASSES; pass++)
		for (int digit = thread; digit < DIGITS; digit += THREADS)
			progress[pass * stride + digit] = 0;
	__syncthreads();
	const Index first = (Index)tile * TILE;
	const int here = n - first < TILE ? (int)(n - first) : TILE;
	for (int e = thread; e < here; e += THREADS) {
		const K x = key(first + e);
#pragma unroll
		for (int pass = 0; pass < counts::PASSES; pass++)
			atomic_add(&shared.count[(pass * DIGITS + digit_of(x, pass)) * counts::COPIES + copy], 1u);
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
	u32 place_in_tile[THREADS / 32][DIGITS]; /* of each warp's next key with the digit */
	int place_in_row[DIGITS];                /* less the place in the tile */
	K key[TILE];
	int place[TILE];
	u64 across[THREADS / 32];
	int turn;
};

/* Blocks take their turns in the order in which they start, so that those that one waits for are under way. */
template <class Shared> TPAT_FN int radix_turn(Shared &shared, u32 *turns)
{
	if (block_thread() == 0)
		shared.turn = (int)atomic_add(turns, 1u);
	__syncthreads();
	return shared.turn;
}

/* The lanes whose digit is this one's. */
TPAT_FN u32 lanes_with(int digit)
{
	u32 same = 0xffffffffu;
#pragma unroll
	for (int bit = 0; bit < 8; bit++) {
		const bool set = digit >> bit & 1;
		const u32 lanes = __ballot_sync(0xffffffffu, set);
		same &= set ? lanes : ~lanes;
	}
	return same;
}

/* How many keys of the row have this digit in the tiles before this one: what those tiles said, the nearest first, several
 * asked at once. Each says 1 + its own count, and later, with the highest bit set, the count up to and with itself. */
TPAT_FN int radix_before(const volatile u32 *progress, i64 tile)
{
	enum { AT_ONCE = 8 };
	u32 sum = 0;
	while (tile > 0) {
		u32 said[AT_ONCE];
		int heard = 0;
#pragma unroll
		for (int i = 0; i < AT_ONCE; i++)
			said[i] = i < tile ? progress[-(i + 1) * DIGITS] : 0;
#pragma unroll
		for (int i = 0; i < AT_ONCE; i++) {
			if (heard < i || !said[i])
				continue;
			if (said[i] >> 31)
				return (int)(sum + (said[i] & 0x7fffffffu));
			sum += said[i] - 1;
			heard++;
		}
		progress -= heard * DIGITS;
		tile -= heard;
	}
	return (int)sum;
}

/* How many of the warp's keys with the same digit come before each: i runs before lanes. count: of each digit; zero before. */
template <int ITEMS, class K> TPAT_FN void rank_in_warp(u32 (&rank)[ITEMS], u32 (&count)[DIGITS], const K (&found)[ITEMS], int pass)
{
	const int lane = warp_lane();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const int digit = digit_of(found[i], pass);
		const u32 same = lanes_with(digit);
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

/* Moves a tile of a row's elements to where they belong by digit number PASS: put(j, key, place). `count`: of this pass;
 * `progress`: of this tile in this pass, those of the tiles before it in front.
 * After: A. Adinets, D. Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022. */
template <int PASS, int THREADS, class K, int TILE, class Tile, class Index, class Key, class Place, class Put>
TPAT_FN void radix_pass(radix_tile<K, THREADS, TILE> &shared, Tile tile, Index n, const u32 *count, u32 *progress, Key key,
			Place place, Put put)
{
	static_assert(THREADS == DIGITS, "a thread a digit");
	enum { ITEMS = TILE / THREADS };
	const int thread = block_thread(), warp = thread / 32, lane = thread % 32;
	const Index first = (Index)tile * TILE;
	const int here = n - first < TILE ? (int)(n - first) : TILE, own = warp * 32 * ITEMS + lane;
	const u32 in_row = count[thread];
	/* All of the row has one digit: nothing moves. */
	if (__syncthreads_or(in_row == (u32)n)) {
		for (int e = thread; e < here; e += THREADS)
			put(first + e, key(first + e), place(first + e));
		return;
	}
	K found[ITEMS];
	int found_place[ITEMS];
	u32 rank[ITEMS];
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const bool inside = own + i * 32 < here;
		found[i] = inside ? key(first + own + i * 32) : (K)~(K)0; /* these come last */
		found_place[i] = inside ? place(first + own + i * 32) : (int)PLACE_NONE;
	}
	for (int digit = lane; digit < DIGITS; digit += 32)
		shared.place_in_tile[warp][digit] = 0;
	__syncwarp();
	rank_in_warp(rank, shared.place_in_tile[warp], found, PASS);
	__syncthreads();
	/* Then this thread's digit, warp after warp, and the digits of the tile and of the row. */
	u32 before_warp[THREADS / 32], sum = 0;
#pragma unroll
	for (int w = 0; w < THREADS / 32; w++) {
		before_warp[w] = sum;
		sum += shared.place_in_tile[w][thread];
	}
	volatile u32 *const said = progress + thread;
	*said = tile == 0 ? 0x80000000u | sum : 1 + sum;
	const u64 both = (u64)in_row << 32 | sum, starts = block_scan<THREADS>(both, op_sum(), shared.across) - both;
	const u32 start = (u32)starts, start_in_row = (u32)(starts >> 32);
#pragma unroll
	for (int w = 0; w < THREADS / 32; w++)
		shared.place_in_tile[w][thread] = before_warp[w] + start;
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const int to = (int)(shared.place_in_tile[warp][digit_of(found[i], PASS)] + rank[i]);
		shared.key[to] = found[i];
		shared.place[to] = found_place[i];
	}
	const int before = radix_before(said, tile);
	if (tile != 0)
		*said = 0x80000000u | (u32)(before + sum);
	shared.place_in_row[thread] = (int)(start_in_row + before - start);
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const int e = thread + i * THREADS;
		if (e < here) {
			const K x = shared.key[e];
			put((Index)shared.place_in_row[digit_of(x, PASS)] + e, x, shared.place[e]);
		}
	}
}

/* ---- Whole short rows by their digits: a block keeps one in shared memory ------------------------------------------- */

template <class K, int THREADS, int ITEMS> struct radix_row_keys {
	u32 place_in_row[THREADS / 32][DIGITS]; /* of each warp's next key with the digit */
	K key[THREADS * ITEMS];
	u16 place[THREADS * ITEMS];
	u32 across[THREADS / 32];
};

/* Sorts n <= THREADS * ITEMS keys of a row and puts the first k. */
template <int THREADS, int ITEMS, class K, class Key, class Put>
TPAT_FN void radix_row(radix_row_keys<K, THREADS, ITEMS> &shared, int n, int k, Key key, Put put)
{
	static_assert(DIGITS % THREADS == 0 && THREADS * ITEMS <= 65536, "whole digits a thread; places of 16 bits");
	enum { EACH = DIGITS / THREADS, WARPS = THREADS / 32 };
	const int thread = block_thread(), warp = thread / 32, lane = thread % 32, own = warp * 32 * ITEMS + lane;
	K found[ITEMS];
	int found_place[ITEMS];
	u32 rank[ITEMS];
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		found[i] = own + i * 32 < n ? key(own + i * 32) : (K)~(K)0; /* these come last */
		found_place[i] = own + i * 32;
	}
#pragma unroll 1
	for (int pass = 0; pass < (int)sizeof(K); pass++) {
		for (int digit = lane; digit < DIGITS; digit += 32)
			shared.place_in_row[warp][digit] = 0;
		__syncwarp();
		rank_in_warp(rank, shared.place_in_row[warp], found, pass);
		__syncthreads();
		/* Then this thread's digits, warp after warp. */
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
			shared.place[to] = (u16)found_place[i];
		}
		__syncthreads();
		if (pass + 1 == (int)sizeof(K))
			break;
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			found[i] = shared.key[own + i * 32];
			found_place[i] = shared.place[own + i * 32];
		}
	}
	for (int j = thread; j < k; j += THREADS)
		put(j, (int)shared.place[j]);
}

#undef TPAT_FN
#endif
