#include "tpat_device.h"
#include "tpat_words.h"

// program lstm(inputs: f32[1,T,B,512], weights: f16[1,512,128], lens: i32[B]) -> (y: f16[T,1,B,128], c: f32[1,B,128])
// loop turn<T {
//   carry h: f32[1,B,128] (i, j, k) 0.0
//   carry c: f32[1,B,128] (i, j, k) 0.0
//   gates: f32[1,B,512] = sum (i, j, k | r<128) h[0, j, r] * f32(weights[0, k, r]) then it + inputs[0, turn, j, k]
//   next_c: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 256]))) *
//       c[0, j, k] + 1.0 / (1.0 + exp(neg(gates[0, j, k]))) * tanh(gates[0, j, k + 384]), c[0, j, k])
//   next_h: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 128]))) *
//       tanh(next_c[0, j, k]), h[0, j, k])
//   half_h: f16[1,B,128] = map (i, j, k) f16(next_h[0, j, k])
//   next h = next_h
//   next c = next_c
//   collect y: f16[T,1,B,128] at turn = half_h
// }

// h_words: u64[B * 256] = map (i) u64(0)
// Schedule: map@1 width=2; 256 threads a block.
// A thread computes 2 elements next to each other.
// Launch: ceil(B / 2) blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void lstm_h_words_x2(u64 *__restrict__ h_words, int B)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 512 + thread * 2;
	if (element >= B * 256)
		return;
	u64 h_words_v[2];
	#pragma unroll
	for (int v = 0; v < 2; v++) {
		h_words_v[v] = 0ull;
	}
	store(h_words + element, h_words_v);
}

