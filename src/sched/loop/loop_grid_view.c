/* The kernel of a loop by many blocks: its elements, what expressions read, and stores. See loop_grid_kernel.h. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/vectors.h"
#include "sched/loop/loop_grid_kernel.h"

/* ---- Places. */

/* The spot of element `place` of the block's copies * units in a row of that number in the block. */
struct grid_spot grid_spot_of(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *out, expr row,
                              expr place)
{
	const struct grid_loop *g = m->g;
	struct ir_program *p = m->p;
	struct grid_spot x = { .row = row };
	expr units = number(m, m->s->units);
	int copies = g->copies[out->id];
	x.copy = number(m, 0);
	x.in_unit = place;
	if (copies > 1) {
		x.copy = emit_declare(p, b, "copy", quotient(place, units), number(m, copies));
		x.in_unit = emit_declare(p, b, "in_unit", rest(place, units), units);
	}
	x.unit = emit_constant(p, b, "unit", add(m->first_unit, x.in_unit), number(m, g->units));
	x.place = add(mul(x.copy, number(m, g->units)), x.unit);
	for (int k = 0; k < g->lead - 1; k++)
		x.axis[k] = m->axis[k];
	if (g->lead)
		x.axis[g->lead - 1] = emit_declare(p, b, "row", add(m->first_row, row), m->rows);
	grid_axes(p, g->lead, out, x.place, x.axis);
	return x;
}

/* The block for a row that may be past the last. */
struct ir_block *grid_if_row(struct grid_emitter *m, struct ir_block *b, expr row)
{
	return m->whole_rows ? b : emit_if(m->p, b, ir_binary(IR_LT, row, m->rows_here));
}

expr grid_row_in_range(struct grid_emitter *m, expr row)
{
	return m->whole_rows ? row : ir_binary(IR_MIN, row, add(m->rows_here, number(m, -1)));
}

struct ir_block *grid_if_new(struct grid_emitter *m, struct ir_block *b, const struct grid_spot *x)
{
	return m->first_new ? emit_if(m->p, b, ir_binary(IR_LE, m->first_new, x->unit)) : b;
}

/* The number of the spot's row in all. */
expr grid_row_number(const struct grid_emitter *m, const struct grid_spot *x)
{
	return m->g->lead ? add(mul(m->outer, m->rows), x->axis[m->g->lead - 1]) : number(m, 0);
}

expr grid_own_place(const struct grid_emitter *m, const struct ir_buffer *b, const struct grid_spot *x, expr copy)
{
	expr row = mul(x->row, number(m, m->g->copies[b->id]));
	return add(mul(add(row, copy), number(m, m->s->units)), x->in_unit);
}

/* ---- Expressions. */

/* The variable that holds the value of an entry. */
const struct ir_variable *grid_register(struct grid_emitter *m, const struct grid_item *item, int entry)
{
	const struct ir_buffer *b = item->entries.at[entry].stage->out;
	int number = (int)(item - m->g->items.at) * MOST_ENTRIES + entry;
	return ir_variable_of(m->p->pool, b->type, b, IR_HOLDS_VALUE, number, "%s_here", b->name);
}

static expr view_load(struct grid_view *v, expr e, const expr *arg)
{
	struct grid_emitter *m = v->m;
	const struct grid_loop *g = m->g;
	struct ir_pool *pool = m->p->pool;
	const struct ir_buffer *b = e->buf;
	if (b->id >= g->buffers || !g->copies[b->id]) {
		expr flat = ir_flat(pool, b, arg);
		return ir_load(pool, flat_view(m->p, b), &flat);
	}
	for (int i = 0; i < v->entry; i++)
		if (v->item->entries.at[i].makes && v->item->entries.at[i].stage->out == b)
			return ir_var_of(grid_register(m, v->item, i), NULL);
	expr units = number(m, g->units), place = grid_place(m->p, g->lead, b, arg), at;
	if (m->own[b->id] && rest(place, units) == v->spot->unit) {
		at = grid_own_place(m, b, v->spot, quotient(place, units));
		return ir_load(pool, m->own[b->id], &at);
	}
	ck(m->all[b->id]);
	at = add(mul(v->spot->row, number(m, g->copies[b->id] * g->units)), place);
	return ir_load(pool, m->all[b->id], &at);
}

static expr view_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct grid_view *v = user;
	(void)pool;
	if (e->op == IR_AXIS) {
		ck(v->spot->axis[e->i]);
		return v->spot->axis[e->i];
	}
	if (e->op == IR_ACC)
		return v->acc;
	if (e->op == IR_LOAD)
		return view_load(v, e, arg);
	return e == v->m->g->s->loop->index ? v->m->turn : NULL;
}

