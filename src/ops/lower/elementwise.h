/* Elementwise operators: one row in an op_def table each. `map` gets the operands' elements widened to the compute
 * type (one type for all operands unless the slots say otherwise) and returns the result in that type. The result is
 * narrowed to the operands' element type, or to .result if set (TYPE_BOOL for comparisons). */
#ifndef TPAT_OPS_ELEMENTWISE_H
#define TPAT_OPS_ELEMENTWISE_H

#include "ops/lower/lower.h"

/* Lower function of every row: broadcasts all inputs, including variadic ones, and applies op->map. */
int elementwise_lower(struct lower *l);
/* The same, with the second operand's first axis aligned to the first operand's `axis`: one-directional broadcasting.
 */
int elementwise_lower_axis(struct lower *l, int axis);
/* Fails, naming two operands, if operands whose slots allow the same types differ in type. */
int elementwise_check_types(struct lower *l);

#endif
