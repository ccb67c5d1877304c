/* Conv: y[n, m, o...] = bias[m] + sum over c, k... of x[n, g C/G + c, o stride + k dilation - pad ...] * w[m, c,
 * k...], where g is the group of output channel m, and x is 0 outside. ConvInteger: the same for x - x_zero_point and
 * w - w_zero_point, whose padding is 0 after the subtraction. QLinearConv: ConvInteger with an i32 bias, quantised to
 * 8 bits. Source: ONNX, operators Conv (opsets 1 to 22), ConvInteger (10), QLinearConv (10). */
#include "ops/lower/convolution.h"
#include "ops/lower/quantize.h"

/* clang-format off */
const struct op_def ops_conv[] = {
	{ .name = "Conv", .since = { 1, 11, 22 }, .formula = "y = convolution of x with w, + bias",
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)) },
	  .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, GROUP_ATTR }, .lower = convolution_lower,
	  .cases = { "x:f32[N,3,H,W] w:f32[16,3,3,3] b:f32[16] pads=1,1,1,1",
		     "x:f16[N,32,28,28] w:f16[32,1,3,3] group=32 strides=2,2 auto_pad=SAME_UPPER",
		     "x:f32[N,8,L] w:f32[4,8,5] dilations=2" } },
	{ .name = "ConvInteger", .since = { 10 },
	  .formula = "y = convolution of x - x_zero_point with w - w_zero_point",
	  .inputs = { IN("x", TS_Q8, RANK_FROM(3)), IN("w", TS_Q8, RANK_FROM(3)), OPT("x_zero_point", TS_Q8),
		      OPT("w_zero_point", TS_Q8, RANKS(0, 1)) },
	  .outputs = { OUT("y") }, .attrs = { WINDOW_ATTRS, GROUP_ATTR }, .lower = convolution_integer_lower,
	  .cases = { "x:u8[N,64,H,W] w:i8[64,64,3,3] x_zero_point:u8[] w_zero_point:i8[] pads=1,1,1,1",
		     "x:u8[N,3,32,32] w:u8[16,3,3,3] strides=2,2" } },
	{ .name = "QLinearConv", .since = { 10 },
	  .formula = "y = saturate(round((convolution + b) * x_scale * w_scale / y_scale) + y_zero_point)",
	  .inputs = { IN("x", TS_Q8, RANK_FROM(3)), IN("x_scale", TS(F32)), IN("x_zero_point", TS_Q8),
		      IN("w", TS_Q8, RANK_FROM(3)), IN("w_scale", TS(F32), RANKS(0, 1)),
		      IN("w_zero_point", TS_Q8, RANKS(0, 1)), IN("y_scale", TS(F32)), IN("y_zero_point", TS_Q8),
		      OPT("b", TS(I32), RANK(1)) },
	  .outputs = { OUT("y") }, .attrs = { WINDOW_ATTRS, GROUP_ATTR }, .lower = convolution_qlinear_lower,
	  .cases = { "x:u8[N,3,H,W] x_scale:f32[] x_zero_point:u8[] w:i8[16,3,3,3] w_scale:f32[16] w_zero_point:i8[16] "
		     "y_scale:f32[] y_zero_point:u8[] b:i32[16]" } },
	{ .name = NULL },
};
/* clang-format on */
