#include "tpat_device.h"

// program LayerNorm(x: f16[B,S,768], scale: f16[768], bias: f16[768]) -> (y: f16[B,S,768])

// mean: f32[B,S,1] = sum (i, j, k | r<768) f32(x[i, j, r]) then it / 768.0
// root: f32[B,S,1] = sum (i, j, k | r<768) let _0 = f32(x[i, j, r]) - mean[i, j, 0]; _0 * _0
//     then sqrt(it / 768.0 + 1e-05)
// y: f16[B,S,768] = map (i, j, k) f16((f32(x[i, j, k]) - mean[i, j, 0]) / root[i, j, 0] * f32(scale[k]) +
//     f32(bias[k]))
// Schedule: rows@4 lanes=32 width=8 steps=3 once=0 ahead=0 shared=0; 128 threads a block.
// A row has 32 threads, and stays in registers from the first stage to the last: 3 vectors of 8 elements each.
// Launch: ceil(B * S / 4) blocks of 128 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(128)
void LayerNorm_y(const f16 *x, const f16 *scale, const f16 *bias, f16 *__restrict__ y, int B, int S)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread % 32;
	const int row = block * 4 + thread / 32;
	if (row >= B * S)
		return;
	f16 x_v[3][8];
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = lane * 8 + step * 256;
		load(x_v[step], x + row * 768 + at);
	}
	float mean_sum = 0.0f;
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			mean_sum += to_f32(x_v[step][item]);
		}
	}
	mean_sum = warp_reduce(mean_sum, op_sum());
	const float row_mean = mean_sum * 0.0013020834f;
	float root_sum = 0.0f;
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			const float difference = to_f32(x_v[step][item]) - row_mean;
			root_sum = fmaf(difference, difference, root_sum);
		}
	}
	root_sum = warp_reduce(root_sum, op_sum());
	const float row_root = sqrtf(root_sum * 0.0013020834f + 1e-05f);
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = lane * 8 + step * 256;
		f16 scale_along[8];
		load(scale_along, scale + at);
		f16 bias_along[8];
		load(bias_along, bias + at);
		f16 y_v[8];
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			const float total = fmaf(coarse_quotient(to_f32(x_v[step][item]) - row_mean, row_root),
			                         to_f32(scale_along[item]), to_f32(bias_along[item]));
			y_v[item] = to_f16(total);
		}
		store(y + row * 768 + at, y_v);
	}
}

// The same as LayerNorm_y.
// Schedule: rows@4 lanes=32 width=8 steps=3 once=0 ahead=0 shared=0; 128 threads a block; 64-bit positions.
// Launch: ceil(B * S / 4) blocks of 128 threads.
// Runs unless LayerNorm_y does.
extern "C" __global__ __launch_bounds__(128)
void LayerNorm_y_64(const f16 *x, const f16 *scale, const f16 *bias, f16 *__restrict__ y, i64 B, i64 S)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread % 32;
	const i64 row = block * 4 + thread / 32;
	if (row >= B * S)
		return;
	f16 x_v[3][8];
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		const i64 at = lane * 8 + step * 256;
		load(x_v[step], x + row * 768 + at);
	}
	float mean_sum = 0.0f;
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		#pragma unroll
		for (i64 item = 0; item < 8; item++) {
			mean_sum += to_f32(x_v[step][item]);
		}
	}
	mean_sum = warp_reduce(mean_sum, op_sum());
	const float row_mean = mean_sum * 0.0013020834f;
	float root_sum = 0.0f;
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		#pragma unroll
		for (i64 item = 0; item < 8; item++) {
			const float difference = to_f32(x_v[step][item]) - row_mean;
			root_sum = fmaf(difference, difference, root_sum);
		}
	}
	root_sum = warp_reduce(root_sum, op_sum());
	const float row_root = sqrtf(root_sum * 0.0013020834f + 1e-05f);
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		const i64 at = lane * 8 + step * 256;
		f16 scale_along[8];
		load(scale_along, scale + at);
		f16 bias_along[8];
		load(bias_along, bias + at);
		f16 y_v[8];
		#pragma unroll
		for (i64 item = 0; item < 8; item++) {
			const float total = fmaf(coarse_quotient(to_f32(x_v[step][item]) - row_mean, row_root),
			                         to_f32(scale_along[item]), to_f32(bias_along[item]));
			y_v[item] = to_f16(total);
		}
		store(y + row * 768 + at, y_v);
	}
}
