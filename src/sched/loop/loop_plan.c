/* Plans a loop as a list of items: which stages share a pass over the elements, and which buffers need memory, and
 * where. See loop.h. */
#include "sched/loop/loop.h"
#include "sched/build/accumulate.h"

#include <string.h>

enum { SHARED_BYTES = TARGET_ARRAYS_EVERYWHERE, WARP = 32 };

/* ---- Items. */

struct item_list {
	VEC(struct loop_item);
};

static bool same_shape(const struct ir_buffer *a, const struct ir_buffer *b)
{
	return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim[0] * (size_t)a->rank) == 0;
}

/* True if the entry can join the last item's pass over the elements. */
static bool joins(const struct loop_plan *l, const struct loop_item *item, const struct loop_entry *e)
{
	if (item->kind != LOOP_ELEMENTS || e->stage->kind == IR_REDUCE || e->saved != item->entries.at[0].saved ||
	    !same_shape(item->entries.at[0].stage->out, e->stage->out))
		return false;
	bool late = item->entries.at[item->entries.n - 1].late;
	return (!late || e->late) && !loop_meets(l, item, e);
}

static void add_item(struct loop_plan *l, struct item_list *list, enum loop_item_kind kind, const struct ir_stage *s)
{
	struct loop_item item = { .kind = kind, .stage = s };
	vec_push(l->p->arena, list, item);
}

static struct loop_entry *add_entry(struct loop_plan *l, struct item_list *list, const struct loop_entry *e, bool lanes)
{
	if (lanes || !list->n || !joins(l, &list->at[list->n - 1], e))
		add_item(l, list, lanes ? LOOP_LANES : LOOP_ELEMENTS, NULL);
	struct loop_item *item = &list->at[list->n - 1];
	vec_push(l->p->arena, &item->entries, *e);
	return &item->entries.at[item->entries.n - 1];
}

/* out = value, as a stage. */
static const struct ir_stage *as_map(struct loop_plan *l, struct ir_buffer *out, expr value)
{
	struct ir_stage *s = NEW(l->p->arena, struct ir_stage);
	*s = (struct ir_stage){ .kind = IR_MAP, .out = out, .value = value };
	return s;
}

static expr own_load(struct loop_plan *l, const struct ir_buffer *b)
{
	expr at[IR_MAX_RANK];
	for (int k = 0; k < b->rank; k++)
		at[k] = ir_axis(l->p->pool, k, b->dim[k]);
	return ir_load(l->p->pool, b, at);
}

/* True for reductions long enough for a warp. */
static bool for_lanes(const struct loop_plan *l, const struct ir_stage *s)
{
	int64_t n;
	return l->lanes > 1 && (!ir_const_int(reduced_count(l->p, s), &n) || n >= WARP);
}

/* ---- States whose next value can be stored in place: the old value is not used any more, except by the element
 * itself. */

struct reads_of {
	const struct ir_buffer *buf, *out;
	bool any, foreign;
};

static void read_of(void *user, expr e)
{
	struct reads_of *r = user;
	if (e->buf != r->buf)
		return;
	r->any = true;
	r->foreign |= !loop_is_own(e, r->out);
}

static void read_of_expr(void *user, expr e, const char *role)
{
	(void)role;
	loop_each_load(e, read_of, user);
}

static bool reads(const struct ir_stage *s, const struct ir_buffer *b, bool *foreign)
{
	struct reads_of r = { .buf = b, .out = s->out };
	ir_stage_exprs(s, read_of_expr, &r);
	*foreign = r.foreign;
	return r.any || (s->loop && ir_loop_copies(s->loop, b));
}

static bool in_place(const struct loop_plan *l, const struct ir_loop *loop, const struct ir_carry *c)
{
	struct reads_of r = { .buf = c->state, .out = c->state };
	bool made = false, foreign;
	if (l->home[c->next->id] != c->next) /* another state's next value */
		return false;
	vec_each (s, &loop->body) {
		bool read = reads(*s, c->state, &foreign);
		if (made && read)
			return false;
		if ((*s)->out != c->next)
			continue;
		if (((*s)->kind != IR_MAP && (*s)->kind != IR_REDUCE) || (read && foreign))
			return false;
		struct reads_of summed = { .buf = c->state, .out = c->state };
		loop_each_load((*s)->kind == IR_REDUCE ? (*s)->value : NULL, read_of, &summed);
		if (summed.any) /* read by other lanes than the one that stores */
			return false;
		made = true;
	}
	vec_each (x, &loop->carries)
		if (x->next == c->state)
			return false;
	vec_each (x, &loop->collects) {
		if (x->from == c->state)
			return false;
		loop_each_load(x->at, read_of, &r);
	}
	return made && !r.any;
}

