/* Tensors that only plugins write and read. If the engine has another type for them at a plugin's edge, or none, both
 * plugins declare a type whose elements have the same bits. Elements narrower than a byte share bytes along the last
 * axis, as they do in memory. In the model, the local functions convert. */
#include "graph/graph_internal.h"

/* ---- The types. */

static int packs(const struct graph_value *v)
{
	int bits = type_info(v->type)->bits;

	return v->exchanged && bits < 8 ? 8 / bits : 1;
}

enum type graph_edge_type(const struct graph *g, const struct graph_value *v, const struct graph_program_options *o)
{
	enum type edge = g->engine->edge(g->version, v->type);

	if (o && o->keep_types)
		return v->type;
	if (v->exchanged)
		return v->exchanged;
	return edge ? edge : v->type; /* any_types: a type that no plugin has */
}

int graph_edge_packs(const struct graph *g, const struct graph_value *v, const struct graph_program_options *o)
{
	return graph_edge_type(g, v, o) == v->type ? 1 : packs(v);
}

/* ---- The tensors. */

/* True if every row of the tensor fills whole bytes, for any extents of the other axes. */
static bool fills_bytes(const struct graph_value *v)
{
	int bits = type_info(v->type)->bits;
	int64_t last;

	return bits >= 8 ||
	       (v->rank > 0 && ir_const_int(v->dim[v->rank - 1], &last) && last > 0 && last % (8 / bits) == 0);
}

/* Marks the inputs whose values a plugin needs before it runs: no kernel may change their form. */
static void mark_shapes(struct map *shapes, const struct graph_region *r)
{
	for (int i = r->inputs.n - r->shapes; i < r->inputs.n; i++)
		map_put(shapes, r->inputs.at[i]->name, r);
}

static bool has_readers(const struct graph *g, const struct graph_value *v, const bool *owned)
{
	bool read = false;

	for (int i = 0; i < v->consumers.n; i++) {
		int node = v->consumers.at[i];

		if (g->nodes.at[node].folded)
			continue;
		if (!owned[node])
			return false;
		read = true;
	}
	return read;
}

static void exchange_outputs(const struct graph_region *r, const bool *owned, const struct map *shapes)
{
	const struct graph *g = r->graph;

	vec_each (pv, &r->outputs) {
		struct graph_value *v = *pv;
		enum type t = g->engine->exchange ? g->engine->exchange(g->version, v->type) : TYPE_NONE;

		if (t && !v->is_output && !v->captured && !map_get(shapes, v->name) && fills_bytes(v) &&
		    has_readers(g, v, owned))
			v->exchanged = t;
	}
}

static void exchange_in(const struct graph *g, const struct graph_regions *r)
{
	struct arena *scratch = arena_new();
	struct map shapes = map_new(scratch);
	bool *owned = NEWN(scratch, bool, g->nodes.n + 1);

	vec_each (v, &g->values)
		(*v)->exchanged = TYPE_NONE;
	vec_each (region, r) {
		if ((*region)->graph != g || (*region)->folded)
			continue;
		mark_shapes(&shapes, *region);
		vec_each (i, &(*region)->nodes)
			owned[*i] = true;
	}
	vec_each (region, r)
		if ((*region)->graph == g && !(*region)->folded)
			exchange_outputs(*region, owned, &shapes);
	arena_free(scratch);
}

void graph_exchange(const struct graph_regions *r)
{
	if (r->n)
		vec_each (g, &r->at[0]->graph->root->graphs)
			exchange_in(*g, r);
}

/* ---- The conversion in local functions. */

/* The nodes made so far, and the names of the next ones. */
struct nodes {
	struct graph *g;
	struct graph_function_body *body;
	const char *name;
	struct err *err;
};

static const char *next_name(struct nodes *x)
{
	return onnx_name_unique(x->g->model, x->name);
}

static const char *put(struct nodes *x, const char *type, const char *a, const char *b, const char *out)
{
	struct onnx_model *m = x->g->model;
	Onnx__NodeProto *n = onnx_node_new(m, "", type, NULL);

	out = out ? out : next_name(x);
	onnx_node_input(m, n, a);
	if (b)
		onnx_node_input(m, n, b);
	onnx_node_output(m, n, out);
	vec_push(x->g->arena, x->body, n);
	return out;
}

