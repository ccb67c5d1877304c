/* A loop as a list of items: which rows are independent, what shares a pass over the elements, what needs memory and
 * which, where the block waits. See loop.h. */
#include "sched/loop.h"

#include <string.h>

enum { SHARED_BYTES = 40 * 1024, WARP = 32 };

/* ---- Loads. */

struct loads {
	void (*fn)(void *user, expr load);
	void *user;
};

static void only_loads(void *user, expr e)
{
	struct loads *l = user;
	if (e->op == IR_LOAD)
		l->fn(l->user, e);
}

static void each_load(expr e, void (*fn)(void *user, expr load), void *user)
{
	struct loads l = { fn, user };
	if (e)
		ir_walk(e, only_loads, &l);
}

static bool is_axis(expr index, int axis, expr extent)
{
	return (index->op == IR_AXIS && index->i == axis) || (ir_is_int(extent, 1) && ir_is_int(index, 0));
}

bool loop_is_own(expr load, const struct ir_buffer *out)
{
	const struct ir_buffer *b = load->buf;
	bool own = b->rank == out->rank;
	for (int k = 0; own && k < b->rank; k++)
		own = b->dim[k] == out->dim[k] && is_axis(load->arg[k], k, b->dim[k]);
	return own;
}

/* ---- The rows. */

struct lead {
	int most;
	const struct ir_buffer *any; /* one of the loop's, whose leading extents all must have */
	struct map inside;           /* by id: buffers that the loop makes */
};

static void at_most(struct lead *l, int n)
{
	l->most = n < l->most ? n : l->most;
}

static void same_rows(struct lead *l, const struct ir_buffer *b)
{
	l->any = l->any ? l->any : b;
	at_most(l, b->rank);
	for (int k = 0; k < l->most; k++)
		if (b->dim[k] != l->any->dim[k])
			at_most(l, k);
}

static void note_inside(struct lead *l, const struct ir_stage *loop)
{
	vec_each (c, &loop->loop->carries) {
		map_put_u64(&l->inside, (uint64_t)c->state->id, c->state);
		same_rows(l, c->state);
	}
	vec_each (c, &loop->loop->collects)
		same_rows(l, c->from);
	vec_each (s, &loop->loop->body) {
		struct ir_buffer *made;
		if ((*s)->loop)
			note_inside(l, *s);
		for (int i = 0; (made = ir_stage_made(*s, i)); i++) {
			map_put_u64(&l->inside, (uint64_t)made->id, made);
			same_rows(l, made);
		}
	}
}

static void load_in_row(void *user, expr e)
{
	struct lead *l = user;
	if (map_get_u64(&l->inside, (uint64_t)e->buf->id))
		for (int k = 0; k < l->most; k++)
			if (!is_axis(e->arg[k], k, e->buf->dim[k]))
				at_most(l, k);
}

static void load_anywhere(void *user, expr e)
{
	struct lead *l = user;
	if (map_get_u64(&l->inside, (uint64_t)e->buf->id))
		l->most = 0;
}

static void stage_rows(struct lead *l, const struct ir_stage *s);

static void loop_rows(struct lead *l, const struct ir_stage *s)
{
	each_load(s->where, load_anywhere, l);
	vec_each (c, &s->loop->carries)
		each_load(c->init, load_in_row, l);
	vec_each (c, &s->loop->collects)
		each_load(c->at, load_anywhere, l);
	vec_each (b, &s->loop->body)
		stage_rows(l, *b);
}

static void stage_rows(struct lead *l, const struct ir_stage *s)
{
	if (s->kind == IR_LOOP) {
		loop_rows(l, s);
		return;
	}
	const expr own[] = { s->value, s->post, s->init, s->where };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		each_load(own[i], load_in_row, l);
	if (s->kind == IR_SCAN || s->kind == IR_SORT)
		at_most(l, s->axis);
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++) {
		each_load(s->at[k], load_in_row, l);
		if (k < l->most && (k >= s->space_rank || s->space[k] != s->out->dim[k] ||
		                    !is_axis(s->at[k], k, s->out->dim[k])))
			at_most(l, k);
	}
}

int loop_lead(const struct ir_stage *loop)
{
	struct arena *scratch = arena_new();
	struct lead l = { .most = IR_MAX_RANK, .inside = map_new(scratch) };
	note_inside(&l, loop);
	loop_rows(&l, loop);
	arena_free(scratch);
	return l.most;
}

expr loop_local(const struct loop_plan *l, int rank, const expr *dim)
{
	expr n = ir_index(l->p->pool, 1);
	for (int k = l->lead; k < rank; k++)
		n = ir_binary(IR_MUL, n, dim[k]);
	return n;
}

/* ---- What reads and writes what. */

struct access {
	const struct ir_buffer *home;
	bool write;
	bool own; /* at the element of the space */
};

