#include "tpat_device.h"

// program power_iteration(a: f32[N,N]) -> (eigenvalue: f32[], turns: i64[])
// loop turn<1000 while 1e-06 < change[] {
//   carry x: f32[N] (i) 1.0
//   carry change: f32[] () 1.0
//   carry turns: i64[] () i64(0)
//   y: f32[N] = sum (i | r<N) a[i, r] * x[r]
//   norm: f32[] = sum (| r<N) y[r] * y[r] then sqrt(it)
//   next_x: f32[N] = map (i) y[i] / norm[]
//   difference: f32[] = max (| r<N) abs(next_x[r] - x[r])
//   next_turns: i64[] = map () turns[] + i64(1)
//   next x = next_x
//   next change = difference
//   next turns = next_turns
// }
// eigenvalue: f32[] = sum (| r<N, s<N) x[r] * a[r, s] * x[s]

// loop turn<1000 while 1e-06 < change[] {
//   carry x: f32[N] (i) 1.0
//   carry change: f32[] () 1.0
//   carry turns: i64[] () i64(0)
//   y: f32[N] = sum (i | r<N) a[i, r] * x[r]
//   norm: f32[] = sum (| r<N) y[r] * y[r] then sqrt(it)
//   next_x: f32[N] = map (i) y[i] / norm[]
//   difference: f32[] = max (| r<N) abs(next_x[r] - x[r])
//   next_turns: i64[] = map () turns[] + i64(1)
//   next x = next_x
//   next change = difference
//   next turns = next_turns
// }
// Schedule: loop_block@1 threads=1024 lanes=32 shared=1 rows=1; 1024 threads a block.
// A block runs the whole loop for its rows. Its threads share the elements of every stage, with a barrier
//     where a stage reads what other threads computed.
// Launch: one block of 1024 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(1024)
void power_iteration_x(const float *a, float *x, float *__restrict__ change, float *y, float *next_x,
                       i64 *__restrict__ turns, int N)
{
	const int thread = threadIdx.x;
	__shared__ i64 turns_shared[1];
	__shared__ float change_shared[1];
	__shared__ float norm_shared[1];
	wait_for_last_kernel();
	const int warp = thread / 32;
	const int lane = thread % 32;
	// x
	for (int element = thread; element < N; element += 1024) {
		x[element] = 1.0f;
	}
	// change, turns
	if (thread < 1) {
		const int element = thread;
		change_shared[element] = 1.0f;
		turns_shared[element] = 0LL;
	}
	for (int turn = 0; turn < 1000; turn++) {
		__syncthreads();
		if (!(change_shared[0] > 1e-06f))
			break;
		// y: a warp an element
		for (int element = warp; element < N; element += 32) {
			float sum = 0.0f;
			for (int r = lane; r < N; r += 32) {
				sum = fmaf(a[element * N + r], x[r], sum);
			}
			sum = warp_reduce(sum, op_sum());
			if (lane == 0) {
				y[element] = sum;
			}
		}
		__syncthreads();
		// norm: the block an element
		{
			float sum = 0.0f;
			for (int r = thread; r < N; r += 1024) {
				const float y_value = y[r];
				sum = fmaf(y_value, y_value, sum);
			}
			__shared__ float across[32];
			sum = block_reduce<1024>(sum, op_sum(), across);
			if (thread == 0) {
				norm_shared[0] = sqrtf(sum);
			}
		}
		__syncthreads();
		// next_x
		for (int element = thread; element < N; element += 1024) {
			next_x[element] = quotient(y[element], norm_shared[0]);
		}
		__syncthreads();
		// difference: the block an element
		{
			float largest = -INFINITY;
			for (int r = thread; r < N; r += 1024) {
				largest = nan_max(largest, fabsf(next_x[r] - x[r]));
			}
			__shared__ float across[32];
			largest = block_reduce<1024>(largest, op_max(), across);
			if (thread == 0) {
				change_shared[0] = largest;
			}
		}
		// next_turns
		if (thread < 1) {
			const int element = thread;
			turns_shared[element] = turns_shared[element] + 1LL;
		}
		__syncthreads();
		// x of the next turn
		for (int element = thread; element < N; element += 1024) {
			const float x_here = next_x[element];
			x[element] = x_here;
		}
	}
	// change at last, turns at last
	if (thread < 1) {
		const int element = thread;
		change[element] = change_shared[element];
		turns[element] = turns_shared[element];
	}
}

