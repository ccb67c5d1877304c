/* Sums of products: contractions by every rule for them, and cases for contract_wide only. See schedule_case.h. */
#ifndef TPAT_TESTS_CONTRACT_CASES_H
#define TPAT_TESTS_CONTRACT_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case contract_cases[] = {
	{ "product",
	  "(a: f16[M,K], b: f16[K,N], c: f16[N]) -> (y: f16[M,N])\n"
	  "  y: f16[M,N] = sum (i, j | r<K) f32(a[i, r]) * f32(b[r, j]) then f16(it + f32(c[j]))\n",
	  { "M=33 K=40 N=24", "M=1 K=1 N=1", "M=70 K=7 N=65", "M=5 K=0 N=3", "M=0 K=5 N=8", "M=9 K=24 N=11" } },
	/* Operands of two types. */
	{ "product_half_weights",
	  "(a: f32[M,K], b: f16[K,N], c: f32[N]) -> (y: f32[M,N])\n"
	  "  y: f32[M,N] = sum (i, j | r<K) a[i, r] * f32(b[r, j]) then it + c[j]\n",
	  { "M=33 K=40 N=24", "M=5 K=37 N=9", "M=1 K=0 N=1" } },
	{ "product_half_rows",
	  "(a: bf16[70,K], b: f32[24,K]) -> (y: f32[70,24])\n"
	  "  y: f32[70,24] = sum (i, j | r<K) f32(a[i, r]) * b[j, r]\n",
	  { "K=40", "K=7" } },
	{ "product_cast_bytes",
	  "(a: f16[M,K], b: i32[K,N]) -> (y: f16[M,N])\n"
	  "  y: f16[M,N] = sum (i, j | r<K) f32(a[i, r]) * f32(u8(b[r, j]))\n",
	  { "M=33 K=40 N=24", "M=5 K=37 N=9" } },
	{ "convolution_half_weights",
	  "(x: f32[2,5,4,W], weight: bf16[20,5,3,3]) -> (y: f32[2,20,4,W])\n"
	  "  y: f32[2,20,4,W] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), and(0 "
	  "<= l + t - 1, l + t - 1 < W)), x[i, r, k + s - 1, l + t - 1], 0.0) * f32(weight[j, r, s, t])\n",
	  { "W=6", "W=3" } },
	{ "convolution_half_image",
	  "(x: f16[2,5,4,6], weight: f32[20,5,3,3]) -> (y: f32[2,20,4,6])\n"
	  "  y: f32[2,20,4,6] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), and(0 "
	  "<= l + t - 1, l + t - 1 < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * weight[j, r, s, t]\n",
	  { "" } },
	/* Positions in b do not depend on its axes. */
	{ "product_to_none",
	  "(a: f32[B,M,16], b: f32[B,16,0]) -> (y: f32[B,M,0])\n"
	  "  y: f32[B,M,0] = sum (i, j, k | r<16) a[i, j, r] * b[i, r, k]\n",
	  { "B=2 M=33", "B=0 M=1" } },
	/* Two in one kernel, each with a bias of its own. */
	{ "two_products",
	  "(x: f32[M,5,8], a: f32[8,8], b: f32[8,8], c: f32[8], d: f32[8]) -> (y: f32[M,5,8], z: f32[M,5,8])\n"
	  "  y: f32[M,5,8] = sum (i, j, k | r<8) x[i, j, r] * a[r, k] then it + c[k]\n"
	  "  z: f32[M,5,8] = sum (i, j, k | r<8) x[i, j, r] * b[r, k] then it + d[k]\n",
	  { "M=3" } },
	{ "two_gated",
	  "(x: f32[M,8], a: f32[8,6], b: f32[8,6], c: f32[6], d: f32[6]) -> (y: f32[M,6])\n"
	  "  g: f32[M,6] = sum (i, j | r<8) x[i, r] * b[r, j] then it + d[j]\n"
	  "  y: f32[M,6] = sum (i, j | r<8) x[i, r] * a[r, j] then 1.0 / (1.0 + exp(neg(it + c[j]))) * g[i, j]\n",
	  { "M=5" } },
	{ "two_convolutions",
	  "(x: f32[N,2,5,W], z: f32[N,2,5,W], a: f32[3,2,2,2], b: f32[3,2,2,2], c: f32[3], d: f32[3]) -> (y: "
	  "f32[N,3,5,W])\n"
	  "  g: f32[N,3,5,W] = sum (i, j, k, l | r<2, s<2, t<2) select(and(k + s < 5, l + t < W), z[i, r, k + s, l + "
	  "t], 0.0) * b[j, r, s, t] then it + d[j]\n"
	  "  y: f32[N,3,5,W] = sum (i, j, k, l | r<2, s<2, t<2) select(and(k + s < 5, l + t < W), x[i, r, k + s, l + "
	  "t], 0.0) * a[j, r, s, t] then max(it + c[j] + g[i, j, k, l], 0.0)\n",
	  { "N=2 W=6", "N=1 W=1" } },
	{ "product_bytes",
	  "(a: u8[M,K], b: i8[K,N], p: u8[], e: i8[N]) -> (y: i32[M,N])\n"
	  "  y: i32[M,N] = sum (i, j | r<K) (i32(a[i, r]) - i32(p[])) * (i32(b[r, j]) - i32(e[j]))\n",
	  { "M=18 K=32 N=16", "M=5 K=37 N=9", "M=1 K=0 N=1" } },
	{ "product_bytes_straight",
	  "(a: u8[M,48], b: u8[24,48]) -> (y: i8[24,M])\n"
	  "  y: i8[24,M] = sum (i, j | r<48) i32(a[j, r]) * (i32(b[i, r]) + i32(-128)) then i8(floordiv(it, "
	  "i32(99)))\n",
	  { "M=16", "M=3" } },
	{ "product_bytes_along",
	  "(a: u8[20,160], b: i8[M,160]) -> (y: i32[20,M])\n"
	  "  y: i32[20,M] = sum (i, j | r<160) i32(a[i, r]) * i32(b[j, r])\n",
	  { "M=24", "M=3" } },
	{ "product_floats_of_bytes",
	  "(a: f8e4m3fn[M,K], b: f8e5m2[K,N], c: f32[N]) -> (y: f16[M,N])\n"
	  "  y: f16[M,N] = sum (i, j | r<K) f32(a[i, r]) * f32(b[r, j]) then f16(it * c[j])\n",
	  { "M=18 K=32 N=16", "M=5 K=37 N=9", "M=70 K=400 N=136" } },
	{ "product_floats_of_bytes_along",
	  "(a: f8e5m2[70,300], b: f8e4m3fn[M,300]) -> (y: f32[70,M])\n"
	  "  y: f32[70,M] = sum (i, j | r<300) f32(a[i, r]) * f32(b[j, r])\n",
	  { "M=24", "M=3" } },
	{ "product_floats_of_bytes_fixed",
	  "(a: f8e4m3fn[130,320], b: f8e4m3fn[72,320]) -> (y: f16[130,72])\n"
	  "  y: f16[130,72] = sum (i, j | r<320) f32(a[i, r]) * f32(b[j, r]) then f16(it * 0.5)\n",
	  { "" } },
	{ "product_bytes_across",
	  "(a: i8[3,K,16], b: i8[3,K,40]) -> (y: i32[3,16,40])\n"
	  "  y: i32[3,16,40] = sum (i, j, k | r<K) i32(a[i, r, j]) * i32(b[i, r, k])\n",
	  { "K=48", "K=5" } },
	{ "convolution_bytes",
	  "(x: u8[2,3,4,6], weight: i8[8,3,3,3], p: u8[]) -> (y: i32[2,8,4,6])\n"
	  "  y: i32[2,8,4,6] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), and(0 "
	  "<= l + t - 1, l + t - 1 < 6)), (i32(x[i, r, k + s - 1, l + t - 1]) - i32(p[])) * i32(weight[j, r, s, t]), "
	  "i32(0))\n",
	  { "" } },
	/* A division gives the number of columns, and so numbers the blocks. */
	{ "convolution_halved",
	  "(x: u8[1,3,W], weight: i8[20,3,3]) -> (y: i32[1,20,floordiv(W - 1, 2) + 1])\n"
	  "  y: i32[1,20,floordiv(W - 1, 2) + 1] = sum (i, j, k | r<3, s<3) select(and(0 <= 2 * k + s - 1, 2 * k + s - "
	  "1 < W), i32(x[i, r, 2 * k + s - 1]) * i32(weight[j, r, s]), i32(0))\n",
	  { "W=20", "W=7" } },
	{ "product_short",
	  "(a: f16[B,16,64], b: f16[B,64,M]) -> (y: f16[B,16,M])\n"
	  "  y: f16[B,16,M] = sum (i, j, k | r<64) f32(a[i, j, r]) * f32(b[i, r, k])\n",
	  { "B=2 M=8", "B=1 M=3" } },
	{ "product_turned",
	  "(a: bf16[B,K,24], b: bf16[B,N,K], c: bf16[N]) -> (d: f32[B,N,24], e: bf16[B,N,24])\n"
	  "  x: f32[B,N,24] = sum (i, j, k | r<K) f32(a[i, r, k]) * f32(b[i, j, r]) then it * 0.5\n"
	  "  d: f32[B,N,24] = map (i, j, k) max(x[i, j, k] + f32(c[j]), 0.0)\n"
	  "  f: f32[B,N,24] = map (i, j, k) d[i, j, k] * x[i, j, k] + f32(k)\n"
	  "  e: bf16[B,N,24] = map (i, j, k) bf16(f[i, j, k] + d[i, j, k])\n",
	  { "B=2 K=16 N=19", "B=1 K=9 N=3", "B=3 K=0 N=1" } },
	{ "product_large",
	  "(a: f16[70,40], b: f16[40,136]) -> (y: f16[70,136])\n"
	  "  y: f16[70,136] = sum (i, j | r<40) f32(a[i, r]) * f32(b[r, j])\n",
	  { "" } },
	/* More steps than stages; more tiles than blocks. */
	{ "product_long",
	  "(a: f16[70,600], b: f16[72,600]) -> (y: f16[70,72])\n"
	  "  y: f16[70,72] = sum (i, j | r<600) f32(a[i, r]) * f32(b[j, r])\n",
	  { "" } },
	{ "product_many",
	  "(a: bf16[140,8,16], b: bf16[140,16,8]) -> (y: bf16[140,8,8])\n"
	  "  y: bf16[140,8,8] = sum (i, j, k | r<16) f32(a[i, j, r]) * f32(b[i, r, k])\n",
	  { "" } },
	{ "convolution",
	  "(x: f16[2,5,4,6], weight: f16[20,5,3,3], b: f16[20]) -> (y: f16[2,20,4,6])\n"
	  "  y: f16[2,20,4,6] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), and(0 "
	  "<= l + t - 1, l + t - 1 < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it + f32(b[j]))\n",
	  { "" } },
	{ "convolution_constants", /* a bias and scales that are no memory of others */
	  "(x: f16[2,16,H,8], weight: f16[16,16,3,3]) -> (y: f16[2,16,H,8])\n"
	  "  const b: f16[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16}\n"
	  "  y: f16[2,16,H,8] = sum (i, j, k, l | r<16, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(0 "
	  "<= l + t - 1, l + t - 1 < 8)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it + f32(b[j]))\n",
	  { "H=8", "H=3" } },
	{ "product_constants",
	  "(a: f16[16,32], d: f16[32,N]) -> (y: f16[16,N])\n"
	  "  const b: f16[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16}\n"
	  "  y: f16[16,N] = sum (i, j | r<32) f32(a[i, r]) * f32(d[r, j]) then f16(it * 0.25 + f32(b[i]))\n",
	  { "N=48", "N=3" } },
	/* ... with operands that are packed first: images, also strided, in groups, with zero points */
	{ "convolution_packed",
	  "(x: f16[2,16,H,5], weight: f16[20,16,3,3], b: f16[20]) -> (y: f16[2,20,H,5])\n"
	  "  y: f16[2,20,H,5] = sum (i, j, k, l | r<16, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(0 "
	  "<= l + t - 1, l + t - 1 < 5)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it + f32(b[j]))\n",
	  { "H=8", "H=3" } },
	{ "convolution_groups",
	  "(x: bf16[1,32,9], weight: bf16[24,16,2]) -> (y: bf16[1,2,12,4])\n"
	  "  y: bf16[1,2,12,4] = sum (i, j, k, l | r<16, s<2) f32(x[i, 16 * j + r, 2 * l + s]) * f32(weight[12 * j + "
	  "k, r, s])\n",
	  { "" } },
	{ "convolution_split", /* groups as axes that no buffer has */
	  "(x: f16[2,32,H,5], weight: f16[24,16,2,3], b: f16[24]) -> (y: f16[2,24,H,5])\n"
	  "  y: f16[2,24,H,5] = sum (i, j, k, l | r<16, s<2, t<3) select(and(k + s < H, and(1 <= l + t, l + t < 6)), "
	  "f32(x[i, 16 * floordiv(j, 12) + r, k + s, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it + f32(b[j]))\n",
	  { "H=8", "H=3" } },
	/* Phases: of two positions, and with a tap that not all have; of three, whose first one is outside; of channels
	 * last, in groups. */
	{ "convolution_phases",
	  "(x: f16[2,16,H,5], weight: f16[16,12,4,3], b: f16[12]) -> (y: f16[2,12,2 * H,9])\n"
	  "  y: f16[2,12,2 * H,9] = sum (i, j, k, l | r<16, s<2, t<2) select(and(and(0 <= s + floordiv(k + 1, 2) - 1, "
	  "s + floordiv(k + 1, 2) - 1 < H), and(and(0 <= t + floordiv(l, 2) - 1, t + floordiv(l, 2) - 1 < 5), "
	  "mod(l, 2) - 2 * t + 2 < 3)), f32(x[i, r, s + floordiv(k + 1, 2) - 1, t + floordiv(l, 2) - 1]), 0.0) * "
	  "select(mod(l, 2) - 2 * t + 2 < 3, f32(weight[r, j, mod(k + 1, 2) - 2 * s + 2, mod(l, 2) - 2 * t + 2]), 0.0) "
	  "then f16(it + f32(b[j]))\n",
	  { "H=4", "H=3" } },
	{ "convolution_phases_of_three",
	  "(x: f32[2,3,W], weight: f32[3,20,6]) -> (y: f32[2,20,3 * W + 1])\n"
	  "  y: f32[2,20,3 * W + 1] = sum (i, j, k | r<3, s<2) select(and(0 <= s + floordiv(k + 2, 3) - 1, "
	  "s + floordiv(k + 2, 3) - 1 < W), x[i, r, s + floordiv(k + 2, 3) - 1], 0.0) * "
	  "weight[r, j, mod(k + 2, 3) - 3 * s + 3]\n",
	  { "W=5", "W=1" } },
	{ "convolution_phases_last",
	  "(x: f16[2,5,32], weight: f16[32,24,2]) -> (y: f16[2,10,48])\n"
	  "  y: f16[2,10,48] = sum (i, j, k | r<16) f32(x[i, floordiv(j, 2), 16 * floordiv(k, 24) + r]) * "
	  "f32(weight[16 * floordiv(k, 24) + r, mod(k, 24), mod(j, 2)])\n",
	  { "" } },
	{ "convolution_zeros",
	  "(x: u8[2,16,4,6], weight: i8[8,16,3,3], p: u8[]) -> (y: i32[2,8,4,6])\n"
	  "  y: i32[2,8,4,6] = sum (i, j, k, l | r<16, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), and(0 "
	  "<= l + t - 1, l + t - 1 < 6)), (i32(x[i, r, k + s - 1, l + t - 1]) - i32(p[])) * i32(weight[j, r, s, t]), "
	  "i32(0))\n",
	  { "" } },
	/* ... which a kernel on warpgroups subtracts from its results, with sums of the operands that others made */
	{ "products_zeros",
	  "(a: u8[B,M,32], b: i8[B,24,32], p: u8[B,M], q: i8[24], f: f32[24]) -> (y: f32[B,M,24])\n"
	  "  y: f32[B,M,24] = sum (i, j, k | r<32) (i32(a[i, j, r]) - i32(p[i, j])) * (i32(b[i, k, r]) - i32(q[k])) "
	  "then f32(it) * f[k]\n",
	  { "B=2 M=18", "B=1 M=1" } },
	{ "product_zeros_padded",
	  "(a: u8[M,37], b: i8[37,21], p: u8[]) -> (y: i32[M,21])\n"
	  "  y: i32[M,21] = sum (i, j | r<37) (i32(a[i, r]) - i32(p[])) * i32(b[r, j])\n",
	  { "M=19" } },
	{ "product_bytes_packed",
	  "(a: i8[32,M], b: i8[32,24]) -> (y: i32[M,24])\n"
	  "  y: i32[M,24] = sum (i, j | r<32) i32(a[r, i]) * i32(b[r, j])\n",
	  { "M=18" } },
	/* ... padded with zeros: depths, channels and channels of a group that are no whole vectors or steps */
	{ "product_padded",
	  "(a: f16[M,23], b: f16[23,37], c: f16[37]) -> (y: f16[M,37])\n"
	  "  y: f16[M,37] = sum (i, j | r<23) f32(a[i, r]) * f32(b[r, j]) then f16(it + f32(c[j]))\n",
	  { "M=33", "M=1" } },
	{ "products_padded",
	  "(a: bf16[B,2,9,M], b: bf16[2,9,B,19]) -> (y: bf16[B,M,19])\n"
	  "  y: bf16[B,M,19] = sum (i, j, k | r<2, s<9) f32(a[i, r, s, j]) * f32(b[r, s, i, k])\n",
	  { "B=2 M=21", "B=1 M=16" } },
	{ "convolution_padded",
	  "(x: f16[2,5,H,7], weight: f16[20,5,3,3], b: f16[20]) -> (y: f16[2,20,H,7])\n"
	  "  y: f16[2,20,H,7] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(0 "
	  "<= l + t - 1, l + t - 1 < 7)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it + f32(b[j]))\n",
	  { "H=6", "H=1" } },
	{ "convolution_groups_padded",
	  "(x: bf16[1,27,9], weight: bf16[24,9,2]) -> (y: bf16[1,3,8,4])\n"
	  "  y: bf16[1,3,8,4] = sum (i, j, k, l | r<9, s<2) f32(x[i, 9 * j + r, 2 * l + s]) * f32(weight[8 * j + "
	  "k, r, s])\n",
	  { "" } },
	{ "convolution_part_padded", /* of the channels, and with a quarter of the steps empty */
	  "(x: f16[2,100,W], weight: f16[70,20,2]) -> (y: f16[2,20,W])\n"
	  "  y: f16[2,20,W] = sum (i, j, k | r<70, s<2) select(k + s < W, f32(x[i, r + 11, k + s]), 0.0) * "
	  "f32(weight[r, j, s])\n",
	  { "W=9", "W=1" } },
	{ "convolution_phases_padded",
	  "(x: f16[2,11,H], weight: f16[11,12,3]) -> (y: f16[2,12,2 * H])\n"
	  "  y: f16[2,12,2 * H] = sum (i, j, k | r<11, s<2) select(and(and(0 <= s + floordiv(k + 1, 2) - 1, "
	  "s + floordiv(k + 1, 2) - 1 < H), mod(k + 1, 2) - 2 * s + 2 < 3), "
	  "f32(x[i, r, s + floordiv(k + 1, 2) - 1]), 0.0) * select(mod(k + 1, 2) - 2 * s + 2 < 3, "
	  "f32(weight[r, j, mod(k + 1, 2) - 2 * s + 2]), 0.0)\n",
	  { "H=9", "H=1" } },
	{ "product_bytes_padded",
	  "(a: u8[M,21], b: i8[21,24]) -> (y: i32[M,24])\n"
	  "  y: i32[M,24] = sum (i, j | r<21) i32(a[i, r]) * i32(b[r, j])\n",
	  { "M=18" } },
	{ "product_floats_padded",
	  "(a: f32[M,23], b: f32[37,23]) -> (y: f32[M,37])\n"
	  "  y: f32[M,37] = sum (i, j | r<23) a[i, r] * b[j, r]\n",
	  { "M=33", "M=1" } },
	/* ... with sums long enough to be split, in whole parts and with a shorter last one */
	{ "product_split",
	  "(a: f16[M,256], end: f16[256,24], c: f16[24]) -> (y: f16[M,24])\n"
	  "  y: f16[M,24] = sum (i, j | r<256) f32(a[i, r]) * f32(end[r, j]) then f16(it + f32(c[j]))\n",
	  { "M=33", "M=1", "M=0" } },
	{ "product_split_odd",
	  "(a: f32[M,261], b: f32[37,261]) -> (y: f32[M,37], z: f32[M,37])\n"
	  "  y: f32[M,37] = sum (i, j | r<261) a[i, r] * b[j, r]\n"
	  "  z: f32[M,37] = map (i, j) max(y[i, j], 0.0)\n",
	  { "M=19", "M=1" } },
	{ "product_split_bytes",
	  "(a: u8[M,192], b: i8[192,24], z: u8[]) -> (y: i32[M,24])\n"
	  "  y: i32[M,24] = sum (i, j | r<192) (i32(a[i, r]) - i32(z[])) * i32(b[r, j])\n",
	  { "M=18" } },
	{ "convolution_depth_split",
	  "(x: f32[2,144,W], weight: f32[20,144,3], b: f32[20]) -> (y: f32[2,20,W])\n"
	  "  y: f32[2,20,W] = sum (i, j, k | r<144, s<3) select(and(0 <= k + s - 1, k + s - 1 < W), x[i, r, k + s - "
	  "1], "
	  "0.0) * weight[j, r, s] then it + b[j]\n",
	  { "W=6", "W=1" } },
	/* Bytes that arrive as i32, as at a plugin's edge: copies that align operands convert them. */
	{ "convolution_cast",
	  "(x: i32[2,19,4,W], weight: i8[8,19,3,3]) -> (y: i32[2,8,4,W])\n"
	  "  y: i32[2,8,4,W] = sum (i, j, k, l | r<19, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), "
	  "and(0 <= l + t - 1, l + t - 1 < W)), i32(u8(x[i, r, k + s - 1, l + t - 1])) + i32(-128), i32(0)) * "
	  "i32(weight[j, r, s, t])\n",
	  { "W=6", "W=1" } },
	{ "product_cast",
	  "(a: i32[M,K], b: i32[K,24], z: u8[]) -> (y: i32[M,24])\n"
	  "  y: i32[M,24] = sum (i, j | r<K) (i32(u8(a[i, r])) - i32(z[])) * i32(i8(b[r, j]))\n",
	  { "M=18 K=192", "M=5 K=83" } },
	/* Operands that a map before the sum quantises: also a right operand, and padded windows. */
	{ "product_made",
	  "(x: f32[M,K], b: i8[K,24], e: f32[], z: u8[]) -> (y: f32[M,24])\n"
	  "  q: u8[M,K] = map (i, j) u8(min(max(rint(x[i, j] * 8.0) + f32(z[]), 0.0), 255.0))\n"
	  "  y: f32[M,24] = sum (i, j | r<K) (i32(q[i, r]) - i32(z[])) * i32(b[r, j]) then f32(it) * e[]\n",
	  { "M=18 K=192", "M=5 K=83", "M=1 K=1" } },
	{ "product_made_floats",
	  "(x: f32[M,K], b: f8e4m3fn[24,K], c: f32[24]) -> (y: f32[M,24])\n"
	  "  q: f8e4m3fn[M,K] = map (i, j) sat_f8e4m3fn(x[i, j] * 8.0)\n"
	  "  y: f32[M,24] = sum (i, j | r<K) f32(q[i, r]) * f32(b[j, r]) then it * c[j]\n",
	  { "M=18 K=192", "M=5 K=83" } },
	{ "product_made_odd",
	  "(x: f16[M,150], b: i8[37,150], z: u8[]) -> (y: i32[M,37], half: f32[M,37])\n"
	  "  q: u8[M,150] = map (i, j) u8(min(max(rint(f32(x[i, j]) * 16.0) + f32(z[]), 0.0), 255.0))\n"
	  "  y: i32[M,37] = sum (i, j | r<150) (i32(q[i, r]) - i32(z[])) * i32(b[j, r])\n"
	  "  half: f32[M,37] = map (i, j) f32(y[i, j]) * 0.5\n",
	  { "M=19", "M=2" } },
	{ "product_made_right",
	  "(a: i8[M,64], x: f32[64,40]) -> (y: i32[M,40])\n"
	  "  q: i8[64,40] = map (i, j) i8(min(max(rint(x[i, j] * 9.0), -128.0), 127.0))\n"
	  "  y: i32[M,40] = sum (i, j | r<64) i32(a[i, r]) * i32(q[r, j])\n",
	  { "M=33" } },
	{ "convolution_made",
	  "(x: f32[2,19,4,W], weight: i8[8,19,3,3], z: u8[]) -> (y: i32[2,8,4,W])\n"
	  "  q: u8[2,19,4,W] = map (i, j, k, l) u8(min(max(rint(x[i, j, k, l] * 8.0) + f32(z[]), 0.0), 255.0))\n"
	  "  y: i32[2,8,4,W] = sum (i, j, k, l | r<19, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), "
	  "and(0 <= l + t - 1, l + t - 1 < W)), i32(q[i, r, k + s - 1, l + t - 1]) - i32(z[]), i32(0)) * "
	  "i32(weight[j, r, s, t])\n",
	  { "W=6", "W=1" } },
	/* The same of floats: a map's results are stored as the products need them, transposed or padded. */
	{ "product_placed",
	  "(x: f16[M,150], b: f16[150,37], c: f16[37], e: f16[M]) -> (y: f16[M,37])\n"
	  "  q: f16[M,150] = map (i, j) f16(max(f32(x[i, j]), 0.0))\n"
	  "  y: f16[M,37] = sum (i, j | r<150) f32(q[i, r]) * f32(b[r, j]) then f16((it + f32(c[j])) * f32(e[i]))\n",
	  { "M=19", "M=2" } },
	{ "product_placed_open",
	  "(x: f16[M,K], z: f16[K], b: f16[K,24]) -> (y: f16[M,24], half: f16[M,24])\n"
	  "  q: f16[M,K] = map (i, j) f16(f32(x[i, j]) * f32(z[j]))\n"
	  "  y: f16[M,24] = sum (i, j | r<K) f32(q[i, r]) * f32(b[r, j]) then f16(it)\n"
	  "  half: f16[M,24] = map (i, j) f16(f32(y[i, j]) * 0.5)\n",
	  { "M=18 K=192", "M=5 K=83", "M=1 K=1" } },
	{ "convolution_placed",
	  "(x: f16[2,24,5,W], weight: f16[40,24,3,3], c: f16[40]) -> (y: f16[2,40,5,W])\n"
	  "  q: f16[2,24,5,W] = map (i, j, k, l) f16(max(f32(x[i, j, k, l]), 0.0))\n"
	  "  y: f16[2,40,5,W] = sum (i, j, k, l | r<24, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 5), and(0 "
	  "<= l + t - 1, l + t - 1 < W)), f32(q[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it + f32(c[j]))\n",
	  { "W=7", "W=1" } },
	/* What results need is loaded before the sums: by column, by row, one number, at positions of its own. */
	{ "product_ahead",
	  "(a: f16[M,64], b: f16[64,160], c: f16[160], d: f32[161], e: f32[M], g: f32[]) -> (y: f16[M,160])\n"
	  "  y: f16[M,160] = sum (i, j | r<64) f32(a[i, r]) * f32(b[r, j]) then f16((it + f32(c[j])) * d[j + 1] + e[i] "
	  "* "
	  "g[])\n",
	  { "M=130", "M=5" } },
	{ "product_ahead_odd",
	  "(a: i8[M,64], b: i8[131,64], c: f32[131], e: f32[M], z: i32[]) -> (y: f32[M,131])\n"
	  "  y: f32[M,131] = sum (i, j | r<64) i32(a[i, r]) * i32(b[j, r]) then f32(it - z[]) * c[j] + select(0.0 < "
	  "c[j], "
	  "e[i], c[130 - j])\n",
	  { "M=130", "M=5" } },
	/* Parts of sums whose length is open, or no multiple of anything: some parts may be empty. */
	{ "product_split_open",
	  "(a: f32[M,K], b: f32[K,N]) -> (y: f32[M,N])\n"
	  "  y: f32[M,N] = sum (i, j | r<K) a[i, r] * b[r, j] then it * 0.5\n",
	  { "M=17 K=203 N=9", "M=3 K=65 N=33", "M=2 K=1 N=1", "M=2 K=0 N=3" } },
	{ "product_split_bytes_open",
	  "(a: u8[M,K], b: i8[K,24], z: u8[], e: i8[24]) -> (y: i32[M,24])\n"
	  "  y: i32[M,24] = sum (i, j | r<K) (i32(a[i, r]) - i32(z[])) * (i32(b[r, j]) - i32(e[j]))\n",
	  { "M=18 K=192", "M=5 K=83", "M=1 K=0" } },
	/* Steps of one tap each: the channels are no multiple of a step. */
	{ "convolution_taps",
	  "(x: f16[2,H,6,56], weight: f16[3,3,24,56], b: f16[24]) -> (y: f16[2,H,6,24])\n"
	  "  y: f16[2,H,6,24] = sum (i, j, k, l | r<3, s<3, t<56) select(and(and(0 <= j + r - 1, j + r - 1 < H), and(0 "
	  "<= k + s - 1, k + s - 1 < 6)), f32(x[i, j + r - 1, k + s - 1, t]), 0.0) * f32(weight[r, s, l, t]) then "
	  "f16(it + f32(b[l]))\n",
	  { "H=5", "H=1" } },
	{ "convolution_taps_floats",
	  "(x: f32[2,30,H,5], weight: f32[20,30,3,2]) -> (y: f32[2,20,H,5])\n"
	  "  y: f32[2,20,H,5] = sum (i, j, k, l | r<30, s<3, t<2) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(0 "
	  "<= l + t - 1, l + t - 1 < 5)), x[i, r, k + s - 1, l + t - 1], 0.0) * weight[j, r, s, t]\n",
	  { "H=6", "H=1" } },
	{ "convolution_taps_bytes",
	  "(x: u8[H,7,16], weight: i8[3,3,24,16], p: u8[]) -> (y: i32[H,7,24])\n"
	  "  y: i32[H,7,24] = sum (i, j, k | r<3, s<3, t<16) select(and(and(0 <= i + r - 1, i + r - 1 < H), and(0 <= j "
	  "+ s - 1, j + s - 1 < 7)), (i32(x[i + r - 1, j + s - 1, t]) - i32(p[])) * i32(weight[r, s, k, t]), "
	  "i32(0))\n",
	  { "H=4" } },
	{ "convolution_phases_split",
	  "(x: f32[1,44,H,5], weight: f32[44,20,3,3], b: f32[20]) -> (y: f32[1,20,2 * H - 1,9])\n"
	  "  y: f32[1,20,2 * H - 1,9] = sum (i, j, k, l | r<44, s<2, t<2) let _0 = and(mod(k + 1, 2) - s * 2 + 2 < 3, "
	  "mod(l + 1, 2) - t * 2 + 2 < 3); select(and(and(and(0 <= s + floordiv(k + 1, 2) - 1, s + floordiv(k + 1, 2) "
	  "- "
	  "1 < H), and(0 <= t + floordiv(l + 1, 2) - 1, t + floordiv(l + 1, 2) - 1 < 5)), _0), x[0, r, s + floordiv(k "
	  "+ "
	  "1, 2) - 1, t + floordiv(l + 1, 2) - 1], 0.0) * select(_0, weight[r, j, mod(k + 1, 2) - s * 2 + 2, mod(l + "
	  "1, "
	  "2) - t * 2 + 2], 0.0) then it + b[j]\n",
	  { "H=4", "H=1" } },
	/* ... by ordinary arithmetic */
	{ "product_floats",
	  "(a: f32[M,K], b: f32[K,N], c: f32[N]) -> (y: f32[M,N])\n"
	  "  y: f32[M,N] = sum (i, j | r<K) a[i, r] * b[r, j] then it + c[j]\n",
	  { "M=33 K=40 N=24", "M=1 K=1 N=1", "M=70 K=7 N=65", "M=5 K=0 N=3", "M=0 K=5 N=8", "M=9 K=6 N=12" } },
	{ "product_floats_turned",
	  "(a: f32[B,K,72], b: f32[B,40,K]) -> (y: f32[B,40,72])\n"
	  "  y: f32[B,40,72] = sum (i, j, k | r<K) a[i, r, k] * b[i, j, r]\n",
	  { "B=2 K=36", "B=1 K=9" } },
	{ "product_doubles",
	  "(a: f64[M,K], b: f64[K,N]) -> (y: f32[M,N])\n"
	  "  y: f32[M,N] = sum (i, j | r<K) a[i, r] * b[r, j] then f32(it)\n",
	  { "M=33 K=40 N=24", "M=3 K=5 N=7" } },
	{ "product_integers",
	  "(a: i32[K,M], b: i32[K,N], c: u64[M,K], d: u64[N,K]) -> (y: i32[M,N], z: u64[M,N])\n"
	  "  y: i32[M,N] = sum (i, j | r<K) a[r, i] * b[r, j]\n"
	  "  z: u64[M,N] = sum (i, j | r<K) c[i, r] * d[j, r]\n",
	  { "M=36 K=40 N=24", "M=3 K=5 N=7" } },
	{ "convolution_floats",
	  "(x: f32[2,5,4,6], weight: f32[20,5,3,3], b: f32[20]) -> (y: f32[2,20,4,6])\n"
	  "  y: f32[2,20,4,6] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 4), and(0 "
	  "<= l + t - 1, l + t - 1 < 6)), x[i, r, k + s - 1, l + t - 1], 0.0) * weight[j, r, s, t] then it + b[j]\n",
	  { "" } },
	/* Uneven steps along the result's axes: resized and clamped images, windows of an image. */
	{ "convolution_resized_floats",
	  "(x: f32[2,16,H,3], weight: f32[24,16,3,3]) -> (y: f32[2,24,2 * H,6])\n"
	  "  y: f32[2,24,2 * H,6] = sum (i, j, k, l | r<16, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 2 * "
	  "H), "
	  "and(0 <= l + t - 1, l + t - 1 < 6)), x[i, r, floordiv(k + s - 1, 2), floordiv(l + t - 1, 2)], 0.0) * "
	  "weight[j, r, s, t]\n",
	  { "H=4", "H=1" } },
	{ "convolution_clamped_floats",
	  "(x: f32[2,16,4,W], weight: f32[24,16,3,3]) -> (y: f32[2,24,4,W])\n"
	  "  y: f32[2,24,4,W] = sum (i, j, k, l | r<16, s<3, t<3) x[i, r, min(max(k + s - 1, 0), 3), min(max(l + t - "
	  "1, "
	  "0), W - 1)] * weight[j, r, s, t]\n",
	  { "W=5", "W=1" } },
	{ "product_of_gathered_rows_bf16",
	  "(x: bf16[N,64], n_at: i64[20], weight: bf16[64,40]) -> (y: bf16[20,40])\n"
	  "  y: bf16[20,40] = sum (i, j | r<64) f32(x[max(0, min(index(n_at[i]), N - 1)), r]) * f32(weight[r, j])\n",
	  { "N=8", "N=3" } },
	{ "product_of_windows_bf16",
	  "(x: bf16[2,16,6,N], weight: bf16[16,40]) -> (y: bf16[12,2 * N,40])\n"
	  "  y: bf16[12,2 * N,40] = sum (i, j, k | r<16) f32(x[floordiv(i, 6), r, mod(i, 6), floordiv(j, 2)]) * "
	  "f32(weight[r, k])\n",
	  { "N=8", "N=3" } },
};

