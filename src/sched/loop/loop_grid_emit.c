/* The kernel of a loop by many blocks. See loop_grid.h.
 *
 * Turn t's published elements are in half t % 2 of the words, with t + 1 as their number. A block that writes turn t +
 * 2 into the same half has taken the whole rows of turn t + 1, whose blocks had taken turn t before. */
#include "ir/axis_names.h"
#include "sched/build/accumulate.h"
#include "sched/build/axes.h"
#include "sched/build/emit.h"
#include "sched/build/vectors.h"
#include "sched/loop/loop_grid.h"

enum { WARP = 32, MOST_HELD = 4, STEPS_UNROLLED = 4, MOST_ENTRIES = 4096 };

/* An expression that is worked out before, in elements of an array. */
struct held {
	expr what;
	const struct ir_variable *array;
};

struct item_held {
	struct held constant[MOST_HELD]; /* by output of the warp, and step */
	struct held early[MOST_HELD];    /* of what follows the sum: by chunk of rows */
	int constants, earlies;
};

struct emitter {
	const struct grid_loop *g;
	const struct grid_shape *s;
	struct ir_program *p;
	const struct ir_buffer *words;
	expr thread, warp, lane;
	expr outer, first_row, rows, rows_here, first_unit; /* rows_here: of this block, at least 1 */
	expr axis[IR_MAX_RANK];                             /* the row axes but the last */
	expr turn;
	bool whole_rows;               /* all blocks have s->rows rows */
	int64_t each;                  /* words of a row */
	int64_t *first_word;           /* of a row, by buffer id */
	const struct ir_buffer **own;  /* by buffer id: arrays in shared memory, of the block's units */
	const struct ir_buffer **all;  /* of whole rows */
	const struct ir_variable **at; /* places of the words that a thread takes */
	struct item_held *held;        /* by item */
};

/* An element of the block's. */
struct spot {
	expr row, copy, unit, in_unit, place; /* row, unit: in the block and in all; place: in the row */
	expr axis[2 * IR_MAX_RANK];
};

static expr number(const struct emitter *m, int64_t x)
{
	return ir_index(m->p->pool, x);
}

static expr add(expr a, expr b)
{
	return ir_binary(IR_ADD, a, b);
}

static expr mul(expr a, expr b)
{
	return ir_binary(IR_MUL, a, b);
}

static expr quotient(expr a, expr b)
{
	return ir_binary(IR_FLOORDIV, a, b);
}

static expr rest(expr a, expr b)
{
	return ir_binary(IR_MOD, a, b);
}

/* A loop of n iterations with all of them written out, or its only one. */
static struct ir_block *unrolled(struct emitter *m, struct ir_block *b, const char *name, int n, expr *variable)
{
	if (n > 1)
		return emit_unrolled(m->p, b, name, n, variable);
	*variable = number(m, 0);
	return b;
}

/* ---- Places. */

