/* MaxUnpool: y is zero, except that element x[i] goes to position indices[i], flattened over an image of extents (in -
 * 1) * stride + kernel - pads; a larger output_shape pads that image with zeros.
 * Source: ONNX, operator MaxUnpool, opsets 9 to 22. */
#include "ops/lower/lower.h"

static int list(struct lower *l, const char *name, int n, int64_t absent, int64_t *out)
{
	struct ints v = lower_ints(l, name);

	if (v.n && v.n != n)
		return lower_fail(l, ERR_MODEL, "%s has %d entries; it needs %d.", name, v.n, n);
	for (int i = 0; i < n; i++)
		out[i] = v.n ? v.at[i] : absent;
	return 0;
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), place = lower_input(l, 1);
	int rank = value_rank(x), n = rank - 2;
	int64_t kernel[IR_MAX_RANK], stride[IR_MAX_RANK], pads[2 * IR_MAX_RANK];
	expr image[IR_MAX_RANK], at_image[IR_MAX_RANK], flat, count = idx(l, 1);
	struct space s = space_of(l, x), out;
	struct exprs shape;

	if (rank < 3 || value_rank(place) != rank)
		return lower_fail(l, ERR_MODEL,
		                  "input and indices have %d and %d axes; both need the same, three or more.", rank,
		                  value_rank(place));
	TRY(list(l, "kernel_shape", n, 1, kernel));
	TRY(list(l, "strides", n, 1, stride));
	TRY(list(l, "pads", 2 * n, 0, pads));
	for (int i = 0; i < rank; i++) {
		expr in = value_dim(x, i);

		if (i >= 2)
			in = addi(muli(addi(in, -1), stride[i - 2]), kernel[i - 2] - pads[i - 2] - pads[n + i - 2]);
		image[i] = max_(in, idx(l, 0));
		count = mul(count, image[i]);
	}
	out = space_new(l, rank, image);
	if (lower_input(l, 2).given) {
		TRY(lower_known(l, 2, &shape));
		if (shape.n != rank)
			return lower_fail(l, ERR_MODEL, "output_shape has %d elements for %d axes.", shape.n, rank);
		out = space_new(l, rank, shape.at);
	}
	flat = cast(load(place, s.at), TYPE_INDEX);
	count = and_(ge(flat, with(flat, 0)), lt(flat, count));
	ir_unflat(flat, rank, image, at_image);
	for (int i = 0; i < rank; i++)
		if (out.dim[i] != image[i])
			count = and_(count, lt(at_image[i], out.dim[i]));
	lower_output(l, 0,
	             lower_scatter(l, NULL, value_type(x), &out,
	                           cast(num(l, compute_type(value_type(x)), 0), value_type(x)), &s, IR_NONE, at_image,
	                           load(x, s.at), count));
	return 0;
}

const struct op_def op_max_unpool = {
	.name = "MaxUnpool",
	.since = { 9, 11, 22 },
	.formula = "y[indices[i]] = x[i], zero elsewhere",
	.inputs = { IN("x", TS_FLOAT), IN("indices", TS(I64)), OPT("output_shape", TS(I64)) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INTS_REQUIRED("kernel_shape", "extents of the window"), ATTR_INTS("strides", "of the window"),
	           ATTR_INTS("pads", "padding before each spatial axis, then after each") },
	.lower = lower,
	.cases = { "x:f32[1,2,4,4] indices:i64[1,2,4,4] kernel_shape=2,2 strides=2,2" },
};
