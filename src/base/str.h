/* A string that grows in an arena: the text writer of every printer. */
#ifndef TPAT_BASE_STR_H
#define TPAT_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct str {
	struct arena *arena;
	char *at; /* always ends with a NUL; null until something was written */
	size_t n, cap;
	int indent; /* tabs that str_line puts in front */
};

struct str str_new(struct arena *a);
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *s, const char *fmt, va_list ap);
/* One line: the indentation, the text, a newline. */
void str_line(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *str_text(struct str *s); /* never null */

bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* A C identifier made of `name`: other characters become '_', a leading digit gets one in front. */
char *str_identifier(struct arena *a, const char *name);
/* As one word of a shell command: itself, or between single quotes, or, with control characters, as $'...'. */
const char *str_shell(struct arena *a, const char *text);
/* The same of a path as a command's argument: "./" goes before a "-", so that it is no option. */
const char *str_shell_path(struct arena *a, const char *path);
/* With its control characters, which a terminal would obey, as "\n", "\x1b" and the like: itself where it has none.
 * Where a model's names become part of what people read. str_escape: into `out`, cut off where `size` ends. */
const char *str_printable(struct arena *a, const char *text);
void str_escape(char *out, size_t size, const char *text);
/* Columns on a terminal: characters of UTF-8, not bytes. */
int str_width(const char *text);
/* The name in `names` (null-terminated) closest to `name`, or null when none is close: for "did you mean". */
const char *str_closest(const char *name, const char *const *names);

#endif
