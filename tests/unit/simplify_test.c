/* The constructors of expressions against a plain evaluator: random recipes are evaluated as they stand, and built through
 * the simplifying constructors; both must have one value wherever they are evaluated. Likewise bounds, splits, strides,
 * copies, texts and hashes. SIMPLIFY_TEST=seed,count: other or more recipes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/unit/test.h"

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

/* ---- Recipes: what is evaluated as it stands. */

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
	const struct ir_buffer *buffer[TYPE_COUNT]; /* rank 1, extent 7, one a type */
	const struct recipe *extent[AXES];
	bool undefined; /* an index divided by zero: the point says nothing */
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

/* What comes back is a tree of unique nodes: the same evaluator, on expressions, so that both sides share nothing but the
 * meaning of single operations. */
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

static const enum type types[] = { TYPE_I8, TYPE_U8, TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64,
				   TYPE_F32, TYPE_F64, TYPE_BOOL, TYPE_INDEX, TYPE_F16, TYPE_BF16, TYPE_F8E4M3FN };

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
		return recipe(w, IR_LOAD, t, recipe(w, IR_MOD, TYPE_INDEX, numbered(w, IR_AXIS, pick(AXES)),
						    integer(w, TYPE_INDEX, 7), NULL), NULL, NULL);
	if (!type_is_float(t))
		return integer(w, t, pick(4) ? pick(5) - 1 : extreme[pick(8)]);
	struct recipe *r = NEW(w->arena, struct recipe);
	*r = (struct recipe){ .op = IR_CONST_FLOAT, .type = t, .f = pick(3) ? element(t, pick(100)).f : pick(2) ? -0.0 : pick(3) };
	return r;
}

/* A few atoms times small numbers, plus a number: what divisions take apart. */
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
		return recipe(w, sums[pick(6)], TYPE_INDEX, grow(w, TYPE_INDEX, depth - 1), grow(w, TYPE_INDEX, depth - 1), NULL);
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
		return recipe(w, pick(2) ? IR_ISNAN : IR_ISINF, TYPE_BOOL, grow(w, pick(2) ? TYPE_F32 : TYPE_F64, depth - 1), NULL,
			      NULL);
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
		return recipe(w, IR_SELECT, t, grow(w, TYPE_BOOL, depth - 1), grow(w, t, depth - 1), grow(w, t, depth - 1));
	return recipe(w, IR_CAST, t, grow(w, any_type(false), depth - 1), NULL, NULL);
}

static const struct recipe *grow(struct world *w, enum type t, int depth)
{
	if (depth <= 0 || pick(10) == 0)
		return grow_leaf(w, t);
	return t == TYPE_INDEX ? grow_index(w, depth) : t == TYPE_BOOL ? grow_bool(w, depth) : grow_number(w, t, depth);
}

/* ---- The world of one recipe. */

static struct world *world_new(struct arena *a)
{
	struct world *w = NEW(a, struct world);
	w->arena = a;
	w->program = ir_program_new(a, "random");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		expr seven = ir_index(w->program->pool, 7);
		char name[32];
		snprintf(name, sizeof name, "x_%s", type_name(types[i]));
		if (types[i] != TYPE_INDEX)
			w->buffer[types[i]] = ir_buffer_new(w->program, name, types[i], 1, &seven, IR_INPUT);
	}
	expr dim[SYMBOLS];
	for (int i = 0; i < SYMBOLS; i++)
		dim[i] = ir_symbol(w->program->pool, symbol_name[i]);
	ir_buffer_new(w->program, "shape", TYPE_F32, SYMBOLS, dim, IR_INPUT);
	for (int k = 0; k < AXES; k++) {
		int what = pick(5);
		const struct recipe *s = numbered(w, IR_SYMBOL, pick(SYMBOLS)), *n = integer(w, TYPE_INDEX, 1 + pick(12));
		w->extent[k] = what < 2 ? n : what == 2 ? s
				: recipe(w, what == 3 ? IR_ADD : IR_MUL, TYPE_INDEX, s, n, NULL);
	}
	return w;
}

/* False where an axis is empty: nothing is evaluated there. */
static bool draw_point(struct world *w, struct point *p, int number)
{
	bool any = true;
	for (int i = 0; i < SYMBOLS; i++)
		p->symbol[i] = number < 4 ? (number + i) % 3 : pick(3) ? pick(20) : pick(3000);
	for (int k = 0; k < AXES; k++) {
		p->extent[k] = evaluate(w, w->extent[k], p).i;
		int64_t n = p->extent[k];
		any &= n > 0;
		p->axis[k] = n <= 0 ? 0 : number % 4 == 0 ? n - 1 : number % 4 == 1 ? 0 : (int64_t)(next_random() % (uint64_t)n);
	}
	return any;
}

