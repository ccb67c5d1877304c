/* SPDX-License-Identifier: Apache-2.0
 * tpat_pick.h: picks elements of a row in order, each unless one picked before excludes it. A block visits the row's
 * elements THREADS at a time. First each thread compares its element with all picks of earlier turns. Then the warps
 * take turns: one settles its 32 elements among themselves, all later ones compare theirs with its picks. Compiled like
 * tpat_device.h. */
#ifndef TPAT_PICK_H
#define TPAT_PICK_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

template <int THREADS> struct pick_turn {
	u32 picked[THREADS / 32]; /* of each warp's elements, one bit each */
	bool ended[THREADS / 32]; /* the row ends among them */
};

/* The bits below the lowest bit that is 0. */
TPAT_FN u32 bits_before_gap(u32 bits) { return bits & ~(bits + 1); }

/* The lowest n of the bits. */
template <class Count> TPAT_FN u32 lowest_bits(u32 bits, Count n)
{
	u32 rest = bits;
	if (n >= __popc(bits))
		return bits;
	for (; n > 0; n--) /* at the end of a row only */
		rest &= rest - 1;
	return bits ^ rest;
}

/* The picks among a warp's elements. `open`: the elements that may be picked; `word`: those of them before this lane's
 * that exclude it. Lane k's answer is right after k + 1 rounds, and no longer changes. */
TPAT_FN u32 pick_in_warp(u32 open, u32 word)
{
	const bool own = open >> warp_lane() & 1;
	u32 picked = open;
	for (;;) {
		const u32 next = __ballot_sync(0xffffffffu, own && !(word & picked));
		if (next == picked)
			return picked;
		picked = next;
	}
}

/* Picks from a row of n elements at most `most`: put(place, element) for each, and put(place, -1) for the places after
 * them. may(i): the row does not end at element i. Comparisons are those of `pairs`. */
template <int THREADS, class Length, class Most, class May, class Put, class Pairs>
TPAT_FN void pick_turns(pick_turn<THREADS> &shared, Length n, Most most, May may, Put put, Pairs pairs)
{
	typedef decltype(n + most) Index;
	const int lane = warp_lane(), warp = block_thread() / 32;
	Index count = 0;
	bool ended = false;
	for (Index first = 0; first < n && count < most && !ended; first += THREADS) {
		const Index own = first + (Index)block_thread();
		const bool inside = own < n && may(own);
		const u32 whole = __ballot_sync(0xffffffffu, inside);
		bool open = inside && !pairs.earlier(own, first, count);
		u32 word = 0;
		if (whole)
			word = pairs.among(own, first, __ballot_sync(0xffffffffu, open), open);
		for (int w = 0; w < THREADS / 32 && first + w * 32 < n; w++) {
			if (warp == w) {
				u32 picked = __ballot_sync(0xffffffffu, open) & bits_before_gap(whole);
				picked = lowest_bits(pick_in_warp(picked, word), most - count);
				if (picked >> lane & 1)
					put(count + __popc(picked & ((1u << lane) - 1)), own);
				if (lane == 0) {
					shared.picked[w] = picked;
					shared.ended[w] = whole != 0xffffffffu;
				}
			}
			__syncthreads();
			const u32 picked = shared.picked[w];
			if (lane == 0 && warp == w)
				pairs.note(first, w, picked);
			count += __popc(picked);
			ended = shared.ended[w];
			if (count == most || ended)
				break;
			if (warp > w && open)
				open = !pairs.later(own, first + w * 32, picked);
		}
		__syncthreads();
	}
	for (Index q = count + (Index)block_thread(); q < most; q += THREADS)
		put(q, (Index)-1);
}

/* Compares elements when they meet: over(i, k) if k, once picked, excludes i; get(place) is a pick put before. */
template <class Over, class Get> struct pick_by_pairs {
	Over over;
	Get get;

	template <class Index> TPAT_FN bool earlier(Index own, Index, Index count) const
	{
		enum { AT_ONCE = 4 };
		for (Index q = 0; q < count; q += AT_ONCE) {
			bool found = false;
#pragma unroll
			for (int i = 0; i < AT_ONCE; i++)
				found |= over(own, get(q + i < count ? q + i : q));
			if (found)
				return true;
		}
		return false;
	}

	template <class Index> TPAT_FN bool later(Index own, Index first, u32 picked) const
	{
		for (; picked; picked &= picked - 1)
			if (over(own, first + (Index)(__ffs((int)picked) - 1)))
				return true;
		return false;
	}

	template <class Index> TPAT_FN u32 among(Index own, Index, u32 open, bool mine) const
	{
		const Index base = own - warp_lane();
		u32 word = 0;
		if (!mine)
			return 0;
		for (u32 rest = open & ((1u << warp_lane()) - 1); rest; rest &= rest - 1) {
			const int k = __ffs((int)rest) - 1;
			word |= (u32)over(own, base + (Index)k) << k;
		}
		return word;
	}

	template <class Index> TPAT_FN void note(Index, int, u32) const {}
};

/* Takes comparisons from words that pick_word() has made: that of element i with 32 elements is words[number * n + i].
 * `before`: a word for 32 elements, one bit for each that is picked. */
template <class Length> struct pick_by_words {
	const u32 *words;
	Length n;
	u32 *before;

	template <class Index> TPAT_FN bool earlier(Index own, Index first, Index) const
	{
		u32 found = 0;
		const Index ends = first / 32;
#pragma unroll 8
		for (Index w = 0; w < ends; w++)
			found |= words[w * n + own] & before[w];
		return found != 0;
	}

	template <class Index> TPAT_FN bool later(Index own, Index first, u32 picked) const
	{
		return picked && (words[first / 32 * n + own] & picked);
	}

	template <class Index> TPAT_FN u32 among(Index own, Index, u32, bool mine) const
	{
		return mine ? words[own / 32 * n + own] : 0;
	}

	template <class Index> TPAT_FN void note(Index first, int w, u32 picked) const
	{
		before[first / 32 + w] = picked;
	}
};

template <int THREADS, class Length, class Most, class May, class Over, class Get, class Put>
TPAT_FN void pick_row(pick_turn<THREADS> &shared, Length n, Most most, May may, Over over, Get get, Put put)
{
	pick_turns(shared, n, most, may, put, pick_by_pairs<Over, Get>{ over, get });
}

template <int THREADS, class Length, class Most, class May, class Put>
TPAT_FN void pick_row_by_words(pick_turn<THREADS> &shared, u32 *before, const u32 *words, Length n, Most most, May may,
                               Put put)
{
	pick_turns(shared, n, most, may, put, pick_by_words<Length>{ words, n, before });
}

/* The elements first .. first + 31 that come before i and, once picked, exclude it. */
template <class Index, class First, class Over> TPAT_FN u32 pick_word(Index i, First first, Over over)
{
	u32 word = 0;
	const int ends = i - first < 32 ? (int)(i - first) : 32;
#pragma unroll 8
	for (int k = 0; k < ends; k++)
		word |= (u32)over(i, first + (Index)k) << k;
	return word;
}

#undef TPAT_FN
#endif
