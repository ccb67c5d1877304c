#include "tpat_device.h"

// program Rotary(x: f16[N,8,512,64], c: f16[512,64], z: f16[512,64], odd: f16[N,8,512,90]) -> (y: f16[N,8,512,64], o:
//     f16[N,8,512,90])
// y: f16[N,8,512,64] = map (i, j, k, l) f16(f32(f16(f32(x[i, j, k, l]) * f32(c[k, l]))) + f32(f16(f32(select(l < 32,
//     f16(neg(f32(x[i, j, k, l + 32]))), x[i, j, k, l - 32])) * f32(z[k, l]))))
// o: f16[N,8,512,90] = map (i, j, k, l) select(l < 45, f16(neg(f32(odd[i, j, k, l + 45]))), odd[i, j, k, l - 45])

// y: f16[N,8,512,64] = map (i, j, k, l) f16(f32(f16(f32(x[i, j, k, l]) * f32(c[k, l]))) + f32(f16(f32(select(l < 32,
//     f16(neg(f32(x[i, j, k, l + 32]))), x[i, j, k, l - 32])) * f32(z[k, l]))))
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: N * 128 blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Rotary_y_x8(const f16 *x, const f16 *c, const f16 *z, f16 *__restrict__ y, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N * 262144)
		return;
	const int l = element % 64;
	const int k = element / 64 % 512;
	const bool case_0 = l < 32;
	f16 x_v[8];
	load(x_v, x + element);
	f16 c_v[8];
	load(c_v, c + l + k * 64);
	f16 x_v3[8];
	load(x_v3, x + element + (case_0 ? 64 : 0) - 32);
	f16 z_v[8];
	load(z_v, z + l + k * 64);
	f16 y_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		y_v[v] = half_add(half_mul(x_v[v], c_v[v]), half_mul(case_0 ? half_neg(x_v3[v]) : x_v3[v], z_v[v]));
	}
	store(y + element, y_v);
}

// o: f16[N,8,512,90] = map (i, j, k, l) select(l < 45, f16(neg(f32(odd[i, j, k, l + 45]))), odd[i, j, k, l - 45])
// Schedule: flat@2 width=8 shifted=1; 256 threads a block.
// A thread computes 8 elements that are next to each other in memory, also across the ends of rows. What it reads is
//     taken from the aligned vectors around it.
// Launch: N * 180 blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256, 6)
void Rotary_o_x8(const f16 *odd, f16 *__restrict__ o, int N)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= N * 368640)
		return;
	const int l = element % 90;
	const bool whole = element + 60 <= N * 368640 && element - 45 >= 0;
	if (whole) {
		f16 odd_v0[8];
		load_shifted<8, 5>(odd_v0, odd + element + 45);
		f16 odd_v1[8];
		load_shifted<8, 3>(odd_v1, odd + element - 45);
		f16 o_v[8];
		#pragma unroll
		for (int v = 0; v < 2; v++) {
			o_v[v] = l + v < 45 ? half_neg(odd_v0[v]) : odd_v1[v];
		}
		const int next_l_1 = l + 2;
		const int l_1 = next_l_1 == 90 ? 0 : next_l_1;
		#pragma unroll
		for (int v = 0; v < 2; v++) {
			const int lane = v + 2;
			o_v[lane] = l_1 + v < 45 ? half_neg(odd_v0[lane]) : odd_v1[lane];
		}
		const int next_l_2 = l_1 + 2;
		const int l_2 = next_l_2 == 90 ? 0 : next_l_2;
		#pragma unroll
		for (int v = 0; v < 2; v++) {
			const int lane = v + 4;
			o_v[lane] = l_2 + v < 45 ? half_neg(odd_v0[lane]) : odd_v1[lane];
		}
		const int next_l_3 = l_2 + 2;
		const int l_3 = next_l_3 == 90 ? 0 : next_l_3;
		#pragma unroll
		for (int v = 0; v < 2; v++) {
			const int lane = v + 6;
			o_v[lane] = l_3 + v < 45 ? half_neg(odd_v0[lane]) : odd_v1[lane];
		}
		store(o + element, o_v);
	} else {
		f16 o_v[8];
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			const int place = min(element + v, N * 368640 - 1);
			const int l_2 = place % 90;
			o_v[v] = l_2 < 45 ? half_neg(odd[place + 45]) : odd[place - 45];
		}
		#pragma unroll
		for (int v = 0; v < 8; v++) {
			if (element + v < N * 368640) {
				o[element + v] = o_v[v];
			}
		}
	}
}

