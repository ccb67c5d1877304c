/* Constants that count: integer tensors such as the positions 0, 1, 2 ... that models compare or gather with, or the
 * heads 0, 0, 1, 1 ... of keys that queries share. A program computes their elements instead of reading them, so that
 * its passes know what a comparison with them means. */
#include "graph/graph_internal.h"

enum {
	MOST = 1 << 14,     /* elements: a region's function holds the tensor, too */
	LEAST_REPEATED = 8, /* elements of a small tensor, whose counts begin again or stay: no list of extents or axes
	                     */
};

/* How many elements from the first on are the same. */
static int64_t run_of(const struct tensor *t, int64_t n)
{
	int64_t run = 1;
	while (run < n && tensor_int(t, run) == tensor_int(t, 0))
		run++;
	return run;
}

bool graph_progression_of(struct graph *g, struct graph_value *v, struct graph_progression *out)
{
	struct err ignored = { 0 };
	const struct tensor *t;
	int64_t n = v->is_constant ? graph_count(v->rank, v->dim) : -1;
	bool small = graph_is_small(v);

	*out = (struct graph_progression){ .axis = -1 };
	if (n < (small ? LEAST_REPEATED : 2) || n > MOST || (v->type != TYPE_I64 && v->type != TYPE_I32) ||
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
	out->repeats = run_of(t, n);
	if (out->repeats == n)
		return false;
	int64_t next = tensor_int(t, out->repeats);
	if (out->first < INT32_MIN || out->first > INT32_MAX || next < INT32_MIN || next > INT32_MAX)
		return false;
	out->step = next - out->first;
	for (out->period = 2; out->period * out->repeats < n; out->period++)
		if (tensor_int(t, out->period * out->repeats) == out->first)
			break;
	if (small && out->repeats == 1 && out->period >= n)
		return false;
	for (int64_t i = 0; i < n; i++)
		if (tensor_int(t, i) != out->first + i / out->repeats % out->period * out->step)
			return false;
	return true;
}
