/* Makes run-time sizes, values that determine extents, and loops. See ir.h. */
#include "ir/pool.h"

#include <string.h>

const struct ir_size *ir_size_find(const struct ir_program *p, expr e)
{
	vec_each (s, &p->sizes)
		if (s->symbol == e)
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
	struct named n = { name, ir_name_reserved(name) || ir_number_named(p, name) };
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
	struct ir_size s = { ir_symbol(p->pool, unique), count, limit };
	vec_push(p->arena, &p->sizes, s);
	return s.symbol;
}

struct place {
	expr symbol;
	int passed; /* symbol uses before it */
	bool found;
};

static void pass_symbol(void *user, expr e)
{
	struct place *x = user;
	x->found |= e == x->symbol;
	x->passed += !x->found && e->op == IR_SYMBOL;
}

int ir_symbol_place(const struct ir_program *p, expr symbol)
{
	struct place x = { symbol, 0, false };
	vec_each (b, &p->inputs)
		for (int k = 0; k < (*b)->rank; k++)
			ir_walk((*b)->dim[k], pass_symbol, &x);
	vec_each (b, &p->buffers)
		for (int k = 0; k < (*b)->rank; k++)
			ir_walk((*b)->dim[k], pass_symbol, &x);
	return x.passed;
}

/* ---- Values: see struct ir_value. */

const struct ir_value *ir_value_find(const struct ir_program *p, expr e)
{
	vec_each (v, &p->values)
		if (v->symbol == e)
			return v;
	return NULL;
}

bool ir_size_is(const struct ir_program *p, const struct ir_buffer *b)
{
	vec_each (size, &p->sizes)
		if (size->count == b)
			return true;
	return false;
}

bool ir_value_is(const struct ir_program *p, const struct ir_buffer *b)
{
	vec_each (v, &p->values)
		if (v->buf == b)
			return true;
	return false;
}

/* Returns the symbol of a new value; `name` as above. */
static expr value_new(struct ir_program *p, const char *name, struct ir_buffer *buf, int64_t element, expr known)
{
	char *base = str_identifier(p->arena, name), *unique = base;
	for (int i = 2; symbol_taken(p, unique); i++)
		unique = arena_printf(p->arena, "%s_%d", base, i);
	struct ir_value v = { ir_symbol(p->pool, unique), buf, element, known };
	vec_push(p->arena, &p->values, v);
	return v.symbol;
}

struct uses {
	const struct ir_program *p;
	bool value, size;
};

static void find_value(void *user, expr e)
{
	struct uses *u = user;
	u->value |= ir_value_find(u->p, e) != NULL;
	u->size |= ir_size_find(u->p, e) != NULL;
}

/* Returns the extent itself, or the value that stands for it. With a size found at run time it is no value: that is
 * known before anything runs. */
static expr extent_of(struct ir_program *p, expr extent)
{
	struct uses u = { p, false, false };
	if (extent->op == IR_SYMBOL || extent->op == IR_CONST_INT)
		return extent;
	vec_each (v, &p->values)
		if (v->known == extent)
			return v->symbol;
	ir_walk(extent, find_value, &u);
	return u.value && !u.size ? value_new(p, "extent", NULL, 0, extent) : extent;
}

static expr rename_extent(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	(void)arg;
	return e->op == IR_AXIS ? ir_axis(pool, (int)e->i, extent_of(user, e->arg[0])) : NULL;
}

static void rename_slot(void *user, expr *slot, const char *role)
{
	struct ir_program *p = user;
	(void)role;
	*slot = ir_copy(p->pool, *slot, rename_extent, p);
}

void ir_value_extents(struct ir_program *p)
{
	if (!p->values.n)
		return;
	vec_each (b, &p->buffers)
		for (int k = 0; k < (*b)->rank; k++)
			(*b)->dim[k] = extent_of(p, (*b)->dim[k]);
	vec_each (s, &p->stages) {
		for (int k = 0; k < (*s)->space_rank; k++)
			(*s)->space[k] = extent_of(p, (*s)->space[k]);
		ir_stage_slots(*s, rename_slot, p);
	}
	vec_each (d, &p->demands)
		for (int k = 0; k < 2; k++)
			vec_each (v, &p->values) /* an output's extent gives it; only the interpreter knows others */
				if (v->known == d->extent[k])
					d->extent[k] = v->symbol;
}

static bool is_launched(const struct ir_program *p, expr e)
{
	const struct ir_size *s = ir_size_find(p, e);
	vec_each (b, &p->outputs)
		for (int k = 0; k < (*b)->rank; k++)
			if ((*b)->dim[k] == e)
				return true;
	if (s || ir_value_find(p, e))
		return s && is_launched(p, s->limit);
	for (int k = 0; k < e->n; k++)
		if (!is_launched(p, e->arg[k]))
			return false;
	return true;
}

