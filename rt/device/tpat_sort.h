/* SPDX-License-Identifier: Apache-2.0
 * tpat_sort.h: functions for kernels of sort stages. They sort rows by keys, unsigned integers in the order of the
 * values. Sorting is stable. A kernel passes functions for its data:
 *   key(r)      the key of the element at position r of the row
 *   place(r)    the element's position in the whole row, for the result
 *   put(j, ..)  stores the element that comes at j
 *
 * Sorts whole rows in shared memory (sort_rows), and finds the first k of a row while reading it once (select_row,
 * select_delegates); tpat_radix.h sorts by digits. Compiled like tpat_device.h. */
#ifndef TPAT_SORT_H
#define TPAT_SORT_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/* -0 equals 0, NaN is larger than all numbers. */
template <class U> TPAT_FN U order_of_bits(U bits, U infinity)
{
	const U sign = (U)((U)1 << (8 * sizeof(U) - 1)), magnitude = (U)(bits & ~sign);
	return magnitude > infinity ? (U) ~(U)0 : (U)(bits & sign ? sign - magnitude : sign + magnitude);
}

TPAT_FN u8 order_of(bool x) { return x; }
TPAT_FN u8 order_of(u8 x) { return x; }
TPAT_FN u8 order_of(i8 x) { return (u8)(x ^ 0x80); }
TPAT_FN u16 order_of(u16 x) { return x; }
TPAT_FN u16 order_of(i16 x) { return (u16)(x ^ 0x8000); }
TPAT_FN u16 order_of(f16 x) { return order_of_bits(x.bits, (u16)0x7c00); }
TPAT_FN u16 order_of(bf16 x) { return order_of_bits(x.bits, (u16)0x7f80); }
TPAT_FN u32 order_of(u32 x) { return x; }
TPAT_FN u32 order_of(i32 x) { return (u32)x ^ 0x80000000u; }
TPAT_FN u32 order_of(float x) { return order_of_bits(as_bits(x), 0x7f800000u); }
TPAT_FN u64 order_of(u64 x) { return x; }
TPAT_FN u64 order_of(i64 x) { return (u64)x ^ (u64)1 << 63; }
TPAT_FN u64 order_of(double x) { return order_of_bits(bit_cast_to<u64>(x), (u64)0x7ff << 52); }

template <class T> TPAT_FN auto key_ascending(T x) { return order_of(x); }
template <class T> TPAT_FN auto key_descending(T x) { return (decltype(order_of(x)))~order_of(x); }

/* Stores the key of x. */
template <class T, class K> TPAT_FN void put_key_ascending(K &to, T x) { to = key_ascending(x); }
template <class T, class K> TPAT_FN void put_key_descending(K &to, T x) { to = key_descending(x); }

/* If places are not needed, invertible keys suffice: -0 comes before 0, and NaNs of either sign after all numbers. */
template <class U> TPAT_FN U total_of_bits(U bits, U infinity)
{
	const U sign = (U)((U)1 << (8 * sizeof(U) - 1)), skipped = (U)((U)~sign - infinity);
	return (U)((U)(bits & sign ? ~bits : bits ^ sign) - skipped);
}
template <class U> TPAT_FN U bits_of_total(U key, U infinity)
{
	const U sign = (U)((U)1 << (8 * sizeof(U) - 1)), skipped = (U)((U)~sign - infinity);
	key = (U)(key + skipped);
	return (U)(key & sign ? key ^ sign : ~key);
}

template <class T> TPAT_FN auto total_of(T x) { return order_of(x); }
TPAT_FN u16 total_of(f16 x) { return total_of_bits(x.bits, (u16)0x7c00); }
TPAT_FN u16 total_of(bf16 x) { return total_of_bits(x.bits, (u16)0x7f80); }
TPAT_FN u32 total_of(float x) { return total_of_bits(as_bits(x), 0x7f800000u); }
TPAT_FN u64 total_of(double x) { return total_of_bits(bit_cast_to<u64>(x), (u64)0x7ff << 52); }

