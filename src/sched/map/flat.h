/* Maps in vectors that go across the ends of rows (rule_flat.c), and single elements of maps (map_value.c). */
#ifndef TPAT_SCHED_FLAT_H
#define TPAT_SCHED_FLAT_H

#include "sched/rule.h"

/* The map with those of its last axes joined that occur only together; the map itself if there are none. Its result has
 * the same elements in the same order. */
const struct ir_stage *map_joined(struct ir_program *p, const struct ir_stage *s);
struct flat_shape {
	int width;          /* elements of a thread */
	bool shifted;       /* vectors that are not aligned are taken from the aligned ones around them */
	int resident;       /* blocks of a multiprocessor for which registers should suffice; 0: no minimum */
	const char *suffix; /* of the kernel's name */
};
/* Adds a kernel for all extents to the step. Returns false and adds nothing if rows are known to be whole vectors, or
 * if elements are narrower than a byte. `joined`: map_joined() of the stage. */
bool flat_kernel(struct ir_plan *plan, struct ir_step *step, const struct ir_stage *s, const struct ir_stage *joined,
                 const struct sched_choice *c, const struct flat_shape *shape);
/* The position of a map's element, over out's axes, which are written to `own`. */
expr map_position(struct ir_program *p, const struct ir_stage *s, expr *own);
/* Returns the value of the element at flat position `at`; declares the axes that it needs in `b`. */
expr map_value_at(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr at);

#endif
