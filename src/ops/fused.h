/* Operators with a last step of their own: ONNX Runtime's FusedConv and FusedGemm are Conv and Gemm, then an
 * activation. */
#ifndef TPAT_OPS_FUSED_H
#define TPAT_OPS_FUSED_H

#include "ops/lower.h"

/* From y, an element of the result over `out` in the compute type, what is stored. */
typedef int (*fused_finish)(struct lower *l, const struct space *out, expr y, expr *result);

/* The operators' lower functions (conv.c, gemm.c), with a last step or null. */
int convolution_fused(struct lower *l, fused_finish finish);
int gemm_fused(struct lower *l, fused_finish finish);

#endif
