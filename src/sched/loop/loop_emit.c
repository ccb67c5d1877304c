/* A loop's items as statements of one kernel. See loop.h. */
#include "ir/axis_names.h"
#include "sched/loop/loop_view.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"

#include <string.h>

static expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static expr mul(expr a, expr b)
{
	return ir_binary(IR_MUL, a, b);
}

static void wait(struct emitter *m, struct ir_block *b)
{
	if (!m->serial)
		emit(m->p, b, IR_SYNC);
}

/* Stores the element into a collected result, at position `at` of its first axis. */
static void store_collected(struct view *v, struct ir_block *b, const struct ir_collect *c, expr value)
{
	struct emitter *m = v->m;
	expr local = loop_local(m->l, c->from->rank, c->from->dim);
	expr at = mul(see(v, c->at), ir_buffer_count(m->p, c->from));
	if (m->l->inside[c->out->id]) /* collected by an inner loop: local, no rows */
		store(v, b, c->out, add(at, v->element), value);
	else
		emit_store(m->p, b, c->out, add(at, add(mul(m->first_row, local), v->element)), value);
}

/* ---- Items. */

static expr reduction_result(struct view *v, struct accumulator *a)
{
	const struct ir_stage *s = a->s;
	if (ir_combine_is_arg(s->combine))
		return ir_cast(accumulator_position(a), s->out->type);
	v->acc = a->value;
	return s->post ? see(v, s->post) : ir_cast(a->value, s->out->type);
}

/* A reduction by one thread: loops over its axes. */
static expr serial_reduction(struct view *v, struct ir_block *b, const struct ir_stage *s)
{
	struct ir_program *p = v->m->p;
	struct accumulator a = accumulator_begin(p, b, s);
	struct ir_block *inner = b;
	int rank = s->out->rank;
	expr position = index_of(v->m, 0);
	for (int k = 0; k < s->space_rank; k++) {
		const char *name = ir_axis_names[1][k];
		v->axis[rank + k] = index_of(v->m, 0);
		if (!ir_is_int(s->space[k], 1)) {
			inner = emit_loop(p, inner, name, index_of(v->m, 0), s->space[k], index_of(v->m, 1),
			                  s->space[k], &v->axis[rank + k]);
		}
		position = add(mul(position, s->space[k]), v->axis[rank + k]);
	}
	accumulate(&a, inner, see(v, s->value), position);
	return reduction_result(v, &a);
}

/* Searches the item's later entries for reads of this entry's result. */
struct later {
	const struct loop_item *item;
	int entry;
	const struct ir_buffer *made;
	bool found;
};

static void find_later(void *user, expr e)
{
	struct later *x = user;
	x->found |= e->op == IR_LOAD && e->buf == x->made && loop_in_register(x->item, x->entry, e);
}

static bool read_later(const struct loop_item *item, int entry)
{
	struct later x = { item, entry, item->entries.at[entry].stage->out, false };
	for (x.entry++; x.entry < item->entries.n; x.entry++) {
		const struct ir_stage *s = item->entries.at[x.entry].stage;
		ir_walk(s->value, find_later, &x);
		if (s->post)
			ir_walk(s->post, find_later, &x);
	}
	return x.found;
}

static void emit_entry(struct view *v, struct ir_block *b, const struct loop_item *item, int i)
{
	const struct loop_entry *e = &item->entries.at[i];
	const struct ir_stage *s = e->stage;
	int uses = (e->to != NULL) + e->collects.n + (e->makes && read_later(item, i));
	v->entry = i;
	expr value = s->kind == IR_REDUCE ? serial_reduction(v, b, s) : see(v, s->value);
	if (uses > 1 || e->late || (uses && !e->to && !e->collects.n))
		value = emit_define(v->m->p, b, register_of(v->m, s->out), value, NULL);
	if (e->to && !e->late && !e->saved)
		store(v, b, e->to, v->element, value);
	if (e->saved) {
		expr place = add(mul(v->m->first_row, loop_local(v->m->l, s->out->rank, s->out->dim)), v->element);
		emit_store(v->m->p, b, e->to, place, value);
	}
	vec_each (c, &e->collects)
		store_collected(v, b, *c, value);
}

