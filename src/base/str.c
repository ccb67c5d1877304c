/* Strings. See str.h. */
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"

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

static void add_formatted(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	va_copy(again, ap);
	int n = number_vsnprintf(NULL, 0, fmt, ap);
	room(s, (size_t)n);
	number_vsnprintf(s->at + s->n, (size_t)n + 1, fmt, again);
	s->n += (size_t)n;
	va_end(again);
}

void str_printf(struct str *s, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add_formatted(s, fmt, ap);
	va_end(ap);
}

void str_line(struct str *s, const char *fmt, ...)
{
	va_list ap;
	if (*fmt)
		for (int i = 0; i < s->indent; i++)
			str_add(s, "\t");
	va_start(ap, fmt);
	add_formatted(s, fmt, ap);
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

/* Source: Unicode, table 3-7. */
int str_character(const char *at)
{
	const unsigned char *u = (const unsigned char *)at;
	unsigned char low = 0x80, high = 0xbf;
	int n = u[0] < 0x80                   ? 1
	        : u[0] >= 0xc2 && u[0] < 0xe0 ? 2
	        : (u[0] & 0xf0) == 0xe0       ? 3
	        : u[0] >= 0xf0 && u[0] < 0xf5 ? 4
	                                      : 0;
	if (u[0] == 0xe0)
		low = 0xa0;
	else if (u[0] == 0xed)
		high = 0x9f;
	else if (u[0] == 0xf0)
		low = 0x90;
	else if (u[0] == 0xf4)
		high = 0x8f;
	for (int i = 1; i < n; i++, low = 0x80, high = 0xbf)
		if (u[i] < low || u[i] > high)
			return 0;
	return n;
}

/* Returns the bytes of a control character (ASCII, or U+0080 to U+009F in UTF-8), or 0. */
static int control_character(const char *c)
{
	const unsigned char *u = (const unsigned char *)c;
	if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0)
		return 2;
	return (u[0] > 0 && u[0] < 0x20) || u[0] == 0x7f;
}

enum { ONE = 12 }; /* bytes of an escaped character and NUL */

/* Formats one byte or control character; returns how many bytes of the text it used. */
static int print_character(char out[ONE], const char *c)
{
	static const char named[] = "abtnvfr"; /* 7 to 13 */
	const unsigned char *u = (const unsigned char *)c;
	int n = control_character(c);
	if (n == 0)
		snprintf(out, ONE, "%c", *c);
	else if (n == 2)
		snprintf(out, ONE, "\\x%02x\\x%02x", u[0], u[1]);
	else if (*u >= 7 && *u <= 13)
		snprintf(out, ONE, "\\%c", named[*u - 7]);
	else
		snprintf(out, ONE, "\\x%02x", *u);
	return n ? n : 1;
}

void str_escape(char *out, size_t size, const char *text)
{
	char one[ONE];
	size_t n = 0;
	for (const char *c = text; *c;) {
		c += print_character(one, c);
		size_t more = strlen(one);
		if (n + more >= size)
			break;
		memcpy(out + n, one, more);
		n += more;
	}
	out[n] = 0;
}

static bool has_controls(const char *text)
{
	for (const char *c = text; *c; c++)
		if (control_character(c))
			return true;
	return false;
}

const char *str_printable(struct arena *a, const char *text)
{
	if (!has_controls(text))
		return text;
	size_t size = strlen(text) * (ONE - 1) + 1;
	char *out = arena_alloc(a, size);
	str_escape(out, size, text);
	return out;
}

/* Quotes as $'...' for bash, ksh and zsh. */
static const char *shell_escaped(struct arena *a, const char *text)
{
	struct str s = str_new(a);
	char one[ONE];
	str_add(&s, "$'");
	for (const char *c = text; *c;) {
		if (*c == '\'' || *c == '\\')
			str_add(&s, "\\");
		c += print_character(one, c);
		str_add(&s, one);
	}
	str_add(&s, "'");
	return str_text(&s);
}

const char *str_shell(struct arena *a, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	if (*text && !text[strspn(text, plain)])
		return text;
	if (has_controls(text))
		return shell_escaped(a, text);
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

const char *str_shell_path(struct arena *a, const char *path)
{
	return str_shell(a, *path == '-' ? arena_printf(a, "./%s", path) : path);
}

void str_add_character(struct str *s, unsigned c)
{
	char b[4] = { (char)(0xf0 | c >> 18), (char)(0x80 | (c >> 12 & 63)), (char)(0x80 | (c >> 6 & 63)),
		      (char)(0x80 | (c & 63)) };
	if (c < 0x80)
		str_addn(s, &(char){ (char)c }, 1);
	else if (c < 0x800)
		str_addn(s, (char[]){ (char)(0xc0 | c >> 6), b[3] }, 2);
	else if (c < 0x10000)
		str_addn(s, (char[]){ (char)(0xe0 | c >> 12), b[2], b[3] }, 3);
	else
		str_addn(s, b, 4);
}

int str_width(const char *text)
{
	int n = 0;
	for (const char *c = text; *c; c++)
		n += ((unsigned char)*c & 0xc0) != 0x80; /* count only first bytes of characters */
	return n;
}

char *str_identifier(struct arena *a, const char *name)
{
	char *out = arena_printf(a, "%s%s", !*name || ascii_is_digit(*name) ? "_" : "", name);
	for (char *p = out; *p; p++)
		if (!ascii_is_alnum(*p))
			*p = '_';
	return out;
}

static int edit_distance(const char *a, const char *b)
{
	enum { MAX = 256 };
	int n = (int)strlen(b), row[MAX + 1];
	if (n > MAX || strlen(a) > MAX)
		return MAX;
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		int diagonal = row[0];
		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int best = diagonal + (ascii_lower(a[i - 1]) != ascii_lower(b[j - 1]));
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
	int limit = ((int)strlen(name) + 2) / 3 * 2, cost;
	for (int length = (int)strlen(name); *names; names++) {
		int longer = (int)strlen(*names) - length;
		if (2 * (longer < 0 ? -longer : longer) > limit + 1)
			continue; /* nor is it closer */
		bool begins = str_starts(*names, name) || str_starts(name, *names);
		if ((cost = 2 * edit_distance(name, *names) - begins) <= limit) {
			limit = cost - 1;
			best = *names;
		}
	}
	return best;
}
