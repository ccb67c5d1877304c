/* CausalConvWithState: y[n, c, t] = b[c] + sum over k of p[n, c, t + k] * w[c, 0, k], where p is the past state
 * (zeros when it is not given) followed by x; then y * sigmoid(y) if asked for. present_state is the last k - 1
 * places of p.
 * Source: ONNX, operator CausalConvWithState, opset 27. */
#include "ops/lower.h"

#include <string.h>

/* p[n, c, t]: of the past state for t < before. */
static expr padded(struct value x, struct value past, expr n, expr c, expr t, expr before)
{
	expr now = load_list(x, 3, n, c, sub(t, before));

	return select_(lt(t, before), past.given ? load_list(past, 3, n, c, t) : with(now, 0), now);
}

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, 2), past = lower_input(l, 3);
	struct space s, state = { 0 };
	expr before, k, c, y, e;

	if (value_rank(x) != 3 || value_rank(w) != 3 || (past.given && value_rank(past) != 3))
		return lower_fail(l, ERR_MODEL, "input, weights and state must have three axes.");
	if (bias.given && value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the bias has %d axes; it must have one.", value_rank(bias));
	before = addi(value_dim(w, 2), -1);
	if (past.given)
		TRY(lower_demand_extent(l, IR_SAME, before, past, 2));
	s = space_of(l, x);
	c = s.at[1];
	k = space_push(l, &s, value_dim(w, 2));
	e = mul(wide(padded(x, past, s.at[0], c, add(s.at[2], k), before)), wide(load_list(w, 3, c, idx(l, 0), k)));
	y = acc(l, e->type);
	if (bias.given)
		y = add(y, wide(load(bias, &c)));
	if (strcmp(lower_word(l, "activation"), "none"))
		y = divide(y, add(with(y, 1), unary(IR_EXP, unary(IR_NEG, y))));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(x), &s, 3, IR_SUM, e, y));

	space_push(l, &state, value_dim(x, 0));
	space_push(l, &state, value_dim(x, 1));
	space_push(l, &state, before);
	e = padded(x, past, state.at[0], state.at[1], add(state.at[2], value_dim(x, 2)), before);
	lower_output(l, 1, lower_map(l, "present_state", value_type(x), &state, e));
	return 0;
}

const struct op_def op_causal_conv_with_state = {
	.name = "CausalConvWithState",
	.since = { 27 },
	.formula = "y = causal convolution of each channel of past_state and input with its weights, + bias",
	.inputs = { IN("input", TS_FLOAT, RANK(3)), IN("weight", TS_FLOAT, RANK(3)), OPT("bias", TS_FLOAT, RANK(1)),
	            OPT("past_state", TS_FLOAT, RANK(3)) },
	.outputs = { OUT("output"), OPTOUT("present_state") },
	.attrs = { ATTR_WORD("activation", "none|silu|swish", "applied to the result") },
	.lower = lower,
	.cases = { "input:f32[B,64,L] weight:f32[64,1,4] bias:f32[64] past_state:f32[B,64,3] outputs=2 activation=silu",
	           "input:f16[B,33,L] weight:f16[33,1,3]" },
};