static bool same(enum type t, union value a, union value b)
{
	if (!type_is_float(t))
		return a.i == b.i;
	return (isnan(a.f) && isnan(b.f)) || (a.f == b.f && (a.f != 0 || !signbit(a.f) == !signbit(b.f)));
}

static const char *show(struct arena *a, expr e)
{
	struct str s = str_new(a);
	ir_print_expr(&s, e, AXES);
	return str_text(&s);
}

static void report(struct world *w, const char *what, expr e, const struct point *p, union value got, union value want)
{
	printf("%s of %s %s\n  at", what, type_name(e->type), show(w->arena, e));
	for (int i = 0; i < SYMBOLS; i++)
		printf(" %s=%" PRId64, symbol_name[i], p->symbol[i]);
	for (int k = 0; k < AXES; k++)
		printf(" %c=%" PRId64 "<%" PRId64, 'i' + k, p->axis[k], p->extent[k]);
	if (type_is_float(e->type))
		printf(": got %g, want %g\n", got.f, want.f);
	else
		printf(": got %" PRId64 ", want %" PRId64 "\n", got.i, want.i);
}

/* Large numbers overflow 64 bits, which index arithmetic takes to be wide enough. */
static bool grows_too_large(const struct recipe *r, const struct point *p, double *size)
{
	double a = 0, b = 0, c = 0;
	bool large = r->arg[0] && grows_too_large(r->arg[0], p, &a);
	large |= r->arg[1] && grows_too_large(r->arg[1], p, &b);
	large |= r->arg[2] && grows_too_large(r->arg[2], p, &c);
	if (r->op == IR_SYMBOL || r->op == IR_AXIS)
		a = 3e5;
	else if (r->type == TYPE_INDEX && r->op == IR_CONST_INT)
		a = fabs((double)r->i);
	else if (r->op == IR_CAST && r->type == TYPE_INDEX)
		a = ldexp(1, r->arg[0]->type == TYPE_BOOL ? 1 : type_info(r->arg[0]->type)->bits);
	else if (r->op == IR_MUL)
		a *= b;
	else
		a = a + b + c;
	*size = r->type == TYPE_INDEX ? a : 0;
	return large || (r->type == TYPE_INDEX && a > 1e17);
}

static void check_bounds(struct world *w, expr e, const struct point *p, union value v)
{
	expr low = ir_lower_bound(e), high = ir_upper_bound(e);
	w->undefined = false;
	if (low) {
		union value l = evaluate_expr(w, low, p);
		bool holds = w->undefined || (l.i <= v.i && !low->varies);
		test_check(holds, __FILE__, __LINE__, "lower bound");
		if (!holds)
			report(w, show(w->arena, low), e, p, l, v);
	}
	w->undefined = false;
	if (high) {
		union value h = evaluate_expr(w, high, p);
		bool holds = w->undefined || (h.i >= v.i && !high->varies);
		test_check(holds, __FILE__, __LINE__, "upper bound");
		if (!holds)
			report(w, show(w->arena, high), e, p, h, v);
	}
	if (ir_nonnegative(e) && !test_check(v.i >= 0, __FILE__, __LINE__, "nonnegative"))
		report(w, "nonnegative", e, p, v, v);
}

static void check_split(struct world *w, expr e, expr divisor, const struct point *p, union value v)
{
	expr quotient, rest;
	ir_split(e, divisor, &quotient, &rest);
	if (!quotient)
		return;
	w->undefined = false;
	union value d = evaluate_expr(w, divisor, p), q = evaluate_expr(w, quotient, p), r = evaluate_expr(w, rest, p);
	if (!w->undefined && !test_check(d.i * q.i + r.i == v.i, __FILE__, __LINE__, "split"))
		report(w, show(w->arena, divisor), e, p, (union value){ .i = d.i * q.i + r.i }, v);
}

static void check_stride(struct world *w, expr e, const struct point *p, union value v)
{
	for (int k = 0; k < AXES; k++) {
		struct point next = *p;
		expr stride = p->axis[k] + 1 < p->extent[k] ? ir_stride(e, k) : NULL;
		if (!stride)
			continue;
		CHECK(!stride->varies);
		next.axis[k]++;
		w->undefined = false;
		union value s = evaluate_expr(w, stride, p), n = evaluate_expr(w, e, &next);
		if (!w->undefined && !test_check(n.i - v.i == s.i, __FILE__, __LINE__, "stride"))
			report(w, show(w->arena, stride), e, p, s, (union value){ .i = n.i - v.i });
	}
}

