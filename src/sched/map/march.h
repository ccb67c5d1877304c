/* Maps whose output row alone decides the input row to read, with several output rows per input row, as in upscaling.
 * march_find.c finds the values to keep per input row; march_fixed.c builds the kernel for constant positions. See
 * rule_march.c. */
#ifndef TPAT_SCHED_MARCH_H
#define TPAT_SCHED_MARCH_H

#include "sched/rule.h"

enum { MARCH_KEPT = 4, MARCH_WIDTH = 8, MARCH_ROWS = 16 };

struct march {
	struct ir_program *p;
	const struct ir_stage *s;
	int axis, inner;       /* the axis a thread iterates along; the last axis */
	int n;                 /* number of kept expressions: */
	expr kept[MARCH_KEPT]; /* the largest expressions that depend on the axis through one position only */
	expr place[MARCH_KEPT], of_place[MARCH_KEPT]; /* the position; the expression over a variable in its place */
	expr extent[MARCH_KEPT];                      /* extent that the position indexes */
	bool past_caches;                             /* rows use streaming stores */
};

/* Returns false if stage s is no such map. */
bool march_find(struct march *m, struct ir_program *p, const struct ir_stage *s);

/* True if it is known at compile time which of `rows` neighbouring rows, from a multiple of `rows` on, share a
 * position. *work: operations of a thread for these rows and `width` elements of each. */
bool march_is_fixed(const struct march *m, int rows, int width, double *work);
/* Emits the statements for these rows; `axis`: of the first element. */
void march_fixed_emit(const struct march *m, struct ir_block *b, const expr *axis, int rows, int width);
/* Stores `width` elements of a row: kept[i][v] holds kept expression i for element v. */
void march_store_row(const struct march *m, struct ir_block *b, struct ir_variable *const *kept, const expr *axis,
                     int width);

#endif