// loop turn<T {
//   carry h: f32[1,B,128] (i, j, k) 0.0
//   carry c: f32[1,B,128] (i, j, k) 0.0
//   gates: f32[1,B,512] = sum (i, j, k | r<128) h[0, j, r] * f32(weights[0, k, r]) then it + inputs[0, turn, j, k]
//   next_c: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 256]))) *
//       c[0, j, k] + 1.0 / (1.0 + exp(neg(gates[0, j, k]))) * tanh(gates[0, j, k + 384]), c[0, j, k])
//   next_h: f32[1,B,128] = map (i, j, k) select(turn < index(lens[j]), 1.0 / (1.0 + exp(neg(gates[0, j, k + 128]))) *
//       tanh(next_c[0, j, k]), h[0, j, k])
//   half_h: f16[1,B,128] = map (i, j, k) f16(next_h[0, j, k])
//   next h = next_h
//   next c = next_c
//   collect y: f16[T,1,B,128] at turn = half_h
// }
// Schedule: loop_grid@3 threads=512 units=64 rows=1 holds=1; 512 threads a block.
// Blocks that all run at the same time compute 64 units of one row each, and after each turn pass the results to one
//     another.
// Launch: B * 2 blocks of 512 threads, all at the same time.
// Runs if B * 2 <= 132, and all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(512)
void lstm_h_grid(const float *__restrict__ inputs, const f16 *__restrict__ weights, const int *__restrict__ lens,
                 float *h_data, float *gates, u64 *__restrict__ h_words_data, f16 *__restrict__ y, float *c_data, int T,
                 int B)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const int block = blockIdx.x;
	__shared__ float c_own[64];
	__shared__ float h_own[64];
	__shared__ float h_all[128];
	__shared__ float gates_own[256];
	const int warp = thread / 32;
	const int lane = thread % 32;
	const int group = block / 2;
	const int first_unit = block % 2 * 64;
	float gates_held[16][4];
	#pragma unroll
	for (int output = 0; output < 16; output++) {
		const int in_block = warp + output * 16;
		const int copy = in_block / 64;
		const int in_unit = in_block % 64;
		const int unit = first_unit + in_unit;
		#pragma unroll
		for (int step = 0; step < 4; step++) {
			const int point = lane + step * 32;
			gates_held[output][step] = to_f32(weights[copy * 16384 + unit * 128 + point]);
		}
	}
	const int element = min(thread, 127);
	int h_words[1];
	h_words[0] = group * 128 + element;
	if (thread < 64) {
		const int element_2 = thread;
		const int unit = first_unit + element_2;
		const float h = 0.0f;
		h_own[element_2] = h;
		word_pass(h_words_data + group * 128 + unit, h, 1);
	}
	if (thread < 64) {
		const int element_2 = thread;
		const float c = 0.0f;
		c_own[element_2] = c;
	}
	for (int turn = 0; turn < T; turn++) {
		const int slot = min(lane, 15);
		const int in_block = warp + slot * 16;
		const int copy = in_block / 64;
		const int in_unit = in_block % 64;
		const int unit = first_unit + in_unit;
		float gates_early = inputs[group * 512 + turn * B * 512 + copy * 128 + unit];
		bool next_c_early;
		bool next_h_early;
		if (thread < 64) {
			next_c_early = turn < lens[group];
			next_h_early = turn < lens[group];
		}
		// h of all blocks
		if (thread < 128) {
			float h_taken[1];
			words_take(h_taken, h_words_data + turn % 2 * B * 128, h_words, turn + 1);
			h_all[thread] = h_taken[0];
		}
		__syncthreads();
		// gates: a warp an element
		float gates_sums[16];
		#pragma unroll
		for (int i = 0; i < 16; i++) {
			gates_sums[i] = 0.0f;
		}
		#pragma unroll
		for (int step = 0; step < 4; step++) {
			const int point = lane + step * 32;
			#pragma unroll
			for (int output = 0; output < 16; output++) {
				gates_sums[output] = fmaf(h_all[point], gates_held[output][step], gates_sums[output]);
			}
		}
		warp_reduce_apart(gates_sums, op_sum());
		if (lane < 16) {
			const int slot_2 = lane;
			const int in_block_2 = warp + slot_2 * 16;
			const int copy_2 = in_block_2 / 64;
			const int in_unit_2 = in_block_2 % 64;
			const float gates_here = gates_sums[0] + gates_early;
			gates_own[copy_2 * 64 + in_unit_2] = gates_here;
		}
		__syncthreads();
		// next_c, next_h, half_h
		if (thread < 64) {
			const int element_2 = thread;
			const int unit_2 = first_unit + element_2;
			const float c_own_value = c_own[element_2];
			float next_c_here = c_own_value;
			if (next_c_early) {
				next_c_here = reciprocal(1.0f + expf(-gates_own[element_2 + 128])) * c_own_value +
				              reciprocal(1.0f + expf(-gates_own[element_2])) *
				              tanhf(gates_own[element_2 + 192]);
			}
			const float next_h_here = next_h_early
			                          ? reciprocal(1.0f + expf(-gates_own[element_2 + 64])) *
			                          tanhf(next_c_here) : h_own[element_2];
			const f16 half_h_here = to_f16(next_h_here);
			y[group * 128 + turn * B * 128 + unit_2] = half_h_here;
			c_own[element_2] = next_c_here;
			h_own[element_2] = next_h_here;
			word_pass(h_words_data + group * 128 + unit_2 + (turn + 1) % 2 * B * 128, next_h_here,
			          turn + 2);
		}
	}
	__syncthreads();
	if (thread < 64) {
		const int element_2 = thread;
		const int unit = first_unit + element_2;
		h_data[group * 128 + unit] = h_own[element_2];
	}
	if (thread < 64) {
		const int element_2 = thread;
		const int unit = first_unit + element_2;
		c_data[group * 128 + unit] = c_own[element_2];
	}
}