// eigenvalue: f32[] = sum (| r<N, s<N) x[r] * a[r, s] * x[s]
// Schedule: rows@4 lanes=512 width=4 steps=2 once=0 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and stays in registers from the first stage to the last: 2 vectors of 4 elements each.
// Launch: one block of 512 threads.
// Runs if N * N % 4 == 0 && N * N <= 4096 && N * N > 0, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(512, 2)
void power_iteration_eigenvalue(const float *a, const float *x, float *__restrict__ eigenvalue, int N,
                                const u64 inverse_N)
{
	const divisor by_N = { N, inverse_N };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	wait_for_last_kernel();
	const int lane = thread;
	float a_v[2][4];
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = min(lane * 4 + step * 2048, N * N - 4);
		load(a_v[step], a + at);
	}
	float row_eigenvalue = 0.0f;
	#pragma unroll
	for (int step = 0; step < 2; step++) {
		const int at = lane * 4 + step * 2048;
		if (step < 1 || at < N * N) {
			const int near = min(at, N * N - 4);
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const int s = (near + item) % by_N;
				const int r = (near + item) / by_N;
				const float part = x[r] * a_v[step][item] * x[s];
				row_eigenvalue += at < N * N ? part : 0.0f;
			}
		}
	}
	__shared__ float row_eigenvalue_across[16];
	row_eigenvalue = block_reduce<512>(row_eigenvalue, op_sum(), row_eigenvalue_across);
	if (lane == 0) {
		eigenvalue[0] = row_eigenvalue;
	}
}

// The same as power_iteration_eigenvalue.
// Schedule: rows@4 lanes=512 width=4 steps=2 once=0 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and stays in registers from the first stage to the last: 3 vectors of 4 elements each.
// Launch: one block of 512 threads.
// Runs if N * N <= 6141 && N * N > 0 && N * N >= 4, and all positions fit into 32 bits, unless
//     power_iteration_eigenvalue does.
extern "C" __global__ __launch_bounds__(512, 2)
void power_iteration_eigenvalue_shifted(const float *a, const float *x, float *__restrict__ eigenvalue, int N,
                                        const u64 inverse_N)
{
	const divisor by_N = { N, inverse_N };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	wait_for_last_kernel();
	const int lane = thread;
	const int first = 0;
	const int last = N * N - N * N % 4 - 4;
	const int row_last = min(last, N * N - (N * N + 3) % 4 - 1);
	float a_v[3][4];
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int place = min(row_last, lane * 4 + first + step * 2048);
		load(a_v[step], a + place);
	}
	if (last + 4 < N * N) {
		#pragma unroll
		for (int step = 0; step < 3; step++) {
			const int place = lane * 4 + first + step * 2048;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < N * N) {
						a_v[step][item] = a[place_2];
					}
				}
			}
		}
	}
	float row_eigenvalue = 0.0f;
	#pragma unroll
	for (int step = 0; step < 3; step++) {
		const int at = lane * 4 + first + step * 2048;
		if (step < 1 || at < N * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const int s = max(0, min(at + item, N * N - 1)) % by_N;
				const int r = max(0, min(at + item, N * N - 1)) / by_N;
				const float part = x[r] * a_v[step][item] * x[s];
				row_eigenvalue += ((step > 0 || at + item >= 0) && at + item < N * N) ? part : 0.0f;
			}
		}
	}
	__shared__ float row_eigenvalue_across[16];
	row_eigenvalue = block_reduce<512>(row_eigenvalue, op_sum(), row_eigenvalue_across);
	if (lane == 0) {
		eigenvalue[0] = row_eigenvalue;
	}
}

