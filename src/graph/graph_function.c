/* A local function of a region's replaced nodes: casts at its edges, its constants, the unchanged nodes. */
#include <string.h>

#include "base/ascii.h"
#include "graph/graph_internal.h"

struct names {
	VEC(const char *);
};

static Onnx__NodeProto *node_new(struct onnx_model *m, const char *type, const char *in, const char *out)
{
	Onnx__NodeProto *n = onnx_node_new(m, "", type, NULL);

	if (in)
		onnx_node_input(m, n, in);
	onnx_node_output(m, n, out);
	return n;
}

/* Makes a copy (Abs) of an edge's non-negative number for the cast that reads it. ONNX Runtime merges consecutive
 * casts, here and around the function, and then misses the tensor if a graph two levels down reads it (seen with
 * 1.31). */
Onnx__NodeProto *graph_apart_new(struct onnx_model *m, const char *in, const char *out)
{
	return node_new(m, "Abs", in, out);
}

bool graph_needs_apart(const struct graph *g, const struct graph_value *v)
{
	return v->captured && onnx_opset(g->model, "") >= 6; /* before, Abs was for floats only */
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
static int add_tensor(struct graph *g, struct graph_function_body *body, const struct tensor *t, const char *as,
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

/* A copy of the initializer that shares its bytes, which may be external data. */
static void add_initializer(struct graph *g, struct graph_function_body *body, const struct graph_value *v)
{
	struct onnx_model *m = g->model;
	Onnx__TensorProto *t = NEW(m->arena, Onnx__TensorProto);
	Onnx__NodeProto *n = node_new(m, "Constant", NULL, v->name);

	*t = *v->initializer;
	onnx_node_set_tensor(m, n, "value", t);
	vec_push(g->arena, body, n);
}

static int add_constant(struct graph *g, struct graph_function_body *body, struct graph_value *v, struct err *e)
{
	const struct tensor *t;

	if (v->initializer && !graph_is_small(v)) { /* is_part() of graph_region.c: its opset needs no cast */
		add_initializer(g, body, v);
		return 0;
	}
	TRY(graph_constant(&t, g, v, e));
	return add_tensor(g, body, t, v->name, e);
}

int graph_constant_node(struct graph *g, struct graph_function_body *body, const char *name, int64_t value,
                        const char **out, struct err *e)
{
	struct tensor t;

	TRY(tensor_new(&t, TYPE_I64, 0, NULL, g->arena, e));
	tensor_set_int(&t, 0, value);
	*out = name;
	return add_tensor(g, body, &t, name, e);
}

const char *graph_edge_name(const struct graph *g, const struct graph_value *v, enum type type)
{
	struct onnx_model *m = g->model;

	return onnx_name_unique(m, arena_printf(m->arena, "%s_%s", v->name, type_info(type)->onnx_name));
}

Onnx__FunctionProto *graph_function_new(const struct graph_region *r, const char *name,
                                        const struct graph_program_options *o, struct err *e)
{
	struct graph *g = r->graph;
	struct onnx_model *m = g->model;
	struct names in = { 0 }, out = { 0 };
	struct graph_function_body body = { 0 };

	vec_each (v, &r->inputs) {
		enum type type = graph_edge_type(g, (*v)->type, o);
		const char *edge = (*v)->name;

		if (type != (*v)->type) {
			const char *from = edge = graph_edge_name(g, *v, type);

			if (graph_needs_apart(g, *v)) {
				from = onnx_name_unique(m, edge);
				vec_push(g->arena, &body, graph_apart_new(m, edge, from));
			}
			vec_push(g->arena, &body, graph_cast_new(m, from, (*v)->name, (*v)->type));
		}
		vec_push(g->arena, &in, edge);
	}
	vec_each (v, &r->constants)
		if (add_constant(g, &body, *v, e) < 0)
			return NULL;
	vec_each (i, &r->nodes)
		vec_push(g->arena, &body, g->nodes.at[*i].proto);
	vec_each (v, &r->outputs) {
		enum type type = graph_edge_type(g, (*v)->type, o);
		const char *edge = (*v)->name;

		if (type != (*v)->type) {
			edge = graph_edge_name(g, *v, type);
			vec_push(g->arena, &body, graph_cast_new(m, (*v)->name, edge, type));
		}
		vec_push(g->arena, &out, edge);
	}
	struct graph_names sizes = graph_region_sizes(r);
	vec_each (size, &sizes) {
		const char *made;

		if (graph_size_output(g, r, *size, &body, &made, e) < 0)
			return NULL;
		vec_push(g->arena, &out, made);
	}
	return onnx_function_new(m, GRAPH_PLUGIN_DOMAIN, name, in.at, in.n, out.at, out.n, body.at, body.n);
}
