/* Attention in stages: products of queries and keys, what they become as scores, their largest and the sum of their
 * exponentials a row, and the sum of values weighted with them. Recognised by what the stages compute and where they
 * read, so that one kernel can make the result without ever storing a score. */
#ifndef TPAT_SCHED_ATTEND_H
#define TPAT_SCHED_ATTEND_H

#include "sched/rule.h"

enum { ATTEND_MAX_STAGES = 10, ATTEND_MAX_SIZE = 256 /* of a head */ };

/* All expressions are over one space: first the axes of a row of scores, in their order in the scores' buffer; axis
 * `rows` counts the keys; axis rows + 1 runs along a head. What a kernel computes stands in them as variables. */
struct attend {
	struct ir_program *p;
	int stages;
	const struct ir_stage *stage[ATTEND_MAX_STAGES]; /* the last makes the result */
	int rows, tile;                                  /* tile: the axis that counts the queries of a head */
	expr dim[IR_MAX_RANK];                           /* of the row axes, then the number of keys */
	int size, value_size;                            /* of a head of keys, and of values */
	expr query, key, value;                          /* an element of each */
	expr of_row[2];                                  /* variables: attend_largest(), attend_sum() */
	expr product, score;                             /* variable; of it, what the exponential is taken of */
	expr seen, largest;                              /* variable: the largest score; what is taken off, of it */
	expr added, sum;                                 /* variable: the exponentials' sum; what it becomes, of it */
	expr weight;                                     /* of product, largest and sum; null: the exponential itself */
	expr total, result;                              /* variable: the weighted sum; what is stored, of it */
	enum type narrow;   /* the weight is exponential / sum, rounded to this type and no more; */
	expr narrow_result; /* of a total of exponentials alone; or null */
	const struct ir_buffer *out;
	expr at; /* where */
};

/* The variables of struct attend that stand for what the expressions `largest` and `sum` give. */
expr attend_largest(const struct attend *a);
expr attend_sum(const struct attend *a);
/* Whether the stages from s on are attention, and which; when not, *why says what is missing. */
bool attend_match(struct attend *out, struct ir_program *p, const struct ir_stage *s, const char **why);

#endif
