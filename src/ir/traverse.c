/* Walking, copying, evaluating and costing expressions. Shared nodes are visited once. */
#include "ir/pool.h"

#include <string.h>

/* A hash table from nodes to results, with open addressing. Most expressions are small and a pool is large, so a table
 * of all ids would cost more than the walk; small tables need no memory of their own. */
struct memo {
	struct memo_slot {
		expr from, to;
	} *slot;
	uint32_t slots, used;
	struct arena *scratch; /* null: none needed so far */
	struct memo_slot few[64];
};

static void memo_begin(struct memo *m)
{
	m->slot = m->few;
	m->slots = sizeof m->few / sizeof m->few[0];
	m->used = 0;
	m->scratch = NULL;
	memset(m->few, 0, sizeof m->few);
}

static void memo_end(struct memo *m)
{
	arena_free(m->scratch);
}

/* The slot of `e`, or the free one where it belongs. */
static struct memo_slot *memo_find(const struct memo *m, expr e)
{
	uint32_t i = (e->id * 2654435769u) >> 8 & (m->slots - 1);
	while (m->slot[i].from && m->slot[i].from != e)
		i = (i + 1) & (m->slots - 1);
	return &m->slot[i];
}

static void memo_put(struct memo *m, expr e, expr to)
{
	if (2 * (m->used + 1) > m->slots) {
		const struct memo_slot *old = m->slot;
		uint32_t n = m->slots;
		m->scratch = m->scratch ? m->scratch : arena_new();
		m->slots *= 4;
		m->slot = NEWN(m->scratch, struct memo_slot, m->slots);
		for (uint32_t i = 0; i < n; i++)
			if (old[i].from)
				*memo_find(m, old[i].from) = old[i];
	}
	*memo_find(m, e) = (struct memo_slot){ e, to };
	m->used++;
}

struct walk {
	void (*fn)(void *user, expr e);
	void *user;
	struct memo seen;
};

static void walk(struct walk *w, expr e)
{
	if (memo_find(&w->seen, e)->from)
		return;
	memo_put(&w->seen, e, e);
	for (int i = 0; i < e->n; i++)
		walk(w, e->arg[i]);
	w->fn(w->user, e);
}

void ir_walk(expr e, void (*fn)(void *user, expr e), void *user)
{
	struct walk w = { .fn = fn, .user = user };
	memo_begin(&w.seen);
	walk(&w, e);
	memo_end(&w.seen);
}

/* Marks nodes that are evaluated whenever an expression is. */
struct sure {
	struct arena *scratch;
	struct map both; /* by select: the nodes that both branches evaluate, as struct nodes */
};

struct nodes {
	VEC(expr);
};

static void mark_sure(struct sure *s, expr e, struct memo *sure);

struct common {
	struct arena *scratch;
	const struct memo *one, *other;
	struct nodes *out;
};

static void note_common(void *user, expr e)
{
	struct common *c = user;
	if (memo_find(c->one, e)->from && memo_find(c->other, e)->from)
		vec_push(c->scratch, c->out, e);
}

static const struct nodes *both_branches(struct sure *s, expr select)
{
	struct nodes *known = map_get_u64(&s->both, select->id);
	if (known)
		return known;
	known = NEW(s->scratch, struct nodes);
	map_put_u64(&s->both, select->id, known);
	struct memo *one = NEW(s->scratch, struct memo), *other = NEW(s->scratch, struct memo);
	memo_begin(one);
	memo_begin(other);
	mark_sure(s, select->arg[1], one);
	mark_sure(s, select->arg[2], other);
	ir_walk(select, note_common, &(struct common){ s->scratch, one, other, known });
	memo_end(one);
	memo_end(other);
	return known;
}

static void mark(struct memo *sure, expr e)
{
	if (!memo_find(sure, e)->from)
		memo_put(sure, e, e);
}

static void mark_sure(struct sure *s, expr e, struct memo *sure)
{
	if (memo_find(sure, e)->from)
		return;
	mark(sure, e);
	bool lazy = e->op == IR_SELECT || e->op == IR_AND || e->op == IR_OR;
	for (int i = 0; i < (lazy ? 1 : e->n); i++)
		mark_sure(s, e->arg[i], sure);
	if (e->op == IR_SELECT)
		vec_each (x, both_branches(s, e))
			mark(sure, *x);
}

static void find_sure(expr e, struct memo *sure)
{
	struct arena *scratch = arena_new();
	struct sure s = { scratch, map_new(scratch) };
	mark_sure(&s, e, sure);
	arena_free(scratch);
}

