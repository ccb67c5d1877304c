#include "tpat_device.h"

// program groups(x: f32[N,12,H,W], scale: f32[12]) -> (y: f32[N,12,H,W])

// mean: f32[N,4] = sum (i, j | r<3, s<H, t<W) x[i, j * 3 + r, s, t] then it / f32(H * W * 3)
// y: f32[N,12,H,W] = map (i, j, k, l) (x[i, j, k, l] - mean[i, floordiv(j, 3)]) * scale[j]
// Schedule: rows@4 lanes=512 width=4 steps=6 once=0 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and stays in registers from the first stage to the last: 6 vectors of 4 elements each.
// Launch: N * 4 blocks of 512 threads.
// Runs if H * W % 4 == 0 && H * W * 3 <= 12288 && H * W * 3 > 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(512, 2)
void groups_y(const float *x, const float *scale, float *__restrict__ y, int N, int H, int W, const u64 inverse)
{
	const divisor by = { H * W, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	const int row = block;
	float x_v[6][4];
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = min(lane * 4 + step * 2048, H * W * 3 - 4);
		load(x_v[step], x + row * H * W * 3 + at);
	}
	float mean_sum = 0.0f;
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = lane * 4 + step * 2048;
		if (step < 1 || at < H * W * 3) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				mean_sum += at < H * W * 3 ? x_v[step][item] : 0.0f;
			}
		}
	}
	__shared__ float mean_sum_across[16];
	mean_sum = block_reduce<512>(mean_sum, op_sum(), mean_sum_across);
	const float row_mean = mean_sum / (float)(H * W * 3);
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = lane * 4 + step * 2048;
		if (step < 1 || at < H * W * 3) {
			const int near = min(at, H * W * 3 - 4);
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const int j = row % 4;
				const int k = near / by;
				y_v[item] = (x_v[step][item] - row_mean) * scale[j * 3 + k];
			}
			if (at < H * W * 3) {
				store(y + row * H * W * 3 + at, y_v);
			}
		}
	}
}

