/* SPDX-License-Identifier: Apache-2.0
 * tpat_attention.h: what kernels of attention call. A block makes the results of a tile of queries of one head: tiles of keys
 * go by, each query keeps the largest score so far, the sum of exponentials less it, and the sum of values weighted with
 * them; when a larger score comes, both sums are scaled to it. Scores are never in global memory.
 * Sources: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao, Fu, Ermon, Rudra and Re,
 * FlashAttention, 2022; Dao, FlashAttention-2, 2023 (queries outside, keys inside; one division at the end).
 *
 * A kernel gives what it is about as functions of its own, of a query i and a key j of the head:
 *   query_at(i, r), key_at(j, r), value_at(j, c)   elements
 *   score_at(i, j, product)                        what the exponential is taken of
 *   largest_at(i, largest)                         what is taken off before
 *   sum_at(i, largest, sum)                        what divides, of the sum of exponentials
 *   weight_at(i, j, product, largest, sum)         of a value, where it is rounded or more than the exponential; else
 *                                                  attention_exponential()
 *   put(i, c, total, largest, sum)                 takes the sum of weighted values
 * Compiled like tpat_device.h. */
#ifndef TPAT_ATTENTION_H
#define TPAT_ATTENTION_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

struct attention_exponential {};

/* exp(x - from): of scores that are all minus infinity, 0 is taken off. */
TPAT_FN float attention_exp(float x) { return expf(x); }
TPAT_FN double attention_exp(double x) { return exp(x); }
template <class S> TPAT_FN S attention_base(S largest) { return largest == (S)-INFINITY ? (S)0 : largest; }

/* ---- By ordinary arithmetic -------------------------------------------------------------------------------------- */

/* Sixteen lanes share four queries: each has every sixteenth key of the tile, and every sixteenth group of the columns of a
 * value. Elements lie in shared memory in the type C of the arithmetic. Rows are longer by 16 bytes than what they hold, so
 * that lanes that read neighbouring rows meet different banks. */
enum { ATTENTION_LANES = 16, ATTENTION_ROWS = 4 };

template <int QUERIES, int KEYS, int SIZE, int COLUMNS, class C> struct attention_tiles {
	static const int pad = 16 / (int)sizeof(C), size = (SIZE + 3) / 4 * 4;
	static const int group = COLUMNS > 32 ? 4 : COLUMNS > 16 ? 2 : 1, groups = (COLUMNS + 16 * group - 1) / (16 * group);
	static const int columns = 16 * group * groups, longer = size > columns ? size : columns;
	alignas(16) C query[QUERIES][size + pad];
	alignas(16) C other[KEYS][longer + pad]; /* keys, then their values */
	alignas(16) C weight[QUERIES][KEYS + pad];
};

/* rows[0 .. ROWS)[0 .. WIDTH) = element(row, column), zeros beyond `count` rows and COLUMNS columns. */
template <int THREADS, int ROWS, int COLUMNS, int WIDTH, class C, int N, class Index, class Element>
TPAT_FN void attention_load(C (&to)[ROWS][N], Index count, Element element)
{
	for (int e = block_thread(); e < ROWS * WIDTH; e += THREADS) {
		const int row = e / WIDTH, column = e % WIDTH;
		to[row][column] = row < count && column < COLUMNS ? (C)element(row, column) : (C)0;
	}
}

/* product[q][k] = sum over r of query and key, of this lane's queries and keys. Sums of 8 products each are summed: their
 * rounding errors stay small (Higham, Accuracy and Stability of Numerical Algorithms, on blocked summation). */
