/* Reductions of one tensor over some of its axes: their spaces, means and variances. */
#ifndef TPAT_OPS_REDUCTION_H
#define TPAT_OPS_REDUCTION_H

#include "ops/lower/lower.h"

/* The result has x's rank, with extent 1 where it is reduced (`keep`), or only the other axes. */
struct reduction {
	struct space s;          /* the result's axes, then the reduced ones */
	int rank;                /* rank of the result */
	expr index[IR_MAX_RANK]; /* x's element, over s */
	expr count;              /* number of elements that become one */
};
/* reduced[i]: axis i of x is reduced. */
struct reduction reduce_space(struct lower *l, struct value x, const bool *reduced, bool keep);
/* Marks the axes from `first` on as reduced, as normalisations have them. */
void reduce_from(bool *reduced, int rank, int first);

/* sum of value / count, in type `t`. All statistics use it, so that equal ones become equal programs. */
struct value reduce_mean(struct lower *l, const char *name, enum type t, const struct reduction *r, expr value);
/* The mean of the squares of (x - mean). `mean` has the shape of r's result, which keeps axes. */
struct value reduce_variance(struct lower *l, const char *name, enum type t, const struct reduction *r, struct value x,
                             struct value mean);

#endif
