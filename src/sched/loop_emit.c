/* A loop's items as statements of one kernel. See loop.h. */
#include "ir/axis_names.h"
#include "sched/loop.h"

#include <string.h>

enum { WARP = 32 };

struct emitter {
	const struct loop_plan *l;
	struct ir_program *p;
	bool serial;             /* one processor does the work of a block */
	expr thread, warp, lane; /* not when serial */
	expr first_row, rows;    /* the block's */
	expr lead[IR_MAX_RANK];  /* the axes of the only row */
	struct {
		expr index, name;
	} turn[IR_MAX_LOOPS];
	int turns;
};

/* What the names in an expression stand for at one place of the kernel. */
struct view {
	struct emitter *m;
	const struct loop_item *item;
	int entry;                  /* of the item */
	const struct ir_buffer *out;/* whose own place is `element`; null: none */
	expr element, row;          /* places among the block's: of the element, of its row */
	expr axis[2 * IR_MAX_RANK];
	expr acc;
};

static expr index_of(const struct emitter *m, int64_t x)
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

/* ---- Places. */

static const char *register_name(const struct emitter *m, const struct ir_buffer *b)
{
	return arena_printf(m->p->arena, "%s_here", b->name);
}

/* The place in its row that indices have. */
static expr local_flat(const struct emitter *m, const struct ir_buffer *b, const expr *index)
{
	expr flat = index_of(m, 0);
	for (int k = m->l->lead; k < b->rank; k++)
		flat = add(mul(flat, b->dim[k]), index[k]);
	return flat;
}

static expr place_in_block(const struct view *v, const struct ir_buffer *b, const expr *index)
{
	return add(mul(v->row, loop_local(v->m->l, b->rank, b->dim)), local_flat(v->m, b, index));
}

/* From a place among the block's elements of a buffer to where that is. */
static expr in_memory(const struct emitter *m, const struct ir_buffer *b, expr place, const struct ir_buffer **memory)
{
	const struct ir_buffer *shared = m->l->shared[b->id];
	*memory = shared ? shared : flat_view(m->p, b);
	return shared ? place : add(mul(m->first_row, loop_local(m->l, b->rank, b->dim)), place);
}

static expr view_load(struct view *v, expr e, const expr *arg)
{
	struct emitter *m = v->m;
	const struct ir_buffer *memory = NULL;
	struct ir_pool *pool = m->p->pool;
	if (!m->l->inside[e->buf->id]) {
		expr flat = ir_flat(pool, e->buf, arg);
		return ir_load(pool, flat_view(m->p, e->buf), &flat);
	}
	bool own = v->out && loop_is_own(e, v->out);
	if (own && loop_in_register(v->item, v->entry, e))
		return ir_var(pool, e->type, register_name(m, e->buf), NULL);
	expr at = in_memory(m, m->l->home[e->buf->id], own ? v->element : place_in_block(v, e->buf, arg), &memory);
	return ir_load(pool, memory, &at);
}

static expr view_leaf(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct view *v = user;
	(void)pool;
	if (e->op == IR_AXIS) {
		ck(v->axis[e->i]);
		return v->axis[e->i];
	}
	if (e->op == IR_ACC)
		return v->acc;
	if (e->op == IR_LOAD)
		return view_load(v, e, arg);
	for (int i = 0; e->op == IR_VAR && i < v->m->turns; i++)
		if (v->m->turn[i].index == e)
			return v->m->turn[i].name;
	return NULL;
}

static expr see(struct view *v, expr e)
{
	return ir_copy(v->m->p->pool, e, view_leaf, v);
}

/* ---- The elements of the block, shared out. */

static void wait(struct emitter *m, struct ir_block *b)
{
	if (!m->serial)
		emit(m->p, b, IR_SYNC);
}

/* Every one of `local` elements a row, by whom `worker` numbers, of `workers`. */
static struct ir_block *for_elements(struct emitter *m, struct ir_block *b, expr local, expr worker, int workers,
                                     expr *element)
{
	struct ir_program *p = m->p;
	expr count = mul(m->rows, local);
	int64_t n;
	if (m->serial)
		worker = index_of(m, 0);
	if (m->serial || !ir_const_int(count, &n) || n >= workers) {
		*element = ir_var(p->pool, TYPE_INDEX, "element", count);
		return emit_for(p, b, "element", worker, count, index_of(m, m->serial ? 1 : workers));
	}
	expr inside = ir_binary(IR_LT, worker, count); /* a pass is enough */
	b = emit_if(p, b, inside);
	*element = emit_constant(p, b, "element", worker, count);
	return b;
}

