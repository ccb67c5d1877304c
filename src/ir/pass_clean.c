/* Passes that clean up: simplify, merge, prune. */
#include "ir/passes.h"

#include <string.h>

static void rebuild(void *user, expr *slot, const char *role)
{
	struct ir_program *p = user;
	(void)role;
	*slot = ir_copy(p->pool, *slot, NULL, NULL);
}

int ir_pass_simplify(struct ir_program *p, struct err *e)
{
	(void)e;
	vec_each (s, &p->stages)
		ir_stage_slots(*s, rebuild, p);
	return 0;
}

/* ---- merge */

struct replace {
	const struct ir_buffer *from, *to;
};

static expr replace_load(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	struct replace *r = user;
	return e->op == IR_LOAD && e->buf == r->from ? ir_load(p, r->to, arg) : NULL;
}

struct replace_in {
	struct ir_program *p;
	struct replace r;
};

static void replace_slot(void *user, expr *slot, const char *role)
{
	struct replace_in *x = user;
	(void)role;
	*slot = ir_copy(x->p->pool, *slot, replace_load, &x->r);
}

static bool same_stage(const struct ir_stage *a, const struct ir_stage *b)
{
	if (a->kind == IR_COMPACT || a->kind == IR_LOOP) /* they have several results */
		return false;
	if (a->kind != b->kind || a->value != b->value || a->combine != b->combine || a->post != b->post ||
	    a->init != b->init || a->where != b->where || a->space_rank != b->space_rank || a->axis != b->axis ||
	    a->exclusive != b->exclusive || a->reverse != b->reverse || a->out->type != b->out->type ||
	    a->out->rank != b->out->rank)
		return false;
	return memcmp(a->space, b->space, sizeof a->space) == 0 && memcmp(a->at, b->at, sizeof a->at) == 0 &&
	       memcmp(a->out->dim, b->out->dim, sizeof a->out->dim) == 0;
}

struct list {
	VEC(struct ir_stage *);
};

/* Replaces buffers that loops copy directly. */
static void replace_copied(const struct replace *r, struct ir_loop *l)
{
	vec_each (c, &l->carries)
		c->next = c->next == r->from ? r->to : c->next;
	vec_each (c, &l->collects)
		c->from = c->from == r->from ? r->to : c->from;
	vec_each (s, &l->body)
		if ((*s)->loop)
			replace_copied(r, (*s)->loop);
}

/* `loop`: the loop whose body the list is, or null. */
static void merge_list(struct ir_program *p, struct list *list, struct ir_loop *loop)
{
	for (int i = 0; i < list->n; i++) {
		for (int j = i + 1; j < list->n; j++) {
			struct ir_stage *a = list->at[i], *b = list->at[j];
			if (b->out->role == IR_OUTPUT || !same_stage(a, b))
				continue;
			struct replace_in x = { p, { b->out, a->out } };
			memmove(&list->at[j], &list->at[j + 1], sizeof list->at[0] * (size_t)(--list->n - j));
			for (int k = j--; k < list->n; k++) {
				ir_stage_slots(list->at[k], replace_slot, &x);
				if (list->at[k]->loop)
					replace_copied(&x.r, list->at[k]->loop);
			}
			if (loop)
				replace_copied(&x.r, loop);
			for (int k = 0; loop && k < loop->collects.n; k++)
				replace_slot(&x, &loop->collects.at[k].at, "at");
		}
	}
	vec_each (s, list) {
		if (!(*s)->loop)
			continue;
		struct list body = { (*s)->loop->body.at, (*s)->loop->body.n, (*s)->loop->body.cap };
		merge_list(p, &body, (*s)->loop);
		(*s)->loop->body.n = body.n;
	}
}

int ir_pass_merge(struct ir_program *p, struct err *e)
{
	struct list all = { p->stages.at, p->stages.n, p->stages.cap };
	(void)e;
	merge_list(p, &all, NULL);
	p->stages.n = all.n;
	return 0;
}

/* ---- prune */

struct uses {
	bool *used; /* by id of a buffer */
	int buffers;
	struct arena *scratch;
};

static void mark_load(void *user, expr e)
{
	struct uses *u = user;
	if (e->op == IR_LOAD)
		u->used[e->buf->id] = true;
}

static void mark_expr(void *user, expr e, const char *role)
{
	(void)role;
	ir_walk(e, mark_load, user);
}

static bool wanted(const struct uses *u, const struct ir_stage *s)
{
	const struct ir_buffer *made;
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		if (made->role == IR_OUTPUT || u->used[made->id])
			return true;
	return false;
}

