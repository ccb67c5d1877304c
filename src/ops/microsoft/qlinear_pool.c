/* QLinearAveragePool, QLinearGlobalAveragePool: the mean of (x - x_zero) over a window or all spatial axes, times
 * x_scale, quantised to 8 bits. With channels_last the channels are the last axis instead of axis 1.
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/quantize.h"
#include "ops/lower/window.h"

static expr rescaled(struct lower *l, expr sum, expr count)
{
	struct value zero = lower_input(l, 4);
	expr y = divide(cast(sum, TYPE_F32), cast(count, TYPE_F32));

	y = mul(y, divide(at_first(lower_input(l, 1)), at_first(lower_input(l, 3))));
	return quantize_element(y, zero.given ? at_first(zero) : NULL, value_type(lower_input(l, 0)));
}

static expr centred(struct lower *l, expr x)
{
	struct value zero = lower_input(l, 2);

	x = cast(x, TYPE_I32);
	return zero.given ? sub(x, cast(at_first(zero), TYPE_I32)) : x;
}

/* x as if its channels were axis 1: extents, and the element's index back. */
static struct value channels_first(struct lower *l, struct value x, bool last)
{
	struct ir_buffer *b = NEW(l->program->arena, struct ir_buffer);
	int rank = value_rank(x);

	*b = *x.buf;
	for (int i = 1; i < rank && last; i++)
		b->dim[i] = value_dim(x, i == 1 ? rank - 1 : i - 1);
	return (struct value){ .buf = b, .given = true, .pool = x.pool };
}

static void reorder(expr *index, int rank, bool last)
{
	expr channel = index[1];

	if (!last)
		return;
	for (int i = 1; i + 1 < rank; i++)
		index[i] = index[i + 1];
	index[rank - 1] = channel;
}

static int average_lower(struct lower *l)
{
	bool last = lower_int(l, "channels_last") != 0, padding = lower_int(l, "count_include_pad") != 0,
	     hangs = lower_int(l, "ceil_mode") != 0;
	struct value x = lower_input(l, 0), seen = channels_first(l, x, last);
	int rank = value_rank(x), n = rank - 2;
	expr kernel[IR_MAX_RANK], dim[IR_MAX_RANK], index[IR_MAX_RANK], position[IR_MAX_RANK], count = idx(l, 1), e;
	struct window w;
	struct space s;

	if (rank < 3 || rank + n > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs batch, channels and spatial ones.",
		                  rank);
	TRY(window_kernel(l, n, kernel));
	TRY(window_read(l, seen, n, kernel, hangs, &w));
	dim[0] = value_dim(seen, 0);
	dim[last ? rank - 1 : 1] = value_dim(seen, 1);
	for (int i = 0; i < n; i++)
		dim[(last ? 1 : 2) + i] = w.out[i];
	s = space_new(l, rank, dim);
	index[0] = s.at[0];
	index[1] = s.at[last ? rank - 1 : 1];
	for (int i = 0; i < n; i++) {
		expr o = s.at[(last ? 1 : 2) + i];

		count = mul(count, padding && !hangs ? kernel[i] : window_count(&w, i, o, padding));
		index[2 + i] = position[i] = window_position(&w, i, o, space_push(l, &s, kernel[i]));
	}
	reorder(index, rank, last);
	e = centred(l, load(x, index));
	e = select_(window_inside(&w, position), e, with(e, 0));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(x), &s, rank, IR_SUM, e,
	                          rescaled(l, acc(l, TYPE_I32), max_(count, idx(l, 1)))));
	return 0;
}

static int global_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	bool last = lower_int(l, "channels_last") != 0;
	int rank = value_rank(x), channel = last ? rank - 1 : 1;
	expr index[IR_MAX_RANK], count = idx(l, 1);
	struct space s = { 0 };

	if (rank < 3 || 2 * rank - 2 > IR_MAX_RANK)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs batch, channels and spatial ones.",
		                  rank);
	for (int i = 0; i < rank; i++)
		index[i] = space_push(l, &s, i == 0 || i == channel ? value_dim(x, i) : idx(l, 1));
	for (int i = 1; i < rank; i++) {
		if (i == channel)
			continue;
		index[i] = space_push(l, &s, value_dim(x, i));
		count = mul(count, value_dim(x, i));
	}
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(x), &s, rank, IR_SUM, centred(l, load(x, index)),
	                          rescaled(l, acc(l, TYPE_I32), count)));
	return 0;
}

/* clang-format off */
#define INPUTS                                                                                                         \
	{ IN("x", TS_Q8), IN("x_scale", TS(F32)), OPT("x_zero_point", TS_Q8), IN("y_scale", TS(F32)),                  \
	  OPT("y_zero_point", TS_Q8) }
#define CHANNELS_LAST ATTR_INT("channels_last", 0, "channels are the last axis")

const struct op_def ops_qlinear_pool[] = {
	{ .name = "QLinearAveragePool", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = quantized(the mean of x in the window)", .inputs = INPUTS, .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, CHANNELS_LAST, ATTR_INT("ceil_mode", 0, "the last window may hang over the end"),
		     ATTR_INT("count_include_pad", 0, "the mean counts the padding, as zeros") },
	  .lower = average_lower,
	  .cases = { "x:u8[N,8,H,W] x_scale:f32[] x_zero_point:u8[] y_scale:f32[] y_zero_point:u8[] kernel_shape=3,3 "
		     "pads=1,1,1,1",
		     "x:i8[N,14,14,8] x_scale:f32[] x_zero_point:i8[] y_scale:f32[] y_zero_point:i8[] "
		     "kernel_shape=2,2 strides=2,2 channels_last=1" } },
	{ .name = "QLinearGlobalAveragePool", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = quantized(the mean of x over the spatial axes)", .inputs = INPUTS, .outputs = { OUT("y") },
	  .attrs = { CHANNELS_LAST }, .lower = global_lower,
	  .cases = { "x:u8[N,64,7,7] x_scale:f32[] x_zero_point:u8[] y_scale:f32[] y_zero_point:u8[]" } },
	{ .name = NULL },
};
/* clang-format on */
