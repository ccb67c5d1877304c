/* Plugins of detectors:
 *   PillarScatterPlugin  y[n, :, cy, cx] = voxels[n, p, :] for p < counts[n], (frame, cz, cy, cx) = coords[n, p]; else
 *     zero
 *   GridPriorsTRT        y[(i W + j) A + a, k] = base[a, k] + (j stride_w for x, i stride_h for y)
 *   Region_TRT           for each box's channels: sigmoid of its centre and objectness, softmax over its classes
 * Sources: the READMEs of TensorRT's pillarScatterPlugin and regionPlugin, and of mmdeploy's TensorRT operators. */
#include "ops/lower/formulas.h"

static int pillar_lower(struct lower *l)
{
	struct value voxels = lower_input(l, 0), coords = lower_input(l, 1), counts = lower_input(l, 2);
	struct ints shape = lower_ints(l, "dense_shape");
	struct space out = { 0 }, s = { 0 };
	expr n, p, to[4], element, here;

	if (value_rank(voxels) != 3 || value_rank(coords) != 3 || value_rank(counts) != 1)
		return lower_fail(l, ERR_MODEL, "voxels and coordinates must have three axes, their number one.");
	if (shape.n != 2 || shape.at[0] < 1 || shape.at[1] < 1)
		return lower_fail(l, ERR_MODEL, "dense_shape must have two positive entries, height and width.");
	space_push(l, &out, value_dim(voxels, 0));
	space_push(l, &out, value_dim(voxels, 2));
	space_push(l, &out, idx(l, shape.at[0]));
	space_push(l, &out, idx(l, shape.at[1]));
	n = space_push(l, &s, value_dim(voxels, 0));
	p = space_push(l, &s, value_dim(voxels, 1));
	to[0] = n;
	to[1] = space_push(l, &s, value_dim(voxels, 2));
	to[2] = cast(load_list(coords, 3, n, p, idx(l, 2)), TYPE_INDEX);
	to[3] = cast(load_list(coords, 3, n, p, idx(l, 3)), TYPE_INDEX);
	element = load(voxels, s.at);
	here = lt(p, cast(load(counts, &n), TYPE_INDEX));
	lower_output(
	        l, 0,
	        lower_scatter(l, NULL, value_type(voxels), &out, with(element, 0), &s, IR_NONE, to, element, here));
	return 0;
}

static int priors_lower(struct lower *l)
{
	struct value base = lower_input(l, 0), rows = lower_input(l, 1), columns = lower_input(l, 2);
	struct space s = { 0 };
	expr i, k, anchors, place, shift, e;

	if (value_rank(base) != 2 || value_rank(rows) != 1 || value_rank(columns) != 1)
		return lower_fail(l, ERR_MODEL,
		                  "base anchors must have two axes, the inputs for height and width one each.");
	anchors = value_dim(base, 0);
	i = space_push(l, &s, mul(anchors, mul(value_dim(rows, 0), value_dim(columns, 0))));
	k = space_push(l, &s, value_dim(base, 1));
	place = floordiv(i, anchors);
	shift = select_(eq(mod(k, idx(l, 2)), idx(l, 0)),
	                muli(mod(place, value_dim(columns, 0)), lower_int(l, "stride_w")),
	                muli(floordiv(place, value_dim(columns, 0)), lower_int(l, "stride_h")));
	e = wide(load_list(base, 2, mod(i, anchors), k));
	e = add(e, cast(shift, e->type));
	lower_output(l, 0, lower_map(l, NULL, value_type(base), &s, narrow(e, value_type(base))));
	return 0;
}

static int region_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), largest, sum;
	int64_t boxes = lower_int(l, "num"), coords = lower_int(l, "coords"), classes = lower_int(l, "classes"),
	        channels;
	int64_t size = coords + 1 + classes;
	struct space s, r = { 0 };
	expr index[4], of[4], e, k, y;

	if (value_rank(x) != 4 || boxes < 1 || coords != 4 || classes < 1)
		return lower_fail(l, ERR_MODEL,
		                  "the input must have four axes, coords be 4, num and classes positive.");
	if (ir_const_int(value_dim(x, 1), &channels) && channels != boxes * size)
		return lower_fail(l, ERR_MODEL, "%lld channels are not num * (coords + 1 + classes) = %lld.",
		                  (long long)channels, (long long)(boxes * size));
	TRY(lower_demand_extent(l, IR_SAME, idx(l, boxes * size), x, 1));
	of[0] = index[0] = space_push(l, &r, value_dim(x, 0));
	of[1] = space_push(l, &r, idx(l, boxes));
	of[2] = index[2] = space_push(l, &r, value_dim(x, 2));
	of[3] = index[3] = space_push(l, &r, value_dim(x, 3));
	index[1] = add(addi(muli(of[1], size), coords + 1), space_push(l, &r, idx(l, classes)));
	e = wide(load(x, index));
	largest = lower_reduce(l, "largest", e->type, &r, 4, IR_MAXIMUM, e, NULL);
	e = unary(IR_EXP, sub(e, load(largest, of)));
	sum = lower_reduce(l, "total", e->type, &r, 4, IR_SUM, e, NULL);

	s = space_of(l, x);
	of[0] = s.at[0];
	of[1] = floordiv(s.at[1], idx(l, size));
	of[2] = s.at[2];
	of[3] = s.at[3];
	k = mod(s.at[1], idx(l, size));
	e = wide(load(x, s.at));
	y = divide(unary(IR_EXP, sub(e, load(largest, of))), load(sum, of));
	y = select_(gt(k, idx(l, coords)), y, select_(or_(lt(k, idx(l, 2)), eq(k, idx(l, coords))), sigmoid(e), e));
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, narrow(y, value_type(x))));
	return 0;
}

/* clang-format off */
#define PLUGIN .domain = OP_ANY_DOMAIN, .since = { 1 }, .outputs = { OUT("y") }
#define INDICES (TS(I32) | TS(I64) | TS(U32))

const struct op_def ops_detection[] = {
	{ .name = "PillarScatterPlugin", PLUGIN, .formula = "y[n, :, cy, cx] = voxels[n, p, :] for p < counts[n]",
	  .inputs = { IN("voxels", TS_FLOAT), IN("coords", INDICES), IN("counts", INDICES) },
	  .attrs = { ATTR_INTS_REQUIRED("dense_shape", "height and width of the result") }, .lower = pillar_lower,
	  .cases = { "voxels:f32[1,2,16] coords:i32[1,2,4]={0,0,1,2,0,0,3,4} counts:i32[1]={2} dense_shape=8,9" } },
	{ .name = "GridPriorsTRT", PLUGIN, .formula = "y = base + the position in the map * stride",
	  .inputs = { IN("base", TS_FLOAT), IN("rows", 0), IN("columns", 0) },
	  .attrs = { ATTR_INT("stride_w", 1, "step along x"), ATTR_INT("stride_h", 1, "step along y") },
	  .lower = priors_lower,
	  .cases = { "base:f32[9,4] rows:i64[H] columns:i64[W] stride_w=8 stride_h=4" } },
	{ .name = "Region_TRT", PLUGIN, .formula = "y = sigmoid of centres and objectness, softmax of classes",
	  .inputs = { IN("x", TS_FLOAT) },
	  .attrs = { ATTR_INT("num", 5, "boxes of each place"), ATTR_INT("coords", 4, "must be 4"),
		     ATTR_INT("classes", 80, "classes"), ATTR_INT("smTree", 0, "no meaning") },
	  .lower = region_lower,
	  .cases = { "x:f32[N,24,H,W] num=3 classes=3" } },
	{ .name = NULL },
};
/* clang-format on */
