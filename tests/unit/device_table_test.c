/* The table of device functions (ir/device.def) against the headers of rt/device: each type and function is declared
 * there, with the same templates and the same number and kinds of parameters. */
#include "ir/device.h"

#include <ctype.h>
#include <string.h>

#include "base/embed.h"
#include "base/str.h"
#include "test.h"

enum { MOST = 32 };

/* A list between brackets, split at its commas. */
struct list {
	int n;
	const char *at[MOST];
};

static struct arena *arena;

/* Returns the list after the bracket `from`; *after: the text after its end. */
static struct list list_of(const char *from, char close, const char **after)
{
	struct list l = { 0 };
	const char *begin = ++from;
	for (int deep = 0; *from; from++) {
		bool end = deep == 0 && *from == close;
		if ((end || (deep == 0 && *from == ',')) && from > begin && l.n < MOST)
			l.at[l.n++] = arena_strndup(arena, begin, (size_t)(from - begin));
		if (deep == 0 && (*from == ',' || *from == close))
			begin = from + 1;
		if (end)
			break;
		deep += strchr("(<[{", *from) != NULL;
		deep -= strchr(")>]}", *from) != NULL;
	}
	*after = from;
	return l;
}

static const char *header_text(const struct ir_device_header *h)
{
	const struct embed_file *f = embed_find(arena_printf(arena, "rt/device/%s", h->name));
	CHECK(f != NULL);
	return f ? f->text : "";
}

