/* Shape: y[k] = extent start + k of x. Size: y = the number of x's elements.
 * Source: ONNX, operators Shape (opset 1 to 25), Size (opset 1 to 25). */
#include "ops/lower/lower.h"

static int64_t clip(int64_t x, int64_t low, int64_t high)
{
	return x < low ? low : x > high ? high : x;
}

static int lower_shape(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int64_t rank = value_rank(x), start = lower_int(l, "start"), end = rank;
	struct space s = { 0 };
	expr k, y = num(l, TYPE_I64, 0);

	if (lower_has(l, "end"))
		end = lower_int(l, "end");
	start = clip(start < 0 ? start + rank : start, 0, rank);
	end = clip(end < 0 ? end + rank : end, start, rank);

	k = space_push(l, &s, idx(l, end - start));
	for (int64_t i = end - 1; i >= start; i--) {
		expr extent = cast(value_dim(x, (int)i), TYPE_I64);

		y = i == end - 1 ? extent : select_(eq(k, idx(l, i - start)), extent, y);
	}
	lower_output(l, 0, lower_map(l, NULL, TYPE_I64, &s, y));
	return 0;
}

const struct op_def op_shape = {
	.name = "Shape",
	.since = { 1, 13, 15, 19, 21, 23, 24, 25 },
	.formula = "y = the extents start..end-1 of x",
	.inputs = { IN("data", 0) },
	.outputs = { OUT("shape") },
	.attrs = { ATTR_INT("start", 0, "first axis; negative counts from the end"),
	           ATTR_INT("end", 0, "the axis after the last one; default: all") },
	.lower = lower_shape,
	.cases = { "data:f32[N,3,H,W]", "data:f32[N,3,H,W] start=-2" },
};

static int lower_size(struct lower *l)
{
	struct space s = { 0 };

	lower_output(l, 0, lower_map(l, NULL, TYPE_I64, &s, cast(value_count(lower_input(l, 0)), TYPE_I64)));
	return 0;
}

const struct op_def op_size = {
	.name = "Size",
	.since = { 1, 13, 19, 21, 23, 24, 25 },
	.formula = "y = the number of elements of x",
	.inputs = { IN("data", 0) },
	.outputs = { OUT("size") },
	.lower = lower_size,
	.cases = { "data:f32[N,3,H,W]" },
};