// The same as lstm_h_grid.
// Schedule: loop_grid@3 threads=512 units=32 rows=8 holds=1; 512 threads a block.
// Blocks that all run at the same time compute 32 units of 8 rows each, and after each turn pass the results to one
//     another.
// Launch: (B + 7) / 8 * 4 blocks of 512 threads, all at the same time.
// Runs if (B + 7) / 8 * 4 <= 132, and all positions fit into 32 bits, unless lstm_h_grid does.
extern "C" __global__ __launch_bounds__(512)
void lstm_h_more(const float *__restrict__ inputs, const f16 *__restrict__ weights, const int *__restrict__ lens,
                 float *h_data, float *gates, u64 *__restrict__ h_words_data, f16 *__restrict__ y, float *c_data, int T,
                 int B)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 512);
	const int block = blockIdx.x;
	__shared__ float c_own[256];
	__shared__ float h_own[256];
	__shared__ float h_all[1024];
	__shared__ float gates_own[1024];
	const int warp = thread / 32;
	const int lane = thread % 32;
	const int group = block / 4;
	const int first_unit = block % 4 * 32;
	const int first_row = group * 8;
	const int rows_here = min(8, B - first_row);
	float gates_held[8][4];
	#pragma unroll
	for (int output = 0; output < 8; output++) {
		const int in_block = warp + output * 16;
		const int copy = in_block / 32;
		const int in_unit = in_block % 32;
		const int unit = first_unit + in_unit;
		#pragma unroll
		for (int step = 0; step < 4; step++) {
			const int point = lane + step * 32;
			gates_held[output][step] = to_f32(weights[copy * 16384 + unit * 128 + point]);
		}
	}
	int h_words[2];
	#pragma unroll
	for (int i = 0; i < 2; i++) {
		const int element = thread + i * 512;
		h_words[i] = first_row * 128 + element % 128 + min(rows_here - 1, element / 128) * 128;
	}
	if (thread < 256) {
		const int element = thread;
		const int own_row = element / 32;
		const int in_row = element % 32;
		if (own_row < rows_here) {
			const int unit = first_unit + in_row;
			const int row = first_row + own_row;
			const float h = 0.0f;
			h_own[own_row * 32 + in_row] = h;
			word_pass(h_words_data + unit + row * 128, h, 1);
		}
	}
	if (thread < 256) {
		const int element = thread;
		const int own_row = element / 32;
		const int in_row = element % 32;
		if (own_row < rows_here) {
			const float c = 0.0f;
			c_own[own_row * 32 + in_row] = c;
		}
	}
	for (int turn = 0; turn < T; turn++) {
		float gates_early[2];
		#pragma unroll
		for (int chunk = 0; chunk < 2; chunk++) {
			const int slot = lane;
			const int in_block = warp + slot % 8 * 16;
			const int own_row = min(chunk * 4 + slot / 8, rows_here - 1);
			const int copy = in_block / 32;
			const int in_unit = in_block % 32;
			const int unit = first_unit + in_unit;
			const int row = first_row + own_row;
			gates_early[chunk] = inputs[turn * B * 512 + copy * 128 + unit + row * 512];
		}
		bool next_c_early;
		bool next_h_early;
		if (thread < 256) {
			const int element = thread;
			const int own_row = element / 32;
			if (own_row < rows_here) {
				const int row = first_row + own_row;
				next_c_early = turn < lens[row];
				next_h_early = turn < lens[row];
			}
		}
		// h of all blocks
		float h_taken[2];
		words_take(h_taken, h_words_data + turn % 2 * B * 128, h_words, turn + 1);
		#pragma unroll
		for (int i = 0; i < 2; i++) {
			h_all[thread + i * 512] = h_taken[i];
		}
		__syncthreads();
		// gates: a warp an element
		#pragma unroll
		for (int chunk = 0; chunk < 2; chunk++) {
			float gates_sums[32];
			#pragma unroll
			for (int i = 0; i < 32; i++) {
				gates_sums[i] = 0.0f;
			}
			#pragma unroll
			for (int step = 0; step < 4; step++) {
				const int point = lane + step * 32;
				#pragma unroll
				for (int part = 0; part < 4; part++) {
					const int own_row = min(chunk * 4 + part, rows_here - 1);
					#pragma unroll
					for (int output = 0; output < 8; output++) {
						gates_sums[part * 8 + output] = fmaf(h_all[point + own_row * 128],
						        gates_held[output][step], gates_sums[part * 8 + output]);
					}
				}
			}
			warp_reduce_apart(gates_sums, op_sum());
			const int slot = lane;
			const int in_block = warp + slot % 8 * 16;
			const int own_row = min(chunk * 4 + slot / 8, rows_here - 1);
			const int copy = in_block / 32;
			const int in_unit = in_block % 32;
			if (rows_here > chunk * 4 + lane / 8) {
				const float gates_here = gates_sums[0] + gates_early[chunk];
				gates_own[own_row * 128 + copy * 32 + in_unit] = gates_here;
			}
		}
		__syncthreads();
		// next_c, next_h, half_h
		if (thread < 256) {
			const int element = thread;
			const int own_row = element / 32;
			const int in_row = element % 32;
			if (own_row < rows_here) {
				const int unit = first_unit + in_row;
				const int row = first_row + own_row;
				const float c_own_value = c_own[own_row * 32 + in_row];
				float next_c_here = c_own_value;
				if (next_c_early) {
					const float product = reciprocal(1.0f +
					        expf(-gates_own[own_row * 128 + in_row])) *
					                      tanhf(gates_own[own_row * 128 + in_row + 96]);
					next_c_here = reciprocal(1.0f + expf(-gates_own[own_row * 128 + in_row + 64])) *
					              c_own_value + product;
				}
				const float next_h_here = next_h_early
				                          ? reciprocal(1.0f +
				                                       expf(-gates_own[own_row * 128 + in_row + 32])) *
				                          tanhf(next_c_here) : h_own[own_row * 32 + in_row];
				const f16 half_h_here = to_f16(next_h_here);
				y[turn * B * 128 + unit + row * 128] = half_h_here;
				c_own[own_row * 32 + in_row] = next_c_here;
				h_own[own_row * 32 + in_row] = next_h_here;
				word_pass(h_words_data + unit + row * 128 + (turn + 1) % 2 * B * 128, next_h_here,
				          turn + 2);
			}
		}
	}
	__syncthreads();
	if (thread < 256) {
		const int element = thread;
		const int own_row = element / 32;
		const int in_row = element % 32;
		if (own_row < rows_here) {
			const int unit = first_unit + in_row;
			const int row = first_row + own_row;
			h_data[unit + row * 128] = h_own[own_row * 32 + in_row];
		}
	}
	if (thread < 256) {
		const int element = thread;
		const int own_row = element / 32;
		const int in_row = element % 32;
		if (own_row < rows_here) {
			const int unit = first_unit + in_row;
			const int row = first_row + own_row;
			c_data[unit + row * 128] = c_own[own_row * 32 + in_row];
		}
	}
}

