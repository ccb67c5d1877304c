/* Inside src/gen/: the names in a kernel's text. While a kernel is printed, buffers, symbols and variables are marked names: a
 * hint, a mark, and a number that tells them apart (see ir_name_new). When all of it stands there, each gets a name that nothing
 * else in the text has. */
#ifndef TPAT_GEN_NAMING_H
#define TPAT_GEN_NAMING_H

#include "ir/kernel.h"

#define NAMES_MARK_BUFFER '\x03'

/* A word that a text cannot call anything of its own. A macro's body is part of each text that uses it. */
struct names_word {
	const char *body; /* of so many bytes; null: no macro */
	size_t n;
	bool declared;    /* no keyword and no macro: a variable may hide it */
};

/* The words: keywords, and what headers declare. `c`: of C, else of CUDA. */
struct map names_reserved(struct arena *a, bool c);
/* Adds words that stand between spaces or lines. */
void names_add_words(struct map *m, const char *words);

/* Appends a function's text with all its marked names chosen. Where scopes do not meet, variables may share a name. */
void names_choose(struct str *out, const char *text, const struct map *reserved);

/* Bytes of the token, comment or literal that begins there, at least one; 0 at the end. */
size_t names_token(const char *text);
size_t names_directive(const char *text); /* bytes to the end of the preprocessor's line */
bool names_is_start(char c);  /* of an identifier */
bool names_is_inside(char c);

#endif
