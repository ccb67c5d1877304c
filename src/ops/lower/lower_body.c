/* Graphs that are attributes of a node. This file checks the numbers of inputs and outputs; the caller, who knows the
 * model, lowers the nodes. */
#include "ops/lower/lower.h"

int lower_body(struct lower *l, const char *attr, struct lower_body *out)
{
	const struct attr_value *v = lower_attr(l, attr);

	*out = (struct lower_body){ 0 };
	if (!v)
		return lower_fail(l, ERR_MODEL, "attribute \"%s\" is missing; the operator needs it.", attr);
	ck(v->kind == OP_GRAPH && l->bodies);
	l->bodies->describe(out, l, v);
	return 0;
}

int lower_graph(struct lower *l, const char *attr, int inputs, const struct value *in, int outputs, struct value *out)
{
	struct lower_body body;

	TRY(lower_body(l, attr, &body));
	if (body.inputs != inputs)
		return lower_fail(l, ERR_MODEL, "its \"%s\" takes %d inputs; the node gives it %d.", attr, body.inputs,
		                  inputs);
	if (body.outputs != outputs)
		return lower_fail(l, ERR_MODEL, "its \"%s\" has %d outputs; the node needs %d.", attr, body.outputs,
		                  outputs);
	TRY(l->bodies->lower(l, lower_attr(l, attr), in, out));
	for (int i = 0; i < outputs; i++)
		out[i].pool = l->program->pool;
	return 0;
}

int lower_graph_branch(struct lower *l, const char *attr, expr taken, int outputs, struct value *out)
{
	struct lower_branch *b = NEW(l->program->arena, struct lower_branch);
	int rc;

	b->taken = l->branch && taken && l->branch->taken ? and_(l->branch->taken, taken) : l->branch ? NULL : taken;
	l->inner = b;
	rc = lower_graph(l, attr, 0, NULL, outputs, out);
	l->inner = NULL;
	return rc;
}
