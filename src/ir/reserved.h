/* Names reserved by kernel languages and by the headers that kernels include, found by reading the embedded headers;
 * and a tokenizer for such texts. */
#ifndef TPAT_IR_RESERVED_H
#define TPAT_IR_RESERVED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/embed.h"
#include "base/map.h"

/* A word that kernel text must not define. A macro's body is part of each text that uses it. */
struct names_word {
	const char *body; /* `size` bytes; null: not a macro */
	size_t n;
	bool declared; /* neither keyword nor macro: a variable may shadow it */
};

/* Returns a language's keywords and header declarations: `struct names_word` by name. Computed once. */
const struct map *names_reserved(enum kernel_language language);
bool names_is_reserved(const char *name); /* in any language */

/* Length in bytes of the token, comment or literal at `text`, at least one; 0 at the end. */
size_t names_token(const char *text);
size_t names_directive(const char *text); /* bytes to the end of the preprocessor line */
bool names_is_start(char c);              /* true if c may start an identifier */
bool names_is_inside(char c);

#endif
