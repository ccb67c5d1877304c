/* Decides whether a kernel's f32 arithmetic needs only slightly more accuracy than its results: see gen_coarse in
 * text.h. */
#include "gen/text.h"

struct look {
	const struct ir_kernel *kernel;
	bool fine, more; /* more: found another loose variable */
	int stores;
	struct map loose; /* variables and arrays affected by coarse arithmetic */
	struct map known; /* by node: true if affected */
};

static bool is_16_bits(enum type t)
{
	return t == TYPE_F16 || t == TYPE_BF16;
}

/* ---- Values that coarse arithmetic changes slightly. A value rounded to 16 bits counts as stored. */

static bool is_marked(const struct look *l, const struct ir_variable *v)
{
	return map_get_u64(&l->loose, (uintptr_t)v) != NULL;
}

static bool is_loose(struct look *l, expr e);

/* True for values that a block's threads exchange unrounded: no results, but possibly affected by coarse arithmetic. */
static bool is_exchanged(const struct look *l, const struct ir_buffer *b)
{
	return type_is_float(b->type) && !is_16_bits(b->type) && ir_kernel_shares(l->kernel, b);
}

static bool any_loose(struct look *l, expr e)
{
	for (int i = 0; i < e->n; i++)
		if (is_loose(l, e->arg[i]))
			return true;
	return false;
}

static bool find_loose(struct look *l, expr e)
{
	if (e->op == IR_CAST && is_16_bits(e->type))
		return false;
	if (e->op == IR_LOAD && is_exchanged(l, e->buf))
		return true;
	if (e->op == IR_VAR || e->op == IR_ELEMENT)
		return is_marked(l, e->var);
	bool sum = e->op == IR_ADD && (e->arg[0]->op == IR_MUL || e->arg[1]->op == IR_MUL);
	bool function = e->op == IR_EXP || e->op == IR_TANH || e->op == IR_LOG1P;
	return (e->type == TYPE_F32 && (sum || e->op == IR_DIV || function)) || any_loose(l, e);
}

static bool is_loose(struct look *l, expr e)
{
	static const char no, yes;
	const char *have = map_get_u64(&l->known, e->id);
	if (!have) {
		have = find_loose(l, e) ? &yes : &no;
		map_put_u64(&l->known, e->id, have);
	}
	return have == &yes;
}

/* A product added to a total is never rounded separately. */
static bool sets_loose(struct look *l, const struct ir_stmt *s)
{
	expr e = s->kind == IR_DECLARE ? s->declare.value : s->kind == IR_SET ? s->set.value : s->assign.value;
	if (!gen_adds_to_itself(s))
		return is_loose(l, e);
	for (int i = 0; i < 2; i++)
		if (e->arg[i]->op == IR_MUL ? any_loose(l, e->arg[i]) : is_loose(l, e->arg[i]))
			return true;
	return false;
}

static void mark(struct look *l, const struct ir_variable *v)
{
	if (is_marked(l, v))
		return;
	map_put_u64(&l->loose, (uintptr_t)v, l);
	l->more = true;
}

/* Marks a result combined from several lanes like the lanes' values. */
static void mark_with(struct look *l, const struct ir_variable *of, const struct ir_variable *made)
{
	if (made && is_marked(l, of))
		mark(l, made);
}

static void mark_stmt(struct look *l, const struct ir_stmt *s)
{
	switch (s->kind) {
	case IR_DECLARE:
		if (sets_loose(l, s))
			mark(l, s->declare.var);
		break;
	case IR_ASSIGN:
		if (sets_loose(l, s))
			mark(l, s->assign.var);
		break;
	case IR_SET:
		if (sets_loose(l, s))
			mark(l, s->set.array);
		break;
	case IR_LOAD_VECTOR:
		if (is_exchanged(l, s->vector.buf))
			mark(l, s->vector.array);
		break;
	case IR_LANES_COMBINE: mark_with(l, s->lanes.var, s->lanes.index); break;
	case IR_LANES_SCAN: mark_with(l, s->scan.part, s->scan.sum); break;
	case IR_ITEMS_SCAN: mark_with(l, s->items.parts, s->items.sum); break;
	default: break;
	}
}

