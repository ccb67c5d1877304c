/* Gather, GatherElements, GatherND: elements of x at indices that are data. Negative indices count from the end;
 * indices outside are clamped, so that bad data never faults.
 *   Gather          y[a.., i.., b..] = x[a.., indices[i..], b..]
 *   GatherElements  y[.., i, ..] = x[.., indices[.., i, ..], ..]
 *   GatherND        y[b.., i.., j..] = x[b.., indices[b.., i.., 0], indices[b.., i.., 1] .., j..]
 * Source: ONNX, operators Gather (opset 1 to 13), GatherElements (11, 13), GatherND (11 to 13). */
#include "ops/lower/shared.h"

#include <string.h>

static int lower_gather(struct lower *l)
{
	struct value x = lower_input(l, 0), indices = lower_input(l, 1);
	struct space s = { 0 };
	expr at[IR_MAX_RANK], index[IR_MAX_RANK];
	int rank = value_rank(x), axis;

	TRY(lower_axis(l, lower_int(l, "axis"), rank, false, &axis));
	if (rank - 1 + value_rank(indices) > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the result has more than %d axes.", IR_MAX_RANK);
	for (int i = 0; i < axis; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	for (int i = 0; i < value_rank(indices); i++)
		at[i] = space_push(l, &s, value_dim(indices, i));
	for (int i = axis + 1; i < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	index[axis] = wrap_index(load(indices, at), value_dim(x, axis));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load_or_zero(x, index)));
	return 0;
}

const struct op_def op_gather = {
	.name = "Gather",
	.since = { 1, 11, 13 },
	.formula = "y[a.., i.., b..] = x[a.., indices[i..], b..]",
	.inputs = { IN("data", TS_DATA), IN("indices", TS_INDICES) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("axis", 0, "the axis that indices are of") },
	.lower = lower_gather,
	.cases = { "data:f32[1000,64] indices:i64[N,7]", "data:f16[N,8,5] indices:i32[3] axis=1",
	           "data:f32[N,8] indices:i64[] axis=-1" },
};

static int lower_gather_elements(struct lower *l)
{
	struct value x = lower_input(l, 0), indices = lower_input(l, 1);
	struct space s = space_of(l, indices);
	expr index[IR_MAX_RANK];
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	if (value_rank(indices) != value_rank(x))
		return lower_fail(l, ERR_MODEL, "indices have rank %d, the data have %d.", value_rank(indices),
		                  value_rank(x));
	memcpy(index, s.at, sizeof index);
	index[axis] = wrap_index(at(indices, &s), value_dim(x, axis));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load_or_zero(x, index)));
	return 0;
}

const struct op_def op_gather_elements = {
	.name = "GatherElements",
	.since = { 11, 13 },
	.formula = "y[.., i, ..] = x[.., indices[.., i, ..], ..]",
	.inputs = { IN("data", TS_DATA), IN("indices", TS_INDICES) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("axis", 0, "the axis that indices are of") },
	.lower = lower_gather_elements,
	.cases = { "data:f32[N,33] indices:i64[N,33] axis=1", "data:i32[5,4,3] indices:i32[2,4,3]" },
};

const struct op_def op_gather_nd = {
	.name = "GatherND",
	.since = { 11, 12, 13 },
	.formula = "y[b.., i.., j..] = x[b.., indices[b.., i.., 0], indices[b.., i.., 1] .., j..]",
	.inputs = { IN("data", TS_DATA), IN("indices", TS(I64)) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("batch_dims", 0, "leading axes that data and indices share") },
	.lower = gather_nd_lower,
	.cases = { "data:f32[20,30,8] indices:i64[N,2]", "data:f16[N,9,4] indices:i64[N,3,1] batch_dims=1 opset=13" },
};
