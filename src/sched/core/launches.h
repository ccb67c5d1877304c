/* Inside src/sched/: launches of a plan's kernels. */
#ifndef TPAT_SCHED_LAUNCHES_H
#define TPAT_SCHED_LAUNCHES_H

#include "sched/sched.h"

enum { PARTS_ARGUMENTS = 64 /* most of a launch */ };

/* Decides which kernels of the steps from number `from` on launch early, before the previous kernel ends (early.c). */
void start_early(struct ir_plan *plan, int from, const struct sched_target *t);
bool may_start_early(const struct ir_kernel *k, const struct sched_target *t);

/* Merges small neighbouring steps of a plan into one launch where that pays (share.c). `all` holds every step built for
 * the program, each once; new ones are added to it. It may be the plan itself. */
void share_launches(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t);
/* Lets every block of a kernel repeat a small step before it, where that takes less than a launch (repeat.c). */
void repeat_small(struct ir_plan *plan, struct ir_plan *all, const struct sched_target *t);

/* ---- Kernels with parts (parts.c). */

/* What a kernel needs as a part of another. plain: its launch needs no more than threads and declared shared memory. */
struct part_needs {
	bool plain;
	double registers, shared; /* of a thread, in arrays; bytes of a block, declared, without objects */
};
struct part_needs part_needs(const struct ir_kernel *k);
int parts_of(const struct ir_kernel *k); /* number of its parts; 1: it has none */

bool kernel_touches(const struct ir_kernel *k, const struct ir_buffer *b); /* reads or writes it */
bool steps_depend(const struct ir_step *a, const struct ir_step *b);

/* Returns a kernel whose parts are those of a and b, with both guards, and with b's threads. The caller decides how
 * they run. parts_kernel() then returns an equal kernel of `all`, if there is one, or names this one. */
struct ir_kernel *parts_join(struct ir_program *p, const struct ir_kernel *a, const struct ir_kernel *b);
struct ir_kernel *parts_kernel(struct ir_plan *all, struct ir_kernel *k, const char *how);

#endif
