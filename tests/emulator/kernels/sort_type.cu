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

// y[i] = 1 where x[i] comes back from its keys, and these order as the others do where those differ.
extern "C" __global__ void total(const TYPE *x, int *y, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		TYPE up, down;
		from_ascending(up, total_ascending(x[i]));
		from_descending(down, total_descending(x[i]));
		bool right = memcmp(&up, &x[i], sizeof up) == 0 && memcmp(&down, &x[i], sizeof down) == 0;
		for (int k = 0; k < n; k++) {
			right &= key_ascending(x[i]) >= key_ascending(x[k]) || total_ascending(x[i]) < total_ascending(x[k]);
			right &= key_descending(x[i]) >= key_descending(x[k]) || total_descending(x[i]) < total_descending(x[k]);
		}
		y[i] = right;
	}
}
