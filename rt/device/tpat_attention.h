/* SPDX-License-Identifier: Apache-2.0
 * tpat_attention.h: functions for attention kernels. A block computes the results of a tile of queries of one head. It
 * loops over tiles of keys. Each query keeps the largest score so far, the sum of exponentials relative to it, and the
 * sum of values weighted with them; a larger score rescales both sums. Scores never go to global memory. Sources:
 * Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao, Fu, Ermon, Rudra and Re,
 * FlashAttention, 2022; Dao, FlashAttention-2, 2023 (queries outside, keys inside; one division at the end).
 *
 * A kernel passes functions of a query i and a key j of the head:
 *   query_at(i, r), key_at(j, r), value_at(j, c)   with attention_elements: elements; with the address of a buffer:
 *                                                  positions there of four elements, at a multiple of four
 *   score_at(i, j, product)                        argument of the exponential
 *   largest_at(i, largest)                         subtracted from it
 *   sum_at(i, largest, sum)                        divisor, from the sum of exponentials
 *   weight_at(i, j, product, largest, sum)         weight of a value, if it is rounded or not just the exponential;
 *                                                  else attention_exponential()
 *   put(i, c, total, largest, sum)                 stores a sum of weighted values
 *
 * Compiled like tpat_device.h. */
#ifndef TPAT_ATTENTION_H
#define TPAT_ATTENTION_H

#include "tpat_mma.h"

#define TPAT_FN __device__ __forceinline__

struct attention_exponential {};
struct attention_elements {};

/* exp(x - from); subtracts 0 if all scores are minus infinity. */
TPAT_FN float attention_exp(float x) { return expf(x); }
TPAT_FN double attention_exp(double x) { return exp(x); }
template <class S> TPAT_FN S attention_base(S largest) { return largest == (S)-INFINITY ? (S)0 : largest; }

/* ---- By ordinary arithmetic -------------------------------------------------------------------------------------- */

/* Sixteen lanes share ROWS queries: each has every sixteenth key of the tile, and every sixteenth group of columns of a
 * value. Shared memory holds elements in the type C of the arithmetic. Rows are padded by 16 bytes, so that lanes read
 * neighbouring rows from different banks. */
enum { ATTENTION_LANES = 16 };

template <int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C> struct attention_tiles {
	static const int pad = 16 / (int)sizeof(C), size = (SIZE + 3) / 4 * 4;
	static const int group = COLUMNS > 32 && (COLUMNS + 63) / 64 * 64 == (COLUMNS + 31) / 32 * 32 ? 4
	                         : COLUMNS > 16                                                       ? 2
	                                                                                              : 1,
	                 groups = (COLUMNS + 16 * group - 1) / (16 * group);
	static const int columns = 16 * group * groups, longer = size > columns ? size : columns;
	static const int threads = QUERIES / ROWS * ATTENTION_LANES;
	alignas(16) C query[QUERIES][size + pad];
	alignas(16) C other[KEYS][longer + pad]; /* keys, then their values */
	alignas(16) C weight[QUERIES][KEYS + pad];
};

/* Loads four elements of a row from `column` on. */
template <int COLUMNS, class C, class Row, class At>
TPAT_FN void attention_four(C (&four)[4], attention_elements, const At &at, Row row, int column)
{
#pragma unroll
	for (int i = 0; i < 4; i++)
		four[i] = column + i < COLUMNS ? (C)at(row, column + i) : (C)0;
}
template <int COLUMNS, class C, class Row, class At>
TPAT_FN void attention_four(C (&four)[4], const C *from, const At &at, Row row, int column)
{
	load(four, from + at(row, column));
}

