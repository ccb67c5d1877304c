#include "tpat_device.h"

// program cumsum(x: f16[N,4096], score: f32[64,100000]) -> (y: f16[N,4096], z: f32[64,100000])
// y: f16[N,4096] = scan sum along j exclusive reverse (i, j) f32(x[i, j]) * 0.5 then f16(it + 1.0)
// z: f32[64,100000] = scan max along i (i, j) score[i, j]

// y: f16[N,4096] = scan sum along j exclusive reverse (i, j) f32(x[i, j]) * 0.5 then f16(it + 1.0)
// Schedule: scan_lanes@2 lanes=512 width=8 steps=1; 512 threads a block.
// 512 threads scan a row together, in tiles: each thread has one vector of 8 elements in registers.
// Launch: N blocks of 512 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(512)
void cumsum_y(const f16 *x, f16 *__restrict__ y, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	const int row = block;
	float sum = 0.0f;
	const int own = lane * 8;
	f16 x_v[8];
	load(x_v, x + row * 4096 - own + 4088);
	float parts[8];
	#pragma unroll
	for (int item = 0; item < 8; item++) {
		parts[item] = to_f32(x_v[7 - item]) * 0.5f;
	}
	__shared__ float across[16];
	block_scan_items_on<512, 8, true>(parts, op_sum(), 0.0f, across, sum);
	f16 y_v[8];
	#pragma unroll
	for (int item = 0; item < 8; item++) {
		y_v[7 - item] = to_f16(parts[item] + 1.0f);
	}
	store(y + row * 4096 - own + 4088, y_v);
}

// z: f32[64,100000] = scan max along i (i, j) score[i, j]
// Schedule: scan_thread@2; 256 threads a block.
// A thread scans a row, and neighbouring threads have neighbouring rows.
// Launch: 391 blocks of 256 threads.
extern "C" __global__ __launch_bounds__(256)
void cumsum_z(const float *score, float *__restrict__ z)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= 100000)
		return;
	float largest = -INFINITY;
	for (int tile = 0; tile < 64; tile += 8) {
		float values[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			const int i = tile + v;
			values[v] = score[element + i * 100000];
		}
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			const int i = tile + v;
			largest = nan_max(largest, values[v]);
			z[element + i * 100000] = largest;
		}
	}
}

// The same as cumsum_y.
// Schedule: scan_lanes@2 lanes=512 width=8 steps=1; 512 threads a block; 64-bit positions.
// Launch: N blocks of 512 threads.
// Runs unless cumsum_y does.
extern "C" __global__ __launch_bounds__(512)
void cumsum_y_64(const f16 *x, f16 *__restrict__ y, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread;
	const i64 row = block;
	float sum = 0.0f;
	const i64 own = lane * 8;
	f16 x_v[8];
	load(x_v, x + row * 4096 - own + 4088);
	float parts[8];
	#pragma unroll
	for (i64 item = 0; item < 8; item++) {
		parts[item] = to_f32(x_v[7 - item]) * 0.5f;
	}
	__shared__ float across[16];
	block_scan_items_on<512, 8, true>(parts, op_sum(), 0.0f, across, sum);
	f16 y_v[8];
	#pragma unroll
	for (i64 item = 0; item < 8; item++) {
		y_v[7 - item] = to_f16(parts[item] + 1.0f);
	}
	store(y + row * 4096 - own + 4088, y_v);
}
