/* MaxRoiPool: a region of an image as pooled_shape bins, each the largest element between rounded coordinates. Source:
 * ONNX, operator MaxRoiPool (opsets 1, 22). */
#include "ops/lower/roi.h"

/* The start and end of bin p of an axis in the image. Coordinates are rounded, halves away from zero. */
static void pool_bin(struct lower *l, expr r, bool vertical, expr p, int64_t bins, expr *from, expr *to)
{
	struct value x = lower_input(l, 0), rois = lower_input(l, 1);
	enum type c = compute_type(value_type(x));
	expr scale = num(l, c, lower_float(l, "spatial_scale")), edge[2], size, bin, zero = idx(l, 0),
	     extent = value_dim(x, vertical ? 2 : 3);

	for (int end = 0; end < 2; end++) {
		expr at = mul(cast(load_list(rois, 2, r, idx(l, 1 + vertical + 2 * end)), c), scale);

		edge[end] = cast(select_(lt(at, with(at, 0)), unary(IR_CEIL, sub(at, with(at, 0.5))),
		                         unary(IR_FLOOR, add(at, with(at, 0.5)))),
		                 TYPE_INDEX);
	}
	size = max_(addi(sub(edge[1], edge[0]), 1), idx(l, 1));
	bin = divide(cast(size, c), num(l, c, (double)bins));
	*from = add(cast(unary(IR_FLOOR, mul(cast(p, c), bin)), TYPE_INDEX), edge[0]);
	*to = add(cast(unary(IR_CEIL, mul(cast(addi(p, 1), c), bin)), TYPE_INDEX), edge[0]);
	*from = clamp(*from, zero, extent);
	*to = clamp(*to, zero, extent);
}

static int pool_lower(struct lower *l)
{
	struct roi o = { .x = lower_input(l, 0), .rois = lower_input(l, 1) };
	struct ints bins = lower_ints(l, "pooled_shape");
	struct space s = { 0 };
	expr r, c, y, x, from_y, to_y, from_x, to_x, b, e, any;

	if (bins.n != 2 || bins.at[0] < 1 || bins.at[1] < 1)
		return lower_fail(l, ERR_MODEL, "pooled_shape must have two positive entries.");
	o.bins[0] = bins.at[0];
	o.bins[1] = bins.at[1];
	TRY(roi_check(l, &o, 5));
	r = space_push(l, &s, value_dim(o.rois, 0));
	c = space_push(l, &s, value_dim(o.x, 1));
	y = space_push(l, &s, idx(l, bins.at[0]));
	x = space_push(l, &s, idx(l, bins.at[1]));
	pool_bin(l, r, true, y, bins.at[0], &from_y, &to_y);
	pool_bin(l, r, false, x, bins.at[1], &from_x, &to_x);
	y = add(from_y, space_push(l, &s, value_dim(o.x, 2)));
	x = add(from_x, space_push(l, &s, value_dim(o.x, 3)));
	any = and_(gt(value_dim(o.x, 0), idx(l, 0)),
	           and_(gt(value_dim(o.x, 2), idx(l, 0)), gt(value_dim(o.x, 3), idx(l, 0))));
	b = roi_image(l, &o, r);
	e = wide(load_list(o.x, 4, b, c, y, x));
	e = select_(and_(any, and_(lt(y, to_y), lt(x, to_x))), e, ir_identity(l->program->pool, IR_MAXIMUM, e->type));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(o.x), &s, 4, IR_MAXIMUM, e,
	                          select_(or_(not_(any), or_(le(to_y, from_y), le(to_x, from_x))), with(e, 0),
	                                  acc(l, e->type))));
	return 0;
}

const struct op_def op_max_roi_pool = {
	.name = "MaxRoiPool",
	.since = { 1, 22 },
	.formula = "y = the largest x in each bin of a region",
	.inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INTS_REQUIRED("pooled_shape", "bins along y and x"),
	           ATTR_FLOAT("spatial_scale", 1, "from the regions' coordinates to the input's elements") },
	.lower = pool_lower,
	.cases = { "x:f32[N,8,14,14] rois:f32[R,5] pooled_shape=2,3" },
};
