/* A case's program with each symbol's extents rewritten: K as 4 * D_K + 1, D_K + E_K, floordiv(D_K, 3) ..., and shapes
 * that bind the new symbols so that the extents are as listed, or the next ones possible for the form. Added first
 * inputs have the new symbols as extents. random_state (random_program.h) picks the forms. */
#ifndef TPAT_TESTS_EXTENT_FORMS_H
#define TPAT_TESTS_EXTENT_FORMS_H

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"
#include "tests/schedule/schedule_case.h"
#include "tests/unit/random_program.h"

enum { FORM_SHAPES = 6 };

enum form_kind {
	FORM_SAME,
	FORM_TIMES,
	FORM_LINE,
	FORM_SUM,
	FORM_PRODUCT,
	FORM_FLOOR,
	FORM_CEIL,
	FORM_WHOLE,
	FORM_LESS,
	FORMS
};

struct form {
	enum form_kind kind;
	int64_t by, plus;
	const char *symbol; /* the case's */
};

static inline struct form form_draw(const char *symbol)
{
	static const int by[] = { 2, 3, 4, 8, 16 };
	struct form f = { .kind = (enum form_kind)pick(FORMS), .by = by[pick(5)], .symbol = symbol };
	f.plus = 1 + pick((int)f.by - 1 < 4 ? (int)f.by - 1 : 4);
	if (f.kind == FORM_LINE && pick(2))
		f.plus = f.by / 2;
	return f;
}

static inline bool form_has_two(const struct form *f)
{
	return f->kind == FORM_SUM || f->kind == FORM_PRODUCT;
}

static inline const char *form_text(const struct form *f, struct arena *a)
{
	long long by = f->by, plus = f->plus;
	const char *s = f->symbol;
	switch (f->kind) {
	case FORM_TIMES: return arena_printf(a, "(%lld * D_%s)", by, s);
	case FORM_LINE: return arena_printf(a, "(%lld * D_%s + %lld)", by, s, plus);
	case FORM_SUM: return arena_printf(a, "(D_%s + E_%s)", s, s);
	case FORM_PRODUCT: return arena_printf(a, "(D_%s * E_%s)", s, s);
	case FORM_FLOOR: return arena_printf(a, "floordiv(D_%s, %lld)", s, by);
	case FORM_CEIL: return arena_printf(a, "(floordiv(D_%s - 1, %lld) + 1)", s, by);
	case FORM_WHOLE: return arena_printf(a, "(floordiv(D_%s, %lld) * %lld)", s, by, by);
	case FORM_LESS: return arena_printf(a, "max(D_%s - %lld, 0)", s, plus);
	default: return arena_printf(a, "D_%s", s);
	}
}

/* Values of the form's symbols for an extent of at least `value`, " D_K=5 E_K=2". */
static inline void form_bind(const struct form *f, int64_t value, struct str *out)
{
	int64_t up = (value + f->by - 1) / f->by, d = value, e = 0;
	switch (f->kind) {
	case FORM_TIMES: d = up; break;
	case FORM_LINE: d = value <= f->plus ? 0 : (value - f->plus + f->by - 1) / f->by; break;
	case FORM_SUM:
		d = value ? pick((int)value + 1) : 0;
		e = value - d;
		break;
	case FORM_PRODUCT:
		d = 1 + pick(3);
		e = (value + d - 1) / d;
		break;
	case FORM_FLOOR: d = value * f->by + pick((int)f->by); break;
	case FORM_CEIL: d = value ? value * f->by - pick((int)f->by) : 0; break;
	case FORM_WHOLE: d = up * f->by + pick((int)f->by); break;
	case FORM_LESS: d = value ? value + f->plus : pick((int)f->plus + 1); break;
	default: break;
	}
	str_printf(out, "%sD_%s=%" PRId64, out->n ? " " : "", f->symbol, d);
	if (form_has_two(f))
		str_printf(out, " E_%s=%" PRId64, f->symbol, e);
}

/* True if the name at `at` is an extent: a whole word that is not a buffer's name. */
static inline bool form_is_symbol(const char *text, const char *at, const char *symbol)
{
	size_t n = strlen(symbol);
	if (strncmp(at, symbol, n) != 0 || (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) ||
	    isalnum((unsigned char)at[n]) || at[n] == '_')
		return false;
	return at[n] != '[' && at[n] != ':' && at[n] != '(';
}

/* The forms' symbols for the extents `listed`, "N=5 K=7"; `drawn`: with 0, 1, primes and multiples of vector widths for
 * some. */
static inline const char *form_shapes(const struct form *form, int n, const char *listed, bool drawn, struct arena *a)
{
	static const int other[] = { 0, 1, 2, 3, 5, 7, 8, 13, 16, 17, 24, 31, 32, 40, 61, 64 };
	struct str bound = str_new(a);
	for (int i = 0; i < n; i++) {
		const char *at = listed;
		while (*at && !form_is_symbol(listed, at, form[i].symbol))
			at++;
		int64_t value = strtoll(at + strlen(form[i].symbol) + 1, NULL, 10);
		if (drawn && pick(2))
			value = other[pick(sizeof other / sizeof *other)];
		form_bind(&form[i], value, &bound);
	}
	return str_text(&bound);
}

/* The case with forms of its extents; `sample`: with two random shapes instead of all of the case's. */
static inline struct schedule_case form_case(const struct schedule_case *c, const char *name, bool sample,
                                             struct arena *a)
{
	struct form form[16];
	int n = 0, shapes = 0;
	struct schedule_case out = { .name = name };
	struct str text = str_new(a);
	for (const char *s = c->shapes[0]; *s; s += *s == ' ') {
		size_t length = strcspn(s, "=");
		form[n++] = form_draw(arena_strndup(a, s, length));
		s += length + strcspn(s + length, " ");
	}
	const char *begin = c->program + strcspn(c->program, "(") + 1;
	str_addn(&text, c->program, (size_t)(begin - c->program));
	for (int i = 0; i < n; i++) {
		str_printf(&text, "d_%d: u8[D_%s], ", i, form[i].symbol);
		if (form_has_two(&form[i]))
			str_printf(&text, "e_%d: u8[E_%s], ", i, form[i].symbol);
	}
	if (*begin == ')' && n)
		text.n -= 2;
	for (const char *s = begin; *s;) {
		int which = -1;
		for (int i = 0; i < n && which < 0; i++)
			which = form_is_symbol(c->program, s, form[i].symbol) ? i : -1;
		if (which < 0) {
			str_addn(&text, s++, 1);
			continue;
		}
		str_add(&text, form_text(&form[which], a));
		s += strlen(form[which].symbol);
	}
	out.program = str_text(&text);
	int listed = 0;
	while (listed < FORM_SHAPES && c->shapes[listed])
		listed++;
	if (sample && listed) { /* one as listed, and one with other extents */
		out.shapes[shapes++] = form_shapes(form, n, c->shapes[pick(listed)], false, a);
		out.shapes[shapes++] = form_shapes(form, n, c->shapes[pick(listed)], true, a);
		return out;
	}
	for (; shapes < listed; shapes++)
		out.shapes[shapes] = form_shapes(form, n, c->shapes[shapes], false, a);
	return out;
}

#endif
