#include "tpat_device.h"

/* program LayerNorm(x: f16[B,S,768], scale: f16[768], bias: f16[768]) -> (y: f16[B,S,768])
  mean: f32[B,S,1] = sum (i, j, k | r<768) f32(x[i, j, r]) then it / 768.0
  root: f32[B,S,1] = sum (i, j, k | r<768) let _0 = f32(x[i, j, r]) - mean[i, j, 0]; _0 * _0 then sqrt(it / 768.0 + 1e-05)
  y: f16[B,S,768] = map (i, j, k) f16((f32(x[i, j, k]) - mean[i, j, 0]) / root[i, j, 0] * f32(scale[k]) + f32(bias[k]))
 */

// mean: f32[B,S,1] = sum (i, j, k | r<768) f32(x[i, j, r]) then it / 768.0
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void LayerNorm_mean(const f16 *__restrict__ x, float *__restrict__ mean, int B, int S)
{
	const int lane = threadIdx.x % 32;
	const int row = blockIdx.x * 4 + threadIdx.x / 32;
	if (row >= B * S)
		return;
	const int j = row % S;
	const int i = row / S;
	float sum = 0.0f;
	for (int r = lane; r < 768; r += 32) {
		sum = sum + to_f32(x[i * S * 768 + j * 768 + r]);
	}
	sum = warp_reduce(sum, op_sum());
	if (lane == 0) {
		mean[row] = sum / 768.0f;
	}
}

// root: f32[B,S,1] = sum (i, j, k | r<768) let _0 = f32(x[i, j, r]) - mean[i, j, 0]; _0 * _0 then sqrt(it / 768.0 +
// 1e-05)
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void LayerNorm_root(const f16 *__restrict__ x, const float *__restrict__ mean, float *__restrict__ root, int B, int S)
{
	const int lane = threadIdx.x % 32;
	const int row = blockIdx.x * 4 + threadIdx.x / 32;
	if (row >= B * S)
		return;
	const int j = row % S;
	const int i = row / S;
	float sum = 0.0f;
	for (int r = lane; r < 768; r += 32) {
		const float tmp0 = to_f32(x[i * S * 768 + j * 768 + r]) - mean[i * S + j];
		sum = sum + tmp0 * tmp0;
	}
	sum = warp_reduce(sum, op_sum());
	if (lane == 0) {
		root[row] = sqrtf(sum / 768.0f + 1e-05f);
	}
}

// y: f16[B,S,768] = map (i, j, k) f16((f32(x[i, j, k]) - mean[i, j, 0]) / root[i, j, 0] * f32(scale[k]) +
// f32(bias[k]))
// Schedule: map 1, width 8; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void LayerNorm_y_x8(const f16 *__restrict__ x, const f16 *__restrict__ scale, const f16 *__restrict__ bias, const float *__restrict__ mean, const float *__restrict__ root, f16 *__restrict__ y, int B, int S)
{
	const int element = blockIdx.x * 2048 + threadIdx.x * 8;
	if (element >= B * S * 768)
		return;
	const int k = element % 768;
	const int j = element / 768 % S;
	const int i = element / 768 / S;
	f16 x_v[8];
	load(x_v, x + element);
	f16 scale_v[8];
	load(scale_v, scale + k);
	f16 bias_v[8];
	load(bias_v, bias + k);
	f16 y_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		y_v[v] = to_f16((to_f32(x_v[v]) - mean[i * S + j]) / root[i * S + j] * to_f32(scale_v[v]) + to_f32(bias_v[v]));
	}
	store(y + element, y_v);
}

// mean: f32[B,S,1] = sum (i, j, k | r<768) f32(x[i, j, r]) then it / 768.0
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(128)
void LayerNorm_mean_64(const f16 *__restrict__ x, float *__restrict__ mean, i64 B, i64 S)
{
	const i64 lane = (i64)threadIdx.x % 32;
	const i64 row = (i64)blockIdx.x * 4 + (i64)threadIdx.x / 32;
	if (row >= B * S)
		return;
	const i64 j = row % S;
	const i64 i = row / S;
	float sum = 0.0f;
	for (i64 r = lane; r < 768; r += 32) {
		sum = sum + to_f32(x[i * S * 768 + j * 768 + r]);
	}
	sum = warp_reduce(sum, op_sum());
	if (lane == 0) {
		mean[row] = sum / 768.0f;
	}
}

// root: f32[B,S,1] = sum (i, j, k | r<768) let _0 = f32(x[i, j, r]) - mean[i, j, 0]; _0 * _0 then sqrt(it / 768.0 +
// 1e-05)
// Schedule: reduce_lanes 1, lanes 32; 128 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(128)
void LayerNorm_root_64(const f16 *__restrict__ x, const float *__restrict__ mean, float *__restrict__ root, i64 B, i64 S)
{
	const i64 lane = (i64)threadIdx.x % 32;
	const i64 row = (i64)blockIdx.x * 4 + (i64)threadIdx.x / 32;
	if (row >= B * S)
		return;
	const i64 j = row % S;
	const i64 i = row / S;
	float sum = 0.0f;
	for (i64 r = lane; r < 768; r += 32) {
		const float tmp0 = to_f32(x[i * S * 768 + j * 768 + r]) - mean[i * S + j];
		sum = sum + tmp0 * tmp0;
	}
	sum = warp_reduce(sum, op_sum());
	if (lane == 0) {
		root[row] = sqrtf(sum / 768.0f + 1e-05f);
	}
}

// y: f16[B,S,768] = map (i, j, k) f16((f32(x[i, j, k]) - mean[i, j, 0]) / root[i, j, 0] * f32(scale[k]) +
// f32(bias[k]))
// Schedule: map 1, width 8; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void LayerNorm_y_x8_64(const f16 *__restrict__ x, const f16 *__restrict__ scale, const f16 *__restrict__ bias, const float *__restrict__ mean, const float *__restrict__ root, f16 *__restrict__ y, i64 B, i64 S)
{
	const i64 element = (i64)blockIdx.x * 2048 + (i64)threadIdx.x * 8;
	if (element >= B * S * 768)
		return;
	const i64 k = element % 768;
	const i64 j = element / 768 % S;
	const i64 i = element / 768 / S;
	f16 x_v[8];
	load(x_v, x + element);
	f16 scale_v[8];
	load(scale_v, scale + k);
	f16 bias_v[8];
	load(bias_v, bias + k);
	f16 y_v[8];
	#pragma unroll
	for (i64 v = 0; v < 8; v++) {
		y_v[v] = to_f16((to_f32(x_v[v]) - mean[i * S + j]) / root[i * S + j] * to_f32(scale_v[v]) + to_f32(bias_v[v]));
	}
	store(y + element, y_v);
}
