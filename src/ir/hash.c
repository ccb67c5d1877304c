/* The canonical hash: two programs that differ only in the names of buffers, symbols and themselves, or in their
 * weights' values, are equal. */
#include "ir/pool.h"

#include <stdio.h>
#include <string.h>

struct hasher {
	uint64_t seed;
	struct map symbols; /* and loops' indices -> number + 1, in the order of the inputs' extents */
	struct arena *scratch;
	uint64_t *memo;
	bool *done;
	int *number; /* of buffers, by id, in the order of the text form */
	struct {
		VEC(const struct ir_buffer *);
	} order;
};

static uint64_t symbol_number(struct hasher *h, const void *symbol)
{
	uintptr_t n = (uintptr_t)map_get_u64(&h->symbols, (uintptr_t)symbol);
	if (!n) {
		n = (uintptr_t)h->symbols.n + 1;
		map_put_u64(&h->symbols, (uintptr_t)symbol, (void *)n);
	}
	return n;
}

static uint64_t hash_expr(struct hasher *h, expr e);

/* The order of terms, factors and symmetric operands depends on names (ir_order): this sum does not. */
struct sum_hash {
	struct hasher *h;
	expr whole;
	uint64_t x;
	bool failed; /* not a polynomial */
};

static void add_term(void *user, int64_t c, int factors, const expr *factor)
{
	struct sum_hash *s = user;
	uint64_t product = 0;
	if (factors == 1 && factor[0] == s->whole) {
		s->failed = true;
		return;
	}
	for (int i = 0; i < factors; i++)
		product += hash_u64(s->h->seed, hash_expr(s->h, factor[i]));
	s->x += hash_u64((uint64_t)c, product);
}

static uint64_t hash_unordered(struct hasher *h, expr e)
{
	struct sum_hash s = { h, e, 0, true };
	if (e->op == IR_ADD || e->op == IR_SUB || e->op == IR_MUL) {
		s.failed = false;
		ir_poly_terms(e, add_term, &s);
	}
	if (!s.failed)
		return s.x;
	for (int i = 0; i < e->n; i++)
		s.x += hash_u64(h->seed + (e->op == IR_SUB ? (uint64_t)i : 0), hash_expr(h, e->arg[i]));
	return s.x;
}

static bool unordered(expr e)
{
	return e->n == 2 && e->arg[0]->type == TYPE_INDEX &&
	       (e->op == IR_ADD || e->op == IR_SUB || e->op == IR_MUL || e->op == IR_MIN || e->op == IR_MAX ||
	        e->op == IR_EQ);
}

static uint64_t hash_expr(struct hasher *h, expr e)
{
	if (h->done[e->id])
		return h->memo[e->id];
	bool sum = e->type == TYPE_INDEX && (e->op == IR_ADD || e->op == IR_SUB || e->op == IR_MUL);
	uint64_t x = hash_u64(h->seed + (uint64_t)(sum ? IR_ADD : e->op) * 64, (uint64_t)e->type);
	if (unordered(e)) {
		x = hash_u64(x, hash_unordered(h, e));
		h->done[e->id] = true;
		return h->memo[e->id] = x;
	}
	switch (e->op) {
	case IR_CONST_INT:
	case IR_AXIS: x = hash_u64(x, (uint64_t)e->i); break;
	case IR_CONST_FLOAT: x = hash_bytes(x, &e->f, sizeof e->f); break;
	case IR_SYMBOL: x = hash_u64(x, symbol_number(h, e)); break;
	case IR_VAR: x = hash_u64(x, symbol_number(h, e->var)); break; /* a loop's index */
	case IR_LOAD: x = hash_u64(x, (uint64_t)h->number[e->buf->id]); break;
	default: break;
	}
	for (int i = 0; i < e->n; i++)
		x = hash_u64(x, hash_expr(h, e->arg[i]));
	h->done[e->id] = true;
	return h->memo[e->id] = x;
}

struct stage_hash {
	struct hasher *h;
	uint64_t x;
};

static void hash_role(void *user, expr e, const char *role)
{
	struct stage_hash *s = user;
	s->x = hash_u64(hash_str(s->x, role), hash_expr(s->h, e));
}

static void number_buffer(struct hasher *h, const struct ir_buffer *b)
{
	if (h->number[b->id])
		return;
	vec_push(h->scratch, &h->order, b);
	h->number[b->id] = h->order.n;
}

static void number_stage(struct hasher *h, const struct ir_stage *s)
{
	struct ir_buffer *made;
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		number_buffer(h, made);
	if (s->loop)
		vec_each (b, &s->loop->body)
			number_stage(h, *b);
}

