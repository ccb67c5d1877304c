#include "tpat_device.h"

// program Resize(x: f32[N,C,H,W]) -> (y: f32[N,C,H * 2,W * 2])
// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1),
//     _3 = _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1),
//     _3 = _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] *
//     _3

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1),
//     _3 = _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map@1 width=4; 256 threads a block.
// A thread computes 4 elements next to each other.
// Launch: ceil(C * H * N * W / 512) blocks of 256 threads.
// Runs if W % 4 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_x4(const float *__restrict__ x, float *__restrict__ rows, int N, int C, int H, int W,
                    const u64 inverse_W, const u64 inverse, const u64 inverse_C)
{
	const divisor by_W = { W, inverse_W };
	const divisor by = { H * 2, inverse };
	const divisor by_C = { C, inverse_C };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 2)
		return;
	const int l = element % by_W;
	const int k = element / by_W % by;
	const int j = element / by_W / by % by_C;
	const int i = element / by_W / by / by_C;
	const int product = min(H - 1, max(0, to_i32(floorf(((float)k + 0.5f) * 0.5f - 0.5f)))) * W;
	float x_v[4];
	load(x_v, x + l + j * H * W + i * C * H * W + product);
	const int smaller = min(H - 1, max(0, to_i32(floorf(((float)k + 0.5f) * 0.5f - 0.5f)) + 1));
	float x_v2[4];
	load(x_v2, x + l + j * H * W + i * C * H * W + smaller * W);
	float rows_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const float difference = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float difference_2 = difference - floorf(difference);
		rows_v[v] = x_v[v] * (1.0f - difference_2) + x_v2[v] * difference_2;
	}
	store(rows + element, rows_v);
}

