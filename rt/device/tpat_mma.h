/* SPDX-License-Identifier: Apache-2.0
 * tpat_mma.h: functions for contraction kernels. Products of small matrices on tensor cores, their fragments in the
 * lanes of a warp, tiles in shared memory without bank conflicts, and asynchronous copies from global to shared memory.
 * All 32 lanes of a warp call the mma_... functions together. GPUs before sm_75, and sm_75 for bf16, compute the same
 * results, in the same lanes, by shuffles and ordinary arithmetic. Compiled like tpat_device.h. Sources: PTX ISA,
 * "Matrix Fragments for mma.m16n8k16 with floating point type", "Matrix Fragments for mma.m16n8k32", "ldmatrix",
 * "cp.async". */
#ifndef TPAT_MMA_H
#define TPAT_MMA_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

/* The address in shared memory. The compiler knows this function, and computes such addresses in 32 bits. */
TPAT_FN u32 shared_address(const void *p)
{
#if TPAT_ARCH >= 700
	return (u32)__cvta_generic_to_shared(p);
#else
	return (u32)(size_t)p;
#endif
}

/* ---- Fragments --------------------------------------------------------------------------------------------------- */

/* A product is 16 x 8: sum[m][n] += a[m][k] * b[k][n], with k over 32 bytes: 16 elements of f16 or bf16, 32 of i8, u8,
 * f8e4m3fn or f8e5m2. A word holds 4 consecutive bytes along k. Lane 4 * g + t (g: 0 .. 7, t: 0 .. 3), with E elements
 * per word, has a.word[i]   row g + 8 * (i % 2), from element E * t + 4 * E * (i / 2) along k on b.word[i]   column g,
 * from element E * t + 4 * E * i along k on sum.at[i]   row g + 8 * (i / 2), column 2 * t + i % 2: see mma_row(),
 * mma_column() */
template <class T> struct mma_a {
	u32 word[4];
};
template <class T> struct mma_b {
	u32 word[2];
};
template <class S> struct mma_sum {
	S at[4];
};

TPAT_FN int mma_row(int i) { return warp_lane() / 4 + i / 2 * 8; }
TPAT_FN int mma_column(int i) { return warp_lane() % 4 * 2 + i % 2; }
template <class T> TPAT_FN constexpr int mma_depth() { return 32 / (int)sizeof(T); } /* the extent of k */

/* The fragments of all lanes. Lanes call together, each may ask for another lane. */
template <class T> struct mma_lanes {
#ifdef TPAT_EMULATOR
	const char *all;
	TPAT_FN mma_lanes(const T &mine) : all(emulator_show(&mine, sizeof mine)) {}
	TPAT_FN T of(int lane) const
	{
		T v;
		memcpy(&v, all + lane * EMULATOR_SHOWN, sizeof v);
		return v;
	}
#else
	T mine;
	TPAT_FN mma_lanes(const T &mine) : mine(mine) {}
	TPAT_FN T of(int lane) const { return shuffle(mine, lane); }
#endif
};

/* Returns element i of a word, in the type of the products. */
template <class T> TPAT_FN auto mma_element(u32 word, int i)
{
	if constexpr (!is_small_float<T>::value)
		return (int)(T)(word >> 8 * i);
	else if constexpr (sizeof(T) == 1)
		return to_f32(T{ (u8)(word >> 8 * i) });
	else
		return to_f32(T{ (u16)(word >> 16 * i) });
}

/* An element in the type of the products, and their sum. */
TPAT_FN int mma_factor(i8 x) { return x; }
TPAT_FN int mma_factor(u8 x) { return x; }
template <class T> TPAT_FN float mma_factor(T x) { return to_f32(x); }
TPAT_FN void mma_add(float &sum, float x, float y) { sum = x * y + sum; }
TPAT_FN void mma_add(int &sum, int x, int y) { sum = (int)((u32)sum + (u32)(x * y)); } /* wraps */

