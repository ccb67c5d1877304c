#include "tpat_device.h"

// program Softmax(x: f32[N,H,S,S]) -> (y: f32[N,H,S,S])

// largest: f32[N,H,S] = max (i, j, k | r<S) x[i, j, k, r]
// total: f32[N,H,S] = sum (i, j, k | r<S) exp(x[i, j, k, r] - largest[i, j, k])
// y: f32[N,H,S,S] = map (i, j, k, l) exp(x[i, j, k, l] - largest[i, j, k]) / total[i, j, k]
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 128 threads a block.
// A row has 8 threads, and stays in registers from the first stage to the last: 2 vectors of 4 elements each, loaded
//     past the caches.
// Launch: ceil(H * N * S / 16) blocks of 128 threads.
// Runs if S % 4 == 0 && S <= 64 && S > 0, and all positions fit into 32 bits.
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
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 32;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				row_largest = nan_max(row_largest, at < S ? x_v[step][item] : -INFINITY);
			}
		}
	}
	row_largest = warp_reduce<8>(row_largest, op_max());
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 32;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				kept_v[step][item] = expf(x_v[step][item] - row_largest);
				row_total += at < S ? kept_v[step][item] : 0.0f;
			}
		}
	}
	row_total = warp_reduce<8>(row_total, op_sum());
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 32;
		if (step < 1 || at < S) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = quotient(kept_v[step][item], row_total);
			}
			if (at < S) {
				store_once(y + row * S + at, y_v);
			}
		}
	}
}

