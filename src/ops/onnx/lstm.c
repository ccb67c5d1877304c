/* LSTM: each step computes, with optional peephole weights p
 *   i, f = f(x w^T + h r^T + p * c + biases)    k = g(x wc^T + h rc^T + biases)
 *   c = f * c + i * k    o = f(x wo^T + h ro^T + po * c + biases)    h = o * h(c)
 * and with input_forget f = 1 - i. The clip bounds the gates' sums, but not c, as in ONNX Runtime.
 * Source: ONNX, operator LSTM, opsets 1 to 22. */
#include "ops/lower/recurrent.h"

/* The gates' sums: the inputs' part, and h times the recurrence weights. */
static struct value sums(struct recurrent *r, struct value h, void *user)
{
	const struct value *inputs = user;
	struct space s = recurrent_gates(r, r->gates);
	expr sum = add(acc(r->l, r->compute), recurrent_step(r, *inputs, &s, s.at[2]));

	sum = lstm_gate(r, lower_input(r->l, 7).given, &s, s.at[2], sum);

	return recurrent_sum(r, "gates", &s, load_list(h, 3, s.at[0], s.at[1], s.at[3]), s.at[2], sum);
}

static int lower(struct lower *l)
{
	struct recurrent r;

	TRY(recurrent_read(l, &r, false, 4, 3, (const char *const[]){ "Sigmoid", "Tanh", "Tanh" }));
	struct value inputs = recurrent_inputs(&r, recurrent_biases);

	return lstm_loop(&r, lower_input(l, 7), lower_int(l, "input_forget") != 0, sums, &inputs);
}

const struct op_def op_lstm = {
	.name = "LSTM",
	.since = { 1, 7, 14, 22 },
	.formula = "c of a step = f * c + i * g(..), h = o * h(c), with i, o and f = f(x w^T + h r^T + p * c + biases)",
	.inputs = { IN("x", TS_FLOAT, RANK(3)), IN("w", TS_FLOAT, RANK(3)), IN("r", TS_FLOAT, RANK(3)),
	            OPT("b", TS_FLOAT, RANK(2)), OPT("sequence_lens", TS(I32), RANK(1)),
	            OPT("initial_h", TS_FLOAT, RANK(3)), OPT("initial_c", TS_FLOAT, RANK(3)),
	            OPT("p", TS_FLOAT, RANK(2)) },
	.outputs = { OPTOUT("y"), OPTOUT("y_h"), OPTOUT("y_c") },
	.attrs = { RECURRENT_ATTRS, ATTR_INT("input_forget", 0, "1: the forget gate is 1 - i") },
	.lower = lower,
	.cases = { "x:f32[T,B,24] w:f32[1,160,24] r:f32[1,160,40] b:f32[1,320]",
	           "x:f32[3,B,8] w:f32[2,32,8] r:f32[2,32,8] b:f32[2,64] sequence_lens:i32[B] initial_h:f32[2,B,8] "
	           "initial_c:f32[2,B,8] p:f32[2,24] direction=bidirectional",
	           "x:f16[2,3,8] w:f16[1,32,8] r:f16[1,32,8] layout=1 direction=reverse clip=0.5 input_forget=1" },
};
