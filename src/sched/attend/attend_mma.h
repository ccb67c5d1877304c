/* Attention of 16-bit floats on tensor cores. Operands can be copied as they lie in memory. Scores are split into
 * bounds on query and key (masks, decided for whole tiles), a scale factor, and the rest. */
#ifndef TPAT_SCHED_ATTEND_MMA_H
#define TPAT_SCHED_ATTEND_MMA_H

#include "sched/attend/attend_kernel.h"

enum { ATTEND_BOUNDS = 8 };

struct attend_mma {
	struct attend a;
	enum type key_type, value_type;
	expr query;      /* one element, of key_type */
	int vector;      /* 8, 4 or 2 */
	expr key, value; /* loads; `vector` elements are contiguous at multiples of it */
	bool turned;     /* transposed keys: 8 keys' elements are contiguous, and their number is divisible by 8 */
	bool query_pairs, query_pieces; /* queries: two, or eight are contiguous at multiples of that */
	int places;                     /* results: so many are: 8, 2 or 1 */
	expr score; /* function of product where all bounds hold; null: product * scale, scale > 0, with the product */
	enum type rounded; /* rounded to this type (f32: not rounded) */
	double scale;
	int bounds;
	expr bound[ATTEND_BOUNDS]; /* bool: a < b or a <= b, linear in query and key; where one fails the score is
	                              -infinity */
	expr inverse, result; /* variable: 1 / sum; stored value, a function of total (of exponentials), largest, sum
	                         and inverse */
};

bool attend_mma_match(struct attend_mma *m, struct ir_program *p, const struct ir_stage *s, const char **why);
/* For ordinary arithmetic: fills in the bounds, and results as the stages make them. */
void attend_mma_plain(struct attend_mma *m, const struct attend *a);
/* attend_mma_bounds: fills in the bounds that are conditions inside the score. attend_mma_emit_some: emits the function
 * that tests whether a tile has elements inside all bounds, if there are bounds. attend_mma_add_kept: adds the function
 * of this role to a call, or one that is always true. */
void attend_mma_bounds(struct attend_mma *m);
void attend_mma_emit_some(struct attend_place *at, struct ir_block *b, const struct attend_mma *m);
void attend_mma_add_kept(struct ir_call *call, const struct attend_place *at, enum attend_role role);
/* True if the GPU has tensor cores for these operands, and asynchronous copies. */
bool attend_mma_runs(const struct attend_mma *m, const struct sched_target *t);
/* The change of a bound's slack per query and per key. */
void attend_bound_strides(const struct attend_mma *m, int bound, int64_t *of_query, int64_t *of_key);
/* Over the query: the first key of a bound that keeps all keys from one on (`to` false), or the key after the last of
 * one that keeps all keys before it; null: the bound is not of that kind. A bound without the key keeps all or none. */
expr attend_bound_key(const struct attend_mma *m, int bound, bool to);

/* attend_mma_begin: starts a kernel with `queries` queries per block. Emits its functions and its whole serial twin,
 * and returns the first query of the block. attend_mma_arguments: the arguments of the device function.
 * attend_mma_tile: the functions for a tile of queries by its number; returns its first query. */
expr attend_mma_begin(struct ir_kernel *k, struct attend_place *at, const struct attend_mma *m, int queries);
expr attend_mma_tile(struct attend_place *at, struct ir_block *b, const struct attend_mma *m, int queries, expr tile);
void attend_mma_arguments(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m,
                          const struct ir_variable *slots, expr first);
/* The two halves of these: ..._inputs for partial sums, ..._results for the stored results. */
void attend_mma_inputs(struct attend_place *at, struct ir_block *b, const struct attend_mma *m);
void attend_mma_results(struct attend_place *at, struct ir_block *b, const struct attend_mma *m);
void attend_mma_add_inputs(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m,
                           const struct ir_variable *slots, expr first);
void attend_mma_add_results(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m);
/* Appends the kernel of rule attention_mma to a step. */
void attend_mma_kernel(struct ir_plan *plan, struct ir_step *step, const struct attend_mma *m,
                       const struct sched_choice *c);

#endif