// The same as lstm_h_grid.
// Schedule: loop_block@1 threads=1024 lanes=32 shared=1 rows=1; 1024 threads a block.
// A block runs the whole loop for its rows. Its threads share the elements of every stage, with a barrier
//     where a stage reads what other threads computed.
// Launch: B blocks of 1024 threads.
// Runs if all positions fit into 32 bits, unless lstm_h_grid or lstm_h_more does.
extern "C" __global__ __launch_bounds__(1024)
void lstm_h(const float *inputs, const f16 *weights, const int *lens, float *__restrict__ h, f16 *__restrict__ y,
            float *__restrict__ c, int T, int B)
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
			const float c_shared_value = c_shared[element];
			float next_c_here = c_shared_value;
			if (turn < lens[row]) {
				next_c_here = reciprocal(1.0f + expf(-gates_shared[element + 256])) * c_shared_value +
				              reciprocal(1.0f + expf(-gates_shared[element])) *
				              tanhf(gates_shared[element + 384]);
			}
			c_shared[element] = next_c_here;
			const float next_h_here = turn < lens[row]
			                          ? reciprocal(1.0f + expf(-gates_shared[element + 128])) *
			                          tanhf(next_c_here) : h_shared[element];
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

// The same as lstm_h_words_x2.
// Schedule: map@1 width=2; 256 threads a block; 64-bit positions.
// Launch: ceil(B / 2) blocks of 256 threads.
// Runs unless lstm_h_words_x2 does.
extern "C" __global__ __launch_bounds__(256)
void lstm_h_words_x2_64(u64 *__restrict__ h_words, i64 B)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 512 + thread * 2;
	if (element >= B * 256)
		return;
	u64 h_words_v[2];
	#pragma unroll
	for (i64 v = 0; v < 2; v++) {
		h_words_v[v] = 0ull;
	}
	store(h_words + element, h_words_v);
}

// The same as lstm_h_grid.
// Schedule: loop_block@1 threads=1024 lanes=32 shared=1 rows=1; 1024 threads a block; 64-bit positions.
// Launch: B blocks of 1024 threads.
// Runs unless lstm_h_grid or lstm_h_more or lstm_h does.
extern "C" __global__ __launch_bounds__(1024)
void lstm_h_64(const float *inputs, const f16 *weights, const int *lens, float *__restrict__ h, f16 *__restrict__ y,
               float *__restrict__ c, i64 T, i64 B)
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
			const float c_shared_value = c_shared[element];
			float next_c_here = c_shared_value;
			if (turn < (i64)lens[row]) {
				next_c_here = reciprocal(1.0f + expf(-gates_shared[element + 256])) * c_shared_value +
				              reciprocal(1.0f + expf(-gates_shared[element])) *
				              tanhf(gates_shared[element + 384]);
			}
			c_shared[element] = next_c_here;
			const float next_h_here = turn < (i64)lens[row]
			                          ? reciprocal(1.0f + expf(-gates_shared[element + 128])) *
			                          tanhf(next_c_here) : h_shared[element];
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
