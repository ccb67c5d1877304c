/* A cache of compiled kernels in a folder shared by several processes. See code_cache.c. */
#ifndef TPAT_TUNE_CODE_CACHE_H
#define TPAT_TUNE_CODE_CACHE_H

#include "tune/tune.h"

struct code_cache {
	const char *folder;
	int arch; /* 0: no GPU */
	const struct language *language;
	struct dev *dev; /* the compiling device; null: the language's compiler, for `arch` */
};

/* Returns the cache as a code source. Its errors: ERR_DEVICE from the compiler, cached like code; ERR_USAGE for the
 * folder. */
struct tune_code code_cache_use(struct code_cache *c);

#endif
