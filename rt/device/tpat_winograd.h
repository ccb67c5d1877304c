/* SPDX-License-Identifier: Apache-2.0
 * tpat_winograd.h: functions for kernels that convolve images with windows of 3 x 3 in f32, by Winograd's F(2 x 2, 3 x
 * 3): a tile of 2 x 2 results takes 16 products for each channel, not 36. Compiled like tpat_device.h.
 *
 * For one channel and one row of weights a tile's results are A' ((G g G') * (B' d B)) A, where g are the 3 x 3
 * weights, d the 4 x 4 elements under the windows, and * multiplies them one by one. The sum over channels comes before
 * A. So the 16 places of the products are 16 products of matrices: rows by channels, times channels by tiles. */
#ifndef TPAT_WINOGRAD_H
#define TPAT_WINOGRAD_H

#include "tpat_fma.h"

#define TPAT_FN __device__ __forceinline__

/* A block of 8 warps makes ROWS rows of 32 tiles, CHANNELS channels at a time; a warp has 2 of the 16 places. Shared
 * memory has the transformed weights and image of these channels twice: one is written while the other is multiplied.
 * Later it has some rows of the sums of all places. */
enum { WINOGRAD_WARPS = 8, WINOGRAD_TILES = 32, WINOGRAD_PLACES = 16, WINOGRAD_PITCH = WINOGRAD_TILES + 8 };
template <int CHANNELS, int ROWS> struct winograd {
	/* The threads of a tile and channel: each computes all places, or two of the four lines of places. */
	static constexpr int halves = WINOGRAD_WARPS / CHANNELS, lines = halves == 1 ? 4 : 3;
	/* Rows and tiles of a lane: 8 lanes have other rows, 4 other tiles. Rows of a lane that pass at once. */
	static constexpr int own_rows = ROWS / FMA_ACROSS, own_tiles = WINOGRAD_TILES / FMA_DOWN,
	                     together = ROWS >= 64 ? 2 : 1;
	static_assert(halves == 1 || halves == 2, "4 or 8 channels");
	alignas(16) float weight[2][CHANNELS][WINOGRAD_PLACES][ROWS];
	alignas(16) float image[2][CHANNELS][WINOGRAD_PLACES][WINOGRAD_TILES];
};

/* The lane's row `i` of its ROWS / 8, and its tile: four neighbours are one read. */
TPAT_FN int winograd_row(int lane, int i) { return (i / 4 * FMA_ACROSS + lane) * 4 + i % 4; }
TPAT_FN int winograd_tile(int lane, int i) { return (i / 4 * FMA_DOWN + lane) * 4 + i % 4; }

/* Copies the transformed weights of `channel` and following to shared memory. `weights`: of the thread's first place
 * and rows (winograd_own()), with `pitch` elements from one place to the next. */
template <int CHANNELS, int ROWS, class I>
TPAT_FN void winograd_copy(winograd<CHANNELS, ROWS> &m, int slot, const float *weights, I pitch, I channel)
{
	const int lines = 32 * WINOGRAD_WARPS * 4 / ROWS, copies = CHANNELS * WINOGRAD_PLACES / lines;
	float *const to = &m.weight[slot][0][0][0] + 4 * block_thread();
#pragma unroll
	for (int i = 0; i < copies; i++)
		copy_async<16>(to + i * lines * ROWS, weights + (channel * WINOGRAD_PLACES + i * lines) * pitch, true);
	copy_commit();
}
template <int ROWS, class I> TPAT_FN I winograd_own(I pitch)
{
	return block_thread() / (ROWS / 4) * pitch + block_thread() % (ROWS / 4) * 4;
}

/* The elements of the image that a thread transforms: of one tile and channel, of which it makes all places or, with
 * three lines from line `half` on, half of them. */
template <int LINES> struct winograd_part {
	float at[LINES][4];
};

/* `from`: the thread's first element; `inside`: a bit for each that exists. */
template <int LINES, class I, class PlaceAt>
TPAT_FN void winograd_fetch(winograd_part<LINES> &part, const float *from, unsigned inside, const PlaceAt &place_at)
{
#pragma unroll
	for (int y = 0; y < LINES; y++)
#pragma unroll
		for (int x = 0; x < 4; x++) {
			float v[1];
			load_if(v, from + (place_at((I)0, (I)y, (I)x) - place_at((I)0, (I)0, (I)0)),
			        inside >> (4 * y + x) & 1);
			part.at[y][x] = v[0];
		}
}

