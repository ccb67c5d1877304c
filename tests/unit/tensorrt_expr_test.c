/* Sizes as the runtime's table: rows must equal the expression. */
#include "engine/tensorrt/tensorrt.h"
#include "test.h"

static int64_t floor_div(int64_t a, int64_t b)
{
	return b == 0 ? 0 : a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/* The table's meaning, implemented again from tpat_rt.h. extent[input][axis]. */
static int64_t run(const struct tensorrt_exprs *t, int32_t row, int64_t extent[2][2])
{
	int64_t value[256];
	for (int32_t i = 0; i <= row; i++) {
		const struct tpat_rt_expr *x = &t->row.at[i];
		CHECK(x->op == TPAT_RT_DIM || x->op == TPAT_RT_CONST || (x->a < i && x->b < i && x->c < i));
		if (x->op == TPAT_RT_CONST || x->op == TPAT_RT_DIM) {
			value[i] = x->op == TPAT_RT_CONST ? x->value : extent[x->a][x->b];
			continue;
		}
		int64_t a = value[x->a], b = value[x->b], c = value[x->c];
		switch (x->op) {
		case TPAT_RT_ADD: value[i] = a + b; break;
		case TPAT_RT_SUB: value[i] = a - b; break;
		case TPAT_RT_MUL: value[i] = a * b; break;
		case TPAT_RT_FLOORDIV: value[i] = floor_div(a, b); break;
		case TPAT_RT_MOD: value[i] = a - floor_div(a, b) * b; break;
		case TPAT_RT_MIN: value[i] = a < b ? a : b; break;
		case TPAT_RT_MAX: value[i] = a > b ? a : b; break;
		case TPAT_RT_EQ: value[i] = a == b; break;
		case TPAT_RT_LT: value[i] = a < b; break;
		case TPAT_RT_LE: value[i] = a <= b; break;
		case TPAT_RT_AND: value[i] = a && b; break;
		case TPAT_RT_OR: value[i] = a || b; break;
		case TPAT_RT_NOT: value[i] = !a; break;
		case TPAT_RT_SELECT: value[i] = a ? b : c; break;
		default: CHECK(!"an operation that no size has"); value[i] = 0;
		}
	}
	return value[row];
}

struct sizes {
	int64_t n, m;
};

static bool symbol(void *user, expr symbol, int64_t *value)
{
	const struct sizes *s = user;
	*value = strcmp(symbol->name, "N") == 0 ? s->n : s->m;
	return true;
}

static uint64_t state = 1;

static int pick(int n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (int)((state >> 33) % (uint64_t)n);
}

/* A random expression of type index. */
static expr any(struct ir_pool *p, int depth)
{
	static const enum ir_op binary[] = { IR_ADD, IR_SUB, IR_MUL, IR_MIN, IR_MAX };
	if (depth == 0 || pick(6) == 0)
		return pick(2) ? ir_index(p, pick(9)) : ir_symbol(p, pick(2) ? "N" : "M");
	expr a = any(p, depth - 1), b = any(p, depth - 1);
	switch (pick(8)) {
	case 0: return ir_binary(IR_FLOORDIV, a, ir_index(p, 1 + pick(7)));
	case 1: return ir_binary(IR_MOD, a, ir_index(p, 1 + pick(7)));
	case 2: return ir_select(ir_binary(pick(2) ? IR_LT : IR_LE, a, b), b, any(p, depth - 1));
	case 3:
		return ir_select(ir_binary(pick(2) ? IR_AND : IR_OR, ir_binary(IR_EQ, a, b),
		                           ir_unary(IR_NOT, ir_binary(IR_LT, b, a))),
		                 a, b);
	case 4: return ir_unary(pick(2) ? IR_NEG : IR_ABS, a);
	default: return ir_binary(binary[pick(5)], a, b);
	}
}

/* x: f32[N,4] in, y: f32[4,M] in. */
static struct ir_program *program(struct arena *a)
{
	struct ir_program *p = ir_program_new(a, "test");
	expr x[] = { ir_symbol(p->pool, "N"), ir_index(p->pool, 4) },
	     y[] = { ir_index(p->pool, 4), ir_symbol(p->pool, "M") };
	ir_buffer_new(p, "x", TYPE_F32, 2, x, IR_INPUT);
	ir_buffer_new(p, "y", TYPE_F32, 2, y, IR_INPUT);
	return p;
}

static void test_random(struct arena *a)
{
	for (int i = 0; i < 300; i++) {
		struct arena_mark mark = arena_mark(a);
		struct ir_program *p = program(a);
		struct tensorrt_exprs t = tensorrt_exprs_new(p, a);
		struct err e = { 0 };
		expr x = any(p->pool, 4);
		int32_t row = -1, again = -1;
		CHECK_INT(tensorrt_expr_row(&row, &t, x, &e), 0);
		CHECK(tensorrt_expr_row(&again, &t, x, &e) == 0 && again == row);
		for (int k = 0; k < 10 && row >= 0 && t.row.n < 256; k++) {
			struct sizes s = { pick(40), pick(40) };
			int64_t extent[2][2] = { { s.n, 4 }, { 4, s.m } }, want;
			CHECK(ir_eval_int(x, symbol, &s, &want));
			CHECK_INT(run(&t, row, extent), want);
		}
		arena_release(a, mark);
	}
}

static void test_refused(struct arena *a)
{
	struct ir_program *p = program(a);
	struct tensorrt_exprs t = tensorrt_exprs_new(p, a);
	struct err e = { 0 };
	int32_t row;
	CHECK_INT(tensorrt_expr_row(&row, &t, ir_symbol(p->pool, "K"), &e), ERR_UNSUPPORTED);
	CHECK_STR(e.text, "The plugin of test needs the size K at run time, which is not an extent of an input.");
	err_clear(&e);
	CHECK_INT(tensorrt_expr_row(&row, &t, ir_float(p->pool, TYPE_F32, 1.5), &e), ERR_UNSUPPORTED);
}

static void test_strings(struct arena *a)
{
	struct str s = str_new(a);
	tensorrt_string(&s, "a \"b\"\\\n");
	CHECK_STR(str_text(&s), "\"a \\\"b\\\"\\\\\\012\"");
}

int main(void)
{
	struct arena *a = arena_new();
	test_random(a);
	test_refused(a);
	test_strings(a);
	arena_free(a);
	return test_done();
}
