/* The kernel of a loop by many blocks. See loop_grid.h.
 *
 * Turn t's published elements are in half t % 2 of the words, with t + 1 as their number. A block that writes turn t +
 * 2 into the same half has taken the whole rows of turn t + 1, whose blocks had taken turn t before. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/vectors.h"
#include "sched/loop/loop_grid_kernel.h"

/* ---- Elements: a thread each. */

static void emit_elements(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item,
                          const struct grid_item_held *h)
{
	struct grid_spot x;
	const expr first = number(m, 0);
	b = grid_each_element(m, b, item->entries.at[0].stage->out, &x);
	struct grid_view v = { .m = m, .item = item, .spot = &x };
	for (int i = 0; i < item->entries.n; i++) {
		const struct grid_entry *e = &item->entries.at[i];
		struct grid_spot own = grid_spot_for(m, item, i, &x);
		struct grid_held early[MOST_HELD];
		int earlies = 0;
		for (int k = 0; k < h->earlies; k++)
			if (h->early[k].entry == i)
				early[earlies++] = h->early[k];
		v.entry = i;
		v.spot = &own;
		expr value = grid_see_held(&v, e->stage->value, early, earlies, 1, &first);
		value = emit_define(m->p, b, grid_register(m, item, i), value, NULL);
		grid_use_value(&v, b, e, value);
		v.spot = &x;
	}
	vec_each (e, &item->entries)
		grid_store_states(&v, b, e);
}

/* Stores all states' first values, or after the loop the last ones. */
static void emit_states(struct grid_emitter *m, struct ir_block *b, bool first)
{
	vec_each (c, &m->g->s->loop->carries) {
		const struct ir_buffer *state = c->state;
		struct grid_spot x;
		struct ir_block *in = grid_each_element(m, b, state, &x);
		struct grid_view v = { .m = m, .spot = &x };
		if (first) {
			expr value = emit_constant(m->p, in, state->name, grid_see(&v, c->init), NULL);
			grid_keep(m, in, state, &x, value);
			grid_publish(m, in, state, &x, number(m, 0), value);
			continue;
		}
		expr local = number(m, m->g->copies[state->id] * m->g->units);
		expr at = grid_own_place(m, state, &x, x.copy), value = ir_load(m->p->pool, m->own[state->id], &at);
		in = grid_if_new(m, in, &x);
		emit_store(m->p, in, state, add(mul(grid_row_number(m, &x), local), x.place), value);
	}
}

/* ---- Whole rows of what other blocks make. */

/* The number of a thread's i-th element among those of the block's rows. */
static expr taken_element(const struct grid_emitter *m, expr i)
{
	return add(m->thread, mul(i, number(m, m->s->threads)));
}

/* Works out where a thread's words are. */
static void emit_word_places(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf)
{
	struct ir_program *p = m->p;
	int n = grid_taken(m->g, m->s, buf);
	int64_t row = m->g->copies[buf->id] * m->g->units;
	expr i, count = number(m, row);
	struct ir_variable *at = ir_variable_new(p->pool, TYPE_INDEX, "%s_words", buf->name);
	emit_array(p, b, at, n);
	m->at[buf->id] = at;
	b = emit_turns(m->p, b, "i", n, &i);
	expr element = ir_binary(IR_MIN, taken_element(m, i), number(m, m->s->rows * row - 1));
	if ((int64_t)n * m->s->threads == m->s->rows * row)
		element = taken_element(m, i);
	element = emit_constant(p, b, "element", element, number(m, m->s->rows * row));
	expr place = m->s->rows > 1 ? rest(element, count) : element;
	expr own = m->s->rows > 1 ? quotient(element, count) : number(m, 0);
	expr last = add(m->first_row, grid_row_in_range(m, own));
	expr number_of_row = m->g->lead ? add(mul(m->outer, m->rows), last) : number(m, 0);
	emit_set(p, b, at, i, grid_word_at(m, number(m, 0), number_of_row, buf, place));
}

/* A block with all units takes what its own threads have made. */
static void emit_take_own(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf)
{
	expr row = number(m, m->g->copies[buf->id] * m->g->units), most = mul(number(m, m->s->rows), row), element;
	expr count = m->whole_rows ? most : mul(m->rows_here, row);
	emit_comment(m->p, b, "%s of the whole block", buf->name);
	b = emit_loop(m->p, b, "element", m->thread, count, number(m, m->s->threads), most, &element);
	emit_store_flat(m->p, b, m->all[buf->id], element, ir_load(m->p->pool, m->own[buf->id], &element));
}

