/* SPDX-License-Identifier: Apache-2.0
 * tpat_wgmma.h: functions for contraction kernels of warpgroups. A warpgroup is 4 warps, 128 threads; its products of
 * tiles in shared memory are asynchronous. Only code for sm_90a has the instructions. Other code uses plain loops, for
 * the emulator and so that every kernel compiles everywhere: the runtime's tables mark kernels that need them.
 *
 * Compiled like tpat_device.h. Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions" (shared memory
 * matrix layout, matrix descriptor, wgmma.mma_async), "Async proxy", "cp.async.bulk.tensor", "mbarrier". */
#ifndef TPAT_WGMMA_H
#define TPAT_WGMMA_H

#include "tpat_cluster.h"
#include "tpat_mma.h"

#define TPAT_FN __device__ __forceinline__

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TPAT_WGMMA 1
#else
#define TPAT_WGMMA 0
#endif

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

/* OUTER rows (of a left operand) or columns (of a right one), 128 bytes along the summed axis. The layout of the tensor
 * cores: 128-byte rows along the summed axis, whose 16-byte pieces are permuted as in shared_tile; or, TURNED, panels
 * of 64 rows or columns, with memory rows along these, DEPTH of them. Aligned to 1024 bytes. */
template <class T, int OUTER, bool TURNED, int DEPTH = 128 / (int)sizeof(T)> struct wide_tile {
	static const int depth = DEPTH, panels = TURNED ? OUTER / 64 : 1, rows = TURNED ? depth : OUTER;
	static_assert(TURNED ? sizeof(T) == 2 && OUTER % 64 == 0 && DEPTH % 8 == 0 : DEPTH * (int)sizeof(T) == 128,
	              "what is turned are 64, 128 ... elements of two bytes");
	typedef shared_tile<T, rows, TURNED ? 64 : depth> panel_type;
	panel_type panel[panels];

	TPAT_FN T *element(int outer, int k)
	{
		return TURNED ? panel[outer / 64].element(k, outer % 64) : panel[0].element(outer, k);
	}
	/* Returns the descriptor of the matrix at row or column `outer` (a multiple of 8; turned, of 64) and element k
	 * of the summed axis. */
	TPAT_FN u64 descriptor(int outer, int k) const
	{
		const u32 at = shared_address(panel) + (TURNED ? outer / 64 * (u32)sizeof(panel_type) + 128 * k
		                                               : 128 * outer + (u32)sizeof(T) * k);
		const u64 swizzled = 1, eight_rows = 1024, next = TURNED ? sizeof(panel_type) : 16;
		return (at & 0x3ffff) >> 4 | next >> 4 << 16 | eight_rows >> 4 << 32 | swizzled << 62;
	}
};