expr ir_value_unlaunched(const struct ir_program *p)
{
	if (!p->values.n)
		return NULL;
	vec_each (b, &p->buffers)
		for (int k = 0; k < (*b)->rank; k++)
			if ((*b)->role == IR_TEMP && !is_launched(p, (*b)->dim[k]))
				return (*b)->dim[k];
	vec_each (s, &p->stages)
		for (int k = 0; k < (*s)->space_rank; k++)
			if (!is_launched(p, (*s)->space[k]))
				return (*s)->space[k];
	return NULL;
}

/* ---- Limits. */

struct bound {
	const struct ir_program *p;
	bool most;
};

static expr put_bound(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	const struct bound *b = user;
	const struct ir_size *s = ir_size_find(b->p, e);
	(void)arg;
	return !s ? NULL : b->most ? s->limit : ir_index(pool, 0);
}

enum { RISES = 1, FALLS = 2, OTHER = 4 };

static bool mentions_size(const struct ir_program *p, expr e)
{
	struct uses u = { p, false, false };
	ir_walk(e, find_value, &u);
	return u.size;
}

static bool is_negative(expr e)
{
	return e->op == IR_CONST_INT && e->i < 0;
}

/* True if a product does not fall where one of its factors rises. */
static bool is_rising(expr product)
{
	expr a = product->arg[0], b = product->arg[1];
	bool scaled = (a->op == IR_CONST_INT && a->i >= 0) || (b->op == IR_CONST_INT && b->i >= 0);
	return scaled || (ir_nonnegative(a) && ir_nonnegative(b));
}

/* How e follows sizes that grow: any of the above. */
static int ways_of(const struct ir_program *p, expr e)
{
	if (!mentions_size(p, e))
		return 0;
	if (e->op == IR_SYMBOL)
		return RISES;
	int a = e->n > 0 ? ways_of(p, e->arg[0]) : 0, b = e->n > 1 ? ways_of(p, e->arg[1]) : 0;
	int fallen = (b & OTHER) | (b & RISES ? FALLS : 0) | (b & FALLS ? RISES : 0);
	switch (e->op) {
	case IR_ADD:
	case IR_MIN:
	case IR_MAX: return a | b;
	case IR_SUB: return a | fallen;
	case IR_CAST: return a;
	case IR_MUL:
		if (is_negative(e->arg[0]))
			return fallen;
		if (is_negative(e->arg[1]))
			return (a & OTHER) | (a & RISES ? FALLS : 0) | (a & FALLS ? RISES : 0);
		return is_rising(e) ? a | b : OTHER;
	case IR_FLOORDIV: return !b && ir_nonnegative(e->arg[1]) ? a : OTHER;
	default: return OTHER;
	}
}

/* Not less than e (or not greater), whatever the sizes turn out to be; null if that is not known. */
static expr bound_of(const struct ir_program *p, expr e, bool most)
{
	const struct ir_size *s = ir_size_find(p, e);
	expr a = NULL, b = NULL, zero = ir_index(p->pool, 0);
	if (s)
		return most ? s->limit : zero;
	if (!mentions_size(p, e))
		return e;
	bool turns = e->op == IR_MUL && (is_negative(e->arg[0]) || is_negative(e->arg[1]));
	if (e->n > 0)
		a = bound_of(p, e->arg[0], turns ? !most : most);
	if (e->n > 1)
		b = bound_of(p, e->arg[1], e->op == IR_SUB || turns ? !most : most);
	switch (e->op) {
	case IR_ADD:
	case IR_MIN:
	case IR_MAX:
	case IR_SUB: return a && b ? ir_binary(e->op, a, b) : NULL;
	case IR_MUL:
		if (!turns && !is_rising(e))
			return NULL;
		return a && b ? ir_binary(IR_MUL, a, b) : NULL;
	case IR_FLOORDIV: return a && b == e->arg[1] && ir_nonnegative(b) ? ir_binary(IR_FLOORDIV, a, b) : NULL;
	case IR_MOD:
		if (e->arg[1]->op != IR_CONST_INT || e->arg[1]->i < 1)
			return NULL;
		return most ? ir_binary(IR_SUB, b, ir_index(p->pool, 1)) : zero;
	case IR_SELECT: {
		expr c = bound_of(p, e->arg[2], most);
		return b && c ? ir_binary(most ? IR_MAX : IR_MIN, b, c) : NULL;
	}
	case IR_CAST: return a ? ir_cast(a, e->type) : NULL;
	default: return NULL;
	}
}

expr ir_size_limit(const struct ir_program *p, expr e)
{
	enum { LARGE = 400 };
	int ways = p->sizes.n && ir_cost(e) < LARGE ? ways_of(p, e) : 0;
	expr bound = ways > RISES && ways != FALLS ? bound_of(p, e, true) : NULL;
	if (bound)
		return bound;
	struct bound most = { p, true }, none = { p, false };
	expr high = ir_copy(p->pool, e, put_bound, &most);
	/* A decreasing function of a size is largest at zero. */
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