void ir_mark_unconditional(expr e, bool *sure)
{
	struct memo found;
	memo_begin(&found);
	find_sure(e, &found);
	for (uint32_t i = 0; i < found.slots; i++)
		if (found.slot[i].from)
			sure[found.slot[i].from->id] = true;
	memo_end(&found);
}

static void walk_users_first(struct walk *w, const struct memo *sure, expr e)
{
	if (memo_find(&w->seen, e)->from)
		return;
	memo_put(&w->seen, e, e);
	if (memo_find(sure, e)->from)
		w->fn(w->user, e);
	for (int i = 0; i < e->n; i++)
		walk_users_first(w, sure, e->arg[i]);
}

void ir_walk_unconditional(expr e, void (*fn)(void *user, expr e), void *user)
{
	struct walk w = { .fn = fn, .user = user };
	struct memo sure;
	memo_begin(&w.seen);
	memo_begin(&sure);
	find_sure(e, &sure);
	walk_users_first(&w, &sure, e);
	memo_end(&sure);
	memo_end(&w.seen);
}

struct find {
	enum ir_op op;
	bool found;
};

static void find(void *user, expr e)
{
	struct find *f = user;
	f->found |= e->op == f->op;
}

bool ir_uses(expr e, enum ir_op op)
{
	struct find f = { op, false };
	ir_walk(e, find, &f);
	return f.found;
}

struct search {
	expr part;
	bool found;
};

static void search(void *user, expr e)
{
	struct search *s = user;
	s->found |= e == s->part;
}

bool ir_contains(expr e, expr part)
{
	struct search s = { part, false };
	ir_walk(e, search, &s);
	return s.found;
}

static expr bind_axis(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	const expr *const *axis = user;
	(void)p;
	(void)arg;
	return e->op == IR_AXIS ? (*axis)[e->i] : NULL;
}

expr ir_bind_axes(struct ir_pool *p, expr e, const expr *axis)
{
	return ir_copy(p, e, bind_axis, &axis);
}

static void mark_axis(void *user, expr e)
{
	if (e->op == IR_AXIS)
		((bool *)user)[e->i] = true;
}

void ir_mark_axes(expr e, bool *used)
{
	ir_walk(e, mark_axis, used);
}

static void add_cost(void *user, expr e)
{
	int *cost = user;
	enum ir_op op = e->op;
	if (op == IR_LOAD)
		*cost += 2;
	else if (op == IR_POW || op == IR_REM || (ir_op_info[op].kind == IR_CALL && op > IR_ROUND_EVEN))
		*cost += 8;
	else if (e->n > 0 && op != IR_AXIS && op != IR_ELEMENT && e->type != TYPE_INDEX)
		*cost += 1;
}

int ir_cost(expr e)
{
	int cost = 0;
	ir_walk(e, add_cost, &cost);
	return cost;
}

struct copy {
	struct ir_pool *pool;
	ir_leaf_fn leaf;
	void *user;
	struct memo done;
};

/* Programs are copied between pools, so their variables are matched by name. */
static const struct ir_variable *same_variable(struct ir_pool *p, const struct ir_variable *v)
{
	ck(v->pool == p || v->kind == IR_CALLED);
	return v->pool == p ? v : ir_variable_called(p, v->type, v->hint);
}

static expr copy_leaf(struct copy *c, expr e, const expr *arg)
{
	expr x = c->leaf ? c->leaf(c->user, c->pool, e, arg) : NULL;
	if (x)
		return x;
	switch (e->op) {
	case IR_CONST_INT: return ir_int(c->pool, e->type, e->i);
	case IR_CONST_FLOAT: return ir_float(c->pool, e->type, e->f);
	case IR_SYMBOL: return ir_symbol(c->pool, e->name);
	case IR_ACC: return ir_acc(c->pool, e->type);
	case IR_VAR:
		return ir_var_multiple(same_variable(c->pool, e->var), e->n ? arg[0] : NULL,
		                       e->n == 2 ? e->arg[1]->i : 1);
	case IR_ELEMENT: return ir_element_of(same_variable(c->pool, e->var), e->n, arg);
	case IR_LOAD: return ir_load(c->pool, e->buf, arg);
	default: return ir_rebuild(e, arg);
	}
}

static expr copy(struct copy *c, expr e)
{
	expr arg[IR_MAX_RANK];
	const struct memo_slot *known = memo_find(&c->done, e);
	if (known->from)
		return known->to;
	for (int i = 0; i < e->n; i++)
		arg[i] = copy(c, e->arg[i]);
	bool leaf = e->n == 0 || e->op == IR_AXIS || e->op == IR_VAR || e->op == IR_ELEMENT || e->op == IR_LOAD;
	expr x = leaf ? copy_leaf(c, e, arg) : ir_rebuild(e, arg);
	memo_put(&c->done, e, x);
	return x;
}

