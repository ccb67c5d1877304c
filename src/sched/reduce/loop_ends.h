/* Ends of a reduction's loops that depend on data (loop_ends.c). */
#ifndef TPAT_SCHED_LOOP_ENDS_H
#define TPAT_SCHED_LOOP_ENDS_H

#include "sched/rule.h"

/* Returns an index from which on all terms along reduced axis k are the identity, over out's axes: at most the axis's
 * extent, may be negative. Null: none is known. */
expr reduced_end(struct ir_program *p, const struct ir_stage *s, int k);

#endif
