/* Lower functions of operators that several domains define with the same meaning; each domain has its own op_def. File
 * shared_NAME.c has the function of NAME. */
#ifndef TPAT_OPS_SHARED_H
#define TPAT_OPS_SHARED_H

#include "ops/lower/lower.h"

int causal_conv_lower(struct lower *l); /* CausalConvWithState */
int gather_nd_lower(struct lower *l);
int linear_attention_lower(struct lower *l);
int pad_lower(struct lower *l);
int range_lower(struct lower *l);
int trilu_lower(struct lower *l);

/* GridSample: with the attributes "mode" and "padding_mode", or with given modes of the same names. */
int grid_sample_lower(struct lower *l);
int grid_sample(struct lower *l, const char *mode, const char *padding);

/* Parts of the op_defs that the domains share. */
#define CAUSAL_CONV_FORMULA "y = causal convolution of each channel of past_state and input with its weights, + bias"
#define CAUSAL_CONV_INPUTS \
	{ IN("input", TS_FLOAT), IN("weight", TS_FLOAT, RANK(3)), OPT("bias", TS_FLOAT, RANK(1)), \
	  OPT("past_state", TS_FLOAT) }
#define CAUSAL_CONV_ACTIVATION ATTR_WORD("activation", "none|silu|swish", "applied to the result")

#define LINEAR_ATTENTION_FORMULA "y = scale S^T q of each step, with S = exp(g) S + beta k (v - (exp(g) S)^T k)^T"
#define LINEAR_ATTENTION_INPUTS \
	{ IN("query", TS_FLOAT32),       IN("key", TS_FLOAT32),    IN("value", TS_FLOAT32), \
	  OPT("past_state", TS_FLOAT32), OPT("decay", TS_FLOAT32), OPT("beta", TS_FLOAT32) }
#define LINEAR_ATTENTION_ATTRS \
	ATTR_INT("chunk_size", 64, "a hint for tuning; has no effect"), \
	        ATTR_INT_REQUIRED("kv_num_heads", "heads of keys, values and states"), \
	        ATTR_INT_REQUIRED("q_num_heads", "heads of queries"), \
	        ATTR_FLOAT("scale", 0, "of the result; 0: 1 / sqrt(d_k)"), \
	        ATTR_WORD("update_rule", "gated_delta|linear|gated|delta", "how a step changes the state")

#define GRID_SAMPLE_CORNERS \
	ATTR_INT("align_corners", 0, "1: -1 and 1 are the centres of the outer elements; 0: their outer edges")

#endif
