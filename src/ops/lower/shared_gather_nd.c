/* GatherND: y[b.., i.., j..] = x[b.., indices[b.., i.., 0], indices[b.., i.., 1] .., j..]. Negative indices count from
 * the end; indices outside are clamped, so that bad data never faults. Source: ONNX, operator GatherND, opsets 11 to
 * 13; ONNX Runtime, com.microsoft.GatherND. */
#include "ops/lower/shared.h"

int gather_nd_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), indices = lower_input(l, 1);
	struct space s = { 0 };
	int64_t batch = lower_int(l, "batch_dims"), named;
	int rank = value_rank(x), listed = value_rank(indices) - 1, n;
	expr at[IR_MAX_RANK], index[IR_MAX_RANK];

	if (listed < 0 || batch < 0 || batch > listed || batch >= rank)
		return lower_fail(l, ERR_MODEL, "batch_dims is %lld; data have rank %d, indices %d.", (long long)batch,
		                  rank, listed + 1);
	if (!ir_const_int(value_dim(indices, listed), &named)) {
		lower_fail(l, ERR_UNSUPPORTED, "the last extent of indices is not known at build time.");
		return err_advise(l->err, "Fix the shape of the indices: it decides the rank of the result.");
	}
	if (named < 0 || batch + named > rank)
		return lower_fail(l, ERR_MODEL, "indices name %lld axes after the first %lld; data have rank %d.",
		                  (long long)named, (long long)batch, rank);
	n = (int)(batch + named);
	if (listed + rank - n > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the result has more than %d axes.", IR_MAX_RANK);
	for (int i = 0; i < listed; i++)
		at[i] = space_push(l, &s, value_dim(indices, i));
	for (int i = 0; i < n; i++) {
		at[listed] = idx(l, i - batch);
		index[i] = i < batch ? at[i] : wrap_index(load(indices, at), value_dim(x, i));
	}
	for (int i = n; i < rank; i++)
		index[i] = space_push(l, &s, value_dim(x, i));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load_or_zero(x, index)));
	return 0;
}