static void mark_loose(struct look *l, const struct ir_block *b)
{
	for (int i = 0; i < b->n; i++) {
		const struct ir_stmt *s = &b->at[i];
		mark_stmt(l, s);
		if (ir_stmt_body(s))
			mark_loose(l, ir_stmt_body(s));
	}
}

/* ---- Discontinuities. */

static bool constant_power(expr e)
{
	enum { HIGHEST = 4 };
	return e->arg[1]->op == IR_CONST_FLOAT && e->arg[1]->f >= -HIGHEST && e->arg[1]->f <= HIGHEST;
}

/* Finds operations that are discontinuous or amplify errors: after them the last bit may decide. */
static void find_jump(void *user, expr e)
{
	struct look *l = user;
	bool loose = e->n && type_is_float(e->arg[e->n - 1]->type) && any_loose(l, e);
	switch (e->op) {
	case IR_EQ:
	case IR_LT:
	case IR_LE:
	case IR_FLOOR:
	case IR_CEIL:
	case IR_TRUNC:
	case IR_ROUND_EVEN:
	case IR_REM:
	case IR_MOD:
	case IR_FLOORDIV:
	case IR_TAN:
	case IR_BITCAST: l->fine &= !loose; break;
	case IR_CAST:
	case IR_CAST_SAT: l->fine &= !loose || e->type == TYPE_F32 || is_16_bits(e->type); break;
	case IR_POW: l->fine &= !type_is_float(e->type) || constant_power(e) || !loose; break;
	default: break;
	}
}

/* True if a function is given values that coarse arithmetic changes: it may be discontinuous. */
static bool sees_loose(struct look *l, const struct ir_call *call)
{
	vec_each (a, &call->args)
		if ((a->value && is_loose(l, a->value)) || (a->var && is_marked(l, a->var)) ||
		    (a->kind == IR_ARG_CALL && sees_loose(l, a->call)))
			return true;
	return false;
}

/* The same of a function that a kernel defines, for others to call. */
static bool gives_loose(struct look *l, const struct ir_lambda *f)
{
	return (f->value && is_loose(l, f->value)) || (f->through && sees_loose(l, f->through));
}

static void look_at(struct look *l, const struct ir_block *b)
{
	for (int i = 0; i < b->n && l->fine; i++) {
		const struct ir_stmt *s = &b->at[i];
		switch (s->kind) {
		case IR_STORE:
		case IR_STORE_VECTOR:
			if (is_exchanged(l, ir_stmt_buffer(s)))
				break;
			l->fine &= is_16_bits(ir_stmt_buffer(s)->type) || !type_is_float(ir_stmt_buffer(s)->type);
			l->stores++;
			break;
		case IR_LAMBDA: l->fine &= !gives_loose(l, &s->lambda); break;
		case IR_INVOKE: l->fine &= !sees_loose(l, s->call); break;
		case IR_UPDATE:
		case IR_SORT_SERIAL:
		case IR_TILES_BEFORE: l->fine = false; break;
		default: break;
		}
		ir_stmt_walk(s, find_jump, l);
		if (ir_stmt_body(s))
			look_at(l, ir_stmt_body(s));
	}
}

bool gen_coarse(const struct ir_kernel *k)
{
	struct arena *scratch = arena_new();
	struct look l = { .kernel = k, .fine = true, .more = true, .loose = map_new(scratch) };
	while (l.more) { /* loops use variables that are set later */
		l.more = false;
		l.known = map_new(scratch);
		mark_loose(&l, &k->body);
	}
	look_at(&l, &k->body);
	arena_free(scratch);
	return l.fine && l.stores;
}
