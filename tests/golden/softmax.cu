#include "tpat_device.h"

/* program Softmax(x: f32[N,H,S,S]) -> (y: f32[N,H,S,S])
  largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
  total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
  y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
 */

// largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
// total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: rows 4, lanes 8, width 4, steps 2, once 1, ahead 0, shared 0; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y(const float *x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread % 8;
	const int row = min(block * 16 + thread / 8, H * N * S - 1);
	float x_v[2][4];
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = min(lane * 4 + step * 32, S - 4);
		load_once(x_v[step], x + row * S + at);
	}
	float kept_v[2][4];
	float max_of_row = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 32;
		if (at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				max_of_row = nan_max(max_of_row, x_v[step][item]);
			}
		}
	}
	max_of_row = warp_reduce<8>(max_of_row, op_max());
	const float this_largest = max_of_row;
	float sum_of_row = 0.0f;
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 32;
		if (at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				kept_v[step][item] = expf(x_v[step][item] - this_largest);
				sum_of_row = sum_of_row + kept_v[step][item];
			}
		}
	}
	sum_of_row = warp_reduce<8>(sum_of_row, op_sum());
	const float this_total = sum_of_row;
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 32;
		if (at < S) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = quotient(kept_v[step][item], this_total);
			}
			store_once(y + row * S + at, y_v);
		}
	}
}

// largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
// total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: rows 4, lanes 8, width 4, steps 2, once 1, ahead 0, shared 0; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y_any(const float *__restrict__ x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	const int lane = thread % 32;
	const int row = block * 4 + thread / 32;
	if (row >= H * N * S)
		return;
	float max_of_row = -INFINITY;
	for (int at = lane; at < S; at += 32) {
		float x_v[1];
		load(x_v, x + row * S + at);
		#pragma unroll
		for (int item = 0; item < 1; item++) {
			max_of_row = nan_max(max_of_row, x_v[item]);
		}
	}
	max_of_row = warp_reduce(max_of_row, op_max());
	const float this_largest = max_of_row;
	float sum_of_row = 0.0f;
	for (int at = lane; at < S; at += 32) {
		float x_v[1];
		load(x_v, x + row * S + at);
		#pragma unroll
		for (int item = 0; item < 1; item++) {
			sum_of_row = sum_of_row + expf(x_v[item] - this_largest);
		}
	}
	sum_of_row = warp_reduce(sum_of_row, op_sum());
	const float this_total = sum_of_row;
	for (int at = lane; at < S; at += 32) {
		float x_v[1];
		load(x_v, x + row * S + at);
		float y_v[1];
		#pragma unroll
		for (int item = 0; item < 1; item++) {
			y_v[item] = quotient(expf(x_v[item] - this_largest), this_total);
		}
		store_once(y + row * S + at, y_v);
	}
}

// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: rows 4, lanes 8, width 4, steps 2, once 1, ahead 0, shared 0; 128 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y_any_64(const float *__restrict__ x, float *__restrict__ y, i64 N, i64 H, i64 S)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	const i64 lane = thread % 32;
	const i64 row = block * 4 + thread / 32;
	if (row >= H * N * S)
		return;
	float max_of_row = -INFINITY;
	for (i64 at = lane; at < S; at += 32) {
		float x_v[1];
		load(x_v, x + row * S + at);
		#pragma unroll
		for (i64 item = 0; item < 1; item++) {
			max_of_row = nan_max(max_of_row, x_v[item]);
		}
	}
	max_of_row = warp_reduce(max_of_row, op_max());
	const float this_largest = max_of_row;
	float sum_of_row = 0.0f;
	for (i64 at = lane; at < S; at += 32) {
		float x_v[1];
		load(x_v, x + row * S + at);
		#pragma unroll
		for (i64 item = 0; item < 1; item++) {
			sum_of_row = sum_of_row + expf(x_v[item] - this_largest);
		}
	}
	sum_of_row = warp_reduce(sum_of_row, op_sum());
	const float this_total = sum_of_row;
	for (i64 at = lane; at < S; at += 32) {
		float x_v[1];
		load(x_v, x + row * S + at);
		float y_v[1];
		#pragma unroll
		for (i64 item = 0; item < 1; item++) {
			y_v[item] = quotient(expf(x_v[item] - this_largest), this_total);
		}
		store_once(y + row * S + at, y_v);
	}
}
