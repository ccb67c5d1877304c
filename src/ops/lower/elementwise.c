/* The lowering that all elementwise rows share: one type for all operands, broadcasting, the compute type, the
 * result's type. */
#include "ops/lower/elementwise.h"

#include <string.h>

/* A variadic slot is the last one and stands for all further operands. */
static const struct op_slot *operand_slot(const struct op_def *op, int i)
{
	int k = 0;

	while (k < i && op->inputs[k].kind < OP_VARIADIC)
		k++;
	return &op->inputs[k];
}

int elementwise_check_types(struct lower *l)
{
	for (int i = 1; i < l->inputs; i++) {
		const struct op_slot *slot = operand_slot(l->op, i);

		for (int k = 0; k < i; k++) {
			if (!l->input[i].given || !l->input[k].given || operand_slot(l->op, k)->types != slot->types)
				continue;
			if (value_type(l->input[i]) != value_type(l->input[k]))
				return lower_fail(l, ERR_MODEL,
				                  "inputs number %d and %d are %s and %s; they must have one type.",
				                  k + 1, i + 1, type_name(value_type(l->input[k])),
				                  type_name(value_type(l->input[i])));
			break;
		}
	}
	return 0;
}

/* axis < 0: every operand is aligned right. Otherwise the second operand's first axis is the first one's `axis`. */
static int apply(struct lower *l, int axis)
{
	struct space s;
	expr *x = NEWN(l->program->arena, expr, l->inputs);
	enum type t = value_type(l->input[0]);

	TRY(elementwise_check_types(l));
	if (axis < 0)
		TRY(space_broadcast(l, &s, l->inputs, l->input));
	else
		s = space_of(l, l->input[0]);
	for (int i = 0; i < l->inputs; i++) {
		struct value v = l->input[i];

		if (v.given)
			x[i] = wide(axis >= 0 && i == 1 ? at_axis(v, &s, axis) : at(v, &s));
	}
	if (l->op->result)
		t = (enum type)l->op->result;
	lower_output(l, 0, lower_map(l, NULL, t, &s, narrow(l->op->map(l, x), t)));
	return 0;
}

int elementwise_lower_axis(struct lower *l, int axis)
{
	int room = value_rank(l->input[0]) - value_rank(l->input[1]);

	if (axis > room)
		return lower_fail(l, ERR_MODEL, "with axis %d the second input has more axes than the first.", axis);
	return apply(l, axis);
}

int elementwise_lower(struct lower *l)
{
	const struct attr_value *axis = l->opset < 7 ? lower_attr(l, "axis") : NULL;

	if (!axis || l->inputs < 2)
		return apply(l, -1);
	return elementwise_lower_axis(l, (int)(axis->i < 0 ? axis->i + value_rank(l->input[0]) : axis->i));
}
