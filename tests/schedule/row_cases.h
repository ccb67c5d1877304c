/* Reductions, and rows processed by several stages, along any axis. See schedule_case.h. */
#ifndef TPAT_TESTS_ROW_CASES_H
#define TPAT_TESTS_ROW_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case row_cases[] = {
	/* ---- reductions */
	/* Two of them in one kernel, each with its own bias per column. */
	{ "two_reductions",
	  "(x: f32[N,6,40], y: f32[N,6,40], a: f32[6], b: f32[6]) -> (o: f32[N,6])\n"
	  "  c: f32[N,6] = max (i, j | r<40) y[i, j, r] then it + b[j]\n"
	  "  o: f32[N,6] = sum (i, j | r<40) x[i, j, r] then (it * 0.025 + a[j]) * c[i, j]\n",
	  { "N=3", "N=1" } },
	/* Results that are read at a position which the reduction finds: the threshold of a sparsemax, the largest
	   element. */
	{ "read_at_result",
	  "(x: f32[N,40], b: f32[40]) -> (c: f32[N,1], y: f32[N,40])\n"
	  "  c: f32[N,1] = sum (i, j | r<40) i64(x[i, r] < b[r]) then (x[i, max(0, min(39, index(it - i64(1))))] - "
	  "1.0) / f32(it)\n"
	  "  y: f32[N,40] = map (i, j) max(x[i, j] - c[i, 0], 0.0) * b[j]\n",
	  { "N=5", "N=1" } },
	{ "read_at_results",
	  "(x: f32[N,K], b: f32[K]) -> (c: f32[N], o: f32[N])\n"
	  "  c: f32[N] = sum (i | r<K) i32(x[i, r] < 0.0) then b[max(0, min(K - 1, index(it)))]\n"
	  "  o: f32[N] = sum (i | r<K) i32(c[i] < x[i, r]) then x[i, max(0, min(K - 1, index(it)))] + c[i]\n",
	  { "N=5 K=70", "N=3 K=1", "N=2 K=3000" } },
	{ "read_at_result_of_column",
	  "(x: f32[K,C], b: f32[K]) -> (c: f32[1,C], y: f32[K,C])\n"
	  "  c: f32[1,C] = sum (i, j | r<K) i32(x[r, j] < b[r]) then x[max(0, min(K - 1, index(it))), j] + b[max(0, "
	  "min(K - 1, index(it)))]\n"
	  "  y: f32[K,C] = map (i, j) x[i, j] * c[0, j]\n",
	  { "K=9 C=40", "K=70 C=3", "K=300 C=5" } },
	{ "read_at_total",
	  "(x: f32[K], b: f32[K]) -> (c: f32[], o: f32[])\n"
	  "  c: f32[] = sum ( | r<K) i32(x[r] < b[r]) then x[max(0, min(K - 1, index(it)))]\n"
	  "  o: f32[] = max ( | r<K) x[r] then it + b[max(0, min(K - 1, index(it)))] * c[]\n",
	  { "K=70", "K=5000" } },
	{ "read_at_result_of_window",
	  "(x: f32[2,H,W], b: f32[12]) -> (y: f32[2,H,W])\n"
	  "  y: f32[2,H,W] = sum (i, j, k | r<3, s<3) select(and(j + r < H, k + s < W), i32(x[i, j + r, k + s] < 0.5), "
	  "i32(0)) then b[index(it)] * x[i, j, k]\n",
	  { "H=9 W=40", "H=5 W=7" } },
	{ "sum_last",
	  "(x: f32[N,K]) -> (y: f32[N])\n  y: f32[N] = sum (i | r<K) x[i, r]\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=0 K=3", "N=2 K=3000", "N=9 K=33" } },
	/* Longer than the registers of half a multiprocessor: shared memory has the rest. */
	{ "softmax_long_rows",
	  "(x: f32[N,20484]) -> (y: f32[N,20484])\n"
	  "  largest: f32[N,1] = max (i, j | r<20484) x[i, r]\n"
	  "  total: f32[N,1] = sum (i, j | r<20484) exp(x[i, r] - largest[i, 0])\n"
	  "  y: f32[N,20484] = map (i, j) exp(x[i, j] - largest[i, 0]) / total[i, 0]\n",
	  { "N=2" } },
	{ "sum_first",
	  "(x: f32[N,K]) -> (y: f32[K])\n  y: f32[K] = sum (i | r<N) x[r, i] then it / f32(N)\n",
	  { "N=70 K=5", "N=1 K=1", "N=3 K=40" } },
	{ "sum_middle",
	  "(x: f16[A,B,C]) -> (y: f16[A,1,C])\n  y: f16[A,1,C] = sum (i, j, k | r<B) f32(x[i, r, k])\n",
	  { "A=2 B=30 C=3", "A=1 B=1 C=1", "A=3 B=2 C=0" } },
	{ "sum_two_axes",
	  "(x: f32[A,B,C,D]) -> (y: f32[B,D])\n"
	  "  y: f32[B,D] = sum (i, j | r<A, s<C) let a = x[r, i, s, j]; a * a then sqrt(it) + f32(j)\n",
	  { "A=2 B=3 C=20 D=2", "A=1 B=1 C=1 D=1", "A=5 B=2 C=1 D=3", "A=0 B=2 C=3 D=3" } },
	{ "sum_all",
	  "(x: f64[A,B]) -> (y: f64[])\n  y: f64[] = sum ( | r<A, s<B) x[r, s]\n",
	  { "A=30 B=11", "A=1 B=1", "A=0 B=3" } },
	{ "sum_none", "(x: f32[A]) -> (y: f32[A])\n  y: f32[A] = sum (i) x[i] then it * 2.0\n", { "A=5", "A=0" } },
	{ "max_min",
	  "(t_x: f32[N,K], z: i32[N,K]) -> (y: f32[N], o: i32[N])\n"
	  "  y: f32[N] = max (i | r<K) t_x[i, r]\n"
	  "  o: i32[N] = min (i | r<K) z[i, r]\n",
	  { "N=9 K=70", "N=4 K=1", "N=2 K=0" } },
	{ "prod_u8",
	  "(x: u8[N,33]) -> (y: u8[N], o: i32[N])\n"
	  "  y: u8[N] = prod (i | r<33) x[i, r] + u8(1)\n"
	  "  o: i32[N] = sum (i | r<33) i32(x[i, r])\n",
	  { "N=6" } },
	{ "sum_i8_wraps",
	  "(n_x: i8[N,200]) -> (y: i8[N], o: i16[N])\n"
	  "  y: i8[N] = sum (i | r<200) n_x[i, r] * i8(60)\n"
	  "  o: i16[N] = max (i | r<200) i16(n_x[i, r]) * i16(5000)\n",
	  { "N=3" } },
	{ "bool_reductions",
	  "(x: bool[N,K], f: f32[N,K]) -> (y: bool[N], o: bool[N], c: i64[N])\n"
	  "  y: bool[N] = all (i | r<K) or(x[i, r], f[i, r] < 1.9)\n"
	  "  o: bool[N] = any (i | r<K) and(x[i, r], 1.9 < f[i, r])\n"
	  "  c: i64[N] = sum (i | r<K) i64(x[i, r])\n",
	  { "N=9 K=70", "N=4 K=1", "N=2 K=0", "N=3 K=1500" } },
	{ "arg_reductions",
	  "(t_x: f32[N,K]) -> (a: i64[N], b: i64[N], c: i32[N], d: i64[N])\n"
	  "  a: i64[N] = argmax (i | r<K) t_x[i, r]\n"
	  "  b: i64[N] = argmin (i | r<K) t_x[i, r]\n"
	  "  c: i32[N] = argmax_last (i | r<K) t_x[i, r]\n"
	  "  d: i64[N] = argmin_last (i | r<K) t_x[i, r]\n",
	  { "N=9 K=70", "N=4 K=1", "N=40 K=5", "N=3 K=1300" } },
	{ "arg_reductions_int",
	  "(t_x: i32[N,K,2], t_z: u8[K]) -> (a: i64[N], b: i64[N], c: i64[])\n"
	  "  a: i64[N] = argmax (i | r<K, s<2) t_x[i, r, s]\n"
	  "  b: i64[N] = argmin_last (i | r<K, s<2) t_x[i, r, s]\n"
	  "  c: i64[] = argmax_last ( | r<K) t_z[r]\n",
	  { "N=4 K=70", "N=2 K=1", "N=3 K=0" } },
	/* Rows that vectors divide; one input is read along the row, the other is uniform. */
	{ "arg_vectors",
	  "(t_x: f16[N,1024], t_z: i32[N,3,256], t_u: u8[2,1024], c: f32[N]) -> (a: i64[N], b: i64[N], c2: i32[N], d: "
	  "i64[N], e: i64[2], f: i64[2])\n"
	  "  a: i64[N] = argmax (i | r<1024) f32(t_x[i, r])\n"
	  "  b: i64[N] = argmin_last (i | r<1024) f32(t_x[i, r]) * c[i]\n"
	  "  c2: i32[N] = argmax_last (i | r<3, s<256) t_z[i, r, s]\n"
	  "  d: i64[N] = argmin (i | r<3, s<256) t_z[i, r, s]\n"
	  "  e: i64[2] = argmax (i | r<1024) t_u[i, r]\n"
	  "  f: i64[2] = argmin_last (i | r<1024) t_u[i, r]\n",
	  { "N=3", "N=1" } },
	{ "argmax_all_lowest",
	  "(x: f32[3,64]) -> (a: i64[3], b: i64[3])\n"
	  "  a: i64[3] = argmax (i | r<64) select(r < 5, -inf, x[i, r] * 0.0 - inf)\n"
	  "  b: i64[3] = argmin_last (i | r<64) select(r < 5, inf, inf)\n",
	  { "" } },
	{ "matmul",
	  "(a: f32[A,K], b: f32[K,C], c: f32[C]) -> (y: f32[A,C])\n"
	  "  y: f32[A,C] = sum (i, j | r<K) a[i, r] * b[r, j] then max(it + c[j], 0.0)\n",
	  { "A=3 K=17 C=5", "A=1 K=1 C=1", "A=2 K=0 C=3" } },
	{ "depthwise",
	  "(x: f16[N,3,8,10], weight: f16[3,1,3,3], b: f32[3]) -> (y: f16[N,3,8,10], p: f32[N,3,4,5], q: "
	  "i32[N,3,8,8])\n"
	  "  y: f16[N,3,8,10] = sum (i, j, k, l | r<1, s<3, t<3) select(and(and(1 <= k + s, k + s < 9), and(1 <= l + "
	  "t, l + t < 11)), f32(x[i, j, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, 0, s, t]) then f16(it + b[j] * "
	  "f32(l))\n"
	  "  p: f32[N,3,4,5] = max (i, j, k, l | r<2, s<2) f32(x[i, j, 2 * k + r, 2 * l + s])\n"
	  "  q: i32[N,3,8,8] = sum (i, j, k, l | r<3) i32(f32(x[i, j, k, l + r]) * 8.0) + i32(r)\n",
	  { "N=2", "N=0" } },
	/* windows whose rows and columns are open, of all remainders; constant ones that no shape of neighbours divides
	 */
	{ "depthwise_open",
	  "(x: f16[N,2,H,W], weight: f16[2,1,3,3]) -> (y: f16[N,2,H,W], p: f16[N,2,floordiv(H + 1, 2),floordiv(W + "
	  "1, 2)], z: f32[N,2,H,W])\n"
	  "  y: f16[N,2,H,W] = sum (i, j, k, l | r<1, s<3, t<3) select(and(and(1 <= k + s, k + s < H + 1), and(1 <= l "
	  "+ t, l + t < W + 1)), f32(x[i, j, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, 0, s, t]) then f16(it)\n"
	  "  p: f16[N,2,floordiv(H + 1, 2),floordiv(W + 1, 2)] = max (i, j, k, l | r<3, s<3) select(and(and(0 <= k * 2 "
	  "+ r - 1, k * 2 + r - 1 < H), and(0 <= l * 2 + s - 1, l * 2 + s - 1 < W)), f32(x[i, j, k * 2 + r - 1, l * 2 "
	  "+ s - 1]), -inf) then f16(it)\n"
	  "  z: f32[N,2,H,W] = max (i, j, k, l | r<3) f32(x[i, j, k, min(W - 1, l + r)])\n",
	  { "N=1 H=8 W=16", "N=2 H=5 W=9", "N=1 H=1 W=1", "N=1 H=4 W=10", "N=1 H=13 W=24", "N=0 H=3 W=3" } },
	{ "depthwise_odd",
	  "(x: f32[N,11,13]) -> (y: f32[N,11,13])\n"
	  "  y: f32[N,11,13] = sum (i, j, k | r<5, s<3) select(and(and(2 <= j + r, j + r < 13), and(1 <= k + s, k + s "
	  "< 14)), x[i, j + r - 2, k + s - 1], 0.0) * f32(r * 3 + s) then it * 0.5\n",
	  { "N=3", "N=1", "N=0" } },
	/* windows of more points, which move by one or two */
	{ "depthwise_large",
	  "(x: f16[N,2,H,W], weight: f32[2,5,5], b: f16[2]) -> (y: f16[N,2,floordiv(H + 1, 2),floordiv(W + 1, 2)], z: "
	  "f32[N,2,H,W])\n"
	  "  y: f16[N,2,floordiv(H + 1, 2),floordiv(W + 1, 2)] = sum (i, j, k, l | r<5, s<5) select(and(and(0 <= k * 2 "
	  "+ r - 2, k * 2 + r - 2 < H), and(0 <= l * 2 + s - 2, l * 2 + s - 2 < W)), f32(x[i, j, k * 2 + r - 2, l * 2 "
	  "+ s - 2]), 0.0) * weight[j, r, s] then f16(it * f32(l) + f32(b[j]))\n"
	  "  z: f32[N,2,H,W] = max (i, j, k, l | r<11) f32(x[i, j, k, min(W - 1, l + r)])\n",
	  { "N=1 H=16 W=16", "N=2 H=5 W=9", "N=1 H=1 W=1", "N=1 H=13 W=22", "N=0 H=3 W=3" } },
	/* several reductions of the same windows, and maps of their results */
	{ "window_positions",
	  "(t_x: f32[N,2,8,15]) -> (y: f32[N,2,4,8], p: i64[N,2,4,8], q: i32[N,2,4,8])\n"
	  "  y: f32[N,2,4,8] = max (i, j, k, l | r<3, s<3) select(and(and(0 <= k * 2 + r - 1, 0 <= l * 2 + s - 1), l * "
	  "2 + s - 1 < 15), t_x[i, j, k * 2 + r - 1, l * 2 + s - 1], -inf)\n"
	  "  a: i64[N,2,4,8] = argmax (i, j, k, l | r<3, s<3) select(and(and(0 <= k * 2 + r - 1, 0 <= l * 2 + s - 1), "
	  "l * 2 + s - 1 < 15), t_x[i, j, k * 2 + r - 1, l * 2 + s - 1], -inf)\n"
	  "  p: i64[N,2,4,8] = map (i, j, k, l) i64(i * 240 + j * 120 + (k * 2 + floordiv(index(a[i, j, k, l]), 3) - "
	  "1) * 15 + l * 2 + mod(index(a[i, j, k, l]), 3) - 1)\n"
	  "  q: i32[N,2,4,8] = map (i, j, k, l) i32(p[i, j, k, l])\n",
	  { "N=2", "N=1", "N=0" } },
	{ "window_spread",
	  "(t_x: f16[N,3,6,16], b: f32[3,6,16]) -> (y: f16[N,3,6,16], z: f32[N,3,12,8], h: f32[N,3,3,8], e: "
	  "i32[N,3,3,8])\n"
	  "  h: f32[N,3,3,8] = sum (i, j, k, l | r<2, s<2) f32(t_x[i, j, 2 * k + r, 2 * l + s]) then it * 0.25 + b[j, "
	  "k, l]\n"
	  "  a: i64[N,3,3,8] = argmax_last (i, j, k, l | r<2, s<2) f32(t_x[i, j, 2 * k + r, 2 * l + s])\n"
	  "  e: i32[N,3,3,8] = argmin (i, j, k, l | r<2, s<2) f32(t_x[i, j, 2 * k + r, 2 * l + s])\n"
	  "  y: f16[N,3,6,16] = map (i, j, k, l) select(index(a[i, j, floordiv(k, 2), floordiv(l, 2)]) == mod(k, 2) * "
	  "2 + mod(l, 2), f16(h[i, j, floordiv(k, 2), floordiv(l, 2)] + b[j, k, l]), f16(b[0, k, l]))\n"
	  "  z: f32[N,3,12,8] = map (i, j, k, l) h[i, j, floordiv(k, 4), l] * f32(e[i, j, floordiv(k, 4), l] + i32(1)) "
	  "+ f32(mod(k, 4))\n",
	  { "N=2", "N=0" } },
	{ "window_rows",
	  "(t_x: u8[A,B,3 * C], b: u8[C]) -> (y: u8[A,5 * B,3 * C], h: u8[A,B,C])\n"
	  "  h: u8[A,B,C] = min (i, j, k | r<3) i32(t_x[i, j, 3 * k + r])\n"
	  "  a: i32[A,B,C] = argmin_last (i, j, k | r<3) i32(t_x[i, j, 3 * k + r])\n"
	  "  y: u8[A,5 * B,3 * C] = map (i, j, k) select(index(a[i, floordiv(j, 5), floordiv(k, 3)]) == mod(k, 3), "
	  "h[i, floordiv(j, 5), floordiv(k, 3)], b[floordiv(k, 3)])\n",
	  { "A=2 B=3 C=4", "A=1 B=1 C=1", "A=2 B=2 C=0", "A=3 B=4 C=7" } },
	/* A mask whose rows are aligned otherwise than those of the data, and may be shorter than two vectors. */
	{ "softmax_odd_mask",
	  "(x: f16[N,3,5,67], c: bool[N,1,5,67], d: f32[5,67]) -> (y: f16[N,3,5,67])\n"
	  "  a: f32[N,3,5,1] = max (i, j, k, l | r<67) f32(select(c[i, 0, k, r], x[i, j, k, r], f16(-10000.0))) + d[k, "
	  "r]\n"
	  "  b: f32[N,3,5,1] = sum (i, j, k, l | r<67) exp(f32(select(c[i, 0, k, r], x[i, j, k, r], f16(-10000.0))) + "
	  "d[k, r] - "
	  "a[i, j, k, 0])\n"
	  "  y: f16[N,3,5,67] = map (i, j, k, l) f16(exp(f32(select(c[i, 0, k, l], x[i, j, k, l], f16(-10000.0))) + "
	  "d[k, l] - "
	  "a[i, j, k, 0]) / b[i, j, k, 0])\n",
	  { "N=1", "N=4", "N=0" } },
	/* The best class, its probability, and the place of the least: also in rows that begin anywhere. */
	{ "rows_scores",
	  "(x: f32[N,K], z: f16[N,129]) -> (a: f32[N], o: i64[N], p: i64[N], e: f16[N,129], q: i32[N], none: i64[N])\n"
	  "  m0: f32[N,1] = max (i, j | r<K) x[i, r]\n"
	  "  m1: f32[N,1] = sum (i, j | r<K) exp(x[i, r] - m0[i, 0])\n"
	  "  a: f32[N] = max (i | r<K) exp(x[i, r] - m0[i, 0]) / m1[i, 0]\n"
	  "  o: i64[N] = argmax (i | r<K) i32(x[i, r] * 3.0)\n"
	  "  p: i64[N] = argmin_last (i | r<K) x[i, r]\n"
	  "  none: i64[N] = argmax (i | r<K) select(x[i, r] < 9.0, f32(-inf), x[i, r])\n"
	  "  m2: f32[N,1] = max (i, j | r<129) f32(z[i, r])\n"
	  "  e: f16[N,129] = map (i, j) f16(exp(f32(z[i, j]) - m2[i, 0]))\n"
	  "  q: i32[N] = argmax (i | r<129) i32(z[i, r])\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=2 K=3000", "N=9 K=36", "N=0 K=3" } },
	/* One reads a mask of another layout, which a later stage reads, too; the other one reads a value of the row.
	 */
	{ "rows_scores_masked",
	  "(x: f16[N,3,67], c: bool[N,67]) -> (y: f16[N,3,67], o: i64[N,3], p: i64[N,3])\n"
	  "  m0: f32[N,3,1] = max (i, j, k | r<67) f32(x[i, j, r])\n"
	  "  m1: f32[N,3,1] = sum (i, j, k | r<67) exp(f32(x[i, j, r]) - m0[i, j, 0])\n"
	  "  o: i64[N,3] = argmax (i, j | r<67) i32(select(c[i, r], x[i, j, r], f16(-10.0)))\n"
	  "  p: i64[N,3] = argmin (i, j | r<67) f32(x[i, j, r]) * m0[i, j, 0]\n"
	  "  y: f16[N,3,67] = map (i, j, k) f16(exp(f32(select(c[i, k], x[i, j, k], f16(-10.0))) - m0[i, j, 0]) / "
	  "m1[i, j, 0])\n",
	  { "N=3", "N=1" } },
	{ "rows_scores_turned",
	  "(x: f32[N,12,24]) -> (y: f32[N,24,12], o: i64[N,24])\n"
	  "  m0: f32[N,24,1] = max (i, j, k | r<12) x[i, r, j]\n"
	  "  y: f32[N,24,12] = map (i, j, k) exp(x[i, k, j] - m0[i, j, 0])\n"
	  "  o: i64[N,24] = argmax (i, j | r<12) i32(x[i, r, j])\n",
	  { "N=3", "N=1" } },
	/* Values of rows side by side, as concatenated means and largest elements; and one that is read again. */
	{ "rows_joined",
	  "(x: f32[N,6,K], b: f32[12]) -> (y: f32[N,12,1], o: f32[N,6,3], a: f32[N,6])\n"
	  "  m0: f32[N,6,1] = sum (i, j, k | r<K) x[i, j, r]\n"
	  "  m1: f32[N,6,1] = max (i, j, k | r<K) x[i, j, r] - m0[i, j, 0]\n"
	  "  y: f32[N,12,1] = map (i, j, k) select(j < 6, m0[i, j, 0], m1[i, j - 6, 0]) + b[j]\n"
	  "  o: f32[N,6,3] = map (i, j, k) select(k < 1, m1[i, j, 0], select(k < 2, m0[i, j, 0], m1[i, j, 0] * 2.0))\n"
	  "  a: f32[N,6] = map (i, j) y[i, j + 6, 0] * 2.0\n",
	  { "N=3 K=70", "N=1 K=1", "N=2 K=0", "N=2 K=3000", "N=5 K=36", "N=0 K=3" } },
	{ "rows_joined_fixed",
	  "(x: f16[N,5,129], z: f32[N,12,24]) -> (y: f16[N,10], o: f32[N,24,2])\n"
	  "  m0: f32[N,5,1] = sum (i, j, k | r<129) f32(x[i, j, r])\n"
	  "  m1: f16[N,5,1] = max (i, j, k | r<129) f32(x[i, j, r])\n"
	  "  y: f16[N,10] = map (i, j) select(j < 5, f16(m0[i, j, 0]), m1[i, j - 5, 0])\n"
	  "  m2: f32[N,24,1] = sum (i, j, k | r<12) z[i, r, j]\n"
	  "  m3: f32[N,24,1] = max (i, j, k | r<12) z[i, r, j] * m2[i, j, 0]\n"
	  "  o: f32[N,24,2] = map (i, j, k) select(k < 1, m3[i, j, 0], m2[i, j, 0])\n",
	  { "N=3", "N=1" } },
	{ "rows_joined_open",
	  "(x: f32[N,C,K]) -> (y: f32[N,2 * C,1])\n"
	  "  m0: f32[N,C,1] = sum (i, j, k | r<K) x[i, j, r]\n"
	  "  m1: f32[N,C,1] = max (i, j, k | r<K) x[i, j, r]\n"
	  "  y: f32[N,2 * C,1] = map (i, j, k) select(j < C, m0[i, j, 0], m1[i, j - C, 0])\n",
	  { "N=3 C=5 K=70", "N=1 C=1 K=1", "N=2 C=3 K=0", "N=2 C=0 K=8" } },
	{ "across_joined",
	  "(x: f16[N,C,H], b: f32[3,H]) -> (y: f16[N,2,H], o: f32[3,N,H])\n"
	  "  m0: f32[N,1,H] = sum (i, j, k | r<C) f32(x[i, r, k])\n"
	  "  m1: f16[N,1,H] = max (i, j, k | r<C) f32(x[i, r, k])\n"
	  "  y: f16[N,2,H] = map (i, j, k) select(j < 1, f16(m0[i, 0, k]), m1[i, 0, k])\n"
	  "  o: f32[3,N,H] = map (i, j, k) f32(m1[j, 0, k]) * b[i, k]\n",
	  { "N=2 C=19 H=24", "N=1 C=3 H=7", "N=3 C=70 H=16", "N=2 C=2 H=8", "N=1 C=0 H=8", "N=0 C=3 H=4" } },
	{ "across_joined_fixed",
	  "(x: f16[N,4,64]) -> (y: f16[N,2,64])\n"
	  "  m0: f32[N,1,64] = sum (i, j, k | r<4) f32(x[i, r, k]) then it * 0.25\n"
	  "  m1: f16[N,1,64] = max (i, j, k | r<4) f32(x[i, r, k])\n"
	  "  y: f16[N,2,64] = map (i, j, k) select(j < 1, f16(m0[i, 0, k]), m1[i, 0, k])\n",
	  { "N=3", "N=1" } },
	/* Rows that end a little after whole steps of their lanes: the last vectors have one, two or four elements. */
	{ "softmax_after_steps",
	  "(x: f16[N,3,129], c: bool[N,1,129], z: f16[N,70], d: f16[70]) -> (y: f16[N,3,129], o: f16[N,70], m0: "
	  "f32[N,1])\n"
	  "  a: f32[N,3,1] = max (i, j, k | r<129) f32(select(c[i, 0, r], x[i, j, r], f16(-10000.0)))\n"
	  "  b: f32[N,3,1] = sum (i, j, k | r<129) exp(f32(select(c[i, 0, r], x[i, j, r], f16(-10000.0))) - a[i, j, "
	  "0])\n"
	  "  y: f16[N,3,129] = map (i, j, k) f16(exp(f32(select(c[i, 0, k], x[i, j, k], f16(-10000.0))) - a[i, j, 0]) "
	  "/ "
	  "b[i, j, 0])\n"
	  "  m0: f32[N,1] = sum (i, j | r<70) f32(z[i, r]) then it / 70.0\n"
	  "  o: f16[N,70] = map (i, j) f16((f32(z[i, j]) - m0[i, 0]) * f32(d[j]))\n",
	  { "N=1", "N=3", "N=0" } },
	/* The same with as many rows as the mask needs for vectors that stay within it, and too few. */
	{ "softmax_mask_within",
	  "(x: f16[4,3,129], c: bool[4,1,129], z: f16[3,133], d: u8[133]) -> (y: f16[4,3,129], o: f16[3,133])\n"
	  "  a: f32[4,3,1] = max (i, j, k | r<129) f32(select(c[i, 0, r], x[i, j, r], f16(-10000.0)))\n"
	  "  y: f16[4,3,129] = map (i, j, k) f16(exp(f32(select(c[i, 0, k], x[i, j, k], f16(-10000.0))) - a[i, j, "
	  "0]))\n"
	  "  m0: f32[3,1] = sum (i, j | r<133) f32(z[i, r]) * f32(d[r]) then it / 133.0\n"
	  "  o: f16[3,133] = map (i, j) f16((f32(z[i, j]) * f32(d[j]) - m0[i, 0]))\n",
	  { "" } },
	{ "norm_after_steps",
	  "(x: f16[N,268], y: f32[N,133]) -> (o: f16[N,268], p: f32[N,133])\n"
	  "  m0: f32[N,1] = sum (i, j | r<268) f32(x[i, r]) then it / 268.0\n"
	  "  m1: f32[N,1] = sum (i, j | r<268) let _0 = f32(x[i, r]) - m0[i, 0]; _0 * _0 then sqrt(it / 268.0 + "
	  "1e-05)\n"
	  "  o: f16[N,268] = map (i, j) f16((f32(x[i, j]) - m0[i, 0]) / m1[i, 0])\n"
	  "  m2: f32[N,1] = max (i, j | r<133) y[i, r]\n"
	  "  p: f32[N,133] = map (i, j) exp(y[i, j] - m2[i, 0])\n",
	  { "N=5", "N=1" } },
	{ "softmax_open_mask",
	  "(x: f16[N,3,M], c: u8[N,M]) -> (y: f16[N,3,M])\n"
	  "  a: f32[N,3,1] = max (i, j, k | r<M) f32(x[i, j, r]) * f32(c[i, r])\n"
	  "  y: f16[N,3,M] = map (i, j, k) f16(exp(f32(x[i, j, k]) * f32(c[i, k]) - a[i, j, 0]))\n",
	  { "N=2 M=67", "N=1 M=5", "N=3 M=9", "N=5 M=401" } },
	{ "windows",
	  "(x: f16[N,2,8,16], z: f32[N,4,8], b: u8[N,3,64]) -> (y: f16[N,2,4,8], p: f32[N,4,8], q: i32[N,3,16])\n"
	  "  y: f16[N,2,4,8] = max (i, j, k, l | r<3, s<3) select(and(0 <= k * 2 + r - 1, 0 <= l * 2 + s - 1), "
	  "f32(x[i, j, k * 2 + r - 1, l * 2 + s - 1]), -inf)\n"
	  "  p: f32[N,4,8] = sum (i, j, k | r<3, s<3) select(and(and(0 <= j + r - 1, j + r - 1 < 4), and(0 <= k + s - "
	  "1, k + s - 1 < 8)), z[i, j + r - 1, k + s - 1], f32(s) * 0.5)\n"
	  "  q: i32[N,3,16] = sum (i, j, k | r<4) i32(b[i, j, k * 4 + r]) * i32(b[i, j, 60 - k * 4 + r])\n",
	  { "N=2", "N=1", "N=0" } },
	{ "separable",
	  "(x: f16[N,12,40], z: f32[2]) -> (y: f16[N,6,18])\n"
	  "  weights: f32[6] = sum (i | r<4) max(1.0 - abs(f32(r * 2 - 3)) * 0.25, 0.0) + f32(i) * 0.125\n"
	  "  a: f32[N,6,40] = sum (i, j, k | r<4) (max(1.0 - abs(f32(r * 2 - 3)) * 0.25, 0.0) + f32(j) * 0.125) * "
	  "f32(x[i, min(11, max(0, j * 2 + r - 1)), k]) then it / weights[j]\n"
	  "  y: f16[N,6,18] = sum (i, j, k | r<3) (f32(r) + f32(mod(k, 5)) * 0.5) * a[i, j, min(39, k * 2 + r)] then "
	  "f16(it * 0.25 + z[1])\n",
	  { "N=2", "N=0" } },
	{ "separable_map",
	  "(x: f32[N,8,33]) -> (y: f32[N,8,20])\n"
	  "  a: f32[N,8,33] = max (i, j, k | r<2, s<2) x[i, min(7, j + r), min(32, k + s)]\n"
	  "  y: f32[N,8,20] = map (i, j, k) a[i, j, k] - a[i, j, k + 13] * f32(j)\n",
	  { "N=3" } },
	{ "conv",
	  "(x: u8[1,2,H,H], c: i8[3,2,3,3]) -> (y: i32[1,3,H,H])\n"
	  "  y: i32[1,3,H,H] = sum (i, j, k, l | r<2, s<3, t<3) let a = k + s - 1, b = l + t - 1; select(and(and(0 <= "
	  "a, a < H), and(0 <= b, b < H)), (i32(x[0, r, a, b]) - i32(3)) * i32(c[j, r, s, t]), i32(0))\n",
	  { "H=6", "H=1" } },
	{ "softmax",
	  "(x: f32[N,K]) -> (y: f32[N,K])\n"
	  "  a: f32[N] = max (i | r<K) x[i, r]\n"
	  "  b: f32[N] = sum (i | r<K) exp(x[i, r] - a[i])\n"
	  "  y: f32[N,K] = map (i, j) exp(x[i, j] - a[i]) / b[i]\n",
	  { "N=5 K=12", "N=2 K=1" } },
	{ "planes",
	  "(x: f32[N,8,5], d: f32[N,K,2]) -> (y: f16[N,8,K,4])\n"
	  "  y: f16[N,8,K,4] = map (i, j, k, l) let _0 = (d[i, k, 0] * 1.5 + f32(l)) * (d[i, k, 1] - 0.5) - f32(k) / "
	  "3.0; f16(x[i, j, min(max(index(_0 * _0 + _0), 0), 4)] * _0 + x[i, j, mod(l * 3 + k, 5)])\n",
	  { "N=2 K=5", "N=1 K=1", "N=0 K=3", "N=3 K=70" } },
	/* Loads that planes share, in vectors: along the first axis and a middle one, also under conditions. */
	{ "planes_share_loads",
	  "(x: f32[5,3,4,12], c: f32[4,12], h: f16[N,6,2,8], b: f16[N,2,8], q: u8[N,7,K], d: u8[K]) -> (y: "
	  "f32[5,3,4,12], z: f16[N,6,2,8], o: u8[N,7,K])\n"
	  "  y: f32[5,3,4,12] = map (i, j, k, l) x[i, j, k, l] * c[k, l] + select(l < 6, neg(x[i, j, k, l + 6]), x[i, "
	  "j, k, l - 6]) * c[3 - k, l]\n"
	  "  z: f16[N,6,2,8] = map (i, j, k, l) select(l < 4, h[i, j, 1 - k, l], b[i, k, l - 4])\n"
	  "  o: u8[N,7,K] = map (i, j, k) q[i, j, k] + d[k] + u8(j)\n",
	  { "N=3 K=5", "N=1 K=16", "N=0 K=4" } },
	/* ---- tiles: read along one axis, written along another */
	{ "tile_2d",
	  "(x: f32[A,B], y: f16[A,B], c: f32[A]) -> (o: f32[B,A])\n"
	  "  o: f32[B,A] = map (i, j) (x[j, i] + f32(y[j, i])) * c[j] + f32(i)\n",
	  { "A=40 B=70", "A=1 B=5", "A=32 B=64", "A=0 B=3", "A=33 B=1" } },
	{ "tile_channels",
	  "(x: f16[N,C,H,W]) -> (y: f16[N,H,W,C])\n  y: f16[N,H,W,C] = map (i, j, k, l) x[i, l, j, k]\n",
	  { "N=2 C=33 H=5 W=7", "N=1 C=64 H=1 W=32", "N=3 C=1 H=2 W=3" } },
	{ "tile_pairs",
	  "(x: f16[2,66,132], z: f16[2,66,132], c: f32[66]) -> (y: f16[2,132,66])\n"
	  "  y: f16[2,132,66] = map (i, j, k) f16(f32(x[i, k, j]) * c[k] + f32(z[i, k, j]))\n",
	  { "" } },
	{ "tile_bytes", "(x: u8[128,260]) -> (y: u8[260,128])\n  y: u8[260,128] = map (i, j) x[j, i]\n", { "" } },
	{ "tile_apart",
	  "(x: f16[3,38,12,10]) -> (y: f16[3,10,12,38])\n"
	  "  y: f16[3,10,12,38] = map (i, j, k, l) x[i, l, k, j]\n",
	  { "" } },
	{ "tile_reshaped",
	  "(x: f16[2,3,5,6,40], a: f16[3]) -> (y: f16[2,720,5])\n" /* of 3 x 6 x 40 */
	  "  y: f16[2,720,5] = map (i, j, k) let _0 = x[i, floordiv(j, 240), k, mod(floordiv(j, 40), 6), mod(j, 40)]; "
	  "select(k < 2, f16(f32(_0) * f32(a[floordiv(j, 240)])), _0)\n",
	  { "" } },
	{ "columns_pairs",
	  "(x: f16[3,82,24], c: f32[82], b: f16[24]) -> (y: f16[3,24])\n"
	  "  y: f16[3,24] = sum (i, j | r<82) f32(x[i, r, j]) * c[r] then f16(it + f32(b[j]))\n",
	  { "" } },
	{ "columns_largest",
	  "(x: f16[300,40], z: f32[300,40]) -> (y: f32[40])\n"
	  "  y: f32[40] = max (i | r<300) max(f32(x[r, i]), z[r, i])\n",
	  { "" } },
	{ "columns_of_two",
	  "(x: u8[N,5,6,16]) -> (y: i32[N,16])\n"
	  "  y: i32[N,16] = sum (i, j | r<5, s<6) i32(x[i, r, s, j])\n",
	  { "N=3", "N=0" } },
	{ "tile_reversed",
	  "(x: f64[A,B,C]) -> (y: f64[C,B,A])\n"
	  "  y: f64[C,B,A] = map (i, j, k) select(i < 3, x[k, j, i] + x[k, j, i], x[k, j, i] + f64(j))\n",
	  { "A=5 B=3 C=40", "A=35 B=1 C=2" } },
	/* ---- rows across memory (strided) */
	{ "across_softmax",
	  "(x: f16[N,19,6,8], b: f32[6,8]) -> (y: f16[N,19,6,8], s0: f32[N,1,6,8])\n"
	  "  m0: f16[N,1,6,8] = max (i, j, k, l | r<19) f32(x[i, r, k, l])\n"
	  "  s0: f32[N,1,6,8] = sum (i, j, k, l | r<19) exp(f32(x[i, r, k, l]) - f32(m0[i, 0, k, l])) then it + b[k, "
	  "l]\n"
	  "  y: f16[N,19,6,8] = map (i, j, k, l) f16(exp(f32(x[i, j, k, l]) - f32(m0[i, 0, k, l])) / s0[i, 0, k, l])\n",
	  { "N=2", "N=1", "N=0", "N=15" } },
	{ "across_norm",
	  "(x: f32[3,40,7], z: f16[3,40,7], c: f32[40]) -> (y: f32[3,40,7])\n"
	  "  m0: f32[3,7] = sum (i, j | r<40) x[i, r, j] * f32(z[i, r, j]) then it / 40.0\n"
	  "  v0: f32[3,7] = sum (i, j | r<40) let _0 = x[i, r, j] - m0[i, j]; _0 * _0\n"
	  "  s0: f32[3,7] = map (i, j) 1.0 / sqrt(v0[i, j] / 40.0 + f32(0.00001))\n"
	  "  y: f32[3,40,7] = map (i, j, k) (x[i, j, k] - m0[i, k]) * s0[i, k] * c[j]\n",
	  { "" } },
	/* The best class, its probability, and the place of the least. */
	{ "across_scores",
	  "(x: f32[N,C,H]) -> (a: f32[N,H], o: i64[N,H], p: i32[N,H], none: i64[N,H])\n"
	  "  m0: f32[N,1,H] = max (i, j, k | r<C) x[i, r, k]\n"
	  "  m1: f32[N,1,H] = sum (i, j, k | r<C) exp(x[i, r, k] - m0[i, 0, k])\n"
	  "  a: f32[N,H] = max (i, j | r<C) exp(x[i, r, j] - m0[i, 0, j]) / m1[i, 0, j]\n"
	  "  o: i64[N,H] = argmax (i, j | r<C) i32(x[i, r, j] * 3.0)\n"
	  "  none: i64[N,H] = argmin (i, j | r<C) select(x[i, r, j] < 9.0, f32(inf), x[i, r, j])\n"
	  "  p: i32[N,H] = argmin_last (i, j | r<C) x[i, r, j]\n",
	  { "N=2 C=21 H=36", "N=1 C=2 H=7", "N=3 C=70 H=16", "N=1 C=0 H=8", "N=0 C=3 H=4" } },
	{ "across_scores_fixed",
	  "(x: f16[N,4,64]) -> (a: f16[N,64], o: i64[N,64])\n"
	  "  m0: f32[N,1,64] = max (i, j, k | r<4) f32(x[i, r, k])\n"
	  "  m1: f32[N,1,64] = sum (i, j, k | r<4) exp(f32(x[i, r, k]) - m0[i, 0, k])\n"
	  "  a: f16[N,64] = max (i, j | r<4) f32(f16(exp(f32(x[i, r, j]) - m0[i, 0, j]) / m1[i, 0, j]))\n"
	  "  o: i64[N,64] = argmax_last (i, j | r<4) i32(x[i, r, j])\n",
	  { "N=3", "N=1" } },
	{ "across_columns",
	  "(x: f32[32,K]) -> (y: f32[32,K])\n"
	  "  m0: f32[1,K] = max (i, j | r<32) x[r, j]\n"
	  "  y: f32[32,K] = map (i, j) x[i, j] - m0[0, j]\n",
	  { "K=32", "K=1", "K=0", "K=100" } },
	/* Rows of open length, which registers hold or not, with any number of columns. */
	{ "across_open",
	  "(x: f16[N,A,K], b: f32[A,K]) -> (y: f16[N,A,K], s0: f32[N,1,K])\n"
	  "  m0: f32[N,1,K] = max (i, j, k | r<A) f32(x[i, r, k]) + b[r, k]\n"
	  "  s0: f32[N,1,K] = sum (i, j, k | r<A) exp(f32(x[i, r, k]) + b[r, k] - m0[i, 0, k]) then it + f32(k)\n"
	  "  y: f16[N,A,K] = map (i, j, k) f16(exp(f32(x[i, j, k]) + b[j, k] - m0[i, 0, k]) / s0[i, 0, k])\n",
	  { "N=2 A=70 K=8", "N=2 A=0 K=3", "N=1 A=19 K=13" } },
	/* Elements of a table at the row's own result: they follow the reduction. */
	{ "across_table",
	  "(n_x: i32[N,12,24], table: f32[40,12]) -> (y: f32[N,12,24])\n"
	  "  top: i32[N,1,24] = max (i, j, k | r<12) n_x[i, r, k]\n"
	  "  y: f32[N,12,24] = map (i, j, k) table[min(max(index(top[i, 0, k]), 0), 39), j] + f32(n_x[i, j, k])\n",
	  { "N=3", "N=1" } },
	/* The same with one element for each row, in another reduction and in a map. */
	{ "rows_table_element",
	  "(n_x: i32[N,64], table: f32[40]) -> (y: f32[N,64], o: f32[N,1])\n"
	  "  top: i32[N,1] = max (i, j | r<64) n_x[i, r]\n"
	  "  o: f32[N,1] = sum (i, j | r<64) f32(n_x[i, r]) * table[min(max(index(top[i, 0]), 0), 39)] then it + "
	  "table[min(max(index(top[i, 0]) + 1, 0), 39)]\n"
	  "  y: f32[N,64] = map (i, j) table[min(max(index(top[i, 0]), 0), 39)] * f32(n_x[i, j])\n",
	  { "N=3", "N=1" } },
	/* Rows of one element, as a tree's vote. */
	{ "rows_table_vote",
	  "(n_x: i32[N,1], table: f32[40], next: i32[40]) -> (y: f32[N,1], o: i64[N,1])\n"
	  "  votes: i32[N,1] = sum (i, j | r<1) next[min(max(index(n_x[i, r]), 0), 39)]\n"
	  "  y: f32[N,1] = map (i, j) table[min(max(index(votes[i, j]), 0), 39)]\n"
	  "  o: i64[N,1] = map (i, j) i64(votes[i, 0])\n",
	  { "N=3", "N=1", "N=70" } },
	{ "rows_table",
	  "(n_x: i32[N,64], table: f32[40,64]) -> (y: f32[N,64])\n"
	  "  top: i32[N,1] = max (i, j | r<64) n_x[i, r]\n"
	  "  y: f32[N,64] = map (i, j) table[min(max(index(top[i, 0]), 0), 39), j] + f32(n_x[i, j])\n",
	  { "N=3", "N=1" } },
	/* Rows as long as the axis across them. */
	{ "across_square",
	  "(x: f32[2,8,8]) -> (y: f32[2,8,8])\n"
	  "  m0: f32[2,8] = sum (i, j | r<8) x[i, r, j]\n"
	  "  y: f32[2,8,8] = map (i, j, k) x[i, j, k] / m0[i, k]\n",
	  { "" } },
	/* Rows that lie across an input, across a result, or across both in turn. */
	{ "turned_norm",
	  "(x: f16[N,40,T], z: f16[N,T,40], c: f32[40]) -> (y: f16[N,T,40], s0: f32[N,T,1])\n"
	  "  m0: f32[N,T,1] = sum (i, j, k | r<40) f32(x[i, r, j]) + f32(z[i, j, r]) then it / 40.0\n"
	  "  v0: f32[N,T,1] = sum (i, j, k | r<40) let _0 = f32(x[i, r, j]) + f32(z[i, j, r]) - m0[i, j, 0]; _0 * _0\n"
	  "  s0: f32[N,T,1] = map (i, j, k) 1.0 / sqrt(v0[i, j, 0] / 40.0 + f32(0.00001))\n"
	  "  y: f16[N,T,40] = map (i, j, k) f16((f32(x[i, k, j]) + f32(z[i, j, k]) - m0[i, j, 0]) * s0[i, j, 0] * "
	  "c[k])\n",
	  { "N=2 T=24", "N=1 T=7", "N=3 T=1", "N=0 T=5" } },
	{ "turned_result",
	  "(x: f32[2,30,33], b: f32[33]) -> (y: f32[2,33,30], z: f32[2,30,33])\n"
	  "  m0: f32[2,30] = max (i, j | r<33) x[i, j, r]\n"
	  "  s0: f32[2,30] = sum (i, j | r<33) exp(x[i, j, r] - m0[i, j])\n"
	  "  y: f32[2,33,30] = map (i, j, k) exp(x[i, k, j] - m0[i, k]) / s0[i, k] + b[j]\n"
	  "  z: f32[2,30,33] = map (i, j, k) x[i, j, k] - m0[i, j] + b[k]\n",
	  { "" } },
	{ "turned_open",
	  "(x: f32[A,H,W], b: f32[A]) -> (y: f32[H,W,A], s0: f32[H,W])\n"
	  "  m0: f32[H,W] = max (i, j | r<A) x[r, i, j] + b[r]\n"
	  "  s0: f32[H,W] = sum (i, j | r<A) exp(x[r, i, j] + b[r] - m0[i, j])\n"
	  "  y: f32[H,W,A] = map (i, j, k) exp(x[k, i, j] + b[k] - m0[i, j]) / s0[i, j]\n",
	  { "A=64 H=3 W=8", "A=70 H=2 W=5", "A=0 H=2 W=3", "A=500 H=1 W=33" } },
	/* Two rows a block, since registers have no room for more. */
	{ "turned_long",
	  "(x: f32[4097,T], z: f32[T,4097]) -> (y: f32[T,4097])\n"
	  "  s0: f32[T] = sum (i | r<4097) let _0 = x[r, i] + z[i, r]; _0 * _0 then sqrt(it / 4097.0)\n"
	  "  y: f32[T,4097] = map (i, j) (x[j, i] + z[i, j]) / s0[i]\n",
	  { "T=5" } },
	{ "across_not",
	  "(x: f32[2,8,8]) -> (y: f32[2,8,8])\n" /* the other rows' */
	  "  m0: f32[2,8] = sum (i, j | r<8) x[i, r, j]\n"
	  "  y: f32[2,8,8] = map (i, j, k) x[i, j, k] / m0[i, j]\n",
	  { "" } },
	/* ---- rows: several stages on a row */
	{ "rows_norm",
	  "(x: f16[N,A,96], z: f16[N,A,96], c: f32[96]) -> (y: f16[N,A,96], s0: f32[N,A,1])\n"
	  "  m0: f32[N,A,1] = sum (i, j, k | r<96) f32(x[i, j, r]) + f32(z[i, j, r]) then it / 96.0\n"
	  "  v0: f32[N,A,1] = sum (i, j, k | r<96) let _0 = f32(x[i, j, r]) + f32(z[i, j, r]) - m0[i, j, 0]; _0 * _0\n"
	  "  s0: f32[N,A,1] = map (i, j, k) 1.0 / sqrt(v0[i, j, 0] / 96.0 + f32(0.00001))\n"
	  "  y: f16[N,A,96] = map (i, j, k) f16((f32(x[i, j, k]) + f32(z[i, j, k]) - m0[i, j, 0]) * s0[i, j, 0] * c[k] "
	  "+ f32(j))\n",
	  { "N=3 A=5", "N=1 A=1", "N=0 A=2", "N=2 A=64" } },
	{ "rows_quantised",
	  "(x: f16[N,K], z: u8[1]) -> (q: i8[N,K], q1: u8[N,K], q2: i16[N,K], y: f16[N,K])\n" /* f16 on the way */
	  "  b: f32[N,1] = sum (i, j | r<K) f32(x[i, r]) * f32(x[i, r]) then select(sqrt(it) == 0.0, inf, sqrt(it))\n"
	  "  q: i8[N,K] = map (i, j) i8(min(max(rint(f32(f16(f32(f16(f32(x[i, j]) / b[i, 0])) * 16.0))) + 0.0, "
	  "-128.0), 127.0))\n"
	  "  q1: u8[N,K] = map (i, j) u8(min(max(rint(f32(x[i, j]) * 40.0) + f32(z[0]), 0.0), 255.0))\n"
	  "  q2: i16[N,K] = map (i, j) i16(min(max(rint(f32(x[i, j]) * 30000.0), -32768.0), 32767.0))\n"
	  "  y: f16[N,K] = map (i, j) f16(select(f32(x[i, j]) < 0.5, f32(f16(f32(x[i, j]) - 0.5)), f32(x[i, j]) / b[i, "
	  "0]))\n",
	  { "N=3 K=96", "N=2 K=1000", "N=1 K=1" } },
	{ "rows_softmax_halves",
	  "(x: f16[N,K], a: f16[K]) -> (y: f16[N,K], o: f16[N,K])\n"
	  "  b: f32[N,1] = max (i, j | r<K) f32(x[i, r])\n"
	  "  c: f32[N,1] = sum (i, j | r<K) exp(f32(x[i, r]) - b[i, 0])\n"
	  "  y: f16[N,K] = map (i, j) f16(exp(f32(x[i, j]) - b[i, 0]) / c[i, 0] * f32(a[j]) + f32(x[i, j]) / 3.0)\n"
	  "  o: f16[N,K] = map (i, j) f16(f32(x[i, j]) / (1.0 + exp(0.0 - f32(x[i, j]))))\n",
	  { "N=3 K=96", "N=2 K=1000", "N=1 K=7" } },
	{ "rows_long",
	  "(x: f32[2,36868], c: f32[36868]) -> (y: f32[2,36868], z: f16[2])\n" /* partly in shared memory */
	  "  b: f32[2,1] = max (i, j | r<36868) x[i, r]\n"
	  "  y: f32[2,36868] = map (i, j) select(x[i, j] < 0.5, x[i, j] - b[i, 0], c[j])\n"
	  "  z: f16[2] = sum (i | r<36868) x[i, r] * c[r] then f16(it / 1000.0)\n",
	  { "" } },
	{ "rows_once",
	  "(x: f16[A,B,C,K]) -> (y: f16[A,B,C,K])\n" /* symbols count as 64: exceeds the caches */
	  "  b: f32[A,B,C] = sum (i, j, k | r<K) f32(x[i, j, k, r])\n"
	  "  y: f16[A,B,C,K] = map (i, j, k, l) f16(f32(x[i, j, k, l]) - b[i, j, k])\n",
	  { "A=1 B=2 C=3 K=64", "A=1 B=1 C=1 K=100", "A=2 B=1 C=2 K=7" } },
	{ "split_range",
	  "(x: f32[16,512]) -> (c: f32[], q: u8[], y: f32[16,512])\n"
	  "  b: f32[] = min (| r<16, s<512) x[r, s] then min(it, 0.0)\n"
	  "  c: f32[] = max (| r<16, s<512) x[r, s] then max(it, 0.0) - b[]\n"
	  "  q: u8[] = map () u8(rint(min(max(0.0 - b[] / c[], 0.0), 1.0)))\n"
	  "  y: f32[16,512] = map (i, j) x[i, j] / c[] + f32(q[])\n",
	  { "" } },
	{ "split_symbols",
	  "(x: f16[A,B,32]) -> (b: f32[], c: f32[], y: f16[A,B,32])\n"
	  "  b: f32[] = min (| r<A, s<B, t<32) f32(x[r, s, t])\n"
	  "  c: f32[] = sum (| r<A, s<B, t<32) f32(x[r, s, t]) then it - b[]\n"
	  "  y: f16[A,B,32] = map (i, j, k) f16(f32(x[i, j, k]) - b[] + c[])\n",
	  { "A=16 B=64", "A=3 B=5", "A=1 B=1", "A=5 B=128" } },
	{ "split_halves",
	  "(x: f16[N,96,256], a: f32[256]) -> (y: f16[N], o: f32[N])\n"
	  "  y: f16[N] = sum (i | r<96, s<256) f32(x[i, r, s]) * a[s] then f16(it / 24576.0)\n"
	  "  o: f32[N] = sum (i | r<96, s<256) f32(x[i, r, s]) then it + f32(y[i])\n",
	  { "N=2", "N=0" } },
	{ "split_deviation",
	  "(x: f16[N,1,96,256]) -> (d: f32[N,1], y: f16[N,1,96,256])\n"
	  "  mu: f32[N,1] = sum (i, j | r<96, s<256) f32(x[i, j, r, s]) then it / 24576.0\n"
	  "  d: f32[N,1] = sum (i, j | r<96, s<256) let _0 = f32(x[i, j, r, s]) - mu[i, 0]; _0 * _0 then sqrt(it / "
	  "24576.0 + 0.001)\n"
	  "  y: f16[N,1,96,256] = map (i, j, k, l) f16((f32(x[i, j, k, l]) - mu[i, 0]) / d[i, 0])\n",
	  { "N=2", "N=0" } },
	/* parts that do not divide the row: the rest goes to the second kernel; also all of a short row */
	/* few columns and many rows: sums and positions, of ties and NaNs, in parts that do not divide the rows */
	{ "split_columns",
	  "(t_x: f32[2,203,35], n_x: i32[203,40], h: f16[N,K,9]) -> (a: i64[2,35], b: i32[2,35], c: i64[40], d: "
	  "f32[2,35], "
	  "e: f16[N,9], f: i32[N,9])\n"
	  "  a: i64[2,35] = argmax (i, j | r<203) t_x[i, r, j]\n"
	  "  b: i32[2,35] = argmin_last (i, j | r<203) t_x[i, r, j]\n"
	  "  c: i64[40] = argmax_last (i | r<7, s<29) n_x[r * 29 + s, i]\n"
	  "  d: f32[2,35] = sum (i, j | r<203) t_x[1 - i, r, j] then it * 0.5 + f32(j)\n"
	  "  e: f16[N,9] = sum (i, j | r<K) f32(h[i, r, j]) then f16(it)\n"
	  "  f: i32[N,9] = argmax_last (i, j | r<K) neg(f32(1.0)) / f32(0.0) + f32(h[i, r, j]) * f32(0.0)\n",
	  { "N=2 K=70", "N=1 K=1", "N=3 K=17" } },
	/* a thread's points of an open number: a turn, two, and the loop before them; positions of ties and NaNs */
	{ "open_steps",
	  "(t_x: f32[N,K,5], n_x: i32[K,5], h: f16[N,3,K]) -> (a: i64[N,5], b: i32[N,5], c: f32[N,5], d: f32[N], e: "
	  "i64[N])\n"
	  "  a: i64[N,5] = argmax (i, j | r<K) t_x[i, r, j]\n"
	  "  b: i32[N,5] = argmin_last (i, j | r<K) n_x[r, j] + i32(i)\n"
	  "  c: f32[N,5] = max (i, j | r<K) t_x[i, r, j] then it * 0.5\n"
	  "  d: f32[N] = sum (i | r<3, s<K) f32(h[i, r, s])\n"
	  "  e: i64[N] = argmin (i | r<3, s<K) f32(h[i, r, s])\n",
	  { "N=2 K=0", "N=1 K=8", "N=2 K=13", "N=1 K=17", "N=1 K=300" } },
	{ "split_rest",
	  "(x: f16[2,4,3202], z: f32[13007], a: f32[13,1000]) -> (d: f32[2,1], y: f16[2,4,3202], low: f32[], q: f32[], "
	  "o: "
	  "f32[])\n"
	  "  mu: f32[2,1] = sum (i, j | r<4, s<3202) f32(x[i, r, s]) then it / 12808.0\n"
	  "  d: f32[2,1] = sum (i, j | r<4, s<3202) let _0 = f32(x[i, r, s]) - mu[i, 0]; _0 * _0 then sqrt(it / "
	  "12808.0 "
	  "+ 0.001)\n"
	  "  y: f16[2,4,3202] = map (i, j, k) f16((f32(x[i, j, k]) - mu[i, 0]) / d[i, 0])\n"
	  "  low: f32[] = min (| r<13007) z[r]\n"
	  "  q: f32[] = sum (| r<13007) z[r] * z[r] then it - low[]\n"
	  "  o: f32[] = sum (| r<13, s<1000) a[r, s]\n",
	  { "" } },
	{ "split_rest_symbols",
	  "(x: f16[N,C,H], z: f32[C,H]) -> (d: f32[N,1], y: f16[N,C,H], o: f32[])\n"
	  "  mu: f32[N,1] = sum (i, j | r<C, s<H) f32(x[i, r, s]) then it / f32(C * H)\n"
	  "  d: f32[N,1] = sum (i, j | r<C, s<H) let _0 = f32(x[i, r, s]) - mu[i, 0]; _0 * _0 then sqrt(it / f32(C * "
	  "H) + "
	  "0.001)\n"
	  "  y: f16[N,C,H] = map (i, j, k) f16((f32(x[i, j, k]) - mu[i, 0]) / d[i, 0])\n"
	  "  mean: f32[] = sum (| r<C, s<H) z[r, s] then it / f32(C * H)\n"
	  "  o: f32[] = sum (| r<C, s<H) let _0 = z[r, s] - mean[]; _0 * _0 then it\n",
	  { "N=2 C=5 H=804", "N=1 C=3 H=7", "N=2 C=37 H=37", "N=3 C=1 H=8", "N=2 C=64 H=129" } },
	/* A sum of exponentials over parts whose largest differ, some of them minus infinity. */
	/* The windows' masks: the last stage numbers the rows by one axis less. */
	{ "softmax_of_windows",
	  "(x: f32[6,2,5,K], b: f32[1,2,5,K], mask: f32[1,3,1,5,K]) -> (y: f32[6,2,5,K])\n"
	  "  largest: f32[2,3,2,5,1] = max (i, j, k, l, m | r<K) x[i * 3 + j, k, l, r] + b[0, k, l, r] + "
	  "mask[0, j, 0, l, r]\n"
	  "  total: f32[2,3,2,5,1] = sum (i, j, k, l, m | r<K) exp(x[i * 3 + j, k, l, r] + b[0, k, l, r] + "
	  "mask[0, j, 0, l, r] - largest[i, j, k, l, 0])\n"
	  "  y: f32[6,2,5,K] = map (i, j, k, l) exp(x[i, j, k, l] + b[0, j, k, l] + mask[0, mod(i, 3), 0, k, l] - "
	  "largest[floordiv(i, 3), mod(i, 3), j, k, 0]) / total[floordiv(i, 3), mod(i, 3), j, k, 0]\n",
	  { "K=20", "K=7", "K=1", "K=0" } },
	{ "softmax_in_parts",
	  "(x: f32[N,K], z: f32[3,40004]) -> (y: f32[N,K], o: f32[3,1])\n"
	  "  largest: f32[N,1] = max (i, j | r<K) select(r < 9000, f32(-inf), x[i, r] * f32(r) * 0.01)\n"
	  "  total: f32[N,1] = sum (i, j | r<K) exp(select(r < 9000, f32(-inf), x[i, r] * f32(r) * 0.01) - largest[i, "
	  "0])\n"
	  "  y: f32[N,K] = map (i, j) x[i, j] / total[i, 0]\n"
	  "  most: f32[3,1] = max (i, j | r<40004) z[i, r]\n"
	  "  o: f32[3,1] = sum (i, j | r<40004) exp(z[i, r] - most[i, 0]) then log(it)\n",
	  { "N=2 K=36868", "N=1 K=9001", "N=3 K=33001" } },
	{ "rows_groups_of_open_images", /* a row of channels of any size ends inside an axis of the map */
	  "(x: f16[N,12,H,W], scale: f16[12]) -> (y: f16[N,12,H,W])\n"
	  "  mean: f32[N,4] = sum (i, j | r<3, s<H, t<W) f32(x[i, j * 3 + r, s, t]) then it / f32(H * W * 3)\n"
	  "  y: f16[N,12,H,W] = map (i, j, k, l) f16((f32(x[i, j, k, l]) - mean[i, floordiv(j, 3)]) * f32(scale[j]))\n",
	  { "N=2 H=5 W=5", "N=1 H=16 W=8", "N=3 H=0 W=4", "N=1 H=1 W=1" } },
	{ "rows_groups",
	  "(x: f32[N,12,H,4], c: f32[12]) -> (y: f32[N,12,H,4], z: f32[N,12,H,4])\n"
	  "  m0: f32[N,3] = sum (i, j | r<4, s<H, t<4) x[i, 4 * j + r, s, t]\n"
	  "  y: f32[N,12,H,4] = map (i, j, k, l) (x[i, j, k, l] - m0[i, floordiv(j, 4)]) * c[j] + f32(k)\n"
	  "  z: f32[N,12,H,4] = map (i, j, k, l) x[i, j, k, l] * m0[i, floordiv(j, 4)]\n",
	  { "N=2 H=5", "N=1 H=1", "N=3 H=40" } },
	{ "rows_of_one",
	  "(x: f32[N,1]) -> (y: f32[N,1])\n" /* a is a value of the row, with the same load as its only element */
	  "  a: f32[N,1] = sum (i, j | r<1) x[i, r] * 1.5 then it * 0.25 + 0.5\n"
	  "  y: f32[N,1] = sum (i, j | r<1) a[i, r] * 2.0 then it - 1.0\n",
	  { "N=5", "N=1" } },
	{ "rows_gather",
	  "(x: f32[N,K], n_at: i64[K], d: f32[D]) -> (y: f32[N,K])\n"
	  "  m0: f32[N] = max (i | r<K) x[i, r] * f32(r)\n"
	  "  y: f32[N,K] = map (i, j) select(0.0 < x[i, j], x[i, j] - m0[i], d[mod(index(n_at[j]), D)])\n",
	  { "N=5 K=36 D=4", "N=2 K=1 D=1", "N=1 K=2100 D=9" } },
	/* Rows chosen by an index, twice from one buffer; a mask of several rows, which also limits the elements
	 * read. */
	{ "rows_chosen",
	  "(x: f16[30,96], n_at: i64[N], b: f16[N,96]) -> (y: f16[N,96])\n"
	  "  m0: f32[N,1] = sum (i, j | r<96) f32(x[mod(index(n_at[i]), 30), r]) * f32(b[i, r]) + "
	  "f32(x[mod(index(n_at[i]) + 7, 30), r]) then it / 96.0\n"
	  "  y: f16[N,96] = map (i, j) f16(f32(x[mod(index(n_at[i]), 30), j]) - m0[i, 0] * f32(x[29 - mod(i, 30), "
	  "j]))\n",
	  { "N=5", "N=1", "N=70" } },
	/* A thread a row. */
	{ "rows_of_few",
	  "(x: f32[N,2], h: f16[N,3], b: f16[3]) -> (y: f32[N], z: f16[N,3])\n"
	  "  m0: f32[N] = max (i | r<2) x[i, r]\n"
	  "  y: f32[N] = sum (i | r<2) exp(x[i, r] - m0[i]) then log(it) + m0[i]\n"
	  "  m1: f32[N] = max (i | r<3) f32(h[i, r])\n"
	  "  m2: f32[N] = sum (i | r<3) exp(f32(h[i, r]) - m1[i])\n"
	  "  z: f16[N,3] = map (i, j) f16(exp(f32(h[i, j]) - m1[i]) / m2[i] + f32(b[j]))\n",
	  { "N=5", "N=1", "N=400" } },
	/* Rows that begin anywhere: of an odd length, behind an offset; none in the rows' own layout. */
	{ "rows_unaligned",
	  "(x: f16[30,97], n_at: i64[N,3], b: f16[3,97], d: f32[400]) -> (y: f16[N,3,97], z: f32[N,96])\n"
	  "  m0: f32[N,3,1] = sum (i, j, k | r<97) f32(x[mod(index(n_at[i, j]), 30), r]) + f32(b[j, r]) then it / "
	  "97.0\n"
	  "  y: f16[N,3,97] = map (i, j, k) f16(f32(x[mod(index(n_at[i, j]), 30), k]) + f32(b[j, k]) - m0[i, j, 0])\n"
	  "  m1: f32[N] = max (i | r<96) d[mod(index(n_at[i, 0]), 300) + 3 + r]\n"
	  "  z: f32[N,96] = map (i, j) d[mod(index(n_at[i, 0]), 300) + 3 + j] - m1[i]\n",
	  { "N=5", "N=1", "N=33" } },
	/* What finds the row is also read after its sum. */
	{ "rows_found_again",
	  "(x: f32[30,1], n_at: i64[1], g: f32[1], b: f32[N]) -> (y: f32[N,1])\n"
	  "  m0: f32[N] = sum (i | r<1) x[mod(index(n_at[0]) + i, 30), r] * g[r] then it * f32(n_at[0])\n"
	  "  y: f32[N,1] = map (i, j) x[mod(index(n_at[0]) + i, 30), j] - m0[i] * g[j] + b[i]\n",
	  { "N=5", "N=1" } },
	{ "rows_masked",
	  "(x: f32[N,3,A,64], m0: i8[A,64], k0: f32[N,64]) -> (y: f32[N,3,A,64])\n"
	  "  b: f32[N,3,A,1] = max (i, j, k, l | r<64) select(m0[k, r] < i8(0), x[i, j, k, r] + k0[i, r], f32(-9.0))\n"
	  "  c: f32[N,3,A,1] = sum (i, j, k, l | r<64) exp(select(m0[k, r] < i8(0), x[i, j, k, r] + k0[i, r], "
	  "f32(-9.0)) - b[i, j, k, 0])\n"
	  "  y: f32[N,3,A,64] = map (i, j, k, l) exp(select(m0[k, l] < i8(0), x[i, j, k, l] + k0[i, l], f32(-9.0)) - "
	  "b[i, j, k, 0]) / c[i, j, k, 0]\n",
	  { "N=2 A=5", "N=1 A=1", "N=3 A=40" } },
	{ "rows_conditions",
	  "(x: f32[N,A,2,B,2,3]) -> (y: f32[N,A,2,B,2,3])\n"
	  "  n0: f32[N] = sum (i | r<A, s<2, t<B, u<2, v<3) x[i, r, s, t, u, v] * f32(v)\n"
	  "  y: f32[N,A,2,B,2,3] = map (i, j, k, l, m, n) select(0.5 < n0[i], x[i, j, k, l, m, n] / n0[i], 1.0)\n",
	  { "N=3 A=2 B=5", "N=1 A=90 B=6", "N=2 A=1 B=1" } },
	/* Reductions of strided rows, whose elements no map uses. */
	{ "across_reductions",
	  "(x: f16[N,11,K,8]) -> (y: f16[N,K,8], z: f32[N,1,K,8])\n"
	  "  a: f32[N,K,8] = max (i, j, k | r<11) f32(x[i, r, j, k])\n"
	  "  z: f32[N,1,K,8] = sum (i, j, k, l | r<11) f32(x[i, r, k, l])\n"
	  "  y: f16[N,K,8] = sum (i, j, k | r<11) exp(f32(x[i, r, j, k]) - a[i, j, k]) then f16(log(it) + a[i, j, "
	  "k])\n",
	  { "N=2 K=5", "N=1 K=1", "N=3 K=40", "N=0 K=2" } },
	/* The sum ends where data say so. */
	{ "sum_ends",
	  "(x: f32[N,K], n_at: i64[N], b: f32[N]) -> (y: f32[N], o: f32[N,4])\n"
	  "  y: f32[N] = sum (i | r<K) select(r + 1 < index(n_at[i]), x[i, r], 0.0)\n"
	  "  o: f32[N,4] = max (i, j | r<K, s<34) select(and(b[i] < 0.5, and(r + j <= index(ceil(b[i] * 3.0)) + 2, s < "
	  "index(n_at[i]))), x[i, r] * f32(s), -inf)\n",
	  { "N=5 K=9", "N=1 K=1", "N=300 K=40", "N=2 K=0" } },
	/* Rows that no vector divides: vectors start where memory is aligned, and a row begins inside one. */
	{ "rows_odd",
	  "(x: f16[N,77], z: f16[N,77], c: f32[77], k0: f32[77], i0: u8[N]) -> (y: f16[N,77], o: i8[N,77], s0: "
	  "f32[N,1])\n"
	  "  m0: f32[N,1] = sum (i, j | r<77) f32(x[i, r]) + f32(z[i, r]) then it / 77.0\n"
	  "  v0: f32[N,1] = sum (i, j | r<77) let _0 = f32(x[i, r]) + f32(z[i, r]) - m0[i, 0]; _0 * _0\n"
	  "  s0: f32[N,1] = map (i, j) 1.0 / sqrt(v0[i, 0] / 77.0 + f32(0.00001))\n"
	  "  y: f16[N,77] = map (i, j) f16((f32(x[i, j]) + f32(z[i, j]) - m0[i, 0]) * s0[i, 0] * c[j] + k0[j] + "
	  "f32(i0[i]))\n"
	  "  o: i8[N,77] = map (i, j) i8(min(max(rint(f32(x[i, j]) * 40.0), -128.0), 127.0))\n",
	  { "N=3", "N=1", "N=0", "N=64" } },
	{ "rows_odd_masked",
	  "(x: f32[N,3,A,67], m0: f32[A,67], k0: f32[N,67]) -> (y: f32[N,3,A,67])\n"
	  "  b: f32[N,3,A,1] = max (i, j, k, l | r<67) x[i, j, k, r] * 0.5 + m0[k, r] + k0[i, r]\n"
	  "  c: f32[N,3,A,1] = sum (i, j, k, l | r<67) exp(x[i, j, k, r] * 0.5 + m0[k, r] + k0[i, r] - b[i, j, k, 0])\n"
	  "  y: f32[N,3,A,67] = map (i, j, k, l) exp(x[i, j, k, l] * 0.5 + m0[k, l] + k0[i, l] - b[i, j, k, 0]) / "
	  "c[i, j, k, 0]\n",
	  { "N=2 A=5", "N=1 A=1", "N=1 A=40" } },
	{ "rows_odd_few", /* rows shorter than a vector */
	  "(x: u8[N,3], z: f32[N,1]) -> (y: u8[N,3], h: f32[N,1])\n"
	  "  a: i32[N,1] = max (i, j | r<3) i32(x[i, r])\n"
	  "  y: u8[N,3] = map (i, j) u8(a[i, 0] - i32(x[i, j]))\n"
	  "  h: f32[N,1] = map (i, j) f32(a[i, 0]) * z[i, 0]\n",
	  { "N=5", "N=6", "N=1", "N=16", "N=0", "N=261" } },
	/* Maps in front of the reductions, whose results are outputs. */
	{ "rows_leading",
	  "(x: f16[N,K], z: f16[N,K], weight: f16[K]) -> (o: f16[N,K], y: f16[N,K])\n"
	  "  o: f16[N,K] = map (i, j) f16(f32(x[i, j]) + f32(z[i, j]))\n"
	  "  total: f32[N,1] = sum (i, j | r<K) let a = f32(o[i, r]); a * a then sqrt(it / f32(K) + 0.01)\n"
	  "  y: f16[N,K] = map (i, j) f16(f32(f16(f32(o[i, j]) / total[i, 0])) * f32(weight[j]))\n",
	  { "N=5 K=64", "N=1 K=1", "N=3 K=67", "N=2 K=1100", "N=0 K=8" } },
	{ "rows_leading_two", /* of other axes, one read by the other; values that call functions */
	  "(x: f32[N,4,K], b: f32[4,K]) -> (o: f32[4*N,K], h: f32[N,4,K], y: f32[N,4,K])\n"
	  "  o: f32[4*N,K] = map (i, j) exp(x[floordiv(i, 4), mod(i, 4), j] * 0.25)\n"
	  "  h: f32[N,4,K] = map (i, j, k) o[4 * i + j, k] + b[j, k]\n"
	  "  largest: f32[N,4] = sum (i, j | r<K) o[4 * i + j, r] * h[i, j, r]\n"
	  "  y: f32[N,4,K] = map (i, j, k) h[i, j, k] / largest[i, j]\n",
	  { "N=2 K=40", "N=1 K=33", "N=3 K=1" } },
	{ "rows_leading_neighbour", /* the last map reads another row's */
	  "(x: f32[6,K]) -> (o: f32[6,K], y: f32[6,K])\n"
	  "  o: f32[6,K] = map (i, j) x[i, j] * 2.0\n"
	  "  largest: f32[6,1] = max (i, j | r<K) o[i, r]\n"
	  "  y: f32[6,K] = map (i, j) o[5 - i, j] - largest[i, 0]\n",
	  { "K=40", "K=7" } },
	{ "rows_odd_long",
	  "(x: f32[N,17001]) -> (y: f32[N,17001])\n"
	  "  largest: f32[N,1] = max (i, j | r<17001) x[i, r]\n"
	  "  y: f32[N,17001] = map (i, j) x[i, j] - largest[i, 0]\n",
	  { "N=3" } },
	/* ---- rows that the blocks of a cluster share */
	{ "cluster_softmax",
	  "(x: f16[N,4104]) -> (y: f16[N,4104])\n"
	  "  top: f16[N,1] = max (i, j | r<4104) f32(x[i, r]) then f16(it)\n"
	  "  total: f32[N,1] = sum (i, j | r<4104) exp(f32(x[i, r]) - f32(top[i, 0]))\n"
	  "  y: f16[N,4104] = map (i, j) f16(exp(f32(x[i, j]) - f32(top[i, 0])) / total[i, 0])\n",
	  { "N=3", "N=1" } },
	{ "cluster_softmax_odd",
	  "(x: f32[N,2053]) -> (y: f32[N,2053])\n"
	  "  top: f32[N,1] = max (i, j | r<2053) x[i, r]\n"
	  "  total: f32[N,1] = sum (i, j | r<2053) exp(x[i, r] - top[i, 0])\n"
	  "  y: f32[N,2053] = map (i, j) exp(x[i, j] - top[i, 0]) / total[i, 0]\n",
	  { "N=3", "N=1" } },
	{ "cluster_norm",
	  "(x: f32[N,3,700], scale: f32[3,700]) -> (mean: f32[N], y: f32[N,3,700])\n"
	  "  mean: f32[N] = sum (i | r<3, s<700) x[i, r, s] then it / 2100.0\n"
	  "  deviation: f32[N] = sum (i | r<3, s<700) (x[i, r, s] - mean[i]) * (x[i, r, s] - mean[i]) then sqrt(it / "
	  "2100.0 + "
	  "1e-05)\n"
	  "  y: f32[N,3,700] = map (i, j, k) (x[i, j, k] - mean[i]) / deviation[i] * scale[j, k]\n",
	  { "N=3", "N=1" } },
	{ "rows_runs", /* of one scale: whole vectors, or not, though these divide the row */
	  "(x: f16[N,24,H,W], scale: f16[24]) -> (y: f16[N,24,H,W])\n"
	  "  mean: f32[N] = sum (i | r<24, s<H, t<W) f32(x[i, r, s, t]) then it / f32(24 * H * W)\n"
	  "  y: f16[N,24,H,W] = map (i, j, k, l) f16((f32(x[i, j, k, l]) - mean[i]) * f32(scale[j]))\n",
	  { "N=3 H=5 W=8", "N=2 H=3 W=5", "N=1 H=1 W=2", "N=2 H=40 W=4" } },
	{ "cluster_open", /* whole vectors; blocks without elements; more than a cluster holds */
	  "(x: f16[N,64,L]) -> (y: f16[N,64,L])\n"
	  "  top: f16[N] = max (i | r<64, s<L) f32(x[i, r, s]) then f16(it)\n"
	  "  total: f32[N] = sum (i | r<64, s<L) exp(f32(x[i, r, s]) - f32(top[i]))\n"
	  "  y: f16[N,64,L] = map (i, j, k) f16(exp(f32(x[i, j, k]) - f32(top[i])) / total[i])\n",
	  { "N=3 L=61", "N=2 L=1", "N=1 L=150" } },
	{ "cluster_open_odd", /* vectors that begin before the row, too */
	  "(x: f32[N,33,L], scale: f32[33]) -> (mean: f32[N], y: f32[N,33,L])\n"
	  "  mean: f32[N] = sum (i | r<33, s<L) x[i, r, s] then it / f32(33 * L)\n"
	  "  y: f32[N,33,L] = map (i, j, k) (x[i, j, k] - mean[i]) * scale[j]\n",
	  { "N=3 L=61", "N=2 L=64", "N=1 L=301", "N=2 L=1" } },
};

