/* A local function of a region's replaced nodes: casts at its edges, its constants, the nodes, unchanged but for one
 * operator. */

#include <string.h>

#include "graph/graph_internal.h"

struct names {
	VEC(const char *);
};

bool graph_needs_apart(const struct graph *g, const struct graph_value *v)
{
	return v->captured && onnx_opset(g->model, "") >= 6; /* before, Neg was for floats only */
}

/* A copy of the initializer that shares its bytes, which may be external data. */
static void add_initializer(struct graph *g, struct graph_function_body *body, const struct graph_value *v)
{
	struct onnx_model *m = g->model;
	Onnx__TensorProto *t = NEW(m->arena, Onnx__TensorProto);
	Onnx__NodeProto *n = onnx_node_new(m, "", "Constant", NULL);
	onnx_node_output(m, n, v->name);

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
	return graph_tensor_node(g, body, t, v->name, e);
}

const char *graph_edge_name(const struct graph *g, const struct graph_value *v, enum type type)
{
	struct onnx_model *m = g->model;

	return onnx_name_unique(
	        m, arena_printf(m->arena, "%s_%s", v->name, v->turned ? "transposed" : type_info(type)->onnx_name));
}

/* The nodes that make the value of its form at the edge. */
static int read_edge(struct graph *g, struct graph_function_body *body, const struct graph_value *v, const char *edge,
                     struct err *e)
{
	struct onnx_model *m = g->model;
	const char *from = edge;
	Onnx__NodeProto *apart[2];

	if (v->turned) {
		vec_push(g->arena, body, graph_turn_back_new(m, v, edge));
		return 0;
	}
	if (v->exchanged)
		return graph_exchange_read(g, body, v, edge, e);
	if (graph_needs_apart(g, v)) {
		from = onnx_name_unique(m, edge);
		graph_apart_new(m, apart, edge, from);
		for (int i = 0; i < 2; i++)
			vec_push(g->arena, body, apart[i]);
	}
	vec_push(g->arena, body, graph_cast_new(m, from, v->name, v->type));
	return 0;
}

static int write_edge(struct graph *g, struct graph_function_body *body, const struct graph_value *v, const char *edge,
                      enum type t, struct err *e)
{
	if (v->exchanged)
		return graph_exchange_write(g, body, v, edge, e);
	vec_push(g->arena, body, graph_cast_new(g->model, v->name, edge, t));
	return 0;
}

/* DequantizeLinear of each input, Concat and QuantizeLinear. */
static void add_quantized_concat(struct graph *g, struct graph_function_body *body, const Onnx__NodeProto *node)
{
	struct onnx_model *m = g->model;
	Onnx__NodeProto *concat = onnx_node_new(m, "", "Concat", node->name);
	Onnx__NodeProto *quantize = onnx_node_new(m, "", "QuantizeLinear", NULL);
	const char *joined = onnx_name_unique(m, node->output[0]);

	for (size_t i = 2; i + 2 < node->n_input; i += 3) {
		Onnx__NodeProto *real = onnx_node_new(m, "", "DequantizeLinear", NULL);
		const char *part = onnx_name_unique(m, node->input[i]);

		for (size_t k = 0; k < 3; k++)
			onnx_node_input(m, real, node->input[i + k]);
		onnx_node_output(m, real, part);
		vec_push(g->arena, body, real);
		onnx_node_input(m, concat, part);
	}
	concat->attribute = node->attribute;
	concat->n_attribute = node->n_attribute;
	onnx_node_output(m, concat, joined);
	vec_push(g->arena, body, concat);
	onnx_node_input(m, quantize, joined);
	onnx_node_input(m, quantize, node->input[0]);
	onnx_node_input(m, quantize, node->input[1]);
	onnx_node_output(m, quantize, node->output[0]);
	vec_push(g->arena, body, quantize);
}

/* Adds a node with a result of a new name, and returns that. `b` null: it has one input. */
static const char *add_step(struct graph *g, struct graph_function_body *body, const char *op, const char *a,
                            const char *b)
{
	Onnx__NodeProto *n = onnx_node_new(g->model, "", op, NULL);
	const char *made = onnx_name_unique(g->model, a);

	onnx_node_input(g->model, n, a);
	if (b)
		onnx_node_input(g->model, n, b);
	onnx_node_output(g->model, n, made);
	vec_push(g->arena, body, n);
	return made;
}

/* A copy of x in the type `to`, or x itself. */
static const char *as_type(struct graph *g, struct graph_function_body *body, const char *x, enum type from,
                           enum type to)
{
	const char *made = from == to ? x : onnx_name_unique(g->model, x);

	if (from != to)
		vec_push(g->arena, body, graph_cast_new(g->model, x, made, to));
	return made;
}

static void give(struct graph *g, struct graph_function_body *body, const char *made, enum type from,
                 const struct graph_value *v)
{
	Onnx__NodeProto *n;

	if (from != v->type) {
		vec_push(g->arena, body, graph_cast_new(g->model, made, v->name, v->type));
		return;
	}
	n = onnx_node_new(g->model, "", "Identity", NULL);
	onnx_node_input(g->model, n, made);
	onnx_node_output(g->model, n, v->name);
	vec_push(g->arena, body, n);
}

