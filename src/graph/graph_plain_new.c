/* The vocabulary for writing plain nodes: nodes, constants, and the tensors of the model around them. */
#include "graph/graph_plain.h"

#include <string.h>

/* ---- Nodes. */

Onnx__NodeProto *plain_node(struct plain *p, const char *op, const char *first, const char *second, const char *third)
{
	struct onnx_model *m = p->g->model;
	const char *in[] = { first, second, third };
	Onnx__NodeProto *node = onnx_node_new(m, "", op, arena_printf(m->arena, "%s_%d", p->stem, p->nodes.n));

	for (int i = 0; i < 3 && in[i]; i++)
		onnx_node_input(m, node, in[i]);
	vec_push(p->g->arena, &p->nodes, node);
	return node;
}

static const char *new_name(struct plain *p, const char *what)
{
	return arena_printf(p->g->model->arena, "%s_%s_%d", p->stem, what, p->names++);
}

const char *plain_output(struct plain *p, Onnx__NodeProto *node)
{
	const char *name = new_name(p, node->op_type);

	onnx_node_output(p->g->model, node, name);
	return name;
}

const char *plain_op(struct plain *p, const char *op, const char *first, const char *second, const char *third)
{
	return first ? plain_output(p, plain_node(p, op, first, second, third)) : NULL;
}

const char *plain_cast(struct plain *p, const char *in, enum type to)
{
	Onnx__NodeProto *node;

	if (!in)
		return NULL;
	node = plain_node(p, "Cast", in, NULL, NULL);
	onnx_node_set_int(p->g->model, node, "to", (int64_t)to);
	return plain_output(p, node);
}

const char *plain_with_axes(struct plain *p, const char *op, const char *in, const int64_t *axis, int n, int since)
{
	bool input = p->opset >= since;
	Onnx__NodeProto *node;

	if (!in || !n)
		return in;
	node = plain_node(p, op, in, input ? plain_ints(p, axis, n) : NULL, NULL);
	if (!input)
		onnx_node_set_ints(p->g->model, node, "axes", axis, n);
	if (str_starts(op, "Reduce"))
		onnx_node_set_int(p->g->model, node, "keepdims", 0);
	return plain_output(p, node);
}

/* ---- Constants: one for each value. */

static uint64_t hash_of(const struct tensor *t)
{
	uint64_t h = hash_u64((uint64_t)t->type, (uint64_t)t->rank);

	for (int i = 0; i < t->rank; i++)
		h = hash_u64(h, (uint64_t)t->dim[i]);
	return hash_bytes(h, t->data, (size_t)tensor_bytes(t));
}

const char *plain_tensor(struct plain *p, const struct tensor *t)
{
	const char *name = map_get_u64(&p->known, hash_of(t));

	if (name)
		return name;
	name = new_name(p, "constant");
	vec_push(p->g->arena, &p->constants, onnx_tensor_store(t, name, p->g->model->arena));
	map_put_u64(&p->known, hash_of(t), name);
	return name;
}

const char *plain_number(struct plain *p, enum type t, double x)
{
	struct tensor one;
	struct err ignored = { 0 };

	if (tensor_new(&one, t, 0, NULL, p->g->arena, &ignored) < 0)
		return NULL;
	if (type_is_float(t))
		tensor_set_float(&one, 0, x);
	else
		tensor_set_int(&one, 0, (int64_t)x);
	return plain_tensor(p, &one);
}

const char *plain_ints(struct plain *p, const int64_t *x, int n)
{
	struct tensor t;
	struct err ignored = { 0 };
	int64_t dim = n;

	if (tensor_new(&t, TYPE_I64, 1, &dim, p->g->arena, &ignored) < 0)
		return NULL;
	for (int i = 0; i < n; i++)
		tensor_set_int(&t, i, x[i]);
	return plain_tensor(p, &t);
}

/* ---- Tensors of the model. */

bool plain_narrow(enum type t)
{
	return t == TYPE_U8 || t == TYPE_I8 || t == TYPE_U16 || t == TYPE_I16;
}

