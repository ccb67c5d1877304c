#include "tpat_device.h"

/* program lstm(inputs: f32[1,T,B,512], weights: f16[1,512,128], lens: i32[B]) -> (y: f16[T,1,B,128], c: f32[1,B,128])
  loop turn<T {
    carry h: f32[1,B,128] (i, j, k) 0.0
    carry c: f32[1,B,128] (i, j, k) 0.0
    gates: f32[1,B,512] = sum (i, j, k | r<128) h[0, j, r] * f32(weights[0, k, r]) then it + inputs[0, turn, j, k]
    next_c: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 256]))) * c[0, j, k] + 1.0 / (1.0 + exp(neg(gates[0, j, k]))) * tanh(gates[0, j, k + 384]), c[0, j, k])
    next_h: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 128]))) * tanh(next_c[0, j, k]), h[0, j, k])
    half_h: f16[1,B,128] = map (i, j, k) f16(next_h[0, j, k])
    next h = next_h
    next c = next_c
    collect y: f16[T,1,B,128] at turn = half_h
  }
 */

// loop turn<T {
//   carry h: f32[1,B,128] (i, j, k) 0.0
//   carry c: f32[1,B,128] (i, j, k) 0.0
//   gates: f32[1,B,512] = sum (i, j, k | r<128) h[0, j, r] * f32(weights[0, k, r]) then it + inputs[0, turn, j, k]
//   next_c: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 256]))) *
// c[0, j, k] + 1.0 / (1.0 + exp(neg(gates[0, j, k]))) * tanh(gates[0, j, k + 384]), c[0, j, k])
//   next_h: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 128]))) *
// tanh(next_c[0, j, k]), h[0, j, k])
//   half_h: f16[1,B,128] = map (i, j, k) f16(next_h[0, j, k])
//   next h = next_h
//   next c = next_c
//   collect y: f16[T,1,B,128] at turn = half_h
// }
// Schedule: loop_block 1, threads 1024, lanes 32, shared 1, rows 1; 1024 threads a block.
extern "C" __global__ __launch_bounds__(1024)
void lstm_h(const float *inputs, const f16 *weights, const int *lens, float *__restrict__ h, f16 *__restrict__ y, float *__restrict__ c, int T, int B)
{
	const int thread = threadIdx.x;
	const int block = blockIdx.x;
	__shared__ float c_shared[128];
	__shared__ float h_shared[128];
	__shared__ float gates_shared[512];
	wait_for_last_kernel();
	const int warp = thread / 32;
	const int lane = thread % 32;
	const int row = block;
	// h, c
	if (thread < 128) {
		const int element = thread;
		h_shared[element] = 0.0f;
		c_shared[element] = 0.0f;
	}
	for (int turn = 0; turn < T; turn++) {
		__syncthreads();
		// gates: a warp an element
		for (int element = warp; element < 512; element += 32) {
			float sum = 0.0f;
			for (int r = lane; r < 128; r += 32) {
				sum = fmaf(h_shared[r], to_f32(weights[element * 128 + r]), sum);
			}
			sum = warp_reduce(sum, op_sum());
			if (lane == 0) {
				gates_shared[element] = sum + inputs[row * 512 + turn * B * 512 + element];
			}
		}
		__syncthreads();
		// next_c, next_h, half_h, collected in y
		if (thread < 128) {
			const int element = thread;
			const float tmp0 = c_shared[element];
			const float next_c_here = turn < lens[row] ? 1.0f / (1.0f + expf(-gates_shared[element + 256])) * tmp0 + 1.0f / (1.0f + expf(-gates_shared[element])) * tanhf(gates_shared[element + 384]) : tmp0;
			c_shared[element] = next_c_here;
			const float next_h_here = turn < lens[row] ? 1.0f / (1.0f + expf(-gates_shared[element + 128])) * tanhf(next_c_here) : h_shared[element];
			h_shared[element] = next_h_here;
			y[row * 128 + turn * B * 128 + element] = to_f16(next_h_here);
		}
	}
	// h at last, c at last
	if (thread < 128) {
		const int element = thread;
		h[row * 128 + element] = h_shared[element];
		c[row * 128 + element] = c_shared[element];
	}
}

// loop turn<T {
//   carry h: f32[1,B,128] (i, j, k) 0.0
//   carry c: f32[1,B,128] (i, j, k) 0.0
//   gates: f32[1,B,512] = sum (i, j, k | r<128) h[0, j, r] * f32(weights[0, k, r]) then it + inputs[0, turn, j, k]
//   next_c: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 256]))) *
// c[0, j, k] + 1.0 / (1.0 + exp(neg(gates[0, j, k]))) * tanh(gates[0, j, k + 384]), c[0, j, k])
//   next_h: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 128]))) *
// tanh(next_c[0, j, k]), h[0, j, k])
//   half_h: f16[1,B,128] = map (i, j, k) f16(next_h[0, j, k])
//   next h = next_h
//   next c = next_c
//   collect y: f16[T,1,B,128] at turn = half_h
// }
// Schedule: loop_block 1, threads 1024, lanes 32, shared 1, rows 1; 1024 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(1024)
void lstm_h_64(const float *inputs, const f16 *weights, const int *lens, float *__restrict__ h, f16 *__restrict__ y, float *__restrict__ c, i64 T, i64 B)
{
	const i64 thread = threadIdx.x;
	const i64 block = blockIdx.x;
	__shared__ float c_shared[128];
	__shared__ float h_shared[128];
	__shared__ float gates_shared[512];
	wait_for_last_kernel();
	const i64 warp = thread / 32;
	const i64 lane = thread % 32;
	const i64 row = block;
	// h, c
	if (thread < 128) {
		const i64 element = thread;
		h_shared[element] = 0.0f;
		c_shared[element] = 0.0f;
	}
	for (i64 turn = 0; turn < T; turn++) {
		__syncthreads();
		// gates: a warp an element
		for (i64 element = warp; element < 512; element += 32) {
			float sum = 0.0f;
			for (i64 r = lane; r < 128; r += 32) {
				sum = fmaf(h_shared[r], to_f32(weights[element * 128 + r]), sum);
			}
			sum = warp_reduce(sum, op_sum());
			if (lane == 0) {
				gates_shared[element] = sum + inputs[row * 512 + turn * B * 512 + element];
			}
		}
		__syncthreads();
		// next_c, next_h, half_h, collected in y
		if (thread < 128) {
			const i64 element = thread;
			const float tmp0 = c_shared[element];
			const float next_c_here = turn < (i64)lens[row] ? 1.0f / (1.0f + expf(-gates_shared[element + 256])) * tmp0 + 1.0f / (1.0f + expf(-gates_shared[element])) * tanhf(gates_shared[element + 384]) : tmp0;
			c_shared[element] = next_c_here;
			const float next_h_here = turn < (i64)lens[row] ? 1.0f / (1.0f + expf(-gates_shared[element + 128])) * tanhf(next_c_here) : h_shared[element];
			h_shared[element] = next_h_here;
			y[row * 128 + turn * B * 128 + element] = to_f16(next_h_here);
		}
	}
	// h at last, c at last
	if (thread < 128) {
		const i64 element = thread;
		h[row * 128 + element] = h_shared[element];
		c[row * 128 + element] = c_shared[element];
	}
}
