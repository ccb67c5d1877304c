/* Inside src/sched/: how the kernels of a plan are launched. */
#ifndef TPAT_SCHED_LAUNCHES_H
#define TPAT_SCHED_LAUNCHES_H

#include "sched/sched.h"

/* Decides of the plan's steps from number `from` on which of their kernels start early (early.c). */
void start_early(struct ir_plan *plan, int from, const struct sched_target *t);
bool may_start_early(const struct ir_kernel *k, const struct sched_target *t);

/* Small neighbouring steps of a plan become one, where that pays (share.c). `all`: every step made for the program,
 * each once, to which new ones are added; may be the plan itself. */
void share_launches(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t);

#endif
