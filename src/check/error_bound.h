/* Error bounds: how far correct results may differ from the interpreter's. Kernels add in another order, contract
 * products and sums, and round intermediate results elsewhere. The bound of each element follows from the program: it
 * propagates the rounding of every operation through later ones. For a sum it depends on the number, type and magnitude
 * of the terms.
 *
 * A bound is of first order and probabilistic: several times the expected rounding error, and far below a single term
 * as long as the type can represent its effect on the sum. Some elements have no bound: results that depend on an index
 * which rounding may change, or on a loop. */
#ifndef TPAT_CHECK_ERROR_BOUND_H
#define TPAT_CHECK_ERROR_BOUND_H

#include "ir/ir.h"

/* Computes bound[o] for each output o: f64, of the output's extents, not negative; 0 for elements without a bound.
 * TYPE_NONE if no element has one. Runs the interpreter on a program several times as large; if that fails, all bounds
 * are TYPE_NONE, which is not an error. Memory comes from `a`. */
void error_bounds(struct tensor *bound, const struct ir_program *p, const struct tensor *const *inputs,
                  struct arena *a);

/* ---- Inside: error_expr.c. */

/* Buffers of errors: f64, of the same extents, by the id of their buffer. */
struct error_program {
	struct ir_program *p;
	struct map errors; /* of inexact buffers; ERROR_UNKNOWN: no bound */
	struct map known;  /* error by expression, f64; absent: not computed yet */
	bool lost;         /* the last expression contains something without a bound */
};
extern const struct ir_buffer error_unknown;

/* An upper bound of |got - exact| for an expression whose loads have errors, as an f64 expression over the same axes;
 * for a bool 1.0 if it may flip. Null: exact. Sets x->lost if there is no bound. */
expr error_of(struct error_program *x, expr e);
/* Half a unit in the last place, relative to the value: 2^-24 for f32; 0 for integers. */
double error_unit(enum type t);

#endif
