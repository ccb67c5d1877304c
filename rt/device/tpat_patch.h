/* SPDX-License-Identifier: Apache-2.0
 * tpat_patch.h: functions for kernels that sum products over windows of an image, for few channels at a time. A block
 * keeps a patch of the image in shared memory, and takes each tap's elements from there: as the right operand of tensor
 * cores, or of f32 for ordinary multiply-adds. Compiled like tpat_device.h. */
#ifndef TPAT_PATCH_H
#define TPAT_PATCH_H

#include "tpat_fma.h"

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

/* Number n of the words of the patch that a thread copies. Threads stay in their columns if at least three in four have
 * one: what depends on the column is then computed once. */
template <int THREADS, int PAIRS, int LINES, int COLUMNS> struct patch_place {
	static constexpr int lines = THREADS / COLUMNS;
	static constexpr bool stays = 4 * lines * COLUMNS >= 3 * THREADS;
	static constexpr int words =
	        stays ? (PAIRS * LINES + lines - 1) / lines : (PAIRS * LINES * COLUMNS + THREADS - 1) / THREADS;
	int pair, line, column; /* pair PAIRS or above: there is no such word */

	TPAT_FN patch_place(int n)
	{
		const u32 at = (stays ? 0 : n * THREADS) + thread_of<THREADS>(),
		          row = (stays ? n * lines : 0) + at / COLUMNS;
		column = (int)(at % COLUMNS);
		line = (int)(row % LINES);
		pair = stays && at >= lines * COLUMNS ? PAIRS : (int)(row / LINES);
	}
};

/* A thread copies its words of the patch and of the weights in `rounds`: in each it issues all loads before it waits
 * for the first one. */
template <int IMAGE_WORDS, int WEIGHTS, int THREADS> struct patch_rounds {
	static constexpr int weights_words = (WEIGHTS + THREADS - 1) / THREADS,
	                     rounds = (IMAGE_WORDS + weights_words + 11) / 12,
	                     image = (IMAGE_WORDS + rounds - 1) / rounds,
	                     weights = (weights_words + rounds - 1) / rounds;
};
template <int N> struct patch_words {
	u32 low[N], high[N];
	TPAT_FN u32 of(int i) const { return low[i] | high[i] << 16; }
};

/* Loads a thread's words of the patch from number `from` on, channels `channel` and following; stores them. */
template <int WARPS, int N, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I,
          class At>
TPAT_FN void patch_fetch(patch_words<N> &to, const patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &, const T *image,
                         int from, I channel, const At &image_at)
{
#pragma unroll
	for (int i = 0; i < N; i++) {
		const patch_place<32 * WARPS, PAIRS, LINES, COLUMNS> word(from + i);
		const I first = channel + 2 * word.pair, line = word.line, column = word.column;
		const I low = image_at(first, line, column), high = image_at(first + 1, line, column);
		to.low[i] = load_element_at(image, word.pair < PAIRS ? low : -1).bits;
		to.high[i] = load_element_at(image, word.pair < PAIRS ? high : -1).bits;
	}
}
template <int WARPS, int N, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES>
TPAT_FN void patch_put(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, int from, const patch_words<N> &words)
{
#pragma unroll
	for (int i = 0; i < N; i++) {
		const patch_place<32 * WARPS, PAIRS, LINES, COLUMNS> word(from + i);
		if (word.pair < PAIRS)
			m.image[word.pair * m.pair_words + word.line * m.line_words + m.column_word(word.column)] =
			        words.of(i);
	}
}

/* The same of the weights of these channels, `rows` rows from `row` on. */
template <int WARPS, int N, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES, class T, class I,
          class At>
