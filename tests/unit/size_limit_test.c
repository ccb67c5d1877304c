/* Upper bounds of extents that mention sizes found at run time: never less than the extent, whatever the sizes are. */
#include "ir/ir.h"
#include "test.h"

enum { LIMIT = 6 };

static struct arena *arena;
static struct ir_program *program;
static expr size[2];
static int64_t value[2];
static uint64_t state = 1;

static int draw(int n)
{
	state = hash_u64(state, 0x9e3779b97f4a7c15u);
	return (int)(state % (uint64_t)n);
}

static expr number(int n)
{
	return ir_index(program->pool, n);
}

static expr draw_expr(int depth)
{
	static const enum ir_op ops[] = { IR_ADD, IR_SUB, IR_MIN, IR_MAX };
	if (depth == 0)
		return draw(4) ? size[draw(2)] : number(draw(8));
	expr a = draw_expr(depth - 1), b = draw_expr(draw(depth));
	switch (draw(8)) {
	case 0: return ir_binary(IR_MUL, a, number(draw(7) - 3));
	case 1: return ir_binary(IR_FLOORDIV, a, number(1 + draw(4)));
	case 2: return ir_binary(IR_MOD, a, number(1 + draw(5)));
	case 3: return ir_binary(IR_MUL, ir_binary(IR_MAX, a, number(0)), ir_binary(IR_MAX, b, number(0)));
	case 4: return ir_select(ir_binary(IR_LT, a, b), a, draw_expr(depth - 1));
	default: return ir_binary(ops[draw(4)], a, b);
	}
}

static bool value_of(void *user, expr symbol, int64_t *n)
{
	(void)user;
	*n = value[symbol == size[1]];
	return symbol == size[0] || symbol == size[1];
}

static bool is_bounded(expr e, expr limit)
{
	int64_t most, now;
	if (!ir_eval_int(limit, value_of, NULL, &most))
		return false;
	for (value[0] = 0; value[0] <= LIMIT; value[0]++)
		for (value[1] = 0; value[1] <= LIMIT; value[1]++)
			if (!ir_eval_int(e, value_of, NULL, &now) || now > most)
				return false;
	return true;
}

int main(void)
{
	arena = arena_new();
	program = ir_program_new(arena, "p");
	for (int i = 0; i < 2; i++)
		size[i] = ir_size_new(program, "found", ir_buffer_new(program, "count", TYPE_I64, 0, NULL, IR_TEMP),
		                      number(LIMIT));
	for (int i = 0; i < 20000; i++) {
		expr e = draw_expr(1 + draw(4)), limit = ir_size_limit(program, e);
		bool right = is_bounded(e, limit);
		CHECK(right);
		if (!right) {
			struct str s = str_new(arena);
			ir_print_expr(&s, e, 0);
			str_add(&s, "  at most  ");
			ir_print_expr(&s, limit, 0);
			printf("  %s\n", str_text(&s));
		}
	}
	arena_free(arena);
	return test_done();
}
