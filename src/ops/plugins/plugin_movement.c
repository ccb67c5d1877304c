/* Plugins that only move elements:
 *   FlattenConcat_TRT     y[n, i, 0, 0] = the elements of sample n in all inputs, concatenated
 *   BatchTilePlugin_TRT   y[n, i..] = tile[0, i..] for each sample n of x
 *   SpecialSlice_TRT      y[.., i] = x[.., i], the box of each detection
 *   Reorg_TRT             y = x's sample viewed as [C / s^2, H s, W s], taken in steps of s along both axes: C
 *     channels for each offset (p, q) below s; the whole is then viewed as [C s^2, H / s, W / s]
 *   ResizeNearest_TRT     y[n, c, i, j] = x[n, c, floor(i / scale), floor(j / scale)]
 *   GatherTopk            y[a.., i, c..] = x[a.., index[a.., i], c..]
 * Sources: the READMEs of TensorRT's plugins of these names, and of mmdeploy's TensorRT operators. */
#include "ops/lower/resize.h"

static int flatten_concat_lower(struct lower *l)
{
	struct space s = { 0 };
	expr start[17], total = idx(l, 0), e = NULL, n, i;
	enum type t = value_type(l->input[0]);

	if (l->inputs > 16)
		return lower_fail(l, ERR_UNSUPPORTED, "it has %d inputs; 16 are the most.", l->inputs);
	if (lower_int(l, "axis") != 1 || lower_int(l, "ignoreBatch"))
		return lower_fail(l, ERR_UNSUPPORTED, "axis must be 1, and ignoreBatch 0.");
	for (int k = 0; k < l->inputs; k++) {
		struct value x = l->input[k];

		if (value_rank(x) < 2 || value_type(x) != t)
			return lower_fail(l, ERR_MODEL, "the inputs must be of one type, and have two axes or more.");
		TRY(lower_equal(l, l->input[0], 0, x, 0));
		start[k] = total;
		n = idx(l, 1);
		for (int axis = 1; axis < value_rank(x); axis++)
			n = mul(n, value_dim(x, axis));
		total = add(total, n);
	}
	n = space_push(l, &s, value_dim(l->input[0], 0));
	i = space_push(l, &s, total);
	space_push(l, &s, idx(l, 1));
	space_push(l, &s, idx(l, 1));
	for (int k = l->inputs - 1; k >= 0; k--) {
		struct value x = l->input[k];
		expr index[IR_MAX_RANK], element;

		index[0] = n;
		ir_unflat(sub(i, start[k]), value_rank(x) - 1, x.buf->dim + 1, index + 1);
		element = load(x, index);
		e = e ? select_(lt(i, start[k + 1]), element, e) : element;
	}
	lower_output(l, 0, lower_map(l, NULL, t, &s, e));
	return 0;
}

static int batch_tile_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), tile = lower_input(l, 1);
	struct space s = space_of(l, tile);
	expr dim[IR_MAX_RANK], index[IR_MAX_RANK];
	int64_t n;

	if (value_rank(x) < 1 || value_rank(tile) < 1 || (ir_const_int(value_dim(tile, 0), &n) && n != 1))
		return lower_fail(l, ERR_MODEL, "both inputs need a batch axis, and that of the second must be 1.");
	for (int i = 0; i < s.rank; i++)
		dim[i] = i ? value_dim(tile, i) : value_dim(x, 0);
	s = space_new(l, s.rank, dim);
	for (int i = 0; i < s.rank; i++)
		index[i] = i ? s.at[i] : idx(l, 0);
	lower_output(l, 0, lower_map(l, NULL, value_type(tile), &s, load(tile, index)));
	return 0;
}

static int special_slice_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int rank = value_rank(x);
	expr dim[IR_MAX_RANK];
	struct space s;
	int64_t n;

	if (rank < 1 || (ir_const_int(value_dim(x, rank - 1), &n) && n < 4))
		return lower_fail(l, ERR_MODEL, "the last axis must have the four numbers of a box.");
	for (int i = 0; i < rank; i++)
		dim[i] = i < rank - 1 ? value_dim(x, i) : idx(l, 4);
	s = space_new(l, rank, dim);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, s.at)));
	return 0;
}

static int reorg_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	int64_t step = lower_int(l, "stride"), n;
	struct space s = { 0 };
	expr dim[3], at[3], seen[3], index[4], flat, part, place, by = idx(l, step);

	if (value_rank(x) != 4 || step < 1)
		return lower_fail(l, ERR_MODEL, "the input must have four axes, and stride must be positive.");
	for (int i = 1; i < 4; i++)
		if (ir_const_int(value_dim(x, i), &n) && n % (i == 1 ? step * step : step))
			return lower_fail(l, ERR_MODEL, "extent %lld of axis %d cannot be split by stride %lld.",
			                  (long long)n, i, (long long)step);
	for (int i = 1; i < 4; i++)
		TRY(lower_demand_multiple(l, x, i, i == 1 ? step * step : step));
	index[0] = space_push(l, &s, value_dim(x, 0));
	space_push(l, &s, muli(value_dim(x, 1), step * step));
	space_push(l, &s, floordiv(value_dim(x, 2), by));
	space_push(l, &s, floordiv(value_dim(x, 3), by));
	/* its position in [C, H, W], then its index in [C / s^2, H s, W s] */
	flat = flatten(l, 3, s.dim + 1, s.at + 1);
	ir_unflat(flat, 3, x.buf->dim + 1, at);
	dim[0] = floordiv(value_dim(x, 1), idx(l, step * step));
	dim[1] = muli(value_dim(x, 2), step);
	dim[2] = muli(value_dim(x, 3), step);
	part = max_(dim[0], idx(l, 1));
	place = floordiv(at[0], part);
	seen[0] = mod(at[0], part);
	seen[1] = add(muli(at[1], step), floordiv(place, by));
	seen[2] = add(muli(at[2], step), mod(place, by));
	ir_unflat(flatten(l, 3, dim, seen), 3, x.buf->dim + 1, index + 1);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

