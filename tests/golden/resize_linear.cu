#include "tpat_device.h"

/* program Resize(x: f32[N,C,H,W]) -> (y: f32[N,C,H * 2,W * 2])
  rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 = _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
  y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 = _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
 */

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
//     _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map@1 width=4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_x4(const float *__restrict__ x, float *__restrict__ rows, int N, int C, int H, int W, const u64 inverse_W, const u64 inverse, const u64 inverse_C)
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
	const int tmp0 = min(H - 1, max(0, to_i32(floorf(((float)k + 0.5f) * 0.5f - 0.5f)))) * W;
	float x_v[4];
	load(x_v, x + l + j * H * W + i * C * H * W + tmp0);
	const int tmp1 = min(H - 1, max(0, to_i32(floorf(((float)k + 0.5f) * 0.5f - 0.5f)) + 1));
	float x_v2[4];
	load(x_v2, x + l + j * H * W + i * C * H * W + tmp1 * W);
	float rows_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const float tmp2 = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float tmp3 = tmp2 - floorf(tmp2);
		rows_v[v] = x_v[v] * (1.0f - tmp3) + x_v2[v] * tmp3;
	}
	store(rows + element, rows_v);
}

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
//     _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map@1 width=4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_rows_flat(const float *__restrict__ x, float *__restrict__ rows, int N, int C, int H, int W, const u64 inverse_W, const u64 inverse, const u64 inverse_C)
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
		const int tmp0 = l + j * H * W + i * C * H * W;
		const float tmp1 = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float tmp2 = floorf(tmp1);
		const int tmp3 = to_i32(tmp2);
		const float tmp4 = tmp1 - tmp2;
		rows_v[0] = x[tmp0 + min(H - 1, max(0, tmp3)) * W] * (1.0f - tmp4) + x[tmp0 + min(H - 1, max(0, tmp3 + 1)) * W] * tmp4;
		const int this_l_next1 = l + 1;
		const int this_l1 = this_l_next1 == W ? 0 : this_l_next1;
		const int this_k_next1 = k + (this_l_next1 == W ? 1 : 0);
		const int this_k1 = this_k_next1 == H * 2 ? 0 : this_k_next1;
		const int this_j_next1 = j + (this_k_next1 == H * 2 ? 1 : 0);
		const int this_j1 = this_j_next1 == C ? 0 : this_j_next1;
		const int this_i_next1 = i + (this_j_next1 == C ? 1 : 0);
		const int this_i1 = this_i_next1 == N ? 0 : this_i_next1;
		const int tmp5 = this_l1 + this_j1 * H * W + this_i1 * C * H * W;
		const float tmp6 = ((float)this_k1 + 0.5f) * 0.5f - 0.5f;
		const float tmp7 = floorf(tmp6);
		const int tmp8 = to_i32(tmp7);
		const float tmp9 = tmp6 - tmp7;
		rows_v[1] = x[tmp5 + min(H - 1, max(0, tmp8)) * W] * (1.0f - tmp9) + x[tmp5 + min(H - 1, max(0, tmp8 + 1)) * W] * tmp9;
		const int this_l_next2 = this_l1 + 1;
		const int this_l2 = this_l_next2 == W ? 0 : this_l_next2;
		const int this_k_next2 = this_k1 + (this_l_next2 == W ? 1 : 0);
		const int this_k2 = this_k_next2 == H * 2 ? 0 : this_k_next2;
		const int this_j_next2 = this_j1 + (this_k_next2 == H * 2 ? 1 : 0);
		const int this_j2 = this_j_next2 == C ? 0 : this_j_next2;
		const int this_i_next2 = this_i1 + (this_j_next2 == C ? 1 : 0);
		const int this_i2 = this_i_next2 == N ? 0 : this_i_next2;
		const int tmp10 = this_l2 + this_j2 * H * W + this_i2 * C * H * W;
		const float tmp11 = ((float)this_k2 + 0.5f) * 0.5f - 0.5f;
		const float tmp12 = floorf(tmp11);
		const int tmp13 = to_i32(tmp12);
		const float tmp14 = tmp11 - tmp12;
		rows_v[2] = x[tmp10 + min(H - 1, max(0, tmp13)) * W] * (1.0f - tmp14) + x[tmp10 + min(H - 1, max(0, tmp13 + 1)) * W] * tmp14;
		const int this_l_next3 = this_l2 + 1;
		const int this_l3 = this_l_next3 == W ? 0 : this_l_next3;
		const int this_k_next3 = this_k2 + (this_l_next3 == W ? 1 : 0);
		const int this_k3 = this_k_next3 == H * 2 ? 0 : this_k_next3;
		const int this_j_next3 = this_j2 + (this_k_next3 == H * 2 ? 1 : 0);
		const int this_j3 = this_j_next3 == C ? 0 : this_j_next3;
		const int this_i_next3 = this_i2 + (this_j_next3 == C ? 1 : 0);
		const int this_i3 = this_i_next3 == N ? 0 : this_i_next3;
		const int tmp15 = this_l3 + this_j3 * H * W + this_i3 * C * H * W;
		const float tmp16 = ((float)this_k3 + 0.5f) * 0.5f - 0.5f;
		const float tmp17 = floorf(tmp16);
		const int tmp18 = to_i32(tmp17);
		const float tmp19 = tmp16 - tmp17;
		rows_v[3] = x[tmp15 + min(H - 1, max(0, tmp18)) * W] * (1.0f - tmp19) + x[tmp15 + min(H - 1, max(0, tmp18 + 1)) * W] * tmp19;
		store(rows + element, rows_v);
	}
	if (!whole) {
		for (int place = element; place < C * H * N * W * 2; place++) {
			const int l = place % by_W;
			const int k = place / by_W % by;
			const int j = place / by_W / by % by_C;
			const int i = place / by_W / by / by_C;
			const int tmp20 = l + j * H * W + i * C * H * W;
			const float tmp21 = ((float)k + 0.5f) * 0.5f - 0.5f;
			const float tmp22 = floorf(tmp21);
			const int tmp23 = to_i32(tmp22);
			const float tmp24 = tmp21 - tmp22;
			rows[place] = x[tmp20 + min(H - 1, max(0, tmp23)) * W] * (1.0f - tmp24) + x[tmp20 + min(H - 1, max(0, tmp23 + 1)) * W] * tmp24;
		}
	}
}

// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
//     _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
// Schedule: map@1 width=4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_x4(const float *__restrict__ rows, float *__restrict__ y, int N, int C, int H, int W, const u64 inverse, const u64 inverse_2, const u64 inverse_C)
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
//     _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
// Schedule: map@1 width=4; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Resize_y_flat(const float *__restrict__ rows, float *__restrict__ y, int N, int C, int H, int W, const u64 inverse, const u64 inverse_2, const u64 inverse_C)
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
	const int tmp0 = k * W + j * H * W * 2 + i * C * H * W * 2;
	const float tmp1 = ((float)l + 0.5f) * 0.5f - 0.5f;
	const float tmp2 = floorf(tmp1);
	const int tmp3 = to_i32(tmp2);
	const float tmp4 = tmp1 - tmp2;
	y_v[0] = rows[tmp0 + min(W - 1, max(0, tmp3))] * (1.0f - tmp4) + rows[tmp0 + min(W - 1, max(0, tmp3 + 1))] * tmp4;
	const int this_l_next1 = l + 1;
	const int this_l1 = this_l_next1 == W * 2 ? 0 : this_l_next1;
	const int this_k_next1 = k + (this_l_next1 == W * 2 ? 1 : 0);
	const int this_k1 = this_k_next1 == H * 2 ? 0 : this_k_next1;
	const int this_j_next1 = j + (this_k_next1 == H * 2 ? 1 : 0);
	const int this_j1 = this_j_next1 == C ? 0 : this_j_next1;
	const int this_i_next1 = i + (this_j_next1 == C ? 1 : 0);
	const int this_i1 = this_i_next1 == N ? 0 : this_i_next1;
	const int tmp5 = this_k1 * W + this_j1 * H * W * 2 + this_i1 * C * H * W * 2;
	const float tmp6 = ((float)this_l1 + 0.5f) * 0.5f - 0.5f;
	const float tmp7 = floorf(tmp6);
	const int tmp8 = to_i32(tmp7);
	const float tmp9 = tmp6 - tmp7;
	y_v[1] = rows[tmp5 + min(W - 1, max(0, tmp8))] * (1.0f - tmp9) + rows[tmp5 + min(W - 1, max(0, tmp8 + 1))] * tmp9;
	const int this_l_next2 = this_l1 + 1;
	const int this_l2 = this_l_next2 == W * 2 ? 0 : this_l_next2;
	const int this_k_next2 = this_k1 + (this_l_next2 == W * 2 ? 1 : 0);
	const int this_k2 = this_k_next2 == H * 2 ? 0 : this_k_next2;
	const int this_j_next2 = this_j1 + (this_k_next2 == H * 2 ? 1 : 0);
	const int this_j2 = this_j_next2 == C ? 0 : this_j_next2;
	const int this_i_next2 = this_i1 + (this_j_next2 == C ? 1 : 0);
	const int this_i2 = this_i_next2 == N ? 0 : this_i_next2;
	const int tmp10 = this_k2 * W + this_j2 * H * W * 2 + this_i2 * C * H * W * 2;
	const float tmp11 = ((float)this_l2 + 0.5f) * 0.5f - 0.5f;
	const float tmp12 = floorf(tmp11);
	const int tmp13 = to_i32(tmp12);
	const float tmp14 = tmp11 - tmp12;
	y_v[2] = rows[tmp10 + min(W - 1, max(0, tmp13))] * (1.0f - tmp14) + rows[tmp10 + min(W - 1, max(0, tmp13 + 1))] * tmp14;
	const int this_l_next3 = this_l2 + 1;
	const int this_l3 = this_l_next3 == W * 2 ? 0 : this_l_next3;
	const int this_k_next3 = this_k2 + (this_l_next3 == W * 2 ? 1 : 0);
	const int this_k3 = this_k_next3 == H * 2 ? 0 : this_k_next3;
	const int this_j_next3 = this_j2 + (this_k_next3 == H * 2 ? 1 : 0);
	const int this_j3 = this_j_next3 == C ? 0 : this_j_next3;
	const int this_i_next3 = this_i2 + (this_j_next3 == C ? 1 : 0);
	const int this_i3 = this_i_next3 == N ? 0 : this_i_next3;
	const int tmp15 = this_k3 * W + this_j3 * H * W * 2 + this_i3 * C * H * W * 2;
	const float tmp16 = ((float)this_l3 + 0.5f) * 0.5f - 0.5f;
	const float tmp17 = floorf(tmp16);
	const int tmp18 = to_i32(tmp17);
	const float tmp19 = tmp16 - tmp17;
	y_v[3] = rows[tmp15 + min(W - 1, max(0, tmp18))] * (1.0f - tmp19) + rows[tmp15 + min(W - 1, max(0, tmp18 + 1))] * tmp19;
	store(y + element, y_v);
}

