// The kernels of bench/calibrate: each one is bound by what one constant of the cost model describes.
// All have the arguments (const u32 *in, u32 *out, int n, int at): two buffers, a number of iterations, and a
// position in words (or an iteration's number) that differs from launch to launch. WORDS: 32-bit words of a buffer;
// CACHED: of a part of it that
// stays in the L2 cache. Both are powers of two.
#include "tpat_device.h"
#include "tpat_mma.h"
#include "tpat_wgmma.h"

#define FN __device__ __forceinline__
#define HERE ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define ALL ((int)(gridDim.x * blockDim.x))

// Stores a result under a condition that is never true, which the compiler cannot know.
FN void keep(u32 *out, u32 x, int n)
{
	if (n < 0)
		out[threadIdx.x] = x;
}

extern "C" __global__ __launch_bounds__(32) void empty(const u32 *in, u32 *out, int n, int at)
{
	keep(out, in[0], n);
}

// ---- Issue. One iteration of arithmetic is 64 instructions: 32 multiply-adds, 32 on integers.

FN void arithmetic(float (&x)[8], u32 (&y)[8], float f)
{
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int k = 0; k < 8; k++) {
			x[k] = fmaf(x[k], f, f);
			y[k] = i % 2 ? y[k] + y[(k + 1) % 8] : y[k] ^ y[(k + 3) % 8];
		}
}

#define REGISTERS \
	float x[8]; \
	u32 y[8]; \
	const float f = 0.5f + (float)at * 1e-12f; \
	(void)f; \
	for (int k = 0; k < 8; k++) { \
		x[k] = (float)(k + (int)threadIdx.x); \
		y[k] = threadIdx.x * 2654435761u + k; \
	}

FN void keep_all(u32 *out, const float (&x)[8], const u32 (&y)[8], int n)
{
	float sum = 0;
	u32 bits = 0;
	for (int k = 0; k < 8; k++) {
		sum += x[k];
		bits ^= y[k];
	}
	keep(out, bits + (u32)(int)sum, n);
}

extern "C" __global__ __launch_bounds__(256) void counted(const u32 *in, u32 *out, int n, int at)
{
	REGISTERS
#pragma unroll 1
	for (int i = 0; i < n; i++)
		arithmetic(x, y, f);
	keep_all(out, x, y, n);
}

// 64 of arithmetic, 8 reads of shared memory and their 8 additions.
extern "C" __global__ __launch_bounds__(256) void steady(const u32 *in, u32 *out, int n, int at)
{
	__shared__ float shared[256 + 64];
	REGISTERS
	for (int i = threadIdx.x; i < 256 + 64; i += 256)
		shared[i] = f;
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		const float *from = shared + threadIdx.x + (i & 31);
		arithmetic(x, y, f);
#pragma unroll
		for (int k = 0; k < 8; k++)
			x[k] += from[4 * k];
	}
	keep_all(out, x, y, n);
}

// 64 of arithmetic, 8 reads with their additions, 5 shuffles with theirs, a store to shared memory, a barrier.
extern "C" __global__ __launch_bounds__(256) void mixed(const u32 *in, u32 *out, int n, int at)
{
	__shared__ float shared[2][256 + 64];
	REGISTERS
	for (int i = threadIdx.x; i < 256 + 64; i += 256)
		shared[0][i] = shared[1][i] = f;
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		const float *from = shared[i & 1] + threadIdx.x + (i & 31);
		arithmetic(x, y, f);
#pragma unroll
		for (int k = 0; k < 8; k++)
			x[k] += from[4 * k];
		x[0] = warp_sum(x[0]);
		shared[1 - (i & 1)][threadIdx.x] = x[0];
		__syncthreads();
	}
	keep_all(out, x, y, n);
}

// 8 sines and what scales their arguments.
extern "C" __global__ __launch_bounds__(256) void functions(const u32 *in, u32 *out, int n, int at)
{
	REGISTERS
#pragma unroll 1
	for (int i = 0; i < n; i++)
#pragma unroll
		for (int k = 0; k < 8; k++)
#ifdef TPAT_EMULATOR
			x[k] = sinf(x[k]);
#else
			x[k] = __sinf(x[k]);
#endif
	keep_all(out, x, y, n);
}