/* The fours of a tile of ROWS x WIDTH elements that a thread loads. They wait in registers while others compute. */
template <int THREADS, int ROWS, int WIDTH, class C> struct attention_share {
	static const int all = ROWS * (WIDTH / 4), n = (all + THREADS - 1) / THREADS;
	C piece[n][4];

	/* Loads; zeros beyond `count` rows and COLUMNS columns. */
	template <int COLUMNS, class From, class Index, class At>
	TPAT_FN void fetch(From from, Index count, const At &at)
	{
#pragma unroll
		for (int i = 0; i < n; i++) {
			const int e = i * THREADS + block_thread(), row = e / (WIDTH / 4), column = e % (WIDTH / 4) * 4;
			if (row < ROWS && row < count && column < COLUMNS)
				attention_four<COLUMNS>(piece[i], from, at, row, column);
			else
				piece[i][0] = piece[i][1] = piece[i][2] = piece[i][3] = 0;
		}
	}
	template <int N> TPAT_FN void put(C (&to)[ROWS][N]) const
	{
#pragma unroll
		for (int i = 0; i < n; i++) {
			const int e = i * THREADS + block_thread();
			if (all % THREADS == 0 || e < all)
				store(&to[e / (WIDTH / 4)][e % (WIDTH / 4) * 4], piece[i]);
		}
	}
};

/* product[q][k] = sum over r of query * key, for this lane's queries and keys. Blocked summation, 8 products each,
 * keeps rounding errors small (Higham, Accuracy and Stability of Numerical Algorithms). */