/* The reference for tensor cores, by shuffles. Not inline: it is long, and called for every product. */
template <class A, class B, class S>
__device__ __noinline__ void mma_by_lanes(mma_sum<S> &sum, const mma_a<A> &a, const mma_b<B> &b)
{
	const int g = warp_lane() / 4, t = warp_lane() % 4;
	const mma_lanes<mma_a<A>> rows(a);
	const mma_lanes<mma_b<B>> columns(b);
	for (int q = 0; q < 4; q++) {
		const mma_a<A> row = rows.of(4 * g + q);
		const mma_b<B> left = columns.of(4 * (2 * t) + q), right = columns.of(4 * (2 * t + 1) + q);
		for (int half = 0; half < 2; half++)
			for (int e = 0; e < 4 / (int)sizeof(A); e++)
				for (int i = 0; i < 4; i++) {
					const S x = mma_element<A>(row.word[2 * half + i / 2], e);
					const S y = mma_element<B>((i % 2 ? right : left).word[half], e);
					mma_add(sum.at[i], x, y);
				}
	}
}

/* sum += a b. Products are exact, sums in f32 or, wrapping, in i32. */
#if TPAT_ARCH >= 800
#define TPAT_MMA(A, B, S, c, instruction) \
	TPAT_FN void mma(mma_sum<S> &sum, const mma_a<A> &a, const mma_b<B> &b) \
	{ \
		asm volatile("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
		             "{%0, %1, %2, %3};" \
		             : "+" c(sum.at[0]), "+" c(sum.at[1]), "+" c(sum.at[2]), "+" c(sum.at[3]) \
		             : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), \
		               "r"(b.word[1])); \
	}