/* Like tile_copy() of a shared_tile, with at(outer, k), or at(k, outer) for a turned tile. */
template <int THREADS, class T, int OUTER, bool TURNED, class Y, class X, class At>
TPAT_FN void tile_copy(wide_tile<T, OUTER, TURNED> &tile, const T *from, Y row, X column, const At &at)
{
#pragma unroll
	for (int i = 0; i < tile.panels; i++)
		tile_copy<THREADS>(tile.panel[i], from, row, column + 64 * i, at);
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* The order of calls: threads that wrote a tile make it visible to tensor cores (wgmma_see), a barrier, wgmma_begin(),
 * any number of wgmma(), wgmma_commit(), which closes a group of them, and wgmma_wait<N>(), which returns when all but
 * the N newest groups are done. Do not touch the accumulators between the first wgmma() and wgmma_done(). */
TPAT_FN void wgmma_see()
{
#if TPAT_ARCH >= 900
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

TPAT_FN void wgmma_begin()
{
#if TPAT_WGMMA
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

TPAT_FN void wgmma_commit()
{
#if TPAT_WGMMA
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

template <int N> TPAT_FN void wgmma_wait()
{
#if TPAT_WGMMA
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}

#if TPAT_WGMMA
TPAT_FN void wgmma_keep(float &x) { asm volatile("" : "+f"(x)::"memory"); }
TPAT_FN void wgmma_keep(int &x) { asm volatile("" : "+r"(x)::"memory"); }

/* The instruction for 64 rows and N columns; each lane has 4 operands for each 8 columns. */
#define TPAT_REGISTERS_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define TPAT_REGISTERS_48 \
	TPAT_REGISTERS_32 \
	", %16, %17, %18, %19, %20, %21, %22, %23"
#define TPAT_REGISTERS_64 \
	TPAT_REGISTERS_48 \
	", %24, %25, %26, %27, %28, %29, %30, %31"
#define TPAT_REGISTERS_80 \
	TPAT_REGISTERS_64 \
	", %32, %33, %34, %35, %36, %37, %38, %39"
#define TPAT_REGISTERS_96 \
	TPAT_REGISTERS_80 \
	", %40, %41, %42, %43, %44, %45, %46, %47"
#define TPAT_REGISTERS_112 \
	TPAT_REGISTERS_96 \
	", %48, %49, %50, %51, %52, %53, %54, %55"
#define TPAT_REGISTERS_128 \
	TPAT_REGISTERS_112 \
	", %56, %57, %58, %59, %60, %61, %62, %63"
#define TPAT_REGISTERS_160 \
	TPAT_REGISTERS_128 \
	", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define TPAT_REGISTERS_192 \
	TPAT_REGISTERS_160 \
	", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TPAT_REGISTERS_256 \
	TPAT_REGISTERS_192 \
	", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
	", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TPAT_SUM(c, j) "+" c(sum[j].at[0]), "+" c(sum[j].at[1]), "+" c(sum[j].at[2]), "+" c(sum[j].at[3])
#define TPAT_SUM_16(c, j) TPAT_SUM(c, j), TPAT_SUM(c, j + 1)
#define TPAT_SUM_32(c, j) TPAT_SUM_16(c, j), TPAT_SUM_16(c, j + 2)
#define TPAT_SUM_48(c, j) TPAT_SUM_32(c, j), TPAT_SUM_16(c, j + 4)
#define TPAT_SUM_64(c, j) TPAT_SUM_32(c, j), TPAT_SUM_32(c, j + 4)
#define TPAT_SUM_80(c, j) TPAT_SUM_64(c, j), TPAT_SUM_16(c, j + 8)
#define TPAT_SUM_96(c, j) TPAT_SUM_64(c, j), TPAT_SUM_32(c, j + 8)
#define TPAT_SUM_112(c, j) TPAT_SUM_96(c, j), TPAT_SUM_16(c, j + 12)
#define TPAT_SUM_128(c, j) TPAT_SUM_64(c, j), TPAT_SUM_64(c, j + 8)
#define TPAT_SUM_160(c, j) TPAT_SUM_128(c, j), TPAT_SUM_32(c, j + 16)
#define TPAT_SUM_192(c, j) TPAT_SUM_128(c, j), TPAT_SUM_64(c, j + 16)
#define TPAT_SUM_256(c, j) TPAT_SUM_128(c, j), TPAT_SUM_128(c, j + 16)

#define TPAT_WGMMA_N(N, A, B, S, c, instruction, left_at, right_at, add_at, rest) \
	template <int LEFT_TURNED, int RIGHT_TURNED> \
	TPAT_FN void wgmma_issue(mma_sum<S>(&sum)[N / 8], u64 left, u64 right, int add, A, B) \
	{ \
		asm volatile("{ .reg .pred p; setp.ne.b32 p, " add_at ", 0; " \
		             "wgmma.mma_async.sync.aligned.m64n" #N instruction " {" TPAT_REGISTERS_##N \
		             "}, " left_at ", " right_at ", p" rest "; }" \
		             : TPAT_SUM_##N(c, 0) \
		             : "l"(left), "l"(right), "r"(add), "n"(LEFT_TURNED), "n"(RIGHT_TURNED)); \
	}
/* The same with the left operand in registers: 16 rows per warp. */
#define TPAT_WGMMA_OF(N, T, instruction, left_at, right_at, add_at, turned_at) \
	template <int RIGHT_TURNED> \
	TPAT_FN void wgmma_issue(mma_sum<float>(&sum)[N / 8], const mma_a<T> &left, u64 right, int add) \
	{ \
		asm volatile("{ .reg .pred p; setp.ne.b32 p, " add_at ", 0; " \
		             "wgmma.mma_async.sync.aligned.m64n" #N instruction " {" TPAT_REGISTERS_##N \
		             "}, {" left_at "}, " right_at ", p, 1, 1, " turned_at "; }" \
		             : TPAT_SUM_##N("f", 0) \
		             : "r"(left.word[0]), "r"(left.word[1]), "r"(left.word[2]), "r"(left.word[3]), "l"(right), \
		               "r"(add), "n"(RIGHT_TURNED)); \
	}
#define TPAT_WGMMA_TYPES(A, B, S, c, instruction, rest_64, rest_128, rest_192, rest_256) \
	TPAT_WGMMA_N(64, A, B, S, c, instruction, "%32", "%33", "%34", rest_64) \
	TPAT_WGMMA_N(128, A, B, S, c, instruction, "%64", "%65", "%66", rest_128) \
	TPAT_WGMMA_N(192, A, B, S, c, instruction, "%96", "%97", "%98", rest_192) \
	TPAT_WGMMA_N(256, A, B, S, c, instruction, "%128", "%129", "%130", rest_256)
#define TPAT_WGMMA_FLOATS(T, instruction) \
	TPAT_WGMMA_TYPES(T, T, float, "f", instruction, ", 1, 1, %35, %36", ", 1, 1, %67, %68", ", 1, 1, %99, %100", \
	                 ", 1, 1, %131, %132") \
	TPAT_WGMMA_N(80, T, T, float, "f", instruction, "%40", "%41", "%42", ", 1, 1, %43, %44") \
	TPAT_WGMMA_OF(32, T, instruction, "%16, %17, %18, %19", "%20", "%21", "%22") \
	TPAT_WGMMA_OF(48, T, instruction, "%24, %25, %26, %27", "%28", "%29", "%30") \
	TPAT_WGMMA_OF(64, T, instruction, "%32, %33, %34, %35", "%36", "%37", "%38") \
	TPAT_WGMMA_OF(80, T, instruction, "%40, %41, %42, %43", "%44", "%45", "%46") \
	TPAT_WGMMA_OF(96, T, instruction, "%48, %49, %50, %51", "%52", "%53", "%54") \
	TPAT_WGMMA_OF(112, T, instruction, "%56, %57, %58, %59", "%60", "%61", "%62") \
	TPAT_WGMMA_OF(128, T, instruction, "%64, %65, %66, %67", "%68", "%69", "%70") \
	TPAT_WGMMA_OF(160, T, instruction, "%80, %81, %82, %83", "%84", "%85", "%86") \
	TPAT_WGMMA_OF(192, T, instruction, "%96, %97, %98, %99", "%100", "%101", "%102") \
	TPAT_WGMMA_OF(256, T, instruction, "%128, %129, %130, %131", "%132", "%133", "%134")
#define TPAT_WGMMA_INTS(A, B, instruction) TPAT_WGMMA_TYPES(A, B, int, "r", instruction, "", "", "", "")
#define TPAT_WGMMA_BYTES(A, B, instruction) \
	TPAT_WGMMA_TYPES(A, B, float, "f", instruction, ", 1, 1", ", 1, 1", ", 1, 1", ", 1, 1")
TPAT_WGMMA_FLOATS(f16, "k16.f32.f16.f16")
TPAT_WGMMA_FLOATS(bf16, "k16.f32.bf16.bf16")
TPAT_WGMMA_INTS(i8, i8, "k32.s32.s8.s8")
TPAT_WGMMA_INTS(i8, u8, "k32.s32.s8.u8")
TPAT_WGMMA_INTS(u8, i8, "k32.s32.u8.s8")
TPAT_WGMMA_INTS(u8, u8, "k32.s32.u8.u8")
TPAT_WGMMA_BYTES(f8e4m3fn, f8e4m3fn, "k32.f32.e4m3.e4m3")
TPAT_WGMMA_BYTES(f8e4m3fn, f8e5m2, "k32.f32.e4m3.e5m2")
TPAT_WGMMA_BYTES(f8e5m2, f8e4m3fn, "k32.f32.e5m2.e4m3")
TPAT_WGMMA_BYTES(f8e5m2, f8e5m2, "k32.f32.e5m2.e5m2")
#undef TPAT_WGMMA_BYTES
#undef TPAT_WGMMA_INTS
#undef TPAT_WGMMA_FLOATS
#undef TPAT_WGMMA_TYPES
#undef TPAT_WGMMA_N
#undef TPAT_WGMMA_OF
#undef TPAT_SUM_256
#undef TPAT_SUM_192
#undef TPAT_SUM_160
#undef TPAT_SUM_128
#undef TPAT_SUM_112
#undef TPAT_SUM_96
#undef TPAT_SUM_80
#undef TPAT_SUM_64
#undef TPAT_SUM_48
#undef TPAT_SUM_32
#undef TPAT_SUM_16
#undef TPAT_SUM
#undef TPAT_REGISTERS_256
#undef TPAT_REGISTERS_192
#undef TPAT_REGISTERS_160
#undef TPAT_REGISTERS_128
#undef TPAT_REGISTERS_112
#undef TPAT_REGISTERS_96
#undef TPAT_REGISTERS_80
#undef TPAT_REGISTERS_64
#undef TPAT_REGISTERS_48
#undef TPAT_REGISTERS_32
#endif

/* sum += (without `add`, =) the product of 64 rows from `row` on and all columns of `sum` from `column` on, over
 * mma_depth() elements from k on. Layout as in mma_sum: warp w of the group has rows 16 * w .. 16 * w + 15. */
template <class A, int ROWS, bool LEFT_TURNED, class B, int COLUMNS, bool RIGHT_TURNED, class S, int N>
TPAT_FN void wgmma(mma_sum<S> (&sum)[N], wide_tile<A, ROWS, LEFT_TURNED> &left, int row,
                   wide_tile<B, COLUMNS, RIGHT_TURNED> &right, int column, int k, bool add)
{
#if TPAT_WGMMA
	wgmma_issue<LEFT_TURNED, RIGHT_TURNED>(sum, left.descriptor(row, k), right.descriptor(column, k), add, A(),
	                                       B());
#else
	constexpr int depth = mma_depth<A>();
	A rows[2][depth];
	row += block_thread() / 32 % 4 * 16;
	for (int i = 0; i < 2; i++)
		for (int e = 0; e < depth; e++)
			rows[i][e] = *left.element(row + mma_row(2 * i), k + e);
	for (int j = 0; j < N; j++)
		for (int c = 0; c < 2; c++) {
			B right_column[depth];
			for (int e = 0; e < depth; e++)
				right_column[e] = *right.element(column + 8 * j + mma_column(c), k + e);
			for (int i = c; i < 4; i += 2) {
				S all = add ? sum[j].at[i] : S(0);
				for (int e = 0; e < depth; e++)
					mma_add(all, mma_factor(rows[i / 2][e]), mma_factor(right_column[e]));
				sum[j].at[i] = all;
			}
		}
#endif
}

/* sum += the same over the whole depth of the tiles, of 8-bit floats; returns when it is done. The tensor cores of
 * sm_90 keep 13 bits of a sum of such products, so sums of more than a tile are added here. (DeepSeek-AI, DeepSeek-V3
 * Technical Report, 2024, section 3.3.2.) */
template <class A, int ROWS, class B, int COLUMNS, int N>
TPAT_FN void wgmma_promoted(mma_sum<float> (&sum)[N], wide_tile<A, ROWS, false> &left, int row,
                            wide_tile<B, COLUMNS, false> &right, int column)
{
	mma_sum<float> part[N];
	wgmma_begin();
#pragma unroll
	for (int k = 0; k < left.depth; k += mma_depth<A>())
		wgmma(part, left, row, right, column, k, k > 0);
	wgmma_commit();
	wgmma_wait<0>();
#pragma unroll
	for (int j = 0; j < N; j++)
#pragma unroll
		for (int i = 0; i < 4; i++) {
#if TPAT_WGMMA
			wgmma_keep(part[j].at[i]);
#endif
			sum[j].at[i] += part[j].at[i];
		}
}

/* The same with the left operand in registers, 16 rows of each warp. */
template <class T, int COLUMNS, bool RIGHT_TURNED, int DEPTH, int N>
TPAT_FN void wgmma(mma_sum<float> (&sum)[N], const mma_a<T> &left, wide_tile<T, COLUMNS, RIGHT_TURNED, DEPTH> &right,
                   int column, int k, bool add)
{
#if TPAT_WGMMA
	wgmma_issue<RIGHT_TURNED>(sum, left, right.descriptor(column, k), add);
#else
	for (int j = 0; j < N; j++) {
		mma_b<T> b;
		for (int i = 0; i < 2; i++) {
			const int n = column + 8 * j + warp_lane() / 4, e = k + mma_column(0) + 8 * i;
			b.word[i] = right.element(n, e)->bits | (u32)right.element(n, e + 1)->bits << 16;
		}
		if (!add)
			sum[j] = {};
		mma_by_lanes(sum[j], left, b);
	}
#endif
}

/* After wgmma_wait<0>(): the accumulators may be used again. */
template <class S, int M, int N> TPAT_FN void wgmma_done(mma_sum<S> (&sum)[M][N])
{
#if TPAT_WGMMA
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int j = 0; j < N; j++)
#pragma unroll
			for (int i = 0; i < 4; i++)
				wgmma_keep(sum[m][j].at[i]);
#else
	(void)sum;
#endif
}

/* ---- Warpgroups of a block --------------------------------------------------------------------------------------- */

/* Sets the number of registers of each thread of a warpgroup, which calls this together, in a branch of its own. The
 * block's threads have those of the launch bounds at first: some warpgroups give up what others then take. */
template <int COUNT> TPAT_FN void registers_give()
{
#if TPAT_WGMMA
	asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}
template <int COUNT> TPAT_FN void registers_take()
{
#if TPAT_WGMMA
	asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

/* Barrier for a warpgroup of a block of up to five, after it stored rows of a left operand. */
TPAT_FN void group_barrier()
{
#if TPAT_WGMMA
	asm volatile("bar.sync %0, 128;" ::"r"(8 + block_thread() / 128) : "memory");
#else
	__syncwarp(); /* there, a warp reads only its own rows */
#endif
}

/* GROUPS warpgroups take turns, so that the tensor cores multiply for one while others compute: begin() by all of them,
 * then take() and pass() as often by each. It changes the order in time only. */
template <int GROUPS> struct group_turns {
#if TPAT_WGMMA
	TPAT_FN static void arrive(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(1 + group) : "memory"); }
	TPAT_FN static void begin()
	{
		if (GROUPS > 1 && block_thread() / 128 == GROUPS - 1)
			arrive(0);
	}
	TPAT_FN static void take()
	{
		if (GROUPS > 1)
			asm volatile("bar.sync %0, 256;" ::"r"(1 + block_thread() / 128) : "memory");
	}
	TPAT_FN static void pass()
	{
		const int group = block_thread() / 128;
		if (GROUPS > 1)
			arrive(group == GROUPS - 1 ? 0 : group + 1);
	}
#else
	TPAT_FN static void begin() {}
	TPAT_FN static void take() {}
	TPAT_FN static void pass() {}
#endif
};

/* ---- Tiles by the tensor memory accelerator. */

/* A tensor whose tiles are copied asynchronously, each by one thread's call. The launcher makes it. */
struct __align__(64) tensor_map {
	u64 word[16];
};

/* A barrier in shared memory: a phase ends when all threads and all expected bytes have arrived. */
TPAT_FN void barrier_new(u64 *barrier, int arrivals)
{
#ifdef TPAT_EMULATOR
	emulator_barrier_new((uint64_t *)barrier, arrivals);
#elif TPAT_ARCH >= 900
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals)
	             : "memory");
#endif
}

/* Returns when the phase of that parity is over; the phase before the first one, of parity 1, counts as over. */
TPAT_FN void barrier_wait(u64 *barrier, int parity)
{
#ifdef TPAT_EMULATOR
	emulator_barrier_wait((const uint64_t *)barrier, parity);
#elif TPAT_ARCH >= 900
	asm volatile("{ .reg .pred p;\n"
	             "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
	             "@!p bra again; }" ::"r"(shared_address(barrier)),
	             "r"(parity)
	             : "memory");
#endif
}

TPAT_FN void barrier_arrive(u64 *barrier)
{
#ifdef TPAT_EMULATOR
	emulator_barrier_change((uint64_t *)barrier, 1, 0);
#elif TPAT_ARCH >= 900
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}

TPAT_FN void barrier_arrive_expecting(u64 *barrier, int bytes)
{
#ifdef TPAT_EMULATOR
	emulator_barrier_change((uint64_t *)barrier, 1, bytes);
#elif TPAT_ARCH >= 900
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
	             : "memory");
#endif
}

