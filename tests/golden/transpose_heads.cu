#include "tpat_device.h"

// program Heads(x: f16[B,S,768], bias: f16[768]) -> (q: f16[B,12,S,64])

// q: f16[B,12,S,64] = map (i, j, k, l) f16(f32(x[i, k, j * 64 + l]) + f32(bias[j * 64 + l]))
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(B * S * 3 / 8) blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Heads_q_x8(const f16 *x, const f16 *bias, f16 *__restrict__ q, int B, int S, const u64 inverse_S)
{
	const divisor by_S = { S, inverse_S };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= B * S * 768)
		return;
	const int l = element % 64;
	const int k = element / 64 % by_S;
	const int j = element / 64 / by_S % 12;
	const int i = element / 64 / by_S / 12;
	f16 x_v[8];
	load(x_v, x + l + k * 768 + j * 64 + i * S * 768);
	f16 bias_v[8];
	load(bias_v, bias + l + j * 64);
	f16 q_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		q_v[v] = half_add(x_v[v], bias_v[v]);
	}
	store(q + element, q_v);
}

// The same as Heads_q_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(B * S * 3 / 8) blocks of 256 threads.
// Runs unless Heads_q_x8 does.
extern "C" __global__ __launch_bounds__(256)
void Heads_q_x8_64(const f16 *x, const f16 *bias, f16 *__restrict__ q, i64 B, i64 S)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 2048 + thread * 8;
	if (element >= B * S * 768)
		return;
	const i64 l = element % 64;
	const i64 k = element / 64 % S;
	const i64 j = element / 64 / S % 12;
	const i64 i = element / 64 / S / 12;
	f16 x_v[8];
	load(x_v, x + l + k * 768 + j * 64 + i * S * 768);
	f16 bias_v[8];
	load(bias_v, bias + l + j * 64);
	f16 q_v[8];
	#pragma unroll
	for (i64 v = 0; v < 8; v++) {
		q_v[v] = half_add(x_v[v], bias_v[v]);
	}
	store(q + element, q_v);
}
