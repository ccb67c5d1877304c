#include "tpat_device.h"

// program ConcatPad(a: f32[N,4], b: f32[N,K]) -> (y: f32[N + 2,K + 4])

// y: f32[N + 2,K + 4] = map (i, j) select(and(1 <= i, i - 1 < N), select(j < 4, a[i - 1, j], b[i - 1, j - 4]), 0.0)
// Schedule: map@1 width=4; 256 threads a block.
// A thread computes 4 elements next to each other.
// Launch: (K * N + K * 2 + N * 4 + 1031) / 1024 blocks of 256 threads.
// Runs if K % 4 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void ConcatPad_y_x4(const float *a, const float *b, float *__restrict__ y, int N, int K, const u64 inverse)
{
	const divisor by = { K + 4, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 1024 + thread * 4;
	if (element >= K * N + K * 2 + N * 4 + 8)
		return;
	const int j = element % by;
	const int i = element / by;
	const bool case_0 = i >= 1 && i - 1 < N;
	const bool case_1 = j < 4;
	float a_v[4];
	if (case_0 && case_1) {
		load(a_v, a + j + i * 4 - 4);
	}
	float y_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		y_v[v] = case_0 ? case_1 ? a_v[v] : b[v + j + i * K - K - 4] : 0.0f;
	}
	store(y + element, y_v);
}

// The same as ConcatPad_y_x4.
// Schedule: map@1 width=4; 256 threads a block.
// Launch: (K * N + K * 2 + N * 4 + 263) / 256 blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless ConcatPad_y_x4 does.
extern "C" __global__ __launch_bounds__(256)
void ConcatPad_y(const float *a, const float *b, float *__restrict__ y, int N, int K, const u64 inverse)
{
	const divisor by = { K + 4, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= K * N + K * 2 + N * 4 + 8)
		return;
	const int j = element % by;
	const int i = element / by;
	float chosen = 0.0f;
	if (i >= 1 && i - 1 < N) {
		chosen = j < 4 ? a[j + i * 4 - 4] : b[j + i * K - K - 4];
	}
	y[element] = chosen;
}

// The same as ConcatPad_y_x4.
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
// Launch: (K * N + K * 2 + N * 4 + 263) / 256 blocks of 256 threads.
// Runs unless ConcatPad_y_x4 or ConcatPad_y does.
extern "C" __global__ __launch_bounds__(256)
void ConcatPad_y_64(const float *a, const float *b, float *__restrict__ y, i64 N, i64 K)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= K * N + K * 2 + N * 4 + 8)
		return;
	const i64 j = element % (K + 4);
	const i64 i = element / (K + 4);
	float chosen = 0.0f;
	if (i >= 1 && i - 1 < N) {
		chosen = j < 4 ? a[j + i * 4 - 4] : b[j + i * K - K - 4];
	}
	y[element] = chosen;
}
