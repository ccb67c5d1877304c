#include "tpat_device.h"

// program Enlarge(x: f16[8,3,512,512]) -> (y: f16[8,3,2048,1024])

// y: f16[8,3,2048,1024] = map (i, j, k, l)
//     let _0 = f32(mod(l * 2 + 3, 4)) * 0.25,
//     _1 = 1.0 - _0;
//     f16((1.0 - f32(mod(k * 2 + 5, 8)) * 0.125) * (_1 * f32(x[i, j, max(0, floordiv(k - 2, 4)), max(0, floordiv(l -
//     1, 2))]) + _0 * f32(x[i, j, max(0, floordiv(k - 2, 4)), min(511, floordiv(l - 1, 2) + 1)])) + f32(mod(k * 2 + 5,
//     8)) * 0.125 * (_1 * f32(x[i, j, min(511, floordiv(k - 2, 4) + 1), max(0, floordiv(l - 1, 2))]) + _0 * f32(x[i,
//     j, min(511, floordiv(k - 2, 4) + 1), min(511, floordiv(l - 1, 2) + 1)])))
// Schedule: march@2 rows=4 width=8; 256 threads a block.
// A thread computes 8 elements in each of 4 rows, one row after the other. It keeps the values of an input row in
//     registers while its output rows need them.
// Launch: 6144 blocks of 256 threads.
extern "C" __global__ __launch_bounds__(256)
void Enlarge_y(const f16 *x, f16 *__restrict__ y)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= 1572864)
		return;
	const int l = element % 128;
	const int k = element / 128 % 512;
	const int j = element / 65536 % 3;
	const int i = element / 196608;
	float kept_0[8];
	const float x_0 = to_f32(x[j * 262144 + i * 786432 + max(0, k - 1) * 512 + max(0, l * 4 - 1)]);
	f16 x_v0[4];
	load(x_v0, x + l * 4 + j * 262144 + i * 786432 + max(0, k - 1) * 512);
	const float x_1 = to_f32(x_v0[0]);
	kept_0[0] = fmaf(x_1, 0.75f, x_0 * 0.25f);
	const float x_2 = to_f32(x_v0[1]);
	kept_0[1] = fmaf(x_2, 0.25f, x_1 * 0.75f);
	kept_0[2] = fmaf(x_2, 0.75f, x_1 * 0.25f);
	const float x_3 = to_f32(x_v0[2]);
	kept_0[3] = fmaf(x_3, 0.25f, x_2 * 0.75f);
	kept_0[4] = fmaf(x_3, 0.75f, x_2 * 0.25f);
	const float x_4 = to_f32(x_v0[3]);
	kept_0[5] = fmaf(x_4, 0.25f, x_3 * 0.75f);
	kept_0[6] = fmaf(x_4, 0.75f, x_3 * 0.25f);
	const float x_5 = to_f32(x[j * 262144 + i * 786432 + min(511, l * 4 + 4) + max(0, k - 1) * 512]);
	kept_0[7] = fmaf(x_5, 0.25f, x_4 * 0.75f);
	float kept_1[8];
	const float x_6 = to_f32(x[k * 512 + j * 262144 + i * 786432 + max(0, l * 4 - 1)]);
	f16 x_v1[4];
	load(x_v1, x + l * 4 + k * 512 + j * 262144 + i * 786432);
	const float x_7 = to_f32(x_v1[0]);
	kept_1[0] = fmaf(x_7, 0.75f, x_6 * 0.25f);
	const float x_8 = to_f32(x_v1[1]);
	kept_1[1] = fmaf(x_8, 0.25f, x_7 * 0.75f);
	kept_1[2] = fmaf(x_8, 0.75f, x_7 * 0.25f);
	const float x_9 = to_f32(x_v1[2]);
	kept_1[3] = fmaf(x_9, 0.25f, x_8 * 0.75f);
	kept_1[4] = fmaf(x_9, 0.75f, x_8 * 0.25f);
	const float x_10 = to_f32(x_v1[3]);
	kept_1[5] = fmaf(x_10, 0.25f, x_9 * 0.75f);
	kept_1[6] = fmaf(x_10, 0.75f, x_9 * 0.25f);
	const float x_11 = to_f32(x[k * 512 + j * 262144 + i * 786432 + min(511, l * 4 + 4)]);
	kept_1[7] = fmaf(x_11, 0.25f, x_10 * 0.75f);
	{
		f16 y_v[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			y_v[v] = to_f16(fmaf(kept_1[v], 0.625f, kept_0[v] * 0.375f));
		}
		store_once(y + l * 8 + k * 4096 + j * 2097152 + i * 6291456, y_v);
	}
	{
		f16 y_v[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			y_v[v] = to_f16(fmaf(kept_1[v], 0.875f, kept_0[v] * 0.125f));
		}
		store_once(y + l * 8 + k * 4096 + j * 2097152 + i * 6291456 + 1024, y_v);
	}
	float kept_2[8];
	const float x_12 = to_f32(x[j * 262144 + i * 786432 + min(511, k + 1) * 512 + max(0, l * 4 - 1)]);
	f16 x_v2[4];
	load(x_v2, x + l * 4 + j * 262144 + i * 786432 + min(511, k + 1) * 512);
	const float x_13 = to_f32(x_v2[0]);
	kept_2[0] = fmaf(x_13, 0.75f, x_12 * 0.25f);
	const float x_14 = to_f32(x_v2[1]);
	kept_2[1] = fmaf(x_14, 0.25f, x_13 * 0.75f);
	kept_2[2] = fmaf(x_14, 0.75f, x_13 * 0.25f);
	const float x_15 = to_f32(x_v2[2]);
	kept_2[3] = fmaf(x_15, 0.25f, x_14 * 0.75f);
	kept_2[4] = fmaf(x_15, 0.75f, x_14 * 0.25f);
	const float x_16 = to_f32(x_v2[3]);
	kept_2[5] = fmaf(x_16, 0.25f, x_15 * 0.75f);
	kept_2[6] = fmaf(x_16, 0.75f, x_15 * 0.25f);
	const float x_17 = to_f32(x[j * 262144 + i * 786432 + min(511, k + 1) * 512 + min(511, l * 4 + 4)]);
	kept_2[7] = fmaf(x_17, 0.25f, x_16 * 0.75f);
	{
		f16 y_v[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			y_v[v] = to_f16(fmaf(kept_2[v], 0.125f, kept_1[v] * 0.875f));
		}
		store_once(y + l * 8 + k * 4096 + j * 2097152 + i * 6291456 + 2048, y_v);
	}
	{
		f16 y_v[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			y_v[v] = to_f16(fmaf(kept_2[v], 0.375f, kept_1[v] * 0.625f));
		}
		store_once(y + l * 8 + k * 4096 + j * 2097152 + i * 6291456 + 3072, y_v);
	}
}