/* Which axes the view's expressions still need when own places are known. */
static void used_axes(struct view *v, int n, const expr *e, bool *used)
{
	struct view probe = *v;
	for (int k = 0; k < 2 * IR_MAX_RANK; k++)
		probe.axis[k] = ir_axis(v->m->p->pool, k, index_of(v->m, INT32_MAX));
	probe.acc = NULL;
	for (int i = 0; i < n; i++)
		if (e[i])
			mark_axes(see(&probe, e[i]), used);
}

/* The axes of an element: the row's, then `rank` - lead others of extents dim[lead..]; v->axis[k] is axis k. */
static void declare_place(struct view *v, struct ir_block *b, expr element, int rank, const expr *dim,
                          const char *const *names, const bool *used)
{
	struct emitter *m = v->m;
	struct ir_program *p = m->p;
	int lead = m->l->lead;
	bool any = false, inner = false;
	expr local = loop_local(m->l, rank, dim), rest = element;
	for (int k = 0; k < rank; k++) {
		any |= k < lead && used[k];
		inner |= k >= lead && used[k];
	}
	if (m->l->rows_a_block == 1) {
		v->row = index_of(m, 0);
		for (int k = 0; k < lead; k++)
			v->axis[k] = m->lead[k];
	} else {
		v->row = emit_declare(p, b, "own_row", ir_binary(IR_FLOORDIV, element, local), m->rows);
		rest = inner ? emit_declare(p, b, "in_row", ir_binary(IR_MOD, element, local), local) : element;
		expr row = any ? emit_declare(p, b, "row", add(m->first_row, v->row), m->l->rows) : m->first_row;
		declare_axes(p, b, any ? ir_var(p->pool, TYPE_INDEX, "row", m->l->rows) : row, lead, dim, names, used,
		             v->axis);
	}
	declare_axes(p, b, rest, rank - lead, dim + lead, names + lead, used + lead, v->axis + lead);
	for (int k = 0; k < rank; k++)
		if (!v->axis[k])
			v->axis[k] = index_of(m, 0); /* not met */
}

static void store(struct view *v, struct ir_block *b, const struct ir_buffer *to, expr place, expr value)
{
	const struct ir_buffer *memory = NULL;
	expr at = in_memory(v->m, to, place, &memory);
	struct ir_stmt *s = emit(v->m->p, b, IR_STORE);
	s->buf = memory;
	s->at = at;
	s->value = value;
}

/* What is collected of the element goes to position `at` of the first axis. */
static void store_collected(struct view *v, struct ir_block *b, const struct ir_collect *c, expr value)
{
	struct emitter *m = v->m;
	expr local = loop_local(m->l, c->from->rank, c->from->dim);
	expr at = mul(see(v, c->at), ir_buffer_count(m->p, c->from));
	if (m->l->inside[c->out->id]) /* of a loop inside: there are no rows */
		store(v, b, c->out, add(at, v->element), value);
	else
		emit_store(m->p, b, c->out, add(at, add(mul(m->first_row, local), v->element)), value);
}

/* ---- Items. */

static void comment_item(struct emitter *m, struct ir_block *b, const struct loop_item *item, const char *how)
{
	struct str s = str_new(m->p->arena);
	vec_each (e, &item->entries) {
		str_printf(&s, "%s%s", e == item->entries.at ? "" : ", ", e->stage->out->name);
		if (e->late)
			str_add(&s, " of the next turn");
		if (e->saved)
			str_add(&s, " at last");
		vec_each (c, &e->collects)
			str_printf(&s, "%s%s", c == e->collects.at ? ", collected in " : " and ", (*c)->out->name);
	}
	if (item->stage)
		str_add(&s, item->stage->out->name);
	emit_comment(m->p, b, "%s%s", str_text(&s), how);
}

static expr reduction_result(struct view *v, struct accumulator *a)
{
	const struct ir_stage *s = a->s;
	if (ir_combine_is_arg(s->combine))
		return ir_cast(a->position, s->out->type);
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
			inner = emit_for(p, inner, name, index_of(v->m, 0), s->space[k], index_of(v->m, 1));
			v->axis[rank + k] = ir_var(p->pool, TYPE_INDEX, name, s->space[k]);
		}
		position = add(mul(position, s->space[k]), v->axis[rank + k]);
	}
	accumulate(&a, inner, see(v, s->value), position);
	return reduction_result(v, &a);
}

