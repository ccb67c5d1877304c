/* A JSON reader (RFC 8259) for tpat's own files: a folder's tpat.json. */
#ifndef TPAT_BASE_JSON_H
#define TPAT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum json_kind { JSON_IS_OTHER, JSON_IS_TEXT, JSON_IS_LIST, JSON_IS_OBJECT }; /* other: a number, true, false, null */

struct json {
	enum json_kind kind;
	const char *name;          /* of an object's member */
	const char *text;          /* strings: with escapes decoded; numbers and literals: as written */
	struct json *child, *next; /* first element or member; next one in the same list or object */
};

/* Returns null if the text is not JSON or nested more than 64 levels deep. */
const struct json *json_read(const char *text, size_t n, struct arena *a);
/* Returns an object's member by name; null if there is none, or `j` is null or not an object. */
const struct json *json_member(const struct json *j, const char *name);
/* Returns the text of a string member; null if it is missing or not a string. */
const char *json_member_text(const struct json *j, const char *name);

#endif
