/* CropAndResize: y[r, c, i, j] = image batch_indices[r] at row i and column j of a grid over region r, interpolated
 * between four elements, or the nearest one; extrapolation_value outside of the image. A region is (y1, x1, y2, x2) as
 * fractions of the image; the grid's corners are the region's. Source: ONNX Runtime, com.microsoft.CropAndResize. */
#include "ops/lower/lower.h"

#include <string.h>

/* The position along one axis of step `i` of `steps` over the region's part from a to b. */
static expr place_of(expr i, expr steps, expr a, expr b, expr extent)
{
	expr last = cast(addi(extent, -1), a->type), n = cast(addi(steps, -1), a->type);
	expr along = add(mul(a, last), mul(cast(i, a->type), divide(mul(sub(b, a), last), n)));

	return select_(gt(n, with(n, 0)), along, mul(mul(with(a, 0.5), add(a, b)), last));
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), rois = lower_input(l, 1), batch = lower_input(l, 2);
	bool nearest = !strcmp(lower_word(l, "mode"), "nearest");
	struct space s = { 0 };
	struct exprs size;
	expr roi, channel, image, at[2], low[2], high[2], inside = NULL, part[2], y;

	TRY(lower_known(l, 3, &size));
	if (value_rank(x) != 4 || value_rank(rois) != 2 || value_rank(batch) != 1 || size.n != 2)
		return lower_fail(
		        l, ERR_MODEL,
		        "the images must have four axes, rois two, batch_indices one, and crop_size two numbers.");
	roi = space_push(l, &s, value_dim(rois, 0));
	channel = space_push(l, &s, value_dim(x, 1));
	image = wrap_index(load(batch, &roi), value_dim(x, 0));
	for (int k = 0; k < 2; k++) {
		expr i = space_push(l, &s, size.at[k]), extent = value_dim(x, 2 + k), last = addi(extent, -1),
		     zero = idx(l, 0);

		at[k] = place_of(i, size.at[k], wide(load_list(rois, 2, roi, idx(l, k))),
		                 wide(load_list(rois, 2, roi, idx(l, 2 + k))), extent);
		y = and_(ge(at[k], with(at[k], 0)), le(at[k], cast(last, at[k]->type)));
		inside = inside ? and_(inside, y) : y;
		if (nearest) /* halves away from zero */
			at[k] = unary(IR_FLOOR, add(at[k], with(at[k], 0.5)));
		part[k] = sub(at[k], unary(IR_FLOOR, at[k]));
		low[k] = clamp(cast(unary(IR_FLOOR, at[k]), TYPE_INDEX), zero, last);
		high[k] = clamp(cast(unary(IR_CEIL, at[k]), TYPE_INDEX), zero, last);
	}
#define ELEMENT(i, j) wide(load_list(x, 4, image, channel, i, j))
	y = ELEMENT(low[0], low[1]);
	if (!nearest) {
		expr top = add(y, mul(sub(ELEMENT(low[0], high[1]), y), part[1])), bottom = ELEMENT(high[0], low[1]);

		bottom = add(bottom, mul(sub(ELEMENT(high[0], high[1]), bottom), part[1]));
		y = add(top, mul(sub(bottom, top), part[0]));
	}
#undef ELEMENT
	y = select_(inside, y, with(y, lower_float(l, "extrapolation_value")));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, y));
	return 0;
}

const struct op_def op_crop_resize = {
	.name = "CropAndResize",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = regions of images, resized to one size by interpolation",
	.inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT), IN("batch_indices", TS(I32)), IN("crop_size", TS(I32)) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_WORD("mode", "bilinear|nearest", "interpolation"),
	           ATTR_FLOAT("extrapolation_value", 0, "what lies outside of the image") },
	.lower = lower,
	.cases = { "x:f32[N,3,12,14] rois:f32[R,4] batch_indices:i32[R] crop_size:i32[2]={5,6}",
	           "x:f32[N,3,12,14] rois:f32[R,4] batch_indices:i32[R] crop_size:i32[2]={1,6} mode=nearest" },
};
