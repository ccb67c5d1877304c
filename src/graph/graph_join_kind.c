/* Nodes whose kernels are likely to be one function: layers that a model repeats. */
#include "graph/graph_join.h"

static uint64_t hash_value(uint64_t hash, const struct graph_value *v)
{
	if (!v)
		return hash_u64(hash, 0);
	hash = hash_u64(hash, (uint64_t)v->type * 2 + v->is_constant);
	for (int i = 0; i < v->rank; i++)
		hash = hash_u64(hash, v->dim[i]->id);
	return hash;
}

/* Floats, such as slopes, become parameters of kernels. */
static uint64_t hash_attribute(uint64_t hash, const Onnx__AttributeProto *a)
{
	hash = hash_u64(hash_str(hash, onnx_text(a->name)), (uint64_t)a->i);
	for (size_t i = 0; i < a->n_ints; i++)
		hash = hash_u64(hash, (uint64_t)a->ints[i]);
	return hash_bytes(hash, a->s.data, a->s.len);
}

static uint64_t hash_node(const struct join *j, const struct graph_node *n)
{
	const Onnx__NodeProto *p = n->proto;
	uint64_t hash = hash_str(hash_str(1, onnx_text(p->op_type)), onnx_text(p->domain));

	for (size_t i = 0; i < p->n_attribute; i++)
		hash = hash_attribute(hash, p->attribute[i]);
	for (size_t i = 0; i < p->n_input; i++)
		hash = hash_value(hash, graph_value_find(j->g, p->input[i]));
	for (size_t i = 0; i < p->n_output; i++)
		hash = hash_value(hash, graph_value_find(j->g, p->output[i]));
	return n->bodies.n ? hash_u64(hash, (uint64_t)n->index) : hash;
}

/* True if the value is stored: something that is no map reads it. */
static bool is_stored(const struct join *j, const struct graph_value *v)
{
	for (int i = 0; i < v->consumers.n; i++)
		if (j->g->nodes.at[v->consumers.at[i]].work != GRAPH_MAPS)
			return true;
	return v->is_output || v->captured;
}

uint64_t *join_kinds(const struct join *j)
{
	uint64_t *kind = NEWN(j->scratch, uint64_t, j->g->nodes.n + 1);

	for (int i = j->g->nodes.n; i-- > 0;) {
		const struct graph_node *n = &j->g->nodes.at[i];

		kind[i] = hash_node(j, n);
		for (size_t k = 0; k < n->proto->n_output; k++) {
			const struct graph_value *v = graph_value_find(j->g, n->proto->output[k]);

			for (int c = 0; v && !is_stored(j, v) && c < v->consumers.n; c++)
				kind[i] = hash_u64(kind[i], kind[v->consumers.at[c]]);
		}
	}
	return kind;
}
