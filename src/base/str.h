/* A growing string in an arena, which every printer writes to. */
#ifndef TPAT_BASE_STR_H
#define TPAT_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct str {
	struct arena *arena;
	char *at; /* NUL-terminated; null until the first write */
	size_t n, cap;
	int indent; /* tabs that str_line prepends */
};

struct str str_new(struct arena *a);
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends one line: indentation, text, newline. */
void str_line(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *str_text(struct str *s); /* never null */

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Makes `name` a C identifier: other characters become '_', and a leading digit gets one prepended. */
char *str_identifier(struct arena *a, const char *name);
/* Quotes the text as one shell word: unchanged, in single quotes or, with control characters, as $'...'. */
const char *str_shell(struct arena *a, const char *text);
/* The same for a path argument: prepends "./" to a leading "-", so that it is not taken for an option. */
const char *str_shell_path(struct arena *a, const char *path);
/* Adds a text with n named numbers: {width} is a number, {width element} so many elements, as words. A text in braces
 * is for some values of a number: {width?text} if it is not 0, {width!text} if it is 0, {width>text} if it is more
 * than 1. */
void str_fill(struct str *out, const char *text, int n, const char *const *name, const int *value);

/* Escapes control characters ("\n", "\x1b"), which a terminal would obey. For a model's names in messages. Returns
 * `text` itself if it has none. str_escape writes to `out`, cut off at `size`. */
const char *str_printable(struct arena *a, const char *text);
void str_escape(char *out, size_t size, const char *text);
void str_add_character(struct str *s, unsigned c); /* a Unicode character, as UTF-8 */
/* Bytes of the UTF-8 character at `at`, which is not the end; 0: invalid. */
int str_character(const char *at);
/* Columns on a terminal: UTF-8 characters, not bytes. */
int str_width(const char *text);
/* Returns the name in `names` (null-terminated) closest to `name`, or null if none is close: for "did you mean". */
const char *str_closest(const char *name, const char *const *names);

#endif
