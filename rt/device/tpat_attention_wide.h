/* SPDX-License-Identifier: Apache-2.0
 * tpat_attention_wide.h: attention by warpgroups' products (see tpat_wgmma.h, tpat_attention.h). A group of 128 threads
 * has 64 queries of a head; the groups of a block share tiles of keys and values. While the tensor cores sum the values
 * of one tile, the threads compute weights from the scores of the next. Source: Shah, Bikshandi, Zhang, Thakkar, Ramani
 * and Dao, FlashAttention-3, 2024 (algorithm 2: the part inside a warpgroup).
 *
 * Compiled like tpat_device.h. */
#ifndef TPAT_ATTENTION_WIDE_H
#define TPAT_ATTENTION_WIDE_H

#include "tpat_attention.h"
#include "tpat_wgmma.h"

#define TPAT_FN __device__ __forceinline__

/* The products sum elements by sixteens, up to `whole`; they have `columns` columns, as an instruction has. The tensor
 * cores read tiles of 64: `parts` of them have `whole` elements. The tiles hold zeros after a head's last element. */
template <int N> struct attention_wide_width {
	static const int whole = attention_width<N>::whole, parts = (N + 63) / 64;
	static const int columns = N <= 32 ? 32 : whole <= 128 ? whole : N <= 160 ? 160 : N <= 192 ? 192 : 256;
};

/* Two tiles of each: one is multiplied while the other is copied. */
template <class K, class V, int KEYS, int SIZE, int COLUMNS, bool TURNED> struct attention_wide_slots {
	static const int parts = attention_wide_width<SIZE>::parts, columns = attention_wide_width<COLUMNS>::columns;
	wide_tile<K, KEYS, TURNED> key[2][parts];
	wide_tile<V, (columns + 63) / 64 * 64, true> value[2][KEYS / 64];
};

/* Copies OUTER rows of INNER columns. piece(row, column) returns the address in shared memory of 8 elements, and
 * at(row, column) their position in `from`, or a negative number for zeros. */
template <int THREADS, int OUTER, int INNER, class T, class Piece, class At>
TPAT_FN void attention_wide_copy(const T *from, const Piece &piece, const At &at)
{
	const int pieces = INNER / 8, all = OUTER * pieces;
#pragma unroll
	for (int i = 0; i < (all + THREADS - 1) / THREADS; i++) {
		const int n = i * THREADS + block_thread();
		if (all % THREADS == 0 || n < all) {
			const int row = n / pieces, column = n % pieces * 8;
			copy_async_at<16>(piece(row, column), from, at(row, column));
		}
	}
}

/* Writes zeros to columns INNER ... WIDTH - 1 of both tiles, which no copy reaches. */
template <int THREADS, int OUTER, int INNER, int WIDTH, class Piece>
TPAT_FN void attention_wide_clear(const Piece &piece)
{
	if constexpr (INNER < WIDTH) {
		const int pieces = (WIDTH - INNER) / 8;
		const u32 zeros[4] = { 0, 0, 0, 0 };
		for (int n = block_thread(); n < 2 * OUTER * pieces; n += THREADS)
			store((u32 *)piece(n / pieces / OUTER, n / pieces % OUTER, INNER + n % pieces * 8), zeros);
	}
}

/* Issues score = query * key and total += weight * value, without waiting. */
template <class K, int DEPTH, int NEAR, int KEYS, int PARTS, bool TURNED>
TPAT_FN void attention_wide_multiply(mma_sum<float> (&score)[NEAR], const mma_a<K> (&query)[DEPTH],
                                     wide_tile<K, KEYS, TURNED> (&key)[PARTS])
{
#pragma unroll
	for (int k = 0; k < DEPTH; k++)
		wgmma(score, query[k], key[k / 4], 0, k % 4 * 16, k > 0);
	wgmma_commit();
}
template <class V, int NEAR, int ACROSS, int COLUMNS, int PARTS>
TPAT_FN void attention_wide_collect(mma_sum<float> (&total)[ACROSS], const mma_a<V> (&weight)[NEAR],
                                    wide_tile<V, COLUMNS, true> (&value)[PARTS])
{
#pragma unroll
	for (int k = 0; k < NEAR; k++)
		wgmma(total, weight[k], value[k / 4], 0, k % 4 * 16, true);
	wgmma_commit();
}