template <class T, int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C>
TPAT_FN void attention_products(T (&product)[ROWS][KEYS / ATTENTION_LANES],
                                const attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, ROWS, C> &tiles)
{
	const int mine = KEYS / ATTENTION_LANES, part_size = 8, size = tiles.size;
	const int lane = block_thread() % ATTENTION_LANES, row = block_thread() / ATTENTION_LANES * ROWS;
	T part[ROWS][mine];
#pragma unroll
	for (int q = 0; q < ROWS; q++)
#pragma unroll
		for (int k = 0; k < mine; k++)
			product[q][k] = part[q][k] = 0;
#pragma unroll 4
	for (int r = 0; r < size; r += 4) {
		C query[ROWS][4], key[mine][4];
#pragma unroll
		for (int q = 0; q < ROWS; q++)
			load(query[q], &tiles.query[row + q][r]);
#pragma unroll
		for (int k = 0; k < mine; k++)
			load(key[k], &tiles.other[lane + k * ATTENTION_LANES][r]);
#pragma unroll
		for (int q = 0; q < ROWS; q++)
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

/* total[q][c] += sum over the tile's keys of weight * value. */
template <class A, int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C, int GROUPS, int GROUP>
TPAT_FN void attention_weigh(A (&total)[ROWS][GROUPS][GROUP],
                             const attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, ROWS, C> &tiles)
{
	const int lane = block_thread() % ATTENTION_LANES, row = block_thread() / ATTENTION_LANES * ROWS;
#pragma unroll 2
	for (int key = 0; key < KEYS; key += 4) {
		C weight[ROWS][4];
#pragma unroll
		for (int q = 0; q < ROWS; q++)
			load(weight[q], &tiles.weight[row + q][key]);
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int g = 0; g < GROUPS; g++) {
				C value[GROUP];
				load(value, &tiles.other[key + i][(g * ATTENTION_LANES + lane) * GROUP]);
#pragma unroll
				for (int q = 0; q < ROWS; q++)
#pragma unroll
					for (int c = 0; c < GROUP; c++)
						total[q][g][c] += (A)weight[q][i] * (A)value[c];
			}
	}
}

template <class W> struct attention_passes {
	static const int n = 2;
};
template <> struct attention_passes<attention_exponential> {
	static const int n = 1;
};

/* Attention for the queries first .. first + QUERIES of `queries`. Types T: products, S: scores, A: weighted sums. The
 * kernel's own weights need the row's whole sum: a first pass computes the sums, a second one the products again. */
template <class T, class S, class A, int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C, class Index,
          class Query, class QueryAt, class Key, class KeyAt, class Value, class ValueAt, class Score, class Some,
          class Largest, class Sum, class Weight, class Put>
TPAT_FN void attention(attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, ROWS, C> &tiles, Index first,
                       typename identity<Index>::type queries, typename identity<Index>::type keys, Query query,
                       QueryAt query_at, Key key, KeyAt key_at, Value value, ValueAt value_at, Score score_at,
                       Some kept_some, Largest largest_at, Sum sum_at, Weight weight_at, Put put)
{
	typedef attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, ROWS, C> Tiles;
	const bool again = attention_passes<Weight>::n > 1;
	const int threads = Tiles::threads, mine = KEYS / ATTENTION_LANES;
	const int lane = block_thread() % ATTENTION_LANES, row = block_thread() / ATTENTION_LANES * ROWS;
	S largest[ROWS], sum[ROWS];
	A total[ROWS][Tiles::groups][Tiles::group];
	for (int q = 0; q < ROWS; q++) {
		largest[q] = -INFINITY;
		sum[q] = 0;
		for (int g = 0; g < Tiles::groups; g++)
			for (int c = 0; c < Tiles::group; c++)
				total[q][g][c] = 0;
	}
	const auto query_here = [&](int i, int r) { return query_at(first + i, r); };
	attention_share<threads, QUERIES, Tiles::size, C> top;
	attention_share<threads, KEYS, Tiles::size, C> left;
	attention_share<threads, KEYS, Tiles::columns, C> right;
	const auto ask_keys = [&](Index at) {
		left.template fetch<SIZE>(key, keys - at, [&](int j, int r) { return key_at(at + j, r); });
	};
	/* Returns the next tile of which some score is not minus infinity. */
	const auto next = [&](Index at) {
		do
			at += KEYS;
		while (at < keys && !kept_some(first, first + (QUERIES - 1), at, at + (KEYS - 1)));
		return at;
	};
	const Index begin = next(-KEYS);
	top.template fetch<SIZE>(query, queries - first, query_here);
	ask_keys(begin);
	top.put(tiles.query);
	for (int pass = 0; pass <= again; pass++) {
		const bool weighs = pass == again;
		for (Index at = begin, later; at < keys; at = later) {
			T product[ROWS][mine];
			later = next(at);
			left.put(tiles.other);
			__syncthreads();
			if (weighs)
				right.template fetch<COLUMNS>(value, keys - at,
				                              [&](int j, int c) { return value_at(at + j, c); });
			attention_products(product, tiles);
#pragma unroll
			for (int q = 0; q < ROWS; q++) {
				const Index i = first + row + q;
				if constexpr (again) {
					if (weighs) {
#pragma unroll
						for (int k = 0; k < mine; k++) {
							const Index j = at + lane + k * ATTENTION_LANES;
							const bool inside = i < queries && j < keys;
							tiles.weight[row + q][lane + k * ATTENTION_LANES] =
							        inside ? (C)weight_at(i, j, product[q][k], largest[q],
							                              sum[q])
							               : (C)0;
						}
						continue;
					}
				}
				S score[mine], most = largest[q];
#pragma unroll
				for (int k = 0; k < mine; k++) {
					const Index j = at + lane + k * ATTENTION_LANES;
					score[k] =
					        i < queries && j < keys ? score_at(i, j, product[q][k]) : (S)-INFINITY;
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
			if (!weighs) {
				ask_keys(later < keys ? later : begin);
				continue;
			}
			right.put(tiles.other);
			__syncthreads();
			ask_keys(later);
			attention_weigh(total, tiles);
			__syncthreads();
		}
		if (pass > 0)
			break;
		/* The stages may subtract another number than the largest score. */
#pragma unroll
		for (int q = 0; q < ROWS; q++) {
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
	for (int q = 0; q < ROWS; q++) {
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

/* ---- On tensor cores --------------------------------------------------------------------------------------------- */

/* A warp has 16 * TILES queries, as fragments of left operands. A block's warps share tiles of keys and values with
 * 2-byte elements; the next tiles are copied while the current ones are multiplied. A warp's scores stay in the
 * accumulator registers and become the left operand of the product with the values: weights are rounded to the values'
 * type. Exponentials are powers of 2. Such a kernel passes
 *   query_at(i, r)                  an element's position in `query`, even and followed by the next;
 *                                   with attention_elements: the element
 *   key_at(j, r), value_at(j, c)    positions of VECTOR elements along a head (TURNED keys: of 8 keys), at a multiple
 * of VECTOR; negative: zeros score_at(i, j, product)         as above; with attention_scaled: the product, rounded to
 * T, times a positive number kept(i, j)                      false if the score is minus infinity, as far as indices
 * decide that; attention_always: no such condition kept_some(i, to_i, j, to_j)     false if none of these queries and
 * keys are kept kept_all(i, to_i, j, to_j)      true if all of them are largest_at(i, largest), sum_at(i, largest, sum)
 * as above result_at(i, c, total, largest, sum, 1 / sum), place_at(i, c)    the stored value, and its position; PLACES:
 * so many at a time, at multiples of it: 1, 2 or 8 */
template <class T> struct attention_scaled {
	float by;
};
struct attention_always {
	template <class... Any> TPAT_FN bool operator()(Any...) const { return true; }
};

template <int N> struct attention_width {
	static const int whole = (N + 15) / 16 * 16;                                              /* of products */
	static const int row = N <= 16 ? 16 : N <= 32 ? 32 : N <= 64 ? 64 : N <= 128 ? 128 : 256; /* of a shared_tile */
};

/* TURNED: in memory and in tiles, the same element of neighbouring keys is contiguous. */
template <class K, int KEYS, int SIZE, bool TURNED> struct attention_keys {
	typedef shared_tile<K, KEYS, attention_width<SIZE>::row> type;
};
template <class K, int KEYS, int SIZE> struct attention_keys<K, KEYS, SIZE, true> {
	typedef shared_tile<K, attention_width<SIZE>::whole, KEYS> type;
};
template <class K, class V, int KEYS, int SIZE, int COLUMNS, int SLOTS, bool TURNED> struct attention_slots {
	typename attention_keys<K, KEYS, SIZE, TURNED>::type key[SLOTS];
	shared_tile<V, KEYS, attention_width<COLUMNS>::row> value[SLOTS];
};

TPAT_FN f16 attention_round(float x, f16) { return round_f16(x); }
TPAT_FN bf16 attention_round(float x, bf16) { return round_bf16(x); }

/* Splits the score function into a factor, applied later, and the rest. */
template <class Score, class Index> TPAT_FN float attention_score(const Score &score, Index i, Index j, float product)
{
	return score(i, j, product);
}
template <class T, class Index> TPAT_FN float attention_score(const attention_scaled<T> &, Index, Index, float product)
{
	if constexpr (sizeof(T) == sizeof(u16))
		return to_f32(attention_round(product, T()));
	return product;
}
template <class Score> TPAT_FN float attention_factor(const Score &) { return 1.0f; }
template <class T> TPAT_FN float attention_factor(const attention_scaled<T> &score) { return score.by; }

/* Copies VECTOR (2, 4 or 8) elements at a time. */
template <int THREADS, int SIZE, int VECTOR, class T, int KEYS, int WIDTH, class Index, class At>
TPAT_FN void attention_copy(shared_tile<T, KEYS, WIDTH> &tile, const T *from, Index first, const At &at)
{
	const int pieces = attention_width<SIZE>::whole / VECTOR, all = KEYS * pieces;
#pragma unroll
	for (int i = 0; i < (all + THREADS - 1) / THREADS; i++) {
		const int piece = i * THREADS + block_thread();
		if (all % THREADS == 0 || piece < all) {
			const int r = piece / pieces, c = piece % pieces * VECTOR;
			const auto place = c < SIZE ? at(first + r, (Index)c) : (Index)-1;
			copy_async<2 * VECTOR>(tile.element(r, c), from + (place < 0 ? 0 : place), place >= 0);
		}
	}
}

/* Copies keys of either layout. */
template <int THREADS, int SIZE, int VECTOR, bool TURNED, int KEYS, class K, class Tile, class Index, class At>
TPAT_FN void attention_copy_keys(Tile &tile, const K *from, Index first, const At &at)
{
	if constexpr (TURNED)
		tile_copy<THREADS>(tile, from, (Index)0, first,
		                   [&](Index r, Index j) { return r < SIZE ? at(j, r) : (decltype(at(j, r)))-1; });
	else
		attention_copy<THREADS, SIZE, VECTOR>(tile, from, first, at);
}

/* Returns two elements of a query from r on, as a word of a fragment. */
template <int SIZE, class K, class Index, class At>
TPAT_FN u32 attention_two(const K *query, const At &at, Index i, int r)
{
	u32 word[1];
	load(word, (const u32 *)(query + at(i, (Index)r)));
	return word[0];
}
template <int SIZE, class Index, class At> TPAT_FN u32 attention_two(attention_elements, const At &at, Index i, int r)
{
	return at(i, (Index)r).bits | (r + 1 < SIZE ? (u32)at(i, (Index)(r + 1)).bits << 16 : 0);
}

/* Loads 16 queries, from this lane's `row` on. */
template <int SIZE, class K, int DEPTH, class Query, class Index, class At>
TPAT_FN void attention_load_query(mma_a<K> (&left)[DEPTH], Query query, const At &query_at, Index row, Index queries)
{
#pragma unroll
	for (int k = 0; k < DEPTH; k++)
#pragma unroll
		for (int w = 0; w < 4; w++) {
			const Index i = row + w % 2 * 8;
			const int r = 16 * k + mma_column(0) + w / 2 * 8;
			left[k].word[w] = i < queries && r < SIZE ? attention_two<SIZE>(query, query_at, i, r) : 0;
		}
}

/* product = query * key, for all keys of the tile. */
template <bool TURNED, class K, int TILES, int DEPTH, int NEAR, class Tile>
TPAT_FN void attention_multiply(mma_sum<float> (&product)[TILES][NEAR], const mma_a<K> (&query)[TILES][DEPTH],
                                Tile &key)
{
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int n = 0; n < NEAR; n++)
			product[m][n] = {};
#pragma unroll
	for (int k = 0; k < DEPTH; k++)
#pragma unroll
		for (int n = 0; n < NEAR; n += 2) {
			mma_b<K> left, right;
			if constexpr (TURNED)
				mma_load_b_turned(left, right, key, 8 * n, 16 * k);
			else
				mma_load_b(left, right, key, 8 * n, 16 * k);
#pragma unroll
			for (int m = 0; m < TILES; m++) {
				mma(product[m][n], query[m][k], left);
				mma(product[m][n + 1], query[m][k], right);
			}
		}
}

/* Turns products into scores; minus infinity if not kept, unless `whole`. */
template <int TILES, int NEAR, class Score, class Index, class Kept>
TPAT_FN void attention_score_all(mma_sum<float> (&score)[TILES][NEAR], const Score &score_at, Index at, Index row,
                                 int column, Index queries, bool whole, const Kept &kept)
{
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const Index i = row + 16 * m + half * 8, near = i < queries ? i : queries - 1;
			if (whole) {
#pragma unroll
				for (int n = 0; n < 2 * NEAR; n++) {
					float &x = score[m][n / 2].at[2 * half + n % 2];
					x = attention_score(score_at, near, at + (n / 2 * 8 + n % 2 + column), x);
				}
			} else {
#pragma unroll
				for (int n = 0; n < 2 * NEAR; n++) {
					float &x = score[m][n / 2].at[2 * half + n % 2];
					const Index j = at + (n / 2 * 8 + n % 2 + column);
					x = kept(near, j) ? attention_score(score_at, near, j, x) : -INFINITY;
				}
			}
		}
}

/* Turns scores of 16 queries into weights: exponentials relative to the largest so far; the caller rescales earlier
 * sums. Multiplies all scores by `factor`, which turns exp into a power of 2. */
template <int NEAR>
TPAT_FN void attention_soften(mma_sum<float> (&score)[NEAR], float (&largest)[2], float (&sum)[2], float (&scale)[2],
                              float factor)
{
	float base[2];
	bool large = false;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		float most = nan_max(score[0].at[2 * half], score[0].at[2 * half + 1]);
#pragma unroll
		for (int n = 1; n < NEAR; n++)
			most = nan_max(most, nan_max(score[n].at[2 * half], score[n].at[2 * half + 1]));
		most = nan_max(warp_reduce<4>(most, op_max()), largest[half]);
		base[half] = attention_base(most);
		scale[half] = rough_exp2((largest[half] - base[half]) * factor);
		large |= fabsf(base[half]) * factor > 1e38f;
		largest[half] = most;
		sum[half] *= scale[half];
	}
	/* Masks hide keys by the least f32, which overflows times `factor`: then the difference comes first. */
	if (large) {
#pragma unroll
		for (int e = 0; e < 4 * NEAR; e++)
			score[e / 4].at[e % 4] -= base[e % 4 / 2];
		base[0] = base[1] = 0;
	}
	base[0] *= -factor;
	base[1] *= -factor;
#pragma unroll
	for (int e = 0; e < 4 * NEAR; e++) {
		float &x = score[e / 4].at[e % 4];
		x = rough_exp2(fmaf(x, factor, base[e % 4 / 2]));
		sum[e % 4 / 2] += x;
	}
}
template <int ACROSS> TPAT_FN void attention_scale(mma_sum<float> (&total)[ACROSS], const float (&scale)[2])
{
#pragma unroll
	for (int c = 0; c < ACROSS; c++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			total[c].at[i] *= scale[i / 2];
}
template <class V, int NEAR>
TPAT_FN void attention_round_weights(mma_a<V> (&weight)[NEAR / 2], const mma_sum<float> (&score)[NEAR])
{
#pragma unroll
	for (int n = 0; n < NEAR; n += 2)
		weight[n / 2] = mma_a_of<V>(score[n], score[n + 1]);
}

/* total += weight * value. */
template <class V, int TILES, int NEAR, int ACROSS, int KEYS, int WIDTH>
TPAT_FN void attention_collect(mma_sum<float> (&total)[TILES][ACROSS], const mma_a<V> (&weight)[TILES][NEAR],
                               shared_tile<V, KEYS, WIDTH> &value)
{
#pragma unroll
	for (int k = 0; k < NEAR; k++)
#pragma unroll
		for (int c = 0; c < ACROSS; c += 2) {
			mma_b<V> left, right;
			mma_load_b_turned(left, right, value, 8 * c, 16 * k);
#pragma unroll
			for (int m = 0; m < TILES; m++) {
				mma(total[m][c], weight[m][k], left);
				mma(total[m][c + 1], weight[m][k], right);
			}
		}
}

/* Four neighbouring lanes exchange words: word i of lane l becomes word l of lane i. */
TPAT_FN void attention_turn_words(u32 (&word)[4])
{
	const bool odd = warp_lane() & 1, upper = warp_lane() & 2;
#pragma unroll
	for (int i = 0; i < 4; i += 2) {
		const u32 come = shuffle_xor(odd ? word[i] : word[i + 1], 1);
		word[i] = odd ? come : word[i];
		word[i + 1] = odd ? word[i + 1] : come;
	}
#pragma unroll
	for (int i = 0; i < 2; i++) {
		const u32 come = shuffle_xor(upper ? word[i] : word[i + 2], 2);
		word[i] = upper ? come : word[i];
		word[i + 2] = upper ? word[i + 2] : come;
	}
}

/* Stores the results of 16 queries: VECTOR columns at a time, 1, 2 or 8. */
template <int VECTOR, int COLUMNS, int ACROSS, class Index, class Largest, class Sum, class Result, class Y,
          class Place>
TPAT_FN void attention_put(const mma_sum<float> (&total)[ACROSS], const float (&largest)[2], const float (&sum)[2],
                           float scale, Index row, Index queries, Index keys, const Largest &largest_at,
                           const Sum &sum_at, const Result &result_at, Y *y, const Place &place_at)
{
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const Index beyond = row + half * 8, i = beyond < queries ? beyond : queries - 1;
		const float added = warp_reduce<4>(sum[half], op_sum());
		/* The stages may subtract another number than the largest score. */
		const float seen = largest[half] * scale, off = largest_at(i, seen);
		const float by = keys > 0 ? attention_exp(attention_base(seen) - off) : 1.0f;
		const float all = sum_at(i, off, added * by), inverse = 1.0f / all;
		const auto result = [&](int c, int e) {
			const int column = 8 * c + mma_column(0) + e;
			return result_at(i, (Index)(column < COLUMNS ? column : COLUMNS - 1),
			                 total[c].at[2 * half + e] * by, off, all, inverse);
		};
		if constexpr (VECTOR == 8) {
#pragma unroll
			for (int c = 0; c < ACROSS; c += 4) {
				u32 word[4] = { 0, 0, 0, 0 };
#pragma unroll
				for (int n = 0; n < 4; n++)
					if (c + n < ACROSS)
						word[n] = result(c + n, 0).bits | (u32)result(c + n, 1).bits << 16;
				attention_turn_words(word);
				const int column = 8 * (c + warp_lane() % 4);
				if (beyond < queries && column < COLUMNS)
					store((u32 *)(y + place_at(i, (Index)column)), word);
			}
		} else if (beyond < queries) {
#pragma unroll
			for (int c = 0; c < ACROSS; c++) {
				const int column = 8 * c + mma_column(0),
				          other = column + 1 < COLUMNS ? column + 1 : column;
				if (column >= COLUMNS)
					continue;
				const Y two[2] = { result(c, 0), result(c, other - column) };
				if (VECTOR == 2) {
					store(y + place_at(i, (Index)column), two);
				} else {
					y[place_at(i, (Index)column)] = two[0];
					if (other > column)
						y[place_at(i, (Index)other)] = two[1];
				}
			}
		}
	}
}

/* Attention for the queries first .. first + 16 * WARPS * TILES of `queries`. */
template <int WARPS, int TILES, int PLACES, int VECTOR, class K, class V, int KEYS, int SIZE, int COLUMNS, int SLOTS,
          bool TURNED, class Index, class Query, class QueryAt, class KeyAt, class ValueAt, class Score, class Kept,
          class Some, class All, class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_mma(attention_slots<K, V, KEYS, SIZE, COLUMNS, SLOTS, TURNED> &slots, Index first,
                           typename identity<Index>::type queries, typename identity<Index>::type keys, Query query,
                           QueryAt query_at, const K *key, KeyAt key_at, const V *value, ValueAt value_at,
                           Score score_at, Kept kept, Some kept_some, All kept_all, Largest largest_at, Sum sum_at,
                           Result result_at, Y *y, Place place_at)
{
	const int threads = 32 * WARPS, block = 16 * WARPS * TILES;
	const int depth = attention_width<SIZE>::whole / 16, across = attention_width<COLUMNS>::whole / 8,
	          near = KEYS / 8;
	const int column = mma_column(0);
	const Index row = first + block_thread() / 32 * 16 * TILES + mma_row(0), last = first + block - 1;
	const float scale = attention_factor(score_at), factor = scale * 1.44269504f; /* log2(e) */
	/* Returns the next tile of which some score is kept. */
	const auto next = [&](Index at) {
		do
			at += KEYS;
		while (at < keys && !kept_some(first, last, at, at + (KEYS - 1)));
		return at;
	};
	const auto ask = [&](Index at, int slot) {
		if (at < keys) {
			attention_copy_keys<threads, SIZE, VECTOR, TURNED, KEYS>(slots.key[slot], key, at, key_at);
			attention_copy<threads, COLUMNS, VECTOR>(slots.value[slot], value, at, value_at);
		}
		copy_commit();
	};
	Index at = next(-KEYS);
	ask(at, 0);

	mma_a<K> left[TILES][depth];
	float largest[TILES][2], sum[TILES][2];
	mma_sum<float> total[TILES][across];
#pragma unroll
	for (int m = 0; m < TILES; m++) {
		attention_load_query<SIZE>(left[m], query, query_at, row + 16 * m, (Index)queries);
		for (int half = 0; half < 2; half++) {
			largest[m][half] = -INFINITY;
			sum[m][half] = 0;
		}
#pragma unroll
		for (int c = 0; c < across; c++)
			total[m][c] = {};
	}

	for (int slot = 0; at < keys; slot = SLOTS > 1 ? 1 - slot : 0) {
		const Index later = next(at);
		mma_sum<float> score[TILES][near];
		mma_a<V> weight[TILES][near / 2];
		copy_wait<0>();
		__syncthreads();
		if (SLOTS > 1)
			ask(later, 1 - slot);
		attention_multiply<TURNED>(score, left, slots.key[slot]);
		attention_score_all(score, score_at, at, row, column, queries,
		                    at + KEYS <= keys && kept_all(first, last, at, at + (KEYS - 1)),
		                    [&](Index i, Index j) { return j < keys && kept(i, j); });
#pragma unroll
		for (int m = 0; m < TILES; m++) {
			float by[2];
			attention_soften(score[m], largest[m], sum[m], by, factor);
			attention_scale(total[m], by);
			attention_round_weights(weight[m], score[m]);
		}
		attention_collect(total, weight, slots.value[slot]);
		if (SLOTS == 1) {
			__syncthreads();
			ask(later, 0);
		}
		at = later;
	}

#pragma unroll
	for (int m = 0; m < TILES; m++)
		attention_put<PLACES, COLUMNS>(total[m], largest[m], sum[m], scale, row + 16 * m, queries, keys,
		                               largest_at, sum_at, result_at, y, place_at);
}

#undef TPAT_FN
#endif
