/* Parts of the rewrites in the table: the node that is replaced, and nodes like it. */
#include <string.h>

#include "graph/graph_plain.h"

struct graph_value *plain_input(const struct plain *p, size_t i)
{
	const Onnx__NodeProto *n = p->n->proto;

	return i < n->n_input ? graph_value_find(p->g, n->input[i]) : NULL;
}

struct graph_value *plain_made(const struct plain *p, size_t i)
{
	const Onnx__NodeProto *n = p->n->proto;

	return i < n->n_output ? graph_value_find(p->g, n->output[i]) : NULL;
}

int64_t plain_int(const struct plain *p, const char *name, int64_t otherwise)
{
	const Onnx__AttributeProto *a = onnx_attr(p->n->proto, name);

	return a && a->has_i ? a->i : otherwise;
}

float plain_float(const struct plain *p, const char *name, float otherwise)
{
	const Onnx__AttributeProto *a = onnx_attr(p->n->proto, name);

	return a && a->has_f ? a->f : otherwise;
}

Onnx__NodeProto *plain_like(struct plain *p, const char *op)
{
	Onnx__NodeProto *node = plain_node(p, op, NULL, NULL, NULL);
	const Onnx__NodeProto *from = p->n->proto;

	node->domain = from->domain;
	for (size_t i = 0; i < from->n_attribute; i++) {
		Onnx__AttributeProto *a =
		        onnx_node_attribute(p->g->model, node, from->attribute[i]->name, from->attribute[i]->type);

		*a = *from->attribute[i];
	}
	return node;
}

void plain_drop(Onnx__NodeProto *node, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < node->n_attribute; i++)
		if (strcmp(onnx_text(node->attribute[i]->name), name) != 0)
			node->attribute[n++] = node->attribute[i];
	node->n_attribute = n;
}

void plain_copy_inputs(struct plain *p, Onnx__NodeProto *node, size_t from)
{
	for (size_t i = from; i < p->n->proto->n_input; i++)
		onnx_node_input(p->g->model, node, p->n->proto->input[i]);
}

void plain_copy_outputs(struct plain *p, Onnx__NodeProto *node)
{
	for (size_t i = 0; i < p->n->proto->n_output; i++)
		onnx_node_output(p->g->model, node, p->n->proto->output[i]);
}
