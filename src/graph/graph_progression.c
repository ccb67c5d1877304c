/* Constants that count: integer tensors such as the positions 0, 1, 2 ... that models compare or gather with. A program
 * computes their elements instead of reading them, so that its passes know what a comparison with them means. */
#include "graph/graph_internal.h"

enum { MOST = 1 << 14 /* elements: a region's function holds the tensor, too */ };

bool graph_progression_of(struct graph *g, struct graph_value *v, struct graph_progression *out)
{
	struct err ignored = { 0 };
	const struct tensor *t;
	int64_t n = v->is_constant && !graph_is_small(v) ? graph_count(v->rank, v->dim) : -1;

	*out = (struct graph_progression){ .axis = -1 };
	if (n < 2 || n > MOST || (v->type != TYPE_I64 && v->type != TYPE_I32) ||
	    graph_constant(&t, g, v, &ignored) < 0 || !t->data)
		return false;
	for (int k = 0; k < t->rank; k++) {
		if (t->dim[k] == 1)
			continue;
		if (out->axis >= 0)
			return false;
		out->axis = k;
	}
	out->first = tensor_int(t, 0);
	if (out->first < INT32_MIN || out->first > INT32_MAX || tensor_int(t, 1) < INT32_MIN ||
	    tensor_int(t, 1) > INT32_MAX)
		return false;
	out->step = tensor_int(t, 1) - out->first;
	for (int64_t i = 0; i < n; i++)
		if (tensor_int(t, i) != out->first + i * out->step)
			return false;
	return true;
}