/* The inverse: x from its key. */
TPAT_FN void from_total(bool &x, u8 key) { x = key != 0; }
template <class T, class K> TPAT_FN void from_total(T &x, K key) { x = (T)order_of((T)key); } /* its own inverse */
TPAT_FN void from_total(f16 &x, u16 key) { x.bits = bits_of_total(key, (u16)0x7c00); }
TPAT_FN void from_total(bf16 &x, u16 key) { x.bits = bits_of_total(key, (u16)0x7f80); }
TPAT_FN void from_total(float &x, u32 key) { x = as_float(bits_of_total(key, 0x7f800000u)); }
TPAT_FN void from_total(double &x, u64 key) { x = bit_cast_to<double>(bits_of_total(key, (u64)0x7ff << 52)); }

template <class T> TPAT_FN auto total_ascending(T x) { return total_of(x); }
template <class T> TPAT_FN auto total_descending(T x) { return (decltype(total_of(x)))~total_of(x); }
template <class T, class K> TPAT_FN void from_ascending(T &x, K key) { from_total(x, key); }
template <class T, class K> TPAT_FN void from_descending(T &x, K key) { from_total(x, (K)~key); }

/* ---- Items: keys with their places, ordered by both. */

struct long_item {
	u64 key;
	i64 place;
};
TPAT_FN bool operator<(long_item a, long_item b) { return a.key < b.key || (a.key == b.key && a.place < b.place); }

/* Keys of at most 32 bits and their place form one number. */
template <class K> struct item_of {
	typedef u64 type;
	static TPAT_FN u64 make(K key, i64 place) { return (u64)key << 32 | (u32)place; }
};
template <> struct item_of<u64> {
	typedef long_item type;
	static TPAT_FN long_item make(u64 key, i64 place) { return long_item{ key, place }; }
};
template <class K> TPAT_FN int place_of(u64 item) { return (int)(u32)item; }
template <class K> TPAT_FN int place_of(long_item item) { return (int)item.place; }
template <class K> TPAT_FN K key_of(u64 item) { return (K)(item >> 32); }
template <class K> TPAT_FN K key_of(long_item item) { return (K)item.key; }

/* The type of keys in registers. */
template <class K> using u32_or_longer = decltype((K)0 + 0u);

/* After all items of a row. */
enum { PLACE_NONE = 0x7fffffff };

/* Sorts item[row * STRIDE .. + n) of each row, STRIDE a power of two, by a bitonic network. Items from n on count as
 * largest and are never accessed. All threads call it; it ends with a barrier. */
template <int THREADS, int STRIDE, class I> TPAT_FN void sort_items(I *item, int rows, int n)
{
	int span = 1, log = 0; /* pairs of a row */
	bool apart = true;     /* true if the previous step may have used a pair of another warp */
	while (2 * span < n) {
		span *= 2;
		log++;
	}
	for (int size = 1; size <= span && n > 1; size *= 2) {
		for (int distance = size; distance > 0; distance /= 2) {
			/* The first step of each size compares mirrored items, so all runs ascend. */
			const int other = distance == size ? 2 * size - 1 : distance;
			if (apart || distance > 32)
				__syncthreads();
			else
				__syncwarp();
			apart = distance > 32;
			for (int pair = block_thread(); pair < rows * span; pair += THREADS) {
				const int p = pair & (span - 1), low = 2 * p - (p & (distance - 1)), high = low ^ other;
				I *const at = item + (pair >> log) * STRIDE;
				if (high < n && at[high] < at[low]) {
					const I x = at[low];
					at[low] = at[high];
					at[high] = x;
				}
			}
		}
	}
	__syncthreads();
}

/* ---- Short rows: `rows` of them from `first` on, each of n keys, in item[ROWS * STRIDE]; the first k of each.
 * -------- */

