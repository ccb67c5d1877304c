/* The passes keep what a program computes: random chains of stages before and after ir_optimise, on the interpreter. All
 * arithmetic is in integers, so that results must be equal. PASS_TEST=seed,count: other or more programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "ir/ir.h"
#include "tests/unit/test.h"

static uint64_t state;

static int pick(int n)
{
	state = hash_u64(state, 0x9e3779b97f4a7c15u);
	return (int)(state % (uint64_t)n);
}

enum { BUFFERS = 24, SHAPES = 7 };

/* Shapes over N and K, and how a reader over [i < N, j < K] (or r for j) indexes them. */
static const struct {
	const char *dims, *axes;
	const char *index, *other; /* as the element at (i, j); another element */
} shape[SHAPES] = {
	{ "N,K", "i, j", "%s, %s", "N - 1 - %s, %s" },
	{ "N", "i", "%s", "N - 1 - %s" },
	{ "K", "i", "%2$s", "mod(%2$s * 3 + 1, K)" },
	{ "N,1", "i, j", "%s, 0", "mod(%s + 1, N), 0" },
	{ "1,K", "i, j", "0, %2$s", "0, K - 1 - %2$s" },
	{ "K,N", "i, j", "%2$s, %1$s", "K - 1 - %2$s, %1$s" },
	{ "", "", "", "" },
};

struct text {
	struct arena *arena;
	struct str body, outputs;
	char name[BUFFERS][8];
	int shape[BUFFERS], n;
	int names; /* given so far */
	int loops; /* around, and in all */
	int all_loops;
};

static const char *load(struct text *t, const char *i, const char *j)
{
	int b = pick(t->n), s = t->shape[b];
	const char *format = pick(3) ? shape[s].index : shape[s].other;
	struct str out = str_new(t->arena);
	str_printf(&out, "%s[", t->name[b]);
	for (int first = 1; *format; format++) {
		if (*format != '%') {
			str_addn(&out, format, 1);
		} else if (format[1] == 's') {
			str_add(&out, first ? i : j);
			first = 0;
			format++;
		} else {
			str_add(&out, format[1] == '1' ? i : j);
			format += 3;
		}
	}
	str_add(&out, "]");
	return str_text(&out);
}

static const char *value(struct text *t, const char *i, const char *j, int depth)
{
	const char *a, *b;
	if (depth == 0 || pick(5) == 0)
		return pick(6)               ? load(t, i, j)
		       : t->loops && pick(2) ? arena_printf(t->arena, "i32(turn%d)", t->loops - 1)
		                             : arena_printf(t->arena, "i32(%s)", pick(2) ? i : j);
	a = value(t, i, j, depth - 1);
	b = value(t, i, j, depth - 1);
	switch (pick(6)) {
	case 0: return arena_printf(t->arena, "(%s + %s)", a, b);
	case 1: return arena_printf(t->arena, "(%s * i32(3) - %s)", a, b);
	case 2: return arena_printf(t->arena, "select(%s < 2, %s, %s)", pick(2) ? i : j, a, b);
	case 3: return arena_printf(t->arena, "max(%s, %s)", a, b);
	case 4: return arena_printf(t->arena, "i32(u8(%s))", a);
	default: return arena_printf(t->arena, "rem(%s * %s, i32(1009))", a, b);
	}
}

static void loop(struct text *t, bool output);

static void name_it(struct text *t, int b, int s)
{
	snprintf(t->name[b], sizeof t->name[b], "b%d", t->names++);
	t->shape[b] = s;
}

static void also_output(struct text *t, const char *name, const char *extents)
{
	str_printf(&t->outputs, "%s%s: i32[%s]", t->outputs.n ? ", " : "", name, extents);
}

/* The axes that stand for N and K in a buffer of the shape; null where it has none. */
static const char *axis_of_n(int s)
{
	return s == 2 || s == 4 || s == 6 ? NULL : s == 5 ? "j" : "i";
}
static const char *axis_of_k(int s)
{
	return s == 2 || s == 5 ? "i" : s == 0 || s == 4 ? "j" : NULL;
}