static void emit_take(struct grid_emitter *m, struct ir_block *b, const struct ir_buffer *buf)
{
	struct ir_program *p = m->p;
	int n = grid_taken(m->g, m->s, buf);
	int64_t all = m->s->rows * m->g->copies[buf->id] * m->g->units;
	struct ir_variable *taken = ir_variable_new(p->pool, buf->type, "%s_taken", buf->name);
	expr i, half = rest(m->turn, number(m, 2));
	emit_comment(p, b, "%s of all blocks", buf->name);
	if (all < m->s->threads)
		b = emit_if(p, b, ir_binary(IR_LT, m->thread, number(m, all)));
	emit_array(p, b, taken, n);
	struct ir_call *call = emit_invoke(p, b, &device_words_take, IR_OF_NOTHING);
	add_variable(p, call, taken);
	expr rows = mul(mul(grid_outer(m->g), m->rows), half);
	add_address(p, call, m->words, mul(rows, number(m, m->each)), true);
	add_variable(p, call, m->at[buf->id]);
	add_value(p, call, add(m->turn, number(m, 1)));
	b = emit_turns(m->p, b, "i", n, &i);
	expr element = taken_element(m, i);
	if (n > 1 && (int64_t)n * m->s->threads != all)
		b = emit_if(p, b, ir_binary(IR_LT, element, number(m, all)));
	emit_store_flat(p, b, m->all[buf->id], element, item_of(taken, i));
}

/* ---- The whole kernel. */

static const struct ir_buffer *shared_array(struct grid_emitter *m, struct ir_kernel *k, const struct ir_buffer *b,
                                            const char *what, int64_t n)
{
	struct ir_program *p = m->p;
	struct ir_buffer *s = NEW(p->arena, struct ir_buffer);
	*s = (struct ir_buffer){ .type = b->type, .rank = 1, .role = IR_TEMP, .id = b->id };
	s->name = arena_printf(p->arena, "%s_%s", b->name, what);
	s->dim[0] = ir_index(p->pool, n);
	vec_push(p->arena, &k->shared, (const struct ir_buffer *)s);
	return s;
}

static void make_arrays(struct grid_emitter *m, struct ir_kernel *k)
{
	const struct grid_loop *g = m->g;
	struct arena *a = m->p->arena;
	m->first_word = NEWN(a, int64_t, g->buffers);
	m->own = NEWN(a, const struct ir_buffer *, g->buffers);
	m->all = NEWN(a, const struct ir_buffer *, g->buffers);
	m->at = NEWN(a, const struct ir_variable *, g->buffers);
	m->held = NEWN(a, struct grid_item_held, g->items.n);
	for (int id = 0; id < g->buffers; id++) {
		const struct ir_buffer *b = m->p->buffers.at[id];
		int64_t row = g->copies[id] * g->units;
		if (grid_has_own(g, m->s->alone, id))
			m->own[id] = shared_array(m, k, b, "own", (int64_t)m->s->rows * g->copies[id] * m->s->units);
		if (!g->published[id])
			continue;
		m->all[id] = shared_array(m, k, b, "all", m->s->rows * row);
		m->first_word[id] = m->each;
		m->each += row;
	}
}

/* The units of block `slice` of a row. */
static void declare_units(struct grid_emitter *m, struct ir_block *b, expr slice)
{
	expr all = number(m, m->g->units), first = mul(slice, number(m, m->s->units));
	if (m->s->overlap) {
		m->first_new = emit_constant(m->p, b, "first_new", first, all);
		first = ir_binary(IR_MIN, m->first_new, number(m, m->g->units - m->s->units));
		m->first_unit = emit_constant(m->p, b, "first_unit", first, number(m, m->g->units - m->s->units + 1));
		return;
	}
	m->first_unit = emit_constant(m->p, b, "first_unit", first, all);
	m->first_unit = ir_var_multiple(m->first_unit->var, all, m->s->units);
}

