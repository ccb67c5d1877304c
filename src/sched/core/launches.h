/* Inside src/sched/: launches of a plan's kernels. */
#ifndef TPAT_SCHED_LAUNCHES_H
#define TPAT_SCHED_LAUNCHES_H

#include "sched/sched.h"

/* Decides which kernels of the steps from number `from` on launch early, before the previous kernel ends (early.c). */
void start_early(struct ir_plan *plan, int from, const struct sched_target *t);
bool may_start_early(const struct ir_kernel *k, const struct sched_target *t);

/* Merges small neighbouring steps of a plan into one launch where that pays (share.c). `all` holds every step built for
 * the program, each once; new ones are added to it. It may be the plan itself. */
void share_launches(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t);

#endif
