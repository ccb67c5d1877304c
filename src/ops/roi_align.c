/* RoiAlign: a region of an image as output_height x output_width bins, each the mean (avg) or the largest (max) of
 * samples at the middles of a grid in the bin; a sample is interpolated between the four elements around it.
 *   bin = region / output, grid = sampling_ratio or ceil(bin), sample i of bin p: start + p bin + (i + 1/2) bin/grid
 * Samples outside -1..extent are zero. In mode max a sample is the largest of its four weighted elements.
 * The adaptive grid (sampling_ratio 0) follows from data: then only the samples that can lie in the image are
 * visited, at most twice its extent and four along an axis, as steps are at least half an element; mean: first along
 * y, then along x. MaxRoiPool: the largest element of each bin, between whole coordinates.
 * Source: ONNX, operators RoiAlign (opsets 10 to 22) and MaxRoiPool (1, 22). */
#include "ops/lower.h"

#include <string.h>

/* One axis of region r, in the type of the arithmetic. */
struct axis {
	expr start, bin, grid; /* grid: an index, possibly below 1 */
	expr extent, bins;
	bool adaptive;
};

struct sample {
	expr low, high;       /* indices of the elements around it */
	expr to_low, to_high; /* weights */
	expr inside, exists;
};

static struct axis read_axis(struct lower *l, expr r, bool vertical)
{
	struct value x = lower_input(l, 0), rois = lower_input(l, 1);
	enum type c = compute_type(value_type(x));
	bool shifted = l->opset >= 16 && !strcmp(lower_word(l, "coordinate_transformation_mode"), "half_pixel");
	int64_t bins = lower_int(l, vertical ? "output_height" : "output_width"),
	        ratio = lower_int(l, "sampling_ratio");
	expr scale = num(l, c, lower_float(l, "spatial_scale")), shift = num(l, c, shifted ? 0.5 : 0), size;
	struct axis a = { .extent = value_dim(x, vertical ? 2 : 3), .bins = idx(l, bins), .adaptive = ratio <= 0 };

	a.start = sub(mul(cast(load_list(rois, 2, r, idx(l, vertical)), c), scale), shift);
	size = sub(mul(cast(load_list(rois, 2, r, idx(l, 2 + vertical)), c), scale), shift);
	size = sub(size, a.start);
	if (!shifted)
		size = max_(size, with(size, 1));
	a.bin = divide(size, num(l, c, (double)bins));
	a.grid = ratio > 0 ? idx(l, ratio) : cast(unary(IR_CEIL, a.bin), TYPE_INDEX);
	return a;
}

static expr place(const struct axis *a, expr p, expr i)
{
	enum type c = a->bin->type;
	expr step = divide(a->bin, cast(max_(a->grid, with(a->grid, 1)), c)), half = with(step, 0.5);

	return add(add(a->start, mul(cast(p, c), a->bin)), mul(add(cast(i, c), half), step));
}

/* How many samples of a bin are visited. */
static expr visits(const struct axis *a)
{
	return a->adaptive ? addi(muli(a->extent, 2), 4) : a->grid;
}

/* The first visited sample of bin p: that before the first one at -1 or behind it. */
static expr first_visited(const struct axis *a, expr p)
{
	enum type c = a->bin->type;
	expr step, from;

	if (!a->adaptive)
		return with(p, 0);
	step = divide(a->bin, cast(max_(a->grid, with(a->grid, 1)), c));
	from = sub(with(step, -1), add(a->start, mul(cast(p, c), a->bin)));
	from = sub(divide(from, max_(step, with(step, 1e-6))), with(step, 1.5));
	return cast(max_(unary(IR_CEIL, min_(from, with(from, 1e9))), with(from, 0)), TYPE_INDEX);
}

/* The i-th visited sample of bin p. */
static struct sample sample_of(const struct axis *a, expr p, expr i)
{
	enum type c = a->bin->type;
	expr n = add(first_visited(a, p), i), at = place(a, p, n), last = addi(a->extent, -1), zero = with(n, 0), low;
	struct sample s;

	s.exists = a->adaptive ? lt(n, a->grid) : le(zero, n);
	s.inside = and_(ge(at, with(at, -1)), le(at, cast(a->extent, c)));
	at = clamp(at, with(at, 0), cast(last, c));
	low = max_(min_(cast(unary(IR_FLOOR, at), TYPE_INDEX), last), zero);
	s.low = low;
	s.high = min_(addi(low, 1), max_(last, zero));
	s.to_high = sub(at, cast(low, c));
	s.to_low = sub(with(at, 1), s.to_high);
	return s;
}

struct roi {
	struct value x, rois, batch;
};

static expr image_of(const struct roi *o, expr r)
{
	return wrap_index(load(o->batch, &r), value_dim(o->x, 0));
}