static void declare_block(struct grid_emitter *m, struct ir_kernel *k, struct ir_block *b)
{
	const struct grid_loop *g = m->g;
	struct ir_program *p = m->p;
	expr block = ir_block(p->pool, k->blocks), slices = number(m, m->s->slices), outer = grid_outer(g);
	bool used[IR_MAX_RANK];
	const struct ir_buffer *any = ir_stage_made(g->s, 0);
	m->rows = grid_rows(g);
	m->whole_rows = m->s->rows == 1 || ir_is_int(rest(m->rows, number(m, m->s->rows)), 0);
	m->thread = ir_thread(p->pool, number(m, m->s->threads));
	m->warp = emit_constant(p, b, "warp", quotient(m->thread, number(m, WARP)), number(m, m->s->warps));
	m->lane = emit_constant(p, b, "lane", rest(m->thread, number(m, WARP)), number(m, WARP));
	expr groups = ceil_div(p, m->rows, m->s->rows), all = mul(outer, groups);
	expr group = emit_constant(p, b, "group", quotient(block, slices), all);
	if (ir_size_limit(p, all) != all) /* the grid uses the upper bound */
		emit_return_if(p, b, ir_binary(IR_LE, all, group));
	declare_units(m, b, rest(block, slices));
	m->outer = ir_is_int(outer, 1) ? number(m, 0) : emit_declare(p, b, "outer", quotient(group, groups), outer);
	for (int i = 0; i < IR_MAX_RANK; i++)
		used[i] = true;
	declare_axes(p, b, m->outer, g->lead ? g->lead - 1 : 0, any->dim, ir_axis_names[0], used, m->axis);
	expr own = ir_is_int(outer, 1) ? group : rest(group, groups);
	m->first_row = emit_declare(p, b, "first_row", mul(own, number(m, m->s->rows)), m->rows);
	m->rows_here = ir_binary(IR_MIN, number(m, m->s->rows), ir_binary(IR_SUB, m->rows, m->first_row));
	if (!m->whole_rows)
		m->rows_here = emit_constant(p, b, "rows_here", m->rows_here, number(m, m->s->rows + 1));
}

static void emit_item(struct grid_emitter *m, struct ir_block *b, const struct grid_item *item)
{
	int i = (int)(item - m->g->items.at);
	if (item->wait_take[m->s->alone])
		emit(m->p, b, IR_SYNC);
	vec_each (taken, &item->takes)
		(m->s->alone ? emit_take_own : emit_take)(m, b, *taken);
	if (item->wait[m->s->alone])
		emit(m->p, b, IR_SYNC);
	struct str names = str_new(m->p->arena);
	vec_each (e, &item->entries)
		str_printf(&names, "%s%s", e == item->entries.at ? "" : ", ", e->stage->out->name);
	emit_comment(m->p, b, "%s%s", str_text(&names), item->reduces ? ": a warp an element" : "");
	if (item->reduces)
		grid_emit_reduction(m, b, item, &m->held[i]);
	else
		emit_elements(m, b, item, &m->held[i]);
}

void grid_emit(struct ir_program *p, const struct grid_loop *g, const struct grid_shape *s,
               const struct ir_buffer *words, struct ir_kernel *k)
{
	struct grid_emitter m = { .g = g, .s = s, .p = p, .words = words };
	struct ir_block *b = &k->body;
	make_arrays(&m, k);
	declare_block(&m, k, b);
	for (int i = 0; i < g->items.n; i++)
		if (g->items.at[i].reduces)
			grid_emit_constants(&m, b, &g->items.at[i], &m.held[i]);
	for (int id = 0; id < g->buffers; id++)
		if (g->published[id] && !s->alone)
			emit_word_places(&m, b, p->buffers.at[id]);
	emit_states(&m, b, true);
	struct ir_block *body = emit_loop(p, b, g->s->loop->index->var->hint, number(&m, 0), g->s->loop->trip,
	                                  number(&m, 1), g->s->loop->trip, &m.turn);
	struct grid_view v = { .m = &m };
	if (g->s->where)
		emit(p, body, IR_BREAK_IF)->leave = ir_unary(IR_NOT, grid_see(&v, g->s->where));
	for (int i = 0; i < g->items.n; i++)
		grid_emit_early(&m, body, &g->items.at[i], &m.held[i]);
	vec_each (item, &g->items)
		emit_item(&m, body, item);
	emit(p, b, IR_SYNC);
	emit_states(&m, b, false);
}
