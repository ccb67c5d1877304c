/* DeformConv: a convolution whose places in the input are moved by offsets, and weighted by a mask:
 *   y[n, m, o...] = b[m] + sum over c, k... of w[m, c, k...] * mask[n, k, o...] * x(n, g C/G + c, p),
 *   p = o * stride + k * dilation - pad + offset[n, k, :, o...]
 * where x between its elements is interpolated linearly, and zero outside. Channels of one offset group share
 * offsets. What is read of x is a stage of its own: every output channel uses it.
 * The plugins of the same meaning have their inputs in another order, and strides, padding and dilations by other
 * names. Sources: ONNX, operator DeformConv, opsets 19 and 22; the READMEs of TensorRT's modulatedDeformConvPlugin and
 * of mmdeploy's TensorRT and ONNX Runtime operators; mmcv's symbolic function of DeformConv2d. */
#include "ops/lower/window.h"

#include <string.h>

struct deformed {
	struct value x, w, offset, mask;
	int n; /* spatial axes */
	int64_t groups, offset_groups;
	struct window win;
	expr kernel[IR_MAX_RANK];
};

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

/* [n, c, k..., o...]: what the kernel's place k reads of channel c for output o. */
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
	return lower_map(l, "places", t, &s, e);
}

static int check(struct lower *l, const struct deformed *d)
{
	int rank = value_rank(d->x);
	int64_t channels, filters;

	if (rank < 3 || rank != value_rank(d->w) || rank != value_rank(d->offset) ||
	    (d->mask.given && rank != value_rank(d->mask)))
		return lower_fail(l, ERR_MODEL,
		                  "input, weights, offset and mask must have the same number of axes, three "
		                  "or more.");
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

/* The node's output, once `d` is filled in but for the window, which `read` makes. */
static int convolve(struct lower *l, struct deformed *d, struct value bias,
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
	e = mul(load(places, from), wide(load(d->w, w)));
	if (bias.given)
		post = add(acc(l, e->type), wide(load(bias, &m)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(d->x), &s, 2 + d->n, IR_SUM, e, post));
	return 0;
}

static int onnx_window(struct lower *l, struct deformed *d)
{
	return window_read(l, d->x, d->n, d->kernel, false, &d->win);
}

static int lower(struct lower *l)
{
	struct deformed d = { .x = lower_input(l, 0),
		              .w = lower_input(l, 1),
		              .offset = lower_input(l, 2),
		              .mask = lower_input(l, 4),
		              .groups = lower_int(l, "group"),
		              .offset_groups = lower_int(l, "offset_group") };

	return convolve(l, &d, lower_input(l, 3), onnx_window);
}

/* ---- Plugins: one entry for both axes, or one for each; padding also as before and after of each. */

static int plugin_entry(struct lower *l, const char *name, int i, int64_t otherwise, int64_t least, int64_t *out)
{
	struct ints v = lower_ints(l, name);

	if (v.n != 0 && v.n != 1 && v.n != 2 && !(v.n == 4 && !strcmp(name, "padding")))
		return lower_fail(l, ERR_MODEL, "%s has %d entries; it needs one for each of two axes.", name, v.n);
	*out = !v.n ? otherwise : v.at[i * v.n / 2];
	if (*out < least)
		return lower_fail(l, ERR_MODEL, "%s has the entry %lld; %lld is the least.", name, (long long)*out,
		                  (long long)least);
	return 0;
}

static int plugin_window(struct lower *l, struct deformed *d)
{
	struct window *w = &d->win;
	int64_t padding;
	expr reach;

	if (d->n != 2)
		return lower_fail(l, ERR_MODEL, "the input has %d spatial axes; it must have two.", d->n);
	w->n = d->n;
	for (int i = 0; i < d->n; i++) {
		TRY(plugin_entry(l, "stride", i, 1, 1, &w->stride[i]));
		TRY(plugin_entry(l, "dilation", i, 1, 1, &w->dilation[i]));
		TRY(plugin_entry(l, "padding", i, 0, 0, &padding));
		w->in[i] = value_dim(d->x, 2 + i);
		w->kernel[i] = d->kernel[i];
		w->before[i] = w->after[i] = idx(l, padding);
		reach = addi(muli(addi(w->kernel[i], -1), w->dilation[i]), 1);
		w->out[i] = addi(floordiv(sub(addi(w->in[i], 2 * padding), reach), idx(l, w->stride[i])), 1);
	}
	return 0;
}

/* The number of groups, under whichever of two names it comes. */
static int64_t either(struct lower *l, const char *name, const char *other)
{
	return lower_int(l, lower_has(l, name) ? name : other);
}

static int plugin_convolve(struct lower *l, struct value mask, struct value w, struct value bias)
{
	struct deformed d = { .x = lower_input(l, 0),
		              .w = w,
		              .offset = lower_input(l, 1),
		              .mask = mask,
		              .groups = either(l, "group", "groups"),
		              .offset_groups = either(l, "deformable_group", "deform_groups") };

	return convolve(l, &d, bias, plugin_window);
}

static int modulated_lower(struct lower *l)
{
	return plugin_convolve(l, lower_input(l, 2), lower_input(l, 3), lower_input(l, 4));
}

static int plain_lower(struct lower *l)
{
	return plugin_convolve(l, lower_input(l, 3), lower_input(l, 2), lower_input(l, 4));
}

/* clang-format off */
#define PLUGIN                                                                                                         \
	.domain = OP_ANY_DOMAIN, .since = { 1 }, \
	.formula = "y = convolution of x, read at places moved by offset, with w, + b"
#define PLUGIN_ATTRS                                                                                                   \
	ATTR_INTS("stride", "steps of the window"), ATTR_INTS("padding", "padding on both sides of each axis"),        \
	ATTR_INTS("dilation", "steps inside the window"), ATTR_INT("group", 1, "groups of channels that do not mix"),  \
	ATTR_INT("groups", 1, "the same"),                                                                             \
	ATTR_INT("deformable_group", 1, "groups of channels that share offsets"),                                      \
	ATTR_INT("deform_groups", 1, "the same")
#define MODULATED                                                                                                      \
	PLUGIN,                                                                                                        \
	.inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("offset", TS_FLOAT, RANK_FROM(3)), \
	            IN("mask", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), \
	            OPT("b", TS_FLOAT, RANK(1)) }, \
	.outputs = { OUT("y") }, .attrs = { PLUGIN_ATTRS }, .lower = modulated_lower

