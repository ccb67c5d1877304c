/* Puts plain nodes into the model in place of nodes that the engine refuses, and takes them out again. */
#include <string.h>

#include "graph/graph_plain.h"

/* A graph's nodes and constants as the model has them. */
struct kept {
	Onnx__NodeProto **node;
	Onnx__TensorProto **initializer;
	size_t nodes, initializers;
};

struct graph_plains {
	struct graph *root;
	struct {
		VEC(struct graph_plain);
	} list;
	struct plain *written; /* of each */
	int **of;              /* by graph and node: its place in the list, or -1 */
	struct kept *kept;     /* of each graph, while plain nodes are in it; null: none are */
	struct map carried;
};

/* ---- The nodes. */

/* True if the engine's table refuses it. A log's reason may hold for plain nodes as well. */
static bool is_refused(struct graph *g, struct graph_node *n)
{
	const char *reason, *reported = n->reported;
	enum engine_support support;

	n->reported = NULL;
	support = graph_support(g, n->index, &reason);
	n->reported = reported;
	return support == ENGINE_NO;
}

static bool may_be_plain(struct graph *g, struct graph_node *n, bool any)
{

	return (!n->folded || plain_keeps_size(g, n)) && !n->bodies.n && graph_node_used(g, n->index) &&
	       strcmp(onnx_domain(n->proto->domain), GRAPH_PLUGIN_DOMAIN) != 0 && (any || is_refused(g, n));
}

static const char *stem_of(struct graph *g, const struct graph_node *n)
{
	const char *first = "node";

	for (size_t k = n->proto->n_output; k-- > 0;)
		if (*n->proto->output[k])
			first = n->proto->output[k];
	return onnx_name_unique(g->model, arena_printf(g->arena, "%s_plain", first));
}

struct graph_plains *graph_plains_new(struct graph *g, bool any)
{
	struct graph_plains *x = NEW(g->arena, struct graph_plains);

	x->root = g;
	x->of = NEWN(g->arena, int *, g->graphs.n + 1);
	for (int k = 0; k < g->graphs.n; k++) {
		struct graph *in = g->graphs.at[k];

		x->of[k] = NEWN(g->arena, int, in->nodes.n + 1);
		vec_each (n, &in->nodes) {
			struct graph_plain one = { .graph = in, .node = n->index, .label = n->label };

			x->of[k][n->index] = -1;
			if (!graph_used(in) || !may_be_plain(in, n, any))
				continue;
			x->of[k][n->index] = x->list.n;
			one.op = onnx_text(n->proto->op_type);
			one.wanted = true;
			vec_push(g->arena, &x->list, one);
		}
	}
	x->written = NEWN(g->arena, struct plain, x->list.n + 1);
	for (int i = 0; i < x->list.n; i++) {
		struct graph_plain *one = &x->list.at[i];
		const struct graph_node *n = &one->graph->nodes.at[one->node];

		x->written[i] = (struct plain){ .g = one->graph,
			                        .n = n,
			                        .stem = stem_of(one->graph, n),
			                        .carried = &x->carried,
			                        .opset = (int)onnx_opset(g->model, "") };
	}
	return x;
}

struct graph_plain *graph_plains_list(struct graph_plains *x, int *n)
{
	*n = x->list.n;
	return x->list.at;
}

/* ---- Carried tensors. */

static bool is_in(const struct graph_plains *x, const struct graph *g, int node)
{
	int i = node < 0 ? -1 : x->of[g->number][node];

	return i >= 0 && x->list.at[i].wanted;
}

/* True if only plain nodes make and read the tensor. */
static bool is_inner(const struct graph_plains *x, const struct graph *g, const struct graph_value *v)
{
	if (v->is_constant || v->is_output || v->captured || v->outside || !is_in(x, g, v->producer))
		return false;
	for (int i = 0; i < v->consumers.n; i++)
		if (!is_in(x, g, v->consumers.at[i]))
			return false;
	return true;
}

static void carry(struct graph_plains *x, struct graph *g, struct graph_value *v, const char *stem)
{
	struct plain_carried *c = NEW(x->root->arena, struct plain_carried);

	if (!is_inner(x, g, v))
		return;
	c->as = v->type == TYPE_U8 ? PLAIN_SHIFTED : PLAIN_FLOATS;
	c->name = arena_printf(g->model->arena, "%s_%s", stem, v->name);
	map_put(&x->carried, v->name, c);
}

