/* ConvTranspose: y[n, m, o...] = b[m] + sum over c, k... of x[n, g C/G + c, i...] * w[g C/G + c, m', k...], over the
 * places with i * stride + k * dilation - pad = o, where g is m's group of output channels and m' its index in the
 * group. Source: ONNX, operator ConvTranspose, opsets 1 to 22. */
#include "ops/lower/convolution.h"

static int lower(struct lower *l)
{
	return convolution_transposed(l, -1, 2);
}

const struct op_def op_conv_transpose = {
	.name = "ConvTranspose",
	.since = { 1, 11, 22 },
	.formula = "y = transposed convolution of x with w, + b",
	.inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)) },
	.outputs = { OUT("y") },
	.attrs = { WINDOW_ATTRS, GROUP_ATTR, ATTR_INTS("output_padding", "added to the result's extents, at the end"),
	           ATTR_INTS("output_shape", "the result's spatial extents; padding follows from them") },
	.lower = lower,
	.cases = { "x:f32[N,16,H,W] w:f32[16,8,4,4] b:f32[8] strides=2,2 pads=1,1,1,1",
	           "x:f16[N,8,14,14] w:f16[8,1,3,3] group=8 strides=2,2 output_padding=1,1",
	           "x:f32[N,4,L] w:f32[4,3,5] dilations=2 strides=2 auto_pad=SAME_UPPER" },
};
