/* The weights of recurrences, as found in the programs of operators and in programs of loops. */
#include "check/recurrence.h"

#include <string.h>

#include "tests/program/op_case.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

static struct arena *a;

/* "w_2 24, r_2 40": the inputs that are weights, with the number of terms, and bits if there are any. */
static const char *weights_of(const struct ir_program *p)
{
	const struct recurrence_weight *w = recurrence_weights(p, a);
	struct str s = str_new(a);
	vec_each (b, &p->inputs) {
		if (!w[(*b)->id].terms)
			continue;
		str_printf(&s, "%s%s ", s.n ? ", " : "", (*b)->name);
		ir_print_expr(&s, w[(*b)->id].terms, 0);
		if (w[(*b)->id].bits)
			str_printf(&s, " bits %d", w[(*b)->id].bits);
	}
	return str_text(&s);
}

static const char *of_operator(const char *op, const char *text)
{
	struct err e = { 0 };
	struct ir_program *p = NULL;
	CHECK_INT(op_case_program(&p, op_find("", op), text, a, &e), 0);
	return p ? weights_of(p) : arena_strdup(a, e.text);
}

static const char *of_text(const char *text)
{
	struct err e = { 0 };
	struct ir_program *p = NULL;
	CHECK_INT(ir_parse_program(&p, text, a, &e), 0);
	return p ? weights_of(p) : arena_strdup(a, e.text);
}

static void operators(void)
{
	CHECK_STR(of_operator("LSTM", "x:f32[T,B,24] w:f32[1,160,24] r:f32[1,160,40] b:f32[1,320]"), "w_2 24, r_2 40");
	CHECK_STR(of_operator("GRU", "x:f16[T,B,24] w:f16[1,120,24] r:f16[1,120,H] b:f16[1,240]"), "w_2 24, r_2 H");
	CHECK_STR(of_operator("RNN", "x:f32[T,B,8] w:f32[2,16,8] r:f32[2,16,16] direction=bidirectional"),
	          "w_2 8, r_2 16");
	CHECK_STR(of_operator("MatMul", "a:f32[4,5] b:f32[5,6]"), "");
}

static void loops(void)
{
	/* A product of the state with a weight, converted before the loop; `offset` is no factor. */
	CHECK_STR(of_text("program p(x: f32[9,20], weights: f16[20,20], offset: f32[20]) -> (y: f32[20])\n"
	                  "  wide: f32[20,20] = map (i, j) f32(weights[j, i])\n"
	                  "  loop turn<9 {\n"
	                  "    carry y: f32[20] (i) 0.0\n"
	                  "    next_y: f32[20] = sum (i | r<20) y[r] * wide[r, i] then it + x[turn, i] + offset[i]\n"
	                  "    next y = next_y\n"
	                  "  }\n"),
	          "weights 20");
	/* A decay for each element, and a scale of weights of 8 bits. */
	CHECK_STR(of_text("program p(decay: f32[20], q: i8[20,20], scale: f32[20]) -> (y: f32[20], z: f32[20])\n"
	                  "  loop turn<9 {\n"
	                  "    carry y: f32[20] (i) 1.0\n"
	                  "    carry z: f32[20] (i) 1.0\n"
	                  "    next_y: f32[20] = map (i) y[i] * decay[i]\n"
	                  "    next_z: f32[20] = sum (i | r<20) z[r] * (f32(q[r, i]) * scale[i])\n"
	                  "    next y = next_y\n"
	                  "    next z = next_z\n"
	                  "  }\n"),
	          "decay 1, scale 20 bits 8");
}

int main(void)
{
	a = arena_new();
	operators();
	loops();
	arena_free(a);
	return test_done();
}
