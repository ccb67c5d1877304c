/* Maps that read a buffer element for element, in other extents: a Reshape between a product and what follows it. See
 * passes.h. */
#include "ir/passes.h"

struct in_order {
	const struct ir_buffer *buf;
	expr own; /* the position of the reader's element */
	bool same;
};

static void find_position(void *user, expr e)
{
	struct in_order *o = user;
	if (e->op == IR_LOAD && e->buf == o->buf)
		o->same = o->same && ir_is_int(ir_binary(IR_SUB, ir_flat(e->pool, e->buf, e->arg), o->own), 0);
}

bool ir_reads_in_order(struct ir_program *p, const struct ir_stage *m, const struct ir_buffer *b)
{
	struct in_order o = { .buf = b, .same = true };
	if (ir_buffer_count(p, m->out) != ir_buffer_count(p, b))
		return false;
	o.own = ir_own_position(p->pool, m->out);
	ir_walk(m->value, find_position, &o);
	return o.same;
}

struct own_load {
	const struct ir_buffer *of;
	struct ir_buffer *to;
};

static expr load_own(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct own_load *o = user;
	expr axis[IR_MAX_RANK];
	(void)arg;
	if (e->op != IR_LOAD || e->buf != o->of)
		return NULL;
	ir_own_axes(pool, o->to, axis);
	return ir_load(pool, o->to, axis);
}

struct ir_stage ir_reshape_map(struct ir_program *p, struct ir_stage *m, struct ir_buffer *b)
{
	expr at[IR_MAX_RANK];
	struct own_load own = { b, b };
	struct ir_stage moved = { .kind = IR_MAP, .out = m->out };
	struct ir_buffer *out = ir_buffer_new(p, m->out->name, m->out->type, b->rank, b->dim, IR_TEMP);
	ir_unflat(ir_own_position(p->pool, b), m->out->rank, m->out->dim, at);
	m->value = ir_copy(p->pool, ir_bind_axes(p->pool, m->value, at), load_own, &own);
	ir_unflat(ir_own_position(p->pool, m->out), out->rank, out->dim, at);
	moved.value = ir_load(p->pool, out, at);
	m->out = out;
	return moved;
}

bool ir_reshape_sum(struct ir_program *p, struct ir_stage *s, struct ir_stage *m)
{
	int rank = m->out->rank;
	expr at[2 * IR_MAX_RANK];
	struct own_load own = { .of = s->out };
	if (s->kind != IR_REDUCE)
		return false;
	ir_unflat(ir_own_position(p->pool, m->out), s->out->rank, s->out->dim, at);
	for (int k = 0; k < s->out->rank; k++)
		if (ir_uses(at[k], IR_FLOORDIV) || ir_uses(at[k], IR_MOD))
			return false;
	for (int k = 0; k < s->space_rank; k++)
		at[s->out->rank + k] = ir_axis(p->pool, rank + k, s->space[k]);
	own.to = ir_buffer_new(p, s->out->name, s->out->type, rank, m->out->dim, IR_TEMP);
	s->value = ir_bind_axes(p->pool, s->value, at);
	if (s->post)
		s->post = ir_bind_axes(p->pool, s->post, at);
	s->out = own.to;
	m->value = ir_copy(p->pool, m->value, load_own, &own);
	return true;
}
