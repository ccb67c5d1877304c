/* The samples of bins, their mean and their maximum. Samples outside -1..extent are zero. An adaptive grid depends on
 * data: then only the samples that can lie in the image are visited, at most twice its extent and four along an axis,
 * as steps are at least half an element. Source: ONNX, operator RoiAlign. */
#include "ops/lower/roi.h"

struct roi roi_of_node(struct lower *l, bool shifted)
{
	return (struct roi){ .x = lower_input(l, 0),
		             .rois = lower_input(l, 1),
		             .batch = lower_input(l, 2),
		             .scale = lower_float(l, "spatial_scale"),
		             .shift = shifted ? 0.5 : 0,
		             .least = shifted ? -1 : 1,
		             .bins = { lower_int(l, "output_height"), lower_int(l, "output_width") },
		             .ratio = lower_int(l, "sampling_ratio") };
}

struct sample {
	expr low, high;       /* indices of the elements around it */
	expr to_low, to_high; /* weights */
	expr inside, exists;
};

static enum type arithmetic(const struct roi *o)
{
	return compute_type(value_type(o->x));
}

expr roi_column(struct lower *l, const struct roi *o, expr r, int i)
{
	return cast(load_list(o->rois, 2, r, idx(l, i)), arithmetic(o));
}

struct roi_axis roi_axis_new(struct lower *l, const struct roi *o, bool vertical, expr start, expr size)
{
	int64_t bins = o->bins[!vertical];
	struct roi_axis a = { .start = start, .extent = value_dim(o->x, vertical ? 2 : 3), .bins = idx(l, bins) };

	a.adaptive = o->ratio <= 0;
	a.bin = divide(size, with(size, (double)bins));
	a.grid = a.adaptive ? cast(unary(IR_CEIL, a.bin), TYPE_INDEX) : idx(l, o->ratio);
	return a;
}

static struct roi_axis axis_of(struct lower *l, const struct roi *o, expr r, bool vertical)
{
	expr edge[2], size;

	if (o->axis)
		return o->axis(l, o, r, vertical);
	for (int end = 0; end < 2; end++) {
		edge[end] = roi_column(l, o, r, o->column + vertical + 2 * end);
		edge[end] = mul(edge[end], with(edge[end], o->scale));
		edge[end] = sub(edge[end], with(edge[end], o->shift));
	}
	size = sub(edge[1], edge[0]);
	if (o->least >= 0)
		size = max_(size, with(size, o->least));
	return roi_axis_new(l, o, vertical, edge[0], size);
}

expr roi_image(struct lower *l, const struct roi *o, expr r)
{
	expr n = value_dim(o->x, 0);

	if (o->batch.given)
		return wrap_index(load(o->batch, &r), n);
	return wrap_index(cast(load_list(o->rois, 2, r, idx(l, 0)), TYPE_I64), n);
}

int roi_check(struct lower *l, const struct roi *o, int columns)
{
	int64_t n;

	if (value_rank(o->x) != 4 || value_rank(o->rois) != 2 || (o->batch.given && value_rank(o->batch) != 1))
		return lower_fail(l, ERR_MODEL, "the input must have four axes, rois two, batch_indices one.");
	if (ir_const_int(value_dim(o->rois, 1), &n) && n != columns)
		return lower_fail(l, ERR_MODEL, "rois has %lld columns; it must have %d.", (long long)n, columns);
	if (o->bins[0] < 1 || o->bins[1] < 1)
		return lower_fail(l, ERR_MODEL, "a region has %lld x %lld bins; both numbers must be positive.",
		                  (long long)o->bins[0], (long long)o->bins[1]);
	return 0;
}

static expr place(const struct roi_axis *a, expr p, expr i)
{
	enum type c = a->bin->type;
	expr step = divide(a->bin, cast(max_(a->grid, with(a->grid, 1)), c)), half = with(step, 0.5);

	return add(add(a->start, mul(cast(p, c), a->bin)), mul(add(cast(i, c), half), step));
}