static void emit_elements(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	const struct ir_buffer *out = item->entries.at[0].stage->out;
	struct view v = { .m = m, .item = item, .out = out };
	bool used[2 * IR_MAX_RANK] = { false };
	comment_item(m, b, item, "");
	expr local = loop_local(m->l, out->rank, out->dim);
	struct ir_block *body = for_elements(m, b, local, m->thread, m->l->threads, &v.element);
	v.row = index_of(m, 0);
	for (int i = 0; i < item->entries.n; i++) {
		const struct ir_stage *s = item->entries.at[i].stage;
		v.entry = i;
		used_axes(&v, 2, (expr[]){ s->value, s->post }, used);
	}
	declare_place(&v, body, v.element, out->rank, out->dim, ir_axis_names[0], used);
	for (int i = 0; i < item->entries.n; i++)
		emit_entry(&v, body, item, i);
	vec_each (e, &item->entries)
		if (e->late)
			store(&v, body, e->to, v.element, ir_var_of(register_of(m, e->stage->out), NULL));
}

/* Stores a reduction's result from the lane that holds it, or from the only thread. */
static void store_reduced(struct view *v, struct ir_block *b, const struct loop_entry *e, expr y)
{
	if ((e->to != NULL) + e->collects.n > 1)
		y = emit_define(v->m->p, b, register_of(v->m, e->stage->out), y, NULL);
	if (e->to)
		store(v, b, e->to, v->element, y);
	vec_each (c, &e->collects)
		store_collected(v, b, *c, y);
}

/* Loops over the elements; the whole block makes each one. */
static struct ir_block *each_element(struct emitter *m, struct ir_block *b, expr local, expr *element)
{
	expr count = mul(m->rows, local);
	if (ir_is_int(count, 1)) {
		*element = index_of(m, 0);
		return b;
	}
	return emit_loop(m->p, b, "element", index_of(m, 0), count, index_of(m, 1), count, element);
}

/* Emits a reduction with the lanes of a warp, or of the block, along the reduced axes. */
static void emit_lanes(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct loop_entry *e = &item->entries.at[0];
	const struct ir_stage *s = e->stage;
	const struct ir_buffer *out = s->out;
	bool used[2 * IR_MAX_RANK] = { false }, wide = loop_is_wide(m->l, item) && !m->serial;
	struct view v = { .m = m, .item = item, .out = out };
	int rank = out->rank, width = wide ? m->l->threads : WARP;
	expr local = loop_local(m->l, rank, out->dim), lane = wide ? m->thread : m->lane;
	comment_item(m, b, item, m->serial ? "" : wide ? ": the block an element" : ": a warp an element");
	if (wide) /* opens a scope */
		b = emit_if(p, b, ir_int(p->pool, TYPE_BOOL, 1));
	b = wide ? each_element(m, b, local, &v.element)
	         : for_elements(m, b, local, m->warp, m->l->threads / WARP, &v.element);
	v.row = index_of(m, 0);
	used_axes(&v, 2, (expr[]){ s->value, s->post }, used);
	declare_place(&v, b, v.element, rank, out->dim, ir_axis_names[0], used);
	if (m->serial) {
		store_reduced(&v, b, e, serial_reduction(&v, b, s));
		return;
	}
	struct accumulator a = accumulator_begin(p, b, s);
	expr points = reduced_count(p, s);
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	expr point;
	struct ir_block *steps = emit_loop(p, b, name, lane, points, index_of(m, width), points, &point);
	if (s->space_rank == 1)
		v.axis[rank] = point;
	else
		declare_axes(p, steps, point, s->space_rank, s->space, ir_axis_names[1], used + rank, v.axis + rank);
	accumulate(&a, steps, see(&v, s->value), point);
	emit_lanes_combine(p, b, a.value->var, s->combine, width)->index = a.position ? a.position->var : NULL;
	b = emit_if(p, b, ir_binary(IR_EQ, lane, index_of(m, 0)));
	store_reduced(&v, b, e, reduction_result(&v, &a));
}

static void emit_items(struct emitter *m, struct ir_block *b, int n, const struct loop_item *item);

