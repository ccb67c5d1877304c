/* The kernel of a loop with some lanes for each unit: its elements, what expressions read, and stores. See
 * loop_lanes_kernel.h. */
#include "sched/build/axes.h"
#include "sched/loop/loop_lanes_kernel.h"

/* ---- Elements and expressions. */

expr lanes_own(const struct lanes_emitter *m, const struct ir_buffer *b, expr copy)
{
	const struct ir_variable *v = m->own[b->id];
	return v->rank ? item_of(v, copy) : ir_var_of(v, NULL);
}

static expr copies_of(const struct lanes_emitter *m, const struct ir_buffer *b)
{
	return number(m, m->g->copies[b->id]);
}

expr lanes_place_of_turn(const struct lanes_emitter *m, const struct ir_buffer *b, expr turn, expr place)
{
	expr each = mul(copies_of(m, b), number(m, lanes_room(m->l, m->lanes)));
	expr half = ir_binary(IR_MOD, turn, number(m, 2));
	return add(mul(half, each), lanes_place(m->l, m->lanes, place));
}

static expr view_load(struct lanes_view *v, expr e, const expr *arg)
{
	struct lanes_emitter *m = v->m;
	const struct ir_buffer *b = e->buf;
	struct ir_pool *pool = m->p->pool;
	if (!grid_inside(m->g, b)) {
		expr flat = ir_flat(pool, b, arg);
		return ir_load(pool, flat_view(m->p, b), &flat);
	}
	for (int i = 0; v->item && i < v->s->vectors; i++)
		if (v->s->vector[i] == e)
			return item_of(v->arrays->vector[i], v->item);
	expr units = number(m, m->g->units), place = grid_place(m->p, m->g->lead, b, arg);
	if (ir_binary(IR_MOD, place, units) == m->unit)
		return lanes_own(m, b, ir_binary(IR_FLOORDIV, place, units));
	ck(m->all[b->id]);
	place = lanes_place_of_turn(m, b, v->turn, place);
	return ir_load(pool, m->all[b->id], &place);
}

static expr view_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct lanes_view *v = user;
	(void)pool;
	if (e->op == IR_AXIS) {
		ck(v->axis[e->i]);
		return v->axis[e->i];
	}
	if (e->op == IR_ACC)
		return v->acc;
	if (e->op == IR_LOAD)
		return view_load(v, e, arg);
	return e == v->m->g->s->loop->index ? v->turn : NULL;
}

expr lanes_see(struct lanes_view *v, expr e)
{
	return ir_copy(v->m->p->pool, e, view_leaf, v);
}

expr lanes_see_with(struct lanes_view *v, expr e, const struct lanes_parts *parts,
                    const struct ir_variable *const *array, int n, const expr *index)
{
	expr with[LANES_HELD];
	for (int i = 0; i < parts->n; i++)
		with[i] = ir_element_of(array[i], n, index);
	return lanes_see(v, parts->n ? substitute(&(struct substitution){ parts->part, with, parts->n }, e) : e);
}

struct lanes_view lanes_view_of(struct lanes_emitter *m, const struct ir_buffer *out, expr copy)
{
	struct lanes_view v = { .m = m, .copy = copy, .turn = m->turn };
	for (int k = 0; k < m->g->lead; k++)
		v.axis[k] = m->axis[k];
	grid_axes(m->p, m->g->lead, out, add(mul(copy, number(m, m->g->units)), m->unit), v.axis);
	return v;
}

struct lanes_view lanes_view_of_stage(struct lanes_emitter *m, int stage, expr copy)
{
	const struct lanes_stage *s = &m->l->stages.at[stage];
	struct lanes_view v = lanes_view_of(m, s->s->out, copy);
	v.s = s;
	v.arrays = &m->arrays[stage];
	return v;
}

/* ---- Stores. */

static struct ir_block *if_mine(struct lanes_emitter *m, struct ir_block *b)
{
	return m->mine ? emit_if(m->p, b, m->mine) : b;
}

static expr place_in_row(const struct lanes_emitter *m, expr copy)
{
	return add(mul(copy, number(m, m->g->units)), m->unit);
}

void lanes_publish(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *buf, expr turn)
{
	expr copy;
	if (!m->all[buf->id])
		return;
	b = emit_turns(m->p, if_mine(m, b), "copy", m->g->copies[buf->id], &copy);
	emit_store_flat(m->p, b, m->all[buf->id], lanes_place_of_turn(m, buf, turn, place_in_row(m, copy)),
	                lanes_own(m, buf, copy));
}

void lanes_store_row(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *to,
                     const struct ir_buffer *from, expr at)
{
	expr copy, row = mul(m->row, mul(copies_of(m, from), number(m, m->g->units)));
	b = emit_turns(m->p, if_mine(m, b), "copy", m->g->copies[from->id], &copy);
	emit_store(m->p, b, to, add(add(at, row), place_in_row(m, copy)), lanes_own(m, from, copy));
}

/* ---- Variables. */

struct ir_block *lanes_for_copies(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *buf, expr *copy)
{
	int copies = m->g->copies[buf->id];
	struct ir_variable *v = ir_variable_of(m->p->pool, buf->type, buf, IR_HOLDS_VALUES, 0, "%s_here", buf->name);
	if (copies > 1)
		emit_array(m->p, b, v, copies);
	m->own[buf->id] = v;
	return emit_turns(m->p, b, "copy", copies, copy);
}

void lanes_set(struct lanes_emitter *m, struct ir_block *b, const struct ir_buffer *buf, expr copy, expr value,
               bool mutable)
{
	const struct ir_variable *v = m->own[buf->id];
	if (v->rank)
		emit_set(m->p, b, v, copy, value);
	else if (mutable)
		emit_define_variable(m->p, b, v, value);
	else
		emit_define(m->p, b, v, value, NULL);
}

const struct ir_variable *lanes_array(struct lanes_emitter *m, struct ir_block *b, expr what, const char *name,
                                      const char *how, int rows, int n)
{
	struct ir_variable *v = ir_variable_new(m->p->pool, what->type, "%s_%s", name, how);
	if (n)
		emit_array_of_rows(m->p, b, v, rows, n);
	else
		emit_array(m->p, b, v, rows);
	return v;
}
