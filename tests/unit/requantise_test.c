/* Quantisations of dequantised numbers: with equal scales they become integer arithmetic, with others they stay, and
 * the results are the same for all numbers of 8 bits. Draws types, zero points, scales, and what is between.
 * REQUANTISE_TEST=seed,count: other or more programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "eval/eval.h"
#include "ir/ir.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

enum { ROWS = 64, COLUMNS = 4 /* together 256 */, KINDS = 8 };

struct draw {
	uint64_t state;
	struct arena *a;
};

static int pick(struct draw *d, int n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (int)((d->state >> 33) % (uint64_t)n);
}

static int evaluate(const struct ir_program *p, struct tensor *out, struct arena *a, struct err *e)
{
	const struct ir_buffer *b = p->inputs.at[0];
	struct tensor x;
	const struct tensor *in[] = { &x };
	TRY(tensor_new(&x, b->type, 2, (const int64_t[]){ ROWS, COLUMNS }, a, e));
	for (int k = 0; k < ROWS * COLUMNS; k++) /* each number once */
		((uint8_t *)x.data)[k] = (uint8_t)(k * 37);
	return eval_program(p, in, out, NULL, a, e);
}

static void find_float(void *user, expr e)
{
	*(bool *)user |= type_is_float(e->type);
}

static bool has_floats(const struct ir_program *p)
{
	bool any = false;
	vec_each (s, &p->stages) {
		ir_walk((*s)->value, find_float, &any);
		if ((*s)->post)
			ir_walk((*s)->post, find_float, &any);
	}
	return any;
}

static void check(const char *text, bool integers, struct arena *a)
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
	if (!test_check(same, __FILE__, __LINE__, "the same before and after the passes") ||
	    !test_check(!integers || !has_floats(q), __FILE__, __LINE__, "integers only")) {
		struct str s = str_new(a);
		ir_print_program(&s, q);
		printf("%s%s", text, str_text(&s));
	}
}

/* A scale of a model, a power of two, or one at the ends of f32's range, where the quotient is not exact. */
static const char *scale(struct draw *d, bool *usual)
{
	static const char *const far[] = { "1e-44", "3e-43", "1.2e-38", "2e+36", "3e+38" };
	int k = pick(d, 8);
	*usual = k > 0;
	if (!k)
		return far[pick(d, 5)];
	return k == 1 ? arena_printf(d->a, "%.9g", 0.5 / (1 << pick(d, 12)))
	              : arena_printf(d->a, "%.9g", (1 + pick(d, 1 << 20)) * 1e-7);
}

/* What is between: in buffer b, of the shape that it returns. *whole: it maps integers to integers and never falls. */
static const char *between(struct draw *d, struct str *out, const char *s, bool *whole)
{
	const char *none = "64,4";
	*whole = true;
	switch (pick(d, KINDS)) {
	case 0: str_add(out, "  b: f32[4,64] = map (i, j) a[j, i]\n"); return "4,64";
	case 1: str_add(out, "  b: f32[64,4] = map (i, j) max(a[i, j], 0.0)\n"); return none;
	case 2:
		str_printf(out, "  b: f32[64,4] = map (i, j) min(max(a[i, j], %d.0 * %s), %d.0 * %s)\n",
		           pick(d, 90) - 90, s, pick(d, 90), s);
		return none;
	case 3: str_add(out, "  b: f32[64,4] = map (i, j) select(i < 10, a[i, j], 0.0)\n"); return none;
	case 4: str_add(out, "  b: f32[64,1] = max (i, j | r<4) select(1 <= r, a[i, r], -inf)\n"); return "64,1";
	case 5: str_add(out, "  b: f32[64,1] = min (i, j | r<4) a[i, r]\n"); return "64,1";
	case 6: /* falls: whatever becomes of it */
		*whole = false;
		str_add(out, "  b: f32[64,4] = map (i, j) 0.0 - a[i, j]\n");
		return none;
	default: /* of two tensors */
		*whole = false;
		str_add(out, "  b: f32[64,4] = map (i, j) a[i, j] + a[i, 0]\n");
		return none;
	}
}

static void drawn(struct draw *d)
{
	bool usual, whole, equal = pick(d, 4), byte[] = { pick(d, 2), pick(d, 2) };
	const char *first = scale(d, &usual), *second = first;
	int zero[2], low = byte[1] ? 0 : -128;
	struct str b = str_new(d->a);
	for (int k = 0; k < 2; k++)
		zero[k] = pick(d, 256) - (byte[k] ? 0 : 128);
	if (!equal)
		second = scale(d, &usual);
	const char *shape = between(d, &b, first, &whole);
	const char *centred = pick(d, 2) ? arena_printf(d->a, "f32(i32(x[i, j]) - i32(%d))", zero[0])
	                                 : arena_printf(d->a, "(f32(x[i, j]) - f32(%d.0))", zero[0]);
	const char *text =
	        arena_printf(d->a,
	                     "program t(x: %s[64,4]) -> (y: %s[%s])\n  a: f32[64,4] = map (i, j) %s * %s\n%s"
	                     "  y: %s[%s] = map (i, j) %s(min(max(rint(b[i, j] / %s) + %d.0, %d.0), %d.0))\n",
	                     byte[0] ? "u8" : "i8", byte[1] ? "u8" : "i8", shape, centred, first, str_text(&b),
	                     byte[1] ? "u8" : "i8", shape, byte[1] ? "u8" : "i8", second, zero[1], low, low + 255);
	check(text, equal && usual && whole, d->a);
}

int main(void)
{
	struct draw d = { .state = 1, .a = arena_new() };
	const char *given = getenv("REQUANTISE_TEST");
	unsigned long long seed = 1;
	int count = 300;
	if (given && sscanf(given, "%llu,%d", &seed, &count) < 1)
		count = 0;
	d.state = seed;
	number_use_c_locale();
	for (int i = 0; i < count; i++)
		drawn(&d);
	arena_free(d.a);
	return test_done();
}
