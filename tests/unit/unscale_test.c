/* Pass unscale: sums of products of quantised numbers become sums of integers, or of products of 8-bit floats. Draws
 * spellings of the factors; scales are powers of two and sums small, so that results must be equal on the interpreter.
 * UNSCALE_TEST=seed,count: other or more programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "eval/eval.h"
#include "ir/ir.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

enum { ROWS = 5, DEPTH = 24, COLUMNS = 7 };

struct draw {
	uint64_t state;
	struct arena *a;
};

static int pick(struct draw *d, int n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (int)((d->state >> 33) % (uint64_t)n);
}

static const char *one_of(struct draw *d, const char *a, const char *b, const char *c)
{
	const char *all[] = { a, b, c };
	return all[pick(d, 3)];
}

/* An element less its zero point, as f32. `at`: the load; `zero`: the load of the zero point. */
static const char *centred(struct draw *d, const char *at, const char *zero)
{
	switch (pick(d, 6)) {
	case 0: return arena_printf(d->a, "f32(%s)", at);
	case 1: return arena_printf(d->a, "f32(i32(%s) - i32(%s))", at, zero);
	case 2: return arena_printf(d->a, "(f32(%s) - f32(%s))", at, zero);
	case 3: return arena_printf(d->a, "(f32(%s) + -%d.0)", at, pick(d, 128));
	case 4: return arena_printf(d->a, "(f32(f16(%s)) - %d.0)", at, pick(d, 128));
	default: return arena_printf(d->a, "f32(i32(%s) - i32(%d))", at, pick(d, 128));
	}
}

/* The same times a scale: of the whole tensor, or of the index `own`. `of`: the tensor `name`, or a copy of it. */
static const char *dequantized(struct draw *d, const char *of, const char *name, const char *index, const char *own)
{
	const char *at = arena_printf(d->a, "%s[%s]", of, index);
	const char *x = centred(d, at, arena_printf(d->a, "zero_%s[]", name));
	switch (pick(d, 5)) {
	case 0: return x;
	case 1: return arena_printf(d->a, "%s * 0.0625", x);
	case 2: return arena_printf(d->a, "%s / 8.0", x);
	case 3: return arena_printf(d->a, "step_%s[%s] * %s", name, own, x);
	default: return arena_printf(d->a, "0.5 * (step_%s[%s] * %s)", name, own, x);
	}
}

/* An operand of the product, in which the reduced axis is r: in place, or a map's element. */
static const char *operand(struct draw *d, struct str *maps, int side, bool left)
{
	const char *name = side ? "weight" : "x", *axis = side ? "j" : "i";
	const char *index = arena_printf(d->a, left ? "%s, r" : "r, %s", axis);
	const char *condition = one_of(d, "", "r < 20", "3 <= r");
	static const char *const shape[2][2] = { { "24,5", "5,24" }, { "24,7", "7,24" } };
	int how = pick(d, 3);
	const char *own = left ? "i, j" : "j, i";
	if (how) {
		const char *of = name;
		if (how == 2) { /* a cast of its own */
			of = arena_printf(d->a, "%s_cast", name);
			str_printf(maps, "  %s: f32[%s] = map (i, j) f32(%s[i, j])\n", of, shape[side][left], name);
		}
		const char *value = dequantized(d, of, name, own, "i");
		str_printf(maps, "  %s_real: f32[%d,%d] = map (i, j) %s\n", name, side ? COLUMNS : ROWS, DEPTH, value);
		index = arena_printf(d->a, "%s_real[%s, r]", name, axis);
	} else {
		index = dequantized(d, name, name, index, axis);
	}
	return *condition ? arena_printf(d->a, "select(%s, %s, 0.0)", condition, index)
	                  : arena_printf(d->a, "(%s)", index);
}

static int evaluate(const struct ir_program *p, struct tensor *out, struct arena *a, struct err *e)
{
	struct tensor x[6];
	const struct tensor *in[6];
	for (int i = 0; i < 6; i++) {
		const struct ir_buffer *b = p->inputs.at[i];
		int64_t dims[2];
		for (int k = 0; k < b->rank; k++)
			ir_const_int(b->dim[k], &dims[k]);
		TRY(tensor_new(&x[i], b->type, b->rank, dims, a, e));
		tensor_random(&x[i], 5 + i, b->type == TYPE_U8 ? 0 : -100, b->type == TYPE_U8 ? 200 : 100);
		for (int64_t k = 0; b->type == TYPE_F32 && k < tensor_count(&x[i]); k++)
			tensor_set_float(&x[i], k, k % 2 ? 0.25 : 2);
		in[i] = &x[i];
	}
	return eval_program(p, in, out, NULL, a, e);
}

static void check_same(const char *text, bool quantised, struct arena *a)
{
	struct ir_program *p, *q;
	struct err e = { 0 };
	struct tensor before, after;
	if (ir_parse_program(&p, text, a, &e) < 0 || ir_parse_program(&q, text, a, &e) < 0 ||
	    ir_optimise(q, NULL, NULL, &e) < 0 || evaluate(p, &before, a, &e) < 0 || evaluate(q, &after, a, &e) < 0) {
		printf("%s%s\n%s", e.where, e.text, text);
		CHECK(!"the program passes");
		return;
	}
	bool same = memcmp(before.data, after.data, (size_t)tensor_bytes(&before)) == 0;
	bool as_wanted = false;
	vec_each (s, &q->stages)
		as_wanted |= (*s)->kind == IR_REDUCE && ((*s)->value->type == TYPE_I32 || ir_sums_f8(*s)) == quantised;
	if (!test_check(same, __FILE__, __LINE__, "the same before and after the passes") ||
	    !test_check(as_wanted, __FILE__, __LINE__, "the type of the sums")) {
		struct str s = str_new(a);
		ir_print_program(&s, q);
		printf("%s%s", text, str_text(&s));
	}
}

