/* Convolutions over any number of spatial axes, of floats and of quantised numbers; channels first or last. */
#include "ops/lower/convolution.h"
#include "ops/lower/quantize.h"

struct convolution {
	struct space s;                      /* n, m, o..., then c, k... */
	int rank;                            /* the result's rank */
	expr x[IR_MAX_RANK], w[IR_MAX_RANK]; /* indices of the elements */
	expr inside, m;
};

static int begin(struct lower *l, struct value given, struct value w, struct convolution *c)
{
	bool last = window_channels_last(l);
	struct value x = last ? window_channels_first(l, given) : given;
	int rank = value_rank(x), n = rank - 2;
	int64_t groups = lower_int(l, "group"), out_channels, in_channels, filter;
	struct ints shape = lower_ints(l, "kernel_shape");
	struct window win;
	expr channel, per_group, channels = value_dim(w, 1), out[IR_MAX_RANK];

	if (rank < 3 || value_rank(w) != rank)
		return lower_fail(l, ERR_MODEL,
		                  "input and weights have %d and %d axes; both need the same number, three or more.",
		                  rank, value_rank(w));
	if (rank + n + 1 > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "it has %d spatial axes; %d are the most.", n,
		                  (IR_MAX_RANK - 3) / 2);
	if (groups < 1 || (ir_const_int(value_dim(w, 0), &out_channels) && out_channels % groups))
		return lower_fail(l, ERR_MODEL, "the output channels cannot be split into %lld groups.",
		                  (long long)groups);
	if (ir_const_int(value_dim(x, 1), &in_channels) && ir_const_int(value_dim(w, 1), &filter) &&
	    in_channels != filter * groups)
		return lower_fail(
		        l, ERR_MODEL, "the input has %lld channels; %lld groups of weights with %lld need %lld.",
		        (long long)in_channels, (long long)groups, (long long)filter, (long long)(filter * groups));
	for (int i = 0; i < shape.n && i < n; i++)
		if (ir_const_int(value_dim(w, 2 + i), &filter) && filter != shape.at[i])
			return lower_fail(l, ERR_MODEL, "kernel_shape and the weights' shape differ.");
	TRY(window_read(l, x, n, &w.buf->dim[2], false, &win));
	if (groups > 1) {
		TRY(lower_demand_extent(l, IR_SAME, muli(value_dim(w, 1), groups), given, last ? rank - 1 : 1));
		TRY(lower_demand_extent(l, IR_SAME, muli(floordiv(value_dim(w, 0), idx(l, groups)), groups), w, 0));
	} else {
		TRY(lower_same(l, given, last ? rank - 1 : 1, w, 1, &channels));
	}

	*c = (struct convolution){ .rank = rank };
	c->x[0] = space_push(l, &c->s, value_dim(x, 0));
	if (!last)
		c->m = space_push(l, &c->s, value_dim(w, 0));
	for (int i = 0; i < n; i++)
		out[i] = space_push(l, &c->s, win.out[i]);
	if (last)
		c->m = space_push(l, &c->s, value_dim(w, 0));
	c->w[0] = c->m;
	channel = space_push(l, &c->s, channels);
	per_group = floordiv(value_dim(w, 0), idx(l, groups));
	c->x[1] = groups == 1 ? channel : add(mul(floordiv(c->m, per_group), value_dim(w, 1)), channel);
	c->w[1] = channel;
	for (int i = 0; i < n; i++) {
		c->w[2 + i] = space_push(l, &c->s, win.kernel[i]);
		c->x[2 + i] = window_position(&win, i, out[i], c->w[2 + i]);
	}
	c->inside = window_inside(&win, &c->x[2]);
	if (last)
		window_move_channel(rank, c->x);
	return 0;
}

static expr zero_outside(const struct convolution *c, expr x)
{
	return select_(c->inside, x, with(x, 0));
}

int convolution_fused(struct lower *l, lower_finish finish)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, 2);
	struct convolution c;
	struct space out;
	expr sum, post = NULL;

	if (value_type(x) != value_type(w) || (bias.given && value_type(bias) != value_type(x)))
		return lower_fail(l, ERR_MODEL, "input, weights and bias must have one type.");
	if (bias.given && value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the bias has %d axes; it must have one.", value_rank(bias));
	if (bias.given)
		TRY(lower_equal(l, bias, 0, w, 0));
	TRY(begin(l, x, w, &c));
	sum = mul(zero_outside(&c, wide(load(x, c.x))), wide(load(w, c.w)));
	if (bias.given)
		post = add(acc(l, sum->type), wide(load(bias, &c.m)));
	if (finish) {
		out = c.s;
		out.rank = c.rank;
		TRY(finish(l, &out, post ? post : acc(l, sum->type), &post));
	}
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &c.s, c.rank, IR_SUM, sum, post));
	return 0;
}

int convolution_lower(struct lower *l)
{
	return convolution_fused(l, NULL);
}

/* One term of the sum, in i32. Zero points have the shapes that ONNX allows. */
static int integer_sum(struct lower *l, struct value x, struct value zx, struct value w, struct value zw,
                       struct convolution *c, expr *out)
{
	expr e, f, zero;

	if (zx.given && value_rank(zx) > 0 && !ir_is_int(value_count(zx), 1))
		return lower_fail(l, ERR_UNSUPPORTED, "the input's zero point must be one number.");
	if (zw.given && value_rank(zw) > 1)
		return lower_fail(l, ERR_MODEL, "the weights' zero point has %d axes; one is the most.",
		                  value_rank(zw));
	TRY(begin(l, x, w, c));
	e = cast(load(x, c->x), TYPE_I32);
	f = cast(load(w, c->w), TYPE_I32);
	if (zx.given)
		e = sub(e, cast(at_first(zx), TYPE_I32));
	if (zw.given) {
		TRY(lower_parameter(l, zw, w, 0, c->m, &zero));
		f = sub(f, cast(zero, TYPE_I32));
	}
	*out = mul(zero_outside(c, e), f);
	return 0;
}

int convolution_integer_lower(struct lower *l)
{
	struct convolution c;
	expr sum;

	TRY(integer_sum(l, lower_input(l, 0), lower_input(l, 2), lower_input(l, 1), lower_input(l, 3), &c, &sum));
	lower_output(l, 0, lower_reduce(l, NULL, TYPE_I32, &c.s, c.rank, IR_SUM, sum, NULL));
	return 0;
}

int convolution_qlinear_lower(struct lower *l)
{
	struct value scale_w = lower_input(l, 4), zero = lower_input(l, 7), bias = lower_input(l, 8);
	struct convolution c;
	expr sum, y, step, factor;

	TRY(integer_sum(l, lower_input(l, 0), lower_input(l, 2), lower_input(l, 3), lower_input(l, 5), &c, &sum));
	if (value_rank(scale_w) > 1 || (bias.given && value_rank(bias) != 1))
		return lower_fail(l, ERR_MODEL,
		                  "the weights' scale and the bias can have one axis, the output channels.");
	y = acc(l, TYPE_I32);
	if (bias.given)
		y = add(y, load(bias, &c.m));
	TRY(lower_parameter(l, scale_w, lower_input(l, 3), 0, c.m, &step));
	factor = divide(mul(at_first(lower_input(l, 1)), step), at_first(lower_input(l, 6)));
	y = quantize_element(mul(cast(y, TYPE_F32), factor), at_first(zero), value_type(zero));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(zero), &c.s, c.rank, IR_SUM, sum, y));
	return 0;
}
