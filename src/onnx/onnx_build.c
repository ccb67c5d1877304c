/* New messages in a model's arena: nodes, attributes, values, graphs. See onnx.h. */
#include "onnx/onnx_internal.h"

#include <string.h>

/* protobuf-c stores no capacity with an array's length. m->room has it, by address, for arrays that grew here. */
void onnx_array_push(struct onnx_model *m, void *array, size_t *n, void *item)
{
	void **at, **bigger;
	memcpy(&at, array, sizeof(void *));
	uintptr_t cap = at ? (uintptr_t)map_get_u64(&m->room, (uintptr_t)at) : 0;
	if (*n >= cap) {
		cap = *n < 4 ? 8 : 2 * *n;
		bigger = NEWN(m->arena, void *, cap);
		if (*n)
			memcpy(bigger, at, *n * sizeof *at);
		map_put_u64(&m->room, (uintptr_t)bigger, (void *)cap);
		memcpy(array, &bigger, sizeof(void *));
		at = bigger;
	}
	at[(*n)++] = item;
}

static char *copy(struct onnx_model *m, const char *s)
{
	return arena_strdup(m->arena, s);
}

/* ------------------------------------------------------------------ nodes */

Onnx__NodeProto *onnx_node_new(struct onnx_model *m, const char *domain, const char *op_type, const char *name)
{
	Onnx__NodeProto *node = NEW(m->arena, Onnx__NodeProto);
	onnx__node_proto__init(node);
	if (*onnx_domain(domain))
		node->domain = copy(m, domain);
	node->op_type = copy(m, op_type);
	if (*onnx_text(name)) {
		node->name = copy(m, name);
		onnx_name_use(m, name);
	}
	return node;
}

void onnx_node_input(struct onnx_model *m, Onnx__NodeProto *node, const char *name)
{
	onnx_array_push(m, &node->input, &node->n_input, copy(m, name));
}

void onnx_node_output(struct onnx_model *m, Onnx__NodeProto *node, const char *name)
{
	onnx_array_push(m, &node->output, &node->n_output, copy(m, name));
	onnx_name_use(m, name);
}

Onnx__AttributeProto *onnx_node_attribute(struct onnx_model *m, Onnx__NodeProto *node, const char *name,
                                          Onnx__AttributeProto__AttributeType type)
{
	Onnx__AttributeProto *a = NEW(m->arena, Onnx__AttributeProto);
	onnx__attribute_proto__init(a);
	a->name = copy(m, name);
	a->has_type = 1;
	a->type = type;
	for (size_t i = 0; i < node->n_attribute; i++)
		if (strcmp(onnx_text(node->attribute[i]->name), name) == 0)
			return node->attribute[i] = a;
	onnx_array_push(m, &node->attribute, &node->n_attribute, a);
	return a;
}

static ProtobufCBinaryData bytes(struct onnx_model *m, const char *s)
{
	return (ProtobufCBinaryData){ strlen(s), (uint8_t *)copy(m, s) };
}

void onnx_node_set_int(struct onnx_model *m, Onnx__NodeProto *node, const char *name, int64_t x)
{
	Onnx__AttributeProto *a = onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
	a->has_i = 1;
	a->i = x;
}

void onnx_node_set_string(struct onnx_model *m, Onnx__NodeProto *node, const char *name, const char *x)
{
	Onnx__AttributeProto *a = onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
	a->has_s = 1;
	a->s = bytes(m, x);
}

void onnx_node_set_ints(struct onnx_model *m, Onnx__NodeProto *node, const char *name, const int64_t *x, int n)
{
	Onnx__AttributeProto *a = onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
	a->ints = NEWN(m->arena, int64_t, n);
	a->n_ints = (size_t)n;
	if (n)
		memcpy(a->ints, x, sizeof *x * (size_t)n);
}

void onnx_node_set_tensor(struct onnx_model *m, Onnx__NodeProto *node, const char *name, Onnx__TensorProto *x)
{
	onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t = x;
}

