/* Chooses names for the placeholders in a kernel's text. See naming.h. */
#include "gen/naming.h"

#include <stdlib.h>
#include <string.h>

/* A placeholder is a mark and the hexadecimal digits of its index; a scope's start or end is one byte. */
#define MARK "\x01"
#define SCOPE "\x02"
#define SCOPE_END "\x03"
enum { DIGITS = 8 };

/* ---- While a text is printed. */

struct names names_new(struct arena *a, const struct map *reserved)
{
	return (struct names){ a, reserved, map_new(a), map_new(a), { 0 } };
}

static const char *placeholder(struct names *n, enum name_kind kind, const char *hint)
{
	int index = n->all.n;
	vec_push(n->arena, &n->all, ((struct name){ kind, hint }));
	return arena_printf(n->arena, MARK "%0*x", DIGITS, (unsigned)index);
}

const char *names_object(struct names *n, enum name_kind kind, const void *object, const char *hint)
{
	const char *known = map_get_u64(&n->objects, (uintptr_t)object);
	if (!known)
		map_put_u64(&n->objects, (uintptr_t)object, known = placeholder(n, kind, hint));
	return known;
}

const char *names_own(struct names *n, const char *hint)
{
	return placeholder(n, NAME_VARIABLE, hint);
}

const char *names_function(struct names *n, const char *name)
{
	map_put(&n->functions, name, name);
	return name;
}

void names_scope(struct str *out)
{
	str_add(out, SCOPE);
}

void names_scope_end(struct str *out)
{
	str_add(out, SCOPE_END);
}

size_t names_length(const char *text)
{
	enum { OF_NAME = 6 };
	size_t length = 0;
	while (*text) {
		bool is_name = *text == *MARK;
		length += is_name ? OF_NAME : 1;
		text += is_name ? 1 + DIGITS : 1;
	}
	return length;
}

/* ---- When it is complete. */

/* A name where it is visible: from its first use to the end of the scope. */
struct declared {
	int which; /* in names.all */
	size_t from, to;
	const char *name; /* null: not chosen yet */
};

/* A use of a name: its position, and the index of its declaration. */
struct use {
	size_t at;
	int which;
};

struct choose {
	struct arena *scratch;
	const struct names *names;
	struct {
		VEC(struct declared);
	} all;
	struct {
		VEC(int);
	} open; /* open scopes: index in `visible` of the first name in each */
	struct {
		VEC(int);
	} visible; /* in open scopes: indices in `all` */
	struct {
		VEC(struct use);
	} uses; /* in text order */
};

/* Declares the name if it is not visible, even if for the second time. */
static void use(struct choose *c, size_t at, int which)
{
	for (int i = c->visible.n - 1; i >= 0; i--)
		if (c->all.at[c->visible.at[i]].which == which) {
			vec_push(c->scratch, &c->uses, ((struct use){ at, c->visible.at[i] }));
			return;
		}
	vec_push(c->scratch, &c->visible, c->all.n);
	vec_push(c->scratch, &c->uses, ((struct use){ at, c->all.n }));
	vec_push(c->scratch, &c->all, ((struct declared){ which, at, SIZE_MAX, NULL }));
}

static void close_scope(struct choose *c, size_t at)
{
	ck(c->open.n > 0);
	int first = c->open.at[--c->open.n];
	for (int i = first; i < c->visible.n; i++)
		c->all.at[c->visible.at[i]].to = at;
	c->visible.n = first;
}

/* The index that the placeholder at `at` stands for. */
static int index_at(const char *at)
{
	char digits[DIGITS + 1] = "";
	memcpy(digits, at + 1, DIGITS);
	return (int)strtoul(digits, NULL, 16);
}

/* The next placeholder or scope. */
static size_t next_mark(const char *text, size_t at)
{
	return at + strcspn(text + at, MARK SCOPE SCOPE_END);
}

static void find(struct choose *c, const char *text)
{
	for (size_t at = next_mark(text, 0); text[at]; at = next_mark(text, at + 1))
		if (text[at] == *SCOPE)
			vec_push(c->scratch, &c->open, c->visible.n);
		else if (text[at] == *SCOPE_END)
			close_scope(c, at);
		else
			use(c, at, index_at(text + at));
}

static const struct name *name_of(const struct choose *c, const struct declared *d)
{
	return &c->names->all.at[d->which];
}

/* Model names apply to the whole text; a variable's name to its block. */
static bool is_free(const struct choose *c, const struct declared *d, const char *name)
{
	if (map_get(c->names->reserved, name) || map_get(&c->names->functions, name) || name[0] == '_')
		return false;
	bool variable = name_of(c, d)->kind == NAME_VARIABLE;
	vec_each (have, &c->all) {
		bool variables = variable && name_of(c, have)->kind == NAME_VARIABLE;
		bool apart = variables && (have->to < d->from || d->to < have->from);
		if (have->name && !apart && strcmp(have->name, name) == 0)
			return false;
	}
	return true;
}

/* A variable's name from a tensor's with "_" at its end has one underscore: m__v is m_v. C++ reserves two in a row. */
static const char *single_underscores(struct arena *a, const char *name)
{
	struct str s = str_new(a);
	if (!strstr(name, "__"))
		return name;
	for (const char *at = name; *at; at++)
		if (at[0] != '_' || at[1] != '_')
			str_addn(&s, at, 1);
	return str_text(&s);
}

static void choose_name(struct choose *c, struct declared *d)
{
	static const char *const suffix[] = {
		[NAME_VARIABLE] = "_", [NAME_SYMBOL] = "_extent", [NAME_BUFFER] = "_data"
	};
	const struct name *n = name_of(c, d);
	const char *name = n->hint[0] == '_' ? arena_printf(c->scratch, "v%s", n->hint) : n->hint;
	if (n->kind == NAME_VARIABLE)
		name = single_underscores(c->scratch, name);
	const char *longer = arena_printf(c->scratch, "%s%s", name, suffix[n->kind]);
	if (!is_free(c, d, name) && n->kind != NAME_VARIABLE)
		name = longer;
	for (int number = 2; !is_free(c, d, name); number++)
		name = arena_printf(c->scratch, "%s%d", longer, number);
	d->name = name;
}

/* Variables first: their names then do not depend on the model. */
static void choose_names(struct choose *c)
{
	vec_each (d, &c->all)
		if (name_of(c, d)->kind == NAME_VARIABLE)
			choose_name(c, d);
	vec_each (d, &c->all)
		if (!d->name)
			choose_name(c, d);
}

static void put_names(const struct choose *c, struct str *out, const char *text)
{
	const struct use *u = c->uses.at;
	for (size_t at = 0, next; text[at]; at = next) {
		next = next_mark(text, at);
		str_addn(out, text + at, next - at);
		if (text[next] == *MARK) {
			str_add(out, c->all.at[u++->which].name);
			next += 1 + DIGITS;
		} else if (text[next]) {
			next++;
		}
	}
}

void names_choose(struct str *out, const struct names *n, const char *text)
{
	struct arena *scratch = arena_new();
	struct choose c = { .scratch = scratch, .names = n };
	find(&c, text);
	choose_names(&c);
	put_names(&c, out, text);
	arena_free(scratch);
}
