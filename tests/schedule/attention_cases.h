/* Attention stages, in every way of the attention rules; the other files' cases test how other rules run such stages.
 * See schedule_case.h. */
#ifndef TPAT_TESTS_ATTENTION_CASES_H
#define TPAT_TESTS_ATTENTION_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case attention_cases[] = {
	{ "attention_causal",
	  "(q: f32[B,6,S,20], k0: f32[B,2,T,20], v0: f32[B,2,T,24], m0: f32[B,1,S,T]) -> (y: f32[B,6,S,24])\n"
	  "  c: f32[B,6,S,T] = sum (i, j, k, l | r<20) q[i, j, k, r] * k0[i, floordiv(j, 3), l, r] then select(l < k + "
	  "3, it * 0.25 + m0[i, 0, k, l], -inf)\n"
	  "  a: f32[B,6,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[B,6,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f32[B,6,S,24] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * v0[i, floordiv(j, 3), r, l] "
	  "then it / b[i, j, k]\n",
	  { "B=2 S=40 T=37", "B=1 S=1 T=70", "B=1 S=3 T=0", "B=0 S=4 T=4", "B=1 S=65 T=16" } },
	{ "attention_bool_mask",
	  "(q: f16[B,S,2,8], k0: f16[B,T,16], v0: bf16[B,2,T,40], t_m: bool[S,T], s0: f32[2]) -> (y: bf16[B,S,80])\n"
	  "  c: f32[B,2,S,T] = sum (i, j, k, l | r<8) f32(q[i, k, j, r]) * f32(k0[i, l, j * 8 + r]) then select(t_m[k, "
	  "l], tanh(it * 0.25) * 3.0, -inf)\n"
	  "  a: f32[B,2,S] = max (i, j, k | r<T) c[i, j, k, r] then max(select(it == -inf, 0.0, it), s0[j])\n"
	  "  b: f32[B,2,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then it + exp(s0[j] - a[i, j, k])\n"
	  "  y: bf16[B,S,80] = sum (i, j, k | r<T) exp(c[i, floordiv(k, 40), j, r] - a[i, floordiv(k, 40), j]) * "
	  "f32(v0[i, floordiv(k, 40), r, mod(k, 40)]) then bf16(it / b[i, floordiv(k, 40), j])\n",
	  { "B=1 S=20 T=35", "B=2 S=2 T=3" } },
	{ "attention_spelled",
	  "(q: f16[N,S,16], k0: f16[N,16,S], v0: f16[N,S,16], m0: f16[S,S]) -> (y: f16[N,S,16])\n"
	  "  c: f16[N,S,S] = sum (i, j, k | r<16) f32(q[i, j, r]) * f32(k0[i, r, k]) then f16(f32(f16(it)) * 0.25)\n"
	  "  d: f16[N,S,S] = map (i, j, k) select(k < j, f16(f32(c[i, j, k]) + f32(m0[j, k])), f16(-inf))\n"
	  "  a: f32[N,S,1] = max (i, j, k | r<S) f32(d[i, j, r])\n"
	  "  b: f32[N,S,1] = sum (i, j, k | r<S) exp(f32(d[i, j, r]) - a[i, j, 0])\n"
	  "  w0: f16[N,S,S] = map (i, j, k) f16(exp(f32(d[i, j, k]) - a[i, j, 0]) / b[i, j, 0])\n"
	  "  y: f16[N,S,16] = sum (i, j, k | r<S) f32(w0[i, j, r]) * f32(v0[i, r, k])\n",
	  { "N=2 S=35", "N=1 S=1", "N=3 S=0" } },
	/* Rows come first, and heads are folded into the batch: the result's rows have all heads. */
	{ "attention_rows_first",
	  "(q: f16[S,N,32], k0: f16[T,N,32], v0: f16[T,N,32]) -> (y: f16[S * N,32])\n"
	  "  c: f16[N * 4,S,T] = sum (i, j, k | r<8) f32(q[j, floordiv(i, 4), mod(i * 8 + r, 32)]) * f32(k0[k, "
	  "floordiv(i, 4), mod(i * 8 + r, 32)])\n"
	  "  a: f32[N * 4,S,1] = max (i, j, k | r<T) f32(c[i, j, r])\n"
	  "  b: f32[N * 4,S,1] = sum (i, j, k | r<T) exp(f32(c[i, j, r]) - a[i, j, 0])\n"
	  "  w0: f16[N * 4,S,T] = map (i, j, k) f16(exp(f32(c[i, j, k]) - a[i, j, 0]) / b[i, j, 0])\n"
	  "  x: f16[N * 4,S,8] = sum (i, j, k | r<T) f32(w0[i, j, r]) * f32(v0[r, floordiv(i, 4), mod(i * 8 + k, "
	  "32)])\n"
	  "  y: f16[S * N,32] = map (i, j) x[mod(i * 4 + floordiv(j, 8), N * 4), floordiv(i, N), mod(j, 8)]\n",
	  { "N=2 S=35 T=35", "N=3 S=1 T=130", "N=1 S=5 T=0" } },
	/* A softmax spelled in 16 bits: differences, exponentials, sums and quotients are rounded. */
	{ "attention_spelled_half",
	  "(q: f16[N,S,32], k0: f16[N,T,32], v0: f16[N,T,16], m0: f16[N,1,T]) -> (y: f16[N,S,16])\n"
	  "  c: f16[N,S,T] = sum (i, j, k | r<32) f32(q[i, j, r]) * f32(k0[i, k, r]) then f16(f32(f16(it)) + f32(m0[i, "
	  "0, "
	  "k]))\n"
	  "  a: f16[N,S,1] = max (i, j, k | r<T) f32(c[i, j, r])\n"
	  "  b: f16[N,S,1] = sum (i, j, k | r<T) f32(f16(exp(f32(f16(f32(c[i, j, r]) - f32(a[i, j, 0]))))))\n"
	  "  w0: f16[N,S,T] = map (i, j, k) f16(f32(f16(exp(f32(f16(f32(c[i, j, k]) - f32(a[i, j, 0])))))) / f32(b[i, "
	  "j, "
	  "0]))\n"
	  "  y: f16[N,S,16] = sum (i, j, k | r<T) f32(w0[i, j, r]) * f32(v0[i, r, k])\n",
	  { "N=2 S=35 T=70", "N=1 S=1 T=130", "N=3 S=5 T=0" } },
	/* The same in bf16, with heads folded into the batch and a mask for each head. */
	{ "attention_spelled_folded",
	  "(q: bf16[24,S,32], k0: bf16[2,3,T,32], v0: bf16[2,3,T,16], m0: bf16[2,12,S,T]) -> (y: bf16[24,S,16])\n"
	  "  c: bf16[24,S,T] = sum (i, j, k | r<32) f32(q[i, j, r]) * f32(k0[floordiv(i, 12), floordiv(mod(i, 12), 4), "
	  "k, "
	  "r])\n"
	  "  a: bf16[2,12,S,1] = max (i, j, k, l | r<T) f32(bf16(f32(c[i * 12 + j, k, r]) + f32(m0[i, j, k, r])))\n"
	  "  b: bf16[2,12,S,1] = sum (i, j, k, l | r<T) f32(bf16(exp(f32(bf16(f32(bf16(f32(c[i * 12 + j, k, r]) + "
	  "f32(m0[i, j, k, r]))) - f32(a[i, j, k, 0]))))))\n"
	  "  w0: bf16[24,S,T] = map (i, j, k) bf16(f32(bf16(exp(f32(bf16(f32(bf16(f32(c[floordiv(i, 12) * 12 + mod(i, "
	  "12), j, k]) + f32(m0[floordiv(i, 12), mod(i, 12), j, k]))) - f32(a[floordiv(i, 12), mod(i, 12), j, 0])))))) "
	  "/ f32(b[floordiv(i, 12), mod(i, 12), j, 0]))\n"
	  "  y: bf16[24,S,16] = sum (i, j, k | r<T) f32(w0[i, j, r]) * f32(v0[floordiv(i, 12), floordiv(mod(i, 12), "
	  "4), "
	  "r, k])\n",
	  { "S=20 T=70" } },
	{ "attention_f64",
	  "(q: f64[S,5], k0: f64[T,5], v0: f64[T,3], n_x: i32[1]) -> (y: f64[S,3])\n"
	  "  c: f64[S,T] = sum (i, j | r<5) q[i, r] * k0[j, r] then select(j < index(n_x[0]), it, f64(-1000.0))\n"
	  "  a: f64[S] = max (i | r<T) c[i, r]\n"
	  "  b: f64[S] = sum (i | r<T) exp(c[i, r] - a[i])\n"
	  "  y: f64[S,3] = sum (i, j | r<T) exp(c[i, r] - a[i]) / b[i] * v0[r, j]\n",
	  { "S=9 T=20", "S=2 T=0" } },
};

