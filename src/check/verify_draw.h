/* What the files of random inputs share: verify_extents.c, verify_values.c and verify_draw.c. For these files only. */
#ifndef TPAT_CHECK_VERIFY_DRAW_H
#define TPAT_CHECK_VERIFY_DRAW_H

#include "check/verify.h"

enum {
	DRAW_PER_SCALE = 4,     /* attempts per scale of extents */
	DRAW_SCALES = 8,        /* see verify_extents.c */
	DRAW_LARGEST = 1 << 22, /* elements per random tensor */
	DRAW_EXTENTS = 5,       /* maximum of inputs that determine extents of results */
};

struct draw {
	const struct verify_case *c;
	struct map symbols; /* name -> value + 1: the model's demands have symbols of the same names */
	struct map tight;   /* symbols in demands that failed */
	struct arena *arena;
	uint64_t state;
	int run, attempt, try;
	int halved; /* number of times */
	bool drawn; /* at least one extent is random */
	struct err *err;
};

/* ---- Extents: verify_extents.c. */

uint64_t draw_next(struct draw *d); /* the next random number */
/* Picks a value for every symbol, so that all demands hold. Errors: ERR_MODEL if none was found, ERR_USAGE if given
 * tensors do not fit. */
int draw_extents(struct draw *d);
/* ir_symbol_fn, `user` a struct draw: the symbol's value, picked now if it has none; or only if it is known. */
bool draw_symbol(void *user, expr symbol, int64_t *value);
bool draw_known(void *user, expr symbol, int64_t *value);

/* ---- Values: verify_values.c. */

/* Makes the inputs of the picked extents. Errors: ERR_MODEL if they become too large, ERR_USAGE if given tensors do not
 * fit. */
int draw_inputs(struct draw *d, struct tensor *inputs);

#endif
