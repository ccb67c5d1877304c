/* Weights of recurrences: inputs whose elements a loop multiplies by its own states, or by the inputs of each
 * iteration. They decide whether rounding errors shrink or grow from iteration to iteration. */
#ifndef TPAT_CHECK_RECURRENCE_H
#define TPAT_CHECK_RECURRENCE_H

#include "ir/ir.h"

struct recurrence_weight {
	expr terms; /* of the sum of products that the weight is in, over symbols; null: no weight */
	int bits;   /* of integers that a float weight is multiplied by first, as a scale of quantised weights; or 0 */
};

/* Returns one for each buffer of the program, by id, in `a`. Only float inputs are weights. */
struct recurrence_weight *recurrence_weights(const struct ir_program *p, struct arena *a);

#endif