static void mark_made(struct uses *u, const struct ir_stage *s)
{
	const struct ir_buffer *made;
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		u->used[made->id] = true;
}

static void prune_loop(struct uses *u, struct ir_stage *s);

/* Drops unread stages of a list in execution order; marks the buffers that the others read. */
static int prune_stages(struct uses *u, int n, struct ir_stage **at)
{
	int kept = 0;
	for (int i = n - 1; i >= 0; i--) {
		struct ir_stage *s = at[i];
		if (!wanted(u, s)) {
			at[i] = NULL;
			continue;
		}
		if (s->loop)
			prune_loop(u, s);
		mark_made(u, s);
		ir_stage_exprs(s, mark_expr, u);
	}
	for (int i = 0; i < n; i++)
		if (at[i])
			at[kept++] = at[i];
	return kept;
}

static bool is_used(const struct uses *u, const struct ir_buffer *b)
{
	return b->role == IR_OUTPUT || u->used[b->id];
}

static void mark_copied(struct uses *u, const struct ir_loop *l, bool all)
{
	vec_each (c, &l->carries)
		if (all || is_used(u, c->state))
			u->used[c->next->id] = true;
	vec_each (c, &l->collects)
		if (all || is_used(u, c->out))
			u->used[c->from->id] = true;
}

/* Marks the buffers that the body reads for wanted results; of inner loops, all. */
static void mark_turn(struct uses *u, const struct ir_loop *l)
{
	for (int i = l->body.n - 1; i >= 0; i--) {
		const struct ir_stage *s = l->body.at[i];
		if (!wanted(u, s))
			continue;
		ir_stage_exprs(s, mark_expr, u);
		if (!s->loop)
			continue;
		mark_copied(u, s->loop, true);
		vec_each (b, &s->loop->body) /* and the buffers those copy */
			mark_made(u, *b);
		mark_turn(u, s->loop);
	}
}

/* Finds the states needed by others than themselves, on a copy of the marks. */
static void mark_states(struct uses *u, const struct ir_stage *s)
{
	const struct ir_loop *l = s->loop;
	struct uses found = *u;
	int before = -1, now = 0;
	found.used = NEWN(u->scratch, bool, u->buffers + 1);
	memcpy(found.used, u->used, sizeof(bool) * (size_t)u->buffers);
	expr where = s->where;
	if (where)
		mark_expr(&found, where, "where");
	while (now != before) {
		mark_copied(&found, l, false);
		vec_each (c, &l->collects)
			if (is_used(&found, c->out))
				mark_expr(&found, c->at, "collect");
		mark_turn(&found, l);
		before = now;
		now = 0;
		vec_each (c, &l->carries)
			now += is_used(&found, c->state);
	}
	vec_each (c, &l->carries)
		u->used[c->state->id] |= found.used[c->state->id];
}

/* Removes states that only they themselves need and unread collected buffers, then the body's unneeded stages. */
static void prune_loop(struct uses *u, struct ir_stage *s)
{
	struct ir_loop *l = s->loop;
	int n = 0;
	mark_states(u, s);
	for (int i = 0; i < l->carries.n; i++)
		if (is_used(u, l->carries.at[i].state))
			l->carries.at[n++] = l->carries.at[i];
	l->carries.n = n;
	n = 0;
	for (int i = 0; i < l->collects.n; i++)
		if (is_used(u, l->collects.at[i].out))
			l->collects.at[n++] = l->collects.at[i];
	l->collects.n = n;
	s->out = ir_stage_made(s, 0);
	mark_copied(u, l, false);
	vec_each (c, &l->collects)
		mark_expr(u, c->at, "collect");
	l->body.n = prune_stages(u, l->body.n, l->body.at);
}

int ir_pass_prune(struct ir_program *p, struct err *e)
{
	(void)e;
	struct arena *scratch = arena_new();
	struct uses u = { NEWN(scratch, bool, p->buffers.n + 1), p->buffers.n, scratch };
	int n = 0;
	vec_each (size, &p->sizes) /* extents depend on it without a load */
		u.used[size->count->id] = true;
	p->stages.n = prune_stages(&u, p->stages.n, p->stages.at);
	for (int i = 0; i < p->buffers.n; i++) {
		struct ir_buffer *b = p->buffers.at[i];
		if (b->role == IR_INPUT || b->role == IR_OUTPUT || u.used[b->id]) {
			p->buffers.at[n] = b;
			b->id = n++;
		}
	}
	p->buffers.n = n;
	arena_free(scratch);
	return 0;
}
