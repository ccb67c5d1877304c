/* Maps: elementwise, gathers, moves; steps that share a launch; constants and names. See schedule_case.h. */
#ifndef TPAT_TESTS_MAP_CASES_H
#define TPAT_TESTS_MAP_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case map_cases[] = {
	/* ---- reductions, and maps of their results next to other elements */
	{ "spread_boxes",
	  "(x: f16[N,29,4,8], g: f16[4,8,2]) -> (y: f16[N,32,3], c: i64[N,4,8])\n"
	  "  best: f16[N,1,4,8] = max (i, j, k, l | r<27) f32(x[i, r + 2, k, l]) then f16(it * f32(x[i, 1, k, l]))\n"
	  "  c: i64[N,4,8] = argmax (i, j, k | r<27) f32(x[i, r + 2, j, k])\n"
	  "  y: f16[N,32,3] = map (i, j, k) select(k < 2, f16(f32(x[i, k, floordiv(j, 8), mod(j, 8)]) + "
	  "f32(g[floordiv(j, 8), mod(j, 8), k])), best[i, 0, floordiv(j, 8), mod(j, 8)])\n",
	  { "N=1", "N=3", "N=0" } },
	{ "spread_open",
	  "(x: f32[N,K,5,7]) -> (y: f32[N,35,2], z: i32[N,5,7], o: i64[N,5,7])\n"
	  "  a: f32[N,5,7] = sum (i, j, k | r<K) x[i, r, j, k]\n"
	  "  o: i64[N,5,7] = argmin_last (i, j, k | r<K) x[i, r, j, k]\n"
	  "  b: i32[N,35] = prod (i, j | r<K) i32(x[i, r, floordiv(j, 7), mod(j, 7)])\n"
	  "  y: f32[N,35,2] = map (i, j, k) a[i, floordiv(j, 7), mod(j, 7)] * f32(k) + f32(b[i, j])\n"
	  "  z: i32[N,5,7] = map (i, j, k) b[i, j * 7 + k] + i32(o[i, j, k])\n",
	  { "N=2 K=3", "N=3 K=19", "N=1 K=0", "N=0 K=2" } },
	{ "columns_before_ones",
	  "(x: f16[N,40,3,16], b: f16[16]) -> (y: f16[N,3,16,1,1])\n"
	  "  y: f16[N,3,16,1,1] = max (i, j, k, l, m | r<40) f32(x[i, r, j, k]) then f16(it * f32(b[k]))\n",
	  { "N=1", "N=5", "N=0" } },
	{ "spread_rows",
	  "(x: f32[2,2]) -> (y: f32[2,2])\n"
	  "  a: f32[2,1] = sum (i, j | r<2) abs(x[i, r])\n"
	  "  y: f32[2,2] = map (i, j) x[i, j] / a[i, 0]\n",
	  { "" } },
	{ "spread_blocks",
	  "(x: f32[6,3,3,8]) -> (y: f32[6,8,4], z: f32[6,8])\n"
	  "  a: f32[6,8] = sum (i, j | r<3, s<3) x[i, r, s, j] then sqrt(it * it)\n"
	  "  z: f32[6,8] = max (i, j | r<3, s<3) x[i, s, r, j]\n"
	  "  y: f32[6,8,4] = map (i, j, k) a[i, j] + z[i, j] * x[i, 1, 2, j] * f32(k)\n",
	  { "" } },
	/* ---- maps */
	{ "add",
	  "(x: f32[N,K], b: f32[K]) -> (y: f32[N,K])\n"
	  "  y: f32[N,K] = map (i, j) x[i, j] + b[j]\n",
	  { "N=5 K=8", "N=3 K=7", "N=1 K=1", "N=0 K=4", "N=3 K=0", "N=7 K=260" } },
	{ "add_constant_extents",
	  "(x: f16[3,40], b: f16[3,1]) -> (y: f16[3,40])\n"
	  "  y: f16[3,40] = map (i, j) f16(f32(x[i, j]) * f32(b[i, 0]) + 1.0)\n",
	  { "" } },
	/* C's isinf() gives -1 for -inf. */
	{ "infinite",
	  "(x: f32[N]) -> (y: i32[N], z: i32[N])\n"
	  "  y: i32[N] = map (i) i32(isinf(neg(x[i] * x[i] * 1e+38) * 1e+38))\n"
	  "  z: i32[N] = map (i) i32(isnan(x[i] * x[i] * 1e+38 * 1e+38 * 0.0))\n",
	  { "N=9", "N=64" } },
	/* Conditions uniform across a vector, and others; vectors of every second element. */
	{ "shared_conditions",
	  "(x: f16[N,32], c: f16[32], n_at: i64[N]) -> (y: f16[N,32], o: f32[N,32], e: f16[N,32])\n"
	  "  y: f16[N,32] = map (i, j) f16(f32(x[i, j]) * f32(c[j]) + select(j < 16, neg(f32(x[i, j + 16])), f32(x[i, "
	  "j - 16])))\n"
	  "  o: f32[N,32] = map (i, j) f32(select(15 < j, select(i < 2, x[0, j], x[i, j - 8]), c[j])) + select(n_at[i] "
	  "< i64(1), 0.5, f32(select(i < 2, x[0, j], c[j + 1 - 1])))\n"
	  "  e: f16[N,32] = map (i, j) select(and(i < 3, j <= 23), x[i, j + 8], select(j < 15, c[j], x[i, 31 - j]))\n",
	  { "N=4", "N=1" } },
	{ "interleaved",
	  "(x: f16[N,4,6,8], z: f32[N,4,3,8], b: u8[N,12,16]) -> (y: f16[N,1,12,16], e: f32[N,8,6,16], o: "
	  "u8[N,12,16])\n"
	  "  y: f16[N,1,12,16] = map (i, j, k, l) x[i, 4 * j + 2 * mod(k, 2) + mod(l, 2), floordiv(k, 2), floordiv(l, "
	  "2)]\n"
	  "  e: f32[N,8,6,16] = map (i, j, k, l) select(j < 4, z[i, j, floordiv(k, 2), floordiv(l, 2)], f32(x[i, j - "
	  "4, k, floordiv(l, 2)]))\n"
	  "  o: u8[N,12,16] = map (i, j, k) b[i, j, 4 * mod(k, 4) + floordiv(k, 4)] + b[i, mod(k, 4), floordiv(k, "
	  "4)]\n",
	  { "N=2", "N=1" } },
	/* Transposed and padded: at the end, in the middle. */
	{ "transposed_padded",
	  "(x: f16[N,21,M], z: f32[N,8,2,M]) -> (y: f16[N,M,24], e: f32[M,N,24])\n"
	  "  y: f16[N,M,24] = map (i, j, k) select(k < 21, x[i, k, j], f16(0.0))\n"
	  "  e: f32[M,N,24] = map (i, j, k) select(mod(k, 3) < 2, z[j, floordiv(k, 3), mod(k, 3), i], 1.5)\n",
	  { "N=2 M=37", "N=1 M=64" } },
	/* Swaps the elements of each pair in a vector: together with those in order, conditionally, with odd rows.
	 * Similar cases: only the first or second of each pair, in a longer vector; backwards; one for all. */
	{ "pairs",
	  "(x: f16[N,16], c: f32[N,8], b: f32[15], one: f32[1]) -> (y: f16[N,16], e: f32[N,16], o: f16[N,15], z: "
	  "f16[N,16], q: f32[16], p: f32[2])\n"
	  "  y: f16[N,16] = map (i, j) f16(f32(x[i, j]) * c[i, floordiv(j, 2)] + f32(x[i, select(mod(j, 2) == 0, j + "
	  "1, j - 1)]))\n"
	  "  e: f32[N,16] = map (i, j) f32(x[i, 2 * floordiv(j, 2)]) - f32(x[i, 2 * floordiv(j, 2) + 1])\n"
	  "  o: f16[N,15] = map (i, j) x[i, select(j < 14, select(mod(j, 2) == 0, j + 1, j - 1), j)]\n"
	  "  z: f16[N,16] = map (i, j) select(i < 2, x[i, select(mod(j, 2) == 0, j + 1, j - 1)], x[i, 15 - j])\n"
	  "  q: f32[16] = map (i) b[2 * floordiv(i, 2)]\n"
	  "  p: f32[2] = map (i) c[0, select(mod(i, 2) == 0, i + 1, i - 1)] * one[0]\n",
	  { "N=4", "N=1" } },
	{ "coarse_functions",
	  "(x: f16[N,8], c: f16[N]) -> (y: f16[N,8], o: f16[N,8])\n"
	  "  y: f16[N,8] = map (i, j) f16(log1p(abs(f32(x[i, j])) * 0.01) + log1p(abs(f32(x[i, j]))) + tanh(f32(x[i, "
	  "j])) * tanh(f32(x[i, j]) * 0.125))\n"
	  "  o: f16[N,8] = map (i, j) f16((f32(x[i, j]) - 1.0) / sqrt(abs(f32(c[i])) + 0.5) * exp(f32(c[i])))\n",
	  { "N=40", "N=1", "N=0" } },
	{ "scalar", "(x: f32[], b: i64[]) -> (y: f32[])\n  y: f32[] = map () x[] + f32(b[])\n", { "" } },
	{ "broadcast",
	  "(x: f32[N,1,K], b: f32[H,1]) -> (y: f32[N,H,K])\n"
	  "  y: f32[N,H,K] = map (i, j, k) x[i, 0, k] * b[j, 0]\n",
	  { "N=2 H=3 K=4", "N=1 H=1 K=1", "N=3 H=5 K=16", "N=2 H=0 K=4" } },
	{ "transpose",
	  "(x: f32[A,B,C]) -> (y: f32[C,A,B])\n  y: f32[C,A,B] = map (i, j, k) x[j, k, i]\n",
	  { "A=2 B=3 C=4", "A=17 B=1 C=33", "A=1 B=8 C=1", "A=0 B=3 C=2" } },
	/* A short axis innermost in the loads, in the stores, in both; with other loads; of open extents. */
	{ "transpose_short",
	  "(x: f16[3,7,260], x8: u8[2,150,3], b: f32[3], z: f32[N,24,M]) -> (y: f16[3,260,7], o: f32[2,3,150], e: "
	  "f32[N,M,24])\n"
	  "  y: f16[3,260,7] = map (i, j, k) x[i, k, j]\n"
	  "  o: f32[2,3,150] = map (i, j, k) (f32(x8[i, k, j]) - b[j]) * 0.5\n"
	  "  e: f32[N,M,24] = map (i, j, k) z[i, k, j] + f32(i + j)\n",
	  { "N=2 M=37", "N=1 M=64", "N=1 M=1", "N=0 M=3" } },
	{ "transpose_short_both",
	  "(x: f32[N,20,13], b: f32[N,20,13], x16: f16[5,16,96]) -> (y: f32[N,13,20], o: f32[5,96,16])\n"
	  "  y: f32[N,13,20] = map (i, j, k) x[i, k, j] * b[i, k, j] + f32(k)\n"
	  "  o: f32[5,96,16] = map (i, j, k) f32(x16[i, k, j]) * 2.0\n",
	  { "N=2", "N=1", "N=0" } },
	/* Several short axes: in the order of the stores, or of the loads; further axes outside. */
	{ "transpose_short_axes",
	  "(x: f32[2,12,5,81], x16: f16[88,3,4,6], z: f16[3,70,2,5]) -> (y: f32[5,81,12,2], o: f32[4,6,3,88], e: "
	  "f16[5,3,2,70])\n"
	  "  y: f32[5,81,12,2] = map (i, j, k, l) x[l, k, i, j] * 2.0 + f32(j + k)\n"
	  "  o: f32[4,6,3,88] = map (i, j, k, l) f32(x16[l, k, i, j])\n"
	  "  e: f16[5,3,2,70] = map (i, j, k, l) z[j, l, k, i]\n",
	  { "" } },
	/* The long axis is apart from the short ones, whose lines are short; last strips that are not whole. */
	{ "transpose_short_lines",
	  "(x: f16[4,9,5,37], x16: f16[40,3,8,44], z: f32[5,3,20,6], b: f32[6]) -> (y: f16[37,5,9,4], o: "
	  "f32[44,3,40,8], "
	  "e: f32[6,3,5,20])\n"
	  "  y: f16[37,5,9,4] = map (i, j, k, l) x[l, k, j, i]\n"
	  "  o: f32[44,3,40,8] = map (i, j, k, l) f32(x16[k, j, l, i]) + f32(i)\n"
	  "  e: f32[6,3,5,20] = map (i, j, k, l) z[k, j, l, i] * b[i]\n",
	  { "" } },
	{ "reshape_transpose",
	  "(x: f16[B,S,768]) -> (y: f16[B,12,S,64])\n"
	  "  y: f16[B,12,S,64] = map (i, j, k, l) x[i, k, j * 64 + l]\n",
	  { "B=2 S=3", "B=1 S=1" } },
	/* Rows that no vector divides for any value of the symbol: no kernels for whole vectors. */
	{ "never_whole",
	  "(x: f32[D], q: f64[D], x16: f16[N,D]) -> (y: f32[4 * D + 1], z: f64[2 * D + 1], o: f16[N,8 * D + 4])\n"
	  "  y: f32[4 * D + 1] = map (i) select(i < 1, 0.5, x[mod(i - 1, D)])\n"
	  "  z: f64[2 * D + 1] = map (i) select(i < 2 * D, q[min(i, D - 1)], f64(0.0))\n"
	  "  o: f16[N,8 * D + 4] = map (i, j) select(and(4 <= j, j < 4 + D), x16[i, j - 4], f16(0.25))\n",
	  { "D=5 N=3", "D=1 N=1", "D=64 N=2", "D=7 N=0" } },
	/* Rows of whole vectors from rows that begin between them: padded, cut, and of two sources. */
	{ "padded_rows",
	  "(x: f16[N,69], b: i8[N,259], b8: u8[7,100], c: f16[N,3]) -> (y: f16[N,80], o: u8[N,272], e: u8[7,88], d: "
	  "f16[N,72])\n"
	  "  y: f16[N,80] = map (i, j) select(j < 69, f16(f32(x[i, j]) * 0.5), f16(0.25))\n"
	  "  o: u8[N,272] = map (i, j) select(and(5 <= j, j < 264), u8(i32(b[i, j - 5]) + i32(128)), u8(7))\n"
	  "  e: u8[7,88] = map (i, j) b8[6 - i, j + 3]\n"
	  "  d: f16[N,72] = map (i, j) select(j < 3, c[i, j], x[i, j - 3])\n",
	  { "N=4", "N=1", "N=33", "N=0" } },
	{ "padded_rows_known",
	  "(x: f16[9,69], b: i8[3,5,259], c: f16[9,3]) -> (y: f16[9,80], o: u8[3,5,272], d: f16[9,72])\n"
	  "  y: f16[9,80] = map (i, j) select(j < 69, f16(f32(x[i, j]) * 0.5), f16(0.25))\n"
	  "  o: u8[3,5,272] = map (i, j, k) select(and(5 <= k, k < 264), u8(i32(b[i, j, k - 5]) + i32(128)), u8(7))\n"
	  "  d: f16[9,72] = map (i, j) select(j < 3, c[i, j], x[i, j - 3])\n",
	  { "" } },
	{ "slice",
	  "(x: i32[N,20]) -> (y: i32[N,8])\n  y: i32[N,8] = map (i, j) x[i, j + 5]\n",
	  { "N=4", "N=1", "N=0" } },
	{ "slice_aligned",
	  "(x: i32[N,20]) -> (y: i32[N,8])\n"
	  "  y: i32[N,8] = map (i, j) x[N - 1 - i, j + 4]\n",
	  { "N=4", "N=1" } },
	{ "slice_steps",
	  "(x: u8[N,20]) -> (y: u8[N,7])\n  y: u8[N,7] = map (i, j) x[i, 19 - 3 * j]\n",
	  { "N=4", "N=1" } },
	/* ---- steps that share a launch: in parallel, and in sequence in one block */
	{ "share_split",
	  "(x: f16[N,24]) -> (a: f16[N,8], b: f16[N,12], c: f32[4,N])\n"
	  "  a: f16[N,8] = map (i, j) x[i, j]\n"
	  "  b: f16[N,12] = map (i, j) x[i, j + 8]\n"
	  "  c: f32[4,N] = map (i, j) f32(x[j, i + 20]) * 2.0\n",
	  { "N=5", "N=1", "N=300", "N=0" } },
	{ "share_two_pairs",
	  "(x: f32[K], b: f32[N,40]) -> (y: f32[N,K], z: f32[N])\n"
	  "  twice: f32[K] = map (i) x[i] * 2.0\n"
	  "  z: f32[N] = sum (i | r<40) b[i, r]\n"
	  "  y: f32[N,K] = map (i, j) twice[j] + b[i, mod(j, 40)]\n",
	  { "N=5 K=9", "N=1 K=1", "N=0 K=3", "N=33 K=300" } },
	{ "share_in_turn",
	  "(x: f32[50], b: i32[30]) -> (y: f32[50], z: f32[])\n"
	  "  total: f32[] = sum ( | r<50) x[r]\n"
	  "  y: f32[50] = map (i) x[i] / (abs(total[]) + 1.0)\n"
	  "  z: f32[] = max ( | r<30) y[r + 10] * f32(b[r])\n",
	  { "" } },
	{ "pad",
	  "(x: f32[N,K]) -> (y: f32[N + 3,K + 4])\n"
	  "  y: f32[N + 3,K + 4] = map (i, j) select(and(and(1 <= i, i - 1 < N), and(2 <= j, j - 2 < K)), x[i - 1, j - "
	  "2], -1.5)\n",
	  { "N=5 K=8", "N=1 K=1", "N=0 K=4", "N=2 K=0" } },
	{ "pad_reflect",
	  "(x: f32[N]) -> (y: f32[N + 6])\n"
	  "  y: f32[N + 6] = map (i) x[select(i < 3, 3 - i, select(N + 3 <= i, 2 * N + 1 - i, i - 3))]\n",
	  { "N=5", "N=9" } },
	{ "concat",
	  "(a: f32[N,4], b: f32[N,K], c: f32[N,3]) -> (y: f32[N,K + 7])\n"
	  "  y: f32[N,K + 7] = map (i, j) select(j < 4, a[i, j], select(j - 4 < K, b[i, j - 4], c[i, j - 4 - K]))\n",
	  { "N=3 K=5", "N=1 K=0", "N=2 K=1" } },
	{ "gather",
	  "(x: f32[V,K], n_at: i64[N]) -> (y: f32[N,K])\n"
	  "  y: f32[N,K] = map (i, j) let a = index(n_at[i]), c = select(a < 0, a + V, a); x[min(max(c, 0), V - 1), "
	  "j]\n",
	  { "V=9 K=8 N=5", "V=1 K=3 N=4", "V=3 K=1 N=1" } },
	{ "gather_twice",
	  "(x: f32[V,K], n_at: i32[N], n_of: i64[M]) -> (y: f32[M,K])\n"
	  "  y: f32[M,K] = map (i, j) x[mod(index(n_at[mod(index(n_of[i]), N)]), V), j]\n",
	  { "V=9 K=8 N=5 M=6", "V=2 K=3 N=4 M=1" } },
	{ "one_hot",
	  "(n_at: i64[N], x: f32[2], d: f32[D]) -> (y: f32[N,D])\n"
	  "  y: f32[N,D] = map (i, j) select(or(index(n_at[i]) == j, index(n_at[i] + i64(4294967296)) == j), x[1], "
	  "x[0])\n",
	  { "N=5 D=4", "N=3 D=1" } },
	{ "resize",
	  "(x: f32[2,P]) -> (y: f32[2,3 * P])\n"
	  "  y: f32[2,3 * P] = map (i, j) let a = (f32(j) + 0.5) / 3.0 - 0.5, f = floor(a), d = a - f, b = index(f); "
	  "x[i, min(max(b, 0), P - 1)] * (1.0 - d) + x[i, min(max(b + 1, 0), P - 1)] * d\n",
	  { "P=5", "P=1", "P=40" } },
	{ "gather_planes",
	  "(x: f16[N,4,4,8], n_at: i32[N,6,10], n_of: i64[6,10]) -> (y: f32[N,4,6,10])\n"
	  "  y: f32[N,4,6,10] = map (i, j, k, l) let a = index(n_at[i, k, l]), b = index(n_of[k, l]), c = min(max(a, "
	  "0), 3); select(and(0 <= b, b + 1 < 8), f32(x[i, j, c, b]) + f32(x[i, j, c, b + 1]) * 0.5, -1.0) + f32(j)\n",
	  { "N=3", "N=1", "N=0" } },
	/* contiguous pairs, different ones in each plane */
	{ "gather_pairs_of_planes",
	  "(x: f32[2,4,16], n_at: i32[2,6,8], q: f32[2,4,6,8,2]) -> (y: f32[2,4,6,8])\n"
	  "  y: f32[2,4,6,8] = map (i, j, k, l) x[i, j, min(max(index(n_at[i, k, l]) * 2 + floordiv(k * l, 3), 0), "
	  "15)] * q[i, j, k, l, 0] + q[i, j, k, l, 1]\n",
	  { "" } },
	{ "gather_one_plane",
	  "(x: f32[2,3,16], n_at: i32[7,8]) -> (y: f16[2,3,7,8])\n"
	  "  y: f16[2,3,7,8] = map (i, j, k, l) f16(x[i, j, min(max(index(n_at[k, l]), 0), 15)])\n",
	  { "" } },
	{ "gather_volume",
	  "(x: f16[N,4,3,4,5], d: f16[N,6,8,3], q: f32[8,2]) -> (y: f16[N,4,6,8], z: f32[N,4,6,8])\n"
	  "  y: f16[N,4,6,8] = map (i, j, k, l) let _0 = f32(d[i, k, l, 2]) * 3.0, _1 = floor(_0), _2 = _0 - _1, a = "
	  "index(_1), b = index(f32(d[i, k, l, 1]) * 4.0), c = index(f32(d[i, k, l, 0]) * 5.0), _3 = and(and(0 <= b, b "
	  "< 4), and(0 <= c, c < 5)); f16((1.0 - _2) * f32(select(and(and(0 <= a, a < 3), _3), x[i, j, a, b, c], "
	  "f16(0.5))) + _2 * f32(select(and(and(0 <= a + 1, a + 1 < 3), _3), x[i, j, a + 1, b, c], f16(0.0))) + "
	  "sqrt(_2 * _2 + 1.0) * f32(x[i, j, 0, 0, min(max(a, 0), 4)]))\n"
	  "  z: f32[N,4,6,8] = map (i, j, k, l) let a = index(q[l, 1] * 3.0), b = index(q[l, 0] * 4.0); select(q[l, 0] "
	  "< q[l, 1] + f32(k), select(and(and(0 <= a, a < 3), and(0 <= b, b < 4)), f32(x[i, j, a, b, 2]), -1.0), "
	  "select(and(0 <= a, a < 3), f32(x[i, j, a, 1, 3]), f32(x[i, j, 1, 1, 1]) * (q[l, 0] + 1.0) * (q[l, 1] - "
	  "2.0)))\n",
	  { "N=2", "N=1", "N=0" } },
	{ "gather_vectors",
	  "(x: f16[N,16,3,2,4], d: f16[N,5,6,3], b: f32[16]) -> (y: f16[N,16,5,6], z: f32[N,8,5,6])\n"
	  "  y: f16[N,16,5,6] = map (i, j, k, l) let _0 = f32(d[i, k, l, 2]), _1 = floor(_0), _2 = _0 - _1, u = "
	  "index(_1), v = index(f32(d[i, k, l, 1]) + _2), w = index(f32(d[i, k, l, 0]) + _2), _3 = and(0 <= u, u < 3), "
	  "_4 = and(0 <= v, v < 2), _5 = and(0 <= w, w < 4); f16(_2 * f32(d[i, k, l, 1]) + f32(d[i, k, l, 0]) + (1.0 - "
	  "_2) * f32(select(and(and(_3, _4), _5), x[i, j, u, v, w], f16(0.0))) + _2 * f32(select(and(_3, _4), x[i, j, "
	  "u, v, 3], f16(0.25))) + b[j] * f32(x[i, j, min(max(u, 0), 2), 1, 2]))\n"
	  "  z: f32[N,8,5,6] = map (i, j, k, l) f32(x[i, j, min(max(index(d[0, k, l, 0]), 0), 2), 0, mod(l, 4)])\n",
	  { "N=2", "N=1", "N=0" } },
	{ "gather_of_rows",
	  "(x: f32[N,2,16], n_at: i64[N,2,48], h: f16[N,4,32], n_of: i32[N,4,8192]) -> (y: f32[N,2,48], z: "
	  "f16[N,4,8192])\n"
	  "  y: f32[N,2,48] = map (i, j, k) let a = index(n_at[i, j, k]); x[i, j, max(min(select(a < 0, a + 16, a), "
	  "15), 0)]\n"
	  "  z: f16[N,4,8192] = map (i, j, k) let a = n_of[i, j, k]; select(and(0 <= index(a), index(a) < 32), h[i, j, "
	  "index(a)], f16(0.0))\n",
	  { "N=2", "N=0" } },
	{ "flat_pad",
	  "(x: f16[N,2,4,8], z: f16[N,2,4,8]) -> (y: f16[N,4,6,10])\n"
	  "  y: f16[N,4,6,10] = map (i, j, k, l) select(and(and(0 <= k - 1, k - 1 < 4), and(0 <= l - 1, l - 1 < 8)), "
	  "select(j < 2, x[i, j, k - 1, l - 1], z[i, j - 2, k - 1, l - 1]), f16(-1.5))\n",
	  { "N=3", "N=1", "N=0" } },
	/* Threads whose elements all have work, or not all: conditions that hold up to, from, and between places. */
	{ "parts_inside",
	  "(x: f32[N,13], d: f32[1], z: f16[N,67], b: f32[16]) -> (y: u8[N,16], o: f16[N,72], q: f32[N,16], p: "
	  "f32[16])\n"
	  "  y: u8[N,16] = map (i, j) select(j < 13, u8(min(max(rint(x[i, j] / d[0]) + 3.0, 0.0), 255.0)), u8(7))\n"
	  "  o: f16[N,72] = map (i, j) select(and(0 <= j - 3, j < 70), f16(exp(f32(z[i, j - 3])) / d[0]), f16(-1.0))\n"
	  "  q: f32[N,16] = map (i, j) select(or(j < 2, 14 < j), 0.5, exp(x[i, 14 - j]) / d[0])\n"
	  "  p: f32[16] = map (i) select(not(5 < 15 - i), exp(b[15 - i]) / d[0], f32(i))\n",
	  { "N=3", "N=1", "N=40", "N=0" } },
	/* Vectors taken out of aligned ones: within a row, within a plane, where a condition on positions holds; and
	 * loads that are none: far away, of short rows, where data decide. */
	{ "flat_shifted_halves",
	  "(x: f16[N,134], b: i32[67]) -> (y: f16[N,67], z: u8[N,67])\n"
	  "  y: f16[N,67] = map (i, j) f16(f32(x[i, j]) * f32(x[i, j + 67]))\n"
	  "  z: u8[N,67] = map (i, j) u8(b[j] + i32(f32(x[i, j + 3])))\n",
	  { "N=1", "N=5", "N=32" } },
	{ "flat_shifted_rotation",
	  "(x: f16[N,7,18], c: f16[7,18], g: bf16[N,2,7,18]) -> (y: f16[N,7,18], z: bf16[N,7,18])\n"
	  "  y: f16[N,7,18] = map (i, j, k) f16(f32(x[i, j, k]) * f32(c[j, k]) + f32(select(k < 9, "
	  "f16(neg(f32(x[i, j, k + 9]))), x[i, j, k - 9])))\n"
	  "  z: bf16[N,7,18] = map (i, j, k) select(k < 9, g[i, 1, j, k + 9], select(0.0 < f32(c[j, k]), g[i, 0, j, "
	  "k], "
	  "g[i, 1, j, k - 9]))\n",
	  { "N=1", "N=3", "N=17" } },
	{ "flat_shifted_parts",
	  "(a: f16[N,45], b: f16[N,22], q: i8[N,67]) -> (y: f16[N,67], z: f32[N,67])\n"
	  "  y: f16[N,67] = map (i, j) select(j < 45, a[i, j], b[i, j - 45])\n"
	  "  z: f32[N,67] = map (i, j) select(j < 66, f32(q[i, j + 1]), f32(q[i, 0])) + f32(a[i, mod(j, 45)])\n",
	  { "N=2", "N=9" } },
	{ "flat_odd_rows",
	  "(x: f32[N,4,7], b: f32[4,1], c: f32[7], g: u8[8,N,3]) -> (y: f32[N,4,7], z: f32[N,4,7], o: u8[8,N,3])\n"
	  "  y: f32[N,4,7] = map (i, j, k) x[i, j, k] * b[j, 0] + c[k]\n"
	  "  z: f32[N,4,7] = map (i, j, k) exp(x[i, j, k]) + x[i, j, k]\n"
	  "  o: u8[8,N,3] = map (i, j, k) g[i, j, 2 - k]\n",
	  { "N=5", "N=1" } },
	{ "resize_rows",
	  "(x: f16[N,3,5]) -> (y: f16[N,10,16])\n"
	  "  y: f16[N,10,16] = map (i, j, k) let a = f32(mod(j * 6 + 3, 20)) * 0.05, b = f32(mod(k * 5 + 2, 16)) * "
	  "0.0625, p = max(0, floordiv(j * 3 - 3, 10)), q = min(2, floordiv(j * 3 - 3, 10) + 1), v = floordiv(k * 5, "
	  "16), w = min(4, v + 1); f16((1.0 - a) * ((1.0 - b) * f32(x[i, p, v]) + b * f32(x[i, p, w])) + a * ((1.0 - "
	  "b) * f32(x[i, q, v]) + b * f32(x[i, q, w])))\n",
	  { "N=2", "N=1", "N=0" } },
	/* From open extents, and to open ones. */
	{ "resize_rows_open",
	  "(x: f16[N,P,Q], z: f32[P,Q]) -> (y: f16[N,10,16], o: f32[3 * P,Q])\n"
	  "  y: f16[N,10,16] = map (i, j, k) let a = f32(mod(j * P + 3, 10)) * 0.1, b = f32(mod(k * Q + 2, 16)) * "
	  "0.0625, p = floordiv(j * P, 10), q = min(P - 1, p + 1), v = floordiv(k * Q, 16), w = min(Q - 1, v + 1); "
	  "f16((1.0 - a) * ((1.0 - b) * f32(x[i, p, v]) + b * f32(x[i, p, w])) + a * ((1.0 - b) * f32(x[i, q, v]) + b "
	  "* "
	  "f32(x[i, q, w])))\n"
	  "  o: f32[3 * P,Q] = map (i, j) let a = z[floordiv(i, 3), j]; exp(a) * f32(i) + exp(a * 0.5) - a\n",
	  { "N=2 P=3 Q=5", "N=1 P=40 Q=7", "N=1 P=1 Q=1", "N=0 P=2 Q=3" } },
	{ "resize_rows_known",
	  "(x: f16[N,4,6], z: f32[N,3,8]) -> (y: f16[N,16,24], o: f32[N,12,16])\n"
	  "  y: f16[N,16,24] = map (i, j, k) let a = f32(mod(j * 2 + 5, 8)) * 0.125, b = f32(mod(k * 2 + 5, 8)) * "
	  "0.125, p = max(0, floordiv(j * 2 - 3, 8)), q = min(3, floordiv(j * 2 - 3, 8) + 1), v = max(0, floordiv(k * "
	  "2 - 3, 8)), w = min(5, floordiv(k * 2 - 3, 8) + 1); f16((1.0 - a) * ((1.0 - b) * f32(x[i, p, v]) + b * "
	  "f32(x[i, p, w])) + a * ((1.0 - b) * f32(x[i, q, v]) + b * f32(x[i, q, w])))\n"
	  "  o: f32[N,12,16] = map (i, j, k) let a = z[i, floordiv(j, 4), floordiv(k, 2)]; exp(a) * f32(j) - a\n",
	  { "N=2", "N=1", "N=0" } },
	{ "resize_rows_once",
	  "(x: f32[N,3,5], z: f32[7]) -> (y: f32[N,7,13], o: f32[7,9])\n"
	  "  y: f32[N,7,13] = map (i, j, k) let a = x[i, floordiv(j * 3, 7), floordiv(k * 5, 13)]; f32(j) * (exp(a) + "
	  "a * z[j])\n"
	  "  o: f32[7,9] = map (i, j) select(j < 4, exp(z[floordiv(i, 2)]) + f32(i), z[floordiv(i + j, 3)] * z[i])\n",
	  { "N=2", "N=1" } },
	/* more places of a row than rule march keeps, as in a cubic resize of an image with channels last */
	{ "resize_rows_too_many",
	  "(x: f32[N,3,4]) -> (y: f32[N,9,4])\n"
	  "  y: f32[N,9,4] = map (i, j, k) let p = floordiv(j, 3); exp(x[i, p, k]) + exp(x[i, max(p - 1, 0), k]) + "
	  "exp(x[i, max(p - 2, 0), k]) + exp(x[i, min(p + 1, 2), k]) + exp(x[i, min(p + 2, 2), k]) + exp(x[i, mod(p + "
	  "1, 3), k]) + exp(x[i, mod(p + 2, 3), k]) + exp(x[i, 2 - p, k])\n",
	  { "N=2" } },
	{ "casts",
	  "(x: f32[N], n_k: i64[N], h: f16[N]) -> (a: u8[N], b: i8[N], c: f8e4m3fn[N], d: f8e5m2[N], e: bf16[N], f: "
	  "bool[N], g: i32[N], o: u64[N], q: f64[N])\n"
	  "  a: u8[N] = map (i) u8(x[i] * 100.0)\n"
	  "  b: i8[N] = map (i) i8(n_k[i] * i64(77))\n"
	  "  c: f8e4m3fn[N] = map (i) sat_f8e4m3fn(x[i] * 400.0)\n"
	  "  d: f8e5m2[N] = map (i) f8e5m2(h[i])\n"
	  "  e: bf16[N] = map (i) bf16(x[i])\n"
	  "  f: bool[N] = map (i) bool(n_k[i])\n"
	  "  g: i32[N] = map (i) i32(x[i] * 3e9)\n"
	  "  o: u64[N] = map (i) u64(n_k[i])\n"
	  "  q: f64[N] = map (i) f64(h[i]) + f64(i)\n",
	  { "N=40", "N=3" } },
	{ "bits",
	  "(x: f32[N], h: f16[N], y8: u8[N]) -> (a: i32[N], b: u16[N], c: f16[N], d: i8[N])\n"
	  "  a: i32[N] = map (i) bitxor(bitcast_i32(x[i]), shl(i32(5), i32(i)))\n"
	  "  b: u16[N] = map (i) bitcast_u16(h[i])\n"
	  "  c: f16[N] = map (i) bitcast_f16(bitand(bitcast_u16(h[i]), u16(65280)))\n"
	  "  d: i8[N] = map (i) shr(bitcast_i8(y8[i]), i8(3))\n",
	  { "N=40" } },
	{ "narrow_integers",
	  "(x: u8[N], y: u8[N], n_a: i8[N], n_b: i8[N], p: u16[N], z: i16[N]) -> (o1: u8[N], o2: bool[N], o3: i8[N], "
	  "o4: i32[N], o5: i8[N], o6: u16[N], o7: i16[N], o8: u8[N], o9: i8[N])\n"
	  "  o1: u8[N] = map (i) (x[i] + y[i]) / u8(2)\n"
	  "  o2: bool[N] = map (i) x[i] + y[i] < y[i]\n"
	  "  o3: i8[N] = map (i) floordiv(n_a[i] * i8(50), n_b[i]) + mod(n_a[i], n_b[i] + i8(7))\n"
	  "  o4: i32[N] = map (i) i32(n_a[i] - i8(127)) + i32(x[i] * y[i])\n"
	  "  o5: i8[N] = map (i) abs(min(n_a[i] * i8(64), n_b[i])) / (n_b[i] - i8(7))\n"
	  "  o6: u16[N] = map (i) shr(p[i] + u16(60000), u16(3)) + rem(p[i] * u16(7), p[i] + u16(9))\n"
	  "  o7: i16[N] = map (i) pow(z[i], i16(3)) - neg(z[i] * i16(300))\n"
	  "  o8: u8[N] = map (i) shl(select(x[i] < y[i], x[i] + u8(1), y[i]), select(n_a[i] < i8(0), u8(9), u8(2)))\n"
	  "  o9: i8[N] = map (i) rem(neg(n_a[i] - i8(127)), select(n_b[i] == i8(0), i8(3), n_b[i])) + bitnot(n_a[i])\n",
	  { "N=50" } },
	{ "wide_integers",
	  "(x: i32[N], y: i32[N], n_a: i64[N], n_b: i64[N], p: u32[N], z: u64[N]) -> (o1: i32[N], o2: i64[N], o3: "
	  "u32[N], o4: u64[N], o5: i64[N], o6: bool[N])\n"
	  "  o1: i32[N] = map (i) x[i] * y[i] + rem(x[i], y[i]) + i32(-2147483648)\n"
	  "  o2: i64[N] = map (i) floordiv(n_a[i], n_b[i]) + mod(n_a[i], n_b[i] + i64(7)) - i64(-9223372036854775808)\n"
	  "  o3: u32[N] = map (i) max(p[i], u32(5)) / u32(7) - min(p[i], u32(3000000000))\n"
	  "  o4: u64[N] = map (i) mod(z[i], u64(18446744073709551615)) + z[i] / u64(3) + shr(z[i], u64(70))\n"
	  "  o5: i64[N] = map (i) pow(n_a[i], n_b[i]) + abs(n_a[i]) + n_b[i] / n_a[i]\n"
	  "  o6: bool[N] = map (i) or(z[i] < u64(9), and(not(x[i] == y[i]), i64(x[i]) <= n_a[i]))\n",
	  { "N=50" } },
	{ "functions",
	  "(x: f32[N], d: f64[N]) -> (y: f32[N], e: f64[N])\n"
	  "  y: f32[N] = map (i) exp(x[i]) + tanh(x[i]) * erf(x[i]) + log1p(abs(x[i])) - rem(x[i], 0.7) + max(x[i], "
	  "-0.5) + pow(abs(x[i]), 1.5) + rint(x[i] * 3.0)\n"
	  "  e: f64[N] = map (i) sqrt(abs(d[i])) + sin(d[i]) * f64(0.1) + select(isnan(d[i]), f64(nan), neg(d[i])) - "
	  "min(d[i], f64(inf))\n",
	  { "N=33" } },
	{ "mod_chain",
	  "(x: f32[N,12]) -> (y: f32[12,N])\n"
	  "  y: f32[12,N] = map (i, j) x[mod(j + 1, N), floordiv(i * 5 + 3, 6)] + f32(mod(7 - i - j, 5)) + "
	  "f32(floordiv(j - i, 3))\n",
	  { "N=7", "N=1" } },
	{ "shared_branches",
	  "(x: f32[N], n_k: i64[N]) -> (y: f32[N])\n"
	  "  y: f32[N] = map (i) let a = select(i < 3, 0.5, x[i - 3] * x[i - 3]), c = a * a + a, b = select(n_k[i] < "
	  "i64(0), c * 2.0, c + exp(c)); select(i < 2, x[i], b / (1.0 + b))\n",
	  { "N=20", "N=1", "N=2" } },
	{ "packed",
	  "(x: f32[N,K], code: u4[N,K], pair: i2[K,N], h: f4e2m1[N,K], e: f8e8m0[N]) -> (a: i4[N,K], b: u2[N,K], c: "
	  "f4e2m1[K,N], d: f32[N,K], f: u4[N + 3], g: f16[K,N], o: i2[N,K], q: f8e8m0[K])\n"
	  "  a: i4[N,K] = map (i, j) i4(i32(rint(x[i, j] * 4.0)))\n"
	  "  b: u2[N,K] = map (i, j) u2(code[i, j])\n"
	  "  c: f4e2m1[K,N] = map (i, j) h[j, i]\n"
	  "  d: f32[N,K] = map (i, j) f32(code[i, j]) * f32(e[i]) + f32(h[i, j])\n"
	  "  f: u4[N + 3] = map (i) select(i < 3, u4(9), code[i - 3, 0])\n"
	  "  g: f16[K,N] = map (i, j) f16(f32(pair[i, j]) - f32(i))\n"
	  "  o: i2[N,K] = map (i, j) pair[j, N - 1 - i]\n"
	  "  q: f8e8m0[K] = map (i) sat_f8e8m0(x[0, i] * 3.0)\n",
	  { "N=5 K=8", "N=3 K=7", "N=1 K=1", "N=7 K=16", "N=9 K=260" } },
	{ "packed_bits",
	  "(code: u4[N,K], x: f32[N,K]) -> (y: f4e2m1[K,N], b: bool[N,K])\n"
	  "  y: f4e2m1[K,N] = map (i, j) bitcast_f4e2m1(code[j, i])\n"
	  "  b: bool[N,K] = map (i, j) i32(u4(x[i, j] * 9.0)) == i32(code[i, j])\n",
	  { "N=0 K=4", "N=3 K=0", "N=3 K=5" } },
	/* ---- tables: functions of one 8-bit element */
	{ "table_quantised",
	  "(x: i8[N,K], z: f32[]) -> (y: i8[N,K])\n"
	  "  y: i8[N,K] = map (i, j) let _0 = f32(x[i, j]) * z[]; i8(min(max(rint(_0 * (1.0 + erf(_0)) * 12.0), "
	  "-128.0), 127.0))\n",
	  { "N=5 K=8", "N=3 K=7", "N=1 K=1", "N=0 K=4", "N=9 K=2000" } },
	{ "table_types",
	  "(x: u8[N,4], b: f8e4m3fn[N,24], c: f32[3], d: i8[32,1024]) -> (y: f16[N,4], z: f32[N,24], o: i8[32,1024])\n"
	  "  y: f16[N,4] = map (i, j) f16(exp(f32(x[i, j]) * -0.125) / (c[1] * c[1] + 1.0))\n"
	  "  z: f32[N,24] = map (i, j) tanh(f32(b[i, j]) * c[0])\n"
	  "  o: i8[32,1024] = map (i, j) i8(rint(log1p(abs(f32(d[i, j]))) * 8.0))\n",
	  { "N=300", "N=1", "N=0" } },
	/* ---- constants, names */
	{ "constants",
	  "(x: f32[N,4]) -> (y: f32[N,4], o: i64[3])\n"
	  "  const c: f32[4] = {1.0, -inf, 0.5, 1e-40}\n"
	  "  const d: i64[3] = {-9223372036854775808, 7, 9223372036854775807}\n"
	  "  y: f32[N,4] = map (i, j) x[i, j] + c[3 - j]\n"
	  "  o: i64[3] = map (i) d[2 - i] - i64(1)\n",
	  { "N=3", "N=1" } },
	{ "iota",
	  "(x: f32[N,K]) -> (y: i64[N,K], o: f32[N])\n"
	  "  y: i64[N,K] = map (i, j) i64(i * K + j) * i64(1000000007)\n"
	  "  o: f32[N] = map (i) f32(K - i)\n",
	  { "N=3 K=5", "N=1 K=1", "N=0 K=2" } },
	{ "names_collide",
	  "(N: f32[N,K], K: f32[K], y_extent: f32[N_extent]) -> (y: f32[N,K], y_update: f32[K], y_x4: "
	  "f32[N_extent,4])\n"
	  "  y: f32[N,K] = map (i, j) N[i, j] * f32(N) + K[j] * f32(K)\n"
	  "  y_update: f32[K] = scatter sum (i | r<N) init K[i] at [mod(r, K)] value N[r, 0] + f32(N_extent)\n"
	  "  y_x4: f32[N_extent,4] = map (i, j) y_extent[i] + f32(j)\n",
	  { "N=3 K=5 N_extent=2", "N=1 K=1 N_extent=3" } },
};

#endif
