/* Rows for elementwise operators: one line each. `map` gets the operands' elements widened to the compute type (one
 * type for all operands unless the op_def's slots say otherwise) and gives the result in that type; it is narrowed to
 * the operands' element type, or to .result when set (TYPE_BOOL for comparisons). */
#ifndef TPAT_OPS_ELEMENTWISE_H
#define TPAT_OPS_ELEMENTWISE_H

#include "ops/lower/lower.h"

/* The lower function of every row: broadcasts all inputs (also variadic ones) and applies op->map. */
int elementwise_lower(struct lower *l);
/* The same, where the second operand's first axis is the first operand's `axis`: broadcasting in one direction. */
int elementwise_lower_axis(struct lower *l, int axis);
/* Operands whose slots allow the same types must have one type: a sentence that names two that differ. */
int elementwise_check_types(struct lower *l);

#endif