// 64 multiply-adds of doubles.
extern "C" __global__ __launch_bounds__(256) void doubles(const u32 *in, u32 *out, int n, int at)
{
	double x[8];
	const double f = 0.5 + (double)at * 1e-12;
	for (int k = 0; k < 8; k++)
		x[k] = (double)(k + (int)threadIdx.x);
#pragma unroll 1
	for (int i = 0; i < n; i++)
#pragma unroll
		for (int k = 0; k < 64; k++)
			x[k % 8] = fma(x[k % 8], f, f);
	keep(out, (u32)(int)(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7]), n);
}

// 64 multiply-adds of integers.
extern "C" __global__ __launch_bounds__(256) void integers(const u32 *in, u32 *out, int n, int at)
{
	REGISTERS
#pragma unroll 1
	for (int i = 0; i < n; i++)
#pragma unroll
		for (int k = 0; k < 64; k++)
			y[k % 8] = y[k % 8] * y[(k + 1) % 8] + (u32)at;
	keep_all(out, x, y, n);
}

extern "C" __global__ __launch_bounds__(256) void barriers(const u32 *in, u32 *out, int n, int at)
{
#pragma unroll 1
	for (int i = 0; i < n; i++)
		__syncthreads();
	keep(out, in[0], n);
}

extern "C" __global__ __launch_bounds__(256) void atomics(const u32 *in, u32 *out, int n, int at)
{
#pragma unroll 1
	for (int i = 0; i < n; i++)
		atomicAdd(&out[(HERE + i * 1031) & (CACHED - 1)], 1u);
}

// ---- Tensor cores: 8 products per iteration and warp.

template <class S, int N> FN void keep_sums(u32 *out, const mma_sum<S> (&sum)[N], int n)
{
	S all = 0;
	for (int k = 0; k < N; k++)
		for (int i = 0; i < 4; i++)
			all += sum[k].at[i];
	keep(out, (u32)(int)all, n);
}

template <class T, class S> FN void products(u32 *out, int n)
{
	mma_sum<S> sum[8] = {};
	mma_a<T> a = {};
	mma_b<T> b = {};
	a.word[0] = threadIdx.x & 1;
#pragma unroll 1
	for (int i = 0; i < n; i++)
#pragma unroll
		for (int k = 0; k < 8; k++)
			mma(sum[k], a, b);
	keep_sums(out, sum, n);
}
extern "C" __global__ __launch_bounds__(256) void mma_f16(const u32 *in, u32 *out, int n, int at)
{
	products<f16, float>(out, n);
}
extern "C" __global__ __launch_bounds__(256) void mma_bf16(const u32 *in, u32 *out, int n, int at)
{
	products<bf16, float>(out, n);
}
extern "C" __global__ __launch_bounds__(256) void mma_i8(const u32 *in, u32 *out, int n, int at)
{
	products<i8, int>(out, n);
}

// Two warpgroups, each 64 x 256 x 64 per iteration.
template <class T, class S> FN void wide_products(u32 *out, int n)
{
	__shared__ __align__(1024) unsigned char memory[(128 + 256) * 128];
	wide_tile<T, 128, false> &left = *(wide_tile<T, 128, false> *)memory;
	wide_tile<T, 256, false> &right = *(wide_tile<T, 256, false> *)(memory + 128 * 128);
	mma_sum<S> sum[1][32];
	const int row = (int)threadIdx.x / 128 * 64;
	for (int i = 0; i < 32; i++)
		sum[0][i] = {};
	for (int i = threadIdx.x; i < (int)sizeof memory; i += 256)
		memory[i] = 0;
	wgmma_see();
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		wgmma_begin();
#pragma unroll
		for (int k = 0; k < 128 / (int)sizeof(T); k += mma_depth<T>())
			wgmma(sum[0], left, row, right, 0, k, true);
		wgmma_commit();
		wgmma_wait<0>();
	}
	wgmma_done(sum);
	keep_sums(out, sum[0], n);
}
extern "C" __global__ __launch_bounds__(256) void wgmma_f16(const u32 *in, u32 *out, int n, int at)
{
	wide_products<f16, float>(out, n);
}
extern "C" __global__ __launch_bounds__(256) void wgmma_i8(const u32 *in, u32 *out, int n, int at)
{
	wide_products<i8, int>(out, n);
}

// ---- Shared memory: 8 reads of 16 bytes per iteration.

extern "C" __global__ __launch_bounds__(256) void shared_reads(const u32 *in, u32 *out, int n, int at)
{
	__shared__ __align__(16) u32 shared[1024 + 64];
	u32 sum = 0;
	for (int i = threadIdx.x; i < 1024 + 64; i += 256)
		shared[i] = i;
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < n; i++)
#pragma unroll
		for (int k = 0; k < 8; k++) {
			u32 v[4];
			load(v, shared + (4 * threadIdx.x + 4 * ((i + k) & 15)));
			sum ^= v[0] + v[1] + v[2] + v[3];
		}
	keep(out, sum, n);
}

