// More of tpat_device.h: odd block sizes, two-dimensional blocks, vector access, votes, integer arithmetic.
#include "tpat_words.h"

extern "C" __global__ void reduce_odd(const int *x, int *y)
{
	__shared__ int part[32];
	y[threadIdx.x] = block_reduce<96>(x[threadIdx.x], op_sum(), part);
	y[96 + threadIdx.x] = warp_and(x[threadIdx.x] | 8);
	y[192 + threadIdx.x] = warp_or(x[threadIdx.x]);
}

// Two-dimensional blocks, dynamic shared memory, an early return.
extern "C" __global__ __launch_bounds__(256) void transpose(const float *x, float *y, int rows, int columns)
{
	extern __shared__ float tile[];
	const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
	if (r < rows && c < columns)
		tile[threadIdx.y * 17 + threadIdx.x] = x[r * columns + c];
	__syncthreads();
	const int r2 = blockIdx.y * 16 + threadIdx.x, c2 = blockIdx.x * 16 + threadIdx.y;
	if (r2 >= rows || c2 >= columns)
		return;
	y[c2 * rows + r2] = tile[threadIdx.x * 17 + threadIdx.y];
}

template <int N, class T> __device__ void copy_n(const T *x, T *y)
{
	T v[N];
	load(v, x + threadIdx.x * N);
	store(y + threadIdx.x * N, v);
}

extern "C" __global__ void vector_copy(const float *__restrict__ x, float *__restrict__ y, const f16 *__restrict__ h,
				       f16 *__restrict__ g)
{
	copy_n<8>(x, y);
	copy_n<8>(h, g);
	copy_n<1>(h + 256, g + 256);
	copy_n<2>(h + 320, g + 320);
	copy_n<4>(h + 384, g + 384);
	copy_n<3>(h + 512, g + 512);
}

template <int STEP, int FIRST, int N, class T> __device__ void shifted_n(const T *x, T *y)
{
	T v[N];
	load_shifted<STEP, FIRST>(v, x + FIRST + STEP * threadIdx.x);
	for (int i = 0; i < N; i++)
		y[threadIdx.x * N + i] = v[i];
}

extern "C" __global__ void vector_shifted(const u8 *x, u8 *y, const f16 *h, f16 *g, const float *a, float *b, f16 *negative)
{
	shifted_n<1, 0, 16>(x, y);
	shifted_n<2, 1, 16>(x, y + 512);
	shifted_n<4, 3, 16>(x, y + 1024);
	shifted_n<16, 5, 16>(x, y + 1536);
	shifted_n<1, 0, 8>(h, g);
	shifted_n<2, 1, 8>(h, g + 256);
	shifted_n<4, 2, 8>(h, g + 512);
	shifted_n<8, 5, 8>(h, g + 768);
	shifted_n<8, 0, 8>(h, g + 1024);
	shifted_n<8, 3, 4>(h, g + 1280);
	shifted_n<1, 0, 4>(a, b);
	shifted_n<2, 1, 4>(a, b + 128);
	shifted_n<4, 3, 4>(a, b + 256);
	for (int i = threadIdx.x; i < 512; i += 32)
		negative[i] = half_neg(h[i]);
}

extern "C" __global__ void votes(const int *x, int *y)
{
	const int v = x[threadIdx.x];
	int *row = y + threadIdx.x * 6;
	row[0] = (int)__ballot_sync(0xffffffff, v & 1);
	row[1] = __any_sync(0xffffffff, v > 60);
	row[2] = __all_sync(0xffffffff, v >= 32);
	row[3] = __syncthreads_count(v & 1);
	row[4] = __syncthreads_and(v < 64);
	row[5] = __syncthreads_or(v == 100);
}

extern "C" __global__ void arithmetic(const i64 *a, const i64 *b, i64 *y, int n)
{
	const int i = threadIdx.x;
	if (i >= n)
		return;
	y[i] = floor_div(a[i], b[i]);
	y[n + i] = floor_mod(a[i], b[i]);
	y[2 * n + i] = floor_div((int)a[i], (int)b[i]);
	y[3 * n + i] = floor_mod((int)a[i], (int)b[i]);
	y[4 * n + i] = ipow(a[i], b[i]);
	y[5 * n + i] = nan_max(a[i], b[i]);
}

extern "C" __global__ void float_functions(const float *a, const float *b, float *y, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	y[i] = quotient(a[i], b[i]);
	y[n + i] = one_plus_erf(a[i]);
	y[2 * n + i] = erf_to_16(a[i]);
	y[3 * n + i] = gelu(a[i]);
	y[4 * n + i] = reciprocal(fabsf(b[i]));
	y[5 * n + i] = to_f32(gelu_to_f16(a[i]));
	y[6 * n + i] = to_f32(gelu_to_bf16(a[i]));
	y[7 * n + i] = one_plus_tanh(a[i]);
}

// The threads of one block take tile number n; those before it have been shown by whoever made `state`.
template <class T> __device__ void look_back(u64 *state, T *y, int n)
{
	__shared__ u64 taken;
	__shared__ T before_all;
	const i64 tile = (i64)tile_next(state, &taken);
	const T total = (T)(tile + 1);
	y[threadIdx.x] = tiles_before(total, op_sum(), state, tile, n, (T)-5, &before_all);
}

extern "C" __global__ void look_back_int(u64 *state, int *y, int n) { look_back(state, y, n); }
extern "C" __global__ void look_back_double(u64 *state, double *y, int n) { look_back(state, y, n); }

template <int N> __device__ void apart(const int *x, int *y)
{
	int v[N];
	for (int i = 0; i < N; i++)
		v[i] = x[threadIdx.x] * (i + 1);
	warp_reduce_apart(v, op_sum());
	y[threadIdx.x] = v[0];
}

extern "C" __global__ void reduce_apart(const int *x, int *y)
{
	apart<1>(x, y);
	apart<5>(x, y + 32);
	apart<16>(x, y + 64);
	apart<32>(x, y + 96);
}

// Four lanes add up each of five numbers.
extern "C" __global__ void reduce_each(const int *x, int *y)
{
	int v[5];
	for (int i = 0; i < 5; i++)
		v[i] = x[threadIdx.x] * (i + 1);
	warp_reduce_each<4>(v, op_sum());
	for (int i = 0; i < 5; i++)
		y[32 * i + threadIdx.x] = v[i];
}

// In each turn a block takes its own number and the next block's.
extern "C" __global__ void pass_words(u64 *words, int *y, int turns)
{
	const int block = blockIdx.x, at[2] = { block, (block + 1) % (int)gridDim.x };
	int own = block + 1;
	for (int turn = 0; turn < turns; turn++) {
		u64 *const half = words + turn % 2 * gridDim.x;
		int v[2];
		if (threadIdx.x == 0)
			word_pass(half + block, own, turn + 1);
		words_take(v, half, at, turn + 1);
		own = 2 * v[0] + v[1];
	}
	y[block * 32 + threadIdx.x] = own;
}