/* Stores a line of places, of B' d: times B. */
template <int CHANNELS, int ROWS>
TPAT_FN void winograd_put_line(winograd<CHANNELS, ROWS> &m, int slot, int channel, int line, const float (&v)[4])
{
	const float places[4] = { v[0] - v[2], v[1] + v[2], v[2] - v[1], v[1] - v[3] };
#pragma unroll
	for (int i = 0; i < 4; i++)
		m.image[slot][channel][4 * line + i][warp_lane()] = places[i];
}

/* Transforms the part and stores it. */
template <int CHANNELS, int ROWS, int LINES>
TPAT_FN void winograd_put(winograd<CHANNELS, ROWS> &m, int slot, int channel, int half,
                          const winograd_part<LINES> &part)
{
	float line[4][4];
#pragma unroll
	for (int x = 0; x < 4; x++) {
		if (LINES == 4) {
			line[0][x] = part.at[0][x] - part.at[2][x];
			line[1][x] = part.at[1][x] + part.at[2][x];
			line[2][x] = part.at[2][x] - part.at[1][x];
			line[3][x] = part.at[1][x] - part.at[LINES - 1][x];
		} else if (half == 0) {
			line[0][x] = part.at[0][x] - part.at[2][x];
			line[1][x] = part.at[1][x] + part.at[2][x];
		} else {
			line[0][x] = part.at[1][x] - part.at[0][x];
			line[1][x] = part.at[0][x] - part.at[2][x];
		}
	}
#pragma unroll
	for (int i = 0; i < (LINES == 4 ? 4 : 2); i++)
		winograd_put_line(m, slot, channel, 2 * half + i, line[i]);
}

/* Loads a lane's weights and elements of one channel and place. */
template <int CHANNELS, int ROWS, int M, int N>
TPAT_FN void winograd_load(float (&weight)[M], float (&element)[N], const winograd<CHANNELS, ROWS> &m, int slot,
                           int channel, int place)
{
#pragma unroll
	for (int i = 0; i < M; i += 4) {
		float four[4];
		load(four, &m.weight[slot][channel][place][winograd_row(fma_across(), i)]);
#pragma unroll
		for (int e = 0; e < 4; e++)
			weight[i + e] = four[e];
	}
#pragma unroll
	for (int i = 0; i < N; i += 4) {
		float four[4];
		load(four, &m.image[slot][channel][place][winograd_tile(fma_down(), i)]);
#pragma unroll
		for (int e = 0; e < 4; e++)
			element[i + e] = four[e];
	}
}

/* sums += the products of the channels in the slot. */
template <int CHANNELS, int ROWS, int M, int N>
TPAT_FN void winograd_multiply(float (&sum)[2][M][N], const winograd<CHANNELS, ROWS> &m, int slot)
{
	const int place = block_thread() / 32 * 2;
	float weight[2][M], element[2][N];
	winograd_load(weight[0], element[0], m, slot, 0, place);
#pragma unroll
	for (int step = 0; step < 2 * CHANNELS; step++) {
		if (step + 1 < 2 * CHANNELS)
			winograd_load(weight[(step + 1) % 2], element[(step + 1) % 2], m, slot, (step + 1) / 2,
			              place + (step + 1) % 2);
#pragma unroll
		for (int i = 0; i < M; i++)
#pragma unroll
			for (int n = 0; n < N; n++) { /* to and fro: neighbours share a factor, as registers have few
				                         ports */
				const int j = M >= 8 && i % 2 ? N - 1 - n : n;
				sum[step % 2][i][j] =
				        multiply_add(weight[step % 2][i], element[step % 2][j], sum[step % 2][i][j]);
			}
	}
}

/* put(row, line, column, result) for the rows from `row` on of the lane's tile, lines and columns 0 and 1: A' sum A.
 * The sums of the places come together in shared memory, some rows at a time. An infinity under one of a tile's windows
 * makes NaNs of all its results: direct(row, line, column) then computes them one by one. */
