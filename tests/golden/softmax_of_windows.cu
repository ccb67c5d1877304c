#include "tpat_device.h"

// program Windows(x: f32[6,H,144,144], bias: f32[1,H,144,144], mask: f32[1,3,1,144,144]) -> (y: f32[6,H,144,144])

// largest: f32[2,3,H,144,1] = max (i, j, k, l, m | r<144) x[i * 3 + j, k, l, r] + bias[0, k, l, r] + mask[0, j, 0, l,
//     r]
// total: f32[2,3,H,144,1] = sum (i, j, k, l, m | r<144) exp(x[i * 3 + j, k, l, r] + bias[0, k, l, r] + mask[0, j, 0,
//     l, r] - largest[i, j, k, l, 0])
// y: f32[6,H,144,144] = map (i, j, k, l) exp(x[i, j, k, l] + bias[0, j, k, l] + mask[0, mod(i, 3), 0, k, l] -
//     largest[floordiv(i, 3), mod(i, 3), j, k, 0]) / total[floordiv(i, 3), mod(i, 3), j, k, 0]
// Schedule: rows@4 lanes=32 width=2 steps=3 once=1 ahead=0 shared=0; 128 threads a block.
// A row has 32 threads, and stays in registers from the first stage to the last: 3 vectors of 2 elements each, loaded
//     past the caches.
// Launch: H * 216 blocks of 128 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(128)
void Windows_y(const float *x, const float *bias, const float *mask, float *__restrict__ y, int H, const u64 inverse_H)
{
	const divisor by_H = { H, inverse_H };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread % 32;
	const int row = block * 4 + thread / 32;
	if (row >= H * 864)
		return;
	const int bias_v_from = row % 144 * 144 + row / 144 % by_H * 20736;
	const int mask_v_from = row % 144 * 144 + row / 144 / by_H % 3 * 20736;
	float x_v[3][2];
	float bias_v[3][2];
	float mask_v[3][2];
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = min(142, lane * 2 + step * 64);
		load_once(x_v[step], x + row * 144 + at);
		load(bias_v[step], bias + (bias_v_from + at));
		load(mask_v[step], mask + (mask_v_from + at));
	}
	float kept_v[3][2];
	float kept_v2[3][2];
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = lane * 2 + step * 64;
		if (at < 144) {
			#pragma unroll
			for (int item = 0; item < 2; item++) {
				kept_v[step][item] = x_v[step][item] + bias_v[step][item] + mask_v[step][item];
				row_largest = nan_max(row_largest, kept_v[step][item]);
			}
		}
	}
	row_largest = warp_reduce(row_largest, op_max());
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = lane * 2 + step * 64;
		if (at < 144) {
			#pragma unroll
			for (int item = 0; item < 2; item++) {
				kept_v2[step][item] = expf(kept_v[step][item] - row_largest);
				row_total += kept_v2[step][item];
			}
		}
	}
	row_total = warp_reduce(row_total, op_sum());
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = lane * 2 + step * 64;
		if (at < 144) {
			float y_v[2];
			#pragma unroll
			for (int item = 0; item < 2; item++) {
				y_v[item] = quotient(kept_v2[step][item], row_total);
			}
			store_once(y + row * 144 + at, y_v);
		}
	}
}

// The same as Windows_y.
// Schedule: rows@4 lanes=32 width=2 steps=3 once=1 ahead=0 shared=0; 128 threads a block; 64-bit positions.
// Launch: H * 216 blocks of 128 threads.
// Runs unless Windows_y does.
extern "C" __global__ __launch_bounds__(128)
void Windows_y_64(const float *x, const float *bias, const float *mask, float *__restrict__ y, i64 H)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread % 32;
	const i64 row = block * 4 + thread / 32;
	if (row >= H * 864)
		return;
	const i64 bias_v_from = row % 144 * 144 + row / 144 % H * 20736;
	const i64 mask_v_from = row % 144 * 144 + row / 144 / H % 3 * 20736;
	float x_v[3][2];
	float bias_v[3][2];
	float mask_v[3][2];
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		const i64 at = min((i64)142, lane * 2 + step * 64);
		load_once(x_v[step], x + row * 144 + at);
		load(bias_v[step], bias + (bias_v_from + at));
		load(mask_v[step], mask + (mask_v_from + at));
	}
	float kept_v[3][2];
	float kept_v2[3][2];
	float row_largest = -INFINITY;
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		const i64 at = lane * 2 + step * 64;
		if (at < 144) {
			#pragma unroll
			for (i64 item = 0; item < 2; item++) {
				kept_v[step][item] = x_v[step][item] + bias_v[step][item] + mask_v[step][item];
				row_largest = nan_max(row_largest, kept_v[step][item]);
			}
		}
	}
	row_largest = warp_reduce(row_largest, op_max());
	float row_total = 0.0f;
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		const i64 at = lane * 2 + step * 64;
		if (at < 144) {
			#pragma unroll
			for (i64 item = 0; item < 2; item++) {
				kept_v2[step][item] = expf(kept_v[step][item] - row_largest);
				row_total += kept_v2[step][item];
			}
		}
	}
	row_total = warp_reduce(row_total, op_sum());
	#pragma unroll
	for (i64 step = 0; step < 3; step++) {
		const i64 at = lane * 2 + step * 64;
		if (at < 144) {
			float y_v[2];
			#pragma unroll
			for (i64 item = 0; item < 2; item++) {
				y_v[item] = quotient(kept_v2[step][item], row_total);
			}
			store_once(y + row * 144 + at, y_v);
		}
	}
}
