#include "tpat_device.h"
#include "tpat_mma.h"

/* program ConvInteger(x: u8[N,8,H,W], weight: i8[16,8,3,3], zero: u8[]) -> (y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1])
  y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<8, s<3, t<3) select(and(and(0 <= k * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2 + t - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
 */

// weight_packed: i8[16,3,3,16] = map (i, j, k, l) select(l < 8, weight[i, l, j, k], i8(0))
// Schedule: contract@3, a layout of vectors; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_weight_packed(const i8 *weight, i8 *__restrict__ weight_packed)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
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
					weight_square[row][lane] = weight[block * 72 + k * 9 + j];
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
				weight_packed[block * 144 + j * 16 + k] = k < 8 ? weight_square[lane][row] : (i8)0;
			}
		}
	}
}

// x_packed: u8[N,H,W,16] = map (i, j, k, l) select(l < 8, x[i, l, j, k], u8(0))
// Schedule: contract@3, a layout of vectors; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_x_packed(const u8 *x, u8 *__restrict__ x_packed, int N, int H, int W, const u64 inverse)
{
	const divisor by = { (H * W + 31) / 32, inverse };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int corner_a = 0;
	const int corner_b = block % by * 32;
	const int i = block / by;
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

// y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<8, s<3, t<3) select(and(and(0 <= k
//     * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2
//     + t - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
// Schedule: contract@3 rows=16 columns=128 depth=128 packed=2; 128 threads a block.
extern "C" __global__ __launch_bounds__(128)
void ConvInteger_y(const u8 *x, const i8 *weight, const u8 *zero, const i8 *weight_packed, const u8 *x_packed, int *__restrict__ y, int N, int H, int W, const u64 inverse, const u64 inverse_2)
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
		const int tmp0 = floor_div(H - 1, 2);
		const int tmp1 = floor_div(W - 1, 2);
		const bool tmp2 = column < tmp0 * tmp1 * N + tmp0 * N + tmp1 * N + N && depth < 144;
		const int tmp3 = k * 2 + s - 1;
		const int tmp4 = l * 2 + t - 1;
		const int tmp5 = l * 32 + k * W * 32 + i * H * W * 16 + r + t * 16;
		const int tmp6 = ((0 <= tmp3 && tmp3 < H) && (0 <= tmp4 && tmp4 < W)) ? tmp5 + s * W * 16 - W * 16 - 16 : -2;
		return tmp2 ? tmp6 : -1;
	};
	mma_sum<int> sum[1][4] = {};
	const auto left_zero = [&](int row) {
		return 0;
	};
	mma_sum<int> left_sum[1] = {};
	const auto right_zero = [&](int column) {
		const int tmp7 = floor_div(H - 1, 2);
		const int tmp8 = floor_div(W - 1, 2);
		return column < tmp7 * tmp8 * N + tmp7 * N + tmp8 * N + N ? (int)zero[0] : 0;
	};
	mma_sum<int> right_sum[4] = {};
	for (int slot = 0; slot < 1; slot++) {
		{
			tile_copy<128>(left_tile[slot], weight_packed, first_row, slot * 128, left_at);
			tile_copy<128>(right_tile[slot], x_packed, first_column, slot * 128, right_at, zero[0]);
		}
		copy_commit();
	}
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
			mma_a<i8> left[1];
			mma_b<u8> right[4];
			#pragma unroll
			for (int part = 0; part < 1; part++) {
				mma_load_a(left[part], left_tile[slot], warp_row + part * 16, depth);
			}
			#pragma unroll
			for (int part = 0; part < 4; part += 2) {
				mma_load_b(right[part], right[part + 1], right_tile[slot], warp_column + part * 8, depth);
			}
			#pragma unroll
			for (int row = 0; row < 1; row++) {
				#pragma unroll
				for (int column = 0; column < 4; column++) {
					mma(sum[row][column], left[row], right[column]);
				}
			}
			#pragma unroll
			for (int part = 0; part < 1; part++) {
				mma_add_rows(left_sum[part], left[part]);
			}
		}
	}
	#pragma unroll
	for (int row = 0; row < 1; row++) {
		#pragma unroll
		for (int column = 0; column < 4; column++) {
			sums_less_zeros(sum[row][column], left_sum[row], right_sum[column], first_row + warp_row + row * 16, first_column + warp_column + column * 8, 144, left_zero, right_zero);
		}
	}
	// all products are summed: the tiles' memory is free
	copy_wait<0>();
	__syncthreads();
	#pragma unroll
	for (int part = 0; part < 1; part++) {
		sums_put(right_tile, sum[part]);
		const int tmp9 = floor_div(H - 1, 2);
		const int tmp10 = floor_div(W - 1, 2);
		if (0 == floor_mod(tmp9 * tmp10 + tmp9 + tmp10 + 1, 8)) {
			const int piece = thread % 4 * 8;
			const int column = first_column + warp_column + piece;
			if (column < tmp9 * tmp10 * N + tmp9 * N + tmp10 * N + N) {
				const int l = floor_mod(column, tmp9 * tmp10 + tmp9 + tmp10 + 1);
				const int i = floor_div(column, tmp9 * tmp10 + tmp9 + tmp10 + 1);
				for (int down = thread % 32 / 4; down < 16; down += 8) {
					const int row = first_row + warp_row + part * 16 + down;
					int sums[8];
					sums_get<32>(sums, right_tile, down, piece);
					int y_v[8];
					#pragma unroll
					for (int item = 0; item < 8; item++) {
						const int this_y = sums[item];
						y_v[item] = this_y;
					}
					const int tmp11 = i * tmp9;
					const int tmp12 = row * tmp9;
					const int tmp13 = l + tmp11 * tmp10 * 16 + tmp11 * 16 + i * tmp10 * 16 + i * 16 + tmp12 * tmp10;
					store(y + (tmp13 + tmp12 + row * tmp10 + row), y_v);
				}
			}
		}
		if (!(0 == floor_mod(tmp9 * tmp10 + tmp9 + tmp10 + 1, 8))) {
			const int piece = thread % 32;
			const int column = first_column + warp_column + piece;
			if (column < tmp9 * tmp10 * N + tmp9 * N + tmp10 * N + N) {
				const int l = floor_mod(column, tmp9 * tmp10 + tmp9 + tmp10 + 1);
				const int i = floor_div(column, tmp9 * tmp10 + tmp9 + tmp10 + 1);
				for (int down = 0; down < 16; down++) {
					const int row = first_row + warp_row + part * 16 + down;
					int sums[1];
					sums_get<32>(sums, right_tile, down, piece);
					const int this_y = sums[0];
					const int tmp14 = i * tmp9;
					const int tmp15 = row * tmp9;
					const int tmp16 = l + tmp14 * tmp10 * 16 + tmp14 * 16 + i * tmp10 * 16 + i * 16 + tmp15 * tmp10;
					y[tmp16 + tmp15 + row * tmp10 + row] = this_y;
				}
			}
		}
	}
}