static int resize_nearest_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	double scale = lower_float(l, "scale");
	struct space s = { 0 };
	expr index[4];
	int64_t p, q;

	if (value_rank(x) != 4)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it must have four.", value_rank(x));
	if (!(scale > 0) || !scale_fraction(scale, &p, &q))
		return lower_fail(l, ERR_UNSUPPORTED, "scale %g is not a positive fraction of moderate size.", scale);
	for (int i = 0; i < 4; i++) {
		expr extent = value_dim(x, i);

		index[i] = space_push(l, &s, i < 2 ? extent : floordiv(muli(extent, p), idx(l, q)));
		if (i >= 2)
			index[i] = min_(floordiv(muli(index[i], q), idx(l, p)), addi(extent, -1));
	}
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, load(x, index)));
	return 0;
}

static int gather_topk_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), i = lower_input(l, 1);
	int rank = value_rank(x), axes = value_rank(i);
	struct space s = { 0 };
	expr index[IR_MAX_RANK], extent, at;

	if (axes < 1 || axes > rank)
		return lower_fail(l, ERR_MODEL, "the input has %d axes, the index %d; it needs one to as many.", rank,
		                  axes);
	for (int k = 0; k + 1 < axes; k++)
		TRY(lower_equal(l, i, k, x, k));
	for (int k = 0; k < rank; k++)
		index[k] = space_push(l, &s, value_dim(k < axes ? i : x, k));
	extent = value_dim(x, axes - 1);
	at = wrap_index(load(i, index), extent);
	index[axes - 1] = at;
	at = load(x, index);
	lower_output(l, 0, lower_map(l, NULL, value_type(x), &s, select_(gt(extent, idx(l, 0)), at, with(at, 0))));
	return 0;
}

/* clang-format off */
#define PLUGIN .domain = OP_ANY_DOMAIN, .since = { 1 }, .outputs = { OUT("y") }

const struct op_def ops_plugin_movement[] = {
	{ .name = "FlattenConcat_TRT", PLUGIN,
	  .formula = "y = the inputs' elements of each sample, one input after the other",
	  .inputs = { MANY("x", TS_PLAIN) },
	  .attrs = { ATTR_INT("axis", 1, "must be 1"), ATTR_INT("ignoreBatch", 0, "must be 0") },
	  .lower = flatten_concat_lower,
	  .cases = { "x:f32[N,2,H,W] y:f32[N,3,H,W]", "x:f16[2,3,4,5] y:f16[2,1,2,2] z:f16[2,7,1,1]" } },
	{ .name = "BatchTilePlugin_TRT", PLUGIN, .formula = "y = tile, once for each sample of x",
	  .inputs = { IN("x", TS_PLAIN), IN("tile", TS_PLAIN) }, .lower = batch_tile_lower,
	  .cases = { "x:f32[N,3] tile:f32[1,H,W]" } },
	{ .name = "SpecialSlice_TRT", PLUGIN, .formula = "y = the first four elements of each row of x",
	  .inputs = { IN("x", TS_PLAIN) }, .lower = special_slice_lower, .cases = { "x:f32[N,B,6]" } },
	{ .name = "Reorg_TRT", PLUGIN, .formula = "y = x in steps of stride, a part for each place below stride",
	  .inputs = { IN("x", TS_PLAIN) }, .attrs = { ATTR_INT("stride", 2, "step along both axes") },
	  .lower = reorg_lower,
	  .cases = { "x:f32[N,4,6,6]", "x:f32[N,4,H,W]", "x:f16[2,9,3,6] stride=3" } },
	{ .name = "ResizeNearest_TRT", PLUGIN, .formula = "y[n, c, i, j] = x[n, c, floor(i / scale), floor(j / scale)]",
	  .inputs = { IN("x", TS_PLAIN) }, .attrs = { ATTR_FLOAT("scale", 2, "how many times as large") },
	  .lower = resize_nearest_lower,
	  .cases = { "x:f32[N,4,H,W]", "x:f16[2,3,4,6] scale=1.5" } },
	{ .name = "GatherTopk", PLUGIN, .formula = "y[a.., i, c..] = x[a.., index[a.., i], c..]",
	  .inputs = { IN("x", TS_PLAIN), IN("index", TS_INDICES) }, .lower = gather_topk_lower,
	  .cases = { "x:f32[N,B,4] index:i64[N,K]", "x:i32[B] index:i32[K]" } },
	{ .name = NULL },
};
/* clang-format on */
