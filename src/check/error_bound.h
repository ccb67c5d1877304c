/* How far right results may be from the interpreter's: kernels add in another order, contract products and sums, and
 * round intermediate results in other places. The bound of each element follows from the program: roundings of every
 * operation, carried through the operations after it; of sums it depends on the number of terms, their type and their
 * size in double.
 *
 * A bound is of first order and probabilistic: it is several times what roundings add up to, and far less than a term,
 * as long as the type can tell a sum with that term from the sum without it. An element that no bound is known for gets
 * none (a result behind an index that rounding may change, or behind a loop). */
#ifndef TPAT_CHECK_ERROR_BOUND_H
#define TPAT_CHECK_ERROR_BOUND_H

#include "ir/ir.h"

/* bound[o] for output o of the program: f64, of the output's extents, no element negative; 0 where nothing is known. Of
 * TYPE_NONE where nothing is known of any element. Runs the interpreter, over a program several times as large.
 * Whatever that program cannot take leaves all bounds of TYPE_NONE: no failure. Memory is a's. */
void error_bounds(struct tensor *bound, const struct ir_program *p, const struct tensor *const *inputs,
                  struct arena *a);

/* ---- Inside: error_expr.c. */

/* Errors of buffers: f64 buffers of the same extents, by the id of what they belong to. */
struct error_program {
	struct ir_program *p;
	struct map errors; /* of buffers that are not exact; ERROR_UNKNOWN where nothing is known */
	struct map known;  /* by expression: its error, f64; null in the map: not asked for yet */
	bool lost;         /* the expression asked for last holds something of which nothing is known */
};
extern const struct ir_buffer error_unknown;

/* An upper bound of |got - right| for an expression whose loads have errors, as an f64 expression over the same axes;
 * of a bool 1.0 where it may be the other. Null: exact. Sets e->lost where nothing is known. */
expr error_of(struct error_program *x, expr e);
/* Units in the last place relative to the value, half of one: 2^-24 of f32. 0 of integers. */
double error_unit(enum type t);

#endif
