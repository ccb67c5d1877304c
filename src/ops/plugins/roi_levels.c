/* RoiAlign over several feature maps of a pyramid: a region's size selects its map,
 *   level = floor(log2(sqrt(height width) / finest_scale + 1e-6)), clamped to 0..maps - 1
 * and an element of map k is featmap_strides[k] units of the regions' coordinates. With roi_scale_factor regions are
 * first scaled around their centres. Each map's regions are a stage of their own, in which those of other maps read
 * nothing.
 * Source: mmdeploy's TensorRT operators, MMCVMultiLevelRoiAlign and MMCVMultiLevelRotatedRoiAlign. */
#include "ops/plugins/roi_rotated.h"

enum { MAPS_MAX = 8 };

struct level {
	int map;             /* this one's number */
	struct value levels; /* [r]: the map that each region reads */
};

static expr reads_map(struct lower *l, const struct roi *o, expr r)
{
	const struct level *level = o->user;

	return eq(load(level->levels, &r), num(l, TYPE_I32, level->map));
}

/* [r]: each region's map. */
static struct value choose(struct lower *l, const struct roi *o, int maps, bool rotated)
{
	struct space s = { 0 };
	expr r = space_push(l, &s, value_dim(o->rois, 0)), height, width, e, level;

	width = rotated ? roi_column(l, o, r, 3) : sub(roi_column(l, o, r, 3), roi_column(l, o, r, 1));
	height = rotated ? roi_column(l, o, r, 4) : sub(roi_column(l, o, r, 4), roi_column(l, o, r, 2));
	e = unary(IR_SQRT, mul(height, width));
	e = add(divide(e, with(e, (double)lower_int(l, "finest_scale"))), with(e, 1e-6));
	level = num(l, TYPE_I32, 0);
	for (int k = 1; k < maps; k++) /* floor(log2(e)) >= k */
		level = add(level, cast(ge(e, with(e, (double)(1 << k))), TYPE_I32));
	return lower_map(l, "level", TYPE_I32, &s, level);
}

/* Regions are scaled around their centres; the extent includes both outermost elements. */
static struct roi_axis axis_of(struct lower *l, const struct roi *o, expr r, bool vertical)
{
	double factor = lower_float(l, "roi_scale_factor");
	expr from = roi_column(l, o, r, 1 + vertical), to = roi_column(l, o, r, 3 + vertical), size;

	if (factor > 0) {
		expr centre = mul(add(from, to), with(from, 0.5)), half = addi(sub(to, from), 1);

		half = sub(mul(half, with(half, factor * 0.5)), with(half, 0.5));
		from = sub(centre, half);
		to = add(centre, half);
	}
	from = sub(mul(from, with(from, o->scale)), with(from, o->shift));
	to = sub(mul(to, with(to, o->scale)), with(to, o->shift));
	size = sub(to, from);
	return roi_axis_new(l, o, vertical, from, max_(size, with(size, o->least)));
}

static struct roi_box box_of(struct lower *l, const struct roi *o, expr r)
{
	double factor = lower_float(l, "roi_scale_factor");
	expr scale = with(roi_column(l, o, r, 1), o->scale), shift = with(scale, o->shift);
	struct roi_box b = { .width = roi_column(l, o, r, 3),
		             .height = roi_column(l, o, r, 4),
		             .angle = roi_column(l, o, r, 5) };

	if (factor > 0) {
		b.width = mul(b.width, with(scale, factor));
		b.height = mul(b.height, with(scale, factor));
	}
	b.x = sub(mul(roi_column(l, o, r, 1), scale), shift);
	b.y = sub(mul(roi_column(l, o, r, 2), scale), shift);
	b.width = max_(mul(b.width, scale), with(scale, 1));
	b.height = max_(mul(b.height, scale), with(scale, 1));
	if (lower_int(l, "clockwise"))
		b.angle = sub(with(b.angle, 0), b.angle);
	return b;
}

static int check(struct lower *l, const struct roi *o, int maps, int strides, bool rotated)
{
	if (maps < 1 || maps > MAPS_MAX || strides != maps)
		return lower_fail(l, ERR_MODEL,
		                  "there are %d maps and %d featmap_strides; they must be equal, at most %d.", maps,
		                  strides, MAPS_MAX);
	if (rotated && o->ratio < 1) {
		lower_fail(l, ERR_UNSUPPORTED, "sampling_ratio is %lld: the number of samples would follow from data.",
		           (long long)o->ratio);
		return err_advise(l->err, "Export the model with a positive sampling_ratio, for example 2.");
	}
	return 0;
}