static void emit_iterations(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	const struct ir_variable *iteration = ir_variable_new(p->pool, TYPE_INDEX, "%s", s->loop->index->var->hint);
	struct view v = { .m = m, .item = item, .row = index_of(m, 0) };
	b = emit_for_each(p, b, iteration, index_of(m, 0), s->loop->trip, index_of(m, 1));
	ck(m->loops < IR_MAX_LOOPS);
	m->loop[m->loops].index = s->loop->index;
	m->loop[m->loops++].name = ir_var_of(iteration, s->loop->trip);
	if (item->sync)
		wait(m, b);
	if (s->where)
		emit(p, b, IR_BREAK_IF)->leave = ir_unary(IR_NOT, see(&v, s->where));
	emit_items(m, b, item->body.n, item->body.at);
	m->loops--;
}

static void emit_items(struct emitter *m, struct ir_block *b, int n, const struct loop_item *item)
{
	for (int i = 0; i < n; i++, item++) {
		if (item->sync && item->kind != LOOP_ITERATIONS)
			wait(m, b);
		switch (item->kind) {
		case LOOP_ELEMENTS: emit_elements(m, b, item); break;
		case LOOP_LANES: emit_lanes(m, b, item); break;
		case LOOP_UPDATES: emit_updates(m, b, item); break;
		case LOOP_SCAN: emit_scan(m, b, item); break;
		case LOOP_SORT: emit_sort(m, b, item); break;
		case LOOP_PICK: emit_pick(m, b, item); break;
		case LOOP_ITERATIONS: emit_iterations(m, b, item); break;
		}
	}
}

/* ---- The whole kernel. */

static bool has_lanes(const struct loop_plan *l, int n, const struct loop_item *item)
{
	bool lanes = false;
	for (int i = 0; i < n; i++)
		lanes |= (item[i].kind == LOOP_LANES && !loop_is_wide(l, &item[i])) ||
		         has_lanes(l, item[i].body.n, item[i].body.at);
	return lanes;
}

static void mark_expr(void *user, expr e, const char *role)
{
	(void)role;
	ir_mark_axes(e, user);
}

static void declare_rows(struct emitter *m, struct ir_kernel *k, struct ir_block *b)
{
	const struct loop_plan *l = m->l;
	struct ir_program *p = m->p;
	expr block = ir_block(p->pool, k->blocks);
	bool used[2 * IR_MAX_RANK] = { false };
	m->first_row = index_of(m, 0);
	m->rows = index_of(m, 1);
	if (!l->lead)
		return;
	ir_stage_exprs(l->stage, mark_expr, used);
	const struct ir_buffer *any = ir_stage_made(l->stage, 0);
	const expr *dim = l->stage->loop->carries.n ? any->dim : any->dim + 1;
	if (l->rows_a_block == 1) {
		m->first_row = emit_constant(p, b, "row", block, l->rows);
		declare_axes(p, b, m->first_row, l->lead, dim, ir_axis_names[0], used, m->lead);
		for (int i = 0; i < l->lead; i++)
			if (!m->lead[i])
				m->lead[i] = index_of(m, 0); /* unused */
		return;
	}
	expr several = index_of(m, l->rows_a_block);
	m->first_row = emit_constant(p, b, "first_row", mul(block, several), l->rows);
	m->rows = ir_binary(IR_MIN, several, ir_binary(IR_SUB, l->rows, m->first_row));
	m->rows = emit_constant(p, b, "rows_here", m->rows, add(several, index_of(m, 1)));
}

void loop_emit(const struct loop_plan *l, struct ir_kernel *k, struct ir_block *b, bool serial)
{
	struct ir_program *p = l->p;
	struct emitter m = { .l = l, .p = p, .serial = serial };
	expr block = ir_block(p->pool, k->blocks);
	expr beyond = ir_binary(IR_LE, l->rows, mul(block, index_of(&m, l->rows_a_block)));
	/* Blocks are launched for the upper bound of rows. */
	if (l->lead && !serial)
		emit_return_if(p, b, beyond);
	else if (l->lead && !ir_is_int(beyond, 0))
		b = emit_if(p, b, ir_unary(IR_NOT, beyond));
	if (!serial) {
		m.thread = ir_thread(p->pool, index_of(&m, l->threads));
		if (has_lanes(l, l->items.n, l->items.at)) {
			m.warp = emit_constant(p, b, "warp", ir_binary(IR_FLOORDIV, m.thread, index_of(&m, WARP)),
			                       index_of(&m, l->threads / WARP));
			m.lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, m.thread, index_of(&m, WARP)),
			                       index_of(&m, WARP));
		}
	}
	declare_rows(&m, k, b);
	emit_items(&m, b, l->items.n, l->items.at);
}
