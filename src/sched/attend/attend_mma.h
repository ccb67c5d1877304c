/* Attention of 16-bit floats as tensor cores do it: operands that can be copied as they lie in memory, and scores taken
 * apart into what numbers decide for whole tiles, a factor, and the rest. */
#ifndef TPAT_SCHED_ATTEND_MMA_H
#define TPAT_SCHED_ATTEND_MMA_H

#include "sched/attend/attend_kernel.h"

enum { ATTEND_BOUNDS = 8 };

struct attend_mma {
	struct attend a;
	enum type key_type, value_type;
	expr query;              /* an element, of key_type */
	expr key, value;         /* loads of elements, 8 of which lie together at multiples of 8 */
	bool turned;             /* keys: the same element of 8 keys, and there are whole eights of keys */
	bool query_pairs, pairs; /* queries, results: two lie together at even positions */
	expr score; /* of product, where all bounds hold; null: product * scale, which is positive, the product */
	enum type rounded; /* rounded to this type (f32: as it is) */
	double scale;
	int bounds;
	expr bound[ATTEND_BOUNDS]; /* bool: a < b or a <= b, linear in query and key; where one fails the score is
	                              -infinity */
	expr inverse, result;      /* variable: 1 / sum; what is stored, of total (of exponentials), largest, sum and
	                            * inverse */
};

bool attend_mma_match(struct attend_mma *m, struct ir_program *p, const struct ir_stage *s, const char **why);
/* Whether a GPU multiplies such operands on tensor cores, and copies while it does. */
bool attend_mma_runs(const struct attend_mma *m, const struct sched_target *t);
/* How much the slack of a bound grows with a query, with a key. */
void attend_bound_strides(const struct attend_mma *m, int bound, int64_t *of_query, int64_t *of_key);

/* The beginning of a kernel whose blocks have `queries` queries: its functions, and all of its serial twin; gives the
 * first query of the block. Then the arguments of the function that it calls. */
expr attend_mma_begin(struct ir_kernel *k, struct attend_place *at, const struct attend_mma *m, int queries);
void attend_mma_arguments(struct ir_call *call, const struct attend_place *at, const struct attend_mma *m,
                          const struct ir_variable *slots, expr first);
/* Appends the kernel of rule attention_mma to a step. */
void attend_mma_kernel(struct ir_plan *plan, struct ir_step *step, const struct attend_mma *m,
                       const struct sched_choice *c);

#endif