// The same as Resize_rows_x4.
// Schedule: map@1 width=4; 256 threads a block.
// Launch: ceil(C * H * N * W / 512) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless Resize_rows_x4 does.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_flat(const float *__restrict__ x, float *__restrict__ rows, int N, int C, int H, int W,
                      const u64 inverse_W, const u64 inverse, const u64 inverse_C)
{
	const divisor by_W = { W, inverse_W };
	const divisor by = { H * 2, inverse };
	const divisor by_C = { C, inverse_C };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 2)
		return;
	const bool whole = element + 4 <= C * H * N * W * 2;
	if (whole) {
		const int l = element % by_W;
		const int k = element / by_W % by;
		const int j = element / by_W / by % by_C;
		const int i = element / by_W / by / by_C;
		float rows_v[4];
		const int x_at = l + j * H * W + i * C * H * W;
		const float difference = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float rounded = floorf(difference);
		const int x_at_2 = to_i32(rounded);
		const float difference_2 = difference - rounded;
		rows_v[0] = x[x_at + min(H - 1, max(0, x_at_2)) * W] * (1.0f - difference_2) +
		            x[x_at + min(H - 1, max(0, x_at_2 + 1)) * W] * difference_2;
		const int next_l_1 = l + 1;
		const int l_1 = next_l_1 == W ? 0 : next_l_1;
		const int next_k_1 = k + (next_l_1 == W ? 1 : 0);
		const int k_1 = next_k_1 == H * 2 ? 0 : next_k_1;
		const int next_j_1 = j + (next_k_1 == H * 2 ? 1 : 0);
		const int j_1 = next_j_1 == C ? 0 : next_j_1;
		const int i_1 = i + (next_j_1 == C ? 1 : 0);
		const int x_at_3 = l_1 + j_1 * H * W + i_1 * C * H * W;
		const float difference_3 = ((float)k_1 + 0.5f) * 0.5f - 0.5f;
		const float rounded_2 = floorf(difference_3);
		const int x_at_4 = to_i32(rounded_2);
		const float difference_4 = difference_3 - rounded_2;
		rows_v[1] = x[x_at_3 + min(H - 1, max(0, x_at_4)) * W] * (1.0f - difference_4) +
		            x[x_at_3 + min(H - 1, max(0, x_at_4 + 1)) * W] * difference_4;
		const int next_l_2 = l_1 + 1;
		const int l_2 = next_l_2 == W ? 0 : next_l_2;
		const int next_k_2 = k_1 + (next_l_2 == W ? 1 : 0);
		const int k_2 = next_k_2 == H * 2 ? 0 : next_k_2;
		const int next_j_2 = j_1 + (next_k_2 == H * 2 ? 1 : 0);
		const int j_2 = next_j_2 == C ? 0 : next_j_2;
		const int i_2 = i_1 + (next_j_2 == C ? 1 : 0);
		const int x_at_5 = l_2 + j_2 * H * W + i_2 * C * H * W;
		const float difference_5 = ((float)k_2 + 0.5f) * 0.5f - 0.5f;
		const float rounded_3 = floorf(difference_5);
		const int x_at_6 = to_i32(rounded_3);
		const float difference_6 = difference_5 - rounded_3;
		rows_v[2] = x[x_at_5 + min(H - 1, max(0, x_at_6)) * W] * (1.0f - difference_6) +
		            x[x_at_5 + min(H - 1, max(0, x_at_6 + 1)) * W] * difference_6;
		const int next_l_3 = l_2 + 1;
		const int l_3 = next_l_3 == W ? 0 : next_l_3;
		const int next_k_3 = k_2 + (next_l_3 == W ? 1 : 0);
		const int k_3 = next_k_3 == H * 2 ? 0 : next_k_3;
		const int next_j_3 = j_2 + (next_k_3 == H * 2 ? 1 : 0);
		const int j_3 = next_j_3 == C ? 0 : next_j_3;
		const int i_3 = i_2 + (next_j_3 == C ? 1 : 0);
		const int x_at_7 = l_3 + j_3 * H * W + i_3 * C * H * W;
		const float difference_7 = ((float)k_3 + 0.5f) * 0.5f - 0.5f;
		const float rounded_4 = floorf(difference_7);
		const int x_at_8 = to_i32(rounded_4);
		const float difference_8 = difference_7 - rounded_4;
		rows_v[3] = x[x_at_7 + min(H - 1, max(0, x_at_8)) * W] * (1.0f - difference_8) +
		            x[x_at_7 + min(H - 1, max(0, x_at_8 + 1)) * W] * difference_8;
		store(rows + element, rows_v);
	} else {
		for (int place = element; place < C * H * N * W * 2; place++) {
			const int l = place % by_W;
			const int k = place / by_W % by;
			const int j = place / by_W / by % by_C;
			const int i = place / by_W / by / by_C;
			const int x_at = l + j * H * W + i * C * H * W;
			const float difference = ((float)k + 0.5f) * 0.5f - 0.5f;
			const float rounded = floorf(difference);
			const int x_at_2 = to_i32(rounded);
			const float difference_2 = difference - rounded;
			rows[place] = x[x_at + min(H - 1, max(0, x_at_2)) * W] * (1.0f - difference_2) +
			              x[x_at + min(H - 1, max(0, x_at_2 + 1)) * W] * difference_2;
		}
	}
}

// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1),
//     _3 = _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] *
//     _3
// Schedule: map@1 width=4; 256 threads a block.
// A thread computes 4 elements next to each other.
// Launch: ceil(C * H * N * W / 256) blocks of 256 threads.
// Runs if W * 2 % 4 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_x4(const float *__restrict__ rows, float *__restrict__ y, int N, int C, int H, int W, const u64 inverse,
                 const u64 inverse_2, const u64 inverse_C)
{
	const divisor by = { W * 2, inverse };
	const divisor by_2 = { H * 2, inverse_2 };
	const divisor by_C = { C, inverse_C };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 4)
		return;
	const int l = element % by;
	const int k = element / by % by_2;
	const int j = element / by / by_2 % by_C;
	const int i = element / by / by_2 / by_C;
	float y_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const int rows_at = k * W + j * H * W * 2 + i * C * H * W * 2;
		const float difference = ((float)(v + l) + 0.5f) * 0.5f - 0.5f;
		const float rounded = floorf(difference);
		const int rows_at_2 = to_i32(rounded);
		const float difference_2 = difference - rounded;
		y_v[v] = rows[rows_at + min(W - 1, max(0, rows_at_2))] * (1.0f - difference_2) +
		         rows[rows_at + min(W - 1, max(0, rows_at_2 + 1))] * difference_2;
	}
	store(y + element, y_v);
}

