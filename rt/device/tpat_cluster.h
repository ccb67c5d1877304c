/* SPDX-License-Identifier: Apache-2.0
 * tpat_cluster.h: clusters, blocks that run together and see each other's shared memory. Architectures before sm_90
 * have none: the functions compile there, and their kernels never run. Compiled like tpat_device.h. */
#ifndef TPAT_CLUSTER_H
#define TPAT_CLUSTER_H

#include "tpat_device.h"

#define TPAT_FN __device__ __forceinline__

/* After a kernel's launch bounds: blocks per cluster. */
#if TPAT_ARCH >= 900
#define block_cluster(blocks) __cluster_dims__(blocks, 1, 1)
#else
#define block_cluster(blocks)
#endif

/* Barrier for all threads of a cluster that have not exited; makes their stores visible. Or in two parts: a thread that
 * needs nothing more of the other blocks says so, and waits at its end until theirs need nothing of its block. So its
 * last stores to memory are not waited for. */
#ifdef TPAT_EMULATOR
#define cluster_sync() emulator_host.cluster_barrier(__FILE__, __LINE__)
#define cluster_arrive() ((void)0)
#define cluster_wait() emulator_host.cluster_barrier(__FILE__, __LINE__)
#else
TPAT_FN void cluster_arrive()
{
#if TPAT_ARCH >= 900
	asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#endif
}
TPAT_FN void cluster_wait()
{
#if TPAT_ARCH >= 900
	asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#endif
}
TPAT_FN void cluster_sync()
{
#if TPAT_ARCH >= 900
	asm volatile("barrier.cluster.arrive.release;\n"
	             "barrier.cluster.wait.acquire;" ::
	                     : "memory");
#endif
}
#endif

/* Loads v from p in the shared memory of the cluster's block of that rank. */
template <class T, int N> TPAT_FN void cluster_load(T (&v)[N], const T *p, int rank)
{
#ifdef TPAT_EMULATOR
	emulator_host.cluster_read(v, p, sizeof v, rank);
#elif TPAT_ARCH >= 900
	const T *there;
	asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(p), "r"(rank));
	load(v, there);
#endif
}

/* v combined over all threads of a cluster of BLOCKS, in the same order in each. `across`: THREADS / 32 + 1 elements in
 * shared memory that nothing else uses. The blocks have to meet once more before one of them ends. */
template <int THREADS, int BLOCKS, class T, class Op> TPAT_FN T cluster_reduce(T v, Op op, T *across)
{
	T *own = across + THREADS / 32, all[BLOCKS][1];
	v = block_reduce<THREADS>(v, op, across);
	if (block_thread() == 0)
		*own = v;
	cluster_sync();
#pragma unroll
	for (int i = 0; i < BLOCKS; i++)
		cluster_load(all[i], own, i);
	v = all[0][0];
#pragma unroll
	for (int i = 1; i < BLOCKS; i++)
		v = op(v, all[i][0]);
	return v;
}

#undef TPAT_FN
#endif
