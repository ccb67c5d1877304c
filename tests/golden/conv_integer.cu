#include "tpat_device.h"
#include "tpat_mma.h"

// program ConvInteger(x: u8[N,8,H,W], weight: i8[16,8,3,3], zero: u8[]) -> (y: i32[N,16,floordiv(H - 1, 2) +
//     1,floordiv(W - 1, 2) + 1])
// y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<8, s<3, t<3) select(and(and(0 <= k
//     * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2
//     + t - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))

// weight_packed: i8[16,3,3,16] = map (i, j, k, l) select(l < 8, weight[i, l, j, k], i8(0))
// Schedule: contract@3, a layout of vectors; 256 threads a block.
// A block transposes a tile of 32 x 32 elements in shared memory, so that both loads and stores are coalesced.
static __device__ __forceinline__
void ConvInteger_weight_packed_part(const int own_block, const i8 *weight, i8 *__restrict__ weight_packed)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int corner_a = 0;
	const int corner_b = 0;
	const int lane = thread % 32;
	const int line = thread / 32;
	__shared__ i8 weight_square[32][33];
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int row = line + step * 8;
		const int k = corner_a + row;
		if (k < 16) {
			const int j = corner_b + lane;
			if (j < 9) {
				if (k < 8) {
					weight_square[row][lane] = weight[own_block * 72 + k * 9 + j];
				}
			}
		}
	}
	__syncthreads();
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int row = line + step * 8;
		const int j = corner_b + row;
		if (j < 9) {
			const int k = corner_a + lane;
			if (k < 16) {
				weight_packed[own_block * 144 + j * 16 + k] = k < 8 ? weight_square[lane][row] : (i8)0;
			}
		}
	}
}

// x_packed: u8[N,H,W,16] = map (i, j, k, l) select(l < 8, x[i, l, j, k], u8(0))
// Schedule: contract@3, a layout of vectors; 256 threads a block.
// A block transposes a tile of 32 x 32 elements in shared memory, so that both loads and stores are coalesced.
static __device__ __forceinline__
void ConvInteger_x_packed_part(const int own_block, const u8 *x, u8 *__restrict__ x_packed, int N, int H, int W,
                               const u64 inverse)
{
	const divisor by = { (H * W + 31) / 32, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int corner_a = 0;
	const int corner_b = own_block % by * 32;
	const int i = own_block / by;
	const int lane = thread % 32;
	const int line = thread / 32;
	__shared__ u8 x_square[32][33];
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int row = line + step * 8;
		const int k = corner_a + row;
		if (k < 16) {
			const int j = corner_b + lane;
			if (j < H * W) {
				if (k < 8) {
					x_square[row][lane] = x[i * H * W * 8 + k * H * W + j];
				}
			}
		}
	}
	__syncthreads();
	#pragma unroll
	for (int step = 0; step < 4; step++) {
		const int row = line + step * 8;
		const int j = corner_b + row;
		if (j < H * W) {
			const int k = corner_a + lane;
			if (k < 16) {
				x_packed[i * H * W * 16 + j * 16 + k] = k < 8 ? x_square[lane][row] : (u8)0;
			}
		}
	}
}

// 2 kernels in one launch, each in blocks of its own; 256 threads a block.
// Launch: (H * W + 31) / 32 * N + 16 blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_weight_packed_and_x_packed(const i8 *weight, i8 *__restrict__ weight_packed, const u8 *x,
                                            u8 *__restrict__ x_packed, int N, int H, int W, const u64 inverse)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	if (block < 16)
		ConvInteger_weight_packed_part(block, weight, weight_packed);
	else
		ConvInteger_x_packed_part(block - 16, x, x_packed, N, H, W, inverse);
}