#define TPAT_MMA_BYTES(A, B, types) TPAT_MMA(A, B, int, "r", "m16n8k32.row.col.s32." types ".s32")
TPAT_MMA(f16, f16, float, "f", "m16n8k16.row.col.f32.f16.f16.f32")
TPAT_MMA(bf16, bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
#else
#define TPAT_MMA_BY_LANES(A, B, S) \
	TPAT_FN void mma(mma_sum<S> &sum, const mma_a<A> &a, const mma_b<B> &b) { mma_by_lanes(sum, a, b); }
TPAT_MMA_BY_LANES(bf16, bf16, float)
#if TPAT_ARCH >= 750 /* half the depth, for bytes 8 rows: fragments are in the same lanes */
#define TPAT_MMA_BYTES(A, B, types) \
	TPAT_FN void mma(mma_sum<int> &sum, const mma_a<A> &a, const mma_b<B> &b) \
	{ \
		for (int i = 0; i < 4; i++) \
			asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." types \
			             ".s32 {%0, %1}, {%2}, {%3}, {%0, %1};" \
			             : "+r"(sum.at[i % 2 * 2]), "+r"(sum.at[i % 2 * 2 + 1]) \
			             : "r"(a.word[i]), "r"(b.word[i / 2])); \
	}
TPAT_FN void mma(mma_sum<float> &sum, const mma_a<f16> &a, const mma_b<f16> &b)
{
	for (int i = 0; i < 2; i++)
		asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, "
		             "%1, %2, %3};"
		             : "+f"(sum.at[0]), "+f"(sum.at[1]), "+f"(sum.at[2]), "+f"(sum.at[3])
		             : "r"(a.word[2 * i]), "r"(a.word[2 * i + 1]), "r"(b.word[i]));
}
#else
#define TPAT_MMA_BYTES(A, B, types) TPAT_MMA_BY_LANES(A, B, int)
TPAT_MMA_BY_LANES(f16, f16, float)
#endif
#endif
TPAT_MMA_BYTES(i8, i8, "s8.s8")
TPAT_MMA_BYTES(i8, u8, "s8.u8")
TPAT_MMA_BYTES(u8, i8, "u8.s8")
TPAT_MMA_BYTES(u8, u8, "u8.u8")
#undef TPAT_MMA_BYTES
#undef TPAT_MMA_BY_LANES
#undef TPAT_MMA

/* Bytes 2 * i and 2 * i + 1 of a word, as f16s. */
#if TPAT_ARCH >= 890
#define TPAT_HALVES(T, instruction) \
	TPAT_FN u32 mma_halves(u32 word, int i, T) \
	{ \
		u32 both; \
		asm("cvt.rn.f16x2." instruction " %0, %1;" : "=r"(both) : "h"((u16)(word >> 16 * i))); \
		return both; \
	}
TPAT_HALVES(f8e4m3fn, "e4m3x2")
TPAT_HALVES(f8e5m2, "e5m2x2")
#undef TPAT_HALVES
#else
template <class T> TPAT_FN u32 mma_halves(u32 word, int i, T)
{
	return mma_pack(mma_element<T>(word, 2 * i), mma_element<T>(word, 2 * i + 1), f16());
}
#endif

/* Products of 8-bit floats. sm_89 and sm_120 have them, with 13 bits of their sums (Zhang et al., SageAttention2,
 * 2024): these are added in f32. Elsewhere they are two of f16, where a word's first and last two elements take the
 * places of f16s that are 8 apart along k, on both sides. */
#if (TPAT_ARCH == 890 || TPAT_ARCH >= 1200) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define TPAT_MMA_F8(A, B, types) \
	TPAT_FN void mma(mma_sum<float> &sum, const mma_a<A> &a, const mma_b<B> &b) \
	{ \
		mma_sum<float> part; \
		asm volatile("mma.sync.aligned.m16n8k32.row.col.f32." types \
		             ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};" \
		             : "=f"(part.at[0]), "=f"(part.at[1]), "=f"(part.at[2]), "=f"(part.at[3]) \
		             : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), \
		               "r"(b.word[1]), "f"(0.0f)); \
		for (int i = 0; i < 4; i++) \
			sum.at[i] += part.at[i]; \
	}
TPAT_MMA_F8(f8e4m3fn, f8e4m3fn, "e4m3.e4m3")
TPAT_MMA_F8(f8e4m3fn, f8e5m2, "e4m3.e5m2")
TPAT_MMA_F8(f8e5m2, f8e4m3fn, "e5m2.e4m3")
TPAT_MMA_F8(f8e5m2, f8e5m2, "e5m2.e5m2")
#undef TPAT_MMA_F8
#else
template <class A, class B> TPAT_FN void mma(mma_sum<float> &sum, const mma_a<A> &a, const mma_b<B> &b)
{
#if TPAT_ARCH >= 750
#pragma unroll
	for (int half = 0; half < 2; half++) {
		const u32 top = a.word[2 * half], bottom = a.word[2 * half + 1], right = b.word[half];
		const mma_a<f16> rows = { { mma_halves(top, 0, A()), mma_halves(bottom, 0, A()),
			                    mma_halves(top, 1, A()), mma_halves(bottom, 1, A()) } };
		mma(sum, rows, mma_b<f16>{ { mma_halves(right, 0, B()), mma_halves(right, 1, B()) } });
	}
#else
	mma_by_lanes(sum, a, b);
#endif
}
#endif

/* Converts the accumulators of two neighbouring products, 16 columns, to the left operand of a product over these
 * columns. */
#if TPAT_ARCH >= 800
#define TPAT_PACK(T) \
	TPAT_FN u32 mma_pack(float low, float high, T) \
	{ \
		u32 both; \
		asm("cvt.rn." #T "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low)); \
		return both; \
	}
#else
#define TPAT_PACK(T) \
	TPAT_FN u32 mma_pack(float low, float high, T) { return round_##T(low).bits | (u32)round_##T(high).bits << 16; }
#endif
TPAT_PACK(f16)
TPAT_PACK(bf16)
#undef TPAT_PACK
template <class T> TPAT_FN mma_a<T> mma_a_of(const mma_sum<float> &left, const mma_sum<float> &right)
{
	return { { mma_pack(left.at[0], left.at[1], T()), mma_pack(left.at[2], left.at[3], T()),
		   mma_pack(right.at[0], right.at[1], T()), mma_pack(right.at[2], right.at[3], T()) } };
}

/* Adds up an operand's rows, or columns: its product with ones. */
template <class T> TPAT_FN void mma_add_rows(mma_sum<int> &sum, const mma_a<T> &a)
{
	const mma_b<i8> ones = { { 0x01010101, 0x01010101 } };
	mma(sum, a, ones);
}
template <class T> TPAT_FN void mma_add_columns(mma_sum<int> &sum, const mma_b<T> &b)
{
	const mma_a<i8> ones = { { 0x01010101, 0x01010101, 0x01010101, 0x01010101 } };
	mma(sum, ones, b);
}

/* ---- Tiles in shared memory -------------------------------------------------------------------------------------- */

/* ROWS x COLUMNS elements; a row is a power of two of at least 32 bytes. TILE_TURNS permutes the 16-byte pieces of a
 * row (exclusive or with the row's index), so that the same piece of 8 consecutive rows, and 8 consecutive pieces of a
 * row, are in different banks. The others need no arithmetic for addresses: TILE_STRAIGHT has contiguous rows, for
 * reads along a row; TILE_APART pads rows by a piece, for reads of the same piece of several rows. */
enum tile_places { TILE_TURNS, TILE_STRAIGHT, TILE_APART };
template <class T, int ROWS, int COLUMNS, tile_places PLACES = TILE_TURNS> struct shared_tile {
	static constexpr int piece_elements = 16 / (int)sizeof(T), pieces = COLUMNS / piece_elements;
	static_assert(pieces >= 2 && (pieces & (pieces - 1)) == 0, "rows of 32, 64, 128 ... bytes");
	static constexpr int apart = pieces + (PLACES == TILE_APART);
	uint4 memory[ROWS * apart];

	/* Returns the 16-byte piece with element (row, column). */
	TPAT_FN T *piece(int row, int column)
	{
		const int turn = PLACES != TILE_TURNS ? 0 : pieces >= 8 ? row % 8 : row / (8 / pieces) % pieces;
		return (T *)&memory[row * apart + (column / piece_elements ^ turn)];
	}
	TPAT_FN T *element(int row, int column) { return piece(row, column) + column % piece_elements; }
};

/* Loads four 8 x 8 matrices of 2-byte elements (or 8 x 16 bytes). Lane 8 * i + r passes the address of row r of matrix
 * i; word[i] of lane 4 * g + t becomes elements 2 * t and 2 * t + 1 of row g of matrix i, or, TURNED, of column g. */
template <bool TURNED> TPAT_FN void mma_load_matrices(u32 (&word)[4], const void *row)
{
#if TPAT_ARCH >= 750
	const u32 at = shared_address(row);
	if constexpr (TURNED)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
		             : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
		             : "r"(at)
		             : "memory");
	else
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		             : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
		             : "r"(at)
		             : "memory");
#else
	struct row_words {
		u32 at[4];
	} mine;
	load(mine.at, (const u32 *)row);
	const int g = warp_lane() / 4, t = warp_lane() % 4;
	const mma_lanes<row_words> rows(mine);
	for (int i = 0; i < 4; i++) {
		if constexpr (TURNED) {
			const row_words low = rows.of(8 * i + 2 * t), high = rows.of(8 * i + 2 * t + 1);
			u32 a = 0, b = 0; /* avoids register indices that are unknown at compile time */
			for (int j = 0; j < 4; j++) {
				a = j == g / 2 ? low.at[j] : a;
				b = j == g / 2 ? high.at[j] : b;
			}
			word[i] = (a >> g % 2 * 16 & 0xffff) | b >> g % 2 * 16 << 16;
		} else {
			const row_words row = rows.of(8 * i + g);
			for (int j = 0; j < 4; j++)
				word[i] = j == t ? row.at[j] : word[i];
		}
	}
#endif
}

/* Loads rows m .. m + 15 of the left operand, mma_depth() elements from k on, from a tile whose rows run along k, or
 * (turned, 2-byte elements) along m. */
template <class T, int ROWS, int COLUMNS>
TPAT_FN void mma_load_a(mma_a<T> &a, shared_tile<T, ROWS, COLUMNS> &tile, int m, int k)
{
	const int lane = warp_lane();
	mma_load_matrices<false>(a.word, tile.piece(m + lane % 16, k + lane / 16 * tile.piece_elements));
}
template <class T, int ROWS, int COLUMNS>
TPAT_FN void mma_load_a_turned(mma_a<T> &a, shared_tile<T, ROWS, COLUMNS> &tile, int m, int k)
{
	static_assert(sizeof(T) == 2, "what is turned are elements of two bytes");
	const int lane = warp_lane();
	mma_load_matrices<true>(a.word, tile.piece(k + lane % 8 + lane / 16 * 8, m + lane / 8 % 2 * 8));
}

/* Loads columns n .. n + 15 of the right operand, for two products, from a tile whose rows run along k, or (turned)
 * along n. */
template <class T, int ROWS, int COLUMNS>
TPAT_FN void mma_load_b(mma_b<T> &left, mma_b<T> &right, shared_tile<T, ROWS, COLUMNS> &tile, int n, int k)
{
	const int lane = warp_lane();
	u32 word[4];
	mma_load_matrices<false>(word,
	                         tile.piece(n + lane % 8 + lane / 16 * 8, k + lane / 8 % 2 * tile.piece_elements));
	left = { { word[0], word[1] } };
	right = { { word[2], word[3] } };
}
template <class T, int ROWS, int COLUMNS>
TPAT_FN void mma_load_b_turned(mma_b<T> &left, mma_b<T> &right, shared_tile<T, ROWS, COLUMNS> &tile, int n, int k)
{
	static_assert(sizeof(T) == 2, "what is turned are elements of two bytes");
	const int lane = warp_lane();
	u32 word[4];
	mma_load_matrices<true>(word, tile.piece(k + lane % 16, n + lane / 16 * 8));
	left = { { word[0], word[1] } };
	right = { { word[2], word[3] } };
}

/* ---- Asynchronous copies --------------------------------------------------------------------------- */

/* Copies BYTES (4, 8 or 16, both addresses aligned to it) from global to shared memory; if not `inside`, writes zeros
 * and reads nothing. Copies belong to the group that the next copy_commit() closes; copy_wait<N>() returns when all but
 * the N newest groups have arrived. Other threads see them after a following __syncthreads(). */
template <int BYTES> TPAT_FN void copy_async(void *shared, const void *global, bool inside)
{
	static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "4, 8 or 16 bytes");
#ifdef TPAT_EMULATOR
	emulator_copy_async(shared, global, BYTES, inside);
#elif TPAT_ARCH >= 800
	const u32 at = shared_address(shared);
	if constexpr (BYTES == 16) /* bypasses L1: no other block of this multiprocessor reads it */
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(global),
		             "r"(inside ? 16 : 0)
		             : "memory");
	else
		asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(at), "l"(global),
		             "r"(inside ? BYTES : 0), "n"(BYTES)
		             : "memory");