/* ---- The list. */

static void add_loop(struct loop_plan *l, struct item_list *list, const struct ir_stage *s);

static void add_stage(struct loop_plan *l, struct item_list *list, const struct ir_stage *s)
{
	struct loop_entry e = { .stage = s, .makes = true };
	switch (s->kind) {
	case IR_MAP: add_entry(l, list, &e, false); break;
	case IR_REDUCE: add_entry(l, list, &e, for_lanes(l, s)); break;
	case IR_SCATTER:
		e.stage = as_map(l, s->out, s->init);
		add_entry(l, list, &e, false);
		add_item(l, list, LOOP_UPDATES, s);
		break;
	case IR_SCAN: add_item(l, list, LOOP_SCAN, s); break;
	case IR_SORT: add_item(l, list, LOOP_SORT, s); break;
	case IR_PICK: add_item(l, list, LOOP_PICK, s); break;
	case IR_LOOP: add_loop(l, list, s); break;
	case IR_COMPACT: ck(!"no body compacts"); break;
	}
}

/* The list's entry for the body stage that makes `b`, or null. */
static struct loop_entry *maker_of(const struct item_list *list, const struct ir_loop *loop, const struct ir_buffer *b)
{
	vec_each (s, &loop->body)
		for (int i = 0; i < list->n && (*s)->out == b; i++)
			vec_each (e, &list->at[i].entries)
				if (e->stage == *s)
					return e;
	return NULL;
}

static void add_collects(struct loop_plan *l, struct item_list *list, const struct ir_loop *loop)
{
	vec_each (c, &loop->collects) {
		struct loop_entry copy = { .stage = as_map(l, l->p->buffers.at[c->from->id], own_load(l, c->from)) };
		struct loop_entry *e = maker_of(list, loop, c->from);
		if (!e)
			e = add_entry(l, list, &copy, false);
		vec_push(l->p->arena, &e->collects, (const struct ir_collect *)c);
	}
}

static void add_loop(struct loop_plan *l, struct item_list *list, const struct ir_stage *s)
{
	const struct ir_loop *loop = s->loop;
	struct item_list body = { 0 };
	vec_each (c, &loop->carries) {
		struct loop_entry e = { .stage = as_map(l, c->state, c->init), .makes = true };
		add_entry(l, list, &e, false);
	}
	vec_each (c, &loop->carries)
		if (in_place(l, loop, c))
			l->home[c->next->id] = c->state;
	vec_each (b, &loop->body)
		add_stage(l, &body, *b);
	add_collects(l, &body, loop);
	vec_each (c, &loop->carries) {
		struct loop_entry copy = { .stage = as_map(l, c->state, own_load(l, c->next)), .late = true };
		if (l->home[c->next->id] != c->state)
			add_entry(l, &body, &copy, false);
	}
	add_item(l, list, LOOP_ITERATIONS, s);
	struct loop_item *iterations = &list->at[list->n - 1];
	iterations->body.at = body.at;
	iterations->body.n = body.n;
}

/* ---- Memory. */

bool loop_in_register(const struct loop_item *item, int entry, expr load)
{
	if (item->kind != LOOP_ELEMENTS || !loop_is_own(load, item->entries.at[entry].stage->out))
		return false;
	for (int i = 0; i < entry; i++)
		if (item->entries.at[i].makes && item->entries.at[i].stage->out == load->buf)
			return true;
	return false;
}

struct need {
	struct loop_plan *l;
	const struct loop_item *item;
	int entry;
};

static void need_load(void *user, expr e)
{
	struct need *n = user;
	if (n->l->inside[e->buf->id] && !(n->item->entries.n && loop_in_register(n->item, n->entry, e)))
		n->l->needed[n->l->home[e->buf->id]->id] = true;
}