/* Whether a later entry of the item reads what this one made. */
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
		value = emit_constant(v->m->p, b, register_name(v->m, s->out), value, NULL);
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
			store(&v, body, e->to, v.element,
			      ir_var(m->p->pool, e->stage->out->type, register_name(m, e->stage->out), NULL));
}

/* A warp an element: lanes run along the reduced axes. */
static void emit_lanes(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct loop_entry *e = &item->entries.at[0];
	const struct ir_stage *s = e->stage;
	const struct ir_buffer *out = s->out;
	int rank = out->rank;
	bool used[2 * IR_MAX_RANK] = { false };
	struct view v = { .m = m, .item = item, .out = out };
	comment_item(m, b, item, ": a warp an element");
	expr local = loop_local(m->l, rank, out->dim);
	b = for_elements(m, b, local, m->warp, m->l->threads / WARP, &v.element);
	v.row = index_of(m, 0);
	used_axes(&v, 2, (expr[]){ s->value, s->post }, used);
	declare_place(&v, b, v.element, rank, out->dim, ir_axis_names[0], used);
	if (m->serial) {
		expr y = serial_reduction(&v, b, s);
		if ((e->to != NULL) + e->collects.n > 1)
			y = emit_constant(p, b, register_name(m, out), y, NULL);
		if (e->to)
			store(&v, b, e->to, v.element, y);
		vec_each (c, &e->collects)
			store_collected(&v, b, *c, y);
		return;
	}
	struct accumulator a = accumulator_begin(p, b, s);
	expr points = reduced_count(p, s);
	const char *name = s->space_rank == 1 ? ir_axis_names[1][0] : "point";
	struct ir_block *steps = emit_for(p, b, name, m->lane, points, index_of(m, WARP));
	expr point = ir_var(p->pool, TYPE_INDEX, name, points);
	if (s->space_rank == 1)
		v.axis[rank] = point;
	else
		declare_axes(p, steps, point, s->space_rank, s->space, ir_axis_names[1], used + rank, v.axis + rank);
	accumulate(&a, steps, see(&v, s->value), point);
	struct ir_stmt *all = emit(p, b, IR_LANES_COMBINE);
	all->name = a.value->name;
	all->name2 = a.position ? a.position->name : NULL;
	all->type = a.value->type;
	all->width = WARP;
	all->combine = s->combine;
	b = emit_if(p, b, ir_binary(IR_EQ, m->lane, index_of(m, 0)));
	expr y = reduction_result(&v, &a);
	if ((e->to != NULL) + e->collects.n > 1)
		y = emit_constant(p, b, register_name(m, out), y, NULL);
	if (e->to)
		store(&v, b, e->to, v.element, y);
	vec_each (c, &e->collects)
		store_collected(&v, b, *c, y);
}

static void emit_updates(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	const struct ir_buffer *memory = NULL;
	struct view v = { .m = m, .item = item };
	bool used[2 * IR_MAX_RANK] = { false };
	expr need[IR_MAX_RANK + 2] = { s->value, s->where }, at[IR_MAX_RANK];
	comment_item(m, b, item, ": the updates");
	b = for_elements(m, b, loop_local(m->l, s->space_rank, s->space), m->thread, m->l->threads, &v.element);
	v.row = index_of(m, 0);
	for (int k = 0; k < s->out->rank; k++)
		need[2 + k] = k < m->l->lead ? NULL : s->at[k];
	used_axes(&v, 2 + s->out->rank, need, used);
	declare_place(&v, b, v.element, s->space_rank, s->space, ir_axis_names[1], used);
	if (s->where)
		b = emit_if(p, b, see(&v, s->where));
	for (int k = 0; k < s->out->rank; k++)
		at[k] = k < m->l->lead ? NULL : see(&v, s->at[k]);
	expr place = place_in_block(&v, s->out, at), value = see(&v, s->value);
	const struct ir_buffer *home = m->l->home[s->out->id];
	if (s->combine == IR_NONE) {
		store(&v, b, home, place, value);
		return;
	}
	expr position = in_memory(m, home, place, &memory);
	struct ir_stmt *u = emit(p, b, IR_UPDATE);
	u->buf = memory;
	u->combine = s->combine;
	u->type = s->out->type;
	u->at = position;
	u->value = value;
}

/* All axes of `s` but its own, in order; what is left of `used` and the names with them. */
static int other_axes(const struct ir_stage *s, const bool *used, expr *dim, const char **names, bool *others)
{
	int n = 0;
	for (int k = 0; k < s->out->rank; k++) {
		if (k == s->axis)
			continue;
		names[n] = ir_axis_names[0][k];
		others[n] = used[k];
		dim[n++] = s->out->dim[k];
	}
	return n;
}