template <int CHANNELS, int ROWS, int M, int N, class I, class Put, class Direct>
TPAT_FN void winograd_store(winograd<CHANNELS, ROWS> &m, const float (&sum)[2][M][N], I row, const Put &put,
                            const Direct &direct)
{
	const int together = winograd<CHANNELS, ROWS>::together, rows = FMA_ACROSS * together,
	          warp = block_thread() / 32;
	static_assert(sizeof m >= sizeof(float) * WINOGRAD_PLACES * rows * WINOGRAD_PITCH, "room for the sums");
	float *const sums = &m.weight[0][0][0][0];
	unsigned left = 0; /* a bit for each of the lane's rows */
#pragma unroll
	for (int first = 0; first < M; first += together) {
		__syncthreads();
#pragma unroll
		for (int place = 0; place < 2; place++)
#pragma unroll
			for (int i = 0; i < together; i++)
#pragma unroll
				for (int j = 0; j < N; j += 4) {
					const float(&from)[N] = sum[place][first + i];
					const float four[4] = { from[j], from[j + 1], from[j + 2], from[j + 3] };
					const int line = (2 * warp + place) * rows + i * FMA_ACROSS + fma_across();
					store(sums + line * WINOGRAD_PITCH + winograd_tile(fma_down(), j), four);
				}
		__syncthreads();
#pragma unroll
		for (int i = 0; i < together; i++) {
			float at[4][4], line[2][4];
#pragma unroll
			for (int place = 0; place < WINOGRAD_PLACES; place++) {
				float v[1];
				load(v, sums + (place * rows + i * FMA_ACROSS + warp) * WINOGRAD_PITCH + warp_lane());
				at[place / 4][place % 4] = v[0];
			}
#pragma unroll
			for (int x = 0; x < 4; x++) {
				line[0][x] = at[0][x] + at[1][x] + at[2][x];
				line[1][x] = at[1][x] - at[2][x] - at[3][x];
			}
			const I own = row + winograd_row(warp, first + i);
			float results[2][2], size = 0;
#pragma unroll
			for (int y = 0; y < 2; y++) {
				results[y][0] = line[y][0] + line[y][1] + line[y][2];
				results[y][1] = line[y][1] - line[y][2] - line[y][3];
				size += fabsf(results[y][0]) + fabsf(results[y][1]);
			}
			if (!(size < INFINITY)) {
				left |= 1u << (first + i);
				continue;
			}
#pragma unroll
			for (int y = 0; y < 2; y++)
#pragma unroll
				for (int x = 0; x < 2; x++)
					put(own, (I)y, (I)x, results[y][x]);
		}
	}
#pragma unroll 1
	for (int i = 0; left; i++, left >>= 1)
#pragma unroll 1
		for (int result = 0; left & 1 && result < 4; result++)
			direct(row + winograd_row(warp, i), (I)(result / 2), (I)(result % 2));
}

/* put(row, line, column, sum) for ROWS rows from `row` on, and the 2 x 2 results of the lane's tile: sums over
 * `channels` and 3 x 3 taps. `weights`: transformed, as winograd_copy() reads them, zero for whole steps of CHANNELS.
 * place_at(channel, line, column): an element's position in `image`; inside(line, column): it exists, in all channels;
 * both of the 4 x 4 elements under the windows of the lane's tile. direct(row, line, column): sums and puts one result.
 */
template <int CHANNELS, int ROWS, class I, class PlaceAt, class Inside, class Put, class Direct>
TPAT_FN void winograd_product(winograd<CHANNELS, ROWS> &m, const float *image, const float *weights, I row,
                              typename identity<I>::type pitch, typename identity<I>::type channels,
                              const PlaceAt &place_at, const Inside &inside, const Put &put, const Direct &direct)
{
	using shape = winograd<CHANNELS, ROWS>;
	const int warp = block_thread() / 32, own = warp / shape::halves, half = warp % shape::halves;
	float sum[2][shape::own_rows][shape::own_tiles] = {};
	winograd_part<shape::lines> part;
	unsigned exists = 0; /* a bit for each of its elements */
#pragma unroll
	for (int y = 0; y < shape::lines; y++)
#pragma unroll
		for (int x = 0; x < 4; x++)
			exists |= (unsigned)inside((I)(half + y), (I)x) << (4 * y + x);
	const auto fetch = [&](I channel) {
		winograd_fetch<shape::lines, I>(part, image + place_at(channel, (I)half, (I)0),
		                                channel < channels ? exists : 0, place_at);
	};
	weights += winograd_own<ROWS>(pitch);
	winograd_copy(m, 0, weights, pitch, (I)0);
	fetch((I)own);
	winograd_put(m, 0, own, half, part);
	int slot = 0;
	for (I channel = 0; channel < channels; channel += CHANNELS, slot = 1 - slot) {
		const I next = channel + CHANNELS;
		copy_wait<0>();
		__syncthreads();
		if (next < channels) {
			winograd_copy(m, 1 - slot, weights, pitch, next);
			fetch(next + own);
		}
		winograd_multiply(sum, m, slot);
		if (next < channels)
			winograd_put(m, 1 - slot, own, half, part);
	}
	winograd_store(m, sum, row, put, direct);
}

#undef TPAT_FN
#endif
