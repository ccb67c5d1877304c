/* Deformable convolution. The reads of x are a stage of their own, which every output channel uses. They are rounded to
 * x's type, so that the rest is a product of two tensors of one type. */
#include "ops/lower/deformed.h"

/* Number of the place k in the kernel for channel c's offset group: the first axis of offset and mask. */
static expr kernel_place(struct lower *l, const struct deformed *d, expr c, const expr *k)
{
	expr group = floordiv(c, floordiv(value_dim(d->x, 1), idx(l, d->offset_groups))), size = idx(l, 1);

	for (int i = 0; i < d->n; i++)
		size = mul(size, d->kernel[i]);
	return add(mul(group, size), flatten(l, d->n, d->kernel, k));
}

/* x of channel c at real coordinates: the sum over the 2^n elements around them. */
static expr between(const struct deformed *d, expr n, expr c, const expr *at)
{
	expr sum = NULL, index[IR_MAX_RANK], floor[IR_MAX_RANK], part[IR_MAX_RANK], inside, weight, e;

	for (int i = 0; i < d->n; i++) {
		/* far outside counts as just outside: the index stays small */
		expr p = clamp(at[i], with(at[i], -2), cast(addi(d->win.in[i], 1), at[i]->type));

		floor[i] = unary(IR_FLOOR, p);
		part[i] = sub(p, floor[i]);
		floor[i] = cast(floor[i], TYPE_INDEX);
	}
	index[0] = n;
	index[1] = c;
	for (int corner = 0; corner < 1 << d->n; corner++) {
		inside = weight = NULL;
		for (int i = 0; i < d->n; i++) {
			bool up = corner >> i & 1;
			expr j = addi(floor[i], up), here = and_(ge(j, with(j, 0)), lt(j, d->win.in[i]));
			expr f = up ? part[i] : sub(with(part[i], 1), part[i]);

			index[2 + i] = j;
			inside = inside ? and_(inside, here) : here;
			weight = weight ? mul(weight, f) : f;
		}
		e = mul(weight, wide(load(d->x, index)));
		e = select_(inside, e, with(e, 0));
		sum = sum ? add(sum, e) : e;
	}
	return sum;
}

/* [n, c, k..., o...]: the value of channel c that place k of the kernel reads for output o. */
static struct value read_places(struct lower *l, const struct deformed *d)
{
	enum type t = compute_type(value_type(d->x));
	struct space s = { 0 };
	expr n = space_push(l, &s, value_dim(d->x, 0)), c = space_push(l, &s, value_dim(d->x, 1)), place;
	expr at[IR_MAX_RANK], index[IR_MAX_RANK], e;

	for (int i = 0; i < d->n; i++)
		space_push(l, &s, d->kernel[i]);
	for (int i = 0; i < d->n; i++)
		index[2 + i] = space_push(l, &s, d->win.out[i]);
	place = kernel_place(l, d, c, &s.at[2]);
	index[0] = n;
	for (int i = 0; i < d->n; i++) {
		index[1] = addi(muli(place, d->n), i);
		at[i] = add(cast(window_position(&d->win, i, s.at[2 + d->n + i], s.at[2 + i]), t),
		            cast(load(d->offset, index), t));
	}
	e = between(d, n, c, at);
	if (d->mask.given) {
		index[1] = place;
		e = mul(e, cast(load(d->mask, index), t));
	}
	return lower_map(l, "places", value_type(d->x), &s, e);
}

static int check(struct lower *l, const struct deformed *d)
{
	int rank = value_rank(d->x);
	int64_t channels, filters;

	if (rank < 3 || rank != value_rank(d->w) || rank != value_rank(d->offset) ||
	    (d->mask.given && rank != value_rank(d->mask)))
		return lower_fail(l, ERR_MODEL,
		                  "input, weights, offset and mask must have the same number of axes, three or more.");
	if (d->n > 3)
		return lower_fail(l, ERR_UNSUPPORTED, "it has %d spatial axes; three are the most.", d->n);
	if (d->groups < 1 || d->offset_groups < 1)
		return lower_fail(l, ERR_MODEL, "group and offset_group must be positive.");
	if (ir_const_int(value_dim(d->x, 1), &channels) &&
	    (channels % d->offset_groups ||
	     (ir_const_int(value_dim(d->w, 1), &filters) && channels != filters * d->groups)))
		return lower_fail(l, ERR_MODEL,
		                  "%lld channels do not fit the weights, %lld groups and %lld offset groups.",
		                  (long long)channels, (long long)d->groups, (long long)d->offset_groups);
	return 0;
}

/* Channels of all inputs follow from each other. */
static int check_channels(struct lower *l, const struct deformed *d)
{
	expr taps = idx(l, d->offset_groups);

	for (int i = 0; i < d->n; i++)
		taps = mul(taps, d->kernel[i]);
	TRY(lower_demand_extent(l, IR_SAME, muli(value_dim(d->w, 1), d->groups), d->x, 1));
	TRY(lower_demand_multiple(l, d->x, 1, d->offset_groups));
	TRY(lower_demand_multiple(l, d->w, 0, d->groups));
	TRY(lower_demand_extent(l, IR_SAME, muli(taps, d->n), d->offset, 1));
	return d->mask.given ? lower_demand_extent(l, IR_SAME, taps, d->mask, 1) : 0;
}

int deformed_convolution(struct lower *l, struct deformed *d, struct value bias,
                         int (*read)(struct lower *l, struct deformed *d))
{
	expr from[IR_MAX_RANK], w[IR_MAX_RANK], m, c, e, post = NULL;
	struct space s = { 0 };
	struct value places;

	d->n = value_rank(d->x) - 2;
	TRY(check(l, d));
	for (int i = 0; i < d->n; i++)
		d->kernel[i] = value_dim(d->w, 2 + i);
	TRY(read(l, d));
	TRY(check_channels(l, d));
	places = read_places(l, d);

	from[0] = space_push(l, &s, value_dim(d->x, 0));
	m = w[0] = space_push(l, &s, value_dim(d->w, 0));
	for (int i = 0; i < d->n; i++)
		from[2 + d->n + i] = space_push(l, &s, d->win.out[i]);
	c = w[1] = space_push(l, &s, value_dim(d->w, 1));
	for (int i = 0; i < d->n; i++)
		from[2 + i] = w[2 + i] = space_push(l, &s, d->kernel[i]);
	from[1] =
	        d->groups == 1
	                ? c
	                : add(mul(floordiv(m, floordiv(value_dim(d->w, 0), idx(l, d->groups))), value_dim(d->w, 1)), c);
	e = mul(wide(load(places, from)), wide(load(d->w, w)));
	if (bias.given)
		post = add(acc(l, e->type), wide(load(bias, &m)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(d->x), &s, 2 + d->n, IR_SUM, e, post));
	return 0;
}
