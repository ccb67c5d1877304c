/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_cuda.h: declarations of the CUDA driver's stable C ABI, shared by tpat and the runtime of its plugins (rt/), so
 * that neither needs a CUDA header. */
#ifndef TPAT_CUDA_H
#define TPAT_CUDA_H

#include <stdint.h>

/* CUlaunchAttribute and CUlaunchConfig; the attributes: CU_LAUNCH_ATTRIBUTE_COOPERATIVE makes all blocks of a kernel
 * run at the same time, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION lets it be set up while the previous one
 * runs.
 */
enum {
	TPAT_CUDA_TOGETHER = 2,
	TPAT_CUDA_EARLY = 6,
	TPAT_CUDA_EARLY_ARCH = 90,
	TPAT_CUDA_EARLY_DRIVER = 12030, /* first driver whose graphs keep the attribute */
};
struct tpat_cuda_attribute {
	int32_t id;
	char pad[4];
	union {
		int32_t number;
		char room[64];
	} value;
};
struct tpat_cuda_launch {
	unsigned grid[3], block[3], shared;
	void *stream;
	const struct tpat_cuda_attribute *attribute;
	unsigned attributes;
};

/* CUDA_ERROR_NOT_INITIALIZED. After cuInit succeeded it means that the process was forked since then, as by Python's
 * multiprocessing: a child process cannot use its parent's CUDA. */
enum { TPAT_CUDA_FORKED = 3 };
#define TPAT_CUDA_FORKED_HELP "CUDA was used before this process was forked: start processes that use it with spawn"

/* For tensor maps: CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion. */
enum { TPAT_CUDA_MAP_U8 = 0, TPAT_CUDA_MAP_U16 = 1, TPAT_CUDA_MAP_SWIZZLE_128B = 3, TPAT_CUDA_MAP_L2_256B = 3 };

#endif
