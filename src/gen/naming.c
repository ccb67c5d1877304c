/* Chooses names for the marks in a kernel's text. See naming.h. */
#include "gen/naming.h"

#include <string.h>

/* A marked name and its scope: from its first use to the end of the scope. */
struct marked {
	const char *text; /* hint, mark and number in the text */
	size_t n, hint;   /* bytes in total, of the hint */
	char mark;
	size_t from, to;
	const char *name; /* null: not chosen yet */
};

/* A use of a marked name: its position and the name's index. */
struct use {
	size_t at, n;
	int which;
};

struct choose {
	struct arena *scratch;
	const char *text;
	const struct map *reserved;
	struct map others; /* unmarked names */
	struct {
		VEC(struct marked);
	} all;
	struct {
		VEC(int);
	} open; /* open scopes: index in `declared` of the first name in each */
	struct {
		VEC(struct use);
	} uses; /* in text order */
	struct {
		VEC(int);
	} declared; /* in open scopes: indices */
};

static bool is_mark(char c)
{
	return c == NAMES_MARK_VARIABLE || c == NAMES_MARK_BUFFER || c == NAMES_MARK_SYMBOL;
}

static bool is_scope(char c)
{
	return c == NAMES_SCOPE || c == NAMES_SCOPE_END;
}

/* The last visible declaration with that marked text; -1: none. */
static int visible(const struct choose *c, size_t at, size_t n)
{
	for (int i = c->declared.n - 1; i >= 0; i--) {
		const struct marked *m = &c->all.at[c->declared.at[i]];
		if (m->n == n && memcmp(m->text, c->text + at, n) == 0)
			return c->declared.at[i];
	}
	return -1;
}

static void use(struct choose *c, size_t at, size_t n, int which)
{
	vec_push(c->scratch, &c->uses, ((struct use){ at, n, which }));
}

/* Declares the name if it is not visible, even if for the second time. */
static void use_marked(struct choose *c, size_t at, size_t hint)
{
	size_t n = hint + 1 + NAMES_MARK_DIGITS;
	int which = visible(c, at, n);
	if (which < 0) {
		struct marked m = { c->text + at, n, hint, c->text[at + hint], at, SIZE_MAX, NULL };
		which = c->all.n;
		vec_push(c->scratch, &c->declared, which);
		vec_push(c->scratch, &c->all, m);
	}
	use(c, at, n, which);
}

static void close_scope(struct choose *c, size_t at)
{
	ck(c->open.n > 0);
	int first = c->open.at[--c->open.n];
	for (int i = first; i < c->declared.n; i++)
		c->all.at[c->declared.at[i]].to = at;
	c->declared.n = first;
}

/* Records a plain name in the text and, for a macro, the names in its body. */
static void add_other(struct choose *c, const char *name)
{
	const struct names_word *w = map_get(c->reserved, name);
	if (map_get(&c->others, name))
		return;
	map_put(&c->others, name, c);
	for (size_t at = 0, n; w && at < w->n; at += n) {
		n = names_token(w->body + at);
		if (names_is_start(w->body[at]))
			add_other(c, arena_strndup(c->scratch, w->body + at, n));
	}
}

/* The x of threadIdx.x, which no variable shadows. */
static bool is_member(const char *text, size_t at)
{
	return at > 0 && (text[at - 1] == '.' || (at > 1 && text[at - 1] == '>' && text[at - 2] == '-'));
}

static void find(struct choose *c)
{
	for (size_t at = 0, n; (n = names_token(c->text + at)) > 0; at += n) {
		char first = c->text[at];
		if (names_is_start(first) && is_mark(c->text[at + n])) {
			use_marked(c, at, n);
			n += 1 + NAMES_MARK_DIGITS;
		} else if (names_is_start(first) && !is_member(c->text, at)) {
			add_other(c, arena_strndup(c->scratch, c->text + at, n));
		} else if (first == NAMES_SCOPE) {
			vec_push(c->scratch, &c->open, c->declared.n);
		} else if (first == NAMES_SCOPE_END) {
			close_scope(c, at);
		}
	}
}

/* Model names apply to the whole text; a variable's name to its block. */
static bool is_free(const struct choose *c, const struct marked *m, const char *name)
{
	const struct names_word *w = map_get(c->reserved, name);
	bool hides = w && w->declared && !w->body && m->mark == NAMES_MARK_VARIABLE;
	if ((w && !hides) || map_get(&c->others, name) || name[0] == '_')
		return false;
	vec_each (have, &c->all) {
		bool variables = have->mark == NAMES_MARK_VARIABLE && m->mark == NAMES_MARK_VARIABLE;
		bool apart = variables && (have->to < m->from || m->to < have->from);
		if (have->name && !apart && strcmp(have->name, name) == 0)
			return false;
	}
	return true;
}

static void choose_name(struct choose *c, struct marked *m)
{
	char *hint = arena_strndup(c->scratch, m->text, m->hint);
	const char *behind = m->mark == NAMES_MARK_SYMBOL ? "_extent" : m->mark == NAMES_MARK_BUFFER ? "_data" : "_";
	const char *name = hint[0] == '_' ? arena_printf(c->scratch, "v%s", hint) : hint;
	const char *longer = arena_printf(c->scratch, "%s%s", name, behind);
	if (!is_free(c, m, name) && m->mark != NAMES_MARK_VARIABLE)
		name = longer;
	for (int number = 2; !is_free(c, m, name); number++)
		name = arena_printf(c->scratch, "%s%d", longer, number);
	m->name = name;
}

/* Variables first: their names then do not depend on the model. */
static void choose_names(struct choose *c)
{
	vec_each (m, &c->all)
		if (m->mark == NAMES_MARK_VARIABLE)
			choose_name(c, m);
	vec_each (m, &c->all)
		if (!m->name)
			choose_name(c, m);
}

/* In comments, names appear as their hints. */
static void put_plain(struct str *out, const char *text, size_t n)
{
	for (size_t i = 0, k; i < n; i += k) {
		for (k = 0; i + k < n && !is_mark(text[i + k]) && !is_scope(text[i + k]);)
			k++;
		str_addn(out, text + i, k);
		if (i + k < n)
			k += is_mark(text[i + k]) ? 1 + NAMES_MARK_DIGITS : 1;
	}
}

static void put_names(struct choose *c, struct str *out)
{
	size_t at = 0;
	vec_each (u, &c->uses) {
		put_plain(out, c->text + at, u->at - at);
		str_add(out, c->all.at[u->which].name);
		at = u->at + u->n;
	}
	put_plain(out, c->text + at, strlen(c->text + at));
}

void names_choose(struct str *out, const char *text, const struct map *reserved)
{
	struct arena *scratch = arena_new();
	struct choose c = { .scratch = scratch, .text = text, .reserved = reserved };
	c.others = map_new(scratch);
	find(&c);
	choose_names(&c);
	put_names(&c, out);
	arena_free(scratch);
}
