/* Range: y[i] = start + i * delta for i < max(0, ceil((limit - start) / delta)). Integers may be any shape arithmetic;
 * floats are constants, or whole or rational functions of extents. f16 and bf16 are computed in f32. An absent delta
 * is 1. Source: ONNX, operator Range, opset 11 and 27; ONNX Runtime, com.microsoft.Range. */
#include "ops/lower/shared.h"

#include <math.h>

/* ceil((limit - start) / delta), for either sign of delta. */
static expr steps(expr start, expr limit, expr delta)
{
	int64_t d;

	if (ir_const_int(delta, &d) && d > 0)
		return ceildiv(sub(limit, start), delta);
	return sub(with(start, 0), floordiv(sub(start, limit), delta)); /* ceil(a / b) is -floor(-a / b) */
}

/* Start, limit and delta are index expressions: exact, and symbolic if the model is. */
static int integers(struct lower *l, enum type t)
{
	struct exprs start, limit, delta = { .n = 1, .at = { idx(l, 1) } };
	struct space s = { 0 };
	expr i;

	TRY(lower_known(l, 0, &start));
	TRY(lower_known(l, 1, &limit));
	if (lower_input(l, 2).given)
		TRY(lower_known(l, 2, &delta));
	if (ir_is_int(delta.at[0], 0))
		return lower_fail(l, ERR_MODEL, "delta is 0.");
	i = space_push(l, &s, max_(idx(l, 0), steps(start.at[0], limit.at[0], delta.at[0])));
	lower_output(l, 0, lower_map(l, NULL, t, &s, add(start.at[0], mul(i, delta.at[0]))));
	return 0;
}

/* Input k, a float: a constant, or an expression over extents, like Cast(Shape(x)). Null: neither. */
static expr known_float(struct lower *l, int k, enum type c)
{
	const struct ir_buffer *b = lower_input(l, k).buf;
	const struct tensor *v = lower_constant(l, k);

	if (v)
		return num(l, c, tensor_float(v, 0));
	return b->content ? cast(b->content[0], c) : NULL;
}

static int floats(struct lower *l, enum type t)
{
	enum type c = compute_type(t);
	expr x[3] = { NULL, NULL, num(l, c, 1) }, n, i;
	struct space s = { 0 };

	for (int k = 0; k < 3; k++) {
		if (!lower_input(l, k).given)
			continue;
		x[k] = known_float(l, k, c);
		if (!x[k]) {
			lower_fail(l, ERR_UNSUPPORTED,
			           "the value of input \"%s\" is not known at build time, and the shape of the result "
			           "depends on it.",
			           l->op->inputs[k].name);
			return err_advise(l->err,
			                  "Make it a constant of the model, or keep this node outside the engine.");
		}
	}
	n = divide(sub(cast(x[1], TYPE_F64), cast(x[0], TYPE_F64)), cast(x[2], TYPE_F64));
	if (x[2] == num(l, c, 0) || (n->op == IR_CONST_FLOAT && !(n->f < 0x1p40)))
		return lower_fail(l, ERR_MODEL, "delta is 0, or the range has no end.");
	n = n->op == IR_CONST_FLOAT ? idx(l, (int64_t)fmax(0, ceil(n->f)))
	                            : ir_integer_of(unary(IR_CEIL, n), NULL, NULL);
	if (!n) {
		lower_fail(l, ERR_UNSUPPORTED, "the number of elements cannot be computed from extents.");
		return err_advise(l->err, "Give the model's extents with --shape, so that it becomes a constant.");
	}
	i = space_push(l, &s, max_(idx(l, 0), n));
	lower_output(l, 0, lower_map(l, NULL, t, &s, add(x[0], mul(cast(i, c), x[2]))));
	return 0;
}

int range_lower(struct lower *l)
{
	enum type t = value_type(lower_input(l, 0));

	for (int k = 0; k < 3; k++) {
		if (!lower_input(l, k).given)
			continue;
		if (value_type(lower_input(l, k)) != t)
			return lower_fail(l, ERR_MODEL, "start, limit and delta have different types.");
		if (!ir_is_int(value_count(lower_input(l, k)), 1))
			return lower_fail(l, ERR_MODEL, "input \"%s\" is not a scalar.", l->op->inputs[k].name);
	}
	return type_is_float(t) ? floats(l, t) : integers(l, t);
}
