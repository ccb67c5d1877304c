/* Integer expressions over symbols: through casts, floats, comparisons and loaded elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/unit/test.h"

static struct arena *arena;
static struct ir_pool *pool;
static expr n; /* the symbol N, in type i64 as a model's Shape gives it */

static expr i64(int64_t x)
{
	return ir_int(pool, TYPE_I64, x);
}

static expr f32(double x)
{
	return ir_float(pool, TYPE_F32, x);
}

static expr of_float(expr e)
{
	return ir_cast(e, TYPE_F32);
}

static const char *text(expr e)
{
	struct str s = str_new(arena);
	if (!e)
		return "none";
	ir_print_expr(&s, e, 0);
	return str_text(&s);
}

#define CHECK_INTEGER(e, want) CHECK_STR(text(ir_integer_of(e, NULL, NULL)), want)

static bool symbol_value(void *user, expr symbol, int64_t *value)
{
	*value = *(const int64_t *)user;
	return strcmp(symbol->name, "N") == 0;
}

/* The value of e for N = x; -1000: not known. */
static int64_t value_at(expr e, int64_t x)
{
	int64_t got = -1000;
	expr whole = ir_integer_of(e, NULL, NULL);
	if (whole && !ir_eval_int(whole, symbol_value, &x, &got))
		return -1000;
	return got;
}

static void integers(void)
{
	expr minus = ir_binary(IR_SUB, n, i64(7));
	CHECK_INTEGER(n, "N");
	CHECK_INTEGER(i64(5), "5");
	CHECK_INTEGER(ir_binary(IR_MUL, ir_binary(IR_ADD, n, i64(1)), i64(2)), "N * 2 + 2");
	CHECK_INTEGER(ir_cast(n, TYPE_I32), "N");
	CHECK_INTEGER(ir_binary(IR_DIV, n, ir_binary(IR_ADD, n, i64(1))), "none"); /* the divisor's sign is not known */
	/* Divisions go toward zero. */
	for (int64_t x = 0; x < 14; x++) {
		CHECK_INT(value_at(ir_binary(IR_DIV, minus, i64(3)), x), (x - 7) / 3);
		CHECK_INT(value_at(ir_unary(IR_ABS, minus), x), llabs(x - 7));
		CHECK_INT(value_at(ir_unary(IR_NEG, minus), x), 7 - x);
	}
}

static void narrow_integers(void)
{
	CHECK_INTEGER(ir_cast(n, TYPE_U8), "none"); /* it may wrap */
	CHECK_INT(value_at(ir_cast(ir_binary(IR_LT, i64(3), n), TYPE_U8), 4), 1);
}

static void conditions(void)
{
	expr is_large = ir_binary(IR_LT, i64(3), n), is_even = ir_binary(IR_EQ, ir_binary(IR_MOD, n, i64(2)), i64(0));
	for (int64_t x = 0; x < 8; x++) {
		CHECK_INT(value_at(ir_cast(n, TYPE_BOOL), x), x != 0);
		CHECK_INT(value_at(ir_binary(IR_AND, is_large, is_even), x), x > 3 && x % 2 == 0);
		CHECK_INT(value_at(ir_binary(IR_OR, is_large, is_even), x), x > 3 || x % 2 == 0);
		CHECK_INT(value_at(ir_unary(IR_NOT, is_even), x), x % 2 != 0);
		CHECK_INT(value_at(ir_select(is_large, n, i64(9)), x), x > 3 ? x : 9);
	}
}