/* Whether there is anything to read: an empty input gives zeros. */
static expr any_image(const struct roi *o)
{
	expr zero = ir_index(o->x.pool, 0);

	return and_(gt(value_dim(o->x, 0), zero), and_(gt(value_dim(o->x, 2), zero), gt(value_dim(o->x, 3), zero)));
}

static int check(struct lower *l, const struct roi *o, int columns)
{
	int64_t n;

	if (value_rank(o->x) != 4 || value_rank(o->rois) != 2 || (o->batch.given && value_rank(o->batch) != 1))
		return lower_fail(l, ERR_MODEL, "the input must have four axes, rois two, batch_indices one.");
	if (ir_const_int(value_dim(o->rois, 1), &n) && n != columns)
		return lower_fail(l, ERR_MODEL, "rois has %lld columns; it must have %d.", (long long)n, columns);
	return 0;
}

/* [r, c, p, w]: the sum over y of the samples of bin p in column w. */
static struct value sum_rows(struct lower *l, const struct roi *o)
{
	struct space s = { 0 };
	expr r = space_push(l, &s, value_dim(o->rois, 0)), c = space_push(l, &s, value_dim(o->x, 1)), p, w, b, e;
	struct axis a = read_axis(l, r, true);
	struct sample y;

	p = space_push(l, &s, a.bins);
	w = space_push(l, &s, value_dim(o->x, 3));
	y = sample_of(&a, p, space_push(l, &s, visits(&a)));
	b = image_of(o, r);
	e = add(mul(y.to_low, wide(load_list(o->x, 4, b, c, y.low, w))),
	        mul(y.to_high, wide(load_list(o->x, 4, b, c, y.high, w))));
	return lower_reduce(l, "rows", e->type, &s, 4, IR_SUM,
	                    select_(and_(any_image(o), and_(y.exists, y.inside)), e, with(e, 0)), NULL);
}

static expr count_of(const struct axis *y, const struct axis *x, enum type c)
{
	return cast(max_(mul(y->grid, x->grid), with(y->grid, 1)), c);
}

/* Whether a sample of a bin lies outside: the first or the last one does. */
static expr any_outside(const struct axis *a, expr p)
{
	expr first = place(a, p, with(p, 0)), last = place(a, p, addi(a->grid, -1));

	return or_(lt(first, with(first, -1)), gt(last, cast(a->extent, last->type)));
}

/* The mean or maximum over both axes of the grid at once. */
static struct value sample_both(struct lower *l, const struct roi *o, bool largest)
{
	struct space s = { 0 };
	expr r = space_push(l, &s, value_dim(o->rois, 0)), c = space_push(l, &s, value_dim(o->x, 1)), b, e[4], v,
	     result;
	struct axis ay = read_axis(l, r, true), ax = read_axis(l, r, false);
	expr py = space_push(l, &s, ay.bins), px = space_push(l, &s, ax.bins), exists, inside, none;
	struct sample y = sample_of(&ay, py, space_push(l, &s, visits(&ay)));
	struct sample x = sample_of(&ax, px, space_push(l, &s, visits(&ax)));

	b = image_of(o, r);
	e[0] = mul(mul(y.to_low, x.to_low), wide(load_list(o->x, 4, b, c, y.low, x.low)));
	e[1] = mul(mul(y.to_low, x.to_high), wide(load_list(o->x, 4, b, c, y.low, x.high)));
	e[2] = mul(mul(y.to_high, x.to_low), wide(load_list(o->x, 4, b, c, y.high, x.low)));
	e[3] = mul(mul(y.to_high, x.to_high), wide(load_list(o->x, 4, b, c, y.high, x.high)));
	inside = and_(any_image(o), and_(y.inside, x.inside));
	exists = and_(y.exists, x.exists);
	if (!largest) {
		v = select_(and_(exists, inside), add(add(e[0], e[1]), add(e[2], e[3])), with(e[0], 0));
		result = divide(acc(l, v->type), count_of(&ay, &ax, v->type));
		return lower_reduce(l, NULL, value_type(o->x), &s, 4, IR_SUM, v, result);
	}
	v = max_(max_(e[0], e[1]), max_(e[2], e[3]));
	v = select_(inside, v, with(v, 0));
	v = select_(exists, v, ir_identity(l->program->pool, IR_MAXIMUM, v->type));
	result = acc(l, v->type);
	if (ay.adaptive) { /* samples outside that were not visited are zeros, and so is a bin without samples */
		none = or_(lt(ay.grid, idx(l, 1)), lt(ax.grid, idx(l, 1)));
		result = select_(
		        none, with(v, 0),
		        select_(or_(any_outside(&ay, py), any_outside(&ax, px)), max_(result, with(v, 0)), result));
	}
	return lower_reduce(l, NULL, value_type(o->x), &s, 4, IR_MAXIMUM, v, result);
}

