/* Inside src/sched/: the points that one of several threads reduces, in pieces of code (steps.c). */
#ifndef TPAT_SCHED_STEPS_H
#define TPAT_SCHED_STEPS_H

#include "sched/build/accumulate.h"

/* A thread that has at most STEPS_FEW points, as is known, loads all of them at once. Of an open number it loads
 * STEPS_AT_ONCE, and at the end up to twice as many. */
enum { STEPS_FEW = 24, STEPS_AT_ONCE = 8, STEPS_MOST_PIECES = 4 };

struct steps_piece {
	struct ir_block *body;
	expr point, inside; /* inside: bool, false where `point` is the last one again; null: always true */
};

/* Emits the pieces for the points of a thread, which is `part` of `parts`; the caller fills their bodies. `name`: of
 * the point. Returns their number. */
int steps_pieces(struct steps_piece *out, struct ir_program *p, struct ir_block *b, const char *name, expr part,
                 int parts, expr points);
/* Accumulates a value at its position in the reduced space, if the piece's point is inside. */
void steps_accumulate(struct accumulator *a, const struct steps_piece *in, expr value, expr position);
/* Accumulates the stage's value at the piece's point of `points`, if that is inside. axis: out's, then room for the
 * reduced ones; used: which of them it reads. */
void steps_reduce(struct accumulator *a, const struct steps_piece *in, expr points, expr *axis, const bool *used);
/* The number of times that a thread with `mine` of these points waits for its loads. */
double steps_rounds(expr points, double mine);

#endif
