/* Finds the nodes that the engine supports itself, including those in functions and in graphs inside them. */
#include <string.h>

#include "graph/graph_internal.h"

const struct graph_value *graph_misfit(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes.at[node];
	const struct engine *engine = g->engine;

	vec_each (v, &n->reads)
		if (!(*v)->is_constant && !engine->edge(g->version, (*v)->type))
			return *v;
	for (size_t i = 0; i < n->proto->n_output; i++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[i]);

		if (v && !v->is_constant && !engine->edge(g->version, v->type))
			return v;
	}
	return NULL;
}

/* Returns the node's first tensor whose type the engine refuses, or null. */
static const struct graph_value *refused_value(const struct graph *g, const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_input + node->n_output; i++) {
		const char *name = i < node->n_input ? node->input[i] : node->output[i - node->n_input];
		const struct graph_value *v = graph_value_find(g, name);

		if (v && v->type && !g->engine->takes_type(node, v->type))
			return v;
	}
	return NULL;
}

static enum engine_support support_of_proto(struct graph *g, const Onnx__NodeProto *node, int depth,
                                            const char **reason);

/* Returns the least support among nodes inside another; `where`: "the function f". */
static enum engine_support support_of_nodes(struct graph *g, Onnx__NodeProto *const *node, size_t n, const char *where,
                                            int depth, const char **reason)
{
	enum engine_support worst = ENGINE_YES;

	for (size_t i = 0; i < n && depth < GRAPH_MAX_DEPTH; i++) {
		const char *why = "";
		enum engine_support s = support_of_proto(g, node[i], depth + 1, &why);

		if (s < worst) {
			worst = s;
			*reason = arena_printf(g->arena, "In %s: %s", where, why);
		}
	}
	return worst;
}

/* The parser replaces a call by the local function's nodes. */
static enum engine_support support_of_function(struct graph *g, const Onnx__FunctionProto *f, int depth,
                                               const char **reason)
{
	if (strcmp(onnx_domain(f->domain), GRAPH_PLUGIN_DOMAIN) == 0)
		return ENGINE_YES; /* a tpat plugin runs it */
	return support_of_nodes(g, f->node, f->n_node, arena_printf(g->arena, "the function %s", onnx_text(f->name)),
	                        depth, reason);
}

/* Returns the least support among the node's bodies. */
static enum engine_support support_of_graphs(struct graph *g, const Onnx__NodeProto *node, int depth,
                                             const char **reason)
{
	enum engine_support worst = ENGINE_YES;

	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__GraphProto *inner = node->attribute[i]->g;
		const char *why = "";
		enum engine_support s = ENGINE_YES;

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

/* Returns the node's tensors as the engine sees them. */
static const struct engine_value *values_of(const struct graph *g, const Onnx__NodeProto *node)
{
	struct engine_value *out = NEWN(g->arena, struct engine_value, node->n_input + node->n_output + 1);

	for (size_t i = 0; i < node->n_input + node->n_output; i++) {
		const char *name = i < node->n_input ? node->input[i] : node->output[i - node->n_input];
		const struct graph_value *v = graph_value_find(g, name);

		out[i].name = name;
		if (v)
			out[i].type = v->type;
		out[i].known = !v || v->is_constant || v->content; /* a shape tensor counts as known */
	}
	return out;
}

static enum engine_support support_of_proto(struct graph *g, const Onnx__NodeProto *node, int depth,
                                            const char **reason)
{
	const struct engine *engine = g->engine;
	const char *domain = onnx_domain(node->domain), *op = onnx_text(node->op_type), *why = "";
	const Onnx__FunctionProto *f = onnx_function_find(g->model, domain, op, node->overload);
	const struct op_def *def = f ? NULL : op_find(domain, op);
	const struct graph_value *v = depth ? NULL : refused_value(g, node);
	struct engine_node n = { .proto = node,
		                 .domain = def && op_any_domain(def) ? OP_ANY_DOMAIN : domain,
		                 .inside = depth > 0 };
	enum engine_support own, inner;

	*reason = "";
	if (v) {
		*reason = arena_printf(g->arena, "\"%s\" is of type %s, which %s refuses inside a network.", v->name,
		                       type_info(v->type)->onnx_name, engine->name);
		return ENGINE_NO;
	}
	if (f)
		return support_of_function(g, f, depth, reason);
	if (strcmp(domain, GRAPH_PLUGIN_DOMAIN) == 0)
		return ENGINE_YES; /* a tpat plugin, in a model without functions */
	if (!depth)
		n.value = values_of(g, node);
	own = engine->support(&n, reason, g->arena);
	if (own == ENGINE_NO)
		return own;
	/* Nodes of a graph's body are asked for separately; those of a function are not. */
	inner = depth ? support_of_graphs(g, node, depth, &why) : ENGINE_YES;
	if (inner != ENGINE_NO && own != ENGINE_YES)
		return own;
	*reason = why;
	return inner;
}

enum engine_support graph_support(struct graph *g, int node, const char **reason)
{
	*reason = "";
	return support_of_proto(g, g->nodes.at[node].proto, 0, reason);
}
