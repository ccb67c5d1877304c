/* Trilu: y = x on and above (or below) the diagonal j = i + k, else 0.
 * Source: ONNX, operator Trilu, opset 14; com.microsoft.Trilu of ONNX Runtime is the same. */
#include "ops/lower/shared.h"

int trilu_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), k = lower_input(l, 1);
	struct space s = space_of(l, x);
	const struct tensor *known = lower_constant(l, 1);
	int rank = value_rank(x);
	enum type t = value_type(x);
	expr offset = idx(l, 0), diagonal, kept;

	if (rank < 2)
		return lower_fail(l, ERR_MODEL, "the input has rank %d; the operator takes matrices.", rank);
	if (k.given)
		offset = known ? idx(l, tensor_int(known, 0)) : cast(at_flat(k, idx(l, 0)), TYPE_INDEX);
	diagonal = add(s.at[rank - 2], offset);
	kept = lower_int(l, "upper") ? ge(s.at[rank - 1], diagonal) : le(s.at[rank - 1], diagonal);
	lower_output(l, 0, lower_map(l, NULL, t, &s, select_(kept, at(x, &s), num(l, t, 0))));
	return 0;
}
