/* Operators with a last step of their own: ONNX Runtime's FusedConv and FusedGemm are Conv and Gemm, then an
 * activation. */
#ifndef TPAT_OPS_FUSED_H
#define TPAT_OPS_FUSED_H

#include "ops/lower/lower.h"

/* From y, an element of the result over `out` in the compute type, what is stored. */
typedef int (*fused_finish)(struct lower *l, const struct space *out, expr y, expr *result);

/* The operators' lower functions (conv.c, gemm.c), with a last step or null. */
int convolution_fused(struct lower *l, fused_finish finish);
int gemm_fused(struct lower *l, fused_finish finish);

/* x after the node's attribute `activation`, whose numbers are activation_alpha, _beta and _gamma. */
int fused_activation(struct lower *l, expr x, expr *out);
/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
expr gelu_tanh(expr x);

#endif
