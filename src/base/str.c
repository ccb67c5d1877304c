/* Strings. See str.h. */
#include "base/str.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct str str_new(struct arena *a)
{
	return (struct str){ .arena = a };
}

static void room(struct str *s, size_t more)
{
	if (s->n + more + 1 <= s->cap)
		return;
	size_t cap = s->cap ? s->cap : 128;
	while (cap < s->n + more + 1)
		cap *= 2;
	char *at = arena_alloc(s->arena, cap);
	if (s->n)
		memcpy(at, s->at, s->n);
	s->at = at;
	s->cap = cap;
}

void str_addn(struct str *s, const char *text, size_t n)
{
	room(s, n);
	memcpy(s->at + s->n, text, n);
	s->n += n;
	s->at[s->n] = 0;
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_vprintf(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	room(s, (size_t)n);
	vsnprintf(s->at + s->n, (size_t)n + 1, fmt, again);
	s->n += (size_t)n;
	va_end(again);
}

void str_printf(struct str *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	str_vprintf(s, fmt, ap);
	va_end(ap);
}

void str_line(struct str *s, const char *fmt, ...)
{
	va_list ap;
	if (*fmt)
		for (int i = 0; i < s->indent; i++)
			str_add(s, "\t");
	va_start(ap, fmt);
	str_vprintf(s, fmt, ap);
	va_end(ap);
	str_add(s, "\n");
}

const char *str_text(struct str *s)
{
	return s->at ? s->at : "";
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);
	return n >= m && strcmp(s + n - m, suffix) == 0;
}

const char *str_shell(struct arena *a, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	if (*text && !text[strspn(text, plain)])
		return text;
	struct str s = str_new(a);
	str_add(&s, "'");
	for (const char *c = text; *c; c++)
		if (*c == '\'')
			str_add(&s, "'\\''");
		else
			str_addn(&s, c, 1);
	str_add(&s, "'");
	return str_text(&s);
}

int str_width(const char *text)
{
	int n = 0;
	for (const char *c = text; *c; c++)
		n += ((unsigned char)*c & 0xc0) != 0x80; /* not inside a character */
	return n;
}

char *str_identifier(struct arena *a, const char *name)
{
	char *out = arena_printf(a, "%s%s", !*name || isdigit((unsigned char)*name) ? "_" : "", name);
	for (char *p = out; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	return out;
}

static int edit_distance(const char *a, const char *b)
{
	enum { MAX = 64 };
	int n = (int)strlen(b), row[MAX + 1];
	if (n > MAX || strlen(a) > MAX)
		return MAX;
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		int diagonal = row[0];
		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int best = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

const char *str_closest(const char *name, const char *const *names)
{
	const char *best = NULL;
	int limit = (int)strlen(name) / 3 + 1, distance;
	for (; *names; names++) {
		if ((distance = edit_distance(name, *names)) <= limit) {
			limit = distance - 1;
			best = *names;
		}
	}
	return best;
}
