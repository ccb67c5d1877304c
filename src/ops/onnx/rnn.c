/* RNN: h of a step = f(x w^T + r h^T + biases), with h of the previous step. Source: ONNX, operator RNN, opsets 1 to
 * 22. */
#include "ops/lower/recurrent.h"

static int lower(struct lower *l)
{
	struct recurrent r;

	TRY(recurrent_read(l, &r, false, 1, 1, (const char *const[]){ "Tanh" }));
	struct value inputs = recurrent_inputs(&r, recurrent_biases);
	recurrent_begin(&r);
	struct value h = recurrent_state(&r, "h", 5);
	struct space s = recurrent_gates(&r, r.hidden);
	expr *at = s.at, sum = add(acc(l, r.compute), recurrent_step(&r, inputs, &s, at[2]));
	struct value next =
	        recurrent_sum(&r, "next_h", &s, load_list(h, 3, at[0], at[1], at[3]), at[2],
	                      recurrent_keep(&r, recurrent_apply(&r, 0, at[0], recurrent_clip(&r, sum)), h));

	recurrent_end(&r, h, next);
	recurrent_last(&r, 1, h);
	return 0;
}

const struct op_def op_rnn = {
	.name = "RNN",
	.since = { 1, 7, 14, 22 },
	.formula = "h of a step = f(x w^T + h of the step before r^T + biases)",
	.inputs = { IN("x", TS_FLOAT, RANK(3)), IN("w", TS_FLOAT, RANK(3)), IN("r", TS_FLOAT, RANK(3)),
	            OPT("b", TS_FLOAT, RANK(2)), OPT("sequence_lens", TS(I32), RANK(1)),
	            OPT("initial_h", TS_FLOAT, RANK(3)) },
	.outputs = { OPTOUT("y"), OPTOUT("y_h") },
	.attrs = { RECURRENT_ATTRS },
	.lower = lower,
	.cases = { "x:f32[5,B,24] w:f32[1,40,24] r:f32[1,40,40] b:f32[1,80]",
	           "x:f16[3,2,8] w:f16[2,8,8] r:f16[2,8,8] sequence_lens:i32[2] initial_h:f16[2,2,8] "
	           "direction=bidirectional activations=Relu,Elu" },
};
