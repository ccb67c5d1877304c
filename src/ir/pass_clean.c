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
		ir_stage_exprs(*s, rebuild, p);
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
	if (a->kind == IR_COMPACT || a->kind == IR_LOOP) /* they make several buffers */
		return false;
	if (a->kind != b->kind || a->value != b->value || a->combine != b->combine || a->post != b->post ||
	    a->init != b->init || a->where != b->where || a->space_rank != b->space_rank || a->axis != b->axis ||
	    a->exclusive != b->exclusive || a->reverse != b->reverse || a->out->type != b->out->type ||
	    a->out->rank != b->out->rank)
		return false;
	return memcmp(a->space, b->space, sizeof a->space) == 0 && memcmp(a->at, b->at, sizeof a->at) == 0 &&
	       memcmp(a->out->dim, b->out->dim, sizeof a->out->dim) == 0;
}

int ir_pass_merge(struct ir_program *p, struct err *e)
{
	(void)e;
	for (int i = 0; i < p->stages.n; i++) {
		for (int j = i + 1; j < p->stages.n; j++) {
			struct ir_stage *a = p->stages.at[i], *b = p->stages.at[j];
			if (b->out->role == IR_OUTPUT || !same_stage(a, b))
				continue;
			struct replace_in x = { p, { b->out, a->out } };
			memmove(&p->stages.at[j], &p->stages.at[j + 1],
			        sizeof p->stages.at[0] * (size_t)(--p->stages.n - j));
			for (int k = j--; k < p->stages.n; k++)
				ir_stage_exprs(p->stages.at[k], replace_slot, &x);
		}
	}
	return 0;
}

/* ---- prune */

struct uses {
	bool *used;
};

static void mark_load(void *user, expr e)
{
	struct uses *u = user;
	if (e->op == IR_LOAD)
		u->used[e->buf->id] = true;
}

static void mark_slot(void *user, expr *slot, const char *role)
{
	(void)role;
	ir_walk(*slot, mark_load, user);
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

/* Drops the stages of a list, in an order in which they can run, that nothing reads; marks what the others read. */
static int prune_stages(struct uses *u, int n, struct ir_stage **at)
{
	int kept = 0;
	for (int i = n - 1; i >= 0; i--) {
		struct ir_stage *s = at[i];
		if (!wanted(u, s)) {
			at[i] = NULL;
			continue;
		}
		mark_made(u, s);
		if (s->loop)
			prune_loop(u, s);
		ir_stage_exprs(s, mark_slot, u);
	}
	for (int i = 0; i < n; i++)
		if (at[i])
			at[kept++] = at[i];
	return kept;
}

/* The body's stages that neither its states nor what is collected need go. */
static void prune_loop(struct uses *u, struct ir_stage *s)
{
	struct ir_loop *l = s->loop;
	vec_each (c, &l->carries)
		u->used[c->next->id] = true;
	vec_each (c, &l->collects)
		u->used[c->from->id] = true;
	l->body.n = prune_stages(u, l->body.n, l->body.at);
}

int ir_pass_prune(struct ir_program *p, struct err *e)
{
	(void)e;
	struct arena *scratch = arena_new();
	struct uses u = { NEWN(scratch, bool, p->buffers.n + 1) };
	int n = 0;
	vec_each (size, &p->sizes) /* extents mention it without reading it */
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
