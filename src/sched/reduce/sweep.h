/* Inside src/sched/: rule sweep, between its match and the kernel. */
#ifndef TPAT_SCHED_SWEEP_H
#define TPAT_SCHED_SWEEP_H

#include "sched/rule.h"

enum { SWEEP_MOST_PARTS = 2 };
enum { DOWN, ACROSS };

struct sweep {
	struct ir_program *p;
	const struct ir_stage *s;
	int axis[2];                  /* the result's axes down and across; down: -1 if the window has one axis */
	int reduced[2];               /* the window's axes, numbered after the result's */
	int64_t taps[2];              /* extents of the window; 1 down if it has one axis */
	int64_t step[2];              /* taps between neighbouring windows */
	int deep[IR_MAX_RANK], deeps; /* other reduced axes longer than 1, numbered like the window's */
	int64_t channels;             /* their points */
	expr moving[SWEEP_MOST_PARTS], still[SWEEP_MOST_PARTS];
	int movings, stills;
};

/* Lines that `rows` windows cover; places of a line that `width` windows cover. */
static inline int64_t sweep_covered(const struct sweep *f, int way, int windows)
{
	return (windows - 1) * f->step[way] + f->taps[way];
}

/* Adds a kernel of the choice to the step. `vectors`: for rows of whole vectors. */
void sweep_kernel(struct ir_plan *plan, struct ir_step *step, const struct sweep *f, const struct sched_choice *c,
                  const char *suffix, bool vectors);

#endif