/* x / sqrt(mean of x^2 + epsilon) * scale over the last axes, in f32, or f64 for f64. */
static int add_simplified_norm(struct graph *g, struct graph_function_body *body, Onnx__NodeProto *node, struct err *e)
{
	struct onnx_model *m = g->model;
	const struct graph_value *x = graph_value_find(g, node->input[0]), *scale = graph_value_find(g, node->input[1]);
	const struct graph_value *y = graph_value_find(g, node->output[0]);
	const struct graph_value *inverse = node->n_output > 1 ? graph_value_find(g, node->output[1]) : NULL;
	const Onnx__AttributeProto *epsilon = onnx_attr(node, "epsilon");
	enum type t = x->type == TYPE_F64 ? TYPE_F64 : TYPE_F32;
	int64_t axis, axes[IR_MAX_RANK], n;
	const char *at = NULL;
	struct tensor number;

	TRY(onnx_attr_int(&axis, node, "axis", -1, e));
	axis += axis < 0 ? x->rank : 0;
	n = x->rank - axis;
	for (int64_t i = 0; i < n; i++)
		axes[i] = axis + i;
	if (onnx_opset(m, "") >= 18) {
		at = onnx_name_unique(m, arena_printf(m->arena, "%s_axes", x->name));
		TRY(tensor_new(&number, TYPE_I64, 1, &n, g->arena, e));
		for (int64_t i = 0; i < n; i++)
			tensor_set_int(&number, i, axes[i]);
		TRY(graph_tensor_node(g, body, &number, at, e));
	}
	const char *small = onnx_name_unique(m, arena_printf(m->arena, "%s_epsilon", x->name));
	TRY(tensor_new(&number, t, 0, NULL, g->arena, e));
	tensor_set_float(&number, 0, epsilon ? (double)epsilon->f : 1e-5);
	TRY(graph_tensor_node(g, body, &number, small, e));
	const char *wide = as_type(g, body, x->name, x->type, t);
	const char *mean = add_step(g, body, "ReduceMean", add_step(g, body, "Mul", wide, wide), at);
	if (!at)
		onnx_node_set_ints(m, body->at[body->n - 1], "axes", axes, (int)n);
	const char *root = add_step(g, body, "Sqrt", add_step(g, body, "Add", mean, small), NULL);
	if (y)
		give(g, body,
		     add_step(g, body, "Mul", add_step(g, body, "Div", wide, root),
		              as_type(g, body, scale->name, scale->type, t)),
		     t, y);
	if (inverse)
		give(g, body, add_step(g, body, "Reciprocal", root, NULL), t, inverse);
	return 0;
}

static bool is_operator(const Onnx__NodeProto *node, const char *domain, const char *op)
{
	return strcmp(onnx_domain(node->domain), domain) == 0 && strcmp(onnx_text(node->op_type), op) == 0;
}

/* Nodes that compute the same replace two operators that ONNX Runtime does not take in a function. It infers float as
 * the type of QLinearConcat's result, from the scale, which comes first. It crashes at SimplifiedLayerNormalization,
 * which it has in ONNX's domain although ONNX lacks it. */
static int add_node(struct graph *g, struct graph_function_body *body, Onnx__NodeProto *node, struct err *e)
{
	int64_t opset = onnx_opset(g->model, "");

	if (is_operator(node, "", "SimplifiedLayerNormalization") && opset >= 7)
		return add_simplified_norm(g, body, node, e);
	if (is_operator(node, "com.microsoft", "QLinearConcat") && opset >= 10)
		add_quantized_concat(g, body, node);
	else
		vec_push(g->arena, body, node);
	return 0;
}

Onnx__FunctionProto *graph_function_new(const struct graph_region *r, const char *name,
                                        const struct graph_program_options *o, struct err *e)
{
	struct graph *g = r->graph;
	struct onnx_model *m = g->model;
	struct names in = { 0 }, out = { 0 };
	struct graph_function_body body = { 0 };

	vec_each (v, &r->inputs) {
		enum type type = graph_edge_type(g, *v, o);
		const char *edge = (*v)->name;

		if (type != (*v)->type || (*v)->turned) {
			edge = graph_edge_name(g, *v, type);
			if (read_edge(g, &body, *v, edge, e) < 0)
				return NULL;
		}
		vec_push(g->arena, &in, edge);
	}
	vec_each (v, &r->constants)
		if (add_constant(g, &body, *v, e) < 0)
			return NULL;
	vec_each (i, &r->nodes)
		if (add_node(g, &body, g->nodes.at[*i].proto, e) < 0)
			return NULL;
	vec_each (v, &r->outputs) {
		enum type type = graph_edge_type(g, *v, o);
		const char *edge = (*v)->name;

		if (type != (*v)->type) {
			edge = graph_edge_name(g, *v, type);
			if (write_edge(g, &body, *v, edge, type, e) < 0)
				return NULL;
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
