/* SPDX-License-Identifier: Apache-2.0
 * tpat_attention_few.h: attention of few queries over many keys, as in decoding, which takes the time to read keys and
 * values once. The warps of a block take keys in turn, straight from global memory into the fragments of tensor cores,
 * and join their sums at the end. Blocks can share the keys of a head, too: each writes its partial sums, which a
 * second kernel joins. Sources: Dao, Haziza, Massa and Sizov, Flash-Decoding for long-context inference, 2023; Ye et
 * al., FlashInfer, 2025.
 *
 * Compiled like tpat_device.h. */
#ifndef TPAT_ATTENTION_FEW_H
#define TPAT_ATTENTION_FEW_H

#include "tpat_attention.h"

#define TPAT_FN __device__ __forceinline__

/* A warp multiplies 16 keys at a time. Lane 4 * g + t loads 16 bytes of keys g and g + 8, at elements 32 * c + 8 * t,
 * and 16 bytes of values 2 * t, 2 * t + 1, 2 * t + 8 and 2 * t + 9, at columns 64 * c + 8 * g: pieces of whole sectors.
 * The products sum elements, and list columns, in that order. */
enum { ATTENTION_FEW_KEYS = 16, ATTENTION_FEW_ROWS = 8 /* joined at a time */ };

template <int SIZE, int COLUMNS> struct attention_few_pieces {
	static const int of_key = (SIZE + 31) / 32, of_value = (COLUMNS + 63) / 64;
};

/* The memory in which warps exchange partial sums of some rows. */
template <int WARPS, int COLUMNS> struct attention_few_parts {
	static const int columns = attention_few_pieces<1, COLUMNS>::of_value * 64;
	alignas(16) float total[WARPS][ATTENTION_FEW_ROWS][columns + 4];
	float largest[WARPS][ATTENTION_FEW_ROWS], sum[WARPS][ATTENTION_FEW_ROWS];
};

/* The sums of a warp for 16 * TILES rows. */
template <int TILES, int COLUMNS> struct attention_few_sums {
	static const int across = attention_few_pieces<1, COLUMNS>::of_value * 8;
	float largest[TILES][2], sum[TILES][2];
	mma_sum<float> total[TILES][across];
};

/* Loads queries in the order of elements that attention_few_keys() has. */
template <int SIZE, class K, int DEPTH, class Query, class Index, class At>
TPAT_FN void attention_few_query(mma_a<K> (&left)[DEPTH], Query query, const At &query_at, Index row, Index queries)
{
#pragma unroll
	for (int k = 0; k < DEPTH; k++)
#pragma unroll
		for (int w = 0; w < 4; w++) {
			const Index i = row + w % 2 * 8;
			const int r = k / 2 * 32 + warp_lane() % 4 * 8 + k % 2 * 4 + w / 2 * 2;
			left[k].word[w] = i < queries && r < SIZE ? attention_two<SIZE>(query, query_at, i, r) : 0;
		}
}

template <int SIZE, int PIECES, class K, class Index, class At>
TPAT_FN void attention_few_keys(u32 (&word)[2][PIECES][4], const K *key, const At &key_at, Index at)
{
#pragma unroll
	for (int n = 0; n < 2; n++)
#pragma unroll
		for (int c = 0; c < PIECES; c++) {
			const int r = 32 * c + warp_lane() % 4 * 8;
			const auto place = r < SIZE ? key_at(at + (warp_lane() / 4 + 8 * n), (Index)r) : (Index)-1;
			load_if(word[n][c], (const u32 *)(key + (place < 0 ? 0 : place)), place >= 0);
		}
}

template <int COLUMNS, int PIECES, class V, class Index, class At>
TPAT_FN void attention_few_values(u32 (&word)[4][PIECES][4], const V *value, const At &value_at, Index at)
{
#pragma unroll
	for (int k = 0; k < 4; k++)
#pragma unroll
		for (int c = 0; c < PIECES; c++) {
			const int column = 64 * c + warp_lane() / 4 * 8;
			const auto place = column < COLUMNS ? value_at(at + (warp_lane() % 4 * 2 + k % 2 + k / 2 * 8),
			                                               (Index)column)
			                                    : (Index)-1;
			load_if(word[k][c], (const u32 *)(value + (place < 0 ? 0 : place)), place >= 0);
		}
}