static int align(struct lower *l, bool rotated)
{
	int maps = l->inputs - 1, strides;
	const double *stride;
	bool aligned = lower_int(l, "aligned") != 0;
	struct roi o = { .rois = lower_input(l, 0),
		         .shift = aligned ? 0.5 : 0,
		         .least = aligned ? 0 : 1,
		         .bins = { lower_int(l, "output_height"), lower_int(l, "output_width") },
		         .ratio = lower_int(l, "sampling_ratio"),
		         .axis = axis_of,
		         .where = reads_map };
	struct value y[MAPS_MAX], levels;
	struct space s = { 0 };
	expr e = NULL, r;

	strides = lower_floats(l, "featmap_strides", &stride);
	TRY(check(l, &o, maps, strides, rotated));
	o.x = lower_input(l, 1);
	TRY(roi_check(l, &o, rotated ? 6 : 5));
	levels = choose(l, &o, maps, rotated);
	for (int k = 0; k < maps; k++) {
		struct level level = { k, levels };

		o.x = lower_input(l, 1 + k);
		o.scale = 1 / stride[k];
		o.user = &level;
		TRY(roi_check(l, &o, rotated ? 6 : 5));
		y[k] = rotated                     ? roi_rotated_mean(l, "map", &o, box_of)
		       : lower_int(l, "pool_mode") ? roi_mean(l, "map", &o)
		                                   : roi_largest(l, "map", &o, false);
	}
	r = space_push(l, &s, value_dim(o.rois, 0));
	space_push(l, &s, value_dim(o.x, 1));
	space_push(l, &s, idx(l, o.bins[0]));
	space_push(l, &s, idx(l, o.bins[1]));
	for (int k = maps - 1; k >= 0; k--)
		e = !e ? at(y[k], &s) : select_(eq(load(levels, &r), num(l, TYPE_I32, k)), at(y[k], &s), e);
	lower_output(l, 0, lower_map(l, NULL, value_type(o.x), &s, e));
	return 0;
}

static int plain_lower(struct lower *l)
{
	return align(l, false);
}

static int rotated_lower(struct lower *l)
{
	return align(l, true);
}

/* clang-format off */
#define SLOTS .inputs = { IN("rois", TS_FLOAT), MANY("maps", TS_FLOAT) }, .outputs = { OUT("y") }
#define COMMON                                                                                                         \
	ATTR_INT("output_height", 7, "bins along y"), ATTR_INT("output_width", 7, "bins along x"),                     \
	ATTR_FLOATS("featmap_strides", "how many units of the regions' coordinates an element of each map is"),       \
	ATTR_INT("sampling_ratio", 2, "samples along each axis of a bin; 0: as many as it has elements"),              \
	ATTR_FLOAT("roi_scale_factor", -1, "regions grow by it first; not positive: they do not"),                     \
	ATTR_INT("finest_scale", 56, "regions below twice this size read the first map"),                              \
	ATTR_INT("aligned", 0, "1: coordinates are shifted by -1/2")

const struct op_def ops_roi_levels[] = {
	{ .name = "MMCVMultiLevelRoiAlign", .domain = OP_ANY_DOMAIN, .since = { 1 }, SLOTS,
	  .formula = "y = mean or maximum of samples in each bin of a region, of the map that its size asks for",
	  .attrs = { COMMON, ATTR_INT("pool_mode", 0, "what becomes of a bin's samples; 0: the maximum, 1: the mean") },
	  .lower = plain_lower,
	  .cases = { "rois:f32[R,5] a:f32[N,8,16,16] b:f32[N,8,8,8] output_height=3 output_width=3 pool_mode=1 "
		     "featmap_strides=4,8 aligned=1 sampling_ratio=0",
		     "rois:f32[R,5] a:f32[N,8,16,16] b:f32[N,8,8,8] c:f32[N,8,4,4] output_height=2 output_width=3 "
		     "featmap_strides=4,8,16 roi_scale_factor=1.5" } },
	{ .name = "MMCVMultiLevelRotatedRoiAlign", .domain = OP_ANY_DOMAIN, .since = { 1 }, SLOTS,
	  .formula = "y = mean of samples in each bin of a turned region, of the map that its size asks for",
	  .attrs = { COMMON, ATTR_INT("clockwise", 0, "1: angles are clockwise in the image") }, .lower = rotated_lower,
	  .cases = { "rois:f32[R,6] a:f32[N,8,16,16] b:f32[N,8,8,8] output_height=3 output_width=3 featmap_strides=4,8 "
		     "aligned=1 roi_scale_factor=1.5" } },
	{ .name = NULL },
};
/* clang-format on */
