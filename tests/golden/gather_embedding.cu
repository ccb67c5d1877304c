#include "tpat_device.h"

// program Embedding(table: f16[30522,768], ids: i64[B,S], positions: f16[512,768]) -> (y: f16[B,S,768])

// y: f16[B,S,768] = map (i, j, k) f16(f32(table[select(index(ids[i, j]) < 0, index(ids[i, j]) + 30522, index(ids[i,
//     j])), k]) + f32(positions[j, k]))
// Schedule: map@1 width=8; 256 threads a block.
// A thread computes 8 elements next to each other.
// Launch: ceil(B * S * 3 / 8) blocks of 256 threads.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(256)
void Embedding_y_x8(const f16 *table, const i64 *ids, const f16 *positions, f16 *__restrict__ y, int B, int S,
                    const u64 inverse_S)
{
	const divisor by_S = { S, inverse_S };
	const int thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int element = block * 2048 + thread * 8;
	if (element >= B * S * 768)
		return;
	const int k = element % 768;
	const int j = element / 768 % by_S;
	const int i = element / 768 / by_S;
	const int ids_value = to_index(ids[j + i * S]);
	f16 table_v[8];
	load(table_v, table + k + (ids_value < 0 ? ids_value + 30522 : ids_value) * 768);
	f16 positions_v[8];
	load(positions_v, positions + k + j * 768);
	f16 y_v[8];
	#pragma unroll
	for (int v = 0; v < 8; v++) {
		y_v[v] = half_add(table_v[v], positions_v[v]);
	}
	store(y + element, y_v);
}

// The same as Embedding_y_x8.
// Schedule: map@1 width=8; 256 threads a block; 64-bit positions.
// Launch: ceil(B * S * 3 / 8) blocks of 256 threads.
// Runs unless Embedding_y_x8 does.
extern "C" __global__ __launch_bounds__(256)
void Embedding_y_x8_64(const f16 *table, const i64 *ids, const f16 *positions, f16 *__restrict__ y, i64 B, i64 S)
{
	const i64 thread = threadIdx.x;
	__builtin_assume(thread >= 0 && thread < 256);
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 element = block * 2048 + thread * 8;
	if (element >= B * S * 768)
		return;
	const i64 k = element % 768;
	const i64 j = element / 768 % S;
	const i64 i = element / 768 / S;
	const i64 ids_value = ids[j + i * S];
	f16 table_v[8];
	load(table_v, table + k + (ids_value < 0 ? ids_value + 30522 : ids_value) * 768);
	f16 positions_v[8];
	load(positions_v, positions + k + j * 768);
	f16 y_v[8];
	#pragma unroll
	for (i64 v = 0; v < 8; v++) {
		y_v[v] = half_add(table_v[v], positions_v[v]);
	}
	store(y + element, y_v);
}
