/* Inside src/sched/: a stage's expressions in a kernel, where axes are variables and loads have one flat index. */
#ifndef TPAT_SCHED_AXES_H
#define TPAT_SCHED_AXES_H

#include "sched/rule.h"

/* a / b, rounded up; a >= 0. */
expr ceil_div(struct ir_program *p, expr a, int b);
/* For a kernel with one thread per `width` of `count` elements and `threads` per block: sets the launch sizes, declares
 * and returns the thread's first element, and lets threads past the end return. */
expr declare_element(struct ir_program *p, struct ir_kernel *k, expr count, int threads, int width);
/* The first position of the n-th thread along an axis, of which each thread takes `several`. If these do not divide the
 * extent, the last threads begin earlier: the variable `name` holds where, and the kernel needs an extent of at least
 * `several`. */
expr first_within(struct ir_program *p, struct ir_kernel *k, expr extent, int several, expr n, const char *name);

/* Substitution for a stage's axes in a kernel: AXIS k -> value[k]. Loads become flat: a position that is `same` plus an
 * invariant term becomes `same_as` plus that term, so that an elementwise kernel reads x[n]. `load`, if not null, may
 * replace whole loads. */
struct axes {
	const expr *value;                           /* by axis; null for an axis that does not occur */
	expr same, same_as;                          /* may be null */
	expr (*load)(void *user, expr e, expr flat); /* returns null for an ordinary load */
	void *user;
	expr acc; /* replaces ACC */
};
/* Returns the stage's expression `e` as a kernel expression. */
expr to_kernel(struct ir_program *p, expr e, const struct axes *a);

/* Replaces nodes of e: what[i] by with[i]. */
struct substitution {
	const expr *what, *with;
	int n;
};
/* Returns e with the replacements, which are not searched again. */
expr substitute(const struct substitution *s, expr e);

/* The rank-1 view of a buffer that kernels index. */
const struct ir_buffer *flat_view(struct ir_program *p, const struct ir_buffer *b);

/* Declares the axes i, j, k ... (those in `used`) of a space in `b`, from the flat position `n`. */
void declare_axes(struct ir_program *p, struct ir_block *b, expr n, int rank, const expr *extent,
                  const char *const *names, const bool *used, expr *value);
/* All of out's axes except s->axis, in order: their extents, names and `used` marks. Returns their number. */
int other_axes(const struct ir_stage *s, const bool *used, expr *dim, const char **names, bool *others);
/* Bits of the widest type that e loads; 0 if it has no loads. */
int widest_load(expr e);

#endif
