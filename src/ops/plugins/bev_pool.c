/* Pooling of image features into a bird's-eye view (BEVPoolv2): every point has a depth's probability, a feature and a
 * place,
 *   y[place[i], :] = sum over the points i there of depth[at_depth[i]] * feat[at_feat[i], :]
 * Points are grouped by place: interval k is points start[k] .. start[k] + length[k] - 1; points outside of all
 * intervals are dropped. Source: Huang and Huang, BEVPoolv2; the symbolic function of BEVDet's bev_pool_v2. */
#include "ops/lower/lower.h"

struct pool {
	struct value depth, feat, at_depth, at_feat, place, start, length;
};

/* [points]: the number of intervals that contain a point: the running sum of one where an interval begins, minus one
 * after its end. */
static struct value in_intervals(struct lower *l, const struct pool *p)
{
	struct space s = { 0 }, one = { 0 };
	expr points = value_dim(p->at_depth, 0), k, from, value, zero = num(l, TYPE_I32, 0);
	struct value step;

	space_push(l, &one, points);
	k = space_push(l, &s, value_dim(p->start, 0));
	expr after = space_push(l, &s, idx(l, 2));
	from = cast(load(p->start, &k), TYPE_INDEX);
	from = add(from, select_(eq(after, idx(l, 0)), idx(l, 0), cast(load(p->length, &k), TYPE_INDEX)));
	value = select_(eq(after, idx(l, 0)), num(l, TYPE_I32, 1), num(l, TYPE_I32, -1));
	step = lower_scatter(l, "steps", TYPE_I32, &one, zero, &s, IR_SUM, &from, value, lt(from, points));
	return lower_scan(l, "intervals", TYPE_I32, &one, 0, IR_SUM, false, false, load(step, one.at), NULL);
}

static int lower(struct lower *l)
{
	struct pool p = { lower_input(l, 0), lower_input(l, 1), lower_input(l, 2), lower_input(l, 3),
		          lower_input(l, 4), lower_input(l, 5), lower_input(l, 6) };
	const struct value *list[] = { &p.at_depth, &p.at_feat, &p.place, &p.start, &p.length };
	int64_t height = lower_int(l, "out_height"), width = lower_int(l, "out_width");
	int last = value_rank(p.feat) - 1;
	struct space out = { 0 }, s = { 0 };
	expr to[4], i, c, e, rows, channels, d, f, here;
	struct value inside;

	if (value_rank(p.depth) < 1 || last < 1)
		return lower_fail(l, ERR_MODEL, "depth must have an axis or more, the features two or more.");
	for (int k = 0; k < 5; k++)
		if (value_rank(*list[k]) != 1)
			return lower_fail(l, ERR_MODEL, "ranks and intervals must have one axis.");
	if (height < 1 || width < 1)
		return lower_fail(l, ERR_MODEL, "out_height and out_width must be positive.");
	inside = in_intervals(l, &p);
	channels = value_dim(p.feat, last);
	space_push(l, &out, idx(l, 1));
	space_push(l, &out, idx(l, height));
	space_push(l, &out, idx(l, width));
	space_push(l, &out, channels);

	i = space_push(l, &s, value_dim(p.at_depth, 0));
	c = space_push(l, &s, channels);
	rows = idx(l, 1);
	for (int k = 0; k < last; k++)
		rows = mul(rows, value_dim(p.feat, k));
	d = wrap_index(load(p.at_depth, &i), value_count(p.depth));
	f = wrap_index(load(p.at_feat, &i), rows);
	here = and_(gt(load(inside, &i), num(l, TYPE_I32, 0)), gt(mul(value_count(p.depth), rows), idx(l, 0)));
	e = wide(at_flat(p.depth, d));
	e = mul(e, cast(at_flat(p.feat, add(mul(f, channels), c)), e->type));
	to[0] = idx(l, 0);
	to[1] = floordiv(cast(load(p.place, &i), TYPE_INDEX), idx(l, width));
	to[2] = mod(cast(load(p.place, &i), TYPE_INDEX), idx(l, width));
	to[3] = c;
	struct value sum = lower_scatter(l, "sums", e->type, &out, with(e, 0), &s, IR_SUM, to, e, here);
	lower_output(l, 0, lower_map(l, NULL, value_type(p.feat), &out, narrow(load(sum, out.at), value_type(p.feat))));
	return 0;
}

/* clang-format off */
#define PLUGIN \
	.domain = OP_ANY_DOMAIN, .since = { 1 }, \
	.formula = "y[place[i], :] = sum of depth[at_depth[i]] * feat[at_feat[i], :]", \
	.inputs = { IN("depth", TS_FLOAT), IN("feat", TS_FLOAT), IN("ranks_depth", TS_INDICES), \
		    IN("ranks_feat", TS_INDICES), \
		    IN("ranks_bev", TS_INDICES), IN("interval_starts", TS_INDICES), \
		    IN("interval_lengths", TS_INDICES) }, \
	.outputs = { OUT("y") }, \
	.attrs = { ATTR_INT("out_height", 128, "rows of the view"), \
		   ATTR_INT("out_width", 128, "columns of the view") }, \
	.lower = lower

const struct op_def ops_bev_pool[] = {
	{ .name = "bev_pool_v2", PLUGIN,
	  .cases = { "depth:f32[6,4,3,5] feat:f32[6,3,5,8] ranks_depth:i32[P] ranks_feat:i32[P] ranks_bev:i32[P] "
		     "interval_starts:i32[I] interval_lengths:i32[I] out_height=4 out_width=3" } },
	{ .name = "BEVPoolV2TRT", PLUGIN,
	  .cases = { "depth:f16[6,4,3,5] feat:f16[6,3,5,8] ranks_depth:i32[P] ranks_feat:i32[P] ranks_bev:i32[P] "
		     "interval_starts:i32[I] interval_lengths:i32[I] out_height=4 out_width=3" } },
	{ .name = NULL },
};
/* clang-format on */
