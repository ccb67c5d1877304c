/* Inside src/sched/: tiles that look back. */
#ifndef TPAT_SCHED_TILES_H
#define TPAT_SCHED_TILES_H

#include "sched/sched.h"

/* Tiles (tiles.c): pieces of `threads` * `items` that blocks take in their order, each going on from those before
 * it. */
struct tiles {
	const struct ir_buffer *state; /* of u64, zeroed by a step of its own */
	int threads, items;
	expr tile; /* this block's */
};
/* Makes the state for `count` tiles that pass on a value of type `t`, and the step that zeroes it. */
struct tiles tiles_new(struct ir_plan *plan, const struct ir_stage *s, expr count, enum type t, int threads, int items);
expr tiles_of(struct ir_program *p, const struct tiles *t, expr n); /* how many tiles n elements need */
void tiles_take(struct ir_program *p, struct ir_kernel *k, struct tiles *t, expr count); /* declares `tile` */
/* Declares `before`: the combination of `sum` in the `n` tiles before this one. */
expr tiles_before(struct ir_program *p, struct ir_block *b, const struct tiles *t, expr sum, enum ir_combine c, expr n);

#endif
