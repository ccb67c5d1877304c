/* Inside src/sched/order/: a row along a stage's axis in a kernel: its place and its other axes. For scans and sorts.
 */
#ifndef TPAT_SCHED_ROW_AXES_H
#define TPAT_SCHED_ROW_AXES_H

#include "sched/rule.h"

struct row_place {
	expr outer, inner; /* positions over the axes before s->axis and after it */
	expr inner_count;
};

/* The place of row `number`. Declares outer and inner in `b` if the row has axes on both sides. */
struct row_place row_place_of(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number);
/* The position of element `at` of the row, in a buffer with `extent` elements along it. */
expr row_position(const struct row_place *r, expr extent, expr at);
/* Declares those axes of row `number` that are in `used`. Unused ones and s->axis itself are set to 0. */
void row_axes(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr number, const bool *used,
              expr *axis);

#endif
