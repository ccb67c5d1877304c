/* The kernel of a loop with some lanes for each unit. See loop_lanes_kernel.h. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/loop/loop_lanes_kernel.h"

/* ---- Loads before the loop, and a turn ahead. */

static bool differs_by_turn(const struct lanes_emitter *m, expr e)
{
	return e == m->g->s->loop->index || e->op == IR_VAR;
}

struct by_turn {
	const struct lanes_emitter *m;
	bool any;
};

static void note_turn(void *user, expr e)
{
	struct by_turn *x = user;
	x->any |= differs_by_turn(x->m, e);
}

static bool depends_on_turn(const struct lanes_emitter *m, expr e)
{
	struct by_turn x = { .m = m };
	ir_walk(e, note_turn, &x);
	return x.any;
}

/* Loads the stages' early parts that depend on the turn, or the others. */
static void load_early(struct lanes_emitter *m, struct ir_block *b, expr turn, bool by_turn)
{
	for (int i = 0; i < m->l->stages.n; i++) {
		const struct lanes_stage *s = &m->l->stages.at[i];
		struct ir_block *each = NULL;
		expr copy;
		for (int k = 0; k < s->early.n; k++) {
			if (depends_on_turn(m, s->early.part[k]) != by_turn)
				continue;
			each = each ? each : emit_turns(m->p, b, "copy", m->g->copies[s->s->out->id], &copy);
			struct lanes_view v = lanes_view_of_stage(m, i, copy);
			v.turn = turn;
			emit_set(m->p, each, by_turn ? v.arrays->next[k] : v.arrays->early[k], copy,
			         lanes_see(&v, s->early.part[k]));
		}
	}
}

/* early = next, of what depends on the turn. */
static void take_early(struct lanes_emitter *m, struct ir_block *b)
{
	for (int i = 0; i < m->l->stages.n; i++) {
		const struct lanes_stage *s = &m->l->stages.at[i];
		struct lanes_arrays *a = &m->arrays[i];
		expr copy;
		for (int k = 0; k < s->early.n; k++) {
			if (!depends_on_turn(m, s->early.part[k]))
				continue;
			int copies = m->g->copies[s->s->out->id];
			a->early[k] = lanes_array(m, b, s->early.part[k], s->s->out->name, "early", copies, 0);
			struct ir_block *each = emit_turns(m->p, b, "copy", copies, &copy);
			emit_set(m->p, each, a->early[k], copy, item_of(a->next[k], copy));
		}
	}
}

static void declare_early(struct lanes_emitter *m, struct ir_block *b)
{
	expr zero = number(m, 0), trip = m->g->s->loop->trip;
	bool ahead = false;
	for (int i = 0; i < m->l->stages.n; i++) {
		const struct lanes_stage *s = &m->l->stages.at[i];
		int copies = m->g->copies[s->s->out->id];
		for (int k = 0; k < s->early.n; k++) {
			bool by_turn = depends_on_turn(m, s->early.part[k]);
			const struct ir_variable **array = by_turn ? m->arrays[i].next : m->arrays[i].early;
			array[k] = lanes_array(m, b, s->early.part[k], s->s->out->name, by_turn ? "next" : "early",
			                       copies, 0);
			ahead |= by_turn;
		}
	}
	load_early(m, b, zero, false);
	if (ahead)
		load_early(m, ir_less(zero, trip) ? b : emit_if(m->p, b, ir_binary(IR_LT, zero, trip)), zero, true);
}

/* ---- The whole kernel. */

static bool is_state(const struct grid_loop *g, const struct ir_buffer *b)
{
	vec_each (c, &g->s->loop->carries)
		if (c->state == b)
			return true;
	return false;
}

static void collect(struct lanes_emitter *m, struct ir_block *b, bool states)
{
	struct lanes_view v = { .m = m, .turn = m->turn };
	vec_each (c, &m->g->s->loop->collects)
		if (is_state(m->g, c->from) == states)
			lanes_store_row(m, b, c->out, c->from,
			                mul(lanes_see(&v, c->at), ir_buffer_count(m->p, c->from)));
}

