/* PyramidROIAlign_TRT: RoiAlign over the four maps of a feature pyramid, for a list of regions of each image. Regions
 * are normalised to 0..1 of the image; their area selects the map: the first below (fpn_scale^2 / image area) / 4,
 * each next one below four times that. Sample i of bin p lies at start + p delta + (i + offset) delta / grid, clamped
 * to the map; delta = size / pooled_size, grid = sampling_ratio or ceil(delta), at least 1. roi_coords_transform:
 *    0: no shift               1: offset = 1/2      2: offset = 1/2, and start is shifted by -1/2
 *   -1: both ends are elements: regions are measured in extent - 1, delta = size / (pooled_size - 1)
 * `legacy` means -1 with normalised y first, one sample, and the map's first threshold at 224^2 / (8 * 1024^2).
 * Source: the README of TensorRT's pyramidROIAlignPlugin. */
#include "ops/plugins/roi_rotated.h"

enum { MAPS = 4 };

struct pyramid {
	struct value rois;    /* [image, region, 4] */
	struct value regions; /* [image * region, 4]: y1, x1, y2, x2 from 0 to 1 */
	int64_t pooled, ratio, transform;
	double height, width, first; /* extents of the image; the area where the second map begins */
	bool absolute, swap, plus_one;
};

static int read(struct lower *l, struct pyramid *p)
{
	struct ints size = lower_ints(l, "image_size");
	double scale = (double)lower_int(l, "fpn_scale");

	*p = (struct pyramid){ .rois = lower_input(l, 0),
		               .pooled = lower_int(l, "pooled_size"),
		               .ratio = lower_int(l, "sampling_ratio"),
		               .transform = lower_int(l, "roi_coords_transform"),
		               .height = size.n ? (double)size.at[0] : 1024,
		               .width = size.n ? (double)size.at[1] : 1024,
		               .absolute = lower_int(l, "roi_coords_absolute"),
		               .swap = lower_int(l, "roi_coords_swap"),
		               .plus_one = lower_int(l, "roi_coords_plusone") };
	if (size.n != 0 && size.n != 2)
		return lower_fail(l, ERR_MODEL, "image_size has %d entries; it must have two, height and width.",
		                  size.n);
	if (lower_int(l, "legacy")) {
		p->transform = -1;
		p->ratio = 1;
		p->absolute = p->plus_one = false;
		p->swap = true;
		p->first = 224. * 224. * 2 / (1024. * 1024.) / 16;
	} else {
		p->first = scale * scale / (p->height * p->width) / 4;
	}
	if (p->pooled < 1 || p->height < 1 || p->width < 1 || p->ratio < 0 || scale < 1)
		return lower_fail(l, ERR_MODEL,
		                  "pooled_size, image_size and fpn_scale must be positive, sampling_ratio not "
		                  "negative.");
	if (p->transform < -1 || p->transform > 2)
		return lower_fail(l, ERR_MODEL, "roi_coords_transform is %lld; it must be -1, 0, 1 or 2.",
		                  (long long)p->transform);
	if (value_rank(p->rois) != 3 || l->inputs != 1 + MAPS)
		return lower_fail(l, ERR_MODEL, "rois must have three axes, and four maps must follow.");
	for (int k = 1; k <= MAPS; k++)
		if (value_rank(lower_input(l, k)) != 4)
			return lower_fail(l, ERR_MODEL, "the maps must have four axes.");
	return lower_demand_extent(l, IR_SAME, idx(l, 4), p->rois, 2);
}

/* [image * region, 4] */
static struct value normalise(struct lower *l, const struct pyramid *p)
{
	struct space s = { 0 };
	expr n = space_push(l, &s, mul(value_dim(p->rois, 0), value_dim(p->rois, 1))),
	     column = space_push(l, &s, idx(l, 4));
	expr side = mod(column, idx(l, 2)), index[3], a, b, e, size;

	index[0] = floordiv(n, value_dim(p->rois, 1));
	index[1] = mod(n, value_dim(p->rois, 1));
	index[2] = p->swap ? side : sub(idx(l, 1), side);
	a = wide(load(p->rois, index));
	index[2] = addi(index[2], 2);
	b = wide(load(p->rois, index));
	e = select_(lt(column, idx(l, 2)), min_(a, b), max_(a, b));
	if (p->absolute) {
		size = select_(eq(side, idx(l, 0)), with(e, p->height), with(e, p->width));
		e = divide(clamp(e, with(e, 0), size), size);
	} else {
		e = clamp(e, with(e, 0), with(e, 1));
	}
	return lower_map(l, "regions", e->type, &s, e);
}

/* The condition that region n's area exceeds the threshold of the map after map k. */
static expr above(struct lower *l, const struct pyramid *p, expr n, int k)
{
	expr side[2];
	double first = p->first;

	for (int i = 0; i < 2; i++) {
		side[i] = sub(load_list(p->regions, 2, n, idx(l, 2 + i)), load_list(p->regions, 2, n, idx(l, i)));
		if (p->plus_one)
			side[i] = add(side[i], with(side[i], 1 / (i ? p->width : p->height)));
	}
	for (; k; k--)
		first *= 4;
	side[0] = mul(side[0], side[1]);
	return gt(side[0], with(side[0], first));
}