/* Numbers inputs, outputs, constants, then stages' results, in order. */
static void number_buffers(struct hasher *h, const struct ir_program *p)
{
	h->number = NEWN(h->scratch, int, p->buffers.n + 1);
	vec_each (b, &p->inputs)
		number_buffer(h, *b);
	vec_each (b, &p->outputs)
		number_buffer(h, *b);
	vec_each (b, &p->buffers)
		if ((*b)->role == IR_CONSTANT)
			number_buffer(h, *b);
	vec_each (s, &p->stages)
		number_stage(h, *s);
}

static uint64_t hash_stage(struct hasher *h, const struct ir_stage *s, uint64_t x);

/* Hashes the links between a loop's buffers; its expressions are hashed like every stage's. */
static uint64_t hash_loop(struct hasher *h, const struct ir_loop *l, uint64_t x)
{
	x = hash_u64(hash_u64(x, hash_expr(h, l->trip)), hash_expr(h, l->index));
	x = hash_u64(x, (uint64_t)l->carries.n * 65536 + (uint64_t)l->collects.n);
	vec_each (s, &l->body)
		x = hash_stage(h, *s, x);
	vec_each (c, &l->carries)
		x = hash_u64(hash_u64(x, (uint64_t)h->number[c->state->id]), (uint64_t)h->number[c->next->id]);
	vec_each (c, &l->collects)
		x = hash_u64(hash_u64(x, (uint64_t)h->number[c->out->id]), (uint64_t)h->number[c->from->id]);
	return x;
}

static uint64_t hash_stage(struct hasher *h, const struct ir_stage *s, uint64_t x)
{
	struct stage_hash sh = { h, hash_u64(x, (uint64_t)s->kind * 64 + (uint64_t)s->combine) };
	struct ir_buffer *made;
	for (int i = 0; (made = ir_stage_made(s, i)); i++)
		sh.x = hash_u64(sh.x, (uint64_t)h->number[made->id]);
	for (int k = 0; k < s->space_rank; k++)
		sh.x = hash_u64(sh.x, hash_expr(h, s->space[k]));
	if (s->kind == IR_SCAN || s->kind == IR_SORT || s->kind == IR_PICK)
		sh.x = hash_u64(sh.x, (uint64_t)s->axis * 4 + (uint64_t)s->exclusive * 2 + (uint64_t)s->reverse);
	if (s->loop)
		sh.x = hash_loop(h, s->loop, sh.x);
	ir_stage_exprs(s, hash_role, &sh);
	return sh.x;
}

static uint64_t hash_all(const struct ir_program *p, uint64_t seed)
{
	struct arena *scratch = arena_new();
	uint32_t n = ir_pool_size(p->pool);
	struct hasher h = { .seed = seed,
		            .symbols = map_new(scratch),
		            .scratch = scratch,
		            .memo = NEWN(scratch, uint64_t, n),
		            .done = NEWN(scratch, bool, n) };
	number_buffers(&h, p);
	uint64_t x = hash_u64(seed, (uint64_t)p->inputs.n * 65536 + (uint64_t)p->outputs.n);
	vec_each (in, &p->inputs) /* every symbol is an input's extent, or a size */
		for (int k = 0; k < (*in)->rank; k++)
			if ((*in)->dim[k]->op == IR_SYMBOL)
				symbol_number(&h, (*in)->dim[k]);
	vec_each (pb, &h.order) {
		const struct ir_buffer *b = *pb;
		x = hash_u64(x, (uint64_t)b->role * 4096 + (uint64_t)b->type * 64 + (uint64_t)b->rank);
		for (int k = 0; k < b->rank; k++)
			x = hash_u64(x, hash_expr(&h, b->dim[k]));
		if (b->role == IR_CONSTANT && b->data->data && !b->weight)
			x = hash_bytes(x, b->data->data, (size_t)tensor_bytes(b->data));
	}
	vec_each (b, &p->outputs)
		if ((*b)->replaces)
			x = hash_u64(x, (uint64_t)h.number[(*b)->replaces->id] * 65536 + (uint64_t)h.number[(*b)->id]);
	vec_each (z, &p->sizes)
		x = hash_u64(hash_u64(x, symbol_number(&h, z->symbol) * 65536 + (uint64_t)h.number[z->count->id]),
		             hash_expr(&h, z->limit));
	vec_each (v, &p->values) {
		x = hash_u64(x, symbol_number(&h, v->symbol) * 65536 + (uint64_t)v->element);
		x = v->buf ? hash_u64(x, (uint64_t)h.number[v->buf->id]) : hash_u64(x, hash_expr(&h, v->known));
	}
	vec_each (d, &p->demands)
		x = hash_u64(hash_u64(hash_u64(x, (uint64_t)d->relation + 77), hash_expr(&h, d->extent[0])),
		             hash_expr(&h, d->extent[1]));
	vec_each (s, &p->stages)
		x = hash_stage(&h, *s, x);
	arena_free(scratch);
	return x;
}

void ir_hash(const struct ir_program *p, char out[33])
{
	snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash_all(p, 1), (unsigned long long)hash_all(p, 2));
}
