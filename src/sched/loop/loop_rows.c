/* Finds the independent rows of a loop: the leading axes along which every load of a loop's buffer stays at its own
 * index. See loop.h. */
#include "sched/loop/loop.h"
#include "sched/build/accumulate.h"

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

void loop_each_load(expr e, void (*fn)(void *user, expr load), void *user)
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

struct lead {
	int most;
	const struct ir_buffer *any; /* a buffer of the loop; all must have its leading extents */
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
	loop_each_load(s->where, load_anywhere, l);
	vec_each (c, &s->loop->carries)
		loop_each_load(c->init, load_in_row, l);
	vec_each (c, &s->loop->collects)
		loop_each_load(c->at, load_anywhere, l);
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
		loop_each_load(own[i], load_in_row, l);
	if (s->kind == IR_SCAN || s->kind == IR_SORT || s->kind == IR_PICK)
		at_most(l, s->axis);
	for (int k = 0; s->kind == IR_SCATTER && k < s->out->rank; k++) {
		loop_each_load(s->at[k], load_in_row, l);
		if (k < l->most &&
		    (k >= s->space_rank || s->space[k] != s->out->dim[k] || !is_axis(s->at[k], k, s->out->dim[k])))
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

bool loop_is_wide(const struct loop_plan *l, const struct loop_item *item)
{
	enum { WARP = 32, FEW = 2, LONG = 4 * WARP };
	const struct ir_stage *s = item->entries.n ? item->entries.at[0].stage : NULL;
	int64_t n, rows;
	if (item->kind != LOOP_LANES || !ir_const_int(loop_local(l, s->out->rank, s->out->dim), &rows))
		return false;
	rows *= l->rows_a_block;
	return rows > 0 && rows <= FEW && (!ir_const_int(reduced_count(l->p, s), &n) || n >= LONG);
}
