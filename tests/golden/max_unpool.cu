#include "tpat_device.h"

// program MaxUnpool(x: f16[N,64,28,28]) -> (y: f16[N,64,28,28])

// pooled: f16[N,64,14,14] = max (i, j, k, l | r<2, s<2) f32(x[i, j, k * 2 + r, l * 2 + s])
// found: i64[N,64,14,14] = argmax (i, j, k, l | r<2, s<2) f32(x[i, j, k * 2 + r, l * 2 + s])
// y: f16[N,64,28,28] = map (i, j, k, l) select(mod(k, 2) * 2 + mod(l, 2) == index(found[i, j, floordiv(k, 2),
//     floordiv(l, 2)]), pooled[i, j, floordiv(k, 2), floordiv(l, 2)], f16(0.0))
// Schedule: windows@1 rows=1 width=2; 256 threads a block.
// A thread computes 1 x 2 neighbouring windows, and reads each place once.
// Launch: ceil(N * 49 / 2) blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void MaxUnpool_y(const f16 *x, f16 *__restrict__ y, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= N * 6272)
		return;
	const int l = element % 7;
	const int k = element / 7 % 14;
	const int j = element / 98 % 64;
	const int i = element / 6272;
	float max_of_pooled[2];
	max_of_pooled[0] = -INFINITY;
	max_of_pooled[1] = -INFINITY;
	float argmax_of_found[2];
	int found_at[2];
	f16 x_v0[4];
	load(x_v0, x + l * 4 + k * 56 + j * 784 + i * 50176);
	const float x_0 = to_f32(x_v0[0]);
	const float x_1 = to_f32(x_v0[2]);
	const float x_2 = to_f32(x_v0[1]);
	const float x_3 = to_f32(x_v0[3]);
	f16 x_v1[4];
	load(x_v1, x + l * 4 + k * 56 + j * 784 + i * 50176 + 28);
	const float x_4 = to_f32(x_v1[0]);
	const float x_5 = to_f32(x_v1[2]);
	const float x_6 = to_f32(x_v1[1]);
	const float x_7 = to_f32(x_v1[3]);
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_0);
	argmax_of_found[0] = x_0;
	found_at[0] = 0;
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_1);
	argmax_of_found[1] = x_1;
	found_at[1] = 0;
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_2);
	const bool better_0 = !(x_2 <= argmax_of_found[0]) & !isnan(argmax_of_found[0]);
	argmax_of_found[0] = better_0 ? x_2 : argmax_of_found[0];
	found_at[0] = better_0 ? 1 : found_at[0];
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_3);
	const bool better_1 = !(x_3 <= argmax_of_found[1]) & !isnan(argmax_of_found[1]);
	argmax_of_found[1] = better_1 ? x_3 : argmax_of_found[1];
	found_at[1] = better_1 ? 1 : found_at[1];
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_4);
	const bool better_2 = !(x_4 <= argmax_of_found[0]) & !isnan(argmax_of_found[0]);
	argmax_of_found[0] = better_2 ? x_4 : argmax_of_found[0];
	found_at[0] = better_2 ? 2 : found_at[0];
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_5);
	const bool better_3 = !(x_5 <= argmax_of_found[1]) & !isnan(argmax_of_found[1]);
	argmax_of_found[1] = better_3 ? x_5 : argmax_of_found[1];
	found_at[1] = better_3 ? 2 : found_at[1];
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_6);
	const bool better_4 = !(x_6 <= argmax_of_found[0]) & !isnan(argmax_of_found[0]);
	argmax_of_found[0] = better_4 ? x_6 : argmax_of_found[0];
	found_at[0] = better_4 ? 3 : found_at[0];
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_7);
	const bool better_5 = !(x_7 <= argmax_of_found[1]) & !isnan(argmax_of_found[1]);
	argmax_of_found[1] = better_5 ? x_7 : argmax_of_found[1];
	found_at[1] = better_5 ? 3 : found_at[1];
	const f16 pooled_0 = to_f16(max_of_pooled[0]);
	const f16 pooled_1 = to_f16(max_of_pooled[1]);
	f16 y_v0[4];
	y_v0[0] = found_at[0] == 0 ? pooled_0 : to_f16(0.0f);
	y_v0[1] = found_at[0] == 1 ? pooled_0 : to_f16(0.0f);
	y_v0[2] = found_at[1] == 0 ? pooled_1 : to_f16(0.0f);
	y_v0[3] = found_at[1] == 1 ? pooled_1 : to_f16(0.0f);
	store(y + l * 4 + k * 56 + j * 784 + i * 50176, y_v0);
	f16 y_v1[4];
	y_v1[0] = found_at[0] == 2 ? pooled_0 : to_f16(0.0f);
	y_v1[1] = found_at[0] == 3 ? pooled_0 : to_f16(0.0f);
	y_v1[2] = found_at[1] == 2 ? pooled_1 : to_f16(0.0f);
	y_v1[3] = found_at[1] == 3 ? pooled_1 : to_f16(0.0f);
	store(y + l * 4 + k * 56 + j * 784 + i * 50176 + 28, y_v1);
}

