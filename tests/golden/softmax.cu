#include "tpat_device.h"

/* program Softmax(x: f32[N,H,S,S]) -> (y: f32[N,H,S,S])
  largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
  total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
  y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
 */

// largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void Softmax_largest(const float *__restrict__ x, float *__restrict__ largest, int H, int N, int S)
{
	const int lane = threadIdx.x % 32;
	const int row = blockIdx.x * 4 + threadIdx.x / 32;
	if (row >= H * N * S)
		return;
	const int k = row % S;
	const int j = row / S % H;
	const int i = row / S / H;
	float sum = -INFINITY;
	for (int r = lane; r < S; r += 32) {
		sum = nan_max(sum, x[i * H * S * S + j * S * S + k * S + r]);
	}
	sum = warp_reduce(sum, op_max());
	if (lane == 0) {
		largest[row] = sum;
	}
}

// total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void Softmax_total(const float *__restrict__ x, const float *__restrict__ largest, float *__restrict__ total, int H, int N, int S)
{
	const int lane = threadIdx.x % 32;
	const int row = blockIdx.x * 4 + threadIdx.x / 32;
	if (row >= H * N * S)
		return;
	const int k = row % S;
	const int j = row / S % H;
	const int i = row / S / H;
	float sum = 0.0f;
	for (int r = lane; r < S; r += 32) {
		sum = sum + expf(x[i * H * S * S + j * S * S + k * S + r] - largest[i * H * S + j * S + k]);
	}
	sum = warp_reduce(sum, op_sum());
	if (lane == 0) {
		total[row] = sum;
	}
}

// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Softmax_y_x4(const float *__restrict__ x, const float *__restrict__ largest, const float *__restrict__ total, float *__restrict__ y, int H, int N, int S)
{
	const int element = blockIdx.x * 1024 + threadIdx.x * 4;
	if (element >= H * N * S * S)
		return;
	const int k = element / S % S;
	const int j = element / S / S % H;
	const int i = element / S / S / H;
	float x_v[4];
	load(x_v, x + element);
	float y_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const int tmp0 = i * H * S + j * S + k;
		y_v[v] = quotient(expf(x_v[v] - largest[tmp0]), total[tmp0]);
	}
	store(y + element, y_v);
}

// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Softmax_y(const float *__restrict__ x, const float *__restrict__ largest, const float *__restrict__ total, float *__restrict__ y, int H, int N, int S)
{
	const int element = blockIdx.x * 256 + threadIdx.x;
	if (element >= H * N * S * S)
		return;
	const int k = element / S % S;
	const int j = element / S / S % H;
	const int i = element / S / S / H;
	const int tmp0 = i * H * S + j * S + k;
	y[element] = expf(x[element] - largest[tmp0]) / total[tmp0];
}

// largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(128)
void Softmax_largest_64(const float *__restrict__ x, float *__restrict__ largest, i64 H, i64 N, i64 S)
{
	const i64 lane = (i64)threadIdx.x % 32;
	const i64 row = (i64)blockIdx.x * 4 + (i64)threadIdx.x / 32;
	if (row >= H * N * S)
		return;
	const i64 k = row % S;
	const i64 j = row / S % H;
	const i64 i = row / S / H;
	float sum = -INFINITY;
	for (i64 r = lane; r < S; r += 32) {
		sum = nan_max(sum, x[i * H * S * S + j * S * S + k * S + r]);
	}
	sum = warp_reduce(sum, op_max());
	if (lane == 0) {
		largest[row] = sum;
	}
}

// total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(128)
void Softmax_total_64(const float *__restrict__ x, const float *__restrict__ largest, float *__restrict__ total, i64 H, i64 N, i64 S)
{
	const i64 lane = (i64)threadIdx.x % 32;
	const i64 row = (i64)blockIdx.x * 4 + (i64)threadIdx.x / 32;
	if (row >= H * N * S)
		return;
	const i64 k = row % S;
	const i64 j = row / S % H;
	const i64 i = row / S / H;
	float sum = 0.0f;
	for (i64 r = lane; r < S; r += 32) {
		sum = sum + expf(x[i * H * S * S + j * S * S + k * S + r] - largest[i * H * S + j * S + k]);
	}
	sum = warp_reduce(sum, op_sum());
	if (lane == 0) {
		total[row] = sum;
	}
}

// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: map 1, width 4; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void Softmax_y_64(const float *__restrict__ x, const float *__restrict__ largest, const float *__restrict__ total, float *__restrict__ y, i64 H, i64 N, i64 S)
{
	const i64 element = (i64)blockIdx.x * 256 + (i64)threadIdx.x;
	if (element >= H * N * S * S)
		return;
	const i64 k = element / S % S;
	const i64 j = element / S / S % H;
	const i64 i = element / S / S / H;
	const i64 tmp0 = i * H * S + j * S + k;
	y[element] = expf(x[element] - largest[tmp0]) / total[tmp0];
}