/* The spot of element `place` of the block's copies * units in a row of that number in the block. */
static struct spot spot_of(struct emitter *m, struct ir_block *b, const struct ir_buffer *out, expr row, expr place)
{
	const struct grid_loop *g = m->g;
	struct ir_program *p = m->p;
	struct spot x = { .row = row };
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
static struct ir_block *if_row(struct emitter *m, struct ir_block *b, expr row)
{
	return m->whole_rows ? b : emit_if(m->p, b, ir_binary(IR_LT, row, m->rows_here));
}

static expr row_in_range(struct emitter *m, expr row)
{
	return m->whole_rows ? row : ir_binary(IR_MIN, row, add(m->rows_here, number(m, -1)));
}

/* The number of the spot's row in all. */
static expr row_number(const struct emitter *m, const struct spot *x)
{
	return m->g->lead ? add(mul(m->outer, m->rows), x->axis[m->g->lead - 1]) : number(m, 0);
}

static expr own_place(const struct emitter *m, const struct ir_buffer *b, const struct spot *x, expr copy)
{
	expr row = mul(x->row, number(m, m->g->copies[b->id]));
	return add(mul(add(row, copy), number(m, m->s->units)), x->in_unit);
}

/* ---- Expressions. */

struct view {
	struct emitter *m;
	const struct grid_item *item;
	int entry;
	const struct spot *spot;
	expr acc;
};

/* The variable that holds the value of an entry. */
static const struct ir_variable *register_of(struct emitter *m, const struct grid_item *item, int entry)
{
	const struct ir_buffer *b = item->entries.at[entry].stage->out;
	int number = (int)(item - m->g->items.at) * MOST_ENTRIES + entry;
	return ir_variable_of(m->p->pool, b->type, b, IR_HOLDS_VALUE, number, "%s_here", b->name);
}

static expr view_load(struct view *v, expr e, const expr *arg)
{
	struct emitter *m = v->m;
	const struct grid_loop *g = m->g;
	struct ir_pool *pool = m->p->pool;
	const struct ir_buffer *b = e->buf;
	if (b->id >= g->buffers || !g->copies[b->id]) {
		expr flat = ir_flat(pool, b, arg);
		return ir_load(pool, flat_view(m->p, b), &flat);
	}
	for (int i = 0; i < v->entry; i++)
		if (v->item->entries.at[i].makes && v->item->entries.at[i].stage->out == b)
			return ir_var_of(register_of(m, v->item, i), NULL);
	expr units = number(m, g->units), place = grid_place(m->p, g->lead, b, arg), at;
	if (m->own[b->id] && rest(place, units) == v->spot->unit) {
		at = own_place(m, b, v->spot, quotient(place, units));
		return ir_load(pool, m->own[b->id], &at);
	}
	ck(m->all[b->id]);
	at = add(mul(v->spot->row, number(m, g->copies[b->id] * g->units)), place);
	return ir_load(pool, m->all[b->id], &at);
}

static expr view_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct view *v = user;
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

static expr see(struct view *v, expr e)
{
	return ir_copy(v->m->p->pool, e, view_leaf, v);
}

/* The same with held parts replaced by elements of their arrays. */
static expr see_held(struct view *v, expr e, const struct held *held, int n, int indices, const expr *index)
{
	expr what[MOST_HELD], with[MOST_HELD];
	for (int i = 0; i < n; i++) {
		what[i] = held[i].what;
		with[i] = ir_element_of(held[i].array, indices, index);
	}
	return see(v, n ? substitute(&(struct substitution){ what, with, n }, e) : e);
}

/* ---- Stores. */

static expr word_at(const struct emitter *m, expr half, expr row, const struct ir_buffer *b, expr place)
{
	expr rows = mul(ir_binary(IR_MUL, grid_outer(m->g), m->rows), half);
	return add(mul(add(rows, row), number(m, m->each)), add(number(m, m->first_word[b->id]), place));
}

static void publish(struct emitter *m, struct ir_block *b, const struct ir_buffer *buf, const struct spot *x, expr turn,
                    expr value)
{
	if (!m->g->published[buf->id])
		return;
	struct ir_call *call = emit_invoke(m->p, b, &device_word_pass, IR_OF_NOTHING);
	expr half = rest(turn, number(m, 2));
	add_address(m->p, call, m->words, word_at(m, half, row_number(m, x), buf, x->place), true);
	add_value(m->p, call, value);
	add_value(m->p, call, add(turn, number(m, 1)));
}

static void keep(struct emitter *m, struct ir_block *b, const struct ir_buffer *buf, const struct spot *x, expr value)
{
	if (m->own[buf->id])
		emit_store_flat(m->p, b, m->own[buf->id], own_place(m, buf, x, x->copy), value);
}

/* Uses an entry's value: stores, publishes and collects it. States follow later. */
static void use_value(struct view *v, struct ir_block *b, const struct grid_entry *e, expr value)
{
	struct emitter *m = v->m;
	const struct spot *x = v->spot;
	const struct ir_buffer *out = e->stage->out;
	if (e->makes) {
		keep(m, b, out, x, value);
		publish(m, b, out, x, m->turn, value);
	}
	vec_each (c, &e->collects) {
		expr local = number(m, m->g->copies[out->id] * m->g->units);
		expr at = mul(see(v, (*c)->at), ir_buffer_count(m->p, (*c)->from));
		emit_store(m->p, b, (*c)->out, add(at, add(mul(row_number(m, x), local), x->place)), value);
	}
}

static void store_states(struct view *v, struct ir_block *b, const struct grid_entry *e)
{
	struct emitter *m = v->m;
	expr value = ir_var_of(register_of(m, v->item, (int)(e - v->item->entries.at)), NULL);
	vec_each (c, &e->carries) {
		keep(m, b, (*c)->state, v->spot, value);
		publish(m, b, (*c)->state, v->spot, add(m->turn, number(m, 1)), value);
	}
}

/* ---- Elements: a thread each. */

static struct ir_block *each_element(struct emitter *m, struct ir_block *b, const struct ir_buffer *out, struct spot *x)
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
		b = if_row(m, b, own);
	}
	*x = spot_of(m, b, out, own, place);
	return b;
}