template <int THREADS, int STRIDE, class K, class Index, int N, class I, class Key, class Put>
TPAT_FN void sort_rows(I (&item)[N], Index first, int rows, int n, int k, Key key, Put put)
{
	for (int e = block_thread(); e < rows * n; e += THREADS) {
		const int row = e / n, r = e - row * n;
		item[row * STRIDE + r] = item_of<K>::make(key(first + row, r), r);
	}
	sort_items<THREADS, STRIDE>(item, rows, n);
	for (int e = block_thread(); e < rows * k; e += THREADS) {
		const int row = e / k, j = e - row * k;
		put(first + row, j, place_of<K>(item[row * STRIDE + j]));
	}
}

/* Loads one row. */
template <int THREADS, class K, int N, class I, class Key, class Put>
TPAT_FN void sort_row(I (&item)[N], int n, int k, Key key, Put put)
{
	sort_rows<THREADS, N, K>(
	        item, 0, 1, n, k, [&](int, int r) { return key(r); }, [&](int, int j, int r) { put(j, r); });
}

/* The first K <= n of a row by one thread, which keeps them in registers. */
template <int K, class U, class Key, class Put> TPAT_FN void first_of_row(int n, Key key, Put put)
{
	typename item_of<U>::type item[K];
#pragma unroll
	for (int j = 0; j < K; j++)
		item[j] = item_of<U>::make((U) ~(U)0, PLACE_NONE);
#pragma unroll 4
	for (int r = 0; r < n; r++) {
		const typename item_of<U>::type found = item_of<U>::make(key(r), r);
		if (found < item[K - 1]) {
			item[K - 1] = found;
#pragma unroll
			for (int j = K - 1; j > 0; j--)
				if (item[j] < item[j - 1]) {
					const typename item_of<U>::type later = item[j - 1];
					item[j - 1] = item[j];
					item[j] = later;
				}
		}
	}
#pragma unroll
	for (int j = 0; j < K; j++)
		put(j, place_of<U>(item[j]));
}

/* ---- The first k of a long row ----------------------------------------------------------------------------------- */

/* The best items so far, and candidates that may be better than the k-th of them. */
template <class K, int N> struct sort_kept {
	typename item_of<K>::type item[N];
	int count;
};

/* True if the element of `found` may come no later than the item of `limit` and limit_place. */
template <class K, class Place, class Index>
TPAT_FN bool within(K found, K limit, int limit_place, Place place, Index r)
{
	return found < limit || (found == limit && place(r) <= limit_place);
}

/* Sorts one item of each lane: lane i gets the i-th. */
template <class I> TPAT_FN I warp_sort(I x)
{
	const int lane = warp_lane();
#pragma unroll
	for (int size = 2; size <= 32; size *= 2)
#pragma unroll
		for (int distance = size / 2; distance > 0; distance /= 2) {
			const I other = shuffle_xor(x, distance == size / 2 ? size - 1 : distance);
			const bool low = (lane & distance) == 0;
			x = (other < x) == low ? other : x;
		}
	return x;
}

/* Finds a bound that at least k <= 32 * warps items satisfy, and seldom many more of all the threads' items. Each of
 * the first `warps` warps, all of whose threads have items, selects its share of k from their `best` ones; the last of
 * them is the bound. kept.item is unused before and after. Source of the idea: the delegates of A. Gaihre et al., "Dr.
 * Top-k: Delegate-Centric Top-k on GPUs", 2021. */
template <int THREADS, class K, int N>
TPAT_FN typename item_of<K>::type select_bound(sort_kept<K, N> &kept, typename item_of<K>::type best, int k,
                                               int warps = THREADS / 32)
{
	best = shuffle(warp_sort(best), (k + warps - 1) / warps - 1);
	if constexpr (THREADS > 32) {
		if (warp_lane() == 0)
			kept.item[block_thread() / 32] = best;
		__syncthreads();
		best = kept.item[0];
#pragma unroll
		for (int w = 1; w < THREADS / 32; w++) {
			const typename item_of<K>::type other = kept.item[w];
			best = w < warps && best < other ? other : best;
		}
		__syncthreads();
	}
	return best;
}

