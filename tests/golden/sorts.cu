#include "tpat_device.h"
#include "tpat_sort.h"
#include "tpat_radix.h"

// program sorts(scores: f16[N,50000], rows: f32[300,16,20], ids: i64[1000000]) -> (top: i64[N,40], order:
//     i32[300,8,20], all: i64[1000000])
// top: i64[N,40] = sort descending along j (i, j | r<50000) f32(scores[i, r])
// order: i32[300,8,20] = sort along j (i, j, k | r<16) rows[i, r, k]
// all: i64[1000000] = sort along i (i | r<1000000) ids[r]

// top: i64[N,40] = sort descending along j (i, j | r<50000) f32(scores[i, r])
// Schedule: sort_select@5 keys=512 threads=256 parts=1 items=16; 256 threads a block.
// Each row is read once, and the best elements so far stay in shared memory or registers.
// Launch: N blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void sorts_top(const f16 *scores, i64 *__restrict__ top, int N)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ sort_delegates<u16, 512, 4096> kept;
	const int row = block;
	const auto this_values = [&](int r, f16 (&loaded)[8]) {
		f16 scores_v1[8];
		load(scores_v1, scores + row * 50000 + r);
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			loaded[item] = scores_v1[item];
		}
	};
	const auto place = [&](int r) {
		return r;
	};
	const auto put = [&](int rank, u16 key, int r) {
		top[row * 40 + rank] = (i64)r;
	};
	select_delegates<f16, true, 256, 16, 8>(kept, 0, 50000, 40, this_values, place, put);
}

// order: i32[300,8,20] = sort along j (i, j, k | r<16) rows[i, r, k]
// Schedule: sort_block@4 keys=16 rows=64 threads=256 items=0; 256 threads a block.
// A block sorts 64 rows in shared memory, by a bitonic network.
// Launch: 94 blocks of 256 threads.
extern "C" __global__ __launch_bounds__(256)
void sorts_order(const float *rows, int *__restrict__ order)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ u64 item[1024];
	const int first = block * 64;
	const auto key = [&](int row, int r) {
		const int outer = row / 20;
		const int inner = row % 20;
		return key_ascending(rows[outer * 320 + inner + r * 20]);
	};
	const auto put = [&](int row, int rank, int r) {
		const int outer = row / 20;
		const int inner = row % 20;
		order[outer * 160 + inner + rank * 20] = r;
	};
	sort_rows<256, 16, u32>(item, first, min(64, 6000 - first), 16, 8, key, put);
}