// The same as power_iteration_eigenvalue.
// Schedule: rows@4 lanes=512 width=4 steps=2 once=0 ahead=0 shared=0; 1024 threads a block.
// A row has 1024 threads, and stays in registers from the first stage to the last: 8 vectors of 4 elements each.
// Launch: one block of 1024 threads.
// Runs if N * N <= 32765 && N * N > 0 && N * N >= 4, and all positions fit into 32 bits, unless
//     power_iteration_eigenvalue or power_iteration_eigenvalue_shifted does.
extern "C" __global__ __launch_bounds__(1024)
void power_iteration_eigenvalue_longer(const float *a, const float *x, float *__restrict__ eigenvalue, int N,
                                       const u64 inverse_N)
{
	const divisor by_N = { N, inverse_N };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 1024);
	wait_for_last_kernel();
	const int lane = thread;
	const int first = 0;
	const int last = N * N - N * N % 4 - 4;
	const int row_last = min(last, N * N - (N * N + 3) % 4 - 1);
	float a_v[8][4];
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int place = min(row_last, lane * 4 + first + step * 4096);
		load(a_v[step], a + place);
	}
	if (last + 4 < N * N) {
		#pragma unroll
		for (int step = 0; step < 8; step++) {
			const int place = lane * 4 + first + step * 4096;
			if (last < place) {
				#pragma unroll
				for (int item = 0; item < 4; item++) {
					const int place_2 = place + item;
					if (place_2 < N * N) {
						a_v[step][item] = a[place_2];
					}
				}
			}
		}
	}
	float row_eigenvalue = 0.0f;
	#pragma unroll
	for (int step = 0; step < 8; step++) {
		const int at = lane * 4 + first + step * 4096;
		if (step < 1 || at < N * N) {
			#pragma unroll
			for (int item = 0; item < 4; item++) {
				const int s = max(0, min(at + item, N * N - 1)) % by_N;
				const int r = max(0, min(at + item, N * N - 1)) / by_N;
				const float part = x[r] * a_v[step][item] * x[s];
				row_eigenvalue += ((step > 0 || at + item >= 0) && at + item < N * N) ? part : 0.0f;
			}
		}
	}
	__shared__ float row_eigenvalue_across[32];
	row_eigenvalue = block_reduce<1024>(row_eigenvalue, op_sum(), row_eigenvalue_across);
	if (lane == 0) {
		eigenvalue[0] = row_eigenvalue;
	}
}

// The same as power_iteration_eigenvalue.
// Schedule: rows@4 lanes=512 width=4 steps=2 once=0 ahead=0 shared=0; 512 threads a block.
// A row has 512 threads, and every stage reads it again.
// Launch: one block of 512 threads.
// Runs if all positions fit into 32 bits, unless power_iteration_eigenvalue or power_iteration_eigenvalue_shifted or
//     power_iteration_eigenvalue_longer does.
extern "C" __global__ __launch_bounds__(512)
void power_iteration_eigenvalue_any(const float *a, const float *x, float *__restrict__ eigenvalue, int N,
                                    const u64 inverse_N)
{
	const divisor by_N = { N, inverse_N };
	const int thread = threadIdx.x;
	wait_for_last_kernel();
	const int lane = thread;
	float row_eigenvalue = 0.0f;
	for (int at = lane; at < N * N; at += 512) {
		float a_v = a[at];
		const int s = at % by_N;
		const int r = at / by_N;
		row_eigenvalue = fmaf(x[r] * a_v, x[s], row_eigenvalue);
	}
	__shared__ float row_eigenvalue_across[16];
	row_eigenvalue = block_reduce<512>(row_eigenvalue, op_sum(), row_eigenvalue_across);
	if (lane == 0) {
		eigenvalue[0] = row_eigenvalue;
	}
}