static void floats(void)
{
	expr f = of_float(n), half = ir_binary(IR_MUL, f, f32(0.5)), third = ir_binary(IR_DIV, f, f32(3));
	expr less = ir_binary(IR_SUB, half, f32(2));
	CHECK_INTEGER(ir_cast(ir_unary(IR_FLOOR, half), TYPE_I64), "floordiv(N, 2)");
	CHECK_INTEGER(ir_cast(half, TYPE_I32), "floordiv(N, 2)");
	CHECK_INTEGER(ir_binary(IR_MUL, half, f32(4)), "N * 2");
	CHECK_INTEGER(half, "none"); /* not an integer */
	CHECK_INTEGER(ir_cast(ir_unary(IR_FLOOR, third), TYPE_I64), "floordiv(N, 3)");
	CHECK_INTEGER(ir_cast(ir_binary(IR_MUL, f, f32(0.1)), TYPE_I64), "none"); /* 0.1 is not exact */
	CHECK_INTEGER(ir_cast(ir_unary(IR_SQRT, f), TYPE_I64), "none");
	CHECK_INTEGER(ir_cast(ir_cast(n, TYPE_F16), TYPE_I64), "none"); /* f16 rounds counts */
	CHECK_INTEGER(ir_select(ir_binary(IR_LT, half, f32(8)), i64(1), i64(2)),
	              text(ir_select(ir_binary(IR_LT, ir_symbol(pool, "N"), ir_index(pool, 16)), ir_index(pool, 1),
	                             ir_index(pool, 2))));
	for (int64_t x = 0; x < 9; x++) {
		CHECK_INT(value_at(ir_cast(ir_unary(IR_CEIL, half), TYPE_I64), x), (x + 1) / 2);
		CHECK_INT(value_at(ir_cast(less, TYPE_I64), x), (x - 4) / 2); /* toward zero */
		CHECK_INT(value_at(ir_cast(less, TYPE_BOOL), x), x != 4);
	}
}

/* Random arithmetic on a count in f32, next to what a processor computes for each of some counts. */
enum { COUNTS = 48 };
struct spelled {
	expr e;
	float at[COUNTS];
};
static int64_t count[COUNTS];
static bool large[COUNTS]; /* a number so large that f32 does not hold its fractions */
static uint32_t state = 7;

static int pick(int n)
{
	state = state * 1664525u + 1013904223u;
	return (int)((state >> 8) % (uint32_t)n);
}

/* N * k + c, exact. */
static struct spelled linear(void)
{
	int64_t k = 1 + pick(4), c = pick(9) - 2;
	struct spelled s = { of_float(ir_binary(IR_ADD, ir_binary(IR_MUL, n, i64(k)), i64(c))), { 0 } };
	for (int i = 0; i < COUNTS; i++)
		s.at[i] = (float)(count[i] * k + c);
	return s;
}

static struct spelled constant(double x)
{
	struct spelled s = { f32(x), { 0 } };
	for (int i = 0; i < COUNTS; i++)
		s.at[i] = (float)x;
	return s;
}

static struct spelled combined(enum ir_op op, struct spelled a, struct spelled b)
{
	a.e = ir_binary(op, a.e, b.e);
	for (int i = 0; i < COUNTS; i++) {
		float x = a.at[i], y = b.at[i];
		switch (op) {
		case IR_ADD: a.at[i] = x + y; break;
		case IR_SUB: a.at[i] = x - y; break;
		case IR_MUL: a.at[i] = x * y; break;
		case IR_DIV: a.at[i] = x / y; break;
		case IR_MIN: a.at[i] = fminf(x, y); break;
		default: a.at[i] = fmaxf(x, y); break;
		}
		large[i] |= fabsf(a.at[i]) > 4096;
	}
	return a;
}

static struct spelled rounded(enum ir_op op, struct spelled a)
{
	a.e = op == IR_CAST ? of_float(ir_cast(a.e, TYPE_I64)) : ir_unary(op, a.e);
	for (int i = 0; i < COUNTS; i++) {
		float x = a.at[i];
		a.at[i] = op == IR_FLOOR        ? floorf(x)
		          : op == IR_CEIL       ? ceilf(x)
		          : op == IR_ROUND_EVEN ? rintf(x)
		                                : truncf(x);
	}
	return a;
}

static struct spelled step(struct spelled s)
{
	static const double scale[] = { 0.5, 2, 0.25, 32, 1.5, 3, 0.03125, 10, 0.1 };
	static const enum ir_op shift[] = { IR_ADD, IR_SUB, IR_MIN, IR_MAX };
	static const enum ir_op round[] = { IR_FLOOR, IR_CEIL, IR_TRUNC, IR_ROUND_EVEN, IR_CAST };
	static const int divisor[] = { 3, 2, 7, 32, 41, 5, -3, 6, 49, 12 };
	switch (pick(5)) {
	case 0: return combined(IR_MUL, s, constant(scale[pick(9)]));
	case 1: return combined(IR_DIV, s, constant(divisor[pick(10)]));
	case 2: return combined(shift[pick(4)], s, constant((pick(41) - 20) / 4.0));
	case 3:
		return combined(shift[pick(4)], s,
		                pick(2) ? linear() : combined(IR_DIV, linear(), constant(divisor[pick(10)])));
	default: return rounded(round[pick(5)], s);
	}
}