/* The keys of a thread's ITEMS elements of a chunk, from r on, if `here` elements are left there; else those of
 * `other`, a vector of the row: with a branch for each load, one would wait for the other. */
template <int THREADS, int ITEMS, int WIDTH, class K, class Index, class Keys>
TPAT_FN void load_keys(K (&found)[ITEMS], Index r, int here, Index other, Keys keys)
{
#pragma unroll
	for (int v = 0; v < ITEMS / WIDTH; v++) {
		K part[WIDTH];
		keys(v * (THREADS * WIDTH) < here ? r + v * (THREADS * WIDTH) : other, part);
#pragma unroll
		for (int i = 0; i < WIDTH; i++)
			found[v * WIDTH + i] = part[i];
	}
}

/* Merges two sorted rows of 32 items, of which each lane has one, and returns the first 32 in order. */
template <class I> TPAT_FN I warp_merge(I a, I b)
{
	const int lane = warp_lane();
	const I last = shuffle(b, 31 - lane);
	I x = last < a ? last : a;
#pragma unroll
	for (int distance = 16; distance > 0; distance /= 2) {
		const I other = shuffle_xor(x, distance);
		x = (other < x) == ((lane & distance) == 0) ? other : x;
	}
	return x;
}

/* Items of a turn that may be among the first of a warp's row, after fewer than 32 earlier ones. */
template <class K, int ITEMS, int WARPS> struct warp_kept {
	typename item_of<K>::type item[WARPS][32 * ITEMS + 32];
};

/* Finds the first k <= 32 of a row of n by one warp, a lane of which reads ITEMS a turn. keys(r, found) returns the
 * keys of WIDTH neighbours; a row consists of such vectors. Each lane has one of the first 32 found so far. Keys after
 * the k-th of them are dropped at once; in the first turn, those after the k-th of the lanes' best keys. If there are
 * fewer than k, the rest comes last, with PLACE_NONE. */
template <int WIDTH, class K, int ITEMS, int WARPS, class Index, class Keys, class Put>
TPAT_FN void warp_first_of_row(warp_kept<K, ITEMS, WARPS> &shared, Index n, int k, Keys keys, Put put)
{
	static_assert(ITEMS % WIDTH == 0, "whole vectors");
	enum { CHUNK = 32 * ITEMS, STRIDE = 32 * WIDTH };
	typedef item_of<K> item;
	typedef typename item::type I;
	const int lane = warp_lane();
	if (k == 1) {
		indexed<u32_or_longer<K>> first = { (K) ~(K)0, (int)PLACE_NONE };
#pragma unroll 1
		for (Index from = 0; from < n; from += CHUNK) {
			const Index chunk = from + lane * WIDTH;
			const int here = n - from < CHUNK ? (int)(n - from) - lane * WIDTH : (int)CHUNK;
			K found[ITEMS];
			load_keys<32, ITEMS, WIDTH>(found, chunk, here, (Index)0, keys);
#pragma unroll
			for (int i = 0; i < ITEMS; i++) {
				const int r = i / WIDTH * STRIDE + i % WIDTH;
				const bool better = r < here && (found[i] < first.value || first.index == PLACE_NONE);
				first.value = better ? found[i] : first.value;
				first.index = better ? (int)(chunk + r) : first.index;
			}
		}
		first = warp_reduce(first, op_argmin<false>());
		if (lane == 0)
			put(0, first.index);
		return;
	}
	const u32 lanes_before = (1u << lane) - 1;
	I *const kept = shared.item[block_thread() / 32];
	const I none = item::make((K) ~(K)0, PLACE_NONE);
	I best = none;
	K limit = (K) ~(K)0;
	int count = 0;
	for (Index left = n; left > 0; left -= left < CHUNK ? left : (Index)CHUNK) {
		const Index chunk = n - left + lane * WIDTH;
		const int here = left < CHUNK ? (int)left - lane * WIDTH : (int)CHUNK;
		const bool last = left <= CHUNK;
		K found[ITEMS];
		load_keys<32, ITEMS, WIDTH>(found, chunk, here, (Index)0, keys);
		if (left == n) {
			u32_or_longer<K> first = (K) ~(K)0;
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				first = i / WIDTH * STRIDE < here && found[i] < first ? found[i] : first;
			limit = (K)shuffle(warp_sort(first), k - 1);
		}
		__syncwarp();
#pragma unroll
		for (int i = 0; i < ITEMS; i++) {
			const bool mine = i / WIDTH * STRIDE < here && found[i] <= limit;
			const u32 lanes = __ballot_sync(0xffffffffu, mine);
			if (mine)
				kept[count + __popc(lanes & lanes_before)] =
				        item::make(found[i], chunk + i / WIDTH * STRIDE + i % WIDTH);
			count += __popc(lanes);
		}
		__syncwarp();
		while (count >= (last ? 1 : 32)) {
			const int from = count > 32 ? count - 32 : 0;
			best = warp_merge(best, warp_sort(lane < count - from ? kept[from + lane] : none));
			const K own = key_of<K>(shuffle(best, k - 1));
			limit = own < limit ? own : limit;
			count = from;
		}
	}
	if (lane < k)
		put(lane, place_of<K>(best));
}

