/* A node's attributes in the form that lower_node() takes. */
#include <string.h>

#include "graph/graph_internal.h"

/* Resolves the attribute: itself, or an attribute of the function's call; a null proto if the call has none. */
struct graph_bound_attr graph_attr_resolve(const struct graph_scope *s, const Onnx__AttributeProto *a)
{
	const struct graph_bound_attr *given;

	if (!*onnx_text(a->ref_attr_name))
		return (struct graph_bound_attr){ a, s };
	given = s->attributes ? map_get(s->attributes, a->ref_attr_name) : NULL;
	return given ? *given : (struct graph_bound_attr){ 0 };
}

static int text_of(const char **out, const ProtobufCBinaryData *s, struct arena *a)
{
	*out = arena_strndup(a, s->len ? (const char *)s->data : "", s->len);
	return 0;
}

static int value_of(struct attr_value *v, const struct graph_scope *s, const struct graph_bound_attr *bound)
{
	const Onnx__AttributeProto *a = bound->proto;
	struct arena *arena = s->program->arena;
	struct graph_body *body;
	const char **strings;
	struct tensor *t;
	double *floats;

	switch (onnx_attr_type(a)) {
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
		v->kind = OP_INT;
		v->i = a->i;
		return 0;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
		v->kind = OP_FLOAT;
		v->f = (double)a->f;
		return 0;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING: v->kind = OP_STRING; return text_of(&v->s, &a->s, arena);
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED: /* an empty list without an element type */
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
		v->kind = OP_INTS;
		v->n = (int)a->n_ints;
		v->ints = a->ints;
		return 0;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
		v->kind = OP_FLOATS;
		v->n = (int)a->n_floats;
		v->floats = floats = NEWN(arena, double, a->n_floats);
		for (int i = 0; i < v->n; i++)
			floats[i] = (double)a->floats[i];
		return 0;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
		v->kind = OP_STRINGS;
		v->n = (int)a->n_strings;
		v->strings = strings = NEWN(arena, const char *, a->n_strings);
		for (int i = 0; i < v->n; i++)
			TRY(text_of(&strings[i], &a->strings[i], arena));
		return 0;
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
		v->kind = OP_TENSOR;
		v->tensor = t = NEW(arena, struct tensor);
		if (!a->t)
			return err_set(s->err, ERR_MODEL, "attribute \"%s\" has a type, but no value.", v->name);
		return onnx_tensor_load(t, a->t, s->g->model, arena, s->err);
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
		v->kind = OP_GRAPH;
		if (!a->g)
			return err_set(s->err, ERR_MODEL, "attribute \"%s\" has a type, but no value.", v->name);
		v->graph = body = NEW(arena, struct graph_body);
		*body = (struct graph_body){ a->g, bound->scope };
		return 0;
	default:
		return err_set(
		        s->err, ERR_UNSUPPORTED,
		        "attribute \"%s\" is a sparse tensor, a type, or a list of graphs, which tpat does not read.",
		        v->name);
	}
}

int graph_attributes(const struct attr_value **out, int *n, const struct graph_scope *s, const Onnx__NodeProto *node,
                     const char *label)
{
	struct attr_value *list = NEWN(s->program->arena, struct attr_value, node->n_attribute + 1);

	*n = 0;
	*out = list;
	for (size_t i = 0; i < node->n_attribute; i++) {
		struct graph_bound_attr a = graph_attr_resolve(s, node->attribute[i]);

		if (!a.proto)
			continue; /* the call omits it: the default applies */
		list[*n] = (struct attr_value){ .name = onnx_text(node->attribute[i]->name) };
		if (value_of(&list[*n], s, &a) < 0)
			return err_about(s->err, ERR_NODE, label),
			       err_where(s->err, "node %s (%s): ", label, onnx_text(node->op_type));
		++*n;
	}
	return 0;
}