void onnx_node_set_graph(struct onnx_model *m, Onnx__NodeProto *node, const char *name, Onnx__GraphProto *x)
{
	onnx_node_attribute(m, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = x;
}

/* ------------------------------------------------------------------ values and graphs */

static Onnx__TensorShapeProto *shape_new(struct onnx_model *m, int rank, const int64_t *dim, const char *const *symbol)
{
	Onnx__TensorShapeProto *shape = NEW(m->arena, Onnx__TensorShapeProto);
	onnx__tensor_shape_proto__init(shape);
	shape->n_dim = (size_t)rank;
	shape->dim = NEWN(m->arena, Onnx__TensorShapeProto__Dimension *, rank);
	for (int i = 0; i < rank; i++) {
		Onnx__TensorShapeProto__Dimension *d = NEW(m->arena, Onnx__TensorShapeProto__Dimension);
		onnx__tensor_shape_proto__dimension__init(d);
		if (dim[i] >= 0) {
			d->has_dim_value = 1;
			d->dim_value = dim[i];
		} else if (symbol && symbol[i]) {
			d->dim_param = copy(m, symbol[i]);
		}
		shape->dim[i] = d;
	}
	return shape;
}

Onnx__ValueInfoProto *onnx_value_info_new(struct onnx_model *m, const char *name, enum type type, int rank,
                                          const int64_t *dim, const char *const *symbol)
{
	Onnx__ValueInfoProto *v = NEW(m->arena, Onnx__ValueInfoProto);
	Onnx__TypeProto__Tensor *t = NEW(m->arena, Onnx__TypeProto__Tensor);
	onnx__value_info_proto__init(v);
	onnx__type_proto__tensor__init(t);
	v->name = copy(m, name);
	onnx_name_use(m, name);
	v->type = NEW(m->arena, Onnx__TypeProto);
	onnx__type_proto__init(v->type);
	v->type->tensor_type = t;
	t->has_elem_type = 1;
	t->elem_type = (int32_t)type;
	if (rank >= 0)
		t->shape = shape_new(m, rank, dim, symbol);
	return v;
}

Onnx__GraphProto *onnx_graph_new(struct onnx_model *m, const char *name)
{
	Onnx__GraphProto *g = NEW(m->arena, Onnx__GraphProto);
	onnx__graph_proto__init(g);
	g->name = copy(m, name);
	return g;
}

void onnx_graph_add_initializer(struct onnx_model *m, Onnx__GraphProto *g, Onnx__TensorProto *t)
{
	onnx_array_push(m, &g->initializer, &g->n_initializer, t);
	onnx_name_use(m, onnx_text(t->name));
}

void onnx_graph_add_value_info(struct onnx_model *m, Onnx__GraphProto *g, Onnx__ValueInfoProto *v)
{
	onnx_array_push(m, &g->value_info, &g->n_value_info, v);
}

void onnx_graph_add_input(struct onnx_model *m, Onnx__GraphProto *g, Onnx__ValueInfoProto *v)
{
	onnx_array_push(m, &g->input, &g->n_input, v);
}

void onnx_graph_add_output(struct onnx_model *m, Onnx__GraphProto *g, Onnx__ValueInfoProto *v)
{
	onnx_array_push(m, &g->output, &g->n_output, v);
}

void onnx_graph_add_node(struct onnx_model *m, Onnx__GraphProto *g, Onnx__NodeProto *n)
{
	onnx_array_push(m, &g->node, &g->n_node, n);
}

/* ------------------------------------------------------------------ names */

void onnx_name_use(struct onnx_model *m, const char *name)
{
	if (m->names.n && *name) /* else names are not tracked yet */
		map_put(&m->names, name, m);
}

static int use_graph(void *arg, ProtobufCMessage *message)
{
	struct onnx_model *m = arg;
	const Onnx__GraphProto *g = (const Onnx__GraphProto *)message;
	for (size_t i = 0; i < g->n_initializer; i++)
		onnx_name_use(m, onnx_text(g->initializer[i]->name));
	for (size_t i = 0; i < g->n_sparse_initializer; i++)
		if (g->sparse_initializer[i]->values)
			onnx_name_use(m, onnx_text(g->sparse_initializer[i]->values->name));
	return 0;
}

static int use_value(void *arg, ProtobufCMessage *message)
{
	onnx_name_use(arg, onnx_text(((const Onnx__ValueInfoProto *)message)->name));
	return 0;
}

static int use_node(void *arg, ProtobufCMessage *message)
{
	const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
	onnx_name_use(arg, onnx_text(node->name));
	for (size_t i = 0; i < node->n_input; i++)
		onnx_name_use(arg, node->input[i]);
	for (size_t i = 0; i < node->n_output; i++)
		onnx_name_use(arg, node->output[i]);
	return 0;
}

static int use_function(void *arg, ProtobufCMessage *message)
{
	const Onnx__FunctionProto *f = (const Onnx__FunctionProto *)message;
	onnx_name_use(arg, onnx_text(f->name));
	for (size_t i = 0; i < f->n_input; i++)
		onnx_name_use(arg, f->input[i]);
	return 0;
}

char *onnx_name_unique(struct onnx_model *m, const char *base)
{
	char *name = copy(m, base);
	if (!m->names.n) {
		map_put(&m->names, "", m);
		onnx_visit(&m->proto->base, &onnx__graph_proto__descriptor, use_graph, m);
		onnx_visit(&m->proto->base, &onnx__value_info_proto__descriptor, use_value, m);
		onnx_visit(&m->proto->base, &onnx__node_proto__descriptor, use_node, m);
		onnx_visit(&m->proto->base, &onnx__function_proto__descriptor, use_function, m);
	}
	for (int i = 1; map_get(&m->names, name); i++)
		name = arena_printf(m->arena, "%s_%d", base, i);
	map_put(&m->names, name, m);
	return name;
}

const char *onnx_domain(const char *domain)
{
	return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}