// The same as Resize_y_x4.
// Schedule: map@1 width=4; 256 threads a block.
// Launch: ceil(C * H * N * W / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless Resize_y_x4 does.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_flat(const float *__restrict__ rows, float *__restrict__ y, int N, int C, int H, int W, const u64 inverse,
                   const u64 inverse_2, const u64 inverse_C)
{
	const divisor by = { W * 2, inverse };
	const divisor by_2 = { H * 2, inverse_2 };
	const divisor by_C = { C, inverse_C };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 4)
		return;
	const int l = element % by;
	const int k = element / by % by_2;
	const int j = element / by / by_2 % by_C;
	const int i = element / by / by_2 / by_C;
	float y_v[4];
	const int rows_at = k * W + j * H * W * 2 + i * C * H * W * 2;
	const float difference = ((float)l + 0.5f) * 0.5f - 0.5f;
	const float rounded = floorf(difference);
	const int rows_at_2 = to_i32(rounded);
	const float difference_2 = difference - rounded;
	y_v[0] = rows[rows_at + min(W - 1, max(0, rows_at_2))] * (1.0f - difference_2) +
	         rows[rows_at + min(W - 1, max(0, rows_at_2 + 1))] * difference_2;
	const int next_l_1 = l + 1;
	const int l_1 = next_l_1 == W * 2 ? 0 : next_l_1;
	const int next_k_1 = k + (next_l_1 == W * 2 ? 1 : 0);
	const int k_1 = next_k_1 == H * 2 ? 0 : next_k_1;
	const int next_j_1 = j + (next_k_1 == H * 2 ? 1 : 0);
	const int j_1 = next_j_1 == C ? 0 : next_j_1;
	const int i_1 = i + (next_j_1 == C ? 1 : 0);
	const int rows_at_3 = k_1 * W + j_1 * H * W * 2 + i_1 * C * H * W * 2;
	const float difference_3 = ((float)l_1 + 0.5f) * 0.5f - 0.5f;
	const float rounded_2 = floorf(difference_3);
	const int rows_at_4 = to_i32(rounded_2);
	const float difference_4 = difference_3 - rounded_2;
	y_v[1] = rows[rows_at_3 + min(W - 1, max(0, rows_at_4))] * (1.0f - difference_4) +
	         rows[rows_at_3 + min(W - 1, max(0, rows_at_4 + 1))] * difference_4;
	const int next_l_2 = l_1 + 1;
	const int l_2 = next_l_2 == W * 2 ? 0 : next_l_2;
	const int next_k_2 = k_1 + (next_l_2 == W * 2 ? 1 : 0);
	const int k_2 = next_k_2 == H * 2 ? 0 : next_k_2;
	const int next_j_2 = j_1 + (next_k_2 == H * 2 ? 1 : 0);
	const int j_2 = next_j_2 == C ? 0 : next_j_2;
	const int i_2 = i_1 + (next_j_2 == C ? 1 : 0);
	const int rows_at_5 = k_2 * W + j_2 * H * W * 2 + i_2 * C * H * W * 2;
	const float difference_5 = ((float)l_2 + 0.5f) * 0.5f - 0.5f;
	const float rounded_3 = floorf(difference_5);
	const int rows_at_6 = to_i32(rounded_3);
	const float difference_6 = difference_5 - rounded_3;
	y_v[2] = rows[rows_at_5 + min(W - 1, max(0, rows_at_6))] * (1.0f - difference_6) +
	         rows[rows_at_5 + min(W - 1, max(0, rows_at_6 + 1))] * difference_6;
	const int next_l_3 = l_2 + 1;
	const int l_3 = next_l_3 == W * 2 ? 0 : next_l_3;
	const int next_k_3 = k_2 + (next_l_3 == W * 2 ? 1 : 0);
	const int k_3 = next_k_3 == H * 2 ? 0 : next_k_3;
	const int next_j_3 = j_2 + (next_k_3 == H * 2 ? 1 : 0);
	const int j_3 = next_j_3 == C ? 0 : next_j_3;
	const int i_3 = i_2 + (next_j_3 == C ? 1 : 0);
	const int rows_at_7 = k_3 * W + j_3 * H * W * 2 + i_3 * C * H * W * 2;
	const float difference_7 = ((float)l_3 + 0.5f) * 0.5f - 0.5f;
	const float rounded_4 = floorf(difference_7);
	const int rows_at_8 = to_i32(rounded_4);
	const float difference_8 = difference_7 - rounded_4;
	y_v[3] = rows[rows_at_7 + min(W - 1, max(0, rows_at_8))] * (1.0f - difference_8) +
	         rows[rows_at_7 + min(W - 1, max(0, rows_at_8 + 1))] * difference_8;
	store(y + element, y_v);
}