static void emit_elements(struct emitter *m, struct ir_block *b, const struct grid_item *item)
{
	struct spot x;
	b = each_element(m, b, item->entries.at[0].stage->out, &x);
	struct view v = { .m = m, .item = item, .spot = &x };
	for (int i = 0; i < item->entries.n; i++) {
		const struct grid_entry *e = &item->entries.at[i];
		struct spot own = x;
		grid_axes(m->p, m->g->lead, e->stage->out, x.place, own.axis); /* its shape may differ */
		v.entry = i;
		v.spot = &own;
		expr value = emit_define(m->p, b, register_of(m, item, i), see(&v, e->stage->value), NULL);
		use_value(&v, b, e, value);
		v.spot = &x;
	}
	vec_each (e, &item->entries)
		store_states(&v, b, e);
}

/* Stores all states' first values, or after the loop the last ones. */
static void emit_states(struct emitter *m, struct ir_block *b, bool first)
{
	vec_each (c, &m->g->s->loop->carries) {
		const struct ir_buffer *state = c->state;
		struct spot x;
		struct ir_block *in = each_element(m, b, state, &x);
		struct view v = { .m = m, .spot = &x };
		if (first) {
			expr value = emit_constant(m->p, in, state->name, see(&v, c->init), NULL);
			keep(m, in, state, &x, value);
			publish(m, in, state, &x, number(m, 0), value);
			continue;
		}
		expr local = number(m, m->g->copies[state->id] * m->g->units);
		expr at = own_place(m, state, &x, x.copy), value = ir_load(m->p->pool, m->own[state->id], &at);
		emit_store(m->p, in, state, add(mul(row_number(m, &x), local), x.place), value);
	}
}

/* ---- Whole rows of what other blocks make. */

/* The number of a thread's i-th element among those of the block's rows. */
static expr taken_element(const struct emitter *m, expr i)
{
	return add(m->thread, mul(i, number(m, m->s->threads)));
}

/* Works out where a thread's words are. */
static void emit_word_places(struct emitter *m, struct ir_block *b, const struct ir_buffer *buf)
{
	struct ir_program *p = m->p;
	int n = grid_taken(m->g, m->s, buf);
	int64_t row = m->g->copies[buf->id] * m->g->units;
	expr i, count = number(m, row);
	struct ir_variable *at = ir_variable_new(p->pool, TYPE_INDEX, "%s_words", buf->name);
	emit_array(p, b, at, n);
	m->at[buf->id] = at;
	b = unrolled(m, b, "i", n, &i);
	expr element = ir_binary(IR_MIN, taken_element(m, i), number(m, m->s->rows * row - 1));
	if ((int64_t)n * m->s->threads == m->s->rows * row)
		element = taken_element(m, i);
	element = emit_constant(p, b, "element", element, number(m, m->s->rows * row));
	expr place = m->s->rows > 1 ? rest(element, count) : element;
	expr own = m->s->rows > 1 ? quotient(element, count) : number(m, 0);
	expr last = add(m->first_row, row_in_range(m, own));
	expr number_of_row = m->g->lead ? add(mul(m->outer, m->rows), last) : number(m, 0);
	emit_set(p, b, at, i, word_at(m, number(m, 0), number_of_row, buf, place));
}

static void emit_take(struct emitter *m, struct ir_block *b, const struct ir_buffer *buf)
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
	b = unrolled(m, b, "i", n, &i);
	expr element = taken_element(m, i);
	if (n > 1 && (int64_t)n * m->s->threads != all)
		b = emit_if(p, b, ir_binary(IR_LT, element, number(m, all)));
	emit_store_flat(p, b, m->all[buf->id], element, item_of(taken, i));
}

/* ---- Reductions: a warp makes some elements, of several rows at a time. */

static expr output_of(const struct emitter *m, const struct grid_item *item, expr j)
{
	expr all = number(m, item->copies * m->s->units), place = add(m->warp, mul(j, number(m, m->s->warps)));
	bool exact = grid_outputs(item, m->s) * m->s->warps == item->copies * m->s->units;
	return exact ? place : ir_binary(IR_MIN, place, add(all, number(m, -1)));
}

