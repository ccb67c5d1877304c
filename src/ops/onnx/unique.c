/* Unique: the distinct elements of x, or its distinct slices along an axis, each with the position of its first
 * occurrence, the index into them of every element, and the number of occurrences. In ascending order (slices
 * lexicographically), or in that of their first elements. Source: ONNX, operator Unique, opsets 11 and 28. */
#include "ops/lower/unique_groups.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct unique u;
	int axis = -1;

	if (lower_has(l, "axis"))
		TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	TRY(unique_groups(l, x, axis, lower_int(l, "sorted") != 0, &u));
	lower_output(l, 0, u.values);
	lower_output(l, 1, u.first);
	lower_output(l, 2, unique_positions(l, "inverse_indices", &u));
	lower_output(l, 3, u.count);
	return 0;
}

const struct op_def op_unique = {
	.name = "Unique",
	.since = { 11, 28 },
	.formula = "y = the different elements of x, or its slices along the axis",
	.inputs = { IN("x", TS_PLAIN) },
	.outputs = { OUT("y"), OPTOUT("indices"), OPTOUT("inverse_indices"), OPTOUT("counts") },
	.attrs = { ATTR_INT("axis", 0, "the axis of the slices; absent: elements"),
	           ATTR_INT("sorted", 1, "ascending; or in the order of their first elements") },
	.lower = lower,
	.cases = { "x:i64[N] outputs=4", "x:f32[N,7] sorted=0 outputs=4", "x:i32[N,3] axis=0 outputs=4",
	           "x:f16[2,N,2] axis=1 sorted=0 outputs=4", "x:u8[5,N] axis=0 outputs=4", "x:bool[N] outputs=2",
	           "x:f32[3,N] axis=-1 sorted=0" },
};
