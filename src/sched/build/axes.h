/* Inside src/sched/: a stage's expressions in a kernel, whose axes are variables and whose loads have one index. */
#ifndef TPAT_SCHED_AXES_H
#define TPAT_SCHED_AXES_H

#include "sched/rule.h"

/* a / b, rounded up, for a that is not negative. */
expr ceil_div(struct ir_program *p, expr a, int b);
/* A kernel of `threads` a block in which each thread has `width` of `count` elements from `element` on: sets its launch
 * sizes, declares `element`, and lets threads beyond the end return. */
expr declare_element(struct ir_program *p, struct ir_kernel *k, expr count, int threads, int width);

/* How a stage's axes are called in a kernel: AXIS k -> value. Loads become flat: where a load's position is the same
 * polynomial of axes as `same` plus something invariant, it becomes `same_as` plus that (so that an elementwise kernel
 * reads x[n]). `vector`, when not null, may replace whole loads. */
struct axes {
	const expr *value;                           /* by axis; null entries: not needed, must not be met */
	expr same, same_as;                          /* may be null */
	expr (*load)(void *user, expr e, expr flat); /* null result: an ordinary load */
	void *user;
	expr acc; /* what ACC stands for */
};
expr to_kernel(struct ir_program *p, expr e, const struct axes *a);

/* e with some of its nodes replaced. */
struct substitution {
	const expr *what, *with;
	int n;
};
expr substitute(const struct substitution *s, expr e);

/* The rank-1 view of a buffer that kernels index. */
const struct ir_buffer *flat_view(struct ir_program *p, const struct ir_buffer *b);

/* Axes of a space given their position: declares i, j, k ... (those in `used`) in `b` from the flat position `n`. */
void declare_axes(struct ir_program *p, struct ir_block *b, expr n, int rank, const expr *extent,
                  const char *const *names, const bool *used, expr *value);
/* Marks which axes an expression reads. */
void mark_axes(expr e, bool *used);
/* Bits of the widest type that e loads; 0: it loads nothing. */
int widest_load(expr e);

#endif
