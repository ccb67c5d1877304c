/* Queries on kernels and statements. See kernel.h. */
#include "ir/kernel.h"

#include <string.h>

static bool holds(int n, const struct ir_buffer *const *list, const struct ir_buffer *b)
{
	for (int i = 0; i < n; i++)
		if (list[i] == b)
			return true;
	return false;
}

const char *ir_kernel_decision(const struct ir_kernel *k, struct arena *a)
{
	const char *between = !*k->params ? "" : strchr(k->params, '=') ? " " : ", ";
	return arena_printf(a, "%s%s%s", k->rule, between, k->params);
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

const struct ir_buffer *ir_kernel_own(const struct ir_kernel *k, const struct ir_buffer *b)
{
	vec_each (r, &k->results)
		if (r->buf == b)
			return r->own;
	return NULL;
}

int64_t ir_shared_bytes(const struct ir_buffer *b)
{
	int64_t n = 0;
	ck(b->rank == 1 && ir_const_int(b->dim[0], &n));
	return (type_bytes(b->type, n) + 15) / 16 * 16;
}

const struct ir_variable *ir_stmt_declares(const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_DECLARE: return s->declare.var;
	case IR_FOR: return s->loop.var;
	case IR_ARRAY: return s->array.var;
	case IR_TILE_NEXT: return s->tile.var;
	case IR_TILES_BEFORE: return s->before.var;
	case IR_SHARED: return s->shared.var;
	case IR_LOCAL: return s->local.var;
	case IR_PLACE: return s->place.var;
	case IR_LAMBDA: return s->lambda.var;
	case IR_SORT_SERIAL: return s->sort.rank;
	case IR_LOAD_VECTOR: return s->vector.stands ? NULL : s->vector.array;
	case IR_INVOKE: return s->call->result;
	default: return NULL;
	}
}

struct ir_block *ir_stmt_body(const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_FOR: return s->loop.body;
	case IR_IF: return s->branch.body;
	case IR_LAMBDA: return s->lambda.body;
	case IR_SORT_SERIAL: return s->sort.body;
	default: return NULL;
	}
}

const struct ir_buffer *ir_stmt_buffer(const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_STORE: return s->store.buf;
	case IR_UPDATE: return s->update.buf;
	case IR_LOAD_VECTOR:
	case IR_STORE_VECTOR: return s->vector.buf;
	case IR_TILE_NEXT: return s->tile.state;
	case IR_TILES_BEFORE: return s->before.state;
	default: return NULL;
	}
}

int ir_kernel_args(const struct ir_kernel *k)
{
	return k->buffers.n + k->symbols.n + k->parameters.n;
}

bool ir_parameter_is_wide(const struct ir_parameter *p)
{
	return p->var->type == TYPE_U64;
}

int32_t ir_parameter_bits(const struct ir_parameter *p)
{
	float number = (float)p->value->f;
	int32_t bits;
	if (p->value->op == IR_CONST_INT)
		return (int32_t)p->value->i;
	memcpy(&bits, &number, sizeof bits);
	return bits;
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

static void walk_expr(const struct walk *w, expr e)
{
	if (e)
		ir_walk(e, w->fn, w->user);
}

static void walk_arg(void *user, const struct ir_arg *a)
{
	const struct walk *w = user;
	walk_expr(w, a->value);
	walk_expr(w, a->at);
	for (int i = 0; i < a->indices; i++)
		walk_expr(w, a->index[i]);
}

int ir_stmt_exprs(struct ir_stmt *s, expr *own[IR_STMT_EXPRS])
{
	int n = 0;
	switch (s->kind) {
	case IR_DECLARE: own[n++] = &s->declare.value; break;
	case IR_ASSIGN: own[n++] = &s->assign.value; break;
	case IR_SET:
		own[n++] = &s->set.value;
		own[n++] = &s->set.row;
		own[n++] = &s->set.at;
		break;
	case IR_FOR:
		own[n++] = &s->loop.from;
		own[n++] = &s->loop.to;
		own[n++] = &s->loop.step;
		break;
	case IR_IF: own[n++] = &s->branch.condition; break;
	case IR_RETURN_IF:
	case IR_BREAK_IF: own[n++] = &s->leave; break;
	case IR_STORE:
		own[n++] = &s->store.value;
		own[n++] = &s->store.at;
		break;
	case IR_UPDATE:
		own[n++] = &s->update.value;
		own[n++] = &s->update.at;
		break;
	case IR_LOAD_VECTOR:
	case IR_STORE_VECTOR:
		own[n++] = &s->vector.where;
		own[n++] = &s->vector.row;
		own[n++] = &s->vector.at;
		break;
	case IR_ITEMS_SCAN: own[n++] = &s->items.none; break;
	case IR_TILES_BEFORE:
		own[n++] = &s->before.none;
		own[n++] = &s->before.tile;
		own[n++] = &s->before.tiles;
		break;
	case IR_LAMBDA: own[n++] = &s->lambda.value; break;
	case IR_SORT_SERIAL:
		own[n++] = &s->sort.value;
		own[n++] = &s->sort.count;
		own[n++] = &s->sort.of;
		break;
	case IR_INVOKE:
	case IR_COMMENT:
	case IR_ARRAY:
	case IR_SYNC:
	case IR_LANES_COMBINE:
	case IR_LANES_SCAN:
	case IR_TILE_NEXT:
	case IR_SHARED:
	case IR_LOCAL:
	case IR_PLACE: break;
	}
	return n;
}

const struct ir_call *ir_stmt_call(const struct ir_stmt *s)
{
	return s->kind == IR_INVOKE ? s->call : s->kind == IR_LAMBDA ? s->lambda.through : NULL;
}

void ir_stmt_walk(const struct ir_stmt *s, void (*fn)(void *user, expr e), void *user)
{
	struct walk w = { fn, user };
	struct ir_stmt copy = *s;
	expr *own[IR_STMT_EXPRS];
	int n = ir_stmt_exprs(&copy, own);
	for (int i = 0; i < n; i++)
		walk_expr(&w, *own[i]);
	if (ir_stmt_call(s))
		ir_call_each(ir_stmt_call(s), walk_arg, &w);
}
