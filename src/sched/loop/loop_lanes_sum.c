/* The kernel of a loop with some lanes for each unit: sums. See loop_lanes_kernel.h. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/loop/loop_lanes_kernel.h"

/* The first point of a lane's step. */
static expr first_point(struct lanes_emitter *m, const struct lanes_stage *s, expr step)
{
	return mul(add(m->lane, mul(step, number(m, m->lanes))), number(m, s->width));
}

static bool whole(const struct lanes_emitter *m, const struct lanes_stage *s)
{
	return lanes_points(m->l, s) == (int64_t)lanes_steps(m->l, s, m->lanes) * m->lanes * s->width;
}

static void declare_point(struct lanes_view *v, struct ir_block *b, expr point)
{
	struct lanes_emitter *m = v->m;
	const struct ir_stage *s = v->s->s;
	bool used[IR_MAX_RANK];
	for (int k = 0; k < s->space_rank; k++)
		used[k] = true;
	if (s->space_rank == 1)
		v->axis[s->out->rank] = point;
	else
		declare_axes(m->p, b, point, s->space_rank, s->space, ir_axis_names[1], used, v->axis + s->out->rank);
}

void lanes_load_held(struct lanes_emitter *m, struct ir_block *b, int stage)
{
	const struct lanes_stage *s = &m->l->stages.at[stage];
	struct lanes_arrays *a = &m->arrays[stage];
	int steps = lanes_steps(m->l, s, m->lanes), copies = m->g->copies[s->s->out->id];
	expr copy, step, item, points = number(m, lanes_points(m->l, s));
	for (int i = 0; i < s->held.n; i++)
		a->held[i] = lanes_array(m, b, s->held.part[i], s->s->out->name, "held", copies, steps * s->width);
	if (!s->held.n)
		return;
	b = emit_turns(m->p, b, "copy", copies, &copy);
	b = emit_turns(m->p, b, "step", steps, &step);
	b = emit_turns(m->p, b, "item", s->width, &item);
	expr point = add(first_point(m, s, step), item), inside = ir_binary(IR_LT, point, points);
	if (!whole(m, s))
		point = ir_binary(IR_MIN, point, add(points, number(m, -1)));
	struct lanes_view v = lanes_view_of_stage(m, stage, copy);
	declare_point(&v, b, emit_constant(m->p, b, "point", point, points));
	for (int i = 0; i < s->held.n; i++) {
		expr value = lanes_see(&v, s->held.part[i]), at = add(mul(step, number(m, s->width)), item);
		if (s->zeros && !whole(m, s))
			value = ir_select(inside, value, ir_const(m->p->pool, value->type, 0));
		emit_set_in_row(m->p, b, a->held[i], copy, at, value);
	}
}

static void load_vectors(struct lanes_emitter *m, struct ir_block *b, int stage, expr point)
{
	const struct lanes_stage *s = &m->l->stages.at[stage];
	for (int i = 0; i < s->vectors; i++) {
		const struct ir_buffer *buf = s->vector[i]->buf;
		expr none[2 * IR_MAX_RANK] = { 0 };
		for (int k = 0; k < 2 * IR_MAX_RANK; k++)
			none[k] = ir_axis(m->p->pool, k, number(m, INT32_MAX));
		none[s->s->out->rank] = number(m, 0);
		expr place = grid_place(m->p, m->g->lead, buf, s->vector[i]->arg);
		place = ir_bind_axes(m->p->pool, place, none);
		struct ir_variable *array = ir_variable_new(m->p->pool, buf->type, "%s_v", buf->name);
		emit_load_flat(m->p, b, m->all[buf->id], add(lanes_place_of_turn(m, buf, m->turn, place), point), array,
		               s->width);
		m->arrays[stage].vector[i] = array;
	}
}

void lanes_emit_sum(struct lanes_emitter *m, struct ir_block *b, int stage)
{
	struct ir_program *p = m->p;
	const struct lanes_stage *s = &m->l->stages.at[stage];
	int steps = lanes_steps(m->l, s, m->lanes), copies = m->g->copies[s->s->out->id];
	expr copy, step, item, points = number(m, lanes_points(m->l, s));
	struct ir_variable *sums = ir_variable_new(p->pool, s->s->value->type, "%s_sums", s->s->out->name);
	emit_array(p, b, sums, copies);
	struct ir_block *each = emit_turns(p, b, "copy", copies, &copy);
	emit_set(p, each, sums, copy, ir_identity(p->pool, s->s->combine, s->s->value->type));

	struct ir_block *in = emit_turns(p, b, "step", steps, &step);
	expr first = emit_constant(p, in, "first", first_point(m, s, step), NULL);
	bool inside = s->zeros || whole(m, s);
	if (!inside)
		in = emit_if(p, in, ir_binary(IR_LT, first, points));
	first = ir_var_multiple(first->var, points, s->width);
	load_vectors(m, in, stage, first);
	in = emit_turns(p, in, "item", s->width, &item);
	in = emit_turns(p, in, "copy", copies, &copy);
	struct lanes_view v = lanes_view_of_stage(m, stage, copy);
	v.item = item;
	declare_point(&v, in, add(first, item));
	const expr index[] = { copy, add(mul(step, number(m, s->width)), item) };
	expr value = lanes_see_with(&v, s->s->value, &s->held, v.arrays->held, 2, index);
	emit_set(p, in, sums, copy, ir_combine_expr(s->s->combine, item_of(sums, copy), value));

	if (m->lanes > 1) {
		struct ir_lanes *lanes = emit_lanes_combine(p, b, sums, s->s->combine, m->lanes);
		lanes->items = copies;
	}
	in = lanes_for_copies(m, b, s->s->out, &copy);
	v = lanes_view_of_stage(m, stage, copy);
	v.acc = item_of(sums, copy);
	value = s->s->post ? lanes_see_with(&v, s->s->post, &s->early, v.arrays->early, 1, &copy)
	                   : ir_cast(v.acc, s->s->out->type);
	lanes_set(m, in, s->s->out, copy, value, false);
}