// y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<8, s<3, t<3) select(and(and(0 <= k
//     * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2
//     + t - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
// Schedule: contract@3 rows=16 columns=128 depth=128 packed=2; 128 threads a block.
// A block computes a tile of 16 x 128 elements, and adds 128 products of each at a time, with operands in shared
//     memory.
// Launch: ceil((floor_div(H - 1, 2) * floor_div(W - 1, 2) * N + floor_div(H - 1, 2) * N + floor_div(W - 1, 2) * N + N)
//     / 128) blocks of 128 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(128)
void ConvInteger_y(const u8 *x, const i8 *weight, const u8 *zero, const i8 *weight_packed, const u8 *x_packed,
                   int *__restrict__ y, int N, int H, int W, const u64 inverse, const u64 inverse_2)
{
	const divisor by = { floor_div(W - 1, 2) + 1, inverse };
	const divisor by_2 = { floor_div(H - 1, 2) + 1, inverse_2 };
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int first_column = block * 128;
	const int first_row = 0;
	const int warp_row = 0;
	const int warp_column = thread / 32 * 32;
	__shared__ shared_tile<i8, 16, 128> left_tile[2];
	__shared__ shared_tile<u8, 128, 128> right_tile[2];
	const auto left_at = [&](int row, int depth) {
		return depth < 144 ? row * 144 + depth : -1;
	};
	const auto right_at = [&](int column, int depth) {
		const int l = column % by;
		const int k = column / by % by_2;
		const int i = column / by / by_2;
		const int r = depth % 16;
		const int t = depth / 16 % 3;
		const int s = depth / 48;
		const int group = floor_div(H - 1, 2);
		const int group_2 = floor_div(W - 1, 2);
		const bool inside = column < group * group_2 * N + group * N + group_2 * N + N && depth < 144;
		const int difference = k * 2 + s - 1;
		const int difference_2 = l * 2 + t - 1;
		const int total = l * 32 + k * W * 32 + i * H * W * 16 + r + t * 16;
		const int chosen = ((difference >= 0 && difference < H) && (difference_2 >= 0 && difference_2 < W))
		                   ? total + s * W * 16 - W * 16 - 16 : -2;
		return inside ? chosen : -1;
	};
	mma_sum<int> sum[4] = {};
	const auto left_zero = [&](int row) {
		return 0;
	};
	mma_sum<int> left_sum = {};
	const auto right_zero = [&](int column) {
		const int group = floor_div(H - 1, 2);
		const int group_2 = floor_div(W - 1, 2);
		return column < group * group_2 * N + group * N + group_2 * N + N ? (int)zero[0] : 0;
	};
	mma_sum<int> right_sum[4] = {};
	tile_copy<128>(left_tile[0], weight_packed, first_row, 0, left_at);
	tile_copy<128>(right_tile[0], x_packed, first_column, 0, right_at, zero[0]);
	copy_commit();
	for (int from = 0; from < 144; from += 128) {
		const int slot = from / 128;
		const int ahead = (from / 128 + 1) % 2;
		copy_wait<0>();
		__syncthreads();
		if (from + 128 < 144) {
			tile_copy<128>(left_tile[ahead], weight_packed, first_row, from + 128, left_at);
			tile_copy<128>(right_tile[ahead], x_packed, first_column, from + 128, right_at, zero[0]);
		}
		copy_commit();
		#pragma unroll
		for (int depth = 0; depth < 128; depth += 32) {
			mma_a<i8> left;
			mma_b<u8> right[4];
			mma_load_a(left, left_tile[slot], warp_row, depth);
			#pragma unroll
			for (int part = 0; part < 4; part += 2) {
				mma_load_b(right[part], right[part + 1], right_tile[slot], warp_column + part * 8,
				           depth);
			}
			#pragma unroll
			for (int column = 0; column < 4; column++) {
				mma(sum[column], left, right[column]);
			}
			mma_add_rows(left_sum, left);
		}
	}
	#pragma unroll
	for (int column = 0; column < 4; column++) {
		sums_less_zeros(sum[column], left_sum, right_sum[column], first_row + warp_row,
		                first_column + warp_column + column * 8, 144, left_zero, right_zero);
	}
	// all products are summed: the tiles' memory is free
	copy_wait<0>();
	__syncthreads();
	sums_put(right_tile, sum);
	const int group = floor_div(H - 1, 2);
	const int group_2 = floor_div(W - 1, 2);
	if (floor_mod(group * group_2 + group + group_2 + 1, 8) == 0) {
		const int piece = thread % 4 * 8;
		const int column = first_column + warp_column + piece;
		if (column < group * group_2 * N + group * N + group_2 * N + N) {
			const int l = floor_mod(column, group * group_2 + group + group_2 + 1);
			const int i = floor_div(column, group * group_2 + group + group_2 + 1);
			for (int down = thread % 32 / 4; down < 16; down += 8) {
				const int row = first_row + warp_row + down;
				int sums[8];
				sums_get<32>(sums, right_tile, down, piece);
				int y_v[8];
				#pragma unroll
				for (int item = 0; item < 8; item++) {
					const int y_here = sums[item];
					y_v[item] = y_here;
				}
				const int product = i * group;
				const int product_2 = row * group;
				const int total = l + product * group_2 * 16 + product * 16 + i * group_2 * 16 +
				                  i * 16 + product_2 * group_2;
				store(y + (total + product_2 + row * group_2 + row), y_v);
			}
		}
	} else {
		const int piece = thread % 32;
		const int column = first_column + warp_column + piece;
		if (column < group * group_2 * N + group * N + group_2 * N + N) {
			const int l = floor_mod(column, group * group_2 + group + group_2 + 1);
			const int i = floor_div(column, group * group_2 + group + group_2 + 1);
			for (int down = 0; down < 16; down++) {
				const int row = first_row + warp_row + down;
				int sums[1];
				sums_get<32>(sums, right_tile, down, piece);
				const int y_here = sums[0];
				const int product = i * group;
				const int product_2 = row * group;
				const int total = l + product * group_2 * 16 + product * 16 + i * group_2 * 16 +
				                  i * 16 + product_2 * group_2;
				y[total + product_2 + row * group_2 + row] = y_here;
			}
		}
	}
}