// x_packed: u8[N,H,W,16] = map (i, j, k, l) select(l < 8, x[i, l, j, k], u8(0))
// Schedule: contract@3, a layout of vectors; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_x_packed_64(const u8 *x, u8 *__restrict__ x_packed, i64 N, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 corner_a = 0;
	const i64 corner_b = block % ((H * W + 31) / 32) * 32;
	const i64 i = block / ((H * W + 31) / 32);
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

// y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<8, s<3, t<3) select(and(and(0 <= k
//     * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2
//     + t - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
// Schedule: contract@3, an element a thread; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_y_64(const u8 *x, const i8 *weight, const u8 *zero, int *__restrict__ y, i64 N, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	const i64 tmp0 = floor_div(H - 1, (i64)2);
	const i64 tmp1 = floor_div(W - 1, (i64)2);
	const i64 tmp2 = tmp0 * tmp1 * N * 16 + tmp0 * N * 16 + tmp1 * N * 16 + N * 16;
	if (element >= tmp2)
		return;
	const i64 l = element % (tmp1 + 1);
	const i64 k = element / (tmp1 + 1) % (tmp0 + 1);
	const i64 j = element / (tmp1 + 1) / (tmp0 + 1) % 16;
	const i64 i = element / (tmp1 + 1) / (tmp0 + 1) / 16;
	int sum = 0;
	for (i64 depth = 0; depth < 72; depth++) {
		const i64 r = depth % 8;
		const i64 t = depth / 8 % 3;
		const i64 s = depth / 24;
		const i64 tmp3 = k * 2 + s - 1;
		const i64 tmp4 = l * 2 + t - 1;
		const i64 tmp5 = l * 2 + k * W * 2 + i * H * W * 8 + r * H * W;
		int tmp6 = 0;
		if ((0 <= tmp3 && tmp3 < H) && (0 <= tmp4 && tmp4 < W)) {
			tmp6 = ((int)x[tmp5 + t + s * W - W - 1] - (int)zero[0]) * (int)weight[j * 72 + r * 9 + t + s * 3];
		}
		sum = sum + tmp6;
	}
	const int this_y = sum;
	const i64 tmp7 = j * tmp0;
	const i64 tmp8 = l + k * tmp1 + k + tmp7 * tmp1 + tmp7 + j * tmp1 + j;
	const i64 tmp9 = i * tmp0;
	y[tmp8 + tmp9 * tmp1 * 16 + tmp9 * 16 + i * tmp1 * 16 + i * 16] = this_y;
}
