/* NhwcConv: Conv with channels as the last axis of the data. QLinearConv: ONNX's, with channels optionally last.
 * ConvTransposeWithDynamicPads: ConvTranspose with the pads as an input.
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/convolution.h"
#include "ops/lower/quantize.h"

static int transposed_lower(struct lower *l)
{
	return convolution_transposed(l, 2, 3);
}

/* clang-format off */
const struct op_def ops_contrib_conv[] = {
	{ .name = "NhwcConv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = convolution of x with w, + bias, channels last",
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)) },
	  .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, GROUP_ATTR }, .lower = convolution_lower,
	  .cases = { "x:f16[N,H,W,8] w:f16[16,8,3,3] b:f16[16] pads=1,1,1,1",
		     "x:f32[N,12,14,4] w:f32[6,2,3,2] group=2" } },
	{ .name = "QLinearConv", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = saturate(round((convolution + b) * x_scale * w_scale / y_scale) + y_zero_point)",
	  .inputs = { IN("x", TS_Q8, RANK_FROM(3)), IN("x_scale", TS(F32)), IN("x_zero_point", TS_Q8),
		      IN("w", TS_Q8, RANK_FROM(3)), IN("w_scale", TS(F32), RANKS(0, 1)),
		      IN("w_zero_point", TS_Q8, RANKS(0, 1)), IN("y_scale", TS(F32)), IN("y_zero_point", TS_Q8),
		      OPT("b", TS(I32), RANK(1)) },
	  .outputs = { OUT("y") },
	  .attrs = { WINDOW_ATTRS, GROUP_ATTR,
		     ATTR_INT("channels_last", 0, "1: channels are the last axis of x and y") },
	  .lower = convolution_qlinear_lower,
	  .cases = { "x:u8[N,H,W,3] x_scale:f32[] x_zero_point:u8[] w:i8[16,3,3,3] w_scale:f32[16] w_zero_point:i8[16] "
		     "y_scale:f32[] y_zero_point:u8[] b:i32[16] channels_last=1" } },
	{ .name = NULL },
};
/* clang-format on */

const struct op_def op_conv_transpose_dynamic = {
	.name = "ConvTransposeWithDynamicPads",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = transposed convolution of x with w, + b",
	.inputs = { IN("x", TS_FLOAT), IN("w", TS_FLOAT), OPT("pads", TS(I64)), OPT("b", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_INTS("kernel_shape", "extents of the window"), ATTR_INTS("strides", "steps of the window"),
	           ATTR_INTS("dilations", "steps inside the window"),
	           ATTR_WORD("auto_pad", "NOTSET|SAME_UPPER|SAME_LOWER|VALID", "padding that follows from the extents"),
	           GROUP_ATTR, ATTR_INTS("output_padding", "added to the result's extents, at the end"),
	           ATTR_INTS("output_shape", "the result's spatial extents; padding follows from them") },
	.lower = transposed_lower,
	.cases = { "x:f32[N,6,H,W] w:f32[6,4,3,3] pads:i64[4]={1,0,1,1} b:f32[4] strides=2,2" },
};
