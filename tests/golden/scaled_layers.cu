#include "tpat_device.h"

// program ScaledLayers(x: u8[N,64], w1: i8[64,64], w2: i8[64,64], w3: i8[64,64]) -> (y: u8[N,64])
// b: u8[N,64] = sum (i, j | r<64) (i32(x[i, r]) - i32(17)) * i32(w1[r, j])
//     then u8(min(max(rint(f32(it) * 0.0031) + 19.0, 0.0), 255.0))
// d: u8[N,64] = sum (i, j | r<64) (i32(b[i, r]) - i32(19)) * i32(w2[r, j])
//     then u8(min(max(rint(f32(it) * 0.0017) + 23.0, 0.0), 255.0))
// y: u8[N,64] = sum (i, j | r<64) (i32(d[i, r]) - i32(23)) * i32(w3[r, j])
//     then u8(min(max(rint(f32(it) * 0.0026) + 29.0, 0.0), 255.0))

// b: u8[N,64] = sum (i, j | r<64) (i32(x[i, r]) - i32(17)) * i32(w1[r, j])
//     then u8(min(max(rint(f32(it) * 0.0031) + 19.0, 0.0), 255.0))
// Schedule: reduce_columns@2 parts=4 width=1 columns=32; 128 threads a block.
// Neighbouring threads reduce neighbouring elements, so that loads are coalesced. A block has 4 rows of 32 such
//     threads, which share the reduced axes.
// Launch: N * 2 blocks of 128 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(128)
void ScaledLayers_b(const u8 *x, const i8 *w1, u8 *__restrict__ b, int N, const int offset, const float scale,
                    const int offset_2)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int part = thread / 32;
	const int element = block * 32 + thread % 32;
	const int j = element % 64;
	const int i = element / 64;
	int sum = 0;
	if (element < N * 64) {
		#pragma unroll
		for (int step = 0; step < 16; step++) {
			const int r = part + step * 4;
			sum += ((int)x[i * 64 + r] - offset) * (int)w1[j + r * 64];
		}
	}
	__shared__ int across[128];
	sum = block_reduce_columns<32, 4>(sum, op_sum(), across);
	if (part == 0 && element < N * 64) {
		b[element] = round_to_u8(rintf((float)sum * scale) + (float)offset_2);
	}
}

// The same as ScaledLayers_b.
// Schedule: reduce_columns@2 parts=4 width=1 columns=32; 128 threads a block; 64-bit positions.
// Launch: N * 2 blocks of 128 threads.
// Runs unless ScaledLayers_b does.
extern "C" __global__ __launch_bounds__(128)
void ScaledLayers_b_64(const u8 *x, const i8 *w1, u8 *__restrict__ b, i64 N, const int offset, const float scale,
                       const int offset_2)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 part = thread / 32;
	const i64 element = block * 32 + thread % 32;
	const i64 j = element % 64;
	const i64 i = element / 64;
	int sum = 0;
	if (element < N * 64) {
		#pragma unroll
		for (i64 step = 0; step < 16; step++) {
			const i64 r = part + step * 4;
			sum += ((int)x[i * 64 + r] - offset) * (int)w1[j + r * 64];
		}
	}
	__shared__ int across[128];
	sum = block_reduce_columns<32, 4>(sum, op_sum(), across);
	if (part == 0 && element < N * 64) {
		b[element] = round_to_u8(rintf((float)sum * scale) + (float)offset_2);
	}
}
