/* QuantizeLinear, DequantizeLinear: see quantize.c. Source: ONNX, opsets 10 to 28. */
#include "ops/lower/quantize.h"

/* clang-format off */
#define OPSETS { 10, 13, 19, 21, 23, 24, 25, 28 }

const struct op_def ops_quantize_linear[] = {
	{ .name = "QuantizeLinear", .since = OPSETS, .formula = "y = saturate(round(x / y_scale) + y_zero_point)",
	  .inputs = { IN("x", TS_FLOAT32 | TS(I32)), IN("y_scale", TS_FLOAT32 | TS(I32) | TS(F8E8M0)),
		      OPT("y_zero_point", TS_QUANTIZED) },
	  .outputs = { OUT("y") },
	  .attrs = { QUANTIZE_PLACE, QUANTIZE_TYPE,
		     ATTR_INT("saturate", 1, "to 8-bit floats: too large becomes the largest finite value"),
		     ATTR_INT("precision", 0, "type of the quotient, as a number; 0: y_scale's") },
	  .lower = quantize_lower,
	  .cases = { "x:f32[N,33] y_scale:f32[] y_zero_point:u8[]",
		     "x:f32[N,8,H] y_scale:f32[8] y_zero_point:i8[8] opset=13",
		     "x:f16[N,64] y_scale:f16[N,2] y_zero_point:i8[N,2] block_size=32 opset=21",
		     "x:f16[N,7,H] y_scale:f16[7] y_zero_point:i4[7] opset=21",
		     "x:f32[N,64] y_scale:f8e8m0[N,2] output_dtype=23 block_size=32 opset=28" } },
	{ .name = "DequantizeLinear", .since = OPSETS, .formula = "y = (x - x_zero_point) * x_scale",
	  .inputs = { IN("x", TS_QUANTIZED | TS(I32)), IN("x_scale", TS_FLOAT32 | TS(F8E8M0)),
		      OPT("x_zero_point", TS_QUANTIZED | TS(I32)) },
	  .outputs = { OUT("y") }, .attrs = { QUANTIZE_PLACE, QUANTIZE_TYPE }, .lower = dequantize_lower,
	  .cases = { "x:u8[N,33] x_scale:f32[] x_zero_point:u8[]",
		     "x:i8[N,8,H] x_scale:f32[8] x_zero_point:i8[8] opset=13",
		     "x:i8[N,64] x_scale:f16[N,2] block_size=32 opset=21",
		     "x:u4[N,9] x_scale:f32[9] x_zero_point:u4[9] opset=21",
		     "x:u2[N,64] x_scale:f16[N,2] x_zero_point:u2[N,2] block_size=32 opset=25",
		     "x:f4e2m1[N,64] x_scale:f8e8m0[N,2] output_dtype=10 block_size=32 opset=28" } },
	{ .name = NULL },
};
/* clang-format on */
