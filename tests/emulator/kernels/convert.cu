// Conversions of tpat_device.h, over lists.
#include "tpat_device.h"

#define INDEX(n)                                          \
	const int i = blockIdx.x * blockDim.x + threadIdx.x; \
	if (i >= n)                                       \
	return

extern "C" __global__ void from_16(const u16 *bits, float *f, float *b, int n)
{
	INDEX(n);
	f[i] = to_f32(f16{ bits[i] });
	b[i] = to_f32(bf16{ bits[i] });
}

extern "C" __global__ void from_8(const u8 *bits, float *y, int n)
{
	INDEX(n);
	y[i] = to_f32(f8e4m3fn{ bits[i] });
	y[n + i] = to_f32(f8e4m3fnuz{ bits[i] });
	y[2 * n + i] = to_f32(f8e5m2{ bits[i] });
	y[3 * n + i] = to_f32(f8e5m2fnuz{ bits[i] });
}

template <class T> __device__ void to_small(T x, f16 *f, bf16 *b, u8 *q, int i, int n)
{
	f[i] = to_f16(x);
	b[i] = to_bf16(x);
	q[i] = to_f8e4m3fn(x).bits;
	q[n + i] = to_f8e4m3fnuz(x).bits;
	q[2 * n + i] = to_f8e5m2(x).bits;
	q[3 * n + i] = to_f8e5m2fnuz(x).bits;
	q[4 * n + i] = to_f8e4m3fn_sat(x).bits;
	q[5 * n + i] = to_f8e4m3fnuz_sat(x).bits;
	q[6 * n + i] = to_f8e5m2_sat(x).bits;
	q[7 * n + i] = to_f8e5m2fnuz_sat(x).bits;
}

extern "C" __global__ void from_f32(const float *x, f16 *f, bf16 *b, u8 *q, int n)
{
	INDEX(n);
	to_small(x[i], f, b, q, i, n);
}

extern "C" __global__ void from_f64(const double *x, f16 *f, bf16 *b, u8 *q, int n)
{
	INDEX(n);
	to_small(x[i], f, b, q, i, n);
}

extern "C" __global__ void from_i64(const i64 *x, f16 *f, bf16 *b, u8 *q, int n)
{
	INDEX(n);
	to_small(x[i], f, b, q, i, n);
}

extern "C" __global__ void from_i32(const i32 *x, f16 *f, bf16 *b, u8 *q, int n)
{
	INDEX(n);
	to_small(x[i], f, b, q, i, n);
}

extern "C" __global__ void to_integers(const double *x, i64 *y, int n)
{
	INDEX(n);
	const double d = x[i];
	const float f = (float)d;
	y[i] = to_i8(f);
	y[n + i] = to_u8(f);
	y[2 * n + i] = to_i16(f);
	y[3 * n + i] = to_u16(f);
	y[4 * n + i] = to_i32(f);
	y[5 * n + i] = to_u32(f);
	y[6 * n + i] = to_i64(f);
	y[7 * n + i] = (i64)to_u64(f);
	y[8 * n + i] = to_i32(d);
	y[9 * n + i] = to_i64(d);
	y[10 * n + i] = to_i8(to_i64(d)); // integers wrap
	y[11 * n + i] = to_bool(f);
}
