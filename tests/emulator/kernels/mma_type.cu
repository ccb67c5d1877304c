// Parts of tpat_mma.h, for TYPE: f16, bf16, i8, u8. One warp makes y = a b of 32 x 64 and 64 x 48 elements, sums in f32 or i32;
// n: bit 0, a is stored turned (64 x 32), bit 1, b is stored so that its rows run along k (48 x 64).
#include "tpat_mma.h"

struct sum_float { typedef float type; };
struct sum_int { typedef int type; };
template <class T> struct sum_of : sum_int {};
template <> struct sum_of<f16> : sum_float {};
template <> struct sum_of<bf16> : sum_float {};

// A tile by pieces of 16 bytes, in two groups of copies.
template <class T, int ROWS, int COLUMNS>
__device__ void fill(shared_tile<T, ROWS, COLUMNS> &tile, const T *from)
{
	const int pieces = COLUMNS * (int)sizeof(T) / 16;
	for (int half = 0; half < 2; half++) {
		for (int i = threadIdx.x; i < ROWS * pieces / 2; i += 32) {
			const int row = i / pieces + half * (ROWS / 2), column = i % pieces * (16 / (int)sizeof(T));
			copy_async<16>(tile.piece(row, column), from + row * COLUMNS + column, true);
		}
		copy_commit();
	}
}

template <class T, bool A_TURNED, bool B_TURNED, class A, class B>
__device__ void product(A &a_tile, B &b_tile, typename sum_of<T>::type *y)
{
	const int depth = mma_depth<T>();
	for (int m = 0; m < 32; m += 16) {
		for (int n = 0; n < 48; n += 16) {
			mma_sum<typename sum_of<T>::type> sum[2] = {};
			for (int k = 0; k < 64; k += depth) {
				mma_a<T> a;
				mma_b<T> b[2];
				if constexpr (A_TURNED)
					mma_load_a_turned(a, a_tile, m, k);
				else
					mma_load_a(a, a_tile, m, k);
				if constexpr (B_TURNED)
					mma_load_b_turned(b[0], b[1], b_tile, n, k);
				else
					mma_load_b(b[0], b[1], b_tile, n, k);
				mma(sum[0], a, b[0]);
				mma(sum[1], a, b[1]);
			}
			for (int j = 0; j < 2; j++)
				for (int i = 0; i < 4; i++)
					y[(m + mma_row(i)) * 48 + n + 8 * j + mma_column(i)] = sum[j].at[i];
		}
	}
}

extern "C" __global__ void product_stored(const TYPE *a, const TYPE *b, sum_of<TYPE>::type *y, int n)
{
	if constexpr (sizeof(TYPE) == 2) {
		__shared__ shared_tile<TYPE, 32, 64> a_tile;
		__shared__ shared_tile<TYPE, 64, 32> a_turned;
		__shared__ shared_tile<TYPE, 48, 64> b_tile;
		__shared__ shared_tile<TYPE, 64, 64> b_turned;
		if (n & 1)
			fill(a_turned, a);
		else
			fill(a_tile, a);
		copy_wait<1>();
		if (n & 2)
			fill(b_tile, b);
		else
			fill(b_turned, b);
		copy_wait<0>();
		__syncthreads();
		if (n == 0)
			product<TYPE, false, true>(a_tile, b_turned, y);
		else if (n == 1)
			product<TYPE, true, true>(a_turned, b_turned, y);
		else if (n == 2)
			product<TYPE, false, false>(a_tile, b_tile, y);
		else
			product<TYPE, true, false>(a_turned, b_tile, y);
	} else {
		__shared__ shared_tile<TYPE, 32, 64> a_tile;
		__shared__ shared_tile<TYPE, 48, 64> b_tile;
		fill(a_tile, a);
		fill(b_tile, b);
		copy_wait<0>();
		__syncthreads();
		product<TYPE, false, false>(a_tile, b_tile, y);
	}
}
