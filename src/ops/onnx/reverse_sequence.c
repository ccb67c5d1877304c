/* ReverseSequence: the first lens[b] elements of each sequence in reverse, the others as they are.
 *   y[.., t, .., b, ..] = x[.., t < lens[b] ? lens[b] - 1 - t : t, .., b, ..]
 * Source: ONNX, operator ReverseSequence, opset 10 and 28. */
#include "ops/lower/lower.h"

#include <string.h>

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), lens = lower_input(l, 1);
	struct space s = space_of(l, x);
	int64_t time = lower_int(l, "time_axis"), batch = lower_int(l, "batch_axis");
	expr index[IR_MAX_RANK], n, t;

	if (value_rank(x) < 2 || time < 0 || time > 1 || batch < 0 || batch > 1 || time == batch)
		return lower_fail(l, ERR_MODEL,
		                  "time_axis is %lld and batch_axis %lld of an input of rank %d; they must be 0 and 1, "
		                  "or 1 and 0.",
		                  (long long)time, (long long)batch, value_rank(x));
	if (value_rank(lens) != 1)
		return lower_fail(l, ERR_MODEL, "sequence_lens has rank %d; it must be a list.", value_rank(lens));
	t = s.at[time];
	n = min_(cast(load_list(lens, 1, s.at[batch]), TYPE_INDEX), s.dim[time]);
	memcpy(index, s.at, sizeof index);
	index[time] = select_(lt(t, n), sub(addi(n, -1), t), t);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

const struct op_def op_reverse_sequence = {
	.name = "ReverseSequence",
	.since = { 10, 28 },
	.formula = "y[t, b, ..] = x[t < lens[b] ? lens[b] - 1 - t : t, b, ..]",
	.inputs = { IN("input", TS_DATA), IN("sequence_lens", TS(I64)) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT("time_axis", 0, "the axis of the sequences"),
	           ATTR_INT("batch_axis", 1, "the axis of their lengths") },
	.lower = lower,
	.cases = { "input:f32[12,N,7] sequence_lens:i64[N]",
	           "input:f16[N,T] sequence_lens:i64[N] time_axis=1 batch_axis=0" },
};