static void emit_map(struct lanes_emitter *m, struct ir_block *b, int stage)
{
	const struct lanes_stage *s = &m->l->stages.at[stage];
	expr copy;
	b = lanes_for_copies(m, b, s->s->out, &copy);
	struct lanes_view v = lanes_view_of_stage(m, stage, copy);
	lanes_set(m, b, s->s->out, copy, lanes_see_with(&v, s->s->value, &s->early, v.arrays->early, 1, &copy), false);
}

static bool is_next(const struct grid_loop *g, const struct ir_buffer *b)
{
	vec_each (c, &g->s->loop->carries)
		if (c->next == b)
			return true;
	return false;
}

/* States become their next values, all at once: a state that is another's next value is copied before. */
static void emit_carries(struct lanes_emitter *m, struct ir_block *b)
{
	const struct ir_loop *loop = m->g->s->loop;
	const struct ir_variable **next = NEWN(m->p->arena, const struct ir_variable *, m->g->buffers);
	expr copy;
	vec_each (c, &loop->carries) {
		if (!is_state(m->g, c->state) || !is_next(m->g, c->state))
			continue;
		const struct ir_variable *own = m->own[c->state->id];
		struct ir_variable *old = ir_variable_new(m->p->pool, own->type, "%s_old", c->state->name);
		emit_array(m->p, b, old, m->g->copies[c->state->id]);
		struct ir_block *each = emit_turns(m->p, b, "copy", m->g->copies[c->state->id], &copy);
		emit_set(m->p, each, old, copy, lanes_own(m, c->state, copy));
		next[c->state->id] = old;
	}
	vec_each (c, &loop->carries) {
		const struct ir_variable *own = m->own[c->state->id];
		struct ir_block *each = emit_turns(m->p, b, "copy", m->g->copies[c->state->id], &copy);
		expr value = next[c->next->id] ? item_of(next[c->next->id], copy) : lanes_own(m, c->next, copy);
		if (own->rank)
			emit_set(m->p, each, own, copy, value);
		else
			emit_assign(m->p, each, ir_var_of(own, NULL), value);
	}
	vec_each (c, &loop->carries)
		lanes_publish(m, b, c->state, add(m->turn, number(m, 1)));
}

/* A turn. A barrier separates what a unit publishes from its readers; an element of the turn after next, which has the
 * same place, is published after the next turn's barrier. */
static void emit_turn(struct lanes_emitter *m, struct ir_block *b)
{
	bool waited = false;
	take_early(m, b);
	expr trip = m->g->s->loop->trip, last = add(trip, number(m, -1));
	expr ahead = ir_binary(IR_MIN, add(m->turn, number(m, 1)), last);
	load_early(m, b, emit_constant(m->p, b, "ahead", ahead, trip), true);
	for (int i = 0; i < m->l->stages.n; i++) {
		const struct lanes_stage *s = &m->l->stages.at[i];
		if (s->reads_others && !waited)
			emit(m->p, b, IR_SYNC);
		waited |= s->reads_others;
		emit_comment(m->p, b, "%s", s->s->out->name);
		if (s->s->kind == IR_REDUCE)
			lanes_emit_sum(m, b, i);
		else
			emit_map(m, b, i);
		lanes_publish(m, b, s->s->out, m->turn);
		waited &= !m->all[s->s->out->id];
	}
	collect(m, b, true);
	emit_carries(m, b);
	collect(m, b, false);
}

