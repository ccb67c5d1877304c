#include "tpat_device.h"

// program Softmax(x: f16[131071,385]) -> (y: f16[131071,385])

// largest: f32[131071,1] = max (i, j | r<385) f32(x[i, r])
// total: f32[131071,1] = sum (i, j | r<385) exp(f32(x[i, r]) - largest[i, 0])
// y: f16[131071,385] = map (i, j) f16(exp(f32(x[i, j]) - largest[i, 0]) / total[i, 0])
// Schedule: rows_shift@1 lanes=8 width=8 steps=7 once=1 ahead=0 shared=0; 128 threads a block.
// A row has 8 threads, and stays in registers from the first stage to the last: 6 vectors of 8 elements each. Vectors
//     start where memory is aligned, so a row may begin and end inside one. After them a thread has one element more.
// Launch: 8192 blocks of 128 threads.
extern "C" __global__ __launch_bounds__(128)
void Softmax_y(const f16 *x, f16 *__restrict__ y)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 128);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int lane = thread % 8;
	const int row = min(131070, block * 16 + thread / 8);
	const int first = row * 385 - row % 8;
	const int last = 50462320;
	const int last_tail = 50462334;
	f16 x_v[6][8];
	f16 x_tail[1];
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int place = min(last, lane * 8 + first + step * 64);
		load_once(x_v[step], x + place);
	}
	const int place = min(last_tail, lane + first + 384);
	load_once(x_tail, x + place);
	if (last + 8 < row * 385 + 385) {
		#pragma unroll
		for (int step = 0; step < 6; step++) {
			const int place_2 = lane * 8 + first + step * 64;
			if (last < place_2) {
				#pragma unroll
				for (int item = 0; item < 8; item++) {
					const int place_3 = place_2 + item;
					if (place_3 < 50462335) {
						x_v[step][item] = x[place_3];
					}
				}
			}
		}
	}
	float row_largest = -INFINITY;
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at = lane * 8 - row * 385 + first + step * 64;
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			const float part = to_f32(x_v[step][item]);
			row_largest = nan_max(row_largest, (step > 0 || at + item >= 0) ? part : -INFINITY);
		}
	}
	const int at = lane - row * 385 + first + 384;
	const float part = to_f32(x_tail[0]);
	row_largest = nan_max(row_largest, at < 385 ? part : -INFINITY);
	row_largest = warp_reduce<8>(row_largest, op_max());
	float row_total = 0.0f;
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at_2 = lane * 8 - row * 385 + first + step * 64;
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			const float part_2 = coarse_exp(to_f32(x_v[step][item]) - row_largest);
			row_total += (step > 0 || at_2 + item >= 0) ? part_2 : 0.0f;
		}
	}
	const float part_2 = coarse_exp(to_f32(x_tail[0]) - row_largest);
	row_total += at < 385 ? part_2 : 0.0f;
	row_total = warp_reduce<8>(row_total, op_sum());
	#pragma unroll
	for (int step = 0; step < 6; step++) {
		const int at_2 = lane * 8 - row * 385 + first + step * 64;
		f16 y_v[8];
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			y_v[item] = to_f16(coarse_quotient(coarse_exp(to_f32(x_v[step][item]) - row_largest),
			                                   row_total));
		}
		const bool whole = step > 0 || at_2 >= 0;
		if (whole) {
			store_once(y + row * 385 + at_2, y_v);
		} else {
			#pragma unroll
			for (int item = 0; item < 8; item++) {
				const int element = at_2 + item;
				if (element >= 0 && element < 385) {
					y[row * 385 + element] = y_v[item];
				}
			}
		}
	}
	f16 y_tail = to_f16(coarse_division(coarse_exp(to_f32(x_tail[0]) - row_largest), row_total));
	if (at < 385) {
		y[row * 385 + at] = y_tail;
	}
}
