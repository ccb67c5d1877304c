/* Reductions of one tensor over some of its axes: their spaces, means and variances. */
#ifndef TPAT_OPS_REDUCTION_H
#define TPAT_OPS_REDUCTION_H

#include "ops/lower/lower.h"

/* What is left has x's rank, with extent 1 where it is reduced (`keep`), or only the other axes. */
struct reduction {
	struct space s;          /* the result's axes, then the reduced ones */
	int rank;                /* of the result */
	expr index[IR_MAX_RANK]; /* x's element, over s */
	expr count;              /* elements that become one */
};
/* `reduced` says for each axis of x whether it is reduced. */
struct reduction reduce_space(struct lower *l, struct value x, const bool *reduced, bool keep);
/* The reduced axes from `first` on; the usual one of normalisations. */
void reduce_from(bool *reduced, int rank, int first);

/* sum of value / count, stored in `t`; what all statistics are made of, so that equal ones become equal programs. */
struct value reduce_mean(struct lower *l, const char *name, enum type t, const struct reduction *r, expr value);
/* The mean of the squares of (x - mean): `mean` has the shape of r's result, which keeps axes. */
struct value reduce_variance(struct lower *l, const char *name, enum type t, const struct reduction *r, struct value x,
                             struct value mean);

#endif