static void check_recipe(struct world *w, const struct recipe *r, const struct recipe *other)
{
	expr e = build(w, r), x = build(w, other);
	double size;
	CHECK(e->type == r->type);
	struct ir_pool *pool = ir_pool_new(w->arena);
	expr copied = ir_copy(pool, e, NULL, NULL);
	if (!test_check(copied->hash == e->hash, __FILE__, __LINE__, "a copy is the same expression"))
		printf("  %s\n  %s\n", show(w->arena, e), show(w->arena, copied));
	for (int n = 0; n < POINTS; n++) {
		struct point p;
		if (!draw_point(w, &p, n) || grows_too_large(r, &p, &size) || grows_too_large(other, &p, &size))
			continue;
		w->undefined = false;
		union value want = evaluate(w, r, &p), second = evaluate(w, other, &p);
		if (w->undefined)
			continue;
		union value got = evaluate_expr(w, e, &p), copy = evaluate_expr(w, copied, &p);
		if (w->undefined)
			continue;
		if (!test_check(same(r->type, got, want), __FILE__, __LINE__, "value"))
			report(w, "value", e, &p, got, want);
		if (!test_check(same(r->type, copy, want), __FILE__, __LINE__, "copied value"))
			report(w, "copy", copied, &p, copy, want);
		if (e->type != TYPE_INDEX)
			continue;
		check_bounds(w, e, &p, want);
		check_stride(w, e, &p, want);
		if (second.i != 0)
			check_split(w, e, x, &p, want);
		if (ir_less(e, x) && !test_check(want.i < second.i, __FILE__, __LINE__, "less"))
			report(w, show(w->arena, x), e, &p, want, second);
	}
}

static void random_expressions(int count)
{
	for (int i = 0; i < count && test_failed < 10; i++) {
		struct arena *a = arena_new();
		struct world *w = world_new(a);
		enum type t = pick(2) ? TYPE_INDEX : any_type(false);
		int depth = 1 + pick(5);
		const struct recipe *r = grow(w, t, depth);
		check_recipe(w, r, grow(w, t, 1 + pick(3)));
		arena_free(a);
	}
}

/* ---- Random programs: text there and back, hashes. */

static expr value_of(struct world *w, enum type t, int depth)
{
	return build(w, grow(w, t, depth));
}

/* Some stages over random extents, made of random expressions. */
static struct ir_program *random_program(struct arena *a)
{
	struct world *w = world_new(a);
	struct ir_program *p = w->program;
	int64_t four = 4;
	struct tensor *t = NEW(a, struct tensor);
	struct err e = { 0 };
	ck(tensor_new(t, TYPE_F32, 1, &four, a, &e) == 0);
	tensor_random(t, next_random(), -3, 3);
	expr dim[AXES], n = ir_index(p->pool, 4), at;
	ir_buffer_new(p, "table", TYPE_F32, 1, &n, IR_CONSTANT)->data = t;
	for (int k = 0; k < AXES; k++)
		dim[k] = build(w, w->extent[k]);
	for (int k = 0, stages = 1 + pick(4); k < stages; k++) {
		int split = pick(AXES), kind = pick(3); /* axes up to `split` are the result's, or all */
		enum type type = any_type(true);
		if (type == TYPE_INDEX)
			type = TYPE_F32;
		enum ir_role role = k + 1 == stages || pick(2) ? IR_OUTPUT : IR_TEMP;
		int rank = kind == 0 ? AXES : kind == 1 ? split : AXES;
		struct ir_buffer *out = ir_buffer_new(p, "y", type, rank, dim, role);
		struct ir_stage *s = ir_stage_new(p, kind == 0 ? IR_MAP : kind == 1 ? IR_REDUCE : IR_SCATTER, out);
		s->value = value_of(w, type, 4);
		if (kind > 0) {
			s->combine = kind == 1 ? IR_SUM + pick(4) : pick(5);
			s->space_rank = kind == 1 ? AXES - split : AXES;
			for (int q = 0; q < s->space_rank; q++)
				s->space[q] = dim[AXES - s->space_rank + q];
		}
		if (kind == 1 && pick(2)) {
			at = ir_index(p->pool, pick(7));
			s->post = ir_binary(IR_MUL, ir_acc(p->pool, type), ir_load(p->pool, w->buffer[type], &at));
		}
		if (kind == 2) {
			s->init = value_of(w, type, 3);
			for (int q = 0; q < AXES; q++)
				s->at[q] = value_of(w, TYPE_INDEX, 3);
			s->where = pick(2) ? value_of(w, TYPE_BOOL, 3) : NULL;
		}
	}
	return p;
}

static const char *text_of(struct arena *a, const struct ir_program *p)
{
	struct str s = str_new(a);
	ir_print_program(&s, p);
	return str_text(&s);
}

static struct ir_program *parse(struct arena *a, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p;
	if (test_check(ir_parse_program(&p, text, a, &e) == 0, __FILE__, __LINE__, "what is printed can be read"))
		return p;
	printf("%s\n%s\n", e.text, text);
	return NULL;
}