static void emit_scan(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	struct view v = { .m = m, .item = item };
	bool used[2 * IR_MAX_RANK] = { false }, others[IR_MAX_RANK];
	const char *names[IR_MAX_RANK];
	expr dim[IR_MAX_RANK], extent = s->out->dim[s->axis];
	int rank = s->out->rank;
	comment_item(m, b, item, ": a line a thread");
	v.row = index_of(m, 0);
	used_axes(&v, 2, (expr[]){ s->value, s->post }, used);
	for (int k = 0; k < rank; k++)
		used[k] = true; /* places are made of them */
	int n = other_axes(s, used, dim, names, others);
	b = for_elements(m, b, loop_local(m->l, n, dim), m->thread, m->l->threads, &v.element);
	declare_place(&v, b, v.element, n, dim, names, others);
	for (int k = rank - 1; k > s->axis; k--)
		v.axis[k] = v.axis[k - 1];
	expr sum = emit_variable(p, b, "sum", ir_identity(p->pool, s->combine, s->value->type));
	b = emit_for(p, b, "step", index_of(m, 0), extent, index_of(m, 1));
	expr step = ir_var(p->pool, TYPE_INDEX, "step", extent), last = ir_binary(IR_SUB, extent, index_of(m, 1));
	v.axis[s->axis] = s->reverse ? ir_binary(IR_SUB, last, step) : step;
	const struct ir_buffer *home = m->l->home[s->out->id];
	expr place = place_in_block(&v, s->out, v.axis), next = ir_combine_expr(s->combine, sum, see(&v, s->value));
	v.acc = sum;
	if (!s->exclusive)
		emit_assign(p, b, sum, next);
	else
		next = emit_constant(p, b, register_name(m, s->out), next, NULL);
	store(&v, b, home, place, s->post ? see(&v, s->post) : ir_cast(sum, s->out->type));
	if (s->exclusive)
		emit_assign(p, b, sum, next);
}

/* x comes before y: not when they are equal. */
static expr comes_before(bool descending, expr x, expr y)
{
	expr less = descending ? ir_binary(IR_LT, y, x) : ir_binary(IR_LT, x, y);
	if (!type_is_float(x->type))
		return less;
	expr first = ir_unary(IR_ISNAN, descending ? x : y), second = ir_unary(IR_ISNAN, descending ? y : x);
	return ir_binary(IR_OR, less, ir_binary(IR_AND, first, ir_unary(IR_NOT, second)));
}

/* An element's place is the number of those that come before it. */
static void emit_sort(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	struct view v = { .m = m, .item = item };
	bool used[2 * IR_MAX_RANK] = { false };
	int rank = s->out->rank;
	expr dim[IR_MAX_RANK], extent = s->space[0], one = index_of(m, 1);
	comment_item(m, b, item, ": places are counted");
	for (int k = 0; k < rank; k++) {
		dim[k] = k == s->axis ? extent : s->out->dim[k];
		used[k] = true;
	}
	b = for_elements(m, b, loop_local(m->l, rank, dim), m->thread, m->l->threads, &v.element);
	declare_place(&v, b, v.element, rank, dim, ir_axis_names[0], used);
	expr own = v.axis[s->axis];
	v.axis[rank] = own;
	expr key = emit_constant(p, b, "best", see(&v, s->value), NULL);
	expr before = emit_variable(p, b, "before", index_of(m, 0));
	struct ir_block *loop = emit_for(p, b, "step", index_of(m, 0), extent, one);
	expr step = v.axis[rank] = ir_var(p->pool, TYPE_INDEX, "step", extent);
	expr other = emit_constant(p, loop, "part", see(&v, s->value), NULL);
	expr equal = ir_unary(IR_NOT, comes_before(s->reverse, key, other));
	expr wins = ir_binary(IR_OR, comes_before(s->reverse, other, key),
	                      ir_binary(IR_AND, equal, ir_binary(IR_LT, step, own)));
	emit_assign(p, emit_if(p, loop, wins), before, add(before, one));
	if (s->out->dim[s->axis] != extent)
		b = emit_if(p, b, ir_binary(IR_LT, before, s->out->dim[s->axis]));
	v.axis[s->axis] = before;
	store(&v, b, m->l->home[s->out->id], place_in_block(&v, s->out, v.axis), ir_cast(own, s->out->type));
}