/* product = query * key, for the 16 keys. */
template <class K, int TILES, int DEPTH, int PIECES>
TPAT_FN void attention_few_multiply(mma_sum<float> (&product)[TILES][2], const mma_a<K> (&query)[TILES][DEPTH],
                                    const u32 (&key)[2][PIECES][4])
{
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int n = 0; n < 2; n++) {
			product[m][n] = {};
#pragma unroll
			for (int k = 0; k < DEPTH; k++) {
				const u32(&word)[4] = key[n][k / 2];
				const mma_b<K> right = { { word[k % 2 * 2], word[k % 2 * 2 + 1] } };
				mma(product[m][n], query[m][k], right);
			}
		}
}

/* total += weight * value. */
template <class V, int TILES, int ACROSS, int PIECES>
TPAT_FN void attention_few_collect(mma_sum<float> (&total)[TILES][ACROSS], const mma_a<V> (&weight)[TILES],
                                   const u32 (&value)[4][PIECES][4])
{
#pragma unroll
	for (int c = 0; c < PIECES; c++)
#pragma unroll
		for (int e = 0; e < 8; e++) {
			mma_b<V> right;
#pragma unroll
			for (int i = 0; i < 2; i++) {
				const u32 low = value[2 * i][c][e / 2], high = value[2 * i + 1][c][e / 2];
				right.word[i] = e % 2 ? low >> 16 | (high & 0xffff0000) : (low & 0xffff) | high << 16;
			}
#pragma unroll
			for (int m = 0; m < TILES; m++)
				mma(total[m][8 * c + e], weight[m], right);
		}
}

/* Sums this warp's share of the keys from ... to - 1; `from` is a multiple of 16. */
template <int WARPS, int SIZE, int TILES, int COLUMNS, class Index, class K, class V, class Query, class QueryAt,
          class KeyAt, class ValueAt, class Score, class From, class To, class Some, class All>
TPAT_FN void attention_few_sum(attention_few_sums<TILES, COLUMNS> &sums, Index first, Index queries, Index keys,
                               Index from, Index to, Query query, const QueryAt &query_at, const K *key,
                               const KeyAt &key_at, const V *value, const ValueAt &value_at, const Score &score_at,
                               const From &kept_from, const To &kept_to, const Some &kept_some, const All &kept_all)
{
	const int pieces = attention_few_pieces<SIZE, COLUMNS>::of_key,
	          wide = attention_few_pieces<SIZE, COLUMNS>::of_value, depth = 2 * pieces;
	const int most = ATTENTION_FEW_KEYS, column = mma_column(0);
	const Index row = first + mma_row(0), last = first + (16 * TILES - 1);
	const float factor = attention_factor(score_at) * 1.44269504f; /* log2(e) */
	const auto next = [&](Index at) {
		do
			at += WARPS * most;
		while (at < to && !kept_some(first, last, at, at + (most - 1)));
		return at;
	};
	Index at = next(from + (block_thread() / 32 - WARPS) * most);
	u32 near[2][pieces][4], far[4][wide][4];
	if (at < to) {
		attention_few_keys<SIZE>(near, key, key_at, at);
		attention_few_values<COLUMNS>(far, value, value_at, at);
	}
	mma_a<K> left[TILES][depth];
#pragma unroll
	for (int m = 0; m < TILES; m++) {
		attention_few_query<SIZE>(left[m], query, query_at, row + 16 * m, queries);
		for (int half = 0; half < 2; half++) {
			sums.largest[m][half] = -INFINITY;
			sums.sum[m][half] = 0;
		}
#pragma unroll
		for (int c = 0; c < sums.across; c++)
			sums.total[m][c] = {};
	}
	while (at < to) {
		const Index later = next(at);
		mma_sum<float> score[TILES][2];
		mma_a<V> weight[TILES];
		attention_few_multiply(score, left, near);
		if (later < to)
			attention_few_keys<SIZE>(near, key, key_at, later);
		attention_score_all(score, score_at, at, row, column, queries,
		                    at + most <= keys && kept_all(first, last, at, at + (most - 1)), (Index)keys,
		                    kept_from, kept_to);
#pragma unroll
		for (int m = 0; m < TILES; m++) {
			float by[2];
			attention_soften(score[m], sums.largest[m], sums.sum[m], by, factor);
			attention_scale(sums.total[m], by);
			weight[m] = mma_a_of<V>(score[m][0], score[m][1]);
		}
		attention_few_collect(sums.total, weight, far);
		if (later < to)
			attention_few_values<COLUMNS>(far, value, value_at, later);
		at = later;
	}
}

