#include "tpat_device.h"
#include "tpat_attention.h"

/* program Attention(q: f16[B,12,S,64], k0: f16[B,4,T,64], v0: f16[B,4,T,64], m0: f16[B,1,S,T]) -> (y: f16[B,12,S,64])
  c: f32[B,12,S,T] = sum (i, j, k, l | r<64) f32(q[i, j, k, r]) * f32(k0[i, floordiv(j, 3), l, r]) then select(l <= k, it * 0.125 + f32(m0[i, 0, k, l]), -inf)
  a: f32[B,12,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)
  b: f32[B,12,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)
  y: f16[B,12,S,64] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, floordiv(j, 3), r, l]) then f16(it / b[i, j, k])
 */

// c: f32[B,12,S,T] = sum (i, j, k, l | r<64) f32(q[i, j, k, r]) * f32(k0[i, floordiv(j, 3), l, r]) then select(l <= k,
// it * 0.125 + f32(m0[i, 0, k, l]), -inf)
// a: f32[B,12,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)
// b: f32[B,12,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)
// y: f16[B,12,S,64] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, floordiv(j, 3), r, l]) then
// f16(it / b[i, j, k])
// Schedule: attention 1, queries 64, keys 32; 256 threads a block.
extern "C" __global__ __launch_bounds__(256)
void Attention_y(const f16 *__restrict__ q, const f16 *__restrict__ k0, const f16 *__restrict__ v0, const f16 *__restrict__ m0, f16 *__restrict__ y, int B, int S, int T)
{
	const int j = blockIdx.x / ((S + 63) / 64) % 12;
	const int i = blockIdx.x / ((S + 63) / 64) / 12;
	const int first_query = blockIdx.x % ((S + 63) / 64) * 64;
	const auto query_at = [&](int this_query, int r) {
		return to_f32(q[i * S * 768 + j * S * 64 + r + this_query * 64]);
	};
	const auto key_at = [&](int this_key, int r) {
		return to_f32(k0[i * T * 256 + r + this_key * 64 + j / 3 * T * 64]);
	};
	const auto value_at = [&](int this_key, int s) {
		return to_f32(v0[i * T * 256 + s + this_key * 64 + j / 3 * T * 64]);
	};
	const auto score_at = [&](int this_query, int this_key, float product_here) {
		return this_key <= this_query ? product_here * 0.125f + to_f32(m0[i * S * T + this_key + this_query * T]) : -INFINITY;
	};
	const auto largest_at = [&](int this_query, float largest_here) {
		return largest_here == -INFINITY ? 0.0f : largest_here;
	};
	const auto sum_at = [&](int this_query, float largest_of_row, float sum_here) {
		return sum_here == 0.0f ? 1.0f : sum_here;
	};
	const auto put = [&](int this_query, int s, float total_here, float largest_of_row, float sum_of_row) {
		y[i * S * 768 + j * S * 64 + s + this_query * 64] = to_f16(total_here / sum_of_row);
	};
	__shared__ attention_tiles<64, 32, 64, 64, float> tiles;
	attention<float, float, float>(tiles, first_query, S, T, query_at, key_at, value_at, score_at, largest_at, sum_at, attention_exponential(), put);
}

// c: f32[B,12,S,T] = sum (i, j, k, l | r<64) f32(q[i, j, k, r]) * f32(k0[i, floordiv(j, 3), l, r]) then select(l <= k,
// it * 0.125 + f32(m0[i, 0, k, l]), -inf)
// a: f32[B,12,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)
// b: f32[B,12,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)
// y: f16[B,12,S,64] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, floordiv(j, 3), r, l]) then
// f16(it / b[i, j, k])
// Schedule: attention 1, queries 64, keys 32; 256 threads a block; 64-bit positions.
extern "C" __global__ __launch_bounds__(256)
void Attention_y_64(const f16 *__restrict__ q, const f16 *__restrict__ k0, const f16 *__restrict__ v0, const f16 *__restrict__ m0, f16 *__restrict__ y, i64 B, i64 S, i64 T)
{
	const i64 j = (i64)blockIdx.x / ((S + 63) / 64) % 12;
	const i64 i = (i64)blockIdx.x / ((S + 63) / 64) / 12;
	const i64 first_query = (i64)blockIdx.x % ((S + 63) / 64) * 64;
	const auto query_at = [&](i64 this_query, i64 r) {
		return to_f32(q[i * S * 768 + j * S * 64 + r + this_query * 64]);
	};
	const auto key_at = [&](i64 this_key, i64 r) {
		return to_f32(k0[i * T * 256 + r + this_key * 64 + j / 3 * T * 64]);
	};
	const auto value_at = [&](i64 this_key, i64 s) {
		return to_f32(v0[i * T * 256 + s + this_key * 64 + j / 3 * T * 64]);
	};
	const auto score_at = [&](i64 this_query, i64 this_key, float product_here) {
		return this_key <= this_query ? product_here * 0.125f + to_f32(m0[i * S * T + this_key + this_query * T]) : -INFINITY;
	};
	const auto largest_at = [&](i64 this_query, float largest_here) {
		return largest_here == -INFINITY ? 0.0f : largest_here;
	};
	const auto sum_at = [&](i64 this_query, float largest_of_row, float sum_here) {
		return sum_here == 0.0f ? 1.0f : sum_here;
	};
	const auto put = [&](i64 this_query, i64 s, float total_here, float largest_of_row, float sum_of_row) {
		y[i * S * 768 + j * S * 64 + s + this_query * 64] = to_f16(total_here / sum_of_row);
	};
	__shared__ attention_tiles<64, 32, 64, 64, float> tiles;
	attention<float, float, float>(tiles, first_query, S, T, query_at, key_at, value_at, score_at, largest_at, sum_at, attention_exponential(), put);
}
