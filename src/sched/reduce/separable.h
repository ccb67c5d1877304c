/* Two passes over small windows in one kernel: across rows, and then along the rows that the first one makes, as a
 * separable filter has them (separable_find.c). See rule_separable.c. */
#ifndef TPAT_SCHED_SEPARABLE_H
#define TPAT_SCHED_SEPARABLE_H

#include "sched/rule.h"

enum { SEPARABLE_TABLES = 2, SEPARABLE_POINTS = 16 /* of a window */ };

struct separable {
	struct ir_program *p;
	int stages;                                     /* the first of all on, in the program's order */
	const struct ir_stage *table[SEPARABLE_TABLES]; /* sums of weights and their like, over one axis, which read
	                                                   nothing */
	int tables;
	const struct ir_stage *first, *second;
	int rank;                        /* of what both make; rows run along the last axis */
	int64_t rows, length, result;    /* along the last axis but one; of a row of the first, of the second */
	int first_points, second_points; /* of the windows; 1: a map */
	int read_bytes;                  /* of an element that the first reads along its rows */
};

bool separable_find(struct separable *f, struct ir_program *p, const struct ir_stage *s);

/* An expression of the program with what tables hold worked out in place of what is read of them, and the point number
 * `point` of the stage's window in place of its reduced axes. */
expr separable_at(const struct separable *f, const struct ir_stage *s, expr e, int64_t point);

#endif