/* Cases for rule contract_wide only: operands that the copy engine walks over (im2col), with edges, with steps and
 * gaps; clusters of blocks. */
static const struct schedule_case contract_wide_cases[] = {
	{ "convolution_walked_padded",
	  "(x: f16[3,70,H,5], weight: f16[24,70,3,3], b: f16[24]) -> (y: f16[3,24,H,5])\n"
	  "  y: f16[3,24,H,5] = sum (i, j, k, l | r<70, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(1 "
	  "<= l + t, l + t < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then f16(it + "
	  "f32(b[j]))\n",
	  { "H=8", "H=3" } },
	{ "convolution_groups_walked_padded",
	  "(x: f16[2,40,W], weight: f16[24,20,3]) -> (y: f16[2,24,W - 2])\n"
	  "  y: f16[2,24,W - 2] = sum (i, j, k | r<20, s<3) f32(x[i, 20 * floordiv(j, 12) + r, k + s]) * "
	  "f32(weight[j, r, s])\n",
	  { "W=9", "W=3" } },
	{ "product_together_padded",
	  "(a: f16[1031,40], b: f16[72,1031], c: f16[40]) -> (y: f16[40,72])\n"
	  "  y: f16[40,72] = sum (i, j | r<1031) f32(a[r, i]) * f32(b[j, r]) then f16(it + f32(c[i]))\n",
	  { "" } },
	{ "convolution_walked",
	  "(x: f16[3,64,H,5], weight: f16[24,64,3,3], b: f16[24]) -> (y: f16[3,24,H,5])\n"
	  "  y: f16[3,24,H,5] = sum (i, j, k, l | r<64, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(1 "
	  "<= l + t, l + t < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then f16(it + "
	  "f32(b[j]))\n",
	  { "H=8", "H=3" } },
	{ "convolution_walked_constants",
	  "(x: f16[3,64,H,8], weight: f16[16,64,3,3]) -> (y: f16[3,16,H,8])\n"
	  "  const b: f16[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16}\n"
	  "  y: f16[3,16,H,8] = sum (i, j, k, l | r<64, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < H), and(1 "
	  "<= l + t, l + t < 9)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then f16(it + "
	  "f32(b[j]))\n",
	  { "H=8", "H=3" } },
	{ "convolution_walked_apart",
	  "(x: i8[2,128,15], weight: i8[24,128,3]) -> (y: i32[2,24,8])\n"
	  "  y: i32[2,24,8] = sum (i, j, k | r<128, s<3) select(and(0 <= 2 * k + 2 * s - 3, 2 * k + 2 * s - 3 < 15), "
	  "i32(x[i, r, 2 * k + 2 * s - 3]), i32(0)) * i32(weight[j, r, s])\n",
	  { "" } },
	/* Uneven steps along the result's axes: resized and clamped images, windows of an image. */
	{ "convolution_resized",
	  "(x: f16[2,64,H,3], weight: f16[24,64,3,3]) -> (y: f16[2,24,2 * H,6])\n"
	  "  y: f16[2,24,2 * H,6] = sum (i, j, k, l | r<64, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 2 * "
	  "H), "
	  "and(0 <= l + t - 1, l + t - 1 < 6)), f32(x[i, r, floordiv(k + s - 1, 2), floordiv(l + t - 1, 2)]), 0.0) * "
	  "f32(weight[j, r, s, t])\n",
	  { "H=4", "H=1" } },
	{ "convolution_resized_last",
	  "(x: i8[2,4,3,16], weight: i8[24,2,16]) -> (y: i32[2,7,5,24])\n"
	  "  y: i32[2,7,5,24] = sum (i, j, k, l | r<2, s<16) i32(x[i, floordiv(j + r, 2), floordiv(k, 2), s]) * "
	  "i32(weight[l, r, s])\n",
	  { "" } },
	{ "convolution_clamped",
	  "(x: f16[2,64,4,W], weight: f16[24,64,3,3]) -> (y: f16[2,24,4,W])\n"
	  "  y: f16[2,24,4,W] = sum (i, j, k, l | r<64, s<3, t<3) f32(x[i, r, min(max(k + s - 1, 0), 3), min(max(l + t "
	  "- "
	  "1, 0), W - 1)]) * f32(weight[j, r, s, t])\n",
	  { "W=5", "W=1" } },
	{ "product_of_windows",
	  "(x: f16[2,64,6,N], weight: f16[64,40]) -> (y: f16[12,2 * N,40])\n"
	  "  y: f16[12,2 * N,40] = sum (i, j, k | r<64) f32(x[floordiv(i, 6), r, mod(i, 6), floordiv(j, 2)]) * "
	  "f32(weight[r, "
	  "k])\n",
	  { "N=8", "N=3" } },
	{ "product_of_gathered_rows",
	  "(x: f16[N,64], n_at: i64[20], weight: f16[64,40]) -> (y: f16[20,40])\n"
	  "  y: f16[20,40] = sum (i, j | r<64) f32(x[max(0, min(index(n_at[i]), N - 1)), r]) * f32(weight[r, j])\n",
	  { "N=8", "N=3" } },
	{ "product_of_rows_twice",
	  "(x: f16[5,N,64], weight: f16[64,40]) -> (y: f16[5,2 * N,40])\n"
	  "  y: f16[5,2 * N,40] = sum (i, j, k | r<64) f32(x[mod(3 * i, 5), floordiv(j, 2), r]) * f32(weight[r, k])\n",
	  { "N=8", "N=3" } },
	/* Weights in boxes of several dimensions: phases of a transposed convolution, in groups. */
	{ "convolution_phases_walked",
	  "(x: f16[3,128,H,5], weight: f16[128,20,4,2], b: f16[40]) -> (y: f16[3,40,2 * H,10])\n"
	  "  y: f16[3,40,2 * H,10] = sum (i, j, k, l | r<64, s<2) select(and(0 <= s + floordiv(k + 1, 2) - 1, "
	  "s + floordiv(k + 1, 2) - 1 < H), f32(x[i, 64 * floordiv(j, 20) + r, s + floordiv(k + 1, 2) - 1, "
	  "floordiv(l, 2)]), 0.0) * f32(weight[64 * floordiv(j, 20) + r, mod(j, 20), mod(k + 1, 2) - 2 * s + 2, "
	  "mod(l, 2)]) then f16(it + f32(b[j]))\n",
	  { "H=8", "H=3" } },
	/* ... of which one has more taps than the other */
	{ "convolution_phases_uneven",
	  "(x: f16[2,64,W], weight: f16[64,40,3]) -> (y: f16[2,40,2 * W])\n"
	  "  y: f16[2,40,2 * W] = sum (i, j, k | r<64, s<2) select(and(and(0 <= s + floordiv(k + 1, 2) - 1, "
	  "s + floordiv(k + 1, 2) - 1 < W), mod(k + 1, 2) - 2 * s + 2 < 3), "
	  "f32(x[i, r, s + floordiv(k + 1, 2) - 1]), 0.0) * select(mod(k + 1, 2) - 2 * s + 2 < 3, "
	  "f32(weight[r, j, mod(k + 1, 2) - 2 * s + 2]), 0.0) then f16(it)\n",
	  { "W=9", "W=1" } },
	{ "product_together",
	  "(a: f16[K,40], b: f16[72,K], c: f16[40]) -> (y: f16[40,72])\n"
	  "  y: f16[40,72] = sum (i, j | r<K) f32(a[r, i]) * f32(b[j, r]) then f16(it + f32(c[i]))\n",
	  { "K=2100", "K=64", "K=0" } },
	{ "product_bytes_together",
	  "(a: i8[40,4224], b: i8[72,4224]) -> (y: i32[40,72])\n"
	  "  y: i32[40,72] = sum (i, j | r<4224) i32(a[i, r]) * i32(b[j, r])\n",
	  { "" } },
};

