/* The table of languages. */
#include "gen/language.h"

#include "base/error.h"

const struct language *language_of(enum kernel_language id)
{
	static const struct language *const language[KERNEL_LANGUAGES] = {
		[KERNEL_CUDA] = &language_cuda,
		[KERNEL_C] = &language_c,
	};
	ck(id < KERNEL_LANGUAGES);
	return language[id];
}
