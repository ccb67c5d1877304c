/* Constants whose axes plugins read in another order, so that no kernel has to transpose them at each launch. A
 * constant at a plugin's edge is stored in that order in the rewritten model, and the local function transposes it
 * back. One that is in the library is stored so there. */
#include "graph/graph_program.h"

#include <string.h>

#define LEAST_GAIN 0.02 /* of a region's estimated time */

/* The opset from which on Transpose takes the type; 0: any. Source: ONNX, operator Transpose, opset 1 to 21. */
static int64_t transposed_since(enum type t)
{
	return type_multiplies_f8(t) || t == TYPE_F8E4M3FNUZ || t == TYPE_F8E5M2FNUZ ? 21 : t == TYPE_BF16 ? 13 : 0;
}

/* True if no node outside the region needs the value, or a constant that nodes of the region compute from it. */
static bool is_own(const struct graph_region *r, const struct graph_value *v)
{
	vec_each (reader, &v->consumers) {
		const struct graph_node *n = &r->graph->nodes.at[*reader];

		if (!graph_region_has(r, *reader))
			return false;
		for (size_t k = 0; n->folded && k < n->proto->n_output; k++) {
			const struct graph_value *out = graph_value_find(r->graph, n->proto->output[k]);

			if (out && !is_own(r, out))
				return false;
		}
	}
	return !v->is_output && !v->captured && !v->outside;
}

/* True if the program has the value as a weight. */
static bool is_weight(const struct graph_region *r, const struct graph_value *v)
{
	bool found = false;

	vec_each (c, &r->constants)
		found |= *c == v;
	return found;
}

/* True if a plugin of the region may read this constant, which nothing else reads, in any order. */
static bool may_turn(const struct graph_region *r, struct graph_value *v, const struct graph_program_options *o)
{
	struct graph_progression counts;

	return v->is_constant && v->rank > 1 && !graph_is_small(v) && type_info(v->type)->bits >= 8 &&
	       graph_count(v->rank, v->dim) > 0 && v->type != TYPE_STRING && is_own(r, v) &&
	       onnx_opset(r->graph->model, "") >= transposed_since(v->type) &&
	       !graph_progression_of(r->graph, v, &counts) &&
	       (is_weight(r, v) || graph_edge_type(r->graph, v, o) == v->type);
}

/* The program's buffer of a constant that the region reads; null: it has none. */
static const struct ir_buffer *buffer_of(const struct graph_region *r, const struct ir_program *p,
                                         struct graph_value *v, struct err *e)
{
	const struct tensor *t;

	for (int i = 0; i < r->inputs.n && i < p->inputs.n; i++)
		if (r->inputs.at[i] == v)
			return p->inputs.at[i];
	if (graph_constant(&t, r->graph, v, e) < 0)
		return NULL;
	vec_each (b, &p->buffers)
		if ((*b)->weight && (*b)->data == t)
			return *b;
	return NULL;
}

static bool is_changed(const int *axis, int rank)
{
	for (int k = 0; k < rank; k++)
		if (axis[k] != k)
			return true;
	return false;
}

static bool turn_value(const struct graph_turning *x, const struct graph_region *r, struct ir_program *p,
                       struct graph_value *v)
{
	struct err ignored = { 0 };
	int axis[IR_MAX_RANK];
	const struct ir_buffer *b = may_turn(r, v, x->options) ? buffer_of(r, p, v, &ignored) : NULL;

	if (!b || !x->reorders(p, b, axis) || !is_changed(axis, v->rank))
		return false;
	int *turned = NEWN(r->graph->arena, int, v->rank);
	memcpy(turned, axis, (size_t)v->rank * sizeof *axis);
	v->turned = turned;
	v->in_order = NULL;
	return true;
}

/* True if the region's program takes less time with the constants that are turned now. */
static bool gains(const struct graph_turning *x, const struct graph_region *r, struct ir_program *before,
                  struct arena *a)
{
	struct ir_program *after;
	struct err ignored = { 0 };

	return graph_region_program(&after, r, x->options, a, &ignored) == 0 &&
	       x->time(x->user, r, after) < (1 - LEAST_GAIN) * x->time(x->user, r, before);
}

static struct graph_value *read_value(const struct graph_region *r, int i)
{
	return i < r->inputs.n ? r->inputs.at[i] : r->constants.at[i - r->inputs.n];
}

static bool may_turn_any(const struct graph_turning *x, const struct graph_region *r)
{
	for (int i = 0; i < r->inputs.n + r->constants.n; i++)
		if (may_turn(r, read_value(r, i), x->options))
			return true;
	return false;
}

static void turn(const struct graph_turning *x, const struct graph_region *r, struct ir_program *p,
                 struct arena *scratch)
{
	static char yes, no;
	bool *turned = NEWN(scratch, bool, r->inputs.n + r->constants.n + 1), any = false;
	const char *known;
	char hash[33];

	for (int i = 0; i < r->inputs.n + r->constants.n; i++)
		any |= turned[i] = turn_value(x, r, p, read_value(r, i));
	if (!any)
		return;
	ir_hash(p, hash); /* layers that repeat have one program */
	known = map_get(x->gains, hash);
	if (!known) {
		known = gains(x, r, p, scratch) ? &yes : &no;
		map_put(x->gains, hash, known);
	}
	for (int i = 0; known == &no && i < r->inputs.n + r->constants.n; i++)
		if (turned[i])
			read_value(r, i)->turned = NULL;
}

void graph_turn(const struct graph_turning *x, const struct graph_region *r)
{
	struct arena *scratch = arena_new();
	struct err ignored = { 0 };
	struct ir_program *p;

	if (!r->folded && may_turn_any(x, r) && graph_region_program(&p, r, x->options, scratch, &ignored) == 0)
		turn(x, r, p, scratch);
	arena_free(scratch);
}
