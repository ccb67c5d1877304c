/* Several reductions over the same small window, and maps that spread their results over it (windows.c,
 * rule_windows.c). */
#ifndef TPAT_SCHED_WINDOWS_H
#define TPAT_SCHED_WINDOWS_H

#include "sched/rule.h"

enum { WINDOWS_MAX_STAGES = 8, WINDOWS_MAX_POINTS = 32 };

struct windows {
	struct ir_program *p;
	int stages, reductions;                           /* reductions first, then maps */
	const struct ir_stage *stage[WINDOWS_MAX_STAGES]; /* all reductions have the same extents, including the reduced
	                                                     ones */
	int64_t spread[WINDOWS_MAX_STAGES][IR_MAX_RANK];  /* a map's elements per window, along each axis */
	int inner, outer;                                 /* axes: the last one, and the one before it; -1: none */
	int64_t points;                                   /* points of a window */
	double apart; /* the fraction of a window not shared with its neighbour along `inner`: at most 1 */
	double bytes; /* bytes in the input from a window to that neighbour */
};

/* Matches the stages from s on. Returns false if fewer than two match. */
bool windows_match(struct windows *w, struct ir_program *p, const struct ir_stage *s);
int windows_reduction(const struct windows *w, expr load);  /* the reduction whose result the load reads, or -1 */
bool windows_stored(const struct windows *w, int stage);    /* true if a stage outside the group reads its result */
int64_t windows_spread(const struct windows *w, int stage); /* a map's elements per window; 1 for a reduction */

#endif
