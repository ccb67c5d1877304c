/* Kernels of attention: what both the tiles of a block and their serial twin are made of. */
#ifndef TPAT_SCHED_ATTEND_KERNEL_H
#define TPAT_SCHED_ATTEND_KERNEL_H

#include "sched/attend.h"

/* The axes of struct attend in a kernel: AXIS k -> value. */
struct attend_place {
	const struct attend *a;
	expr axis[IR_MAX_RANK + 2];
};

/* How many tiles of `queries` a head's queries make; how many blocks all heads'. */
expr attend_tiles(const struct attend *a, int queries);
expr attend_blocks(const struct attend *a, int queries);
/* Declares, from the block's number, the row axes but the queries', and gives the first query of the block's tile. */
expr attend_block(struct attend_place *at, struct ir_block *b, int queries, expr block);
/* An expression of struct attend with the axes named; keys and places in a head may be null where it has none. */
expr attend_expr(struct attend_place *at, expr e, expr query, expr key, expr place);
/* The block's queries by one processor. */
void attend_serial(struct attend_place *at, struct ir_block *b, int queries, expr first);

#endif
