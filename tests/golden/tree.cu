#include "tpat_device.h"

/* program tree(x: f32[M,7], root: i32[9], feature: i32[64], least: f32[64], below: i32[64], above: i32[64], leaf: f32[64]) -> (y: f32[M,4])
  y: f32[M,4] = sum (i, j | r<3) let _0 = index(select(x[i, index(feature[index(root[j * 3 + r])])] < least[index(root[j * 3 + r])], below[index(root[j * 3 + r])], above[index(root[j * 3 + r])])), _1 = index(select(x[i, index(feature[_0])] < least[_0], below[_0], above[_0])); select(j * 3 + r < 9, leaf[index(select(x[i, index(feature[_1])] < least[_1], below[_1], above[_1]))], 0.0)
 */

// y: f32[M,4] = sum (i, j | r<3) let _0 = index(select(x[i, index(feature[index(root[j * 3 + r])])] <
//     least[index(root[j * 3 + r])], below[index(root[j * 3 + r])], above[index(root[j * 3 + r])])), _1 =
//     index(select(x[i, index(feature[_0])] < least[_0], below[_0], above[_0])); select(j * 3 + r < 9,
//     leaf[index(select(x[i, index(feature[_1])] < least[_1], below[_1], above[_1]))], 0.0)
// Schedule: reduce_thread@1; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void tree_y(const float *x, const int *root, const int *feature, const float *least, const int *below, const int *above, const float *leaf, float *__restrict__ y, int M)
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
		float tmp0 = 0.0f;
		if (j * 3 + r < 9) {
			const int tmp1 = root[j * 3 + r];
			const int tmp2 = x[i * 7 + feature[tmp1]] < least[tmp1] ? below[tmp1] : above[tmp1];
			const int tmp3 = x[i * 7 + feature[tmp2]] < least[tmp2] ? below[tmp2] : above[tmp2];
			const int tmp4 = x[i * 7 + feature[tmp3]] < least[tmp3] ? below[tmp3] : above[tmp3];
			tmp0 = leaf[tmp4];
		}
		sum = sum + tmp0;
	}
	y[element] = sum;
}

// y: f32[M,4] = sum (i, j | r<3) let _0 = index(select(x[i, index(feature[index(root[j * 3 + r])])] <
//     least[index(root[j * 3 + r])], below[index(root[j * 3 + r])], above[index(root[j * 3 + r])])), _1 =
//     index(select(x[i, index(feature[_0])] < least[_0], below[_0], above[_0])); select(j * 3 + r < 9,
//     leaf[index(select(x[i, index(feature[_1])] < least[_1], below[_1], above[_1]))], 0.0)
// Schedule: reduce_thread@1; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void tree_y_64(const float *x, const int *root, const int *feature, const float *least, const int *below, const int *above, const float *leaf, float *__restrict__ y, i64 M)
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
		float tmp0 = 0.0f;
		if (j * 3 + r < 9) {
			const i64 tmp1 = (i64)root[j * 3 + r];
			const int tmp2 = x[i * 7 + (i64)feature[tmp1]] < least[tmp1] ? below[tmp1] : above[tmp1];
			const i64 tmp3 = (i64)tmp2;
			const int tmp4 = x[i * 7 + (i64)feature[tmp3]] < least[tmp3] ? below[tmp3] : above[tmp3];
			const i64 tmp5 = (i64)tmp4;
			const int tmp6 = x[i * 7 + (i64)feature[tmp5]] < least[tmp5] ? below[tmp5] : above[tmp5];
			tmp0 = leaf[(i64)tmp6];
		}
		sum = sum + tmp0;
	}
	y[element] = sum;
}
