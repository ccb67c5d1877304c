/* SPDX-License-Identifier: Apache-2.0
 * tpat_patch.h: functions for kernels that sum products over windows of an image, for few channels at a time. A block
 * keeps a patch of the image in shared memory, and takes each tap's elements from there as the right operand of tensor
 * cores. Compiled like tpat_device.h. */
#ifndef TPAT_PATCH_H
#define TPAT_PATCH_H

#include "tpat_mma.h"

#define TPAT_FN __device__ __forceinline__

/* A patch of LINES x COLUMNS places of 2 * PAIRS channels, and the weights of 16 * TILES rows for its channels and
 * TAPS. A word of `image` has two neighbouring channels of a place. Columns that are CLASSES apart lie next to each
 * other, so that neighbouring windows, which are as far apart, read neighbouring words. `weights` has the left operands
 * of the products in the order of the lanes; a product sums 8 words: `place` says where they are in the patch. */
template <int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES> struct patch {
	static constexpr int line_words = (COLUMNS + CLASSES - 1) / CLASSES * CLASSES;
	/* Lanes with different pairs read different banks. */
	static constexpr int pair_words = (LINES * line_words + 23) / 32 * 32 + 8;
	static constexpr int words = PAIRS * TAPS, steps = (words + 7) / 8;
	uint4 weights[steps * TILES * 32];
	u32 image[PAIRS * pair_words];
	u16 place[steps * 8];

	TPAT_FN static int column_word(int column)
	{
		return column % CLASSES * (line_words / CLASSES) + column / CLASSES;
	}
};

template <class T, class I> TPAT_FN u32 patch_bits(const T *from, I at)
{
	u32 bits = 0;
	if (at >= 0)
		bits = from[at].bits;
	return bits;
}

/* Fills the weights with zeros, also of rows that do not exist, and computes `place`. */
template <int WARPS, int TAPS_X, int APART_Y, int APART_X, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS,
          int CLASSES>
TPAT_FN void patch_begin(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m)
{
	for (int i = block_thread(); i < m.steps * TILES * 32; i += 32 * WARPS)
		m.weights[i] = uint4{ 0, 0, 0, 0 };
	for (int word = block_thread(); word < m.steps * 8; word += 32 * WARPS) {
		const int tap = word / PAIRS, y = tap / TAPS_X * APART_Y, x = tap % TAPS_X * APART_X;
		m.place[word] =
		        (u16)(word < m.words ? word % PAIRS * m.pair_words + y * m.line_words + m.column_word(x) : 0);
	}
}

/* A thread issues this many loads of pairs of elements before it waits for the first. */
enum { PATCH_IMAGE = 4, PATCH_WEIGHTS = 2 };
template <int N> struct patch_words {
	u32 low[N], high[N];
	TPAT_FN u32 of(int i) const { return low[i] | high[i] << 16; }
};

/* Loads the words of the patch from number `from` on, channels `channel` and following; stores them. */
template <int WARPS, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I, class At>
TPAT_FN void patch_fetch(patch_words<PATCH_IMAGE> &to, const patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &,
                         const T *image, int from, I channel, const At &image_at)
{
#pragma unroll
	for (int i = 0; i < PATCH_IMAGE; i++) {
		const int word = from + i * 32 * WARPS + block_thread(), line = word / COLUMNS % LINES,
		          pair = word / (COLUMNS * LINES), column = word % COLUMNS;
		const I first = channel + 2 * pair;
		to.low[i] = pair < PAIRS ? patch_bits(image, image_at(first, (I)line, (I)column)) : 0;
		to.high[i] = pair < PAIRS ? patch_bits(image, image_at(first + 1, (I)line, (I)column)) : 0;
	}
}
template <int WARPS, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES>
TPAT_FN void patch_put(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, int from,
                       const patch_words<PATCH_IMAGE> &words)
{
#pragma unroll
	for (int i = 0; i < PATCH_IMAGE; i++) {
		const int word = from + i * 32 * WARPS + block_thread(), line = word / COLUMNS % LINES,
		          pair = word / (COLUMNS * LINES), column = word % COLUMNS;
		if (pair < PAIRS)
			m.image[pair * m.pair_words + line * m.line_words + m.column_word(column)] = words.of(i);
	}
}

/* The same of the weights of these channels, `rows` rows from `row` on. */
template <int WARPS, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I, class At>
TPAT_FN void patch_fetch_weights(patch_words<PATCH_WEIGHTS> &to,
                                 const patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, const T *weights,
                                 int from, I row, int rows, I channel, const At &weight_at)
{
#pragma unroll
	for (int i = 0; i < PATCH_WEIGHTS; i++) {
		const int all = from + i * 32 * WARPS + block_thread(), r = all / m.words, tap = all % TAPS;
		const I first = channel + 2 * (all / TAPS % PAIRS);
		to.low[i] = r < rows ? patch_bits(weights, weight_at(row + r, first, (I)tap)) : 0;
		to.high[i] = r < rows ? patch_bits(weights, weight_at(row + r, first + 1, (I)tap)) : 0;
	}
}
template <int WARPS, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES>
TPAT_FN void patch_put_weights(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, int from, int rows,
                               const patch_words<PATCH_WEIGHTS> &words)
{
	u32 *const to = (u32 *)m.weights;
#pragma unroll
	for (int i = 0; i < PATCH_WEIGHTS; i++) {
		const int all = from + i * 32 * WARPS + block_thread(), r = all / m.words,
		          word = all % TAPS * PAIRS + all / TAPS % PAIRS;
		const int lane = r % 8 * 4 + word % 4, at = r / 8 % 2 + word / 4 % 2 * 2;
		if (r < rows)
			to[((word / 8 * TILES + r / 16) * 32 + lane) * 4 + at] = words.of(i);
	}
}