/* The point of the reduced space that a lane adds up in a step: its axes. */
static void declare_point(struct emitter *m, struct ir_block *b, const struct ir_stage *s, expr point, struct spot *x)
{
	bool used[IR_MAX_RANK];
	for (int k = 0; k < s->space_rank; k++)
		used[k] = true;
	if (s->space_rank == 1)
		x->axis[s->out->rank] = point;
	else
		declare_axes(m->p, b, point, s->space_rank, s->space, ir_axis_names[1], used, x->axis + s->out->rank);
}

static bool whole_steps(const struct emitter *m, const struct grid_item *item)
{
	int64_t n = 0;
	ir_const_int(reduced_count(m->p, item->entries.at[0].stage), &n);
	return n == (int64_t)grid_steps(m->g, item) * WARP;
}

/* Loads what holds in all turns. */
static void emit_constants(struct emitter *m, struct ir_block *b, const struct grid_item *item, struct item_held *h)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->entries.at[0].stage;
	expr what[MOST_HELD], j, step, points = reduced_count(p, s);
	int outputs = grid_outputs(item, m->s), steps = grid_steps(m->g, item);
	h->constants = m->s->holds ? grid_constants(m->g, item, m->s, what, MOST_HELD) : 0;
	for (int i = 0; i < h->constants; i++) {
		struct ir_variable *array = ir_variable_new(p->pool, what[i]->type, "%s_held", s->out->name);
		emit_array_of_rows(p, b, array, outputs, steps);
		h->constant[i] = (struct held){ what[i], array };
	}
	if (!h->constants)
		return;
	b = unrolled(m, b, "output", outputs, &j);
	struct spot x =
	        spot_of(m, b, s->out, number(m, 0),
	                emit_constant(p, b, "in_block", output_of(m, item, j), number(m, item->copies * m->s->units)));
	b = unrolled(m, b, "step", steps, &step);
	expr point = add(m->lane, mul(step, number(m, WARP)));
	if (!whole_steps(m, item))
		point = ir_binary(IR_MIN, point, add(points, number(m, -1)));
	declare_point(m, b, s, emit_constant(p, b, "point", point, points), &x);
	struct view v = { .m = m, .item = item, .spot = &x };
	for (int i = 0; i < h->constants; i++)
		emit_set_in_row(p, b, h->constant[i].array, j, step, see(&v, what[i]));
}

/* The element that a lane finishes in a chunk of rows. */
static struct spot finished(struct emitter *m, struct ir_block *b, const struct grid_item *item, expr chunk, expr lane)
{
	const struct ir_buffer *out = item->entries.at[0].stage->out;
	int outputs = grid_outputs(item, m->s), rows = grid_rows_at_once(item, m->s);
	expr each = number(m, outputs);
	expr row = rows > 1 ? quotient(lane, each) : number(m, 0);
	expr j = outputs > 1 ? rest(lane, each) : number(m, 0);
	row = row_in_range(m, add(mul(chunk, number(m, rows)), row));
	expr place = emit_constant(m->p, b, "in_block", output_of(m, item, j), number(m, item->copies * m->s->units));
	return spot_of(m, b, out, emit_declare(m->p, b, "own_row", row, number(m, m->s->rows)), place);
}

/* ---- What follows a sum may read memory that does not depend on the turn's results: it is read before the block waits
 * for others. */

struct early {
	const struct grid_loop *g;
	bool fits, loads;
	const bool *sure;
	bool *seen;
	struct item_held *h;
};

static void must_be_early(void *user, expr e)
{
	struct early *x = user;
	x->loads |= e->op == IR_LOAD;
	if (e->op == IR_LOAD)
		x->fits &= e->buf->id >= x->g->buffers || !x->g->copies[e->buf->id];
	x->fits &= e->op != IR_ACC;
}

static void find_early(struct early *x, expr e)
{
	if (x->seen[e->id] || x->h->earlies == MOST_HELD)
		return;
	x->seen[e->id] = true;
	x->fits = x->sure[e->id];
	x->loads = false;
	ir_walk(e, must_be_early, x);
	if (x->fits && x->loads) {
		x->h->early[x->h->earlies++].what = e;
		return;
	}
	for (int i = 0; i < e->n; i++)
		find_early(x, e->arg[i]);
}