// The same as Resize_rows_x4.
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
// Launch: ceil(C * H * N * W / 512) blocks of 256 threads.
// Runs unless Resize_rows_x4 or Resize_rows_flat does.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_flat_64(const float *__restrict__ x, float *__restrict__ rows, i64 N, i64 C, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	const i64 element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 2)
		return;
	const bool whole = element + 4 <= C * H * N * W * 2;
	if (whole) {
		const i64 l = element % W;
		const i64 k = element / W % (H * 2);
		const i64 j = element / W / (H * 2) % C;
		const i64 i = element / W / (H * 2) / C;
		float rows_v[4];
		const i64 x_at = l + j * H * W + i * C * H * W;
		const float difference = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float rounded = floorf(difference);
		const i64 x_at_2 = to_i64(rounded);
		const float difference_2 = difference - rounded;
		rows_v[0] = x[x_at + min(H - 1, max((i64)0, x_at_2)) * W] * (1.0f - difference_2) +
		            x[x_at + min(H - 1, max((i64)0, x_at_2 + 1)) * W] * difference_2;
		const i64 next_l_1 = l + 1;
		const i64 l_1 = next_l_1 == W ? 0 : next_l_1;
		const i64 next_k_1 = k + (next_l_1 == W ? 1 : 0);
		const i64 k_1 = next_k_1 == H * 2 ? 0 : next_k_1;
		const i64 next_j_1 = j + (next_k_1 == H * 2 ? 1 : 0);
		const i64 j_1 = next_j_1 == C ? 0 : next_j_1;
		const i64 i_1 = i + (next_j_1 == C ? 1 : 0);
		const i64 x_at_3 = l_1 + j_1 * H * W + i_1 * C * H * W;
		const float difference_3 = ((float)k_1 + 0.5f) * 0.5f - 0.5f;
		const float rounded_2 = floorf(difference_3);
		const i64 x_at_4 = to_i64(rounded_2);
		const float difference_4 = difference_3 - rounded_2;
		rows_v[1] = x[x_at_3 + min(H - 1, max((i64)0, x_at_4)) * W] * (1.0f - difference_4) +
		            x[x_at_3 + min(H - 1, max((i64)0, x_at_4 + 1)) * W] * difference_4;
		const i64 next_l_2 = l_1 + 1;
		const i64 l_2 = next_l_2 == W ? 0 : next_l_2;
		const i64 next_k_2 = k_1 + (next_l_2 == W ? 1 : 0);
		const i64 k_2 = next_k_2 == H * 2 ? 0 : next_k_2;
		const i64 next_j_2 = j_1 + (next_k_2 == H * 2 ? 1 : 0);
		const i64 j_2 = next_j_2 == C ? 0 : next_j_2;
		const i64 i_2 = i_1 + (next_j_2 == C ? 1 : 0);
		const i64 x_at_5 = l_2 + j_2 * H * W + i_2 * C * H * W;
		const float difference_5 = ((float)k_2 + 0.5f) * 0.5f - 0.5f;
		const float rounded_3 = floorf(difference_5);
		const i64 x_at_6 = to_i64(rounded_3);
		const float difference_6 = difference_5 - rounded_3;
		rows_v[2] = x[x_at_5 + min(H - 1, max((i64)0, x_at_6)) * W] * (1.0f - difference_6) +
		            x[x_at_5 + min(H - 1, max((i64)0, x_at_6 + 1)) * W] * difference_6;
		const i64 next_l_3 = l_2 + 1;
		const i64 l_3 = next_l_3 == W ? 0 : next_l_3;
		const i64 next_k_3 = k_2 + (next_l_3 == W ? 1 : 0);
		const i64 k_3 = next_k_3 == H * 2 ? 0 : next_k_3;
		const i64 next_j_3 = j_2 + (next_k_3 == H * 2 ? 1 : 0);
		const i64 j_3 = next_j_3 == C ? 0 : next_j_3;
		const i64 i_3 = i_2 + (next_j_3 == C ? 1 : 0);
		const i64 x_at_7 = l_3 + j_3 * H * W + i_3 * C * H * W;
		const float difference_7 = ((float)k_3 + 0.5f) * 0.5f - 0.5f;
		const float rounded_4 = floorf(difference_7);
		const i64 x_at_8 = to_i64(rounded_4);
		const float difference_8 = difference_7 - rounded_4;
		rows_v[3] = x[x_at_7 + min(H - 1, max((i64)0, x_at_8)) * W] * (1.0f - difference_8) +
		            x[x_at_7 + min(H - 1, max((i64)0, x_at_8 + 1)) * W] * difference_8;
		store(rows + element, rows_v);
	} else {
		for (i64 place = element; place < C * H * N * W * 2; place++) {
			const i64 l = place % W;
			const i64 k = place / W % (H * 2);
			const i64 j = place / W / (H * 2) % C;
			const i64 i = place / W / (H * 2) / C;
			const i64 x_at = l + j * H * W + i * C * H * W;
			const float difference = ((float)k + 0.5f) * 0.5f - 0.5f;
			const float rounded = floorf(difference);
			const i64 x_at_2 = to_i64(rounded);
			const float difference_2 = difference - rounded;
			rows[place] = x[x_at + min(H - 1, max((i64)0, x_at_2)) * W] * (1.0f - difference_2) +
			              x[x_at + min(H - 1, max((i64)0, x_at_2 + 1)) * W] * difference_2;
		}
	}
}

