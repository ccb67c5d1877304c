// Reductions and scans of tpat_device.h on one TYPE, which the test defines.
#include "tpat_device.h"

extern "C" __global__ __launch_bounds__(256) void reduce(const TYPE *x, TYPE *y)
{
	__shared__ TYPE part[32];
	const int i = threadIdx.x;
	const TYPE v = x[i];
	y[i] = block_reduce<256>(v, op_sum(), part);
	y[256 + i] = block_reduce<256>(v, op_max(), part);
	y[512 + i] = block_reduce<256>(v, op_min(), part);
	y[768 + i] = warp_prod<4>(v);
	y[1024 + i] = block_scan<256>(v, op_sum(), part);
	y[1280 + i] = warp_sum(v);
	y[1536 + i] = warp_max<8>(v);
	y[1792 + i] = warp_argmax(v, i, false).index;
	y[2048 + i] = warp_argmin(v, i, true).index;
	TYPE carry = 3;
	y[2304 + i] = warp_scan_on(v, op_sum(), carry);
	y[2560 + i] = carry;
	carry = 3;
	block_scan_on<256>(v, op_sum(), part, carry); /* a first chunk, then a second one after it */
	y[2816 + i] = block_scan_on<256>(v, op_sum(), part, carry);
	y[3072 + i] = carry;
}
