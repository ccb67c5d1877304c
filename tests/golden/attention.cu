#include "tpat_device.h"
#include "tpat_attention_wide.h"
#include "tpat_attention.h"

// program Attention(q: f16[B,12,S,64], k0: f16[B,4,T,64], v0: f16[B,4,T,64], m0: f16[B,1,S,T]) -> (y: f16[B,12,S,64])

#if TPAT_ARCH == 900 || TPAT_ARCH == 0
// c: f32[B,12,S,T] = sum (i, j, k, l | r<64) f32(q[i, j, k, r]) * f32(k0[i, floordiv(j, 3), l, r])
//     then select(l <= k, it * 0.125 + f32(m0[i, 0, k, l]), -inf)
// a: f32[B,12,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)
// b: f32[B,12,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)
// y: f16[B,12,S,64] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, floordiv(j, 3), r, l])
//     then f16(it / b[i, j, k])
// Schedule: attention_wide@4 queries=64 keys=64 engine=0; 128 threads a block.
// A block computes 64 queries of one head, 64 in each warpgroup, and goes over tiles of 64 keys and values. All
//     threads copy the tiles. Scores are never stored.
// Launch: (S * 3 + 63) / 64 * B * 4 blocks of 128 threads, each with 32768 bytes of dynamic shared memory.
// Runs if all positions fit into 32 bits.
extern "C" __global__ __launch_bounds__(128, 3)
void Attention_y_wide(const f16 *q, const f16 *k0, const f16 *v0, const f16 *m0, f16 *__restrict__ y, int B, int S,
                      int T)
{
	const int block = blockIdx.x;
	extern __shared__ __align__(1024) uint4 shared_memory[];
	wait_for_last_kernel();
	const int together = max(1, min(B * 4, 25165824 / max(1, T * 256)));
	const int first_head = together * floor_div(block, together * ((S * 3 + 63) / 64));
	const int heads = min(together, B * 4 - first_head);
	const int place = floor_mod(block, together * ((S * 3 + 63) / 64));
	const int before = floor_div(place, heads);
	const int head = first_head - heads * before + place;
	const int j = head % 4;
	const int i = head / 4;
	const int first_query = (S * 3 + 63) / 64 * 64 - before * 64 - 64;
	const auto query_at = [&](int query, int r) {
		return j * S * 192 + i * S * 768 + r + query / 3 * 64 + query % 3 * S * 64;
	};
	const auto key_at = [&](int key, int r) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + r : -1;
	};
	const auto value_at = [&](int key, int s) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + s : -1;
	};
	const auto score_at = [&](int query, int key, float product_here) {
		return product_here * 0.125f + to_f32(m0[i * S * T + key + query / 3 * T]);
	};
	const auto kept_to = [&](int query) {
		return query / 3 + 1;
	};
	const auto kept_some = [&](int query, int to_query, int key, int to_key) {
		return key <= floor_div(to_query, 3);
	};
	const auto kept_all = [&](int query, int to_query, int key, int to_key) {
		return to_key <= floor_div(query, 3);
	};
	const auto largest_at = [&](int query, float largest_here) {
		return largest_here == -INFINITY ? 0.0f : largest_here;
	};
	const auto sum_at = [&](int query, float largest_of_row, float sum_here) {
		return sum_here == 0.0f ? 1.0f : sum_here;
	};
	const auto result_at = [&](int query, int s, float total_here, float largest_of_row, float sum_of_row,
	                           float inverse_of_sum) {
		return to_f16(total_here * inverse_of_sum);
	};
	const auto place_at = [&](int query, int s) {
		return j * S * 192 + i * S * 768 + s + query / 3 * 64 + query % 3 * S * 64;
	};
	attention_wide_slots<f16, f16, 64, 64, 64,
	                     false> &slots = *(attention_wide_slots<f16, f16, 64, 64, 64, false> *)shared_memory;
	attention_wide<1, 8>(slots, first_query, S * 3, T, q, query_at, k0, key_at, v0, value_at, score_at,
	                     attention_unbounded(), kept_to, kept_some, kept_all, largest_at, sum_at, result_at, y,
	                     place_at);
}
#endif