static void emit_early(struct emitter *m, struct ir_block *b, const struct grid_item *item, struct item_held *h)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->entries.at[0].stage;
	int rows = grid_rows_at_once(item, m->s), slots = rows * grid_outputs(item, m->s), chunks = m->s->rows / rows;
	struct arena *scratch = arena_new();
	expr chunk;
	h->earlies = 0;
	if (s->post) {
		bool *sure = NEWN(scratch, bool, s->post->id + 1);
		ir_mark_unconditional(s->post, sure);
		bool *seen = NEWN(scratch, bool, s->post->id + 1);
		find_early(&(struct early){ .g = m->g, .sure = sure, .seen = seen, .h = h }, s->post);
	}
	arena_free(scratch);
	for (int i = 0; i < h->earlies; i++) {
		struct ir_variable *array = ir_variable_new(p->pool, h->early[i].what->type, "%s_early", s->out->name);
		emit_array(p, b, array, chunks);
		h->early[i].array = array;
	}
	if (!h->earlies)
		return;
	b = unrolled(m, b, "chunk", chunks, &chunk);
	expr lane = slots < WARP ? ir_binary(IR_MIN, m->lane, number(m, slots - 1)) : m->lane;
	struct spot x = finished(m, b, item, chunk, emit_constant(p, b, "slot", lane, number(m, slots)));
	struct view v = { .m = m, .item = item, .spot = &x };
	for (int i = 0; i < h->earlies; i++)
		emit_set(p, b, h->early[i].array, chunk, see(&v, h->early[i].what));
}

static void emit_sums(struct emitter *m, struct ir_block *b, const struct grid_item *item, const struct item_held *h,
                      const struct ir_variable *sums, expr chunk)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->entries.at[0].stage;
	int outputs = grid_outputs(item, m->s), rows = grid_rows_at_once(item, m->s), steps = grid_steps(m->g, item);
	expr step, c, j, points = reduced_count(p, s);
	if (h->constants || steps <= STEPS_UNROLLED) {
		b = unrolled(m, b, "step", steps, &step);
	} else {
		struct ir_block *around = b;
		b = emit_loop(p, b, "step", number(m, 0), number(m, steps), number(m, 1), number(m, steps), &step);
		around->at[around->n - 1].loop.unrolled = STEPS_UNROLLED;
	}
	expr point = emit_constant(p, b, "point", add(m->lane, mul(step, number(m, WARP))), NULL);
	if (!whole_steps(m, item))
		b = emit_if(p, b, ir_binary(IR_LT, point, points));
	point = ir_var_of(point->var, points);
	b = unrolled(m, b, "part", rows, &c);
	expr row = emit_declare(p, b, "own_row", row_in_range(m, add(mul(chunk, number(m, rows)), c)),
	                        number(m, m->s->rows));
	b = unrolled(m, b, "output", outputs, &j);
	expr in_block = emit_constant(p, b, "in_block", output_of(m, item, j), number(m, item->copies * m->s->units));
	struct spot x = spot_of(m, b, s->out, row, in_block);
	declare_point(m, b, s, point, &x);
	struct view v = { .m = m, .item = item, .spot = &x };
	expr value = see_held(&v, s->value, h->constant, h->constants, 2, (const expr[]){ j, step });
	expr at = add(mul(c, number(m, outputs)), j);
	emit_set(p, b, sums, at, ir_combine_expr(s->combine, item_of(sums, at), value));
}

static void emit_reduction(struct emitter *m, struct ir_block *b, const struct grid_item *item,
                           const struct item_held *h)
{
	struct ir_program *p = m->p;
	const struct grid_entry *e = &item->entries.at[0];
	const struct ir_stage *s = e->stage;
	int outputs = grid_outputs(item, m->s), rows = grid_rows_at_once(item, m->s), slots = rows * outputs;
	expr chunk, i;
	b = unrolled(m, b, "chunk", m->s->rows / rows, &chunk);
	struct ir_variable *sums = ir_variable_new(p->pool, s->value->type, "%s_sums", s->out->name);
	emit_array(p, b, sums, slots);
	struct ir_block *each = unrolled(m, b, "i", slots, &i);
	emit_set(p, each, sums, i, ir_identity(p->pool, s->combine, s->value->type));
	emit_sums(m, b, item, h, sums, chunk);
	struct ir_lanes *lanes = emit_lanes_combine(p, b, sums, s->combine, WARP);
	lanes->items = slots;
	lanes->apart = true;
	if (slots < WARP)
		b = emit_if(p, b, ir_binary(IR_LT, m->lane, number(m, slots)));
	struct spot x = finished(m, b, item, chunk, emit_constant(p, b, "slot", m->lane, number(m, slots)));
	if (outputs * m->s->warps != item->copies * m->s->units) {
		expr j = outputs > 1 ? rest(m->lane, number(m, outputs)) : number(m, 0);
		expr place = add(m->warp, mul(j, number(m, m->s->warps)));
		b = emit_if(p, b, ir_binary(IR_LT, place, number(m, item->copies * m->s->units)));
	}
	if (!m->whole_rows) {
		expr row = rows > 1 ? quotient(m->lane, number(m, outputs)) : number(m, 0);
		b = if_row(m, b, add(mul(chunk, number(m, rows)), row));
	}
	struct view v = { .m = m, .item = item, .spot = &x, .acc = item_of(sums, number(m, 0)) };
	expr value = s->post ? see_held(&v, s->post, h->early, h->earlies, 1, &chunk) : ir_cast(v.acc, s->out->type);
	value = emit_define(p, b, register_of(m, item, 0), value, NULL);
	use_value(&v, b, e, value);
	store_states(&v, b, e);
}