static void drawn(struct draw *d)
{
	struct str maps = str_new(d->a);
	const char *t[] = { one_of(d, "u8", "i8", "u8"), one_of(d, "i8", "u8", "i8") };
	bool left[] = { pick(d, 2), pick(d, 2) };
	const char *x = operand(d, &maps, 0, left[0]), *w = operand(d, &maps, 1, left[1]);
	const char *product = pick(d, 2) ? arena_printf(d->a, "%s * %s", x, w)
	                                 : arena_printf(d->a, "select(1 <= r, %s * %s, 0.0)", w, x);
	const char *post = one_of(d, "", " then it + 1.0", " then max(it * 0.5, 0.0)");
	const char *shape_x = left[0] ? "5,24" : "24,5", *shape_w = left[1] ? "7,24" : "24,7";
	const char *text = arena_printf(d->a,
	                                "program t(x: %s[%s], weight: %s[%s], zero_x: %s[], zero_weight: %s[], step_x: "
	                                "f32[5], step_weight: f32[7]) -> (y: "
	                                "f32[5,7])\n%s  y: f32[5,7] = sum (i, j | r<24) %s%s\n",
	                                t[0], shape_x, t[1], shape_w, t[0], t[1], str_text(&maps), product, post);
	check_same(text, true, d->a);
}

/* 8-bit floats, in place and through maps, with scales and conditions. */
static void floats_of_bytes(struct arena *a)
{
	static const char *const value[] = {
		"f32(x[i, r]) * (step_weight[j] * f32(weight[r, j]))",
		"select(r < 20, f32(f16(x[i, r])) * 0.5, 0.0) * (f32(weight[r, j]) / 8.0)",
		"select(3 <= r, step_x[i] * f32(x[i, r]) * real[j, r], 0.0)",
	};
	for (size_t i = 0; i < sizeof value / sizeof *value; i++)
		for (int mixed = 0; mixed < 2; mixed++)
			check_same(arena_printf(
			                   a,
			                   "program t(x: f8e4m3fn[5,24], weight: %s[24,7], zero_x: u8[], zero_weight: "
			                   "i8[], step_x: f32[5], step_weight: f32[7]) -> (y: f32[5,7])\n"
			                   "  real: f32[7,24] = map (i, j) f32(weight[j, i]) * step_weight[i]\n"
			                   "  y: f32[5,7] = sum (i, j | r<24) %s\n",
			                   mixed ? "f8e5m2" : "f8e4m3fn", value[i]),
			           true, a);
}

/* Sums that must stay as they are. */
static void refused(struct arena *a)
{
	static const char *const value[] = {
		"f32(x[i, r]) * step_x[mod(r, 5)] * f32(weight[r, j])", /* a scale along the sum */
		"f32(x[i, r]) * f32(weight[r, j]) * f32(x[i, r])",      /* three factors */
		"f32(x[i, r]) * (f32(weight[r, j]) + step_weight[j])",  /* no zero point */
		"f32(x[i, r]) * (f32(weight[r, j]) - 0.5)",
		"f32(x[i, r]) * step_weight[j]",
		"select(r < 20, f32(x[i, r]), 1.0) * f32(weight[r, j])", /* not zero elsewhere */
	};
	for (size_t i = 0; i < sizeof value / sizeof *value; i++)
		check_same(arena_printf(
		                   a,
		                   "program t(x: u8[5,24], weight: i8[24,7], zero_x: u8[], zero_weight: i8[], step_x: "
		                   "f32[5], step_weight: f32[7]) -> (y: f32[5,7])\n  y: f32[5,7] = sum (i, j | r<24) "
		                   "%s\n",
		                   value[i]),
		           false, a);
	/* Sums that may exceed an i32. */
	for (int k = 0; k < 2; k++) {
		int depth = k ? 66000 : 65000;
		check_same(arena_printf(
		                   a,
		                   "program t(x: u8[1,%d], weight: i8[%d,1], zero_x: u8[], zero_weight: i8[], step_x: "
		                   "f32[5], step_weight: f32[7]) -> (y: f32[1,1])\n  y: f32[1,1] = sum (i, j | r<%d) "
		                   "f32(x[i, r]) * f32(weight[r, j])\n",
		                   depth, depth, depth),
		           k == 0, a);
	}
}

int main(void)
{
	struct draw d = { .state = 1, .a = arena_new() };
	const char *given = getenv("UNSCALE_TEST");
	unsigned long long seed = 1;
	int count = 300;
	if (given && sscanf(given, "%llu,%d", &seed, &count) < 1)
		count = 0;
	d.state = seed;
	number_use_c_locale();
	for (int i = 0; i < count; i++)
		drawn(&d);
	floats_of_bytes(d.a);
	refused(d.a);
	arena_free(d.a);
	return test_done();
}
