/* The largest value of a rising or falling function is computed from the largest or smallest argument
 * (ir/reduce_rising.c): which reductions are, and that their results are the same to the bit, for infinities, zeros of
 * both signs and NaN too. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"
#include "ir/ir.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

static const float values[] = { 0.0f, -0.0f, 1.0f,   -1.0f, 3e-39f,   -0.3f,     88.9f, -104.0f,
	                        7e4f, 3e38f, -3e38f, 0.1f,  INFINITY, -INFINITY, NAN };
enum { VALUES = sizeof values / sizeof *values, COLUMNS = 3, ROWS = VALUES * VALUES * VALUES };

/* x has all triples of the values, q each of them in turn. */
static int evaluate(const struct ir_program *p, struct tensor *out, struct arena *a, struct err *e)
{
	struct tensor x, q;
	const struct tensor *in[] = { &x, &q };
	TRY(tensor_new(&x, TYPE_F32, 2, (const int64_t[]){ ROWS, COLUMNS }, a, e));
	TRY(tensor_new(&q, TYPE_F32, 1, (const int64_t[]){ ROWS }, a, e));
	for (int i = 0; i < ROWS; i++) {
		for (int k = 0, rest = i; k < COLUMNS; k++, rest /= VALUES)
			((float *)x.data)[i * COLUMNS + k] = values[rest % VALUES];
		((float *)q.data)[i] = values[(i * 7 + i / VALUES) % VALUES];
	}
	return eval_program(p, in, out, NULL, a, e);
}

static void find_call(void *user, expr e)
{
	*(bool *)user |= ir_op_info[e->op].kind == IR_CALL;
}

/* Compares the reduction before and after; `moves`: its function moves out of it. */
static void check(const char *combine, const char *value, bool moves, struct arena *a)
{
	struct ir_program *p, *q;
	struct err e = { 0 };
	struct tensor before, after;
	bool calls = false;
	const char *text = arena_printf(a,
	                                "program p(x: f32[N,3], q: f32[N]) -> (y: f32[N])\n"
	                                "  y: f32[N] = %s (i | r<3) %s\n",
	                                combine, value);
	if (ir_parse_program(&p, text, a, &e) < 0 || ir_parse_program(&q, text, a, &e) < 0 ||
	    ir_optimise(q, NULL, NULL, &e) < 0 || evaluate(p, &before, a, &e) < 0 || evaluate(q, &after, a, &e) < 0) {
		printf("%s%s\n%s", e.where, e.text, text);
		CHECK(!"the program runs");
		return;
	}
	ir_walk(q->stages.at[0]->value, find_call, &calls);
	if (!test_check(calls == !moves, __FILE__, __LINE__, "the function moves if it may"))
		printf("%s", text);
	const float *want = before.data, *got = after.data;
	for (int i = 0; i < ROWS; i++)
		/* either zero is the largest of both */
		if (isnan(want[i]) ? !isnan(got[i]) : want[i] != got[i]) {
			printf("row %d: %g before, %g after\n%s", i, want[i], got[i], text);
			CHECK(!"the same before and after");
			return;
		}
	CHECK(true);
}

/* The position of the largest stays that of the first of equal values: their arguments may differ. */
static void position(struct arena *a)
{
	struct ir_program *p;
	struct err e = { 0 };
	bool calls = false;
	CHECK(ir_parse_program(&p,
	                       "program p(x: f32[N,3]) -> (y: i64[N])\n"
	                       "  y: i64[N] = argmax (i | r<3) tanh(x[i, r])\n",
	                       a, &e) == 0);
	CHECK(ir_optimise(p, NULL, NULL, &e) == 0);
	ir_walk(p->stages.at[0]->value, find_call, &calls);
	CHECK(calls);
}

int main(void)
{
	static const struct {
		const char *value;
		bool moves;
	} cases[] = {
		{ "exp(x[i, r])", true },
		{ "1.0 / (1.0 + exp(neg(x[i, r])))", true },
		{ "f32(f16(1.0 / (1.0 + exp(neg(x[i, r])))))", true },
		{ "f32(f16(1.0 / (1.0 + exp(neg(x[i, r]))))) * (1.0 / (1.0 + exp(neg(q[i]))))", true },
		{ "tanh(x[i, r] / 30.0) * 30.0", true },
		{ "tanh(x[i, r]) * -2.0", true },
		{ "2.0 - erf(x[i, r])", true },
		{ "max(tanh(x[i, r]), q[i])", true },
		{ "log1p(exp(x[i, r]))", true },
		{ "sqrt(exp(x[i, r])) + 1.0", true },
		{ "log(1.0 + exp(x[i, r]))", true },
		{ "exp(floor(x[i, r]))", true },
		{ "tanh(x[i, r]) / (1.0 + exp(q[i]))", true },
		{ "exp(x[i, r]) / (1.0 + exp(q[i]))", false }, /* infinity / infinity */
		{ "exp(x[i, r]) * tanh(q[i])", false },        /* of either sign */
		{ "exp(x[i, r]) * exp(q[i])", false },         /* 0 * infinity */
		{ "exp(x[i, r]) + q[i]", false },              /* infinity - infinity */
		{ "exp(x[i, r]) - exp(q[i])", false },
		{ "log(x[i, r])", false }, /* NaN for one term, not for the largest */
		{ "sqrt(x[i, r])", false },
		{ "exp(x[i, r] * x[i, r])", true }, /* the square is the argument */
		{ "x[i, r] * tanh(x[i, r])", false },
		{ "cos(x[i, r])", false },
		{ "exp(x[i, r] + q[i])", true }, /* the sum is the argument */
		{ "f32(f8e4m3fn(tanh(x[i, r])))", false },
	};
	struct arena *a = arena_new();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		check("max", cases[i].value, cases[i].moves, a);
		check("min", cases[i].value, cases[i].moves, a);
	}
	position(a);
	arena_free(a);
	return test_done();
}
