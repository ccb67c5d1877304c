/* Resize's sums: the elements that each output element reads along each axis, their weights, and the number of axes
 * per stage. */
#include "ops/lower/interpolate.h"
#include "ops/lower/resize.h"

#include <string.h>

enum {
	TAPS_A_PASS = 64, /* most elements summed for one output element before axes are done in turn */
	LONG_SCALE = 24,  /* most nodes of a scale's numerator or denominator that are written out repeatedly */
};

/* ---- One axis ---------------------------------------------------------------------------------------------------- */

static bool is_whole(const struct resize_axis *axis)
{
	return !axis->start || (axis->start == with(axis->start, 0) && axis->end == with(axis->end, 1));
}

static expr hold(expr i, expr extent)
{
	return clamp(i, with(i, 0), addi(extent, -1));
}

/* Sets weights of taps outside to zero and divides the others by their sum. */
static void exclude_outside(struct taps *t, expr extent)
{
	expr sum = NULL;

	for (int k = 0; k < t->n; k++) {
		expr i = t->index[k], inside = and_(ge(i, with(i, 0)), lt(i, extent));

		t->weight[k] = select_(inside, t->weight[k], with(t->weight[k], 0));
		sum = sum ? add(sum, t->weight[k]) : t->weight[k];
	}
	for (int k = 0; k < t->n; k++)
		t->weight[k] = divide(t->weight[k], sum);
}

static bool shrinks(const struct resize_axis *axis)
{
	return ir_less(axis->p, axis->q);
}

/* The taps of output index i along an axis; weights are of type c. */
static struct taps axis_taps(const struct resize *r, const struct resize_axis *axis, expr i, enum type c)
{
	struct coordinate x = resize_coordinate(axis, r->coordinate, i);
	struct taps t;

	if (axis->same)
		return taps_nearest(i);
	if (ir_is_int(axis->in, 1))
		return taps_nearest(with(i, 0)); /* the input has one element */
	if (!strcmp(r->mode, "nearest"))
		t = taps_nearest(coordinate_nearest(&x, r->nearest ? r->nearest : shrinks(axis) ? "ceil" : "floor"));
	else if (!strcmp(r->mode, "cubic"))
		t = taps_cubic(coordinate_floor(&x), coordinate_fraction(&x, c), r->cubic_a);
	else
		t = taps_linear(coordinate_floor(&x), coordinate_fraction(&x, c));
	if (r->exclude_outside && t.n > 1)
		exclude_outside(&t, axis->in);
	for (int k = 0; k < t.n; k++)
		t.index[k] = hold(t.index[k], axis->in);
	return t;
}

/* Antialiasing applies if the axis shrinks, or may. */
static bool is_filtered(const struct resize *r, const struct resize_axis *axis)
{
	return r->antialias && !axis->same && !ir_nonnegative(sub(axis->p, axis->q));
}

/* ---- The passes -------------------------------------------------------------------------------------------------- */

/* The output element from the sum y: outside of a cropped region it is the extrapolation value. */
static expr finish(struct lower *l, const struct resize *r, const struct space *s, expr y)
{
	enum type t = value_type(r->x);
	expr outside = NULL, beyond;

	y = interpolation_narrow(y, t);
	for (int i = 0; i < s->rank; i++) {
		const struct resize_axis *axis = &r->axis[i];
		struct coordinate x;

		if (axis->same || !axis->start)
			continue;
		x = resize_coordinate(axis, r->coordinate, s->at[i]);
		beyond = coordinate_outside(&x, axis->in);
		outside = outside ? or_(outside, beyond) : beyond;
	}
	if (!outside)
		return y;
	beyond = cast(num(l, TYPE_F32, lower_float(l, "extrapolation_value")), t); /* truncated like Cast, not rounded
	                                                                            */
	return select_(outside, beyond, y);
}

static struct space with_extent(struct lower *l, struct value x, int axis, expr extent)
{
	struct space s = { 0 };

	for (int i = 0; i < value_rank(x); i++)
		space_push(l, &s, i == axis ? extent : value_dim(x, i));
	return s;
}

/* The weight of the k-th element under the stretched kernel, which covers 2 * reach elements around the coordinate,
 * and its index, which may lie outside. */
static expr filter_weight(const struct resize *r, const struct resize_axis *axis, expr i, expr k, expr reach,
                          enum type c, expr *index)
{
	struct coordinate x = resize_coordinate(axis, r->coordinate, i);
	expr scale = divide(cast(min_(axis->p, axis->q), c), cast(axis->q, c)), distance, weight;

	*index = add(addi(sub(coordinate_floor(&x), reach), 1), k);
	distance = unary(IR_ABS, mul(coordinate_distance(&x, *index, c), scale));
	weight = !strcmp(r->mode, "cubic") ? cubic_kernel(distance, r->cubic_a)
	                                   : max_(sub(with(distance, 1), distance), with(distance, 0));
	if (r->exclude_outside)
		weight = select_(and_(ge(*index, with(*index, 0)), lt(*index, axis->in)), weight, with(weight, 0));
	return weight;
}

