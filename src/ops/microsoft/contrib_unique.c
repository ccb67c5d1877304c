/* Unique: the distinct elements of a list in the order of their first occurrence, the index into them of every
 * element, and the number of occurrences. Source: ONNX Runtime, com.microsoft.Unique. */
#include "ops/lower/unique_groups.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct unique u;

	if (value_rank(x) != 1)
		return lower_fail(l, ERR_MODEL, "x has %d axes; it must have one.", value_rank(x));
	TRY(unique_groups(l, x, -1, false, &u));
	lower_output(l, 0, u.values);
	lower_output(l, 1, unique_positions(l, "idx", &u));
	lower_output(l, 2, u.count);
	return 0;
}

const struct op_def op_unique_contrib = {
	.name = "Unique",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = the different elements of x, in the order in which they are found",
	.inputs = { IN("x", TS_PLAIN) },
	.outputs = { OUT("y"), OUT("idx"), OUT("counts") },
	.lower = lower,
	.cases = { "x:f32[N] outputs=3" },
};
