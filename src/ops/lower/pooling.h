/* Poolings: a value for each window of the input. The data have the axes n, c, o..., or n, o..., c where the operator's
 * name begins with "Nhwc". */
#ifndef TPAT_OPS_POOLING_H
#define TPAT_OPS_POOLING_H

#include "ops/lower/window.h"

struct pooling {
	struct value in; /* input 0 */
	struct window w;
	struct space s; /* n, c, o..., then k... */
	int rank;
	expr x[IR_MAX_RANK]; /* index into `in` */
	expr inside;         /* whether that is not in the padding */
	expr kernel[IR_MAX_RANK];
};
/* From input 0 and the attributes WINDOW_ATTRS and POOLING_CEIL. */
int pooling_begin(struct lower *l, struct pooling *p);
/* MaxPool, with the positions of the maxima as output 1 where that is wanted. */
int max_pool_lower(struct lower *l);

#define POOLING_CEIL ATTR_INT("ceil_mode", 0, "the last window may hang over the end")

#endif