/* x with one axis resized by the stretched kernel: a weighted sum over the sum of weights. */
static struct value filter_axis(struct lower *l, const struct resize *r, struct value x, int which, bool last)
{
	const struct resize_axis *axis = &r->axis[which];
	enum type c = interpolation_type(value_type(r->x)), t = last ? value_type(r->x) : c;
	int radius = strcmp(r->mode, "cubic") ? 1 : 2;
	expr reach = max_(ceildiv(muli(axis->q, radius), axis->p), idx(l, radius)), index[IR_MAX_RANK], weight, y;
	struct space line = { 0 }, s = with_extent(l, x, which, axis->out);
	int rank = s.rank;
	struct value sums;

	space_push(l, &line, axis->out);
	space_push(l, &line, muli(reach, 2));
	weight = filter_weight(r, axis, line.at[0], line.at[1], reach, c, &index[0]);
	sums = lower_reduce(l, "weights", c, &line, 1, IR_SUM, weight, NULL);

	space_push(l, &s, muli(reach, 2));
	memcpy(index, s.at, sizeof index);
	weight = filter_weight(r, axis, s.at[which], s.at[rank], reach, c, &index[which]);
	index[which] = hold(index[which], axis->in);
	y = divide(acc(l, c), load_list(sums, 1, s.at[which]));
	if (last) {
		struct space out = s;

		out.rank = rank;
		y = finish(l, r, &out, y);
	}
	return lower_reduce(l, NULL, t, &s, rank, IR_SUM, mul(weight, cast(load(x, index), c)), y);
}

/* The axes of `pass`, resized by a few taps each. */
static struct value tap_axes(struct lower *l, const struct resize *r, struct value x, const bool *pass, bool last)
{
	enum type c = interpolation_type(value_type(r->x));
	struct space s = { 0 };
	struct taps tap[IR_MAX_RANK];
	expr y;

	for (int i = 0; i < value_rank(x); i++) {
		expr at = space_push(l, &s, pass[i] ? r->axis[i].out : value_dim(x, i));

		tap[i] = pass[i] ? axis_taps(r, &r->axis[i], at, c) : taps_nearest(at);
	}
	y = interpolate(x, tap, c);
	return lower_map(l, NULL, last ? value_type(r->x) : y->type, &s, last ? finish(l, r, &s, y) : y);
}

/* With keep_aspect_ratio_policy the one scale is a choice among all axes' ratios; it becomes a stage of its own
 * instead of being repeated in each coordinate. */
static void read_scale(struct lower *l, struct resize_axis *axis, const struct resize_axis *before)
{
	struct space s = { 0 };
	struct value scale;

	axis->p_read = axis->p;
	axis->q_read = axis->q;
	if (axis->p->size <= LONG_SCALE && axis->q->size <= LONG_SCALE)
		return;
	if (before && before->p == axis->p && before->q == axis->q) {
		axis->p_read = before->p_read;
		axis->q_read = before->q_read;
		return;
	}
	space_push(l, &s, idx(l, 2));
	scale = lower_map(l, "scale", TYPE_I64, &s, select_(lt(s.at[0], idx(l, 1)), axis->p, axis->q));
	axis->p_read = cast(load_list(scale, 1, idx(l, 0)), TYPE_INDEX);
	axis->q_read = cast(load_list(scale, 1, idx(l, 1)), TYPE_INDEX);
}

/* Stretched kernels come first, one axis a pass, since they shrink the data. Then all other axes at once, or in groups
 * if one sum would have too many elements. */
int resize_sample(struct lower *l, struct resize *r)
{
	int rank = value_rank(r->x),
	    taps = !strcmp(r->mode, "nearest")  ? 1
	           : !strcmp(r->mode, "linear") ? 2
	                                        : 4,
	    left = 0;
	bool done[IR_MAX_RANK] = { false };
	struct value y = r->x;

	for (int i = 0; i < rank; i++) {
		struct resize_axis *axis = &r->axis[i];

		axis->same = axis->in == axis->out && axis->p == axis->q && is_whole(axis);
		read_scale(l, axis, i ? axis - 1 : NULL);
		done[i] = axis->same;
		left += !axis->same;
	}
	for (int i = 0; i < rank; i++)
		if (is_filtered(r, &r->axis[i])) {
			y = filter_axis(l, r, y, i, !--left);
			done[i] = true;
		}
	while (left || y.buf == r->x.buf) {
		bool pass[IR_MAX_RANK] = { false };

		for (int i = 0, n = taps; i < rank && n <= TAPS_A_PASS; i++)
			if (!done[i]) {
				pass[i] = done[i] = true;
				n *= taps;
				left--;
			}
		y = tap_axes(l, r, y, pass, !left);
	}
	lower_output(l, 0, y);
	return 0;
}
