/* What kernels' languages and the headers that kernels include call something: the headers, which the program carries,
 * are read for that. And the tokens of such texts. */
#ifndef TPAT_IR_RESERVED_H
#define TPAT_IR_RESERVED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/embed.h"
#include "base/map.h"

/* A word that a text cannot call anything of its own. A macro's body is part of each text that uses it. */
struct names_word {
	const char *body; /* of so many bytes; null: no macro */
	size_t n;
	bool declared; /* no keyword and no macro: a variable may hide it */
};

/* The words of a language: keywords, and what headers declare; `struct names_word` by name. Made once. */
const struct map *names_reserved(enum kernel_language language);
bool names_is_reserved(const char *name); /* in any language */

/* Bytes of the token, comment or literal that begins there, at least one; 0 at the end. */
size_t names_token(const char *text);
size_t names_directive(const char *text); /* bytes to the end of the preprocessor's line */
bool names_is_start(char c);              /* of an identifier */
bool names_is_inside(char c);

#endif