// The same as Softmax_y.
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 128 threads a block.
// A row has 8 threads, and stays in registers from the first stage to the last: 6 vectors of 2 elements each, loaded
//     past the caches.
// Launch: ceil(H * N * S / 16) blocks of 128 threads.
// Runs if S <= 95 && S > 0 && H * N * S * S >= 2, and all positions fit into 32 bits, unless Softmax_y does.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y_shifted(const float *x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread % 8;
	const int row = min(block * 16 + thread / 8, H * N * S - 1);
	const int first = row * S - row * S % 2;
	const int product = H * N * S * S;
	const int last = product - product % 2 - 2;
	const int row_last = min(last, row * S - (row * S + S + 1) % 2 + S - 1);
	float x_v[6][2];
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int place = min(row_last, lane * 2 + first + step * 16);
		load_once(x_v[step], x + place);
	}
	if (last + 2 < row * S + S) {
		#pragma unroll
		for (int step = 0; step < 6; step++) {
			const int place = lane * 2 + first + step * 16;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 2; item++) {
					const int place_2 = place + item;
					if (place_2 < product) {
						x_v[step][item] = x[place_2];
					}
				}
			}
		}
	}
	float kept_v[6][2];
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = lane * 2 - row * S + first + step * 16;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 2; item++) {
				row_largest = nan_max(row_largest,
				                      ((step > 0 || at + item >= 0) && at + item < S) ? x_v[step][item]
				                      : -INFINITY);
			}
		}
	}
	row_largest = warp_reduce<8>(row_largest, op_max());
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = lane * 2 - row * S + first + step * 16;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 2; item++) {
				kept_v[step][item] = expf(x_v[step][item] - row_largest);
				row_total += ((step > 0 || at + item >= 0) && at + item < S) ? kept_v[step][item]
				             : 0.0f;
			}
		}
	}
	row_total = warp_reduce<8>(row_total, op_sum());
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = lane * 2 - row * S + first + step * 16;
		if (step < 1 || at < S) {
			float y_v[2];
			#pragma unroll
			for (int item = 0; item < 2; item++) {
				y_v[item] = quotient(kept_v[step][item], row_total);
			}
			const bool whole = (step > 0 || at >= 0) && at + 2 <= S;
			if (whole) {
				store_once(y + row * S + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 2; item++) {
					const int element = at + item;
					if (element >= 0 && element < S) {
						y[row * S + element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as Softmax_y.
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 64 threads a block.
// A row has 64 threads, and stays in registers from the first stage to the last: 4 vectors of 4 elements each, loaded
//     past the caches.
// Launch: H * N * S blocks of 64 threads.
// Runs if S <= 1021 && S > 0 && H * N * S * S >= 4, and all positions fit into 32 bits, unless Softmax_y or
//     Softmax_y_shifted does.
extern "C" __global__ __launch_bounds__(64)
void Softmax_y_longer(const float *__restrict__ x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 64);
	const int block = blockIdx.x;
	const int lane = thread;
	const int row = block;
	const int first = row * S - row * S % 4;
	const int product = H * N * S * S;
	const int last = product - product % 4 - 4;
	const int row_last = min(last, row * S - (row * S + S + 3) % 4 + S - 1);
	float x_v[4][4];
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int place = min(row_last, lane * 4 + first + step * 256);
		load_once(x_v[step], x + place);
	}
	if (last + 4 < row * S + S) {
		#pragma unroll
		for (int step = 0; step < 4; step++) {
			const int place = lane * 4 + first + step * 256;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < product) {
						x_v[step][item] = x[place_2];
					}
				}
			}
		}
	}
	float kept_v[4][4];
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 - row * S + first + step * 256;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				row_largest = nan_max(row_largest,
				                      ((step > 0 || at + item >= 0) && at + item < S) ? x_v[step][item]
				                      : -INFINITY);
			}
		}
	}
	__shared__ float row_largest_across[2];
	row_largest = block_reduce<64>(row_largest, op_max(), row_largest_across);
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 - row * S + first + step * 256;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				kept_v[step][item] = expf(x_v[step][item] - row_largest);
				row_total += ((step > 0 || at + item >= 0) && at + item < S) ? kept_v[step][item]
				             : 0.0f;
			}
		}
	}
	__shared__ float row_total_across[2];
	row_total = block_reduce<64>(row_total, op_sum(), row_total_across);
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 - row * S + first + step * 256;
		if (step < 1 || at < S) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = quotient(kept_v[step][item], row_total);
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= S;
			if (whole) {
				store_once(y + row * S + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < S) {
						y[row * S + element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as Softmax_y.
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and stays in registers from the first stage to the last: 4 vectors of 4 elements each, loaded
//     past the caches.
// Launch: H * N * S blocks of 512 threads.
// Runs if S <= 8189 && S > 0 && H * N * S * S >= 4, and all positions fit into 32 bits, unless Softmax_y or
//     Softmax_y_shifted or Softmax_y_longer does.
extern "C" __global__ __launch_bounds__(512)
void Softmax_y_longer_2(const float *__restrict__ x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const int block = blockIdx.x;
	const int lane = thread;
	const int row = block;
	const int first = row * S - row * S % 4;
	const int product = H * N * S * S;
	const int last = product - product % 4 - 4;
	const int row_last = min(last, row * S - (row * S + S + 3) % 4 + S - 1);
	float x_v[4][4];
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int place = min(row_last, lane * 4 + first + step * 2048);
		load_once(x_v[step], x + place);
	}
	if (last + 4 < row * S + S) {
		#pragma unroll
		for (int step = 0; step < 4; step++) {
			const int place = lane * 4 + first + step * 2048;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < product) {
						x_v[step][item] = x[place_2];
					}
				}
			}
		}
	}
	float kept_v[4][4];
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 - row * S + first + step * 2048;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				row_largest = nan_max(row_largest,
				                      ((step > 0 || at + item >= 0) && at + item < S) ? x_v[step][item]
				                      : -INFINITY);
			}
		}
	}
	__shared__ float row_largest_across[16];
	row_largest = block_reduce<512>(row_largest, op_max(), row_largest_across);
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 - row * S + first + step * 2048;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				kept_v[step][item] = expf(x_v[step][item] - row_largest);
				row_total += ((step > 0 || at + item >= 0) && at + item < S) ? kept_v[step][item]
				             : 0.0f;
			}
		}
	}
	__shared__ float row_total_across[16];
	row_total = block_reduce<512>(row_total, op_sum(), row_total_across);
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int at = lane * 4 - row * S + first + step * 2048;
		if (step < 1 || at < S) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = quotient(kept_v[step][item], row_total);
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= S;
			if (whole) {
				store_once(y + row * S + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < S) {
						y[row * S + element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as Softmax_y.
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 1024 threads a block.
// A row has 1024 threads, and stays in registers from the first stage to the last: 8 vectors of 4 elements each,
//     loaded past the caches.
// Launch: H * N * S blocks of 1024 threads.
// Runs if S <= 32765 && S > 0 && H * N * S * S >= 4, and all positions fit into 32 bits, unless Softmax_y or
//     Softmax_y_shifted or Softmax_y_longer or Softmax_y_longer_2 does.
extern "C" __global__ __launch_bounds__(1024)
void Softmax_y_longer_3(const float *__restrict__ x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 1024);
	const int block = blockIdx.x;
	const int lane = thread;
	const int row = block;
	const int first = row * S - row * S % 4;
	const int product = H * N * S * S;
	const int last = product - product % 4 - 4;
	const int row_last = min(last, row * S - (row * S + S + 3) % 4 + S - 1);
	float x_v[8][4];
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int place = min(row_last, lane * 4 + first + step * 4096);
		load_once(x_v[step], x + place);
	}
	if (last + 4 < row * S + S) {
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int place = lane * 4 + first + step * 4096;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < product) {
						x_v[step][item] = x[place_2];
					}
				}
			}
		}
	}
	float kept_v[8][4];
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 - row * S + first + step * 4096;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				row_largest = nan_max(row_largest,
				                      ((step > 0 || at + item >= 0) && at + item < S) ? x_v[step][item]
				                      : -INFINITY);
			}
		}
	}
	__shared__ float row_largest_across[32];
	row_largest = block_reduce<1024>(row_largest, op_max(), row_largest_across);
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 - row * S + first + step * 4096;
		if (step < 1 || at < S) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				kept_v[step][item] = expf(x_v[step][item] - row_largest);
				row_total += ((step > 0 || at + item >= 0) && at + item < S) ? kept_v[step][item]
				             : 0.0f;
			}
		}
	}
	__shared__ float row_total_across[32];
	row_total = block_reduce<1024>(row_total, op_sum(), row_total_across);
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 - row * S + first + step * 4096;
		if (step < 1 || at < S) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = quotient(kept_v[step][item], row_total);
			}
			const bool whole = (step > 0 || at >= 0) && at + 4 <= S;
			if (whole) {
				store_once(y + row * S + at, y_v);
			} else {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int element = at + item;
					if (element >= 0 && element < S) {
						y[row * S + element] = y_v[item];
					}
				}
			}
		}
	}
}