// The same as Resize_y_x4.
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
// Launch: ceil(C * H * N * W / 256) blocks of 256 threads.
// Runs unless Resize_y_x4 or Resize_y_flat does.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_flat_64(const float *__restrict__ rows, float *__restrict__ y, i64 N, i64 C, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	const i64 element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 4)
		return;
	const i64 l = element % (W * 2);
	const i64 k = element / (W * 2) % (H * 2);
	const i64 j = element / (W * 2) / (H * 2) % C;
	const i64 i = element / (W * 2) / (H * 2) / C;
	float y_v[4];
	const i64 rows_at = k * W + j * H * W * 2 + i * C * H * W * 2;
	const float difference = ((float)l + 0.5f) * 0.5f - 0.5f;
	const float rounded = floorf(difference);
	const i64 rows_at_2 = to_i64(rounded);
	const float difference_2 = difference - rounded;
	y_v[0] = rows[rows_at + min(W - 1, max((i64)0, rows_at_2))] * (1.0f - difference_2) +
	         rows[rows_at + min(W - 1, max((i64)0, rows_at_2 + 1))] * difference_2;
	const i64 next_l_1 = l + 1;
	const i64 l_1 = next_l_1 == W * 2 ? 0 : next_l_1;
	const i64 next_k_1 = k + (next_l_1 == W * 2 ? 1 : 0);
	const i64 k_1 = next_k_1 == H * 2 ? 0 : next_k_1;
	const i64 next_j_1 = j + (next_k_1 == H * 2 ? 1 : 0);
	const i64 j_1 = next_j_1 == C ? 0 : next_j_1;
	const i64 i_1 = i + (next_j_1 == C ? 1 : 0);
	const i64 rows_at_3 = k_1 * W + j_1 * H * W * 2 + i_1 * C * H * W * 2;
	const float difference_3 = ((float)l_1 + 0.5f) * 0.5f - 0.5f;
	const float rounded_2 = floorf(difference_3);
	const i64 rows_at_4 = to_i64(rounded_2);
	const float difference_4 = difference_3 - rounded_2;
	y_v[1] = rows[rows_at_3 + min(W - 1, max((i64)0, rows_at_4))] * (1.0f - difference_4) +
	         rows[rows_at_3 + min(W - 1, max((i64)0, rows_at_4 + 1))] * difference_4;
	const i64 next_l_2 = l_1 + 1;
	const i64 l_2 = next_l_2 == W * 2 ? 0 : next_l_2;
	const i64 next_k_2 = k_1 + (next_l_2 == W * 2 ? 1 : 0);
	const i64 k_2 = next_k_2 == H * 2 ? 0 : next_k_2;
	const i64 next_j_2 = j_1 + (next_k_2 == H * 2 ? 1 : 0);
	const i64 j_2 = next_j_2 == C ? 0 : next_j_2;
	const i64 i_2 = i_1 + (next_j_2 == C ? 1 : 0);
	const i64 rows_at_5 = k_2 * W + j_2 * H * W * 2 + i_2 * C * H * W * 2;
	const float difference_5 = ((float)l_2 + 0.5f) * 0.5f - 0.5f;
	const float rounded_3 = floorf(difference_5);
	const i64 rows_at_6 = to_i64(rounded_3);
	const float difference_6 = difference_5 - rounded_3;
	y_v[2] = rows[rows_at_5 + min(W - 1, max((i64)0, rows_at_6))] * (1.0f - difference_6) +
	         rows[rows_at_5 + min(W - 1, max((i64)0, rows_at_6 + 1))] * difference_6;
	const i64 next_l_3 = l_2 + 1;
	const i64 l_3 = next_l_3 == W * 2 ? 0 : next_l_3;
	const i64 next_k_3 = k_2 + (next_l_3 == W * 2 ? 1 : 0);
	const i64 k_3 = next_k_3 == H * 2 ? 0 : next_k_3;
	const i64 next_j_3 = j_2 + (next_k_3 == H * 2 ? 1 : 0);
	const i64 j_3 = next_j_3 == C ? 0 : next_j_3;
	const i64 i_3 = i_2 + (next_j_3 == C ? 1 : 0);
	const i64 rows_at_7 = k_3 * W + j_3 * H * W * 2 + i_3 * C * H * W * 2;
	const float difference_7 = ((float)l_3 + 0.5f) * 0.5f - 0.5f;
	const float rounded_4 = floorf(difference_7);
	const i64 rows_at_8 = to_i64(rounded_4);
	const float difference_8 = difference_7 - rounded_4;
	y_v[3] = rows[rows_at_7 + min(W - 1, max((i64)0, rows_at_8))] * (1.0f - difference_8) +
	         rows[rows_at_7 + min(W - 1, max((i64)0, rows_at_8 + 1))] * difference_8;
	store(y + element, y_v);
}
