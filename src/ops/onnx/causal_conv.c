/* CausalConvWithState: see shared_causal_conv.c. Source: ONNX, opset 27. */
#include "ops/lower/shared.h"

/* clang-format off */
const struct op_def ops_causal_conv[] = {
	{ .name = "CausalConvWithState", .since = { 27 }, .formula = CAUSAL_CONV_FORMULA, .inputs = CAUSAL_CONV_INPUTS,
	  .outputs = { OUT("output"), OPTOUT("present_state") }, .attrs = { CAUSAL_CONV_ACTIVATION },
	  .lower = causal_conv_lower,
	  .cases = { "input:f32[B,64,L] weight:f32[64,1,4] bias:f32[64] past_state:f32[B,64,3] outputs=2 "
		     "activation=silu",
		     "input:f16[B,33,L] weight:f16[33,1,3]" } },
	{ .name = NULL },
};
/* clang-format on */
