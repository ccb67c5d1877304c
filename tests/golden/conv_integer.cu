#include "tpat_device.h"

/* program ConvInteger(x: u8[N,3,H,W], weight: i8[16,3,3,3], zero: u8[]) -> (y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1])
  y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2 + t - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
 */

// y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k
// * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2 + t
// - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
// Schedule: reduce_thread 1; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_y(const u8 *__restrict__ x, const i8 *__restrict__ weight, const u8 *__restrict__ zero, int *__restrict__ y, int H, int N, int W)
{
	const int element = blockIdx.x * 256 + threadIdx.x;
	const int tmp0 = floor_div(H - 1, 2);
	const int tmp1 = floor_div(W - 1, 2);
	if (element >= tmp0 * tmp1 * N * 16 + tmp0 * N * 16 + tmp1 * N * 16 + N * 16)
		return;
	const int l = floor_mod(element, floor_div(W - 1, 2) + 1);
	const int k = floor_mod(floor_div(element, floor_div(W - 1, 2) + 1), floor_div(H - 1, 2) + 1);
	const int j = floor_mod(floor_div(floor_div(element, floor_div(W - 1, 2) + 1), floor_div(H - 1, 2) + 1), 16);
	const int i = floor_div(floor_div(floor_div(element, floor_div(W - 1, 2) + 1), floor_div(H - 1, 2) + 1), 16);
	int sum = 0;
	for (int r = 0; r < 3; r++) {
		for (int s = 0; s < 3; s++) {
			for (int t = 0; t < 3; t++) {
				const int tmp2 = k * 2 + s - 1;
				const int tmp3 = l * 2 + t - 1;
				sum = sum + (((0 <= tmp2 && tmp2 < H) && (0 <= tmp3 && tmp3 < W)) ? ((int)x[i * H * W * 3 + k * W * 2 + l * 2 + r * H * W + s * W + t - W - 1] - (int)zero[0]) * (int)weight[j * 27 + r * 9 + s * 3 + t] : 0);
			}
		}
	}
	y[element] = sum;
}

// y: i32[N,16,floordiv(H - 1, 2) + 1,floordiv(W - 1, 2) + 1] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k
// * 2 + s - 1, k * 2 + s - 1 < H), and(0 <= l * 2 + t - 1, l * 2 + t - 1 < W)), (i32(x[i, r, k * 2 + s - 1, l * 2 + t
// - 1]) - i32(zero[])) * i32(weight[j, r, s, t]), i32(0))
// Schedule: reduce_thread 1; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void ConvInteger_y_64(const u8 *__restrict__ x, const i8 *__restrict__ weight, const u8 *__restrict__ zero, int *__restrict__ y, i64 H, i64 N, i64 W)
{
	const i64 element = (i64)blockIdx.x * 256 + (i64)threadIdx.x;
	const i64 tmp0 = floor_div(H - 1, (i64)2);
	const i64 tmp1 = floor_div(W - 1, (i64)2);
	if (element >= tmp0 * tmp1 * N * 16 + tmp0 * N * 16 + tmp1 * N * 16 + N * 16)
		return;
	const i64 l = floor_mod(element, floor_div(W - 1, (i64)2) + 1);
	const i64 k = floor_mod(floor_div(element, floor_div(W - 1, (i64)2) + 1), floor_div(H - 1, (i64)2) + 1);
	const i64 j = floor_mod(floor_div(floor_div(element, floor_div(W - 1, (i64)2) + 1), floor_div(H - 1, (i64)2) + 1), (i64)16);
	const i64 i = floor_div(floor_div(floor_div(element, floor_div(W - 1, (i64)2) + 1), floor_div(H - 1, (i64)2) + 1), (i64)16);
	int sum = 0;
	for (i64 r = 0; r < 3; r++) {
		for (i64 s = 0; s < 3; s++) {
			for (i64 t = 0; t < 3; t++) {
				const i64 tmp2 = k * 2 + s - 1;
				const i64 tmp3 = l * 2 + t - 1;
				sum = sum + (((0 <= tmp2 && tmp2 < H) && (0 <= tmp3 && tmp3 < W)) ? ((int)x[i * H * W * 3 + k * W * 2 + l * 2 + r * H * W + s * W + t - W - 1] - (int)zero[0]) * (int)weight[j * 27 + r * 9 + s * 3 + t] : 0);
			}
		}
	}
	y[element] = sum;
}
