/* The points of a compaction's space in a kernel. See compact.h. */
#include "sched/order/compact.h"
#include "sched/build/axes.h"
#include "sched/build/extents.h"

#include "ir/axis_names.h"

const void *compact_match(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	(void)p;
	if (s->kind == IR_COMPACT)
		return s;
	*why = "the stage is not a compaction";
	return NULL;
}

struct compact_points compact_points_of(struct ir_program *p, const struct ir_stage *s)
{
	struct ir_buffer space = { .rank = s->space_rank };
	struct compact_points x = { p, s, space_count(p, s), NULL };
	expr axis[IR_MAX_RANK];
	for (int k = 0; k < s->space_rank; k++) {
		space.dim[k] = s->space[k];
		axis[k] = ir_axis(p->pool, k, s->space[k]);
	}
	x.same = ir_flat(p->pool, &space, axis);
	return x;
}

/* The value of an index expression that is the point's position plus a constant; null for any other. */
static expr own_position(const struct compact_points *x, expr e, expr point)
{
	if (e->op == IR_CAST && (type_is_int(e->type) || e->type == TYPE_INDEX)) {
		expr inside = own_position(x, e->arg[0], point);
		return inside ? ir_cast(inside, e->type) : NULL;
	}
	if (e->type != TYPE_INDEX)
		return NULL;
	expr rest = ir_binary(IR_SUB, e, x->same);
	return rest->varies ? NULL : ir_binary(IR_ADD, point, rest);
}

expr compact_at_point(const struct compact_points *x, struct ir_block *b, expr e, expr point)
{
	struct ir_program *p = x->p;
	bool used[IR_MAX_RANK] = { false };
	expr own[IR_MAX_RANK], axis[IR_MAX_RANK], plain = own_position(x, e, point);
	if (plain)
		return plain;
	for (int k = 0; k < x->s->space_rank; k++)
		own[k] = ir_axis(p->pool, k, x->s->space[k]);
	struct axes a = { .value = own, .same = x->same, .same_as = point };
	ir_mark_axes(to_kernel(p, e, &a), used);
	declare_axes(p, b, point, x->s->space_rank, x->s->space, ir_axis_names[1], used, axis);
	for (int k = 0; k < x->s->space_rank; k++)
		if (!axis[k])
			axis[k] = ir_index(p->pool, 0); /* unused */
	a.value = axis;
	return to_kernel(p, e, &a);
}
