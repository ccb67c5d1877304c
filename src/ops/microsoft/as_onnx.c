/* Operators of com.microsoft with the meaning of ONNX's operators of the same name; most came before those. Some take
 * other types, have more attributes, or leave an input out. Source: ONNX Runtime, the operators of these names in
 * com.microsoft. */
#include "ops/lower/quantize.h"
#include "ops/lower/shared.h"

/* clang-format off */
#define TS_CONTRIB (TS_Q8 | TS(I16) | TS(U16) | TS(I4) | TS(U4))

const struct op_def ops_as_onnx[] = {
	{ .name = "CausalConvWithState", .domain = "com.microsoft", .since = { 1 }, .formula = CAUSAL_CONV_FORMULA,
	  .inputs = CAUSAL_CONV_INPUTS, .outputs = { OUT("output"), OPTOUT("present_state") },
	  .attrs = { CAUSAL_CONV_ACTIVATION, ATTR_INT("ndim", 1, "spatial axes: 1"),
		     ATTR_INT("dilation", 1, "places between taps"),
		     ATTR_INT("channels_last", 0, "the channels are the last axes"),
		     ATTR_INT("state_window", 0,
			      "states after each of the last places; 0: one state, without that axis") },
	  .lower = causal_conv_lower,
	  .cases = { "input:f16[B,64,L] weight:f16[64,1,4] bias:f16[64] past_state:f16[B,64,6] dilation=2 outputs=2",
		     "input:f32[B,L,2,9] weight:f32[18,1,3] past_state:f32[3,B,2,2,9] channels_last=1 state_window=3 "
		     "activation=silu outputs=2" } },
	{ .name = "LinearAttention", .domain = "com.microsoft", .since = { 1 },
	  .formula = LINEAR_ATTENTION_FORMULA, .inputs = LINEAR_ATTENTION_INPUTS,
	  .outputs = { OUT("output"), OPTOUT("present_state") }, .attrs = { LINEAR_ATTENTION_ATTRS,
		     ATTR_INT("state_window", 0,
			      "how many of the last states past_state and present_state hold; 0: one") },
	  .lower = linear_attention_lower,
	  .cases = { "query:f32[2,T,16] key:f32[2,T,32] value:f32[2,T,32] past_state:f32[2,2,2,16,16] "
		     "update_rule=linear q_num_heads=1 kv_num_heads=2 state_window=2" } },
	{ .name = "GatherND", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[i.., j..] = x[indices[i.., 0], indices[i.., 1] .., j..]",
	  .inputs = { IN("data", TS_DATA), IN("indices", TS_INDICES) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("batch_dims", 0, "not of this domain's operator") }, .lower = gather_nd_lower,
	  .cases = { "data:f32[20,30,8] indices:i32[N,2]" } },
	{ .name = "Pad", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[i...] = x[i - begin ...], outside by the mode",
	  .inputs = { IN("data", TS_ALL), IN("pads", TS(I64)), OPT("value", TS_ALL) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_WORD("mode", "constant|reflect|edge|wrap", "the values outside") }, .lower = pad_lower,
	  .cases = { "data:f32[N,3,H,W] pads:i64[8]={0,0,1,1,0,0,1,2}",
		     "data:f32[N,W] pads:i64[1,4]={0,2,0,1} mode=edge" } },
	{ .name = "Range", .domain = "com.microsoft", .since = { 1 }, .formula = "y[i] = start + i * delta",
	  .inputs = { IN("start", TS_NUMBER), IN("limit", TS_NUMBER), OPT("delta", TS_NUMBER) },
	  .outputs = { OUT("output") }, .lower = range_lower,
	  .cases = { "start:i64[1]={3} limit:i64[1]={30}", "start:f32[]={10} limit:f32[]={4} delta:f32[]={-0.5}" } },
	{ .name = "Trilu", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[i,j] = x[i,j] where j >= i + k (lower: j <= i + k), else 0",
	  .inputs = { IN("input", TS_DATA), OPT("k", TS(I64)) }, .outputs = { OUT("output") },
	  .attrs = { ATTR_INT("upper", 1, "1: what is above the diagonal stays; 0: what is below") },
	  .lower = trilu_lower, .cases = { "input:f32[N,M,M] k:i64[]={1}" } },
	{ .name = "GridSample", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y[n, c, h, w] = x[n, c, ..] interpolated at grid[n, h, w, :]",
	  .inputs = { IN("x", TS_FLOAT), IN("grid", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_WORD("mode", "bilinear|nearest|bicubic", "interpolation"),
		     ATTR_WORD("padding_mode", "zeros|border|reflection", "what lies outside"), GRID_SAMPLE_CORNERS },
	  .lower = grid_sample_lower,
	  .cases = { "x:f32[N,3,H,W] grid:f32[N,5,6,2] mode=bicubic padding_mode=border" } },
	{ .name = "QuantizeLinear", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = saturate(round(x / y_scale) + y_zero_point)",
	  .inputs = { IN("x", TS_FLOAT32), IN("y_scale", TS_FLOAT32), OPT("y_zero_point", TS_CONTRIB) },
	  .outputs = { OUT("y") }, .attrs = { QUANTIZE_PLACE, QUANTIZE_TYPE, ATTR_INT("saturate", 1, "of 8-bit floats"),
		     ATTR_INT("precision", 0, "has no effect") },
	  .lower = quantize_lower, .cases = { "x:f32[N,33] y_scale:f32[] y_zero_point:u16[]" } },
	{ .name = "DequantizeLinear", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = (x - x_zero_point) * x_scale",
	  .inputs = { IN("x", TS_CONTRIB | TS(I32)), IN("x_scale", TS_FLOAT32),
		      OPT("x_zero_point", TS_CONTRIB | TS(I32)) },
	  .outputs = { OUT("y") }, .attrs = { QUANTIZE_PLACE, QUANTIZE_TYPE }, .lower = dequantize_lower,
	  .cases = { "x:u16[N,33] x_scale:f32[] x_zero_point:u16[]" } },
	{ .name = NULL },
};
/* clang-format on */