/* Like attention_mma(): the queries first .. first + 64 * GROUPS of `queries`. */
template <int GROUPS, int PLACES, class K, class V, int KEYS, int SIZE, int COLUMNS, bool TURNED, class Index,
          class Query, class QueryAt, class KeyAt, class ValueAt, class Score, class From, class To, class Some,
          class All, class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_wide(attention_wide_slots<K, V, KEYS, SIZE, COLUMNS, TURNED> &slots, Index first,
                            typename identity<Index>::type queries, typename identity<Index>::type keys, Query query,
                            QueryAt query_at, const K *key, KeyAt key_at, const V *value, ValueAt value_at,
                            Score score_at, From kept_from, To kept_to, Some kept_some, All kept_all,
                            Largest largest_at, Sum sum_at, Result result_at, Y *y, Place place_at)
{
	const int threads = 128 * GROUPS, block = 64 * GROUPS, column = mma_column(0);
	const int whole = attention_wide_width<SIZE>::whole, columns = attention_wide_width<COLUMNS>::columns;
	const Index row = first + block_thread() / 32 * 16 + mma_row(0), last = first + block - 1;
	const float scale = attention_factor(score_at), factor = scale * 1.44269504f; /* log2(e) */
	const auto next = [&](Index at) {
		do
			at += KEYS;
		while (at < keys && !kept_some(first, last, at, at + (KEYS - 1)));
		return at;
	};
	const auto key_piece = [&](int slot, int j, int r) {
		auto &tile = slots.key[slot][r / 64];
		return TURNED ? tile.panel[j / 64].piece(r % 64, j % 64) : tile.panel[0].piece(j, r % 64);
	};
	const auto value_piece = [&](int slot, int j, int c) {
		return slots.value[slot][j / 64].panel[c / 64].piece(j % 64, c % 64);
	};
	const auto ask_keys = [&](Index at, int slot) {
		if (at >= keys)
			return;
		if constexpr (TURNED)
			attention_wide_copy<threads, SIZE, KEYS>(
			        key, [&](int r, int j) { return key_piece(slot, j, r); },
			        [&](int r, int j) { return key_at(at + j, (Index)r); });
		else
			attention_wide_copy<threads, KEYS, SIZE>(
			        key, [&](int j, int r) { return key_piece(slot, j, r); },
			        [&](int j, int r) { return key_at(at + j, (Index)r); });
	};
	const auto ask_values = [&](Index at, int slot) {
		if (at < keys)
			attention_wide_copy<threads, KEYS, COLUMNS>(
			        value, [&](int j, int c) { return value_piece(slot, j, c); },
			        [&](int j, int c) { return value_at(at + j, (Index)c); });
	};
	const auto arrive = [&]() { /* after a copy_wait() */
		                    wgmma_see();
		                    __syncthreads();
		                    wgmma_begin();
	};
	mma_a<K> left[whole / 16];
	mma_a<V> weight[KEYS / 16];
	mma_sum<float> score[1][KEYS / 8], total[1][columns / 8];
	float largest[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, by[2];
	const auto soften = [&](Index at) {
		attention_score_all(score, score_at, at, row, column, (Index)queries,
		                    at + KEYS <= keys && kept_all(first, last, at, at + (KEYS - 1)), (Index)keys,
		                    kept_from, kept_to);
		attention_soften(score[0], largest, sum, by, factor);
	};
	for (int c = 0; c < columns / 8; c++)
		total[0][c] = {};

	if constexpr (TURNED && SIZE < whole) { /* elements are rows */
		const u32 zeros[4] = { 0, 0, 0, 0 };
		for (int n = block_thread(); n < 2 * (whole - SIZE) * (KEYS / 8); n += threads) {
			const int j = n % (KEYS / 8) * 8, r = n / (KEYS / 8);
			store((u32 *)key_piece(r % 2, j, SIZE + r / 2), zeros);
		}
	} else {
		attention_wide_clear<threads, KEYS, SIZE, whole>(key_piece);
	}
	attention_wide_clear<threads, KEYS, COLUMNS, columns>(value_piece);
	Index at = next(-KEYS);
	if (at < keys) {
		Index later = next(at);
		int slot = 0; /* of the values for the weights */
		ask_keys(at, 0);
		copy_commit();
		ask_values(at, 0);
		ask_keys(later, 1);
		copy_commit();
		attention_load_query<SIZE>(left, query, query_at, row, (Index)queries);
		copy_wait<1>();
		arrive();
		attention_wide_multiply(score[0], left, slots.key[0]);
		wgmma_wait<0>();
		wgmma_done(score);
		soften(at);
		attention_round_weights(weight, score[0]);
		for (; later < keys; slot = 1 - slot) {
			const Index following = next(later);
			copy_wait<0>();
			arrive();
			ask_keys(following, slot);
			ask_values(later, 1 - slot);
			copy_commit();
			attention_wide_multiply(score[0], left, slots.key[1 - slot]);
			attention_wide_collect(total[0], weight, slots.value[slot]);
			wgmma_wait<1>();
			wgmma_done(score);
			soften(later);
			wgmma_wait<0>();
			wgmma_done(total);
			attention_scale(total[0], by);
			attention_round_weights(weight, score[0]);
			later = following;
		}
		copy_wait<0>();
		arrive();
		attention_wide_collect(total[0], weight, slots.value[slot]);
		wgmma_wait<0>();
		wgmma_done(total);
	}
	attention_put<PLACES, COLUMNS>(total[0], largest, sum, scale, row, (Index)queries, (Index)keys, largest_at,
	                               sum_at, result_at, y, place_at);
}

/* ---- With the copy engine. The last warpgroup only asks for tiles. The others have 64 queries each, in shared memory:
 * the registers are for scores, weights and sums. They take turns at the tensor cores, so that one group's softmax
 * overlaps with another's products. A block can take several tiles of queries in turn: then keys and values of the next
 * one, and its queries, are copied while the last products, the softmax and the stores of the one before go on. Source:
 * FlashAttention-3 (section 3.1, and algorithm 2; the persistent kernels of its implementation). ---- */

template <class K, class V, int GROUPS, int KEYS, int SIZE, int COLUMNS> struct attention_ring_slots {
	static const int parts = attention_wide_width<SIZE>::parts, columns = attention_wide_width<COLUMNS>::columns;
	wide_tile<K, 64, false> query[GROUPS][parts];
	wide_tile<K, KEYS, false> key[2][parts];
	wide_tile<V, (columns + 63) / 64 * 64, true, KEYS> value[2];
	tile_ring<2> keys, values;
};

/* The task of a thread for a tile of queries: it starts the copies of keys and values, loads its part of the queries,
 * or computes. turn: the tiles of keys so far; next(): asks for the queries of the block's next tile. */
enum attention_part { ATTENTION_COPIES, ATTENTION_ASKS, ATTENTION_COMPUTES };
struct attention_none {
	TPAT_FN void operator()() const {}
};
template <attention_part PART = ATTENTION_COPIES, class Next = attention_none> struct attention_role {
	static const attention_part part = PART;
	int turn;
	const Next &next;
};

/* Copies 16 queries of a warp, from `first` on, to where the tensor cores read them. */
template <int SIZE, class K, int PARTS, class Index, class At>
TPAT_FN void attention_ask_query(wide_tile<K, 64, false> (&tile)[PARTS], const K *query, const At &query_at,
                                 Index first, Index queries)
{
	const int pieces = attention_wide_width<SIZE>::whole / 8, top = block_thread() / 32 % 4 * 16;
#pragma unroll
	for (int i = 0; i < pieces / 2; i++) {
		const int n = i * 32 + warp_lane(), row = n / pieces, r = n % pieces * 8;
		const bool inside = first + row < queries && r < SIZE;
		copy_async<16>(tile[r / 64].panel[0].piece(top + row, r % 64),
		               query + (inside ? query_at(first + row, (Index)r) : 0), inside);
	}
}

/* Stores queries of a warpgroup, 16 of each warp, where the tensor cores read them. */
template <class K, int DEPTH, int PARTS>
TPAT_FN void attention_store_query(wide_tile<K, 64, false> (&tile)[PARTS], const mma_a<K> (&left)[DEPTH])
{
	const int row = block_thread() / 32 % 4 * 16 + mma_row(0);
#pragma unroll
	for (int k = 0; k < DEPTH; k++)
#pragma unroll
		for (int w = 0; w < 4; w++) {
			const int r = 16 * k + mma_column(0) + w / 2 * 8;
			const u32 word[1] = { left[k].word[w] };
			store((u32 *)tile[r / 64].element(row + w % 2 * 8, r % 64), word);
		}
}

/* Issues score = query * key, without waiting. */
template <int DEPTH, class K, int NEAR, int KEYS, int PARTS>
TPAT_FN void attention_wide_multiply(mma_sum<float> (&score)[NEAR], wide_tile<K, 64, false> (&query)[PARTS],
                                     wide_tile<K, KEYS, false> (&key)[PARTS])
{
#pragma unroll
	for (int k = 0; k < DEPTH; k++)
		wgmma(score, query[k / 4], 0, key[k / 4], 0, k % 4 * 16, k > 0);
	wgmma_commit();
}
template <class V, int NEAR, int ACROSS, int COLUMNS, int KEYS>
TPAT_FN void attention_wide_collect(mma_sum<float> (&total)[ACROSS], const mma_a<V> (&weight)[NEAR],
                                    wide_tile<V, COLUMNS, true, KEYS> &value)
{
#pragma unroll
	for (int k = 0; k < NEAR; k++)
		wgmma(total, weight[k], value, 0, 16 * k, true);
	wgmma_commit();
}

/* Like attention_wide(), for the part that this thread has. PIECES: eight elements of a query are contiguous, aligned
 * to 16 bytes. Tensor maps of keys and values: the elements of a head, the keys, and further dimensions, at key_rest
 * and value_rest. */
template <bool PIECES, int PLACES, int KEY_RANK, int VALUE_RANK, class Role, class K, class V, int GROUPS, int KEYS,
          int SIZE, int COLUMNS, class Index, class Query, class QueryAt, class Score, class From, class To, class Some,
          class All, class I, class Largest, class Sum, class Result, class Y, class Place>
TPAT_FN void attention_ring_tile(Role &role, attention_ring_slots<K, V, GROUPS, KEYS, SIZE, COLUMNS> &slots,
                                 Index first, typename identity<Index>::type queries,
                                 typename identity<Index>::type keys, Query query, QueryAt query_at,
                                 const tensor_map &key_map, const I (&key_rest)[3], const tensor_map &value_map,
                                 const I (&value_rest)[3], Score score_at, From kept_from, To kept_to, Some kept_some,
                                 All kept_all, Largest largest_at, Sum sum_at, Result result_at, Y *y, Place place_at)
{
	const int block = 64 * GROUPS, column = mma_column(0), group = block_thread() / 128;
	const int depth = attention_wide_width<SIZE>::whole / 16, columns = attention_wide_width<COLUMNS>::columns,
	          parts = attention_wide_width<SIZE>::parts;
	const Index from = first + 64 * group, top = from + block_thread() / 32 % 4 * 16, row = top + mma_row(0);
	const auto next = [&](Index at) {
		do
			at += KEYS;
		while (at < keys && !kept_some(first, first + (block - 1), at, at + (KEYS - 1)));
		return at;
	};
	if constexpr (Role::part == ATTENTION_COPIES) {
		int turn = role.turn;
		for (Index at = next(-KEYS); at < keys; at = next(at), turn++) {
			const int slot = turn % 2;
			slots.keys.fill(turn, sizeof slots.key[0]);
#pragma unroll
			for (int part = 0; part < parts; part++)
				tile_load<KEY_RANK>(slots.key[slot][part], key_map, &slots.keys.full[slot], 64 * part,
				                    (int)at, (int)key_rest[0], (int)key_rest[1], (int)key_rest[2]);
			slots.values.fill(turn, sizeof slots.value[0]);
			tile_load<VALUE_RANK>(slots.value[slot], value_map, &slots.values.full[slot], 0, (int)at,
			                      (int)value_rest[0], (int)value_rest[1], (int)value_rest[2]);
		}
		role.turn = turn;
	} else if constexpr (Role::part == ATTENTION_ASKS) {
		if constexpr (PIECES)
			attention_ask_query<SIZE>(slots.query[group], query, query_at, top, (Index)queries);
	} else {
		const float scale = attention_factor(score_at), factor = scale * 1.44269504f; /* log2(e) */
		mma_a<V> weight[KEYS / 16];
		mma_sum<float> score[1][KEYS / 8], total[1][columns / 8];
		float largest[2] = { -INFINITY, -INFINITY }, sum[2] = { 0, 0 }, by[2];
		const auto soften = [&](Index at) {
			attention_score_all(score, score_at, at, row, column, (Index)queries,
			                    at + KEYS <= keys && kept_all(from, from + 63, at, at + (KEYS - 1)),
			                    (Index)keys, kept_from, kept_to);
			attention_soften(score[0], largest, sum, by, factor);
		};
		if constexpr (!PIECES) {
			mma_a<K> left[depth];
			attention_load_query<SIZE>(left, query, query_at, row, (Index)queries);
			group_barrier(); /* the tile before this one has been multiplied */
			attention_store_query(slots.query[group], left);
		}
		copy_wait<0>();
		wgmma_see();
		group_barrier();
#pragma unroll
		for (int c = 0; c < columns / 8; c++)
			total[0][c] = {};
		Index at = next(-KEYS);
		if (at < keys) {
			int turn = role.turn; /* of the values for the weights */
			slots.keys.wait(turn);
			wgmma_begin();
			attention_wide_multiply<depth>(score[0], slots.query[group], slots.key[turn % 2]);
			wgmma_wait<0>();
			wgmma_done(score);
			slots.keys.done(turn);
			soften(at);
			attention_round_weights(weight, score[0]);
			Index later = next(at);
			if (later < keys)
				slots.keys.wait(turn + 1);
			for (; later < keys; turn++) {
				const Index following = next(later);
				group_turns<GROUPS>::take();
				wgmma_begin();
				attention_wide_multiply<depth>(score[0], slots.query[group], slots.key[(turn + 1) % 2]);
				slots.values.wait(turn);
				attention_wide_collect(total[0], weight, slots.value[turn % 2]);
				group_turns<GROUPS>::pass();
				wgmma_wait<1>();
				wgmma_done(score);
				slots.keys.done(turn + 1);
				soften(later);
				if (following < keys) /* a branch, before which the compiler leaves the exponentials */
					slots.keys.wait(turn + 2);
				wgmma_wait<0>();
				wgmma_done(total);
				slots.values.done(turn);
				attention_scale(total[0], by);
				attention_round_weights(weight, score[0]);
				later = following;
			}
			group_barrier(); /* the last product with the queries is done */
			role.next();
			slots.values.wait(turn);
			wgmma_begin();
			attention_wide_collect(total[0], weight, slots.value[turn % 2]);
			wgmma_wait<0>();
			wgmma_done(total);
			slots.values.done(turn);
			role.turn = turn + 1;
		} else {
			role.next();
		}
		attention_put<PLACES, COLUMNS>(total[0], largest, sum, scale, row, (Index)queries, (Index)keys,
		                               largest_at, sum_at, result_at, y, place_at);
	}
}

/* The tiles of queries of a block: one in each round of `blocks` tiles, in every second round from its end, so that
 * each block has its share if tiles become shorter or longer. */
template <class Index> struct attention_turn {
	Index tile, step, other;
	TPAT_FN attention_turn(Index block, Index blocks)
	    : tile(block), step(2 * (blocks - block) - 1), other(2 * block + 1)
	{
	}
	TPAT_FN void next()
	{
		const Index last = step;
		tile += last;
		step = other;
		other = last;
	}
};

/* Takes this block's tiles of `tiles`, with (GROUPS + 1) * 128 threads. work(tile, role) calls attention_ring_tile().
 * Threads that compute have TAKEN registers, the others GIVEN. */
template <int TAKEN, int GIVEN, class K, class V, int GROUPS, int KEYS, int SIZE, int COLUMNS, class Index, class Work>
TPAT_FN void attention_ring(attention_ring_slots<K, V, GROUPS, KEYS, SIZE, COLUMNS> &slots, Index block,
                            typename identity<Index>::type blocks, typename identity<Index>::type tiles,
                            const Work &work)
{
	const int readers = 128 * GROUPS;
	attention_turn<Index> turn(block, blocks);
	slots.keys.begin(4 * GROUPS);
	slots.values.begin(4 * GROUPS);
	__syncthreads();
	if (block_thread() >= readers) {
		registers_give<GIVEN>();
		const attention_none none;
		attention_role<ATTENTION_COPIES> role = { 0, none };
		if (block_thread() == readers)
			for (; turn.tile < tiles; turn.next())
				work(turn.tile, role);
	} else {
		registers_take<TAKEN>();
		const auto ask = [&]() {
			const attention_none none;
			attention_role<ATTENTION_ASKS> role = { 0, none };
			if (turn.tile < tiles)
				work(turn.tile, role);
			copy_commit();
		};
		const auto next = [&]() {
			turn.next();
			ask();
		};
		attention_role<ATTENTION_COMPUTES, decltype(next)> role = { 0, next };
		group_turns<GROUPS>::begin();
		ask();
		while (turn.tile < tiles)
			work(turn.tile, role);
	}
}

#undef TPAT_FN
#endif