// The same as Softmax_y.
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 128 threads a block.
// A row has 32 threads, and every stage reads it again.
// Launch: ceil(H * N * S / 4) blocks of 128 threads.
// Runs if all positions fit into 32 bits, unless Softmax_y or Softmax_y_shifted or Softmax_y_longer or
//     Softmax_y_longer_2 or Softmax_y_longer_3 does.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y_any(const float *__restrict__ x, float *__restrict__ y, int N, int H, int S)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	const int lane = thread % 32;
	const int row = block * 4 + thread / 32;
	if (row >= H * N * S)
		return;
	float row_largest = -INFINITY;
	for (int at = lane; at < S; at += 32) {
		float x_v = x[row * S + at];
		row_largest = nan_max(row_largest, x_v);
	}
	row_largest = warp_reduce(row_largest, op_max());
	float row_total = 0.0f;
	for (int at = lane; at < S; at += 32) {
		float x_v = x[row * S + at];
		row_total += expf(x_v - row_largest);
	}
	row_total = warp_reduce(row_total, op_sum());
	for (int at = lane; at < S; at += 32) {
		float x_v = x[row * S + at];
		float y_v[1];
		y_v[0] = quotient(expf(x_v - row_largest), row_total);
		store_once(y + row * S + at, y_v);
	}
}

// The same as Softmax_y.
// Schedule: rows@4 lanes=8 width=4 steps=2 once=1 ahead=0 shared=0; 128 threads a block; 64-bit positions.
// Launch: ceil(H * N * S / 4) blocks of 128 threads.
// Runs unless Softmax_y or Softmax_y_shifted or Softmax_y_longer or Softmax_y_longer_2 or Softmax_y_longer_3 or
//     Softmax_y_any does.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y_any_64(const float *__restrict__ x, float *__restrict__ y, i64 N, i64 H, i64 S)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	const i64 lane = thread % 32;
	const i64 row = block * 4 + thread / 32;
	if (row >= H * N * S)
		return;
	float row_largest = -INFINITY;
	for (i64 at = lane; at < S; at += 32) {
		float x_v = x[row * S + at];
		row_largest = nan_max(row_largest, x_v);
	}
	row_largest = warp_reduce(row_largest, op_max());
	float row_total = 0.0f;
	for (i64 at = lane; at < S; at += 32) {
		float x_v = x[row * S + at];
		row_total += expf(x_v - row_largest);
	}
	row_total = warp_reduce(row_total, op_sum());
	for (i64 at = lane; at < S; at += 32) {
		float x_v = x[row * S + at];
		float y_v[1];
		y_v[0] = quotient(expf(x_v - row_largest), row_total);
		store_once(y + row * S + at, y_v);
	}
}
