/* Inside src/gen/: the names in a kernel's text. While a function is printed, each of its buffers, symbols and
 * variables is a placeholder in the text. When the text is complete, each gets a unique name. */
#ifndef TPAT_GEN_NAMING_H
#define TPAT_GEN_NAMING_H

#include "base/error.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

enum name_kind { NAME_VARIABLE, NAME_SYMBOL, NAME_BUFFER };

struct name {
	enum name_kind kind;
	const char *hint;
};

/* The names of one function's text. */
struct names {
	struct arena *arena;
	const struct map *reserved; /* words of the language that must not be names: names_reserved() */
	struct map functions;       /* names that are chosen already */
	struct map objects;         /* their placeholders */
	struct {
		VEC(struct name);
	} all;
};

struct names names_new(struct arena *a, const struct map *reserved);
/* Return the placeholder of an object, always the same; of a variable that the printer declares; and a function's own
 * name, which nothing else in the text gets. `hint` is an identifier. */
const char *names_object(struct names *n, enum name_kind kind, const void *object, const char *hint);
const char *names_own(struct names *n, const char *hint);
const char *names_function(struct names *n, const char *name);
/* Mark the start and the end of a block's scope, which includes its loop variable or function parameters. */
void names_scope(struct str *out);
void names_scope_end(struct str *out);

/* About the text's length with names in place of placeholders, whatever the model calls its tensors. */
size_t names_length(const char *text);

/* Appends the text with its placeholders replaced. Variables of disjoint scopes may share a name. */
void names_choose(struct str *out, const struct names *n, const char *text);

#endif
