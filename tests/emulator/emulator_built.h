/* Texts compiled for the emulator and loaded at once. */
#ifndef TPAT_TESTS_EMULATOR_BUILT_H
#define TPAT_TESTS_EMULATOR_BUILT_H

#include "emulator/emulator.h"

static inline int emulator_build(struct emulator_module **out, const struct emulator_text *text, int texts,
                                 struct err *e)
{
	struct arena *a = arena_new();
	void *data;
	size_t size;
	int rc = emulator_compile(&data, &size, text, texts, a, e);
	if (rc == 0)
		rc = emulator_load(out, data, size, e);
	arena_free(a);
	return rc;
}

#endif