/* Puts the first k of the kept items; missing ones come last, with PLACE_NONE. If there are enough threads, an item's
 * place is the count of items before it. */
template <int THREADS, class K, int N, class Put> TPAT_FN void put_first(sort_kept<K, N> &kept, int k, Put put)
{
	typedef typename item_of<K>::type item;
	const int thread = block_thread(), count = kept.count;
	for (int j = count + thread; j < k; j += THREADS)
		put(j, (K) ~(K)0, (int)PLACE_NONE);
	if (count <= THREADS) {
		const int each = 2 * count <= THREADS ? 2 : 1, mine = thread / each, part = thread % each; /* threads
		                                                                                              per item
		                                                                                            */
		int before = 0;
		item own = {};
		if (mine < count) {
			own = kept.item[mine];
#pragma unroll 4
			for (int i = part; i < count; i += each)
				before += kept.item[i] < own;
		}
		const int other = shuffle_xor(before, 1);
		before += each == 2 ? other : 0;
		if (mine < count && part == 0 && before < k)
			put(before, key_of<K>(own), place_of<K>(own));
		return;
	}
	sort_items<THREADS, N>(kept.item, 1, count);
	for (int j = thread; j < k; j += THREADS)
		put(j, key_of<K>(kept.item[j]), place_of<K>(kept.item[j]));
}

/* Finds the first k <= N / 2 of the positions [from, to). Each one is read once; a thread reads ITEMS per turn. keys(r,
 * found) returns the keys of WIDTH neighbours; a row consists of such vectors. Keys beyond the limit are dropped at
 * once. The limit is a bound from the first keys, later the k-th key at the time when the buffer was last full. If
 * there are fewer than k, the rest comes last, with PLACE_NONE. */
template <int THREADS, int ITEMS, int WIDTH, class K, class From, class Index, int N, class Keys, class Place,
          class Put>