/* A warp's arrival: of its first lane, or where lanes proceed one by one, of each. */
#ifdef TPAT_EMULATOR
enum { lanes_arriving = 32 };
#else
enum { lanes_arriving = 1 };
#endif
TPAT_FN void warp_arrive(u64 *barrier)
{
	if (lanes_arriving == 32 || warp_lane() == 0)
		barrier_arrive(barrier);
}

/* Copies 128 bytes of each row of the tensor, from the element at these coordinates on (innermost dimension first);
 * zeros outside the tensor. The bytes arrive at the barrier. */
template <int RANK>
TPAT_FN void panel_load(void *to, const tensor_map &map, u64 *barrier, int x0, int x1, int x2, int x3, int x4)
{
#ifdef TPAT_EMULATOR
	const int at[5] = { x0, x1, x2, x3, x4 };
	emulator_tile_load((char *)to, &map, (uint64_t *)barrier, at);
#elif TPAT_ARCH >= 900
	const u32 here = shared_address(to), over = shared_address(barrier);
#define TPAT_PANEL(rank, coordinates, ...) \
	asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], " \
	             "[%1, {" coordinates "}], [%2];" ::"r"(here), \
	             "l"(&map), "r"(over), __VA_ARGS__ \
	             : "memory")
	if constexpr (RANK == 2)
		TPAT_PANEL(2, "%3, %4", "r"(x0), "r"(x1));
	else if constexpr (RANK == 3)
		TPAT_PANEL(3, "%3, %4, %5", "r"(x0), "r"(x1), "r"(x2));
	else if constexpr (RANK == 4)
		TPAT_PANEL(4, "%3, %4, %5, %6", "r"(x0), "r"(x1), "r"(x2), "r"(x3));
	else
		TPAT_PANEL(5, "%3, %4, %5, %6, %7", "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4));
#undef TPAT_PANEL
#endif
}

