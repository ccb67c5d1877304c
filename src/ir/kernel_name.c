/* Names of kernels, by which a plugin's library finds them. */
#include <string.h>

#include "ir/kernel.h"
#include "ir/reserved.h"

/* A part of a launch is a separate function, NAME_part. */
static bool are_one(const char *a, const char *b)
{
	static const char part[] = "_part";
	size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
	return memcmp(a, b, least) == 0 && (n == m || strcmp((n < m ? b : a) + least, part) == 0);
}

const char *ir_kernel_name(const struct ir_plan *plan, const char *name)
{
	const char *unique = name;
	for (int number = 2;; number++) {
		bool taken = names_is_reserved(unique);
		vec_each (step, &plan->steps)
			vec_each (k, *step)
				taken |= are_one((*k)->name, unique);
		if (!taken)
			return unique;
		unique = arena_printf(plan->program->arena, "%s_%d", name, number);
	}
}