/* The mean, where the grid is adaptive: along x over the sums along y. */
static struct value sum_columns(struct lower *l, const struct roi *o)
{
	struct value rows = sum_rows(l, o);
	struct space s = { 0 };
	expr r = space_push(l, &s, value_dim(o->rois, 0)), c = space_push(l, &s, value_dim(o->x, 1)), e;
	struct axis ay = read_axis(l, r, true), ax = read_axis(l, r, false);
	expr py = space_push(l, &s, ay.bins), px = space_push(l, &s, ax.bins);
	struct sample x = sample_of(&ax, px, space_push(l, &s, visits(&ax)));

	e = add(mul(x.to_low, load_list(rows, 4, r, c, py, x.low)),
	        mul(x.to_high, load_list(rows, 4, r, c, py, x.high)));
	return lower_reduce(l, NULL, value_type(o->x), &s, 4, IR_SUM,
	                    select_(and_(any_image(o), and_(x.exists, x.inside)), e, with(e, 0)),
	                    divide(acc(l, e->type), count_of(&ay, &ax, e->type)));
}

static int align_lower(struct lower *l)
{
	struct roi o = { lower_input(l, 0), lower_input(l, 1), lower_input(l, 2) };
	bool largest = !strcmp(lower_word(l, "mode"), "max");

	TRY(check(l, &o, 4));
	if (lower_int(l, "output_height") < 1 || lower_int(l, "output_width") < 1)
		return lower_fail(l, ERR_MODEL, "output_height and output_width must be positive.");
	lower_output(l, 0,
	             !largest && lower_int(l, "sampling_ratio") <= 0 ? sum_columns(l, &o)
	                                                             : sample_both(l, &o, largest));
	return 0;
}

/* ---- MaxRoiPool --------------------------------------------------------------------------------------------------
 * */

/* Where bin p of an axis starts and ends in the image. Coordinates are rounded, halves away from zero. */
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
	expr r, c, y, x, from_y, to_y, from_x, to_x, b, e;

	TRY(check(l, &o, 5));
	if (bins.n != 2 || bins.at[0] < 1 || bins.at[1] < 1)
		return lower_fail(l, ERR_MODEL, "pooled_shape must have two positive entries.");
	r = space_push(l, &s, value_dim(o.rois, 0));
	c = space_push(l, &s, value_dim(o.x, 1));
	y = space_push(l, &s, idx(l, bins.at[0]));
	x = space_push(l, &s, idx(l, bins.at[1]));
	pool_bin(l, r, true, y, bins.at[0], &from_y, &to_y);
	pool_bin(l, r, false, x, bins.at[1], &from_x, &to_x);
	y = add(from_y, space_push(l, &s, value_dim(o.x, 2)));
	x = add(from_x, space_push(l, &s, value_dim(o.x, 3)));
	b = wrap_index(cast(load_list(o.rois, 2, r, idx(l, 0)), TYPE_I64), value_dim(o.x, 0));
	e = wide(load_list(o.x, 4, b, c, y, x));
	e = select_(and_(any_image(&o), and_(lt(y, to_y), lt(x, to_x))), e,
	            ir_identity(l->program->pool, IR_MAXIMUM, e->type));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(o.x), &s, 4, IR_MAXIMUM, e,
	                          select_(or_(not_(any_image(&o)), or_(le(to_y, from_y), le(to_x, from_x))), with(e, 0),
	                                  acc(l, e->type))));
	return 0;
}

/* clang-format off */
#define SCALE ATTR_FLOAT("spatial_scale", 1, "from the regions' coordinates to the input's elements")

const struct op_def ops_roi_align[] = {
	{ .name = "RoiAlign", .since = { 10, 16, 22 },
	  .formula = "y = mean or maximum of samples in each bin of a region",
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT), IN("batch_indices", TS(I64)) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_WORD("mode", "avg|max", "what becomes of a bin's samples"), SCALE,
		     ATTR_INT("output_height", 1, "bins along y"), ATTR_INT("output_width", 1, "bins along x"),
		     ATTR_INT("sampling_ratio", 0, "samples along each axis of a bin; 0: as many as it has elements"),
		     ATTR_WORD("coordinate_transformation_mode", "half_pixel|output_half_pixel",
			       "half_pixel: coordinates are shifted by -1/2; not before opset 16") },
	  .lower = align_lower,
	  .cases = { "x:f32[N,16,H,W] rois:f32[R,4] batch_indices:i64[R] output_height=7 output_width=7 "
		     "sampling_ratio=2 opset=16",
		     "x:f16[1,8,14,15] rois:f16[R,4] batch_indices:i64[R] output_height=3 output_width=2 mode=max "
		     "opset=10" } },
	{ .name = "MaxRoiPool", .since = { 1, 22 }, .formula = "y = the largest x in each bin of a region",
	  .inputs = { IN("x", TS_FLOAT), IN("rois", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INTS_REQUIRED("pooled_shape", "bins along y and x"), SCALE }, .lower = pool_lower,
	  .cases = { "x:f32[N,8,14,14] rois:f32[R,5] pooled_shape=2,3" } },
	{ .name = NULL },
};
/* clang-format on */
