/* Inside src/sched/: the rows of a scan, for the rules that make them. */
#ifndef TPAT_SCHED_SCAN_ROW_H
#define TPAT_SCHED_SCAN_ROW_H

#include "sched/build.h"

/* One row of the result: where its elements are, and what its axes are called. */
struct scan_row {
	struct ir_program *p;
	const struct ir_stage *s;
	expr extent;       /* of the scanned axis */
	expr outer, inner; /* position among the axes before it, and behind it */
	expr inner_count;
	expr own[IR_MAX_RANK];  /* AXIS nodes */
	expr axis[IR_MAX_RANK]; /* kernel variables */
	expr sum;
};

expr scan_rows(struct ir_program *p, const struct ir_stage *s); /* how many */
/* Declares what row number `row` needs: its axes, and `sum`, the neutral element of the scan's combine. */
struct scan_row scan_row_begin(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row);
/* The position along the axis where the `step`-th element in the direction of the scan is. */
expr scan_axis_of_step(const struct scan_row *r, expr step);
/* What is accumulated at position `at`; the result there, of the accumulated `sum`. */
expr scan_value_at(struct scan_row *r, expr at);
void scan_store_at(struct scan_row *r, struct ir_block *b, expr at, expr sum);
/* A variable "part" with what the thread at `step` adds to the scan, and whether `step` is inside of the row. */
expr scan_part(struct ir_program *p, struct ir_block *b, struct scan_row *r, expr step, expr *inside);
/* The result at `step`, which is inside, of what was accumulated there. */
void scan_store_step(struct ir_program *p, struct ir_block *then, struct scan_row *r, expr sum);

/* A row by one thread; a row by `lanes` threads, of which this is `lane`. */
void scan_row_serial(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row);
void scan_row_lanes(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr row, expr lane, int lanes);

#endif