/* Windows over several channels: more points than are left to stencil. */
static const struct schedule_case sweep_cases[] = {
	{ "sweep_channels", /* of a group; windows of all remainders, some open */
	  "(x: f16[2,33,9,W], weight: f16[6,11,3,2], b: f32[6]) -> (y: f16[2,6,4,W - 2], z: f32[2,3,9,W])\n"
	  "  y: f16[2,6,4,W - 2] = sum (i, j, k, l | r<11, s<3, t<2) select(and(and(0 <= 2 * k + s - 1, 2 * k + s - 1 "
	  "< "
	  "9), and(0 <= l + 2 * t - 1, l + 2 * t - 1 < W)), f32(x[i, 11 * floordiv(j, 2) + r, 2 * k + s - 1, l + 2 * t "
	  "- 1]), 0.0) * f32(weight[j, r, s, t]) then f16(it + b[j])\n"
	  "  z: f32[2,3,9,W] = max (i, j, k, l | r<11, s<6) f32(x[i, 11 * j + r, k, min(W - 1, l + s)])\n",
	  { "W=19", "W=3" } },
	{ "sweep_line", /* of a line, over two more axes */
	  "(x: f32[3,5,2,W], weight: f32[5,2,7]) -> (y: f32[3,W])\n"
	  "  y: f32[3,W] = sum (i, j | r<5, s<2, t<7) select(and(3 <= j + t, j + t < W + 3), x[i, r, s, j + t - 3], "
	  "0.0) "
	  "* weight[r, s, t]\n",
	  { "W=37", "W=1", "W=0" } },
};

#endif
