/* Matrix products: the index space with numpy's rules for ranks and batches, which the MatMul operators share; and
 * Gemm. */
#ifndef TPAT_OPS_PRODUCT_H
#define TPAT_OPS_PRODUCT_H

#include "ops/lower/lower.h"

struct product {
	struct space s;                      /* batch axes, then M and N where the operands have them, then K */
	int rank;                            /* rank of the result, without K */
	expr a[IR_MAX_RANK], b[IR_MAX_RANK]; /* the elements' indices */
	expr column;                         /* the index n; 0 if b has one axis */
};
/* Fails if the inner extents or the batches cannot agree, or an operand is a scalar. */
int product_space(struct lower *l, struct value a, struct value b, struct product *out);
/* *out is the element of a zero point or scale v for element `index` of its operand `of`. v is a scalar; or a list
 * over axis `axis` (the operand's rows or columns; negative: it has none); or has the operand's axes, broadcast. */
int product_parameter(struct lower *l, struct value v, struct value of, const expr *index, int axis, expr *out);
int product_row(struct value a);    /* the axis of a's rows, or negative */
int product_column(struct value b); /* the axis of b's columns, or negative */
/* *out is one term of an integer product, (a - zero_a) * (b - zero_b) in i32. Zero points are optional; see
 * product_parameter(). */
int product_integers(struct lower *l, const struct product *p, struct value a, struct value zero_a, struct value b,
                     struct value zero_b, expr *out);

/* Makes output 0 from the inputs and attributes of ONNX's Gemm; `finish` may be null. */
int product_gemm(struct lower *l, lower_finish finish);

#endif
