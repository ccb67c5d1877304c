/* Inside src/sched/: a reduction in one thread. */
#ifndef TPAT_SCHED_ACCUMULATE_H
#define TPAT_SCHED_ACCUMULATE_H

#include "sched/rule.h"

/* The accumulator of a reduction: `sum`, or `best` and `best_at` of an arg reduction. */
struct accumulator {
	struct ir_program *p;
	const struct ir_stage *s;
	expr value, position; /* variables */
	expr none;            /* the position that means "no value yet" */
};
/* Number of elements of the reduced space. */
expr reduced_count(struct ir_program *p, const struct ir_stage *s);
/* The accumulator of a stage without its variables, which the caller declares. */
struct accumulator accumulator_of(struct ir_program *p, const struct ir_stage *s);
struct accumulator accumulator_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s);
/* Accumulates a value at its position in the reduced space. For an arg reduction, returns the block that runs if it is
 * the new best. */
struct ir_block *accumulate(struct accumulator *a, struct ir_block *b, expr value, expr position);
/* The same for an arg reduction if `inside`, a bool, is true; the value is computed anyway. */
struct ir_block *accumulate_inside(struct accumulator *a, struct ir_block *b, expr value, expr position, expr inside);
/* The position of the best value of an arg reduction; the first position if there were no values. */
expr accumulator_position(const struct accumulator *a);
/* The same where only values better than the identity were accumulated: without one, all values are the identity. */
expr accumulator_position_of_better(const struct accumulator *a);
/* A bool: the value replaces the best so far in an arg reduction. */
expr accumulator_better(enum ir_combine c, expr value, expr best);

/* Arg reductions with vectorised loads of `width` neighbours along the last reduced axis (arg_vectors.c). The first is
 * true if the stage allows it; the second emits the share of one lane of `lanes`. `axis`: out's axes. */
bool arg_vectors_fit(struct ir_program *p, const struct ir_stage *s, int width);
void arg_by_vectors(struct accumulator *a, struct ir_block *b, const expr *axis, expr lane, int lanes, int width);

/* The value to store: the post expression, with the stage's axes replaced by `axis`. Loads at position `same` become
 * loads at `same_as`. */
expr accumulator_result(struct accumulator *a, const expr *axis, expr same, expr same_as);
/* Marks which of out's and the reduced axes a reduction reads, in its value and its post expression. */
void axes_read(const struct ir_stage *s, bool *used);
/* Writes the axes of point number `point` of a reduced space with constant extents. */
void reduced_point(struct ir_program *p, const struct ir_stage *s, int64_t point, expr *axis);

#endif
