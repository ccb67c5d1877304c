#include "tpat_device.h"
#include "tpat_sort.h"

// program Routed(x: f32[3,2]) -> (which: i32[3,1], share: f32[3,1])
// largest: f32[3] = max (i | r<2) x[i, r]
// total: f32[3] = sum (i | r<2) exp(x[i, r] - largest[i])
// which: i32[3,1] = sort descending along j (i, j | r<2) x[i, r]
// share: f32[3,1] = map (i, j) exp(x[i, min(1, max(0, index(which[i, 0])))] - largest[i]) / total[i]

// largest: f32[3] = max (i | r<2) x[i, r]
// total: f32[3] = sum (i | r<2) exp(x[i, r] - largest[i])
// Schedule: rows@4 lanes=1 width=2 steps=1 once=0 ahead=0 shared=0; 128 threads a block.
// A row has one thread, and stays in registers from the first stage to the last: one vector of 2 elements each.
static __device__ __forceinline__
void Routed_total_part(const int own_block, const float *x, float *__restrict__ largest, float *__restrict__ total)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int row = own_block * 128 + thread;
	if (row >= 3)
		return;
	float x_v[2];
	load(x_v, x + row * 2);
	float row_largest = -INFINITY;
	#pragma unroll
	for (int item = 0; item < 2; item++) {
		row_largest = nan_max(row_largest, x_v[item]);
	}
	largest[row] = row_largest;
	float row_total = 0.0f;
	#pragma unroll
	for (int item = 0; item < 2; item++) {
		row_total += expf(x_v[item] - row_largest);
	}
	total[row] = row_total;
}

// which: i32[3,1] = sort descending along j (i, j | r<2) x[i, r]
// Schedule: sort_select@5 keys=1 threads=128 parts=1 items=1; 128 threads a block.
// Each row is read once, and the best elements so far stay in shared memory or registers.
static __device__ __forceinline__
void Routed_which_part(const int own_block, const float *x, const float *largest, const float *total,
                       int *__restrict__ which, float *__restrict__ share)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int row = own_block * 128 + thread;
	if (row >= 3)
		return;
	const auto key = [&](int r) {
		return key_descending(x[row * 2 + r]);
	};
	const auto put = [&](int rank, int r) {
		share[row + rank] = expf(x[row * 2 + min(1, max(0, r))] - largest[row]) / total[row];
		which[row + rank] = r;
	};
	first_of_row<1, u32>(2, key, put);
}

// 2 kernels in one launch, the first in every block, and its results in shared memory; 128 threads a block.
// Launch: one block of 128 threads.
extern "C" __global__ __launch_bounds__(128)
void Routed_total_and_which(const float *x, float *largest, float *total, int *__restrict__ which,
                            float *__restrict__ share)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ __align__(16) float largest_here[3];
	__shared__ __align__(16) float total_here[3];
	Routed_total_part(0, x, largest_here, total_here);
	__syncthreads();
	if (block == 0 && thread < 3) {
		largest[thread] = largest_here[thread];
		total[thread] = total_here[thread];
	}
	Routed_which_part(block, x, largest_here, total_here, which, share);
}
