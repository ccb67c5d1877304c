/* Error bounds: how far correct results may differ from the interpreter's. Kernels add in another order, contract
 * products and sums, and round intermediate results elsewhere. The bound of each element follows from the program: it
 * propagates the rounding of every operation through later ones. For a sum it depends on the number, type and magnitude
 * of the terms.
 *
 * A bound is of first order and probabilistic: several times the expected rounding error, and far below a single term
 * as long as the type can represent its effect on the sum. Some elements have no bound: results that depend on an index
 * which rounding may change.
 *
 * Loops carry the errors of their states from iteration to iteration. Such a bound assumes that all errors add up, so
 * it may grow by a factor in each iteration where the errors themselves do not. So the loop also runs in some copies
 * whose stages are perturbed at random by as much as they may be rounded. Where the bound exceeds 4 times the measured
 * distance of these copies, that distance (a multiple of it) is the bound. If it is an eighth of the values, the loop
 * is chaotic, and there is none. */
#ifndef TPAT_CHECK_ERROR_BOUND_H
#define TPAT_CHECK_ERROR_BOUND_H

#include "ir/ir.h"

/* Computes bound[o] for each output o: f64, of the output's extents, not negative; 0 for elements without a bound.
 * TYPE_NONE if no element has one. Runs the interpreter on a program several times as large; if that fails, all bounds
 * are TYPE_NONE, which is not an error. `report` (may be null): sentences on loops whose bounds grew without limit, or
 * null. Memory comes from `a`. */
void error_bounds(struct tensor *bound, const char **report, const struct ir_program *p,
                  const struct tensor *const *inputs, struct arena *a);

#endif