/* A stage that makes a new buffer of some shape. */
static void stage(struct text *t, bool output)
{
	static const char *const combine[] = { "sum", "max", "min", "prod" };
	int s = pick(SHAPES), kind = pick(8), b = t->n;
	if (pick(6) == 0 && t->loops < 2) {
		loop(t, output);
		return;
	}
	bool has_i = s != 2 && s != 4 && s != 6, has_j = s != 1 && s != 3 && s != 6;
	/* N runs on the first axis of all shapes but K and [K,N]; what the shape lacks is reduced, or zero. */
	const char *i = axis_of_n(s), *j = axis_of_k(s);
	name_it(t, b, s);
	struct str *o = &t->body;
	str_printf(o, "  %s: i32[%s] = ", t->name[b], shape[s].dims);
	if (kind == 0 && s == 0) {
		str_printf(o, "scatter %s (i, j | r<N, s<K) init %s at [mod(r * 2, N), s] value %s%s\n", pick(2) ? "sum" : "max",
			   value(t, "i", "j", 1), value(t, "r", "s", 2), pick(2) ? " where 1 <= r" : "");
	} else if (kind < 3 && !(has_i && has_j)) {
		const char *missing = i ? "K" : j ? "N" : "N", *axis = "r";
		bool both = !i && !j;
		str_printf(o, "%s (%s | r<%s%s) %s", combine[pick(4)], shape[s].axes, missing, both ? ", s<K" : "",
			   value(t, i ? i : axis, j ? j : both ? "s" : axis, 2));
		if (pick(2))
			str_printf(o, " then it * i32(2) + %s", value(t, i ? i : "0", j ? j : "0", 1));
		str_add(o, "\n");
	} else {
		str_printf(o, "map (%s) %s\n", shape[s].axes, value(t, i ? i : "0", j ? j : "0", 2));
	}
	if (output)
		also_output(t, t->name[b], shape[s].dims);
	t->n++;
}

static bool full(const struct text *t)
{
	return t->n > BUFFERS - 4;
}

/* The next value of state `k`: another state, a buffer from anywhere of its shape, or one of its own. */
static const char *next_value(struct text *t, int k)
{
	int s = t->shape[k], other = pick(t->n);
	const char *i = axis_of_n(s), *j = axis_of_k(s);
	if (pick(2) && t->shape[other] == s)
		return t->name[other];
	char *name = arena_printf(t->arena, "b%d", t->names++);
	str_printf(&t->body, "  %s: i32[%s] = map (%s) %s\n", name, shape[s].dims, shape[s].axes,
		   value(t, i ? i : "0", j ? j : "0", 2));
	return name;
}

static const char *first_element(struct text *t, int b)
{
	int s = t->shape[b];
	bool both = strchr(shape[s].dims, ',') != NULL;
	return arena_printf(t->arena, "%s[%s]", t->name[b], both ? "0, 0" : *shape[s].dims ? "0" : "");
}

