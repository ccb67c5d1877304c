/* Which nodes TensorRT takes by itself: a measured table, and the node's element types. Knows no operator beyond its
 * row. */
#include <string.h>

#include "base/number.h"
#include "graph/graph_internal.h"

enum class { FULL, PARTLY, NEVER };

static const struct row {
	const char *domain, *op;
	enum class class;
	uint32_t refused;
	const char *conditions, *note;
} rows[] = {
#define TRT(domain, op, class, refused, conditions, note) { domain, op, class, refused, conditions, note },
#include "graph/trt_support.def"
#undef TRT
};

static const struct row *row_find(const char *domain, const char *op)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].op, op) == 0 && strcmp(rows[i].domain, domain) == 0)
			return &rows[i];
	return NULL;
}

bool graph_trt_type(enum type t)
{
	switch (t) {
	case TYPE_F32:
	case TYPE_F16:
	case TYPE_BF16:
	case TYPE_I8:
	case TYPE_I32:
	case TYPE_I64:
	case TYPE_BOOL:
	case TYPE_U8:
	case TYPE_F8E4M3FN:
	case TYPE_I4:
	case TYPE_F4E2M1: return true;
	default: return false;
	}
}

const char *graph_trt_lack(enum type t, const char **advice, struct arena *a)
{
	*advice = "Convert the model to types that TensorRT has (float, float16, bfloat16, int8, int32, int64, bool), "
	          "or keep "
	          "this node outside the engine.";
	if (type_is_packed(t) || t == TYPE_F8E8M0)
		*advice = "Make one plugin of the nodes that write and read this tensor (--region), so that it stays "
		          "inside, or use int4 or float4e2m1, which TensorRT has.";
	/* Its DataType E8M0, of 10.12, is for its own layers: measured, no model's tensor can have it
	 * (trt_support.def). */
	return arena_printf(a, t == TYPE_F8E8M0 ? "TensorRT's parser takes no %s" : "TensorRT has no %s",
	                    type_info(t)->onnx_name);
}

/* Whether `text` is one of "first|second"; the list ends with a blank or the end. */
static bool is_listed(const char *list, const char *text, size_t n)
{
	for (size_t len;; list += len + 1) {
		len = strcspn(list, "| ");
		if (len == n && strncmp(list, text, n) == 0)
			return true;
		if (list[len] != '|')
			return false;
	}
}

static bool attribute_holds(const Onnx__NodeProto *node, const char *name, const char *values)
{
	const Onnx__AttributeProto *a = onnx_attr(node, name);
	char text[32];

	if (!a)
		return true;
	switch (onnx_attr_type(a)) {
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING: return is_listed(values, (const char *)a->s.data, a->s.len);
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
		snprintf(text, sizeof text, "%lld", (long long)a->i);
		return is_listed(values, text, strlen(text));
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
		number_snprintf(text, sizeof text, "%g", (double)a->f);
		return is_listed(values, text, strlen(text));
	case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
		for (size_t i = 0; i < a->n_ints; i++) {
			snprintf(text, sizeof text, "%lld", (long long)a->ints[i]);
			if (!is_listed(values, text, strlen(text)))
				return false;
		}
		return true;
	default: return false;
	}
}

static bool inputs_constant(const struct graph *g, const Onnx__NodeProto *node)
{
	for (size_t i = 1; i < node->n_input; i++) {
		const struct graph_value *v = graph_value_find(g, node->input[i]);

		if (v && !v->is_constant && !v->content) /* shape tensors are as good */
			return false;
	}
	return true;
}

static bool condition_holds(const struct graph *g, const Onnx__NodeProto *node, const char *condition)
{
	char name[64];
	size_t n = strcspn(condition, "= "), outputs = 0;

	if (strncmp(condition, "const", n) == 0)
		return inputs_constant(g, node);
	if (strncmp(condition, "outputs", n) == 0) {
		for (size_t i = 0; i < node->n_output; i++)
			outputs += *node->output[i] != 0;
		return outputs <= 1;
	}
	ck(n < sizeof name && condition[n] == '=');
	memcpy(name, condition, n);
	name[n] = 0;
	return attribute_holds(node, name, condition + n + 1);
}

static bool conditions_hold(const struct graph *g, const Onnx__NodeProto *node, const char *conditions)
{
	for (const char *c = conditions; *c; c += strcspn(c, " "), c += *c == ' ')
		if (!condition_holds(g, node, c))
			return false;
	return true;
}

const struct graph_value *graph_trt_misfit(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes.at[node];

	vec_each (v, &n->reads)
		if (!(*v)->is_constant && !graph_trt_type((*v)->type))
			return *v;
	for (size_t i = 0; i < n->proto->n_output; i++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[i]);

		if (v && !v->is_constant && !graph_trt_type(v->type))
			return v;
	}
	return NULL;
}

/* Casts read network inputs of 8 bits; everything else inside a network refuses them. */
static bool is_cast(const Onnx__NodeProto *node)
{
	return strncmp(onnx_text(node->op_type), "Cast", 4) == 0;
}

