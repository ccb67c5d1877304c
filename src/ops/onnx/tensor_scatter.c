/* TensorScatter: a cache of sequences whose places from write_indices[b] on (0 if not given) are replaced by the
 * update; in circular mode places after the end wrap to the beginning.
 *   y[b, .., s, ..] = update[b, .., s - start, ..] if that place exists, else past_cache[b, .., s, ..]
 * Source: ONNX, operator TensorScatter, opset 24. */
#include "ops/lower/lower.h"

#include <string.h>

static int lower(struct lower *l)
{
	struct value cache = lower_input(l, 0), update = lower_input(l, 1), start = lower_input(l, 2);
	struct space s = space_of(l, cache);
	expr index[IR_MAX_RANK], from, place, most;
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), s.rank, false, &axis));
	if (value_type(cache) != value_type(update) || value_rank(update) != s.rank)
		return lower_fail(l, ERR_MODEL, "cache and update must have one type and the same number of axes.");
	if (axis == 0)
		return lower_fail(l, ERR_MODEL, "axis is 0, which is the batch.");
	if (start.given && value_rank(start) != 1)
		return lower_fail(l, ERR_MODEL, "write_indices has %d axes; it must have one.", value_rank(start));
	most = value_dim(cache, axis);
	from = start.given ? cast(load(start, &s.at[0]), TYPE_INDEX) : idx(l, 0);
	place = sub(s.at[axis], from);
	if (!strcmp(lower_word(l, "mode"), "circular"))
		place = mod(place, max_(most, idx(l, 1)));
	memcpy(index, s.at, sizeof index);
	index[axis] = place;
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(cache), &s,
	                       select_(and_(ge(place, with(place, 0)), lt(place, value_dim(update, axis))),
	                               load(update, index), load(cache, s.at))));
	return 0;
}

const struct op_def op_tensor_scatter = {
	.name = "TensorScatter",
	.since = { 24 },
	.formula = "present_cache = past_cache, with update from write_indices on along an axis",
	.inputs = { IN("past_cache", TS_ALL), IN("update", TS_ALL), OPT("write_indices", TS(I64)) },
	.outputs = { OUT("present_cache") },
	.attrs = { ATTR_WORD("mode", "linear|circular", "circular: after the end it continues at the beginning"),
	           ATTR_INT("axis", -2, "the axis of sequences") },
	.lower = lower,
	.cases = { "past_cache:f16[B,8,128,64] update:f16[B,8,S,64] write_indices:i64[B]",
	           "past_cache:f32[2,5,3] update:f32[2,2,3] write_indices:i64[2] mode=circular" },
};
