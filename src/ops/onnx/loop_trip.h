/* The number of turns of a loop that counts, from the condition that its body computes. */
#ifndef TPAT_OPS_LOOP_TRIP_H
#define TPAT_OPS_LOOP_TRIP_H

#include "ops/lower/lower.h"

/* A loop whose body has been lowered and is still among the program's stages. */
struct loop_trip {
	struct lower *l;
	const struct lower_loop *loop;
	int states;
	const struct value *first, *state, *next; /* each state before the loop, in a turn, and for the next turn */
	struct value first_cond, cond;            /* first_cond may not be given: it holds */
};

/* The number of turns, of type index, if the condition compares states that grow by a constant in each turn with
 * invariant values, like "i + 1 < n"; the condition need not be evaluated then. Null: not known. If the first
 * condition is data, the result is the number for the case that it holds. Float comparisons count as integer ones, as
 * in all arithmetic on extents. */
expr loop_trip(const struct loop_trip *t);

#endif