expr ir_copy(struct ir_pool *p, expr e, ir_leaf_fn leaf, void *user)
{
	struct copy c = { .pool = p, .leaf = leaf, .user = user };
	memo_begin(&c.done);
	expr x = copy(&c, e);
	memo_end(&c.done);
	return x;
}

static expr next_on_axis(void *user, struct ir_pool *p, expr e, const expr *arg)
{
	(void)arg;
	if (e->op != IR_AXIS || e->i != *(const int *)user)
		return NULL;
	return ir_binary(IR_ADD, e, ir_index(p, 1));
}

expr ir_stride(expr e, int axis)
{
	expr next = ir_copy(e->pool, e, next_on_axis, &axis), stride = ir_binary(IR_SUB, next, e);
	return stride->varies ? NULL : stride;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

/* Counts steps, since shared nodes are evaluated repeatedly: an expression that exceeds the limit has no value. */
struct evaluation {
	ir_symbol_fn symbol;
	void *user;
	int steps;
};

/* True for u64 operations that would misread the top bit as a sign. */
static bool misread(expr e, int64_t a, int64_t b)
{
	return e->n > 0 && e->arg[0]->type == TYPE_U64 && (a < 0 || b < 0) && e->op != IR_ADD && e->op != IR_SUB &&
	       e->op != IR_MUL && e->op != IR_EQ;
}

static bool evaluate(struct evaluation *v, expr e, int64_t *out);

static bool operation(expr e, int64_t a, int64_t b, int64_t *out)
{
	bool overflows = a == INT64_MIN && (e->n == 1 || b == -1);
	if (misread(e, a, b))
		return false;
	switch (e->op) {
	case IR_ADD: return !__builtin_add_overflow(a, b, out);
	case IR_SUB: return !__builtin_sub_overflow(a, b, out);
	case IR_MUL: return !__builtin_mul_overflow(a, b, out);
	case IR_DIV: *out = b == 0 || overflows ? 0 : a / b; return !overflows;
	case IR_FLOORDIV: *out = b == 0 || overflows ? 0 : floor_div(a, b); return !overflows;
	case IR_REM: *out = b == 0 || b == -1 ? 0 : a % b; return true;
	case IR_MOD:
		*out = b == 0 ? a : b == -1 ? 0 : (int64_t)((uint64_t)a - (uint64_t)floor_div(a, b) * (uint64_t)b);
		return true;
	case IR_MIN: *out = a < b ? a : b; return true;
	case IR_MAX: *out = a > b ? a : b; return true;
	case IR_EQ: *out = a == b; return true;
	case IR_LT: *out = a < b; return true;
	case IR_LE: *out = a <= b; return true;
	case IR_NOT: *out = !a; return true;
	case IR_NEG: *out = overflows ? 0 : -a; return !overflows;
	case IR_ABS: *out = overflows ? 0 : a < 0 ? -a : a; return !overflows;
	case IR_CAST: *out = a; return true;
	default: return false;
	}
}

static bool evaluate(struct evaluation *v, expr e, int64_t *out)
{
	int64_t a = 0, b = 0;
	if (e->op == IR_SYMBOL)
		return v->symbol && v->symbol(v->user, e, out);
	if (ir_const_int(e, out))
		return true;
	bool varies = e->op == IR_AXIS || e->op == IR_VAR || e->op == IR_ELEMENT || e->op == IR_LOAD || e->op == IR_ACC;
	if (varies || type_is_float(e->type) || --v->steps < 0)
		return false;
	if (e->n > 0 && !evaluate(v, e->arg[0], &a))
		return false;
	if (e->op == IR_SELECT)
		return evaluate(v, e->arg[a ? 1 : 2], out);
	if (e->op == IR_AND || e->op == IR_OR) {
		*out = a;
		return (e->op == IR_AND) == !a || evaluate(v, e->arg[1], out);
	}
	if ((e->n > 1 && !evaluate(v, e->arg[1], &b)) || !operation(e, a, b, out))
		return false;
	*out = ir_wrap(e->type, *out);
	return true;
}

bool ir_eval_int(expr e, ir_symbol_fn symbol, void *user, int64_t *out)
{
	struct evaluation v = { symbol, user, 1 << 20 };
	return evaluate(&v, e, out);
}