#else
	u32 word[BYTES / 4] = {};
	if (inside)
		load(word, (const u32 *)global);
	store((u32 *)shared, word);
#endif
}

/* Copies from `place` in `from`, or zeros if it is negative. The sign alone is the copy's predicate, and an address
 * that is not read need only be aligned: selecting another one would take more instructions than the copy. */
template <int BYTES, class T, class Place> TPAT_FN void copy_async_at(void *shared, const T *from, Place place)
{
#if TPAT_ARCH >= 800
	const int elements = BYTES / (int)sizeof(T), sign = sizeof place > 4 ? (int)((i64)place >> 32) : (int)place;
	const u32 at = shared_address(shared);
	const T *global = from + (elements > 1 ? place & -elements : place);
	if constexpr (BYTES == 16)
		asm volatile("{ .reg .pred p; .reg .u32 n; setp.ge.s32 p, %2, 0; selp.u32 n, 16, 0, p; "
		             "cp.async.cg.shared.global [%0], [%1], 16, n; }" ::"r"(at),
		             "l"(global), "r"(sign)
		             : "memory");
	else
		asm volatile("{ .reg .pred p; .reg .u32 n; setp.ge.s32 p, %2, 0; selp.u32 n, %3, 0, p; "
		             "cp.async.ca.shared.global [%0], [%1], %3, n; }" ::"r"(at),
		             "l"(global), "r"(sign), "n"(BYTES)
		             : "memory");
#else
	copy_async<BYTES>(shared, from + (place < 0 ? 0 : place), place >= 0);
#endif
}

