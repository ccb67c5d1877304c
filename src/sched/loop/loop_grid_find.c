/* Finds out how a loop can be cut into units that blocks make by themselves, and lists its stages as items. See
 * loop_grid.h. */
#include "sched/build/accumulate.h"
#include "sched/loop/loop_grid.h"

enum { MOST_COPIES = 16, WARP = 32 };

expr grid_place(struct ir_program *p, int lead, const struct ir_buffer *b, const expr *index)
{
	expr flat = ir_index(p->pool, 0);
	for (int k = lead; k < b->rank; k++)
		flat = ir_binary(IR_ADD, ir_binary(IR_MUL, flat, b->dim[k]), index[k]);
	return flat;
}

void grid_axes(struct ir_program *p, int lead, const struct ir_buffer *out, expr place, expr *axis)
{
	int first = lead; /* the first axis that is longer than 1 */
	while (first < out->rank && ir_is_int(out->dim[first], 1))
		first++;
	for (int k = out->rank - 1; k >= lead; k--) {
		axis[k] = k > first ? ir_binary(IR_MOD, place, out->dim[k]) : k == first ? place : ir_index(p->pool, 0);
		place = ir_binary(IR_FLOORDIV, place, out->dim[k]);
	}
}

static expr row_extents(const struct grid_loop *g, int from, int to)
{
	const struct ir_buffer *any = ir_stage_made(g->s, 0);
	expr n = ir_index(g->p->pool, 1);
	for (int k = from; k < to; k++)
		n = ir_binary(IR_MUL, n, any->dim[k + !g->s->loop->carries.n]);
	return n;
}

expr grid_rows(const struct grid_loop *g)
{
	return row_extents(g, g->lead ? g->lead - 1 : 0, g->lead);
}

expr grid_outer(const struct grid_loop *g)
{
	return row_extents(g, 0, g->lead ? g->lead - 1 : 0);
}

/* ---- Loads of the loop's own buffers. */

enum grid_where grid_where(const struct grid_loop *g, const struct ir_buffer *out, expr load)
{
	struct ir_program *p = g->p;
	struct ir_pool *pool = p->pool;
	expr axis[2 * IR_MAX_RANK], index[IR_MAX_RANK], units = ir_index(pool, g->units);
	expr unit = ir_some(pool, TYPE_INDEX, units), place = unit;
	int copies = g->copies[out->id];
	if (copies > 1)
		place = ir_binary(IR_ADD, ir_binary(IR_MUL, ir_some(pool, TYPE_INDEX, ir_index(pool, copies)), units),
		                  unit);
	for (int k = 0; k < 2 * IR_MAX_RANK; k++)
		axis[k] = ir_axis(pool, k, ir_index(pool, INT32_MAX));
	grid_axes(p, g->lead, out, place, axis);
	for (int k = 0; k < load->buf->rank; k++)
		index[k] = ir_bind_axes(pool, load->arg[k], axis);
	expr at = grid_place(p, g->lead, load->buf, index);
	return at == place ? GRID_AT_ELEMENT : ir_binary(IR_MOD, at, units) == unit ? GRID_AT_UNIT : GRID_AT_OTHER;
}

/* The loads of an expression, or of a stage, by what they read. */
struct visit {
	const struct grid_loop *g;
	const struct ir_buffer *out, *of; /* of: only loads of this buffer; may be null */
	unsigned seen;                    /* 1 << GRID_AT_... */
	void (*fn)(void *user, expr load, int where);
	void *user;
};

static void visit_load(void *user, expr load)
{
	struct visit *v = user;
	if (!grid_inside(v->g, load->buf) || (v->of && load->buf != v->of))
		return;
	int where = grid_where(v->g, v->out, load);
	if (v->fn)
		v->fn(v->user, load, where);
	v->seen |= 1u << where;
}

static void visit_loads(struct visit *v, const struct ir_stage *s)
{
	v->out = s->out;
	loop_each_load(s->value, visit_load, v);
	loop_each_load(s->post, visit_load, v);
}

static bool loads_inside(const struct grid_loop *g, expr e)
{
	struct visit v = { .g = g, .out = g->s->loop->carries.at[0].state };
	loop_each_load(e, visit_load, &v);
	return v.seen;
}

/* ---- Which loops can be cut. */