// The same as Rotary_y_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: N * 128 blocks of 256 threads.
// Runs unless Rotary_y_x8 does.
extern "C" __global__ __launch_bounds__(256)
void Rotary_y_x8_64(const f16 *x, const f16 *c, const f16 *z, f16 *__restrict__ y, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 2048 + thread * 8;
	if (element >= N * 262144)
		return;
	const i64 l = element % 64;
	const i64 k = element / 64 % 512;
	const bool case_0 = l < 32;
	f16 x_v[8];
	load(x_v, x + element);
	f16 c_v[8];
	load(c_v, c + l + k * 64);
	f16 x_v3[8];
	load(x_v3, x + element + (case_0 ? 64 : 0) - 32);
	f16 z_v[8];
	load(z_v, z + l + k * 64);
	f16 y_v[8];
	#pragma unroll
	for (i64 v = 0; v < 8; v++) {
		y_v[v] = half_add(half_mul(x_v[v], c_v[v]), half_mul(case_0 ? half_neg(x_v3[v]) : x_v3[v], z_v[v]));
	}
	store(y + element, y_v);
}

// The same as Rotary_o_x8.
// Schedule: flat@2 width=8 shifted=1; 256 threads a block; 64-bit positions.
// Launch: N * 180 blocks of 256 threads.
// Runs unless Rotary_o_x8 does.
extern "C" __global__ __launch_bounds__(256, 6)
void Rotary_o_x8_64(const f16 *odd, f16 *__restrict__ o, i64 N)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 2048 + thread * 8;
	if (element >= N * 368640)
		return;
	const i64 l = element % 90;
	const bool whole = element + 60 <= N * 368640 && element - 45 >= 0;
	if (whole) {
		f16 odd_v0[8];
		load_shifted<8, 5>(odd_v0, odd + element + 45);
		f16 odd_v1[8];
		load_shifted<8, 3>(odd_v1, odd + element - 45);
		f16 o_v[8];
		#pragma unroll
		for (i64 v = 0; v < 2; v++) {
			o_v[v] = l + v < 45 ? half_neg(odd_v0[v]) : odd_v1[v];
		}
		const i64 next_l_1 = l + 2;
		const i64 l_1 = next_l_1 == 90 ? 0 : next_l_1;
		#pragma unroll
		for (i64 v = 0; v < 2; v++) {
			const i64 lane = v + 2;
			o_v[lane] = l_1 + v < 45 ? half_neg(odd_v0[lane]) : odd_v1[lane];
		}
		const i64 next_l_2 = l_1 + 2;
		const i64 l_2 = next_l_2 == 90 ? 0 : next_l_2;
		#pragma unroll
		for (i64 v = 0; v < 2; v++) {
			const i64 lane = v + 4;
			o_v[lane] = l_2 + v < 45 ? half_neg(odd_v0[lane]) : odd_v1[lane];
		}
		const i64 next_l_3 = l_2 + 2;
		const i64 l_3 = next_l_3 == 90 ? 0 : next_l_3;
		#pragma unroll
		for (i64 v = 0; v < 2; v++) {
			const i64 lane = v + 6;
			o_v[lane] = l_3 + v < 45 ? half_neg(odd_v0[lane]) : odd_v1[lane];
		}
		store(o + element, o_v);
	} else {
		f16 o_v[8];
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			const i64 place = min(element + v, N * 368640 - 1);
			const i64 l_2 = place % 90;
			o_v[v] = l_2 < 45 ? half_neg(odd[place + 45]) : odd[place - 45];
		}
		#pragma unroll
		for (i64 v = 0; v < 8; v++) {
			if (element + v < N * 368640) {
				o[element + v] = o_v[v];
			}
		}
	}
}