// all: i64[1000000] = sort along i (i | r<1000000) ids[r]
// Schedule: sort_radix@3 tile=4096 threads=512; 256 threads a block.
// One kernel counts the digits of all keys. Each pass
//     then moves the elements to the positions of one digit, in tiles of 4096.
// Launch: 137 blocks of 256 threads.
extern "C" __global__ __launch_bounds__(256)
void sorts_all_clear(u32 *__restrict__ all_digits)
{
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 256 + thread;
	if (element >= 34824)
		return;
	all_digits[element] = 0u;
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_count(const i64 *ids, u32 *__restrict__ all_digits, u32 *__restrict__ all_progress)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const auto key = [&](int r) {
		return key_ascending(ids[r]);
	};
	__shared__ radix_counts<u64> shared;
	radix_count<512, 4096>(shared, block, 1000000, all_digits, all_progress + block * 256, 62720, key);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass1(const i64 *ids, u32 *__restrict__ all_digits, u32 *__restrict__ all_progress,
                     u64 *__restrict__ all_keys, int *__restrict__ all_places)
{
	wait_for_last_kernel();
	// pass 1 of 8, by bits 0 to 7 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2048);
	const auto key = [&](int r) {
		return key_ascending(ids[r]);
	};
	const auto place = [&](int r) {
		return r;
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys[rank] = key_2;
		all_places[rank] = r;
	};
	radix_pass<0>(shared, block, 1000000, all_digits, all_progress + block * 256,
	              all_digits + block / 16 * 256 + 2056, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass2(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, const u64 *all_keys,
                     const int *all_places, u64 *__restrict__ all_keys_2, int *__restrict__ all_places_2)
{
	wait_for_last_kernel();
	// pass 2 of 8, by bits 8 to 15 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2049);
	const auto key = [&](int r) {
		return all_keys[r];
	};
	const auto place = [&](int r) {
		return all_places[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys_2[rank] = key_2;
		all_places_2[rank] = r;
	};
	radix_pass<1>(shared, block, 1000000, all_digits + 256, all_progress + block * 256 + 62720,
	              all_digits + block / 16 * 256 + 6152, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass3(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, u64 *__restrict__ all_keys,
                     int *__restrict__ all_places, const u64 *all_keys_2, const int *all_places_2)
{
	wait_for_last_kernel();
	// pass 3 of 8, by bits 16 to 23 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2050);
	const auto key = [&](int r) {
		return all_keys_2[r];
	};
	const auto place = [&](int r) {
		return all_places_2[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys[rank] = key_2;
		all_places[rank] = r;
	};
	radix_pass<2>(shared, block, 1000000, all_digits + 512, all_progress + block * 256 + 125440,
	              all_digits + block / 16 * 256 + 10248, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass4(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, const u64 *all_keys,
                     const int *all_places, u64 *__restrict__ all_keys_2, int *__restrict__ all_places_2)
{
	wait_for_last_kernel();
	// pass 4 of 8, by bits 24 to 31 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2051);
	const auto key = [&](int r) {
		return all_keys[r];
	};
	const auto place = [&](int r) {
		return all_places[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys_2[rank] = key_2;
		all_places_2[rank] = r;
	};
	radix_pass<3>(shared, block, 1000000, all_digits + 768, all_progress + block * 256 + 188160,
	              all_digits + block / 16 * 256 + 14344, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass5(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, u64 *__restrict__ all_keys,
                     int *__restrict__ all_places, const u64 *all_keys_2, const int *all_places_2)
{
	wait_for_last_kernel();
	// pass 5 of 8, by bits 32 to 39 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2052);
	const auto key = [&](int r) {
		return all_keys_2[r];
	};
	const auto place = [&](int r) {
		return all_places_2[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys[rank] = key_2;
		all_places[rank] = r;
	};
	radix_pass<4>(shared, block, 1000000, all_digits + 1024, all_progress + block * 256 + 250880,
	              all_digits + block / 16 * 256 + 18440, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass6(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, const u64 *all_keys,
                     const int *all_places, u64 *__restrict__ all_keys_2, int *__restrict__ all_places_2)
{
	wait_for_last_kernel();
	// pass 6 of 8, by bits 40 to 47 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2053);
	const auto key = [&](int r) {
		return all_keys[r];
	};
	const auto place = [&](int r) {
		return all_places[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys_2[rank] = key_2;
		all_places_2[rank] = r;
	};
	radix_pass<5>(shared, block, 1000000, all_digits + 1280, all_progress + block * 256 + 313600,
	              all_digits + block / 16 * 256 + 22536, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass7(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, u64 *__restrict__ all_keys,
                     int *__restrict__ all_places, const u64 *all_keys_2, const int *all_places_2)
{
	wait_for_last_kernel();
	// pass 7 of 8, by bits 48 to 55 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2054);
	const auto key = [&](int r) {
		return all_keys_2[r];
	};
	const auto place = [&](int r) {
		return all_places_2[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all_keys[rank] = key_2;
		all_places[rank] = r;
	};
	radix_pass<6>(shared, block, 1000000, all_digits + 1536, all_progress + block * 256 + 376320,
	              all_digits + block / 16 * 256 + 26632, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass8(const i64 *ids, u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, const u64 *all_keys,
                     const int *all_places, i64 *__restrict__ all)
{
	wait_for_last_kernel();
	// pass 8 of 8, by bits 56 to 63 of the key
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + 2055);
	const auto key = [&](int r) {
		return all_keys[r];
	};
	const auto place = [&](int r) {
		return all_places[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all[rank] = (i64)r;
	};
	radix_pass<7>(shared, block, 1000000, all_digits + 1792, all_progress + block * 256 + 439040,
	              all_digits + block / 16 * 256 + 30728, key, place, put);
}

// The same as sorts_top.
// Schedule: sort_select@5 keys=512 threads=256 parts=1 items=16; 256 threads a block; 64-bit positions.
// Launch: N blocks of 256 threads.
// Runs unless sorts_top does.
extern "C" __global__ __launch_bounds__(256)
void sorts_top_64(const f16 *scores, i64 *__restrict__ top, i64 N)
{
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ sort_delegates<u16, 512, 4096> kept;
	const i64 row = block;
	const auto this_values = [&](i64 r, f16 (&loaded)[8]) {
		f16 scores_v1[8];
		load(scores_v1, scores + row * 50000 + r);
		#pragma unroll
		for (i64 item = 0; item < 8; item++) {
			loaded[item] = scores_v1[item];
		}
	};
	const auto place = [&](i64 r) {
		return r;
	};
	const auto put = [&](i64 rank, u16 key, i64 r) {
		top[row * 40 + rank] = r;
	};
	select_delegates<f16, true, 256, 16, 8>(kept, 0, 50000, 40, this_values, place, put);
}
