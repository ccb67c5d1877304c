#include "tpat_device.h"

// program column_sums(x: f32[M,N]) -> (y: f32[N])

// y: f32[N] = sum (i | r<M) x[r, i]
// Schedule: reduce_columns@2 parts=32 width=1 columns=32; 1024 threads a block.
// Neighbouring threads reduce neighbouring elements, so that loads are coalesced. A block has 32 rows of 32 such
//     threads, which share the reduced axes.
// Launch: ceil(N / 32) blocks of 1024 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(1024)
void column_sums_y(const float *x, float *__restrict__ y, int M, int N)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int part = thread / 32;
	const int element = block * 32 + thread % 32;
	float sum = 0.0f;
	if (element < N) {
		for (int first = part; first < M - 512; first += 256) {
			#pragma unroll
			for (int step = 0; step < 8; step++) {
				const int r = first + step * 32;
				sum += x[element + r * N];
			}
		}
		const int rest = part + max(0, M - part - 257) / 256 * 256;
		if (rest + 256 < M) {
			#pragma unroll
			for (int step = 0; step < 8; step++) {
				const int r = rest + step * 32;
				sum += x[element + r * N];
			}
			#pragma unroll
			for (int step = 0; step < 8; step++) {
				const int r = min(rest + step * 32 + 256, M - 1);
				float more = sum;
				more += x[element + r * N];
				sum = rest + step * 32 + 256 < M ? more : sum;
			}
		}
		if (rest < M && M <= rest + 256) {
			#pragma unroll
			for (int step = 0; step < 8; step++) {
				const int r = min(rest + step * 32, M - 1);
				float more = sum;
				more += x[element + r * N];
				sum = rest + step * 32 < M ? more : sum;
			}
		}
	}
	__shared__ float across[1024];
	sum = block_reduce_columns<32, 32>(sum, op_sum(), across);
	if (part == 0 && element < N) {
		y[element] = sum;
	}
}

// The same as column_sums_y.
// Schedule: reduce_columns@2 parts=32 width=1 columns=32; 1024 threads a block; 64-bit positions.
// Launch: ceil(N / 32) blocks of 1024 threads.
// Runs unless column_sums_y does.
extern "C" __global__ __launch_bounds__(1024)
void column_sums_y_64(const float *x, float *__restrict__ y, i64 M, i64 N)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 part = thread / 32;
	const i64 element = block * 32 + thread % 32;
	float sum = 0.0f;
	if (element < N) {
		for (i64 first = part; first < M - 512; first += 256) {
			#pragma unroll
			for (i64 step = 0; step < 8; step++) {
				const i64 r = first + step * 32;
				sum += x[element + r * N];
			}
		}
		const i64 rest = part + max((i64)0, M - part - 257) / 256 * 256;
		if (rest + 256 < M) {
			#pragma unroll
			for (i64 step = 0; step < 8; step++) {
				const i64 r = rest + step * 32;
				sum += x[element + r * N];
			}
			#pragma unroll
			for (i64 step = 0; step < 8; step++) {
				const i64 r = min(rest + step * 32 + 256, M - 1);
				float more = sum;
				more += x[element + r * N];
				sum = rest + step * 32 + 256 < M ? more : sum;
			}
		}
		if (rest < M && M <= rest + 256) {
			#pragma unroll
			for (i64 step = 0; step < 8; step++) {
				const i64 r = min(rest + step * 32, M - 1);
				float more = sum;
				more += x[element + r * N];
				sum = rest + step * 32 < M ? more : sum;
			}
		}
	}
	__shared__ float across[1024];
	sum = block_reduce_columns<32, 32>(sum, op_sum(), across);
	if (part == 0 && element < N) {
		y[element] = sum;
	}
}
