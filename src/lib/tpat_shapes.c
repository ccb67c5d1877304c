/* Writes the user's extents into the model: into its inputs, and wherever the symbols they replace occur. */
#include "lib/tpat_inside.h"

#include <string.h>

typedef Onnx__TensorShapeProto__Dimension dim_proto;

struct renaming {
	const char *from;
	const struct graph_dim *to;
	struct arena *arena;
};

static void set_dim(dim_proto *d, const struct graph_dim *to, struct arena *a)
{
	d->has_dim_value = !to->symbol;
	d->dim_value = to->symbol ? 0 : to->value;
	d->dim_param = to->symbol ? arena_strdup(a, to->symbol) : NULL;
}

static int rename_dim(void *arg, ProtobufCMessage *message)
{
	const struct renaming *r = arg;
	dim_proto *d = (dim_proto *)message;
	if (d->dim_param && strcmp(d->dim_param, r->from) == 0)
		set_dim(d, r->to, r->arena);
	return 0;
}

static Onnx__TensorShapeProto *new_shape(int rank, struct arena *a)
{
	Onnx__TensorShapeProto *s = NEW(a, Onnx__TensorShapeProto);
	onnx__tensor_shape_proto__init(s);
	s->n_dim = (size_t)rank;
	s->dim = NEWN(a, dim_proto *, rank + 1);
	for (int k = 0; k < rank; k++) {
		s->dim[k] = NEW(a, dim_proto);
		onnx__tensor_shape_proto__dimension__init(s->dim[k]);
	}
	return s;
}

static void write_shape(struct onnx_model *m, Onnx__TypeProto__Tensor *type, const struct graph_shape *shape)
{
	if (!type->shape)
		type->shape = new_shape(shape->rank, m->arena);
	for (int k = 0; k < shape->rank && k < (int)type->shape->n_dim; k++) {
		dim_proto *d = type->shape->dim[k];
		const char *from = d->dim_param && *d->dim_param ? d->dim_param : NULL;
		if (from)
			onnx_visit(&m->proto->graph->base, &onnx__tensor_shape_proto__dimension__descriptor, rename_dim,
			           &(struct renaming){ from, &shape->dim[k], m->arena });
		set_dim(d, &shape->dim[k], m->arena);
	}
}

int tpat_write_shapes(struct onnx_model *m, const struct tpat_strings *shape, struct arena *a, struct err *e)
{
	Onnx__GraphProto *g = m->proto->graph;
	const struct tpat_strings text = tpat_split_inputs(shape, m, a);
	for (int i = 0; i < text.n; i++) {
		struct graph_shape s;
		TRY(tpat_parse_shape(&s, text.at[i], a, e));
		for (size_t k = 0; k < g->n_input; k++)
			if (strcmp(onnx_text(g->input[k]->name), s.name) == 0 && g->input[k]->type &&
			    g->input[k]->type->tensor_type)
				write_shape(m, g->input[k]->type->tensor_type, &s);
	}
	return 0;
}
