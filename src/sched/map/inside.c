/* Maps that compute only where a condition on positions holds: see inside.h. */
#include "sched/map/inside.h"

enum { LEAST_WORK = 10 /* under the condition; less is computed as fast with a condition for each element */ };

/* The stride along the axis of what has to be positive, or not negative, for a comparison of positions to hold; false:
 * it is none, or not known. */
static bool stride_of(expr e, int inner, int64_t *stride)
{
	if ((e->op != IR_LT && e->op != IR_LE) || e->arg[0]->type != TYPE_INDEX)
		return false;
	expr step = ir_stride(ir_binary(IR_SUB, e->arg[1], e->arg[0]), inner);
	return step && ir_const_int(step, stride);
}

static bool differs_along(expr e, int inner)
{
	bool used[IR_MAX_RANK] = { false };
	ir_mark_axes(e, used);
	return used[inner];
}

/* True if the condition has the value `wanted` for all elements of a vector where each of its comparisons has it at one
 * end of the vector. */
static bool ends_decide(expr e, bool wanted, int inner)
{
	int64_t stride;
	if (ir_uses(e, IR_LOAD))
		return false;
	if (e->op == IR_NOT)
		return ends_decide(e->arg[0], !wanted, inner);
	if (e->op == (wanted ? IR_AND : IR_OR))
		return ends_decide(e->arg[0], wanted, inner) && ends_decide(e->arg[1], wanted, inner);
	return !differs_along(e, inner) || stride_of(e, inner, &stride);
}

static void find_select(void *user, expr e)
{
	struct map_inside *m = user;
	if (e->op != IR_SELECT || m->cond)
		return;
	bool wanted = ir_uses(e->arg[1], IR_LOAD), other = ir_uses(e->arg[2], IR_LOAD);
	if (wanted == other || ir_cost(e->arg[wanted ? 1 : 2]) < LEAST_WORK || !differs_along(e->arg[0], m->inner) ||
	    !ends_decide(e->arg[0], wanted, m->inner))
		return;
	m->cond = e->arg[0];
	m->wanted = wanted;
	m->value = e;
}

bool map_inside_find(struct map_inside *m, expr value, int inner)
{
	*m = (struct map_inside){ .inner = inner };
	ir_walk_unconditional(value, find_select, m);
	if (!m->cond)
		return false;
	expr select = m->value, with = select->arg[m->wanted ? 1 : 2];
	m->value = substitute(&(struct substitution){ &select, &with, 1 }, value);
	return true;
}

static expr holds(struct ir_program *p, expr e, bool wanted, int inner, const struct axes *first,
                  const struct axes *last)
{
	int64_t stride = 0;
	if (e->op == IR_NOT)
		return holds(p, e->arg[0], !wanted, inner, first, last);
	if (e->op == (wanted ? IR_AND : IR_OR))
		return ir_binary(IR_AND, holds(p, e->arg[0], wanted, inner, first, last),
		                 holds(p, e->arg[1], wanted, inner, first, last));
	bool at_first = !stride_of(e, inner, &stride) || (stride >= 0) == wanted;
	expr here = to_kernel(p, e, at_first ? first : last);
	return wanted ? here : ir_unary(IR_NOT, here);
}

expr map_inside_holds(struct ir_program *p, const struct map_inside *m, const struct axes *first,
                      const struct axes *last)
{
	return holds(p, m->cond, m->wanted, m->inner, first, last);
}
