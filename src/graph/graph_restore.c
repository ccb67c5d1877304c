/* Constant weights that a model dequantises are folded to floats. A region takes the nodes that dequantise them back in
 * where its product then is a sum of integers, or of products of 8-bit floats (pass unscale): it reads bytes, and needs
 * no copy of up to four times the size.
 * Whether it is one, the product's own program tells, with the nodes around it lowered in front of it. */
#include <string.h>

#include "graph/graph_internal.h"

enum { MOST = 16 /* nodes between a product and its quantised operands */ };

/* A product, and the maps of floats that it reads through; ascending. */
struct product {
	struct graph *g;
	const bool *in; /* the region's nodes */
	int n, node[MOST + 1];
	bool any; /* one of them is a node of constants */
};

static bool is_real(enum type t)
{
	return t == TYPE_F16 || t == TYPE_BF16 || t == TYPE_F32;
}

static bool has(const struct product *p, int node)
{
	for (int i = 0; i < p->n; i++)
		if (p->node[i] == node)
			return true;
	return false;
}

/* True if maps of constants compute v from as many 8-bit numbers. */
static bool of_bytes(const struct graph *g, const struct graph_value *v, int depth)
{
	const struct graph_node *n = v->producer >= 0 ? &g->nodes.at[v->producer] : NULL;

	if (!n || !n->folded || n->work != GRAPH_MAPS || depth == MOST)
		return false;
	vec_each (x, &n->reads) {
		bool as_many = graph_count((*x)->rank, (*x)->dim) == graph_count(v->rank, v->dim);
		bool byte = (*x)->type == TYPE_I8 || (*x)->type == TYPE_U8 || type_multiplies_f8((*x)->type);

		if (as_many && (byte || of_bytes(g, *x, depth + 1)))
			return true;
	}
	return false;
}

/* True if v is a float that a map computes, of a large constant, of one of bytes, or in the region. Other nodes that
 * read the constant keep it. */
static bool reads_through(const struct product *p, const struct graph_value *v)
{
	if (v->producer < 0 || !is_real(v->type))
		return false;
	const struct graph_node *n = &p->g->nodes.at[v->producer];
	if (!n->known || n->work != GRAPH_MAPS || n->bodies.n || n->proto->n_output != 1)
		return false;
	if (!n->folded)
		return p->in[n->index];
	return n->reads.n && (!graph_is_small(v) || of_bytes(p->g, v, 0)) && !v->is_output && !v->captured;
}

static bool take(struct product *p, int node)
{
	const struct graph_node *n = &p->g->nodes.at[node];

	if (p->n > MOST)
		return false;
	p->node[p->n++] = node;
	p->any |= n->folded;
	vec_each (v, &n->reads)
		if (reads_through(p, *v) && !has(p, (*v)->producer) && !take(p, (*v)->producer))
			return false;
	return true;
}

/* A small constant's value is known to the program, as in a region's. */
static int read_value(struct graph_scope *s, struct graph_value *v)
{
	const struct tensor *t;

	if (v->type == TYPE_NONE || v->rank < 0)
		return 0;
	if (!graph_is_small(v))
		return graph_add_input(s, v, GRAPH_DATA_MAX);
	TRY(graph_constant(&t, s->g, v, s->err));
	map_put(&s->buffers, v->name, graph_constant_buffer(s->program, v->name, t));
	return 0;
}

static int lower_all(struct graph_scope *s, const struct product *p)
{
	const struct graph_node *last = &p->g->nodes.at[p->node[p->n - 1]];

	for (int i = 0; i < p->n; i++) {
		const struct graph_node *n = &p->g->nodes.at[p->node[i]];

		vec_each (v, &n->reads)
			if (!map_get(&s->buffers, (*v)->name))
				TRY(read_value(s, *v));
		TRY(graph_lower(s, n->proto, n->label));
	}
	for (size_t k = 0; k < last->proto->n_output; k++) {
		struct ir_buffer *b = map_get(&s->buffers, last->proto->output[k]);

		if (!b || b->role != IR_TEMP)
			continue;
		b->role = IR_OUTPUT;
		vec_push(s->program->arena, &s->program->outputs, b);
	}
	return ir_optimise(s->program, NULL, NULL, s->err);
}

/* True if the product becomes a sum of products of quantised numbers. */
static bool sums_quantised(const struct product *p)
{
	struct arena *scratch = arena_new();
	struct ir_program *program = ir_program_new(scratch, "product");
	struct err ignored = { 0 };
	struct graph_scope s = graph_scope_new(p->g, program, &ignored);
	bool quantised = false, fine = lower_all(&s, p) == 0;

	vec_each (stage, &program->stages)
		quantised |= ((*stage)->kind == IR_REDUCE && (*stage)->value->type == TYPE_I32) || ir_sums_f8(*stage);
	arena_free(scratch);
	return fine && quantised;
}

/* True for a plugin's node: the build that made it chose its inputs, and its function holds the restored nodes. */
static bool is_plugin(const struct graph_node *n)
{
	return n->function && strcmp(onnx_domain(n->proto->domain), GRAPH_PLUGIN_DOMAIN) == 0;
}

void graph_restore(struct graph *g, struct graph_region *r)
{
	struct arena *scratch = arena_new();
	bool *in = NEWN(scratch, bool, g->nodes.n + 1);
	int nodes = r->nodes.n;

	vec_each (i, &r->nodes)
		in[*i] = true;
	for (int i = 0; i < nodes; i++) {
		const struct graph_node *n = &g->nodes.at[r->nodes.at[i]];
		struct product p = { .g = g, .in = in };

		if (n->work != GRAPH_PRODUCT || n->bodies.n || is_plugin(n) || !take(&p, n->index) || !p.any)
			continue;
		vec_sort_ints(p.node, p.n);
		if (!sums_quantised(&p))
			continue;
		for (int k = 0; k < p.n; k++) {
			if (g->nodes.at[p.node[k]].folded && !in[p.node[k]])
				vec_push(g->arena, &r->nodes, p.node[k]);
			in[p.node[k]] = true;
		}
	}
	vec_sort_ints(r->nodes.at, r->nodes.n);
	arena_free(scratch);
}
