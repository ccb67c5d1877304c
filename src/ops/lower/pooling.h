/* Poolings: one value for each window of the input. Data have the axes n, c, o...; or n, o..., c, see
 * window_channels_last(). */
#ifndef TPAT_OPS_POOLING_H
#define TPAT_OPS_POOLING_H

#include "ops/lower/window.h"

struct pooling {
	struct value in; /* input 0 */
	struct window w;
	struct space s; /* n, c, o..., then k... */
	int rank;
	expr x[IR_MAX_RANK];                           /* the element's index in `in` */
	expr inside;                                   /* condition: it is not in the padding */
	expr kernel[IR_MAX_RANK], window[IR_MAX_RANK]; /* the window's extents; its index along each spatial axis */
};
/* Fills in *p from input 0 and the attributes WINDOW_ATTRS and POOLING_CEIL. */
int pooling_begin(struct lower *l, struct pooling *p);
/* The number of places that the mean of each window divides by, by the attributes ceil_mode and count_include_pad. */
expr pooling_count(struct lower *l, const struct pooling *p);
/* Lower function of MaxPool; the maxima's positions are output 1, if the node wants it. */
int max_pool_lower(struct lower *l);

#define POOLING_CEIL ATTR_INT("ceil_mode", 0, "the last window may hang over the end")

#endif
