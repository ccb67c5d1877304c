#include "tpat_device.h"
#include "tpat_select.h"
#include "tpat_sort.h"
#include "tpat_radix.h"

// program sorts(scores: f16[N,50000], rows: f32[300,16,20], ids: i64[1000000]) -> (top: i64[N,40], order:
//     i32[300,8,20], all: i64[1000000])
// top: i64[N,40] = sort descending along j (i, j | r<50000) f32(scores[i, r])
// order: i32[300,8,20] = sort along j (i, j, k | r<16) rows[i, r, k]
// all: i64[1000000] = sort along i (i | r<1000000) ids[r]

#if TPAT_ARCH == 900 || TPAT_ARCH == 0
// top: i64[N,40] = sort descending along j (i, j | r<50000) f32(scores[i, r])
// Schedule: select_cluster@1 threads=1024 blocks=2 items=32; 1024 threads a block.
// 2 blocks keep a row in registers, 32 keys in each thread. Keys that come before a bound, which their best keys give,
//     are sorted by the first block.
// Launch: N * 2 blocks of 1024 threads, in clusters of 2.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(1024) block_cluster(2)
void sorts_top_cluster(const f16 *scores, i64 *__restrict__ top, int N)
{
	const int block = blockIdx.x;
	__builtin_assume(block >= 0);
	wait_for_last_kernel();
	__shared__ cluster_kept<u16, 1024> kept;
	const int row = block / 2;
	const int rank_of_block = block % 2;
	const auto values = [&](int r, f16 (&loaded)[8]) {
		f16 scores_v1[8];
		load(scores_v1, scores + row * 50000 + r);
		#pragma unroll
		for (int item = 0; item < 8; item++) {
			loaded[item] = scores_v1[item];
		}
	};
	const auto put = [&](int rank, u16 key, int r) {
		top[row * 40 + rank] = (i64)r;
	};
	select_cluster<f16, true, 1024, 2, 32, 8, 2>(kept, rank_of_block, 50000, 40, values, put);
}
#endif

// The same as sorts_top_cluster.
// Schedule: sort_select@5 keys=512 threads=256 parts=1 items=16; 256 threads a block.
// Each row is read once, and the best elements so far stay in shared memory or registers.
// Launch: N blocks of 256 threads.
// Runs if all positions fit into 32 bits, unless sorts_top_cluster does.
extern "C" __global__ __launch_bounds__(256)
void sorts_top(const f16 *scores, i64 *__restrict__ top, int N)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ sort_delegates<u16, 512, 4096> kept;
	const int row = block;
	const auto values = [&](int r, f16 (&loaded)[8]) {
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
	select_delegates<f16, true, 256, 16, 8>(kept, 0, 50000, 40, values, place, put);
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
void sorts_all_first_pass(const i64 *ids, u32 *__restrict__ all_digits, u32 *__restrict__ all_progress,
                          u64 *__restrict__ all_keys, int *__restrict__ all_places)
{
	wait_for_last_kernel();
	const int pass = 0;
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + (pass + 2048));
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
	radix_pass(shared, block, 1000000, pass, all_digits + pass * 256, all_progress + block * 256 + pass * 62720,
	           all_digits + block / 16 * 256 + pass * 4096 + 2056, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_pass(u32 *__restrict__ all_digits, u32 *__restrict__ all_progress, const u64 *all_keys,
                    const int *all_places, u64 *__restrict__ all_keys_2, int *__restrict__ all_places_2,
                    const int pass_number)
{
	wait_for_last_kernel();
	const int pass = pass_number;
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + (pass + 2048));
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
	radix_pass(shared, block, 1000000, pass, all_digits + pass * 256, all_progress + block * 256 + pass * 62720,
	           all_digits + block / 16 * 256 + pass * 4096 + 2056, key, place, put);
}

// The same as sorts_all_clear.
// Schedule: sort_radix@3 tile=4096 threads=512; 512 threads a block.
// Launch: 245 blocks of 512 threads.
extern "C" __global__ __launch_bounds__(512)
void sorts_all_last_pass(const i64 *ids, u32 *__restrict__ all_digits, u32 *__restrict__ all_progress,
                         const u64 *all_keys, const int *all_places, i64 *__restrict__ all)
{
	wait_for_last_kernel();
	const int pass = 7;
	__shared__ radix_tile<u64, 512, 4096> shared;
	const int block = radix_turn(shared, all_digits + (pass + 2048));
	const auto key = [&](int r) {
		return all_keys[r];
	};
	const auto place = [&](int r) {
		return all_places[r];
	};
	const auto put = [&](int rank, u64 key_2, int r) {
		all[rank] = (i64)r;
	};
	radix_pass(shared, block, 1000000, pass, all_digits + pass * 256, all_progress + block * 256 + pass * 62720,
	           all_digits + block / 16 * 256 + pass * 4096 + 2056, key, place, put);
}

// The same as sorts_top_cluster.
// Schedule: sort_select@5 keys=512 threads=256 parts=1 items=16; 256 threads a block; 64-bit positions.
// Launch: N blocks of 256 threads.
// Runs unless sorts_top_cluster or sorts_top does.
extern "C" __global__ __launch_bounds__(256)
void sorts_top_64(const f16 *scores, i64 *__restrict__ top, i64 N)
{
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	__shared__ sort_delegates<u16, 512, 4096> kept;
	const i64 row = block;
	const auto values = [&](i64 r, f16 (&loaded)[8]) {
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
	select_delegates<f16, true, 256, 16, 8>(kept, 0, 50000, 40, values, place, put);
}