/* Cases that also run on tensor cores. */
static const struct schedule_case attention_mma_cases[] = {
	/* One block per head, so that the block index is the batch; a number of keys that no tile divides. */
	{ "attention_heads",
	  "(q: f16[H,16,64], k0: f16[H,77,64], v0: f16[H,77,64]) -> (y: f16[H,16,64])\n"
	  "  c: f32[H,16,77] = sum (i, j, k | r<64) f32(q[i, j, r]) * f32(k0[i, k, r]) then it * 0.125\n"
	  "  a: f32[H,16] = max (i, j | r<77) c[i, j, r]\n"
	  "  b: f32[H,16] = sum (i, j | r<77) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[H,16,64] = sum (i, j, k | r<77) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  { "H=4" } },
	/* A constant window of keys, three query heads per key head, results contiguous by query. */
	{ "attention_window",
	  "(q: f16[B,6,S,32], k0: f16[B,T,2,32], v0: f16[B,2,T,24]) -> (y: f16[B,S,144])\n"
	  "  c: f32[B,6,S,T] = sum (i, j, k, l | r<32) f32(q[i, j, k, r]) * f32(k0[i, l, floordiv(j, 3), r]) then "
	  "select(and(l <= k + 3, k < l + 50), it * 0.25, -inf)\n"
	  "  a: f32[B,6,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[B,6,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[B,S,144] = sum (i, j, k | r<T) exp(c[i, floordiv(k, 24), j, r] - a[i, floordiv(k, 24), j]) * "
	  "f32(v0[i, floordiv(k, 72), r, mod(k, 24)]) then f16(it / b[i, floordiv(k, 24), j])\n",
	  { "B=1 S=140 T=150", "B=2 S=3 T=17", "B=1 S=5 T=0", "B=1 S=150 T=20" } },
	/* Bounds that move by other steps than one with the query, on both sides, and one of the query alone. */
	{ "attention_steps",
	  "(q: f16[B,S,32], k0: f16[B,T,32], v0: f16[B,T,24]) -> (y: f16[B,S,24])\n"
	  "  c: f32[B,S,T] = sum (i, j, k | r<32) f32(q[i, j, r]) * f32(k0[i, k, r]) then select(and(and(2 * k < j + "
	  "7, j "
	  "- 5 <= 3 * k), j < 61), it * 0.25, -inf)\n"
	  "  a: f32[B,S] = max (i, j | r<T) c[i, j, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[B,S] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[B,S,24] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  { "B=1 S=75 T=70", "B=2 S=3 T=17", "B=1 S=5 T=0" } },
	/* Queries that are computed, a mask and keys that end early; weights are rounded. */
	{ "attention_rounded",
	  "(q: bf16[N,S,16], k0: bf16[N,S,16], v0: bf16[N,S,72], m0: bf16[S,S], n_x: i32[1]) -> (y: bf16[N,S,72])\n"
	  "  c: bf16[N,S,S] = sum (i, j, k | r<16) f32(bf16(f32(q[i, j, r]) * 0.5)) * f32(k0[i, k, r]) then "
	  "bf16(f32(bf16(it)) * 0.25)\n"
	  "  d: bf16[N,S,S] = map (i, j, k) select(k < j + index(n_x[0]), bf16(f32(c[i, j, k]) + f32(m0[j, k])), "
	  "bf16(-inf))\n"
	  "  a: f32[N,S,1] = max (i, j, k | r<S) f32(d[i, j, r])\n"
	  "  b: f32[N,S,1] = sum (i, j, k | r<S) exp(f32(d[i, j, r]) - a[i, j, 0])\n"
	  "  w0: bf16[N,S,S] = map (i, j, k) bf16(exp(f32(d[i, j, k]) - a[i, j, 0]) / b[i, j, 0])\n"
	  "  y: bf16[N,S,72] = sum (i, j, k | r<S) f32(w0[i, j, r]) * f32(v0[i, r, k])\n",
	  { "N=2 S=35", "N=1 S=1", "N=3 S=0", "N=1 S=70" } },
	/* Queries and keys are scaled before their product, as PyTorch exports it. */
	{ "attention_scaled_keys",
	  "(q: f16[N,S,32], k0: f16[N,T,32], v0: f16[N,T,16]) -> (y: f16[N,S,16])\n"
	  "  c: f16[N,S,T] = sum (i, j, k | r<32) f32(f16(f32(q[i, j, r]) * 0.42)) * f32(f16(f32(k0[i, k, r]) * 0.42)) "
	  "then f16(it)\n"
	  "  a: f32[N,S,1] = max (i, j, k | r<T) f32(c[i, j, r])\n"
	  "  b: f32[N,S,1] = sum (i, j, k | r<T) exp(f32(c[i, j, r]) - a[i, j, 0])\n"
	  "  w0: f16[N,S,T] = map (i, j, k) f16(exp(f32(c[i, j, k]) - a[i, j, 0]) / b[i, j, 0])\n"
	  "  y: f16[N,S,16] = sum (i, j, k | r<T) f32(w0[i, j, r]) * f32(v0[i, r, k])\n",
	  { "N=2 S=35 T=50", "N=1 S=1 T=17" } },
	{ "attention_divided_keys",
	  "(q: bf16[N,1,32], k0: bf16[N,T,32], v0: bf16[N,T,16]) -> (y: bf16[N,1,16])\n"
	  "  c: f32[N,1,T] = sum (i, j, k | r<32) f32(q[i, j, r]) * f32(bf16(f32(k0[i, k, r]) / 5.7)) then "
	  "f32(bf16(it))\n"
	  "  a: f32[N,1,1] = max (i, j, k | r<T) c[i, j, r]\n"
	  "  b: f32[N,1,1] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j, 0])\n"
	  "  w0: bf16[N,1,T] = map (i, j, k) bf16(exp(c[i, j, k] - a[i, j, 0]) / b[i, j, 0])\n"
	  "  y: bf16[N,1,16] = sum (i, j, k | r<T) f32(w0[i, j, r]) * f32(v0[i, r, k])\n",
	  { "N=2 T=350", "N=1 T=17" } },
	/* A mask that a stage between the scores and the softmax makes. */
	{ "attention_mask_between",
	  "(q: f16[N,3,S,16], k0: f16[N,3,T,16], v0: f16[N,3,T,24], m0: i64[N,T]) -> (y: f16[N,3,S,24])\n"
	  "  c: f16[N,3,S,T] = sum (i, j, k, l | r<16) f32(q[i, j, k, r]) * f32(k0[i, j, l, r])\n"
	  "  d: f16[N,1,1,T] = map (i, j, k, l) f16(f32(f16(1.0 - f32(f16(m0[i, l])))) * -10.0)\n"
	  "  a: f32[N,3,S,1] = max (i, j, k, l | r<T) f32(f16(f32(c[i, j, k, r]) + f32(d[i, 0, 0, r])))\n"
	  "  b: f32[N,3,S,1] = sum (i, j, k, l | r<T) exp(f32(f16(f32(c[i, j, k, r]) + f32(d[i, 0, 0, r]))) - a[i, j, "
	  "k, "
	  "0])\n"
	  "  w0: f16[N,3,S,T] = map (i, j, k, l) f16(exp(f32(f16(f32(c[i, j, k, l]) + f32(d[i, 0, 0, l]))) - a[i, j, "
	  "k, "
	  "0]) / b[i, j, k, 0])\n"
	  "  y: f16[N,3,S,24] = sum (i, j, k, l | r<T) f32(w0[i, j, k, r]) * f32(v0[i, j, r, l])\n",
	  { "N=2 S=20 T=50", "N=1 S=1 T=9" } },
	/* The least f32 hides keys, so that whole tiles and some rows have no other score. */
	{ "attention_least",
	  "(q: f16[N,S,16], k0: f16[N,T,16], v0: f16[N,T,16]) -> (y: f16[N,S,16])\n"
	  "  c: f32[N,S,T] = sum (i, j, k | r<16) f32(q[i, j, r]) * f32(k0[i, k, r]) then select(or(k < 40, 2 < j), "
	  "-3.4028235e+38, it)\n"
	  "  a: f32[N,S] = max (i, j | r<T) c[i, j, r]\n"
	  "  b: f32[N,S] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[N,S,16] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  { "N=2 S=5 T=90", "N=1 S=1 T=300" } },
	/* Heads whose elements lie by fours, and by twos. */
	{ "attention_fours",
	  "(q: f16[B,2,S,20], k0: f16[B,2,T,20], v0: f16[B,2,T,36]) -> (y: f16[B,2,S,36])\n"
	  "  c: f32[B,2,S,T] = sum (i, j, k, l | r<20) f32(q[i, j, k, r]) * f32(k0[i, j, l, r])\n"
	  "  a: f32[B,2,S] = max (i, j, k | r<T) c[i, j, k, r]\n"
	  "  b: f32[B,2,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k])\n"
	  "  y: f16[B,2,S,36] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, j, r, l]) then "
	  "f16(it "
	  "/ b[i, j, k])\n",
	  { "B=2 S=20 T=35", "B=1 S=1 T=1" } },
	{ "attention_twos",
	  "(q: bf16[S,50], k0: bf16[T,50], v0: bf16[T,18]) -> (y: bf16[S,18])\n"
	  "  c: f32[S,T] = sum (i, j | r<50) f32(q[i, r]) * f32(k0[j, r]) then it * 0.125\n"
	  "  a: f32[S] = max (i | r<T) c[i, r]\n"
	  "  b: f32[S] = sum (i | r<T) exp(c[i, r] - a[i])\n"
	  "  y: bf16[S,18] = sum (i, j | r<T) exp(c[i, r] - a[i]) * f32(v0[r, j]) then bf16(it / b[i])\n",
	  { "S=20 T=35" } },
	/* A map after it that moves its result. */
	{ "attention_moved",
	  "(q: f16[B,2,S,16], k0: f16[B,2,T,16], v0: f16[B,2,T,8]) -> (y: f16[B,S,16])\n"
	  "  c: f32[B,2,S,T] = sum (i, j, k, l | r<16) f32(q[i, j, k, r]) * f32(k0[i, j, l, r])\n"
	  "  a: f32[B,2,S] = max (i, j, k | r<T) c[i, j, k, r]\n"
	  "  b: f32[B,2,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k])\n"
	  "  z: f16[B,2,S,8] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, j, r, l]) then "
	  "f16(it / b[i, j, k])\n"
	  "  y: f16[B,S,16] = map (i, j, k) z[i, floordiv(k, 8), j, mod(k, 8)]\n",
	  { "B=2 S=20 T=35", "B=1 S=1 T=1" } },
	/* Transposed keys: the same element of all keys is contiguous. */
	{ "attention_turned",
	  "(q: f16[N,S,24], k0: f16[N,24,40], v0: f16[N,40,8]) -> (y: f16[N,S,8])\n"
	  "  c: f16[N,S,40] = sum (i, j, k | r<24) f32(q[i, j, r]) * f32(k0[i, r, k]) then f16(it)\n"
	  "  a: f32[N,S,1] = max (i, j, k | r<40) f32(c[i, j, r])\n"
	  "  b: f32[N,S,1] = sum (i, j, k | r<40) exp(f32(c[i, j, r]) - a[i, j, 0])\n"
	  "  w0: f16[N,S,40] = map (i, j, k) f16(exp(f32(c[i, j, k]) - a[i, j, 0]) / b[i, j, 0])\n"
	  "  y: f16[N,S,8] = sum (i, j, k | r<40) f32(w0[i, j, r]) * f32(v0[i, r, k])\n",
	  { "N=2 S=35", "N=1 S=1" } },
	{ "attention_cap",
	  "(q: f16[B,S,2,8], k0: f16[B,T,16], v0: bf16[B,2,T,40], t_m: bool[S,T], s0: f32[2]) -> (y: bf16[B,S,80])\n"
	  "  c: f32[B,2,S,T] = sum (i, j, k, l | r<8) f32(q[i, k, j, r]) * f32(k0[i, l, j * 8 + r]) then select(t_m[k, "
	  "l], tanh(it * 0.25) * 3.0, -inf)\n"
	  "  a: f32[B,2,S] = max (i, j, k | r<T) c[i, j, k, r] then max(select(it == -inf, 0.0, it), s0[j])\n"
	  "  b: f32[B,2,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then it + exp(s0[j] - a[i, j, k])\n"
	  "  y: bf16[B,S,80] = sum (i, j, k | r<T) exp(c[i, floordiv(k, 40), j, r] - a[i, floordiv(k, 40), j]) * "
	  "f32(v0[i, floordiv(k, 40), r, mod(k, 40)]) then bf16(it / b[i, floordiv(k, 40), j])\n",
	  { "B=1 S=20 T=35", "B=2 S=2 T=3" } },
};

/* Cases of few queries. */
static const struct schedule_case attention_few_cases[] = {
	/* One query of groups of heads, keys that share one batch axis with it; columns that no tile divides. */
	{ "attention_decode",
	  "(q: f16[B,8,1,80], k0: f16[B,2,T,80], v0: f16[B,2,T,72]) -> (y: f16[B,8,1,72])\n"
	  "  c: f32[B,8,1,T] = sum (i, j, k, l | r<80) f32(q[i, j, k, r]) * f32(k0[i, floordiv(j, 4), l, r]) then it * "
	  "0.125\n"
	  "  a: f32[B,8,1] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[B,8,1] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[B,8,1,72] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, floordiv(j, 4), r, "
	  "l]) then f16(it / b[i, j, k])\n",
	  { "B=2 T=700", "B=1 T=1", "B=3 T=0", "B=0 T=5", "B=1 T=131" } },
	/* Two queries after some past, with a mask, and heads that share no keys; batch and heads are one axis. */
	{ "attention_few_queries",
	  "(q: bf16[N,2,32], k0: bf16[N,T,32], v0: bf16[N,T,136], m0: f32[T]) -> (y: bf16[N,2,136])\n"
	  "  c: f32[N,2,T] = sum (i, j, k | r<32) f32(q[i, j, r]) * f32(k0[i, k, r]) then select(k < j + T - 1, it * "
	  "0.25 + m0[k], -inf)\n"
	  "  a: f32[N,2] = max (i, j | r<T) c[i, j, r]\n"
	  "  b: f32[N,2] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j])\n"
	  "  y: bf16[N,2,136] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then bf16(it / b[i, "
	  "j])\n",
	  { "N=2 T=530", "N=3 T=2" } },
	/* Rows of several tiles of grouped heads, causal after some past. */
	{ "attention_packed",
	  "(q: f16[6,S,24], k0: f16[2,T,24], v0: f16[2,T,8]) -> (y: f16[6,S,8])\n"
	  "  c: f32[6,S,T] = sum (i, j, k | r<24) f32(q[i, j, r]) * f32(k0[floordiv(i, 3), k, r]) then select(k < j + "
	  "T - S + 1, it * 0.25, -inf)\n"
	  "  a: f32[6,S] = max (i, j | r<T) c[i, j, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[6,S] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[6,S,8] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * f32(v0[floordiv(i, 3), r, k]) then f16(it "
	  "/ b[i, j])\n",
	  { "S=25 T=300", "S=3 T=2" } },
};

/* The same by ordinary arithmetic. */
static const struct schedule_case attention_lanes_cases[] = {
	{ "attention_decode_f32",
	  "(q: f32[B,6,1,80], k0: f32[B,2,T,80], v0: f32[B,2,T,36], m0: f32[B,1,1,T]) -> (y: f32[B,6,1,36])\n"
	  "  c: f32[B,6,1,T] = sum (i, j, k, l | r<80) q[i, j, k, r] * k0[i, floordiv(j, 3), l, r] then it * 0.125 + "
	  "m0[i, 0, 0, l]\n"
	  "  a: f32[B,6,1] = max (i, j, k | r<T) c[i, j, k, r]\n"
	  "  b: f32[B,6,1] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k])\n"
	  "  y: f32[B,6,1,36] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * v0[i, floordiv(j, 3), r, l] "
	  "then it / b[i, j, k]\n",
	  { "B=2 T=300", "B=1 T=1", "B=3 T=0", "B=1 T=131" } },
	/* Keys and values of 8 bits; odd columns; rows of several tiles, of which some see no key. */
	{ "attention_decode_bytes",
	  "(q: f16[3,12,20], k0: i8[T,20], v0: i8[T,7]) -> (y: f16[3,12,7])\n"
	  "  c: f32[3,12,T] = sum (i, j, k | r<20) f32(q[i, j, r]) * (f32(k0[k, r]) * 0.01) then select(k < j + T - 3, "
	  "it * 0.25, -inf)\n"
	  "  a: f32[3,12] = max (i, j | r<T) c[i, j, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[3,12] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[3,12,7] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * (f32(v0[r, k]) * 0.02) then f16(it / "
	  "b[i, j])\n",
	  { "T=200", "T=2" } },
};

/* Cases that also run on warp groups. */
static const struct schedule_case attention_wide_cases[] = {
	{ "attention_groups",
	  "(q: f16[B,2,S,64], k0: f16[B,T,64], v0: f16[B,T,128]) -> (y: f16[B,2,S,128])\n"
	  "  c: f32[B,2,S,T] = sum (i, j, k, l | r<64) f32(q[i, j, k, r]) * f32(k0[i, l, r]) then select(l <= k + 90, "
	  "it * 0.125, -inf)\n"
	  "  a: f32[B,2,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[B,2,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[B,2,S,128] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, r, l]) then f16(it "
	  "/ b[i, j, k])\n",
	  { "B=1 S=70 T=200", "B=1 S=3 T=0", "B=1 S=1 T=64" } },
	/* Heads of other sizes: sums by sixteens, columns as instructions have them; three heads share keys and values.
	 */
	{ "attention_groups_odd",
	  "(q: f16[3,S,72], k0: f16[T,72], v0: f16[T,136]) -> (y: f16[3,S,136])\n"
	  "  c: f32[3,S,T] = sum (i, j, k | r<72) f32(q[i, j, r]) * f32(k0[k, r]) then select(k < j + 65, it * 0.125, "
	  "-inf)\n"
	  "  a: f32[3,S] = max (i, j | r<T) c[i, j, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[3,S] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[3,S,136] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * f32(v0[r, k]) then f16(it / b[i, j])\n",
	  { "S=30 T=150", "S=1 T=3" } },
	{ "attention_groups_narrow",
	  "(q: bf16[S,40], k0: bf16[40,136], v0: bf16[136,24]) -> (y: bf16[S,24])\n"
	  "  c: f32[S,136] = sum (i, j | r<40) f32(q[i, r]) * f32(k0[r, j])\n"
	  "  a: f32[S] = max (i | r<136) c[i, r]\n"
	  "  b: f32[S] = sum (i | r<136) exp(c[i, r] - a[i])\n"
	  "  y: bf16[S,24] = sum (i, j | r<136) exp(c[i, r] - a[i]) * f32(v0[r, j]) then bf16(it / b[i])\n",
	  { "S=67" } },
	{ "attention_groups_turned",
	  "(q: bf16[S,64], k0: bf16[64,160], v0: bf16[160,64]) -> (y: bf16[S,64])\n"
	  "  c: f32[S,160] = sum (i, j | r<64) f32(q[i, r]) * f32(k0[r, j])\n"
	  "  a: f32[S] = max (i | r<160) c[i, r]\n"
	  "  b: f32[S] = sum (i | r<160) exp(c[i, r] - a[i])\n"
	  "  y: bf16[S,64] = sum (i, j | r<160) exp(c[i, r] - a[i]) * f32(v0[r, j]) then bf16(it / b[i])\n",
	  { "S=5" } },
	/* The largest heads: only with queries in shared memory do the registers suffice. */
	{ "attention_groups_large",
	  "(q: bf16[S,256], k0: bf16[T,256], v0: bf16[T,256]) -> (y: bf16[S,256])\n"
	  "  c: f32[S,T] = sum (i, j | r<256) f32(q[i, r]) * f32(k0[j, r]) then it * 0.0625\n"
	  "  a: f32[S] = max (i | r<T) c[i, r]\n"
	  "  b: f32[S] = sum (i | r<T) exp(c[i, r] - a[i])\n"
	  "  y: bf16[S,256] = sum (i, j | r<T) exp(c[i, r] - a[i]) * f32(v0[r, j]) then bf16(it / b[i])\n",
	  { "S=70 T=300" } },
};

/* Cases with more tiles of queries than the blocks of seven multiprocessors. */
static const struct schedule_case attention_ring_cases[] = {
	/* Rows without a key, of which the first tile has no other: queries before the keys begin. */
	{ "attention_turns",
	  "(q: f16[B,2,S,64], k0: f16[B,T,64], v0: f16[B,T,72]) -> (y: f16[B,2,S,72])\n"
	  "  c: f32[B,2,S,T] = sum (i, j, k, l | r<64) f32(q[i, j, k, r]) * f32(k0[i, l, r]) then select(l <= k - 70, "
	  "it * 0.125, -inf)\n"
	  "  a: f32[B,2,S] = max (i, j, k | r<T) c[i, j, k, r] then select(it == -inf, 0.0, it)\n"
	  "  b: f32[B,2,S] = sum (i, j, k | r<T) exp(c[i, j, k, r] - a[i, j, k]) then select(it == 0.0, 1.0, it)\n"
	  "  y: f16[B,2,S,72] = sum (i, j, k, l | r<T) exp(c[i, j, k, r] - a[i, j, k]) * f32(v0[i, r, l]) then f16(it "
	  "/ b[i, j, k])\n",
	  { "B=5 S=200 T=150", "B=8 S=70 T=300" } },
	/* Queries that are computed. */
	{ "attention_turns_computed",
	  "(q: bf16[H,S,32], k0: bf16[H,T,32], v0: bf16[H,T,16]) -> (y: bf16[H,S,16])\n"
	  "  c: f32[H,S,T] = sum (i, j, k | r<32) f32(bf16(f32(q[i, j, r]) * 0.3)) * f32(k0[i, k, r])\n"
	  "  a: f32[H,S] = max (i, j | r<T) c[i, j, r]\n"
	  "  b: f32[H,S] = sum (i, j | r<T) exp(c[i, j, r] - a[i, j])\n"
	  "  y: bf16[H,S,16] = sum (i, j, k | r<T) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then bf16(it / b[i, "
	  "j])\n",
	  { "H=20 S=140 T=70" } },
};

#endif