static void declare_block(struct lanes_emitter *m, struct ir_kernel *k, struct ir_block *b)
{
	const struct grid_loop *g = m->g;
	struct ir_program *p = m->p;
	bool used[IR_MAX_RANK];
	const struct ir_buffer *any = g->s->loop->carries.at[0].state;
	expr lanes = number(m, m->lanes), units = number(m, g->units), all = mul(grid_outer(g), grid_rows(g));
	m->thread = ir_thread(p->pool, number(m, m->threads));
	m->lane = number(m, 0);
	if (m->lanes > 1)
		m->lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, m->thread, lanes), lanes);
	expr unit = ir_binary(IR_FLOORDIV, m->thread, lanes);
	bool more = m->threads != g->units * m->lanes;
	expr mine = m->lanes > 1 ? ir_binary(IR_EQ, m->lane, number(m, 0)) : ir_int(p->pool, TYPE_BOOL, 1);
	if (more)
		mine = ir_binary(IR_AND, mine, ir_binary(IR_LT, m->thread, mul(units, lanes)));
	m->mine = m->lanes > 1 || more ? emit_constant(p, b, "mine", mine, NULL) : NULL;
	unit = more ? ir_binary(IR_MIN, unit, add(units, number(m, -1))) : unit;
	m->unit = emit_constant(p, b, "unit", unit, units);
	m->row = ir_block(p->pool, k->blocks);
	if (g->lead && ir_size_limit(p, all) != all) /* the grid uses the upper bound */
		emit_return_if(p, b, ir_binary(IR_LE, all, m->row));
	m->row = g->lead ? emit_constant(p, b, "row", m->row, all) : number(m, 0);
	for (int i = 0; i < IR_MAX_RANK; i++)
		used[i] = true;
	declare_axes(p, b, m->row, g->lead, any->dim, ir_axis_names[0], used, m->axis);
}

static void make_arrays(struct lanes_emitter *m, struct ir_kernel *k, struct ir_block *b)
{
	const struct grid_loop *g = m->g;
	struct ir_program *p = m->p;
	int room = lanes_room(m->l, m->lanes);
	for (int id = 0; id < g->buffers; id++) {
		const struct ir_buffer *buf = p->buffers.at[id];
		if (!g->published[id])
			continue;
		struct ir_buffer *s = NEW(p->arena, struct ir_buffer);
		*s = (struct ir_buffer){ .type = buf->type, .rank = 1, .role = IR_TEMP, .id = id };
		s->name = arena_printf(p->arena, "%s_all", buf->name);
		expr count = s->dim[0] = number(m, 2 * (int64_t)room * g->copies[id]), element;
		vec_push(p->arena, &k->shared, (const struct ir_buffer *)s);
		m->all[id] = s;
		if (room == g->units)
			continue;
		struct ir_block *each =
		        emit_loop(p, b, "element", m->thread, count, number(m, m->threads), count, &element);
		emit_store_flat(p, each, s, element, ir_const(p->pool, buf->type, 0));
	}
	if (room != g->units)
		emit(p, b, IR_SYNC);
}

void lanes_emit(struct ir_program *p, const struct lanes_loop *l, int lanes, struct ir_kernel *k)
{
	const struct grid_loop *g = l->g;
	struct lanes_emitter m = { .l = l, .g = g, .p = p, .lanes = lanes, .threads = k->threads };
	struct ir_block *b = &k->body;
	expr copy;
	m.all = NEWN(p->arena, const struct ir_buffer *, g->buffers);
	m.own = NEWN(p->arena, const struct ir_variable *, g->buffers);
	m.arrays = NEWN(p->arena, struct lanes_arrays, l->stages.n);
	declare_block(&m, k, b);
	make_arrays(&m, k, b);
	for (int i = 0; i < l->stages.n; i++)
		if (l->stages.at[i].s->kind == IR_REDUCE)
			lanes_load_held(&m, b, i);
	vec_each (c, &g->s->loop->carries) {
		struct ir_block *each = lanes_for_copies(&m, b, c->state, &copy);
		struct lanes_view v = lanes_view_of(&m, c->state, copy);
		lanes_set(&m, each, c->state, copy, lanes_see(&v, c->init), true);
		lanes_publish(&m, b, c->state, number(&m, 0));
	}
	declare_early(&m, b);
	struct ir_block *body = emit_loop(p, b, g->s->loop->index->var->hint, number(&m, 0), g->s->loop->trip,
	                                  number(&m, 1), g->s->loop->trip, &m.turn);
	struct lanes_view v = { .m = &m, .turn = m.turn };
	if (g->s->where)
		emit(p, body, IR_BREAK_IF)->leave = ir_unary(IR_NOT, lanes_see(&v, g->s->where));
	emit_turn(&m, body);
	vec_each (c, &g->s->loop->carries)
		lanes_store_row(&m, b, c->state, c->state, number(&m, 0));
}
