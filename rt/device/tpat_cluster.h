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

/* Barrier for all threads of a cluster that have not exited; makes their stores visible. */
#ifdef TPAT_EMULATOR
#define cluster_sync() emulator_host.cluster_barrier(__FILE__, __LINE__)
#else
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

#undef TPAT_FN
#endif
