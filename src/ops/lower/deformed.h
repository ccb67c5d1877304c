/* Deformable convolution: a convolution that reads the input at places moved by offsets, weighted by a mask:
 *   y[n, m, o...] = b[m] + sum over c, k... of w[m, c, k...] * mask[n, k, o...] * x(n, g C/G + c, p),
 *   p = o * stride + k * dilation - pad + offset[n, k, :, o...]
 * x is interpolated linearly between its elements, and zero outside. The channels of an offset group share offsets. */
#ifndef TPAT_OPS_DEFORMED_H
#define TPAT_OPS_DEFORMED_H

#include "ops/lower/window.h"

struct deformed {
	struct value x, w, offset, mask; /* mask: optional */
	int64_t groups, offset_groups;
	/* Set by deformed_convolution(), `win` by its `read`. */
	int n; /* spatial axes */
	struct window win;
	expr kernel[IR_MAX_RANK];
};
/* Makes output 0. The caller fills in the first part of *d; `read` sets d->win from d->n, d->x and d->kernel. The bias
 * is optional. */
int deformed_convolution(struct lower *l, struct deformed *d, struct value bias,
                         int (*read)(struct lower *l, struct deformed *d));

#endif