// ---- Memory.

// 16 bytes per thread: a grid of WORDS / 4 threads copies everything.
extern "C" __global__ __launch_bounds__(256) void copy(const u32 *in, u32 *out, int n, int at)
{
	u32 v[4];
	load(v, in + 4 * (size_t)HERE);
	store(out + 4 * (size_t)HERE, v);
}

// The same in n iterations, each of which waits for the one before.
extern "C" __global__ __launch_bounds__(256) void copy_turns(const u32 *in, u32 *out, int n, int at)
{
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		const size_t to = 4 * (((size_t)i * ALL + HERE + at) & (WORDS / 4 - 1));
		u32 v[4];
		load(v, in + to);
		store(out + to, v);
	}
}

// Blocks read 16 KB, wait for each other, and store them, n times.
extern "C" __global__ __launch_bounds__(256) void copy_rows(const u32 *in, u32 *out, int n, int at)
{
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		const size_t first = (((size_t)i * gridDim.x + blockIdx.x) * 4096 + at) & (WORDS - 1);
		u32 v[4][4];
#pragma unroll
		for (int k = 0; k < 4; k++)
			load(v[k], in + first + 4 * (k * 256 + threadIdx.x));
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 4; k++)
			store(out + first + 4 * (k * 256 + threadIdx.x), v[k]);
	}
}

// The same for elements whose rows are 8 KB apart: a warp reads 128 bytes of each of 8 rows.
extern "C" __global__ __launch_bounds__(256) void copy_across(const u32 *in, u32 *out, int n, int at)
{
	const int warp = HERE / 32, column = warp % 64 * 32 + (int)threadIdx.x % 32;
	const size_t first = ((size_t)(warp / 64) * 8 * 2048 + column + at) & (WORDS - 1);
	u32 v[8];
#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] = in[(first + k * 2048) & (WORDS - 1)];
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 8; k++)
		out[(first + k * 2048) & (WORDS - 1)] = v[k];
}

// A copy with 4 * n multiply-adds per thread.
extern "C" __global__ __launch_bounds__(256) void copy_and_compute(const u32 *in, u32 *out, int n, int at)
{
	float v[4];
	load(v, (const float *)in + 4 * (size_t)HERE);
#pragma unroll 8
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 4; k++)
			v[k] = fmaf(v[k], 0.5f, 1.0f);
	store((float *)out + 4 * (size_t)HERE, v);
}

// 8 times 16 bytes per thread, from one plane or from eight: n planes.
extern "C" __global__ __launch_bounds__(256) void copy_planes(const u32 *in, u32 *out, int n, int at)
{
	const size_t apart = n > 1 ? WORDS / 8 : 4 * 256;
	const size_t first = 4 * ((size_t)(n > 1 ? 1 : 8) * blockIdx.x * 256 + threadIdx.x);
	u32 v[8][4];
#pragma unroll
	for (int k = 0; k < 8; k++)
		load(v[k], in + k * apart + first);
#pragma unroll
	for (int k = 0; k < 8; k++)
		store(out + k * apart + first, v[k]);
}

// 64 bytes per iteration and thread.
FN u32 read_on(const u32 *in, int n, size_t first, int words)
{
	u32 sum = 0;
#pragma unroll 1
	for (int i = 0; i < n; i++) {
		u32 v[4][4];
#pragma unroll
		for (int k = 0; k < 4; k++)
			load(v[k], in + ((first + ((size_t)i * 4 + k) * 4 * blockDim.x + 4 * threadIdx.x) & (words - 1)));
#pragma unroll
		for (int k = 0; k < 4; k++)
			sum ^= v[k][0] + v[k][1] + v[k][2] + v[k][3];
	}
	return sum;
}
extern "C" __global__ __launch_bounds__(1024) void read_alone(const u32 *in, u32 *out, int n, int at)
{
	keep(out, read_on(in, n, (size_t)at & ~(size_t)3, WORDS), n);
}
// Blocks start at different places, so that the L1 caches do not help.
extern "C" __global__ __launch_bounds__(512) void read_cached(const u32 *in, u32 *out, int n, int at)
{
	keep(out, read_on(in, n, (size_t)blockIdx.x * 8192 * 5, CACHED), n);
}

