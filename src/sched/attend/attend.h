/* Attention: products of queries and keys, a softmax over the keys of each row of scores, and a sum of values with the
 * softmax as weights. The stages are recognised from their expressions and indices, so that one kernel can make the
 * result without storing a score. */
#ifndef TPAT_SCHED_ATTEND_H
#define TPAT_SCHED_ATTEND_H

#include "sched/rule.h"

enum { ATTEND_MAX_STAGES = 10, ATTEND_MAX_SIZE = 256 /* head size in elements */ };

/* All expressions share one space: first the axes of a row of scores, in the scores buffer's order; then axis `rows`,
 * the key; then axis rows + 1, the position in a head. Variables stand for the values that a kernel computes. */
struct attend {
	struct ir_program *p;
	int stages;
	const struct ir_stage *stage[ATTEND_MAX_STAGES]; /* the last makes the result */
	int rows, tile;                                  /* tile: the query axis of a head */
	int head, group; /* `group` neighbours along axis `head` share keys and values; head -1, group 1: none do */
	expr dim[IR_MAX_RANK];  /* extents of the row axes, then the number of keys */
	int size, value_size;   /* head size of keys, and of values */
	expr query, key, value; /* one element of each */
	expr of_row[2];         /* variables: attend_largest(), attend_sum() */
	expr product, score;    /* variable; function of it: the exponential's argument */
	expr seen, largest;     /* variable: largest score; function of it: the subtracted maximum */
	expr added, sum;        /* variable: sum of the exponentials; function of it: the divisor */
	expr weight;            /* function of product, largest and sum; null: the exponential itself */
	expr total, result;     /* variable: weighted sum; function of it: the stored value */
	enum type narrow;       /* type of a weight that is just exponential / sum, rounded to it */
	expr narrow_result;     /* stored value as a function of a total with plain exponentials as weights; or null */
	const struct ir_buffer *out;
	expr at; /* position of the result */
};

/* The rows of scores that share keys and values: each query of the heads of a group. Row i is of head i % group and
 * query i / group, so that bounds on the query are monotone in the row. */
expr attend_queries(const struct attend *a);
/* The variables that stand for the values of the expressions `largest` and `sum`. */
expr attend_largest(const struct attend *a);
expr attend_sum(const struct attend *a);
/* Returns true and fills *out if the stages from s on are attention; else sets *why to what is missing. */
bool attend_match(struct attend *out, struct ir_program *p, const struct ir_stage *s, const char **why);

#endif
