// Keys of one TYPE, which the test defines: y[i] = 1 where key i is that of i + 1, 2 where it is less, 0 where it is more.
#include "tpat_sort.h"

extern "C" __global__ void up(const TYPE *x, int *y, int n)
{
	for (int i = threadIdx.x; i + 1 < n; i += blockDim.x)
		y[i] = (key_ascending(x[i]) <= key_ascending(x[i + 1])) + (key_ascending(x[i]) < key_ascending(x[i + 1]));
}

extern "C" __global__ void down(const TYPE *x, int *y, int n)
{
	for (int i = threadIdx.x; i + 1 < n; i += blockDim.x)
		y[i] = (key_descending(x[i]) <= key_descending(x[i + 1])) + (key_descending(x[i]) < key_descending(x[i + 1]));
}
