#include "tpat_device.h"
#include "tpat_wgmma.h"
#include "tpat_mma.h"

// program matmul_f16(left: f16[512,768], right: f16[768,3072]) -> (y: f16[512,3072])

#if TPAT_ARCH == 900 || TPAT_ARCH == 0
// y: f16[512,3072] = sum (i, j | r<768) f32(left[i, r]) * f32(right[r, j])
// Schedule: contract_wide@5 rows=128 columns=128 slots=6 blocks=132 split=1 share=0 packed=0 turns=0; 288 threads a block.
// The warpgroups of a block compute a tile of 128 x 128 elements. Shared memory holds 6 stages of operands. There are
//     132 blocks at most, which go from tile to tile, and a producer warp of each loads the operands.
// Launch: 96 blocks of 288 threads, each with 229472 bytes of dynamic shared memory.
extern "C" __global__ __launch_bounds__(288)
void matmul_f16_y_wide(const f16 *left, const f16 *right, f16 *__restrict__ y,
                       const __grid_constant__ tensor_map left_map, const __grid_constant__ tensor_map right_map)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	extern __shared__ __align__(1024) uint4 shared_memory[];
	wait_for_last_kernel();
	wide_tile<f16, 128, false> *const left_tile = (wide_tile<f16, 128, false> *)shared_memory;
	wide_tile<f16, 128, true> *const right_tile = (wide_tile<f16, 128, true> *)(left_tile + 6);
	tile_ring<6> &ring = *(tile_ring<6> *)(right_tile + 6);
	void *const store_memory = &ring + 1;
	ring.begin(8);
	__syncthreads();
	if (thread == 256) {
		int turn = 0;
		// for the L2 cache, blocks go down 8 tiles before the next column
		const int tile = block;
		const int below = 0;
		const int high = 4 - below;
		const int first_column = floor_div(tile, high) * 128;
		const int first_row = below * 128 + floor_mod(tile, high) * 128;
		for (int from = 0; from < 768; from += 64) {
			const int slot = turn % 6;
			ring.fill(turn, 32768);
			tile_load<2>(left_tile[slot], left_map, &ring.full[slot], from, first_row);
			tile_load<2>(right_tile[slot], right_map, &ring.full[slot], first_column, from);
			turn += 1;
		}
	}
	if (thread < 256) {
		const int group_row = thread / 128 * 64;
		const int warp_row = group_row + thread / 32 % 4 * 16;
		const int warp_column = 0;
		int turn = 0;
		// for the L2 cache, blocks go down 8 tiles before the next column
		const int tile = block;
		const int below = 0;
		const int high = 4 - below;
		const int first_column = floor_div(tile, high) * 128;
		const int first_row = below * 128 + floor_mod(tile, high) * 128;
		mma_sum<float> sum[1][16];
		for (int from = 0; from < 768; from += 64) {
			const int slot = turn % 6;
			ring.wait(turn);
			wgmma_begin();
			#pragma unroll
			for (int depth = 0; depth < 64; depth += 16) {
				wgmma(sum[0], left_tile[slot], group_row, right_tile[slot], 0, depth,
				      depth > 0 || from > 0);
			}
			wgmma_commit();
			wgmma_wait<1>();
			if (from > 0) {
				ring.done(turn - 1);
			}
			turn += 1;
		}
		wgmma_wait<0>();
		wgmma_done(sum);
		ring.done(turn - 1);
		#pragma unroll
		for (int across = 0; across < 128; across += 64) {
			sums_put(store_memory, sums_part<8>(sum[0], across / 8));
			const int piece = thread % 8 * 8;
			const int column = warp_column + first_column + across + piece;
			for (int down = thread % 32 / 8; down < 16; down += 4) {
				const int row = warp_row + first_row + down;
				float sums[8];
				sums_get<64>(sums, store_memory, down, piece);
				f16 y_v[8];
				#pragma unroll
				for (int item = 0; item < 8; item++) {
					const f16 y_here = to_f16(sums[item]);
					y_v[item] = y_here;
				}
				store(y + column + row * 3072, y_v);
			}
		}
	}
}
#endif

// The same as matmul_f16_y_wide.
// Schedule: contract@3 rows=128 columns=128 depth=32 packed=0; 128 threads a block.
// A block computes a tile of 128 x 128 elements, and adds 32 products of each at a time, with operands in shared
//     memory.
// Launch: 96 blocks of 128 threads.
// Runs unless matmul_f16_y_wide does.
extern "C" __global__ __launch_bounds__(128)
void matmul_f16_y(const f16 *left_data, const f16 *right_data, f16 *__restrict__ y)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int first_column = block % 24 * 128;
	const int first_row = block / 24 * 128;
	const int warp_row = thread / 64 * 64;
	const int warp_column = thread / 32 % 2 * 64;
	__shared__ shared_tile<f16, 128, 32> left_tile[3];
	__shared__ shared_tile<f16, 32, 128> right_tile[3];
	const auto left_at = [&](int row, int depth) {
		return row * 768 + depth;
	};
	const auto right_at = [&](int depth, int column) {
		return depth * 3072 + column;
	};
	mma_sum<float> sum[4][8] = {};
	for (int slot = 0; slot < 2; slot++) {
		tile_copy<128>(left_tile[slot], left_data, first_row, slot * 32, left_at);
		tile_copy<128>(right_tile[slot], right_data, slot * 32, first_column, right_at);
		copy_commit();
	}
	for (int from = 0; from < 768; from += 32) {
		const int slot = from / 32 % 3;
		const int ahead = (from / 32 + 2) % 3;
		copy_wait<1>();
		__syncthreads();
		if (from + 64 < 768) {
			tile_copy<128>(left_tile[ahead], left_data, first_row, from + 64, left_at);
			tile_copy<128>(right_tile[ahead], right_data, from + 64, first_column, right_at);
		}
		copy_commit();
		#pragma unroll
		for (int depth = 0; depth < 32; depth += 16) {
			mma_a<f16> left[4];
			mma_b<f16> right[8];
			#pragma unroll
			for (int part = 0; part < 4; part++) {
				mma_load_a(left[part], left_tile[slot], warp_row + part * 16, depth);
			}
			#pragma unroll
			for (int part = 0; part < 8; part += 2) {
				mma_load_b_turned(right[part], right[part + 1], right_tile[slot],
				                  warp_column + part * 8, depth);
			}
			#pragma unroll
			for (int row = 0; row < 4; row++) {
				#pragma unroll
				for (int column = 0; column < 8; column++) {
					mma(sum[row][column], left[row], right[column]);
				}
			}
		}
	}
	// all products are summed: the tiles' memory is free
	copy_wait<0>();
	__syncthreads();
	#pragma unroll
	for (int part = 0; part < 4; part++) {
		sums_put(right_tile, sum[part]);
		const int piece = thread % 8 * 8;
		const int column = first_column + warp_column + piece;
		for (int down = thread % 32 / 8; down < 16; down += 4) {
			const int row = first_row + warp_row + part * 16 + down;
			float sums[8];
			sums_get<64>(sums, right_tile, down, piece);
			f16 y_v[8];
			#pragma unroll
			for (int item = 0; item < 8; item++) {
				const f16 y_here = to_f16(sums[item]);
				y_v[item] = y_here;
			}
			store(y + column + row * 3072, y_v);
		}
	}
}
