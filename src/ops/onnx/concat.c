/* Concat: y is the inputs, concatenated along an axis. Split: the reverse.
 *   y[.., i, ..] = x_k[.., i - start_k, ..] for start_k <= i < start_k+1
 * Source: ONNX, operators Concat (opset 1 to 13), Split (1 to 18). */
#include "ops/lower/lower.h"

#include <string.h>

struct concat {
	const struct value *x;
	const expr *start; /* the start of each input along the axis, then the end of the last */
	int axis;
	const struct space *space;
};

/* The element from among the inputs first..last-1: halves, so that many inputs cost few comparisons. */
static expr pick(const struct concat *c, int first, int last)
{
	expr i = c->space->at[c->axis], index[IR_MAX_RANK];
	int middle = (first + last) / 2;

	if (last - first > 1)
		return select_(lt(i, c->start[middle]), pick(c, first, middle), pick(c, middle, last));
	memcpy(index, c->space->at, sizeof index);
	index[c->axis] = sub(i, c->start[first]);
	return load(c->x[first], index);
}

/* One extent for all inputs along an axis that is not concatenated. */
static int common_extent(struct lower *l, const struct value *x, int axis, expr *extent)
{
	int best = 0;

	*extent = value_dim(x[0], axis);
	for (int k = 1; k < l->inputs; k++) {
		TRY(lower_same(l, x[best], axis, x[k], axis, extent));
		best = *extent == value_dim(x[best], axis) ? best : k;
	}
	return 0;
}

static int lower_concat(struct lower *l)
{
	struct value *x = l->input;
	int rank = value_rank(x[0]), axis;
	expr dim[IR_MAX_RANK], start[LOWER_MAX_TENSORS + 1];
	struct space s;

	if (l->opset >= 4 && !lower_has(l, "axis"))
		return lower_fail(l, ERR_MODEL, "attribute \"axis\" is missing; the operator needs it.");
	TRY(lower_axis(l, lower_int(l, "axis"), rank, false, &axis));
	start[0] = idx(l, 0);
	for (int k = 0; k < l->inputs; k++) {
		if (value_rank(x[k]) != rank || value_type(x[k]) != value_type(x[0]))
			return lower_fail(l, ERR_MODEL, "input %d is %s of rank %d, the first is %s of rank %d.", k + 1,
			                  type_name(value_type(x[k])), value_rank(x[k]), type_name(value_type(x[0])),
			                  rank);
		start[k + 1] = add(start[k], value_dim(x[k], axis));
	}
	for (int i = 0; i < rank; i++)
		if (i != axis)
			TRY(common_extent(l, x, i, &dim[i]));
	dim[axis] = start[l->inputs];
	s = space_new(l, rank, dim);
	lower_output(
	        l, 0,
	        lower_map(l, NULL, value_type(x[0]), &s, pick(&(struct concat){ x, start, axis, &s }, 0, l->inputs)));
	return 0;
}

const struct op_def op_concat = {
	.name = "Concat",
	.since = { 1, 4, 11, 13 },
	.formula = "y = the inputs, one after the other along an axis",
	.inputs = { MANY("inputs", TS_DATA) },
	.outputs = { OUT("concat_result") },
	.attrs = { ATTR_INT("axis", 1, "the axis; required from opset 4") },
	.lower = lower_concat,
	.cases = { "a:f32[N,3,H,W] b:f32[N,5,H,W] axis=1", "a:f16[N,4] b:f16[M,4] c:f16[2,4] axis=0" },
};

/* ---- Split ------------------------------------------------------------------------------------------------------- */

