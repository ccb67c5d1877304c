/* Programs of tensors with more than 2^31 elements, one per rule; results of a row depend on the same row of the
 * inputs. See far_test.c. */
#ifndef TPAT_TESTS_FAR_CASES_H
#define TPAT_TESTS_FAR_CASES_H

#include <stdbool.h>

struct far_case {
	const char *rule, *program, *shapes;
	double tolerance; /* absolute; 0: the type's */
	const char *twin; /* the rule that runs instead if the case's own has only 32-bit positions; null: it has 64-bit
	                     ones */
	bool fixed;       /* N is a number in the program */
	int below;   /* a compaction: keeps elements of x below this; 0: rows of the result are rows of the inputs */
	bool places; /* its result holds their positions */
};

static const struct far_case far_cases[] = {
	{ "map", "(x: u8[N,K]) -> (y: u8[N,K])\n  y: u8[N,K] = map (i, j) x[i, j] + u8(3)\n", "N=66000 K=65537",
	  .tolerance = 0 },
	{ "flat", "(x: u8[N,8,3]) -> (y: u8[N,8,3])\n  y: u8[N,8,3] = map (i, j, k) x[i, j, 2 - k]\n", "N=180000001",
	  .tolerance = 0 },
	{ "planes",
	  "(x: f16[N,4,4,8], t0: u8[N,6,10]) -> (y: f16[N,4,6,10])\n"
	  "  y: f16[N,4,6,10] = map (i, j, k, l) let d = f32(t0[i, k, l]), e = exp(d * -0.01) * 3.0 + log1p(d) + "
	  "sqrt(d), a = index(floor(e)), c = mod(a, 4), b = mod(a, 9); select(b + 1 < 8, f16(f32(x[i, j, c, b]) + "
	  "f32(x[i, j, c, b + 1]) * 0.5), f16(-1.0))\n",
	  "N=9000001", .tolerance = 4e-3 },
	{ "slab",
	  "(x: u8[N,8,32], t0: u8[N,60]) -> (y: u8[N,8,60])\n"
	  "  y: u8[N,8,60] = map (i, j, k) x[i, j, min(max(index(t0[i, k]), 0), 31)] + u8(1)\n",
	  "N=9000001", .tolerance = 0 },
	{ "places",
	  "(x: u8[N,16,3,2,4], t0: u8[N,30]) -> (y: u8[N,16,30])\n"
	  "  y: u8[N,16,30] = map (i, j, k) let a = index(t0[i, k]); x[i, j, mod(a, 3), mod(a, 2), mod(a, 4)] + "
	  "u8(1)\n",
	  "N=9000001", .tolerance = 0 },
	{ "march",
	  "(x: f16[N,3,5]) -> (y: f16[N,10,16])\n"
	  "  y: f16[N,10,16] = map (i, j, k) let a = f32(mod(j * 6 + 3, 20)) * 0.05, b = f32(mod(k * 5 + 2, 16)) * "
	  "0.0625, p = max(0, floordiv(j * 3 - 3, 10)), q = min(2, floordiv(j * 3 - 3, 10) + 1), v = floordiv(k * 5, "
	  "16), w0 = min(4, v + 1); f16((1.0 - a) * ((1.0 - b) * f32(x[i, p, v]) + b * f32(x[i, p, w0])) + a * ((1.0 - "
	  "b) * f32(x[i, q, v]) + b * f32(x[i, q, w0])))\n",
	  "N=14000001", .tolerance = 4e-3 },
	{ "table",
	  "(x: i8[N,K]) -> (y: i8[N,K])\n"
	  "  y: i8[N,K] = map (i, j) let a = f32(x[i, j]) * 0.0625; i8(rint(max(a, 0.0) * 12.0 + floor(a)))\n",
	  "N=66000 K=65537", .tolerance = 0 },
	{ "tile", "(x: u8[N,64,96]) -> (y: u8[N,96,64])\n  y: u8[N,96,64] = map (i, j, k) x[i, k, j]\n", "N=704001",
	  .tolerance = 0 },
	{ "contract",
	  "(x: i8[N,64,256], w0: i8[256,64]) -> (y: i32[N,64,64])\n"
	  "  y: i32[N,64,64] = sum (i, j, k | r<256) i32(x[i, j, r]) * i32(w0[r, k])\n",
	  "N=264001", .tolerance = 0 },
	{ "contract_made",
	  "(x: f16[N,64,256], w0: i8[256,64]) -> (y: i32[N,64,64])\n"
	  "  q: i8[N,64,256] = map (i, j, k) i8(min(max(rint(f32(x[i, j, k]) * 16.0), -128.0), 127.0))\n"
	  "  y: i32[N,64,64] = sum (i, j, k | r<256) i32(q[i, j, r]) * i32(w0[r, k])\n",
	  "N=264001", .tolerance = 0 },
	{ "contract_placed",
	  "(x: f16[N,64,250], w0: i8[250,64]) -> (y: i32[N,64,64])\n"
	  "  q: i8[N,64,250] = map (i, j, k) i8(min(max(rint(f32(x[i, j, k]) * 16.0), -128.0), 127.0))\n"
	  "  y: i32[N,64,64] = sum (i, j, k | r<250) i32(q[i, j, r]) * i32(w0[r, k])\n",
	  "N=264001", .tolerance = 0 },
	{ "contract_split",
	  "(x: i8[N,33554432], w0: i8[33554432,2]) -> (y: i32[N,2])\n"
	  "  y: i32[N,2] = sum (i, j | r<33554432) i32(x[i, r]) * i32(w0[r, j])\n",
	  "N=65", .tolerance = 0 },
	{ "contract_wide",
	  "(x: i8[N,256], w0: i8[64,256]) -> (y: i32[N,64])\n"
	  "  y: i32[N,64] = sum (i, j | r<256) i32(x[i, r]) * i32(w0[j, r])\n",
	  "N=16900001", .twin = "contract" },
	{ "attention",
	  "(q: f16[N,16,64], k0: f16[N,16,64], v0: f16[N,16,64]) -> (y: f16[N,16,64])\n"
	  "  c: f32[N,16,16] = sum (i, j, k | r<64) f32(q[i, j, r]) * f32(k0[i, k, r]) then it * 0.125\n"
	  "  a: f32[N,16] = max (i, j | r<16) c[i, j, r]\n"
	  "  b: f32[N,16] = sum (i, j | r<16) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[N,16,64] = sum (i, j, k | r<16) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  "N=2100001", .tolerance = 4e-3 },
	{ "attention_mma",
	  "(q: f16[N,16,64], k0: f16[N,16,64], v0: f16[N,16,64]) -> (y: f16[N,16,64])\n"
	  "  c: f32[N,16,16] = sum (i, j, k | r<64) f32(q[i, j, r]) * f32(k0[i, k, r]) then it * 0.125\n"
	  "  a: f32[N,16] = max (i, j | r<16) c[i, j, r]\n"
	  "  b: f32[N,16] = sum (i, j | r<16) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[N,16,64] = sum (i, j, k | r<16) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  "N=2100001", .tolerance = 4e-3 },
	{ "attention_few",
	  "(q: f16[N,16,64], k0: f16[N,16,64], v0: f16[N,16,64]) -> (y: f16[N,16,64])\n"
	  "  c: f32[N,16,16] = sum (i, j, k | r<64) f32(q[i, j, r]) * f32(k0[i, k, r]) then it * 0.125\n"
	  "  a: f32[N,16] = max (i, j | r<16) c[i, j, r]\n"
	  "  b: f32[N,16] = sum (i, j | r<16) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[N,16,64] = sum (i, j, k | r<16) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  "N=2100001", .tolerance = 4e-3 },
	{ "attention_lanes",
	  "(q: f16[N,16,64], k0: f16[N,16,64], v0: f16[N,16,64]) -> (y: f16[N,16,64])\n"
	  "  c: f32[N,16,16] = sum (i, j, k | r<64) f32(q[i, j, r]) * f32(k0[i, k, r]) then it * 0.125\n"
	  "  a: f32[N,16] = max (i, j | r<16) c[i, j, r]\n"
	  "  b: f32[N,16] = sum (i, j | r<16) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[N,16,64] = sum (i, j, k | r<16) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  "N=2100001", .tolerance = 4e-3 },
	{ "attention_wide",
	  "(q: f16[N,64,64], k0: f16[N,64,64], v0: f16[N,64,64]) -> (y: f16[N,64,64])\n"
	  "  c: f32[N,64,64] = sum (i, j, k | r<64) f32(q[i, j, r]) * f32(k0[i, k, r]) then it * 0.125\n"
	  "  a: f32[N,64] = max (i, j | r<64) c[i, j, r]\n"
	  "  b: f32[N,64] = sum (i, j | r<64) exp(c[i, j, r] - a[i, j])\n"
	  "  y: f16[N,64,64] = sum (i, j, k | r<64) exp(c[i, j, r] - a[i, j]) * f32(v0[i, r, k]) then f16(it / b[i, "
	  "j])\n",
	  "N=525001", .tolerance = 4e-3 },
	{ "rows",
	  "(x: u8[N,1024]) -> (y: u8[N,1024])\n"
	  "  a: i32[N,1] = max (i, j | r<1024) i32(x[i, r])\n"
	  "  b: i32[N,1] = sum (i, j | r<1024) i32(x[i, r]) - a[i, 0]\n"
	  "  y: u8[N,1024] = map (i, j) u8(i32(x[i, j]) + a[i, 0] + b[i, 0])\n",
	  "N=4220001", .tolerance = 0 },
	{ "rows_cluster",
	  "(x: u8[N,4096]) -> (y: u8[N,4096])\n"
	  "  a: i32[N,1] = max (i, j | r<4096) i32(x[i, r])\n"
	  "  b: i32[N,1] = sum (i, j | r<4096) i32(x[i, r]) - a[i, 0]\n"
	  "  y: u8[N,4096] = map (i, j) u8(i32(x[i, j]) + a[i, 0] + b[i, 0])\n",
	  "N=1060001", .tolerance = 0 },
	{ "across",
	  "(x: u8[N,64,32]) -> (y: u8[N,64,32])\n"
	  "  a: i32[N,1,32] = max (i, j, k | r<64) i32(x[i, r, k])\n"
	  "  b: i32[N,1,32] = sum (i, j, k | r<64) i32(x[i, r, k]) - a[i, 0, k]\n"
	  "  y: u8[N,64,32] = map (i, j, k) u8(i32(x[i, j, k]) + a[i, 0, k] + b[i, 0, k])\n",
	  "N=2110001", .tolerance = 0 },
	{ "rows_split",
	  "(x: u8[N,K]) -> (a: i32[N], b: i32[N])\n"
	  "  a: i32[N] = max (i | r<K) i32(x[i, r])\n"
	  "  b: i32[N] = sum (i | r<K) i32(x[i, r])\n",
	  "N=1100 K=4000037", .tolerance = 0 },
	{ "reduce_thread", "(x: i8[N,24]) -> (y: i32[N])\n  y: i32[N] = sum (i | r<24) i32(x[i, r])\n", "N=180000001",
	  .tolerance = 0 },
	{ "reduce_lanes", "(x: i8[N,1000]) -> (y: i32[N])\n  y: i32[N] = sum (i | r<1000) i32(x[i, r])\n", "N=4320001",
	  .tolerance = 0 },
	{ "reduce_columns",
	  "(x: i8[N,50,100]) -> (y: i32[N,100])\n  y: i32[N,100] = sum (i, j | r<50) i32(x[i, r, j])\n", "N=865001",
	  .tolerance = 0 },
	{ "reduce_spread",
	  "(x: u8[N,12,40]) -> (y: u8[N,40,3])\n"
	  "  a: i32[N,40] = max (i, j | r<10) i32(x[i, r + 2, j])\n"
	  "  y: u8[N,40,3] = map (i, j, k) select(k < 2, x[i, k, j], u8(a[i, j]))\n",
	  "N=36000001", .tolerance = 0 },
	{ "reduce_split", "(x: i8[N,K]) -> (y: i32[N])\n  y: i32[N] = sum (i | r<K) i32(x[i, r])\n", "N=1100 K=4000037",
	  .tolerance = 0 },
	{ "windows",
	  "(x: u8[N,8,16]) -> (y: u8[N,4,8], p: u8[N,4,8])\n"
	  "  y: u8[N,4,8] = max (i, j, k | r<2, s<2) i32(x[i, 2 * j + r, 2 * k + s])\n"
	  "  a: i32[N,4,8] = argmax (i, j, k | r<2, s<2) i32(x[i, 2 * j + r, 2 * k + s])\n"
	  "  p: u8[N,4,8] = map (i, j, k) u8(a[i, j, k])\n",
	  "N=33800001", .tolerance = 0 },
	{ "stencil",
	  "(x: u8[N,10,18]) -> (y: u8[N,8,16])\n"
	  "  y: u8[N,8,16] = max (i, j, k | r<3, s<3) i32(x[i, j + r, k + s])\n",
	  "N=33800001", .tolerance = 0 },
	{ "separable",
	  "(x: f16[N,12,40]) -> (y: f16[N,6,18])\n"
	  "  a: f32[N,6,40] = sum (i, j, k | r<4) f32(r + 1) * f32(x[i, min(11, max(0, j * 2 + r - 1)), k])\n"
	  "  y: f16[N,6,18] = sum (i, j, k | r<3) f32(r + 1) * a[i, j, min(39, k * 2 + r)] then f16(it * 0.125)\n",
	  "N=4500001", .tolerance = 2e-2 },
	{ "scan_thread", "(x: u8[N,24]) -> (y: u8[N,24])\n  y: u8[N,24] = scan sum along j (i, j) x[i, j]\n",
	  "N=180000001", .tolerance = 0 },
	{ "scan_lanes", "(x: u8[N,1000]) -> (y: u8[N,1000])\n  y: u8[N,1000] = scan sum along j (i, j) x[i, j]\n",
	  "N=4320001", .tolerance = 0 },
	{ "scan_tiles", "(x: u8[N,K]) -> (y: u8[N,K])\n  y: u8[N,K] = scan sum along j (i, j) x[i, j]\n",
	  "N=1100 K=4000037", .tolerance = 0 },
	{ "scatter",
	  "(x: u8[N,40], t0: u8[N,8], u0: u8[N,8]) -> (y: u8[N,40])\n"
	  "  y: u8[N,40] = scatter max (i, j | r<N, s<8) init x[i, j] at [r, mod(index(t0[r, s]), 40)] value u0[r, "
	  "s]\n",
	  "N=108000001", .tolerance = 0 },
	{ "scatter_rows",
	  "(x: u8[N,1000], t0: u8[N,8], u0: u8[N,8]) -> (y: u8[N,1000])\n"
	  "  y: u8[N,1000] = scatter max (i, j | r<N, s<8) init x[i, j] at [r, mod(index(t0[r, s]) * 37, 1000)] value "
	  "u0[r, s]\n",
	  "N=4320001", .tolerance = 0 },
	{ "scatter_lists",
	  "(x: u8[N,8,1000], t0: u8[N,4], u0: u8[N,4,1000]) -> (y: u8[N,8,1000])\n"
	  "  y: u8[N,8,1000] = scatter sum (i, j, k | r<N, s<4, t<1000) init x[i, j, k] at [r, mod(index(t0[r, s]), "
	  "8), t] value u0[r, s, t]\n",
	  "N=540001", .fixed = true },
	{ "scatter_split",
	  "(x: u8[N,40], t0: u8[N,64], u0: u8[N,64]) -> (y: u8[N,40])\n"
	  "  y: u8[N,40] = scatter max (i, j | r<N, s<64) init x[i, j] at [r, mod(index(t0[r, s]), 40)] value u0[r, "
	  "s]\n",
	  "N=54000001", .tolerance = 0 },
	{ "loop_block",
	  "(x: u8[N,4,8]) -> (y: u8[N,8])\n"
	  "  loop turn<4 {\n"
	  "    carry h: u8[N,8] (i, j) u8(j)\n"
	  "    g: u8[N,8] = map (i, j) h[i, j] * u8(3) + x[i, turn, j]\n"
	  "    next h = g\n"
	  "  }\n"
	  "  y: u8[N,8] = map (i, j) h[i, j]\n",
	  "N=135000001", .tolerance = 0 },
	{ "compact_block",
	  "(x: u8[N]) -> (y: u8[M], found: i64[])\n"
	  "  size M = found <= N\n"
	  "  y: u8[M] = compact found (| r<N) x[r] where x[r] < u8(110)\n",
	  "N=5300000001", .below = 110 },
	{ "compact_tiles",
	  "(x: u8[N]) -> (y: u8[M], found: i64[])\n"
	  "  size M = found <= N\n"
	  "  y: u8[M] = compact found (| r<N) x[r] where x[r] < u8(110)\n",
	  "N=5300000001", .below = 110 },
	{ "compact_marks",
	  "(x: u8[N]) -> (y: i64[1,M], found: i64[])\n"
	  "  size M = found <= N\n"
	  "  a: i64[M] = compact found (| r<N) i64(r) where x[r] < u8(2)\n"
	  "  y: i64[1,M] = map (i, j) a[j]\n",
	  "N=4300000001", .below = 2, .places = true },
	{ "sort_block",
	  "(x: u8[N,100]) -> (y: u8[N,100])\n"
	  "  a: i32[N,100] = sort along j (i, j | r<100) x[i, r]\n"
	  "  y: u8[N,100] = map (i, j) x[i, index(a[i, j])]\n",
	  "N=43200001", .tolerance = 0 },
	{ "sort_select",
	  "(x: u8[N,3000]) -> (y: u8[N,4])\n"
	  "  a: i32[N,4] = sort descending along j (i, j | r<3000) x[i, r]\n"
	  "  y: u8[N,4] = map (i, j) x[i, index(a[i, j])]\n",
	  "N=1440001", .tolerance = 0 },
	{ "select_digits",
	  "(x: u8[N,3000]) -> (y: u8[N,300])\n"
	  "  a: i32[N,300] = sort descending along j (i, j | r<3000) x[i, r]\n"
	  "  y: u8[N,300] = map (i, j) x[i, index(a[i, j])]\n",
	  "N=1440001", .tolerance = 0 },
	{ "sort_radix",
	  "(x: u8[N,K]) -> (y: u8[N,K])\n"
	  "  a: i32[N,K] = sort along j (i, j | r<K) x[i, r]\n"
	  "  y: u8[N,K] = map (i, j) x[i, index(a[i, j])]\n",
	  "N=5400 K=400009", .tolerance = 0 },
};

#endif