TPAT_FN void patch_fetch_weights(patch_words<N> &to, const patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m,
                                 const T *weights, int from, I row, int rows, I channel, const At &weight_at)
{
#pragma unroll
	for (int i = 0; i < N; i++) {
		const u32 all = (from + i) * 32 * WARPS + thread_of<32 * WARPS>();
		const int r = (int)(all / m.words), tap = (int)(all % TAPS);
		const I first = channel + 2 * (I)(all / TAPS % PAIRS);
		to.low[i] = load_element_at(weights, r < rows ? weight_at(row + r, first, (I)tap) : -1).bits;
		to.high[i] = load_element_at(weights, r < rows ? weight_at(row + r, first + 1, (I)tap) : -1).bits;
	}
}
template <int WARPS, int N, int PAIRS, int TILES, int TAPS, int LINES, int COLUMNS, int CLASSES>
TPAT_FN void patch_put_weights(patch<PAIRS, TILES, TAPS, LINES, COLUMNS, CLASSES> &m, int from, int rows,
                               const patch_words<N> &words)
{
	u32 *const to = (u32 *)m.weights;
#pragma unroll
	for (int i = 0; i < N; i++) {
		const u32 all = (from + i) * 32 * WARPS + thread_of<32 * WARPS>();
		const int r = (int)(all / m.words), word = (int)(all % TAPS * PAIRS + all / TAPS % PAIRS);
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
	using each = patch_rounds<patch_place<32 * WARPS, PAIRS, LINES, COLUMNS>::words, 16 * TILES * PAIRS * TAPS,
	                          32 * WARPS>;
	patch_words<each::image> image_words;
	patch_words<each::weights> weights_words;
	const auto fetch = [&](int round, I channel) {
		patch_fetch<WARPS>(image_words, m, image, round * each::image, channel, image_at);
		patch_fetch_weights<WARPS>(weights_words, m, weights, round * each::weights, row, mine, channel,
		                           weight_at);
	};
	const auto put_words = [&](int round) {
		patch_put<WARPS>(m, round * each::image, image_words);
		patch_put_weights<WARPS>(m, round * each::weights, mine, weights_words);
	};
	fetch(0, 0);
	patch_begin<WARPS, TAPS_X, APART_Y, APART_X>(m);
	for (I channel = 0; channel < channels; channel += 2 * PAIRS) {
		__syncthreads();
		put_words(0);
#pragma unroll 1
		for (int round = 1; round < each::rounds; round++) {
			fetch(round, channel);
			put_words(round);
		}
		__syncthreads();
		if (channel + 2 * PAIRS < channels)
			fetch(0, channel + 2 * PAIRS); /* arrives while these channels are multiplied */
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

/* ---- By ordinary multiply-adds, in f32. */

/* Two patches of LINES x COLUMNS places of CHANNELS channels, and the weights of ROWS rows for these channels and TAPS:
 * one is copied while the other is multiplied. Columns that are CLASSES apart lie next to each other, so that a lane
 * reads a tap's elements of four neighbouring windows at once. PITCH: words from line to line, such that lanes with
 * other lines read other banks. */
template <int CHANNELS, int ROWS, int TAPS, int LINES, int COLUMNS, int CLASSES, int PITCH> struct patch_plain {
	static constexpr int class_words = ((COLUMNS + CLASSES - 1) / CLASSES + 3) / 4 * 4,
	                     words = CLASSES * class_words;
	static_assert(words <= PITCH && PITCH % 4 == 0, "whole lines of vectors");
	alignas(16) float image[2][CHANNELS][LINES][PITCH];
	alignas(16) float weight[2][CHANNELS * TAPS][ROWS + 4];

	TPAT_FN static int column(int word) { return word % class_words * CLASSES + word / class_words; }
};

/* A block's threads copy `channel` and the following channels of the patch, and the weights of rows from `row` on. A
 * warp takes 8 neighbouring weights of 4 rows at a time, which go to different banks. */
template <int THREADS, int CHANNELS, int ROWS, int TAPS, int LINES, int COLUMNS, int CLASSES, int PITCH, class I,
          class ImageAt, class WeightAt>
TPAT_FN void patch_copy(patch_plain<CHANNELS, ROWS, TAPS, LINES, COLUMNS, CLASSES, PITCH> &m, int slot,
                        const float *image, const float *weights, I row, I channel, const ImageAt &image_at,
                        const WeightAt &weight_at)
{
	const int places = CHANNELS * LINES * m.words, all = CHANNELS * TAPS, eights = (all + 7) / 8;
#pragma unroll 4
	for (int i = block_thread(); i < places; i += THREADS) {
		const int c = i / (LINES * m.words), line = i / m.words % LINES, word = i % m.words;
		const I at = image_at(channel + c, (I)line, (I)m.column(word));
		copy_async_at<4>(&m.image[slot][c][line][word], image, at);
	}
#pragma unroll 4
	for (int i = block_thread() / 32; i < eights * (ROWS / 4); i += THREADS / 32) {
		const int w = i % eights * 8 + warp_lane() % 8, r = i / eights * 4 + warp_lane() / 8;
		if (all % 8 && w >= all)
			continue;
		const I at = weight_at(row + r, channel + w / TAPS, (I)(w % TAPS));
		copy_async_at<4>(&m.weight[slot][w][r], weights, at);
	}
	copy_commit();
}

/* As patch_product(). A lane makes OWN rows of 4 neighbouring columns at two places; 8 lanes have other columns, 4 have
 * other rows. */
template <int DOWN, int ACROSS, int TAPS_X, int STEP_Y, int APART_Y, int APART_X, int CHANNELS, int ROWS, int TAPS,
          int LINES, int COLUMNS, int CLASSES, int PITCH, class I, class ImageAt, class WeightAt, class Put>
TPAT_FN void patch_product_plain(patch_plain<CHANNELS, ROWS, TAPS, LINES, COLUMNS, CLASSES, PITCH> &m,
                                 const float *image, const float *weights, I row, typename identity<I>::type rows,
                                 typename identity<I>::type channels, const ImageAt &image_at,
                                 const WeightAt &weight_at, const Put &put)
{
	const int OWN = ROWS < 32 ? ROWS / 4 : 8, row_warps = ROWS / (4 * OWN), places = DOWN * ACROSS / 64,
	          threads = 32 * row_warps * places;
	const int width = (4 + (TAPS_X - 1) * APART_X / CLASSES + 3) / 4 * 4; /* elements of a class that a lane reads
	                                                                       */
	static_assert(DOWN * ACROSS % 64 == 0 && ACROSS % 4 == 0 && ROWS % (4 * OWN) == 0, "whole warps");
	static_assert(COLUMNS == (ACROSS - 1) * CLASSES + (TAPS_X - 1) * APART_X + 1, "the windows' columns");
	static_assert(LINES == (DOWN - 1) * STEP_Y + (TAPS / TAPS_X - 1) * APART_Y + 1, "the windows' lines");
	const int warp = block_thread() / 32, own_row = warp % row_warps * 4 * OWN + fma_down() * 4;
	int line[2], column[2];
#pragma unroll
	for (int p = 0; p < 2; p++) {
		const int four = (warp / row_warps * 2 + p) * 8 + fma_across();
		line[p] = four / (ACROSS / 4);
		column[p] = four % (ACROSS / 4) * 4;
	}
	float sum[OWN][2][4] = {};
	patch_copy<threads>(m, 0, image, weights, row, (I)0, image_at, weight_at);
	int slot = 0;
	for (I channel = 0; channel < channels; channel += CHANNELS, slot = 1 - slot) {
		copy_wait<0>();
		__syncthreads();
		if (channel + CHANNELS < channels)
			patch_copy<threads>(m, 1 - slot, image, weights, row, channel + CHANNELS, image_at, weight_at);
#pragma unroll 1
		for (int c = 0; c < CHANNELS; c++) {
#pragma unroll(TAPS <= 9 ? 3 : 1)
			for (int y = 0; y < TAPS / TAPS_X; y++) {
				float v[2][CLASSES][width];
#pragma unroll
				for (int p = 0; p < 2; p++)
#pragma unroll
					for (int k = 0; k < CLASSES; k++)
						load(v[p][k], &m.image[slot][c][line[p] * STEP_Y + y * APART_Y]
						                      [k * m.class_words + column[p]]);
#pragma unroll
				for (int x = 0; x < TAPS_X; x++) {
					float w[OWN];
#pragma unroll
					for (int i = 0; i < OWN; i += 4) {
						float four[4];
						load(four, &m.weight[slot][c * TAPS + y * TAPS_X + x][own_row + 4 * i]);
#pragma unroll
						for (int e = 0; e < 4; e++)
							w[i + e] = four[e];
					}
#pragma unroll
					for (int i = 0; i < OWN; i++)
#pragma unroll
						for (int p = 0; p < 2; p++)
#pragma unroll
							for (int e = 0; e < 4; e++)
								sum[i][p][e] += w[i] * v[p][x * APART_X % CLASSES]
								                        [x * APART_X / CLASSES + e];
				}
			}
		}
	}
#pragma unroll
	for (int i = 0; i < OWN; i++)
#pragma unroll
		for (int p = 0; p < 2; p++)
#pragma unroll
			for (int e = 0; e < 4; e++)
				put(row + own_row + i / 4 * 16 + i % 4, (I)line[p], (I)(column[p] + e), sum[i][p][e]);
}

#undef TPAT_FN
#endif
