#include "tpat_device.h"

// program Antialias(x: f16[N,3,512,512]) -> (y: f16[N,3,224,224])
// weights: f32[224] = sum (i | r<6) select(and(0 <= r + floordiv(i * 16 + 4, 7) - 2, r + floordiv(i * 16 + 4, 7) - 2 <
//     512), max(1.0 - abs(f32(r * 14 - i * 32 + floordiv(i * 16 + 4, 7) * 14 - 37) * 0.071428575 * 0.4375), 0.0), 0.0)
// y_2: f32[N,3,224,512] = sum (i, j, k, l | r<6)
//     let _0 = r + floordiv(k * 16 + 4, 7) - 2;
//     select(and(0 <= _0, _0 < 512), max(1.0 - abs(f32(r * 14 - k * 32 + floordiv(k * 16 + 4, 7) * 14 - 37) *
//     0.071428575 * 0.4375), 0.0), 0.0) * f32(x[i, j, min(511, max(0, _0)), l]) then it / weights[k]
// y: f16[N,3,224,224] = sum (i, j, k, l | r<6)
//     let _0 = r + floordiv(l * 16 + 4, 7) - 2;
//     select(and(0 <= _0, _0 < 512), max(1.0 - abs(f32(r * 14 - l * 32 + floordiv(l * 16 + 4, 7) * 14 - 37) *
//     0.071428575 * 0.4375), 0.0), 0.0) * y_2[i, j, k, min(511, max(0, _0))] then f16(it / weights[l])