/* If the node cannot take all of its narrow tensors shifted, makes them floats, and sets *again if one was not. */
static void agree(struct graph_plains *x, struct graph *g, const struct graph_node *n, bool *again)
{
	const Onnx__NodeProto *p = n->proto;
	bool shifts = plain_shifts(g, n);

	for (int pass = 0; pass < 2; pass++)
		for (size_t k = 0; k < p->n_input + p->n_output; k++) {
			const struct graph_value *v =
			        graph_value_find(g, k < p->n_input ? p->input[k] : p->output[k - p->n_input]);
			struct plain_carried *c = v ? map_get(&x->carried, v->name) : NULL;

			if (!pass && v && plain_narrow(v->type) && !v->is_constant && (!c || c->as != PLAIN_SHIFTED))
				shifts = false;
			if (!pass || shifts || !c || c->as != PLAIN_SHIFTED)
				continue;
			c->as = PLAIN_FLOATS;
			*again = true;
		}
}

static void find_carried(struct graph_plains *x)
{
	bool again = true;

	x->carried = map_new(x->root->arena);
	for (int i = 0; i < x->list.n; i++) {
		const struct graph_plain *one = &x->list.at[i];
		const Onnx__NodeProto *p = one->graph->nodes.at[one->node].proto;

		for (size_t k = 0; one->wanted && k < p->n_output; k++) {
			struct graph_value *v = graph_value_find(one->graph, p->output[k]);

			if (v && plain_narrow(v->type))
				carry(x, one->graph, v, x->written[i].stem);
		}
	}
	while (again) {
		again = false;
		for (int i = 0; i < x->list.n; i++)
			if (x->list.at[i].wanted)
				agree(x, x->list.at[i].graph, x->written[i].n, &again);
	}
}

/* True if the node reads or makes a tensor of a type that no node of the engine has, and that is not carried. Inputs of
 * the model, constants, and outputs that nothing else reads get a Cast. */
static bool is_stuck(const struct graph_plains *x, struct graph *g, const Onnx__NodeProto *p)
{
	for (size_t k = 0; k < p->n_input + p->n_output; k++) {
		const struct graph_value *v =
		        graph_value_find(g, k < p->n_input ? p->input[k] : p->output[k - p->n_input]);

		if (!v || v->is_constant || v->producer < 0 || g->engine->takes_type(p, v->type) ||
		    map_get(&x->carried, v->name))
			continue;
		if (!(v->is_output && !v->consumers.n && is_in(x, g, v->producer)))
			return true;
	}
	return false;
}

/* ---- Writing. */

/* Removes nodes and constants that nothing reads. */
static void prune(struct plain *p)
{
	struct map read = map_new(p->g->arena);
	int nodes = p->nodes.n, constants = 0;

	for (size_t k = 0; k < p->n->proto->n_output; k++)
		map_put(&read, plain_name(p, p->n->proto->output[k]), p);
	for (int i = p->nodes.n - 1; i >= 0; i--) {
		Onnx__NodeProto *node = p->nodes.at[i];
		bool used = false;

		for (size_t k = 0; k < node->n_output; k++)
			used |= map_get(&read, node->output[k]) != NULL;
		for (size_t k = 0; used && k < node->n_input; k++)
			map_put(&read, node->input[k], p);
		if (used)
			p->nodes.at[--nodes] = node;
	}
	memmove(p->nodes.at, p->nodes.at + nodes, sizeof *p->nodes.at * (size_t)(p->nodes.n - nodes));
	p->nodes.n -= nodes;
	for (int i = 0; i < p->constants.n; i++)
		if (map_get(&read, p->constants.at[i]->name))
			p->constants.at[constants++] = p->constants.at[i];
	p->constants.n = constants;
}

static bool write_one(struct plain *p)
{
	p->nodes.n = p->constants.n = p->names = 0;
	p->known = map_new(p->g->arena);
	p->renamed = map_new(p->g->arena);
	if (!plain_from_table(p) && (p->n->work == GRAPH_PRODUCT || !plain_from_program(p)))
		return false;
	prune(p);
	return p->nodes.n > 0;
}

/* Writes the nodes of all that are wanted. Those that cannot have any are not wanted any more, and then perhaps their
 * neighbours cannot either. */
static void write_all(struct graph_plains *x)
{
	bool again = true;

	/* First those that are quick to tell: often neighbours of products depend on them. */
	find_carried(x);
	for (int i = 0; i < x->list.n; i++)
		if (x->list.at[i].wanted && x->written[i].n->work == GRAPH_PRODUCT)
			x->list.at[i].wanted = write_one(&x->written[i]);
	while (again) {
		again = false;
		find_carried(x);
		for (int i = 0; i < x->list.n; i++) {
			struct graph_plain *one = &x->list.at[i];
			const struct graph_node *n = &one->graph->nodes.at[one->node];

			if (!one->wanted || (!is_stuck(x, one->graph, n->proto) && write_one(&x->written[i])))
				continue;
			one->wanted = false;
			again = true;
		}
	}
}