/* A loop of three turns or, with a condition, fewer; behind it its states are there to be read. */
static void loop(struct text *t, bool output)
{
	int first = t->n, states = 1 + pick(3), body = 1 + pick(4), s;
	const char *next[3], *i, *j, *inits[3];
	struct str *o = &t->body;
	if (t->n + states + 1 > BUFFERS - 4)
		states = 1;
	for (int k = 0; k < states; k++) {
		s = pick(SHAPES);
		i = axis_of_n(s);
		j = axis_of_k(s);
		inits[k] = value(t, i ? i : "0", j ? j : "0", 1);
		name_it(t, first + k, s);
	}
	str_printf(o, "  loop turn%d<3", t->loops);
	if (pick(3) == 0)
		str_printf(o, " while %s < i32(40)", first_element(t, first));
	str_add(o, " {\n");
	for (int k = 0; k < states; k++)
		str_printf(o, "  carry %s: i32[%s] (%s) %s\n", t->name[first + k], shape[t->shape[first + k]].dims,
			   shape[t->shape[first + k]].axes, inits[k]);
	t->n = first + states;
	t->loops++;
	for (int k = 0; k < body && !full(t); k++)
		stage(t, false);
	for (int k = 0; k < states; k++)
		next[k] = next_value(t, first + k);
	for (int k = 0; k < states; k++)
		str_printf(o, "  next %s = %s\n", t->name[first + k], next[k]);
	if (output && t->loops == 1) {
		int from = pick(t->n);
		char *name = arena_printf(t->arena, "b%d", t->names++);
		const char *dims = shape[t->shape[from]].dims;
		const char *extents = arena_printf(t->arena, "%s%s", *dims ? "3," : "3", dims);
		str_printf(o, "  collect %s: i32[%s] at %s = %s\n", name, extents, pick(2) ? "turn0" : "2 - turn0", t->name[from]);
		also_output(t, name, extents);
	}
	str_add(o, "  }\n");
	t->loops--;
	t->n = first + states;
	if (output && pick(2))
		also_output(t, t->name[first], shape[t->shape[first]].dims);
}

static const char *random_text(struct arena *a)
{
	struct text t = { .arena = a, .body = str_new(a), .outputs = str_new(a), .n = 2 };
	int stages = 2 + pick(12);
	strcpy(t.name[0], "x");
	strcpy(t.name[1], "q");
	t.shape[0] = 0;
	t.shape[1] = 2;
	for (int k = 0; k < stages && !full(&t); k++)
		stage(&t, k + 1 == stages || pick(5) == 0);
	if (!t.outputs.n) {
		also_output(&t, "last", "N");
		str_printf(&t.body, "  last: i32[N] = map (i) %s\n", value(&t, "i", "0", 1));
	}
	return arena_printf(a, "program random(x: i32[N,K], q: i32[K]) -> (%s)\n%s", str_text(&t.outputs), str_text(&t.body));
}

/* ---- */

static int evaluate(const struct ir_program *p, int64_t n, int64_t k, struct tensor *out, struct arena *a, struct err *e)
{
	struct tensor x, q;
	const struct tensor *in[] = { &x, &q };
	const int64_t dims[] = { n, k };
	TRY(tensor_new(&x, TYPE_I32, 2, dims, a, e));
	TRY(tensor_new(&q, TYPE_I32, 1, dims + 1, a, e));
	tensor_random(&x, 5, -9, 9);
	tensor_random(&q, 6, -9, 9);
	return eval_program(p, in, out, NULL, a, e);
}

static const char *print(struct arena *a, const struct ir_program *p)
{
	struct str s = str_new(a);
	ir_print_program(&s, p);
	return str_text(&s);
}

static void compare(const char *text, struct arena *a)
{
	static const int64_t sizes[][2] = { { 4, 6 }, { 1, 1 }, { 3, 1 }, { 1, 5 } };
	struct ir_program *p, *q;
	struct err e = { 0 };
	if (ir_parse_program(&p, text, a, &e) < 0 || ir_parse_program(&q, text, a, &e) < 0 || ir_optimise(q, NULL, NULL, &e) < 0) {
		printf("%s%s\n%s", e.where, e.text, text);
		CHECK(!"the program passes");
		return;
	}
	CHECK(q->stages.n <= p->stages.n);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct tensor before[BUFFERS], after[BUFFERS];
		bool fine = evaluate(p, sizes[s][0], sizes[s][1], before, a, &e) == 0 &&
			    evaluate(q, sizes[s][0], sizes[s][1], after, a, &e) == 0;
		for (int i = 0; i < p->outputs.n && fine; i++)
			fine = tensor_same_shape(&before[i], &after[i]) &&
			       memcmp(before[i].data, after[i].data, (size_t)tensor_bytes(&before[i])) == 0;
		if (!test_check(fine, __FILE__, __LINE__, "the same before and after the passes")) {
			printf("%s\n%s%s", e.text, text, print(a, q));
			return;
		}
	}
}

