/* Compiled code of kernels in a folder that several processes share. See code_cache.c. */
#ifndef TPAT_TUNE_CODE_CACHE_H
#define TPAT_TUNE_CODE_CACHE_H

#include "tune/tune.h"

struct code_cache {
	const char *folder;
	int arch; /* 0: no GPU */
	const struct language *language;
	struct dev *dev; /* that compiles; null: the language's compiler, for `arch`, without a device */
};

/* Errors of what it gives: ERR_DEVICE from the compiler, kept like code; ERR_USAGE from the folder. */
struct tune_code code_cache_use(struct code_cache *c);

#endif
