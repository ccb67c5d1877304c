/* Products with weights of 4 and 8 bits: rule packed. See schedule_case.h. */
#ifndef TPAT_TESTS_PACKED_CASES_H
#define TPAT_TESTS_PACKED_CASES_H

#include "tests/schedule/schedule_case.h"

static const struct schedule_case packed_cases[] = {
	/* Halves of bytes with scales of blocks: as MatMulNBits has them. */
	{ "packed_halves",
	  "(a: f16[M,256], b: u8[40,8,16], e: f16[320], c: f16[40]) -> (y: f16[M,40])\n"
	  "  y: f16[M,40] = sum (i, j | r<256) f32(a[i, r]) * ((f32(bitand(shr(i32(b[j, floordiv(r, 32), "
	  "mod(floordiv(r, 2), 16)]), i32(mod(r, 2) * 4)), i32(15))) - 8.0) * f32(e[j * 8 + floordiv(r, 32)])) then "
	  "f16(it + f32(c[j]))\n",
	  { "M=1", "M=9", "M=0" } },
	{ "packed_halves_zeros",
	  "(a: f16[M,3,328], b: u8[17,6,32], e: f16[102], z: u8[51]) -> (y: f16[M,3,17])\n"
	  "  y: f16[M,3,17] = sum (i, j, k | r<328) f32(a[i, j, r]) * ((f32(bitand(shr(i32(b[k, floordiv(r, 64), "
	  "mod(floordiv(r, 2), 32)]), i32(mod(r, 2) * 4)), i32(15))) - f32(bitand(shr(i32(z[k * 3 + floordiv(r, "
	  "128)]), i32(mod(floordiv(r, 64), 2) * 4)), i32(15)))) * f32(e[k * 6 + floordiv(r, 64)]))\n",
	  { "M=1", "M=6" } },
	/* A depth that vectors do not divide, and rows that it does not fill; bf16; scales of long blocks. */
	{ "packed_halves_odd",
	  "(a: bf16[M,301], b: u8[33,160], e: f32[33,2]) -> (y: f32[M,33])\n"
	  "  y: f32[M,33] = sum (i, j | r<301) f32(a[i, r]) * ((f32(bitand(shr(i32(b[j, floordiv(r, 2)]), i32(mod(r, "
	  "2) "
	  "* 4)), i32(15))) - 3.0) * e[j, floordiv(r, 256)])\n",
	  { "M=2" } },
	{ "packed_bytes",
	  "(a: f16[M,200], b: u8[24,208], e: f16[24,13], z: u8[24,13]) -> (y: f16[M,24])\n"
	  "  y: f16[M,24] = sum (i, j | r<200) f32(a[i, r]) * ((f32(b[j, r]) - f32(z[j, floordiv(r, 16)])) * f32(e[j, "
	  "floordiv(r, 16)]))\n",
	  { "M=3", "M=17" } },
	/* Rounded weights: as DequantizeLinear makes them. */
	{ "packed_rounded",
	  "(a: f16[M,160], b: i4[20,160], e: f16[20,5], z: i4[20,5]) -> (y: f16[M,20])\n"
	  "  y: f16[M,20] = sum (i, j | r<160) f32(a[i, r]) * f32(f16(f32(i32(b[j, r]) - i32(z[j, floordiv(r, 32)])) * "
	  "f32(e[j, floordiv(r, 32)])))\n",
	  { "M=5" } },
	{ "packed_channels",
	  "(a: bf16[M,144], b: i8[48,144], e: bf16[48]) -> (y: bf16[48,M])\n"
	  "  y: bf16[48,M] = sum (i, j | r<144) f32(a[j, r]) * f32(bf16(f32(b[i, r]) * f32(e[i])))\n",
	  { "M=5" } },
	/* Zero points that are any floats: of operators, and of weights that an exporter dequantises by hand. */
	{ "packed_float_zeros",
	  "(a: f16[M,192], b: u8[40,96], e: f16[40,6], z: f16[40,6]) -> (y: f16[M,40])\n"
	  "  y: f16[M,40] = sum (i, j | r<192) f32(a[i, r]) * ((f32(bitand(shr(i32(b[j, floordiv(r, 2)]), i32(mod(r, "
	  "2) "
	  "* 4)), i32(15))) - f32(z[j, floordiv(r, 32)])) * f32(e[j, floordiv(r, 32)])) then f16(it)\n",
	  { "M=1", "M=9" } },
	{ "packed_float_zeros_whole",
	  "(a: bf16[M,208], b: u8[24,208], e: f32[24], z: bf16[24]) -> (y: f32[M,24])\n"
	  "  y: f32[M,24] = sum (i, j | r<208) f32(a[i, r]) * ((f32(b[j, r]) - f32(z[j])) * e[j])\n",
	  { "M=3", "M=17" } },
	{ "packed_by_hand",
	  "(a: f16[M,256], b: i4[20,256], e: f16[20,4], z: f16[20,4]) -> (y: f16[M,20])\n"
	  "  y: f16[M,20] = sum (i, j | r<256) f32(a[i, r]) * f32(f16(f32(f16(f32(f16(b[j, floordiv(r, 64) * 64 + "
	  "mod(r, "
	  "64)])) - f32(z[j, floordiv(r, 64)]))) * f32(e[j, floordiv(r, 64)])))\n",
	  { "M=5" } },
	{ "packed_by_hand_bytes",
	  "(a: bf16[M,144], b: u8[48,144], e: bf16[48], z: bf16[48]) -> (y: bf16[48,M])\n"
	  "  y: bf16[48,M] = sum (i, j | r<144) f32(a[j, r]) * f32(bf16(f32(bf16(f32(bf16(b[i, r])) - f32(z[i]))) * "
	  "f32(e[i])))\n",
	  { "M=5" } },
	{ "packed_by_hand_integers",
	  "(a: f16[M,160], b: u4[20,160], e: f16[20,5], z: u4[20,5]) -> (y: f16[M,20])\n"
	  "  y: f16[M,20] = sum (i, j | r<160) f32(a[i, r]) * f32(f16(f32(f16(f32(f16(b[j, r])) - f32(f16(z[j, "
	  "floordiv(r, 32)])))) * f32(e[j, floordiv(r, 32)])))\n",
	  { "M=5" } },
	/* The weights are a stage of their own, transposed. */
	{ "packed_before",
	  "(a: f16[M,96], b: i8[32,96], e: f16[32,3], z: i8[32,3]) -> (y: f16[M,32])\n"
	  "  t0: f16[96,32] = map (i, j) f16(f32(i32(b[j, i]) - i32(z[j, floordiv(i, 32)])) * f32(e[j, floordiv(i, "
	  "32)]))\n"
	  "  y: f16[M,32] = sum (i, j | r<96) f32(a[i, r]) * f32(t0[r, j]) then f16(it * 0.5)\n",
	  { "M=2" } },
	{ "packed_unsigned",
	  "(a: f16[M,96], b: u4[16,96], e: f16[16]) -> (y: f32[M,16])\n"
	  "  y: f32[M,16] = sum (i, j | r<96) f32(b[j, r]) * f32(e[j]) * f32(a[i, r])\n",
	  { "M=3" } },
	{ "packed_floats",
	  "(a: f16[M,80], b: f8e4m3fn[16,80], e: f32[16]) -> (y: f16[M,16])\n"
	  "  y: f16[M,16] = sum (i, j | r<80) f32(a[i, r]) * (f32(b[j, r]) * e[j])\n",
	  { "M=3" } },
	{ "packed_floats_rounded",
	  "(a: bf16[M,80], b: f8e4m3fn[16,80], e: bf16[16]) -> (y: bf16[M,16])\n"
	  "  y: bf16[M,16] = sum (i, j | r<80) f32(a[i, r]) * f32(bf16(f32(b[j, r]) * f32(e[j])))\n",
	  { "M=3" } },
};

#endif
