/* Values of symbols, as in cases: "N=5 K=7". */
#ifndef TPAT_TESTS_SHAPES_H
#define TPAT_TESTS_SHAPES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

struct shapes {
	int n;
	const char *name[16];
	int64_t value[16];
};

static inline bool shapes_value(const struct shapes *s, const char *name, int64_t *value)
{
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->name[i], name) == 0) {
			*value = s->value[i];
			return true;
		}
	return false;
}

/* An ir_symbol_fn. */
static inline bool symbol_value(void *user, expr symbol, int64_t *value)
{
	return shapes_value(user, symbol->name, value);
}

static inline void read_shapes(struct shapes *s, const char *text, struct arena *a)
{
	s->n = 0;
	while (*text) {
		size_t n = strcspn(text, "=");
		char *end;
		s->name[s->n] = arena_strndup(a, text, n);
		s->value[s->n++] = strtoll(text + n + 1, &end, 10);
		text = end + (*end == ' ');
	}
}

#endif
