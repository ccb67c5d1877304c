/* Cutting a region. Nodes are in an order in which each follows what it reads, so both parts of a convex region are
 * convex, and only the second needs results of the first. */
#include "graph/graph_join.h"

/* Returns the position in the region of the last node that reads the value; -1: none does. */
static int last_reader(const struct graph_value *v, const int *place)
{
	int last = -1;

	for (int c = 0; c < v->consumers.n; c++)
		last = place[v->consumers.at[c]] > last ? place[v->consumers.at[c]] : last;
	return last;
}

/* Returns the bytes that would cross a cut before each node: of tensors made before and read from there on. */
static double *crossings(const struct join *j, const int *node, int n)
{
	int *place = NEWN(j->scratch, int, j->g->nodes.n + 1);
	double *bytes = NEWN(j->scratch, double, n + 2);

	for (int i = 0; i < j->g->nodes.n; i++)
		place[i] = -1;
	for (int i = 0; i < n; i++)
		place[node[i]] = i;
	for (int i = 0; i < n; i++) {
		const Onnx__NodeProto *p = j->g->nodes.at[node[i]].proto;

		for (size_t k = 0; k < p->n_output; k++) {
			const struct graph_value *v = graph_value_find(j->g, p->output[k]);
			int last = v ? last_reader(v, place) : -1;

			for (int at = i + 1; at <= last; at++)
				bytes[at] += join_edge_bytes(j, v);
		}
	}
	return bytes;
}

/* Adds a node, unless there is one of its kind. */
static void add_node(struct join_size *size, struct map *seen, const struct join *j, const uint64_t *kind, int node)
{
	const struct graph_node *x = &j->g->nodes.at[node];

	if (kind && map_get_u64(seen, kind[node]))
		return;
	if (kind)
		map_put_u64(seen, kind[node], x);
	size->products += x->work == GRAPH_PRODUCT;
	size->nodes++;
}

struct join_size join_size(const struct join *j, const uint64_t *kind, const int *node, int n)
{
	struct map seen = map_new(j->scratch);
	struct join_size size = { 0, 0 };

	for (int i = 0; i < n; i++)
		add_node(&size, &seen, j, kind, node[i]);
	return size;
}

int join_cut(const struct join *j, const uint64_t *kind, const int *node, int n, int most)
{
	int best = n / 2;
	bool many = join_size(j, kind, node, n).products > most;
	double least = -1, *bytes = crossings(j, node, n);
	struct map seen = map_new(j->scratch);
	struct join_size first = { 0, 0 };

	for (int at = 1; at < n; at++) {
		add_node(&first, &seen, j, kind, node[at - 1]);
		if (many ? first.products > most || first.products * 2 < most : at * 4 < n || at * 4 > n * 3)
			continue;
		if (least < 0 || bytes[at] <= least) {
			least = bytes[at];
			best = at;
		}
	}
	return best;
}
