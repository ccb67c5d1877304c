/* Inside src/sched/: the points that one of several threads reduces, in two pieces of code (steps.c). */
#ifndef TPAT_SCHED_STEPS_H
#define TPAT_SCHED_STEPS_H

#include "sched/build/accumulate.h"

/* A thread that has at most STEPS_FEW points, as is known, loads all of them at once, others STEPS_AT_ONCE. */
enum { STEPS_FEW = 24, STEPS_AT_ONCE = 8 };

struct steps_piece {
	struct ir_block *body; /* null: none */
	expr point, inside;    /* inside: bool, false where `point` is the last one again; null: always true */
};

/* Whole steps of a thread, which is `part` of `parts`. `name`: of the point. */
struct steps_piece steps_whole(struct ir_program *p, struct ir_block *b, const char *name, expr part, int parts,
                               expr points);
/* The points after whole steps. Those beyond the end load the last one, so that all loads are in flight together: with
 * a branch for each of them, one would wait for the other. */
struct steps_piece steps_other(struct ir_program *p, struct ir_block *b, const char *name, expr part, int parts,
                               expr points);
/* Accumulates a value at the piece's point, if that is inside; not for arg reductions where some are not. */
void steps_accumulate(struct accumulator *a, const struct steps_piece *in, expr value);

#endif
