/* Recipes of expressions: random trees of operations, their values at a point, and the same through the constructors of
 * src/ir. Shares nothing with the simplifier. For simplify_test.c. */
#ifndef TPAT_TESTS_UNIT_RECIPE_H
#define TPAT_TESTS_UNIT_RECIPE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static uint64_t state;

static uint64_t next_random(void)
{
	state = hash_u64(state, 0x9e3779b97f4a7c15u);
	return state;
}

static int pick(int n)
{
	return (int)(next_random() % (uint64_t)n);
}

/* ---- Points: values of symbols and axes. */

enum { SYMBOLS = 3, AXES = 4, POINTS = 24 };
static const char *const symbol_name[SYMBOLS] = { "A", "B", "M" };

struct point {
	int64_t symbol[SYMBOLS], axis[AXES], extent[AXES];
};

/* ---- Recipes: evaluated without simplification. */

struct recipe {
	enum ir_op op; /* CONST_INT, CONST_FLOAT, SYMBOL, AXIS, LOAD, or an operation */
	enum type type;
	int64_t i;
	double f;
	const struct recipe *arg[3];
};

union value {
	int64_t i;
	double f;
};

struct world {
	struct arena *arena;
	struct ir_program *program;
	const struct ir_buffer *buffer[TYPE_COUNT]; /* rank 1, extent 7, one per type */
	const struct recipe *extent[AXES];
	bool undefined; /* an index was divided by zero: ignore this point */
};

static int64_t wrap(enum type t, int64_t x)
{
	int bits = t == TYPE_INDEX ? 64 : type_info(t)->bits;
	if (t == TYPE_BOOL)
		return x != 0;
	if (bits >= 64)
		return x;
	uint64_t low = (uint64_t)x & ((UINT64_C(1) << bits) - 1);
	if (type_info(t)->class == CLASS_INT && low >> (bits - 1))
		low |= ~((UINT64_C(1) << bits) - 1);
	return (int64_t)low;
}

/* The element of a buffer at an index: any fixed numbers. */
static union value element(enum type t, int64_t index)
{
	uint64_t x = hash_u64((uint64_t)t, (uint64_t)index);
	union value v;
	if (type_is_float(t)) {
		static const double special[] = { 0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 1e30, 2, -3.25, 300 };
		v.f = x % 3 ? special[x / 3 % 12] : (double)(int64_t)(x >> 40) / 1024 - 4000;
		v.f = type_round(t, v.f, false);
	} else {
		v.i = wrap(t, x % 3 ? (int64_t)(x >> 8 & 7) - 3 : (int64_t)x);
	}
	return v;
}

