// One planted fault a kernel; 64 threads. x: 64 floats, read only; y: 64 floats, not initialised.
#include "tpat_device.h"

#define I ((int)threadIdx.x)

extern "C" __global__ void read_beyond(const float *x, float *y) { y[I] = x[I + 1]; }
extern "C" __global__ void read_before(const float *x, float *y) { y[I] = x[I - 1]; }
extern "C" __global__ void write_beyond(const float *x, float *y) { y[I * 2] = 1.0f; }
extern "C" __global__ void write_input(const float *x, float *y) { ((float *)x)[I] = 1.0f; }
extern "C" __global__ void misaligned(const float *x, float *y)
{
	float v[4];
	load(v, x + I % 2);
	y[I] = v[0];
}
/* Structs that are copied whole, of a size for which compilers call memcpy. */
struct many {
	float v[48];
};
extern "C" __global__ void whole_beyond(const float *x, float *y) { ((many *)y)[I + 1] = ((const many *)x)[0]; }
extern "C" __global__ void whole_unwritten(const float *x, float *y)
{
	many m = ((const many *)y)[0];
	y[I] = m.v[I % 48];
}
extern "C" __global__ void shared_unwritten(const float *x, float *y)
{
	__shared__ float s[64];
	if (I != 5)
		s[I] = x[I];
	__syncthreads();
	y[I] = s[63 - I];
}
extern "C" __global__ void shared_beyond(const float *x, float *y)
{
	__shared__ float s[64];
	s[I + 1] = x[I];
	__syncthreads();
	y[I] = 0.0f;
}
extern "C" __global__ void global_unwritten(const float *x, float *y) { y[I] += x[I]; }
extern "C" __global__ void shared_race(const float *x, float *y)
{
	__shared__ float s[64];
	s[I] = x[I];
	y[I] = s[I / 2];
	__syncthreads();
}
extern "C" __global__ void shared_conflict(const float *x, float *y)
{
	__shared__ float s[1];
	s[0] = x[I];
	__syncthreads();
	y[I] = s[0];
}
extern "C" __global__ void shared_same_value(const float *x, float *y)
{
	__shared__ float s[1];
	s[0] = x[5];
	__syncthreads();
	y[I] = s[0];
}
extern "C" __global__ void shared_race_after(const float *x, float *y)
{
	__shared__ float s[64];
	s[I] = x[I];
	__syncthreads();
	const float v = s[63 - I];
	s[I] = v * 2.0f;
	__syncthreads();
	y[I] = s[I];
}
extern "C" __global__ void divergence(const float *x, float *y)
{
	__shared__ float s[64];
	s[I] = x[I];
	if (I < 32)
		__syncthreads();
	else
		s[I] += 1.0f, __syncthreads();
	__syncthreads();
	if (I < 32) {
		__syncthreads();
		y[I] = s[I];
	} else {
		y[I] = warp_sum(s[I]);
		__syncthreads();
	}
}
extern "C" __global__ void warp_missing(const float *x, float *y)
{
	float v = x[I];
	if (I % 32 < 16)
		v = __shfl_xor_sync(0xffffffff, v, 1);
	else
		__syncthreads();
	y[I] = v;
}
extern "C" __global__ void absent_lane(const float *x, float *y)
{
	if (I >= 20)
		return;
	y[I] = __shfl_sync(0xffffffff, x[I], 25);
}
extern "C" __global__ void global_conflict(const float *x, float *y) { y[I / 2] = x[I]; }
extern "C" __global__ void global_race(const float *x, float *y)
{
	y[I] = x[I];
	__syncwarp();
	y[I] = I > 0 && I < 40 ? y[I ^ 32] : 0.0f;
}
extern "C" __global__ void local_beyond(const float *x, float *y)
{
	float v[4] = { 1, 2, 3, 4 };
	for (int i = 0; i < 4; i++)
		v[(I + i) % 5] += x[I];
	y[I] = v[0] + v[1] + v[2] + v[3];
}
extern "C" __global__ void large_frame(const float *x, float *y)
{
	volatile float v[64 << 10];
	for (int i = 0; i < 64 << 10; i += 64)
		v[i] = x[I];
	__syncthreads();
	y[I] = v[I * 64];
}
extern "C" __global__ void by_zero(const float *x, float *y) { y[I] = (float)(I / (I / 64)); }

// And these are right.
extern "C" __global__ void same_value(const float *x, float *y) { y[I / 2] = x[0]; }
extern "C" __global__ void exited(const float *x, float *y)
{
	__shared__ float s[64];
	s[I] = x[I];
	__syncthreads();
	if (I >= 48)
		return;
	y[I] = s[63 - I];
	__syncthreads();
	s[I] = 0.0f;
}
extern "C" __global__ void warp_private(const float *x, float *y)
{
	__shared__ float s[64];
	s[I] = x[I];
	__syncwarp();
	float v = s[I ^ 31];
	__syncwarp();
	s[I] = v;
	__syncwarp();
	y[I] = s[I ^ 31];
}
extern "C" __global__ void rounds(const float *x, float *y)
{
	__shared__ float s[64];
	for (int r = 0; r < 3; r++) {
		s[I] = x[I];
		__syncthreads();
		y[I] = s[63 - I];
		__syncthreads();
	}
}
