/* Inside src/sched/: how one thread reduces. */
#ifndef TPAT_SCHED_ACCUMULATE_H
#define TPAT_SCHED_ACCUMULATE_H

#include "sched/rule.h"

/* What accumulates in a reduction: `sum`, or `best` and `best_at` of an arg reduction. */
struct accumulator {
	struct ir_program *p;
	const struct ir_stage *s;
	expr value, position; /* variables */
	expr none;            /* the position that means "nothing yet" */
};
expr reduced_count(struct ir_program *p, const struct ir_stage *s);
struct accumulator accumulator_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s);
/* One more value, at its position in the reduced space. Of an arg reduction: the block behind that it is the best
 * one. */
struct ir_block *accumulate(struct accumulator *a, struct ir_block *b, expr value, expr position);
/* Of an arg reduction: where the best value is; of no values, the first place. */
expr accumulator_position(const struct accumulator *a);
/* Whether a value takes the place of the best so far in an arg reduction. */
expr accumulator_better(enum ir_combine c, expr value, expr best);

/* All values of one lane of `lanes`, for an arg reduction that may be made so (arg_vectors.c): vectors of `width`
 * neighbours, in the last reduced axis. `axis`: out's. */
bool arg_vectors_fit(const struct ir_program *p, const struct ir_stage *s, int width);
void arg_by_vectors(struct accumulator *a, struct ir_block *b, const expr *axis, expr lane, int lanes, int width);

/* What is stored of it: the post expression, with the stage's axes called `axis`; loads at position `same` are at
 * `same_as`. */
expr accumulator_result(struct accumulator *a, const expr *axis, expr same, expr same_as);
/* Which of out's and the reduced axes a reduction reads, in its value and behind it. */
void axes_read(const struct ir_stage *s, bool *used);
expr out_position(struct ir_program *p, const struct ir_stage *s); /* of an element of out, over its axes */
/* Point `point` of a reduced space whose extents are numbers, as that many axes. */
void reduced_point(struct ir_program *p, const struct ir_stage *s, int64_t point, expr *axis);

#endif
