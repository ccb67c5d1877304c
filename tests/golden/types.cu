#include "tpat_device.h"

// program Types(x: f32[N], count: i64[N], small: u8[N]) -> (quantised: f8e4m3fn[N], wrapped: u8[N], flags: bool[N],
//     table_at: f32[N])
// const table: f32[4] = {0.5, -inf, nan, 1e-40}
// const lowest: i64[2] = {-9223372036854775808, -1}
// quantised: f8e4m3fn[N] = map (i) sat_f8e4m3fn(x[i] * 0.1)
// wrapped: u8[N] = map (i) (small[i] + u8(200)) / u8(3)
// flags: bool[N] = map (i) or(count[i] < lowest[mod(i, 2)], isnan(x[i]))
// table_at: f32[N] = map (i) table[mod(index(count[i]), 4)] + select(x[i] < 0.0, exp(x[i]), 1.0)

// quantised: f8e4m3fn[N] = map (i) sat_f8e4m3fn(x[i] * 0.1)
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(N / 2048) blocks of 256 threads.
// Runs if N % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Types_quantised_x8(const float *x, f8e4m3fn *__restrict__ quantised, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N)
		return;
	float x_v[8];
	load(x_v, x + element);
	f8e4m3fn quantised_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		quantised_v[v] = to_f8e4m3fn_sat(x_v[v] * 0.1f);
	}
	store(quantised + element, quantised_v);
}

// The same as Types_quantised_x8.
// Schedule: map@1 width=8; 256 threads a block.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless Types_quantised_x8 does.
extern "C" __global__ __launch_bounds__(256)
void Types_quantised(const float *x, f8e4m3fn *__restrict__ quantised, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= N)
		return;
	quantised[element] = to_f8e4m3fn_sat(x[element] * 0.1f);
}

// wrapped: u8[N] = map (i) (small[i] + u8(200)) / u8(3)
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(N / 2048) blocks of 256 threads.
// Runs if N % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Types_wrapped_x8(const u8 *small, u8 *__restrict__ wrapped, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N)
		return;
	u8 small_v[8];
	load(small_v, small + element);
	u8 wrapped_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		wrapped_v[v] = (u8)(small_v[v] + (u8)200) / (u8)3;
	}
	store(wrapped + element, wrapped_v);
}

// The same as Types_wrapped_x8.
// Schedule: map@1 width=8; 256 threads a block.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless Types_wrapped_x8 does.
extern "C" __global__ __launch_bounds__(256)
void Types_wrapped(const u8 *small, u8 *__restrict__ wrapped, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= N)
		return;
	wrapped[element] = (u8)(small[element] + (u8)200) / (u8)3;
}

// flags: bool[N] = map (i) or(count[i] < lowest[mod(i, 2)], isnan(x[i]))
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(N / 2048) blocks of 256 threads.
// Runs if N % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Types_flags_x8(const float *x, const i64 *count, const i64 *__restrict__ lowest, bool *__restrict__ flags, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N)
		return;
	bool flags_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		flags_v[v] = count[element + v] < lowest[v % 2] || isnan(x[element + v]);
	}
	store(flags + element, flags_v);
}

// The same as Types_flags_x8.
// Schedule: map@1 width=8; 256 threads a block.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless Types_flags_x8 does.
extern "C" __global__ __launch_bounds__(256)
void Types_flags(const float *x, const i64 *count, const i64 *__restrict__ lowest, bool *__restrict__ flags, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= N)
		return;
	flags[element] = count[element] < lowest[element % 2] || isnan(x[element]);
}

// table_at: f32[N] = map (i) table[mod(index(count[i]), 4)] + select(x[i] < 0.0, exp(x[i]), 1.0)
// Schedule: map@1 width=4; 256 threads a block.
// A thread computes 4 elements next to each other.
// Launch: ceil(N / 1024) blocks of 256 threads.
// Runs if N % 4 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Types_table_at_x4(const float *x, const i64 *count, const float *__restrict__ table, float *__restrict__ table_at,
                       int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 1024 + thread * 4;
	if (element >= N)
		return;
	i64 count_v[4];
	load(count_v, count + element);
	float x_v[4];
	load(x_v, x + element);
	float table_at_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		table_at_v[v] = table[floor_mod(to_index(count_v[v]), 4)] + (x_v[v] < 0.0f ? expf(x_v[v]) : 1.0f);
	}
	store(table_at + element, table_at_v);
}

// The same as Types_table_at_x4.
// Schedule: map@1 width=4; 256 threads a block.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless Types_table_at_x4 does.
extern "C" __global__ __launch_bounds__(256)
void Types_table_at(const float *x, const i64 *count, const float *__restrict__ table, float *__restrict__ table_at,
                    int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= N)
		return;
	const float x_value = x[element];
	table_at[element] = table[floor_mod(to_index(count[element]), 4)] + (x_value < 0.0f ? expf(x_value) : 1.0f);
}

// The same as Types_quantised_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs unless Types_quantised_x8 or Types_quantised does.
extern "C" __global__ __launch_bounds__(256)
void Types_quantised_64(const float *x, f8e4m3fn *__restrict__ quantised, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= N)
		return;
	quantised[element] = to_f8e4m3fn_sat(x[element] * 0.1f);
}

// The same as Types_wrapped_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs unless Types_wrapped_x8 or Types_wrapped does.
extern "C" __global__ __launch_bounds__(256)
void Types_wrapped_64(const u8 *small, u8 *__restrict__ wrapped, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= N)
		return;
	wrapped[element] = (u8)(small[element] + (u8)200) / (u8)3;
}

// The same as Types_flags_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs unless Types_flags_x8 or Types_flags does.
extern "C" __global__ __launch_bounds__(256)
void Types_flags_64(const float *x, const i64 *count, const i64 *__restrict__ lowest, bool *__restrict__ flags, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= N)
		return;
	flags[element] = count[element] < lowest[element % 2] || isnan(x[element]);
}

// The same as Types_table_at_x4.
// Schedule: map@1 width=4; 256 threads a block; 64-bit positions.
// Launch: ceil(N / 256) blocks of 256 threads.
// Runs unless Types_table_at_x4 or Types_table_at does.
extern "C" __global__ __launch_bounds__(256)
void Types_table_at_64(const float *x, const i64 *count, const float *__restrict__ table, float *__restrict__ table_at,
                       i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= N)
		return;
	const float x_value = x[element];
	table_at[element] = table[floor_mod(count[element], (i64)4)] + (x_value < 0.0f ? expf(x_value) : 1.0f);
}
