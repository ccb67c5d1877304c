/* QLinearAveragePool, QLinearGlobalAveragePool: the mean of (x - x_zero) over a window or all spatial axes, times
 * x_scale, quantised to 8 bits. With channels_last the channels are the last axis instead of axis 1.
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/pooling.h"
#include "ops/lower/quantize.h"

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

static int average_lower(struct lower *l)
{
	struct pooling p;
	expr e;

	TRY(pooling_begin(l, &p));
	e = centred(l, load(p.in, p.x));
	e = select_(p.inside, e, with(e, 0));
	lower_output(l, 0,
	             lower_reduce(l, NULL, value_type(p.in), &p.s, p.rank, IR_SUM, e,
	                          rescaled(l, acc(l, TYPE_I32), max_(pooling_count(l, &p), idx(l, 1)))));
	return 0;
}

static int global_lower(struct lower *l)
{
	struct value x = lower_input(l, 0);
	bool last = window_channels_last(l);
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
	  .attrs = { WINDOW_ATTRS, CHANNELS_LAST, POOLING_CEIL,
		     ATTR_INT("count_include_pad", 0, "the mean counts the padding, as zeros") },
	  .lower = average_lower,
	  .cases = { "x:u8[N,8,H,W] x_scale:f32[] x_zero_point:u8[] y_scale:f32[] y_zero_point:u8[] kernel_shape=3,3 "
		     "pads=1,1,1,1",
		     "x:i8[N,14,14,8] x_scale:f32[] x_zero_point:i8[] y_scale:f32[] y_zero_point:i8[] kernel_shape=2,2 "
		     "strides=2,2 channels_last=1" } },
	{ .name = "QLinearGlobalAveragePool", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = quantized(the mean of x over the spatial axes)", .inputs = INPUTS, .outputs = { OUT("y") },
	  .attrs = { CHANNELS_LAST }, .lower = global_lower,
	  .cases = { "x:u8[N,64,7,7] x_scale:f32[] x_zero_point:u8[] y_scale:f32[] y_zero_point:u8[]" } },
	{ .name = NULL },
};
/* clang-format on */