/* What is followed is exact. */
static void spellings(void)
{
	static const enum ir_op round[] = { IR_FLOOR, IR_CEIL, IR_TRUNC, IR_ROUND_EVEN };
	int known = 0, total = 4000;
	for (int i = 0; i < COUNTS; i++)
		count[i] = i < 36 ? i : (i - 35) * 67 + i * i / 8;
	for (int k = 0; k < total; k++) {
		struct spelled s = linear();
		memset(large, 0, sizeof large);
		for (int i = 1 + pick(5); i > 0; i--)
			s = step(s);
		s = rounded(round[pick(4)], s);
		expr whole = ir_cast(s.e, TYPE_I64), followed = ir_integer_of(whole, NULL, NULL);
		int64_t got;
		known += followed != NULL;
		for (int i = 0; i < COUNTS && followed; i++)
			if (!large[i] &&
			    (!ir_eval_int(followed, symbol_value, &count[i], &got) || got != (int64_t)s.at[i])) {
				fprintf(stderr, "N = %lld: %s\n is %lld, not %.9g\n", (long long)count[i], text(whole),
				        (long long)got, (double)s.at[i]);
				CHECK(false);
				return;
			}
	}
	CHECK(known > total / 2);
}

/* Quotients that are the same for all N. */
static void known_floats(void)
{
	expr twice = of_float(ir_binary(IR_MUL, n, i64(2))), f = of_float(n);
	double x = 0;
	CHECK(ir_known_float(ir_binary(IR_DIV, twice, f), &x) && x == 2);
	CHECK(ir_known_float(ir_binary(IR_DIV, ir_binary(IR_MUL, f, f32(0.5)), f), &x) && x == 0.5);
	CHECK(!ir_known_float(twice, &x) && !ir_known_float(ir_binary(IR_DIV, f, f32(3)), &x));
	CHECK(!ir_known_float(ir_binary(IR_DIV, of_float(ir_binary(IR_ADD, n, i64(1))), f), &x));
}

/* Element 1 of a buffer is N + 1; the others are not known. */
static expr element(void *user, expr load)
{
	++*(int *)user;
	return ir_is_int(load->arg[0], 1) ? ir_binary(IR_ADD, ir_symbol(load->pool, "N"), ir_index(load->pool, 1))
	                                  : NULL;
}

static expr zero(void *user, expr load)
{
	(void)user;
	return ir_index(load->pool, 0);
}

static void loads(void)
{
	struct ir_program *p = ir_program_new(arena, "loads");
	expr three = ir_index(p->pool, 3), at[2] = { ir_index(p->pool, 0), ir_index(p->pool, 1) };
	struct ir_buffer *ints = ir_buffer_new(p, "ints", TYPE_I64, 1, &three, IR_INPUT);
	struct ir_buffer *floats = ir_buffer_new(p, "floats", TYPE_F32, 1, &three, IR_INPUT);
	expr known = ir_load(p->pool, ints, &at[1]), unknown = ir_load(p->pool, ints, &at[0]);
	expr half = ir_binary(IR_MUL, ir_load(p->pool, floats, &at[1]), ir_float(p->pool, TYPE_F32, 0.5));
	int asked = 0;
	CHECK_STR(text(ir_integer_of(ir_binary(IR_MUL, known, known), element, &asked)), "N * N + N * 2 + 1");
	CHECK_STR(text(ir_integer_of(ir_cast(half, TYPE_I64), element, &asked)), "floordiv(N + 1, 2)");
	CHECK(asked >= 2);
	CHECK_STR(text(ir_integer_of(ir_binary(IR_ADD, known, unknown), element, &asked)), "none");
	CHECK_INTEGER(known, "none"); /* nothing known */
	CHECK_STR(text(ir_integer_of(ir_cast(unknown, TYPE_I8), zero, NULL)), "0");
}

int main(void)
{
	arena = arena_new();
	pool = ir_pool_new(arena);
	n = ir_cast(ir_symbol(pool, "N"), TYPE_I64);
	integers();
	narrow_integers();
	conditions();
	floats();
	spellings();
	known_floats();
	loads();
	arena_free(arena);
	return test_done();
}
