/* Graphs that are the bodies of loops, for Loop and Scan. */
#ifndef TPAT_OPS_BODY_LOOP_H
#define TPAT_OPS_BODY_LOOP_H

#include "ops/lower/lower.h"

/* The names of the graph's formal inputs or outputs are those of its buffers. */

/* v at position `at` of `axis`, without that axis. */
struct value body_element(struct lower *l, const char *name, struct value v, int axis, expr at);
/* v with its first axis moved to `axis`, as output i of the node; `extent`: of that axis in the result, at most its
 * own. */
void body_output(struct lower *l, int i, struct value v, int axis, expr extent);
/* True if `next` has the type and, in the same expressions, the extents of `state`. */
bool body_keeps(struct value state, struct value next);
/* `next` as the next value of `state`. Fails when it is of another type or rank, or has extents that differ wherever
 * none is zero; extents that may be equal are demanded to be. */
int body_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next, const char *name);
/* Makes output `output` of the node: the values of n turns, stacked along a first axis. Fails like body_next(). */
int body_stack(struct lower *l, int n, const struct value *turn, int output);
/* Fails because the body draws random numbers. */
int body_refuse_random(struct lower *l);

#endif
