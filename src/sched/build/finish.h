/* Inside src/sched/: new steps and kernels, what extents they are for, and how they are finished. */
#ifndef TPAT_SCHED_FINISH_H
#define TPAT_SCHED_FINISH_H

#include "sched/rule.h"

/* A new kernel of the step: named after the stage's buffer, with the stage's text as comment; collects arguments from
 * the body when finished. Kernels whose positions might pass 2^31 get a twin with 64-bit indices behind a guard. */
struct ir_step *step_new(struct ir_plan *plan);

struct ir_kernel *kernel_new(struct ir_plan *plan, const struct ir_stage *s, const char *suffix,
                             const struct sched_choice *c);
void kernel_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Without the twin, for kernels that take a compiler long. False: the step needs a kernel for larger positions, which
 * is the caller's to make, and finished by kernel_finish_wide(). */
bool kernel_finish_narrow(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
void kernel_finish_wide(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Guards (guard.c): all that a rule says about the extents a kernel is for. `fits` is a bool over symbols; null:
 * nothing. A kernel whose conditions fold to false is never made: the finishing functions drop it. */
void kernel_needs(struct ir_kernel *k, expr fits);      /* besides what it needs already */
void kernel_needs_only(struct ir_kernel *k, expr fits); /* instead of what it needed */
void kernel_needs_both(struct ir_kernel *k, const struct ir_kernel *a, const struct ir_kernel *b);
bool kernel_never_fits(const struct ir_kernel *k);
/* Appends the kernel, unless it never fits. */
void step_add(struct ir_program *p, struct ir_step *step, struct ir_kernel *k);
/* Whether the step's last kernel is for all extents and all GPUs; false for an empty step: one more kernel must
 * follow. */
bool step_fits_all(const struct ir_step *step);
/* Puts a kernel's symbols into the order in which the program mentions them, whatever they are called. */
void kernel_order_symbols(const struct ir_program *p, struct ir_kernel *k);
/* bool: `width` divides the extent. */
expr whole_multiple(struct ir_program *p, expr extent, int width);

/* A name of its own among the plan's kernels. */
const char *kernel_unique_name(const struct ir_plan *plan, const char *name);

#endif