// y: f16[N,3,224,224] = sum (i, j, k, l | r<6)
//     let _0 = r + floordiv(l * 16 + 4, 7) - 2;
//     select(and(0 <= _0, _0 < 512), max(1.0 - abs(f32(r * 14 - l * 32 + floordiv(l * 16 + 4, 7) * 14 - 37) *
//     0.071428575 * 0.4375), 0.0), 0.0) * y_2[i, j, k, min(511, max(0, _0))] then f16(it / weights[l])
// Schedule: separable@1 rows=4 width=8 threads=256; 256 threads a block.
// A block computes 4 rows of the first reduction in shared memory, and the second reduction from there.
// Launch: N * 168 blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Antialias_y(const f16 *x, f16 *__restrict__ y, int N)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	__shared__ __align__(16) float made[2048];
	wait_for_last_kernel();
	const int strip = block;
	const int k = strip % 56;
	const int j = strip / 56 % 3;
	const int i = strip / 168;
	for (int item = thread; item < 256; item += 256) {
		const int row = item / 64;
		const int at = item % 64 * 8;
		float parts[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = 0.0f;
		}
		f16 x_v0[8];
		load(x_v0, x + j * 262144 + i * 786432 + at + max(0, (k * 64 + row * 16 + 4) / 7 - 2) * 512);
		const int group = (k * 64 + row * 16 + 4) / 7;
		float weight = 0.0f;
		if (group - 2 >= 0) {
			weight = nan_max(1.0f -
			                 fabsf((float)(group * 14 - k * 128 - row * 32 - 37) * 0.071428575f * 0.4375f),
			                 0.0f);
		}
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = fmaf(weight, to_f32(x_v0[v]), parts[v]);
		}
		f16 x_v1[8];
		load(x_v1, x + j * 262144 + i * 786432 + at + max(0, group - 1) * 512);
		float weight_2 = 0.0f;
		if (group - 1 >= 0) {
			weight_2 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - k * 128 - row * 32 - 23) * 0.071428575f *
			                         0.4375f), 0.0f);
		}
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_2, to_f32(x_v1[v]), parts[v]);
		}
		f16 x_v2[8];
		load(x_v2, x + j * 262144 + i * 786432 + at + group * 512);
		const float weight_3 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - k * 128 - row * 32 - 9) * 0.071428575f *
		                                     0.4375f), 0.0f);
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_3, to_f32(x_v2[v]), parts[v]);
		}
		f16 x_v3[8];
		load(x_v3, x + j * 262144 + i * 786432 + at + group * 512 + 512);
		const float weight_4 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - k * 128 - row * 32 + 5) * 0.071428575f *
		                                     0.4375f), 0.0f);
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_4, to_f32(x_v3[v]), parts[v]);
		}
		f16 x_v4[8];
		load(x_v4, x + j * 262144 + i * 786432 + at + min(511, group + 2) * 512);
		float weight_5 = 0.0f;
		if (group + 2 < 512) {
			weight_5 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - k * 128 - row * 32 + 19) * 0.071428575f *
			                         0.4375f), 0.0f);
		}
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_5, to_f32(x_v4[v]), parts[v]);
		}
		f16 x_v5[8];
		load(x_v5, x + j * 262144 + i * 786432 + at + min(511, group + 3) * 512);
		float weight_6 = 0.0f;
		if (group + 3 < 512) {
			weight_6 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - k * 128 - row * 32 + 33) * 0.071428575f *
			                         0.4375f), 0.0f);
		}
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_6, to_f32(x_v5[v]), parts[v]);
		}
		const float total = weight + weight_2 + weight_3 + weight_4 + weight_5 + weight_6;
		float made_v[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			made_v[v] = coarse_quotient(parts[v], total);
		}
		store(made + row * 512 + at, made_v);
	}
	__syncthreads();
	for (int column = thread; column < 224; column += 256) {
		const int group = (column * 16 + 4) / 7;
		float weight = 0.0f;
		if (group - 2 >= 0) {
			weight = nan_max(1.0f - fabsf((float)(group * 14 - column * 32 - 37) * 0.071428575f * 0.4375f),
			                 0.0f);
		}
		float weight_2 = 0.0f;
		if (group - 1 >= 0) {
			weight_2 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - column * 32 - 23) * 0.071428575f * 0.4375f),
			                   0.0f);
		}
		const float weight_3 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - column * 32 - 9) * 0.071428575f * 0.4375f),
		                               0.0f);
		const float weight_4 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - column * 32 + 5) * 0.071428575f * 0.4375f),
		                               0.0f);
		float weight_5 = 0.0f;
		if (group + 2 < 512) {
			weight_5 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - column * 32 + 19) * 0.071428575f * 0.4375f),
			                   0.0f);
		}
		float weight_6 = 0.0f;
		if (group + 3 < 512) {
			weight_6 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - column * 32 + 33) * 0.071428575f * 0.4375f),
			                   0.0f);
		}
		const float total = weight + weight_2 + weight_3 + weight_4 + weight_5 + weight_6;
		#pragma unroll
		for (int row = 0; row < 4; row++) {
			float sum = 0.0f;
			sum = fmaf(weight, made[row * 512 + max(0, group - 2)], sum);
			sum = fmaf(weight_2, made[row * 512 + max(0, group - 1)], sum);
			sum = fmaf(weight_3, made[row * 512 + group], sum);
			sum = fmaf(weight_4, made[row * 512 + group + 1], sum);
			sum = fmaf(weight_5, made[row * 512 + min(511, group + 2)], sum);
			sum = fmaf(weight_6, made[row * 512 + min(511, group + 3)], sum);
			y[k * 896 + j * 50176 + i * 150528 + column + row * 224] = to_f16(coarse_quotient(sum, total));
		}
	}
}

