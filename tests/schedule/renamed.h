/* Cases whose buffers and symbols have names used in their own kernels, in C, in C++ or in a header; and a comparison
 * of kernel texts up to such names. */
#ifndef TPAT_TESTS_RENAMED_H
#define TPAT_TESTS_RENAMED_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "gen/language.h"
#include "ir/kernel.h"
#include "tests/schedule/schedule_case.h"

static const char *const renamed_usual[] = {
	"NULL",
	"nullptr",
	"alignas",
	"constexpr",
	"xor",
	"TPAT_ARCH",
	"__global__",
	"wait_for_last_kernel",
	"end",
	"ring",
	"turn",
	"number",
	"below",
	"group_row",
	"threadIdx",
	"blockIdx",
	"thread",
	"block",
	"args",
	"block_x",
	"M_PI",
	"NAN",
	"I",
	"linux",
	"int",
	"this",
	"main",
	"malloc",
	"stdin",
	"tmp0",
	"__syncthreads",
	"x_v",
	"this_x",
	"signbit",
	"template",
	"floor_div",
	"T",
};

struct renamed_names {
	VEC(const char *);
};

static bool renamed_inside(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Length of the next token: a word, number, literal, preprocessor line, or one other character; skips space and
 * comments. 0: the end. */
static size_t renamed_token(const char **text)
{
	for (;;) {
		const char *t = *text += strspn(*text, " \t\n"), *end = NULL;
		if (t[0] == '/' && t[1] == '/')
			end = t + strcspn(t, "\n");
		else if (t[0] == '/' && t[1] == '*')
			end = strstr(t, "*/") + 2;
		if (!end)
			break;
		*text = end;
	}
	size_t n = 0;
	if (**text == '#')
		return strcspn(*text, "\n");
	if (**text == '"')
		return strcspn(*text + 1, "\"") + 2;
	n = **text == '.'; /* a member's name does not count */
	while (renamed_inside((*text)[n]))
		n++;
	return n ? n : **text != '\0';
}

static bool renamed_is_word(const char *t)
{
	return isalpha((unsigned char)*t) || *t == '_';
}

/* ---- A program with other names. */

struct renamed_find {
	struct arena *arena;
	struct map buffers, symbols;
};

static void renamed_symbol(void *user, expr e)
{
	struct renamed_find *f = user;
	if (e->op == IR_SYMBOL)
		map_put(&f->symbols, e->name, e->name);
}

static int renamed_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Collects words of a kernel's text that a program can use as names. */
static void renamed_collect(struct map *out, const char *text)
{
	for (size_t n; (n = renamed_token(&text)) > 0; text += n) {
		char *word = arena_strndup(out->arena, text, n);
		if (renamed_is_word(text) && !ir_name_reserved(word))
			map_put(out, word, out);
	}
}

static const char *renamed_text(const char *text, const struct map *to, struct arena *a)
{
	struct str s = str_new(a);
	while (*text) {
		size_t n = 0;
		while (renamed_inside(text[n]))
			n++;
		const char *word = arena_strndup(a, text, n ? n : 1), *other = n ? map_get(to, word) : NULL;
		str_add(&s, other ? other : word);
		text += n ? n : 1;
	}
	return str_text(&s);
}

/* Renames the case with `words`, differently in each round. Symbols keep their order, which orders the terms of
 * sums. */
static struct schedule_case renamed_case(const struct schedule_case *c, const struct ir_program *p,
                                         const struct map *words, int round, struct arena *a)
{
	struct renamed_find f = { a, map_new(a), map_new(a) };
	struct map to = map_new(a);
	struct renamed_names from = { 0 }, new = { 0 };
	struct schedule_case other = { .name = c->name };
	vec_each (b, &p->buffers) {
		map_put(&f.buffers, (*b)->name, *b);
		for (int k = 0; k < (*b)->rank; k++)
			ir_walk((*b)->dim[k], renamed_symbol, &f);
	}
	for (int i = 0; i < f.symbols.n; i++)
		if (!map_get(&f.buffers, f.symbols.entry[i].name))
			vec_push(a, &from, f.symbols.entry[i].name);
	int symbols = from.n, at = 0;
	for (int i = 0; i < f.buffers.n; i++)
		if (!map_get(&f.symbols, f.buffers.entry[i].name))
			vec_push(a, &from, f.buffers.entry[i].name);
	for (int i = 0; i < words->n; i++) {
		const char *word = words->entry[i].name;
		if (!map_get(&f.buffers, word) && !map_get(&f.symbols, word))
			vec_push(a, &new, word);
	}
	struct renamed_names chosen = { 0 };
	for (; at < from.n && at < new.n; at++)
		vec_push(a, &chosen, new.at[(size_t)(round * from.n + at) % (size_t)new.n]);
	symbols = symbols < at ? symbols : at;
	if (symbols) {
		qsort(from.at, (size_t)symbols, sizeof *from.at, renamed_by_name);
		qsort(chosen.at, (size_t)symbols, sizeof *chosen.at, renamed_by_name);
	}
	for (int i = 0; i < at; i++)
		map_put(&to, from.at[i], chosen.at[i]);
	other.program = renamed_text(c->program, &to, a);
	for (size_t i = 0; i < sizeof c->shapes / sizeof *c->shapes && c->shapes[i]; i++)
		other.shapes[i] = renamed_text(c->shapes[i], &to, a);
	return other;
}

/* ---- Texts. */

/* Prints kernels in C, without includes, or in CUDA. */
static const char *renamed_kernels(const struct ir_plan *plan, bool c, struct arena *a)
{
	struct str s = str_new(a);
	language_of(c ? KERNEL_C : KERNEL_CUDA)->print(&s, &plan, 1);
	return str_text(&s) + (c ? embed_find("rt/device/tpat_cpu.h")->size : 0);
}

/* True if CUDA's unsigned thread and block indices appear only where they become signed variables. */
static bool renamed_signed(const char *text)
{
	while ((text = strstr(text, "Idx.x"))) {
		const char *line = text;
		while (line[-1] != '\n')
			line--;
		if ((strncmp(line, "\tconst int ", 11) != 0 && strncmp(line, "\tconst i64 ", 11) != 0) ||
		    text[5] != ';')
			return false;
		text++;
	}
	return true;
}

/* The count of each word in a function, ascending, and an order-independent hash of the rest. Names affect the order of
 * an index's terms, but not these, unless two names became one. */
struct renamed_counts {
	VEC(int);
	uint64_t others;
	const char *end;
};

static int renamed_by_count(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static struct renamed_counts renamed_count(const char *text, struct arena *a)
{
	struct renamed_counts c = { 0 };
	struct map words = map_new(a);
	for (size_t n; (n = renamed_token(&text)) > 0; text += n) {
		bool end = *text == '}' && text[-1] == '\n';
		const char *word = arena_strndup(a, text, n);
		if (renamed_is_word(text))
			map_put(&words, word, (void *)((uintptr_t)map_get(&words, word) + 1));
		else
			c.others += hash_str(1, word);
		if (end)
			break;
	}
	for (int i = 0; i < words.n; i++)
		vec_push(a, &c, (int)(uintptr_t)words.entry[i].value);
	if (c.n)
		qsort(c.at, (size_t)c.n, sizeof *c.at, renamed_by_count);
	c.end = *text ? text + 1 : text;
	return c;
}

/* True if all functions are equal up to names. Else x and y point to the first that differs. */
static bool renamed_same(const char **x, const char **y, struct arena *a)
{
	while (**x && **y) {
		struct renamed_counts own = renamed_count(*x, a), other = renamed_count(*y, a);
		if (own.n != other.n || own.others != other.others ||
		    (own.n && memcmp(own.at, other.at, sizeof *own.at * (size_t)own.n) != 0))
			return false;
		*x = own.end;
		*y = other.end;
	}
	return !**x && !**y;
}

#endif