/* The first tensor of the node whose type TensorRT lacks, or null. */
static const struct graph_value *refused_value(const struct graph *g, const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_input + node->n_output; i++) {
		const char *name = i < node->n_input ? node->input[i] : node->output[i - node->n_input];
		const struct graph_value *v = graph_value_find(g, name);

		if (v && v->type && (!graph_trt_type(v->type) || (v->type == TYPE_U8 && !is_cast(node))))
			return v;
	}
	return NULL;
}

static enum graph_support support_of_proto(struct graph *g, const Onnx__NodeProto *node, int depth,
                                           const char **reason);

/* The worst of some nodes inside of another; `where` they are: "the function f". */
static enum graph_support support_of_nodes(struct graph *g, Onnx__NodeProto *const *node, size_t n, const char *where,
                                           int depth, const char **reason)
{
	enum graph_support worst = GRAPH_TRT_YES;

	for (size_t i = 0; i < n && depth < GRAPH_MAX_DEPTH; i++) {
		const char *why = "";
		enum graph_support s = support_of_proto(g, node[i], depth + 1, &why);

		if (s < worst) {
			worst = s;
			*reason = arena_printf(g->arena, "In %s: %s", where, why);
		}
	}
	return worst;
}

/* The parser puts a local function's nodes in the place of its call. */
static enum graph_support support_of_function(struct graph *g, const Onnx__FunctionProto *f, int depth,
                                              const char **reason)
{
	if (strcmp(onnx_domain(f->domain), GRAPH_PLUGIN_DOMAIN) == 0)
		return GRAPH_TRT_YES; /* one of ours: the plugin takes it */
	return support_of_nodes(g, f->node, f->n_node, arena_printf(g->arena, "the function %s", onnx_text(f->name)),
	                        depth, reason);
}

/* The worst of the graphs that are attributes of the node. */
static enum graph_support support_of_graphs(struct graph *g, const Onnx__NodeProto *node, int depth,
                                            const char **reason)
{
	enum graph_support worst = GRAPH_TRT_YES;

	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__GraphProto *inner = node->attribute[i]->g;
		const char *why = "";
		enum graph_support s = GRAPH_TRT_YES;

		if (inner)
			s = support_of_nodes(g, inner->node, inner->n_node,
			                     arena_printf(g->arena, "its %s", onnx_text(node->attribute[i]->name)),
			                     depth, &why);
		if (s < worst) {
			worst = s;
			*reason = why;
		}
	}
	return worst;
}

static enum graph_support support_of_proto(struct graph *g, const Onnx__NodeProto *node, int depth, const char **reason)
{
	const char *domain = onnx_domain(node->domain), *op = onnx_text(node->op_type);
	const Onnx__FunctionProto *f = onnx_function_find(g->model, domain, op, node->overload);
	const struct op_def *def = f ? NULL : op_find(domain, op);
	bool plugin = def && op_any_domain(def);
	const struct row *row = row_find(plugin ? OP_ANY_DOMAIN : domain, op);
	const struct graph_value *v = depth ? NULL : refused_value(g, node);
	enum graph_support inner;

	*reason = "";
	if (v) {
		*reason = arena_printf(g->arena, "\"%s\" is of type %s, which TensorRT refuses inside a network.",
		                       v->name, type_info(v->type)->onnx_name);
		return GRAPH_TRT_NO;
	}
	if (f)
		return support_of_function(g, f, depth, reason);
	if (strcmp(domain, GRAPH_PLUGIN_DOMAIN) == 0)
		return GRAPH_TRT_YES; /* one of ours, in a model without functions */
	if (!row && plugin) {
		*reason = arena_printf(g->arena, "TensorRT takes %s only from a plugin library that has it.", op);
		return GRAPH_TRT_NO;
	}
	if (!row) {
		*reason = arena_printf(g->arena, "TensorRT does not know %s%s%s.", domain, *domain ? "." : "", op);
		return GRAPH_TRT_NO;
	}
	v = depth || !node->n_input ? NULL : graph_value_find(g, node->input[0]);
	if (row->class == NEVER) {
		*reason = arena_printf(g->arena, "TensorRT takes no %s: %s.", op, row->note);
		return GRAPH_TRT_NO;
	}
	if (v && v->type && v->type < 32 && row->refused & 1u << v->type) {
		*reason = arena_printf(g->arena, "TensorRT takes no %s of type %s.", op, type_info(v->type)->onnx_name);
		return GRAPH_TRT_NO;
	}
	if (!depth && !conditions_hold(g, node, row->conditions)) {
		*reason = arena_printf(g->arena, "TensorRT takes this %s only in part: %s.", op, row->note);
		return GRAPH_TRT_NO;
	}
	/* The nodes of a graph's body are asked for themselves; those of a function are not there. */
	inner = depth ? support_of_graphs(g, node, depth, reason) : GRAPH_TRT_YES;
	if (inner == GRAPH_TRT_NO || row->class != PARTLY)
		return inner;
	*reason = arena_printf(g->arena, "TensorRT takes %s only in part: %s.", op, row->note);
	return GRAPH_TRT_PARTLY;
}

enum graph_support graph_trt_support(struct graph *g, int node, const char **reason)
{
	const struct graph_node *n = &g->nodes.at[node];

	*reason = "";
	return support_of_proto(g, n->proto, 0, reason);
}
