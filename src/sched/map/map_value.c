/* Single elements of a map. See flat.h. */
#include "sched/map/flat.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"

#include "ir/axis_names.h"

expr map_position(struct ir_program *p, const struct ir_stage *s, expr *own)
{
	for (int i = 0; i < s->out->rank; i++)
		own[i] = ir_axis(p->pool, i, s->out->dim[i]);
	return ir_flat(p->pool, s->out, own);
}

expr map_value_at(struct ir_program *p, struct ir_block *b, const struct ir_stage *s, expr at)
{
	bool used[IR_MAX_RANK] = { false };
	expr axis[IR_MAX_RANK], own[IR_MAX_RANK];
	/* Only the axes that still occur after loads at the element's position became x[element]. */
	struct axes a = { .value = own, .same = map_position(p, s, own), .same_as = at };
	ir_mark_axes(to_kernel(p, s->value, &a), used);
	declare_axes(p, b, at, s->out->rank, s->out->dim, ir_axis_names[0], used, axis);
	a.value = axis;
	for (int i = 0; i < s->out->rank; i++)
		if (!axis[i])
			axis[i] = ir_index(p->pool, 0); /* not met */
	return to_kernel(p, s->value, &a);
}
