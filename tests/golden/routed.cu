#include "tpat_device.h"
#include "tpat_sort.h"

// program Routed(x: f32[3,2]) -> (which: i32[3,1], share: f32[3,1])
// which: i32[3,1] = sort descending along j (i, j | r<2) x[i, r]
// largest: f32[3] = max (i | r<2) x[i, r]
// share: f32[3,1] = sum (i, j | r<2) exp(x[i, r] - largest[i])
//     then exp(x[i, min(1, max(0, index(which[i, 0])))] - largest[i]) / it

// which: i32[3,1] = sort descending along j (i, j | r<2) x[i, r]
// Schedule: sort_select@5 keys=1 threads=128 parts=1 items=1; 128 threads a block.
// Each row is read once, and the best elements so far stay in shared memory or registers.
// Launch: one block of 128 threads.
extern "C" __global__ __launch_bounds__(128)
void Routed_which(const float *x, int *__restrict__ which)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int row = block * 128 + thread;
	if (row >= 3)
		return;
	const auto key = [&](int r) {
		return key_descending(x[row * 2 + r]);
	};
	const auto put = [&](int rank, int r) {
		which[row + rank] = r;
	};
	first_of_row<1, u32>(2, key, put);
}

// largest: f32[3] = max (i | r<2) x[i, r]
// share: f32[3,1] = sum (i, j | r<2) exp(x[i, r] - largest[i])
//     then exp(x[i, min(1, max(0, index(which[i, 0])))] - largest[i]) / it
// Schedule: rows@4 lanes=1 width=2 steps=1 once=0 ahead=1 shared=0; 128 threads a block.
// A row has one thread, and stays in registers from the first stage to the last: one vector of 2 elements each.
// Launch: one block of 128 threads.
extern "C" __global__ __launch_bounds__(128)
void Routed_share(const float *x, const int *which, float *__restrict__ share)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int row = block * 128 + thread;
	if (row >= 3)
		return;
	float x_v[2];
	load(x_v, x + row * 2);
	const int which_of_row = which[row];
	float row_largest = -INFINITY;
	#pragma unroll
	for (int item = 0; item < 2; item++) {
		row_largest = nan_max(row_largest, x_v[item]);
	}
	float share_sum = 0.0f;
	#pragma unroll
	for (int item = 0; item < 2; item++) {
		share_sum += expf(x_v[item] - row_largest);
	}
	const float row_share = expf(x[row * 2 + min(1, max(0, which_of_row))] - row_largest) / share_sum;
	share[row] = row_share;
}