/* Sample i of bin b along an axis of a map, and how many samples there are. */
static expr sample(struct lower *l, const struct pyramid *p, expr n, bool vertical, expr extent, expr b, expr i,
                   expr *grid)
{
	expr from = load_list(p->regions, 2, n, idx(l, !vertical)),
	     to = load_list(p->regions, 2, n, idx(l, 2 + !vertical));
	enum type t = from->type;
	double shift = p->transform == 2 ? 0.5 : 0, offset = p->transform > 0 ? 0.5 : 0;
	expr whole = cast(p->transform < 0 ? addi(extent, -1) : extent, t), size, delta, at;

	from = sub(mul(from, whole), with(from, shift));
	to = sub(mul(to, whole), with(to, shift));
	size = sub(to, from);
	delta = divide(size, with(size, (double)(p->transform < 0 ? p->pooled - 1 : p->pooled)));
	*grid = p->ratio ? idx(l, p->ratio)
	                 : max_(cast(unary(IR_CEIL, divide(size, with(size, (double)p->pooled))), TYPE_INDEX),
	                        idx(l, 1));
	at = add(from, mul(delta, cast(b, t)));
	at = add(at, divide(mul(delta, add(cast(i, t), with(at, offset))), cast(*grid, t)));
	return clamp(at, with(at, 0), cast(addi(extent, -1), t));
}

/* The most samples of a bin along an axis, as regions lie inside the map; one more for rounding. */
static expr samples(struct lower *l, const struct pyramid *p, expr extent)
{
	return p->ratio ? idx(l, p->ratio) : addi(ceildiv(extent, idx(l, p->pooled)), 1);
}

/* [image * region, c, y, x]: the regions that read map k; zero for the others. */
static struct value read_map(struct lower *l, const struct pyramid *p, int k)
{
	struct roi o = { .x = lower_input(l, 1 + k) };
	struct space s = { 0 };
	expr n = space_push(l, &s, mul(value_dim(p->rois, 0), value_dim(p->rois, 1))),
	     c = space_push(l, &s, value_dim(o.x, 1)), height = value_dim(o.x, 2), width = value_dim(o.x, 3), by, bx,
	     iy, ix, gy, gx, y, x, e, here, image;

	by = space_push(l, &s, idx(l, p->pooled));
	bx = space_push(l, &s, idx(l, p->pooled));
	iy = space_push(l, &s, samples(l, p, height));
	ix = space_push(l, &s, samples(l, p, width));
	y = sample(l, p, n, true, height, by, iy, &gy);
	x = sample(l, p, n, false, width, bx, ix, &gx);
	image = wrap_index(floordiv(n, value_dim(p->rois, 1)), value_dim(o.x, 0));
	e = roi_between(&o, image, c, y, x);
	here = and_(lt(iy, gy), lt(ix, gx));
	here = and_(here, gt(mul(value_dim(o.x, 0), mul(height, width)), idx(l, 0)));
	if (k > 0)
		here = and_(here, above(l, p, n, k - 1));
	if (k < MAPS - 1)
		here = and_(here, not_(above(l, p, n, k)));
	return lower_reduce(l, "map", value_type(o.x), &s, 4, IR_SUM, select_(here, e, with(e, 0)),
	                    divide(acc(l, e->type), cast(mul(gy, gx), e->type)));
}

static int lower(struct lower *l)
{
	struct pyramid p;
	struct value y[MAPS];
	struct space s = { 0 };
	expr index[4], n, e;

	TRY(read(l, &p));
	p.regions = normalise(l, &p);
	for (int k = 0; k < MAPS; k++)
		y[k] = read_map(l, &p, k);
	index[0] = space_push(l, &s, value_dim(p.rois, 0));
	index[0] = add(mul(index[0], value_dim(p.rois, 1)), space_push(l, &s, value_dim(p.rois, 1)));
	n = index[0];
	index[1] = space_push(l, &s, value_dim(lower_input(l, 1), 1));
	index[2] = space_push(l, &s, idx(l, p.pooled));
	index[3] = space_push(l, &s, idx(l, p.pooled));
	e = load(y[MAPS - 1], index);
	for (int k = MAPS - 2; k >= 0; k--)
		e = select_(above(l, &p, n, k), e, load(y[k], index));
	lower_output(l, 0, lower_map(l, NULL, value_type(lower_input(l, 1)), &s, e));
	return 0;
}

const struct op_def op_roi_pyramid = {
	.name = "PyramidROIAlign_TRT",
	.domain = OP_ANY_DOMAIN,
	.since = { 1 },
	.formula = "y = mean of samples in each bin of a region, of the map that its area asks for",
	.inputs = { IN("rois", TS_FLOAT), MANY("maps", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INT("pooled_size", 7, "bins along each axis"),
	           ATTR_INTS("image_size", "height and width of the image; 1024 each when absent"),
	           ATTR_INT("fpn_scale", 224, "size in the image where the third map begins"),
	           ATTR_INT("sampling_ratio", 0, "samples along each axis of a bin; 0: as many as it has elements"),
	           ATTR_INT("roi_coords_absolute", 1, "1: regions are in the image's elements; 0: from 0 to 1"),
	           ATTR_INT("roi_coords_swap", 0, "1: y comes first"),
	           ATTR_INT("roi_coords_plusone", 0, "1: one is added to the sides before the map is chosen"),
	           ATTR_INT("roi_coords_transform", 2,
	                    "what is shifted by a half: 0: nothing, 1: samples, 2: regions too"),
	           ATTR_INT("legacy", 0, "1: as the first version was") },
	.lower = lower,
	.cases = { "rois:f32[N,R,4] a:f32[N,4,16,16] b:f32[N,4,8,8] c:f32[N,4,4,4] d:f32[N,4,2,2] pooled_size=3 "
	           "image_size=64,64 fpn_scale=32 roi_coords_absolute=0",
	           "rois:f32[N,R,4] a:f32[N,4,16,16] b:f32[N,4,8,8] c:f32[N,4,4,4] d:f32[N,4,2,2] pooled_size=2 "
	           "legacy=1" },
};
