// Atomics of tpat_device.h on one TYPE, which the test defines: 64 threads into 4 neighbouring elements.
#include "tpat_device.h"

extern "C" __global__ void atomics(const TYPE *x, const TYPE *factor, TYPE *y)
{
	const int i = threadIdx.x;
	atomic_add(&y[0], x[i]);
	atomic_mul(&y[1], factor[i]);
	atomic_max(&y[2], x[i]);
	atomic_min(y + 3, x[i]);
}