/* The same for `pixels` consecutive positions of the tensor's dimensions except the first, from these coordinates on;
 * each is shifted by `by` in the dimensions between the first and the last. */
template <int RANK, class I>
TPAT_FN void walk_load(void *to, const tensor_map &map, u64 *barrier, const I (&from)[RANK], const I (&by)[RANK - 2])
{
	int at[RANK];
#pragma unroll
	for (int d = 0; d < RANK; d++)
		at[d] = (int)from[d];
#ifdef TPAT_EMULATOR
	int more[RANK - 2];
	for (int d = 0; d < RANK - 2; d++)
		more[d] = (int)by[d];
	emulator_walk_load((char *)to, &map, (uint64_t *)barrier, at, more);
#elif TPAT_ARCH >= 900
	const u32 here = shared_address(to), over = shared_address(barrier);
#define TPAT_WALK(rank, coordinates, offsets, ...) \
	asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes " \
	             "[%0], [%1, {" coordinates "}], [%2], {" offsets "};" ::"r"(here), \
	             "l"(&map), "r"(over), __VA_ARGS__ \
	             : "memory")
	if constexpr (RANK == 3)
		TPAT_WALK(3, "%3, %4, %5", "%6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "h"((u16)by[0]));
	else if constexpr (RANK == 4)
		TPAT_WALK(4, "%3, %4, %5, %6", "%7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
		          "h"((u16)by[0]), "h"((u16)by[1]));
	else
		TPAT_WALK(5, "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
		          "r"(at[4]), "h"((u16)by[0]), "h"((u16)by[1]), "h"((u16)by[2]));
#undef TPAT_WALK
#endif
}

/* A ring of SLOTS tiles: in each turn one thread fills the next slot, and warps read it. */
template <int SLOTS> struct tile_ring {
	u64 full[SLOTS], free[SLOTS];

	/* Called by all threads, followed by __syncthreads(). */
	TPAT_FN void begin(int warps)
	{
		if (block_thread() == 0)
			for (int i = 0; i < SLOTS; i++) {
				barrier_new(&full[i], 1);
				barrier_new(&free[i], warps * lanes_arriving);
			}
#if TPAT_ARCH >= 900
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
		wgmma_see();
	}
	/* For the producer: waits for the slot, and announces the number of bytes. */
	TPAT_FN void fill(int turn, int bytes)
	{
		barrier_wait(&free[turn % SLOTS], 1 - turn / SLOTS % 2);
		barrier_arrive_expecting(&full[turn % SLOTS], bytes);
	}
	/* For consumers: waits for the tiles; releases them. */
	TPAT_FN void wait(int turn) { barrier_wait(&full[turn % SLOTS], turn / SLOTS % 2); }
	TPAT_FN void done(int turn) { warp_arrive(&free[turn % SLOTS]); }
};

/* Two warpgroups take a block's tiles in turn: tile number `round` is that of warpgroup round % 2. Between take() and
 * pass() it multiplies, so a ring's tiles are read in the order in which they come. */
struct tile_turns {
	u64 over[2]; /* by warpgroup: the other one's products are issued */

	/* Called by all threads, followed by __syncthreads(). */
	TPAT_FN void begin()
	{
		if (block_thread() == 0)
			for (int i = 0; i < 2; i++)
				barrier_new(&over[i], 4 * lanes_arriving);
	}
	TPAT_FN void take(int round)
	{
		if (round > 0)
			barrier_wait(&over[round % 2], (round - 1) / 2 % 2);
	}
	TPAT_FN void pass(int round) { warp_arrive(&over[(round + 1) % 2]); }
};

/* Copies the tile whose first element is at these coordinates of the tensor. */
template <int RANK, class T, int OUTER, bool TURNED, int DEPTH>
TPAT_FN void tile_load(wide_tile<T, OUTER, TURNED, DEPTH> &tile, const tensor_map &map, u64 *barrier, int x0, int x1,
                       int x2 = 0, int x3 = 0, int x4 = 0)
{
#pragma unroll
	for (int i = 0; i < tile.panels; i++)
		panel_load<RANK>(&tile.panel[i], map, barrier, x0 + 64 * i, x1, x2, x3, x4);
}

/* ---- Clusters: their sums ---------------------------------------------------------------------------------------- */

TPAT_FN float sums_add(float a, float b) { return a + b; }
TPAT_FN int sums_add(int a, int b) { return (int)((u32)a + (u32)b); } /* wraps */

/* Stores accumulators of 16 rows, from `row` on, of a block's tile in shared memory, N * 8 per row. */
template <int WIDTH, class S> TPAT_FN S *cluster_place(void *shared, int row, int column)
{
	return (S *)shared + row * WIDTH + (column ^ row * 8 % 32);
}
template <class S, int N> TPAT_FN void cluster_put(void *shared, int row, const mma_sum<S> (&sum)[N])
{
#pragma unroll
	for (int j = 0; j < N; j++)
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const S two[2] = { sum[j].at[2 * half], sum[j].at[2 * half + 1] };
			store(cluster_place<8 * N, S>(shared, row + mma_row(2 * half), 8 * j + mma_column(0)), two);
		}
}