TPAT_FN void copy_commit()
{
#ifdef TPAT_EMULATOR
	emulator_copy_commit();
#elif TPAT_ARCH >= 800
	asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> TPAT_FN void copy_wait()
{
#ifdef TPAT_EMULATOR
	emulator_copy_wait(N);
#elif TPAT_ARCH >= 800
	asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* ---- Tiles from tensors, by the THREADS threads of a block ------------------------------------------------------- */

/* This thread's number in a block of THREADS, which the compiler then knows to be in bounds. */
template <int THREADS> TPAT_FN int thread_of()
{
	const int thread = block_thread();
	__builtin_assume(thread >= 0 && thread < THREADS);
	return thread;
}

/* Element number i * THREADS + thread of lines of LENGTH elements, for this thread: its line, and its place there. What
 * depends on i is a constant, wherever THREADS and LENGTH divide each other. */
template <int THREADS, int LENGTH> struct line_place {
	int line, at;
	TPAT_FN line_place(int i)
	{
		const int thread = thread_of<THREADS>();
		if constexpr (THREADS % LENGTH == 0) {
			line = i * (THREADS / LENGTH) + thread / LENGTH;
			at = thread % LENGTH;
		} else if constexpr (LENGTH % THREADS == 0) {
			line = i / (LENGTH / THREADS);
			at = i % (LENGTH / THREADS) * THREADS + thread;
		} else {
			line = (i * THREADS + thread) / LENGTH;
			at = (i * THREADS + thread) % LENGTH;
		}
	}
};

/* Copies a tile. at(row, column) returns an element's position in `from`, or a negative number for zero. Each 16 bytes
 * of a tile are contiguous there, too, and aligned to 16 bytes. The tile's first element is at(row, column). */
template <int THREADS, class T, int ROWS, int COLUMNS, tile_places P, class Y, class X, class At>
TPAT_FN void tile_copy(shared_tile<T, ROWS, COLUMNS, P> &tile, const T *from, Y row, X column, const At &at)
{
	const int all = ROWS * tile.pieces;
#pragma unroll
	for (int i = 0; i < (all + THREADS - 1) / THREADS; i++) {
		const int piece = i * THREADS + block_thread();
		if (all % THREADS == 0 || piece < all) {
			const int r = piece / tile.pieces, c = piece % tile.pieces * tile.piece_elements;
			const auto place = at(row + r, column + c);
			copy_async<16>(tile.piece(r, c), from + (place < 0 ? 0 : place), place >= 0);
		}
	}
}

/* The same, with `fill` where at() returns -2. */
template <int THREADS, class T, int ROWS, int COLUMNS, tile_places P, class Y, class X, class At>
TPAT_FN void tile_copy(shared_tile<T, ROWS, COLUMNS, P> &tile, const T *from, Y row, X column, const At &at, T fill)
{
	const int all = ROWS * tile.pieces;
	T filled[16 / sizeof(T)];
#pragma unroll
	for (int e = 0; e < tile.piece_elements; e++)
		filled[e] = fill;
#pragma unroll
	for (int i = 0; i < (all + THREADS - 1) / THREADS; i++) {
		const int piece = i * THREADS + block_thread();
		if (all % THREADS == 0 || piece < all) {
			const int r = piece / tile.pieces, c = piece % tile.pieces * tile.piece_elements;
			const auto place = at(row + r, column + c);
			if (place == -2)
				store(tile.piece(r, c), filled);
			else
				copy_async<16>(tile.piece(r, c), from + (place < 0 ? 0 : place), place >= 0);
		}
	}
}

/* The same for elements of 4 or 8 bytes that lie anywhere: each is a copy of its own. Consecutive threads copy
 * consecutive rows or, ALONG, consecutive elements of a row. */
template <int THREADS, bool ALONG, class T, int ROWS, int COLUMNS, tile_places P, class Y, class X, class At>
TPAT_FN void tile_copy_elements(shared_tile<T, ROWS, COLUMNS, P> &tile, const T *from, Y row, X column, const At &at)
{
	const int all = ROWS * COLUMNS;
#pragma unroll
	for (int i = 0; i < (all + THREADS - 1) / THREADS; i++) {
		const line_place<THREADS, ALONG ? COLUMNS : ROWS> element(i);
		const int r = ALONG ? element.line : element.at, c = ALONG ? element.at : element.line;
		if (all % THREADS == 0 || element.line < (ALONG ? ROWS : COLUMNS))
			copy_async_at<(int)sizeof(T)>(tile.element(r, c), from, at(row + r, column + c));
	}
}

/* Returns the element of 1 or 2 bytes at `place` in `from`, or 0 if that is negative. There is no branch, so that a
 * thread's loads are in flight together; as in copy_async_at(), the sign alone is the load's predicate. */
template <class T, class Place> TPAT_FN T load_element_at(const T *from, Place place)
{
	static_assert(sizeof(T) <= 2, "1 or 2 bytes");
	T v[1];
#if TPAT_ARCH
	const int sign = sizeof place > 4 ? (int)((i64)place >> 32) : (int)place;
	u32 bits;
	if constexpr (sizeof(T) == 1)
		asm volatile("{ .reg .pred p; .reg .u64 t; cvta.to.global.u64 t, %1; setp.ge.s32 p, %2, 0; mov.u32 %0, "
		             "0; @p ld.global.u8 %0, [t]; }"
		             : "=r"(bits)
		             : "l"(from + place), "r"(sign));
	else
		asm volatile("{ .reg .pred p; .reg .u64 t; cvta.to.global.u64 t, %1; setp.ge.s32 p, %2, 0; mov.u32 %0, "
		             "0; @p ld.global.u16 %0, [t]; }"
		             : "=r"(bits)
		             : "l"(from + place), "r"(sign));
	memcpy(v, &bits, sizeof v);
#else
	load_if(v, from + (place < 0 ? 0 : place), place >= 0);
#endif
	return v[0];
}

/* Copies a tile of elements that lie anywhere through registers: a fetch issues the loads, put() waits for them and
 * stores the elements. Consecutive threads load consecutive rows or, ALONG, consecutive pieces of a row. */
template <int THREADS, class T, int ROWS, int COLUMNS, bool ALONG> struct tile_gather {
	typedef shared_tile<T, ROWS, COLUMNS> tile_type;
	static constexpr int elements = tile_type::piece_elements, all = ROWS * tile_type::pieces;
	static constexpr int count = (all + THREADS - 1) / THREADS;
	T next[count][elements];

	typedef line_place<THREADS, ALONG ? tile_type::pieces : ROWS> piece_type;

	TPAT_FN static int row_of(const piece_type &piece) { return ALONG ? piece.line : piece.at; }
	TPAT_FN static int column_of(const piece_type &piece) { return (ALONG ? piece.at : piece.line) * elements; }
	TPAT_FN static bool is_inside(const piece_type &piece)
	{
		return all % THREADS == 0 || piece.line < (ALONG ? ROWS : tile_type::pieces);
	}

	/* Fetches the values that value(row, column) returns. */
	template <class Y, class X, class Value> TPAT_FN void fetch(Y row, X column, const Value &value)
	{
#pragma unroll
		for (int i = 0; i < count; i++) {
			const piece_type piece(i);
			if (is_inside(piece))
#pragma unroll
				for (int e = 0; e < elements; e++)
					next[i][e] = value(row + row_of(piece), column + column_of(piece) + e);
		}
	}

	/* Fetches elements of a tensor; at() is as for tile_copy(). */
	template <class Y, class X, class At> TPAT_FN void fetch_from(const T *from, Y row, X column, const At &at)
	{
		fetch(row, column, [&](Y r, X c) { return load_element_at(from, at(r, c)); });
	}

	/* The same, with `fill` where at() returns -2. */
	template <class Y, class X, class At>
	TPAT_FN void fetch_filled(const T *from, Y row, X column, const At &at, T fill)
	{
		fetch(row, column, [&](Y r, X c) {
			const auto place = at(r, c);
			const T v = load_element_at(from, place);
			return place == -2 ? fill : v;
		});
	}

	TPAT_FN void put(tile_type &tile)
	{
#pragma unroll
		for (int i = 0; i < count; i++) {
			const piece_type piece(i);
			if (is_inside(piece))
				store(tile.piece(row_of(piece), column_of(piece)), next[i]);
		}
	}
};

/* Corrects sums of a * b, which start at (row, column), to those of (a - left_zero(row)) * (b - right_zero(column)),
 * wrapping; needs the sums of a's rows and b's columns, each over `depth` elements. */
template <class Y, class X, class N, class Left, class Right>
TPAT_FN void sums_less_zeros(mma_sum<int> &sum, const mma_sum<int> &left, const mma_sum<int> &right, Y row, X column,
                             N depth, const Left &left_zero, const Right &right_zero)
{
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const u32 p = (u32)left_zero(row + mma_row(i)), q = (u32)right_zero(column + mma_column(i));
		sum.at[i] = (int)((u32)sum.at[i] - q * (u32)left.at[i] - p * (u32)right.at[i] + (u32)depth * p * q);
	}
}

/* ---- A warp's accumulators by rows. */

/* Passes the accumulators of N neighbouring products, 16 rows, through shared memory, 16 * 8 * N elements for each
 * warp, so that a lane gets consecutive elements of a row. Rows start in different banks: their groups of 8 are
 * permuted. */
template <int WIDTH, class S> TPAT_FN S *sum_place(S *shared, int row, int column)
{
	return shared + (block_thread() / 32 * 16 + row) * WIDTH + (column ^ row * 8 % (WIDTH < 32 ? WIDTH : 32));
}

/* Lanes may still be reading earlier elements here, or their tiles elsewhere: see copy_wait(). */
template <class S, int N> TPAT_FN void sums_put(void *shared, const mma_sum<S> (&sum)[N])
{
	__syncwarp();
#pragma unroll
	for (int j = 0; j < N; j++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const S two[2] = { sum[j].at[2 * half], sum[j].at[2 * half + 1] };
			store(sum_place<8 * N>((S *)shared, mma_row(2 * half), 8 * j + mma_column(0)), two);
		}
	__syncwarp();
}

/* Loads v from a row, from a column on that is a multiple of N. */
template <int WIDTH, class S, int N> TPAT_FN void sums_get(S (&v)[N], void *shared, int row, int column)
{
	load(v, (const S *)sum_place<WIDTH>((S *)shared, row, column));
}

#undef TPAT_FN
#endif
