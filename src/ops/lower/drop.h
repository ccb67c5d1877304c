/* Dropout. In inference every element stays. In training an element stays with probability 1 - ratio and is scaled by
 * 1 / (1 - ratio); the others become zero. The random numbers come from this project's generator (philox.h): other
 * engines draw others, and new ones in each run. */
#ifndef TPAT_OPS_DROP_H
#define TPAT_OPS_DROP_H

#include "ops/lower/philox.h"

struct dropout {
	int ratio; /* index of the input ratio; training_mode is the next input */
	bool bits; /* the mask is packed into u32, one bit an element, lowest bit first; false: one bool an element */
};
/* Sets *out to true if the node drops elements. Fails if training_mode is not known at build time. */
int dropout_drops(struct lower *l, const struct dropout *d, bool *out);
/* Sets *out to the element e over s after dropout, in e's type. Makes output 1, the mask, if the node wants it. */
int dropout_apply(struct lower *l, const struct dropout *d, const struct space *s, expr e, expr *out);
/* Makes output 1, if the node wants it, from `mask`: bool over s; not given: all elements stay. Bits after the last
 * element are 1. */
void dropout_mask(struct lower *l, const struct dropout *d, const struct space *s, struct value mask);

#define DROPOUT_SEED ATTR_INT("seed", 0, "of the draws; without it, a hash of its result's name")

#endif