// The same as Attention_y_wide.
// Schedule: attention_mma@1 queries=64 keys=64 tiles=1; 128 threads a block.
// A block computes 64 queries of one head on tensor cores, and goes over tiles of 64 keys and values. Scores are never
//     stored.
// Launch: (S * 3 + 63) / 64 * B * 4 blocks of 128 threads.
// Runs if all positions fit into 32 bits, unless Attention_y_wide or Attention_y_wide_64 does.
extern "C" __global__ __launch_bounds__(128)
void Attention_y(const f16 *q, const f16 *k0, const f16 *v0, const f16 *m0, f16 *__restrict__ y, int B, int S, int T)
{
	const int block = blockIdx.x;
	wait_for_last_kernel();
	const int together = max(1, min(B * 4, 25165824 / max(1, T * 256)));
	const int first_head = together * floor_div(block, together * ((S * 3 + 63) / 64));
	const int heads = min(together, B * 4 - first_head);
	const int place = floor_mod(block, together * ((S * 3 + 63) / 64));
	const int before = floor_div(place, heads);
	const int head = first_head - heads * before + place;
	const int j = head % 4;
	const int i = head / 4;
	const int first_query = (S * 3 + 63) / 64 * 64 - before * 64 - 64;
	const auto query_at = [&](int query, int r) {
		return j * S * 192 + i * S * 768 + r + query / 3 * 64 + query % 3 * S * 64;
	};
	const auto key_at = [&](int key, int r) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + r : -1;
	};
	const auto value_at = [&](int key, int s) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + s : -1;
	};
	const auto score_at = [&](int query, int key, float product_here) {
		return product_here * 0.125f + to_f32(m0[i * S * T + key + query / 3 * T]);
	};
	const auto kept_to = [&](int query) {
		return query / 3 + 1;
	};
	const auto kept_some = [&](int query, int to_query, int key, int to_key) {
		return key <= floor_div(to_query, 3);
	};
	const auto kept_all = [&](int query, int to_query, int key, int to_key) {
		return to_key <= floor_div(query, 3);
	};
	const auto largest_at = [&](int query, float largest_here) {
		return largest_here == -INFINITY ? 0.0f : largest_here;
	};
	const auto sum_at = [&](int query, float largest_of_row, float sum_here) {
		return sum_here == 0.0f ? 1.0f : sum_here;
	};
	const auto result_at = [&](int query, int s, float total_here, float largest_of_row, float sum_of_row,
	                           float inverse_of_sum) {
		return to_f16(total_here * inverse_of_sum);
	};
	const auto place_at = [&](int query, int s) {
		return j * S * 192 + i * S * 768 + s + query / 3 * 64 + query % 3 * S * 64;
	};
	__shared__ attention_slots<f16, f16, 64, 64, 64, 2, false> slots;
	attention_mma<4, 1, 8, 8>(slots, first_query, S * 3, T, q, query_at, k0, key_at, v0, value_at, score_at,
	                          attention_unbounded(), kept_to, kept_some, kept_all, largest_at, sum_at, result_at, y,
	                          place_at);
}

#if TPAT_ARCH == 900 || TPAT_ARCH == 0
// The same as Attention_y_wide.
// Schedule: attention_wide@4 queries=64 keys=64 engine=0; 128 threads a block; 64-bit positions.
// Launch: (S * 3 + 63) / 64 * B * 4 blocks of 128 threads, each with 32768 bytes of dynamic shared memory.
// Runs unless Attention_y_wide does.
extern "C" __global__ __launch_bounds__(128, 3)
void Attention_y_wide_64(const f16 *q, const f16 *k0, const f16 *v0, const f16 *m0, f16 *__restrict__ y, i64 B, i64 S,
                         i64 T)
{
	const i64 block = blockIdx.x;
	extern __shared__ __align__(1024) uint4 shared_memory[];
	wait_for_last_kernel();
	const i64 together = max((i64)1, min(B * 4, 25165824 / max((i64)1, T * 256)));
	const i64 first_head = together * floor_div(block, together * ((S * 3 + 63) / 64));
	const i64 heads = min(together, B * 4 - first_head);
	const i64 place = floor_mod(block, together * ((S * 3 + 63) / 64));
	const i64 before = floor_div(place, heads);
	const i64 head = first_head - heads * before + place;
	const i64 j = head % 4;
	const i64 i = head / 4;
	const i64 first_query = (S * 3 + 63) / 64 * 64 - before * 64 - 64;
	const auto query_at = [&](i64 query, i64 r) {
		return j * S * 192 + i * S * 768 + r + query / 3 * 64 + query % 3 * S * 64;
	};
	const auto key_at = [&](i64 key, i64 r) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + r : -1;
	};
	const auto value_at = [&](i64 key, i64 s) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + s : -1;
	};
	const auto score_at = [&](i64 query, i64 key, float product_here) {
		return product_here * 0.125f + to_f32(m0[i * S * T + key + query / 3 * T]);
	};
	const auto kept_to = [&](i64 query) {
		return query / 3 + 1;
	};
	const auto kept_some = [&](i64 query, i64 to_query, i64 key, i64 to_key) {
		return key <= floor_div(to_query, (i64)3);
	};
	const auto kept_all = [&](i64 query, i64 to_query, i64 key, i64 to_key) {
		return to_key <= floor_div(query, (i64)3);
	};
	const auto largest_at = [&](i64 query, float largest_here) {
		return largest_here == -INFINITY ? 0.0f : largest_here;
	};
	const auto sum_at = [&](i64 query, float largest_of_row, float sum_here) {
		return sum_here == 0.0f ? 1.0f : sum_here;
	};
	const auto result_at = [&](i64 query, i64 s, float total_here, float largest_of_row, float sum_of_row,
	                           float inverse_of_sum) {
		return to_f16(total_here * inverse_of_sum);
	};
	const auto place_at = [&](i64 query, i64 s) {
		return j * S * 192 + i * S * 768 + s + query / 3 * 64 + query % 3 * S * 64;
	};
	attention_wide_slots<f16, f16, 64, 64, 64,
	                     false> &slots = *(attention_wide_slots<f16, f16, 64, 64, 64, false> *)shared_memory;
	attention_wide<1, 8>(slots, first_query, S * 3, T, q, query_at, k0, key_at, v0, value_at, score_at,
	                     attention_unbounded(), kept_to, kept_some, kept_all, largest_at, sum_at, result_at, y,
	                     place_at);
}
#endif