/* ---- The model. */

static void put_nodes(struct graph_plains *x, struct graph *g)
{
	Onnx__GraphProto *proto = g->index->graph;
	struct {
		VEC(Onnx__NodeProto *);
	} nodes = { 0 };

	for (size_t i = 0; i < proto->n_node; i++) {
		int at = x->of[g->number][i];

		if (at < 0 || !x->list.at[at].wanted) {
			vec_push(g->arena, &nodes, proto->node[i]);
			continue;
		}
		vec_each (n, &x->written[at].nodes)
			vec_push(g->arena, &nodes, *n);
		vec_each (t, &x->written[at].constants)
			onnx_graph_add_initializer(g->model, proto, *t);
		x->list.at[at].nodes = x->written[at].nodes.n;
	}
	proto->node = NEWN(g->model->arena, Onnx__NodeProto *, nodes.n + 1);
	proto->n_node = (size_t)nodes.n;
	if (nodes.n)
		memcpy(proto->node, nodes.at, sizeof *nodes.at * (size_t)nodes.n);
}

int graph_plains_put(struct graph_plains *x)
{
	struct graph *root = x->root;
	int n = 0;

	write_all(x);
	x->kept = NEWN(root->arena, struct kept, root->graphs.n + 1);
	for (int k = 0; k < root->graphs.n; k++) {
		const Onnx__GraphProto *p = root->graphs.at[k]->index->graph;
		Onnx__TensorProto **copy = NEWN(root->model->arena, Onnx__TensorProto *, p->n_initializer + 1);

		if (p->n_initializer)
			memcpy(copy, p->initializer, sizeof *copy * p->n_initializer);
		x->kept[k] = (struct kept){ p->node, copy, p->n_node, p->n_initializer };
	}
	vec_each (one, &x->list)
		n += one->wanted;
	for (int k = 0; n && k < root->graphs.n; k++)
		put_nodes(x, root->graphs.at[k]);
	return n;
}

void graph_plains_take_out(struct graph_plains *x)
{
	for (int k = 0; k < x->root->graphs.n; k++) {
		Onnx__GraphProto *p = x->root->graphs.at[k]->index->graph;

		p->node = x->kept[k].node;
		p->n_node = x->kept[k].nodes;
		p->initializer = x->kept[k].initializer;
		p->n_initializer = x->kept[k].initializers;
	}
}

/* ---- What became of them. */

int graph_plains_check(struct graph_plains *x, struct graph *now)
{
	struct map of = map_new(now->arena);
	int wrong = 0;

	for (int i = 0; i < x->list.n; i++)
		vec_each (n, &x->written[i].nodes)
			if (x->list.at[i].wanted)
				map_put_u64(&of, (uintptr_t)*n, &x->list.at[i]);
	vec_each (pg, &now->graphs)
		vec_each (n, &(*pg)->nodes) {
			struct graph_plain *one = map_get_u64(&of, (uintptr_t)n->proto);
			const char *reason;

			if (!one || !one->wanted)
				continue;
			if (n->known && graph_support(*pg, n->index, &reason) != ENGINE_NO)
				continue;
			one->wanted = false;
			wrong++;
		}
	return wrong;
}

double graph_plains_ns(const struct graph_plains *x, const struct graph_region *r, struct graph *now,
                       const struct graph_rates *rates)
{
	struct graph *g = now->graphs.at[r->graph->number];
	struct map of = map_new(now->arena);
	int *node = NEWN(now->arena, int, g->nodes.n + 1), n = 0;

	vec_each (i, &r->nodes) {
		int at = x->of[r->graph->number][*i];

		map_put_u64(&of, (uintptr_t)r->graph->nodes.at[*i].proto, r);
		for (int k = 0; at >= 0 && x->list.at[at].wanted && k < x->written[at].nodes.n; k++)
			map_put_u64(&of, (uintptr_t)x->written[at].nodes.at[k], r);
	}
	vec_each (i, &g->nodes)
		if (map_get_u64(&of, (uintptr_t)i->proto) && !i->folded)
			node[n++] = i->index;
	return graph_engine_ns(g, node, n, rates);
}

void graph_plains_finish(struct graph_plains *x)
{
	for (int k = x->root->graphs.n; k-- > 0;) /* bodies first: they may now read less of the graph around them */
		onnx_graph_drop_unused(x->root->model, x->root->graphs.at[k]->index->graph);
}
