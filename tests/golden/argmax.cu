#include "tpat_device.h"

// program ArgMax(x: f16[N,V]) -> (token: i64[N,1])

// token: i64[N,1] = argmax (i, j | r<V) f32(x[i, r])
// Schedule: reduce_lanes@2 lanes=32 width=1; 128 threads a block.
// 32 threads reduce each element together, from vectors of one element.
// Launch: ceil(N / 4) blocks of 128 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(128)
void ArgMax_token(const f16 *x, i64 *__restrict__ token, int N, int V)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread % 32;
	const int row = block * 4 + thread / 32;
	if (row >= N)
		return;
	float best = -INFINITY;
	int best_at = V;
	for (int first = lane; first < V - 512; first += 256) {
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int r = first + step * 32;
			const float part = to_f32(x[row * V + r]);
			if ((best_at == V) | (!(part <= best) & !isnan(best))) {
				best = part;
				best_at = r;
			}
		}
	}
	const int rest = lane + max(0, V - lane - 257) / 256 * 256;
	if (rest + 256 < V) {
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int r = rest + step * 32;
			const float part = to_f32(x[row * V + r]);
			if ((best_at == V) | (!(part <= best) & !isnan(best))) {
				best = part;
				best_at = r;
			}
		}
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int r = min(rest + step * 32 + 256, V - 1);
			const float part = to_f32(x[row * V + r]);
			if (((best_at == V) | (!(part <= best) & !isnan(best))) & (rest + step * 32 + 256 < V)) {
				best = part;
				best_at = r;
			}
		}
	}
	if (rest < V && V <= rest + 256) {
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int r = min(rest + step * 32, V - 1);
			const float part = to_f32(x[row * V + r]);
			if (((best_at == V) | (!(part <= best) & !isnan(best))) & (rest + step * 32 < V)) {
				best = part;
				best_at = r;
			}
		}
	}
	best_at = warp_reduce(indexed<float, int>{ best, best_at }, op_argmax<false>()).index;
	if (lane == 0) {
		token[row] = (i64)best_at;
	}
}

// The same as ArgMax_token.
// Schedule: reduce_lanes@2 lanes=32 width=1; 128 threads a block; 64-bit positions.
// Launch: ceil(N / 4) blocks of 128 threads.
// Runs unless ArgMax_token does.
extern "C" __global__ __launch_bounds__(128)
void ArgMax_token_64(const f16 *x, i64 *__restrict__ token, i64 N, i64 V)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread % 32;
	const i64 row = block * 4 + thread / 32;
	if (row >= N)
		return;
	float best = -INFINITY;
	i64 best_at = V;
	for (i64 first = lane; first < V - 512; first += 256) {
		#pragma unroll
		for (i64 step = 0; step < 8; step++) {
			const i64 r = first + step * 32;
			const float part = to_f32(x[row * V + r]);
			if ((best_at == V) | (!(part <= best) & !isnan(best))) {
				best = part;
				best_at = r;
			}
		}
	}
	const i64 rest = lane + max((i64)0, V - lane - 257) / 256 * 256;
	if (rest + 256 < V) {
		#pragma unroll
		for (i64 step = 0; step < 8; step++) {
			const i64 r = rest + step * 32;
			const float part = to_f32(x[row * V + r]);
			if ((best_at == V) | (!(part <= best) & !isnan(best))) {
				best = part;
				best_at = r;
			}
		}
		#pragma unroll
		for (i64 step = 0; step < 8; step++) {
			const i64 r = min(rest + step * 32 + 256, V - 1);
			const float part = to_f32(x[row * V + r]);
			if (((best_at == V) | (!(part <= best) & !isnan(best))) & (rest + step * 32 + 256 < V)) {
				best = part;
				best_at = r;
			}
		}
	}
	if (rest < V && V <= rest + 256) {
		#pragma unroll
		for (i64 step = 0; step < 8; step++) {
			const i64 r = min(rest + step * 32, V - 1);
			const float part = to_f32(x[row * V + r]);
			if (((best_at == V) | (!(part <= best) & !isnan(best))) & (rest + step * 32 < V)) {
				best = part;
				best_at = r;
			}
		}
	}
	best_at = warp_reduce(indexed<float, i64>{ best, best_at }, op_argmax<false>()).index;
	if (lane == 0) {
		token[row] = best_at;
	}
}
