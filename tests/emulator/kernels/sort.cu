// Parts of tpat_sort.h: sorting in shared memory, tiles that ask the tiles before them.
#include "tpat_radix.h"

// Rows of n items each, 256 apart: 4 rows.
extern "C" __global__ __launch_bounds__(96) void rows(const u64 *x, u64 *y, int n)
{
	__shared__ u64 item[1024];
	for (int i = threadIdx.x; i < 4 * n; i += 96)
		item[i / n * 256 + i % n] = x[i];
	sort_items<96, 256>(item, 4, n);
	for (int i = threadIdx.x; i < 4 * n; i += 96)
		y[i] = item[i / n * 256 + i % n];
}

extern "C" __global__ void before(const u32 *progress, const u32 *group, int *y, int tile)
{
	const u32 *own = group + tile / GROUP * DIGITS + threadIdx.x;
	__syncwarp();
	y[threadIdx.x] = radix_before(progress + tile * DIGITS + threadIdx.x, own, tile);
}
