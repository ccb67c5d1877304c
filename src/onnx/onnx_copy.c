/* Copies of nodes under other names, for bodies and functions whose nodes move into the graph around them. See
 * onnx.h. */
#include "onnx/onnx_internal.h"

#include <string.h>

struct onnx_copy onnx_copy_new(struct onnx_model *m, const struct map *attributes)
{
	return (struct onnx_copy){ .model = m, .names = map_new(m->arena), .attributes = attributes };
}

const char *onnx_copy_name(const struct onnx_copy *c, const char *name)
{
	for (; c; c = c->outer) {
		const char *now = map_get(&c->names, name);
		if (now)
			return now;
	}
	return name;
}

static void define(struct onnx_copy *c, const char *name)
{
	if (*name && !map_get(&c->names, name))
		map_put(&c->names, name, onnx_name_unique(c->model, name));
}

static char *renamed(const struct onnx_copy *c, const char *name)
{
	return arena_strdup(c->model->arena, onnx_copy_name(c, name));
}

static Onnx__ValueInfoProto **copy_infos(const struct onnx_copy *c, Onnx__ValueInfoProto *const *from, size_t n)
{
	Onnx__ValueInfoProto **to = NEWN(c->model->arena, Onnx__ValueInfoProto *, n + 1);
	for (size_t i = 0; i < n; i++) {
		to[i] = NEW(c->model->arena, Onnx__ValueInfoProto);
		*to[i] = *from[i];
		to[i]->name = renamed(c, onnx_text(from[i]->name));
	}
	return to;
}

Onnx__TensorProto *onnx_copy_initializer(struct onnx_copy *c, const Onnx__TensorProto *t)
{
	Onnx__TensorProto *copy = NEW(c->model->arena, Onnx__TensorProto);
	define(c, onnx_text(t->name));
	*copy = *t;
	copy->name = renamed(c, onnx_text(t->name));
	return copy;
}

static Onnx__GraphProto *copy_graph(struct onnx_copy *outer, const Onnx__GraphProto *g)
{
	struct onnx_model *m = outer->model;
	struct onnx_copy c = onnx_copy_new(m, outer->attributes);
	Onnx__GraphProto *to = NEW(m->arena, Onnx__GraphProto);
	c.outer = outer;
	*to = *g;
	for (size_t i = 0; i < g->n_input; i++)
		define(&c, onnx_text(g->input[i]->name));
	to->initializer = NEWN(m->arena, Onnx__TensorProto *, g->n_initializer + 1);
	for (size_t i = 0; i < g->n_initializer; i++)
		to->initializer[i] = onnx_copy_initializer(&c, g->initializer[i]);
	to->node = NEWN(m->arena, Onnx__NodeProto *, g->n_node + 1);
	for (size_t i = 0; i < g->n_node; i++)
		to->node[i] = onnx_copy_node(&c, g->node[i]);
	to->input = copy_infos(&c, g->input, g->n_input);
	to->output = copy_infos(&c, g->output, g->n_output);
	to->value_info = copy_infos(&c, g->value_info, g->n_value_info);
	to->n_quantization_annotation = 0;
	return to;
}

/* Null: the function's call does not give the attribute that this one refers to. */
static Onnx__AttributeProto *copy_attribute(struct onnx_copy *c, const Onnx__AttributeProto *a)
{
	const char *ref = onnx_text(a->ref_attr_name);
	const Onnx__AttributeProto *from = *ref && c->attributes ? map_get(c->attributes, ref) : a;
	if (!from)
		return NULL;
	Onnx__AttributeProto *to = NEW(c->model->arena, Onnx__AttributeProto);
	*to = *from;
	to->name = a->name;
	if (from != a) /* its graphs belong to the call, and keep their names */
		return to;
	if (a->g)
		to->g = copy_graph(c, a->g);
	if (a->n_graphs)
		to->graphs = NEWN(c->model->arena, Onnx__GraphProto *, a->n_graphs);
	for (size_t i = 0; i < a->n_graphs; i++)
		to->graphs[i] = copy_graph(c, a->graphs[i]);
	return to;
}

Onnx__NodeProto *onnx_copy_node(struct onnx_copy *c, const Onnx__NodeProto *n)
{
	struct onnx_model *m = c->model;
	Onnx__NodeProto *to = NEW(m->arena, Onnx__NodeProto);
	*to = *n;
	if (*onnx_text(n->name))
		to->name = onnx_name_unique(m, n->name);
	to->input = NEWN(m->arena, char *, n->n_input + 1);
	for (size_t i = 0; i < n->n_input; i++)
		to->input[i] = renamed(c, n->input[i]);
	to->attribute = NEWN(m->arena, Onnx__AttributeProto *, n->n_attribute + 1);
	to->n_attribute = 0;
	for (size_t i = 0; i < n->n_attribute; i++)
		if ((to->attribute[to->n_attribute] = copy_attribute(c, n->attribute[i])))
			to->n_attribute++;
	to->output = NEWN(m->arena, char *, n->n_output + 1);
	for (size_t i = 0; i < n->n_output; i++) {
		define(c, n->output[i]);
		to->output[i] = renamed(c, n->output[i]);
	}
	return to;
}
