/* Guards: a kernel's conditions on extents, for all rules. A condition that folds to true is dropped; a kernel whose
 * condition folds to false never enters a step; any other condition is checked at the launch. No other file of this
 * folder sets a guard or adds a kernel to a step (tests/layers). */
#include "sched/build/finish.h"

/* True if the condition is one of those that `guard` joins. */
static bool joins(expr guard, expr condition)
{
	if (!guard || guard == condition)
		return guard != NULL;
	return guard->op == IR_AND && (joins(guard->arg[0], condition) || joins(guard->arg[1], condition));
}

bool guard_implies(expr guard, expr condition)
{
	if (!condition || joins(guard, condition))
		return true;
	return condition->op == IR_AND && guard_implies(guard, condition->arg[0]) &&
	       guard_implies(guard, condition->arg[1]);
}

expr guard_both(expr a, expr b)
{
	if (!a || guard_implies(a, b))
		return a ? a : b;
	return ir_binary(IR_AND, a, b);
}

void kernel_needs_only(struct ir_kernel *k, expr fits)
{
	k->guard = fits && ir_is_int(fits, 1) ? NULL : fits;
}

void kernel_needs(struct ir_kernel *k, expr fits)
{
	kernel_needs_only(k, guard_both(k->guard, fits));
}

void kernel_needs_both(struct ir_kernel *k, const struct ir_kernel *a, const struct ir_kernel *b)
{
	kernel_needs_only(k, guard_both(a->guard, b->guard));
}

bool kernel_never_fits(const struct ir_kernel *k)
{
	return k->guard && ir_is_int(k->guard, 0);
}

void step_add(struct ir_program *p, struct ir_step *step, struct ir_kernel *k)
{
	if (!kernel_never_fits(k))
		vec_push(p->arena, step, k);
}

bool step_fits_all(const struct ir_step *step)
{
	const struct ir_kernel *last = step->n ? step->at[step->n - 1] : NULL;
	return last && !last->guard && !last->arch && !last->together;
}

expr whole_multiple(struct ir_program *p, expr extent, int width)
{
	return ir_binary(IR_EQ, ir_binary(IR_MOD, extent, ir_index(p->pool, width)), ir_index(p->pool, 0));
}
