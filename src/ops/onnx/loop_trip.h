/* How often a loop turns that ends by counting: its number of turns, from the condition that its body gives. */
#ifndef TPAT_OPS_LOOP_TRIP_H
#define TPAT_OPS_LOOP_TRIP_H

#include "ops/lower/lower.h"

/* A loop whose body has been lowered and not been taken out of the program's stages yet. */
struct loop_trip {
	struct lower *l;
	const struct lower_loop *loop;
	int states;
	const struct value *first, *state, *next; /* of each state: before the loop, in a turn, and for the next one */
	struct value first_cond, cond;            /* first_cond may not be given: it holds */
};

/* The number of turns, in type index, when the condition compares states that grow by a constant in each turn with what
 * stays the same, as in "i + 1 < n"; then the condition need not be looked at again. Null: not known. When the first
 * condition is data, what comes back is the number for the case that it holds. Comparisons in float are taken as those
 * of integers, as in all arithmetic on extents. */
expr loop_trip(const struct loop_trip *t);

#endif