// A wave of threads that load a word and store one, in the L2 cache; a grid of several waves.
extern "C" __global__ __launch_bounds__(256) void waves(const u32 *in, u32 *out, int n, int at)
{
	out[HERE & (CACHED - 1)] = in[HERE & (CACHED - 1)] + 1;
}

// 4 neighbours in rows of 1024 words, and a store: 5 accesses of a warp.
extern "C" __global__ __launch_bounds__(256) void neighbours(const u32 *in, u32 *out, int n, int at)
{
	const int i = HERE & (CACHED - 1), down = (i + 1024) & (CACHED - 1);
	out[i] = in[i] + in[(i + 1) & (CACHED - 1)] + in[down] + in[(down + 1) & (CACHED - 1)];
}

// One after the other: each word says where the next one is.
extern "C" __global__ __launch_bounds__(32) void latency(const u32 *in, u32 *out, int n, int at)
{
	u32 i = (u32)at;
#pragma unroll 1
	for (int k = 0; k < n; k++)
		i = in[i];
	keep(out, i, n - (i == 0xffffffff));
}
// Makes that chain: steps of 4 KB and 64 bytes, through `n` words of out.
extern "C" __global__ __launch_bounds__(256) void chain(const u32 *in, u32 *out, int n, int at)
{
	for (int i = HERE; i < n; i += ALL)
		out[i] = ((u32)i + 1024 + 16) & ((u32)n - 1);
}

// Signals from block to block: block i waits until block i - 1 writes `at`, which differs in every launch.
extern "C" __global__ __launch_bounds__(32) void signals(const u32 *in, u32 *out, int n, int at)
{
	u64 *state = (u64 *)out;
	if (threadIdx.x == 0) {
		while (blockIdx.x && load_fresh(state + blockIdx.x - 1) != (u64)at)
			;
		__threadfence();
		store_fresh(state + blockIdx.x, (u64)at);
	}
}

// ---- Tiles of 16 KB in shared memory: two at a time, or one after the other.

template <int SLOTS> FN void tiles(const u32 *in, u32 *out, int n, int at, int words)
{
	__shared__ __align__(16) u32 tile[SLOTS][4096];
	for (int i = 0; i < n + SLOTS - 1; i++) {
		if (i < n) {
			const size_t first = ((size_t)i * gridDim.x + blockIdx.x) * 4096 + at;
#pragma unroll
			for (int k = 0; k < 4; k++)
				copy_async<16>(&tile[i % SLOTS][4 * (k * 256 + threadIdx.x)],
				               in + ((first + 4 * (k * 256 + threadIdx.x)) & (words - 1)), true);
		}
		copy_commit();
		copy_wait<SLOTS - 1>();
		__syncthreads();
	}
	keep(out, tile[0][threadIdx.x], n);
}
extern "C" __global__ __launch_bounds__(256) void tiles_cached(const u32 *in, u32 *out, int n, int at)
{
	tiles<2>(in, out, n, 0, CACHED);
}
extern "C" __global__ __launch_bounds__(256) void tiles_waited(const u32 *in, u32 *out, int n, int at)
{
	tiles<1>(in, out, n, at, WORDS);
}
extern "C" __global__ __launch_bounds__(256) void tiles_waited_cached(const u32 *in, u32 *out, int n, int at)
{
	tiles<1>(in, out, n, 0, CACHED);
}

// By TMA: n tiles of a map whose rows have 128 bytes, two in flight.
extern "C" __global__ __launch_bounds__(128) void bulk(u32 *out, int n, int rows, const __grid_constant__ tensor_map map)
{
	enum { SLOTS = 2 };
	__shared__ __align__(1024) unsigned char memory[SLOTS * 128 * 128];
	__shared__ u64 full[SLOTS];
	if (threadIdx.x == 0)
		for (int i = 0; i < SLOTS; i++)
			barrier_new(&full[i], 1);
	wgmma_see();
	__syncthreads();
	if (threadIdx.x == 0)
		for (int i = 0; i < n + SLOTS - 1; i++) {
			if (i >= SLOTS - 1)
				barrier_wait(&full[(i - SLOTS + 1) % SLOTS], (i - SLOTS + 1) / SLOTS % 2);
			if (i < n) {
				barrier_arrive_expecting(&full[i % SLOTS], 128 * 128);
				panel_load<2>(memory + i % SLOTS * 128 * 128, map, &full[i % SLOTS], 0,
				              (int)(((size_t)i * gridDim.x + blockIdx.x) * 128 & (rows - 1)), 0, 0, 0);
			}
		}
	__syncthreads();
	keep(out, memory[threadIdx.x], n);
}