// The same as groups_y.
// Schedule: rows@4 lanes=512 width=4 steps=6 once=0 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and stays in registers from the first stage to the last: 7 vectors of 4 elements each.
// Launch: N * 4 blocks of 512 threads.
// Runs if H * W * 3 <= 14333 && H * W * 3 > 0 && H * N * W * 12 >= 4, and all positions fit into 32 bits, unless
//     groups_y does.
extern "C" __global__ __launch_bounds__(512, 2)
void groups_y_shifted(const float *x, const float *scale, float *__restrict__ y, int N, int H, int W, const u64 inverse)
{
	const divisor by = { H * W, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	const int row = block;
	const int product = row * H * W * 3;
	const int first = product - product % 4;
	const int last = H * N * W * 12 - 4;
	const int row_last = min(last, product - (product + H * W * 3 + 3) % 4 + H * W * 3 - 1);
	float x_v[7][4];
	#pragma unroll
	for (int step = 0; step < 7; step++) {
		const int place = min(row_last, lane * 4 + first + step * 2048);
		load(x_v[step], x + place);
	}
	float mean_sum = 0.0f;
	#pragma unroll
	for (int step = 0; step < 7; step++) {
		const int at = lane * 4 - product + first + step * 2048;
		if (step < 1 || at < H * W * 3) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const float chosen = ((step > 0 || at + item >= 0) && at + item < H * W * 3)
				                     ? x_v[step][item] : 0.0f;
				mean_sum += chosen;
			}
		}
	}
	__shared__ float mean_sum_across[16];
	mean_sum = block_reduce<512>(mean_sum, op_sum(), mean_sum_across);
	const float row_mean = mean_sum / (float)(H * W * 3);
	#pragma unroll
	for (int step = 0; step < 7; step++) {
		const int at = lane * 4 - product + first + step * 2048;
		if (step < 1 || at < H * W * 3) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const int j = row % 4;
				const int k = max(0, min(at + item, H * W * 3 - 1)) / by;
				y_v[item] = (x_v[step][item] - row_mean) * scale[j * 3 + k];
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= H * W * 3;
			if (whole) {
				store(y + product + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < H * W * 3) {
						y[product + element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as groups_y.
// Schedule: rows@4 lanes=512 width=4 steps=6 once=0 ahead=0 shared=0; 1024 threads a block.
// A row has 1024 threads, and stays in registers from the first stage to the last: 8 vectors of 4 elements each.
// Launch: N * 4 blocks of 1024 threads.
// Runs if H * W * 3 <= 32765 && H * W * 3 > 0 && H * N * W * 12 >= 4, and all positions fit into 32 bits, unless
//     groups_y or groups_y_shifted does.
extern "C" __global__ __launch_bounds__(1024)
void groups_y_longer(const float *x, const float *scale, float *__restrict__ y, int N, int H, int W, const u64 inverse)
{
	const divisor by = { H * W, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 1024);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	const int row = block;
	const int product = row * H * W * 3;
	const int first = product - product % 4;
	const int last = H * N * W * 12 - 4;
	const int row_last = min(last, product - (product + H * W * 3 + 3) % 4 + H * W * 3 - 1);
	float x_v[8][4];
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int place = min(row_last, lane * 4 + first + step * 4096);
		load(x_v[step], x + place);
	}
	float mean_sum = 0.0f;
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 - product + first + step * 4096;
		if (step < 1 || at < H * W * 3) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const float chosen = ((step > 0 || at + item >= 0) && at + item < H * W * 3)
				                     ? x_v[step][item] : 0.0f;
				mean_sum += chosen;
			}
		}
	}
	__shared__ float mean_sum_across[32];
	mean_sum = block_reduce<1024>(mean_sum, op_sum(), mean_sum_across);
	const float row_mean = mean_sum / (float)(H * W * 3);
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 - product + first + step * 4096;
		if (step < 1 || at < H * W * 3) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const int j = row % 4;
				const int k = max(0, min(at + item, H * W * 3 - 1)) / by;
				y_v[item] = (x_v[step][item] - row_mean) * scale[j * 3 + k];
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= H * W * 3;
			if (whole) {
				store(y + product + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < H * W * 3) {
						y[product + element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as groups_y.
// Schedule: rows@4 lanes=512 width=4 steps=6 once=0 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and every stage reads it again.
// Launch: N * 4 blocks of 512 threads.
// Runs if all positions fit into 32 bits, unless groups_y or groups_y_shifted or groups_y_longer does.
extern "C" __global__ __launch_bounds__(512)
void groups_y_any(const float *x, const float *scale, float *__restrict__ y, int N, int H, int W, const u64 inverse)
{
	const divisor by = { H * W, inverse };
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	const int row = block;
	float mean_sum = 0.0f;
	for (int at = lane; at < H * W * 3; at += 512) {
		float x_v = x[row * H * W * 3 + at];
		mean_sum += x_v;
	}
	__shared__ float mean_sum_across[16];
	mean_sum = block_reduce<512>(mean_sum, op_sum(), mean_sum_across);
	const float row_mean = mean_sum / (float)(H * W * 3);
	for (int at = lane; at < H * W * 3; at += 512) {
		float x_v = x[row * H * W * 3 + at];
		const int j = row % 4;
		const int k = at / by;
		float y_v = (x_v - row_mean) * scale[j * 3 + k];
		y[row * H * W * 3 + at] = y_v;
	}
}

// The same as groups_y.
// Schedule: rows@4 lanes=512 width=4 steps=6 once=0 ahead=0 shared=0; 512 threads a block; 64-bit positions.
// Launch: N * 4 blocks of 512 threads.
// Runs unless groups_y or groups_y_shifted or groups_y_longer or groups_y_any does.
extern "C" __global__ __launch_bounds__(512)
void groups_y_any_64(const float *x, const float *scale, float *__restrict__ y, i64 N, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread;
	const i64 row = block;
	float mean_sum = 0.0f;
	for (i64 at = lane; at < H * W * 3; at += 512) {
		float x_v = x[row * H * W * 3 + at];
		mean_sum += x_v;
	}
	__shared__ float mean_sum_across[16];
	mean_sum = block_reduce<512>(mean_sum, op_sum(), mean_sum_across);
	const float row_mean = mean_sum / (float)(H * W * 3);
	for (i64 at = lane; at < H * W * 3; at += 512) {
		float x_v = x[row * H * W * 3 + at];
		const i64 j = row % 4;
		const i64 k = at / (H * W);
		float y_v = (x_v - row_mean) * scale[j * 3 + k];
		y[row * H * W * 3 + at] = y_v;
	}
}
