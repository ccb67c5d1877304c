/* Stages that depend on the order of elements: scans, compactions, sorts. See schedule_case.h. */
#ifndef TPAT_TESTS_ORDER_CASES_H
#define TPAT_TESTS_ORDER_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case order_cases[] = {
	/* ---- scans */
	{ "scan_last",
	  "(x: f32[N,K]) -> (y: f32[N,K])\n  y: f32[N,K] = scan sum along j (i, j) x[i, j]\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=0 K=3", "N=2 K=2500", "N=9 K=33" } },
	{ "scan_directions",
	  "(x: i32[N,K]) -> (a: i32[N,K], b: i32[N,K], c: i32[N,K])\n"
	  "  a: i32[N,K] = scan sum along j exclusive (i, j) x[i, j]\n"
	  "  b: i32[N,K] = scan sum along j reverse (i, j) x[i, j]\n"
	  "  c: i32[N,K] = scan sum along j exclusive reverse (i, j) x[i, j]\n",
	  { "N=3 K=70", "N=4 K=1", "N=2 K=1100", "N=2 K=0", "N=5 K=32", "N=1 K=33" } },
	{ "scan_first",
	  "(x: f16[N,K]) -> (y: f16[N,K], o: f32[N,K])\n"
	  "  y: f16[N,K] = scan sum along i (i, j) f32(x[i, j])\n"
	  "  o: f32[N,K] = scan sum along i exclusive reverse (i, j) f32(x[i, j]) then it * f32(i) + f32(j)\n",
	  { "N=70 K=5", "N=1 K=3", "N=0 K=3", "N=3 K=0", "N=40 K=300" } },
	{ "scan_middle",
	  "(x: f64[A,B,C,D], y0: i32[B]) -> (y: f64[A,B,C,D])\n"
	  "  y: f64[A,B,C,D] = scan sum along k exclusive (i, j, k, l) x[i, j, k, l] * f64(y0[j]) + f64(l)\n",
	  { "A=2 B=3 C=40 D=5", "A=1 B=1 C=7 D=1", "A=3 B=2 C=2 D=0" } },
	{ "scan_combines",
	  "(t_x: f32[N,70], n_x: i64[N,70], q: u8[N,70]) -> (a: f32[N,70], b: f32[N,70], c: i64[N,70], d: u8[N,70], e: "
	  "u8[N,70])\n"
	  "  a: f32[N,70] = scan max along j (i, j) t_x[i, j]\n"
	  "  b: f32[N,70] = scan min along j exclusive (i, j) t_x[i, j]\n"
	  "  c: i64[N,70] = scan prod along j reverse (i, j) n_x[i, j] * i64(3) + i64(1)\n"
	  "  d: u8[N,70] = scan sum along j (i, j) q[i, j] + u8(200)\n"
	  "  e: u8[N,70] = scan max along i exclusive (i, j) q[i, j]\n",
	  { "N=4", "N=1" } },
	{ "scan_shifted",
	  "(x: f32[K,N]) -> (y: f32[N,K], o: i64[N])\n"
	  "  y: f32[N,K] = scan sum along j reverse (i, j) select(j < 2, 1.0, x[j - 2, i]) then it / f32(K - j)\n"
	  "  o: i64[N] = scan sum along i (i) i64(i * i)\n",
	  { "N=3 K=50", "N=1 K=1", "N=2 K=700" } },
	{ "scan_vectors",
	  "(x: f16[3,1096], b: f32[1096]) -> (y: f16[3,1096], o: f16[3,1096])\n"
	  "  y: f16[3,1096] = scan sum along j (i, j) f32(x[i, j]) * b[j] then f16(it)\n"
	  "  o: f16[3,1096] = scan max along j exclusive reverse (i, j) f32(x[i, j]) - f32(x[2 - i, j]) then f16(it + "
	  "f32(x[i, j]))\n",
	  { "" } },
	{ "scan_long",
	  "(x: i32[N]) -> (y: i32[N], o: i32[N])\n"
	  "  y: i32[N] = scan sum along i (i) x[i]\n"
	  "  o: i32[N] = scan max along i exclusive reverse (i) x[i] then it + i32(i)\n",
	  { "N=1", "N=0", "N=9000", "N=8192", "N=20011" } },
	{ "scan_none", "(x: f32[3,0]) -> (y: f32[3,0])\n  y: f32[3,0] = scan sum along j (i, j) x[i, j]\n", { "" } },
	{ "scan_long_rows",
	  "(x: f64[3,40000]) -> (y: f64[3,40000])\n"
	  "  y: f64[3,40000] = scan sum along j exclusive (i, j) x[i, j] then it + f64(i)\n",
	  { "" } },
	{ "sort_found",
	  "(x: f32[N]) -> (y: i64[M], o: i64[min(M, 3)])\n"
	  "  size M = found <= N\n"
	  "  a: f32[M] = compact found (| r<N) x[r] where 0.0 < x[r]\n"
	  "  y: i64[M] = sort along i (i | r<M) a[r]\n"
	  "  o: i64[min(M, 3)] = sort descending along i (i | r<M) a[r]\n",
	  { "N=90", "N=1", "N=0", "N=9000" } },
	/* ---- compactions */
	{ "compact",
	  "(x: f32[N,K]) -> (y: i64[M])\n"
	  "  size M = found <= N * K\n"
	  "  y: i64[M] = compact found (| r<N, s<K) i64(r * K + s) where 0.0 < x[r, s]\n",
	  { "N=5 K=70", "N=1 K=1", "N=0 K=3", "N=90 K=91", "N=113 K=200" } },
	{ "compact_all_none",
	  "(x: i8[N]) -> (a: i8[M], b: i8[L], found: i64[], more: i64[])\n"
	  "  size M = found <= N\n  size L = more <= N\n"
	  "  a: i8[M] = compact found (| r<N) x[r] where i32(-128) <= i32(x[r])\n"
	  "  b: i8[L] = compact more (| r<N) x[N - r] where i32(128) < i32(x[r])\n",
	  { "N=300", "N=1", "N=0", "N=8193", "N=16384" } },
	{ "compact_fixed",
	  "(x: f16[3,7000]) -> (y: f16[M], o: i32[2,M], c: f32[40])\n"
	  "  size M = found <= 21000\n"
	  "  places: i32[M] = compact found (| r<3, s<7000) i32(s * 3 + r) where f32(x[r, s]) < -0.5\n"
	  "  y: f16[M] = map (i) x[mod(index(places[i]), 3), floordiv(index(places[i]), 3)]\n"
	  "  o: i32[2,M] = map (i, j) select(i < 1, places[j], places[M - 1 - j])\n"
	  "  c: f32[40] = sum (i | r<M) select(index(places[r]) == i * 3, 1.0, 0.0)\n",
	  { "" } },
	{ "compact_coordinates",
	  "(x: f32[N,K], u0: f32[3]) -> (y: i64[2,M], o: f32[3,M], c: f32[L])\n"
	  "  size M = found <= N * K\n  size L = more <= N * K\n"
	  "  a: i64[M] = compact found (| r<N, s<K) i64(r * K + s) where 0.0 < x[r, s]\n"
	  "  y: i64[2,M] = map (i, j) i64(select(i < 1, floordiv(index(a[j]), K), mod(index(a[j]), K)))\n"
	  "  o: f32[3,M] = map (i, j) u0[i] + f32(a[j]) + f32(j)\n"
	  "  b: f32[L] = compact more (| r<M) f32(y[1, r]) where mod(r, 3) < 2\n"
	  "  c: f32[L] = map (i) b[i] * 2.0\n",
	  { "N=5 K=70", "N=1 K=1", "N=0 K=3", "N=90 K=91", "N=128 K=64" } },
	{ "compact_chained",
	  "(x: f32[N]) -> (y: f32[L], o: f32[], c: f32[M * 2])\n"
	  "  size M = found <= N\n  size L = more <= N\n"
	  "  a: f32[M] = compact found (| r<N) x[r] where 0.0 < x[r]\n"
	  "  y: f32[L] = compact more (| r<M) a[r] * 2.0 where a[r] < 1.0\n"
	  "  o: f32[] = sum (| r<L) y[r]\n"
	  "  c: f32[M * 2] = scan sum along i (i) a[floordiv(i, 2)]\n",
	  { "N=300", "N=0", "N=9001" } },
	/* ---- sorts */
	{ "sort_rows",
	  "(t_x: f32[N,K]) -> (y: i64[N,K])\n  y: i64[N,K] = sort along j (i, j | r<K) t_x[i, r]\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=0 K=3", "N=2 K=4097", "N=2 K=1500" } },
	{ "sort_short",
	  "(t_x: f16[N,9]) -> (y: i64[N,9])\n  y: i64[N,9] = sort along j (i, j | r<9) f32(t_x[i, r])\n",
	  { "N=300", "N=1", "N=0" } },
	{ "sort_first_of_short",
	  "(x: i8[N,70]) -> (y: i32[N,4])\n  y: i32[N,4] = sort descending along j (i, j | r<70) x[i, r]\n",
	  { "N=40", "N=1" } },
	{ "sort_first_by_warps",
	  "(t_x: f32[N,K], n_x: i64[3,301]) -> (y: i64[N,20], o: i64[3,32])\n"
	  "  y: i64[N,20] = sort descending along j (i, j | r<K) t_x[i, r]\n"
	  "  o: i64[3,32] = sort along j (i, j | r<301) n_x[i, r]\n",
	  { "N=5 K=70", "N=2 K=604", "N=1 K=20" } },
	{ "sort_bool",
	  "(x: bool[3,N]) -> (y: i64[3,N])\n  y: i64[3,N] = sort descending along j (i, j | r<N) x[i, r]\n",
	  { "N=33", "N=1" } },
	{ "sort_i16",
	  "(x: i16[2,600]) -> (y: i64[2,600])\n"
	  "  y: i64[2,600] = sort descending along j (i, j | r<600) x[i, r] * i16(7000)\n",
	  { "" } },
	{ "sort_bf16",
	  "(t_x: bf16[2,600]) -> (y: i64[2,600])\n  y: i64[2,600] = sort along j (i, j | r<600) f32(t_x[i, r])\n",
	  { "" } },
	{ "sort_u32",
	  "(x: u32[2,600]) -> (y: i64[2,600])\n"
	  "  y: i64[2,600] = sort descending along j (i, j | r<600) x[i, r] * u32(31234567)\n",
	  { "" } },
	{ "sort_i64",
	  "(x: i64[2,600]) -> (y: i64[2,600])\n"
	  "  y: i64[2,600] = sort along j (i, j | r<600) x[i, r] * i64(1234567890123)\n",
	  { "" } },
	{ "sort_u64",
	  "(x: u64[2,70]) -> (y: i64[2,70])\n"
	  "  y: i64[2,70] = sort descending along j (i, j | r<70) x[i, r] * u64(92345678901234567)\n",
	  { "" } },
	{ "sort_f64",
	  "(t_x: f64[2,9000]) -> (y: i64[2,9000])\n"
	  "  y: i64[2,9000] = sort descending along j (i, j | r<9000) t_x[i, r]\n",
	  { "" } },
	{ "sort_few",
	  "(t_x: f32[N,9000]) -> (y: i64[N,7])\n  y: i64[N,7] = sort descending along j (i, j | r<9000) t_x[i, r]\n",
	  { "N=1", "N=2" } },
	{ "sort_few_of_halves",
	  "(t_x: f16[2,10000], x: f16[1,5003]) -> (y: i64[2,50], o: i64[1,20])\n"
	  "  y: i64[2,50] = sort descending along j (i, j | r<10000) f32(t_x[i, r])\n"
	  "  o: i64[1,20] = sort along j (i, j | r<5003) f32(x[i, r])\n",
	  { "" } },
	{ "sort_several",
	  "(n_x: i64[N,9000]) -> (y: i64[N,300])\n  y: i64[N,300] = sort along j (i, j | r<9000) n_x[i, r]\n",
	  { "N=2" } },
	{ "sort_first_of_segments",
	  "(t_x: i64[1,70000], t_z: i16[3,8209]) -> (y: i64[1,20], o: i64[3,64])\n"
	  "  y: i64[1,20] = sort along j (i, j | r<70000) t_x[i, r]\n"
	  "  o: i64[3,64] = sort descending along j (i, j | r<8209) t_z[i, r]\n",
	  { "" } },
	{ "sort_first", "(x: f32[40000]) -> (y: i64[1])\n  y: i64[1] = sort along i (i | r<40000) x[r]\n", { "" } },
	/* The k-th best decreases with every element. */
	{ "sort_rising",
	  "(x: f32[N]) -> (y: i64[20])\n  y: i64[20] = sort descending along i (i | r<N) f32(r) + x[0] * 0.0\n",
	  { "N=9000", "N=20" } },
	{ "sort_steps",
	  "(x: f32[9000]) -> (y: i64[20])\n"
	  "  y: i64[20] = sort descending along i (i | r<9000) f32(floordiv(r, 1000)) + x[0] * 0.0\n",
	  { "" } },
	{ "sort_equal_by_digits", /* places decide */
	  "(x: f32[1], z: i64[1]) -> (y: i64[300], o: i64[150])\n"
	  "  y: i64[300] = sort descending along i (i | r<9000) f32(floordiv(r, 4000)) + x[0] * 0.0\n"
	  "  o: i64[150] = sort along i (i | r<2500) i64(floordiv(r, 2000)) + z[0] * i64(0)\n",
	  { "" } },
	{ "sort_open_by_digits",
	  "(t_x: f32[N,K]) -> (y: i64[N,200])\n  y: i64[N,200] = sort descending along j (i, j | r<K) t_x[i, r]\n",
	  { "N=2 K=200", "N=1 K=4099", "N=3 K=1000", "N=0 K=300" } },
	{ "sort_axis_first",
	  "(x: f32[A,B,C]) -> (y: i64[A,B,C])\n  y: i64[A,B,C] = sort along i (i, j, k | r<A) x[r, j, k]\n",
	  { "A=20 B=3 C=5", "A=1 B=2 C=1", "A=0 B=3 C=2" } },
	{ "sort_axis_middle",
	  "(x: f32[A,30,C], q: i32[C,A]) -> (y: i64[A,8,C])\n"
	  "  y: i64[A,8,C] = sort descending along j (i, j, k | r<30) x[i, r, k] * f32(q[k, i])\n",
	  { "A=3 C=5", "A=1 C=1" } },
	{ "sort_first_of_columns",
	  "(t_x: f32[N,9,5], n_x: i64[3,N]) -> (y: f32[N,3,5], o: i64[N,3,5], z: i64[1,N])\n"
	  "  o: i64[N,3,5] = sort descending along j (i, j, k | r<9) t_x[i, r, k]\n"
	  "  y: f32[N,3,5] = map (i, j, k) t_x[i, index(o[i, j, k]), k] * f32(k - i)\n"
	  "  z: i64[1,N] = sort along i (i, j | r<3) n_x[r, j]\n",
	  { "N=30", "N=0" } },
	{ "sort_two_axes",
	  "(q: i32[C,A]) -> (y: i64[A,4,2])\n"
	  "  y: i64[A,4,2] = sort along k (i, j, k | r<C) f32(q[r, i]) + f32(j * r)\n",
	  { "A=3 C=9" } },
	{ "sort_first_symbol",
	  "(x: f32[N,K], u0: f32[M]) -> (y: i64[N,M], o: f32[N,M])\n"
	  "  y: i64[N,M] = sort descending along j (i, j | r<K) x[i, r]\n"
	  "  o: f32[N,M] = map (i, j) x[i, min(index(y[i, j]), K - 1)] + u0[j]\n",
	  { "N=3 K=70 M=5", "N=2 K=1 M=1", "N=1 K=3000 M=600", "N=2 K=10 M=0" } },
	/* Maps of a sort's results fuse with it, with positions or without. */
	{ "sort_values",
	  "(t_x: f32[N,K], u0: f32[K]) -> (y: f32[N,5], o: i32[N,5])\n"
	  "  a: i64[N,5] = sort descending along j (i, j | r<K) t_x[i, r]\n"
	  "  y: f32[N,5] = map (i, j) t_x[i, index(a[i, j])] + f32(j)\n"
	  "  o: i32[N,5] = map (i, j) i32(a[i, j]) + i32(i)\n",
	  { "N=3 K=70", "N=2 K=9001", "N=0 K=5" } },
	{ "sort_values_alone",
	  "(t_x: f16[2,A,3], x: i8[300]) -> (y: f16[2,A,3], o: i16[300])\n"
	  "  a: i64[2,A,3] = sort along j (i, j, k | r<A) f32(t_x[i, r, k])\n"
	  "  y: f16[2,A,3] = map (i, j, k) t_x[i, index(a[i, j, k]), k]\n"
	  "  b: i32[300] = sort descending along i (i | r<300) x[r]\n"
	  "  o: i16[300] = map (i) i16(x[index(b[i])]) * i16(3)\n",
	  { "A=40", "A=5000", "A=1" } },
	/* They use the row's axes and the rank. */
	{ "sort_values_of_axis",
	  "(t_x: f32[A,B,C], x: f32[B,C], u0: f32[M]) -> (y: f32[M,B,C], o: i64[M,B,C])\n"
	  "  o: i64[M,B,C] = sort descending along i (i, j, k | r<A) t_x[r, j, k]\n"
	  "  y: f32[M,B,C] = map (i, j, k) t_x[min(index(o[i, j, k]), A - 1), j, k] * f32(j + 2)"
	  " + x[j, k] * f32(k - i) + u0[i]\n",
	  { "A=7 B=3 C=5 M=4", "A=2000 B=2 C=3 M=5", "A=9000 B=1 C=2 M=20", "A=3 B=2 C=2 M=0" } },
	/* ---- picks: values in any order, so that rows end early, late or never, and all, none or some exclude others
	 */
	{ "pick_last",
	  "(x: f32[N,K], u0: f32[M]) -> (y: i32[N,M], o: f32[N,M])\n"
	  "  y: i32[N,M] = pick along j (i, j | r<K, s<K) abs(x[i, r] - x[i, s]) < 0.02 where x[i, r] < 1.9\n"
	  "  o: f32[N,M] = map (i, j) f32(y[i, j]) + u0[j]\n",
	  { "N=3 K=70 M=70", "N=2 K=1 M=3", "N=1 K=0 M=4", "N=2 K=2100 M=90", "N=3 K=33 M=0", "N=0 K=5 M=2" } },
	{ "pick_middle",
	  "(x: f16[A,300,B], q: u8[B]) -> (y: i64[A,200,B])\n"
	  "  y: i64[A,200,B] = pick along j (i, j, k | r<300, s<300) f32(x[i, r, k]) * f32(x[i, s, k]) < "
	  "f32(q[k]) * 0.001 - 0.25\n",
	  { "A=2 B=3", "A=1 B=1" } },
	{ "pick_chain", /* each excludes the next one */
	  "(x: f32[1200]) -> (y: i32[1200], o: i32[1200])\n"
	  "  y: i32[1200] = pick along i (i | r<1200, s<1200) s + 1 == r where x[r] < 3.0\n"
	  "  o: i32[1200] = pick along i (i | r<1200, s<1200) r < s + 33\n",
	  { "" } },
	{ "pick_size", /* of elements whose number is known only at run time */
	  "(x: f32[N]) -> (y: i64[N])\n"
	  "  size M = found <= N\n"
	  "  a: f32[M] = compact found (| r<N) x[r] where 0.0 < x[r]\n"
	  "  y: i64[N] = pick along i (i | r<M, s<M) abs(a[r] - a[s]) < 0.03\n",
	  { "N=300", "N=1", "N=0" } },
	{ "pick_size_known",
	  "(x: f32[300]) -> (y: i64[200])\n"
	  "  size M = found <= 300\n"
	  "  a: f32[M] = compact found (| r<300) x[r] where 0.0 < x[r]\n"
	  "  y: i64[200] = pick along i (i | r<M, s<M) abs(a[r] - a[s]) < 0.03\n",
	  { "" } },
	{ "pick_boxes", /* vectors of numbers that belong together, but for a last one */
	  "(x: f32[N,K,4], x2: f16[K,6]) -> (y: i32[N,K])\n"
	  "  y: i32[N,K] = pick along j (i, j | r<K, s<K) let d = x[i, r, 1] - x[i, s, 1]; "
	  "and(d * d < 0.5, x[i, r, 2] < x[i, s, 3] + f32(x2[s, 5]) - f32(x2[r, 0])) where x[i, r, 0] < 1.9\n",
	  { "N=2 K=150", "N=1 K=1" } },
	{ "sort_computed",
	  "(x: f32[3,50], x2: f32[3,50]) -> (y: i64[3,50])\n"
	  "  y: i64[3,50] = sort along j (i, j | r<50) let d = x[i, r] - x2[i, 49 - r]; d * d\n",
	  { "" } },
};

#endif
