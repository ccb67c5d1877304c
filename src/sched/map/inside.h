/* Maps that compute only where a condition on positions holds, and are simple elsewhere, such as padded rows. A
 * condition for each element keeps the elements of a vector apart: each waits for its own loads and repeats what they
 * share, such as the reciprocal of a scale. So a thread whose elements are all inside computes them without conditions
 * (inside.c). */
#ifndef TPAT_SCHED_INSIDE_H
#define TPAT_SCHED_INSIDE_H

#include "sched/build/axes.h"

struct map_inside {
	expr value; /* of an element that is inside */
	expr cond;  /* over the axes; `wanted`: its value where an element is inside */
	bool wanted;
	int inner;
};

/* False if there is no such condition that differs along the axis `inner`, or too little work under it. */
bool map_inside_find(struct map_inside *m, expr value, int inner);
/* Returns the condition in a kernel that all elements of a vector are inside; `first`, `last`: axes of its first and
 * its last element. */
expr map_inside_holds(struct ir_program *p, const struct map_inside *m, const struct axes *first,
                      const struct axes *last);

#endif
