/* Finds the nodes that the engine supports itself, including those in functions and in graphs inside them. */
#include <string.h>

#include "graph/graph_internal.h"

bool graph_fits_edge(const struct graph *g, const struct graph_value *v)
{
	return v->is_constant || (g->engine->edge(g->version, v->type) && v->rank <= g->engine->most_axes);
}

const struct graph_value *graph_misfit(const struct graph *g, int node)
{
	const struct graph_node *n = &g->nodes.at[node];

	vec_each (v, &n->reads)
		if (!graph_fits_edge(g, *v))
			return *v;
	for (size_t i = 0; i < n->proto->n_output; i++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[i]);

		if (v && !graph_fits_edge(g, v))
			return v;
	}
	return NULL;
}

/* Returns the node's first tensor whose type or number of axes the engine refuses, or null. */
static const struct graph_value *refused_value(const struct graph *g, const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_input + node->n_output; i++) {
		const char *name = i < node->n_input ? node->input[i] : node->output[i - node->n_input];
		const struct graph_value *v = graph_value_find(g, name);

		if (v && v->type && (!g->engine->takes_type(node, v->type) || v->rank > g->engine->most_axes))
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

enum { ZEROS_MAX = 1 << 16 }; /* elements of a constant that are looked at */

/* True if the value is a constant of zeros. */
static bool is_zero(struct graph *g, struct graph_value *v)
{
	const struct tensor *t;
	const unsigned char *bytes;
	struct err ignored = { 0 };
	int64_t n = v->is_constant ? graph_count(v->rank, v->dim) : -1;

	if (n < 0 || n > ZEROS_MAX || graph_constant(&t, g, v, &ignored) < 0)
		return false;
	bytes = t->data;
	for (int64_t i = 0; i < tensor_bytes(t); i++)
		if (bytes[i])
			return false;
	return true;
}

/* Returns the node's tensors as the engine sees them. */
static const struct engine_value *values_of(struct graph *g, const Onnx__NodeProto *node)
{
	struct engine_value *out = NEWN(g->arena, struct engine_value, node->n_input + node->n_output + 1);

	for (size_t i = 0; i < node->n_input + node->n_output; i++) {
		const char *name = i < node->n_input ? node->input[i] : node->output[i - node->n_input];
		struct graph_value *v = graph_value_find(g, name);

		out[i].name = name;
		out[i].type = v ? v->type : TYPE_NONE;
		out[i].rank = v ? v->rank : -1;
		out[i].zero = v && i && i < node->n_input && is_zero(g, v);
		out[i].known = !v || v->is_constant || v->content; /* a shape tensor counts as known */
	}
	return out;
}

static enum engine_support refuse_tensor(struct graph *g, const struct graph_value *v, const char **reason)
{
	if (v->rank > g->engine->most_axes)
		*reason = arena_printf(g->arena, "\"%s\" has %d axes; %s's tensors have at most %d.", v->name, v->rank,
		                       g->engine->name, g->engine->most_axes);
	else
		*reason = arena_printf(g->arena, "\"%s\" is of type %s, which %s refuses inside a network.", v->name,
		                       type_info(v->type)->onnx_name, g->engine->name);
	return ENGINE_NO;
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
		                 .version = g->root->version->number };
	enum engine_support own, inner;

	*reason = "";
	if (!f && strcmp(domain, GRAPH_PLUGIN_DOMAIN) == 0)
		return v ? refuse_tensor(g, v, reason) : ENGINE_YES; /* a tpat plugin, in a model without functions */
	/* If the engine lacks the operator, that is the cause, whatever its tensors. */
	n.inside = depth > 0 || v;
	if (!n.inside)
		n.value = values_of(g, node);
	own = f ? ENGINE_YES : engine->support(&n, reason, g->arena);
	if (own == ENGINE_NO)
		return own;
	if (v)
		return refuse_tensor(g, v, reason);
	if (f)
		return support_of_function(g, f, depth, reason);
	/* Nodes of a graph's body are asked for separately; those of a function are not. */
	inner = depth ? support_of_graphs(g, node, depth, &why) : ENGINE_YES;
	if (inner != ENGINE_NO && own != ENGINE_YES)
		return own;
	*reason = why;
	return inner;
}

enum engine_support graph_support(struct graph *g, int node, const char **reason)
{
	if ((*reason = g->nodes.at[node].reported))
		return ENGINE_NO;
	*reason = "";
	return support_of_proto(g, g->nodes.at[node].proto, 0, reason);
}

bool graph_follows(struct graph *g, int node)
{
	const Onnx__NodeProto *p = g->nodes.at[node].proto;
	const struct graph_value *v = refused_value(g, p);
	const char *reason;
	struct engine_node n = {
		.proto = p, .domain = onnx_domain(p->domain), .inside = true, .version = g->root->version->number
	};

	if (!v || v->producer < 0 || v->producer == node || g->nodes.at[node].reported)
		return false;
	if (!onnx_function_find(g->model, n.domain, onnx_text(p->op_type), p->overload) &&
	    g->engine->support(&n, &reason, g->arena) == ENGINE_NO)
		return false;
	return graph_support(g, v->producer, &reason) == ENGINE_NO;
}
