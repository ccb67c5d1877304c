#include "tpat_device.h"
#include "tpat_pick.h"

// program picks(boxes: f32[80,1000,4], scores: f32[80,1000], line: f32[N]) -> (places: i32[80,100], apart: i64[N])
// places: i32[80,100] = pick along j (i, j | r<1000, s<1000) 0.5 < min(boxes[i, r, 2], boxes[i, s, 2]) - max(boxes[i,
//     r, 0], boxes[i, s, 0]) where 0.25 < scores[i, r]
// apart: i64[N] = pick along i (i | r<N, s<N) abs(line[r] - line[s]) < 0.5

// places: i32[80,100] = pick along j (i, j | r<1000, s<1000) 0.5 < min(boxes[i, r, 2], boxes[i, s, 2]) - max(boxes[i,
//     r, 0], boxes[i, s, 0]) where 0.25 < scores[i, r]
// Schedule: pick@1 threads=1024 words=0; 1024 threads a block.
// A block goes over a row, and compares each element with those picked before.
// Launch: 80 blocks of 1024 threads.
extern "C" __global__ __launch_bounds__(1024)
void picks_places(const float *boxes, const float *scores, int *places)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ pick_turn<1024> turn;
	const int row = block;
	const auto may = [&](int i) {
		return scores[row * 1000 + i] > 0.25f;
	};
	const auto over = [&](int i, int before) {
		float boxes_v1[4];
		load(boxes_v1, boxes + row * 4000 + i * 4);
		float boxes_v2[4];
		load(boxes_v2, boxes + row * 4000 + before * 4);
		return nan_min(boxes_v1[2], boxes_v2[2]) - nan_max(boxes_v1[0], boxes_v2[0]) > 0.5f;
	};
	const auto get = [&](int q) {
		return places[row * 100 + q];
	};
	const auto put = [&](int q, int i) {
		places[row * 100 + q] = i;
	};
	pick_row(turn, 1000, 100, may, over, get, put);
}

// apart: i64[N] = pick along i (i | r<N, s<N) abs(line[r] - line[s]) < 0.5
// Schedule: pick@1 threads=64 words=0; 64 threads a block.
// A block goes over a row, and compares each element with those picked before.
// Launch: one block of 64 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(64)
void picks_apart(const float *line, i64 *apart, int N)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ pick_turn<64> turn;
	const int row = block;
	const auto may = [&](int i) {
		return true;
	};
	const auto over = [&](int i, int before) {
		return fabsf(line[i] - line[before]) < 0.5f;
	};
	const auto get = [&](int q) {
		return to_index(apart[row + q]);
	};
	const auto put = [&](int q, int i) {
		apart[row + q] = (i64)i;
	};
	pick_row(turn, N, N, may, over, get, put);
}

// The same as picks_apart.
// Schedule: pick@1 threads=64 words=0; 64 threads a block; 64-bit positions.
// Launch: one block of 64 threads.
// Runs unless picks_apart does.
extern "C" __global__ __launch_bounds__(64)
void picks_apart_64(const float *line, i64 *apart, i64 N)
{
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ pick_turn<64> turn;
	const i64 row = block;
	const auto may = [&](i64 i) {
		return true;
	};
	const auto over = [&](i64 i, i64 before) {
		return fabsf(line[i] - line[before]) < 0.5f;
	};
	const auto get = [&](i64 q) {
		return apart[row + q];
	};
	const auto put = [&](i64 q, i64 i) {
		apart[row + q] = i;
	};
	pick_row(turn, N, N, may, over, get, put);
}
