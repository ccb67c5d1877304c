#include "tpat_device.h"

/* program cumsum(x: f16[N,4096], score: f32[64,100000]) -> (y: f16[N,4096], z: f32[64,100000])
  y: f16[N,4096] = scan sum along j exclusive reverse (i, j) f32(x[i, j]) * 0.5 then f16(it + 1.0)
  z: f32[64,100000] = scan max along i (i, j) score[i, j]
 */

// y: f16[N,4096] = scan sum along j exclusive reverse (i, j) f32(x[i, j]) * 0.5 then f16(it + 1.0)
// Schedule: scan_lanes 1, lanes 1024; 1024 threads a block.
extern "C" __global__ __launch_bounds__(1024)
void cumsum_y(const f16 *__restrict__ x, f16 *__restrict__ y, int N)
{
	const int lane = threadIdx.x;
	const int row = blockIdx.x;
	float sum = 0.0f;
	for (int chunk = 0; chunk < 4096; chunk += 1024) {
		const int step = chunk + lane;
		float part = 0.0f;
		if (step > 0 && step < 4096) {
			const int before = 4096 - step;
			part = to_f32(x[before + row * 4096]) * 0.5f;
		}
		__shared__ float across[32];
		part = block_scan_on<1024>(part, op_sum(), across, sum);
		if (step < 4096) {
			const int j = 4095 - step;
			y[j + row * 4096] = to_f16(part + 1.0f);
		}
	}
}

// z: f32[64,100000] = scan max along i (i, j) score[i, j]
// Schedule: scan_thread 1; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void cumsum_z(const float *__restrict__ score, float *__restrict__ z)
{
	const int element = blockIdx.x * 256 + threadIdx.x;
	if (element >= 100000)
		return;
	float sum = -INFINITY;
	for (int i = 0; i < 64; i++) {
		sum = nan_max(sum, score[element + i * 100000]);
		z[element + i * 100000] = sum;
	}
}

// y: f16[N,4096] = scan sum along j exclusive reverse (i, j) f32(x[i, j]) * 0.5 then f16(it + 1.0)
// Schedule: scan_lanes 1, lanes 1024; 1024 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(1024)
void cumsum_y_64(const f16 *__restrict__ x, f16 *__restrict__ y, i64 N)
{
	const i64 lane = (i64)threadIdx.x;
	const i64 row = (i64)blockIdx.x;
	float sum = 0.0f;
	for (i64 chunk = 0; chunk < 4096; chunk += 1024) {
		const i64 step = chunk + lane;
		float part = 0.0f;
		if (step > 0 && step < 4096) {
			const i64 before = 4096 - step;
			part = to_f32(x[before + row * 4096]) * 0.5f;
		}
		__shared__ float across[32];
		part = block_scan_on<1024>(part, op_sum(), across, sum);
		if (step < 4096) {
			const i64 j = 4095 - step;
			y[j + row * 4096] = to_f16(part + 1.0f);
		}
	}
}
