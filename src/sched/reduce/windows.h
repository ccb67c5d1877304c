/* Several reductions over the same small window, and maps that spread their results over it (windows.c,
 * rule_windows.c). */
#ifndef TPAT_SCHED_WINDOWS_H
#define TPAT_SCHED_WINDOWS_H

#include "sched/rule.h"

enum { WINDOWS_MAX_STAGES = 8, WINDOWS_MAX_POINTS = 32 };

struct windows {
	struct ir_program *p;
	int stages, reductions;                           /* reductions first, then maps */
	const struct ir_stage *stage[WINDOWS_MAX_STAGES]; /* all reductions have the same extents, also reduced ones */
	int64_t spread[WINDOWS_MAX_STAGES][IR_MAX_RANK];  /* of a map: its elements a window, along each axis */
	int inner, outer;                                 /* axes: the last one, and the last before it; -1: none */
	int64_t points;                                   /* of a window */
	double apart; /* what a window does not share with its neighbour along `inner`, as a part of it: at most 1 */
	double bytes; /* in memory from a window to that neighbour, in what is read */
};

/* The stages from s on; false: there are no two. */
bool windows_match(struct windows *w, struct ir_program *p, const struct ir_stage *s);
int windows_reduction(const struct windows *w, expr load);  /* whose result it is, or -1 */
bool windows_stored(const struct windows *w, int stage);    /* somebody else reads it */
int64_t windows_spread(const struct windows *w, int stage); /* elements of a map a window; 1 of a reduction */

#endif