const struct op_def ops_deform_conv[] = {
	{ .name = "DeformConv", .since = { 19, 22 },
	  .formula = "y = convolution of x, read at places moved by offset, with w, + b",
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)),
		      IN("offset", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)),
		      OPT("mask", TS_FLOAT, RANK_FROM(3)) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_INTS("kernel_shape", "extents of the window"), ATTR_INTS("strides", "steps of the window"),
		     ATTR_INTS("dilations", "steps inside the window"),
		     ATTR_INTS("pads", "padding before each spatial axis, then after each"),
		     ATTR_WORD("auto_pad", "NOTSET", "must be NOTSET"),
		     ATTR_INT("group", 1, "groups of channels that do not mix"),
		     ATTR_INT("offset_group", 1, "groups of channels that share offsets") },
	  .lower = lower,
	  .cases = { "x:f32[N,4,H,W] w:f32[8,4,3,3] offset:f32[N,18,H,W] mask:f32[N,9,H,W] pads=1,1,1,1 opset=19" } },
	{ .name = "ModulatedDeformConv2d", MODULATED,
	  .cases = { "x:f32[N,4,H,W] offset:f32[N,18,H,W] mask:f32[N,9,H,W] w:f32[8,4,3,3] b:f32[8] stride=1,1 "
		     "padding=1,1 dilation=1,1 group=1 deformable_group=1" } },
	{ .name = "MMCVModulatedDeformConv2d", MODULATED,
	  .cases = { "x:f16[N,4,H,W] offset:f16[N,36,H,W] mask:f16[N,18,H,W] w:f16[8,2,3,3] padding=1 groups=2 "
		     "deform_groups=2" } },
	{ .name = "MMCVDeformConv2d", PLUGIN,
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("offset", TS_FLOAT, RANK_FROM(3)),
		      IN("w", TS_FLOAT, RANK_FROM(3)), OPT("mask", TS_FLOAT, RANK_FROM(3)),
		      OPT("b", TS_FLOAT, RANK(1)) },
	  .outputs = { OUT("y") },
	  .attrs = { PLUGIN_ATTRS, ATTR_INT("bias", 0, "no meaning"), ATTR_INT("im2col_step", 32, "no meaning") },
	  .lower = plain_lower,
	  .cases = { "x:f32[N,4,H,W] offset:f32[N,18,5,5] w:f32[8,4,3,3] stride=2,2 padding=0,0,0,0 dilation=1,1 "
		     "groups=1 deform_groups=1" } },
	{ .name = NULL },
};
/* clang-format on */
