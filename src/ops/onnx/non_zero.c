/* NonZero: the indices of the elements that are not zero, in row-major order: y[:, j] is the index of the j-th. Their
 * number is known only at run time. A NaN is not zero. For a scalar y is i64[0, n], as in ONNX. Source: ONNX, operator
 * NonZero, opsets 9 and 13. */
#include "ops/lower/lower.h"

/* The narrowest type that holds every position. */
static enum type position_type(const struct space *s)
{
	int64_t points = 1, extent;
	for (int i = 0; i < s->rank; i++) {
		if (!ir_const_int(s->dim[i], &extent) || extent >= INT32_MAX)
			return TYPE_I64;
		points = points * extent < INT32_MAX ? points * extent : INT32_MAX;
	}
	return points < INT32_MAX ? TYPE_I32 : TYPE_I64;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), flat;
	struct space s = space_of(l, x), out = { 0 };
	int rank = s.rank;
	expr element = at(x, &s), index[IR_MAX_RANK], dim[IR_MAX_RANK], axis, found, y;

	if (!rank)
		space_push(l, &s, idx(l, 1));
	element = value_type(x) == TYPE_BOOL ? element : ne(wide(element), num(l, compute_type(value_type(x)), 0));
	enum type t = position_type(&s);
	flat = lower_compact(l, "positions", t, &s, cast(flatten(l, s.rank, s.dim, s.at), t), element, NULL);
	axis = space_push(l, &out, idx(l, rank));
	found = space_push(l, &out, value_dim(flat, 0));
	for (int i = 0; i < s.rank; i++)
		dim[i] = s.dim[i];
	ir_unflat(cast(load_list(flat, 1, found), TYPE_INDEX), s.rank, dim, index);
	y = index[s.rank - 1];
	for (int i = s.rank - 2; i >= 0; i--)
		y = select_(eq(axis, idx(l, i)), index[i], y);
	lower_output(l, 0, lower_map(l, NULL, TYPE_I64, &out, y));
	return 0;
}

const struct op_def op_non_zero = {
	.name = "NonZero",
	.since = { 9, 13 },
	.formula = "y[:, j] = index of the j-th element of x that is not zero",
	.inputs = { IN("X", TS_DATA) },
	.outputs = { OUT("Y") },
	.lower = lower,
	.cases = { "X:f32[N,7]", "X:bool[N]", "X:f16[2,N,3]", "X:i64[]", "X:u8[3,4,5,6]" },
};
