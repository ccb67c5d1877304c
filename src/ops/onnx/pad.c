/* Pad: see shared_pad.c. Source: ONNX, opsets 1 (paddings), 2 (pads), 11 (inputs), 18 (axes), 19 to 25 (wrap). */
#include "ops/lower/shared.h"

const struct op_def op_pad = {
	.name = "Pad",
	.since = { 1, 2, 11, 13, 18, 19, 21, 23, 24, 25 },
	.formula = "y[i...] = x[i - begin ...], outside by the mode",
	.inputs = { IN("data", TS_ALL), OPT("pads", TS(I64)), OPT("constant_value", TS_ALL), OPT("axes", TS_INDICES) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_WORD("mode", "constant|reflect|edge|wrap", "the values outside"),
	           ATTR_INTS("pads", "opset 2: begins of all axes, then ends"),
	           ATTR_INTS("paddings", "opset 1: the same"),
	           ATTR_FLOAT("value", 0, "before opset 11: the value outside in mode constant") },
	.lower = pad_lower,
	.cases = { "data:f32[N,3,H,W] pads:i64[8]={0,0,1,1,0,0,1,2}",
	           "data:f16[2,3,7] pads:i64[4]={2,-1,3,1} constant_value:f16[]={1.5} axes:i64[2]={1,2} opset=18",
	           "data:f32[N,4,W] pads:i64[6]={0,2,1,0,1,3} mode=reflect",
	           "data:i32[4,5] pads:i64[4]={1,7,2,0} mode=wrap opset=19" },
};