// The same as power_iteration_x.
// Schedule: loop_block@1 threads=1024 lanes=32 shared=1 rows=1; 1024 threads a block; 64-bit positions.
// Launch: one block of 1024 threads.
// Runs unless power_iteration_x does.
extern "C" __global__ __launch_bounds__(1024)
void power_iteration_x_64(const float *a, float *x, float *__restrict__ change, float *y, float *next_x,
                          i64 *__restrict__ turns, i64 N)
{
	const i64 thread = threadIdx.x;
	__shared__ i64 turns_shared[1];
	__shared__ float change_shared[1];
	__shared__ float norm_shared[1];
	wait_for_last_kernel();
	const i64 warp = thread / 32;
	const i64 lane = thread % 32;
	// x
	for (i64 element = thread; element < N; element += 1024) {
		x[element] = 1.0f;
	}
	// change, turns
	if (thread < 1) {
		const i64 element = thread;
		change_shared[element] = 1.0f;
		turns_shared[element] = 0LL;
	}
	for (i64 turn = 0; turn < 1000; turn++) {
		__syncthreads();
		if (!(change_shared[0] > 1e-06f))
			break;
		// y: a warp an element
		for (i64 element = warp; element < N; element += 32) {
			float sum = 0.0f;
			for (i64 r = lane; r < N; r += 32) {
				sum = fmaf(a[element * N + r], x[r], sum);
			}
			sum = warp_reduce(sum, op_sum());
			if (lane == 0) {
				y[element] = sum;
			}
		}
		__syncthreads();
		// norm: the block an element
		{
			float sum = 0.0f;
			for (i64 r = thread; r < N; r += 1024) {
				const float y_value = y[r];
				sum = fmaf(y_value, y_value, sum);
			}
			__shared__ float across[32];
			sum = block_reduce<1024>(sum, op_sum(), across);
			if (thread == 0) {
				norm_shared[0] = sqrtf(sum);
			}
		}
		__syncthreads();
		// next_x
		for (i64 element = thread; element < N; element += 1024) {
			next_x[element] = quotient(y[element], norm_shared[0]);
		}
		__syncthreads();
		// difference: the block an element
		{
			float largest = -INFINITY;
			for (i64 r = thread; r < N; r += 1024) {
				largest = nan_max(largest, fabsf(next_x[r] - x[r]));
			}
			__shared__ float across[32];
			largest = block_reduce<1024>(largest, op_max(), across);
			if (thread == 0) {
				change_shared[0] = largest;
			}
		}
		// next_turns
		if (thread < 1) {
			const i64 element = thread;
			turns_shared[element] = turns_shared[element] + 1LL;
		}
		__syncthreads();
		// x of the next turn
		for (i64 element = thread; element < N; element += 1024) {
			const float x_here = next_x[element];
			x[element] = x_here;
		}
	}
	// change at last, turns at last
	if (thread < 1) {
		const i64 element = thread;
		change[element] = change_shared[element];
		turns[element] = turns_shared[element];
	}
}

// The same as power_iteration_eigenvalue.
// Schedule: rows@4 lanes=512 width=4 steps=2 once=0 ahead=0 shared=0; 512 threads a block; 64-bit positions.
// Launch: one block of 512 threads.
// Runs unless power_iteration_eigenvalue or power_iteration_eigenvalue_shifted or power_iteration_eigenvalue_longer or
//     power_iteration_eigenvalue_any does.
extern "C" __global__ __launch_bounds__(512)
void power_iteration_eigenvalue_any_64(const float *a, const float *x, float *__restrict__ eigenvalue, i64 N)
{
	const i64 thread = threadIdx.x;
	wait_for_last_kernel();
	const i64 lane = thread;
	float row_eigenvalue = 0.0f;
	for (i64 at = lane; at < N * N; at += 512) {
		float a_v = a[at];
		const i64 s = at % N;
		const i64 r = at / N;
		row_eigenvalue = fmaf(x[r] * a_v, x[s], row_eigenvalue);
	}
	__shared__ float row_eigenvalue_across[16];
	row_eigenvalue = block_reduce<512>(row_eigenvalue, op_sum(), row_eigenvalue_across);
	if (lane == 0) {
		eigenvalue[0] = row_eigenvalue;
	}
}
