#include "tpat_device.h"

// program NarrowTypes(x: f32[N,K], weight: i4[K,64], scale: f8e8m0[K,2], code: f4e2m1[7,3]) -> (packed: i4[N,K],
//     turned: f4e2m1[3,7], wide: f16[K,64], pair: u2[N], power: f8e8m0[N])
// const table: u4[5] = {0, 3, 7, 12, 15}
// packed: i4[N,K] = map (i, j) i4(i32(rint(x[i, j])))
// turned: f4e2m1[3,7] = map (i, j) code[j, i]
// wide: f16[K,64] = map (i, j) f16(f32(weight[i, j]) * f32(scale[i, floordiv(j, 32)]))
// pair: u2[N] = map (i) select(i < 3, u2(2), u2(table[mod(i, 5)]))
// power: f8e8m0[N] = map (i) sat_f8e8m0(x[i, 0])

// packed: i4[N,K] = map (i, j) i4(i32(rint(x[i, j])))
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(K * N / 2048) blocks of 256 threads.
// Runs if K % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_packed_x8(const float *x, u8 *__restrict__ packed, int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= K * N)
		return;
	float x_v[8];
	load(x_v, x + element);
	i4 packed_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		packed_v[v] = to_i4(to_i32(rintf(x_v[v])));
	}
	store_i4(packed, element, packed_v);
}

// The same as NarrowTypes_packed_x8.
// Schedule: map@1 width=8; 256 threads a block.
// Launch: ceil(K * N / 512) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless NarrowTypes_packed_x8 does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_packed(const float *x, u8 *__restrict__ packed, int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 512 + thread * 2;
	if (element >= K * N)
		return;
	i4 packed_v[2];
	#pragma unroll
	for (int v = 0; v < 2; v++) {
		const int place = element + v;
		packed_v[v] = (i4)0;
		if (place < K * N) {
			packed_v[v] = to_i4(to_i32(rintf(x[place])));
		}
	}
	store_i4(packed, element, packed_v);
}

// turned: f4e2m1[3,7] = map (i, j) code[j, i]
// Schedule: map@1 width=1; 256 threads a block.
// A thread computes one element.
static __device__ __forceinline__
void NarrowTypes_turned_part(const int own_block, const u8 *code, u8 *__restrict__ turned)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int element = own_block * 512 + thread * 2;
	if (element >= 21)
		return;
	f4e2m1 turned_v[2];
	#pragma unroll
	for (int v = 0; v < 2; v++) {
		const int place = element + v;
		turned_v[v] = to_f4e2m1(0.0f);
		if (place < 21) {
			const int j = place % 7;
			const int i = place / 7;
			turned_v[v] = load_f4e2m1(code, j * 3 + i);
		}
	}
	store_f4e2m1(turned, element, turned_v);
}

// wide: f16[K,64] = map (i, j) f16(f32(weight[i, j]) * f32(scale[i, floordiv(j, 32)]))
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
static __device__ __forceinline__
void NarrowTypes_wide_x8_part(const int own_block, const u8 *weight, const f8e8m0 *scale, f16 *__restrict__ wide, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int element = own_block * 2048 + thread * 8;
	if (element >= K * 64)
		return;
	const int j = element % 64;
	const int i = element / 64;
	i4 weight_v[8];
	load_i4(weight_v, weight, element);
	f16 wide_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		wide_v[v] = to_f16((float)weight_v[v] * to_f32(scale[i * 2 + j / 32]));
	}
	store(wide + element, wide_v);
}

// 2 kernels in one launch, each in blocks of its own; 256 threads a block.
// Launch: (K + 31) / 32 + 1 blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_turned_and_wide_x8(const u8 *code, u8 *__restrict__ turned, const u8 *weight, const f8e8m0 *scale,
                                    f16 *__restrict__ wide, int K)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	if (block < 1)
		NarrowTypes_turned_part(block, code, turned);
	else
		NarrowTypes_wide_x8_part(block - 1, weight, scale, wide, K);
}

