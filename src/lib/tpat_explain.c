/* Explains the lines of a log by the engine's table of errors. */
#include "lib/tpat_inside.h"

#include <string.h>

enum { LONG_LINE = 400 }; /* characters of a line that are shown */

/* Returns the first place of `part`, of `n` characters, in the text; or null. */
static const char *find(const char *text, const char *part, size_t n)
{
	return memmem(text, strlen(text), part, n);
}

/* True if the line contains the parts of the pattern between its stars, in this order. */
static bool contains(const char *line, const char *pattern)
{
	while (line && *pattern) {
		size_t n = strcspn(pattern, "*");
		line = n ? find(line, pattern, n) : line;
		line = line ? line + n : NULL;
		pattern += n + (pattern[n] == '*');
	}
	return line != NULL;
}

static const struct engine_error *error_of(const char *line, const struct engine *engine)
{
	for (const struct engine_error *e = engine->errors; e && e->text; e++)
		if (contains(line, e->text))
			return e;
	return NULL;
}

struct explaining {
	VEC(struct tpat_explanation);
};

static void explain_line(struct explaining *x, const char *line, int number, struct arena *a)
{
	const struct engine_error *e = error_of(line, engine_find(NULL));
	if (!e)
		return;
	vec_each (had, x)
		if (had->cause == e->cause || strcmp(had->cause, e->cause) == 0) {
			had->times++;
			return;
		}
	const char *shown = arena_strndup(a, line, strnlen(line, LONG_LINE));
	struct tpat_explanation found = { str_printable(a, shown), number, 1, e->from, e->cause, e->fix };
	vec_push(a, x, found);
}

struct explain_call {
	const char *log;
	const struct tpat_explained **out;
};

static int run(struct tpat *t, void *arg)
{
	struct explain_call *c = arg;
	struct explaining x = { 0 };
	struct tpat_explained *result = NEW(t->arena, struct tpat_explained);
	char *text;
	size_t size;
	int number = 1;
	TRY(tpat_log_read(&text, &size, c->log, t->arena, &t->err));
	for (size_t at = 0; at < size; number++) {
		size_t n = 0;
		while (at + n < size && text[at + n] != '\n')
			n++;
		size_t length = n && text[at + n - 1] == '\r' ? n - 1 : n;
		explain_line(&x, arena_strndup(t->arena, text + at, length), number, t->arena);
		at += n + 1;
	}
	*result = (struct tpat_explained){ x.at, x.n };
	*c->out = result;
	return 0;
}

int tpat_explain(struct tpat *t, const struct tpat_explained **out, const char *log)
{
	struct explain_call c = { log, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
