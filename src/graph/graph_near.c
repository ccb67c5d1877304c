/* Which tensors the engine is likely to have in a format of its convolutions. */
#include <string.h>

#include "graph/graph.h"

enum { MOST_STEPS = 8 };

static bool is_one_of(const struct graph_node *n, const char *const *name)
{
	while (*name && strcmp(onnx_text(n->proto->op_type), *name) != 0)
		name++;
	return *name != NULL;
}

static bool is_convolution(const struct graph_node *n)
{
	static const char *const names[] = { "Conv", "ConvTranspose", NULL };

	return is_one_of(n, names);
}

/* True if the node computes each element from those of the same channel, or moves whole channels. */
static bool keeps_channels(const struct graph_node *n)
{
	static const char *const names[] = { "MaxPool", "AveragePool", "Resize", "Upsample", "Concat", NULL };

	return is_one_of(n, names) || (n->known && n->work == GRAPH_MAPS && !n->moves);
}

static bool meets(const struct graph *g, const struct graph_value *v, int rank, bool after, const bool *taken,
                  int steps);

static bool node_meets(const struct graph *g, int node, int rank, bool after, const bool *taken, int steps)
{
	const struct graph_node *n = &g->nodes.at[node];

	if (taken[node] || n->folded)
		return false;
	if (is_convolution(n))
		return true;
	if (!steps || !keeps_channels(n))
		return false;
	for (int i = 0; !after && i < n->reads.n; i++)
		if (meets(g, n->reads.at[i], rank, after, taken, steps - 1))
			return true;
	for (size_t i = 0; after && i < n->proto->n_output; i++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[i]);

		if (v && meets(g, v, rank, after, taken, steps - 1))
			return true;
	}
	return false;
}

static bool meets(const struct graph *g, const struct graph_value *v, int rank, bool after, const bool *taken,
                  int steps)
{
	if (v->is_constant || v->rank != rank)
		return false;
	if (!after)
		return v->producer >= 0 && node_meets(g, v->producer, rank, after, taken, steps);
	for (int i = 0; i < v->consumers.n; i++)
		if (node_meets(g, v->consumers.at[i], rank, after, taken, steps))
			return true;
	return false;
}

bool graph_meets_convolution(const struct graph *g, const struct graph_value *v, bool after, const bool *taken)
{
	return meets(g, v, v->rank, after, taken, MOST_STEPS);
}
