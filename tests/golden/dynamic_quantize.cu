#include "tpat_device.h"

// program DynamicQuantizeLinear(x: f32[N,K]) -> (y: u8[N,K], y_scale: f32[], y_zero: u8[])

// low: f32[] = min (| r<N, s<K) x[r, s] then min(it, 0.0)
// y_scale: f32[] = max (| r<N, s<K) x[r, s] then (max(it, 0.0) - low[]) / 255.0
// y_zero: u8[] = map () u8(select(y_scale[] == 0.0, 0.0, min(max(rint((0.0 - low[]) / y_scale[]), 0.0), 255.0)))
// y: u8[N,K] = map (i, j) u8(min(max(rint(x[i, j] / y_scale[]) + f32(y_zero[]), 0.0), 255.0))
// Schedule: rows@4 lanes=256 width=4 steps=4 once=0 ahead=0 shared=0; 256 threads a block.
// A row has 256 threads, and stays in registers from the first stage to the last: 4 vectors of 4 elements each.
// Launch: one block of 256 threads.
// Runs if K * N % 4 == 0 && K * N <= 4096 && K * N > 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y(const float *x, u8 *__restrict__ y, float *__restrict__ y_scale, u8 *__restrict__ y_zero,
                             int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	wait_for_last_kernel();
	const int lane = thread;
	float x_v[4][4];
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = min(lane * 4 + step * 1024, K * N - 4);
		load(x_v[step], x + at);
	}
	float low_min = INFINITY;
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 + step * 1024;
		if (step < 1 || at < K * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				low_min = nan_min(low_min, at < K * N ? x_v[step][item] : INFINITY);
			}
		}
	}
	__shared__ float low_min_across[8];
	low_min = block_reduce<256>(low_min, op_min(), low_min_across);
	const float row_low = nan_min(low_min, 0.0f);
	float y_scale_max = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 + step * 1024;
		if (step < 1 || at < K * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_scale_max = nan_max(y_scale_max, at < K * N ? x_v[step][item] : -INFINITY);
			}
		}
	}
	__shared__ float y_scale_max_across[8];
	y_scale_max = block_reduce<256>(y_scale_max, op_max(), y_scale_max_across);
	const float row_y_scale = quotient(nan_max(y_scale_max, 0.0f) - row_low, 255.0f);
	if (lane == 0) {
		y_scale[0] = row_y_scale;
	}
	const u8 row_y_zero = to_u8(row_y_scale == 0.0f ? 0.0f
	                            : nan_min(nan_max(rintf((0.0f - row_low) / row_y_scale), 0.0f), 255.0f));
	if (lane == 0) {
		y_zero[0] = row_y_zero;
	}
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 + step * 1024;
		if (step < 1 || at < K * N) {
			u8 y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = round_to_u8(rintf(quotient(x_v[step][item], row_y_scale)) +
				                        byte_to_f32(row_y_zero));
			}
			if (at < K * N) {
				store(y + at, y_v);
			}
		}
	}
}