/* put(row, line, column, sum) for rows row .. row + 16 * TILES, below `rows`, and a result's DOWN x ACROSS elements:
 * the sums of weight * element over `channels` and taps, TAPS_X of them next to each other. Windows are STEP_Y lines
 * and CLASSES columns apart, taps APART_Y and APART_X. image_at(channel, line, column), weight_at(row, channel, tap):
 * positions in `image` and `weights`, or -1 for zero. Each warp makes 8 neighbouring columns at a time. */
template <int WARPS, int DOWN, int ACROSS, int TAPS_X, int STEP_Y, int APART_Y, int APART_X, int PAIRS, int TILES,
          int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I, class ImageAt, class WeightAt, class Put>
TPAT_FN void patch_product(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, const T *image, const T *weights,
                           I row, typename identity<I>::type rows, typename identity<I>::type channels,
                           const ImageAt &image_at, const WeightAt &weight_at, const Put &put)
{
	const int pieces = DOWN * ACROSS / 8 / WARPS, warp = block_thread() / 32, g = warp_lane() / 4,
	          t = warp_lane() % 4;
	static_assert(ACROSS % 8 == 0 && DOWN * ACROSS % (8 * WARPS) == 0, "whole products for each warp");
	static_assert(COLUMNS == (ACROSS - 1) * CLASSES + (TAPS_X - 1) * APART_X + 1, "the windows' columns");
	static_assert(LINES == (DOWN - 1) * STEP_Y + (TAPS / TAPS_X - 1) * APART_Y + 1, "the windows' lines");
	mma_sum<float> sum[TILES][pieces] = {};
	int first[pieces];
#pragma unroll
	for (int i = 0; i < pieces; i++) {
		const int piece = warp * pieces + i, line = piece / (ACROSS / 8), column = piece % (ACROSS / 8) * 8 + g;
		first[i] = line * STEP_Y * m.line_words + column;
	}
	const int mine = (int)(rows - row < 16 * TILES ? rows - row : 16 * TILES); /* rows */
	const int all = PAIRS * LINES * COLUMNS, image_each = PATCH_IMAGE * 32 * WARPS,
	          weights_each = PATCH_WEIGHTS * 32 * WARPS;
	patch_words<PATCH_IMAGE> image_words;
	patch_words<PATCH_WEIGHTS> weights_words;
	const auto fetch = [&](I channel) { /* arrives while the channels before are multiplied */
		                            patch_fetch<WARPS>(image_words, m, image, 0, channel, image_at);
		                            patch_fetch_weights<WARPS>(weights_words, m, weights, 0, row, mine, channel,
		                                                       weight_at);
	};
	fetch(0);
	patch_begin<WARPS, TAPS_X, APART_Y, APART_X>(m);
	for (I channel = 0; channel < channels; channel += 2 * PAIRS) {
		__syncthreads();
		patch_put<WARPS>(m, 0, image_words);
		patch_put_weights<WARPS>(m, 0, mine, weights_words);
#pragma unroll 1
		for (int from = image_each; from < all; from += image_each) {
			patch_fetch<WARPS>(image_words, m, image, from, channel, image_at);
			patch_put<WARPS>(m, from, image_words);
		}
#pragma unroll 1
		for (int from = weights_each; from < mine * m.words; from += weights_each) {
			patch_fetch_weights<WARPS>(weights_words, m, weights, from, row, mine, channel, weight_at);
			patch_put_weights<WARPS>(m, from, mine, weights_words);
		}
		__syncthreads();
		if (channel + 2 * PAIRS < channels)
			fetch(channel + 2 * PAIRS);
#pragma unroll 2
		for (int step = 0; step < m.steps; step++) {
			mma_a<T> a[TILES];
			const int low = m.place[step * 8 + t], high = m.place[step * 8 + 4 + t];
			/* Behind the last tap a weight is zero, but the element there may be infinite. */
			const bool is_low = m.words % 8 == 0 || step * 8 + t < m.words;
			const bool is_high = m.words % 8 == 0 || step * 8 + 4 + t < m.words;
#pragma unroll
			for (int i = 0; i < TILES; i++) {
				const uint4 v = m.weights[(step * TILES + i) * 32 + warp_lane()];
				a[i] = { { v.x, v.y, v.z, v.w } };
			}
#pragma unroll
			for (int p = 0; p < pieces; p++) {
				const mma_b<T> b = { { is_low ? m.image[first[p] + low] : 0,
					               is_high ? m.image[first[p] + high] : 0 } };
#pragma unroll
				for (int i = 0; i < TILES; i++)
					mma(sum[i][p], a[i], b);
			}
		}
	}
#pragma unroll
	for (int i = 0; i < TILES; i++)
#pragma unroll
		for (int p = 0; p < pieces; p++) {
			const int piece = warp * pieces + p, line = piece / (ACROSS / 8),
			          column = piece % (ACROSS / 8) * 8;
#pragma unroll
			for (int e = 0; e < 4; e++)
				put(row + 16 * i + mma_row(e), (I)line, (I)(column + mma_column(e)), sum[i][p].at[e]);
		}
}

#undef TPAT_FN
#endif
