/* SPDX-License-Identifier: Apache-2.0
 * tpat_check.h: positions that are checked, in kernels of tpat build --debug-kernels. Compiled like tpat_device.h. */
#ifndef TPAT_CHECK_H
#define TPAT_CHECK_H

#include "tpat_device.h"

/* Says where: on a GPU by printf, whose text comes when the stream is next waited for. The emulator ends the launch. */
static __device__ __noinline__ void tpat_out_of_bounds(i64 at, u64 elements, int width, const char *kernel,
                                                       const char *buffer)
{
#ifdef TPAT_EMULATOR
	char text[256];
	(void)kernel;
	snprintf(text, sizeof text, "position %s[%lld] (%d of %llu elements) is out of bounds", buffer, (long long)at,
	         width, (unsigned long long)elements);
	emulator_host.fail(text);
#else
	printf("tpat: %s, block (%u, %u, %u), thread (%u, %u, %u): position %s[%lld] (%d of %llu elements) is out of "
	       "bounds.\n",
	       kernel, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, buffer, (long long)at,
	       width, (unsigned long long)elements);
	if (elements < (u64)width)
		__trap();
#endif
}

/* The position, or 0 if it is out of bounds: then the kernel goes on with wrong numbers and the text arrives. */
template <class I>
static __device__ __forceinline__ I tpat_at(I at, u64 elements, int width, bool used, const char *kernel,
                                            const char *buffer)
{
	if (!used || (at >= 0 && (u64)width <= elements && (u64)at <= elements - (u64)width))
		return at;
	tpat_out_of_bounds((i64)at, elements, width, kernel, buffer);
	return 0;
}

/* `width` elements of a buffer from `at` on, which are accessed if `used` holds. */
#define TPAT_AT(kernel, buffer, at, elements, width, used) tpat_at(at, elements, width, used, #kernel, #buffer)

#endif