/* The listed parts are all of the axis. */
static int check_parts(struct lower *l, struct value x, int axis, const expr *size)
{
	int64_t have, part, sum = 0;
	expr all = idx(l, 0);

	for (int k = 0; k < l->outputs; k++) {
		all = add(all, size[k]);
		if (ir_const_int(size[k], &part) && (part < 0 || __builtin_add_overflow(sum, part, &sum)))
			return lower_fail(l, ERR_MODEL, "part %d has extent %lld.", k, (long long)part);
	}
	if (ir_const_int(all, &sum) && ir_const_int(value_dim(x, axis), &have) && have != sum)
		return lower_fail(l, ERR_MODEL, "the parts have %lld elements together, axis %d has %lld.",
		                  (long long)sum, axis, (long long)have);
	return lower_demand_extent(l, IR_SAME, all, x, axis);
}

/* Extents of the outputs along the axis: listed, or equal, where from opset 18 the last may be smaller. */
static int split_sizes(struct lower *l, struct value x, int axis, expr *size)
{
	expr dim = value_dim(x, axis);
	struct exprs listed = { 0 };
	struct ints attr = lower_ints(l, "split");
	bool given = lower_has(l, "split") || lower_input(l, 1).given;
	int n = l->outputs;
	int64_t have;
	expr chunk;

	if (lower_input(l, 1).given)
		TRY(lower_known(l, 1, &listed));
	else
		for (int k = 0; k < attr.n; k++)
			listed.at[listed.n++] = idx(l, attr.at[k]);
	if (given && listed.n != n)
		return lower_fail(l, ERR_MODEL, "split has %d elements for %d outputs.", listed.n, n);
	if (lower_has(l, "num_outputs") && lower_int(l, "num_outputs") != n)
		return lower_fail(l, ERR_MODEL, "num_outputs is %lld, the node has %d outputs.",
		                  (long long)lower_int(l, "num_outputs"), n);

	if (given) {
		for (int k = 0; k < n; k++)
			size[k] = listed.at[k];
		return check_parts(l, x, axis, size);
	}
	if (l->opset < 18 && ir_const_int(dim, &have) && have % n)
		return lower_fail(l, ERR_MODEL, "axis %d, of extent %lld, cannot be split into %d equal parts.", axis,
		                  (long long)have, n);
	chunk = l->opset < 18 ? floordiv(dim, idx(l, n)) : ceildiv(dim, idx(l, n));
	if (l->opset < 18)
		TRY(lower_demand_multiple(l, x, axis, n));
	for (int k = 0; k < n; k++)
		size[k] = l->opset < 18 ? chunk : min_(chunk, max_(sub(dim, muli(chunk, k)), idx(l, 0)));
	return 0;
}

static int lower_split(struct lower *l)
{
	struct value x = lower_input(l, 0);
	expr size[LOWER_MAX_TENSORS], dim[IR_MAX_RANK], index[IR_MAX_RANK], start = idx(l, 0);
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	TRY(split_sizes(l, x, axis, size));
	memcpy(dim, x.buf->dim, sizeof dim);
	for (int k = 0; k < l->outputs; k++) {
		struct space s;

		dim[axis] = size[k];
		s = space_new(l, value_rank(x), dim);
		memcpy(index, s.at, sizeof index);
		index[axis] = add(index[axis], start);
		start = add(start, size[k]);
		if (lower_wants(l, k))
			lower_output(l, k, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	}
	return 0;
}

const struct op_def op_split = {
	.name = "Split",
	.since = { 1, 2, 11, 13, 18 },
	.formula = "y_k[.., i, ..] = x[.., start_k + i, ..]",
	.inputs = { IN("input", TS_DATA), OPT("split", TS(I64) | TS_FLOAT) },
	.outputs = { MANY("outputs", 0) },
	.attrs = { ATTR_INT("axis", 0, "the axis"), ATTR_INTS("split", "before opset 13: the parts' extents"),
	           ATTR_INT("num_outputs", 0, "opset 18: parts when split is not given") },
	.lower = lower_split,
	.cases = { "input:f32[N,6,W] outputs=3 axis=1 opset=13", "input:f16[7,N] outputs=4 num_outputs=4 opset=18",
	           "input:f32[N,6] split:i64[2]={2,4} outputs=2 axis=1 opset=13" },
};
