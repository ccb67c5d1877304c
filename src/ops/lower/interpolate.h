/* Weighted sums of neighbouring elements, one axis after the other: what Resize and GridSample have in common. */
#ifndef TPAT_OPS_INTERPOLATE_H
#define TPAT_OPS_INTERPOLATE_H

#include "ops/lower/lower.h"

enum { TAPS_MAX = 4 };

/* What one output position reads along one axis of the input. */
struct taps {
	int n;
	expr index[TAPS_MAX];  /* inside 0..extent-1 wherever it is read */
	expr weight[TAPS_MAX]; /* of the type that is computed in; with n = 1 not used: the element itself */
	expr inside[TAPS_MAX]; /* null: always; where false, the element counts as zero */
};

/* The elements between which a position lies: index floor, and fraction (0 <= fraction < 1) of the way to the next one.
 * Indices are not held inside yet. Cubic: Keys' kernel with the parameter `a`, over four elements. */
struct taps taps_nearest(expr index);
struct taps taps_linear(expr floor, expr fraction);
struct taps taps_cubic(expr floor, expr fraction, double a);

/* Keys' cubic kernel at a distance x >= 0: one piece to 1, one to 2, zero beyond. */
expr cubic_kernel(expr x, double a);

/* The type that interpolation between elements of type `t` is computed in. */
enum type interpolation_type(enum type t);
/* A result of that type as an element of type `t`: integers are rounded, half to even, and held in their range. */
expr interpolation_narrow(expr y, enum type t);

/* The sum over all taps of all axes; tap[i] is for axis i of x. Of type `c`, and of x's own when no axis has more than
 * one tap. */
expr interpolate(struct value x, const struct taps *tap, enum type c);

#endif