/* The number of samples of a bin that are visited. */
static expr visits(const struct roi_axis *a)
{
	return a->adaptive ? addi(muli(a->extent, 2), 4) : a->grid;
}

/* The first visited sample of bin p: the one before the first at -1 or later. */
static expr first_visited(const struct roi_axis *a, expr p)
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
static struct sample sample_of(const struct roi_axis *a, expr p, expr i)
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

/* The condition that region r has anything to read: an empty input gives zeros. */
static expr any_image(struct lower *l, const struct roi *o, expr r)
{
	expr zero = idx(l, 0), any;

	any = and_(gt(value_dim(o->x, 0), zero), and_(gt(value_dim(o->x, 2), zero), gt(value_dim(o->x, 3), zero)));
	return o->where ? and_(any, o->where(l, o, r)) : any;
}

static expr count_of(const struct roi_axis *y, const struct roi_axis *x, enum type c)
{
	return cast(max_(mul(y->grid, x->grid), with(y->grid, 1)), c);
}

/* The condition that a sample of a bin lies outside: then the first or the last one does. */
static expr any_outside(const struct roi_axis *a, expr p)
{
	expr first = place(a, p, with(p, 0)), last = place(a, p, addi(a->grid, -1));

	return or_(lt(first, with(first, -1)), gt(last, cast(a->extent, last->type)));
}

/* The mean or maximum over both axes of the grid at once. */
static struct value sample_both(struct lower *l, const char *name, const struct roi *o, bool largest, bool corners)
{
	struct space s = { 0 };
	expr r = space_push(l, &s, value_dim(o->rois, 0)), c = space_push(l, &s, value_dim(o->x, 1)), b, e[4], v,
	     result;
	struct roi_axis ay = axis_of(l, o, r, true), ax = axis_of(l, o, r, false);
	expr py = space_push(l, &s, ay.bins), px = space_push(l, &s, ax.bins), exists, inside, none;
	struct sample y = sample_of(&ay, py, space_push(l, &s, visits(&ay)));
	struct sample x = sample_of(&ax, px, space_push(l, &s, visits(&ax)));

	b = roi_image(l, o, r);
	e[0] = mul(mul(y.to_low, x.to_low), wide(load_list(o->x, 4, b, c, y.low, x.low)));
	e[1] = mul(mul(y.to_low, x.to_high), wide(load_list(o->x, 4, b, c, y.low, x.high)));
	e[2] = mul(mul(y.to_high, x.to_low), wide(load_list(o->x, 4, b, c, y.high, x.low)));
	e[3] = mul(mul(y.to_high, x.to_high), wide(load_list(o->x, 4, b, c, y.high, x.high)));
	inside = and_(any_image(l, o, r), and_(y.inside, x.inside));
	exists = and_(y.exists, x.exists);
	v = corners ? max_(max_(e[0], e[1]), max_(e[2], e[3])) : add(add(e[0], e[1]), add(e[2], e[3]));
	if (!largest) {
		v = select_(and_(exists, inside), v, with(e[0], 0));
		result = divide(acc(l, v->type), count_of(&ay, &ax, v->type));
		return lower_reduce(l, name, value_type(o->x), &s, 4, IR_SUM, v, result);
	}
	v = select_(inside, v, with(v, 0));
	v = select_(exists, v, ir_identity(l->program->pool, IR_MAXIMUM, v->type));
	result = acc(l, v->type);
	if (ay.adaptive) { /* unvisited samples outside are zeros, and so is a bin without samples */
		none = or_(lt(ay.grid, idx(l, 1)), lt(ax.grid, idx(l, 1)));
		result = select_(
		        none, with(v, 0),
		        select_(or_(any_outside(&ay, py), any_outside(&ax, px)), max_(result, with(v, 0)), result));
	}
	return lower_reduce(l, name, value_type(o->x), &s, 4, IR_MAXIMUM, v, result);
}

struct value roi_mean(struct lower *l, const char *name, const struct roi *o)
{
	return sample_both(l, name, o, false, false);
}

struct value roi_largest(struct lower *l, const char *name, const struct roi *o, bool corners)
{
	return sample_both(l, name, o, true, corners);
}
