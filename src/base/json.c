/* A reader of JSON. See json.h. */
#include "base/json.h"

#include <string.h>

#include "base/str.h"

enum { DEEPEST = 64 };

struct reader {
	const char *p, *end;
	struct arena *arena;
	int depth;
};

static struct json *value(struct reader *r);

static void skip_blanks(struct reader *r)
{
	while (r->p < r->end && memchr(" \t\r\n", *r->p, 4))
		r->p++;
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static bool hex4(struct reader *r, unsigned *out)
{
	static const char digits[] = "0123456789abcdef";
	*out = 0;
	for (int i = 0; i < 4; i++, r->p++) {
		const char *at =
		        r->p < r->end && *r->p ? strchr(digits, *r->p | (*r->p >= 'A' && *r->p <= 'F' ? 32 : 0)) : NULL;
		if (!at)
			return false;
		*out = *out * 16 + (unsigned)(at - digits);
	}
	return true;
}

static bool escape(struct reader *r, struct str *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned c, low;
	if (r->p == r->end)
		return false;
	char e = *r->p++;
	if (e != 'u') {
		const char *at = e ? strchr(from, e) : NULL;
		if (at)
			str_addn(s, &to[at - from], 1);
		return at != NULL;
	}
	if (!hex4(r, &c) || !c)
		return false;
	if (c >= 0xd800 && c < 0xdc00) {
		if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u' || (r->p += 2, !hex4(r, &low)) ||
		    low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	str_add_character(s, c);
	return true;
}

static const char *text(struct reader *r)
{
	struct str s = str_new(r->arena);
	if (!take(r, '"'))
		return NULL;
	for (; r->p < r->end && *r->p != '"';) {
		char c = *r->p++;
		if (c == '\\' ? !escape(r, &s) : (unsigned char)c < ' ')
			return NULL;
		if (c != '\\')
			str_addn(&s, &c, 1);
	}
	return take(r, '"') ? arena_strdup(r->arena, str_text(&s)) : NULL;
}

/* The elements of a list, or the members of an object, up to `close`. */
static struct json *children(struct reader *r, struct json *j, char close)
{
	struct json **last = &j->child;
	if (take(r, close))
		return j;
	do {
		const char *name = NULL;
		if (close == '}' && (!(name = text(r)) || !take(r, ':')))
			return NULL;
		if (!(*last = value(r)))
			return NULL;
		(*last)->name = name;
		last = &(*last)->next;
	} while (take(r, ','));
	return take(r, close) ? j : NULL;
}

static struct json *value(struct reader *r)
{
	struct json *j = NEW(r->arena, struct json);
	skip_blanks(r);
	if (r->p == r->end || r->depth == DEEPEST)
		return NULL;
	if (*r->p == '"') {
		j->kind = JSON_IS_TEXT;
		return (j->text = text(r)) ? j : NULL;
	}
	if (*r->p == '{' || *r->p == '[') {
		char open = *r->p++;
		j->kind = open == '{' ? JSON_IS_OBJECT : JSON_IS_LIST;
		r->depth++;
		j = children(r, j, open == '{' ? '}' : ']');
		r->depth--;
		return j;
	}
	const char *start = r->p;
	while (r->p < r->end && *r->p && strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", *r->p))
		r->p++;
	j->text = arena_strndup(r->arena, start, (size_t)(r->p - start));
	return r->p > start ? j : NULL;
}

const struct json *json_read(const char *text, size_t n, struct arena *a)
{
	struct reader r = { text, text + n, a, 0 };
	const struct json *j = value(&r);
	skip_blanks(&r);
	return r.p == r.end ? j : NULL;
}

const struct json *json_member(const struct json *j, const char *name)
{
	const struct json *m = j && j->kind == JSON_IS_OBJECT ? j->child : NULL;
	while (m && strcmp(m->name, name) != 0)
		m = m->next;
	return m;
}

const char *json_member_text(const struct json *j, const char *name)
{
	const struct json *m = json_member(j, name);
	return m && m->kind == JSON_IS_TEXT ? m->text : NULL;
}
