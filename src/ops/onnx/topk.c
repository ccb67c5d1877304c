/* TopK: the k largest or smallest elements along an axis, in order, and their positions. Among equals the first comes
 * first; a NaN counts as the largest. Results that may come in any order come sorted too.
 * A k greater than the extent is an error. If the extent is known only at run time, it cannot be compared with k in
 * time: missing elements are then zeros. Source: ONNX, operator TopK, opsets 1, 10, 11 and 24. */
#include "ops/lower/lower.h"

/* Reads k: an attribute before opset 10, then an input. */
static int read_k(struct lower *l, expr *k)
{
	struct exprs input;
	int64_t number;

	if (l->opset < 10) {
		if (!lower_has(l, "k"))
			return lower_fail(l, ERR_MODEL, "before opset 10 the attribute k is required.");
		*k = idx(l, lower_int(l, "k"));
	} else {
		TRY(lower_extents(l, 1, &input));
		if (input.n != 1)
			return lower_fail(l, ERR_MODEL, "K has %d elements; it must have one.", input.n);
		*k = input.at[0];
	}
	if (ir_const_int(*k, &number) && number < 0)
		return lower_fail(l, ERR_MODEL, "K is %lld; it must not be negative.", (long long)number);
	return 0;
}

/* Pads results to k elements with zeros, if only the first ones exist; `some` are the indices. */
static struct value filled_up(struct lower *l, struct space s, int axis, expr k, struct value indices)
{
	expr some = value_dim(indices, axis), at[IR_MAX_RANK], inside;

	s.dim[axis] = k;
	s.at[axis] = ir_axis(l->program->pool, axis, k);
	for (int i = 0; i < s.rank; i++)
		at[i] = s.at[i];
	inside = lt(at[axis], some);
	at[axis] = min_(at[axis], max_(addi(some, -1), idx(l, 0)));
	return lower_map(l, NULL, TYPE_I64, &s, select_(inside, load(indices, at), num(l, TYPE_I64, 0)));
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), indices;
	struct space s = space_of(l, x);
	expr index[IR_MAX_RANK], k = NULL, n, sorted, inside = NULL, e;
	int64_t all, some;
	int axis;

	if (s.rank == 0)
		return lower_fail(l, ERR_MODEL, "a scalar has no axis to be searched.");
	TRY(lower_axis(l, lower_int(l, "axis"), s.rank, false, &axis));
	TRY(read_k(l, &k));
	n = s.dim[axis];
	if (ir_const_int(n, &all) && ir_const_int(k, &some) && some > all)
		return lower_fail(l, ERR_MODEL, "K is %lld, but the axis has only %lld elements.", (long long)some,
		                  (long long)all);
	if (ir_const_int(n, &all) && all > INT32_MAX)
		return lower_fail(l, ERR_UNSUPPORTED, "the axis has %lld elements; %d are the most.", (long long)all,
		                  INT32_MAX);
	if (s.rank == IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the input has %d axes; %d are the most.", s.rank,
		                  IR_MAX_RANK - 1);

	sorted = ir_nonnegative(sub(n, k)) || (ir_size_limit(l->program, n) == n && ir_size_limit(l->program, k) == k)
	                 ? k
	                 : min_(k, n);
	s.dim[axis] = sorted;
	s.at[axis] = ir_axis(l->program->pool, axis, sorted);
	for (int i = 0; i < s.rank; i++)
		index[i] = s.at[i];
	index[axis] = space_push(l, &s, n);
	indices = lower_sort(l, "indices", TYPE_I64, &s, axis, lower_int(l, "largest") != 0, wide(load(x, index)));
	s.rank--;
	if (sorted != k) {
		indices = filled_up(l, s, axis, k, indices);
		s = space_of(l, indices);
		inside = lt(s.at[axis], n);
	}
	for (int i = 0; i < s.rank; i++)
		index[i] = s.at[i];
	/* Positions of the axis are valid: a kernel with k beyond the extent is never launched. */
	index[axis] = cast(load(indices, s.at), TYPE_INDEX);
	if (!ir_nonnegative(sub(n, k)))
		index[axis] = clamp(index[axis], idx(l, 0), addi(n, -1));
	e = load(x, index);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, inside ? select_(inside, e, with(e, 0)) : e));
	lower_output(l, 1, indices);
	return 0;
}

const struct op_def op_topk = {
	.name = "TopK",
	.since = { 1, 10, 11, 24 },
	.formula = "values = the k largest or smallest x along the axis, in order; indices = where they were found",
	.inputs = { IN("x", TS_NUMBER), OPT("k", TS(I64)) },
	.outputs = { OUT("values"), OUT("indices") },
	.attrs = { ATTR_INT("k", 0, "before opset 10: how many"), ATTR_INT("axis", -1, "the axis that is searched"),
	           ATTR_INT("largest", 1, "the largest, or the smallest"),
	           ATTR_INT("sorted", 1, "in their order; they come so in any case") },
	.lower = lower,
	.cases = { "x:f32[N,100] k:i64[1]={5} outputs=2", "x:f16[3,N,7] k:i64[1]={2} axis=1 largest=0 outputs=2",
	           "x:i64[7,N] k:i64[1]={7} axis=0 sorted=0 outputs=2", "x:f32[2,9] k=9 opset=1 outputs=2",
	           "x:u8[2,5000] k:i64[1]={3} outputs=2" },
};
