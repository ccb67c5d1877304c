// Parts of tpat_mma.h: bytes with and without sign, sums as operands, copies of every width.
#include "tpat_mma.h"

template <class A, class B> __device__ void bytes(const A *a, const B *b, int *y)
{
	mma_a<A> left;
	mma_b<B> right;
	mma_sum<int> sum = {};
	memcpy(left.word, a + 16 * threadIdx.x, 16);
	memcpy(right.word, b + 8 * threadIdx.x, 8);
	mma(sum, left, right);
	for (int i = 0; i < 4; i++)
		y[4 * threadIdx.x + i] = sum.at[i];
}
// Operands as the lanes hold them; the four combinations of u8 and i8, n of them after the other.
extern "C" __global__ void mixed_bytes(const u8 *a, const u8 *b, int *y)
{
	bytes(a, b, y);
	bytes((const i8 *)a, b, y + 128);
	bytes(a, (const i8 *)b, y + 256);
	bytes((const i8 *)a, (const i8 *)b, y + 384);
}

// y = (a b) c, of 16 x 16 matrices in f16: c by its elements.
extern "C" __global__ void product_of_product(const f16 *a, const f16 *b, const f16 *c, float *y)
{
	__shared__ shared_tile<f16, 16, 16> a_tile, b_tile, c_tile;
	const int row = threadIdx.x / 2, column = threadIdx.x % 2 * 8;
	copy_async<16>(a_tile.piece(row, column), a + row * 16 + column, true);
	copy_async<16>(b_tile.piece(row, column), b + row * 16 + column, true);
	for (int i = 0; i < 8; i++)
		*c_tile.element(row, column + i) = c[row * 16 + column + i];
	copy_commit();
	copy_wait<0>();
	__syncthreads();
	mma_a<f16> left;
	mma_b<f16> right[2];
	mma_sum<float> first[2] = {}, second[2] = {};
	mma_load_a(left, a_tile, 0, 0);
	mma_load_b_turned(right[0], right[1], b_tile, 0, 0);
	mma(first[0], left, right[0]);
	mma(first[1], left, right[1]);
	mma_load_b_turned(right[0], right[1], c_tile, 0, 0);
	mma(second[0], mma_a_of<f16>(first[0], first[1]), right[0]);
	mma(second[1], mma_a_of<f16>(first[0], first[1]), right[1]);
	for (int j = 0; j < 2; j++)
		for (int i = 0; i < 4; i++)
			y[mma_row(i) * 16 + 8 * j + mma_column(i)] = second[j].at[i];
}

// The first n of 32 words; then, as 8 and 16 bytes, those that lie entirely within the first n words.
extern "C" __global__ void copies(const u32 *x, u32 *y, int n)
{
	__shared__ uint4 to[3][8];
	const int t = threadIdx.x;
	copy_async<4>((u32 *)to[0] + t, x + t, t < n);
	copy_commit();
	if (t < 16)
		copy_async<8>((uint2 *)to[1] + t, x + 2 * t, 2 * t + 2 <= n);
	copy_commit();
	if (t < 8)
		copy_async<16>(&to[2][t], x + 4 * t, 4 * t + 4 <= n);
	copy_commit();
	copy_wait<1>();
	__syncthreads();
	y[t] = ((u32 *)to[0])[t];
	y[32 + t] = ((u32 *)to[1])[t];
	copy_wait<0>();
	__syncthreads();
	y[64 + t] = ((u32 *)to[2])[t];
}

// Faults: data without a wait; a lane that does not exist.
extern "C" __global__ void no_wait(const u32 *x, u32 *y)
{
	__shared__ uint4 to[8];
	copy_async<4>((u32 *)to + threadIdx.x, x + threadIdx.x, true);
	copy_commit();
	__syncthreads();
	y[threadIdx.x] = ((u32 *)to)[31 - threadIdx.x];
	copy_wait<0>();
}
extern "C" __global__ void few_lanes(const u8 *a, const u8 *b, int *y)
{
	if (threadIdx.x < 16)
		bytes(a, b, y);
	else
		__syncwarp();
}
