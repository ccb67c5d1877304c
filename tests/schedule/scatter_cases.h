/* Updates at data-dependent positions. See schedule_case.h. */
#ifndef TPAT_TESTS_SCATTER_CASES_H
#define TPAT_TESTS_SCATTER_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case scatter_cases[] = {
	{ "scatter_replace",
	  "(x: f32[N,K], u0: f32[3,K]) -> (y: f32[N,K])\n"
	  "  y: f32[N,K] = scatter replace (i, j | r<3, s<K) init x[i, j] at [r * 2, s] value u0[r, s]\n",
	  { "N=6 K=5", "N=5 K=1", "N=7 K=0" } },
	{ "scatter_sum",
	  "(x: f32[N,K], n_at: i64[M], u0: f32[M,K]) -> (y: f32[N,K])\n"
	  "  y: f32[N,K] = scatter sum (i, j | r<M, s<K) init x[i, j] at [mod(index(n_at[r]), N), s] value u0[r, s]\n",
	  { "N=6 K=8 M=20", "N=1 K=1 M=300", "N=3 K=4 M=0" } },
	{ "scatter_i32",
	  "(x: i32[N], n_at: i64[M], u0: i32[M]) -> (a: i32[N], b: i32[N], c: i32[N], d: i32[N])\n"
	  "  a: i32[N] = scatter sum (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r]\n"
	  "  b: i32[N] = scatter prod (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r] where u0[r] < "
	  "i32(2000000)\n"
	  "  c: i32[N] = scatter max (i | r<M) init i32(-7) at [mod(index(n_at[r]), N)] value u0[r]\n"
	  "  d: i32[N] = scatter min (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r]\n",
	  { "N=6 M=20", "N=1 M=30" } },
	{ "scatter_narrow",
	  "(x: u8[N], n_at: i64[M], u0: u8[M], n_x: i8[N], n_u: i8[M], h: f16[N], hu: f16[M], q: i16[N]) -> (a: u8[N], "
	  "b: u8[N], c: i8[N], d: i8[N], e: f16[N], f: f16[N], g: i16[N])\n"
	  "  a: u8[N] = scatter sum (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r]\n"
	  "  b: u8[N] = scatter max (i | r<M) init x[i] at [mod(index(n_at[r]), N)] value u0[r] + u8(200)\n"
	  "  c: i8[N] = scatter prod (i | r<M) init n_x[i] at [mod(index(n_at[r]), N)] value n_u[r]\n"
	  "  d: i8[N] = scatter min (i | r<M) init n_x[i] at [mod(index(n_at[r]), N)] value n_u[r] * i8(60)\n"
	  "  e: f16[N] = scatter max (i | r<M) init h[i] at [mod(index(n_at[r]), N)] value hu[r]\n"
	  "  f: f16[N] = scatter sum (i | r<M) init h[i] at [r] value hu[r] where r < N\n"
	  "  g: i16[N] = scatter sum (i | r<M) init q[i] at [mod(index(n_at[r]), N)] value i16(n_u[r]) * i16(9000)\n",
	  { "N=6 M=20", "N=5 M=5" } },
	/* Few elements, which all blocks of the next step read: they do not repeat the updates alone, since the initial
	 * values are in another launch, together with a. */
	{ "scatter_then_map",
	  "(x: f32[5], n_at: i64[20], u0: f32[20], z: f32[400,5]) -> (a: f32[400,5], b: f32[400,5])\n"
	  "  a: f32[400,5] = map (i, j) sqrt(z[i, j])\n"
	  "  few: f32[5] = scatter sum (i | r<20) init x[i] at [mod(index(n_at[r]), 5)] value floor(u0[r])\n"
	  "  b: f32[400,5] = map (i, j) z[i, j] * few[j]\n",
	  { "" } },
	/* many updates of few elements: parts of them, behind leading axes, of an open number */
	{ "scatter_parts",
	  "(h: f16[5,K], n_at: i64[M], hu: f16[M,K], x: i32[2,7], n_x: i64[2,M], u0: i32[2,M], e: f32[K]) -> (a: "
	  "f16[5,K], b: "
	  "i32[2,7], c: f32[K])\n"
	  "  a: f16[5,K] = scatter sum (i, j | r<M, s<K) init h[i, j] at [mod(index(n_at[r]), 5), s] value "
	  "f16(floor(f32(hu[r, s])))\n"
	  "  b: i32[2,7] = scatter max (i, j | r<2, s<M) init x[i, j] at [r, mod(index(n_x[r, s]), 7)] value u0[r, s] "
	  "where "
	  "u0[r, s] < i32(90)\n"
	  "  c: f32[K] = scatter sum (i | r<M) init e[i] at [mod(index(n_at[r]), K)] value floor(f32(hu[r, 0]))\n",
	  { "K=6 M=300", "K=1 M=129", "K=2 M=7", "K=4 M=0" } },
	/* updates within rows, and vectors of updates */
	{ "scatter_rows",
	  "(h: f16[N,40], n_at: i64[N,M], hu: f16[N,M], n_x: i8[N,3,72], n_u: i8[N,M]) -> (a: f16[N,40], b: "
	  "i8[N,3,72])\n"
	  "  a: f16[N,40] = scatter sum (i, j | r<N, s<M) init h[i, j] at [r, mod(index(n_at[r, s]), 40)] value hu[r, "
	  "s]\n"
	  "  b: i8[N,3,72] = scatter max (i, j, k | r<N, s<3, t<M) init n_x[i, j, k] + i8(1) at [r, s, "
	  "mod(index(n_at[r, t]), 72)] value n_u[r, t] where n_u[r, t] < i8(100)\n",
	  { "N=3 M=20", "N=1 M=300", "N=2 M=0" } },
	/* rows of open length, several in a block, and longer ones than there is room for; results of an odd size */
	{ "scatter_rows_open",
	  "(h: f16[N,K], n_at: i64[N,M], hu: f16[N,M], x: f32[N,2,K], n_rows: i64[M], u0: f32[N,M]) -> (a: f16[N,K], "
	  "b: f32[N,2,K], c: f16[N,K])\n"
	  "  a: f16[N,K] = scatter sum (i, j | r<N, s<M) init h[i, j] at [r, mod(index(n_at[r, s]), K)] value hu[r, "
	  "s]\n"
	  "  b: f32[N,2,K] = scatter max (i, j, k | r<N, s<2, t<M) init x[i, 1 - j, k] at [r, s, mod(index(n_at[r, "
	  "t]), "
	  "K)] value u0[r, t] where index(n_at[r, t]) < 90\n"
	  "  c: f16[N,K] = scatter sum (i, j | r<M, s<K) init h[i, j] at [mod(index(n_rows[r]), N), s] value hu[mod(s, "
	  "N), r]\n",
	  { "N=3 K=40 M=20", "N=70 K=5 M=7", "N=2 K=131 M=7", "N=1 K=1 M=4", "N=5 K=6 M=0", "N=37 K=30 M=11" } },
	{ "scatter_rows_replace",
	  "(x: f32[4,6], n_at: i64[4,6], u0: f32[4,6]) -> (a: f32[4,6], b: f32[6,4])\n"
	  "  a: f32[4,6] = scatter replace (i, j | r<4, s<6) init x[i, j] at [r, mod(s * 5 + 2, 6)] value u0[r, s]\n"
	  "  b: f32[6,4] = scatter replace (i, j | r<6, s<2) init f32(7) at [r, 3 - s * 2] value u0[s, r]\n",
	  { "" } },
	/* 52 KB of shared memory */
	{ "scatter_rows_long",
	  "(x: f32[N,13000], n_at: i64[N,M], u0: f32[N,M]) -> (a: f32[N,13000])\n"
	  "  a: f32[N,13000] = scatter sum (i, j | r<N, s<M) init x[i, j] at [r, mod(index(n_at[r, s]) * 641, 13000)] "
	  "value u0[r, s]\n",
	  { "N=1 M=40" } },
	{ "scatter_vectors",
	  "(h: f16[N,48], n_at: i64[M], hu: f16[M,48], x: f32[N,12], u0: f32[M,12], n_x: i8[N,32], n_u: i8[M,32]) -> "
	  "(a: f16[N,48], b: f32[N,12], c: i8[N,32], d: f16[N,48])\n"
	  "  a: f16[N,48] = scatter sum (i, j | r<M, s<48) init h[i, j] at [mod(index(n_at[r]), N), s] value hu[r, s]\n"
	  "  b: f32[N,12] = scatter sum (i, j | r<M, s<12) init x[i, j] at [mod(index(n_at[r]), N), s] value u0[r, s] "
	  "* 2.0 where index(n_at[r]) < 9\n"
	  "  c: i8[N,32] = scatter min (i, j | r<M, s<32) init n_x[i, j] at [mod(index(n_at[r]), N), s] value n_u[r, "
	  "s]\n"
	  "  d: f16[N,48] = scatter replace (i, j | r<M, s<48) init h[i, 47 - j] at [N - 1 - r, s] value hu[r, s] "
	  "where r < N\n",
	  { "N=6 M=20", "N=5 M=1" } },
	{ "scatter_lists",
	  "(h: f16[N,2,72], n_at: i64[30], hu: f16[30,72], x: f32[9,36], u0: f32[2,5,36], n_x: i8[N,144], n_u: "
	  "i8[30,144]) -> (a: f16[N,2,72], b: f32[9,36], c: i8[N,144], d: f16[N,2,72], e: f32[9,36])\n"
	  "  a: f16[N,2,72] = scatter sum (i, j, k | r<30, s<72) init h[i, 1 - j, k] at [mod(index(n_at[r]), N), "
	  "mod(r, 2), s] value hu[r, s]\n"
	  "  b: f32[9,36] = scatter prod (i, j | r<2, s<5, t<36) init x[i, j] at [mod(r * 5 + s, 7), t] value u0[r, s, "
	  "t] where s < 4\n"
	  "  c: i8[N,144] = scatter min (i, j | r<30, s<144) init n_x[i, j] at [mod(index(n_at[r]), N), s] value "
	  "n_u[r, s]\n"
	  "  d: f16[N,2,72] = scatter replace (i, j, k | r<30, s<72) init h[i, j, k] at [r, 1, s] value hu[29 - r, s] "
	  "where r < N\n"
	  "  e: f32[9,36] = scatter replace (i, j | r<2, s<3, t<36) init x[8 - i, 35 - j] * 2.0 at [r * 3 + s, t] "
	  "value u0[r, s, t]\n",
	  { "N=6", "N=11" } },
	{ "scatter_where",
	  "(x: f64[N], n_at: i32[M], u0: f64[M]) -> (y: f64[N])\n"
	  "  y: f64[N] = scatter max (i | r<M) init x[i] at [index(n_at[r])] value u0[r] where and(0 <= "
	  "index(n_at[r]), index(n_at[r]) < N)\n",
	  { "N=6 M=20", "N=2 M=7", "N=0 M=3" } },
};

#endif