static const char *put_cast(struct nodes *x, const char *in, enum type t, const char *out)
{
	out = out ? out : next_name(x);
	vec_push(x->g->arena, x->body, graph_cast_new(x->g->model, in, out, t));
	return out;
}

static int put_number(struct nodes *x, const char **out, enum type type, const int64_t *value, int n)
{
	struct tensor t;
	int64_t dim = n;

	*out = next_name(x);
	TRY(tensor_new(&t, type, 1, &dim, x->g->arena, x->err));
	for (int i = 0; i < n; i++)
		tensor_set_int(&t, i, value[i]);
	return graph_tensor_node(x->g, x->body, &t, *out, x->err);
}

/* The target of a Reshape: the tensor's extents, and with `split` those with the elements of a byte as one more axis.
 */
static int shape(struct nodes *x, const char **out, const struct graph_value *v, bool split)
{
	int64_t dim[IR_MAX_RANK + 1] = { 0 }, last; /* 0: the extent stays as it is */

	ck(ir_const_int(v->dim[v->rank - 1], &last));
	dim[v->rank - 1] = split ? last / packs(v) : last;
	dim[v->rank] = packs(v);
	return put_number(x, out, TYPE_I64, dim, v->rank + split);
}

/* The weight of each element of a byte, and the number of values of an element. */
static int weights(struct nodes *x, const struct graph_value *v, const char **weight, const char **values)
{
	int64_t value[8], count = 1 << type_info(v->type)->bits, next = 1;

	for (int i = 0; i < packs(v); i++, next *= count)
		value[i] = next;
	TRY(put_number(x, weight, TYPE_I32, value, packs(v)));
	return put_number(x, values, TYPE_I32, &count, 1);
}

/* byte = int8(sum over its elements of (element mod values) * weight) */
static int pack(struct nodes *x, const struct graph_value *v, const char *out, enum type t)
{
	const char *split, *weight, *values, *axis, *sum;
	const int64_t last = v->rank;

	TRY(shape(x, &split, v, true));
	TRY(weights(x, v, &weight, &values));
	TRY(put_number(x, &axis, TYPE_I64, &last, 1));
	sum = put(x, "Reshape", put_cast(x, v->name, TYPE_I32, NULL), split, NULL);
	sum = put(x, "Mul", put(x, "Mod", sum, values, NULL), weight, NULL);
	sum = put(x, "ReduceSum", sum, axis, NULL);
	onnx_node_set_int(x->g->model, x->body->at[x->body->n - 1], "keepdims", 0);
	put_cast(x, put_cast(x, sum, TYPE_U8, NULL), t, out);
	return 0;
}

/* element = (byte / weight) mod values, less `values` if that is its sign */
static int unpack(struct nodes *x, const struct graph_value *v, const char *in)
{
	const char *joined, *weight, *values, *axis, *all;
	const int64_t last = v->rank;

	TRY(shape(x, &joined, v, false));
	TRY(weights(x, v, &weight, &values));
	TRY(put_number(x, &axis, TYPE_I64, &last, 1));
	all = put_cast(x, put_cast(x, in, TYPE_U8, NULL), TYPE_I32, NULL);
	all = put(x, "Div", put(x, "Unsqueeze", all, axis, NULL), weight, NULL);
	all = put(x, "Mod", all, values, NULL);
	if (type_is_signed(v->type)) {
		const int64_t half = 1 << (type_info(v->type)->bits - 1);
		const char *sign;

		TRY(put_number(x, &sign, TYPE_I32, &half, 1));
		all = put(x, "Sub", put(x, "Mod", put(x, "Add", all, sign, NULL), values, NULL), sign, NULL);
	}
	put_cast(x, put(x, "Reshape", all, joined, NULL), v->type, v->name);
	return 0;
}

int graph_exchange_write(struct graph *g, struct graph_function_body *body, const struct graph_value *v,
                         const char *out, struct err *e)
{
	struct nodes x = { g, body, out, e };

	if (packs(v) > 1)
		return pack(&x, v, out, v->exchanged);
	put_cast(&x, v->name, v->exchanged, out);
	return 0;
}

int graph_exchange_read(struct graph *g, struct graph_function_body *body, const struct graph_value *v, const char *in,
                        struct err *e)
{
	struct nodes x = { g, body, in, e };

	if (packs(v) > 1)
		return unpack(&x, v, in);
	put_cast(&x, in, v->type, v->name);
	return 0;
}