/* And for a GPU of seven multiprocessors: partly shared tiles; several waves, less than one, walks, bytes. */
static const struct schedule_case contract_stream_cases[] = {
	{ "product_streamed",
	  "(a: f16[N,1032], b: f16[200,1032], c: f16[200]) -> (y: f16[N,200])\n"
	  "  y: f16[N,200] = sum (i, j | r<1032) f32(a[i, r]) * f32(b[j, r]) then f16(it + f32(c[j]))\n",
	  { "N=72", "N=20" } },
	{ "product_streamed_along",
	  "(a: f16[K,40], b: f16[K,72]) -> (y: f16[40,72])\n"
	  "  y: f16[40,72] = sum (i, j | r<K) f32(a[r, i]) * f32(b[r, j]) then f16(it)\n",
	  { "K=1100", "K=64", "K=0" } },
	{ "convolution_streamed",
	  "(x: f16[3,128,8,5], weight: f16[24,128,3,3]) -> (y: f16[3,24,8,5])\n"
	  "  y: f16[3,24,8,5] = sum (i, j, k, l | r<128, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 8), "
	  "and(1 <= l + t, l + t < 6)), f32(x[i, r, k + s - 1, l + t - 1]), 0.0) * f32(weight[j, r, s, t]) then "
	  "f16(it)\n",
	  { "" } },
	/* More tiles than processors: two warpgroups take them in turn. */
	{ "product_in_turns",
	  "(a: f16[300,K], b: f16[K,396], c: f16[396]) -> (y: f16[300,396])\n"
	  "  y: f16[300,396] = sum (i, j | r<K) f32(a[i, r]) * f32(b[r, j]) then f16(it + f32(c[j]))\n",
	  { "K=200", "K=64", "K=0" } },
	{ "product_bytes_in_turns",
	  "(a: u8[2,270,144], b: i8[2,N,144], p: u8[]) -> (y: f16[2,270,N])\n"
	  "  y: f16[2,270,N] = sum (i, j, k | r<144) (i32(a[i, j, r]) - i32(p[])) * i32(b[i, k, r]) then "
	  "f16(f32(it) * 0.125)\n",
	  { "N=131", "N=16" } },
	{ "convolution_in_turns",
	  "(x: i8[9,19,12,11], weight: i8[70,19,3,3]) -> (y: i8[9,70,12,11])\n"
	  "  y: i8[9,70,12,11] = sum (i, j, k, l | r<19, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 12), "
	  "and(1 <= l + t, l + t < 12)), i32(x[i, r, k + s - 1, l + t - 1]) * i32(weight[j, r, s, t]), i32(0)) then "
	  "i8(floordiv(it, i32(999)))\n",
	  { "" } },
	{ "product_bytes_streamed",
	  "(a: i8[2,40,2080], b: i8[2,72,2080]) -> (y: i32[2,40,72])\n"
	  "  y: i32[2,40,72] = sum (i, j, k | r<2080) i32(a[i, j, r]) * i32(b[i, k, r])\n",
	  { "" } },
};

