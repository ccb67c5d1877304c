#include "tpat_device.h"

/* program DynamicQuantizeLinear(x: f32[N,K]) -> (y: u8[N,K], y_scale: f32[], y_zero: u8[])
  low: f32[] = min ( | r<N, s<K) x[r, s] then min(it, 0.0)
  y_scale: f32[] = max ( | r<N, s<K) x[r, s] then (max(it, 0.0) - low[]) / 255.0
  y_zero: u8[] = map () u8(select(y_scale[] == 0.0, 0.0, min(max(rint((0.0 - low[]) / y_scale[]), 0.0), 255.0)))
  y: u8[N,K] = map (i, j) u8(min(max(rint(x[i, j] / y_scale[]) + f32(y_zero[]), 0.0), 255.0))
 */

// low: f32[] = min ( | r<N, s<K) x[r, s] then min(it, 0.0)
// Schedule: reduce_lanes 1, lanes 1024; 1024 threads a block.
extern "C" __global__ __launch_bounds__(1024)
void DynamicQuantizeLinear_low(const float *__restrict__ x, float *__restrict__ low, int K, int N)
{
	const int lane = threadIdx.x;
	const int row = blockIdx.x;
	float sum = INFINITY;
	for (int point = lane; point < K * N; point += 1024) {
		const int s = point % K;
		const int r = point / K;
		sum = nan_min(sum, x[r * K + s]);
	}
	__shared__ float across[32];
	sum = block_reduce<1024>(sum, op_min(), across);
	if (lane == 0) {
		low[row] = nan_min(sum, 0.0f);
	}
}

// y_scale: f32[] = max ( | r<N, s<K) x[r, s] then (max(it, 0.0) - low[]) / 255.0
// Schedule: reduce_lanes 1, lanes 1024; 1024 threads a block.
extern "C" __global__ __launch_bounds__(1024)
void DynamicQuantizeLinear_y_scale(const float *__restrict__ x, const float *__restrict__ low, float *__restrict__ y_scale, int K, int N)
{
	const int lane = threadIdx.x;
	const int row = blockIdx.x;
	float sum = -INFINITY;
	for (int point = lane; point < K * N; point += 1024) {
		const int s = point % K;
		const int r = point / K;
		sum = nan_max(sum, x[r * K + s]);
	}
	__shared__ float across[32];
	sum = block_reduce<1024>(sum, op_max(), across);
	if (lane == 0) {
		y_scale[row] = (nan_max(sum, 0.0f) - low[row]) / 255.0f;
	}
}

// y_zero: u8[] = map () u8(select(y_scale[] == 0.0, 0.0, min(max(rint((0.0 - low[]) / y_scale[]), 0.0), 255.0)))
// Schedule: map 1, width 1; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y_zero(const float *__restrict__ low, const float *__restrict__ y_scale, u8 *__restrict__ y_zero)
{
	const int element = blockIdx.x * 256 + threadIdx.x;
	if (element >= 1)
		return;
	const float tmp0 = y_scale[element];
	y_zero[element] = to_u8(tmp0 == 0.0f ? 0.0f : nan_min(nan_max(rintf((0.0f - low[element]) / tmp0), 0.0f), 255.0f));
}

// y: u8[N,K] = map (i, j) u8(min(max(rint(x[i, j] / y_scale[]) + f32(y_zero[]), 0.0), 255.0))
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y_x4(const float *__restrict__ x, u8 *__restrict__ y, const float *__restrict__ y_scale, const u8 *__restrict__ y_zero, int K, int N)
{
	const int element = blockIdx.x * 1024 + threadIdx.x * 4;
	if (element >= K * N)
		return;
	float x_v[4];
	load(x_v, x + element);
	u8 y_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		y_v[v] = to_u8(nan_min(nan_max(rintf(x_v[v] / y_scale[0]) + (float)y_zero[0], 0.0f), 255.0f));
	}
	store(y + element, y_v);
}

// y: u8[N,K] = map (i, j) u8(min(max(rint(x[i, j] / y_scale[]) + f32(y_zero[]), 0.0), 255.0))
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y(const float *__restrict__ x, u8 *__restrict__ y, const float *__restrict__ y_scale, const u8 *__restrict__ y_zero, int K, int N)
{
	const int element = blockIdx.x * 256 + threadIdx.x;
	if (element >= K * N)
		return;
	y[element] = to_u8(nan_min(nan_max(rintf(x[element] / y_scale[0]) + (float)y_zero[0], 0.0f), 255.0f));
}

// low: f32[] = min ( | r<N, s<K) x[r, s] then min(it, 0.0)
// Schedule: reduce_lanes 1, lanes 1024; 1024 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(1024)
void DynamicQuantizeLinear_low_64(const float *__restrict__ x, float *__restrict__ low, i64 K, i64 N)
{
	const i64 lane = (i64)threadIdx.x;
	const i64 row = (i64)blockIdx.x;
	float sum = INFINITY;
	for (i64 point = lane; point < K * N; point += 1024) {
		const i64 s = point % K;
		const i64 r = point / K;
		sum = nan_min(sum, x[r * K + s]);
	}
	__shared__ float across[32];
	sum = block_reduce<1024>(sum, op_min(), across);
	if (lane == 0) {
		low[row] = nan_min(sum, 0.0f);
	}
}

// y_scale: f32[] = max ( | r<N, s<K) x[r, s] then (max(it, 0.0) - low[]) / 255.0
// Schedule: reduce_lanes 1, lanes 1024; 1024 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(1024)
void DynamicQuantizeLinear_y_scale_64(const float *__restrict__ x, const float *__restrict__ low, float *__restrict__ y_scale, i64 K, i64 N)
{
	const i64 lane = (i64)threadIdx.x;
	const i64 row = (i64)blockIdx.x;
	float sum = -INFINITY;
	for (i64 point = lane; point < K * N; point += 1024) {
		const i64 s = point % K;
		const i64 r = point / K;
		sum = nan_max(sum, x[r * K + s]);
	}
	__shared__ float across[32];
	sum = block_reduce<1024>(sum, op_max(), across);
	if (lane == 0) {
		y_scale[row] = (nan_max(sum, 0.0f) - low[row]) / 255.0f;
	}
}

// y: u8[N,K] = map (i, j) u8(min(max(rint(x[i, j] / y_scale[]) + f32(y_zero[]), 0.0), 255.0))
// Schedule: map 1, width 4; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y_64(const float *__restrict__ x, u8 *__restrict__ y, const float *__restrict__ y_scale, const u8 *__restrict__ y_zero, i64 K, i64 N)
{
	const i64 element = (i64)blockIdx.x * 256 + (i64)threadIdx.x;
	if (element >= K * N)
		return;
	y[element] = to_u8(nan_min(nan_max(rintf(x[element] / y_scale[0]) + (float)y_zero[0], 0.0f), 255.0f));
}
