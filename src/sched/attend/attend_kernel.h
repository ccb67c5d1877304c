/* Kernels of attention: what both the tiles of a block and their serial twin are made of. */
#ifndef TPAT_SCHED_ATTEND_KERNEL_H
#define TPAT_SCHED_ATTEND_KERNEL_H

#include "sched/attend/attend.h"

/* The functions of a kernel that say what is computed. */
enum attend_role {
	ATTEND_QUERY,
	ATTEND_KEY,
	ATTEND_VALUE,
	ATTEND_SCORE,
	ATTEND_KEPT,
	ATTEND_KEPT_SOME,
	ATTEND_KEPT_ALL,
	ATTEND_LARGEST,
	ATTEND_SUM,
	ATTEND_WEIGHT,
	ATTEND_RESULT,
	ATTEND_PLACE,
	ATTEND_PUT,
	ATTEND_ROLES
};

/* The axes of struct attend in a kernel: AXIS k -> value. */
struct attend_place {
	const struct attend *a;
	expr axis[IR_MAX_RANK + 2];
	const struct ir_variable *function[ATTEND_ROLES]; /* those that the kernel has, for the call's arguments */
};

/* How many tiles of `queries` a head's queries make; how many blocks all heads'. */
expr attend_tiles(const struct attend *a, int queries);
expr attend_blocks(const struct attend *a, int queries);
/* Declares, from the block's number, the row axes but the queries', and gives the first query of the block's tile. The
 * last tiles come first: where masks are causal, they take longest. */
expr attend_block(struct attend_place *at, struct ir_block *b, int queries, expr block);
/* An expression of struct attend with the axes named; keys and places in a head may be null where it has none. */
expr attend_expr(struct attend_place *at, expr e, expr query, expr key, expr place);

/* A function of the kernel: const auto name = [&](this_query, this_key, place ...) { ... }; of those that are asked
 * for. The caller adds parameters, the variables of struct attend, and then its value, which is here() of an expression
 * of it. */
struct attend_function {
	struct attend_place *at;
	struct ir_lambda *lambda;
	expr query, key, place;
};
struct ir_lambda *attend_lambda(struct attend_place *at, struct ir_block *b, enum attend_role role);
struct attend_function attend_begin(struct attend_place *at, struct ir_block *b, enum attend_role role, bool of_query,
                                    bool of_key, const char *place, int places);
void attend_parameter(struct attend_function *f, expr variable);
expr attend_here(struct attend_function *f, expr e);
void attend_emit_score(struct attend_place *at, struct ir_block *b, expr score);
void attend_emit_softmax(struct attend_place *at, struct ir_block *b); /* largest_at, sum_at */
/* Arguments, the twin with 64-bit positions, and the text of all stages as comments. */
void attend_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct attend *a);

/* The block's queries by one processor. */
void attend_serial(struct attend_place *at, struct ir_block *b, int queries, expr first);

#endif