/* ---- The whole kernel. */

static const struct ir_buffer *shared_array(struct emitter *m, struct ir_kernel *k, const struct ir_buffer *b,
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

static void make_arrays(struct emitter *m, struct ir_kernel *k)
{
	const struct grid_loop *g = m->g;
	struct arena *a = m->p->arena;
	m->first_word = NEWN(a, int64_t, g->buffers);
	m->own = NEWN(a, const struct ir_buffer *, g->buffers);
	m->all = NEWN(a, const struct ir_buffer *, g->buffers);
	m->at = NEWN(a, const struct ir_variable *, g->buffers);
	m->held = NEWN(a, struct item_held, g->items.n);
	for (int id = 0; id < g->buffers; id++) {
		const struct ir_buffer *b = m->p->buffers.at[id];
		int64_t row = g->copies[id] * g->units;
		if (g->kept[id])
			m->own[id] = shared_array(m, k, b, "own", (int64_t)m->s->rows * g->copies[id] * m->s->units);
		if (!g->published[id])
			continue;
		m->all[id] = shared_array(m, k, b, "all", m->s->rows * row);
		m->first_word[id] = m->each;
		m->each += row;
	}
}

static void declare_block(struct emitter *m, struct ir_kernel *k, struct ir_block *b)
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
	m->first_unit = mul(rest(block, slices), number(m, m->s->units));
	m->first_unit = emit_constant(p, b, "first_unit", m->first_unit, number(m, g->units));
	m->first_unit = ir_var_multiple(m->first_unit->var, number(m, g->units), m->s->units);
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

static void emit_item(struct emitter *m, struct ir_block *b, const struct grid_item *item)
{
	int i = (int)(item - m->g->items.at);
	if (item->wait_take)
		emit(m->p, b, IR_SYNC);
	vec_each (taken, &item->takes)
		emit_take(m, b, *taken);
	if (item->wait)
		emit(m->p, b, IR_SYNC);
	struct str names = str_new(m->p->arena);
	vec_each (e, &item->entries)
		str_printf(&names, "%s%s", e == item->entries.at ? "" : ", ", e->stage->out->name);
	emit_comment(m->p, b, "%s%s", str_text(&names), item->reduces ? ": a warp an element" : "");
	if (item->reduces)
		emit_reduction(m, b, item, &m->held[i]);
	else
		emit_elements(m, b, item);
}

void grid_emit(struct ir_program *p, const struct grid_loop *g, const struct grid_shape *s,
               const struct ir_buffer *words, struct ir_kernel *k)
{
	struct emitter m = { .g = g, .s = s, .p = p, .words = words };
	struct ir_block *b = &k->body;
	make_arrays(&m, k);
	declare_block(&m, k, b);
	for (int i = 0; i < g->items.n; i++)
		if (g->items.at[i].reduces)
			emit_constants(&m, b, &g->items.at[i], &m.held[i]);
	for (int id = 0; id < g->buffers; id++)
		if (g->published[id])
			emit_word_places(&m, b, p->buffers.at[id]);
	emit_states(&m, b, true);
	struct ir_block *body = emit_loop(p, b, g->s->loop->index->var->hint, number(&m, 0), g->s->loop->trip,
	                                  number(&m, 1), g->s->loop->trip, &m.turn);
	struct view v = { .m = &m };
	if (g->s->where)
		emit(p, body, IR_BREAK_IF)->leave = ir_unary(IR_NOT, see(&v, g->s->where));
	for (int i = 0; i < g->items.n; i++)
		if (g->items.at[i].reduces)
			emit_early(&m, body, &g->items.at[i], &m.held[i]);
	vec_each (item, &g->items)
		emit_item(&m, body, item);
	emit(p, b, IR_SYNC);
	emit_states(&m, b, false);
}
