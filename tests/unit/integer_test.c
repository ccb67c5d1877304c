/* Integer expressions over symbols: through casts, floats, comparisons and loaded elements. */
#include <stdlib.h>

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
	loads();
	arena_free(arena);
	return test_done();
}