template <class T, int QUERIES, int KEYS, int SIZE, int COLUMNS, class C>
TPAT_FN void attention_products(T (&product)[ATTENTION_ROWS][KEYS / ATTENTION_LANES],
				const attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, C> &tiles)
{
	const int mine = KEYS / ATTENTION_LANES, part_size = 8, size = tiles.size;
	const int lane = block_thread() % ATTENTION_LANES, row = block_thread() / ATTENTION_LANES * ATTENTION_ROWS;
	T part[ATTENTION_ROWS][mine];
#pragma unroll
	for (int q = 0; q < ATTENTION_ROWS; q++)
#pragma unroll
		for (int k = 0; k < mine; k++)
			product[q][k] = part[q][k] = 0;
#pragma unroll 4
	for (int r = 0; r < size; r += 4) {
		C query[ATTENTION_ROWS][4], key[mine][4];
#pragma unroll
		for (int q = 0; q < ATTENTION_ROWS; q++)
			load(query[q], &tiles.query[row + q][r]);
#pragma unroll
		for (int k = 0; k < mine; k++)
			load(key[k], &tiles.other[lane + k * ATTENTION_LANES][r]);
#pragma unroll
		for (int q = 0; q < ATTENTION_ROWS; q++)
#pragma unroll
			for (int k = 0; k < mine; k++) {
#pragma unroll
				for (int i = 0; i < 4; i++)
					part[q][k] += (T)query[q][i] * (T)key[k][i];
				if (r % part_size == part_size - 4 || r + 4 >= size) {
					product[q][k] += part[q][k];
					part[q][k] = 0;
				}
			}
	}
}

/* total[q][c] += sum over the tile's keys of weight and value. */
template <class A, int QUERIES, int KEYS, int SIZE, int COLUMNS, class C, int GROUPS, int GROUP>
TPAT_FN void attention_weigh(A (&total)[ATTENTION_ROWS][GROUPS][GROUP],
			     const attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, C> &tiles)
{
	const int lane = block_thread() % ATTENTION_LANES, row = block_thread() / ATTENTION_LANES * ATTENTION_ROWS;
#pragma unroll 2
	for (int key = 0; key < KEYS; key += 4) {
		C weight[ATTENTION_ROWS][4];
#pragma unroll
		for (int q = 0; q < ATTENTION_ROWS; q++)
			load(weight[q], &tiles.weight[row + q][key]);
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int g = 0; g < GROUPS; g++) {
				C value[GROUP];
				load(value, &tiles.other[key + i][(g * ATTENTION_LANES + lane) * GROUP]);
#pragma unroll
				for (int q = 0; q < ATTENTION_ROWS; q++)
#pragma unroll
					for (int c = 0; c < GROUP; c++)
						total[q][g][c] += (A)weight[q][i] * (A)value[c];
			}
	}
}

template <class W> struct attention_passes { static const int n = 2; };
template <> struct attention_passes<attention_exponential> { static const int n = 1; };

/* The queries first .. first + QUERIES of `queries`. T: of products, S: of scores, A: of weighted sums. Weights of the kernel's
 * own need the row's whole sum: products are made a second time for them, behind a first pass that makes the sums. */
template <class T, class S, class A, int QUERIES, int KEYS, int SIZE, int COLUMNS, class C, class Index,
	  class Query, class Key, class Value, class Score, class Largest, class Sum, class Weight, class Put>
