/* CropAndResize: parts of images, each read at crop_height x crop_width places between its corners (both included):
 *   y[n, b, c, i, j] = x[n, c, p, q], p = y1 (H - 1) + i (y2 - y1) (H - 1) / (crop_height - 1), likewise q
 * interpolated; zero if (p, q) lies outside. A part is (y1, x1, y2, x2), fractions of image n; a single place
 * along an axis is its middle. Source: the README of TensorRT's cropAndResizePlugin; TensorFlow,
 * tf.image.crop_and_resize. */
#include "ops/lower/lower.h"

/* The place of crop element i along an axis. */
static expr place(struct lower *l, struct value rois, expr *index, bool vertical, int64_t size, expr extent, expr i)
{
	expr from, to, last, e;

	index[2] = idx(l, !vertical);
	from = wide(load(rois, index));
	index[2] = idx(l, 2 + !vertical);
	to = wide(load(rois, index));
	last = cast(addi(extent, -1), from->type);
	if (size == 1)
		return mul(mul(add(from, to), with(from, 0.5)), last);
	e = divide(mul(sub(to, from), last), with(from, (double)(size - 1)));
	return add(mul(from, last), mul(cast(i, e->type), e));
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), rois = lower_input(l, 1);
	int64_t size[2] = { lower_int(l, "crop_height"), lower_int(l, "crop_width") }, n;
	struct space s = { 0 };
	expr region[4], at[2], low[2], part[2], inside, e = NULL, c;

	if (value_rank(x) != 4 || value_rank(rois) < 3 || value_rank(rois) > 4)
		return lower_fail(l, ERR_MODEL, "the input must have four axes, rois three or four.");
	if (ir_const_int(value_dim(rois, 2), &n) && n != 4)
		return lower_fail(l, ERR_MODEL, "a region has %lld numbers; it must have four.", (long long)n);
	if (size[0] < 1 || size[1] < 1)
		return lower_fail(l, ERR_MODEL, "crop_height and crop_width must be positive.");
	region[0] = space_push(l, &s, value_dim(x, 0));
	region[1] = space_push(l, &s, value_dim(rois, 1));
	region[3] = idx(l, 0);
	c = space_push(l, &s, value_dim(x, 1));
	inside = gt(mul(value_dim(x, 2), value_dim(x, 3)), idx(l, 0));
	for (int i = 0; i < 2; i++) {
		expr extent = value_dim(x, 2 + i), last, zero;

		at[i] = place(l, rois, region, i == 0, size[i], extent, space_push(l, &s, idx(l, size[i])));
		zero = with(at[i], 0);
		last = cast(addi(extent, -1), at[i]->type);
		inside = and_(inside, and_(ge(at[i], zero), le(at[i], last)));
		at[i] = clamp(at[i], zero, last);
		low[i] = unary(IR_FLOOR, at[i]);
		part[i] = sub(at[i], low[i]);
		low[i] = clamp(cast(low[i], TYPE_INDEX), idx(l, 0), max_(addi(extent, -1), idx(l, 0)));
	}
	for (int corner = 0; corner < 4; corner++) {
		expr index[2], weight = NULL, element;

		for (int i = 0; i < 2; i++) {
			bool up = i ? corner & 1 : corner >> 1;
			expr f = up ? part[i] : sub(with(part[i], 1), part[i]);

			index[i] = up ? min_(addi(low[i], 1), max_(addi(value_dim(x, 2 + i), -1), idx(l, 0))) : low[i];
			weight = weight ? mul(weight, f) : f;
		}
		element = mul(weight, cast(load_list(x, 4, s.at[0], c, index[0], index[1]), weight->type));
		e = e ? add(e, element) : element;
	}
	e = select_(inside, e, with(e, 0));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, narrow(e, value_type(x))));
	return 0;
}

/* clang-format off */
#define PLUGIN                                                                                                         \
	.domain = OP_ANY_DOMAIN, .since = { 1 }, \
	.formula = "y = parts of x, read at as many places between their corners", \
	.inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT) }, .outputs = { OUT("y") },                                \
	.attrs = { ATTR_INT_REQUIRED("crop_width", "places along x"), \
		   ATTR_INT_REQUIRED("crop_height", "places along y") }, \
	.lower = lower

const struct op_def ops_crop_and_resize[] = {
	{ .name = "CropAndResize", PLUGIN, .cases = { "x:f32[N,4,H,W] rois:f32[N,B,4,1] crop_width=7 crop_height=7" } },
	{ .name = "CropAndResizeDynamic", PLUGIN,
	  .cases = { "x:f32[N,4,H,W] rois:f32[N,B,4,1] crop_width=3 crop_height=1",
		     "x:f16[2,4,6,5] rois:f16[2,B,4] crop_width=2 crop_height=5" } },
	{ .name = NULL },
};
/* clang-format on */
