/* Radices of a Fourier transform's steps, and its tables' numbers, in double. */
#ifndef TPAT_OPS_FOURIER_PLAN_H
#define TPAT_OPS_FOURIER_PLAN_H

#include <stdbool.h>

#include "base/arena.h"

enum {
	FOURIER_RADIX_MAX = 25,    /* of a step whose radix is not prime: a thread's registers hold it */
	FOURIER_RADIX_DIRECT = 32, /* largest prime factor that is summed directly; see fourier_lower() */
	FOURIER_SUMMED = 128,      /* shorter lengths are steps whatever their factors */
	FOURIER_WHOLE = 8192,      /* longer ones are planned as two of about equal lengths, a kernel each */
	FOURIER_STEPS_MAX = 64,
};

/* The steps of a length: their radices, the largest first. */
struct fourier_plan {
	int64_t length;
	int n;
	int64_t radix[FOURIER_STEPS_MAX];
};
/* The fewest steps of each part; of these, with the smallest sum of radices, which is the number of terms. length >= 2.
 */
void fourier_plan(struct fourier_plan *out, int64_t length);
/* A length from `least` on that has few steps of few terms. */
int64_t fourier_smooth(int64_t least);

struct fourier_pair {
	double re, im;
};
/* e^(2 pi i j / n), 0 <= j < n, right to the last bits: exact at multiples of an eighth of a turn. */
struct fourier_pair fourier_turn(int64_t j, int64_t n);
/* Replaces x by its transform of that length, whose prime factors should be small. */
void fourier_compute(struct fourier_pair *x, int64_t length, struct arena *scratch);

#endif
