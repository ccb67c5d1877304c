/* Values by name, and the number of their elements. */
#include "graph/graph_internal.h"

struct graph_value *graph_value_find(const struct graph *g, const char *name)
{
	return name && *name ? map_get(&g->by_name, name) : NULL;
}

int64_t graph_count(int rank, const expr *dim)
{
	int64_t n = 1, extent;

	for (int i = 0; i < rank; i++)
		if (!ir_const_int(dim[i], &extent) || extent < 0 || __builtin_mul_overflow(n, extent, &n))
			return -1;
	return n;
}
