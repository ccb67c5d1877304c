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

/* A warp has DOWN * ROWS queries: LANES lanes share ROWS of them, of which each has every LANES-th key of a tile, and
 * LANES-th part of a value. Neighbouring lanes have other queries and the same keys, which makes reads of keys cheaper:
 * see fma_across(). Shared memory holds elements in the type C of the arithmetic. */
template <int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C> struct attention_tiles {
	static const int lanes = KEYS < 16 ? 8 : 16, down = 32 / lanes, threads = QUERIES / ROWS * lanes;
	static const int keys = KEYS / lanes, columns = (COLUMNS + lanes - 1) / lanes; /* of a lane */
	static const int size = (SIZE + 3) / 4 * 4, pad = 16 / (int)sizeof(C);
	alignas(16) C query[QUERIES][size];
	alignas(16) C key[KEYS][size + pad]; /* so that the same column of neighbouring keys is in different banks */
	alignas(16) C value[KEYS][columns * lanes];
	alignas(16) C weight[QUERIES][KEYS];

	/* This lane's number among those that share queries; its q-th query. */
	TPAT_FN static int lane() { return warp_lane() / down; }
	TPAT_FN static int row(int q) { return block_thread() / 32 * (down * ROWS) + q * down + warp_lane() % down; }
	/* Its c-th column: four at a time, then two, then one. */
	static const int fours = columns / 4 * 4, twos = columns / 2 * 2;
	TPAT_FN static int column(int c)
	{
		return c < fours  ? (c / 4 * lanes + lane()) * 4 + c % 4
		       : c < twos ? fours * lanes + lane() * 2 + c % 2
		                  : twos * lanes + lane();
	}
};

/* Reduces over the lanes that share queries. */
template <class Tiles, class T, class Op> TPAT_FN T attention_reduce(T v, Op op)
{
#pragma unroll
	for (int apart = Tiles::down; apart < 32; apart *= 2)
		v = op(v, shuffle_xor(v, apart));
	return v;
}

/* Copies four elements of a row from `column` on; if not `inside`, or beyond COLUMNS, zeros. */
template <int COLUMNS, class C, class Row, class At>
TPAT_FN void attention_copy_four(C *to, attention_elements, const At &at, Row row, int column, bool inside)
{
	C four[4];
#pragma unroll
	for (int i = 0; i < 4; i++)
		four[i] = inside && column + i < COLUMNS ? (C)at(row, column + i) : (C)0;
	store(to, four);
}
template <int COLUMNS, class C, class Row, class At>
TPAT_FN void attention_copy_four(C *to, const C *from, const At &at, Row row, int column, bool inside)
{
	inside = inside && column < COLUMNS;
	copy_async<16>(to, from + (inside ? at(row, column) : 0), inside);
}

/* A block's THREADS threads copy WIDTH columns of a tile: zeros beyond `count` rows and COLUMNS columns. */
template <int THREADS, int WIDTH, int COLUMNS, class C, int ROWS, int PITCH, class From, class Index, class At>
TPAT_FN void attention_copy_rows(C (&to)[ROWS][PITCH], From from, Index count, const At &at)
{
	const int all = ROWS * (WIDTH / 4);
#pragma unroll
	for (int i = 0; i < (all + THREADS - 1) / THREADS; i++) {
		const int four = i * THREADS + block_thread(), row = four / (WIDTH / 4),
		          column = four % (WIDTH / 4) * 4;
		if (all % THREADS == 0 || four < all)
			attention_copy_four<COLUMNS>(&to[row][column], from, at, row, column, row < count);
	}
}

/* product[q][k] = sum over r of query * key, for this lane's queries and keys. */
template <class T, int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C, int MINE>
TPAT_FN void attention_products(T (&product)[ROWS][MINE],
                                const attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, ROWS, C> &tiles)
{
#pragma unroll
	for (int q = 0; q < ROWS; q++)
#pragma unroll
		for (int k = 0; k < MINE; k++)
			product[q][k] = 0;
#pragma unroll 8
	for (int r = 0; r < tiles.size; r += 4) {
		C query[ROWS][4], key[MINE][4];
#pragma unroll
		for (int q = 0; q < ROWS; q++)
			load(query[q], &tiles.query[tiles.row(q)][r]);
#pragma unroll
		for (int k = 0; k < MINE; k++)
			load(key[k], &tiles.key[tiles.lane() + k * tiles.lanes][r]);
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int q = 0; q < ROWS; q++)
#pragma unroll
				for (int k = 0; k < MINE; k++)
					product[q][k] += (T)query[q][i] * (T)key[k][i];
	}
}

