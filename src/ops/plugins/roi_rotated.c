/* MMCVRoIAlignRotated: the mean of samples in each bin of a region that is rotated around its centre. A region is
 * (image, centre x, centre y, width, height, angle in radians). The sample at (y, x) from the centre of the unrotated
 * region is read at (y cos - x sin, y sin + x cos) from it. Samples outside -1..extent are zero.
 * Sources: mmdeploy's ONNX Runtime operators, RoIAlignRotated; mmcv, roi_align_rotated. */
#include "ops/plugins/roi_rotated.h"

expr roi_between(const struct roi *o, expr image, expr c, expr y, expr x)
{
	expr at[2] = { y, x }, low[2], high[2], to_high[2], sum = NULL;

	for (int i = 0; i < 2; i++) {
		expr last = addi(value_dim(o->x, 2 + i), -1), p = clamp(at[i], with(at[i], 0), cast(last, at[i]->type));

		low[i] = cast(unary(IR_FLOOR, p), TYPE_INDEX);
		low[i] = max_(min_(low[i], last), with(last, 0));
		high[i] = min_(addi(low[i], 1), max_(last, with(last, 0)));
		to_high[i] = sub(p, cast(low[i], p->type));
	}
	for (int corner = 0; corner < 4; corner++) {
		expr one = with(y, 1), fy = corner >> 1 ? to_high[0] : sub(one, to_high[0]),
		     fx = corner & 1 ? to_high[1] : sub(one, to_high[1]), e;

		e = wide(load_list(o->x, 4, image, c, corner >> 1 ? high[0] : low[0], corner & 1 ? high[1] : low[1]));
		e = mul(mul(fy, fx), e);
		sum = sum ? add(sum, e) : e;
	}
	return sum;
}

/* Sample i of bin p along an axis of `size`, from the region's centre. */
static expr from_centre(const struct roi *o, expr size, int64_t bins, expr p, expr i)
{
	enum type t = size->type;
	expr bin = divide(size, with(size, (double)bins));
	expr within = divide(mul(add(cast(i, t), with(size, 0.5)), bin), with(size, (double)o->ratio));

	return add(add(mul(size, with(size, -0.5)), mul(cast(p, t), bin)), within);
}

static expr inside(expr at, expr extent)
{
	return and_(ge(at, with(at, -1)), le(at, cast(extent, at->type)));
}

struct value roi_rotated_mean(struct lower *l, const char *name, const struct roi *o,
                              struct roi_box (*box)(struct lower *l, const struct roi *o, expr r))
{
	struct space s = { 0 };
	expr r = space_push(l, &s, value_dim(o->rois, 0)), c = space_push(l, &s, value_dim(o->x, 1));
	expr py = space_push(l, &s, idx(l, o->bins[0])), px = space_push(l, &s, idx(l, o->bins[1]));
	expr iy = space_push(l, &s, idx(l, o->ratio)), ix = space_push(l, &s, idx(l, o->ratio)), e, any, y, x, cosine,
	     sine;
	struct roi_box b = box(l, o, r);
	expr dy = from_centre(o, b.height, o->bins[0], py, iy), dx = from_centre(o, b.width, o->bins[1], px, ix);

	cosine = unary(IR_COS, b.angle);
	sine = unary(IR_SIN, b.angle);
	y = add(sub(mul(dy, cosine), mul(dx, sine)), b.y);
	x = add(add(mul(dy, sine), mul(dx, cosine)), b.x);
	any = and_(gt(value_dim(o->x, 0), idx(l, 0)), gt(mul(value_dim(o->x, 2), value_dim(o->x, 3)), idx(l, 0)));
	if (o->where)
		any = and_(any, o->where(l, o, r));
	e = roi_between(o, roi_image(l, o, r), c, y, x);
	e = select_(and_(any, and_(inside(y, value_dim(o->x, 2)), inside(x, value_dim(o->x, 3)))), e, with(e, 0));
	return lower_reduce(l, name, value_type(o->x), &s, 4, IR_SUM, e,
	                    divide(acc(l, e->type), with(e, (double)(o->ratio * o->ratio))));
}

static struct roi_box box_of(struct lower *l, const struct roi *o, expr r)
{
	struct roi_box b;
	expr scale = with(roi_column(l, o, r, 1), o->scale), shift = with(scale, o->shift);

	b.x = sub(mul(roi_column(l, o, r, 1), scale), shift);
	b.y = sub(mul(roi_column(l, o, r, 2), scale), shift);
	b.width = mul(roi_column(l, o, r, 3), scale);
	b.height = mul(roi_column(l, o, r, 4), scale);
	b.angle = roi_column(l, o, r, 5);
	if (lower_int(l, "clockwise"))
		b.angle = sub(with(b.angle, 0), b.angle);
	if (o->least >= 0) {
		b.width = max_(b.width, with(b.width, o->least));
		b.height = max_(b.height, with(b.height, o->least));
	}
	return b;
}

static int lower(struct lower *l)
{
	struct roi o = roi_of_node(l, lower_int(l, "aligned") != 0);

	TRY(roi_check(l, &o, 6));
	if (o.ratio < 1) {
		lower_fail(l, ERR_UNSUPPORTED, "sampling_ratio is %lld: the number of samples would follow from data.",
		           (long long)o.ratio);
		return err_advise(l->err, "Export the model with a positive sampling_ratio, for example 2.");
	}
	lower_output(l, 0, roi_rotated_mean(l, NULL, &o, box_of));
	return 0;
}

const struct op_def op_roi_align_rotated = {
	.name = "MMCVRoIAlignRotated",
	.domain = OP_ANY_DOMAIN,
	.since = { 1 },
	.formula = "y = mean of samples in each bin of a region that is turned by an angle",
	.inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT("output_height", 1, "bins along y"), ATTR_INT("output_width", 1, "bins along x"),
	           ATTR_FLOAT("spatial_scale", 1, "from the regions' coordinates to the input's elements"),
	           ATTR_INT("sampling_ratio", 0, "samples along each axis of a bin"),
	           ATTR_INT("aligned", 1, "1: coordinates are shifted by -1/2"),
	           ATTR_INT("clockwise", 0, "1: angles are clockwise in the image") },
	.lower = lower,
	.cases = { "x:f32[N,16,H,W] rois:f32[R,6] output_height=7 output_width=7 spatial_scale=0.25 sampling_ratio=2 "
	           "clockwise=1",
	           "x:f16[2,4,9,12] rois:f16[R,6] output_height=3 output_width=2 sampling_ratio=1 aligned=0" },
};