TPAT_FN void attention(attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, C> &tiles, Index first,
		       typename element<Index>::type queries, typename element<Index>::type keys, Query query_at, Key key_at,
		       Value value_at, Score score_at, Largest largest_at, Sum sum_at, Weight weight_at, Put put)
{
	typedef attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, C> Tiles;
	const bool again = attention_passes<Weight>::n > 1;
	const int threads = QUERIES / ATTENTION_ROWS * ATTENTION_LANES, mine = KEYS / ATTENTION_LANES;
	const int lane = block_thread() % ATTENTION_LANES, row = block_thread() / ATTENTION_LANES * ATTENTION_ROWS;
	S largest[ATTENTION_ROWS], sum[ATTENTION_ROWS];
	A total[ATTENTION_ROWS][Tiles::groups][Tiles::group];
	for (int q = 0; q < ATTENTION_ROWS; q++) {
		largest[q] = -INFINITY;
		sum[q] = 0;
		for (int g = 0; g < Tiles::groups; g++)
			for (int c = 0; c < Tiles::group; c++)
				total[q][g][c] = 0;
	}
	attention_load<threads, QUERIES, SIZE, Tiles::size>(tiles.query, queries - first,
							    [&](int i, int r) { return query_at(first + i, r); });
	for (int pass = 0; pass <= again; pass++) {
		const bool weighs = pass == again;
		for (Index at = 0; at < keys; at += KEYS) {
			T product[ATTENTION_ROWS][mine];
			attention_load<threads, KEYS, SIZE, Tiles::size>(tiles.other, keys - at, [&](int j, int r) {
				return key_at(at + j, r);
			});
			__syncthreads();
			attention_products(product, tiles);
#pragma unroll
			for (int q = 0; q < ATTENTION_ROWS; q++) {
				const Index i = first + row + q;
				if constexpr (again) {
					if (weighs) {
#pragma unroll
						for (int k = 0; k < mine; k++) {
							const Index j = at + lane + k * ATTENTION_LANES;
							const bool inside = i < queries && j < keys;
							tiles.weight[row + q][lane + k * ATTENTION_LANES] = inside ?
								(C)weight_at(i, j, product[q][k], largest[q], sum[q]) : (C)0;
						}
						continue;
					}
				}
				S score[mine], most = largest[q];
#pragma unroll
				for (int k = 0; k < mine; k++) {
					const Index j = at + lane + k * ATTENTION_LANES;
					score[k] = i < queries && j < keys ? score_at(i, j, product[q][k]) : (S)-INFINITY;
					most = nan_max(most, score[k]);
				}
				most = warp_reduce<ATTENTION_LANES>(most, op_max());
				const S base = attention_base(most), scale = attention_exp(largest[q] - base);
				largest[q] = most;
				sum[q] *= scale;
#pragma unroll
				for (int k = 0; k < mine; k++) {
					const S weight = attention_exp(score[k] - base);
					sum[q] += weight;
					if (weighs)
						tiles.weight[row + q][lane + k * ATTENTION_LANES] = (C)weight;
				}
				for (int g = 0; weighs && g < Tiles::groups; g++)
					for (int c = 0; c < Tiles::group; c++)
						total[q][g][c] *= (A)scale;
			}
			__syncthreads();
			if (!weighs)
				continue;
			attention_load<threads, KEYS, COLUMNS, Tiles::columns>(tiles.other, keys - at, [&](int j, int c) {
				return value_at(at + j, c);
			});
			__syncthreads();
			attention_weigh(total, tiles);
			__syncthreads();
		}
		if (pass > 0)
			break;
		/* What the stages take off may not be the largest score. */
#pragma unroll
		for (int q = 0; q < ATTENTION_ROWS; q++) {
			const Index i = first + row + q < queries ? first + row + q : first;
			const S off = largest_at(i, largest[q]);
			const S scale = keys > 0 ? attention_exp(attention_base(largest[q]) - off) : (S)1;
			largest[q] = off;
			sum[q] = sum_at(i, off, warp_reduce<ATTENTION_LANES>(sum[q], op_sum()) * scale);
			for (int g = 0; !again && g < Tiles::groups; g++)
				for (int c = 0; c < Tiles::group; c++)
					total[q][g][c] *= (A)scale;
		}
	}
#pragma unroll
	for (int q = 0; q < ATTENTION_ROWS; q++) {
		const Index i = first + row + q;
#pragma unroll
		for (int g = 0; g < Tiles::groups; g++)
#pragma unroll
			for (int c = 0; c < Tiles::group; c++) {
				const int column = (g * ATTENTION_LANES + lane) * Tiles::group + c;
				if (i < queries && column < COLUMNS)
					put(i, column, total[q][g][c], largest[q], sum[q]);
			}
	}
}

#undef TPAT_FN
#endif
