/* New nodes: casts, copies and constants. */
#include "base/ascii.h"
#include "graph/graph_internal.h"

static Onnx__NodeProto *node_new(struct onnx_model *m, const char *type, const char *in, const char *out)
{
	Onnx__NodeProto *n = onnx_node_new(m, "", type, NULL);

	if (in)
		onnx_node_input(m, n, in);
	onnx_node_output(m, n, out);
	return n;
}

/* A copy of an edge's integers for the cast that reads it: Neg twice, which is exact for all of them. ONNX Runtime
 * merges consecutive casts, here and around the function, and then misses the tensor if a graph two levels down reads
 * it (seen with 1.31). */
void graph_apart_new(struct onnx_model *m, Onnx__NodeProto *node[2], const char *in, const char *out)
{
	const char *negated = onnx_name_unique(m, in);

	node[0] = node_new(m, "Neg", in, negated);
	node[1] = node_new(m, "Neg", negated, out);
}

Onnx__NodeProto *graph_cast_new(struct onnx_model *m, const char *in, const char *out, enum type t)
{
	Onnx__NodeProto *n = node_new(m, "Cast", in, out);
	char *name = arena_strdup(m->arena, type_info(t)->onnx_name);

	if (onnx_opset(m, "") >= 6) {
		onnx_node_set_int(m, n, "to", t);
		return n;
	}
	for (char *c = name; *c; c++) /* then it was a word */
		*c = ascii_upper(*c);
	onnx_node_set_string(m, n, "to", name);
	return n;
}

/* Before opset 9 a Constant only has floats: other numbers are cast from double, which holds them exactly. */
int graph_tensor_node(struct graph *g, struct graph_function_body *body, const struct tensor *t, const char *as,
                      struct err *e)
{
	struct onnx_model *m = g->model;
	struct tensor wide;
	enum type type = t->type;
	Onnx__NodeProto *n;
	bool cast = onnx_opset(m, "") < 9 && type != TYPE_F32 && type != TYPE_F16 && type != TYPE_F64;
	const char *name = cast ? onnx_name_unique(m, arena_printf(m->arena, "%s_double", as)) : as;

	if (cast) {
		TRY(tensor_convert(&wide, t, TYPE_F64, m->arena, e));
		t = &wide;
	}
	n = node_new(m, "Constant", NULL, name);
	onnx_node_set_tensor(m, n, "value", onnx_tensor_store(t, name, m->arena));
	vec_push(g->arena, body, n);
	if (cast)
		vec_push(g->arena, body, graph_cast_new(m, name, as, type));
	return 0;
}

int graph_constant_node(struct graph *g, struct graph_function_body *body, const char *name, int64_t value,
                        const char **out, struct err *e)
{
	struct tensor t;

	TRY(tensor_new(&t, TYPE_I64, 0, NULL, g->arena, e));
	tensor_set_int(&t, 0, value);
	*out = name;
	return graph_tensor_node(g, body, &t, name, e);
}