/* Joins what the warps have stored for `rows` rows, from row `top` on. */
template <int WARPS, int COLUMNS, class Parts, class Index, class Put>
TPAT_FN void attention_few_rows(const Parts &parts, int rows, Index top, Index queries, float scale, const Put &put)
{
	const int pairs = (COLUMNS + 1) / 2;
	for (int p = block_thread(); p < rows * pairs; p += 32 * WARPS) {
		const int i = p / pairs, column = p % pairs * 2;
		float most = parts.largest[0][i], sum = 0, total[2] = { 0, 0 };
#pragma unroll
		for (int w = 1; w < WARPS; w++)
			most = nan_max(most, parts.largest[w][i]);
		const float base = attention_base(most);
#pragma unroll
		for (int w = 0; w < WARPS; w++) {
			const float by = attention_exp((parts.largest[w][i] - base) * scale);
			float two[2];
			load(two, &parts.total[w][i][column]);
			sum += parts.sum[w][i] * by;
			total[0] += two[0] * by;
			total[1] += two[1] * by;
		}
		if (top + i < queries)
			put(top + i, column, total, most * scale, sum);
	}
}

/* Joins the warps' sums. Calls put(row, column, total of two columns, largest, sum): sums of exponentials relative to
 * the largest score of the row. */
template <int WARPS, int TILES, int COLUMNS, class Index, class Put>
TPAT_FN void attention_few_join(attention_few_parts<WARPS, COLUMNS> &parts,
                                const attention_few_sums<TILES, COLUMNS> &sums, Index first, Index queries, float scale,
                                const Put &put)
{
	const int rows = ATTENTION_FEW_ROWS;
	const int warp = block_thread() / 32, g = warp_lane() / 4, t = warp_lane() % 4;
#pragma unroll
	for (int m = 0; m < TILES; m++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const Index top = first + (16 * m + rows * half);
			if (top >= queries) /* in all threads */
				continue;
			const float added = warp_reduce<4>(sums.sum[m][half], op_sum());
			if (m + half)
				__syncthreads();
			if (t == 0) {
				parts.largest[warp][g] = sums.largest[m][half];
				parts.sum[warp][g] = added;
			}
#pragma unroll
			for (int c = 0; c < sums.across; c += 4)
#pragma unroll
				for (int x = 0; x < 2; x++) {
					float four[4];
#pragma unroll
					for (int e = 0; e < 4; e++)
						four[e] = sums.total[m][c + e].at[2 * half + x];
					store(&parts.total[warp][g][c / 8 * 64 + 16 * t + 8 * x + c % 8], four);
				}
			__syncthreads();
			attention_few_rows<WARPS, COLUMNS>(parts, rows, top, queries, scale, put);
		}
}

/* Stores two columns of the result. */
template <bool PAIRS, int COLUMNS, class Index, class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_few_put(Index i, int column, const float (&total)[2], float seen, float added, Index keys,
                               const Largest &largest_at, const Sum &sum_at, const Result &result_at, Y *y,
                               const Place &place_at)
{
	/* The stages may subtract another number than the largest score. */
	const float off = largest_at(i, seen), by = keys > 0 ? attention_exp(attention_base(seen) - off) : 1.0f;
	const float all = sum_at(i, off, added * by), inverse = 1.0f / all;
	const int other = column + 1 < COLUMNS ? column + 1 : column;
	const Y two[2] = { result_at(i, (Index)column, total[0] * by, off, all, inverse),
		           result_at(i, (Index)other, total[1] * by, off, all, inverse) };
	if (PAIRS) {
		store(y + place_at(i, (Index)column), two);
	} else {
		y[place_at(i, (Index)column)] = two[0];
		if (other > column)
			y[place_at(i, (Index)other)] = two[1];
	}
}

