/* Growing arrays. See vec.h. */
#include "base/vec.h"

#include <string.h>

void vec_room(struct arena *a, void **at, int n, int *cap, size_t size)
{
	if (n < *cap)
		return;
	*cap = *cap ? *cap * 2 : 8;
	void *p = arena_alloc(a, (size_t)*cap * size);
	if (n)
		memcpy(p, *at, (size_t)n * size);
	*at = p;
}