TPAT_FN void select_row(sort_kept<K, N> &kept, From from, Index to, int k, Keys keys, Place place, Put put)
{
	static_assert(ITEMS <= 32 && ITEMS % WIDTH == 0, "a bit an item, whole vectors");
	enum { CHUNK = THREADS * ITEMS, STRIDE = THREADS * WIDTH };
	typedef item_of<K> item;
	const int thread = block_thread(), lane = warp_lane();
	const Index length = to - (Index)from;
	const int warps = length < STRIDE ? (int)(length / (32 * WIDTH)) : THREADS / 32; /* whose threads have elements
	                                                                                  */
	bool bounded = 2 * k > 32 * warps || length <= 2 * k;
	K limit = (K) ~(K)0;
	int limit_place = PLACE_NONE;
	if (k <= 0)
		return;
	if (thread == 0)
		kept.count = 0;
	__syncthreads();
	for (Index left = length; left > 0; left -= left < CHUNK ? left : (Index)CHUNK) {
		const Index chunk = to - left + thread * WIDTH;
		const int here = left < CHUNK ? (int)left - thread * WIDTH : CHUNK;
		K found[ITEMS], best = (K) ~(K)0;
		u32 wanted = 0; /* bit i: found[i] is still to be stored */
		load_keys<THREADS, ITEMS, WIDTH>(found, chunk, here, (Index)from, keys);
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			found[i] = i / WIDTH * STRIDE < here ? found[i] : (K) ~(K)0;
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
			best = found[i] < best ? found[i] : best;
		if (!bounded) {
			int at = PLACE_NONE;
#pragma unroll
			for (int i = ITEMS - 1; i >= 0; i--)
				if (i / WIDTH * STRIDE < here && found[i] == best)
					at = place(chunk + i / WIDTH * STRIDE + i % WIDTH);
			const typename item::type bound =
			        select_bound<THREADS, K>(kept, item::make(best, at), k, warps);
			limit = key_of<K>(bound);
			limit_place = place_of<K>(bound);
			bounded = true;
		}
		if (best <= limit) {
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				if (i / WIDTH * STRIDE < here && found[i] <= limit &&
				    within(found[i], limit, limit_place, place, chunk + i / WIDTH * STRIDE + i % WIDTH))
					wanted |= 1u << i;
		}
		for (;;) {
			if (__any_sync(0xffffffffu, wanted != 0)) {
#pragma unroll
				for (int i = 0; i < ITEMS; i++) {
					const bool mine = wanted >> i & 1;
					const u32 lanes = __ballot_sync(0xffffffffu, mine);
					int at = 0;
					if (lanes == 0)
						continue;
					if (lane == 0)
						at = atomic_add(&kept.count, __popc(lanes));
					at = shuffle(at, 0) + __popc(lanes & ((1u << lane) - 1));
					if (mine && at < N) {
						const Index r = chunk + i / WIDTH * STRIDE + i % WIDTH;
						kept.item[at] = item::make(found[i], place(r));
						wanted &= ~(1u << i);
					}
				}
			}
			if (!__syncthreads_or(wanted != 0))
				break;
			/* It is full: the first k stay. */
			sort_items<THREADS, N>(kept.item, 1, N);
			limit = key_of<K>(kept.item[k - 1]);
			limit_place = place_of<K>(kept.item[k - 1]);
			bounded = true;
			if (thread == 0)
				kept.count = k;
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				if (wanted >> i & 1 && !within(found[i], limit, limit_place, place,
				                               chunk + i / WIDTH * STRIDE + i % WIDTH))
					wanted &= ~(1u << i);
			__syncthreads();
		}
	}
	put_first<THREADS>(kept, k, put);
}

/* ---- The first k of a very long row ------------------------------------------------------------------------------ */

template <bool DESCENDING, class V> TPAT_FN auto key_in_order(V x)
{
	if constexpr (DESCENDING)
		return key_descending<V>(x);
	else
		return key_ascending<V>(x);
}

/* Returns the key of the first of some values, in sort order. */
template <bool DESCENDING, int N, class V> TPAT_FN auto first_key(const V (&x)[N])
{
	auto best = key_in_order<DESCENDING>(x[0]);
#pragma unroll
	for (int i = 1; i < N; i++) {
		const auto key = key_in_order<DESCENDING>(x[i]);
		best = key < best ? key : best;
	}
	return best;
}

