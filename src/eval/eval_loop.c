/* Loops: the body is prepared once and run in every iteration. Each state has one buffer, into which its next value is
 * copied after each iteration. */
#include <string.h>

#include "eval/code.h"

/* A compiled expression outside any stage. */
struct scalar {
	struct eval_buffer buffer;
	struct eval_ready ready;
};

struct loop {
	const struct ir_loop *l;
	const char *name;
	struct eval_turn *turn;
	struct scalar *where; /* or null */
	struct scalar *at;    /* of each collected buffer */
	void **kept; /* of each carry: a copy of next's elements, if another state's update would overwrite them; or
	                null */
	struct {
		VEC(struct eval_ready);
	} init, body;
};

static void *new_data(struct eval_run *run, const struct eval_buffer *b)
{
	return arena_alloc(run->arena, (size_t)type_bytes(b->type, b->count) + 16);
}

static int prepare_scalar(struct eval_run *run, struct scalar *s, expr e)
{
	s->buffer = (struct eval_buffer){ .type = e->type, .count = 1 };
	s->buffer.data = new_data(run, &s->buffer);
	s->ready.stage = run->stage;
	return eval_map(run, &s->buffer, e, &s->ready);
}

/* True if the buffer is one of the loop's states. */
static bool is_state(const struct ir_loop *l, const struct ir_buffer *b)
{
	vec_each (c, &l->carries)
		if (c->state == b)
			return true;
	return false;
}

static int prepare_body(struct eval_run *run, struct loop *x)
{
	const struct ir_loop *l = x->l;
	struct ir_buffer *made;
	vec_each (s, &l->body) {
		for (int i = 0; (made = ir_stage_made(*s, i)); i++) {
			struct eval_buffer *b = &run->buffer[made->id];
			b->changes = true;
			b->data = new_data(run, b);
		}
	}
	vec_each (s, &l->body) {
		struct eval_ready ready;
		TRY(eval_prepare(run, *s, &ready));
		vec_push(run->arena, &x->body, ready);
	}
	run->stage = x->name;
	for (int i = 0; i < l->carries.n; i++)
		if (is_state(l, l->carries.at[i].next))
			x->kept[i] = new_data(run, &run->buffer[l->carries.at[i].next->id]);
	for (int i = 0; i < l->collects.n; i++)
		TRY(prepare_scalar(run, &x->at[i], l->collects.at[i].at));
	return 0;
}

static int copy_states(struct eval_run *run, const struct loop *x)
{
	const struct ir_loop *l = x->l;
	for (int i = 0; i < l->carries.n; i++) {
		const struct eval_buffer *next = &run->buffer[l->carries.at[i].next->id];
		if (x->kept[i])
			memcpy(x->kept[i], next->data, (size_t)type_bytes(next->type, next->count));
	}
	for (int i = 0; i < l->carries.n; i++) {
		const struct eval_buffer *next = &run->buffer[l->carries.at[i].next->id];
		memcpy(run->buffer[l->carries.at[i].state->id].data, x->kept[i] ? x->kept[i] : next->data,
		       (size_t)type_bytes(next->type, next->count));
	}
	return 0;
}

static int collect(struct eval_run *run, const struct loop *x, int i)
{
	const struct ir_collect *c = &x->l->collects.at[i];
	const struct eval_buffer *out = &run->buffer[c->out->id], *from = &run->buffer[c->from->id];
	TRY(eval_ready_run(run, &x->at[i].ready));
	int64_t at = *(const int64_t *)x->at[i].buffer.data;
	if (at < 0 || at >= out->dim[0]) {
		err_set(run->err, ERR_DIFFER, "Program %s, loop %s: collects at %lld of %s, which has %lld.",
		        run->program->name, x->name, (long long)at, c->out->name, (long long)out->dim[0]);
		return err_advise(run->err, "This is a bug in tpat; please report it with the model.");
	}
	if (type_info(from->type)->bits >= 8) {
		size_t bytes = (size_t)type_bytes(from->type, from->count);
		memcpy((char *)out->data + (size_t)at * bytes, from->data, bytes);
	} else {
		for (int64_t k = 0; k < from->count; k++)
			type_store_int(out->type, out->data, at * from->count + k,
			               type_load_int(from->type, from->data, k));
	}
	return 0;
}

static int run_loop(struct eval_run *run, void *user)
{
	struct loop *x = user;
	vec_each (r, &x->init)
		TRY(eval_ready_run(run, r));
	for (int64_t t = 0; t < x->turn->trip; t++) {
		x->turn->now = t;
		if (x->where) {
			TRY(eval_ready_run(run, &x->where->ready));
			if (!*(const uint8_t *)x->where->buffer.data)
				break;
		}
		vec_each (r, &x->body)
			TRY(eval_ready_run(run, r));
		for (int i = 0; i < x->l->collects.n; i++)
			TRY(collect(run, x, i));
		copy_states(run, x);
	}
	return 0;
}

int eval_loop(struct eval_run *run, const struct ir_stage *stage, struct eval_ready *ready)
{
	const struct ir_loop *l = stage->loop;
	struct loop *x = NEW(run->arena, struct loop);
	*x = (struct loop){ .l = l, .name = stage->out->name };
	x->turn = NEW(run->turns.arena, struct eval_turn);
	x->at = NEWN(run->arena, struct scalar, l->collects.n + 1);
	x->kept = NEWN(run->arena, void *, l->carries.n + 1);
	TRY(eval_extent(run, l->trip, &x->turn->trip));
	vec_each (c, &l->carries) {
		struct eval_ready init = { .stage = c->state->name };
		TRY(eval_map(run, &run->buffer[c->state->id], c->init, &init));
		vec_push(run->arena, &x->init, init);
	}
	struct eval_part part = { .fn = run_loop, .user = x };
	vec_push(run->arena, ready, part);
	if (x->turn->trip == 0)
		return 0;
	map_put_u64(&run->turns, (uintptr_t)l->index->var, x->turn);
	bool *changes = NEWN(run->arena, bool, l->carries.n + 1);
	for (int i = 0; i < l->carries.n; i++) {
		changes[i] = run->buffer[l->carries.at[i].state->id].changes;
		run->buffer[l->carries.at[i].state->id].changes = true;
	}
	if (stage->where) {
		x->where = NEW(run->arena, struct scalar);
		TRY(prepare_scalar(run, x->where, stage->where));
	}
	TRY(prepare_body(run, x));
	for (int i = 0; i < l->carries.n; i++)
		run->buffer[l->carries.at[i].state->id].changes = changes[i];
	return 0;
}