// The same as Attention_y_wide.
// Schedule: attention_mma@1 queries=64 keys=64 tiles=1; 128 threads a block; 64-bit positions.
// Launch: (S * 3 + 63) / 64 * B * 4 blocks of 128 threads.
// Runs unless Attention_y_wide or Attention_y_wide_64 or Attention_y does.
extern "C" __global__ __launch_bounds__(128)
void Attention_y_64(const f16 *q, const f16 *k0, const f16 *v0, const f16 *m0, f16 *__restrict__ y, i64 B, i64 S, i64 T)
{
	const i64 block = blockIdx.x;
	wait_for_last_kernel();
	const i64 together = max((i64)1, min(B * 4, 25165824 / max((i64)1, T * 256)));
	const i64 first_head = together * floor_div(block, together * ((S * 3 + 63) / 64));
	const i64 heads = min(together, B * 4 - first_head);
	const i64 place = floor_mod(block, together * ((S * 3 + 63) / 64));
	const i64 before = floor_div(place, heads);
	const i64 head = first_head - heads * before + place;
	const i64 j = head % 4;
	const i64 i = head / 4;
	const i64 first_query = (S * 3 + 63) / 64 * 64 - before * 64 - 64;
	const auto query_at = [&](i64 query, i64 r) {
		return j * S * 192 + i * S * 768 + r + query / 3 * 64 + query % 3 * S * 64;
	};
	const auto key_at = [&](i64 key, i64 r) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + r : -1;
	};
	const auto value_at = [&](i64 key, i64 s) {
		return key < T ? j * T * 64 + i * T * 256 + key * 64 + s : -1;
	};
	const auto score_at = [&](i64 query, i64 key, float product_here) {
		return product_here * 0.125f + to_f32(m0[i * S * T + key + query / 3 * T]);
	};
	const auto kept_to = [&](i64 query) {
		return query / 3 + 1;
	};
	const auto kept_some = [&](i64 query, i64 to_query, i64 key, i64 to_key) {
		return key <= floor_div(to_query, (i64)3);
	};
	const auto kept_all = [&](i64 query, i64 to_query, i64 key, i64 to_key) {
		return to_key <= floor_div(query, (i64)3);
	};
	const auto largest_at = [&](i64 query, float largest_here) {
		return largest_here == -INFINITY ? 0.0f : largest_here;
	};
	const auto sum_at = [&](i64 query, float largest_of_row, float sum_here) {
		return sum_here == 0.0f ? 1.0f : sum_here;
	};
	const auto result_at = [&](i64 query, i64 s, float total_here, float largest_of_row, float sum_of_row,
	                           float inverse_of_sum) {
		return to_f16(total_here * inverse_of_sum);
	};
	const auto place_at = [&](i64 query, i64 s) {
		return j * S * 192 + i * S * 768 + s + query / 3 * 64 + query % 3 * S * 64;
	};
	__shared__ attention_slots<f16, f16, 64, 64, 64, 2, false> slots;
	attention_mma<4, 1, 8, 8>(slots, first_query, S * 3, T, q, query_at, k0, key_at, v0, value_at, score_at,
	                          attention_unbounded(), kept_to, kept_some, kept_all, largest_at, sum_at, result_at, y,
	                          place_at);
}
