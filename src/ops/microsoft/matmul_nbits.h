/* Weights of 2, 4 or 8 bits in blocks, for MatMulNBits and the operators that fuse several such products. */
#ifndef TPAT_OPS_MATMUL_NBITS_H
#define TPAT_OPS_MATMUL_NBITS_H

#include "ops/lower/lower.h"

/* The matrix [rows, k]. The caller fills all but `blocks`, which nbits_check() does. */
struct nbits {
	int64_t bits, block, rows, k;
	expr blocks; /* number of blocks per row */
	struct value b, scale, zero;
};
int nbits_check(struct lower *l, struct nbits *p);
/* Its element (n, k) in type c. */
expr nbits_weight(struct lower *l, const struct nbits *p, enum type c, expr n, expr k);

#endif
