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

/* Loads the patch, channels `channel` and following. */
template <int WARPS, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I, class At>
TPAT_FN void patch_load(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, const T *image, I channel,
                        const At &image_at)
{
	for (int each = block_thread() / 32; each < PAIRS * LINES; each += WARPS) {
		const int pair = each / LINES, line = each % LINES;
#pragma unroll
		for (int i = 0; i < (COLUMNS + 31) / 32; i++) {
			const int column = i * 32 + warp_lane();
			if (COLUMNS % 32 && column >= COLUMNS)
				continue;
			const u32 low = patch_bits(image, image_at(channel + 2 * pair, (I)line, (I)column));
			const u32 high = patch_bits(image, image_at(channel + 2 * pair + 1, (I)line, (I)column));
			m.image[pair * m.pair_words + line * m.line_words + m.column_word(column)] = low | high << 16;
		}
	}
}

/* Loads the weights of these channels, from row `row` on to row `rows`. */
template <int WARPS, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I, class At>
TPAT_FN void patch_load_weights(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, const T *weights, I row, I rows,
                                I channel, const At &weight_at)
{
	const int mine = (int)(rows - row < 16 * TILES ? rows - row : 16 * TILES);
	u32 *const words = (u32 *)m.weights;
	for (int i = block_thread(); i < mine * m.words; i += 32 * WARPS) {
		const int r = i / m.words, pair = i / TAPS % PAIRS, tap = i % TAPS, word = tap * PAIRS + pair;
		const u32 low = patch_bits(weights, weight_at(row + r, channel + 2 * pair, (I)tap));
		const u32 high = patch_bits(weights, weight_at(row + r, channel + 2 * pair + 1, (I)tap));
		const int lane = r % 8 * 4 + word % 4, at = r / 8 % 2 + word / 4 % 2 * 2;
		words[((word / 8 * TILES + r / 16) * 32 + lane) * 4 + at] = low | high << 16;
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
	patch_begin<WARPS, TAPS_X, APART_Y, APART_X>(m);
	for (I channel = 0; channel < channels; channel += 2 * PAIRS) {
		__syncthreads();
		patch_load<WARPS>(m, image, channel, image_at);
		patch_load_weights<WARPS>(m, weights, row, (I)rows, channel, weight_at);
		__syncthreads();
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