expr grid_see(struct grid_view *v, expr e)
{
	return ir_copy(v->m->p->pool, e, view_leaf, v);
}

/* The same with held parts replaced by elements of their arrays. */
expr grid_see_held(struct grid_view *v, expr e, const struct grid_held *held, int n, int indices, const expr *index)
{
	expr what[MOST_HELD], with[MOST_HELD];
	for (int i = 0; i < n; i++) {
		what[i] = held[i].what;
		with[i] = ir_element_of(held[i].array, indices, index);
	}
	return grid_see(v, n ? substitute(&(struct substitution){ what, with, n }, e) : e);
}

/* ---- Stores. */

expr grid_word_at(const struct grid_emitter *m, expr half, expr row, const struct ir_buffer *b, expr place)
{
	expr rows = mul(ir_binary(IR_MUL, grid_outer(m->g), m->rows), half);
	return add(mul(add(rows, row), number(m, m->each)), add(number(m, m->first_word[b->id]), place));
}

void grid_publish(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf, const struct grid_spot *x,
                  expr turn, expr value)
{
	if (!m->g->published[buf->id] || m->s->alone)
		return;
	struct ir_call *call = emit_invoke(m->p, grid_if_new(m, b, x), &device_word_pass, IR_OF_NOTHING);
	expr half = rest(turn, number(m, 2));
	add_address(m->p, call, m->words, grid_word_at(m, half, grid_row_number(m, x), buf, x->place), true);
	add_value(m->p, call, value);
	add_value(m->p, call, add(turn, number(m, 1)));
}

void grid_keep(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf, const struct grid_spot *x,
               expr value)
{
	if (m->own[buf->id])
		emit_store_flat(m->p, b, m->own[buf->id], grid_own_place(m, buf, x, x->copy), value);
}

/* Uses an entry's value: stores, publishes and collects it. States follow later. */
void grid_use_value(struct grid_view *v, struct ir_block *b, const struct grid_entry *e, expr value)
{
	struct grid_emitter *m = v->m;
	const struct grid_spot *x = v->spot;
	const struct ir_buffer *out = e->stage->out;
	if (e->makes) {
		grid_keep(m, b, out, x, value);
		grid_publish(m, b, out, x, m->turn, value);
	}
	b = e->collects.n ? grid_if_new(m, b, x) : b;
	vec_each (c, &e->collects) {
		expr local = number(m, m->g->copies[out->id] * m->g->units);
		expr at = mul(grid_see(v, (*c)->at), ir_buffer_count(m->p, (*c)->from));
		emit_store(m->p, b, (*c)->out, add(at, add(mul(grid_row_number(m, x), local), x->place)), value);
	}
}

void grid_store_states(struct grid_view *v, struct ir_block *b, const struct grid_entry *e)
{
	struct grid_emitter *m = v->m;
	expr value = ir_var_of(grid_register(m, v->item, (int)(e - v->item->entries.at)), NULL);
	vec_each (c, &e->carries) {
		grid_keep(m, b, (*c)->state, v->spot, value);
		grid_publish(m, b, (*c)->state, v->spot, add(m->turn, number(m, 1)), value);
	}
}

struct ir_block *grid_each_element(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *out,
                                   struct grid_spot *x)
{
	struct ir_program *p = m->p;
	int row = m->g->copies[out->id] * m->s->units, all = row * m->s->rows;
	expr count = number(m, all), element;
	if (all > m->s->threads) {
		b = emit_loop(p, b, "element", m->thread, count, number(m, m->s->threads), count, &element);
	} else {
		b = all < m->s->threads ? emit_if(p, b, ir_binary(IR_LT, m->thread, count)) : b;
		element = emit_constant(p, b, "element", m->thread, count);
	}
	expr own = number(m, 0), place = element;
	if (m->s->rows > 1) {
		own = emit_declare(p, b, "own_row", quotient(element, number(m, row)), number(m, m->s->rows));
		place = emit_declare(p, b, "in_row", rest(element, number(m, row)), number(m, row));
		b = grid_if_row(m, b, own);
	}
	*x = grid_spot_of(m, b, out, own, place);
	return b;
}

/* The spot x as one of the entry's, whose shape may differ. */
struct grid_spot grid_spot_for(struct grid_emitter *m, const struct grid_item *item, int entry,
                               const struct grid_spot *x)
{
	struct grid_spot own = *x;
	grid_axes(m->p, m->g->lead, item->entries.at[entry].stage->out, x->place, own.axis);
	return own;
}