static int64_t gcd(int64_t a, int64_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* Elements of a row; 0: unknown. */
static int64_t row_count(const struct grid_loop *g, const struct ir_buffer *b)
{
	int64_t n = 0;
	expr count = ir_index(g->p->pool, 1);
	for (int k = g->lead; k < b->rank; k++)
		count = ir_binary(IR_MUL, count, b->dim[k]);
	return ir_const_int(count, &n) ? n : 0;
}

static bool make_units(struct grid_loop *g)
{
	const struct ir_loop *loop = g->s->loop;
	vec_each (c, &loop->carries)
		g->units = gcd(row_count(g, c->state), g->units);
	vec_each (s, &loop->body)
		g->units = gcd(row_count(g, (*s)->out), g->units);
	if (g->units < 2)
		return false;
	vec_each (c, &loop->carries)
		g->copies[c->state->id] = (int)(row_count(g, c->state) / g->units);
	vec_each (s, &loop->body)
		g->copies[(*s)->out->id] = (int)(row_count(g, (*s)->out) / g->units);
	for (int i = 0; i < g->buffers; i++)
		if (g->copies[i] > MOST_COPIES)
			return false;
	return true;
}

static const char *unfit_stage(const struct grid_loop *g, const struct ir_stage *s)
{
	int64_t n;
	bool reduces = s->kind == IR_REDUCE && !ir_combine_is_arg(s->combine);
	if (s->kind != IR_MAP && !reduces)
		return "a stage of its body is neither a map nor an ordinary reduction";
	if (reduces && (!ir_const_int(reduced_count(g->p, s), &n) || n < 1))
		return "a sum of its body has no known length";
	if (!row_count(g, s->out))
		return "a row of its body has no known length";
	return type_is_packed(s->out->type) ? "a stage of its body has elements narrower than a byte" : NULL;
}

static const char *unfit(const struct grid_loop *g)
{
	const struct ir_loop *loop = g->s->loop;
	const char *why = NULL;
	vec_each (s, &loop->body)
		why = why ? why : unfit_stage(g, *s);
	vec_each (c, &loop->carries)
		if (!why && !row_count(g, c->state))
			why = "a row of its states has no known length";
	return why ? why : loop->carries.n ? NULL : "it has no states";
}

/* After copies are known. */
static const char *unfit_access(const struct grid_loop *g)
{
	const struct ir_loop *loop = g->s->loop;
	bool inside = loads_inside(g, g->s->where);
	vec_each (c, &loop->carries) {
		inside |= loads_inside(g, c->init);
		if (!grid_inside(g, c->next))
			return "a state's next value is not made in its body";
	}
	vec_each (c, &loop->collects) {
		inside |= loads_inside(g, c->at);
		if (!grid_inside(g, c->from))
			return "what it collects is not made in its body";
	}
	return inside ? "its condition, or where it collects, depends on its results" : NULL;
}

static void note_published(void *user, expr load, int where)
{
	struct grid_loop *g = user;
	g->published[load->buf->id] |= where == GRID_AT_OTHER;
}

static const char *find_published(struct grid_loop *g)
{
	struct visit v = { .g = g, .fn = note_published, .user = g };
	bool any = false;
	vec_each (s, &g->s->loop->body)
		visit_loads(&v, *s);
	for (int id = 0; id < g->buffers; id++) {
		if (g->published[id] && type_info(g->p->buffers.at[id]->type)->bits > 32)
			return "blocks would pass on elements of more than 32 bits";
		any |= g->published[id];
	}
	return any ? NULL : "no stage of its body needs the whole of another's row";
}

/* ---- Items. */

static struct grid_item *add_item(struct grid_loop *g, bool reduces, int copies)
{
	struct grid_item item = { .reduces = reduces, .copies = copies };
	vec_push(g->p->arena, &g->items, item);
	return &g->items.at[g->items.n - 1];
}

static bool makes(const struct grid_item *item, int before, const struct ir_buffer *b)
{
	for (int i = 0; i < before; i++)
		if (item->entries.at[i].makes && item->entries.at[i].stage->out == b)
			return true;
	return false;
}

/* True if the map reads what the item makes at its own element only. */
static bool joins(const struct grid_loop *g, const struct grid_item *item, const struct ir_stage *s)
{
	if (item->reduces || item->copies != g->copies[s->out->id])
		return false;
	vec_each (e, &item->entries) {
		struct visit v = { .g = g, .of = e->stage->out };
		visit_loads(&v, s);
		if (e->makes && v.seen & ~(1u << GRID_AT_ELEMENT))
			return false;
	}
	return true;
}

static struct grid_entry *add_entry(struct grid_loop *g, const struct ir_stage *s, bool makes)
{
	struct grid_item *item = g->items.n ? &g->items.at[g->items.n - 1] : NULL;
	struct grid_entry e = { .stage = s, .makes = makes };
	if (!item || s->kind == IR_REDUCE || !joins(g, item, s))
		item = add_item(g, s->kind == IR_REDUCE, g->copies[s->out->id]);
	vec_push(g->p->arena, &item->entries, e);
	return &item->entries.at[item->entries.n - 1];
}

/* out = from, as a stage. */
static const struct ir_stage *copy_of(const struct grid_loop *g, struct ir_buffer *out, const struct ir_buffer *from)
{
	struct ir_stage *s = NEW(g->p->arena, struct ir_stage);
	expr at[IR_MAX_RANK];
	for (int k = 0; k < from->rank; k++)
		at[k] = ir_axis(g->p->pool, k, from->dim[k]);
	*s = (struct ir_stage){ .kind = IR_MAP, .out = out, .value = ir_load(g->p->pool, from, at) };
	return s;
}

static struct grid_entry *maker_of(struct grid_loop *g, const struct ir_buffer *b)
{
	vec_each (item, &g->items)
		vec_each (e, &item->entries)
			if (e->makes && e->stage->out == b)
				return e;
	return NULL;
}

static void add_collects(struct grid_loop *g)
{
	vec_each (c, &g->s->loop->collects) {
		struct grid_entry *e = maker_of(g, c->from);
		if (!e)
			e = add_entry(g, copy_of(g, g->p->buffers.at[c->from->id], c->from), false);
		vec_push(g->p->arena, &e->collects, (const struct ir_collect *)c);
	}
}

/* True if the last item can store the state's next value: each of its threads reads the old one at its own element
 * only, and a reduction not before its sum is complete. */
static bool can_carry(const struct grid_loop *g, const struct grid_item *item, const struct ir_carry *c)
{
	if (item->copies != g->copies[c->state->id] || (item->reduces && item->entries.at[0].stage->out != c->next))
		return false;
	vec_each (e, &item->entries) {
		struct visit all = { .g = g, .of = c->state }, sum = { .g = g, .out = e->stage->out, .of = c->state };
		visit_loads(&all, e->stage);
		loop_each_load(item->reduces ? e->stage->value : NULL, visit_load, &sum);
		if (all.seen & 1u << GRID_AT_UNIT || sum.seen & ~(1u << GRID_AT_OTHER))
			return false;
	}
	return true;
}

static void add_carries(struct grid_loop *g)
{
	bool last = g->items.n > 0;
	vec_each (c, &g->s->loop->carries)
		last = last && can_carry(g, &g->items.at[g->items.n - 1], c);
	if (!last) {
		int from = g->items.n; /* items of their own, one for each number of copies */
		vec_each (c, &g->s->loop->carries) {
			int copies = g->copies[c->state->id], i = from;
			while (i < g->items.n && g->items.at[i].copies != copies)
				i++;
			struct grid_item *item = i < g->items.n ? &g->items.at[i] : add_item(g, false, copies);
			struct grid_entry e = { .stage = copy_of(g, c->state, c->next) };
			vec_push(g->p->arena, &e.carries, (const struct ir_carry *)c);
			vec_push(g->p->arena, &item->entries, e);
		}
		return;
	}
	vec_each (c, &g->s->loop->carries) {
		struct grid_item *item = &g->items.at[g->items.n - 1];
		struct grid_entry *e = NULL, copy = { .stage = copy_of(g, c->state, c->next) };
		vec_each (x, &item->entries)
			if (x->makes && x->stage->out == c->next)
				e = x;
		if (!e) {
			vec_push(g->p->arena, &item->entries, copy);
			e = &item->entries.at[item->entries.n - 1];
		}
		vec_push(g->p->arena, &e->carries, (const struct ir_carry *)c);
	}
}

/* ---- What items take and keep. */

struct needs {
	struct grid_loop *g;
	struct grid_item *item;
	int entry;
	bool *taken;
};

static void note_need(void *user, expr load, int where)
{
	struct needs *n = user;
	int id = load->buf->id;
	if (makes(n->item, n->entry, load->buf))
		return;
	if (where != GRID_AT_OTHER) {
		n->g->kept[id] = true;
		return;
	}
	if (!n->taken[id])
		vec_push(n->g->p->arena, &n->item->takes, load->buf);
	n->taken[id] = true;
}

static void find_needs(struct grid_loop *g)
{
	bool *taken = NEWN(g->p->arena, bool, g->buffers + 1);
	vec_each (item, &g->items)
		for (int i = 0; i < item->entries.n; i++) {
			struct needs n = { g, item, i, taken };
			struct visit v = { .g = g, .fn = note_need, .user = &n };
			visit_loads(&v, item->entries.at[i].stage);
		}
	vec_each (c, &g->s->loop->carries)
		g->kept[c->state->id] = true;
}

/* ---- Barriers: where an item touches an array in shared memory that others have touched since the last. */

enum { READ = 1, WRITTEN = 2 };

struct arrays {
	const struct grid_loop *g;
	const struct grid_item *item;
	int entry;
	char *own, *all; /* by buffer id: how the block's own elements, and whole rows, are touched */
};

static void touch_load(void *user, expr load, int where)
{
	struct arrays *a = user;
	int id = load->buf->id;
	if (where == GRID_AT_OTHER)
		a->all[id] |= READ;
	else if (!makes(a->item, a->entry, load->buf))
		a->own[id] |= READ;
}

static void touch_item(struct arrays *a, const struct grid_item *item, bool alone)
{
	a->item = item;
	for (int i = 0; i < item->entries.n; i++) {
		const struct grid_entry *e = &item->entries.at[i];
		struct visit v = { .g = a->g, .fn = touch_load, .user = a };
		a->entry = i;
		visit_loads(&v, e->stage);
		if (e->makes && grid_has_own(a->g, alone, e->stage->out->id))
			a->own[e->stage->out->id] |= WRITTEN;
		vec_each (c, &e->carries)
			a->own[(*c)->state->id] |= WRITTEN;
	}
}

/* Adds what is touched now; true if a barrier must come before. */
static bool must_wait(const struct grid_loop *g, struct arrays *before, const struct arrays *now)
{
	bool wait = false;
	for (int i = 0; i < g->buffers; i++) {
		wait |= before->own[i] && now->own[i] && (before->own[i] | now->own[i]) & WRITTEN;
		wait |= before->all[i] && now->all[i] && (before->all[i] | now->all[i]) & WRITTEN;
	}
	for (int i = 0; i < g->buffers; i++) {
		before->own[i] = (char)(wait ? now->own[i] : before->own[i] | now->own[i]);
		before->all[i] = (char)(wait ? now->all[i] : before->all[i] | now->all[i]);
	}
	return wait;
}

static struct arrays arrays_new(const struct grid_loop *g, struct arena *a)
{
	return (struct arrays){ .g = g, .own = NEWN(a, char, g->buffers + 1), .all = NEWN(a, char, g->buffers + 1) };
}

/* `alone`: a block takes from its own elements. */
static void find_waits(struct grid_loop *g, bool alone)
{
	struct arena *scratch = arena_new();
	struct arrays before = arrays_new(g, scratch);
	vec_each (c, &g->s->loop->carries)
		before.own[c->state->id] |= WRITTEN;
	for (int turn = 0; turn < 2; turn++)
		vec_each (item, &g->items) {
			struct arrays takes = arrays_new(g, scratch), entries = arrays_new(g, scratch);
			vec_each (b, &item->takes) {
				takes.all[(*b)->id] |= WRITTEN;
				if (alone)
					takes.own[(*b)->id] |= READ;
			}
			touch_item(&entries, item, alone);
			item->wait_take[alone] |= must_wait(g, &before, &takes);
			item->wait[alone] |= must_wait(g, &before, &entries);
		}
	arena_free(scratch);
}

const struct grid_loop *grid_find(struct ir_program *p, const struct ir_stage *s, const char **why)
{
	*why = "the stage is not a loop";
	if (s->kind != IR_LOOP)
		return NULL;
	struct grid_loop *g = NEW(p->arena, struct grid_loop);
	*g = (struct grid_loop){ .p = p, .s = s, .lead = loop_lead(s), .buffers = p->buffers.n };
	g->copies = NEWN(p->arena, int, g->buffers + 1);
	g->published = NEWN(p->arena, bool, g->buffers + 1);
	g->kept = NEWN(p->arena, bool, g->buffers + 1);
	if ((*why = unfit(g)))
		return NULL;
	*why = "its states and results have no common number of elements";
	if (!make_units(g) || (*why = unfit_access(g)) || (*why = find_published(g)))
		return NULL;
	vec_each (stage, &s->loop->body)
		add_entry(g, *stage, true);
	add_collects(g);
	add_carries(g);
	find_needs(g);
	find_waits(g, false);
	find_waits(g, true);
	return g;
}
