/* Constants with their axes in the order in which plugins read them: their elements, the map that a program reads them
 * through, and the node at the start of a local function. graph_turn.c chooses the order. */
#include "graph/graph_program.h"

int graph_turned(const struct tensor **out, struct graph *g, struct graph_value *v, struct err *e)
{
	struct tensor *t;
	const struct tensor *own;

	if (v->turned && v->in_order) {
		*out = v->in_order;
		return 0;
	}
	TRY(graph_constant(&own, g, v, e));
	*out = own;
	if (!v->turned)
		return 0;
	t = NEW(g->arena, struct tensor);
	TRY(tensor_transpose(t, own, v->turned, g->arena, e));
	*out = v->in_order = t;
	return 0;
}

struct ir_buffer *region_turn_back(struct region_build *b, const struct graph_value *v, const struct ir_buffer *turned)
{
	expr dim[IR_MAX_RANK], index[IR_MAX_RANK];
	const char *name = arena_printf(b->p->arena, "%s_elements", turned->name);

	for (int k = 0; k < v->rank; k++) {
		dim[v->turned[k]] = turned->dim[k];
		index[k] = ir_axis(b->p->pool, v->turned[k], turned->dim[k]);
	}
	struct ir_stage *s = ir_stage_new(b->p, IR_MAP, ir_buffer_new(b->p, name, v->type, v->rank, dim, IR_TEMP));
	s->value = ir_load(b->p->pool, turned, index);
	return s->out;
}

Onnx__NodeProto *graph_turn_back_new(struct onnx_model *m, const struct graph_value *v, const char *in)
{
	Onnx__NodeProto *n = onnx_node_new(m, "", "Transpose", NULL);
	int64_t perm[IR_MAX_RANK];

	for (int k = 0; k < v->rank; k++)
		perm[v->turned[k]] = k;
	onnx_node_input(m, n, in);
	onnx_node_output(m, n, v->name);
	onnx_node_set_ints(m, n, "perm", perm, v->rank);
	return n;
}