/* total[q][c] += sum over the tile's first `count` keys of weight * value. */
template <class A, int QUERIES, int KEYS, int SIZE, int COLUMNS, int ROWS, class C, int MINE>
TPAT_FN void attention_weigh(A (&total)[ROWS][MINE],
                             const attention_tiles<QUERIES, KEYS, SIZE, COLUMNS, ROWS, C> &tiles, int count)
{
#pragma unroll 2
	for (int key = 0; key < count; key += 4) {
		C weight[ROWS][4];
#pragma unroll
		for (int q = 0; q < ROWS; q++)
			load(weight[q], &tiles.weight[tiles.row(q)][key]);
#pragma unroll
		for (int i = 0; i < 4; i++) {
			C value[MINE];
#pragma unroll
			for (int c = 0; c < MINE; c += c < tiles.fours ? 4 : 2) {
				const C *const from = &tiles.value[key + i][tiles.column(c)];
				if (c < tiles.fours) {
					C four[4];
					load(four, from);
#pragma unroll
					for (int e = 0; e < 4; e++)
						value[c + e] = four[e];
				} else if (c < tiles.twos) {
					C two[2];
					load(two, from);
					value[c] = two[0];
					value[c + 1] = two[1];
				} else {
					value[c] = *from;
				}
			}
#pragma unroll
			for (int q = 0; q < ROWS; q++)
#pragma unroll
				for (int c = 0; c < MINE; c++)
					total[q][c] += (A)weight[q][i] * (A)value[c];
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
	const int threads = Tiles::threads, mine = Tiles::keys;
	S largest[ROWS], sum[ROWS];
	A total[ROWS][Tiles::columns];
	for (int q = 0; q < ROWS; q++) {
		largest[q] = -INFINITY;
		sum[q] = 0;
		for (int c = 0; c < Tiles::columns; c++)
			total[q][c] = 0;
	}
	const auto query_of = [&](int q) { return first + Tiles::row(q); };
	const auto key_of = [&](Index at, int k) { return at + Tiles::lane() + k * Tiles::lanes; };
	const auto ask_keys = [&](Index at) {
		if (at < keys)
			attention_copy_rows<threads, Tiles::size, SIZE>(
			        tiles.key, key, keys - at, [&](int j, int r) { return key_at(at + j, r); });
		copy_commit();
	};
	const auto ask_values = [&](Index at) {
		attention_copy_rows<threads, Tiles::columns * Tiles::lanes, COLUMNS>(
		        tiles.value, value, keys - at, [&](int j, int c) { return value_at(at + j, c); });
		copy_commit();
	};
	/* Returns the next tile of which some score is not minus infinity. */
	const auto next = [&](Index at) {
		do
			at += KEYS;
		while (at < keys && !kept_some(first, first + (QUERIES - 1), at, at + (KEYS - 1)));
		return at;
	};
	const Index begin = next(-KEYS);
	attention_copy_rows<threads, Tiles::size, SIZE>(tiles.query, query, queries - first,
	                                                [&](int i, int r) { return query_at(first + i, r); });
	ask_keys(begin);
	for (int pass = 0; pass <= again; pass++) {
		const bool weighs = pass == again;
		for (Index at = begin, later; at < keys; at = later) {
			T product[ROWS][mine];
			later = next(at);
			copy_wait<0>();
			__syncthreads(); /* the keys have arrived; no thread still reads the previous values and weights
			                  */
			if (weighs)
				ask_values(at);
			attention_products(product, tiles);
#pragma unroll
			for (int q = 0; q < ROWS; q++) {
				const Index i = query_of(q);
				C *const weights = &tiles.weight[Tiles::row(q)][Tiles::lane()];
				if constexpr (again) {
					if (weighs) {
#pragma unroll
						for (int k = 0; k < mine; k++) {
							const Index j = key_of(at, k);
							const bool inside = i < queries && j < keys;
							weights[k * Tiles::lanes] =
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
					const Index j = key_of(at, k);
					score[k] =
					        i < queries && j < keys ? score_at(i, j, product[q][k]) : (S)-INFINITY;
					most = nan_max(most, score[k]);
				}
				most = attention_reduce<Tiles>(most, op_max());
				const S base = attention_base(most), scale = attention_exp(largest[q] - base);
				largest[q] = most;
				sum[q] *= scale;
#pragma unroll
				for (int k = 0; k < mine; k++) {
					const S weight = attention_exp(score[k] - base);
					sum[q] += weight;
					if (weighs)
						weights[k * Tiles::lanes] = (C)weight;
				}
				for (int c = 0; weighs && c < Tiles::columns; c++)
					total[q][c] *= (A)scale;
			}
			copy_wait<0>();
			__syncthreads(); /* the values and weights have arrived; no thread still reads the keys */
			ask_keys(!weighs && later >= keys ? begin : later);
			if (weighs)
				attention_weigh(total, tiles, keys - at < KEYS ? (int)(keys - at) : KEYS);
		}
		if (pass > 0)
			break;
		/* The stages may subtract another number than the largest score. */
#pragma unroll
		for (int q = 0; q < ROWS; q++) {
			const Index i = query_of(q) < queries ? query_of(q) : first;
			const S off = largest_at(i, largest[q]);
			const S scale = keys > 0 ? attention_exp(attention_base(largest[q]) - off) : (S)1;
			largest[q] = off;
			sum[q] = sum_at(i, off, attention_reduce<Tiles>(sum[q], op_sum()) * scale);
			for (int c = 0; !again && c < Tiles::columns; c++)
				total[q][c] *= (A)scale;
		}
	}
#pragma unroll
	for (int q = 0; q < ROWS; q++) {
		const Index i = query_of(q);
#pragma unroll
		for (int c = 0; c < Tiles::columns; c++)
			if (i < queries && Tiles::column(c) < COLUMNS)
				put(i, Tiles::column(c), total[q][c], largest[q], sum[q]);
	}
}

/* ---- On tensor cores --------------------------------------------------------------------------------------------- */

/* A warp has 16 * TILES queries, as fragments of left operands. A block's warps share tiles of keys and values with
 * 2-byte elements; the next tiles are copied while the current ones are multiplied. A warp's scores stay in the
 * accumulator registers and become the left operand of the product with the values: weights are rounded to the values'
 * type. Exponentials are powers of 2. Such a kernel passes query_at(i, r), an element's position in `query`, even and
 * followed by the next, or with attention_elements the element; and key_at(j, r), value_at(j, c), positions of VECTOR
 * elements along a head (TURNED keys: of 8 keys), at a multiple of VECTOR, negative for zeros. score_at(i, j, product)
 * is as above; with attention_scaled it is the product, rounded to T, times a positive number. kept_from(i) and
 * kept_to(i) are the first key and the one after the last, beyond which a score is minus infinity, or
 * attention_unbounded; kept_some(i, to_i, j, to_j) and kept_all(...) tell whether some of these queries and keys may be
 * kept, and whether all are, or are attention_always. largest_at() and sum_at() are as above; result_at(i, c, total,
 * largest, sum, 1 / sum) is the stored value, and place_at(i, c) its position: of PLACES at a time, at multiples of it:
 * 1, 2 or 8. */
template <class T> struct attention_scaled {
	float by;
};
struct attention_always {
	template <class... Any> TPAT_FN bool operator()(Any...) const { return true; }
};
/* In the place of kept_from and kept_to; a query's bound, or without one `other`. */
struct attention_unbounded {};
template <class I> TPAT_FN I attention_bound(attention_unbounded, I, I other) { return other; }
template <class B, class I> TPAT_FN I attention_bound(const B &bound, I query, I) { return bound(query); }

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
			copy_async_at<2 * VECTOR>(tile.element(r, c), from, place);
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

/* Turns products into scores; minus infinity beyond `keys` and what is kept, unless `whole`. The keys of a query that
 * are kept are neighbours, so that a score's place is compared with constants. */
template <int TILES, int NEAR, class Score, class Index, class From, class To>
TPAT_FN void attention_score_all(mma_sum<float> (&score)[TILES][NEAR], const Score &score_at, Index at, Index row,
                                 int column, Index queries, bool whole, Index keys, const From &kept_from,
                                 const To &kept_to)
{
	const Index own = at + column;
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const Index i = row + 16 * m + half * 8, near = i < queries ? i : queries - 1;
			const auto scores = [&](const auto &inside) {
#pragma unroll
				for (int n = 0; n < 2 * NEAR; n++) {
					const int place = n / 2 * 8 + n % 2;
					float &x = score[m][n / 2].at[2 * half + n % 2];
					x = inside(place) ? attention_score(score_at, near, own + place, x) : -INFINITY;
				}
			};
			const Index kept = attention_bound(kept_to, near, keys), to = (kept < keys ? kept : keys) - own,
			            from = attention_bound(kept_from, near, own) - own;
			if (whole)
				scores(attention_always());
			else
				scores([&](int place) { return place >= from && place < to; });
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
          bool TURNED, class Index, class Query, class QueryAt, class KeyAt, class ValueAt, class Score, class From,
          class To, class Some, class All, class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_mma(attention_slots<K, V, KEYS, SIZE, COLUMNS, SLOTS, TURNED> &slots, Index first,
                           typename identity<Index>::type queries, typename identity<Index>::type keys, Query query,
                           QueryAt query_at, const K *key, KeyAt key_at, const V *value, ValueAt value_at,
                           Score score_at, From kept_from, To kept_to, Some kept_some, All kept_all, Largest largest_at,
                           Sum sum_at, Result result_at, Y *y, Place place_at)
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
		                    at + KEYS <= keys && kept_all(first, last, at, at + (KEYS - 1)), (Index)keys,
		                    kept_from, kept_to);
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