/* Attention for the queries first .. first + 16 * TILES of `queries`, as attention_mma(). */
template <int TILES, int SIZE, bool PAIRS, int WARPS, int COLUMNS, class K, class V, class Index, class Query,
          class QueryAt, class KeyAt, class ValueAt, class Score, class From, class To, class Some, class All,
          class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_few(attention_few_parts<WARPS, COLUMNS> &parts, Index first,
                           typename identity<Index>::type queries, typename identity<Index>::type keys, Query query,
                           QueryAt query_at, const K *key, KeyAt key_at, const V *value, ValueAt value_at,
                           Score score_at, From kept_from, To kept_to, Some kept_some, All kept_all, Largest largest_at,
                           Sum sum_at, Result result_at, Y *y, Place place_at)
{
	attention_few_sums<TILES, COLUMNS> sums;
	attention_few_sum<WARPS, SIZE>(sums, first, (Index)queries, (Index)keys, (Index)0, (Index)keys, query, query_at,
	                               key, key_at, value, value_at, score_at, kept_from, kept_to, kept_some, kept_all);
	attention_few_join(parts, sums, first, (Index)queries, attention_factor(score_at),
	                   [&](Index i, int column, const float(&total)[2], float seen, float added) {
		                   attention_few_put<PAIRS, COLUMNS>(i, column, total, seen, added, (Index)keys,
		                                                     largest_at, sum_at, result_at, y, place_at);
	                   });
}

/* Partial sums in global memory: of a row's part, the totals of all columns, the largest score and the sum. */
template <int COLUMNS> struct attention_few_record {
	static const int largest = (COLUMNS + 1) / 2 * 2, size = largest + 2;

	/* Stores two columns of record n. */
	template <class Index>
	TPAT_FN static void put(float *records, Index n, int column, const float (&total)[2], float seen, float added)
	{
		float *record = records + n * size;
		store(record + column, total);
		if (column == 0) {
			const float both[2] = { seen, added };
			store(record + largest, both);
		}
	}
};

/* The keys of part number `part` of `all`: whole turns of a block. */
template <class Index> struct attention_few_share {
	Index from, to;
	TPAT_FN attention_few_share(Index keys, int turn, Index part, Index all)
	{
		const Index share = ((keys + (turn - 1)) / turn + (all - 1)) / all * turn;
		from = part * share;
		to = from + share < keys ? from + share : keys;
	}
};

/* Part number `part` of the `all` parts of the keys: the partial sums of row `i` go to record (row + i) * all + part.
 */
template <int TILES, int SIZE, int WARPS, int COLUMNS, class K, class V, class Index, class Query, class QueryAt,
          class KeyAt, class ValueAt, class Score, class From, class To, class Some, class All>
TPAT_FN void attention_few_part(attention_few_parts<WARPS, COLUMNS> &parts, Index first,
                                typename identity<Index>::type queries, typename identity<Index>::type keys,
                                Query query, QueryAt query_at, const K *key, KeyAt key_at, const V *value,
                                ValueAt value_at, Score score_at, From kept_from, To kept_to, Some kept_some,
                                All kept_all, typename identity<Index>::type part, typename identity<Index>::type all,
                                float *records, typename identity<Index>::type row)
{
	const attention_few_share<Index> share((Index)keys, WARPS * ATTENTION_FEW_KEYS, (Index)part, (Index)all);
	attention_few_sums<TILES, COLUMNS> sums;
	attention_few_sum<WARPS, SIZE>(sums, first, (Index)queries, (Index)keys, share.from, share.to, query, query_at,
	                               key, key_at, value, value_at, score_at, kept_from, kept_to, kept_some, kept_all);
	attention_few_join(parts, sums, first, (Index)queries, attention_factor(score_at),
	                   [&](Index i, int column, const float(&total)[2], float seen, float added) {
		                   attention_few_record<COLUMNS>::put(records, (row + i) * all + part, column, total,
		                                                      seen, added);
	                   });
}

/* Shared memory through which the warps of attention_few_all() exchange results. */
template <int WARPS, int COLUMNS> struct attention_few_row {
	float total[WARPS][(COLUMNS + 1) / 2 * 2], sum[WARPS];
};

