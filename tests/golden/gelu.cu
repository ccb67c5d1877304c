#include "tpat_device.h"

// program Gelu(x: f32[N,3072]) -> (y: f32[N,3072])

// y: f32[N,3072] = map (i, j) x[i, j] * (erf(x[i, j] / 1.4142135) + 1.0) * 0.5
// Schedule: map@1 width=4; 256 threads a block.
// A thread computes 4 elements next to each other.
// Launch: N * 3 blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Gelu_y_x4(const float *x, float *__restrict__ y, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 1024 + thread * 4;
	if (element >= N * 3072)
		return;
	float x_v[4];
	load(x_v, x + element);
	float y_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		y_v[v] = gelu(x_v[v]);
	}
	store(y + element, y_v);
}

// The same as Gelu_y_x4.
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
// Launch: N * 3 blocks of 256 threads.
// Runs unless Gelu_y_x4 does.
extern "C" __global__ __launch_bounds__(256)
void Gelu_y_x4_64(const float *x, float *__restrict__ y, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 1024 + thread * 4;
	if (element >= N * 3072)
		return;
	float x_v[4];
	load(x_v, x + element);
	float y_v[4];
	#pragma unroll
	for (i64 v = 0; v < 4; v++) {
		y_v[v] = gelu(x_v[v]);
	}
	store(y + element, y_v);
}
