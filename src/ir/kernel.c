/* Kernels: what is asked of them. See kernel.h. */
#include "ir/kernel.h"

static bool holds(int n, const struct ir_buffer *const *list, const struct ir_buffer *b)
{
	for (int i = 0; i < n; i++)
		if (list[i] == b)
			return true;
	return false;
}

bool ir_kernel_writes(const struct ir_kernel *k, const struct ir_buffer *b)
{
	return holds(k->written.n, k->written.at, b);
}

bool ir_kernel_exchanges(const struct ir_kernel *k, const struct ir_buffer *b)
{
	return holds(k->exchanged.n, k->exchanged.at, b);
}

bool ir_kernel_shares(const struct ir_kernel *k, const struct ir_buffer *b)
{
	return holds(k->shared.n, k->shared.at, b);
}

const struct ir_variable *ir_stmt_declares(const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_DECLARE:
	case IR_FOR:
	case IR_ARRAY:
	case IR_TILE_NEXT:
	case IR_TILES_BEFORE:
	case IR_SHARED:
	case IR_LOCAL:
	case IR_PLACE:
	case IR_LAMBDA:
	case IR_SORT_SERIAL: return s->var;
	case IR_LOAD_VECTOR: return s->mutable ? NULL : s->var;
	case IR_INVOKE: return s->call->result;
	default: return NULL;
	}
}

void ir_call_each(const struct ir_call *c, void (*fn)(void *user, const struct ir_arg *a), void *user)
{
	vec_each (a, &c->args) {
		fn(user, a);
		if (a->call)
			ir_call_each(a->call, fn, user);
	}
}

struct walk {
	void (*fn)(void *user, expr e);
	void *user;
};

static void walk_arg(void *user, const struct ir_arg *a)
{
	const struct walk *w = user;
	if (a->value)
		ir_walk(a->value, w->fn, w->user);
	if (a->at)
		ir_walk(a->at, w->fn, w->user);
	for (int i = 0; i < a->indices; i++)
		ir_walk(a->index[i], w->fn, w->user);
}

void ir_stmt_walk(const struct ir_stmt *s, void (*fn)(void *user, expr e), void *user)
{
	const expr own[] = { s->value, s->row, s->at, s->from, s->to, s->step };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (own[i])
			ir_walk(own[i], fn, user);
	struct walk w = { fn, user };
	if (s->kind == IR_INVOKE)
		ir_call_each(s->call, walk_arg, &w);
}