static void find_needed(struct loop_plan *l, int n, const struct loop_item *item)
{
	for (int i = 0; i < n; i++, item++) {
		struct need need = { l, item, 0 };
		for (int k = 0; k < item->entries.n; k++) {
			const struct loop_entry *e = &item->entries.at[k];
			need.entry = k;
			loop_each_load(e->stage->value, need_load, &need);
			loop_each_load(e->stage->post, need_load, &need);
			vec_each (c, &e->collects)
				loop_each_load((*c)->at, need_load, &need);
		}
		if (!item->stage)
			continue;
		const struct ir_stage *s = item->stage;
		const expr own[] = { s->value, s->post, s->where };
		for (size_t k = 0; k < sizeof own / sizeof *own; k++)
			loop_each_load(own[k], need_load, &need);
		for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
			loop_each_load(s->at[k], need_load, &need);
		if (item->kind != LOOP_ITERATIONS)
			l->needed[l->home[s->out->id]->id] = true;
		else
			vec_each (c, &s->loop->carries)
				l->needed[c->state->id] = true;
		find_needed(l, item->body.n, item->body.at);
	}
}

static void store_entries(struct loop_plan *l, int n, struct loop_item *item)
{
	for (int i = 0; i < n; i++, item++) {
		vec_each (e, &item->entries) {
			const struct ir_buffer *home = l->home[e->stage->out->id];
			if ((e->makes || e->late) && l->needed[home->id])
				e->to = home;
		}
		store_entries(l, item->body.n, item->body.at);
	}
}

/* Puts small buffers, in order, into shared memory until it is full. */
static void share(struct loop_plan *l)
{
	struct ir_program *p = l->p;
	int64_t n, used = 0, bytes;
	for (int id = 0; id < p->buffers.n; id++) {
		const struct ir_buffer *b = p->buffers.at[id];
		if (!l->share || !l->needed[id] || l->home[id] != b || l->scattered[id] ||
		    !ir_const_int(loop_local(l, b->rank, b->dim), &n) || n == 0 || n > SHARED_BYTES)
			continue;
		n *= l->rows_a_block;
		bytes = (type_bytes(b->type, n) + 15) / 16 * 16;
		if (used + bytes > SHARED_BYTES)
			continue;
		used += bytes;
		struct ir_buffer *s = NEW(p->arena, struct ir_buffer);
		*s = (struct ir_buffer){ .type = b->type, .rank = 1, .role = IR_TEMP, .id = id };
		s->name = arena_printf(p->arena, "%s_shared", b->name);
		s->dim[0] = ir_index(p->pool, n);
		l->shared[id] = s;
	}
}

/* States in shared memory are stored to their buffers after the loop. */
static void add_saves(struct loop_plan *l, struct item_list *list)
{
	vec_each (c, &l->stage->loop->carries) {
		struct loop_entry e = { .stage = as_map(l, c->state, own_load(l, c->state)), .saved = true };
		e.to = c->state;
		if (l->shared[c->state->id])
			add_entry(l, list, &e, false);
	}
}

/* ---- The whole plan. */

static void note_made(struct loop_plan *l, const struct ir_stage *loop)
{
	vec_each (c, &loop->loop->carries)
		l->inside[c->state->id] = true;
	vec_each (s, &loop->loop->body) {
		struct ir_buffer *made;
		for (int i = 0; (made = ir_stage_made(*s, i)); i++)
			l->inside[made->id] = true;
		l->scattered[(*s)->out->id] |= (*s)->kind == IR_SCATTER;
		if ((*s)->loop)
			note_made(l, *s);
	}
}

struct loop_plan *loop_plan_new(struct ir_program *p, const struct ir_stage *loop, const struct sched_choice *choice)
{
	struct loop_plan *l = NEW(p->arena, struct loop_plan);
	int n = p->buffers.n + 1;
	*l = (struct loop_plan){ .p = p, .stage = loop, .threads = choice->param[0], .lanes = choice->param[1] };
	l->share = choice->param[2] != 0;
	l->rows_a_block = choice->param[3];
	l->inside = NEWN(p->arena, bool, n);
	l->needed = NEWN(p->arena, bool, n);
	l->scattered = NEWN(p->arena, bool, n);
	l->home = NEWN(p->arena, const struct ir_buffer *, n);
	l->shared = NEWN(p->arena, struct ir_buffer *, n);
	vec_each (b, &p->buffers)
		l->home[(*b)->id] = *b;
	l->lead = loop_lead(loop);
	l->rows = ir_index(p->pool, 1);
	for (int k = 0; k < l->lead; k++)
		l->rows = ir_binary(IR_MUL, l->rows, ir_stage_made(loop, 0)->dim[k + !loop->loop->carries.n]);
	note_made(l, loop);

	struct item_list list = { 0 };
	add_loop(l, &list, loop);
	find_needed(l, list.n, list.at);
	store_entries(l, list.n, list.at);
	share(l);
	add_saves(l, &list);
	l->items.at = list.at;
	l->items.n = list.n;
	loop_waits(l);
	return l;
}
