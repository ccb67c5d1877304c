/* Stages that every rule must run in every way it knows. `shapes`: values of symbols, one set a line. Names of inputs say
 * what is in them: t_... has ties and NaNs (integers: ties), n_... small integers to index with, others any numbers. */
#ifndef TPAT_TESTS_SCHEDULE_CASES_H
#define TPAT_TESTS_SCHEDULE_CASES_H

struct schedule_case {
	const char *name, *program;
	const char *shapes[6]; /* "N=5 K=7" */
};

static const struct schedule_case schedule_cases[] = {
	/* ---- maps */
	{ "add", "(x: f32[N,K], b: f32[K]) -> (y: f32[N,K])\n"
		 "  y: f32[N,K] = map (i, j) x[i, j] + b[j]\n",
	  { "N=5 K=8", "N=3 K=7", "N=1 K=1", "N=0 K=4", "N=3 K=0", "N=7 K=260" } },
	{ "add_constant_extents", "(x: f16[3,40], b: f16[3,1]) -> (y: f16[3,40])\n"
				  "  y: f16[3,40] = map (i, j) f16(f32(x[i, j]) * f32(b[i, 0]) + 1.0)\n", { "" } },
	/* Conditions that all elements of a vector share, and some that they do not; vectors of every second element. */
	{ "shared_conditions", "(x: f16[N,32], c: f16[32], n_at: i64[N]) -> (y: f16[N,32], o: f32[N,32], e: f16[N,32])\n"
			       "  y: f16[N,32] = map (i, j) f16(f32(x[i, j]) * f32(c[j]) + select(j < 16, neg(f32(x[i, j + "
			       "16])), f32(x[i, j - 16])))\n"
			       "  o: f32[N,32] = map (i, j) f32(select(15 < j, select(i < 2, x[0, j], x[i, j - 8]), c[j])) + "
			       "select(n_at[i] < i64(1), 0.5, f32(select(i < 2, x[0, j], c[j + 1 - 1])))\n"
			       "  e: f16[N,32] = map (i, j) select(and(i < 3, j <= 23), x[i, j + 8], select(j < 15, c[j], x[i, 31 "
			       "- j]))\n",
	  { "N=4", "N=1" } },
	{ "interleaved", "(x: f16[N,4,6,8], z: f32[N,4,3,8], b: u8[N,12,16]) -> (y: f16[N,1,12,16], e: f32[N,8,6,16], "
			 "o: u8[N,12,16])\n"
			 "  y: f16[N,1,12,16] = map (i, j, k, l) x[i, 4 * j + 2 * mod(k, 2) + mod(l, 2), floordiv(k, 2), "
			 "floordiv(l, 2)]\n"
			 "  e: f32[N,8,6,16] = map (i, j, k, l) select(j < 4, z[i, j, floordiv(k, 2), floordiv(l, 2)], f32(x[i, "
			 "j - 4, k, floordiv(l, 2)]))\n"
			 "  o: u8[N,12,16] = map (i, j, k) b[i, j, 4 * mod(k, 4) + floordiv(k, 4)] + b[i, mod(k, 4), floordiv(k, "
			 "4)]\n",
	  { "N=2", "N=1" } },
	{ "coarse_functions", "(x: f16[N,8], c: f16[N]) -> (y: f16[N,8], o: f16[N,8])\n"
			      "  y: f16[N,8] = map (i, j) f16(log1p(abs(f32(x[i, j])) * 0.01) + "
			      "log1p(abs(f32(x[i, j]))) + tanh(f32(x[i, j])) * tanh(f32(x[i, j]) * 0.125))\n"
			      "  o: f16[N,8] = map (i, j) f16((f32(x[i, j]) - 1.0) / "
			      "sqrt(abs(f32(c[i])) + 0.5) * exp(f32(c[i])))\n",
	  { "N=40", "N=1", "N=0" } },
	{ "scalar", "(x: f32[], b: i64[]) -> (y: f32[])\n  y: f32[] = map () x[] + f32(b[])\n", { "" } },
	{ "broadcast", "(x: f32[N,1,K], b: f32[H,1]) -> (y: f32[N,H,K])\n"
		       "  y: f32[N,H,K] = map (i, j, k) x[i, 0, k] * b[j, 0]\n",
	  { "N=2 H=3 K=4", "N=1 H=1 K=1", "N=3 H=5 K=16", "N=2 H=0 K=4" } },
	{ "transpose", "(x: f32[A,B,C]) -> (y: f32[C,A,B])\n  y: f32[C,A,B] = map (i, j, k) x[j, k, i]\n",
	  { "A=2 B=3 C=4", "A=17 B=1 C=33", "A=1 B=8 C=1", "A=0 B=3 C=2" } },
	{ "reshape_transpose", "(x: f16[B,S,768]) -> (y: f16[B,12,S,64])\n"
			       "  y: f16[B,12,S,64] = map (i, j, k, l) x[i, k, j * 64 + l]\n", { "B=2 S=3", "B=1 S=1" } },
	{ "slice", "(x: i32[N,20]) -> (y: i32[N,8])\n  y: i32[N,8] = map (i, j) x[i, j + 5]\n", { "N=4", "N=1", "N=0" } },
	{ "slice_aligned", "(x: i32[N,20]) -> (y: i32[N,8])\n  y: i32[N,8] = map (i, j) x[N - 1 - i, j + "
	  "4]\n", { "N=4", "N=1" } },
	{ "slice_steps", "(x: u8[N,20]) -> (y: u8[N,7])\n  y: u8[N,7] = map (i, j) x[i, 19 - 3 * j]\n", { "N=4", "N=1" } },
	/* ---- steps that share a launch: side by side, and in turn in one block */
	{ "share_split", "(x: f16[N,24]) -> (a: f16[N,8], b: f16[N,12], c: f32[4,N])\n"
			 "  a: f16[N,8] = map (i, j) x[i, j]\n"
			 "  b: f16[N,12] = map (i, j) x[i, j + 8]\n"
			 "  c: f32[4,N] = map (i, j) f32(x[j, i + 20]) * 2.0\n",
	  { "N=5", "N=1", "N=300", "N=0" } },
	{ "share_two_pairs", "(x: f32[K], b: f32[N,40]) -> (y: f32[N,K], z: f32[N])\n"
			     "  twice: f32[K] = map (i) x[i] * 2.0\n"
			     "  z: f32[N] = sum (i | r<40) b[i, r]\n"
			     "  y: f32[N,K] = map (i, j) twice[j] + b[i, mod(j, 40)]\n",
	  { "N=5 K=9", "N=1 K=1", "N=0 K=3", "N=33 K=300" } },
	{ "share_in_turn", "(x: f32[50], b: i32[30]) -> (y: f32[50], z: f32[])\n"
			   "  total: f32[] = sum ( | r<50) x[r]\n"
			   "  y: f32[50] = map (i) x[i] / (abs(total[]) + 1.0)\n"
			   "  z: f32[] = max ( | r<30) y[r + 10] * f32(b[r])\n",
	  { "" } },
	{ "pad", "(x: f32[N,K]) -> (y: f32[N + 3,K + 4])\n"
		 "  y: f32[N + 3,K + 4] = map (i, j) select(and(and(1 <= i, i - 1 < N), and(2 <= j, j - 2 < K)), x[i "
		 "- 1, j - 2], "
		 "-1.5)\n",
	  { "N=5 K=8", "N=1 K=1", "N=0 K=4", "N=2 K=0" } },
	{ "pad_reflect", "(x: f32[N]) -> (y: f32[N + 6])\n"
			 "  y: f32[N + 6] = map (i) x[select(i < 3, 3 - i, select(N + 3 <= i, 2 * N + 1 - i, i - "
			 "3))]\n", { "N=5", "N=9" } },
	{ "concat", "(a: f32[N,4], b: f32[N,K], c: f32[N,3]) -> (y: f32[N,K + 7])\n"
		    "  y: f32[N,K + 7] = map (i, j) select(j < 4, a[i, j], select(j - 4 < K, b[i, j - 4], c[i, j - 4 - K]))\n",
	  { "N=3 K=5", "N=1 K=0", "N=2 K=1" } },
	{ "gather", "(x: f32[V,K], n_at: i64[N]) -> (y: f32[N,K])\n"
		    "  y: f32[N,K] = map (i, j) let a = index(n_at[i]), c = select(a < 0, a + V, a); x[min(max(c, 0), "
		    "V - 1), j]\n",
	  { "V=9 K=8 N=5", "V=1 K=3 N=4", "V=3 K=1 N=1" } },
	{ "gather_twice", "(x: f32[V,K], n_at: i32[N], n_of: i64[M]) -> (y: f32[M,K])\n"
			  "  y: f32[M,K] = map (i, j) x[mod(index(n_at[mod(index(n_of[i]), N)]), V), j]\n",
	  { "V=9 K=8 N=5 M=6", "V=2 K=3 N=4 M=1" } },
	{ "one_hot", "(n_at: i64[N], x: f32[2], d: f32[D]) -> (y: f32[N,D])\n"
		     "  y: f32[N,D] = map (i, j) select(or(index(n_at[i]) == j, index(n_at[i] + i64(4294967296)) == "
		     "j), x[1], x[0])\n",
	  { "N=5 D=4", "N=3 D=1" } },
	{ "resize", "(x: f32[2,P]) -> (y: f32[2,3 * P])\n"
		    "  y: f32[2,3 * P] = map (i, j) let a = (f32(j) + 0.5) / 3.0 - 0.5, f = floor(a), d = a - f, "
		    "b = index(f); x[i, min(max(b, 0), P - 1)] * (1.0 - d) + x[i, min(max(b + 1, 0), P - 1)] * d\n",
	  { "P=5", "P=1", "P=40" } },
	{ "gather_planes", "(x: f16[N,4,4,8], n_at: i32[N,6,10], n_of: i64[6,10]) -> (y: f32[N,4,6,10])\n"
			   "  y: f32[N,4,6,10] = map (i, j, k, l) let a = index(n_at[i, k, l]), b = index(n_of[k, l]), c = "
			   "min(max(a, 0), 3); select(and(0 <= b, b + 1 < 8), f32(x[i, j, c, b]) + f32(x[i, j, c, b + 1]) * "
			   "0.5, -1.0) + f32(j)\n",
	  { "N=3", "N=1", "N=0" } },
	{ "gather_one_plane", "(x: f32[2,3,16], n_at: i32[7,8]) -> (y: f16[2,3,7,8])\n"
			      "  y: f16[2,3,7,8] = map (i, j, k, l) f16(x[i, j, min(max(index(n_at[k, l]), 0), 15)])\n", { "" } },
	{ "gather_volume", "(x: f16[N,4,3,4,5], d: f16[N,6,8,3], q: f32[8,2]) -> (y: f16[N,4,6,8], z: f32[N,4,6,8])\n"
			 "  y: f16[N,4,6,8] = map (i, j, k, l) let _0 = f32(d[i, k, l, 2]) * 3.0, _1 = floor(_0), _2 = _0 - _1, a "
			 "= index(_1), b = index(f32(d[i, k, l, 1]) * 4.0), c = index(f32(d[i, k, l, 0]) * 5.0), _3 = and(and(0 <= "
			 "b, b < 4), and(0 <= c, c < 5)); f16((1.0 - _2) * f32(select(and(and(0 <= a, a < 3), _3), x[i, j, a, b, "
			 "c], f16(0.5))) + _2 * f32(select(and(and(0 <= a + 1, a + 1 < 3), _3), x[i, j, a + 1, b, c], f16(0.0))) + "
			 "sqrt(_2 * _2 + 1.0) * f32(x[i, j, 0, 0, min(max(a, 0), 4)]))\n"
			 "  z: f32[N,4,6,8] = map (i, j, k, l) let a = index(q[l, 1] * 3.0), b = index(q[l, 0] * 4.0); select(q[l, "
			 "0] < q[l, 1] + f32(k), select(and(and(0 <= a, a < 3), and(0 <= b, b < 4)), f32(x[i, j, a, b, 2]), -1.0), "
			 "select(and(0 <= a, a < 3), f32(x[i, j, a, 1, 3]), f32(x[i, j, 1, 1, 1]) * (q[l, 0] + 1.0) * (q[l, 1] - "
			 "2.0)))\n",
	  { "N=2", "N=1", "N=0" } },
	{ "flat_pad", "(x: f16[N,2,4,8], z: f16[N,2,4,8]) -> (y: f16[N,4,6,10])\n"
		      "  y: f16[N,4,6,10] = map (i, j, k, l) select(and(and(0 <= k - 1, k - 1 < 4), and(0 <= l - 1, l - 1 < 8)), "
		      "select(j < 2, x[i, j, k - 1, l - 1], z[i, j - 2, k - 1, l - 1]), f16(-1.5))\n",
	  { "N=3", "N=1", "N=0" } },
	{ "flat_odd_rows", "(x: f32[N,4,7], b: f32[4,1], c: f32[7], g: u8[8,N,3]) -> (y: f32[N,4,7], z: f32[N,4,7], o: "
			   "u8[8,N,3])\n"
			   "  y: f32[N,4,7] = map (i, j, k) x[i, j, k] * b[j, 0] + c[k]\n"
			   "  z: f32[N,4,7] = map (i, j, k) exp(x[i, j, k]) + x[i, j, k]\n"
			   "  o: u8[8,N,3] = map (i, j, k) g[i, j, 2 - k]\n",
	  { "N=5", "N=1" } },
	{ "resize_rows", "(x: f16[N,3,5]) -> (y: f16[N,10,16])\n"
			 "  y: f16[N,10,16] = map (i, j, k) let a = f32(mod(j * 6 + 3, 20)) * 0.05, b = f32(mod(k * 5 + 2, "
			 "16)) * 0.0625, p = max(0, floordiv(j * 3 - 3, 10)), q = min(2, floordiv(j * 3 - 3, 10) + 1), v = "
			 "floordiv(k * 5, 16), w = min(4, v + 1); f16((1.0 - a) * ((1.0 - b) * f32(x[i, p, v]) + b * "
			 "f32(x[i, p, w])) + a * ((1.0 - b) * f32(x[i, q, v]) + b * f32(x[i, q, w])))\n",
	  { "N=2", "N=1", "N=0" } },
	{ "resize_rows_once", "(x: f32[N,3,5], z: f32[7]) -> (y: f32[N,7,13], o: f32[7,9])\n"
			      "  y: f32[N,7,13] = map (i, j, k) let a = x[i, floordiv(j * 3, 7), floordiv(k * 5, 13)]; f32(j) * "
			      "(exp(a) + a * z[j])\n"
			      "  o: f32[7,9] = map (i, j) select(j < 4, exp(z[floordiv(i, 2)]) + f32(i), "
			      "z[floordiv(i + j, 3)] * z[i])\n",
	  { "N=2", "N=1" } },
	{ "casts", "(x: f32[N], n_k: i64[N], h: f16[N]) -> (a: u8[N], b: i8[N], c: f8e4m3fn[N], d: f8e5m2[N], e: "
	  "bf16[N], f: bool[N], "
		   "g: i32[N], o: u64[N], q: f64[N])\n"
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
	{ "bits", "(x: f32[N], h: f16[N], y8: u8[N]) -> (a: i32[N], b: u16[N], c: f16[N], d: i8[N])\n"
		  "  a: i32[N] = map (i) bitxor(bitcast_i32(x[i]), shl(i32(5), i32(i)))\n"
		  "  b: u16[N] = map (i) bitcast_u16(h[i])\n"
		  "  c: f16[N] = map (i) bitcast_f16(bitand(bitcast_u16(h[i]), u16(65280)))\n"
		  "  d: i8[N] = map (i) shr(bitcast_i8(y8[i]), i8(3))\n",
	  { "N=40" } },
	{ "narrow_integers", "(x: u8[N], y: u8[N], n_a: i8[N], n_b: i8[N], p: u16[N], z: i16[N]) -> (o1: u8[N], o2: "
	  "bool[N], o3: i8[N], "
			     "o4: i32[N], o5: i8[N], o6: u16[N], o7: i16[N], o8: u8[N], o9: i8[N])\n"
			     "  o1: u8[N] = map (i) (x[i] + y[i]) / u8(2)\n"
			     "  o2: bool[N] = map (i) x[i] + y[i] < y[i]\n"
			     "  o3: i8[N] = map (i) floordiv(n_a[i] * i8(50), n_b[i]) + mod(n_a[i], n_b[i] + i8(7))\n"
			     "  o4: i32[N] = map (i) i32(n_a[i] - i8(127)) + i32(x[i] * y[i])\n"
			     "  o5: i8[N] = map (i) abs(min(n_a[i] * i8(64), n_b[i])) / (n_b[i] - i8(7))\n"
			     "  o6: u16[N] = map (i) shr(p[i] + u16(60000), u16(3)) + rem(p[i] * u16(7), p[i] + u16(9))\n"
			     "  o7: i16[N] = map (i) pow(z[i], i16(3)) - neg(z[i] * i16(300))\n"
			     "  o8: u8[N] = map (i) shl(select(x[i] < y[i], x[i] + u8(1), y[i]), select(n_a[i] < "
			     "i8(0), u8(9), u8(2)))\n"
			     "  o9: i8[N] = map (i) rem(neg(n_a[i] - i8(127)), select(n_b[i] == i8(0), i8(3), "
			     "n_b[i])) + bitnot(n_a[i])\n",
	  { "N=50" } },
	{ "wide_integers", "(x: i32[N], y: i32[N], n_a: i64[N], n_b: i64[N], p: u32[N], z: u64[N]) -> (o1: i32[N], "
	  "o2: i64[N], o3: u32[N], "
			   "o4: u64[N], o5: i64[N], o6: bool[N])\n"
			   "  o1: i32[N] = map (i) x[i] * y[i] + rem(x[i], y[i]) + i32(-2147483648)\n"
			   "  o2: i64[N] = map (i) floordiv(n_a[i], n_b[i]) + mod(n_a[i], n_b[i] + i64(7)) - "
			   "i64(-9223372036854775808)\n"
			   "  o3: u32[N] = map (i) max(p[i], u32(5)) / u32(7) - min(p[i], u32(3000000000))\n"
			   "  o4: u64[N] = map (i) mod(z[i], u64(18446744073709551615)) + z[i] / u64(3) + shr(z[i], u64(70))\n"
			   "  o5: i64[N] = map (i) pow(n_a[i], n_b[i]) + abs(n_a[i]) + n_b[i] / n_a[i]\n"
			   "  o6: bool[N] = map (i) or(z[i] < u64(9), and(not(x[i] == y[i]), i64(x[i]) <= n_a[i]))\n",
	  { "N=50" } },
	{ "functions", "(x: f32[N], d: f64[N]) -> (y: f32[N], e: f64[N])\n"
		       "  y: f32[N] = map (i) exp(x[i]) + tanh(x[i]) * erf(x[i]) + log1p(abs(x[i])) - rem(x[i], 0.7) "
		       "+ max(x[i], -0.5) + "
		       "pow(abs(x[i]), 1.5) + rint(x[i] * 3.0)\n"
		       "  e: f64[N] = map (i) sqrt(abs(d[i])) + sin(d[i]) * f64(0.1) + select(isnan(d[i]), f64(nan), "
		       "neg(d[i])) - min(d[i], f64(inf))\n",
	  { "N=33" } },
	{ "mod_chain", "(x: f32[N,12]) -> (y: f32[12,N])\n"
		       "  y: f32[12,N] = map (i, j) x[mod(j + 1, N), floordiv(i * 5 + 3, 6)] + f32(mod(7 - i - j, 5)) "
		       "+ f32(floordiv(j - i, 3))\n",
	  { "N=7", "N=1" } },
	{ "shared_branches", "(x: f32[N], n_k: i64[N]) -> (y: f32[N])\n"
			     "  y: f32[N] = map (i) let a = select(i < 3, 0.5, x[i - 3] * x[i - 3]), c = a * a + a, "
			     "b = select(n_k[i] < i64(0), c * 2.0, c + exp(c)); select(i < 2, x[i], b / (1.0 + b))\n",
	  { "N=20", "N=1", "N=2" } },
	{ "packed", "(x: f32[N,K], code: u4[N,K], pair: i2[K,N], h: f4e2m1[N,K], e: f8e8m0[N]) -> (a: i4[N,K], b: u2[N,K], c: "
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
	{ "packed_bits", "(code: u4[N,K], x: f32[N,K]) -> (y: f4e2m1[K,N], b: bool[N,K])\n"
			  "  y: f4e2m1[K,N] = map (i, j) bitcast_f4e2m1(code[j, i])\n"
			  "  b: bool[N,K] = map (i, j) i32(u4(x[i, j] * 9.0)) == i32(code[i, j])\n",
	  { "N=0 K=4", "N=3 K=0", "N=3 K=5" } },
	/* ---- contractions */
	{ "product", "(a: f16[M,K], b: f16[K,N], c: f16[N]) -> (y: f16[M,N])\n"
		     "  y: f16[M,N] = sum (i, j | r<K) f32(a[i, r]) * f32(b[r, j]) then f16(it + f32(c[j]))\n",
	  { "M=33 K=40 N=24", "M=1 K=1 N=1", "M=70 K=7 N=65", "M=5 K=0 N=3", "M=0 K=5 N=8" } },
	{ "product_bytes", "(a: u8[M,K], b: i8[K,N], p: u8[], e: i8[N]) -> (y: i32[M,N])\n"
			   "  y: i32[M,N] = sum (i, j | r<K) (i32(a[i, r]) - i32(p[])) * (i32(b[r, j]) - i32(e[j]))\n",
	  { "M=18 K=32 N=16", "M=5 K=37 N=9", "M=1 K=0 N=1" } },
	{ "product_bytes_straight", "(a: u8[M,48], b: u8[24,48]) -> (y: i8[24,M])\n"
				    "  y: i8[24,M] = sum (i, j | r<48) i32(a[j, r]) * (i32(b[i, r]) + i32(-128)) then "
				    "i8(floordiv(it, i32(99)))\n",
	  { "M=16", "M=3" } },
	{ "product_bytes_along", "(a: u8[20,160], b: i8[M,160]) -> (y: i32[20,M])\n"
				 "  y: i32[20,M] = sum (i, j | r<160) i32(a[i, r]) * i32(b[j, r])\n", { "M=24", "M=3" } },
	{ "product_bytes_across", "(a: i8[3,K,16], b: i8[3,K,40]) -> (y: i32[3,16,40])\n"
				  "  y: i32[3,16,40] = sum (i, j, k | r<K) i32(a[i, r, j]) * i32(b[i, r, k])\n",
	  { "K=48", "K=5" } },
	{ "convolution_bytes", "(x: u8[2,3,4,6], weight: i8[8,3,3,3], p: u8[]) -> (y: i32[2,8,4,6])\n"
			       "  y: i32[2,8,4,6] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k + s - 1, k + "
			       "s - 1 < 4), and(0 <= l + t - 1, l + t - 1 < 6)), (i32(x[i, r, k + s - 1, l + t - 1]) - "
			       "i32(p[])) * i32(weight[j, r, s, t]), i32(0))\n", { "" } },
	/* As many columns as a division gives: blocks are numbered by it. */
	{ "convolution_halved", "(x: u8[1,3,W], weight: i8[20,3,3]) -> (y: i32[1,20,floordiv(W - 1, 2) + 1])\n"
				"  y: i32[1,20,floordiv(W - 1, 2) + 1] = sum (i, j, k | r<3, s<3) select(and(0 <= 2 * k + s - 1, "
				"2 * k + s - 1 < W), i32(x[i, r, 2 * k + s - 1]) * i32(weight[j, r, s]), i32(0))\n",
	  { "W=20", "W=7" } },
	{ "product_short", "(a: f16[B,16,64], b: f16[B,64,M]) -> (y: f16[B,16,M])\n"
			   "  y: f16[B,16,M] = sum (i, j, k | r<64) f32(a[i, j, r]) * f32(b[i, r, k])\n",
	  { "B=2 M=8", "B=1 M=3" } },
	{ "product_turned", "(a: bf16[B,K,24], b: bf16[B,N,K], c: bf16[N]) -> (d: f32[B,N,24], e: bf16[B,N,24])\n"
			    "  x: f32[B,N,24] = sum (i, j, k | r<K) f32(a[i, r, k]) * f32(b[i, j, r]) then it * 0.5\n"
			    "  d: f32[B,N,24] = map (i, j, k) max(x[i, j, k] + f32(c[j]), 0.0)\n"
			    "  f: f32[B,N,24] = map (i, j, k) d[i, j, k] * x[i, j, k] + f32(k)\n"
			    "  e: bf16[B,N,24] = map (i, j, k) bf16(f[i, j, k] + d[i, j, k])\n",
	  { "B=2 K=16 N=19", "B=1 K=9 N=3", "B=3 K=0 N=1" } },
	{ "product_large", "(a: f16[70,40], b: f16[40,136]) -> (y: f16[70,136])\n"
			   "  y: f16[70,136] = sum (i, j | r<40) f32(a[i, r]) * f32(b[r, j])\n", { "" } },
	/* More steps than places for tiles; more tiles than blocks. */
	{ "product_long", "(a: f16[70,600], b: f16[72,600]) -> (y: f16[70,72])\n"
			  "  y: f16[70,72] = sum (i, j | r<600) f32(a[i, r]) * f32(b[j, r])\n", { "" } },
	{ "product_many", "(a: bf16[140,8,16], b: bf16[140,16,8]) -> (y: bf16[140,8,8])\n"
			  "  y: bf16[140,8,8] = sum (i, j, k | r<16) f32(a[i, j, r]) * f32(b[i, r, k])\n", { "" } },
	{ "convolution", "(x: f16[2,5,4,6], weight: f16[20,5,3,3], b: f16[20]) -> (y: f16[2,20,4,6])\n"
			 "  y: f16[2,20,4,6] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + "
			 "s - 1 < 4), and(0 <= l + t - 1, l + t - 1 < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * "
			 "f32(weight[j, r, s, t]) then f16(it + f32(b[j]))\n", { "" } },
	/* ... with operands that are laid out anew: images, also strided, in groups, with zero points */
	{ "convolution_packed", "(x: f16[2,16,H,5], weight: f16[20,16,3,3], b: f16[20]) -> (y: f16[2,20,H,5])\n"
				"  y: f16[2,20,H,5] = sum (i, j, k, l | r<16, s<3, t<3) select(and(and(0 <= k + s - 1, k + "
				"s - 1 < H), and(0 <= l + t - 1, l + t - 1 < 5)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * "
				"f32(weight[j, r, s, t]) then f16(it + f32(b[j]))\n", { "H=8", "H=3" } },
	{ "convolution_groups", "(x: bf16[1,32,9], weight: bf16[24,16,2]) -> (y: bf16[1,2,12,4])\n"
				"  y: bf16[1,2,12,4] = sum (i, j, k, l | r<16, s<2) f32(x[i, 16 * j + r, 2 * l + s]) * "
				"f32(weight[12 * j + k, r, s])\n", { "" } },
	{ "convolution_zeros", "(x: u8[2,16,4,6], weight: i8[8,16,3,3], p: u8[]) -> (y: i32[2,8,4,6])\n"
			       "  y: i32[2,8,4,6] = sum (i, j, k, l | r<16, s<3, t<3) select(and(and(0 <= k + s - 1, k + "
			       "s - 1 < 4), and(0 <= l + t - 1, l + t - 1 < 6)), (i32(x[i, r, k + s - 1, l + t - 1]) - "
			       "i32(p[])) * i32(weight[j, r, s, t]), i32(0))\n", { "" } },
	{ "product_bytes_packed", "(a: i8[32,M], b: i8[32,24]) -> (y: i32[M,24])\n"
				  "  y: i32[M,24] = sum (i, j | r<32) i32(a[r, i]) * i32(b[r, j])\n", { "M=18" } },
	/* ... by ordinary arithmetic */
	{ "product_floats", "(a: f32[M,K], b: f32[K,N], c: f32[N]) -> (y: f32[M,N])\n"
			    "  y: f32[M,N] = sum (i, j | r<K) a[i, r] * b[r, j] then it + c[j]\n",
	  { "M=33 K=40 N=24", "M=1 K=1 N=1", "M=70 K=7 N=65", "M=5 K=0 N=3", "M=0 K=5 N=8" } },
	{ "product_floats_turned", "(a: f32[B,K,72], b: f32[B,40,K]) -> (y: f32[B,40,72])\n"
				   "  y: f32[B,40,72] = sum (i, j, k | r<K) a[i, r, k] * b[i, j, r]\n",
	  { "B=2 K=36", "B=1 K=9" } },
	{ "product_doubles", "(a: f64[M,K], b: f64[K,N]) -> (y: f32[M,N])\n"
			     "  y: f32[M,N] = sum (i, j | r<K) a[i, r] * b[r, j] then f32(it)\n",
	  { "M=33 K=40 N=24", "M=3 K=5 N=7" } },
	{ "product_integers", "(a: i32[K,M], b: i32[K,N], c: u64[M,K], d: u64[N,K]) -> (y: i32[M,N], z: u64[M,N])\n"
			      "  y: i32[M,N] = sum (i, j | r<K) a[r, i] * b[r, j]\n"
			      "  z: u64[M,N] = sum (i, j | r<K) c[i, r] * d[j, r]\n",
	  { "M=36 K=40 N=24", "M=3 K=5 N=7" } },
	{ "convolution_floats", "(x: f32[2,5,4,6], weight: f32[20,5,3,3], b: f32[20]) -> (y: f32[2,20,4,6])\n"
				"  y: f32[2,20,4,6] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + "
				"s - 1 < 4), and(0 <= l + t - 1, l + t - 1 < 6)), x[i, r, k + s - 1, l + t - 1], 0.0) * "
				"weight[j, r, s, t] then it + b[j]\n", { "" } },
	/* ---- reductions */
	{ "sum_last", "(x: f32[N,K]) -> (y: f32[N])\n  y: f32[N] = sum (i | r<K) x[i, r]\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=0 K=3", "N=2 K=3000", "N=9 K=33" } },
	{ "sum_first", "(x: f32[N,K]) -> (y: f32[K])\n  y: f32[K] = sum (i | r<N) x[r, i] then it / f32(N)\n",
	  { "N=70 K=5", "N=1 K=1", "N=3 K=40" } },
	{ "sum_middle", "(x: f16[A,B,C]) -> (y: f16[A,1,C])\n  y: f16[A,1,C] = sum (i, j, k | r<B) f32(x[i, r, k])\n",
	  { "A=2 B=30 C=3", "A=1 B=1 C=1", "A=3 B=2 C=0" } },
	{ "sum_two_axes", "(x: f32[A,B,C,D]) -> (y: f32[B,D])\n"
			  "  y: f32[B,D] = sum (i, j | r<A, s<C) let a = x[r, i, s, j]; a * a then sqrt(it) + f32(j)\n",
	  { "A=2 B=3 C=20 D=2", "A=1 B=1 C=1 D=1", "A=5 B=2 C=1 D=3", "A=0 B=2 C=3 D=3" } },
	{ "sum_all", "(x: f64[A,B]) -> (y: f64[])\n  y: f64[] = sum ( | r<A, s<B) x[r, s]\n", { "A=30 B=11", "A=1 "
	  "B=1", "A=0 B=3" } },
	{ "sum_none", "(x: f32[A]) -> (y: f32[A])\n  y: f32[A] = sum (i) x[i] then it * 2.0\n", { "A=5", "A=0" } },
	{ "max_min", "(t_x: f32[N,K], z: i32[N,K]) -> (y: f32[N], o: i32[N])\n"
		     "  y: f32[N] = max (i | r<K) t_x[i, r]\n"
		     "  o: i32[N] = min (i | r<K) z[i, r]\n",
	  { "N=9 K=70", "N=4 K=1", "N=2 K=0" } },
	{ "prod_u8", "(x: u8[N,33]) -> (y: u8[N], o: i32[N])\n"
		     "  y: u8[N] = prod (i | r<33) x[i, r] + u8(1)\n"
		     "  o: i32[N] = sum (i | r<33) i32(x[i, r])\n", { "N=6" } },
	{ "sum_i8_wraps", "(n_x: i8[N,200]) -> (y: i8[N], o: i16[N])\n"
			  "  y: i8[N] = sum (i | r<200) n_x[i, r] * i8(60)\n"
			  "  o: i16[N] = max (i | r<200) i16(n_x[i, r]) * i16(5000)\n", { "N=3" } },
	{ "bool_reductions", "(x: bool[N,K], f: f32[N,K]) -> (y: bool[N], o: bool[N], c: i64[N])\n"
			     "  y: bool[N] = all (i | r<K) or(x[i, r], f[i, r] < 1.9)\n"
			     "  o: bool[N] = any (i | r<K) and(x[i, r], 1.9 < f[i, r])\n"
			     "  c: i64[N] = sum (i | r<K) i64(x[i, r])\n",
	  { "N=9 K=70", "N=4 K=1", "N=2 K=0", "N=3 K=1500" } },
	{ "arg_reductions", "(t_x: f32[N,K]) -> (a: i64[N], b: i64[N], c: i32[N], d: i64[N])\n"
			    "  a: i64[N] = argmax (i | r<K) t_x[i, r]\n"
			    "  b: i64[N] = argmin (i | r<K) t_x[i, r]\n"
			    "  c: i32[N] = argmax_last (i | r<K) t_x[i, r]\n"
			    "  d: i64[N] = argmin_last (i | r<K) t_x[i, r]\n",
	  { "N=9 K=70", "N=4 K=1", "N=40 K=5", "N=3 K=1300" } },
	{ "arg_reductions_int", "(t_x: i32[N,K,2], t_z: u8[K]) -> (a: i64[N], b: i64[N], c: i64[])\n"
				"  a: i64[N] = argmax (i | r<K, s<2) t_x[i, r, s]\n"
				"  b: i64[N] = argmin_last (i | r<K, s<2) t_x[i, r, s]\n"
				"  c: i64[] = argmax_last ( | r<K) t_z[r]\n", { "N=4 K=70", "N=2 K=1" } },
	{ "argmax_all_lowest", "(x: f32[3,64]) -> (a: i64[3], b: i64[3])\n"
			       "  a: i64[3] = argmax (i | r<64) select(r < 5, -inf, x[i, r] * 0.0 - inf)\n"
			       "  b: i64[3] = argmin_last (i | r<64) select(r < 5, inf, inf)\n", { "" } },
	{ "matmul", "(a: f32[A,K], b: f32[K,C], c: f32[C]) -> (y: f32[A,C])\n"
		    "  y: f32[A,C] = sum (i, j | r<K) a[i, r] * b[r, j] then max(it + c[j], 0.0)\n",
	  { "A=3 K=17 C=5", "A=1 K=1 C=1", "A=2 K=0 C=3" } },
	{ "depthwise", "(x: f16[N,3,8,10], weight: f16[3,1,3,3], b: f32[3]) -> (y: f16[N,3,8,10], p: f32[N,3,4,5], q: "
		       "i32[N,3,8,8])\n"
		       "  y: f16[N,3,8,10] = sum (i, j, k, l | r<1, s<3, t<3) select(and(and(1 <= k + s, k + s < 9), and(1 <= l "
		       "+ t, l + t < 11)), f32(x[i, j, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, 0, s, t]) then f16(it + "
		       "b[j] * f32(l))\n"
		       "  p: f32[N,3,4,5] = max (i, j, k, l | r<2, s<2) f32(x[i, j, 2 * k + r, 2 * l + s])\n"
		       "  q: i32[N,3,8,8] = sum (i, j, k, l | r<3) i32(f32(x[i, j, k, l + r]) * 8.0) + i32(r)\n",
	  { "N=2", "N=0" } },
	{ "windows", "(x: f16[N,2,8,16], z: f32[N,4,8], b: u8[N,3,64]) -> (y: f16[N,2,4,8], p: f32[N,4,8], q: i32[N,3,16])\n"
		  "  y: f16[N,2,4,8] = max (i, j, k, l | r<3, s<3) select(and(0 <= k * 2 + r - 1, 0 <= l * 2 + s - 1), f32(x[i, "
		  "j, k * 2 + r - 1, l * 2 + s - 1]), -inf)\n"
		  "  p: f32[N,4,8] = sum (i, j, k | r<3, s<3) select(and(and(0 <= j + r - 1, j + r - 1 < 4), and(0 <= k + s - 1, k "
		  "+ s - 1 < 8)), z[i, j + r - 1, k + s - 1], f32(s) * 0.5)\n"
		  "  q: i32[N,3,16] = sum (i, j, k | r<4) i32(b[i, j, k * 4 + r]) * i32(b[i, j, 60 - k * 4 + r])\n",
	  { "N=2", "N=1", "N=0" } },
	{ "conv", "(x: u8[1,2,H,H], c: i8[3,2,3,3]) -> (y: i32[1,3,H,H])\n"
		  "  y: i32[1,3,H,H] = sum (i, j, k, l | r<2, s<3, t<3) let a = k + s - 1, b = l + t - 1; "
		  "select(and(and(0 <= a, a < H), and(0 <= b, b < H)), (i32(x[0, r, a, b]) - i32(3)) * i32(c[j, r, s, "
		  "t]), i32(0))\n",
	  { "H=6", "H=1" } },
	{ "softmax", "(x: f32[N,K]) -> (y: f32[N,K])\n"
		     "  a: f32[N] = max (i | r<K) x[i, r]\n"
		     "  b: f32[N] = sum (i | r<K) exp(x[i, r] - a[i])\n"
		     "  y: f32[N,K] = map (i, j) exp(x[i, j] - a[i]) / b[i]\n", { "N=5 K=12", "N=2 K=1" } },
	{ "planes", "(x: f32[N,8,5], d: f32[N,K,2]) -> (y: f16[N,8,K,4])\n"
		    "  y: f16[N,8,K,4] = map (i, j, k, l) let _0 = (d[i, k, 0] * 1.5 + f32(l)) * (d[i, k, 1] - 0.5) - f32(k) / "
		    "3.0; f16(x[i, j, min(max(index(_0 * _0 + _0), 0), 4)] * _0 + x[i, j, mod(l * 3 + k, 5)])\n",
	  { "N=2 K=5", "N=1 K=1", "N=0 K=3", "N=3 K=70" } },
	/* ---- tiles: read along one axis, written along another */
	{ "tile_2d", "(x: f32[A,B], y: f16[A,B], c: f32[A]) -> (o: f32[B,A])\n"
		     "  o: f32[B,A] = map (i, j) (x[j, i] + f32(y[j, i])) * c[j] + f32(i)\n",
	  { "A=40 B=70", "A=1 B=5", "A=32 B=64", "A=0 B=3", "A=33 B=1" } },
	{ "tile_channels", "(x: f16[N,C,H,W]) -> (y: f16[N,H,W,C])\n  y: f16[N,H,W,C] = map (i, j, k, l) x[i, l, j, k]\n",
	  { "N=2 C=33 H=5 W=7", "N=1 C=64 H=1 W=32", "N=3 C=1 H=2 W=3" } },
	{ "tile_pairs", "(x: f16[2,66,132], z: f16[2,66,132], c: f32[66]) -> (y: f16[2,132,66])\n"
			"  y: f16[2,132,66] = map (i, j, k) f16(f32(x[i, k, j]) * c[k] + f32(z[i, k, j]))\n", { "" } },
	{ "tile_bytes", "(x: u8[128,260]) -> (y: u8[260,128])\n  y: u8[260,128] = map (i, j) x[j, i]\n", { "" } },
	{ "tile_apart", "(x: f16[3,38,12,10]) -> (y: f16[3,10,12,38])\n"
			"  y: f16[3,10,12,38] = map (i, j, k, l) x[i, l, k, j]\n", { "" } },
	{ "tile_reshaped", "(x: f16[2,3,5,6,40], a: f16[3]) -> (y: f16[2,720,5])\n" /* of 3 x 6 x 40 */
			   "  y: f16[2,720,5] = map (i, j, k) let _0 = x[i, floordiv(j, 240), k, mod(floordiv(j, 40), 6), "
			   "mod(j, 40)]; select(k < 2, f16(f32(_0) * f32(a[floordiv(j, 240)])), _0)\n", { "" } },
	{ "columns_pairs", "(x: f16[3,82,24], c: f32[82], b: f16[24]) -> (y: f16[3,24])\n"
			   "  y: f16[3,24] = sum (i, j | r<82) f32(x[i, r, j]) * c[r] then f16(it + f32(b[j]))\n", { "" } },
	{ "columns_largest", "(x: f16[300,40], z: f32[300,40]) -> (y: f32[40])\n"
			     "  y: f32[40] = max (i | r<300) max(f32(x[r, i]), z[r, i])\n", { "" } },
	{ "columns_of_two", "(x: u8[N,5,6,16]) -> (y: i32[N,16])\n"
			    "  y: i32[N,16] = sum (i, j | r<5, s<6) i32(x[i, r, s, j])\n", { "N=3", "N=0" } },
	{ "tile_reversed", "(x: f64[A,B,C]) -> (y: f64[C,B,A])\n"
			   "  y: f64[C,B,A] = map (i, j, k) select(i < 3, x[k, j, i] + x[k, j, i], x[k, j, i] + f64(j))\n",
	  { "A=5 B=3 C=40", "A=35 B=1 C=2" } },
	/* ---- rows that run across memory */
	{ "across_softmax", "(x: f16[N,19,6,8], b: f32[6,8]) -> (y: f16[N,19,6,8], s0: f32[N,1,6,8])\n"
			    "  m0: f16[N,1,6,8] = max (i, j, k, l | r<19) f32(x[i, r, k, l])\n"
			    "  s0: f32[N,1,6,8] = sum (i, j, k, l | r<19) exp(f32(x[i, r, k, l]) - f32(m0[i, 0, k, l])) "
			    "then it + b[k, l]\n"
			    "  y: f16[N,19,6,8] = map (i, j, k, l) f16(exp(f32(x[i, j, k, l]) - f32(m0[i, 0, k, l])) / "
			    "s0[i, 0, k, l])\n",
	  { "N=2", "N=1", "N=0", "N=15" } },
	{ "across_norm", "(x: f32[3,40,7], z: f16[3,40,7], c: f32[40]) -> (y: f32[3,40,7])\n"
			 "  m0: f32[3,7] = sum (i, j | r<40) x[i, r, j] * f32(z[i, r, j]) then it / 40.0\n"
			 "  v0: f32[3,7] = sum (i, j | r<40) let _0 = x[i, r, j] - m0[i, j]; _0 * _0\n"
			 "  s0: f32[3,7] = map (i, j) 1.0 / sqrt(v0[i, j] / 40.0 + f32(0.00001))\n"
			 "  y: f32[3,40,7] = map (i, j, k) (x[i, j, k] - m0[i, k]) * s0[i, k] * c[j]\n", { "" } },
	{ "across_columns", "(x: f32[32,K]) -> (y: f32[32,K])\n"
			    "  m0: f32[1,K] = max (i, j | r<32) x[r, j]\n"
			    "  y: f32[32,K] = map (i, j) x[i, j] - m0[0, j]\n", { "K=32", "K=1", "K=0", "K=100" } },
	/* Rows and what they run along are of one length. */
	{ "across_square", "(x: f32[2,8,8]) -> (y: f32[2,8,8])\n"
			   "  m0: f32[2,8] = sum (i, j | r<8) x[i, r, j]\n"
			   "  y: f32[2,8,8] = map (i, j, k) x[i, j, k] / m0[i, k]\n", { "" } },
	{ "across_not", "(x: f32[2,8,8]) -> (y: f32[2,8,8])\n" /* the other rows' */
			"  m0: f32[2,8] = sum (i, j | r<8) x[i, r, j]\n"
			"  y: f32[2,8,8] = map (i, j, k) x[i, j, k] / m0[i, j]\n", { "" } },
	/* ---- rows: what several stages make of a row */
	{ "rows_norm", "(x: f16[N,A,96], z: f16[N,A,96], c: f32[96]) -> (y: f16[N,A,96], s0: f32[N,A,1])\n"
		       "  m0: f32[N,A,1] = sum (i, j, k | r<96) f32(x[i, j, r]) + f32(z[i, j, r]) then it / 96.0\n"
		       "  v0: f32[N,A,1] = sum (i, j, k | r<96) let _0 = f32(x[i, j, r]) + f32(z[i, j, r]) - m0[i, j, 0]; _0 * _0\n"
		       "  s0: f32[N,A,1] = map (i, j, k) 1.0 / sqrt(v0[i, j, 0] / 96.0 + f32(0.00001))\n"
		       "  y: f16[N,A,96] = map (i, j, k) f16((f32(x[i, j, k]) + f32(z[i, j, k]) - m0[i, j, 0]) * s0[i, j, 0] * "
		       "c[k] + f32(j))\n",
	  { "N=3 A=5", "N=1 A=1", "N=0 A=2", "N=2 A=64" } },
	{ "rows_quantised", "(x: f16[N,K], z: u8[1]) -> (q: i8[N,K], q1: u8[N,K], q2: i16[N,K], y: f16[N,K])\n" /* f16 on the way */
	  "  b: f32[N,1] = sum (i, j | r<K) f32(x[i, r]) * f32(x[i, r]) then select(sqrt(it) == 0.0, inf, sqrt(it))\n"
	  "  q: i8[N,K] = map (i, j) i8(min(max(rint(f32(f16(f32(f16(f32(x[i, j]) / b[i, 0])) * 16.0))) + 0.0, -128.0), 127.0))\n"
	  "  q1: u8[N,K] = map (i, j) u8(min(max(rint(f32(x[i, j]) * 40.0) + f32(z[0]), 0.0), 255.0))\n"
	  "  q2: i16[N,K] = map (i, j) i16(min(max(rint(f32(x[i, j]) * 30000.0), -32768.0), 32767.0))\n"
	  "  y: f16[N,K] = map (i, j) f16(select(f32(x[i, j]) < 0.5, f32(f16(f32(x[i, j]) - 0.5)), f32(x[i, j]) / b[i, 0]))\n",
	  { "N=3 K=96", "N=2 K=1000", "N=1 K=1" } },
	{ "rows_softmax_halves", "(x: f16[N,K], a: f16[K]) -> (y: f16[N,K], o: f16[N,K])\n"
	  "  b: f32[N,1] = max (i, j | r<K) f32(x[i, r])\n"
	  "  c: f32[N,1] = sum (i, j | r<K) exp(f32(x[i, r]) - b[i, 0])\n"
	  "  y: f16[N,K] = map (i, j) f16(exp(f32(x[i, j]) - b[i, 0]) / c[i, 0] * f32(a[j]) + f32(x[i, j]) / 3.0)\n"
	  "  o: f16[N,K] = map (i, j) f16(f32(x[i, j]) / (1.0 + exp(0.0 - f32(x[i, j]))))\n",
	  { "N=3 K=96", "N=2 K=1000", "N=1 K=7" } },
	{ "rows_long", "(x: f32[2,36868], c: f32[36868]) -> (y: f32[2,36868], z: f16[2])\n" /* partly in shared memory */
	  "  b: f32[2,1] = max (i, j | r<36868) x[i, r]\n"
	  "  y: f32[2,36868] = map (i, j) select(x[i, j] < 0.5, x[i, j] - b[i, 0], c[j])\n"
	  "  z: f16[2] = sum (i | r<36868) x[i, r] * c[r] then f16(it / 1000.0)\n",
	  { "" } },
	{ "rows_once", "(x: f16[A,B,C,K]) -> (y: f16[A,B,C,K])\n" /* symbols count as 64: more than caches hold */
	  "  b: f32[A,B,C] = sum (i, j, k | r<K) f32(x[i, j, k, r])\n"
	  "  y: f16[A,B,C,K] = map (i, j, k, l) f16(f32(x[i, j, k, l]) - b[i, j, k])\n",
	  { "A=1 B=2 C=3 K=64", "A=1 B=1 C=1 K=100", "A=2 B=1 C=2 K=7" } },
	{ "split_range", "(x: f32[16,512]) -> (c: f32[], q: u8[], y: f32[16,512])\n"
	  "  b: f32[] = min (| r<16, s<512) x[r, s] then min(it, 0.0)\n"
	  "  c: f32[] = max (| r<16, s<512) x[r, s] then max(it, 0.0) - b[]\n"
	  "  q: u8[] = map () u8(rint(min(max(0.0 - b[] / c[], 0.0), 1.0)))\n"
	  "  y: f32[16,512] = map (i, j) x[i, j] / c[] + f32(q[])\n", { "" } },
	{ "split_symbols", "(x: f16[A,B,32]) -> (b: f32[], c: f32[], y: f16[A,B,32])\n"
	  "  b: f32[] = min (| r<A, s<B, t<32) f32(x[r, s, t])\n"
	  "  c: f32[] = sum (| r<A, s<B, t<32) f32(x[r, s, t]) then it - b[]\n"
	  "  y: f16[A,B,32] = map (i, j, k) f16(f32(x[i, j, k]) - b[] + c[])\n",
	  { "A=16 B=64", "A=3 B=5", "A=1 B=1", "A=5 B=128" } },
	{ "split_halves", "(x: f16[N,96,256], a: f32[256]) -> (y: f16[N], o: f32[N])\n"
	  "  y: f16[N] = sum (i | r<96, s<256) f32(x[i, r, s]) * a[s] then f16(it / 24576.0)\n"
	  "  o: f32[N] = sum (i | r<96, s<256) f32(x[i, r, s]) then it + f32(y[i])\n", { "N=2", "N=0" } },
	{ "split_deviation", "(x: f16[N,1,96,256]) -> (d: f32[N,1], y: f16[N,1,96,256])\n"
	  "  mu: f32[N,1] = sum (i, j | r<96, s<256) f32(x[i, j, r, s]) then it / 24576.0\n"
	  "  d: f32[N,1] = sum (i, j | r<96, s<256) let _0 = f32(x[i, j, r, s]) - mu[i, 0]; _0 * _0 then "
	  "sqrt(it / 24576.0 + 0.001)\n"
	  "  y: f16[N,1,96,256] = map (i, j, k, l) f16((f32(x[i, j, k, l]) - mu[i, 0]) / d[i, 0])\n", { "N=2", "N=0" } },
	{ "rows_groups", "(x: f32[N,12,H,4], c: f32[12]) -> (y: f32[N,12,H,4], z: f32[N,12,H,4])\n"
			 "  m0: f32[N,3] = sum (i, j | r<4, s<H, t<4) x[i, 4 * j + r, s, t]\n"
			 "  y: f32[N,12,H,4] = map (i, j, k, l) (x[i, j, k, l] - m0[i, floordiv(j, 4)]) * c[j] + f32(k)\n"
			 "  z: f32[N,12,H,4] = map (i, j, k, l) x[i, j, k, l] * m0[i, floordiv(j, 4)]\n",
	  { "N=2 H=5", "N=1 H=1", "N=3 H=40" } },
	{ "rows_of_one", "(x: f32[N,1]) -> (y: f32[N,1])\n" /* a is a value of the row, and reads like its only element */
			 "  a: f32[N,1] = sum (i, j | r<1) x[i, r] * 1.5 then it * 0.25 + 0.5\n"
			 "  y: f32[N,1] = sum (i, j | r<1) a[i, r] * 2.0 then it - 1.0\n", { "N=5", "N=1" } },
	{ "rows_gather", "(x: f32[N,K], n_at: i64[K], d: f32[D]) -> (y: f32[N,K])\n"
			 "  m0: f32[N] = max (i | r<K) x[i, r] * f32(r)\n"
			 "  y: f32[N,K] = map (i, j) select(0.0 < x[i, j], x[i, j] - m0[i], d[mod(index(n_at[j]), D)])\n",
	  { "N=5 K=36 D=4", "N=2 K=1 D=1", "N=1 K=2100 D=9" } },
	/* Rows that an index chooses, twice of one buffer; a mask of several rows, which also decides what of a row is read. */
	{ "rows_chosen", "(x: f16[30,96], n_at: i64[N], b: f16[N,96]) -> (y: f16[N,96])\n"
	  "  m0: f32[N,1] = sum (i, j | r<96) f32(x[mod(index(n_at[i]), 30), r]) * f32(b[i, r]) + "
	  "f32(x[mod(index(n_at[i]) + 7, 30), r]) then it / 96.0\n"
	  "  y: f16[N,96] = map (i, j) f16(f32(x[mod(index(n_at[i]), 30), j]) - m0[i, 0] * f32(x[29 - mod(i, 30), j]))\n",
	  { "N=5", "N=1", "N=70" } },
	{ "rows_masked", "(x: f32[N,3,A,64], m0: i8[A,64], k0: f32[N,64]) -> (y: f32[N,3,A,64])\n"
	  "  b: f32[N,3,A,1] = max (i, j, k, l | r<64) select(m0[k, r] < i8(0), x[i, j, k, r] + k0[i, r], f32(-9.0))\n"
	  "  c: f32[N,3,A,1] = sum (i, j, k, l | r<64) exp(select(m0[k, r] < i8(0), x[i, j, k, r] + k0[i, r], "
	  "f32(-9.0)) - b[i, j, k, 0])\n"
	  "  y: f32[N,3,A,64] = map (i, j, k, l) exp(select(m0[k, l] < i8(0), x[i, j, k, l] + k0[i, l], "
	  "f32(-9.0)) - b[i, j, k, 0]) / c[i, j, k, 0]\n",
	  { "N=2 A=5", "N=1 A=1", "N=3 A=40" } },
	{ "rows_conditions", "(x: f32[N,A,2,B,2,3]) -> (y: f32[N,A,2,B,2,3])\n"
			     "  n0: f32[N] = sum (i | r<A, s<2, t<B, u<2, v<3) x[i, r, s, t, u, v] * f32(v)\n"
			     "  y: f32[N,A,2,B,2,3] = map (i, j, k, l, m, n) select(0.5 < n0[i], x[i, j, k, l, m, n] / "
			     "n0[i], 1.0)\n",
	  { "N=3 A=2 B=5", "N=1 A=90 B=6", "N=2 A=1 B=1" } },
	/* ---- scans */
	{ "scan_last", "(x: f32[N,K]) -> (y: f32[N,K])\n  y: f32[N,K] = scan sum along j (i, j) x[i, j]\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=0 K=3", "N=2 K=2500", "N=9 K=33" } },
	{ "scan_directions", "(x: i32[N,K]) -> (a: i32[N,K], b: i32[N,K], c: i32[N,K])\n"
			     "  a: i32[N,K] = scan sum along j exclusive (i, j) x[i, j]\n"
			     "  b: i32[N,K] = scan sum along j reverse (i, j) x[i, j]\n"
			     "  c: i32[N,K] = scan sum along j exclusive reverse (i, j) x[i, j]\n",
	  { "N=3 K=70", "N=4 K=1", "N=2 K=1100", "N=2 K=0", "N=5 K=32", "N=1 K=33" } },
	{ "scan_first", "(x: f16[N,K]) -> (y: f16[N,K], o: f32[N,K])\n"
			"  y: f16[N,K] = scan sum along i (i, j) f32(x[i, j])\n"
			"  o: f32[N,K] = scan sum along i exclusive reverse (i, j) f32(x[i, j]) then it * f32(i) + f32(j)\n",
	  { "N=70 K=5", "N=1 K=3", "N=0 K=3", "N=3 K=0", "N=40 K=300" } },
	{ "scan_middle", "(x: f64[A,B,C,D], y0: i32[B]) -> (y: f64[A,B,C,D])\n"
			 "  y: f64[A,B,C,D] = scan sum along k exclusive (i, j, k, l) x[i, j, k, l] * f64(y0[j]) + f64(l)\n",
	  { "A=2 B=3 C=40 D=5", "A=1 B=1 C=7 D=1", "A=3 B=2 C=2 D=0" } },
	{ "scan_combines", "(t_x: f32[N,70], n_x: i64[N,70], q: u8[N,70]) -> (a: f32[N,70], b: f32[N,70], c: i64[N,70], d: "
	  "u8[N,70], e: u8[N,70])\n"
			   "  a: f32[N,70] = scan max along j (i, j) t_x[i, j]\n"
			   "  b: f32[N,70] = scan min along j exclusive (i, j) t_x[i, j]\n"
			   "  c: i64[N,70] = scan prod along j reverse (i, j) n_x[i, j] * i64(3) + i64(1)\n"
			   "  d: u8[N,70] = scan sum along j (i, j) q[i, j] + u8(200)\n"
			   "  e: u8[N,70] = scan max along i exclusive (i, j) q[i, j]\n",
	  { "N=4", "N=1" } },
	{ "scan_shifted", "(x: f32[K,N]) -> (y: f32[N,K], o: i64[N])\n"
			  "  y: f32[N,K] = scan sum along j reverse (i, j) select(j < 2, 1.0, x[j - 2, i]) then it / f32(K - j)\n"
			  "  o: i64[N] = scan sum along i (i) i64(i * i)\n",
	  { "N=3 K=50", "N=1 K=1", "N=2 K=700" } },
	{ "scan_vectors", "(x: f16[3,1096], b: f32[1096]) -> (y: f16[3,1096], o: f16[3,1096])\n"
			  "  y: f16[3,1096] = scan sum along j (i, j) f32(x[i, j]) * b[j] then f16(it)\n"
			  "  o: f16[3,1096] = scan max along j exclusive reverse (i, j) f32(x[i, j]) - f32(x[2 - i, j]) then "
			  "f16(it + f32(x[i, j]))\n",
	  { "" } },
	{ "scan_long", "(x: i32[N]) -> (y: i32[N], o: i32[N])\n"
		       "  y: i32[N] = scan sum along i (i) x[i]\n"
		       "  o: i32[N] = scan max along i exclusive reverse (i) x[i] then it + i32(i)\n",
	  { "N=1", "N=0", "N=9000", "N=8192", "N=20011" } },
	{ "scan_long_rows", "(x: f64[3,40000]) -> (y: f64[3,40000])\n"
			    "  y: f64[3,40000] = scan sum along j exclusive (i, j) x[i, j] then it + f64(i)\n",
	  { "" } },
	{ "sort_found", "(x: f32[N]) -> (y: i64[M], o: i64[min(M, 3)])\n"
			"  size M = found <= N\n"
			"  a: f32[M] = compact found (| r<N) x[r] where 0.0 < x[r]\n"
			"  y: i64[M] = sort along i (i | r<M) a[r]\n"
			"  o: i64[min(M, 3)] = sort descending along i (i | r<M) a[r]\n",
	  { "N=90", "N=1", "N=0", "N=9000" } },
	/* ---- compactions */
	{ "compact", "(x: f32[N,K]) -> (y: i64[M])\n"
		     "  size M = found <= N * K\n"
		     "  y: i64[M] = compact found (| r<N, s<K) i64(r * K + s) where 0.0 < x[r, s]\n",
	  { "N=5 K=70", "N=1 K=1", "N=0 K=3", "N=90 K=91", "N=113 K=200" } },
	{ "compact_all_none", "(x: i8[N]) -> (a: i8[M], b: i8[L], found: i64[], more: i64[])\n"
			      "  size M = found <= N\n  size L = more <= N\n"
			      "  a: i8[M] = compact found (| r<N) x[r] where i32(-128) <= i32(x[r])\n"
			      "  b: i8[L] = compact more (| r<N) x[N - r] where i32(128) < i32(x[r])\n",
	  { "N=300", "N=1", "N=0", "N=8193", "N=16384" } },
	{ "compact_fixed", "(x: f16[3,7000]) -> (y: f16[M], o: i32[2,M], c: f32[40])\n"
			   "  size M = found <= 21000\n"
			   "  places: i32[M] = compact found (| r<3, s<7000) i32(s * 3 + r) where f32(x[r, s]) < -0.5\n"
			   "  y: f16[M] = map (i) x[mod(index(places[i]), 3), floordiv(index(places[i]), 3)]\n"
			   "  o: i32[2,M] = map (i, j) select(i < 1, places[j], places[M - 1 - j])\n"
			   "  c: f32[40] = sum (i | r<M) select(index(places[r]) == i * 3, 1.0, 0.0)\n",
	  { "" } },
	{ "compact_chained", "(x: f32[N]) -> (y: f32[L], o: f32[], c: f32[M * 2])\n"
			     "  size M = found <= N\n  size L = more <= N\n"
			     "  a: f32[M] = compact found (| r<N) x[r] where 0.0 < x[r]\n"
			     "  y: f32[L] = compact more (| r<M) a[r] * 2.0 where a[r] < 1.0\n"
			     "  o: f32[] = sum (| r<L) y[r]\n"
			     "  c: f32[M * 2] = scan sum along i (i) a[floordiv(i, 2)]\n",
	  { "N=300", "N=0", "N=9001" } },
	/* ---- sorts */
	{ "sort_rows", "(t_x: f32[N,K]) -> (y: i64[N,K])\n  y: i64[N,K] = sort along j (i, j | r<K) t_x[i, r]\n",
	  { "N=5 K=70", "N=1 K=1", "N=3 K=0", "N=0 K=3", "N=2 K=4097", "N=2 K=1500" } },
	{ "sort_short", "(t_x: f16[N,9]) -> (y: i64[N,9])\n  y: i64[N,9] = sort along j (i, j | r<9) f32(t_x[i, r])\n",
	  { "N=300", "N=1", "N=0" } },
	{ "sort_first_of_short", "(x: i8[N,70]) -> (y: i32[N,4])\n  y: i32[N,4] = sort descending along j (i, j | r<70) x[i, r]\n",
	  { "N=40", "N=1" } },
	{ "sort_bool", "(x: bool[3,N]) -> (y: i64[3,N])\n  y: i64[3,N] = sort descending along j (i, j | r<N) x[i, r]\n",
	  { "N=33", "N=1" } },
	{ "sort_i16", "(x: i16[2,600]) -> (y: i64[2,600])\n"
		      "  y: i64[2,600] = sort descending along j (i, j | r<600) x[i, r] * i16(7000)\n", { "" } },
	{ "sort_bf16", "(t_x: bf16[2,600]) -> (y: i64[2,600])\n  y: i64[2,600] = sort along j (i, j | r<600) f32(t_x[i, r])\n",
	  { "" } },
	{ "sort_u32", "(x: u32[2,600]) -> (y: i64[2,600])\n"
		      "  y: i64[2,600] = sort descending along j (i, j | r<600) x[i, r] * u32(31234567)\n", { "" } },
	{ "sort_i64", "(x: i64[2,600]) -> (y: i64[2,600])\n"
		      "  y: i64[2,600] = sort along j (i, j | r<600) x[i, r] * i64(1234567890123)\n", { "" } },
	{ "sort_u64", "(x: u64[2,70]) -> (y: i64[2,70])\n"
		      "  y: i64[2,70] = sort descending along j (i, j | r<70) x[i, r] * u64(92345678901234567)\n", { "" } },
	{ "sort_f64", "(t_x: f64[2,9000]) -> (y: i64[2,9000])\n"
		      "  y: i64[2,9000] = sort descending along j (i, j | r<9000) t_x[i, r]\n", { "" } },
	{ "sort_few", "(t_x: f32[N,9000]) -> (y: i64[N,7])\n  y: i64[N,7] = sort descending along j (i, j | r<9000) t_x[i, r]\n",
	  { "N=1", "N=2" } },
	{ "sort_few_of_halves", "(t_x: f16[2,10000], x: f16[1,5003]) -> (y: i64[2,50], o: i64[1,20])\n"
				"  y: i64[2,50] = sort descending along j (i, j | r<10000) f32(t_x[i, r])\n"
				"  o: i64[1,20] = sort along j (i, j | r<5003) f32(x[i, r])\n",
	  { "" } },
	{ "sort_several", "(n_x: i64[N,9000]) -> (y: i64[N,300])\n  y: i64[N,300] = sort along j (i, j | r<9000) n_x[i, r]\n",
	  { "N=2" } },
	{ "sort_first_of_segments", "(t_x: i64[1,70000], t_z: i16[3,8209]) -> (y: i64[1,20], o: i64[3,64])\n"
				    "  y: i64[1,20] = sort along j (i, j | r<70000) t_x[i, r]\n"
				    "  o: i64[3,64] = sort descending along j (i, j | r<8209) t_z[i, r]\n", { "" } },
	{ "sort_first", "(x: f32[40000]) -> (y: i64[1])\n  y: i64[1] = sort along i (i | r<40000) x[r]\n", { "" } },
	/* The k-th best falls with every element. */
	{ "sort_rising", "(x: f32[N]) -> (y: i64[20])\n  y: i64[20] = sort descending along i (i | r<N) f32(r) + x[0] * 0.0\n",
	  { "N=9000", "N=20" } },
	{ "sort_steps", "(x: f32[9000]) -> (y: i64[20])\n"
			"  y: i64[20] = sort descending along i (i | r<9000) f32(floordiv(r, 1000)) + x[0] * 0.0\n", { "" } },
	{ "sort_axis_first", "(x: f32[A,B,C]) -> (y: i64[A,B,C])\n  y: i64[A,B,C] = sort along i (i, j, k | r<A) x[r, j, k]\n",
	  { "A=20 B=3 C=5", "A=1 B=2 C=1", "A=0 B=3 C=2" } },
	{ "sort_axis_middle", "(x: f32[A,30,C], q: i32[C,A]) -> (y: i64[A,8,C])\n"
			      "  y: i64[A,8,C] = sort descending along j (i, j, k | r<30) x[i, r, k] * f32(q[k, i])\n",
	  { "A=3 C=5", "A=1 C=1" } },
	{ "sort_two_axes", "(q: i32[C,A]) -> (y: i64[A,4,2])\n"
			   "  y: i64[A,4,2] = sort along k (i, j, k | r<C) f32(q[r, i]) + f32(j * r)\n", { "A=3 C=9" } },
	{ "sort_first_symbol", "(x: f32[N,K], u0: f32[M]) -> (y: i64[N,M], o: f32[N,M])\n"
			       "  y: i64[N,M] = sort descending along j (i, j | r<K) x[i, r]\n"
			       "  o: f32[N,M] = map (i, j) x[i, min(index(y[i, j]), K - 1)] + u0[j]\n",
	  { "N=3 K=70 M=5", "N=2 K=1 M=1", "N=1 K=3000 M=600", "N=2 K=10 M=0" } },
	{ "sort_computed", "(x: f32[3,50], x2: f32[3,50]) -> (y: i64[3,50])\n"
			   "  y: i64[3,50] = sort along j (i, j | r<50) let d = x[i, r] - x2[i, 49 - r]; d * d\n",
	  { "" } },
	/* ---- scatters */
	{ "scatter_replace", "(x: f32[N,K], u0: f32[3,K]) -> (y: f32[N,K])\n"
			     "  y: f32[N,K] = scatter replace (i, j | r<3, s<K) init x[i, j] at [r * 2, s] value u0[r, s]\n",
	  { "N=6 K=5", "N=5 K=1", "N=7 K=0" } },
	{ "scatter_sum", "(x: f32[N,K], n_at: i64[M], u0: f32[M,K]) -> (y: f32[N,K])\n"
			 "  y: f32[N,K] = scatter sum (i, j | r<M, s<K) init x[i, j] at [mod(index(n_at[r]), N), s] "
			 "value u0[r, s]\n",
	  { "N=6 K=8 M=20", "N=1 K=1 M=300", "N=3 K=4 M=0" } },
	{ "scatter_i32", "(x: i32[N], n_at: i64[M], u0: i32[M]) -> (a: i32[N], b: i32[N], c: i32[N], d: i32[N])\n"
			 "  a: i32[N] = scatter sum (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r]\n"
			 "  b: i32[N] = scatter prod (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r] "
			 "where u0[r] < i32(2000000)\n"
			 "  c: i32[N] = scatter max (i | r<M) init i32(-7) at [mod(index(n_at[r]), N)] value u0[r]\n"
			 "  d: i32[N] = scatter min (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r]\n",
	  { "N=6 M=20", "N=1 M=30" } },
	{ "scatter_narrow", "(x: u8[N], n_at: i64[M], u0: u8[M], n_x: i8[N], n_u: i8[M], h: f16[N], hu: f16[M], q: "
	  "i16[N]) -> (a: u8[N], "
			    "b: u8[N], c: i8[N], d: i8[N], e: f16[N], f: f16[N], g: i16[N])\n"
			    "  a: u8[N] = scatter sum (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r]\n"
			    "  b: u8[N] = scatter max (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r] + u8(200)\n"
			    "  c: i8[N] = scatter prod (i | r<M) init n_x[i] at [mod(index(n_at[r]), N)] value n_u[r]\n"
			    "  d: i8[N] = scatter min (i | r<M) init n_x[i] at [mod(index(n_at[r]), N)] value n_u[r] * i8(60)\n"
			    "  e: f16[N] = scatter max (i | r<M) init h[i] at [mod(index(n_at[r]), N)] value hu[r]\n"
			    "  f: f16[N] = scatter sum (i | r<M) init h[i] at [r] value hu[r] where r < N\n"
			    "  g: i16[N] = scatter sum (i | r<M) init q[i] at [mod(index(n_at[r]), N)] value "
			    "i16(n_u[r]) * i16(9000)\n",
	  { "N=6 M=20", "N=5 M=5" } },
	/* updates that stay within rows, and such that come in vectors */
	{ "scatter_rows",
	  "(h: f16[N,40], n_at: i64[N,M], hu: f16[N,M], n_x: i8[N,3,72], n_u: i8[N,M]) -> (a: f16[N,40], b: i8[N,3,72])\n"
	  "  a: f16[N,40] = scatter sum (i, j | r<N, s<M) init h[i, j] at [r, mod(index(n_at[r, s]), 40)] value hu[r, s]\n"
	  "  b: i8[N,3,72] = scatter max (i, j, k | r<N, s<3, t<M) init n_x[i, j, k] + i8(1) at [r, s, "
	  "mod(index(n_at[r, t]), 72)] value n_u[r, t] where n_u[r, t] < i8(100)\n",
	  { "N=3 M=20", "N=1 M=300", "N=2 M=0" } },
	{ "scatter_rows_replace",
	  "(x: f32[4,6], n_at: i64[4,6], u0: f32[4,6]) -> (a: f32[4,6], b: f32[6,4])\n"
	  "  a: f32[4,6] = scatter replace (i, j | r<4, s<6) init x[i, j] at [r, mod(s * 5 + 2, 6)] value u0[r, s]\n"
	  "  b: f32[6,4] = scatter replace (i, j | r<6, s<2) init f32(7) at [r, 3 - s * 2] value u0[s, r]\n",
	  { "" } },
	{ "scatter_vectors",
	  "(h: f16[N,48], n_at: i64[M], hu: f16[M,48], x: f32[N,12], u0: f32[M,12], n_x: i8[N,32], n_u: i8[M,32]) -> "
	  "(a: f16[N,48], b: f32[N,12], c: i8[N,32], d: f16[N,48])\n"
	  "  a: f16[N,48] = scatter sum (i, j | r<M, s<48) init h[i, j] at [mod(index(n_at[r]), N), s] value hu[r, s]\n"
	  "  b: f32[N,12] = scatter sum (i, j | r<M, s<12) init x[i, j] at [mod(index(n_at[r]), N), s] value "
	  "u0[r, s] * 2.0 where index(n_at[r]) < 9\n"
	  "  c: i8[N,32] = scatter min (i, j | r<M, s<32) init n_x[i, j] at [mod(index(n_at[r]), N), s] value n_u[r, s]\n"
	  "  d: f16[N,48] = scatter replace (i, j | r<M, s<48) init h[i, 47 - j] at [N - 1 - r, s] value hu[r, s] "
	  "where r < N\n",
	  { "N=6 M=20", "N=5 M=1" } },
	{ "scatter_lists",
	  "(h: f16[N,2,72], n_at: i64[30], hu: f16[30,72], x: f32[9,36], u0: f32[2,5,36], n_x: i8[N,144], n_u: i8[30,144]) -> "
	  "(a: f16[N,2,72], b: f32[9,36], c: i8[N,144], d: f16[N,2,72], e: f32[9,36])\n"
	  "  a: f16[N,2,72] = scatter sum (i, j, k | r<30, s<72) init h[i, 1 - j, k] at [mod(index(n_at[r]), N), mod(r, 2), s] "
	  "value hu[r, s]\n"
	  "  b: f32[9,36] = scatter prod (i, j | r<2, s<5, t<36) init x[i, j] at [mod(r * 5 + s, 7), t] value u0[r, s, t] "
	  "where s < 4\n"
	  "  c: i8[N,144] = scatter min (i, j | r<30, s<144) init n_x[i, j] at [mod(index(n_at[r]), N), s] value n_u[r, s]\n"
	  "  d: f16[N,2,72] = scatter replace (i, j, k | r<30, s<72) init h[i, j, k] at [r, 1, s] value hu[29 - r, s] where r < N\n"
	  "  e: f32[9,36] = scatter replace (i, j | r<2, s<3, t<36) init x[8 - i, 35 - j] * 2.0 at [r * 3 + s, t] value "
	  "u0[r, s, t]\n",
	  { "N=6", "N=11" } },
	{ "scatter_where", "(x: f64[N], n_at: i32[M], u0: f64[M]) -> (y: f64[N])\n"
			   "  y: f64[N] = scatter max (i | r<M) init x[i] at [index(n_at[r])] value u0[r] where and(0 "
			   "<= index(n_at[r]), "
			   "index(n_at[r]) < N)\n",
	  { "N=6 M=20", "N=2 M=7", "N=0 M=3" } },
	/* ---- loops */
	{ "loop_rnn", "(x: f32[T,N,K], q: f32[K,K], h0: f32[N,K]) -> (y: f32[T,N,K], last: f32[N,K])\n"
		      "  loop turn<T {\n"
		      "    carry h: f32[N,K] (i, j) h0[i, j]\n"
		      "    g: f32[N,K] = sum (i, j | r<K) h[i, r] * q[j, r] then tanh(it * 0.25 + x[turn, i, j])\n"
		      "    next h = g\n"
		      "    collect y: f32[T,N,K] at T - 1 - turn = g\n"
		      "  }\n"
		      "  last: f32[N,K] = map (i, j) h[i, j]\n",
	  { "T=5 N=3 K=8", "T=1 N=1 K=1", "T=3 N=2 K=70", "T=0 N=2 K=3", "T=2 N=0 K=3" } },
	{ "loop_lstm", "(x: f32[T,N,4,40], q: f16[4,40,40], n_len: i32[N]) -> (y: f32[T,N,40], h2: f32[N,40], c2: f32[N,40])\n"
		       "  loop turn<T {\n"
		       "    carry h: f32[N,40] (i, j) 0.0\n"
		       "    carry c: f32[N,40] (i, j) 0.25\n"
		       "    gate: f32[N,4,40] = sum (i, j, k | r<40) h[i, r] * f32(q[j, k, r]) then tanh(it * 0.2 "
		       "+ x[turn, i, j, k])\n"
		       "    cell: f32[N,40] = map (i, j) select(index(n_len[i]) <= turn, c[i, j], gate[i, 0, j] * gate[i, 1, "
		       "j] + c[i, j] "
		       "* gate[i, 2, j])\n"
		       "    hide: f32[N,40] = map (i, j) select(index(n_len[i]) <= turn, h[i, j], gate[i, 3, j] "
		       "* tanh(cell[i, j]))\n"
		       "    next h = hide\n"
		       "    next c = cell\n"
		       "    collect y: f32[T,N,40] at turn = hide\n"
		       "  }\n"
		       "  h2: f32[N,40] = map (i, j) h[i, j]\n"
		       "  c2: f32[N,40] = map (i, j) c[i, j]\n",
	  { "T=5 N=3", "T=1 N=1" } },
	{ "loop_rows", "(x: f16[T,N,K], a: f32[K]) -> (y: f16[T,N,K])\n"
		       "  loop turn<T {\n"
		       "    carry h: f32[N,K] (i, j) f32(j)\n"
		       "    g: f32[N,K] = map (i, j) h[i, j] * a[j] + f32(x[turn, i, j])\n"
		       "    z: f16[N,K] = map (i, j) f16(g[i, j] * g[i, j])\n"
		       "    next h = g\n"
		       "    collect y: f16[T,N,K] at turn = z\n"
		       "  }\n",
	  { "T=5 N=3 K=8", "T=3 N=40 K=3", "T=2 N=1 K=300" } },
	{ "loop_while", "(x: f32[N], limit: f32[]) -> (y: f32[N], count2: i64[], steps: f32[20])\n"
			"  loop turn<20 while going[] {\n"
			"    carry h: f32[N] (i) abs(x[i]) + 0.1\n"
			"    carry count: i64[] () i64(0)\n"
			"    carry going: bool[] () true\n"
			"    g: f32[N] = map (i) h[mod(i + 1, N)] * 1.5 + h[i] * 0.1\n"
			"    more: i64[] = map () count[] + i64(1)\n"
			"    most: f32[] = max ( | r<N) g[r]\n"
			"    go: bool[] = map () most[] < 50.0 + limit[]\n"
			"    next h = g\n"
			"    next count = more\n"
			"    next going = go\n"
			"    collect part2: f32[20] at turn = most\n"
			"  }\n"
			"  y: f32[N] = map (i) h[i]\n"
			"  count2: i64[] = map () count[]\n"
			"  steps: f32[20] = map (i) select(i64(i) < count[], part2[i], -1.0)\n",
	  { "N=5", "N=1", "N=70", "N=300" } },
	{ "loop_exchange", "(x: f32[N], y0: f32[N]) -> (a2: f32[N], b2: f32[N], c2: f32[N], y: f32[4,N])\n"
			   "  loop turn<4 {\n"
			   "    carry a: f32[N] (i) x[i]\n"
			   "    carry b: f32[N] (i) x[i] * 2.0\n"
			   "    carry c: f32[N] (i) 0.0\n"
			   "    g: f32[N] = map (i) a[N - 1 - i] + c[i]\n"
			   "    next a = b\n"
			   "    next b = a\n"
			   "    next c = g\n"
			   "    collect y: f32[4,N] at turn = a\n"
			   "  }\n"
			   "  a2: f32[N] = map (i) a[i]\n  b2: f32[N] = map (i) b[i]\n  c2: f32[N] = map (i) c[i] + y0[i]\n",
	  { "N=5", "N=300" } },
	{ "loop_nested", "(x: f32[N,K], d: i32[K]) -> (y: f32[3,N], z: f32[3,5,N], last: f32[N])\n"
			 "  loop turn<3 {\n"
			 "    carry whole: f32[N] (i) 1.0\n"
			 "    scaled: f32[N,K] = map (i, j) x[i, j] * f32(turn + 1) + whole[i]\n"
			 "    loop inside<5 {\n"
			 "      carry total: f32[N] (i) whole[i]\n"
			 "      more: f32[N] = sum (i | r<K) scaled[i, r] * total[i] then tanh(it / f32(K)) - f32(inside) * 0.1\n"
			 "      next total = more\n"
			 "      collect each: f32[5,N] at 4 - inside = more\n"
			 "    }\n"
			 "    next whole = total\n"
			 "    collect y: f32[3,N] at turn = total\n"
			 "    collect z: f32[3,5,N] at turn = each\n"
			 "  }\n"
			 "  last: f32[N] = map (i) whole[i]\n",
	  { "N=5 K=8", "N=1 K=40", "N=70 K=1" } },
	{ "loop_stages", "(x: f32[T,K], n_at: i64[K]) -> (y: f32[T,K])\n"
			 "  loop turn<T {\n"
			 "    carry h: f32[K] (i) 0.5\n"
			 "    up: f32[K] = scan sum along i reverse (i) x[turn, i] * h[i] then it * 0.25\n"
			 "    down: f32[K] = scan max along i exclusive (i) up[i]\n"
			 "    into: f32[K] = scatter sum (i | r<K) init up[i] at [mod(index(n_at[r]), K)] value h[r] where r < 30\n"
			 "    set2: f32[K] = scatter replace (i | r<K) init into[i] at [K - 1 - r] value max(down[r], "
			 "-3.0) where 2 < r\n"
			 "    peak: i64[] = argmax ( | r<K) set2[r]\n"
			 "    g: f32[K] = map (i) set2[K - 1 - i] * 0.5 + f32(peak[])\n"
			 "    next h = g\n"
			 "    collect y: f32[T,K] at turn = g\n"
			 "  }\n",
	  { "T=3 K=8", "T=2 K=60", "T=1 K=3" } },
	{ "loop_sort", "(t_x: f32[T,K], d: f32[K]) -> (y: f32[T,K], p: i32[T,K], c: i64[T,2])\n"
		       "  loop turn<T {\n"
		       "    carry h: f32[K] (i) d[i]\n"
		       "    order: i32[K] = sort along i (i | r<K) t_x[turn, r] + h[0]\n"
		       "    best2: i64[2] = sort descending along i (i | r<K) t_x[turn, r] * h[r]\n"
		       "    g: f32[K] = map (i) h[mod(index(order[i]), K)] + f32(best2[1])\n"
		       "    next h = g\n"
		       "    collect y: f32[T,K] at turn = g\n"
		       "    collect p: i32[T,K] at turn = order\n"
		       "    collect c: i64[T,2] at turn = best2\n"
		       "  }\n",
	  { "T=3 K=8", "T=2 K=60", "T=1 K=2" } },
	{ "loop_batched", "(x: f32[N,K,K]) -> (y: f32[N,K,K])\n" /* elimination without pivots */
			  "  loop turn<K {\n"
			  "    carry a: f32[N,K,K] (i, j, k) x[i, j, k] + select(j == k, 9.0, 0.0)\n"
			  "    g: f32[N,K,K] = map (i, j, k) select(turn < j, a[i, j, k] - a[i, j, turn] / a[i, turn, turn] * a[i, "
			  "turn, k], a[i, j, k])\n"
			  "    next a = g\n"
			  "  }\n"
			  "  y: f32[N,K,K] = map (i, j, k) a[i, j, k]\n",
	  { "N=3 K=4", "N=1 K=1", "N=2 K=20" } },
	/* ---- constants, names */
	{ "constants", "(x: f32[N,4]) -> (y: f32[N,4], o: i64[3])\n"
		       "  const c: f32[4] = {1.0, -inf, 0.5, 1e-40}\n"
		       "  const d: i64[3] = {-9223372036854775808, 7, 9223372036854775807}\n"
		       "  y: f32[N,4] = map (i, j) x[i, j] + c[3 - j]\n"
		       "  o: i64[3] = map (i) d[2 - i] - i64(1)\n", { "N=3", "N=1" } },
	{ "iota", "(x: f32[N,K]) -> (y: i64[N,K], o: f32[N])\n"
		  "  y: i64[N,K] = map (i, j) i64(i * K + j) * i64(1000000007)\n"
		  "  o: f32[N] = map (i) f32(K - i)\n", { "N=3 K=5", "N=1 K=1", "N=0 K=2" } },
	{ "names_collide", "(N: f32[N,K], K: f32[K], y_extent: f32[N_extent]) -> (y: f32[N,K], y_update: f32[K], "
	  "y_x4: f32[N_extent,4])\n"
			   "  y: f32[N,K] = map (i, j) N[i, j] * f32(N) + K[j] * f32(K)\n"
			   "  y_update: f32[K] = scatter sum (i | r<N) init K[i] at [mod(r, K)] value N[r, 0] + f32(N_extent)\n"
			   "  y_x4: f32[N_extent,4] = map (i, j) y_extent[i] + f32(j)\n", { "N=3 K=5 "
			   "N_extent=2", "N=1 K=1 N_extent=3" } },
};

