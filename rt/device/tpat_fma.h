/* SPDX-License-Identifier: Apache-2.0
 * tpat_fma.h: functions for contraction kernels whose element types tensor cores lack: products of tiles by ordinary
 * arithmetic, in the elements' own type. Each lane of a warp keeps a small matrix of accumulators in registers. Uses
 * the tiles and copies of tpat_mma.h. Compiled like tpat_device.h. */
#ifndef TPAT_FMA_H
#define TPAT_FMA_H

#include "tpat_mma.h"

#define TPAT_FN __device__ __forceinline__

/* Returns a * b + c. Floats round once, integers wrap. */
TPAT_FN float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
TPAT_FN double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
TPAT_FN int multiply_add(int a, int b, int c) { return (int)((u32)a * (u32)b + (u32)c); }
TPAT_FN u32 multiply_add(u32 a, u32 b, u32 c) { return a * b + c; }
TPAT_FN i64 multiply_add(i64 a, i64 b, i64 c) { return (i64)((u64)a * (u64)b + (u64)c); }
TPAT_FN u64 multiply_add(u64 a, u64 b, u64 c) { return a * b + c; }

/* ---- Layout of lanes. */

/* A warp's lanes are FMA_DOWN x FMA_ACROSS; with ROWS x COLUMNS accumulators each, the warp has FMA_DOWN * ROWS x
 * FMA_ACROSS * COLUMNS. Returns the i-th row (or column) of lane `lane` of LANES. In tiles whose rows run along the
 * summed axis, neighbouring lanes take neighbouring rows; in turned ones a lane takes the 16 bytes of one read. */
enum { FMA_DOWN = 4, FMA_ACROSS = 8 };
/* Which of FMA_DOWN, and of FMA_ACROSS, this lane is. Of the lanes that read the same 16 bytes of an operand, some are
 * 1 or 2 apart, which makes the read cheaper: products take 2 to 12 % less time on an H200. */
TPAT_FN int fma_down() { return (warp_lane() >> 1 & 1) | (warp_lane() >> 4) << 1; }
TPAT_FN int fma_across() { return (warp_lane() & 1) | (warp_lane() >> 2 & 3) << 1; }
template <class T, bool TURNED, int LANES> TPAT_FN int fma_place(int lane, int i)
{
	const int together = 16 / (int)sizeof(T);
	return TURNED ? (i / together * LANES + lane) * together + i % together : i * LANES + lane;
}

/* Loads v[i], the lane's factors for its row (or column) i, from k on along the summed axis. */
template <bool TURNED, int LANES, class T, int N, int DEPTH, int ROWS, int COLUMNS, tile_places P>
TPAT_FN void fma_load(T (&v)[N][DEPTH], shared_tile<T, ROWS, COLUMNS, P> &tile, int first, int lane, int k)
{
	if constexpr (TURNED) {
		static_assert(N % DEPTH == 0, "whole pieces of 16 bytes");
#pragma unroll
		for (int d = 0; d < DEPTH; d++)
#pragma unroll
			for (int i = 0; i < N; i += DEPTH) {
				T piece[DEPTH];
				load(piece, (const T *)tile.piece(k + d, first + fma_place<T, true, LANES>(lane, i)));
#pragma unroll
				for (int j = 0; j < DEPTH; j++)
					v[i + j][d] = piece[j];
			}
	} else {
#pragma unroll
		for (int i = 0; i < N; i++)
			load(v[i], (const T *)tile.piece(first + fma_place<T, false, LANES>(lane, i), k));
	}
}

/* sum += the product of two tiles: rows from `row` on of the left one, columns from `column` on of the right one. A
 * tile's rows run along the summed axis, a turned tile's columns. */
template <bool LEFT_TURNED, bool RIGHT_TURNED, class T, int M, int N, int A, int B, tile_places P, int C, int D,
          tile_places Q>
TPAT_FN void fma_tiles(T (&sum)[M][N], shared_tile<T, A, B, P> &left, shared_tile<T, C, D, Q> &right, int row,
                       int column)
{
	const int together = 16 / (int)sizeof(T), depth = LEFT_TURNED ? A : B;
	static_assert(depth == (RIGHT_TURNED ? C : D), "tiles of the same depth");
#pragma unroll
	for (int k = 0; k < depth; k += together) {
		T a[M][together], b[N][together];
		fma_load<LEFT_TURNED, FMA_DOWN>(a, left, row, fma_down(), k);
		fma_load<RIGHT_TURNED, FMA_ACROSS>(b, right, column, fma_across(), k);
#pragma unroll
		for (int d = 0; d < together; d++)
#pragma unroll
			for (int i = 0; i < M; i++)
#pragma unroll
				for (int j = 0; j < N; j++)
					sum[i][j] = multiply_add(a[i][d], b[j][d], sum[i][j]);
	}
}

/* ---- A warp's accumulators by rows. */

/* Passes row i of every lane's accumulators through shared memory, FMA_DOWN * FMA_ACROSS * N elements for each warp, so
 * that a lane gets consecutive elements of a row. Row r of the FMA_DOWN there is row fma_place(r, i) of the warp's. */
template <bool RIGHT_TURNED, class T, int N> TPAT_FN void fma_put(void *shared, const T (&sum)[N])
{
	const int width = FMA_ACROSS * N, together = RIGHT_TURNED ? 16 / (int)sizeof(T) : 1, lane = fma_across();
	T *row = (T *)shared + (block_thread() / 32 * FMA_DOWN + fma_down()) * width;
	__syncwarp();
#pragma unroll
	for (int j = 0; j < N; j += together) {
		T piece[together];
#pragma unroll
		for (int e = 0; e < together; e++)
			piece[e] = sum[j + e];
		store(row + fma_place<T, RIGHT_TURNED, FMA_ACROSS>(lane, j), piece);
	}
	__syncwarp();
}

/* Loads v from a row, from a column on that is a multiple of N. */
template <int WIDTH, class T, int N> TPAT_FN void fma_get(T (&v)[N], void *shared, int row, int column)
{
	load(v, (const T *)shared + (block_thread() / 32 * FMA_DOWN + row) * WIDTH + column);
}

#undef TPAT_FN
#endif