// rows: f32[N,C,H * 2,W] = map (i, j, k, l) let _0 = (f32(k) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
//     _0 - _1; x[i, j, min(H - 1, max(0, _2)), l] * (1.0 - _3) + x[i, j, min(H - 1, max(0, _2 + 1)), l] * _3
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
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
		const i64 tmp0 = l + j * H * W + i * C * H * W;
		const float tmp1 = ((float)k + 0.5f) * 0.5f - 0.5f;
		const float tmp2 = floorf(tmp1);
		const i64 tmp3 = to_i64(tmp2);
		const float tmp4 = tmp1 - tmp2;
		rows_v[0] = x[tmp0 + min(H - 1, max((i64)0, tmp3)) * W] * (1.0f - tmp4) + x[tmp0 + min(H - 1, max((i64)0, tmp3 + 1)) * W] * tmp4;
		const i64 this_l_next1 = l + 1;
		const i64 this_l1 = this_l_next1 == W ? 0 : this_l_next1;
		const i64 this_k_next1 = k + (this_l_next1 == W ? 1 : 0);
		const i64 this_k1 = this_k_next1 == H * 2 ? 0 : this_k_next1;
		const i64 this_j_next1 = j + (this_k_next1 == H * 2 ? 1 : 0);
		const i64 this_j1 = this_j_next1 == C ? 0 : this_j_next1;
		const i64 this_i_next1 = i + (this_j_next1 == C ? 1 : 0);
		const i64 this_i1 = this_i_next1 == N ? 0 : this_i_next1;
		const i64 tmp5 = this_l1 + this_j1 * H * W + this_i1 * C * H * W;
		const float tmp6 = ((float)this_k1 + 0.5f) * 0.5f - 0.5f;
		const float tmp7 = floorf(tmp6);
		const i64 tmp8 = to_i64(tmp7);
		const float tmp9 = tmp6 - tmp7;
		rows_v[1] = x[tmp5 + min(H - 1, max((i64)0, tmp8)) * W] * (1.0f - tmp9) + x[tmp5 + min(H - 1, max((i64)0, tmp8 + 1)) * W] * tmp9;
		const i64 this_l_next2 = this_l1 + 1;
		const i64 this_l2 = this_l_next2 == W ? 0 : this_l_next2;
		const i64 this_k_next2 = this_k1 + (this_l_next2 == W ? 1 : 0);
		const i64 this_k2 = this_k_next2 == H * 2 ? 0 : this_k_next2;
		const i64 this_j_next2 = this_j1 + (this_k_next2 == H * 2 ? 1 : 0);
		const i64 this_j2 = this_j_next2 == C ? 0 : this_j_next2;
		const i64 this_i_next2 = this_i1 + (this_j_next2 == C ? 1 : 0);
		const i64 this_i2 = this_i_next2 == N ? 0 : this_i_next2;
		const i64 tmp10 = this_l2 + this_j2 * H * W + this_i2 * C * H * W;
		const float tmp11 = ((float)this_k2 + 0.5f) * 0.5f - 0.5f;
		const float tmp12 = floorf(tmp11);
		const i64 tmp13 = to_i64(tmp12);
		const float tmp14 = tmp11 - tmp12;
		rows_v[2] = x[tmp10 + min(H - 1, max((i64)0, tmp13)) * W] * (1.0f - tmp14) + x[tmp10 + min(H - 1, max((i64)0, tmp13 + 1)) * W] * tmp14;
		const i64 this_l_next3 = this_l2 + 1;
		const i64 this_l3 = this_l_next3 == W ? 0 : this_l_next3;
		const i64 this_k_next3 = this_k2 + (this_l_next3 == W ? 1 : 0);
		const i64 this_k3 = this_k_next3 == H * 2 ? 0 : this_k_next3;
		const i64 this_j_next3 = this_j2 + (this_k_next3 == H * 2 ? 1 : 0);
		const i64 this_j3 = this_j_next3 == C ? 0 : this_j_next3;
		const i64 this_i_next3 = this_i2 + (this_j_next3 == C ? 1 : 0);
		const i64 this_i3 = this_i_next3 == N ? 0 : this_i_next3;
		const i64 tmp15 = this_l3 + this_j3 * H * W + this_i3 * C * H * W;
		const float tmp16 = ((float)this_k3 + 0.5f) * 0.5f - 0.5f;
		const float tmp17 = floorf(tmp16);
		const i64 tmp18 = to_i64(tmp17);
		const float tmp19 = tmp16 - tmp17;
		rows_v[3] = x[tmp15 + min(H - 1, max((i64)0, tmp18)) * W] * (1.0f - tmp19) + x[tmp15 + min(H - 1, max((i64)0, tmp18 + 1)) * W] * tmp19;
		store(rows + element, rows_v);
	}
	if (!whole) {
		for (i64 place = element; place < C * H * N * W * 2; place++) {
			const i64 l = place % W;
			const i64 k = place / W % (H * 2);
			const i64 j = place / W / (H * 2) % C;
			const i64 i = place / W / (H * 2) / C;
			const i64 tmp20 = l + j * H * W + i * C * H * W;
			const float tmp21 = ((float)k + 0.5f) * 0.5f - 0.5f;
			const float tmp22 = floorf(tmp21);
			const i64 tmp23 = to_i64(tmp22);
			const float tmp24 = tmp21 - tmp22;
			rows[place] = x[tmp20 + min(H - 1, max((i64)0, tmp23)) * W] * (1.0f - tmp24) + x[tmp20 + min(H - 1, max((i64)0, tmp23 + 1)) * W] * tmp24;
		}
	}
}

