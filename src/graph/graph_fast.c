/* Chains that the engine runs itself, but in several kernels: norms that an exporter spelled in ten nodes, moves of
 * elements between arithmetic. Products stay with the engine, and so does what it fuses with them. */
#include <string.h>

#include "graph/graph_join.h"

enum { MOST_STEPS = 16 }; /* between a product and a softmax */

static bool is_softmax(const struct graph_node *n)
{
	return strcmp(onnx_text(n->proto->op_type), "Softmax") == 0;
}

/* ---- Attention: the engine has kernels of its own for product, softmax, product, which scale and transpose operands.
 */

enum { AFTER, BEFORE };

struct attention {
	const struct graph *g;
	bool *path, *product; /* by node: maps on the way, products at their ends */
};

/* The nodes that make a node's inputs, or that read its results. */
struct near {
	VEC(int);
};

static struct near near_of(const struct graph *g, int node, int way)
{
	const struct graph_node *n = &g->nodes.at[node];
	struct near out = { 0 };

	if (way == BEFORE)
		vec_each (v, &n->reads)
			if ((*v)->producer >= 0 && !(*v)->is_constant)
				vec_push(g->arena, &out, (*v)->producer);
	for (size_t k = 0; way == AFTER && k < n->proto->n_output; k++) {
		const struct graph_value *v = graph_value_find(g, n->proto->output[k]);

		for (int i = 0; v && i < v->consumers.n; i++)
			vec_push(g->arena, &out, v->consumers.at[i]);
	}
	return out;
}

/* True for a map of one tensor, such as a scale or a transposition. */
static bool is_simple(const struct graph_node *n)
{
	int tensors = 0;

	vec_each (v, &n->reads)
		tensors += !(*v)->is_constant && !(*v)->content;
	return tensors <= 1;
}

/* True if maps lead from the node to a product; with `simple`, maps of one tensor. Notes both. */
static bool find_products(struct attention *x, int node, int way, bool simple, int steps)
{
	struct near near = near_of(x->g, node, way);
	bool found = false;

	vec_each (i, &near) {
		const struct graph_node *n = &x->g->nodes.at[*i];
		bool walks = steps && n->work == GRAPH_MAPS && (!simple || is_simple(n));

		if (n->work == GRAPH_PRODUCT) {
			x->product[*i] = found = true;
		} else if (walks && find_products(x, *i, way, simple, steps - 1)) {
			x->path[*i] = found = true;
		}
	}
	return found;
}

static struct attention attention_new(const struct graph *g)
{
	return (struct attention){ g, NEWN(g->arena, bool, g->nodes.n + 1), NEWN(g->arena, bool, g->nodes.n + 1) };
}

static void add_marks(bool *to, const bool *from, int n)
{
	for (int i = 0; i < n; i++)
		to[i] |= from[i];
}

/* Marks each softmax between two products, all that is between them, and simple maps between these and other
 * products. */
static void mark_attention(const struct graph *g, bool *mark)
{
	struct attention all = attention_new(g), outer = attention_new(g);

	vec_each (n, &g->nodes) {
		struct attention x;

		if (!n->known || !is_softmax(n))
			continue;
		x = attention_new(g);
		if (!find_products(&x, n->index, BEFORE, false, MOST_STEPS) ||
		    !find_products(&x, n->index, AFTER, false, MOST_STEPS))
			continue;
		mark[n->index] = true;
		add_marks(mark, x.path, g->nodes.n);
		add_marks(all.product, x.product, g->nodes.n);
	}
	for (int i = 0; i < g->nodes.n; i++)
		for (int way = AFTER; all.product[i] && way <= BEFORE; way++)
			find_products(&outer, i, way, true, MOST_STEPS);
	add_marks(mark, outer.path, g->nodes.n);
}

/* ---- Seeds. */

/* Shape arithmetic, which the engine does on the host. */
static bool is_shape(const struct graph *g, const struct graph_node *n)
{
	const struct graph_value *out = graph_value_find(g, n->proto->output[0]);

	return out && out->content;
}

static bool may_seed(const struct graph *g, const struct graph_node *n)
{
	return graph_fast_seed(n) && n->known && !n->folded && !n->bodies.n && !n->sizes.n &&
	       graph_node_used(g, n->index) && !graph_misfit(g, n->index);
}

int graph_join_fast(struct graph_regions *out, struct graph *g, const int *owner, const bool *blocked,
                    const struct graph_rates *rates, struct err *e)
{
	struct graph_regions found = { 0 };
	bool *seed = NEWN(g->arena, bool, g->nodes.n + 1), *stays = NEWN(g->arena, bool, g->nodes.n + 1);
	const char *reason;

	mark_attention(g, stays);
	vec_each (n, &g->nodes)
		stays[n->index] |=
		        blocked[n->index] || is_shape(g, n) || graph_support(g, n->index, &reason) != ENGINE_YES;
	vec_each (n, &g->nodes)
		seed[n->index] = !stays[n->index] && owner[n->index] < 0 && may_seed(g, n);
	TRY(graph_join_seeds(&found, g, seed, owner, stays, true, rates, e));
	vec_each (r, &found)
		if ((*r)->nodes.n > 1)
			vec_push(g->arena, out, *r);
	return 0;
}

/* ---- The engine's kernels. */

int graph_engine_kernels(const struct graph_region *r, int *kernel)
{
	const struct graph *g = r->graph;
	int *of = NEWN(g->arena, int, g->nodes.n + 1), kernels = 0;
	bool *full = NEWN(g->arena, bool, r->nodes.n + 1); /* combines or moves elements already */

	for (int i = 0; i < g->nodes.n; i++)
		of[i] = JOIN_NONE;
	for (int i = 0; i < r->nodes.n; i++) {
		const struct graph_node *n = &g->nodes.at[r->nodes.at[i]];
		bool own = graph_fast_seed(n);
		int last = JOIN_NONE;

		vec_each (v, &n->reads)
			if ((*v)->producer >= 0 && of[(*v)->producer] > last)
				last = of[(*v)->producer];
		if (last < 0 || (own && (n->work == GRAPH_MAPS || full[last])))
			last = kernels++;
		full[last] |= own;
		kernel[i] = of[n->index] = last;
	}
	return kernels;
}