// pair: u2[N] = map (i) select(i < 3, u2(2), u2(table[mod(i, 5)]))
// Schedule: map@1 width=16; 256 threads a block.
// A thread computes 16 elements next to each other.
// Launch: ceil(N / 4096) blocks of 256 threads.
// Runs if N % 16 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_pair_x16(const u8 *__restrict__ table, u8 *__restrict__ pair, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 4096 + thread * 16;
	if (element >= N)
		return;
	u2 pair_v[16];
	#pragma unroll
	for (int v = 0; v < 16; v++) {
		pair_v[v] = element + v < 3 ? (u2)2 : to_u2(load_u4(table, (element + v) % 5));
	}
	store_u2(pair, element, pair_v);
}

// The same as NarrowTypes_pair_x16.
// Schedule: map@1 width=16; 256 threads a block.
// Launch: ceil(N / 1024) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless NarrowTypes_pair_x16 does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_pair(const u8 *__restrict__ table, u8 *__restrict__ pair, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 1024 + thread * 4;
	if (element >= N)
		return;
	u2 pair_v[4];
	#pragma unroll
	for (int v = 0; v < 4; v++) {
		const int place = element + v;
		pair_v[v] = (u2)0;
		if (place < N) {
			pair_v[v] = place < 3 ? (u2)2 : to_u2(load_u4(table, place % 5));
		}
	}
	store_u2(pair, element, pair_v);
}

// power: f8e8m0[N] = map (i) sat_f8e8m0(x[i, 0])
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(N / 2048) blocks of 256 threads.
// Runs if N % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_power_x8(const float *x, f8e8m0 *__restrict__ power, int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N)
		return;
	f8e8m0 power_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		power_v[v] = to_f8e8m0_sat(x[element * K + v * K]);
	}
	store(power + element, power_v);
}

// The same as NarrowTypes_power_x8.
// Schedule: map@1 width=8; 256 threads a block.
// Launch: ceil(N / 2048) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless NarrowTypes_power_x8 does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_power_flat(const float *x, f8e8m0 *__restrict__ power, int N, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N)
		return;
	const bool whole = element + 8 <= N;
	if (whole) {
		f8e8m0 power_v[8];
		power_v[0] = to_f8e8m0_sat(x[element * K]);
		const int i_1 = element + 1;
		power_v[1] = to_f8e8m0_sat(x[i_1 * K]);
		const int i_2 = i_1 + 1;
		power_v[2] = to_f8e8m0_sat(x[i_2 * K]);
		const int i_3 = i_2 + 1;
		power_v[3] = to_f8e8m0_sat(x[i_3 * K]);
		const int i_4 = i_3 + 1;
		power_v[4] = to_f8e8m0_sat(x[i_4 * K]);
		const int i_5 = i_4 + 1;
		power_v[5] = to_f8e8m0_sat(x[i_5 * K]);
		const int i_6 = i_5 + 1;
		power_v[6] = to_f8e8m0_sat(x[i_6 * K]);
		const int i_7 = i_6 + 1;
		power_v[7] = to_f8e8m0_sat(x[i_7 * K]);
		store(power + element, power_v);
	} else {
		for (int place = element; place < N; place++) {
			power[place] = to_f8e8m0_sat(x[place * K]);
		}
	}
}

// The same as NarrowTypes_packed_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(K * N / 512) blocks of 256 threads.
// Runs unless NarrowTypes_packed_x8 or NarrowTypes_packed does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_packed_64(const float *x, u8 *__restrict__ packed, i64 N, i64 K)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 512 + thread * 2;
	if (element >= K * N)
		return;
	i4 packed_v[2];
	#pragma unroll
	for (i64 v = 0; v < 2; v++) {
		const i64 place = element + v;
		packed_v[v] = (i4)0;
		if (place < K * N) {
			packed_v[v] = to_i4(to_i32(rintf(x[place])));
		}
	}
	store_i4(packed, element, packed_v);
}