/* Loads v: the sum over all blocks of the cluster, in their order. */
template <int BLOCKS, int WIDTH, class S, int N> TPAT_FN void cluster_get(S (&v)[N], void *shared, int row, int column)
{
	const S *from = cluster_place<WIDTH, S>(shared, row, column);
	cluster_load(v, from, 0);
#pragma unroll
	for (int rank = 1; rank < BLOCKS; rank++) {
		S more[N];
		cluster_load(more, from, rank);
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = sums_add(v[i], more[i]);
	}
}

/* ---- Partial sums of a tile, from one block to another --------------------------------------------------------- */

/* Leaves a block's sums in its part of `parts`, lane by lane, and counts its finished warps in its word of `marks`,
 * which is zero when the kernel starts. THREADS: threads of a block that have sums. */
template <int THREADS, class S, int M, int N>
TPAT_FN void parts_put(const mma_sum<S> (&sum)[M][N], S *parts, u64 *marks, int block)
{
	S *const to = parts + ((i64)block * M * N * THREADS + block_thread()) * 4;
#pragma unroll
	for (int m = 0; m < M; m++)
#pragma unroll
		for (int j = 0; j < N; j++)
			store(to + (m * N + j) * THREADS * 4, sum[m][j].at);
	__syncwarp();
	if (warp_lane() == 0) {
#if TPAT_ARCH >= 900
		asm volatile("red.release.gpu.global.add.u64 [%0], %1;" ::"l"(marks + block), "l"((u64)1) : "memory");
#else
		__threadfence();
		atomic_add(marks + block, (u64)1);
#endif
	}
}

