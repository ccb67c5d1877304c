/* Transpose: y[i...] = x[j...] with j[perm[k]] = i[k].
 * Source: ONNX, operator Transpose, opset 1 to 25. */
#include "ops/lower/lower.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct ints perm = lower_ints(l, "perm");
	struct space s = { 0 };
	expr index[IR_MAX_RANK];
	uint32_t seen = 0;
	int rank = value_rank(x);

	if (!lower_has(l, "perm"))
		for (perm.n = 0; perm.n < rank; perm.n++)
			perm.at[perm.n] = rank - 1 - perm.n;
	if (perm.n != rank)
		return lower_fail(l, ERR_MODEL, "perm names %d axes, the input has %d.", perm.n, rank);
	for (int i = 0; i < rank; i++) {
		int axis;

		TRY(lower_axis(l, perm.at[i], rank, false, &axis));
		if (seen & 1u << axis)
			return lower_fail(l, ERR_MODEL, "perm names axis %d twice.", axis);
		seen |= 1u << axis;
		index[axis] = space_push(l, &s, value_dim(x, axis));
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_transpose = {
	.name = "Transpose",
	.since = { 1, 13, 21, 23, 24, 25 },
	.formula = "y[i...] = x[j...], j[perm[k]] = i[k]",
	.inputs = { IN("data", TS_ALL) },
	.outputs = { OUT("transposed") },
	.attrs = { ATTR_INTS("perm", "for each axis of the result, the input's; without it: all reversed") },
	.lower = lower,
	.cases = { "data:f32[N,3,H,W] perm=0,2,3,1", "data:f16[64,N]", "data:u8[N,H,W,3] perm=0,3,1,2" },
};
