/* Inside src/sched/: creation and completion of steps and kernels, and guards on extents. */
#ifndef TPAT_SCHED_FINISH_H
#define TPAT_SCHED_FINISH_H

#include "sched/rule.h"

/* kernel_new() names the kernel after the stage's buffer, with the stage's text as comment. kernel_finish() collects
 * the arguments from the body and appends the kernel to the step; if positions may exceed 2^31, it adds a guard and a
 * copy with 64-bit indices. */
struct ir_step *step_new(struct ir_plan *plan);

struct ir_kernel *kernel_new(struct ir_plan *plan, const struct ir_stage *s, const char *suffix,
                             const struct sched_choice *c);
void kernel_finish(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Gives the kernels of the plan's steps from `from` on, which other rules made for this choice, its rule's name.
 * `params`: the choice's parameters as text; null: those of the kernels. */
void decided_by(struct ir_plan *plan, int from, const struct sched_choice *c, const char *params);
/* Puts the choice's sentences before those of these kernels, which compute its result together. */
void explained_by(struct ir_plan *plan, int from, const struct sched_choice *c);
/* Finishes without the 64-bit copy, for kernels that compile slowly. Returns false if the step also needs a kernel for
 * larger positions. The caller then builds it and calls kernel_finish_wide(). */
bool kernel_finish_narrow(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
void kernel_finish_wide(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Finishes it with 64-bit indices if any extents need them: one kernel, for extents that are seldom met. */
void kernel_finish_once(struct ir_plan *plan, struct ir_step *step, struct ir_kernel *k, const struct ir_stage *s);
/* Guards (guard.c): a kernel's conditions on extents. `fits` is a bool over symbols; null: no condition. The finishing
 * functions drop a kernel whose guard folds to false. */
void kernel_needs(struct ir_kernel *k, expr fits);      /* adds a condition */
void kernel_needs_only(struct ir_kernel *k, expr fits); /* replaces the guard */
void kernel_needs_both(struct ir_kernel *k, const struct ir_kernel *a, const struct ir_kernel *b);
bool kernel_never_fits(const struct ir_kernel *k);
/* Both conditions; and whether a condition follows from a guard that joins all its parts. Null: no condition. */
expr guard_both(expr a, expr b);
bool guard_implies(expr guard, expr condition);
/* Appends the kernel, unless it never fits. */
void step_add(struct ir_program *p, struct ir_step *step, struct ir_kernel *k);
/* True if the step's last kernel is for all extents and all GPUs. Otherwise, or in an empty step, another kernel must
 * follow. */
bool step_fits_all(const struct ir_step *step);
/* Finds the divisors of a kernel with 32-bit positions whose inverses the host passes (divisors.c). */
void kernel_divisors(struct ir_program *p, struct ir_kernel *k);
/* Sorts a kernel's symbols by their first use in the program, so that names do not matter. */
void kernel_order_symbols(const struct ir_program *p, struct ir_kernel *k);
/* bool: `width` divides the extent. */
expr whole_multiple(struct ir_program *p, expr extent, int width);

#endif
