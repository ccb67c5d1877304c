/* The accesses of a loop's items, and the barriers between them. See loop.h. */
#include "sched/loop/loop.h"

struct access {
	const struct ir_buffer *home;
	bool write;
	bool own; /* at the thread's own element */
};

struct accesses {
	const struct loop_plan *l;
	const struct ir_buffer *out; /* buffer of the space; null: no access is `own` */
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
	loop_each_load(e->stage->value, add_read, a);
	loop_each_load(e->stage->post, add_read, a);
	vec_each (c, &e->collects) {
		loop_each_load((*c)->at, add_read, a);
		if (a->l->inside[(*c)->out->id]) /* collected by an inner loop */
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
		vec_each (x, a) /* the storing lane is not the elements' thread */
			x->own = false;
	if (item->kind == LOOP_ELEMENTS || item->kind == LOOP_LANES)
		return;
	a->out = NULL;
	loop_each_load(s->where, add_read, a);
	if (item->kind == LOOP_ITERATIONS)
		return;
	loop_each_load(s->value, add_read, a);
	loop_each_load(s->post, add_read, a);
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++)
		loop_each_load(s->at[k], add_read, a);
	add_access(a, s->out, true, false);
}

/* True if the two accesses may race. */
static bool conflict(const struct access *a, const struct access *b)
{
	return a->home == b->home && (a->write || b->write) && !(a->own && b->own);
}

bool loop_meets(const struct loop_plan *l, const struct loop_item *item, const struct loop_entry *e)
{
	struct accesses mine = { .l = l, .arena = arena_new() };
	struct accesses theirs = { .l = l, .arena = mine.arena };
	bool meets = false;
	entry_accesses(&mine, e);
	item_accesses(&theirs, item);
	vec_each (a, &mine)
		vec_each (b, &theirs)
			meets |= conflict(a, b);
	arena_free(mine.arena);
	return meets;
}

/* ---- Barriers. Records hold the accesses since the last barrier. The end of an iteration comes before the start of
 * the next. */

struct record {
	struct access access;
	expr key; /* for `own` accesses: equal keys mean that threads have the same elements */
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

/* Handles a loop's condition, or an item that is not a loop. */
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
	if (item->sync || loop_is_wide(l, item))
		r->n = 0;
	note(r, &in_memory, key);
}

static void wait_in_iterations(struct loop_plan *l, struct records *r, struct loop_item *item)
{
	struct records none = { .arena = r->arena };
	copy_records(&none, r);
	for (int i = 0; i < 2; i++) {
		wait_before(l, r, item);
		if (item->stage->where)
			copy_records(&none, r); /* the loop may end here */
		wait_in(l, r, item->body.n, item->body.at);
	}
	copy_records(r, &none);
}

static void wait_in(struct loop_plan *l, struct records *r, int n, struct loop_item *item)
{
	for (int i = 0; i < n; i++)
		if (item[i].kind == LOOP_ITERATIONS)
			wait_in_iterations(l, r, &item[i]);
		else
			wait_before(l, r, &item[i]);
}

void loop_waits(struct loop_plan *l)
{
	struct records r = { .arena = arena_new() };
	wait_in(l, &r, l->items.n, l->items.at);
	arena_free(r.arena);
}
