/* The constructors of expressions against a plain evaluator: random recipes are evaluated directly, and built through
 * the simplifying constructors; both must agree at every point. Likewise bounds, splits,
 * strides, copies, texts and hashes. SIMPLIFY_TEST=seed,count: other or more recipes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "tests/unit/recipe.h"
#include "tests/program/program_text.h"
#include "tests/unit/test.h"

/* ---- The environment of one recipe. */

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
		const struct recipe *s = numbered(w, IR_SYMBOL, pick(SYMBOLS)),
		                    *n = integer(w, TYPE_INDEX, 1 + pick(12));
		w->extent[k] = what < 2    ? n
		               : what == 2 ? s
		                           : recipe(w, what == 3 ? IR_ADD : IR_MUL, TYPE_INDEX, s, n, NULL);
	}
	return w;
}

/* False if an axis is empty: nothing is evaluated then. */
static bool draw_point(struct world *w, struct point *p, int number)
{
	bool any = true;
	for (int i = 0; i < SYMBOLS; i++)
		p->symbol[i] = number < 4 ? (number + i) % 3 : pick(3) ? pick(20) : pick(3000);
	for (int k = 0; k < AXES; k++) {
		p->extent[k] = evaluate(w, w->extent[k], p).i;
		int64_t n = p->extent[k];
		any &= n > 0;
		p->axis[k] = n <= 0            ? 0
		             : number % 4 == 0 ? n - 1
		             : number % 4 == 1 ? 0
		                               : (int64_t)(next_random() % (uint64_t)n);
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

/* Large numbers overflow 64 bits, which index arithmetic assumes to be wide enough. */
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

/* Some stages over random extents, with random expressions. */
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
		int split = pick(AXES), kind = pick(4); /* axes up to `split` are the result's, or all */
		enum type type = any_type(true);
		if (type == TYPE_INDEX)
			type = TYPE_F32;
		enum ir_role role = k + 1 == stages || pick(2) ? IR_OUTPUT : IR_TEMP;
		int rank = kind == 0 ? AXES : kind == 1 ? split : AXES;
		struct ir_buffer *out = ir_buffer_new(p, "y", type, rank, dim, role);
		struct ir_stage *s =
		        ir_stage_new(p, (enum ir_stage_kind[]){ IR_MAP, IR_REDUCE, IR_SCATTER, IR_SCAN }[kind], out);
		s->value = value_of(w, type, 4);
		if (kind == 3) {
			s->combine = IR_SUM + pick(4);
			s->axis = pick(AXES);
			s->exclusive = pick(2);
			s->reverse = pick(2);
		} else if (kind > 0) {
			s->combine = kind == 1 ? IR_SUM + pick(4) : pick(5);
			s->space_rank = kind == 1 ? AXES - split : AXES;
			for (int q = 0; q < s->space_rank; q++)
				s->space[q] = dim[AXES - s->space_rank + q];
		}
		if ((kind == 1 || kind == 3) && pick(2)) {
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
		bool begins =
		        c == text || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", c[-1]);
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
		{ "A", "Zeta" }, { "M", "A0" },     { "y", "w_out" },      { "x_f32", "a_in" },
		{ "B", "b" },    { "x_i64", "zz" }, { "random", "other" },
	};
	for (int i = 0; i < count && test_failed < 10; i++) {
		struct arena *a = arena_new();
		struct ir_program *p = random_program(a);
		struct err e = { 0 };
		if (ir_check(p, &e) < 0) {
			if (!strstr(e.text, "too large") &&
			    !test_check(0, __FILE__, __LINE__, "a random program is well formed"))
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
			/* Changing any number gives another program. */
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
		const char *text =
		        arena_printf(a, "%.*s%s%s", (int)(at - base), base, change[i][1], at + strlen(change[i][0]));
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

/* ---- tanh(log(1 + exp(x))) becomes a quotient: the same values, also where exp(x) overflows. */

static void count_tanh(void *user, expr e)
{
	*(int *)user += e->op == IR_TANH || e->op == IR_LOG1P;
}

static expr place_of_axis(void *user, struct ir_pool *pool, expr e, const expr *arg)
{
	(void)arg;
	return e->op == IR_AXIS ? ir_index(pool, *(const int64_t *)user) : NULL;
}

static void mish_factor(struct arena *a)
{
	enum { POINTS = 4001, MIDDLE = 2000 };
	struct ir_pool *pool = ir_program_new(a, "mish")->pool;
	expr at = ir_binary(IR_SUB, ir_axis(pool, 0, ir_index(pool, POINTS)), ir_index(pool, MIDDLE));
	expr x = ir_binary(IR_MUL, ir_cast(at, TYPE_F64), ir_float(pool, TYPE_F64, 0.5));
	expr zero = ir_float(pool, TYPE_F64, 0), u = ir_unary(IR_EXP, ir_unary(IR_NEG, ir_unary(IR_ABS, x)));
	expr most = ir_binary(IR_MAX, x, zero), e = ir_unary(IR_TANH, ir_binary(IR_ADD, most, ir_unary(IR_LOG1P, u)));
	int left = 0;
	ir_walk(e, count_tanh, &left);
	CHECK_INT(left, 0);
	for (int64_t i = 0; i < POINTS; i++) {
		double value = (double)(i - MIDDLE) * 0.5, want = tanh(fmax(value, 0) + log1p(exp(-fabs(value))));
		expr got = ir_copy(pool, e, place_of_axis, &i);
		CHECK(got->op == IR_CONST_FLOAT && fabs(got->f - want) <= 1e-14 * want);
	}
}

/* A position below N * M is in a row below N: no larger bound, which a kernel of 32-bit positions would refuse. */
static void rows_of_position(struct arena *a)
{
	struct ir_pool *pool = ir_program_new(a, "rows")->pool;
	expr n = ir_symbol(pool, "N"), m = ir_symbol(pool, "M"), one = ir_index(pool, 1);
	expr at = ir_axis(pool, 0, ir_binary(IR_MUL, n, m)), row = ir_binary(IR_FLOORDIV, at, m);
	CHECK(ir_upper_bound(row) == ir_binary(IR_SUB, n, one));
	expr start = ir_binary(IR_ADD, ir_binary(IR_MUL, row, m), ir_binary(IR_MOD, at, m));
	expr last = ir_binary(IR_SUB, ir_binary(IR_MUL, n, m), one);
	CHECK(ir_upper_bound(start) == last);
	/* Not whole rows: only the position's own bound is known. */
	expr some = ir_axis(pool, 0, n);
	CHECK(ir_upper_bound(ir_binary(IR_FLOORDIV, some, m)) == ir_binary(IR_SUB, n, one));
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
	mish_factor(a);
	rows_of_position(a);
	arena_free(a);
	return test_done();
}