/* What rule contract_wide alone is asked for: operands that the copy engine walks over, with edges, with steps and gaps; clusters
 * of blocks. */
static const struct schedule_case contract_wide_cases[] = {
	{ "convolution_walked", "(x: f16[3,64,H,5], weight: f16[24,64,3,3], b: f16[24]) -> (y: f16[3,24,H,5])\n"
				"  y: f16[3,24,H,5] = sum (i, j, k, l | r<64, s<3, t<3) select(and(and(0 <= k + s - 1, k + "
				"s - 1 < H), and(1 <= l + t, l + t < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * "
				"f32(weight[j, r, s, t]) then f16(it + f32(b[j]))\n", { "H=8", "H=3" } },
	{ "convolution_walked_apart", "(x: i8[2,128,15], weight: i8[24,128,3]) -> (y: i32[2,24,8])\n"
				      "  y: i32[2,24,8] = sum (i, j, k | r<128, s<3) select(and(0 <= 2 * k + 2 * s - 3, 2 * k + "
				      "2 * s - 3 < 15), i32(x[i, r, 2 * k + 2 * s - 3]), i32(0)) * i32(weight[j, r, s])\n",
	  { "" } },
	{ "product_together", "(a: f16[K,40], b: f16[72,K], c: f16[40]) -> (y: f16[40,72])\n"
			      "  y: f16[40,72] = sum (i, j | r<K) f32(a[r, i]) * f32(b[j, r]) then f16(it + f32(c[i]))\n",
	  { "K=2100", "K=64", "K=0" } },
	{ "product_bytes_together", "(a: i8[40,4224], b: i8[72,4224]) -> (y: i32[40,72])\n"
				    "  y: i32[40,72] = sum (i, j | r<4224) i32(a[i, r]) * i32(b[j, r])\n", { "" } },
};

#endif