static int64_t floored(int64_t a, int64_t b)
{
	int64_t q = a / b;
	return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static int64_t integer_operation(struct world *w, const struct recipe *r, int64_t a, int64_t b)
{
	uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
	enum type t = r->arg[0]->type;
	bool big = t == TYPE_U64, least = a == INT64_MIN && b == -1 && !big;
	bool divides = r->op == IR_DIV || r->op == IR_REM || r->op == IR_FLOORDIV || r->op == IR_MOD;
	int width = t == TYPE_INDEX ? 64 : type_info(t)->bits;
	if (divides && b == 0) {
		w->undefined |= t == TYPE_INDEX;
		return r->op == IR_MOD ? a : 0;
	}
	if (divides && big)
		return (int64_t)(r->op == IR_DIV || r->op == IR_FLOORDIV ? ua / ub : ua % ub);
	switch (r->op) {
	case IR_ADD: return (int64_t)(ua + ub);
	case IR_SUB: return (int64_t)(ua - ub);
	case IR_MUL: return (int64_t)(ua * ub);
	case IR_DIV: return least ? a : a / b;
	case IR_REM: return least ? 0 : a % b;
	case IR_FLOORDIV: return least ? a : floored(a, b);
	case IR_MOD: return least ? 0 : (int64_t)(ua - (uint64_t)floored(a, b) * ub);
	case IR_MIN: return (big ? ua < ub : a < b) ? a : b;
	case IR_MAX: return (big ? ua > ub : a > b) ? a : b;
	case IR_EQ: return a == b;
	case IR_LT: return big ? ua < ub : a < b;
	case IR_LE: return big ? ua <= ub : a <= b;
	case IR_BITAND: return a & b;
	case IR_BITOR: return a | b;
	case IR_BITXOR: return a ^ b;
	case IR_SHL: return ub >= (uint64_t)width ? 0 : (int64_t)(ua << b);
	case IR_SHR: return ub >= (uint64_t)width ? 0 : big ? (int64_t)(ua >> b) : a >> b;
	case IR_NEG: return (int64_t)(0 - ua);
	case IR_ABS: return big || a >= 0 ? a : (int64_t)(0 - ua);
	case IR_BITNOT: return ~a;
	case IR_NOT: return !a;
	default: abort();
	}
}

static union value float_operation(const struct recipe *r, double a, double b)
{
	union value v;
	switch (r->op) {
	case IR_ADD: v.f = a + b; break;
	case IR_SUB: v.f = a - b; break;
	case IR_MUL: v.f = a * b; break;
	case IR_DIV: v.f = a / b; break;
	case IR_REM: v.f = fmod(a, b); break;
	case IR_MIN: v.f = isnan(a) || isnan(b) ? NAN : a < b ? a : b; break;
	case IR_MAX: v.f = isnan(a) || isnan(b) ? NAN : a > b ? a : b; break;
	case IR_POW: v.f = pow(a, b); break;
	case IR_NEG: v.f = -a; break;
	case IR_ABS: v.f = fabs(a); break;
	case IR_FLOOR: v.f = floor(a); break;
	case IR_SQRT: v.f = sqrt(a); break;
	case IR_EQ: v.i = a == b; return v;
	case IR_LT: v.i = a < b; return v;
	case IR_LE: v.i = a <= b; return v;
	case IR_ISNAN: v.i = isnan(a); return v;
	case IR_ISINF: v.i = isinf(a) != 0; return v;
	default: abort();
	}
	v.f = type_round(r->type, v.f, false);
	return v;
}

static int64_t integer_of_float(enum type t, double x)
{
	bool is_unsigned = type_info(t)->class == CLASS_UINT;
	int bits = t == TYPE_INDEX ? 64 : type_info(t)->bits;
	double end = ldexp(1, is_unsigned ? bits : bits - 1);
	if (isnan(x))
		return 0;
	if (x >= end)
		return t == TYPE_INDEX ? INT64_MAX : type_max(t);
	if (x <= (is_unsigned ? 0 : -end))
		return t == TYPE_INDEX ? INT64_MIN : type_min(t);
	return x >= 0x1p63 ? (int64_t)(uint64_t)x : (int64_t)x;
}

static union value cast(enum type to, enum type from, union value a)
{
	union value v;
	if (type_is_float(from)) {
		if (type_is_float(to))
			v.f = type_round(to, a.f, false);
		else
			v.i = to == TYPE_BOOL ? a.f != 0 : integer_of_float(to, a.f);
	} else if (type_is_float(to)) {
		/* One rounding: through the tensor's own conversion. */
		uint64_t room[2];
		type_store_ints(to, room, 0, 1, &a.i);
		if (from == TYPE_U64 && a.i < 0) {
			double wide = (double)(uint64_t)a.i;
			if (to == TYPE_F32)
				wide = (float)(uint64_t)a.i;
			type_store_float(to, room, 0, wide, false);
		}
		v.f = type_load_float(to, room, 0);
	} else {
		v.i = wrap(to, a.i);
	}
	return v;
}

static union value evaluate(struct world *w, const struct recipe *r, const struct point *p)
{
	union value a = { 0 }, b = { 0 }, v = { 0 };
	switch (r->op) {
	case IR_CONST_INT: v.i = r->i; return v;
	case IR_CONST_FLOAT: v.f = r->f; return v;
	case IR_SYMBOL: v.i = p->symbol[r->i]; return v;
	case IR_AXIS: v.i = p->axis[r->i]; return v;
	case IR_SELECT: return evaluate(w, evaluate(w, r->arg[0], p).i ? r->arg[1] : r->arg[2], p);
	case IR_AND: v.i = evaluate(w, r->arg[0], p).i && evaluate(w, r->arg[1], p).i; return v;
	case IR_OR: v.i = evaluate(w, r->arg[0], p).i || evaluate(w, r->arg[1], p).i; return v;
	default: break;
	}
	a = evaluate(w, r->arg[0], p);
	if (r->op == IR_LOAD)
		return element(r->type, a.i);
	if (r->op == IR_CAST)
		return cast(r->type, r->arg[0]->type, a);
	if (r->arg[1])
		b = evaluate(w, r->arg[1], p);
	if (type_is_float(r->arg[0]->type))
		return float_operation(r, a.f, b.f);
	v.i = wrap(r->type, integer_operation(w, r, a.i, b.i));
	return v;
}

/* The same evaluator on expressions, which are trees of unique nodes: both sides share only the meaning of single
 * operations. */
static union value evaluate_expr(struct world *w, expr e, const struct point *p)
{
	struct recipe r = { .op = e->op, .type = e->type }, arg[3];
	union value v = { 0 }, x[3] = { { 0 }, { 0 }, { 0 } };
	switch (e->op) {
	case IR_CONST_INT: v.i = e->i; return v;
	case IR_CONST_FLOAT: v.f = e->f; return v;
	case IR_AXIS: v.i = p->axis[e->i]; return v;
	case IR_SYMBOL:
		for (int i = 0; i < SYMBOLS; i++)
			if (strcmp(e->name, symbol_name[i]) == 0)
				v.i = p->symbol[i];
		return v;
	case IR_SELECT: return evaluate_expr(w, evaluate_expr(w, e->arg[0], p).i ? e->arg[1] : e->arg[2], p);
	case IR_AND: v.i = evaluate_expr(w, e->arg[0], p).i && evaluate_expr(w, e->arg[1], p).i; return v;
	case IR_OR: v.i = evaluate_expr(w, e->arg[0], p).i || evaluate_expr(w, e->arg[1], p).i; return v;
	default: break;
	}
	for (int i = 0; i < e->n; i++) {
		x[i] = evaluate_expr(w, e->arg[i], p);
		arg[i] = (struct recipe){ .op = type_is_float(e->arg[i]->type) ? IR_CONST_FLOAT : IR_CONST_INT,
			                  .type = e->arg[i]->type };
		if (type_is_float(e->arg[i]->type))
			arg[i].f = x[i].f;
		else
			arg[i].i = x[i].i;
		r.arg[i] = &arg[i];
	}
	return evaluate(w, &r, p);
}

static expr build(struct world *w, const struct recipe *r)
{
	struct ir_pool *p = w->program->pool;
	expr a, x;
	switch (r->op) {
	case IR_CONST_INT: return ir_int(p, r->type, r->i);
	case IR_CONST_FLOAT: return ir_float(p, r->type, r->f);
	case IR_SYMBOL: return ir_symbol(p, symbol_name[r->i]);
	case IR_AXIS: return ir_axis(p, (int)r->i, build(w, w->extent[r->i]));
	case IR_SELECT:
		a = build(w, r->arg[0]);
		x = build(w, r->arg[1]);
		return ir_select(a, x, build(w, r->arg[2]));
	default: break;
	}
	a = build(w, r->arg[0]);
	if (r->op == IR_LOAD)
		return ir_load(p, w->buffer[r->type], &a);
	if (r->op == IR_CAST)
		return ir_cast(a, r->type);
	return r->arg[1] ? ir_binary(r->op, a, build(w, r->arg[1])) : ir_unary(r->op, a);
}

/* ---- Random recipes. */

static const struct recipe *recipe(struct world *w, enum ir_op op, enum type t, const struct recipe *a,
                                   const struct recipe *b, const struct recipe *c)
{
	struct recipe *r = NEW(w->arena, struct recipe);
	*r = (struct recipe){ .op = op, .type = t, .arg = { a, b, c } };
	return r;
}

static const struct recipe *integer(struct world *w, enum type t, int64_t x)
{
	struct recipe *r = NEW(w->arena, struct recipe);
	*r = (struct recipe){ .op = IR_CONST_INT, .type = t, .i = wrap(t, x) };
	return r;
}

static const struct recipe *numbered(struct world *w, enum ir_op op, int i)
{
	struct recipe *r = NEW(w->arena, struct recipe);
	*r = (struct recipe){ .op = op, .type = TYPE_INDEX, .i = i };
	return r;
}

static const enum type types[] = { TYPE_I8,   TYPE_U8,    TYPE_I16, TYPE_U16,  TYPE_I32,
	                           TYPE_U32,  TYPE_I64,   TYPE_U64, TYPE_F32,  TYPE_F64,
	                           TYPE_BOOL, TYPE_INDEX, TYPE_F16, TYPE_BF16, TYPE_F8E4M3FN };

static bool computes(enum type t)
{
	return type_info(t)->bits >= 8 && t != TYPE_BOOL && (!type_is_float(t) || type_info(t)->bits >= 32);
}

static enum type any_type(bool computing)
{
	for (;;) {
		enum type t = types[pick(sizeof types / sizeof *types)];
		if (!computing || computes(t))
			return t;
	}
}

static const struct recipe *grow(struct world *w, enum type t, int depth);

static const struct recipe *grow_leaf(struct world *w, enum type t)
{
	static const int64_t extreme[] = { INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, -1, 255, 1 << 15, 64 };
	if (t == TYPE_INDEX) {
		int what = pick(10);
		if (what < 4)
			return numbered(w, IR_AXIS, pick(AXES));
		if (what < 7)
			return numbered(w, IR_SYMBOL, pick(SYMBOLS));
		return integer(w, t, pick(4) ? pick(9) - 2 : 1 << pick(12));
	}
	if (pick(2)) /* x[mod(axis, 7)] */
		return recipe(w, IR_LOAD, t,
		              recipe(w, IR_MOD, TYPE_INDEX, numbered(w, IR_AXIS, pick(AXES)), integer(w, TYPE_INDEX, 7),
		                     NULL),
		              NULL, NULL);
	if (!type_is_float(t))
		return integer(w, t, pick(4) ? pick(5) - 1 : extreme[pick(8)]);
	struct recipe *r = NEW(w->arena, struct recipe);
	*r = (struct recipe){ .op = IR_CONST_FLOAT,
		              .type = t,
		              .f = pick(3)   ? element(t, pick(100)).f
		                   : pick(2) ? -0.0
		                             : pick(3) };
	return r;
}

/* A few atoms times small numbers, plus a number: the operands of divisions. */
static const struct recipe *affine(struct world *w)
{
	const struct recipe *sum = integer(w, TYPE_INDEX, pick(25) - 12);
	for (int n = 1 + pick(3); n > 0; n--) {
		const struct recipe *atom = numbered(w, pick(3) ? IR_AXIS : IR_SYMBOL, pick(SYMBOLS));
		const struct recipe *times = integer(w, TYPE_INDEX, pick(25) - 8);
		sum = recipe(w, IR_ADD, TYPE_INDEX, sum, recipe(w, IR_MUL, TYPE_INDEX, atom, times, NULL), NULL);
	}
	return recipe(w, pick(2) ? IR_FLOORDIV : IR_MOD, TYPE_INDEX, sum, integer(w, TYPE_INDEX, 1 + pick(12)), NULL);
}

/* Index arithmetic as operators make it: mostly sums and products, divisors mostly positive. */
static const struct recipe *grow_index(struct world *w, int depth)
{
	static const enum ir_op sums[] = { IR_ADD, IR_ADD, IR_SUB, IR_MUL, IR_MIN, IR_MAX };
	int what = pick(22);
	if (what >= 20)
		return affine(w);
	if (what < 11)
		return recipe(w, sums[pick(6)], TYPE_INDEX, grow(w, TYPE_INDEX, depth - 1),
		              grow(w, TYPE_INDEX, depth - 1), NULL);
	if (what < 16) {
		enum ir_op op = pick(2) ? IR_FLOORDIV : IR_MOD;
		const struct recipe *d = pick(3) ? integer(w, TYPE_INDEX, pick(6) ? 1 + pick(12) : -1 - pick(4))
		                                 : grow(w, TYPE_INDEX, depth > 2 ? 1 : 0);
		return recipe(w, op, TYPE_INDEX, grow(w, TYPE_INDEX, depth - 1), d, NULL);
	}
	if (what < 18)
		return recipe(w, IR_SELECT, TYPE_INDEX, grow(w, TYPE_BOOL, depth - 1), grow(w, TYPE_INDEX, depth - 1),
		              grow(w, TYPE_INDEX, depth - 1));
	if (what == 18)
		return recipe(w, pick(2) ? IR_NEG : IR_ABS, TYPE_INDEX, grow(w, TYPE_INDEX, depth - 1), NULL, NULL);
	static const enum type narrow[] = { TYPE_I8, TYPE_U8, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_BOOL };
	return recipe(w, IR_CAST, TYPE_INDEX, grow(w, narrow[pick(6)], depth - 1), NULL, NULL);
}

static const struct recipe *grow_bool(struct world *w, int depth)
{
	static const enum ir_op compare[] = { IR_EQ, IR_LT, IR_LE };
	int what = pick(12);
	if (what < 6) {
		enum type t = pick(2) ? TYPE_INDEX : any_type(true);
		return recipe(w, compare[pick(3)], TYPE_BOOL, grow(w, t, depth - 1), grow(w, t, depth - 1), NULL);
	}
	if (what < 8)
		return recipe(w, pick(2) ? IR_AND : IR_OR, TYPE_BOOL, grow(w, TYPE_BOOL, depth - 1),
		              grow(w, TYPE_BOOL, depth - 1), NULL);
	if (what == 8)
		return recipe(w, IR_NOT, TYPE_BOOL, grow(w, TYPE_BOOL, depth - 1), NULL, NULL);
	if (what == 9)
		return recipe(w, pick(2) ? IR_ISNAN : IR_ISINF, TYPE_BOOL,
		              grow(w, pick(2) ? TYPE_F32 : TYPE_F64, depth - 1), NULL, NULL);
	if (what == 10)
		return recipe(w, IR_CAST, TYPE_BOOL, grow(w, any_type(true), depth - 1), NULL, NULL);
	return recipe(w, IR_SELECT, TYPE_BOOL, grow(w, TYPE_BOOL, depth - 1), grow(w, TYPE_BOOL, depth - 1),
	              grow(w, TYPE_BOOL, depth - 1));
}

static const struct recipe *grow_number(struct world *w, enum type t, int depth)
{
	static const enum ir_op both[] = { IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_MIN, IR_MAX, IR_REM };
	static const enum ir_op whole[] = { IR_FLOORDIV, IR_MOD, IR_BITAND, IR_BITOR, IR_BITXOR, IR_SHL, IR_SHR };
	static const enum ir_op one[] = { IR_NEG, IR_ABS, IR_BITNOT }, real[] = { IR_NEG, IR_ABS, IR_FLOOR, IR_SQRT };
	bool is_float = type_is_float(t);
	int what = pick(20);
	if (what < 12 && computes(t)) {
		enum ir_op op = what < 9 || is_float ? both[pick(7)] : whole[pick(7)];
		return recipe(w, op, t, grow(w, t, depth - 1), grow(w, t, depth - 1), NULL);
	}
	if (what < 14 && computes(t))
		return recipe(w, is_float ? real[pick(4)] : one[pick(3)], t, grow(w, t, depth - 1), NULL, NULL);
	if (what < 16)
		return recipe(w, IR_SELECT, t, grow(w, TYPE_BOOL, depth - 1), grow(w, t, depth - 1),
		              grow(w, t, depth - 1));
	return recipe(w, IR_CAST, t, grow(w, any_type(false), depth - 1), NULL, NULL);
}

static const struct recipe *grow(struct world *w, enum type t, int depth)
{
	if (depth <= 0 || pick(10) == 0)
		return grow_leaf(w, t);
	return t == TYPE_INDEX ? grow_index(w, depth) : t == TYPE_BOOL ? grow_bool(w, depth) : grow_number(w, t, depth);
}

#endif
