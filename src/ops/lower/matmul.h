/* The index space of a matrix product with numpy's rules for ranks and batches; shared by the MatMul operators. */
#ifndef TPAT_OPS_MATMUL_H
#define TPAT_OPS_MATMUL_H

#include "ops/lower/lower.h"

struct product {
	struct space s;                      /* batch axes, then M and N where the operands have them, then K */
	int rank;                            /* of the result: without K */
	expr a[IR_MAX_RANK], b[IR_MAX_RANK]; /* the elements' indices */
	expr row, column;                    /* m and n; 0 where an operand has one axis */
};
/* Fails when the inner extents or the batches cannot agree, or an operand is a scalar. */
int product_space(struct lower *l, struct value a, struct value b, struct product *out);
/* A zero point or scale of the operand `of` with element `index`: a scalar, a list over axis `axis` (its rows or
 * columns; negative: it has none), or with of's axes, broadcast. */
int product_parameter(struct lower *l, struct value v, struct value of, const expr *index, int axis, expr *out);
int product_row(struct value a);    /* the axis of a's rows, or negative */
int product_column(struct value b); /* of b's columns */

#endif