enum type plain_type(enum type t)
{
	switch (t) {
	case TYPE_F32:
	case TYPE_F16:
	case TYPE_BF16:
	case TYPE_I32:
	case TYPE_I64:
	case TYPE_BOOL: return t;
	case TYPE_INDEX: return TYPE_I64;
	default: return plain_narrow(t) ? TYPE_F32 : TYPE_NONE;
	}
}

enum plain_carrier plain_carrier_of(const struct plain *p, const char *name)
{
	const struct plain_carried *c = map_get(p->carried, name);

	return c ? c->as : PLAIN_AS_IS;
}

const char *plain_name(const struct plain *p, const char *name)
{
	const struct plain_carried *c = map_get(p->carried, name);

	return c ? c->name : name;
}

/* A narrow constant keeps its size: as int8, which an engine converts when it is built. */
static const char *read_constant(struct plain *p, struct graph_value *v)
{
	struct err ignored = { 0 };
	const struct tensor *t;
	struct tensor copy;

	if (graph_constant(&t, p->g, v, &ignored) < 0)
		return NULL;
	if (v->type != TYPE_U8 || tensor_count(t) <= GRAPH_SMALL) {
		if (tensor_convert(&copy, t, TYPE_F32, p->g->arena, &ignored) < 0)
			return NULL;
		return plain_tensor(p, &copy);
	}
	if (tensor_new(&copy, TYPE_I8, t->rank, t->dim, p->g->arena, &ignored) < 0)
		return NULL;
	for (int64_t i = 0; i < tensor_count(t); i++)
		((unsigned char *)copy.data)[i] = ((const unsigned char *)t->data)[i] ^ 0x80;
	return plain_op(p, "Add", plain_cast(p, plain_tensor(p, &copy), TYPE_F32), plain_number(p, TYPE_F32, 128),
	                NULL);
}

const char *plain_read(struct plain *p, struct graph_value *v)
{
	enum plain_carrier as = plain_carrier_of(p, v->name);

	if (!plain_type(v->type))
		return NULL;
	if (!plain_narrow(v->type) || as == PLAIN_FLOATS)
		return plain_name(p, v->name);
	if (as == PLAIN_SHIFTED)
		return plain_op(p, "Add", plain_cast(p, plain_name(p, v->name), TYPE_F32),
		                plain_number(p, TYPE_F32, 128), NULL);
	return v->is_constant ? read_constant(p, v) : plain_cast(p, v->name, TYPE_F32);
}

/* Names the output of the node that made the tensor; false if none of these nodes did, or it is an output already. */
static bool rename_output(struct plain *p, const char *from, const char *to)
{
	bool found = false;

	vec_each (n, &p->nodes)
		for (size_t k = 0; k < (*n)->n_output; k++)
			if (strcmp((*n)->output[k], from) == 0) {
				(*n)->output[k] = arena_strdup(p->g->model->arena, to);
				found = true;
			}
	for (int i = 0; found && i < p->nodes.n; i++)
		for (size_t k = 0; k < p->nodes.at[i]->n_input; k++)
			if (strcmp(p->nodes.at[i]->input[k], from) == 0)
				p->nodes.at[i]->input[k] = arena_strdup(p->g->model->arena, to);
	return found;
}

bool plain_result(struct plain *p, int k, const char *made)
{
	const char *name = p->n->proto->output[k];
	const struct graph_value *v = graph_value_find(p->g, name);
	Onnx__NodeProto *last;

	if (!made || !v)
		return false;
	if (plain_narrow(v->type) && plain_carrier_of(p, name) == PLAIN_AS_IS)
		made = plain_cast(p, made, v->type);
	if (rename_output(p, made, plain_name(p, name))) {
		map_put(&p->renamed, made, plain_name(p, name));
		return true;
	}
	if (map_get(&p->renamed, made)) /* two outputs of equal elements */
		made = map_get(&p->renamed, made);
	last = plain_node(p, "Identity", made, NULL, NULL);
	onnx_node_output(p->g->model, last, plain_name(p, name));
	return true;
}