// y: f32[N,C,H * 2,W * 2] = map (i, j, k, l) let _0 = (f32(l) + 0.5) * 0.5 - 0.5, _1 = floor(_0), _2 = index(_1), _3 =
//     _0 - _1; rows[i, j, k, min(W - 1, max(0, _2))] * (1.0 - _3) + rows[i, j, k, min(W - 1, max(0, _2 + 1))] * _3
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
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
	const i64 tmp0 = k * W + j * H * W * 2 + i * C * H * W * 2;
	const float tmp1 = ((float)l + 0.5f) * 0.5f - 0.5f;
	const float tmp2 = floorf(tmp1);
	const i64 tmp3 = to_i64(tmp2);
	const float tmp4 = tmp1 - tmp2;
	y_v[0] = rows[tmp0 + min(W - 1, max((i64)0, tmp3))] * (1.0f - tmp4) + rows[tmp0 + min(W - 1, max((i64)0, tmp3 + 1))] * tmp4;
	const i64 this_l_next1 = l + 1;
	const i64 this_l1 = this_l_next1 == W * 2 ? 0 : this_l_next1;
	const i64 this_k_next1 = k + (this_l_next1 == W * 2 ? 1 : 0);
	const i64 this_k1 = this_k_next1 == H * 2 ? 0 : this_k_next1;
	const i64 this_j_next1 = j + (this_k_next1 == H * 2 ? 1 : 0);
	const i64 this_j1 = this_j_next1 == C ? 0 : this_j_next1;
	const i64 this_i_next1 = i + (this_j_next1 == C ? 1 : 0);
	const i64 this_i1 = this_i_next1 == N ? 0 : this_i_next1;
	const i64 tmp5 = this_k1 * W + this_j1 * H * W * 2 + this_i1 * C * H * W * 2;
	const float tmp6 = ((float)this_l1 + 0.5f) * 0.5f - 0.5f;
	const float tmp7 = floorf(tmp6);
	const i64 tmp8 = to_i64(tmp7);
	const float tmp9 = tmp6 - tmp7;
	y_v[1] = rows[tmp5 + min(W - 1, max((i64)0, tmp8))] * (1.0f - tmp9) + rows[tmp5 + min(W - 1, max((i64)0, tmp8 + 1))] * tmp9;
	const i64 this_l_next2 = this_l1 + 1;
	const i64 this_l2 = this_l_next2 == W * 2 ? 0 : this_l_next2;
	const i64 this_k_next2 = this_k1 + (this_l_next2 == W * 2 ? 1 : 0);
	const i64 this_k2 = this_k_next2 == H * 2 ? 0 : this_k_next2;
	const i64 this_j_next2 = this_j1 + (this_k_next2 == H * 2 ? 1 : 0);
	const i64 this_j2 = this_j_next2 == C ? 0 : this_j_next2;
	const i64 this_i_next2 = this_i1 + (this_j_next2 == C ? 1 : 0);
	const i64 this_i2 = this_i_next2 == N ? 0 : this_i_next2;
	const i64 tmp10 = this_k2 * W + this_j2 * H * W * 2 + this_i2 * C * H * W * 2;
	const float tmp11 = ((float)this_l2 + 0.5f) * 0.5f - 0.5f;
	const float tmp12 = floorf(tmp11);
	const i64 tmp13 = to_i64(tmp12);
	const float tmp14 = tmp11 - tmp12;
	y_v[2] = rows[tmp10 + min(W - 1, max((i64)0, tmp13))] * (1.0f - tmp14) + rows[tmp10 + min(W - 1, max((i64)0, tmp13 + 1))] * tmp14;
	const i64 this_l_next3 = this_l2 + 1;
	const i64 this_l3 = this_l_next3 == W * 2 ? 0 : this_l_next3;
	const i64 this_k_next3 = this_k2 + (this_l_next3 == W * 2 ? 1 : 0);
	const i64 this_k3 = this_k_next3 == H * 2 ? 0 : this_k_next3;
	const i64 this_j_next3 = this_j2 + (this_k_next3 == H * 2 ? 1 : 0);
	const i64 this_j3 = this_j_next3 == C ? 0 : this_j_next3;
	const i64 this_i_next3 = this_i2 + (this_j_next3 == C ? 1 : 0);
	const i64 this_i3 = this_i_next3 == N ? 0 : this_i_next3;
	const i64 tmp15 = this_k3 * W + this_j3 * H * W * 2 + this_i3 * C * H * W * 2;
	const float tmp16 = ((float)this_l3 + 0.5f) * 0.5f - 0.5f;
	const float tmp17 = floorf(tmp16);
	const i64 tmp18 = to_i64(tmp17);
	const float tmp19 = tmp16 - tmp17;
	y_v[3] = rows[tmp15 + min(W - 1, max((i64)0, tmp18))] * (1.0f - tmp19) + rows[tmp15 + min(W - 1, max((i64)0, tmp18 + 1))] * tmp19;
	store(y + element, y_v);
}
