/* Sparse tensors become dense ones, which every reader of a model understands. */
#include "onnx/onnx_internal.h"

#include <string.h>

/* Bigger ones stay sparse, and their nodes with the engine. */
#define DENSE_MAX ((int64_t)1 << 28) /* bytes */

struct made {
	struct onnx_model *m;
	struct err *e;
};

static int refuse(const struct made *d, const Onnx__SparseTensorProto *s, const char *what)
{
	return err_set(d->e, ERR_MODEL, "the sparse tensor \"%s\" %s.", onnx_text(s->values->name), what);
}

/* The place of element `i` in the dense tensor: its index is a number, or one for each axis. */
static int find_place(int64_t *place, const struct made *d, const Onnx__SparseTensorProto *s,
                      const struct tensor *index, int64_t i, const struct tensor *dense)
{
	const int64_t *at = index->data;
	int64_t count = tensor_count(dense);
	*place = 0;
	if (index->rank == 1)
		*place = at[i];
	for (int k = 0; index->rank == 2 && k < dense->rank; k++) {
		int64_t x = at[i * dense->rank + k];
		if (x < 0 || x >= dense->dim[k])
			return refuse(d, s, "has an index outside its extents");
		*place = *place * dense->dim[k] + x;
	}
	return *place < 0 || *place >= count ? refuse(d, s, "has an index outside its extents") : 0;
}

static int fill(const struct made *d, const Onnx__SparseTensorProto *s, struct tensor *dense)
{
	struct tensor value, index;
	size_t width = (size_t)type_bytes(dense->type, 1);
	int64_t place, n;
	TRY(onnx_tensor_load(&value, s->values, d->m, d->m->arena, d->e));
	TRY(onnx_tensor_load(&index, s->indices, d->m, d->m->arena, d->e));
	n = tensor_count(&value);
	if (value.rank != 1)
		return refuse(d, s, "has values of several axes");
	if (index.type != TYPE_I64 || index.rank < 1 || index.rank > 2 || index.dim[0] != n ||
	    (index.rank == 2 && index.dim[1] != dense->rank))
		return refuse(d, s, "has indices of another type or shape than its values need");
	for (int64_t i = 0; i < n; i++) {
		TRY(find_place(&place, d, s, &index, i, dense));
		memcpy((char *)dense->data + (size_t)place * width, (const char *)value.data + (size_t)i * width,
		       width);
	}
	return 0;
}

/* `out` stays null if the tensor is to stay sparse. */
static int make_dense(Onnx__TensorProto **out, const struct made *d, const Onnx__SparseTensorProto *s)
{
	Onnx__TensorProto shape = ONNX__TENSOR_PROTO__INIT;
	struct tensor dense = { .type = onnx_elem_type(s->values->data_type), .rank = (int)s->n_dims };
	int64_t bytes, count;
	*out = NULL;
	if (dense.type == TYPE_NONE || dense.type == TYPE_STRING || type_info(dense.type)->bits < 8 ||
	    s->n_dims > TENSOR_MAX_RANK)
		return 0;
	shape.name = s->values->name;
	shape.has_data_type = 1;
	shape.data_type = s->values->data_type;
	shape.n_dims = s->n_dims;
	shape.dims = s->dims;
	TRY(onnx_tensor_size(&bytes, &count, &shape, d->e));
	if (bytes > DENSE_MAX)
		return 0;
	for (int i = 0; i < dense.rank; i++)
		dense.dim[i] = s->dims[i];
	dense.data = NEWN(d->m->arena, char, bytes + !bytes);
	TRY(fill(d, s, &dense));
	*out = onnx_tensor_store(&dense, onnx_text(s->values->name), d->m->arena);
	return 0;
}

static int in_graph(void *arg, ProtobufCMessage *message)
{
	const struct made *d = arg;
	Onnx__GraphProto *g = (Onnx__GraphProto *)message;
	size_t kept = 0;
	for (size_t i = 0; i < g->n_sparse_initializer; i++) {
		Onnx__TensorProto *t;
		TRY(make_dense(&t, d, g->sparse_initializer[i]));
		if (t)
			onnx_graph_add_initializer(d->m, g, t);
		else
			g->sparse_initializer[kept++] = g->sparse_initializer[i];
	}
	g->n_sparse_initializer = kept;
	return 0;
}

/* The value of a Constant. */
static int in_node(void *arg, ProtobufCMessage *message)
{
	const struct made *d = arg;
	const Onnx__NodeProto *node = (const Onnx__NodeProto *)message;
	for (size_t i = 0; i < node->n_attribute; i++) {
		Onnx__AttributeProto *a = node->attribute[i];
		Onnx__TensorProto *t;
		if (!a->sparse_tensor || strcmp(onnx_text(a->name), "sparse_value") != 0 || *onnx_domain(node->domain))
			continue;
		TRY(make_dense(&t, d, a->sparse_tensor));
		if (!t)
			continue;
		a->name = arena_strdup(d->m->arena, "value");
		a->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
		a->t = t;
		a->sparse_tensor = NULL;
	}
	return 0;
}

int onnx_sparse_drop(struct onnx_model *m, struct err *e)
{
	struct made d = { m, e };
	TRY(onnx_visit(&m->proto->base, &onnx__graph_proto__descriptor, in_graph, &d));
	return onnx_visit(&m->proto->base, &onnx__node_proto__descriptor, in_node, &d);
}