// The same as DynamicQuantizeLinear_y.
// Schedule: rows@4 lanes=256 width=4 steps=4 once=0 ahead=0 shared=0; 256 threads a block.
// A row has 256 threads, and stays in registers from the first stage to the last: 5 vectors of 4 elements each.
// Launch: one block of 256 threads.
// Runs if K * N <= 5117 && K * N > 0 && K * N >= 4, and all positions fit into 32 bits, unless DynamicQuantizeLinear_y
//     does.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y_shifted(const float *x, u8 *__restrict__ y, float *__restrict__ y_scale,
                                     u8 *__restrict__ y_zero, int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	wait_for_last_kernel();
	const int lane = thread;
	const int first = 0;
	const int last = K * N - K * N % 4 - 4;
	const int row_last = min(last, K * N - (K * N + 3) % 4 - 1);
	float x_v[5][4];
	#pragma unroll
	for (int step = 0; step < 5; step++) {
		const int place = min(row_last, lane * 4 + first + step * 1024);
		load(x_v[step], x + place);
	}
	if (last + 4 < K * N) {
		#pragma unroll
		for (int step = 0; step < 5; step++) {
			const int place = lane * 4 + first + step * 1024;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < K * N) {
						x_v[step][item] = x[place_2];
					}
				}
			}
		}
	}
	float low_min = INFINITY;
	#pragma unroll
	for (int step = 0; step < 5; step++) {
		const int at = lane * 4 + first + step * 1024;
		if (step < 1 || at < K * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const float chosen = ((step > 0 || at + item >= 0) && at + item < K * N)
				                     ? x_v[step][item] : INFINITY;
				low_min = nan_min(low_min, chosen);
			}
		}
	}
	__shared__ float low_min_across[8];
	low_min = block_reduce<256>(low_min, op_min(), low_min_across);
	const float row_low = nan_min(low_min, 0.0f);
	float y_scale_max = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 5; step++) {
		const int at = lane * 4 + first + step * 1024;
		if (step < 1 || at < K * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const float chosen = ((step > 0 || at + item >= 0) && at + item < K * N)
				                     ? x_v[step][item] : -INFINITY;
				y_scale_max = nan_max(y_scale_max, chosen);
			}
		}
	}
	__shared__ float y_scale_max_across[8];
	y_scale_max = block_reduce<256>(y_scale_max, op_max(), y_scale_max_across);
	const float row_y_scale = quotient(nan_max(y_scale_max, 0.0f) - row_low, 255.0f);
	if (lane == 0) {
		y_scale[0] = row_y_scale;
	}
	const u8 row_y_zero = to_u8(row_y_scale == 0.0f ? 0.0f
	                            : nan_min(nan_max(rintf((0.0f - row_low) / row_y_scale), 0.0f), 255.0f));
	if (lane == 0) {
		y_zero[0] = row_y_zero;
	}
	#pragma unroll
	for (int step = 0; step < 5; step++) {
		const int at = lane * 4 + first + step * 1024;
		if (step < 1 || at < K * N) {
			u8 y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = round_to_u8(rintf(quotient(x_v[step][item], row_y_scale)) +
				                        byte_to_f32(row_y_zero));
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= K * N;
			if (whole) {
				store(y + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < K * N) {
						y[element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as DynamicQuantizeLinear_y.
// Schedule: rows@4 lanes=256 width=4 steps=4 once=0 ahead=0 shared=0; 1024 threads a block.
// A row has 1024 threads, and stays in registers from the first stage to the last: 8 vectors of 4 elements each.
// Launch: one block of 1024 threads.
// Runs if K * N <= 32765 && K * N > 0 && K * N >= 4, and all positions fit into 32 bits, unless
//     DynamicQuantizeLinear_y or DynamicQuantizeLinear_y_shifted does.
extern "C" __global__ __launch_bounds__(1024)
void DynamicQuantizeLinear_y_longer(const float *x, u8 *__restrict__ y, float *__restrict__ y_scale,
                                    u8 *__restrict__ y_zero, int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 1024);
	wait_for_last_kernel();
	const int lane = thread;
	const int first = 0;
	const int last = K * N - K * N % 4 - 4;
	const int row_last = min(last, K * N - (K * N + 3) % 4 - 1);
	float x_v[8][4];
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int place = min(row_last, lane * 4 + first + step * 4096);
		load(x_v[step], x + place);
	}
	if (last + 4 < K * N) {
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int place = lane * 4 + first + step * 4096;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < K * N) {
						x_v[step][item] = x[place_2];
					}
				}
			}
		}
	}
	float low_min = INFINITY;
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 + first + step * 4096;
		if (step < 1 || at < K * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const float chosen = ((step > 0 || at + item >= 0) && at + item < K * N)
				                     ? x_v[step][item] : INFINITY;
				low_min = nan_min(low_min, chosen);
			}
		}
	}
	__shared__ float low_min_across[32];
	low_min = block_reduce<1024>(low_min, op_min(), low_min_across);
	const float row_low = nan_min(low_min, 0.0f);
	float y_scale_max = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 + first + step * 4096;
		if (step < 1 || at < K * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const float chosen = ((step > 0 || at + item >= 0) && at + item < K * N)
				                     ? x_v[step][item] : -INFINITY;
				y_scale_max = nan_max(y_scale_max, chosen);
			}
		}
	}
	__shared__ float y_scale_max_across[32];
	y_scale_max = block_reduce<1024>(y_scale_max, op_max(), y_scale_max_across);
	const float row_y_scale = quotient(nan_max(y_scale_max, 0.0f) - row_low, 255.0f);
	if (lane == 0) {
		y_scale[0] = row_y_scale;
	}
	const u8 row_y_zero = to_u8(row_y_scale == 0.0f ? 0.0f
	                            : nan_min(nan_max(rintf((0.0f - row_low) / row_y_scale), 0.0f), 255.0f));
	if (lane == 0) {
		y_zero[0] = row_y_zero;
	}
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 + first + step * 4096;
		if (step < 1 || at < K * N) {
			u8 y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = round_to_u8(rintf(quotient(x_v[step][item], row_y_scale)) +
				                        byte_to_f32(row_y_zero));
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= K * N;
			if (whole) {
				store(y + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < K * N) {
						y[element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as DynamicQuantizeLinear_y.
// Schedule: rows@4 lanes=256 width=4 steps=4 once=0 ahead=0 shared=0; 256 threads a block.
// A row has 256 threads, and every stage reads it again.
// Launch: one block of 256 threads.
// Runs if all positions fit into 32 bits, unless DynamicQuantizeLinear_y or DynamicQuantizeLinear_y_shifted or
//     DynamicQuantizeLinear_y_longer does.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y_any(const float *x, u8 *__restrict__ y, float *__restrict__ y_scale,
                                 u8 *__restrict__ y_zero, int N, int K)
{
	const int thread = threadIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	float low_min = INFINITY;
	for (int at = lane; at < K * N; at += 256) {
		float x_v = x[at];
		low_min = nan_min(low_min, x_v);
	}
	__shared__ float low_min_across[8];
	low_min = block_reduce<256>(low_min, op_min(), low_min_across);
	const float row_low = nan_min(low_min, 0.0f);
	float y_scale_max = -INFINITY;
	for (int at = lane; at < K * N; at += 256) {
		float x_v = x[at];
		y_scale_max = nan_max(y_scale_max, x_v);
	}
	__shared__ float y_scale_max_across[8];
	y_scale_max = block_reduce<256>(y_scale_max, op_max(), y_scale_max_across);
	const float row_y_scale = quotient(nan_max(y_scale_max, 0.0f) - row_low, 255.0f);
	if (lane == 0) {
		y_scale[0] = row_y_scale;
	}
	const u8 row_y_zero = to_u8(row_y_scale == 0.0f ? 0.0f
	                            : nan_min(nan_max(rintf((0.0f - row_low) / row_y_scale), 0.0f), 255.0f));
	if (lane == 0) {
		y_zero[0] = row_y_zero;
	}
	for (int at = lane; at < K * N; at += 256) {
		float x_v = x[at];
		u8 y_v = round_to_u8(rintf(quotient(x_v, row_y_scale)) + byte_to_f32(row_y_zero));
		y[at] = y_v;
	}
}

// The same as DynamicQuantizeLinear_y.
// Schedule: rows@4 lanes=256 width=4 steps=4 once=0 ahead=0 shared=0; 256 threads a block; 64-bit positions.
// Launch: one block of 256 threads.
// Runs unless DynamicQuantizeLinear_y or DynamicQuantizeLinear_y_shifted or DynamicQuantizeLinear_y_longer or
//     DynamicQuantizeLinear_y_any does.
extern "C" __global__ __launch_bounds__(256)
void DynamicQuantizeLinear_y_any_64(const float *x, u8 *__restrict__ y, float *__restrict__ y_scale,
                                    u8 *__restrict__ y_zero, i64 N, i64 K)
{
	const i64 thread = threadIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread;
	float low_min = INFINITY;
	for (i64 at = lane; at < K * N; at += 256) {
		float x_v = x[at];
		low_min = nan_min(low_min, x_v);
	}
	__shared__ float low_min_across[8];
	low_min = block_reduce<256>(low_min, op_min(), low_min_across);
	const float row_low = nan_min(low_min, 0.0f);
	float y_scale_max = -INFINITY;
	for (i64 at = lane; at < K * N; at += 256) {
		float x_v = x[at];
		y_scale_max = nan_max(y_scale_max, x_v);
	}
	__shared__ float y_scale_max_across[8];
	y_scale_max = block_reduce<256>(y_scale_max, op_max(), y_scale_max_across);
	const float row_y_scale = quotient(nan_max(y_scale_max, 0.0f) - row_low, 255.0f);
	if (lane == 0) {
		y_scale[0] = row_y_scale;
	}
	const u8 row_y_zero = to_u8(row_y_scale == 0.0f ? 0.0f
	                            : nan_min(nan_max(rintf((0.0f - row_low) / row_y_scale), 0.0f), 255.0f));
	if (lane == 0) {
		y_zero[0] = row_y_zero;
	}
	for (i64 at = lane; at < K * N; at += 256) {
		float x_v = x[at];
		u8 y_v = round_to_u8(rintf(quotient(x_v, row_y_scale)) + byte_to_f32(row_y_zero));
		y[at] = y_v;
	}
}
