/* Discrete Fourier transforms of length N: y[k] = sum over n of x[n] e^(-2 pi i k n / N), as chains of short ones. */
#ifndef TPAT_OPS_FOURIER_H
#define TPAT_OPS_FOURIER_H

#include "ops/lower/lower.h"

/* A transform along one axis of `out`, the space of the result. */
struct fourier {
	const char *name; /* of the result's stage; null: the operator's next output */
	enum type type;   /* of the result */
	struct space out; /* its extent along `axis` may be less than N: the first frequencies */
	int axis;
	int part;     /* the axis of real and imaginary parts, the last one; negative: real parts alone, without such an
	               * axis */
	expr length;  /* N */
	expr given;   /* number of elements that the signal has along the axis; N at most are read, others are zero */
	bool inverse; /* the other sign, and divided by N */
	bool scaled;  /* inverse: without the division, which is in the elements */
	bool mirrored; /* the signal is the first N/2 + 1 elements of one with x[N - n] = conj(x[n]); the result is real
	                */
	/* Part `part` of element n of the signal that belongs to index `at` of the space, in the compute type; null: it
	 * has no imaginary part. */
	expr (*element)(const struct fourier *f, const expr *at, expr n, int part);
	struct lower *l;
	const void *user;
};

/* Lowers the transform to *y. Takes O(N log N) terms if N is constant and at most one of its prime factors is large;
 * otherwise sums directly. */
int fourier_lower(const struct fourier *f, struct value *y);

#endif
