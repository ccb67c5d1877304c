/* Readers of a buffer: expressions that load from it, stages with such expressions, and loops that copy it between
 * iterations. See ir.h. */
#include "ir/ir.h"

struct loads {
	const struct ir_buffer *buf;
	bool found;
};

static void find_load(void *user, expr e)
{
	struct loads *l = user;
	l->found |= e->op == IR_LOAD && e->buf == l->buf;
}

uint64_t ir_buffer_bit(const struct ir_buffer *b)
{
	return (uint64_t)1 << (hash_u64(0, (uintptr_t)b) & 63);
}

bool ir_reads(expr e, const struct ir_buffer *b)
{
	struct loads l = { .buf = b };
	if (e->from & ir_buffer_bit(b))
		ir_walk(e, find_load, &l);
	return l.found;
}

struct common {
	expr other;
	bool found;
};

static void find_common(void *user, expr e)
{
	struct common *c = user;
	c->found = c->found || (e->op == IR_LOAD && ir_reads(c->other, e->buf));
}

bool ir_read_in_common(expr a, expr b)
{
	struct common c = { .other = b };
	if (a->from & b->from)
		ir_walk(a, find_common, &c);
	return c.found;
}

static void find_in_expr(void *user, expr e, const char *role)
{
	struct loads *l = user;
	(void)role;
	l->found = l->found || ir_reads(e, l->buf);
}

bool ir_loop_copies(const struct ir_loop *l, const struct ir_buffer *b)
{
	vec_each (c, &l->carries)
		if (c->next == b)
			return true;
	vec_each (c, &l->collects)
		if (c->from == b)
			return true;
	vec_each (s, &l->body)
		if ((*s)->loop && ir_loop_copies((*s)->loop, b))
			return true;
	return false;
}

bool ir_stage_reads(const struct ir_stage *s, const struct ir_buffer *b)
{
	struct loads l = { .buf = b };
	ir_stage_exprs(s, find_in_expr, &l);
	return l.found || (s->loop && ir_loop_copies(s->loop, b));
}