/* Joins the parts of row i, whose records begin at number row * all. Warps take parts in turn. */
template <bool PAIRS, int WARPS, int COLUMNS, class Index, class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_few_all(attention_few_row<WARPS, COLUMNS> &shared, Index i, typename identity<Index>::type keys,
                               const float *records, typename identity<Index>::type row,
                               typename identity<Index>::type all, Largest largest_at, Sum sum_at, Result result_at,
                               Y *y, Place place_at)
{
	typedef attention_few_record<COLUMNS> Record;
	const int pairs = (COLUMNS + 1) / 2, mine = (pairs + 31) / 32, warp = block_thread() / 32, lane = warp_lane();
	records += row * all * Record::size;
	float seen = -INFINITY;
	for (Index p = lane; p < all; p += 32)
		seen = nan_max(seen, records[p * Record::size + Record::largest]);
	seen = warp_reduce<32>(seen, op_max());
	const float base = attention_base(seen);
	float sum = 0, total[mine][2];
#pragma unroll
	for (int c = 0; c < mine; c++)
		total[c][0] = total[c][1] = 0;
#pragma unroll 4
	for (Index p = warp; p < all; p += WARPS) {
		const float *record = records + p * Record::size;
		float both[2], two[mine][2];
		load(both, record + Record::largest);
#pragma unroll
		for (int c = 0; c < mine; c++)
			load_if(two[c], record + (lane + 32 * c < pairs ? (lane + 32 * c) * 2 : 0),
			        lane + 32 * c < pairs);
		const float by = attention_exp(both[0] - base);
		sum += both[1] * by;
#pragma unroll
		for (int c = 0; c < mine; c++) {
			total[c][0] += two[c][0] * by;
			total[c][1] += two[c][1] * by;
		}
	}
#pragma unroll
	for (int c = 0; c < mine; c++)
		if (lane + 32 * c < pairs)
			store(&shared.total[warp][(lane + 32 * c) * 2], total[c]);
	if (lane == 0)
		shared.sum[warp] = sum;
	__syncthreads();
	for (int p = block_thread(); p < pairs; p += 32 * WARPS) {
		float two[2] = { 0, 0 }, added = 0;
#pragma unroll
		for (int w = 0; w < WARPS; w++) {
			two[0] += shared.total[w][2 * p];
			two[1] += shared.total[w][2 * p + 1];
			added += shared.sum[w];
		}
		attention_few_put<PAIRS, COLUMNS>(i, 2 * p, two, seen, added, (Index)keys, largest_at, sum_at,
		                                  result_at, y, place_at);
	}
}

/* ---- By ordinary arithmetic: eight lanes share the elements of a key and of its value, so that a warp has four keys
 * at a time, and two such times in flight. ---- */

enum { ATTENTION_FEW_LANES = 8, ATTENTION_FEW_FLIGHTS = 2, ATTENTION_FEW_KEYS_BY_LANES = 8 /* of a warp in flight */ };

/* A lane has every eighth group of four elements. */
template <int N> struct attention_few_fours {
	static const int n = (N + 4 * ATTENTION_FEW_LANES - 1) / (4 * ATTENTION_FEW_LANES);
};