/* The loop's index is called as in the program unless that means something else in the kernel. */
static const char *turn_name(const struct emitter *m, const char *name)
{
	bool taken = ir_size_find(m->p, name) != NULL;
	int unused;
	vec_each (b, &m->p->buffers)
		taken |= strcmp((*b)->name, name) == 0;
	taken |= ir_symbol_source(m->p, name, &unused, &unused);
	return taken ? arena_printf(m->p->arena, "%s_here", name) : name;
}

static void emit_items(struct emitter *m, struct ir_block *b, int n, const struct loop_item *item);

static void emit_turns(struct emitter *m, struct ir_block *b, const struct loop_item *item)
{
	struct ir_program *p = m->p;
	const struct ir_stage *s = item->stage;
	const char *name = turn_name(m, s->loop->index->name);
	struct view v = { .m = m, .item = item, .row = index_of(m, 0) };
	b = emit_for(p, b, name, index_of(m, 0), s->loop->trip, index_of(m, 1));
	ck(m->turns < IR_MAX_LOOPS);
	m->turn[m->turns].index = s->loop->index;
	m->turn[m->turns++].name = ir_var(p->pool, TYPE_INDEX, name, s->loop->trip);
	if (item->sync)
		wait(m, b);
	if (s->where)
		emit(p, b, IR_BREAK_IF)->value = ir_unary(IR_NOT, see(&v, s->where));
	emit_items(m, b, item->body.n, item->body.at);
	m->turns--;
}

static void emit_items(struct emitter *m, struct ir_block *b, int n, const struct loop_item *item)
{
	for (int i = 0; i < n; i++, item++) {
		if (item->sync && item->kind != LOOP_TURNS)
			wait(m, b);
		switch (item->kind) {
		case LOOP_ELEMENTS: emit_elements(m, b, item); break;
		case LOOP_LANES: emit_lanes(m, b, item); break;
		case LOOP_UPDATES: emit_updates(m, b, item); break;
		case LOOP_SCAN: emit_scan(m, b, item); break;
		case LOOP_SORT: emit_sort(m, b, item); break;
		case LOOP_TURNS: emit_turns(m, b, item); break;
		}
	}
}

/* ---- The whole. */

static bool has_lanes(int n, const struct loop_item *item)
{
	bool lanes = false;
	for (int i = 0; i < n; i++)
		lanes |= item[i].kind == LOOP_LANES || has_lanes(item[i].body.n, item[i].body.at);
	return lanes;
}

static void mark_slot(void *user, expr *slot, const char *role)
{
	(void)role;
	mark_axes(*slot, user);
}

static void declare_rows(struct emitter *m, struct ir_kernel *k, struct ir_block *b)
{
	const struct loop_plan *l = m->l;
	struct ir_program *p = m->p;
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	bool used[2 * IR_MAX_RANK] = { false };
	m->first_row = index_of(m, 0);
	m->rows = index_of(m, 1);
	if (!l->lead)
		return;
	ir_stage_exprs(l->stage, mark_slot, used);
	const struct ir_buffer *any = ir_stage_made(l->stage, 0);
	const expr *dim = l->stage->loop->carries.n ? any->dim : any->dim + 1;
	if (l->rows_a_block == 1) {
		m->first_row = emit_constant(p, b, "row", block, l->rows);
		declare_axes(p, b, m->first_row, l->lead, dim, ir_axis_names[0], used, m->lead);
		for (int i = 0; i < l->lead; i++)
			if (!m->lead[i])
				m->lead[i] = index_of(m, 0); /* not met */
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
	expr block = ir_var(p->pool, TYPE_INDEX, IR_BLOCK, k->blocks);
	expr beyond = ir_binary(IR_LE, l->rows, mul(block, index_of(&m, l->rows_a_block)));
	/* Blocks are launched for the most rows that there can be. */
	if (l->lead && beyond->op != IR_CONST_INT && serial)
		b = emit_if(p, b, ir_unary(IR_NOT, beyond));
	else if (l->lead)
		emit_return_if(p, b, beyond);
	if (!serial) {
		expr thread = ir_var(p->pool, TYPE_INDEX, IR_THREAD, index_of(&m, l->threads));
		m.thread = emit_constant(p, b, "thread", thread, index_of(&m, l->threads));
		if (has_lanes(l->items.n, l->items.at)) {
			m.warp = emit_constant(p, b, "warp", ir_binary(IR_FLOORDIV, m.thread, index_of(&m, WARP)),
			                       index_of(&m, l->threads / WARP));
			m.lane = emit_constant(p, b, "lane", ir_binary(IR_MOD, m.thread, index_of(&m, WARP)),
			                       index_of(&m, WARP));
		}
	}
	declare_rows(&m, k, b);
	emit_items(&m, b, l->items.n, l->items.at);
}
