/* Gaussian elimination of matrices with partial pivoting, one column a turn of a loop. Leading axes are a batch. */
#ifndef TPAT_OPS_ELIMINATION_H
#define TPAT_OPS_ELIMINATION_H

#include "ops/lower/lower.h"

struct elimination {
	struct lower *l;
	struct value x;
	enum type type; /* the compute type */
	int batch;      /* leading axes */
	expr n;         /* rows */
	struct lower_loop loop;
	struct value m, pivot; /* the matrices [batch..., n, columns]; the row of this turn's pivot, [batch...] */
};
/* Fills in *e for input 0. Fails unless it has two equal last axes. */
int elimination_begin(struct lower *l, struct elimination *e);
/* Begins the loop over the rows, one turn each, on matrices of `columns` columns that start as `first`. The pivot of a
 * turn is the largest element of the turn's column in the turn's row or below. */
void elimination_loop(struct elimination *e, expr columns, expr (*first)(struct elimination *e, const struct space *s));
/* Element (i, j) of the matrix in `v` at the batch indices `at`. */
expr elimination_element(const struct elimination *e, struct value v, const expr *at, expr i, expr j);
/* The row of the pivot at the batch indices `at`. */
expr elimination_pivot(const struct elimination *e, const expr *at);
/* Element (i, j) of the matrix after the turn's row and the pivot's are exchanged. */
expr elimination_exchanged(const struct elimination *e, const struct space *s, expr i, expr j);

#endif
