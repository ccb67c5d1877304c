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
enum { IR_OFTEN = 16 /* products of one element, from which on reading it has to be fast */ };
bool ir_at_most(expr n, int64_t most); /* provably */
/* True if s multiplies matrices of IR_OFTEN rows and columns or more, perhaps: a matrix product or a convolution. */
bool ir_multiplies_matrices(const struct ir_stage *s);
const struct ir_buffer *ir_first_buffer(expr e); /* the first that e loads from; null: none */
bool ir_reads_bytes(expr e);                     /* true if e loads numbers of at most 8 bits */
/* True if the rules for products of matrices take e as an operand: an element that is at most moved, cast, padded with
 * zeros, or less a zero point. Numbers of at most 8 bits may be unpacked and scaled. */
bool ir_is_operand(expr e);
/* True if a rule for products of matrices multiplies the factors of s, once the map that makes buffer `own` has moved
 * into it: those of one type, integers, those that are only cast, and 16-bit floats with scaled numbers of at most 8
 * bits. The stages at[0] to at[n - 1] are those before s. */
bool ir_factors_match(struct ir_stage *const *at, int n, const struct ir_stage *s, const struct ir_buffer *own);
/* Reductions of one element become maps; the start of pass inline. */
void ir_reductions_of_one(struct ir_program *p);
/* The points that a reduction goes over for an element, if they are known and at most `most`; else 0. */
int64_t ir_few_points(const struct ir_stage *s, int64_t most);
/* Small reductions become maps (reduce_few.c). Returns for each stage whether it is now one that should move into all
 * its readers. */
bool *ir_unroll_reductions(struct ir_program *p);
/* The largest or smallest value of a rising or falling function is computed from the largest or smallest argument
 * (reduce_rising.c). */
void ir_reduce_arguments(struct ir_program *p);
/* If the only reader of a reduction's result transposes it, and the reduction's loads are in order along the last axis
 * that it then has, gives the result the reader's order of axes (turn.c). */
bool ir_turn_reduction(struct ir_program *p, struct ir_stage *s, struct ir_stage *reader);
/* same_extents.c: true if map m reads b, of as many elements, only at the position of its own element in memory. */
bool ir_reads_in_order(struct ir_program *p, const struct ir_stage *m, const struct ir_buffer *b);
/* Gives such a map a result of b's extents. Returns a map of the former one, to substitute in all that reads it. */
struct ir_stage ir_reshape_map(struct ir_program *p, struct ir_stage *m, struct ir_buffer *b);
/* Gives a reduction the extents of such a map of its result instead. False if its axes would need a division. */
bool ir_reshape_sum(struct ir_program *p, struct ir_stage *s, struct ir_stage *m);
/* Reductions over a long part and one element that is concatenated with it combine the element with the result over the
 * long part (split_joined.c). */
void ir_split_joined(struct ir_program *p);
/* Maps and reductions compute only the elements that other stages read (only_read.c). Returns true if one has smaller
 * extents now. */
bool ir_narrow_results(struct ir_program *p);
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