/* For rule patch only: strides, taps that are apart, odd channels, several tiles of rows, lines that windows do not
 * share; phases of a transposed convolution; one line, with a map after the sum. */
static const struct schedule_case patch_cases[] = {
	{ "patch_groups",
	  "(x: f16[2,15,11,W], weight: f16[63,5,3,2], b: f16[63]) -> (y: f16[2,63,4,W - 2])\n"
	  "  y: f16[2,63,4,W - 2] = sum (i, j, k, l | r<5, s<3, t<2) select(and(and(0 <= 3 * k + 2 * s - 2, 3 * k + 2 "
	  "* "
	  "s - 2 < 11), and(0 <= l + 3 * t - 1, l + 3 * t - 1 < W)), f32(x[i, 5 * floordiv(j, 21) + r, 3 * k + 2 * s - "
	  "2, l + 3 * t - 1]), 0.0) * f32(weight[j, r, s, t]) then f16(max(it + f32(b[j]), 0.0))\n",
	  { "W=19", "W=4" } },
	{ "patch_columns",
	  "(x: bf16[1,34,9,45], weight: bf16[4,17,5,7]) -> (y: bf16[1,4,5,20])\n"
	  "  y: bf16[1,4,5,20] = sum (i, j, k, l | r<17, s<5, t<7) f32(x[i, 17 * floordiv(j, 2) + r, k + s, 2 * l + "
	  "t]) * f32(weight[j, r, s, t])\n",
	  { "" } },
	{ "patch_phases",
	  "(x: f16[2,6,H,7], weight: f16[6,9,4,4]) -> (y: f16[2,9,2 * H,14])\n"
	  "  y: f16[2,9,2 * H,14] = sum (i, j, k, l | r<6, s<2, t<2) select(and(and(0 <= s + floordiv(k + 1, 2) - 1, s "
	  "+ "
	  "floordiv(k + 1, 2) - 1 < H), and(0 <= t + floordiv(l + 1, 2) - 1, t + floordiv(l + 1, 2) - 1 < 7)), "
	  "f32(x[i, "
	  "r, s + floordiv(k + 1, 2) - 1, t + floordiv(l + 1, 2) - 1]), 0.0) * f32(weight[r, j, mod(k + 1, 2) - s * 2 "
	  "+ "
	  "2, mod(l + 1, 2) - t * 2 + 2])\n",
	  { "H=5", "H=1" } },
	{ "patch_deep",
	  "(x: f16[2,5,6,W], weight: f16[7,3,3,3]) -> (y: f16[2,7,5,4,W - 2])\n"
	  "  y: f16[2,7,5,4,W - 2] = sum (i, j, k, l, m | r<3, s<3, t<3) select(and(0 <= k + r - 1, k + r - 1 < 5), "
	  "f32(x[i, k + r - 1, l + s, m + t]), 0.0) * f32(weight[j, r, s, t]) then f16(it)\n",
	  { "W=19", "W=3" } },
	{ "patch_line",
	  "(x: f16[3,4,W], weight: f16[6,2,9], z: f16[3,6,W - 8]) -> (y: f16[3,6,W - 8])\n"
	  "  h: f16[3,6,W - 8] = sum (i, j, k | r<2, s<9) f32(x[i, 2 * floordiv(j, 3) + r, k + s]) * f32(weight[j, r, "
	  "s])\n"
	  "  y: f16[3,6,W - 8] = map (i, j, k) f16(f32(h[i, j, k]) + f32(z[i, j, k]))\n",
	  { "W=60", "W=9" } },
};

