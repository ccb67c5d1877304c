/* Fourier transforms in the steps of src/ops/lower/fourier.c, and what is close to them. See schedule_case.h. */
#ifndef TPAT_TESTS_FOURIER_CASES_H
#define TPAT_TESTS_FOURIER_CASES_H

#include "tests/schedule/schedule_case.h"

/* cos and sin of 2 pi j / n. */
/* clang-format off */
#define TURN_36 \
	"  const turn: f32[36,2] = {1.0, 0.0, 0.9848077, 0.17364818, 0.9396926, 0.34202015, 0.8660254, 0.5, " \
	"0.76604444, 0.64278764, 0.64278764, 0.76604444, 0.5, 0.8660254, 0.34202015, 0.9396926, 0.17364818, " \
	"0.9848077, 0.0, 1.0, -0.17364818, 0.9848077, -0.34202015, 0.9396926, -0.5, 0.8660254, -0.64278764, " \
	"0.76604444, -0.76604444, 0.64278764, -0.8660254, 0.5, -0.9396926, 0.34202015, -0.9848077, " \
	"0.17364818, -1.0, 0.0, -0.9848077, -0.17364818, -0.9396926, -0.34202015, -0.8660254, -0.5, " \
	"-0.76604444, -0.64278764, -0.64278764, -0.76604444, -0.5, -0.8660254, -0.34202015, -0.9396926, " \
	"-0.17364818, -0.9848077, 0.0, -1.0, 0.17364818, -0.9848077, 0.34202015, -0.9396926, 0.5, " \
	"-0.8660254, 0.64278764, -0.76604444, 0.76604444, -0.64278764, 0.8660254, -0.5, 0.9396926, " \
	"-0.34202015, 0.9848077, -0.17364818}\n"

#define TURN_27 \
	"  const turn: f32[27,2] = {1.0, 0.0, 0.9730449, 0.23061587, 0.89363265, 0.4487992, 0.76604444, " \
	"0.64278764, 0.5971586, 0.8021232, 0.39607978, 0.9182161, 0.17364818, 0.9848077, -0.05814483, " \
	"0.9983082, -0.28680325, 0.9579895, -0.5, 0.8660254, -0.6862416, 0.72737366, -0.8354878, 0.549509, " \
	"-0.9396926, 0.34202015, -0.99323833, 0.11609291, -0.99323833, -0.11609291, -0.9396926, -0.34202015, " \
	"-0.8354878, -0.549509, -0.6862416, -0.72737366, -0.5, -0.8660254, -0.28680325, -0.9579895, " \
	"-0.05814483, -0.9983082, 0.17364818, -0.9848077, 0.39607978, -0.9182161, 0.5971586, -0.8021232, " \
	"0.76604444, -0.64278764, 0.89363265, -0.4487992, 0.9730449, -0.23061587}\n"

#define TURN_12 \
	"  const turn: f64[12,2] = {1.0, 0.0, 0.8660254037844387, 0.5, 0.5, 0.8660254037844386, 0.0, 1.0, " \
	"-0.5, 0.8660254037844387, -0.8660254037844387, 0.5, -1.0, 0.0, -0.8660254037844388, -0.5, -0.5, " \
	"-0.8660254037844384, 0.0, -1.0, 0.5, -0.8660254037844386, 0.8660254037844384, -0.5}\n"

#define TURN_36_WRONG \
	"  const turn: f32[36,2] = {1.0, 0.0, 0.9848077, 0.17364818, 0.9396926, 0.34202015, 0.8660254, 0.5, " \
	"0.76604444, 0.64278764, 0.64278764, 0.76604444, 0.5, 0.8660254, 0.35, 0.9396926, 0.17364818, " \
	"0.9848077, 0.0, 1.0, -0.17364818, 0.9848077, -0.34202015, 0.9396926, -0.5, 0.8660254, -0.64278764, " \
	"0.76604444, -0.76604444, 0.64278764, -0.8660254, 0.5, -0.9396926, 0.34202015, -0.9848077, " \
	"0.17364818, -1.0, 0.0, -0.9848077, -0.17364818, -0.9396926, -0.34202015, -0.8660254, -0.5, " \
	"-0.76604444, -0.64278764, -0.64278764, -0.76604444, -0.5, -0.8660254, -0.34202015, -0.9396926, " \
	"-0.17364818, -0.9848077, 0.0, -1.0, 0.17364818, -0.9848077, 0.34202015, -0.9396926, 0.5, " \
	"-0.8660254, 0.64278764, -0.76604444, 0.76604444, -0.64278764, 0.8660254, -0.5, 0.9396926, " \
	"-0.34202015, 0.9848077, -0.17364818}\n"

