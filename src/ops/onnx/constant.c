/* Constant: y = the value of the attribute. ConstantOfShape: y = one value everywhere.
 * Source: ONNX, operators Constant (opset 1 to 25), ConstantOfShape (9 to 25). */
#include "ops/lower/lower.h"

/* Element `i` of a tensor as a constant expression. */
static expr element(struct lower *l, const struct tensor *t, int64_t i)
{
	return type_is_float(t->type) ? num(l, t->type, tensor_float(t, i))
	                              : ir_int(l->program->pool, t->type, tensor_int(t, i));
}

static int new_tensor(struct lower *l, struct tensor **out, enum type type, int rank, int64_t n)
{
	*out = NEW(l->program->arena, struct tensor);
	return tensor_new(*out, type, rank, &n, l->program->arena, l->err);
}

/* The attribute that the node has, as a tensor. */
static int read_value(struct lower *l, const struct tensor **out)
{
	static const char *const forms[] = { "value", "value_int", "value_ints", "value_float", "value_floats" };
	const struct attr_value *v = NULL;
	struct tensor *t;

	for (int i = 0; i < 5 && !v; i++)
		v = lower_attr(l, forms[i]);
	if (!v) {
		lower_fail(l, ERR_UNSUPPORTED, "its value is a string or a sparse tensor, or is missing.");
		return err_advise(l->err, "Only dense tensors of numbers can be taken.");
	}
	switch (v->kind) {
	case OP_TENSOR: *out = v->tensor; return 0;
	case OP_INT:
		TRY(new_tensor(l, &t, TYPE_I64, 0, 1));
		tensor_set_int(t, 0, v->i);
		break;
	case OP_FLOAT:
		TRY(new_tensor(l, &t, TYPE_F32, 0, 1));
		tensor_set_float(t, 0, v->f);
		break;
	case OP_INTS:
		TRY(new_tensor(l, &t, TYPE_I64, 1, v->n));
		for (int i = 0; i < v->n; i++)
			tensor_set_int(t, i, v->ints[i]);
		break;
	default:
		TRY(new_tensor(l, &t, TYPE_F32, 1, v->n));
		for (int i = 0; i < v->n; i++)
			tensor_set_float(t, i, v->floats[i]);
	}
	*out = t;
	return 0;
}

static int lower_constant_node(struct lower *l)
{
	const struct tensor *t = NULL;
	struct space s = { 0 };

	TRY(read_value(l, &t));
	if (!(TS_ALL & 1u << t->type))
		return lower_fail(l, ERR_UNSUPPORTED, "its value is %s, a type that cannot be computed with.",
		                  type_name(t->type));
	for (int i = 0; i < t->rank; i++)
		space_push(l, &s, idx(l, t->dim[i]));
	if (tensor_count(t) == 1) {
		lower_output(l, 0, lower_map(l, NULL, t->type, &s, element(l, t, 0)));
		return 0;
	}
	lower_output(l, 0, lower_data(l, NULL, t));
	return 0;
}

const struct op_def op_constant = {
	.name = "Constant",
	.since = { 1, 9, 11, 12, 13, 19, 21, 23, 24, 25 },
	.formula = "y = value",
	.outputs = { OUT("output") },
	.attrs = { ATTR_TENSOR("value", "a tensor"), ATTR("value_int", OP_INT, 0, NULL, "an i64 scalar", false),
	           ATTR_INTS("value_ints", "an i64 vector"), ATTR_FLOAT("value_float", 0, "an f32 scalar"),
	           ATTR_FLOATS("value_floats", "an f32 vector"),
	           ATTR("value_string", OP_STRING, 0, NULL, "a string: refused", false),
	           ATTR("value_strings", OP_STRINGS, 0, NULL, "strings: refused", false) },
	.lower = lower_constant_node,
	.cases = { "value_ints=3,1,2 opset=12", "value_float=2.5 opset=12" },
};

static int lower_constant_of_shape(struct lower *l)
{
	const struct tensor *t = lower_tensor(l, "value");
	struct exprs shape;
	struct space s;
	expr y;

	if (t && (tensor_count(t) != 1 || !(TS_ALL & 1u << t->type)))
		return lower_fail(l, ERR_MODEL, "the value must be one number; it is %s.",
		                  tensor_describe(t, l->program->arena));
	TRY(lower_extents(l, 0, &shape));
	if (shape.n > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the shape has %d axes; %d are the most.", shape.n, IR_MAX_RANK);
	y = t ? element(l, t, 0) : num(l, TYPE_F32, 0);
	s = space_new(l, shape.n, shape.at);
	lower_output(l, 0, lower_map(l, NULL, y->type, &s, y));
	return 0;
}

const struct op_def op_constant_of_shape = {
	.name = "ConstantOfShape",
	.since = { 9, 20, 21, 23, 24, 25 },
	.formula = "y = value, everywhere",
	.inputs = { IN("input", TS(I64)) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_TENSOR("value", "one element; without it 0 in f32") },
	.lower = lower_constant_of_shape,
	.cases = { "input:i64[2]={3,4}" },
};
