#include "tpat_device.h"

// program tree(x: f32[M,7], root: i32[9], feature: i32[64], least: f32[64], below: i32[64], above: i32[64], leaf:
//     f32[64]) -> (y: f32[M,4])

// y: f32[M,4] = sum (i, j | r<3)
//     let _0 = index(root[j * 3 + r]),
//     _1 = index(select(x[i, index(feature[_0])] < least[_0], below[_0], above[_0])),
//     _2 = index(select(x[i, index(feature[_1])] < least[_1], below[_1], above[_1]));
//     select(j * 3 + r < 9, leaf[index(select(x[i, index(feature[_2])] < least[_2], below[_2], above[_2]))], 0.0)
// Schedule: reduce_thread@1; 256 threads a block.
// A thread computes one element, and reads all of its terms.
// Launch: ceil(M / 64) blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void tree_y(const float *x, const int *root, const int *feature, const float *least, const int *below, const int *above,
            const float *leaf, float *__restrict__ y, int M)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= M * 4)
		return;
	const int j = element % 4;
	const int i = element / 4;
	float sum = 0.0f;
	for (int r = 0; r < 3; r++) {
		float chosen = 0.0f;
		if (j * 3 + r < 9) {
			const int root_value = root[j * 3 + r];
			const int chosen_2 = x[i * 7 + feature[root_value]] < least[root_value] ? below[root_value]
			                     : above[root_value];
			const int chosen_3 = x[i * 7 + feature[chosen_2]] < least[chosen_2] ? below[chosen_2]
			                     : above[chosen_2];
			const int chosen_4 = x[i * 7 + feature[chosen_3]] < least[chosen_3] ? below[chosen_3]
			                     : above[chosen_3];
			chosen = leaf[chosen_4];
		}
		sum += chosen;
	}
	y[element] = sum;
}

// The same as tree_y.
// Schedule: reduce_thread@1; 256 threads a block; 64-bit positions.
// Launch: ceil(M / 64) blocks of 256 threads.
// Runs unless tree_y does.
extern "C" __global__ __launch_bounds__(256)
void tree_y_64(const float *x, const int *root, const int *feature, const float *least, const int *below,
               const int *above, const float *leaf, float *__restrict__ y, i64 M)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 256 + thread;
	if (element >= M * 4)
		return;
	const i64 j = element % 4;
	const i64 i = element / 4;
	float sum = 0.0f;
	for (i64 r = 0; r < 3; r++) {
		float chosen = 0.0f;
		if (j * 3 + r < 9) {
			const i64 root_value = (i64)root[j * 3 + r];
			const int chosen_2 = x[i * 7 + (i64)feature[root_value]] < least[root_value] ? below[root_value]
			                     : above[root_value];
			const i64 converted = (i64)chosen_2;
			const int chosen_3 = x[i * 7 + (i64)feature[converted]] < least[converted] ? below[converted]
			                     : above[converted];
			const i64 converted_2 = (i64)chosen_3;
			const int chosen_4 = x[i * 7 + (i64)feature[converted_2]] < least[converted_2]
			                     ? below[converted_2] : above[converted_2];
			chosen = leaf[(i64)chosen_4];
		}
		sum += chosen;
	}
	y[element] = sum;
}
