/* Copies of nodes in place of the call, branch or loop that holds them. See graph_sequence.h. */
#include "graph/graph_sequence.h"

enum { MOST_COPIED = 32768 }; /* nodes copied in a round */

bool expand_has_room(const struct resolve_scope *s, size_t nodes, int64_t times)
{
	return times <= MOST_COPIED && (int64_t)nodes * times <= MOST_COPIED - s->r->nodes;
}

void expand_nodes(struct resolve_scope *s, struct onnx_copy *c, Onnx__NodeProto *const *node, size_t n)
{
	for (size_t i = 0; i < n; i++)
		resolve_node(s, onnx_copy_node(c, node[i]));
	s->r->nodes += (int)n;
}

void expand_initializers(struct resolve_scope *s, struct onnx_copy *c, const Onnx__GraphProto *g)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		onnx_graph_add_initializer(s->r->model, s->proto, onnx_copy_initializer(c, g->initializer[i]));
}

struct resolve_name expand_copied(const struct resolve_scope *s, const struct onnx_copy *c, const char *name)
{
	return resolve_find(s, onnx_copy_name(c, name));
}

const char *expand_turn_number(struct plain *p, const Onnx__GraphProto *body, int64_t k)
{
	const Onnx__TensorShapeProto *shape = NULL;
	enum type type;

	if (onnx_value_type(body->input[0], &type, &shape) && shape && shape->n_dim == 1)
		return plain_ints(p, &k, 1);
	return plain_number(p, TYPE_I64, (double)k);
}
