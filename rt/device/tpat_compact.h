/* SPDX-License-Identifier: Apache-2.0
 * tpat_compact.h: compaction in two kernels: the first marks each point with a bit (mark_points), contiguous for a
 * warp; the second knows the total count and stores the marked points (put_marked). Compiled like tpat_device.h. */
#ifndef TPAT_COMPACT_H
#define TPAT_COMPACT_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

/* Marks a tile of THREADS * ITEMS points from `first` on, of n. Returns the number kept, in all threads. */
template <int THREADS, int ITEMS, class Index, class End, class Keep>
TPAT_FN int mark_points(u32 *marks, Index first, End n, int *across, Keep keep)
{
	const int lane = warp_lane(), warp = block_thread() / 32;
	const End own = (End)first + warp * 32 * ITEMS + lane;
	const bool whole = (End)first + THREADS * ITEMS <= n; /* then loads are unconditional */
	bool kept[ITEMS];
	u32 mine = 0;
#pragma unroll
	for (int i = 0; i < ITEMS && whole; i++)
		kept[i] = keep(own + i * 32);
#pragma unroll
	for (int i = 0; i < ITEMS && !whole; i++)
		kept[i] = own + i * 32 < n && keep(own + i * 32);
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const u32 word = __ballot_sync(0xffffffffu, kept[i]);
		mine = lane == i ? word : mine;
	}
	if (lane < ITEMS)
		marks[warp * ITEMS + lane] = mine;
	return block_reduce<THREADS>(__popc(mine), op_sum(), across);
}

template <int THREADS, int ITEMS> struct marked_points {
	int across[THREADS / 32], all;
	u16 list[THREADS * ITEMS]; /* so that neighbouring threads store neighbouring elements */
};

/* Calls put(place, point) for each marked point; `start` of them come before the tile. */
template <int THREADS, int ITEMS, class Index, class Start, class Put>
TPAT_FN void put_marked(marked_points<THREADS, ITEMS> &shared, const u32 *marks, Index first, Start start, Put put)
{
	const int thread = block_thread(), lane = warp_lane(), warp = thread / 32;
	const u32 mine = lane < ITEMS ? marks[warp * ITEMS + lane] : 0;
	const int upto = block_scan<THREADS>(__popc(mine), op_sum(), shared.across);
	if (thread == THREADS - 1)
		shared.all = upto;
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		const u32 word = shuffle(mine, i);
		const int place = shuffle(upto, i) - __popc(word >> lane);
		if (word >> lane & 1)
			shared.list[place] = (u16)((warp * ITEMS + i) * 32 + lane);
	}
	__syncthreads();
	for (int e = thread; e < shared.all; e += THREADS)
		put(start + e, first + shared.list[e]);
}

#undef TPAT_FN
#endif
