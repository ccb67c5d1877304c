/* Looks through maps of floats, as models spell them between quantised numbers. See passes.h. */
#include "ir/passes.h"

enum {
	SEEN_THROUGH = 64, /* maximum cost of a map */
	MOST_MAPS = 16,    /* one after the other */
};

struct seen {
	struct ir_program *p;
	int depth;
};

/* Replaces loads of maps of anything but quantised numbers by the maps' values. */
static expr see_through(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	struct seen *x = user;
	bool quantised = e->type == TYPE_I8 || e->type == TYPE_U8 || type_multiplies_f8(e->type);
	const struct ir_stage *s = e->op == IR_LOAD && !quantised ? ir_stage_of(x->p, e->buf) : NULL;
	struct seen inner = { x->p, x->depth + 1 };
	if (!s || s->kind != IR_MAP || ir_cost(s->value) > SEEN_THROUGH || x->depth == MOST_MAPS)
		return NULL;
	return ir_copy(pool, ir_bind_axes(pool, s->value, arg), see_through, &inner);
}

expr ir_see_floats(struct ir_program *p, expr e)
{
	struct seen seen = { p, 0 };
	return ir_copy(p->pool, e, see_through, &seen);
}
