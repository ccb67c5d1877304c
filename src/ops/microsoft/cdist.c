/* CDist: y[m, k] = the distance of row m of a from row k of b: the sum of squared differences, or its root.
 * Source: ONNX Runtime, com.microsoft.CDist. */
#include "ops/lower/lower.h"

#include <string.h>

static int lower(struct lower *l)
{
	struct value a = lower_input(l, 0), b = lower_input(l, 1);
	struct space s = { 0 };
	expr m, k, n, e, y;

	if (value_rank(a) != 2 || value_rank(b) != 2 || value_type(a) != value_type(b))
		return lower_fail(l, ERR_MODEL, "both inputs must be matrices, of one type.");
	m = space_push(l, &s, value_dim(a, 0));
	k = space_push(l, &s, value_dim(b, 0));
	n = space_push(l, &s, value_dim(a, 1));
	e = sub(wide(load_list(a, 2, m, n)), wide(load_list(b, 2, k, n)));
	y = acc(l, e->type);
	if (!strcmp(lower_word(l, "metric"), "euclidean"))
		y = unary(IR_SQRT, y);
	lower_output(l, 0, lower_reduce(l, NULL, value_type(a), &s, 2, IR_SUM, mul(e, e), y));
	return 0;
}

const struct op_def op_cdist = {
	.name = "CDist",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y[m, k] = sum over n of (a[m, n] - b[k, n])^2, or its root",
	.inputs = { IN("a", TS_FLOAT), IN("b", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_WORD("metric", "sqeuclidean|euclidean", "the distance") },
	.lower = lower,
	.cases = { "a:f32[M,33] b:f32[K,33]", "a:f64[M,5] b:f64[7,5] metric=euclidean" },
};
