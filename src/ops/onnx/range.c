/* Range: see shared_range.c. Source: ONNX, opsets 11 and 27. */
#include "ops/lower/shared.h"

const struct op_def op_range = {
	.name = "Range",
	.since = { 11, 27 },
	.formula = "y[i] = start + i * delta",
	.inputs = { IN("start", TS_NUMBER), IN("limit", TS_NUMBER), IN("delta", TS_NUMBER) },
	.outputs = { OUT("output") },
	.attrs = { ATTR_INT("stash_type", 1, "opset 27: type in which f16 and bf16 are computed (f32 here)") },
	.lower = range_lower,
	.cases = { "start:i64[]={3} limit:i64[]={30} delta:i64[]={4}",
	           "start:f32[]={10} limit:f32[]={4} delta:f32[]={-0.5}" },
};
