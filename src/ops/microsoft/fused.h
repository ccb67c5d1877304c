/* Activations of com.microsoft's fused operators. */
#ifndef TPAT_OPS_FUSED_H
#define TPAT_OPS_FUSED_H

#include "ops/lower/lower.h"

/* x after the node's attribute `activation`, whose numbers are activation_alpha, _beta and _gamma. */
int fused_activation(struct lower *l, expr x, expr *out);

#endif
