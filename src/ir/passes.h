/* The passes; their table is in optimise.c. */
#ifndef TPAT_IR_PASSES_H
#define TPAT_IR_PASSES_H

#include "ir/ir.h"

int ir_pass_simplify(struct ir_program *p, struct err *e);
int ir_pass_merge(struct ir_program *p, struct err *e);
int ir_pass_gather(struct ir_program *p, struct err *e);
/* Rewrites a sum of products with a one-hot matrix as a map that gathers rows. Returns the stage to run before it, or
 * null; a sum that is no such product stays as it is. */
struct ir_stage *ir_one_hot_gather(struct ir_program *p, struct ir_stage *s);
int ir_pass_invert(struct ir_program *p, struct err *e);
int ir_pass_unscale(struct ir_program *p, struct err *e);
/* Quantisations of dequantised numbers with the same scale become integer arithmetic (requantise.c); the beginning of
 * pass unscale. */
void ir_requantise(struct ir_program *p);
/* e with the maps of floats that it loads from, up to numbers of 8 bits. */
expr ir_see_floats(struct ir_program *p, expr e);
int ir_pass_inline(struct ir_program *p, struct err *e);
/* Reductions of one element become maps; the start of pass inline. */
void ir_reductions_of_one(struct ir_program *p);
/* Small reductions become maps (reduce_few.c). Returns for each stage whether it is now one that should move into all
 * its readers. */
bool *ir_unroll_reductions(struct ir_program *p);
/* The largest or smallest value of a rising or falling function is computed from the largest or smallest argument
 * (reduce_rising.c). */
void ir_reduce_arguments(struct ir_program *p);
/* Reductions of a whole tensor go over it in the order of its memory; the end of pass inline. */
void ir_reduce_in_order(struct ir_program *p);
/* The interval of a float's values, as far as its operations tell, and whether it may be NaN. */
struct ir_float_range {
	double low, high;
	bool nan;
};
struct ir_float_range ir_float_range(expr e);
/* That of a binary operation in exact arithmetic. */
struct ir_float_range ir_range_of_two(enum ir_op op, struct ir_float_range a, struct ir_float_range b);
/* True if rounding to the type keeps NaN and never reverses the order of two numbers; not for floats that lack
 * infinity. */
bool ir_rounds_in_order(enum type t);
int ir_pass_prune(struct ir_program *p, struct err *e);
int ir_pass_place(struct ir_program *p, struct err *e);

#endif