/* Called by the ring's producer: waits until that block has left its sums, and makes them visible to the copy. */
template <int THREADS> TPAT_FN void parts_wait(const u64 *marks, int block)
{
#if TPAT_ARCH >= 900
	u64 seen;
	do
		asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(seen) : "l"(marks + block) : "memory");
	while (seen < THREADS / 32);
	asm volatile("fence.proxy.async;" ::: "memory");
#else
	while (load_fresh(marks + block) < THREADS / 32)
#ifdef TPAT_EMULATOR
		emulator_host.until_not((const uint64_t *)marks + block, marks[block], __FILE__, __LINE__);
#else
		;
#endif
	__threadfence();
#endif
}

/* Copies the next of them into a slot of the ring, as many bytes as a tile of that operand. */
template <class T, int OUTER, bool TURNED, class S, int SLOTS, class I>
TPAT_FN void parts_load(wide_tile<T, OUTER, TURNED> *tile, const S *parts, tile_ring<SLOTS> &ring, I turn)
{
	const int bytes = sizeof *tile, slot = turn % SLOTS;
	ring.fill(turn, bytes);
#ifdef TPAT_EMULATOR
	for (int i = 0; i < bytes; i += 16) {
		char vector[16];
		emulator_load(vector, (const char *)parts + i, 16);
		emulator_store((char *)(tile + slot) + i, vector, 16);
	}
	emulator_barrier_change((uint64_t *)&ring.full[slot], 0, -bytes);
#elif TPAT_ARCH >= 900
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
	                     shared_address(tile + slot)),
	             "l"(parts), "r"(bytes), "r"(shared_address(&ring.full[slot]))
	             : "memory");
