#include "tpat_device.h"

/* program Resize(x: f32[N,C,H,W]) -> (y: f32[N,C,H * 2,W * 2])
  rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 = _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
  y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 = _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
 */

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
// _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_x4(const float *__restrict__ x, float *__restrict__ rows, int N, int C, int H, int W)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 2)
		return;
	const int l = element % W;
	const int k = element / W % (H * 2);
	const int j = element / W / (H * 2) % C;
	const int i = element / W / (H * 2) / C;
	float x_v[4];
	load(x_v, x + l + j * H * W + i * C * H * W + min(H - 1, max(0, to_i32(floorf(((float)k + 0.5f) * 0.5f - 0.5f)))) * W);
	float x_v2[4];
	load(x_v2, x + l + j * H * W + i * C * H * W + min(H - 1, max(0, to_i32(floorf(((float)k + 0.5f) * 0.5f - 0.5f)) + 1)) * W);
	float rows_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const float tmp0 = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float tmp1 = tmp0 - floorf(tmp0);
		rows_v[v] = x_v[v] * (1.0f - tmp1) + x_v2[v] * tmp1;
	}
	store(rows + element, rows_v);
}

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
// _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows(const float *__restrict__ x, float *__restrict__ rows, int N, int C, int H, int W)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 256 + thread;
	if (element >= C * H * N * W * 2)
		return;
	const int l = element % W;
	const int k = element / W % (H * 2);
	const int j = element / W / (H * 2) % C;
	const int i = element / W / (H * 2) / C;
	const float tmp0 = ((float)k + 0.5f) * 0.5f - 0.5f;
	const float tmp1 = floorf(tmp0);
	const int tmp2 = to_i32(tmp1);
	const float tmp3 = tmp0 - tmp1;
	rows[element] = x[l + j * H * W + i * C * H * W + min(H - 1, max(0, tmp2)) * W] * (1.0f - tmp3) + x[l + j * H * W + i * C * H * W + min(H - 1, max(0, tmp2 + 1)) * W] * tmp3;
}

// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
// _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_x4(const float *__restrict__ rows, float *__restrict__ y, int N, int C, int H, int W)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 1024 + thread * 4;
	if (element >= C * H * N * W * 4)
		return;
	const int l = element % (W * 2);
	const int k = element / (W * 2) % (H * 2);
	const int j = element / (W * 2) / (H * 2) % C;
	const int i = element / (W * 2) / (H * 2) / C;
	float y_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const int tmp0 = k * W + j * H * W * 2 + i * C * H * W * 2;
		const float tmp1 = ((float)(v + l) + 0.5f) * 0.5f - 0.5f;
		const float tmp2 = floorf(tmp1);
		const int tmp3 = to_i32(tmp2);
		const float tmp4 = tmp1 - tmp2;
		y_v[v] = rows[tmp0 + min(W - 1, max(0, tmp3))] * (1.0f - tmp4) + rows[tmp0 + min(W - 1, max(0, tmp3 + 1))] * tmp4;
	}
	store(y + element, y_v);
}

// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
// _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
// Schedule: map 1, width 4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_y(const float *__restrict__ rows, float *__restrict__ y, int N, int C, int H, int W)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	const int element = block * 256 + thread;
	if (element >= C * H * N * W * 4)
		return;
	const int l = element % (W * 2);
	const int k = element / (W * 2) % (H * 2);
	const int j = element / (W * 2) / (H * 2) % C;
	const int i = element / (W * 2) / (H * 2) / C;
	const int tmp0 = k * W + j * H * W * 2 + i * C * H * W * 2;
	const float tmp1 = ((float)l + 0.5f) * 0.5f - 0.5f;
	const float tmp2 = floorf(tmp1);
	const int tmp3 = to_i32(tmp2);
	const float tmp4 = tmp1 - tmp2;
	y[element] = rows[tmp0 + min(W - 1, max(0, tmp3))] * (1.0f - tmp4) + rows[tmp0 + min(W - 1, max(0, tmp3 + 1))] * tmp4;
}

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
// _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map 1, width 4; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_64(const float *__restrict__ x, float *__restrict__ rows, i64 N, i64 C, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	const i64 element = block * 256 + thread;
	if (element >= C * H * N * W * 2)
		return;
	const i64 l = element % W;
	const i64 k = element / W % (H * 2);
	const i64 j = element / W / (H * 2) % C;
	const i64 i = element / W / (H * 2) / C;
	const float tmp0 = ((float)k + 0.5f) * 0.5f - 0.5f;
	const float tmp1 = floorf(tmp0);
	const i64 tmp2 = to_i64(tmp1);
	const float tmp3 = tmp0 - tmp1;
	rows[element] = x[l + j * H * W + i * C * H * W + min(H - 1, max((i64)0, tmp2)) * W] * (1.0f - tmp3) + x[l + j * H * W + i * C * H * W + min(H - 1, max((i64)0, tmp2 + 1)) * W] * tmp3;
}

// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
// _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
// Schedule: map 1, width 4; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_64(const float *__restrict__ rows, float *__restrict__ y, i64 N, i64 C, i64 H, i64 W)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	const i64 element = block * 256 + thread;
	if (element >= C * H * N * W * 4)
		return;
	const i64 l = element % (W * 2);
	const i64 k = element / (W * 2) % (H * 2);
	const i64 j = element / (W * 2) / (H * 2) % C;
	const i64 i = element / (W * 2) / (H * 2) / C;
	const i64 tmp0 = k * W + j * H * W * 2 + i * C * H * W * 2;
	const float tmp1 = ((float)l + 0.5f) * 0.5f - 0.5f;
	const float tmp2 = floorf(tmp1);
	const i64 tmp3 = to_i64(tmp2);
	const float tmp4 = tmp1 - tmp2;
	y[element] = rows[tmp0 + min(W - 1, max((i64)0, tmp3))] * (1.0f - tmp4) + rows[tmp0 + min(W - 1, max((i64)0, tmp3 + 1))] * tmp4;
}
