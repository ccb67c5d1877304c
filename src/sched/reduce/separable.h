/* Two passes over small windows in one kernel: across rows, and then along the rows that the first pass makes, like a
 * separable filter (separable_find.c). See rule_separable.c. */
#ifndef TPAT_SCHED_SEPARABLE_H
#define TPAT_SCHED_SEPARABLE_H

#include "sched/rule.h"

enum { SEPARABLE_TABLES = 2, SEPARABLE_POINTS = 16 /* points of a window, at most */ };

struct separable {
	struct ir_program *p;
	int stages;                                     /* number of stages, from the first on in the program's order */
	const struct ir_stage *table[SEPARABLE_TABLES]; /* sums of weights and the like over one axis, which read no
	                                                   buffer */
	int tables;
	const struct ir_stage *first, *second;
	int rank;                        /* rank of both passes' results; rows run along the last axis */
	int64_t rows, length, result;    /* number of rows; row length of the first pass, and of the second */
	int first_points, second_points; /* window points of each pass; 1: a map */
	int read_bytes;                  /* size of an element that the first pass reads along its rows */
};

/* Matches the stages from s on. Returns false if they are no such pair of passes. */
bool separable_find(struct separable *f, struct ir_program *p, const struct ir_stage *s);

/* An expression of the program with the tables' loads replaced by their computation, and the reduced axes of the
 * stage's window by point number `point`. */
expr separable_at(const struct separable *f, const struct ir_stage *s, expr e, int64_t point);

#endif
