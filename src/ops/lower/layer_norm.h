/* Layer normalisation with one inverse deviation a row, as ONNX Runtime's operators have it. */
#ifndef TPAT_OPS_LAYER_NORM_H
#define TPAT_OPS_LAYER_NORM_H

#include "ops/lower/reduction.h"

struct layer_norm {
	struct value y;       /* in type t */
	struct value mean;    /* not given unless `centred` */
	struct value inverse; /* 1 / sqrt(variance + epsilon), or without a mean 1 / sqrt(mean of squares + epsilon) */
};
/* Normalises x over the axes from `axis` on; y = normalised * gamma + beta, both optional. Without `centred` the mean
 * counts as zero. Reads the attribute epsilon. Statistics keep the reduced axes with extent 1. */
struct layer_norm layer_norm(struct lower *l, struct value x, int axis, bool centred, struct value gamma,
                             struct value beta, enum type t);

#endif
