/* What Loop and Scan share: graphs that are the body of a loop. */
#ifndef TPAT_OPS_BODY_LOOP_H
#define TPAT_OPS_BODY_LOOP_H

#include "ops/lower.h"

/* The names of the graph's formal inputs or outputs are those of its buffers. */

/* v at position `at` of `axis`, without that axis. */
struct value body_element(struct lower *l, const char *name, struct value v, int axis, expr at);
/* v with its first axis moved to `axis`, as output i of the node; `extent`: of that axis in the result, at most its own. */
void body_output(struct lower *l, int i, struct value v, int axis, expr extent);
/* `next` as the next value of `state`: fails when it is of another type or other extents; what may be equal is taken to
 * be, as ONNX demands it. */
int body_next(struct lower *l, struct lower_loop *loop, struct value state, struct value next, const char *name);
/* Fails when the stages from `first` on cannot be the body of a loop. */
int body_check(struct lower *l, const struct lower_loop *loop);

#endif