/* The same in f32, for rule patch_plain; and steps across of lines whose ends no vector fits. */
static const struct schedule_case patch_plain_cases[] = {
	{ "patch_plain_groups",
	  "(x: f32[2,15,11,W], weight: f32[63,5,3,2], b: f32[63]) -> (y: f32[2,63,4,W - 2])\n"
	  "  y: f32[2,63,4,W - 2] = sum (i, j, k, l | r<5, s<3, t<2) select(and(and(0 <= 3 * k + 2 * s - 2, 3 * k + 2 "
	  "* s - 2 < 11), and(0 <= l + 3 * t - 1, l + 3 * t - 1 < W)), x[i, 5 * floordiv(j, 21) + r, 3 * k + 2 * s - "
	  "2, l + 3 * t - 1], 0.0) * weight[j, r, s, t] then max(it + b[j], 0.0)\n",
	  { "W=19", "W=4" } },
	{ "patch_plain_columns",
	  "(x: f32[1,34,9,45], weight: f32[4,17,5,7]) -> (y: f32[1,4,5,20])\n"
	  "  y: f32[1,4,5,20] = sum (i, j, k, l | r<17, s<5, t<7) x[i, 17 * floordiv(j, 2) + r, k + s, 2 * l + t] * "
	  "weight[j, r, s, t]\n",
	  { "" } },
	{ "patch_plain_steps",
	  "(x: f32[N,3,13,W], weight: f32[70,3,3,3]) -> (y: f32[N,70,6,floordiv(W - 3, 3) + 1])\n"
	  "  y: f32[N,70,6,floordiv(W - 3, 3) + 1] = sum (i, j, k, l | r<3, s<3, t<3) x[i, r, 2 * k + s, 3 * l + t] * "
	  "weight[j, r, s, t]\n",
	  { "N=2 W=103", "N=1 W=3", "N=0 W=9" } },
	{ "patch_plain_phases",
	  "(x: f32[2,6,H,7], weight: f32[6,9,4,4]) -> (y: f32[2,9,2 * H,14])\n"
	  "  y: f32[2,9,2 * H,14] = sum (i, j, k, l | r<6, s<2, t<2) select(and(and(0 <= s + floordiv(k + 1, 2) - 1, s "
	  "+ floordiv(k + 1, 2) - 1 < H), and(0 <= t + floordiv(l + 1, 2) - 1, t + floordiv(l + 1, 2) - 1 < 7)), x[i, "
	  "r, s + floordiv(k + 1, 2) - 1, t + floordiv(l + 1, 2) - 1], 0.0) * weight[r, j, mod(k + 1, 2) - s * 2 + 2, "
	  "mod(l + 1, 2) - t * 2 + 2]\n",
	  { "H=5", "H=1" } },
	{ "patch_plain_deep",
	  "(x: f32[2,5,6,W], weight: f32[7,3,3,3]) -> (y: f32[2,7,5,4,W - 2])\n"
	  "  y: f32[2,7,5,4,W - 2] = sum (i, j, k, l, m | r<3, s<3, t<3) select(and(0 <= k + r - 1, k + r - 1 < 5), "
	  "x[i, k + r - 1, l + s, m + t], 0.0) * weight[j, r, s, t]\n",
	  { "W=19", "W=3" } },
	{ "patch_plain_line",
	  "(x: f32[3,4,W], weight: f32[6,2,9], z: f32[3,6,W - 8]) -> (y: f32[3,6,W - 8])\n"
	  "  h: f32[3,6,W - 8] = sum (i, j, k | r<2, s<9) x[i, 2 * floordiv(j, 3) + r, k + s] * weight[j, r, s]\n"
	  "  y: f32[3,6,W - 8] = map (i, j, k) h[i, j, k] + z[i, j, k]\n",
	  { "W=60", "W=9" } },
};

