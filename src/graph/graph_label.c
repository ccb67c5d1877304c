/* Labels of nodes, unique in the model. */
#include "graph/graph_internal.h"

void graph_count_names(struct map *out, const Onnx__GraphProto *p)
{
	for (size_t i = 0; i < p->n_node; i++) {
		const Onnx__NodeProto *n = p->node[i];
		const char *name = str_printable(out->arena, onnx_text(n->name));

		map_put(out, name, (void *)((uintptr_t)map_get(out, name) + 1));
		for (size_t k = 0; k < n->n_attribute; k++) {
			if (n->attribute[k]->g)
				graph_count_names(out, n->attribute[k]->g);
			for (size_t j = 0; j < n->attribute[k]->n_graphs; j++)
				graph_count_names(out, n->attribute[k]->graphs[j]);
		}
	}
}

const char *graph_node_label(const struct graph *g, int node)
{
	const char *label = onnx_node_label(g->index, node);

	if (!g->outer || (*label != '#' && (uintptr_t)map_get(&g->root->node_names, label) == 1))
		return label;
	return arena_printf(g->arena, "%s/%s", g->name, label);
}