/* The memory in which warps exchange their sums, and a lane's sums. */
template <int WARPS, int ROWS, int COLUMNS> struct attention_few_lanes_parts {
	static const int columns = attention_few_fours<COLUMNS>::n * 4 * ATTENTION_FEW_LANES;
	alignas(16) float total[WARPS][ROWS][columns];
	float largest[WARPS][ROWS], sum[WARPS][ROWS];
};
template <int ROWS, int COLUMNS> struct attention_few_lanes_sums {
	float largest[ROWS], sum[ROWS], total[ROWS][attention_few_fours<COLUMNS>::n][4];
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

/* Loads a lane's elements of a row. */
template <int SIZE, int FOURS, class From, class At, class Index>
TPAT_FN void attention_few_load(float (&fours)[FOURS][4], From from, const At &at, Index row)
{
#pragma unroll
	for (int c = 0; c < FOURS; c++) {
		const int column = 4 * (c * ATTENTION_FEW_LANES + warp_lane() % ATTENTION_FEW_LANES);
		if (SIZE % (4 * ATTENTION_FEW_LANES) == 0 || column < SIZE)
			attention_four<SIZE>(fours[c], from, at, row, column);
		else
			fours[c][0] = fours[c][1] = fours[c][2] = fours[c][3] = 0;
	}
}

/* Adds the sums of others, relative to another largest score, to a lane's. */
template <int ROWS, int COLUMNS> TPAT_FN void attention_few_lanes_join(attention_few_lanes_sums<ROWS, COLUMNS> &sums)
{
#pragma unroll
	for (int apart = ATTENTION_FEW_LANES; apart < 32; apart *= 2)
#pragma unroll
		for (int q = 0; q < ROWS; q++) {
			const float theirs = shuffle_xor(sums.largest[q], apart),
			            most = nan_max(sums.largest[q], theirs);
			const float base = attention_base(most), by = attention_exp(sums.largest[q] - base);
			sums.largest[q] = most;
			sums.sum[q] *= by;
			sums.sum[q] += shuffle_xor(sums.sum[q], apart);
#pragma unroll
			for (int c = 0; c < attention_few_fours<COLUMNS>::n; c++)
#pragma unroll
				for (int e = 0; e < 4; e++) {
					float &total = sums.total[q][c][e];
					total *= by;
					total += shuffle_xor(total, apart);
				}
		}
}

/* Sums the keys from ... to - 1, for this block's ROWS queries, and joins its warps' sums. */
template <int SIZE, int WARPS, int ROWS, int COLUMNS, class Index, class Query, class QueryAt, class Key, class KeyAt,
          class Value, class ValueAt, class Score, class Some, class Put>
TPAT_FN void attention_few_lanes_sum(attention_few_lanes_parts<WARPS, ROWS, COLUMNS> &parts, Index first, Index queries,
                                     Index from, Index to, Query query, const QueryAt &query_at, Key key,
                                     const KeyAt &key_at, Value value, const ValueAt &value_at, const Score &score_at,
                                     const Some &kept_some, const Put &put)
{
	const int most = ATTENTION_FEW_KEYS_BY_LANES, flights = ATTENTION_FEW_FLIGHTS,
	          deep = attention_few_fours<SIZE>::n, wide = attention_few_fours<COLUMNS>::n,
	          warp = block_thread() / 32, group = warp_lane() / ATTENTION_FEW_LANES;
	float left[ROWS][deep][4];
	attention_few_lanes_sums<ROWS, COLUMNS> sums;
#pragma unroll
	for (int q = 0; q < ROWS; q++) {
		attention_few_load<SIZE>(left[q], query, query_at, first + q < queries ? first + q : queries - 1);
		sums.largest[q] = -INFINITY;
		sums.sum[q] = 0;
#pragma unroll
		for (int c = 0; c < wide; c++)
			sums.total[q][c][0] = sums.total[q][c][1] = sums.total[q][c][2] = sums.total[q][c][3] = 0;
	}
	for (Index at = from + warp * most; at < to; at += WARPS * most) {
		if (!kept_some(first, first + (ROWS - 1), at, at + (most - 1)))
			continue;
		float near[flights][deep][4], far[flights][wide][4];
#pragma unroll
		for (int u = 0; u < flights; u++) {
			const Index j = at + (u * (most / flights) + group);
			attention_few_load<SIZE>(near[u], key, key_at, j < to ? j : to - 1);
			attention_few_load<COLUMNS>(far[u], value, value_at, j < to ? j : to - 1);
		}
#pragma unroll
		for (int q = 0; q < ROWS; q++) {
			const Index i = first + q < queries ? first + q : queries - 1;
			float score[flights], largest = sums.largest[q];
#pragma unroll
			for (int u = 0; u < flights; u++) {
				const Index j = at + (u * (most / flights) + group);
				float product = 0;
#pragma unroll
				for (int c = 0; c < deep; c++)
#pragma unroll
					for (int e = 0; e < 4; e++)
						product += left[q][c][e] * near[u][c][e];
				product = warp_reduce<ATTENTION_FEW_LANES>(product, op_sum());
				score[u] = j < to ? score_at(i, j, product) : -INFINITY;
				largest = nan_max(largest, score[u]);
			}
			const float base = attention_base(largest), by = attention_exp(sums.largest[q] - base);
			sums.largest[q] = largest;
			sums.sum[q] *= by;
#pragma unroll
			for (int c = 0; c < wide; c++)
#pragma unroll
				for (int e = 0; e < 4; e++)
					sums.total[q][c][e] *= by;
#pragma unroll
			for (int u = 0; u < flights; u++) {
				const float weight = attention_exp(score[u] - base);
				sums.sum[q] += weight;
#pragma unroll
				for (int c = 0; c < wide; c++)
#pragma unroll
					for (int e = 0; e < 4; e++)
						sums.total[q][c][e] += weight * far[u][c][e];
			}
		}
	}
	attention_few_lanes_join(sums);
#pragma unroll
	for (int q = 0; q < ROWS; q++) {
		if (q % 4 != group)
			continue;
#pragma unroll
		for (int c = 0; c < wide; c++)
			store(&parts.total[warp][q][4 * (c * ATTENTION_FEW_LANES + warp_lane() % ATTENTION_FEW_LANES)],
			      sums.total[q][c]);
		if (warp_lane() % ATTENTION_FEW_LANES == 0) {
			parts.largest[warp][q] = sums.largest[q];
			parts.sum[warp][q] = sums.sum[q];
		}
	}
	__syncthreads();
	attention_few_rows<WARPS, COLUMNS>(parts, ROWS, first, queries, 1.0f, put);
}

/* Attention for the queries first .. first + ROWS of `queries`, as attention(). */
template <int SIZE, bool PAIRS, int WARPS, int ROWS, int COLUMNS, class Index, class Query, class QueryAt, class Key,
          class KeyAt, class Value, class ValueAt, class Score, class Some, class Largest, class Sum, class Result,
          class Y, class Place>
TPAT_FN void attention_few_lanes(attention_few_lanes_parts<WARPS, ROWS, COLUMNS> &parts, Index first,
                                 typename identity<Index>::type queries, typename identity<Index>::type keys,
                                 Query query, QueryAt query_at, Key key, KeyAt key_at, Value value, ValueAt value_at,
                                 Score score_at, Some kept_some, Largest largest_at, Sum sum_at, Result result_at, Y *y,
                                 Place place_at)
{
	attention_few_lanes_sum<SIZE>(
	        parts, first, (Index)queries, (Index)0, (Index)keys, query, query_at, key, key_at, value, value_at,
	        score_at, kept_some, [&](Index i, int column, const float(&total)[2], float seen, float added) {
		        attention_few_put<PAIRS, COLUMNS>(i, column, total, seen, added, (Index)keys, largest_at,
		                                          sum_at, result_at, y, place_at);
	        });
}

/* Part number `part` of the `all` parts of the keys, as attention_few_part(). */
template <int SIZE, int WARPS, int ROWS, int COLUMNS, class Index, class Query, class QueryAt, class Key, class KeyAt,
          class Value, class ValueAt, class Score, class Some>
TPAT_FN void attention_few_lanes_part(attention_few_lanes_parts<WARPS, ROWS, COLUMNS> &parts, Index first,
                                      typename identity<Index>::type queries, typename identity<Index>::type keys,
                                      Query query, QueryAt query_at, Key key, KeyAt key_at, Value value,
                                      ValueAt value_at, Score score_at, Some kept_some,
                                      typename identity<Index>::type part, typename identity<Index>::type all,
                                      float *records, typename identity<Index>::type row)
{
	const attention_few_share<Index> share((Index)keys, WARPS * ATTENTION_FEW_KEYS_BY_LANES, (Index)part,
	                                       (Index)all);
	attention_few_lanes_sum<SIZE>(
	        parts, first, (Index)queries, share.from, share.to, query, query_at, key, key_at, value, value_at,
	        score_at, kept_some, [&](Index i, int column, const float(&total)[2], float seen, float added) {
		        attention_few_record<COLUMNS>::put(records, (row + i) * all + part, column, total, seen, added);
	        });
}

#undef TPAT_FN
#endif
