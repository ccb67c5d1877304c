/* Sizes that are known only at run time, and loops: making them. See ir.h. */
#include "ir/pool.h"

#include <string.h>

const struct ir_size *ir_size_find(const struct ir_program *p, const char *symbol)
{
	vec_each (s, &p->sizes)
		if (strcmp(s->symbol, symbol) == 0)
			return s;
	return NULL;
}

struct named {
	const char *name;
	bool found;
};

static void find_symbol(void *user, expr e)
{
	struct named *n = user;
	n->found |= e->op == IR_SYMBOL && strcmp(e->name, n->name) == 0;
}

static bool symbol_taken(const struct ir_program *p, const char *name)
{
	struct named n = { name, ir_name_reserved(name) || ir_size_find(p, name) };
	vec_each (b, &p->buffers) {
		n.found |= strcmp((*b)->name, name) == 0;
		for (int k = 0; k < (*b)->rank && !n.found; k++)
			ir_walk((*b)->dim[k], find_symbol, &n);
	}
	return n.found;
}

expr ir_size_new(struct ir_program *p, const char *name, struct ir_buffer *count, expr limit)
{
	char *base = str_identifier(p->arena, name), *unique = base;
	ck(count->rank == 0 && count->type == TYPE_I64);
	for (int i = 2; symbol_taken(p, unique); i++)
		unique = arena_printf(p->arena, "%s_%d", base, i);
	struct ir_size s = { unique, count, limit };
	vec_push(p->arena, &p->sizes, s);
	return ir_symbol(p->pool, unique);
}

struct bound {
	const struct ir_program *p;
	bool most;
};

static expr put_bound(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct bound *b = user;
	const struct ir_size *s = e->op == IR_SYMBOL ? ir_size_find(b->p, e->name) : NULL;
	(void)arg;
	return !s ? NULL : b->most ? s->limit : ir_index(pool, 0);
}

expr ir_size_limit(struct ir_program *p, expr e)
{
	struct bound most = { p, true }, none = { p, false };
	expr high = ir_copy(p->pool, e, put_bound, &most);
	/* What falls as a size grows is largest where there is nothing. */
	return high == e ? e : ir_binary(IR_MAX, high, ir_copy(p->pool, e, put_bound, &none));
}

struct ir_stage *ir_loop_new(struct ir_program *p, expr trip)
{
	struct ir_stage *s = ir_stage_new(p, IR_LOOP, NULL);
	const char *name = p->loops ? arena_printf(p->arena, "turn_%d", p->loops + 1) : "turn";
	p->loops++;
	s->loop = NEW(p->arena, struct ir_loop);
	s->loop->trip = trip;
	s->loop->index = ir_var(p->pool, TYPE_INDEX, name, trip);
	return s;
}

void ir_loop_take(struct ir_program *p, struct ir_stage *loop, int first)
{
	for (int i = first; i < p->stages.n; i++) {
		ck(p->stages.at[i] != loop);
		vec_push(p->arena, &loop->loop->body, p->stages.at[i]);
	}
	p->stages.n = first;
}
