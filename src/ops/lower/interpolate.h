/* Separable interpolation: weighted sums of neighbouring elements, one axis after the other. Resize and GridSample use
 * it. */
#ifndef TPAT_OPS_INTERPOLATE_H
#define TPAT_OPS_INTERPOLATE_H

#include "ops/lower/lower.h"

enum { TAPS_MAX = 4 };

/* The elements that one output position reads along one axis of the input. */
struct taps {
	int n;
	expr index[TAPS_MAX];  /* within 0..extent-1 wherever it is read */
	expr weight[TAPS_MAX]; /* in the compute type; unused with n = 1, where the element itself is the result */
	expr inside[TAPS_MAX]; /* null: always true; where false, the element counts as zero */
};

/* The taps of a position: floor is its index, fraction (0 <= fraction < 1) the way to the next element. Indices may
 * still lie outside the input. Cubic: Keys' kernel with parameter `a`, four elements. */
struct taps taps_nearest(expr index);
struct taps taps_linear(expr floor, expr fraction);
struct taps taps_cubic(expr floor, expr fraction, double a);

/* Keys' cubic kernel at distance x >= 0: one polynomial up to 1, another up to 2, zero beyond. */
expr cubic_kernel(expr x, double a);

/* The compute type of interpolation between elements of type `t`. */
enum type interpolation_type(enum type t);
/* Converts a result of that type to type `t`: integers are rounded half to even and saturate. */
expr interpolation_narrow(expr y, enum type t);

/* The sum over all taps of all axes; tap[i] is for axis i of x. Its type is `c`; or x's own type if no axis has more
 * than one tap. */
expr interpolate(struct value x, const struct taps *tap, enum type c);

#endif
