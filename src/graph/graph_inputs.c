/* The inputs of a node, in the program that it is lowered into. */
#include <string.h>

#include "graph/graph_internal.h"

static const char *slot_name(const struct op_def *op, size_t i)
{
	size_t k = 0;

	while (k < i && k + 1 < OP_MAX_INPUTS && op->inputs[k + 1].kind)
		k++;
	return op->inputs[k].kind ? op->inputs[k].name : "?";
}

static int refuse_strings(const struct graph *g, const struct op_def *op, const Onnx__NodeProto *node, const char *name,
                          struct err *e)
{
	size_t i = 0;

	while (strcmp(node->input[i], name) != 0)
		i++;
	if (!op || !op->inputs[0].types) /* an operator for any type does not read elements */
		return 0;
	err_set(e, ERR_UNSUPPORTED,
	        "input \"%s\" (\"%s\") is a string tensor; %s has no strings, so no plugin can take it.",
	        slot_name(op, i), node->input[i], g->engine->name);
	return err_advise(
	        e, "Keep this node outside the engine, or convert the strings to indices before they reach the model.");
}

int graph_add_input(struct graph_scope *s, struct graph_value *v, int64_t data_max)
{
	struct ir_program *p = s->program;
	struct ir_buffer *b;
	expr dim[IR_MAX_RANK], *content;
	int64_t n = graph_count(v->rank, v->dim);

	for (int i = 0; i < v->rank; i++)
		dim[i] = ir_copy(p->pool, v->dim[i], NULL, NULL);
	b = ir_buffer_new(p, v->name, v->type, v->rank, dim, IR_INPUT);
	if (v->content) {
		b->content = content = NEWN(p->arena, expr, n + 1);
		for (int64_t k = 0; k < n; k++)
			content[k] = ir_copy(p->pool, v->content[k], NULL, NULL);
	} else if (v->some) {
		b->some = content = NEWN(p->arena, expr, n + 1);
		for (int64_t k = 0; k < n; k++)
			content[k] = v->some[k] ? ir_copy(p->pool, v->some[k], NULL, NULL) : NULL;
	}
	if (v->is_constant && n >= 0 && n <= data_max)
		TRY(graph_constant(&b->data, s->g, v, s->err));
	map_put(&s->buffers, v->name, b);
	if (s->inputs)
		map_put_u64(s->inputs, (uintptr_t)b, v);
	return 0;
}

int graph_add_inputs(struct graph_scope *s, const struct graph_node *n, int64_t data_max)
{
	struct map listed = map_new(s->program->arena);

	for (size_t i = 0; i < n->proto->n_input; i++)
		map_put(&listed, n->proto->input[i], n->proto->input[i]);
	vec_each (pv, &n->reads) {
		struct graph_value *v = *pv;
		bool is_listed = map_get(&listed, v->name);

		if (v->type == TYPE_STRING && is_listed)
			TRY(refuse_strings(s->g, n->op, n->proto, v->name, s->err));
		if (v->type != TYPE_NONE && v->rank >= 0)
			TRY(graph_add_input(s, v, data_max));
		else if (is_listed)
			return graph_shape_unknown(s->g, v, s->err);
	}
	return 0;
}
