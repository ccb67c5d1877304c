/* Inside src/sched/: tiles of a look-back scan. */
#ifndef TPAT_SCHED_TILES_H
#define TPAT_SCHED_TILES_H

#include "sched/sched.h"

/* Tiles of `threads` * `items` elements (tiles.c). Blocks take them in order, and each continues from those before
 * it. */
struct tiles {
	const struct ir_buffer *state; /* of u64, zeroed by a separate step */
	int threads, items;
	expr tile; /* this block's */
};
/* Creates a buffer of `count` 64-bit words, and the step that zeroes it. */
struct ir_buffer *words_new(struct ir_plan *plan, const char *name, expr count);
/* Creates the state for `count` tiles that pass on a value of type `t`, and the step that zeroes it. */
struct tiles tiles_new(struct ir_plan *plan, const struct ir_stage *s, expr count, enum type t, int threads, int items);
expr tiles_of(struct ir_program *p, const struct tiles *t, expr n); /* number of tiles of n elements */
void tiles_take(struct ir_program *p, struct ir_kernel *k, struct tiles *t, expr count); /* declares `tile` */
/* Declares `before`: the combination of `sum` in the `n` tiles before this one. */
expr tiles_before(struct ir_program *p, struct ir_block *b, const struct tiles *t, expr sum, enum ir_combine c, expr n);

#endif
