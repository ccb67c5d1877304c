/* LinearAttention: see shared_linear_attention.c. Source: ONNX, opset 27. */
#include "ops/lower/shared.h"

/* clang-format off */
const struct op_def ops_linear_attention[] = {
	{ .name = "LinearAttention", .since = { 27 }, .formula = LINEAR_ATTENTION_FORMULA,
	  .inputs = LINEAR_ATTENTION_INPUTS,
	  .outputs = { OUT("output"), OPTOUT("present_state") }, .attrs = { LINEAR_ATTENTION_ATTRS },
	  .lower = linear_attention_lower,
	  .cases = { "query:f32[B,T,64] key:f32[B,T,32] value:f32[B,T,48] decay:f32[B,T,2] beta:f32[B,T,2] "
		     "q_num_heads=4 kv_num_heads=2",
		     "query:f16[2,3,32] key:f16[2,3,32] value:f16[2,3,32] past_state:f16[2,2,16,16] decay:f16[2,3,32] "
		     "update_rule=gated q_num_heads=2 kv_num_heads=2",
		     "query:f32[2,3,32] key:f32[2,3,32] value:f32[2,3,32] beta:f32[2,3,1] update_rule=delta scale=0.5 "
		     "q_num_heads=2 kv_num_heads=2",
		     "query:f16[B,1,24] key:f16[B,1,12] value:f16[B,1,8] past_state:f32[B,2,6,4] decay:f16[B,1,D] "
		     "beta:f16[B,1,2] q_num_heads=4 kv_num_heads=2 outputs=2",
		     "query:f16[B,0,24] key:f16[B,0,24] value:f16[B,0,12] past_state:f16[B,3,8,4] q_num_heads=3 "
		     "kv_num_heads=3 update_rule=linear outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
