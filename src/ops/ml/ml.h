/* Shared by the operators of ai.onnx.ml: lists in attributes as constants of the program, and transformations of
 * scores. */
#ifndef TPAT_OPS_ML_H
#define TPAT_OPS_ML_H

#include "ops/lower/lower.h"

#define TS_ML (TS(F32) | TS(F64) | TS(I64) | TS(I32)) /* the numbers that ai.onnx.ml takes */

/* A constant vector of n numbers in type t. */
int ml_constant(struct lower *l, const char *name, enum type t, const double *at, int n, struct value *out);
int ml_ints(struct lower *l, const char *name, enum type t, const int64_t *at, int n, struct value *out);

/* Fails unless the node has class labels, and they are integers (attribute `ints`). */
int ml_check_labels(struct lower *l, const char *ints);

/* The scores [n, classes] after the function `f`, a word of post_transform. */
#define TRANSFORMS "NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO|PROBIT"
#define ATTR_TRANSFORM ATTR_WORD("post_transform", TRANSFORMS, "what scores pass")
struct value ml_transform(struct lower *l, struct value score, const char *f);

/* The same for a regressor: a single target supports PROBIT only, as in ONNX Runtime. */
struct value ml_transform_regression(struct lower *l, struct value score, const char *f);

/* The two scores [n, 2] for the one score s, [n, 1], of a classifier of two labels, after `f`, as in ONNX Runtime:
 * those of -s and s for LOGISTIC, and for NONE if `signed_`; otherwise 1 - s and s. */
int ml_pair(struct lower *l, struct value score, const char *f, bool signed_, struct value *out);

#endif
