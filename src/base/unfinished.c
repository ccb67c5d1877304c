/* Counts what this process must still finish or remove. See unfinished.h. */
#include "base/unfinished.h"

#include <stdatomic.h>

static atomic_int count;

void unfinished_begin(void)
{
	atomic_fetch_add(&count, 1);
}

void unfinished_end(void)
{
	atomic_fetch_sub(&count, 1);
}

bool unfinished_any(void)
{
	return atomic_load(&count) > 0;
}