#endif
}

/* sum += all of them, as they arrive. */
template <int THREADS, class S, int M, int N, class T, int OUTER, bool TURNED, int SLOTS, class I>
TPAT_FN void parts_add(mma_sum<S> (&sum)[M][N], wide_tile<T, OUTER, TURNED> *tile, tile_ring<SLOTS> &ring, I &turn)
{
	const int each = sizeof *tile / (16 * THREADS); /* vectors per lane in a tile */
#pragma unroll
	for (int first = 0; first < M * N; first += each, turn++) {
		ring.wait(turn);
		const S *const from = (const S *)(tile + turn % SLOTS) + 4 * block_thread();
#pragma unroll
		for (int j = first; j < first + each; j++) {
			S more[4];
			load(more, from + (j - first) * THREADS * 4);
#pragma unroll
			for (int i = 0; i < 4; i++)
				sum[j / N][j % N].at[i] = sums_add(sum[j / N][j % N].at[i], more[i]);
		}
		ring.done(turn);
	}
}

/* Returns N accumulators of a row of products, from index `first` on. */
template <int N, class S, int ALL> TPAT_FN const mma_sum<S> (&sums_part(const mma_sum<S> (&sum)[ALL], int first))[N]
{
	return *(const mma_sum<S>(*)[N])(sum + first);
}

#undef TPAT_FN
#endif
