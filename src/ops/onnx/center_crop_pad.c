/* CenterCropPad: y has the given extents; along each axis x is cropped or padded with zeros, evenly on both sides, an
 * odd element at the end.
 *   y[i...] = x[i + first ...], first = floor((n - m) / 2) to crop n to m, -floor((m - n) / 2) to pad
 * Source: ONNX, operator CenterCropPad, opset 18. */
#include "ops/lower/lower.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct exprs shape;
	struct ints axes = lower_ints(l, "axes");
	struct space s;
	expr dim[IR_MAX_RANK], index[IR_MAX_RANK], zero = idx(l, 0), two = idx(l, 2);
	expr inside = ir_int(l->program->pool, TYPE_BOOL, 1);
	int rank = value_rank(x);

	TRY(lower_known(l, 1, &shape));
	if (!lower_has(l, "axes"))
		for (axes.n = 0; axes.n < rank; axes.n++)
			axes.at[axes.n] = axes.n;
	if (shape.n != axes.n)
		return lower_fail(l, ERR_MODEL, "shape has %d elements for %d axes.", shape.n, axes.n);
	for (int i = 0; i < rank; i++)
		dim[i] = value_dim(x, i);
	for (int i = 0; i < axes.n; i++) {
		int axis;

		TRY(lower_axis(l, axes.at[i], rank, false, &axis));
		dim[axis] = shape.at[i];
	}
	s = space_new(l, rank, dim);
	for (int i = 0; i < rank; i++) {
		expr n = value_dim(x, i), m = dim[i];
		expr first = select_(lt(m, n), floordiv(sub(n, m), two), sub(zero, floordiv(sub(m, n), two)));

		index[i] = add(s.at[i], first);
		inside = and_(inside, and_(ge(index[i], zero), lt(index[i], n)));
	}
	lower_output(l, 0,
	             lower_map(l, NULL, value_type(x), &s, select_(inside, load(x, index), num(l, value_type(x), 0))));
	return 0;
}

const struct op_def op_center_crop_pad = {
	.name = "CenterCropPad",
	.since = { 18 },
	.formula = "y[i...] = x[i + first ...], zero outside; first centres x in y",
	.inputs = { IN("input_data", TS_DATA), IN("shape", TS_INDICES) },
	.outputs = { OUT("output_data") },
	.attrs = { ATTR_INTS("axes", "the axes that shape is about; without them all") },
	.lower = lower,
	.cases = { "input_data:f32[N,20,8,3] shape:i64[2]={10,9} axes=1,2", "input_data:f32[5,H] shape:i64[2]={4,10}" },
};
