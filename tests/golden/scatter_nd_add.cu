#include "tpat_device.h"

// program ScatterND(x: f16[V,K], at_rows: i64[M,1], updates: f16[M,K]) -> (y: f16[V,K])
// y: f16[V,K] = scatter sum (i, j | r<M, s<K) init x[i, j]
//     at [select(index(at_rows[r, 0]) < 0, index(at_rows[r, 0]) + V, index(at_rows[r, 0])), s] value updates[r, s]

// y: f16[V,K] = map (i, j) x[i, j]
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(K * V / 2048) blocks of 256 threads.
// Runs if K * V % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y_x8(const f16 *x, f16 *__restrict__ y, int V, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= K * V)
		return;
	f16 x_v[8];
	load(x_v, x + element);
	f16 y_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		y_v[v] = x_v[v];
	}
	store(y + element, y_v);
}

// The same as ScatterND_y_x8.
// Schedule: map@1 width=8; 256 threads a block.
// Launch: ceil(K * V / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless ScatterND_y_x8 does.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y(const f16 *x, f16 *__restrict__ y, int V, int K)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= K * V)
		return;
	y[element] = x[element];
}

// y: f16[V,K] = scatter sum (i, j | r<M, s<K) init x[i, j]
//     at [select(index(at_rows[r, 0]) < 0, index(at_rows[r, 0]) + V, index(at_rows[r, 0])), s] value updates[r, s]
// Schedule: scatter@2 width=8; 256 threads a block.
// One kernel fills the result, and another applies the updates, up to 8 elements in a thread.
// Launch: ceil(K * M / 2048) blocks of 256 threads.
// Runs if K % 8 == 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y_update_x8(const i64 *at_rows, const f16 *updates, f16 *__restrict__ y, int V, int K, int M,
                           const u64 inverse_K)
{
	const divisor by_K = { K, inverse_K };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= K * M)
		return;
	const int s = element % by_K;
	const int r = element / by_K;
	f16 updates_v1[8];
	load(updates_v1, updates + s + r * K);
	f16 y_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		y_v[v] = updates_v1[v];
	}
	atomic_add_vector(y + s + (to_index(at_rows[r]) < 0 ? to_index(at_rows[r]) + V : to_index(at_rows[r])) * K,
	                  y_v);
}

// The same as ScatterND_y_update_x8.
// Schedule: scatter@2 width=8; 256 threads a block.
// Launch: ceil(K * M / 512) blocks of 256 threads.
// Runs if K % 2 == 0, and all positions fit into 32 bits, unless ScatterND_y_update_x8 does.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y_update_x2(const i64 *at_rows, const f16 *updates, f16 *__restrict__ y, int V, int K, int M,
                           const u64 inverse_K)
{
	const divisor by_K = { K, inverse_K };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 512 + thread * 2;
	if (element >= K * M)
		return;
	const int s = element % by_K;
	const int r = element / by_K;
	f16 updates_v1[2];
	load(updates_v1, updates + s + r * K);
	f16 y_v[2];
	#pragma unroll
	for (int v = 0; v < 2; v++) {
		y_v[v] = updates_v1[v];
	}
	atomic_add_vector(y + s + (to_index(at_rows[r]) < 0 ? to_index(at_rows[r]) + V : to_index(at_rows[r])) * K,
	                  y_v);
}

// The same as ScatterND_y_update_x8.
// Schedule: scatter@2 width=8; 256 threads a block.
// Launch: ceil(K * M / 256) blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless ScatterND_y_update_x8 or ScatterND_y_update_x2 does.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y_update(const i64 *at_rows, const f16 *updates, f16 *__restrict__ y, int V, int K, int M,
                        const u64 inverse_K)
{
	const divisor by_K = { K, inverse_K };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= K * M)
		return;
	const int s = element % by_K;
	const int r = element / by_K;
	const int at_rows_value = to_index(at_rows[r]);
	const int place = s + (at_rows_value < 0 ? at_rows_value + V : at_rows_value) * K;
	const f16 update = updates[s + r * K];
	if (place < K * V - 1) {
		atomic_add_paired(y + place, update);
	} else {
		atomic_add(y + place, update);
	}
}

// The same as ScatterND_y_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(K * V / 256) blocks of 256 threads.
// Runs unless ScatterND_y_x8 or ScatterND_y does.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y_64(const f16 *x, f16 *__restrict__ y, i64 V, i64 K)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= K * V)
		return;
	y[element] = x[element];
}

// The same as ScatterND_y_update_x8.
// Schedule: scatter@2 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(K * M / 256) blocks of 256 threads.
// Runs unless ScatterND_y_update_x8 or ScatterND_y_update_x2 or ScatterND_y_update does.
extern "C" __global__ __launch_bounds__(256)
void ScatterND_y_update_64(const i64 *at_rows, const f16 *updates, f16 *__restrict__ y, i64 V, i64 K, i64 M)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= K * M)
		return;
	const i64 s = element % K;
	const i64 r = element / K;
	const i64 at_rows_value = at_rows[r];
	const i64 place = s + (at_rows_value < 0 ? at_rows_value + V : at_rows_value) * K;
	const f16 update = updates[s + r * K];
	if (place < K * V - 1) {
		atomic_add_paired(y + place, update);
	} else {
		atomic_add(y + place, update);
	}
}
