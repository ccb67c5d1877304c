/* Codes that are kept in memory, by text: struct run_codes for sessions of one device that follow each other. */
#include "run/run.h"

#include <string.h>

#include "base/map.h"

enum { KEPT_BYTES = 256 << 20 }; /* at most: a session may run with ever new sizes */

struct kept {
	struct arena *arena;
	size_t bytes;
	struct map codes; /* struct dev_code */
};

static bool find(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a)
{
	struct kept *x = user;
	const struct dev_code *code = map_get(&x->codes, s->text);
	(void)a;
	if (code)
		*out = *code;
	return code != NULL;
}

static void made(void *user, const struct dev_source *s, const struct dev_code *code, bool found)
{
	struct kept *x = user;
	if (found || code->size > KEPT_BYTES - x->bytes)
		return;
	x->bytes += code->size;
	struct dev_code *own = NEW(x->arena, struct dev_code);
	void *data = arena_alloc(x->arena, code->size + 1);
	memcpy(data, code->data, code->size);
	*own = *code;
	own->data = data;
	map_put(&x->codes, s->text, own);
}

struct run_codes run_codes_kept(struct arena *a)
{
	struct kept *x = NEW(a, struct kept);
	*x = (struct kept){ .arena = a, .codes = map_new(a) };
	return (struct run_codes){ find, made, x };
}
