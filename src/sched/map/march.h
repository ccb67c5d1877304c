/* Maps that read rows at places which their own row alone decides and which several of their rows share: what they keep
 * of such a row (march_find.c), and the kernel where the places are known (march_fixed.c). See rule_march.c. */
#ifndef TPAT_SCHED_MARCH_H
#define TPAT_SCHED_MARCH_H

#include "sched/rule.h"

enum { MARCH_KEPT = 4, MARCH_WIDTH = 8, MARCH_ROWS = 16 };

struct march {
	struct ir_program *p;
	const struct ir_stage *s;
	int axis, inner;       /* along which a thread goes; the last one */
	int n;                 /* what it keeps: */
	expr kept[MARCH_KEPT]; /* the longest expressions that know the axis by one place alone */
	expr place[MARCH_KEPT], of_place[MARCH_KEPT]; /* the place; the same expression, of a variable instead */
	expr extent[MARCH_KEPT];                      /* of what the place indexes */
	bool past_caches;                             /* rows are stored so */
	double turns;                                 /* how many elements along the axis have one place */
};

bool march_find(struct march *m, struct ir_program *p, const struct ir_stage *s);

/* Whether it is known which of `rows` neighbouring rows, from a multiple of `rows` on, share a place; and what a thread
 * does for them and `width` elements of each, in operations. */
bool march_is_fixed(const struct march *m, int rows, int width, double *work);
/* Their statements; `axis`: of the first element. */
void march_fixed_emit(const struct march *m, struct ir_block *b, const expr *axis, int rows, int width);
/* Stores `width` elements of a row: arrays `kept[i]` hold element v of what is kept. */
void march_store_row(const struct march *m, struct ir_block *b, struct ir_variable *const *kept, const expr *axis,
                     int width);

#endif
