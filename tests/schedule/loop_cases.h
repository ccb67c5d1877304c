/* Loops with states. See schedule_case.h. */
#ifndef TPAT_TESTS_LOOP_CASES_H
#define TPAT_TESTS_LOOP_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case loop_cases[] = {
	{ "loop_rnn",
	  "(x: f32[T,N,K], q: f32[K,K], h0: f32[N,K]) -> (y: f32[T,N,K], last: f32[N,K])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[N,K] (i, j) h0[i, j]\n"
	  "    g: f32[N,K] = sum (i, j | r<K) h[i, r] * q[j, r] then tanh(it * 0.0625 + x[turn, i, j])\n"
	  "    next h = g\n"
	  "    collect y: f32[T,N,K] at T - 1 - turn = g\n"
	  "  }\n"
	  "  last: f32[N,K] = map (i, j) h[i, j]\n",
	  { "T=5 N=3 K=8", "T=1 N=1 K=1", "T=3 N=2 K=70", "T=0 N=2 K=3", "T=2 N=0 K=3" } },
	{ "loop_lstm",
	  "(x: f32[T,N,4,40], q: f16[4,40,40], n_len: i32[N]) -> (y: f32[T,N,40], h2: f32[N,40], c2: f32[N,40])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[N,40] (i, j) 0.0\n"
	  "    carry c: f32[N,40] (i, j) 0.25\n"
	  "    gate: f32[N,4,40] = sum (i, j, k | r<40) h[i, r] * f32(q[j, k, r]) then tanh(it * 0.2 + x[turn, i, j, "
	  "k])\n"
	  "    cell: f32[N,40] = map (i, j) select(index(n_len[i]) <= turn, c[i, j], gate[i, 0, j] * gate[i, 1, j] + "
	  "c[i, j] * gate[i, 2, j])\n"
	  "    hide: f32[N,40] = map (i, j) select(index(n_len[i]) <= turn, h[i, j], gate[i, 3, j] * tanh(cell[i, "
	  "j]))\n"
	  "    next h = hide\n"
	  "    next c = cell\n"
	  "    collect y: f32[T,N,40] at turn = hide\n"
	  "  }\n"
	  "  h2: f32[N,40] = map (i, j) h[i, j]\n"
	  "  c2: f32[N,40] = map (i, j) c[i, j]\n",
	  { "T=5 N=3", "T=1 N=1" } },
	{ "loop_pick",
	  "(x: f32[N,K], q: f32[K], u0: f32[T]) -> (y: i64[T,3,N], last: f32[N,K])\n"
	  "  loop turn<3 {\n"
	  "    carry h: f32[N,K] (i, j) x[i, j]\n"
	  "    p: i64[T,N] = pick along i (i, j | r<K, s<K) abs(h[j, r] - h[j, s]) < 0.1 where h[j, r] < 1.5\n"
	  "    g: f32[N,K] = map (i, j) h[i, j] * 0.75 + f32(p[0, i]) * q[j]\n"
	  "    next h = g\n"
	  "    collect ps: i64[3,T,N] at turn = p\n"
	  "  }\n"
	  "  y: i64[T,3,N] = map (i, j, k) ps[j, i, k]\n"
	  "  last: f32[N,K] = map (i, j) h[i, j]\n",
	  { "T=5 N=3 K=40", "T=9 N=1 K=7", "T=1 N=2 K=1" } },
	{ "loop_rows",
	  "(x: f16[T,N,K], a: f32[K]) -> (y: f16[T,N,K])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[N,K] (i, j) f32(j)\n"
	  "    g: f32[N,K] = map (i, j) h[i, j] * a[j] + f32(x[turn, i, j])\n"
	  "    z: f16[N,K] = map (i, j) f16(g[i, j] * g[i, j])\n"
	  "    next h = g\n"
	  "    collect y: f16[T,N,K] at turn = z\n"
	  "  }\n",
	  { "T=5 N=3 K=8", "T=3 N=40 K=3", "T=2 N=1 K=300" } },
	{ "loop_while",
	  "(x: f32[N], limit: f32[]) -> (y: f32[N], count2: i64[], steps: f32[20])\n"
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
	{ "loop_exchange",
	  "(x: f32[N], y0: f32[N]) -> (a2: f32[N], b2: f32[N], c2: f32[N], y: f32[4,N])\n"
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
	/* more shared memory than a kernel can declare */
	{ "loop_large_states",
	  "(x: f32[4500], y0: f32[4500]) -> (a2: f32[4500], b2: f32[4500], c2: f32[4500])\n"
	  "  loop turn<2 {\n"
	  "    carry a: f32[4500] (i) x[i]\n"
	  "    carry b: f32[4500] (i) x[i] * 2.0\n"
	  "    carry c: f32[4500] (i) 0.0\n"
	  "    g: f32[4500] = map (i) a[4499 - i] + c[i] * y0[i]\n"
	  "    next a = b\n"
	  "    next b = a\n"
	  "    next c = g\n"
	  "  }\n"
	  "  a2: f32[4500] = map (i) a[i]\n  b2: f32[4500] = map (i) b[i]\n  c2: f32[4500] = map (i) c[i]\n",
	  { "" } },
	{ "loop_large_rows",
	  "(x: f32[T,1,12000]) -> (y: f32[T,1,12000])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[1,12000] (i, j) f32(j) * 0.001\n"
	  "    g: f32[1,12000] = sum (i, j | r<3) h[i, mod(j * 7 + r * 1300, 12000)] then it * 0.25 + x[turn, i, j]\n"
	  "    next h = g\n"
	  "    collect y: f32[T,1,12000] at turn = g\n"
	  "  }\n",
	  { "T=2" } },
	{ "loop_nested",
	  "(x: f32[N,K], d: i32[K]) -> (y: f32[3,N], z: f32[3,5,N], last: f32[N])\n"
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
	{ "loop_stages",
	  "(x: f32[T,K], n_at: i64[K]) -> (y: f32[T,K])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[K] (i) 0.5\n"
	  "    up: f32[K] = scan sum along i reverse (i) x[turn, i] * h[i] then it * 0.25\n"
	  "    down: f32[K] = scan max along i exclusive (i) up[i]\n"
	  "    into: f32[K] = scatter sum (i | r<K) init up[i] at [mod(index(n_at[r]), K)] value h[r] where r < 30\n"
	  "    set2: f32[K] = scatter replace (i | r<K) init into[i] at [K - 1 - r] value max(down[r], -3.0) where 2 < "
	  "r\n"
	  "    peak: i64[] = argmax ( | r<K) set2[r]\n"
	  "    g: f32[K] = map (i) set2[K - 1 - i] * 0.5 + f32(peak[])\n"
	  "    next h = g\n"
	  "    collect y: f32[T,K] at turn = g\n"
	  "  }\n",
	  { "T=3 K=8", "T=2 K=60", "T=1 K=3" } },
	{ "loop_sort",
	  "(t_x: f32[T,K], d: f32[K]) -> (y: f32[T,K], p: i32[T,K], c: i64[T,2])\n"
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
	{ "loop_batched",
	  "(x: f32[N,K,K]) -> (y: f32[N,K,K])\n" /* elimination without pivots */
	  "  loop turn<K {\n"
	  "    carry a: f32[N,K,K] (i, j, k) x[i, j, k] + select(j == k, 9.0, 0.0)\n"
	  "    g: f32[N,K,K] = map (i, j, k) select(turn < j, a[i, j, k] - a[i, j, turn] / a[i, turn, turn] * a[i, "
	  "turn, k], a[i, j, k])\n"
	  "    next a = g\n"
	  "  }\n"
	  "  y: f32[N,K,K] = map (i, j, k) a[i, j, k]\n",
	  { "N=3 K=4", "N=1 K=1", "N=2 K=20" } },
	{ "loop_units", /* by blocks that each make some of 35 elements of the rows, all gates of them */
	  "(x: f16[T,N,70], q: f16[70,35], p: f32[35]) -> (y: f16[T,N,35], h2: f32[N,35])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[N,35] (i, j) 0.5 - p[j]\n"
	  "    gate: f32[N,70] = sum (i, j | r<35) h[i, r] * f32(q[j, r]) then tanh(it * 0.2 + f32(x[turn, i, j]))\n"
	  "    hide: f32[N,35] = map (i, j) gate[i, j] * p[j] + gate[i, 35 + j] * h[i, j]\n"
	  "    z: f16[N,35] = map (i, j) f16(hide[i, j])\n"
	  "    next h = hide\n"
	  "    collect y: f16[T,N,35] at T - 1 - turn = z\n"
	  "  }\n"
	  "  h2: f32[N,35] = map (i, j) h[i, j]\n",
	  { "T=4 N=3", "T=1 N=1", "T=3 N=9", "T=0 N=2", "T=2 N=0" } },
	{ "loop_units_twice", /* each turn passes on the state, and then gates; two directions */
	  "(x: f32[T,2,N,72], q: f32[2,48,24], wide2: f32[2,24,24], n_len: i32[N]) -> (y: f32[T,2,N,24], h2: "
	  "f32[2,N,24])\n"
	  "  loop turn<T {\n"
	  "    carry h: f32[2,N,24] (i, j, k) 0.25\n"
	  "    gate: f32[2,N,48] = sum (i, j, k | r<24) h[i, j, r] * q[i, k, r] then "
	  "tanh(it * 0.2 + x[select(i == 0, turn, T - 1 - turn), i, j, k])\n"
	  "    hide: f32[2,N,24] = sum (i, j, k | r<24) gate[i, j, 24 + r] * h[i, j, r] * wide2[i, k, r] then "
	  "select(turn < index(n_len[j]), gate[i, j, k] * it + x[turn, i, j, 48 + k], h[i, j, k])\n"
	  "    next h = hide\n"
	  "    collect y: f32[T,2,N,24] at turn = hide\n"
	  "  }\n"
	  "  h2: f32[2,N,24] = map (i, j, k) h[i, j, k]\n",
	  { "T=3 N=3", "T=2 N=1", "T=2 N=5" } },
	{ "loop_units_exchange", /* states that change places, one of them collected; elements of 8 and 16 bits */
	  "(x: f32[2,16], limit: f32[], d: i8[32]) -> (a2: f32[2,16], b2: f32[2,16], c2: i8[32], g2: f16[16], y: "
	  "f32[5,2,16])\n"
	  "  loop turn<5 while limit[] < 1000.0 {\n"
	  "    carry a: f32[2,16] (i, j) x[i, j]\n"
	  "    carry b: f32[2,16] (i, j) x[i, 15 - j]\n"
	  "    carry c: i8[32] (i) d[i]\n"
	  "    carry g: f16[16] (i) f16(1.0)\n"
	  "    most: i32[16] = max (i | r<2, s<33) i32(c[mod(r * 5 + s + i, 32)]) then it - i32(3)\n"
	  "    more: i8[32] = map (i) i8(most[15 - mod(i, 16)] + i32(c[i]))\n"
	  "    sum2: f32[2,16] = sum (i, j | r<3) b[mod(r, 2), 15 - j] * f32(g[mod(j + r, 16)])\n"
	  "    less: f16[16] = map (i) f16(sum2[0, i] * 0.0625 + f32(more[i]) * 0.03125)\n"
	  "    next a = b\n"
	  "    next b = a\n"
	  "    next c = more\n"
	  "    next g = less\n"
	  "    collect y: f32[5,2,16] at turn = a\n"
	  "  }\n"
	  "  a2: f32[2,16] = map (i, j) a[i, j]\n"
	  "  b2: f32[2,16] = map (i, j) b[i, j]\n"
	  "  c2: i8[32] = map (i) c[i]\n"
	  "  g2: f16[16] = map (i) g[i]\n",
	  { "" } },
};

#endif
