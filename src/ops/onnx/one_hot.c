/* OneHot: y[.., j, ..] = values[1] where indices[.., ..] = j, else values[0]; j < depth is the new axis.
 * Indices from -depth to -1 count from the end; others outside match nothing.
 * Source: ONNX, operator OneHot, opset 9 to 28. */
#include "ops/lower/lower.h"

/* Depth may be of any type of numbers: a constant, or integer shape arithmetic. */
static int read_depth(struct lower *l, expr *depth)
{
	const struct tensor *t = lower_constant(l, 1);
	struct exprs known;

	if (t && tensor_count(t) == 1) {
		double x = tensor_float(t, 0);

		if (!(x >= 0 && x <= INT32_MAX))
			return lower_fail(l, ERR_MODEL, "depth is %g.", x);
		*depth = idx(l, (int64_t)x);
		return 0;
	}
	TRY(lower_extents(l, 1, &known));
	if (known.n != 1)
		return lower_fail(l, ERR_MODEL, "depth has %d elements; it must be one number.", known.n);
	*depth = known.at[0];
	return 0;
}

static int lower(struct lower *l)
{
	struct value indices = lower_input(l, 0), values = lower_input(l, 2);
	struct space s = { 0 };
	expr depth = NULL, i, j = NULL, from[IR_MAX_RANK];
	int rank = value_rank(indices) + 1, axis;

	if (rank > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the result has more than %d axes.", IR_MAX_RANK);
	if (value_rank(values) != 1)
		return lower_fail(l, ERR_MODEL, "values have rank %d; they must be two numbers.", value_rank(values));
	TRY(lower_axis(l, lower_int(l, "axis"), rank, false, &axis));
	TRY(read_depth(l, &depth));
	for (int k = 0; k < rank; k++) {
		if (k == axis)
			j = space_push(l, &s, depth);
		else
			from[k - (k > axis)] = space_push(l, &s, value_dim(indices, k - (k > axis)));
	}
	i = cast(cast(load(indices, from), TYPE_I64), TYPE_INDEX);
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(values), &s,
	                       select_(or_(eq(i, j), eq(i, sub(j, depth))), load_list(values, 1, idx(l, 1)),
	                               load_list(values, 1, idx(l, 0)))));
	return 0;
}

const struct op_def op_one_hot = {
	.name = "OneHot",
	.since = { 9, 11, 28 },
	.formula = "y[.., j, ..] = values[1] where indices[.., ..] = j, else values[0]",
	.inputs = { IN("indices", TS_NUMBER), IN("depth", TS_NUMBER), IN("values", TS_DATA) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("axis", -1, "where the new axis is in the result") },
	.lower = lower,
	.cases = { "indices:i64[N,5] depth:i64[]={10} values:f32[2]",
	           "indices:f32[N] depth:f32[]={6} values:i32[2] axis=0" },
};
