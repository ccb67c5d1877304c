/* Which of the stages that one kernel makes others read, too. See build.h. */
#include "sched/build.h"

struct reader {
	const struct ir_buffer *buf;
	bool found;
};

static void find_load(void *user, expr e)
{
	struct reader *r = user;
	r->found |= e->op == IR_LOAD && e->buf == r->buf;
}

static void find_in(void *user, expr *slot, const char *role)
{
	(void)role;
	ir_walk(*slot, find_load, user);
}

bool stage_is_stored(const struct ir_program *p, const struct ir_stage *const *made, int n, int which)
{
	struct reader reader = { .buf = made[which]->out };
	bool inside;
	if (reader.buf->role == IR_OUTPUT)
		return true;
	vec_each (s, &p->stages) {
		inside = false;
		for (int i = 0; i < n; i++)
			inside |= made[i] == *s;
		if (!inside)
			ir_stage_exprs(*s, find_in, &reader);
		if ((*s)->loop) { /* what it carries on and collects, too */
			vec_each (c, &(*s)->loop->carries)
				reader.found |= c->next == reader.buf;
			vec_each (c, &(*s)->loop->collects)
				reader.found |= c->from == reader.buf;
		}
	}
	vec_each (z, &p->sizes)
		reader.found |= z->count == reader.buf;
	return reader.found;
}