/* The text with each whole word `from` replaced. */
static const char *rename_word(struct arena *a, const char *text, const char *from, const char *to)
{
	struct str s = str_new(a);
	size_t n = strlen(from);
	for (const char *c = text; *c; c++) {
		bool begins = c == text || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", c[-1]);
		bool ends = strncmp(c, from, n) == 0 &&
			    !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", c[n]);
		if (begins && ends) {
			str_add(&s, to);
			c += n - 1;
		} else {
			str_addn(&s, c, 1);
		}
	}
	return str_text(&s);
}

static void random_programs(int count)
{
	static const char *const names[][2] = {
		{ "A", "Zeta" }, { "M", "A0" }, { "y", "w_out" }, { "x_f32", "a_in" }, { "B", "b" }, { "x_i64", "zz" },
		{ "random", "other" },
	};
	for (int i = 0; i < count && test_failed < 10; i++) {
		struct arena *a = arena_new();
		struct ir_program *p = random_program(a);
		struct err e = { 0 };
		if (ir_check(p, &e) < 0) {
			if (!strstr(e.text, "too large") && !test_check(0, __FILE__, __LINE__, "a random program is well formed"))
				printf("%s\n%s\n", e.text, text_of(a, p));
			arena_free(a);
			continue;
		}
		const char *text = text_of(a, p), *renamed = text;
		struct ir_program *again = parse(a, text);
		if (again)
			CHECK_STR(text_of(a, again), text);
		char hash[33], other[33];
		ir_hash(p, hash);
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			renamed = rename_word(a, renamed, names[k][0], names[k][1]);
		struct ir_program *q = again ? parse(a, renamed) : NULL;
		if (q) {
			ir_hash(again, other);
			CHECK_STR(other, hash);
			ir_hash(q, other);
			if (strcmp(other, hash) != 0)
				printf("%s%s", text, text_of(a, q));
			CHECK_STR(other, hash);
			/* A change of any number is another program. */
			p->stages.at[0]->value = ir_binary(IR_EQ, p->stages.at[0]->value, p->stages.at[0]->value);
			ir_hash(p, other);
			CHECK(strcmp(other, hash) != 0);
		}
		arena_free(a);
	}
}

/* Each change must change the hash; each renaming must not. */
static void hashes(struct arena *a)
{
	static const char base[] = "program p(x: f32[N,K], wt: f32[K]) -> (y: f32[N])\n"
				   "  const c: f32[2] = {1.0, 2.5}\n"
				   "  y: f32[N] = sum (i | r<K) x[i, r] * wt[r] + c[mod(r, 2)] then it * 0.5\n";
	static const char *const change[][2] = {
		{ "0.5", "0.25" },
		{ "sum", "prod" },
		{ "mod(r, 2)", "mod(r + 1, 2)" },
		{ "2.5", "3.5" },
		{ "wt[r]", "x[i, r]" },
		{ " + ", " - " },
		{ "wt: f32[K]", "wt: f32[N]" },
		{ "f32[2] = {1.0, 2.5}", "f32[2] = {1.0, -2.5}" },
		{ " then it * 0.5", "" },
		{ "x[i, r]", "f32(i)" },
	};
	static const char *const renames[][2] = {
		{ "N", "A" }, { "K", "B" }, { "K", "Z" }, { "x", "zzz" }, { "wt", "a" }, { "y", "b" }, { "c", "zz" },
	};
	char hash[33], other[33];
	ir_hash(parse(a, base), hash);
	for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
		const char *at = strstr(base, change[i][0]);
		const char *text = arena_printf(a, "%.*s%s%s", (int)(at - base), base, change[i][1], at + strlen(change[i][0]));
		struct err e = { 0 };
		struct ir_program *p;
		if (ir_parse_program(&p, text, a, &e) < 0) {
			printf("%s\n%s", e.text, text);
			CHECK(0);
			continue;
		}
		ir_hash(p, other);
		if (strcmp(hash, other) == 0)
			printf("%s", text);
		CHECK(strcmp(hash, other) != 0);
	}
	for (size_t i = 0; i < sizeof renames / sizeof *renames; i++) {
		ir_hash(parse(a, rename_word(a, base, renames[i][0], renames[i][1])), other);
		CHECK_STR(other, hash);
	}
}

int main(void)
{
	const char *setting = getenv("SIMPLIFY_TEST");
	unsigned long seed = 1, count = 4000;
	if (setting)
		sscanf(setting, "%lu,%lu", &seed, &count);
	state = seed;
	random_expressions((int)count);
	random_programs((int)count / 8);
	struct arena *a = arena_new();
	hashes(a);
	arena_free(a);
	return test_done();
}
