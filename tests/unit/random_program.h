/* Random programs of all kinds of integer stages, including nested loops: "program random(x: i32[N,K], q: i32[K]) ->
 * (...)". random_state decides which. */
#ifndef TPAT_TESTS_UNIT_RANDOM_PROGRAM_H
#define TPAT_TESTS_UNIT_RANDOM_PROGRAM_H

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"

static uint64_t random_state;

static inline int pick(int n)
{
	random_state = hash_u64(random_state, 0x9e3779b97f4a7c15u);
	return (int)(random_state % (uint64_t)n);
}

enum { BUFFERS = 24, SHAPES = 7 };

/* Shapes over N and K, and how a reader over [i < N, j < K] (or r for j) indexes them. */
static const struct {
	const char *dims, *axes;
	const char *index, *other; /* index of element (i, j); of another element */
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
	int names; /* used so far */
	int loops; /* enclosing, and in total */
	int all_loops;
};

static inline const char *load(struct text *t, const char *i, const char *j)
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

static inline const char *value(struct text *t, const char *i, const char *j, int depth)
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

static inline void loop(struct text *t, bool output);

static inline void name_it(struct text *t, int b, int s)
{
	snprintf(t->name[b], sizeof t->name[b], "b%d", t->names++);
	t->shape[b] = s;
}

static inline void also_output(struct text *t, const char *name, const char *extents)
{
	str_printf(&t->outputs, "%s%s: i32[%s]", t->outputs.n ? ", " : "", name, extents);
}

/* The axes for N and K in a buffer of the shape; null if it lacks them. */
static inline const char *axis_of_n(int s)
{
	return s == 2 || s == 4 || s == 6 ? NULL : s == 5 ? "j" : "i";
}
static inline const char *axis_of_k(int s)
{
	return s == 2 || s == 5 ? "i" : s == 0 || s == 4 ? "j" : NULL;
}

/* A stage that makes a new buffer of some shape. */
static inline void stage(struct text *t, bool output)
{
	static const char *const combine[] = { "sum", "max", "min", "prod" };
	int s = pick(SHAPES), kind = pick(8), b = t->n;
	if (pick(6) == 0 && t->loops < 2) {
		loop(t, output);
		return;
	}
	bool has_i = s != 2 && s != 4 && s != 6, has_j = s != 1 && s != 3 && s != 6;
	/* N is the first axis of all shapes but K and [K,N]; a missing axis is reduced, or zero. */
	const char *i = axis_of_n(s), *j = axis_of_k(s);
	name_it(t, b, s);
	struct str *o = &t->body;
	str_printf(o, "  %s: i32[%s] = ", t->name[b], shape[s].dims);
	if (kind == 0 && s == 0) {
		str_printf(o, "scatter %s (i, j | r<N, s<K) init %s at [mod(r * 2, N), s] value %s%s\n",
		           pick(2) ? "sum" : "max", value(t, "i", "j", 1), value(t, "r", "s", 2),
		           pick(2) ? " where 1 <= r" : "");
	} else if (kind < 3 && !(has_i && has_j)) {
		const char *missing = i ? "K" : j ? "N" : "N", *axis = "r";
		bool both = !i && !j;
		str_printf(o, "%s (%s | r<%s%s) %s", combine[pick(4)], shape[s].axes, missing, both ? ", s<K" : "",
		           value(t, i ? i : axis,
		                 j      ? j
		                 : both ? "s"
		                        : axis,
		                 2));
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

static inline bool full(const struct text *t)
{
	return t->n > BUFFERS - 4;
}

/* The next value of state `k`: another state, any visible buffer of its shape, or a new one. */
static inline const char *next_value(struct text *t, int k)
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

static inline const char *first_element(struct text *t, int b)
{
	int s = t->shape[b];
	bool both = strchr(shape[s].dims, ',') != NULL;
	return arena_printf(t->arena, "%s[%s]", t->name[b], both ? "0, 0" : *shape[s].dims ? "0" : "");
}

/* A loop of three iterations or, with a condition, fewer; later stages can read its states. */
static inline void loop(struct text *t, bool output)
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
	bool ends = pick(3) == 0;
	if (ends)
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
	if (output && t->loops == 1 && !ends) { /* elements that no iteration collects are undefined */
		int from = pick(t->n);
		char *name = arena_printf(t->arena, "b%d", t->names++);
		const char *dims = shape[t->shape[from]].dims;
		const char *extents = arena_printf(t->arena, "%s%s", *dims ? "3," : "3", dims);
		str_printf(o, "  collect %s: i32[%s] at %s = %s\n", name, extents, pick(2) ? "turn0" : "2 - turn0",
		           t->name[from]);
		also_output(t, name, extents);
	}
	str_add(o, "  }\n");
	t->loops--;
	t->n = first + states;
	if (output && pick(2))
		also_output(t, t->name[first], shape[t->shape[first]].dims);
}

static inline const char *random_text(struct arena *a)
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
	return arena_printf(a, "program random(x: i32[N,K], q: i32[K]) -> (%s)\n%s", str_text(&t.outputs),
	                    str_text(&t.body));
}

#endif
