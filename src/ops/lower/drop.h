/* Dropout: in inference every element stays. In training an element stays with the probability 1 - ratio and is scaled
 * by 1 / (1 - ratio); the others become zero. The draws are those of this project's generator (philox.h); other engines
 * draw others, and new ones in each run. */
#ifndef TPAT_OPS_DROP_H
#define TPAT_OPS_DROP_H

#include "ops/lower/philox.h"

struct dropout {
	int ratio; /* the input that is the ratio; the one after it is training_mode */
	bool bits; /* the mask is u32s, an element a bit, from the lowest on; else a bool for each element */
};
/* Whether the node drops elements. Fails when training_mode is not known at build time. */
int dropout_drops(struct lower *l, const struct dropout *d, bool *out);
/* The element e over s, dropped or scaled, in e's type; makes output 1, the mask, where that is wanted. */
int dropout_apply(struct lower *l, const struct dropout *d, const struct space *s, expr e, expr *out);
/* Makes output 1, where that is wanted, of the mask: bool over s, or not given: all elements stay. Bits after the last
 * element are 1. */
void dropout_mask(struct lower *l, const struct dropout *d, const struct space *s, struct value mask);

#define DROPOUT_SEED ATTR_INT("seed", 0, "of the draws; without it, a hash of its result's name")

#endif