// The same as MaxUnpool_y.
// Schedule: windows@1 rows=1 width=2; 256 threads a block; 64-bit positions.
// Launch: ceil(N * 49 / 2) blocks of 256 threads.
// Runs unless MaxUnpool_y does.
extern "C" __global__ __launch_bounds__(256)
void MaxUnpool_y_64(const f16 *x, f16 *__restrict__ y, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= N * 6272)
		return;
	const i64 l = element % 7;
	const i64 k = element / 7 % 14;
	const i64 j = element / 98 % 64;
	const i64 i = element / 6272;
	float max_of_pooled[2];
	max_of_pooled[0] = -INFINITY;
	max_of_pooled[1] = -INFINITY;
	float argmax_of_found[2];
	i64 found_at[2];
	f16 x_v0[4];
	load(x_v0, x + l * 4 + k * 56 + j * 784 + i * 50176);
	const float x_0 = to_f32(x_v0[0]);
	const float x_1 = to_f32(x_v0[2]);
	const float x_2 = to_f32(x_v0[1]);
	const float x_3 = to_f32(x_v0[3]);
	f16 x_v1[4];
	load(x_v1, x + l * 4 + k * 56 + j * 784 + i * 50176 + 28);
	const float x_4 = to_f32(x_v1[0]);
	const float x_5 = to_f32(x_v1[2]);
	const float x_6 = to_f32(x_v1[1]);
	const float x_7 = to_f32(x_v1[3]);
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_0);
	argmax_of_found[0] = x_0;
	found_at[0] = 0;
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_1);
	argmax_of_found[1] = x_1;
	found_at[1] = 0;
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_2);
	const bool better_0 = !(x_2 <= argmax_of_found[0]) & !isnan(argmax_of_found[0]);
	argmax_of_found[0] = better_0 ? x_2 : argmax_of_found[0];
	found_at[0] = better_0 ? 1 : found_at[0];
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_3);
	const bool better_1 = !(x_3 <= argmax_of_found[1]) & !isnan(argmax_of_found[1]);
	argmax_of_found[1] = better_1 ? x_3 : argmax_of_found[1];
	found_at[1] = better_1 ? 1 : found_at[1];
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_4);
	const bool better_2 = !(x_4 <= argmax_of_found[0]) & !isnan(argmax_of_found[0]);
	argmax_of_found[0] = better_2 ? x_4 : argmax_of_found[0];
	found_at[0] = better_2 ? 2 : found_at[0];
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_5);
	const bool better_3 = !(x_5 <= argmax_of_found[1]) & !isnan(argmax_of_found[1]);
	argmax_of_found[1] = better_3 ? x_5 : argmax_of_found[1];
	found_at[1] = better_3 ? 2 : found_at[1];
	max_of_pooled[0] = nan_max(max_of_pooled[0], x_6);
	const bool better_4 = !(x_6 <= argmax_of_found[0]) & !isnan(argmax_of_found[0]);
	argmax_of_found[0] = better_4 ? x_6 : argmax_of_found[0];
	found_at[0] = better_4 ? 3 : found_at[0];
	max_of_pooled[1] = nan_max(max_of_pooled[1], x_7);
	const bool better_5 = !(x_7 <= argmax_of_found[1]) & !isnan(argmax_of_found[1]);
	argmax_of_found[1] = better_5 ? x_7 : argmax_of_found[1];
	found_at[1] = better_5 ? 3 : found_at[1];
	const f16 pooled_0 = to_f16(max_of_pooled[0]);
	const f16 pooled_1 = to_f16(max_of_pooled[1]);
	f16 y_v0[4];
	y_v0[0] = found_at[0] == 0 ? pooled_0 : to_f16(0.0f);
	y_v0[1] = found_at[0] == 1 ? pooled_0 : to_f16(0.0f);
	y_v0[2] = found_at[1] == 0 ? pooled_1 : to_f16(0.0f);
	y_v0[3] = found_at[1] == 1 ? pooled_1 : to_f16(0.0f);
	store(y + l * 4 + k * 56 + j * 784 + i * 50176, y_v0);
	f16 y_v1[4];
	y_v1[0] = found_at[0] == 2 ? pooled_0 : to_f16(0.0f);
	y_v1[1] = found_at[0] == 3 ? pooled_0 : to_f16(0.0f);
	y_v1[2] = found_at[1] == 2 ? pooled_1 : to_f16(0.0f);
	y_v1[3] = found_at[1] == 3 ? pooled_1 : to_f16(0.0f);
	store(y + l * 4 + k * 56 + j * 784 + i * 50176 + 28, y_v1);
}