// The same as Antialias_y.
// Schedule: separable@1 rows=4 width=8 threads=256; 256 threads a block; 64-bit positions.
// Launch: N * 168 blocks of 256 threads.
// Runs unless Antialias_y does.
extern "C" __global__ __launch_bounds__(256)
void Antialias_y_64(const f16 *x, f16 *__restrict__ y, i64 N)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	__shared__ __align__(16) float made[2048];
	wait_for_last_kernel();
	const i64 strip = block;
	const i64 k = strip % 56;
	const i64 j = strip / 56 % 3;
	const i64 i = strip / 168;
	for (i64 item = thread; item < 256; item += 256) {
		const i64 row = item / 64;
		const i64 at = item % 64 * 8;
		float parts[8];
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = 0.0f;
		}
		f16 x_v0[8];
		load(x_v0, x + j * 262144 + i * 786432 + at + max((i64)0, (k * 64 + row * 16 + 4) / 7 - 2) * 512);
		const i64 group = (k * 64 + row * 16 + 4) / 7;
		float weight = 0.0f;
		if (group - 2 >= 0) {
			weight = nan_max(1.0f -
			                 fabsf((float)(group * 14 - k * 128 - row * 32 - 37) * 0.071428575f * 0.4375f),
			                 0.0f);
		}
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = fmaf(weight, to_f32(x_v0[v]), parts[v]);
		}
		f16 x_v1[8];
		load(x_v1, x + j * 262144 + i * 786432 + at + max((i64)0, group - 1) * 512);
		float weight_2 = 0.0f;
		if (group - 1 >= 0) {
			weight_2 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - k * 128 - row * 32 - 23) * 0.071428575f *
			                         0.4375f), 0.0f);
		}
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_2, to_f32(x_v1[v]), parts[v]);
		}
		f16 x_v2[8];
		load(x_v2, x + j * 262144 + i * 786432 + at + group * 512);
		const float weight_3 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - k * 128 - row * 32 - 9) * 0.071428575f *
		                                     0.4375f), 0.0f);
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_3, to_f32(x_v2[v]), parts[v]);
		}
		f16 x_v3[8];
		load(x_v3, x + j * 262144 + i * 786432 + at + group * 512 + 512);
		const float weight_4 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - k * 128 - row * 32 + 5) * 0.071428575f *
		                                     0.4375f), 0.0f);
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_4, to_f32(x_v3[v]), parts[v]);
		}
		f16 x_v4[8];
		load(x_v4, x + j * 262144 + i * 786432 + at + min((i64)511, group + 2) * 512);
		float weight_5 = 0.0f;
		if (group + 2 < 512) {
			weight_5 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - k * 128 - row * 32 + 19) * 0.071428575f *
			                         0.4375f), 0.0f);
		}
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_5, to_f32(x_v4[v]), parts[v]);
		}
		f16 x_v5[8];
		load(x_v5, x + j * 262144 + i * 786432 + at + min((i64)511, group + 3) * 512);
		float weight_6 = 0.0f;
		if (group + 3 < 512) {
			weight_6 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - k * 128 - row * 32 + 33) * 0.071428575f *
			                         0.4375f), 0.0f);
		}
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			parts[v] = fmaf(weight_6, to_f32(x_v5[v]), parts[v]);
		}
		const float total = weight + weight_2 + weight_3 + weight_4 + weight_5 + weight_6;
		float made_v[8];
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			made_v[v] = coarse_quotient(parts[v], total);
		}
		store(made + row * 512 + at, made_v);
	}
	__syncthreads();
	for (i64 column = thread; column < 224; column += 256) {
		const i64 group = (column * 16 + 4) / 7;
		float weight = 0.0f;
		if (group - 2 >= 0) {
			weight = nan_max(1.0f - fabsf((float)(group * 14 - column * 32 - 37) * 0.071428575f * 0.4375f),
			                 0.0f);
		}
		float weight_2 = 0.0f;
		if (group - 1 >= 0) {
			weight_2 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - column * 32 - 23) * 0.071428575f * 0.4375f),
			                   0.0f);
		}
		const float weight_3 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - column * 32 - 9) * 0.071428575f * 0.4375f),
		                               0.0f);
		const float weight_4 = nan_max(1.0f -
		                               fabsf((float)(group * 14 - column * 32 + 5) * 0.071428575f * 0.4375f),
		                               0.0f);
		float weight_5 = 0.0f;
		if (group + 2 < 512) {
			weight_5 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - column * 32 + 19) * 0.071428575f * 0.4375f),
			                   0.0f);
		}
		float weight_6 = 0.0f;
		if (group + 3 < 512) {
			weight_6 = nan_max(1.0f -
			                   fabsf((float)(group * 14 - column * 32 + 33) * 0.071428575f * 0.4375f),
			                   0.0f);
		}
		const float total = weight + weight_2 + weight_3 + weight_4 + weight_5 + weight_6;
		#pragma unroll
		for (i64 row = 0; row < 4; row++) {
			float sum = 0.0f;
			sum = fmaf(weight, made[row * 512 + max((i64)0, group - 2)], sum);
			sum = fmaf(weight_2, made[row * 512 + max((i64)0, group - 1)], sum);
			sum = fmaf(weight_3, made[row * 512 + group], sum);
			sum = fmaf(weight_4, made[row * 512 + group + 1], sum);
			sum = fmaf(weight_5, made[row * 512 + min((i64)511, group + 2)], sum);
			sum = fmaf(weight_6, made[row * 512 + min((i64)511, group + 3)], sum);
			y[k * 896 + j * 50176 + i * 150528 + column + row * 224] = to_f16(coarse_quotient(sum, total));
		}
	}
}