// The same as ConvInteger_x_packed.
// Schedule: contract@3, a layout of vectors; 256 threads a block; 64-bit positions.
static __device__ __forceinline__
void ConvInteger_x_packed_64_part(const i64 own_block, const u8 *x, u8 *__restrict__ x_packed, i64 N, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 corner_a = 0;
	const i64 corner_b = own_block % ((H * W + 31) / 32) * 32;
	const i64 i = own_block / ((H * W + 31) / 32);
	const i64 lane = thread % 32;
	const i64 line = thread / 32;
	__shared__ u8 x_square[32][33];
	#pragma unroll
	for (i64 step = 0; step < 4; step++) {
		const i64 row = line + step * 8;
		const i64 k = corner_a + row;
		if (k < 16) {
			const i64 j = corner_b + lane;
			if (j < H * W) {
				if (k < 8) {
					x_square[row][lane] = x[i * H * W * 8 + k * H * W + j];
				}
			}
		}
	}
	__syncthreads();
	#pragma unroll
	for (i64 step = 0; step < 4; step++) {
		const i64 row = line + step * 8;
		const i64 j = corner_b + row;
		if (j < H * W) {
			const i64 k = corner_a + lane;
			if (k < 16) {
				x_packed[i * H * W * 16 + j * 16 + k] = k < 8 ? x_square[lane][row] : (u8)0;
			}
		}
	}
}

// 2 kernels in one launch, each in blocks of its own; 256 threads a block.
// Launch: (H * W + 31) / 32 * N + 16 blocks of 256 threads.
// Runs unless ConvInteger_weight_packed_and_x_packed does.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_weight_packed_and_x_packed_64(const i8 *weight, i8 *__restrict__ weight_packed, const u8 *x,
                                               u8 *__restrict__ x_packed, i64 N, i64 H, i64 W)
{
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	if (block < 16)
		ConvInteger_weight_packed_part(block, weight, weight_packed);
	else
		ConvInteger_x_packed_64_part(block - 16, x, x_packed, N, H, W);
}

// The same as ConvInteger_y.
// Schedule: contract@3, an element a thread; 256 threads a block; 64-bit positions.
// Launch: ceil((floor_div(H - 1, 2) * floor_div(W - 1, 2) * N + floor_div(H - 1, 2) * N + floor_div(W - 1, 2) * N + N)
//     / 16) blocks of 256 threads.
// Runs unless ConvInteger_y does.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_y_64(const u8 *x, const i8 *weight, const u8 *zero, int *__restrict__ y, i64 N, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	const i64 group = floor_div(H - 1, (i64)2);
	const i64 group_2 = floor_div(W - 1, (i64)2);
	const i64 total = group * group_2 * N * 16 + group * N * 16 + group_2 * N * 16 + N * 16;
	if (element >= total)
		return;
	const i64 l = element % (group_2 + 1);
	const i64 k = element / (group_2 + 1) % (group + 1);
	const i64 j = element / (group_2 + 1) / (group + 1) % 16;
	const i64 i = element / (group_2 + 1) / (group + 1) / 16;
	int sum = 0;
	for (i64 depth = 0; depth < 72; depth++) {
		const i64 r = depth % 8;
		const i64 t = depth / 8 % 3;
		const i64 s = depth / 24;
		const i64 difference = k * 2 + s - 1;
		const i64 difference_2 = l * 2 + t - 1;
		const i64 x_at = l * 2 + k * W * 2 + i * H * W * 8 + r * H * W;
		int chosen = 0;
		if ((difference >= 0 && difference < H) && (difference_2 >= 0 && difference_2 < W)) {
			chosen = ((int)x[x_at + t + s * W - W - 1] - (int)zero[0]) *
			         (int)weight[j * 72 + r * 9 + t + s * 3];
		}
		sum += chosen;
	}
	const int y_here = sum;
	const i64 product = j * group;
	const i64 total_2 = l + k * group_2 + k + product * group_2 + product + j * group_2 + j;
	const i64 product_2 = i * group;
	y[total_2 + product_2 * group_2 * 16 + product_2 * 16 + i * group_2 * 16 + i * 16] = y_here;
}
