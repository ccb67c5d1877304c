/* What the operators of ai.onnx.ml share: lists in attributes as constants of the program. */
#ifndef TPAT_OPS_ML_H
#define TPAT_OPS_ML_H

#include "ops/lower.h"

/* A constant vector of n numbers in type t. */
int ml_constant(struct lower *l, const char *name, enum type t, const double *at, int n, struct value *out);

#endif
