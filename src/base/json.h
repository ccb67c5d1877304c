/* A reader of JSON (RFC 8259) for tpat's own files: tpat.json of a folder. */
#ifndef TPAT_BASE_JSON_H
#define TPAT_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum json_kind { JSON_IS_OTHER, JSON_IS_TEXT, JSON_IS_LIST, JSON_IS_OBJECT }; /* other: a number, true, false, null */

struct json {
	enum json_kind kind;
	const char *name;          /* as a member of an object */
	const char *text;          /* of a text, without escapes; of a number and the like, as it stands */
	struct json *child, *next; /* first element or member; the next one of the same list */
};

/* Null when the text is not JSON, or is nested more than 64 deep. */
const struct json *json_read(const char *text, size_t n, struct arena *a);
/* A member of an object, by name; null when there is none, or `j` is null or no object. */
const struct json *json_member(const struct json *j, const char *name);
/* A member that is a text; null when it is none. */
const char *json_member_text(const struct json *j, const char *name);

#endif
