/* Inside attend/: the state of a match, and the common space of its stages. This space has the queries' rows, the keys,
 * and an element of the head as its axes; each stage has some of them in an order and grouping of its own. */
#ifndef TPAT_SCHED_ATTEND_MATCH_H
#define TPAT_SCHED_ATTEND_MATCH_H

#include "sched/attend/attend.h"

/* The result of a matched stage: one element per query and key, or one number per row. */
struct attend_link {
	const struct ir_buffer *buf;
	const struct ir_stage *aside; /* a map that reads no scores, such as a mask's: computed where it is read; or
	                                 null */
	expr is;
	bool of_row;
};

struct attend_match {
	struct attend *a;
	struct attend_link link[ATTEND_MAX_STAGES];
	int links;
	expr row_at, element_at;  /* row-major positions in the rows, and in the scores */
	expr score, exponential;  /* exponential: of the score minus the largest */
	expr rounded_exponential; /* the same with the model's roundings to score_type */
	expr stored_row[2];   /* of_row[i] as a stage stores and reads it, if in score_type: the same number; or null */
	enum type score_type; /* the type to which the model rounds its scores; else that of `score` */
	expr result_axis[IR_MAX_RANK];
	const char *why;
};

/* Translates a stage's expression: `axis` has the values of its axes in the common space, `acc` that of its
 * accumulator. Returns null if e reads a matched stage's result at another position than its own. */
expr attend_translate(const struct attend_match *m, expr e, const expr *axis, expr acc);
/* The axes of a space of these extents at the flat position `flat`. */
void attend_axes_at(int rank, const expr *dim, expr flat, expr *axis);
expr attend_product_of(struct ir_program *p, int n, const expr *dim); /* 1 if n is 0 */
bool attend_uses_axis(expr e, int axis);
bool attend_uses_scores(expr e); /* also results made from them */
/* Solves for a stage's axes. Each of `n` indices is a sum of parts of the stage's axes, such as quotients and
 * remainders, times weights: none reaches the next one's weight. `is` gives the indices' values in the common space. At
 * most one axis, or part of an axis, may be missing: its extent is *left, and it is the element of the head. */
bool attend_axes_from(struct attend_match *m, int rank, const expr *dim, int n, const expr *index, const expr *is,
                      expr *axis, int64_t *left);

/* attend_heads.c: finds the query axis (a->tile), along which queries share keys and values, and the heads that share
 * them (a->head, a->group): a whole axis, or neighbours along one, as in grouped-query attention. Returns false if
 * there is no query axis. */
bool attend_find_tile(struct attend *a);

#endif
