/* Attention kernels: the parts shared by a block's tiles and its serial twin. */
#ifndef TPAT_SCHED_ATTEND_KERNEL_H
#define TPAT_SCHED_ATTEND_KERNEL_H

#include "sched/attend/attend.h"

/* The functions that a kernel passes to the device code. */
enum attend_role {
	ATTEND_QUERY,
	ATTEND_KEY,
	ATTEND_VALUE,
	ATTEND_SCORE,
	ATTEND_KEPT_FROM,
	ATTEND_KEPT_TO,
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

/* A tensor map of keys or values: elements of a head, keys, then other axes of rows. */
struct attend_map {
	struct ir_tensor_map map;
	int axis[IR_MAP_RANK]; /* of dimension 2 on */
	expr fits;             /* bool: the copy engine can load it */
};
/* Returns false if the load `e` of `size` elements along a head has no tensor map. */
bool attend_map(struct attend_map *out, const struct attend *a, expr e, int size);

/* The axes of struct attend in a kernel: AXIS k -> value. */
struct attend_place {
	const struct attend *a;
	expr axis[IR_MAX_RANK + 2], group; /* group: the heads that share keys and values, one number for all of them */
	struct attend_map *map;            /* of keys and values, if the copy engine loads them; or null */
	bool uneven;                       /* tiles of later queries take longer */
	int blocks;                        /* that take tiles in turn; 0: a tile has a block of its own */
	const struct ir_variable *function[ATTEND_ROLES]; /* the kernel's functions, for the call's arguments */
};

/* The number of heads, or of groups of heads that share keys and values. */
expr attend_heads(const struct attend *a);
/* The number of blocks for all heads, with a tile of `queries` queries each. */
expr attend_blocks(const struct attend *a, int queries);
/* The heads of which tiles of queries are interleaved, if tiles are uneven. */
expr attend_together(const struct attend_place *at, int queries);
/* Declares the row axes except the query axis from the block's number. Returns the first query of the block's tile. The
 * last tiles come first: with causal masks they take longest. If tiles are uneven, the last tiles of many heads come
 * before their other tiles, so that no long tile begins when most blocks are done. These are the heads whose keys and
 * values fit into the L2 cache together; and if blocks take tiles in turn, so many of them, if possible, that each
 * block has as many of their tiles. */
expr attend_block(struct attend_place *at, struct ir_block *b, int queries, expr block);
/* Substitutes the axes in an expression of struct attend. `key` and `place` (the position in a head) may be null if the
 * expression does not use them. */
expr attend_expr(struct attend_place *at, expr e, expr query, expr key, expr place);

/* A function of the kernel: const auto name = [&](this_query, this_key, place ...) { ... }; with the requested
 * parameters only. The caller adds further parameters, the variables of struct attend, and then the value:
 * attend_here() of an expression. */
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
void attend_emit_softmax(struct attend_place *at, struct ir_block *b); /* emits largest_at, sum_at */
/* For ordinary arithmetic: its type; the functions of elements of queries, keys and values, and their arguments. A
 * function returns positions of four elements, if these are of that type and contiguous, or else an element. */
enum type attend_type(const struct attend *a);
void attend_emit_elements(struct attend_place *at, struct ir_block *b);
void attend_add_elements(struct ir_call *call, const struct attend_place *at);
/* Adds the arguments, the twin with 64-bit positions, and the text of all stages as comments. */
void attend_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct attend *a);

/* Emits the serial twin: the block's queries, one after the other. */
void attend_serial(struct attend_place *at, struct ir_block *b, int queries, expr first);

#endif