// The same as NarrowTypes_wide_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
static __device__ __forceinline__
void NarrowTypes_wide_x8_64_part(const i64 own_block, const u8 *weight, const f8e8m0 *scale, f16 *__restrict__ wide,
                                 i64 K)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 element = own_block * 2048 + thread * 8;
	if (element >= K * 64)
		return;
	const i64 j = element % 64;
	const i64 i = element / 64;
	i4 weight_v[8];
	load_i4(weight_v, weight, element);
	f16 wide_v[8];
	#pragma unroll
	for (i64 v = 0; v < 8; v++) {
		wide_v[v] = to_f16((float)weight_v[v] * to_f32(scale[i * 2 + j / 32]));
	}
	store(wide + element, wide_v);
}

// 2 kernels in one launch, each in blocks of its own; 256 threads a block.
// Launch: (K + 31) / 32 + 1 blocks of 256 threads.
// Runs unless NarrowTypes_turned_and_wide_x8 does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_turned_and_wide_x8_64(const u8 *code, u8 *__restrict__ turned, const u8 *weight, const f8e8m0 *scale,
                                       f16 *__restrict__ wide, i64 K)
{
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	if (block < 1)
		NarrowTypes_turned_part(block, code, turned);
	else
		NarrowTypes_wide_x8_64_part(block - 1, weight, scale, wide, K);
}

// The same as NarrowTypes_pair_x16.
// Schedule: map@1 width=16; 256 threads a block; 64-bit positions.
// Launch: ceil(N / 1024) blocks of 256 threads.
// Runs unless NarrowTypes_pair_x16 or NarrowTypes_pair does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_pair_64(const u8 *__restrict__ table, u8 *__restrict__ pair, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 1024 + thread * 4;
	if (element >= N)
		return;
	u2 pair_v[4];
	#pragma unroll
	for (i64 v = 0; v < 4; v++) {
		const i64 place = element + v;
		pair_v[v] = (u2)0;
		if (place < N) {
			pair_v[v] = place < 3 ? (u2)2 : to_u2(load_u4(table, place % 5));
		}
	}
	store_u2(pair, element, pair_v);
}

// The same as NarrowTypes_power_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(N / 2048) blocks of 256 threads.
// Runs unless NarrowTypes_power_x8 or NarrowTypes_power_flat does.
extern "C" __global__ __launch_bounds__(256)
void NarrowTypes_power_flat_64(const float *x, f8e8m0 *__restrict__ power, i64 N, i64 K)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 2048 + thread * 8;
	if (element >= N)
		return;
	const bool whole = element + 8 <= N;
	if (whole) {
		f8e8m0 power_v[8];
		power_v[0] = to_f8e8m0_sat(x[element * K]);
		const i64 i_1 = element + 1;
		power_v[1] = to_f8e8m0_sat(x[i_1 * K]);
		const i64 i_2 = i_1 + 1;
		power_v[2] = to_f8e8m0_sat(x[i_2 * K]);
		const i64 i_3 = i_2 + 1;
		power_v[3] = to_f8e8m0_sat(x[i_3 * K]);
		const i64 i_4 = i_3 + 1;
		power_v[4] = to_f8e8m0_sat(x[i_4 * K]);
		const i64 i_5 = i_4 + 1;
		power_v[5] = to_f8e8m0_sat(x[i_5 * K]);
		const i64 i_6 = i_5 + 1;
		power_v[6] = to_f8e8m0_sat(x[i_6 * K]);
		const i64 i_7 = i_6 + 1;
		power_v[7] = to_f8e8m0_sat(x[i_7 * K]);
		store(power + element, power_v);
	} else {
		for (i64 place = element; place < N; place++) {
			power[place] = to_f8e8m0_sat(x[place * K]);
		}
	}
}
