/* MatMul: y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n], as numpy.matmul: batches broadcast; an operand of
 * one axis is a row on the left and a column on the right, and that axis is not in the result. Sums are f32, f64 or
 * integers. Source: ONNX, operator MatMul, opsets 1 to 13. */
#include "ops/lower/product.h"

static int lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1);
	struct product p;

	if (value_type(a) != value_type(b))
		return lower_fail(l, ERR_MODEL, "a is %s and b is %s; they must have one type.",
		                  type_name(value_type(a)), type_name(value_type(b)));
	TRY(product_space(l, a, b, &p));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(a), &p.s, p.rank, IR_SUM,
	                          mul(wide(load(a, p.a)), wide(load(b, p.b))), NULL));
	return 0;
}

const struct op_def op_matmul = {
	.name = "MatMul",
	.since = { 1, 9, 13 },
	.formula = "y = a b, matrix product",
	.inputs = { IN("a", TS_WIDE), IN("b", TS_WIDE) },
	.outputs = { OUT("y") },
	.lower = lower,
	.cases = { "a:f32[M,256] b:f32[256,128]", "a:f16[B,12,S,64] b:f16[B,12,64,S]", "a:f32[N,33,K] b:f32[K]" },
};