/* What each pass is for, on programs that tempt it to go wrong. */
static void chosen(struct arena *a)
{
	static const char head[] = "program p(x: i32[N,K], q: i32[K]) -> ";
	static const struct {
		const char *text;
		int stages; /* that remain */
	} cases[] = {
		/* an output is read later: it stays, and is read or computed again */
		{ "(b: i32[N,K], c: i32[N,K])\n"
		  "  b: i32[N,K] = map (i, j) x[i, j] + q[j]\n"
		  "  c: i32[N,K] = map (i, j) b[i, j] * i32(2)\n", 2 },
		/* equal stages, of which one or both are outputs */
		{ "(b: i32[N], c: i32[N])\n"
		  "  a: i32[N] = sum (i | r<K) x[i, r]\n"
		  "  b: i32[N] = sum (i | r<K) x[i, r]\n"
		  "  c: i32[N] = map (i) a[i] * b[i]\n", 2 },
		{ "(b: i32[N], c: i32[N])\n"
		  "  b: i32[N] = sum (i | r<K) x[i, r]\n"
		  "  c: i32[N] = sum (i | r<K) x[i, r]\n", 2 },
		/* a reduction's reader also reads what is made in between */
		{ "(c: i32[N])\n"
		  "  a: i32[N] = sum (i | r<K) x[i, r]\n"
		  "  b: i32[N] = max (i | r<K) x[i, r]\n"
		  "  c: i32[N] = map (i) a[i] * b[i] + b[N - 1 - i]\n", 2 },
		/* the reader reads the sum elsewhere too: no post expression */
		{ "(c: i32[N])\n"
		  "  a: i32[N] = sum (i | r<K) x[i, r]\n"
		  "  c: i32[N] = map (i) a[i] - a[N - 1 - i]\n", 2 },
		/* a scatter whose base and whose updates come from one map */
		{ "(c: i32[N,K])\n"
		  "  a: i32[N,K] = map (i, j) x[i, j] + q[j]\n"
		  "  c: i32[N,K] = scatter sum (i, j | r<N, s<K) init a[i, j] at [N - 1 - r, s] value a[r, s]\n", 1 },
		/* nothing reads it */
		{ "(c: i32[N])\n"
		  "  a: i32[N,K] = map (i, j) x[i, j] + q[j]\n"
		  "  b: i32[N] = sum (i | r<K) a[i, r]\n"
		  "  c: i32[N] = map (i) i32(i)\n", 1 },
		/* a heavy map that many read is stored */
		{ "(c: i32[N,K])\n"
		  "  a: i32[K] = map (i) pow(pow(pow(q[i], q[i]), q[i]), q[i])\n"
		  "  c: i32[N,K] = map (i, j) a[j] + x[i, j]\n", 2 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = arena_printf(a, "%s%s", head, cases[i].text);
		struct ir_program *p;
		struct err e = { 0 };
		compare(text, a);
		if (ir_parse_program(&p, text, a, &e) < 0 || ir_optimise(p, NULL, NULL, &e) < 0)
			continue; /* compare said it */
		if (!test_check(p->stages.n == cases[i].stages, __FILE__, __LINE__, "stages that remain"))
			printf("%s", print(a, p));
	}
}

int main(void)
{
	const char *setting = getenv("PASS_TEST");
	unsigned long seed = 1, count = 300;
	if (setting)
		sscanf(setting, "%lu,%lu", &seed, &count);
	state = seed;
	for (unsigned long i = 0; i < count && test_failed < 5; i++) {
		struct arena *a = arena_new();
		compare(random_text(a), a);
		arena_free(a);
	}
	struct arena *a = arena_new();
	chosen(a);
	arena_free(a);
	return test_done();
}
