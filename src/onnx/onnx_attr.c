/* Attributes of nodes, read with their types checked. See onnx.h. */
#include "onnx/onnx_internal.h"

#include <string.h>

/* Names of each attribute type in messages: as the wanted type, and as the type found. */
static const char *const kind[] = {
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED] = "nothing",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT] = "a float",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT] = "an integer",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING] = "a string",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR] = "a tensor",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH] = "a graph",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS] = "a list of floats",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS] = "a list of integers",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS] = "a list of strings",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS] = "a list of tensors",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS] = "a list of graphs",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR] = "a sparse tensor",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSORS] = "a list of sparse tensors",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTO] = "a type",
	[ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TYPE_PROTOS] = "a list of types",
};

static const char *kind_name(int type)
{
	return type >= 0 && type < (int)(sizeof kind / sizeof *kind) ? kind[type] : "a type of a later ONNX version";
}

const Onnx__AttributeProto *onnx_attr(const Onnx__NodeProto *node, const char *name)
{
	for (size_t i = 0; i < node->n_attribute; i++)
		if (strcmp(onnx_text(node->attribute[i]->name), name) == 0)
			return node->attribute[i];
	return NULL;
}

Onnx__AttributeProto__AttributeType onnx_attr_type(const Onnx__AttributeProto *a)
{
	if (a->has_type && a->type)
		return a->type;
	return a->has_f       ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
	       : a->has_i     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
	       : a->has_s     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING
	       : a->t         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR
	       : a->g         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH
	       : a->n_floats  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
	       : a->n_ints    ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS
	       : a->n_strings ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS
	       : a->n_tensors ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSORS
	       : a->n_graphs  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPHS
	                      : ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED;
}

/* The attribute if the node has it, of type `want`; `out` null when absent. An empty list may come without a type. */
static int typed(const Onnx__AttributeProto **out, const Onnx__NodeProto *node, const char *name,
                 Onnx__AttributeProto__AttributeType want, struct err *e)
{
	const Onnx__AttributeProto *a = *out = onnx_attr(node, name);
	Onnx__AttributeProto__AttributeType got;
	char who[ONNX_DESCRIBE];
	if (!a)
		return 0;
	if (*onnx_text(a->ref_attr_name))
		return err_set(e, ERR_UNSUPPORTED,
		               "attribute \"%s\" of %s refers to the attribute \"%s\" of a function, which has no "
		               "value here.",
		               name, onnx_node_describe(node, who), a->ref_attr_name);
	got = onnx_attr_type(a);
	if (got == want || (!got && (want == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS ||
	                             want == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS ||
	                             want == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS)))
		return 0;
	err_set(e, ERR_MODEL, "attribute \"%s\" of %s must be %s, the file has %s.", name,
	        onnx_node_describe(node, who), kind_name((int)want), kind_name((int)got));
	return err_advise(e, "Correct the node in the program that exported the model, and export it again.");
}

int onnx_attr_int(int64_t *out, const Onnx__NodeProto *node, const char *name, int64_t fallback, struct err *e)
{
	const Onnx__AttributeProto *a;
	TRY(typed(&a, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, e));
	*out = a ? a->i : fallback; /* no i field: 0, as proto3 writers omit it */
	return 0;
}

static int text(const char **out, const ProtobufCBinaryData *s, const Onnx__NodeProto *node, const char *name,
                struct arena *a, struct err *e)
{
	char who[ONNX_DESCRIBE];
	if (s->len && memchr(s->data, 0, s->len))
		return err_set(e, ERR_MODEL, "attribute \"%s\" of %s has a NUL inside its text.", name,
		               onnx_node_describe(node, who));
	*out = arena_strndup(a, s->len ? (const char *)s->data : "", s->len);
	return 0;
}

int onnx_attr_string(const char **out, const Onnx__NodeProto *node, const char *name, const char *fallback,
                     struct arena *a, struct err *e)
{
	const Onnx__AttributeProto *at;
	TRY(typed(&at, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, e));
	*out = fallback;
	return at ? text(out, &at->s, node, name, a, e) : 0;
}