struct accesses {
	const struct loop_plan *l;
	const struct ir_buffer *out; /* of the space; null: nothing is its own */
	struct arena *arena;
	VEC(struct access);
};

static void add_access(struct accesses *a, const struct ir_buffer *b, bool write, bool own)
{
	struct access x = { a->l->home[b->id], write, own };
	vec_push(a->arena, a, x);
}

static void add_read(void *user, expr e)
{
	struct accesses *a = user;
	if (a->l->inside[e->buf->id])
		add_access(a, e->buf, false, a->out && loop_is_own(e, a->out));
}

static void entry_accesses(struct accesses *a, const struct loop_entry *e)
{
	a->out = e->stage->out;
	each_load(e->stage->value, add_read, a);
	each_load(e->stage->post, add_read, a);
	vec_each (c, &e->collects) {
		each_load((*c)->at, add_read, a);
		if (a->l->inside[(*c)->out->id]) /* of a loop inside */
			add_access(a, (*c)->out, true, false);
	}
	if (e->makes || e->late)
		add_access(a, e->stage->out, true, true);
}

static void item_accesses(struct accesses *a, const struct loop_item *item)
{
	const struct ir_stage *s = item->stage;
	vec_each (e, &item->entries)
		entry_accesses(a, e);
	if (item->kind == LOOP_LANES)
		vec_each (x, a) /* whoever stores is no thread of the elements */
			x->own = false;
	if (item->kind == LOOP_ELEMENTS || item->kind == LOOP_LANES)
		return;
	a->out = NULL;
	each_load(s->where, add_read, a);
	if (item->kind == LOOP_TURNS)
		return;
	each_load(s->value, add_read, a);
	each_load(s->post, add_read, a);
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
		each_load(s->at[k], add_read, a);
	add_access(a, s->out, true, false);
}

/* Whether threads may meet there. */
static bool conflict(const struct access *a, const struct access *b)
{
	return a->home == b->home && (a->write || b->write) && !(a->own && b->own);
}

/* ---- Items. */

struct item_list {
	VEC(struct loop_item);
};

static bool same_shape(const struct ir_buffer *a, const struct ir_buffer *b)
{
	return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim[0] * (size_t)a->rank) == 0;
}

/* Whether the entry can be made in the pass over the elements that the last item is. */
static bool joins(const struct loop_plan *l, const struct loop_item *item, const struct loop_entry *e)
{
	if (item->kind != LOOP_ELEMENTS || e->stage->kind == IR_REDUCE ||
	    e->saved != item->entries.at[0].saved || !same_shape(item->entries.at[0].stage->out, e->stage->out))
		return false;
	bool late = item->entries.at[item->entries.n - 1].late, ok = !late || e->late;
	struct accesses mine = { .l = l, .arena = arena_new() };
	struct accesses theirs = { .l = l, .arena = mine.arena };
	entry_accesses(&mine, e);
	item_accesses(&theirs, item);
	vec_each (a, &mine)
		vec_each (b, &theirs)
			ok &= !conflict(a, b);
	arena_free(mine.arena);
	return ok;
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
static const struct ir_stage *as_map(struct loop_plan *l, const struct ir_buffer *out, expr value)
{
	struct ir_stage *s = NEW(l->p->arena, struct ir_stage);
	*s = (struct ir_stage){ .kind = IR_MAP, .out = (struct ir_buffer *)out, .value = value };
	return s;
}

static expr own_load(struct loop_plan *l, const struct ir_buffer *b)
{
	expr at[IR_MAX_RANK];
	for (int k = 0; k < b->rank; k++)
		at[k] = ir_axis(l->p->pool, k, b->dim[k]);
	return ir_load(l->p->pool, b, at);
}

/* Long reductions are for warps. */
static bool for_lanes(const struct loop_plan *l, const struct ir_stage *s)
{
	int64_t n;
	return l->lanes > 1 && (!ir_const_int(reduced_count(l->p, s), &n) || n >= WARP);
}

/* ---- A state whose next value can be stored in its place at once: nobody reads the old one any more, but for the
 * element itself. */

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

static void read_of_slot(void *user, expr *slot, const char *role)
{
	(void)role;
	each_load(*slot, read_of, user);
}

static bool reads(const struct ir_stage *s, const struct ir_buffer *b, bool *foreign)
{
	struct reads_of r = { .buf = b, .out = s->out };
	ir_stage_exprs(s, read_of_slot, &r);
	for (int i = 0; s->loop && i < s->loop->carries.n; i++)
		r.any |= s->loop->carries.at[i].next == b;
	for (int i = 0; s->loop && i < s->loop->collects.n; i++)
		r.any |= s->loop->collects.at[i].from == b;
	for (int i = 0; s->loop && i < s->loop->body.n; i++)
		r.any |= reads(s->loop->body.at[i], b, foreign);
	*foreign = r.foreign;
	return r.any;
}

static bool in_place(const struct loop_plan *l, const struct ir_loop *loop, const struct ir_carry *c)
{
	struct reads_of r = { .buf = c->state, .out = c->state };
	bool made = false, foreign;
	if (l->home[c->next->id] != c->next) /* another state's */
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
		each_load((*s)->kind == IR_REDUCE ? (*s)->value : NULL, read_of, &summed);
		if (summed.any) /* by other lanes than the one that stores */
			return false;
		made = true;
	}
	vec_each (x, &loop->carries)
		if (x->next == c->state)
			return false;
	vec_each (x, &loop->collects) {
		if (x->from == c->state)
			return false;
		each_load(x->at, read_of, &r);
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
	case IR_LOOP: add_loop(l, list, s); break;
	case IR_COMPACT: ck(!"no body compacts"); break;
	}
}