static bool is_word(const char *text, const char *at, size_t n)
{
	return (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')) && !isalnum((unsigned char)at[n]) &&
	       at[n] != '_';
}

/* Returns the next place after `from` where the word precedes `next`; null: none. */
static const char *find_word(const char *text, const char *from, const char *word, const char *next)
{
	size_t n = strlen(word);
	for (const char *at = strstr(from, word); at; at = strstr(at + 1, word))
		if (is_word(text, at, n) && strchr(next, at[n + strspn(at + n, " ")]))
			return at;
	return NULL;
}

/* Returns the start of the declaration that contains `at`: after the last ; or } or preprocessor line. */
static const char *declaration(const char *text, const char *at)
{
	const char *begin = text;
	for (const char *c = text; c < at; c++)
		if (*c == ';' || *c == '}' || *c == '{' || (*c == '\n' && c[-1] != '\\' && c[1] == '\n'))
			begin = c + 1;
	return begin;
}

/* The template's parameters of a declaration. */
static struct list template_of(const char *begin, const char *end)
{
	const char *at = strstr(begin, "template <"), *after;
	return at && at < end ? list_of(at + strlen("template "), '>', &after) : (struct list){ 0 };
}

static bool has(const char *text, const char *word)
{
	return find_word(text, text, word, " ,)&*<>=\0") != NULL || strstr(text, word) == text;
}

/* Enumerations of the headers, whose enumerators are words. */
static bool is_enumeration(const char *text)
{
	static const char *const name[] = { "tile_places ", "packed_kind " };
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (strncmp(text, name[i], strlen(name[i])) == 0)
			return true;
	return false;
}

static bool template_fits(const enum ir_of *of, const struct list *l, bool all)
{
	static const char *const word[] = { [IR_OF_TYPE] = "class ", [IR_OF_NUMBER] = "int ", [IR_OF_TRUTH] = "bool " };
	int n = 0;
	for (; of[n]; n++) {
		enum ir_of kind = of[n] & ~IR_OF_MAYBE;
		const char *at = n < l->n ? l->at[n] + strspn(l->at[n], " \n\t") : "";
		if (kind == IR_OF_WORD ? !is_enumeration(at) : strncmp(at, word[kind], strlen(word[kind])) != 0)
			return false;
	}
	while (n < l->n && strchr(l->at[n], '=')) /* the table may leave out those with defaults */
		n++;
	return !all || n == l->n;
}

/* Compares what C++ distinguishes: references, pointers, values, and the table's types of objects. */
static bool kind_fits(const struct ir_device_parameter *p, const char *text)
{
	bool reference = strchr(text, '&') != NULL, pointer = strchr(text, '*') != NULL;
	switch (p->kind) {
	case IR_PARAMETER_OBJECT:
		for (const struct ir_device_type *const *t = ir_device_types(); *t; t++)
			if (*t != p->type && has(text, (*t)->name) && !has(text, p->type->name))
				return false;
		return reference || (pointer && p->rank == 1);
	case IR_PARAMETER_VARIABLE: return reference || pointer;
	case IR_PARAMETER_SHARED:
	case IR_PARAMETER_MEMBER:
	case IR_PARAMETER_WRITES: return pointer && !reference;
	case IR_PARAMETER_READS: return pointer && strstr(text, "const ");
	case IR_PARAMETER_MAP: return strstr(text, "const tensor_map &") != NULL;
	case IR_PARAMETER_PLACE: return strstr(text, "const I (&") != NULL;
	case IR_PARAMETER_TRUTH: return strstr(text, "bool ") != NULL;
	case IR_PARAMETER_INDEX:
	case IR_PARAMETER_CALLS: return !pointer && (!reference || strstr(text, "const "));
	default: return true;
	}
}

/* True if a declaration takes n arguments of these kinds. */
static bool takes(const struct ir_device_function *f, const struct list *l, int n)
{
	if (n > l->n || (n < l->n && !strchr(l->at[n], '=')))
		return false;
	for (int i = 0; i < n; i++)
		if (!kind_fits(&f->parameter[i], l->at[i]))
			return false;
	return true;
}

/* True if one of the declarations between two places takes n arguments. */
static bool declared(const struct ir_device_function *f, const char *text, const char *end, int n)
{
	for (const char *at = find_word(text, text, f->name, "("); at && at < end;
	     at = find_word(text, at + 1, f->name, "(")) {
		const char *begin = declaration(text, at), *after;
		const char *marks = strstr(begin, "TPAT_FN");
		if (!marks || marks > at)
			continue;
		struct list l = list_of(strchr(at, '('), ')', &after), of = template_of(begin, at);
		if (template_fits(f->of, &of, false) && takes(f, &l, n))
			return true;
	}
	return false;
}

/* The struct's text, from its head on. */
static const char *struct_text(const struct ir_device_type *t, const char **end)
{
	const char *text = header_text(t->header), *at = text;
	while ((at = find_word(text, at + 1, t->name, "{:"))) {
		const char *begin = declaration(text, at);
		struct list of = template_of(begin, at);
		if (!strstr(begin, "struct ") || strstr(begin, "struct ") > at || !template_fits(t->of, &of, true))
			continue;
		const char *close = strstr(at, "\n};"), *line = strstr(at, "};");
		*end = close ? close : line ? line : at + strlen(at);
		return at;
	}
	return NULL;
}

static void check_function(const struct ir_device_function *f)
{
	const char *text = f->method_of ? NULL : header_text(f->header), *end = NULL;
	if (f->method_of)
		text = struct_text(f->method_of, &end);
	else
		end = text + strlen(text);
	int all = 0, least;
	while (f->parameter[all].kind)
		all++;
	for (least = all; least > 0 && f->parameter[least - 1].maybe;)
		least--;
	for (int n = least; n <= all; n++)
		if (!test_check(text && declared(f, text, end, n), __FILE__, __LINE__, "the header declares it so"))
			printf("  %s with %d arguments\n", f->name, n);
}

int main(void)
{
	arena = arena_new();
	for (const struct ir_device_type *const *t = ir_device_types(); *t; t++) {
		const char *end;
		if (!test_check(struct_text(*t, &end) != NULL, __FILE__, __LINE__, "the header declares the type so"))
			printf("  %s\n", (*t)->name);
	}
	for (const struct ir_device_function *const *f = ir_device_functions(); *f; f++)
		check_function(*f);
	arena_free(arena);
	return test_done();
}
