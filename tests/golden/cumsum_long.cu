#include "tpat_device.h"

// program cumsum_long(x: f32[2,1000000]) -> (y: f32[2,1000000])
// y: f32[2,1000000] = scan sum along j (i, j) x[i, j]

// y_tiles: u64[247] = map (i) u64(0)
// Schedule: map@1 width=1; 256 threads a block.
// A thread computes one element.
// Launch: one block of 256 threads.
extern "C" __global__ __launch_bounds__(256)
void cumsum_long_y_tiles(u64 *__restrict__ y_tiles)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= 247)
		return;
	y_tiles[element] = 0ull;
}

// y: f32[2,1000000] = scan sum along j (i, j) x[i, j]
// Schedule: scan_tiles@2 threads=512 width=4 steps=4; 512 threads a block.
// Blocks take the tiles of a row, and continue from the totals of the tiles before (look-back), so that values are
//     read once.
// Launch: 246 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void cumsum_long_y(const float *x, u64 *__restrict__ y_tiles, float *__restrict__ y)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	wait_for_last_kernel();
	__shared__ u64 tile_taken;
	const int tile = (int)tile_next(y_tiles, &tile_taken);
	const int row = tile / 123;
	const int point = tile % 123;
	float sum = 0.0f;
	const int lane = thread;
	const int own = lane / 32 * 512 + lane % 32 * 4;
	float x_v[4][4];
	#pragma unroll
	for (int vector = 0; vector < 4; vector++) {
		const int from = point * 8192 + own + vector * 128;
		if (from < 1000000) {
			load(x_v[vector], x + row * 1000000 + from);
		}
	}
	float parts[16];
	#pragma unroll
	for (int vector = 0; vector < 4; vector++) {
		const int from = point * 8192 + own + vector * 128;
		#pragma unroll
		for (int item = 0; item < 4; item++) {
			parts[vector * 4 + item] = 0.0f;
		}
		if (from < 1000000) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				parts[vector * 4 + item] = x_v[vector][item];
			}
		}
	}
	__shared__ float across[16];
	block_scan_items_on<512, 4, false>(parts, op_sum(), 0.0f, across, sum);
	__shared__ float before_all;
	const float before = tiles_before(sum, op_sum(), y_tiles, tile, point, 0.0f, &before_all);
	#pragma unroll
	for (int vector = 0; vector < 4; vector++) {
		const int from = point * 8192 + own + vector * 128;
		if (from < 1000000) {
			float y_v[4];
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				y_v[item] = before + parts[vector * 4 + item];
			}
			store(y + row * 1000000 + from, y_v);
		}
	}
}