/* The entry of the list that is the stage of the body that makes `b`, or null. */
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
		struct loop_entry copy = { .stage = as_map(l, c->from, own_load(l, c->from)) };
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
	add_item(l, list, LOOP_TURNS, s);
	struct loop_item *turns = &list->at[list->n - 1];
	turns->body.at = body.at;
	turns->body.n = body.n;
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
			each_load(e->stage->value, need_load, &need);
			each_load(e->stage->post, need_load, &need);
			vec_each (c, &e->collects)
				each_load((*c)->at, need_load, &need);
		}
		if (!item->stage)
			continue;
		const struct ir_stage *s = item->stage;
		const expr own[] = { s->value, s->post, s->where };
		for (size_t k = 0; k < sizeof own / sizeof *own; k++)
			each_load(own[k], need_load, &need);
		for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
			each_load(s->at[k], need_load, &need);
		if (item->kind != LOOP_TURNS)
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

/* Small buffers, in their order, until shared memory is full. */
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

/* States that live in shared memory go to their places behind the loop. */
static void add_saves(struct loop_plan *l, struct item_list *list)
{
	vec_each (c, &l->stage->loop->carries) {
		struct loop_entry e = { .stage = as_map(l, c->state, own_load(l, c->state)), .saved = true };
		e.to = c->state;
		if (l->shared[c->state->id])
			add_entry(l, list, &e, false);
	}
}

/* ---- Where the block waits. What threads did since the last time is on record; the end of a turn comes before the
 * beginning of the next. */

struct record {
	struct access access;
	expr key; /* of what is one's own: equal where a thread has the same elements */
};

struct records {
	struct arena *arena;
	VEC(struct record);
};

static void copy_records(struct records *to, const struct records *from)
{
	for (int i = 0; i < from->n; i++)
		vec_push(to->arena, to, from->at[i]);
}

static bool must_wait(const struct records *r, const struct accesses *a, expr key)
{
	for (int i = 0; i < r->n; i++)
		for (int k = 0; k < a->n; k++) {
			struct access before = r->at[i].access, now = a->at[k];
			before.own &= r->at[i].key == key;
			if (conflict(&before, &now))
				return true;
		}
	return false;
}

static void note(struct records *r, const struct accesses *a, expr key)
{
	for (int i = 0; i < a->n; i++) {
		struct record x = { a->at[i], key };
		vec_push(r->arena, r, x);
	}
}

static void wait_in(struct loop_plan *l, struct records *r, int n, struct loop_item *item);

/* The condition, or an item without turns. */
static void wait_before(struct loop_plan *l, struct records *r, struct loop_item *item)
{
	struct accesses a = { .l = l, .arena = r->arena }, in_memory = a;
	expr key = NULL;
	if (item->kind == LOOP_ELEMENTS) {
		const struct ir_buffer *out = item->entries.at[0].stage->out;
		key = loop_local(l, out->rank, out->dim);
	}
	item_accesses(&a, item);
	vec_each (x, &a)
		if (l->needed[x->home->id])
			vec_push(r->arena, &in_memory, *x);
	item->sync |= must_wait(r, &in_memory, key);
	if (item->sync)
		r->n = 0;
	note(r, &in_memory, key);
}

static void wait_in_turns(struct loop_plan *l, struct records *r, struct loop_item *item)
{
	struct records none = { .arena = r->arena };
	copy_records(&none, r);
	for (int turn = 0; turn < 2; turn++) {
		wait_before(l, r, item);
		if (item->stage->where)
			copy_records(&none, r); /* it may end here */
		wait_in(l, r, item->body.n, item->body.at);
	}
	copy_records(r, &none);
}

static void wait_in(struct loop_plan *l, struct records *r, int n, struct loop_item *item)
{
	for (int i = 0; i < n; i++)
		if (item[i].kind == LOOP_TURNS)
			wait_in_turns(l, r, &item[i]);
		else
			wait_before(l, r, &item[i]);
}

/* ---- All of it. */

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
	struct records r = { .arena = arena_new() };
	wait_in(l, &r, list.n, list.at);
	arena_free(r.arena);
	l->items.at = list.at;
	l->items.n = list.n;
	return l;
}