#if TPAT_ARCH >= 800
/* Compares the numbers themselves, and makes only one key; NaN is larger than all numbers. */
template <bool DESCENDING, int N> TPAT_FN u32 first_key(const float (&x)[N])
{
	float best = x[0];
#pragma unroll
	for (int i = 1; i < N; i++)
		best = DESCENDING ? nan_max(best, x[i]) : fminf(best, x[i]);
	return key_in_order<DESCENDING>(best);
}

template <bool DESCENDING> TPAT_FN u32 first_pair(u32 a, u32 b)
{
	u32 y;
	if constexpr (DESCENDING)
		asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
	else
		asm("min.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
	return y;
}

template <bool DESCENDING, int N> TPAT_FN u16 first_key(const f16 (&x)[N])
{
	if constexpr (N % 2) {
		u16 best = key_in_order<DESCENDING>(x[0]);
#pragma unroll
		for (int i = 1; i < N; i++)
			best = min(best, key_in_order<DESCENDING>(x[i]));
		return best;
	} else {
		u32 best = x[0].bits | (u32)x[1].bits << 16;
#pragma unroll
		for (int i = 2; i < N; i += 2)
			best = first_pair<DESCENDING>(best, x[i].bits | (u32)x[i + 1].bits << 16);
		best = first_pair<DESCENDING>(best, best >> 16 | best << 16);
		return key_in_order<DESCENDING>(f16{ (u16)best });
	}
}
#endif

/* The best key of each segment (a thread's reads in one turn), and the segments with some of the first k. */
template <class K, int N, int SEGMENTS> struct sort_delegates {
	sort_kept<K, N> kept;
	K best[SEGMENTS];
	u16 list[SEGMENTS];
	int listed;
};

/* Reads a segment from r on. Elements beyond the end repeat the segment's first ones, or are any readable ones. */
template <int THREADS, int ITEMS, int WIDTH, class V, class Index, class Values>
TPAT_FN void load_segment(V (&found)[ITEMS], Index r, Index to, Index inside, Values values)
{
	const Index other = r < to ? r : inside;
#pragma unroll
	for (int v = 0; v < ITEMS / WIDTH; v++) {
		const Index at = r + v * (THREADS * WIDTH);
		V part[WIDTH];
		values(at < to ? at : other, part);
#pragma unroll
		for (int i = 0; i < WIDTH; i++)
			found[v * WIDTH + i] = part[i];
	}
}

/* Like select_row, for rows much longer than THREADS * ITEMS. Reads a row once for the best key of each segment; the
 * k-th of the threads' best keys is a bound, and the few segments with keys within it are read again. place(r)
 * increases with r. Source of the idea: see select_bound. */
template <class V, bool DESCENDING, int THREADS, int ITEMS, int WIDTH, class K, class From, class Index, int N,
          int SEGMENTS, class Values, class Place, class Put>
TPAT_FN void select_delegates(sort_delegates<K, N, SEGMENTS> &shared, From from, Index to, int k, Values values,
                              Place place, Put put)
{
	static_assert(SEGMENTS % (2 * THREADS) == 0 && SEGMENTS <= 65536 && ITEMS % WIDTH == 0,
	              "two segments a turn, numbers of segments, whole vectors");
	enum { CHUNK = THREADS * ITEMS, STRIDE = THREADS * WIDTH, VECTORS = ITEMS / WIDTH, MOST = SEGMENTS / THREADS };
	typedef item_of<K> item;
	sort_kept<K, N> &kept = shared.kept;
	const int thread = block_thread();
	K limit = (K) ~(K)0;
	int limit_place = PLACE_NONE;
	if (k <= 0)
		return;
	if (thread == 0)
		kept.count = 0;
	for (Index base = (Index)from; base < to;
	     base += to - base < (Index)MOST * CHUNK ? to - base : (Index)MOST * CHUNK) {
		const Index left = to - base;
		const int chunks = left < (Index)MOST * CHUNK ? (int)((left + CHUNK - 1) / CHUNK) : (int)MOST;
		Index r = base + thread * WIDTH;
		V a[ITEMS], b[ITEMS];
		K all = (K) ~(K)0;
		int where = 0;
		if (thread == 0)
			shared.listed = 0;
		load_segment<THREADS, ITEMS, WIDTH>(a, r, to, base, values);
		for (int s = 0; s < chunks; s += 2, r += 2 * CHUNK) { /* the next segment is being loaded */
			load_segment<THREADS, ITEMS, WIDTH>(b, r + CHUNK, to, base, values);
			K best = r < to ? (K)first_key<DESCENDING>(a) : (K) ~(K)0;
			shared.best[s * THREADS + thread] = best;
			where = best < all ? s : where;
			all = best < all ? best : all;
			load_segment<THREADS, ITEMS, WIDTH>(a, r + 2 * CHUNK, to, base, values);
			best = r + CHUNK < to ? (K)first_key<DESCENDING>(b) : (K) ~(K)0;
			shared.best[(s + 1) * THREADS + thread] = best;
			where = best < all ? s + 1 : where;
			all = best < all ? best : all;
		}
		/* A thread's best key is before the end of its segment. */
		const Index end = base + (Index)where * CHUNK + (VECTORS - 1) * STRIDE + (thread + 1) * WIDTH - 1;
		if (base == (Index)from) {
			const int last = base + thread * WIDTH < to ? place(end < to ? end : to - 1) : (int)PLACE_NONE;
			const typename item::type bound = select_bound<THREADS, K>(kept, item::make(all, last), k);
			limit = key_of<K>(bound);
			limit_place = place_of<K>(bound);
		} else {
			__syncthreads();
		}
		for (int s = 0; s < chunks && all <= limit; s++) {
			const K best = shared.best[s * THREADS + thread];
			const Index first = base + (Index)s * CHUNK + thread * WIDTH;
			if (first < to && within(best, limit, limit_place, place, first))
				shared.list[atomic_add(&shared.listed, 1)] = (u16)(s * THREADS + thread);
		}
		__syncthreads();
		const int work = shared.listed * VECTORS;
		for (int begin = 0; begin < work; begin += THREADS) {
			const int e = begin + thread;
			V part[WIDTH];
			Index at = to;
			u32 wanted = 0; /* bit i: part[i] is still to be stored */
			if (e < work) {
				const int segment = shared.list[e / VECTORS];
				at = base + (Index)(segment / THREADS) * CHUNK + segment % THREADS * WIDTH +
				     e % VECTORS * STRIDE;
			}
			if (at < to) {
				values(at, part);
				wanted = (1u << WIDTH) - 1;
			}
			for (;;) {
#pragma unroll
				for (int i = 0; i < WIDTH; i++) {
					if (!(wanted >> i & 1))
						continue;
					const K key = (K)key_in_order<DESCENDING>(part[i]);
					bool full = false;
					if (within(key, limit, limit_place, place, at + i)) {
						const int to_item = atomic_add(&kept.count, 1);
						full = to_item >= N;
						if (!full)
							kept.item[to_item] = item::make(key, place(at + i));
					}
					if (!full)
						wanted &= ~(1u << i);
				}
				if (!__syncthreads_or(wanted != 0))
					break;
				/* It is full: the first k stay. */
				sort_items<THREADS, N>(kept.item, 1, N);
				limit = key_of<K>(kept.item[k - 1]);
				limit_place = place_of<K>(kept.item[k - 1]);
				if (thread == 0)
					kept.count = k;
				__syncthreads();
			}
		}
		if (to - base <= (Index)MOST * CHUNK)
			break;
		/* Keep the first k for the next segments. */
		const int count = kept.count;
		sort_items<THREADS, N>(kept.item, 1, count);
		if (count >= k) {
			limit = key_of<K>(kept.item[k - 1]);
			limit_place = place_of<K>(kept.item[k - 1]);
		}
		if (thread == 0 && count > k)
			kept.count = k;
		__syncthreads();
	}
	put_first<THREADS>(kept, k, put);
}

#undef TPAT_FN
#endif