static const struct schedule_case fourier_cases[] = {
	{ "fourier_complex",
	  "(x: f32[N,36,2]) -> (y: f32[N,36,2])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k, 0] * select(l == 0, turn[mod(j * r, 6) * 6, "
	  "0], turn[mod(j * r, 6) * 6, 1]) + x[i, r * 6 + k, 1] * select(l == 0, neg(turn[mod(j * r, 6) * 6, 1]), "
	  "turn[mod(j * r, 6) * 6, 0])\n"
	  "  y: f32[N,36,2] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "turn[mod(j * r, 36), 1]) + step1[i, mod(j, 6), r, 1] * select(k == 0, neg(turn[mod(j * r, 36), 1]), "
	  "turn[mod(j * r, 36), 0]) then it / 36.0\n",
	  { "N=1", "N=5", "N=0" } },
	{ "fourier_three",
	  "(x: f16[N,36,2]) -> (y: f16[N,36,2])\n"
	  TURN_36
	  "  step1: f32[N,4,9,2] = sum (i, j, k, l | r<4) f32(x[i, r * 9 + k, 0]) * select(l == 0, turn[mod(j * r, 4) "
	  "* 9, 0], neg(turn[mod(j * r, 4) * 9, 1])) + f32(x[i, r * 9 + k, 1]) * select(l == 0, turn[mod(j * r, 4) * "
	  "9, 1], turn[mod(j * r, 4) * 9, 0])\n"
	  "  step2: f32[N,12,3,2] = sum (i, j, k, l | r<3) step1[i, mod(j, 4), r * 3 + k, 0] * select(l == 0, "
	  "turn[mod(j * r, 12) * 3, 0], neg(turn[mod(j * r, 12) * 3, 1])) + step1[i, mod(j, 4), r * 3 + k, 1] * "
	  "select(l == 0, turn[mod(j * r, 12) * 3, 1], turn[mod(j * r, 12) * 3, 0])\n"
	  "  y: f16[N,36,2] = sum (i, j, k | r<3) step2[i, mod(j, 12), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "neg(turn[mod(j * r, 36), 1])) + step2[i, mod(j, 12), r, 1] * select(k == 0, turn[mod(j * r, 36), 1], "
	  "turn[mod(j * r, 36), 0]) then f16(it)\n",
	  { "N=3", "N=40" } },
	{ "fourier_real",
	  "(x: f32[N,36]) -> (y: f32[N,19,2])\n"
	  TURN_36
	  "  step1: f32[N,2,12,2] = sum (i, j, k, l | r<3) x[i, r * 12 + k] * select(l == 0, turn[mod(j * r, 3) * 12, "
	  "0], neg(turn[mod(j * r, 3) * 12, 1]))\n"
	  "  step2: f32[N,7,3,2] = sum (i, j, k, l | r<4) step1[i, select(mod(j, 3) * 2 <= 3, mod(j, 3), 3 - mod(j, "
	  "3)), r * 3 + k, 0] * select(l == 0, turn[mod(j * r, 12) * 3, 0], neg(turn[mod(j * r, 12) * 3, 1])) + "
	  "select(mod(j, 3) * 2 <= 3, step1[i, select(mod(j, 3) * 2 <= 3, mod(j, 3), 3 - mod(j, 3)), r * 3 + k, 1], "
	  "neg(step1[i, select(mod(j, 3) * 2 <= 3, mod(j, 3), 3 - mod(j, 3)), r * 3 + k, 1])) * select(l == 0, "
	  "turn[mod(j * r, 12) * 3, 1], turn[mod(j * r, 12) * 3, 0])\n"
	  "  y: f32[N,19,2] = sum (i, j, k | r<3) step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), "
	  "r, 0] * select(k == 0, turn[mod(j * r, 36), 0], neg(turn[mod(j * r, 36), 1])) + select(mod(j, 12) * 2 <= "
	  "12, step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, 1], neg(step2[i, select(mod(j, "
	  "12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, 1])) * select(k == 0, turn[mod(j * r, 36), 1], turn[mod(j * "
	  "r, 36), 0])\n",
	  { "N=1", "N=9", "N=33" } },
	{ "fourier_real_all",
	  "(x: f32[N,27]) -> (y: f32[N,27,2])\n"
	  TURN_27
	  "  step1: f32[N,5,3,2] = sum (i, j, k, l | r<9) x[i, r * 3 + k] * select(l == 0, turn[mod(j * r, 9) * 3, 0], "
	  "neg(turn[mod(j * r, 9) * 3, 1]))\n"
	  "  y: f32[N,27,2] = sum (i, j, k | r<3) step1[i, select(mod(j, 9) * 2 <= 9, mod(j, 9), 9 - mod(j, 9)), r, 0] "
	  "* select(k == 0, turn[mod(j * r, 27), 0], neg(turn[mod(j * r, 27), 1])) + select(mod(j, 9) * 2 <= 9, "
	  "step1[i, select(mod(j, 9) * 2 <= 9, mod(j, 9), 9 - mod(j, 9)), r, 1], neg(step1[i, select(mod(j, 9) * 2 <= "
	  "9, mod(j, 9), 9 - mod(j, 9)), r, 1])) * select(k == 0, turn[mod(j * r, 27), 1], turn[mod(j * r, 27), 0])\n",
	  { "N=2", "N=13" } },
	{ "fourier_across",
	  "(x: f32[A,27,B,2]) -> (y: f32[A,27,B,2])\n"
	  TURN_27
	  "  step1: f32[A,3,9,B,2] = sum (i, j, k, l, m | r<3) x[i, r * 9 + k, l, 0] * select(m == 0, turn[mod(j * r, "
	  "3) * 9, 0], neg(turn[mod(j * r, 3) * 9, 1])) + x[i, r * 9 + k, l, 1] * select(m == 0, turn[mod(j * r, 3) * "
	  "9, 1], turn[mod(j * r, 3) * 9, 0])\n"
	  "  y: f32[A,27,B,2] = sum (i, j, k, l | r<9) step1[i, mod(j, 3), r, k, 0] * select(l == 0, turn[mod(j * r, "
	  "27), 0], neg(turn[mod(j * r, 27), 1])) + step1[i, mod(j, 3), r, k, 1] * select(l == 0, turn[mod(j * r, 27), "
	  "1], turn[mod(j * r, 27), 0])\n",
	  { "A=2 B=7", "A=1 B=1", "A=3 B=0", "A=1 B=40" } },
	{ "fourier_mirrored",
	  "(x: f32[N,19,2]) -> (y: f32[N,36])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, select((r * 6 + k) * 2 <= 36, r * 6 + k, 36 - (r * 6 + "
	  "k)), 0] * select(l == 0, turn[mod(j * r, 6) * 6, 0], turn[mod(j * r, 6) * 6, 1]) + select((r * 6 + k) * 2 "
	  "<= 36, x[i, select((r * 6 + k) * 2 <= 36, r * 6 + k, 36 - (r * 6 + k)), 1], neg(x[i, select((r * 6 + k) * 2 "
	  "<= 36, r * 6 + k, 36 - (r * 6 + k)), 1])) * select(l == 0, neg(turn[mod(j * r, 6) * 6, 1]), turn[mod(j * r, "
	  "6) * 6, 0])\n"
	  "  y: f32[N,36] = sum (i, j | r<6) step1[i, mod(j, 6), r, 0] * turn[mod(j * r, 36), 0] + step1[i, mod(j, 6), "
	  "r, 1] * neg(turn[mod(j * r, 36), 1]) then it / 36.0\n",
	  { "N=1", "N=6" } },
	{ "fourier_one_pass",
	  "(x: f64[N,12,2]) -> (y: f64[N,7,2])\n"
	  TURN_12
	  "  y: f64[N,7,2] = sum (i, j, k | r<12) x[i, r, 0] * select(k == 0, turn[mod(j * r, 12), 0], neg(turn[mod(j "
	  "* r, 12), 1])) + x[i, r, 1] * select(k == 0, turn[mod(j * r, 12), 1], turn[mod(j * r, 12), 0])\n",
	  { "N=4", "N=70" } },
	{ "fourier_frames",
	  "(x: f32[B,L], window: f32[27]) -> (y: f32[B,max(floordiv(L - 27, 10) + 1, 0),14,2])\n"
	  TURN_27
	  "  step1: f32[B,max(floordiv(L - 27, 10) + 1, 0),5,3,2] = sum (i, j, k, l, m | r<9) x[i, j * 10 + r * 3 + l] "
	  "* window[r * 3 + l] * select(m == 0, turn[mod(k * r, 9) * 3, 0], neg(turn[mod(k * r, 9) * 3, 1]))\n"
	  "  y: f32[B,max(floordiv(L - 27, 10) + 1, 0),14,2] = sum (i, j, k, l | r<3) step1[i, j, select(mod(k, 9) * 2 "
	  "<= 9, mod(k, 9), 9 - mod(k, 9)), r, 0] * select(l == 0, turn[mod(k * r, 27), 0], neg(turn[mod(k * r, 27), "
	  "1])) + select(mod(k, 9) * 2 <= 9, step1[i, j, select(mod(k, 9) * 2 <= 9, mod(k, 9), 9 - mod(k, 9)), r, 1], "
	  "neg(step1[i, j, select(mod(k, 9) * 2 <= 9, mod(k, 9), 9 - mod(k, 9)), r, 1])) * select(l == 0, turn[mod(k * "
	  "r, 27), 1], turn[mod(k * r, 27), 0])\n",
	  { "B=1 L=100", "B=2 L=27", "B=3 L=20" } },
	{ "fourier_kept",
	  "(x: f32[N,36,2]) -> (step1: f32[N,6,6,2], y: f32[N,36,2])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k, 0] * select(l == 0, turn[mod(j * r, 6) * 6, "
	  "0], neg(turn[mod(j * r, 6) * 6, 1])) + x[i, r * 6 + k, 1] * select(l == 0, turn[mod(j * r, 6) * 6, 1], "
	  "turn[mod(j * r, 6) * 6, 0])\n"
	  "  y: f32[N,36,2] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "neg(turn[mod(j * r, 36), 1])) + step1[i, mod(j, 6), r, 1] * select(k == 0, turn[mod(j * r, 36), 1], "
	  "turn[mod(j * r, 36), 0])\n",
	  { "N=2" } },
	{ "fourier_other_table",
	  "(x: f32[N,36,2]) -> (y: f32[N,36,2])\n"
	  TURN_36_WRONG
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k, 0] * select(l == 0, turn[mod(j * r, 6) * 6, "
	  "0], neg(turn[mod(j * r, 6) * 6, 1])) + x[i, r * 6 + k, 1] * select(l == 0, turn[mod(j * r, 6) * 6, 1], "
	  "turn[mod(j * r, 6) * 6, 0])\n"
	  "  y: f32[N,36,2] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "neg(turn[mod(j * r, 36), 1])) + step1[i, mod(j, 6), r, 1] * select(k == 0, turn[mod(j * r, 36), 1], "
	  "turn[mod(j * r, 36), 0])\n",
	  { "N=2" } },
	{ "fourier_not_quite",
	  "(x: f32[N,36,2]) -> (y: f32[N,36,2])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k, 0] * select(l == 0, turn[mod(j * r, 6) * 6, "
	  "0], neg(turn[mod(j * r, 6) * 6, 1])) + x[i, r * 6 + k, 1] * select(l == 0, turn[mod(j * r, 6) * 6, 1], "
	  "turn[mod(j * r, 6) * 6, 0])\n"
	  "  y: f32[N,36,2] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "neg(turn[mod(j * r, 36), 1])) + step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 1], "
	  "turn[mod(j * r, 36), 0])\n",
	  { "N=2" } },
	{ "fourier_rest",
	  "(x: f32[N,36,2]) -> (y: f32[N,36,2])\n"
	  TURN_36
	  "  step1: f32[N,4,9,2] = sum (i, j, k, l | r<4) x[i, r * 9 + k, 0] * select(l == 0, turn[mod(j * r, 4) * 9, "
	  "0], turn[mod(j * r, 4) * 9, 1]) + x[i, r * 9 + k, 1] * select(l == 0, neg(turn[mod(j * r, 4) * 9, 1]), "
	  "turn[mod(j * r, 4) * 9, 0])\n"
	  "  step2: f32[N,12,3,2] = sum (i, j, k, l | r<3) step1[i, mod(j, 4), r * 3 + k, 0] * select(l == 0, "
	  "turn[mod(j * r, 12) * 3, 0], turn[mod(j * r, 12) * 3, 1]) + step1[i, mod(j, 4), r * 3 + k, 1] * select(l == "
	  "0, neg(turn[mod(j * r, 12) * 3, 1]), turn[mod(j * r, 12) * 3, 0])\n"
	  "  y: f32[N,36,2] = sum (i, j, k | r<3) step2[i, mod(j, 12), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "turn[mod(j * r, 36), 1]) + step2[i, mod(j, 12), r, 0] * select(k == 0, neg(turn[mod(j * r, 36), 1]), "
	  "turn[mod(j * r, 36), 0])\n",
	  { "N=2", "N=11" } },
	{ "fourier_real_rest",
	  "(x: f32[N,36,B]) -> (y: f32[N,19,B,2])\n"
	  TURN_36
	  "  step1: f32[N,2,12,B,2] = sum (i, j, k, l, m | r<3) x[i, r * 12 + k, l] * select(m == 0, turn[mod(j * r, "
	  "3) * 12, 0], neg(turn[mod(j * r, 3) * 12, 1]))\n"
	  "  step2: f32[N,7,3,B,2] = sum (i, j, k, l, m | r<4) step1[i, select(mod(j, 3) * 2 <= 3, mod(j, 3), 3 - "
	  "mod(j, 3)), r * 3 + k, l, 0] * select(m == 0, turn[mod(j * r, 12) * 3, 0], neg(turn[mod(j * r, 12) * 3, "
	  "1])) + select(mod(j, 3) * 2 <= 3, step1[i, select(mod(j, 3) * 2 <= 3, mod(j, 3), 3 - mod(j, 3)), r * 3 + k, "
	  "l, 1], neg(step1[i, select(mod(j, 3) * 2 <= 3, mod(j, 3), 3 - mod(j, 3)), r * 3 + k, l, 1])) * select(m == "
	  "0, turn[mod(j * r, 12) * 3, 1], turn[mod(j * r, 12) * 3, 0])\n"
	  "  y: f32[N,19,B,2] = sum (i, j, k, l | r<3) step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, "
	  "12)), r, k, 0] * select(l == 0, turn[mod(j * r, 36), 0], neg(turn[mod(j * r, 36), 1])) + select(mod(j, 12) "
	  "* 2 <= 12, step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, k, 0], neg(step2[i, "
	  "select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, k, 0])) * select(l == 0, turn[mod(j * r, 36), "
	  "1], turn[mod(j * r, 36), 0])\n",
	  { "N=2 B=3", "N=1 B=1" } },
	{ "fourier_real_across",
	  "(x: f32[N,36,B]) -> (y: f32[N,36,B,2])\n"
	  TURN_36
	  "  step1: f32[N,3,9,B,2] = sum (i, j, k, l, m | r<4) x[i, r * 9 + k, l] * select(m == 0, turn[mod(j * r, 4) "
	  "* 9, 0], neg(turn[mod(j * r, 4) * 9, 1]))\n"
	  "  step2: f32[N,7,3,B,2] = sum (i, j, k, l, m | r<3) step1[i, select(mod(j, 4) * 2 <= 4, mod(j, 4), 4 - "
	  "mod(j, 4)), r * 3 + k, l, 0] * select(m == 0, turn[mod(j * r, 12) * 3, 0], neg(turn[mod(j * r, 12) * 3, "
	  "1])) + select(mod(j, 4) * 2 <= 4, step1[i, select(mod(j, 4) * 2 <= 4, mod(j, 4), 4 - mod(j, 4)), r * 3 + k, "
	  "l, 1], neg(step1[i, select(mod(j, 4) * 2 <= 4, mod(j, 4), 4 - mod(j, 4)), r * 3 + k, l, 1])) * select(m == "
	  "0, turn[mod(j * r, 12) * 3, 1], turn[mod(j * r, 12) * 3, 0])\n"
	  "  y: f32[N,36,B,2] = sum (i, j, k, l | r<3) step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, "
	  "12)), r, k, 0] * select(l == 0, turn[mod(j * r, 36), 0], neg(turn[mod(j * r, 36), 1])) + select(mod(j, 12) "
	  "* 2 <= 12, step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, k, 1], neg(step2[i, "
	  "select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, k, 1])) * select(l == 0, turn[mod(j * r, 36), "
	  "1], turn[mod(j * r, 36), 0])\n",
	  { "N=2 B=3", "N=1 B=20" } },
	{ "fourier_mirrored_parts",
	  "(x: f32[N,19,2]) -> (y: f32[N,36,1])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, select((r * 6 + k) * 2 <= 36, r * 6 + k, 36 - (r * 6 + "
	  "k)), 0] * select(l == 0, turn[mod(j * r, 6) * 6, 0], turn[mod(j * r, 6) * 6, 1]) + select((r * 6 + k) * 2 "
	  "<= 36, x[i, select((r * 6 + k) * 2 <= 36, r * 6 + k, 36 - (r * 6 + k)), 1], neg(x[i, select((r * 6 + k) * 2 "
	  "<= 36, r * 6 + k, 36 - (r * 6 + k)), 1])) * select(l == 0, neg(turn[mod(j * r, 6) * 6, 1]), turn[mod(j * r, "
	  "6) * 6, 0])\n"
	  "  y: f32[N,36,1] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * turn[mod(j * r, 36), 0] + step1[i, "
	  "mod(j, 6), r, 1] * neg(turn[mod(j * r, 36), 1]) then it / 36.0\n",
	  { "N=3" } },
	{ "fourier_power",
	  "(x: f32[N,36]) -> (y: f16[N,19])\n"
	  TURN_36
	  "  step1: f32[N,4,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k] * select(l == 0, turn[mod(j * r, 6) * 6, 0], "
	  "neg(turn[mod(j * r, 6) * 6, 1]))\n"
	  "  z: f32[N,19,2] = sum (i, j, k | r<6) step1[i, select(mod(j, 6) * 2 <= 6, mod(j, 6), 6 - mod(j, 6)), r, 0] "
	  "* select(k == 0, turn[mod(j * r, 36), 0], neg(turn[mod(j * r, 36), 1])) + select(mod(j, 6) * 2 <= 6, "
	  "step1[i, select(mod(j, 6) * 2 <= 6, mod(j, 6), 6 - mod(j, 6)), r, 1], neg(step1[i, select(mod(j, 6) * 2 <= "
	  "6, mod(j, 6), 6 - mod(j, 6)), r, 1])) * select(k == 0, turn[mod(j * r, 36), 1], turn[mod(j * r, 36), 0])\n"
	  "  y: f16[N,19] = sum (i, j | r<2) z[i, j, r] * z[i, j, r] then f16(it + 1.0)\n",
	  { "N=1", "N=21" } },
	{ "fourier_product",
	  "(x: f32[N,36,2], c: f32[36,2]) -> (y: f32[N,36,2])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k, 0] * select(l == 0, turn[mod(j * r, 6) * 6, "
	  "0], neg(turn[mod(j * r, 6) * 6, 1])) + x[i, r * 6 + k, 1] * select(l == 0, turn[mod(j * r, 6) * 6, 1], "
	  "turn[mod(j * r, 6) * 6, 0])\n"
	  "  z: f32[N,36,2] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "neg(turn[mod(j * r, 36), 1])) + step1[i, mod(j, 6), r, 1] * select(k == 0, turn[mod(j * r, 36), 1], "
	  "turn[mod(j * r, 36), 0])\n"
	  "  y: f32[N,36,2] = map (i, j, k) select(k == 0, z[i, j, 0] * c[j, 0] - z[i, j, 1] * c[j, 1], z[i, j, 0] * "
	  "c[j, 1] + z[i, j, 1] * c[j, 0])\n",
	  { "N=2", "N=9" } },
	{ "fourier_phase",
	  "(x: f32[N,36,B]) -> (y: f32[N,36,B])\n"
	  TURN_36
	  "  step1: f32[N,3,9,B,2] = sum (i, j, k, l, m | r<4) x[i, r * 9 + k, l] * select(m == 0, turn[mod(j * r, 4) "
	  "* 9, 0], neg(turn[mod(j * r, 4) * 9, 1]))\n"
	  "  step2: f32[N,7,3,B,2] = sum (i, j, k, l, m | r<3) step1[i, select(mod(j, 4) * 2 <= 4, mod(j, 4), 4 - "
	  "mod(j, 4)), r * 3 + k, l, 0] * select(m == 0, turn[mod(j * r, 12) * 3, 0], neg(turn[mod(j * r, 12) * 3, "
	  "1])) + select(mod(j, 4) * 2 <= 4, step1[i, select(mod(j, 4) * 2 <= 4, mod(j, 4), 4 - mod(j, 4)), r * 3 + k, "
	  "l, 1], neg(step1[i, select(mod(j, 4) * 2 <= 4, mod(j, 4), 4 - mod(j, 4)), r * 3 + k, l, 1])) * select(m == "
	  "0, turn[mod(j * r, 12) * 3, 1], turn[mod(j * r, 12) * 3, 0])\n"
	  "  z: f32[N,36,B,2] = sum (i, j, k, l | r<3) step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, "
	  "12)), r, k, 0] * select(l == 0, turn[mod(j * r, 36), 0], neg(turn[mod(j * r, 36), 1])) + select(mod(j, 12) "
	  "* 2 <= 12, step2[i, select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, k, 1], neg(step2[i, "
	  "select(mod(j, 12) * 2 <= 12, mod(j, 12), 12 - mod(j, 12)), r, k, 1])) * select(l == 0, turn[mod(j * r, 36), "
	  "1], turn[mod(j * r, 36), 0])\n"
	  "  y: f32[N,36,B] = map (i, j, k) sqrt(z[i, j, k, 0] * z[i, j, k, 0] + z[i, j, k, 1] * z[i, j, k, 1])\n",
	  { "N=2 B=3", "N=1 B=20" } },
	{ "fourier_neighbours",
	  "(x: f32[N,36,2]) -> (y: f32[N,36])\n"
	  TURN_36
	  "  step1: f32[N,6,6,2] = sum (i, j, k, l | r<6) x[i, r * 6 + k, 0] * select(l == 0, turn[mod(j * r, 6) * 6, "
	  "0], neg(turn[mod(j * r, 6) * 6, 1])) + x[i, r * 6 + k, 1] * select(l == 0, turn[mod(j * r, 6) * 6, 1], "
	  "turn[mod(j * r, 6) * 6, 0])\n"
	  "  z: f32[N,36,2] = sum (i, j, k | r<6) step1[i, mod(j, 6), r, 0] * select(k == 0, turn[mod(j * r, 36), 0], "
	  "neg(turn[mod(j * r, 36), 1])) + step1[i, mod(j, 6), r, 1] * select(k == 0, turn[mod(j * r, 36), 1], "
	  "turn[mod(j * r, 36), 0])\n"
	  "  y: f32[N,36] = map (i, j) z[i, j, 0] * z[i, 35 - j, 1]\n",
	  { "N=2" } },
};
/* clang-format on */

#endif