/* For rule winograd: edges, odd images and channels, groups, an open batch and open images, maps after the sum. */
static const struct schedule_case winograd_cases[] = {
	{ "winograd_edges",
	  "(x: f32[N,5,7,9], weight: f32[70,5,3,3], b: f32[70]) -> (y: f32[N,70,7,9])\n"
	  "  y: f32[N,70,7,9] = sum (i, j, k, l | r<5, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 7), and(0 "
	  "<= l "
	  "+ t - 1, l + t - 1 < 9)), x[i, r, k + s - 1, l + t - 1], 0.0) * weight[j, r, s, t] then max(it + b[j], "
	  "0.0)\n",
	  { "N=2", "N=1", "N=0" } },
	{ "winograd_open",
	  "(x: f32[2,11,H,W], weight: f32[33,11,3,3], z: f32[2,33,H - 2,W - 2]) -> (y: f32[2,33,H - 2,W - 2])\n"
	  "  h: f32[2,33,H - 2,W - 2] = sum (i, j, k, l | r<11, s<3, t<3) x[i, r, k + s, l + t] * weight[j, r, s, t]\n"
	  "  y: f32[2,33,H - 2,W - 2] = map (i, j, k, l) h[i, j, k, l] + z[i, j, k, l]\n",
	  { "H=3 W=3", "H=13 W=8", "H=2 W=9" } },
	{ "winograd_infinities",
	  "(x: f32[2,6,9,11], weight: f32[34,6,3,3], z: f32[34]) -> (y: f32[2,34,9,11])\n"
	  "  h: f32[2,6,9,11] = map (i, j, k, l) select(x[i, j, k, l] < 0.95, x[i, j, k, l], x[i, j, k, l] / 0.0)\n"
	  "  y: f32[2,34,9,11] = sum (i, j, k, l | r<6, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 9), and(0 "
	  "<= l "
	  "+ t - 1, l + t - 1 < 11)), h[i, r, k + s - 1, l + t - 1], 0.0) * weight[j, r, s, t] then it + z[j]\n",
	  { "" } },
	{ "winograd_groups",
	  "(x: f32[2,6,5,6], weight: f32[10,3,3,3]) -> (y: f32[2,10,5,6])\n"
	  "  y: f32[2,10,5,6] = sum (i, j, k, l | r<3, s<3, t<3) select(and(and(0 <= k + s - 1, k + s - 1 < 5), and(0 "
	  "<= l "
	  "+ t - 1, l + t - 1 < 6)), x[i, 3 * floordiv(j, 5) + r, k + s - 1, l + t - 1], 0.0) * weight[j, r, s, t]\n",
	  { "" } },
};

#endif
