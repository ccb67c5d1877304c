/* LSTM: of each step, with peepholes p where they are given
 *   i, f = f(x w^T + h r^T + p * c + biases)    k = g(x wc^T + h rc^T + biases)
 *   c = f * c + i * k    o = f(x wo^T + h ro^T + po * c + biases)    h = o * h(c)
 * and with input_forget f = 1 - i. The clip bounds the gates' sums; like ONNX Runtime, not c.
 * Source: ONNX, operator LSTM, opsets 1 to 22. */
#include "ops/lower/recurrent.h"

struct lstm {
	struct recurrent r;
	struct value gates, c, p; /* gates: the sums of i, o, f and k; p: optional, of i, o and f */
};

enum { GATE_I, GATE_O, GATE_F, GATE_K };

/* Gate k of the space's element, with peephole times `cell`. */
static expr gate(struct lstm *m, int k, int function, expr cell)
{
	struct recurrent *r = &m->r;
	const struct space *s = &r->s;
	expr n = add(muli(r->hidden, k), s->at[2]), sum = load_list(m->gates, 3, s->at[0], s->at[1], n);

	if (m->p.given && k != GATE_K)
		sum = add(sum, mul(wide(load_list(m->p, 2, s->at[0], n)), cell));
	return recurrent_apply(r, function, s->at[0], recurrent_clip(r, sum));
}

int lstm_loop(struct recurrent *given, struct value p, bool input_forget,
              struct value (*gates)(struct recurrent *r, struct value h, void *user), void *user)
{
	struct lstm m = { .r = *given, .p = p };
	struct recurrent *r = &m.r;
	struct lower *l = r->l;
	struct value h, next_c, next_h, first_c = lower_input(l, 6);

	if (p.given && value_rank(p) != 2)
		return lower_fail(l, ERR_MODEL, "the peephole weights have %d axes; they must have 2.", value_rank(p));
	if (first_c.given && value_rank(first_c) != 3)
		return lower_fail(l, ERR_MODEL, "initial_c has %d axes; it must have 3.", value_rank(first_c));
	recurrent_begin(r);
	h = recurrent_state(r, "h", 5);
	m.c = recurrent_state(r, "c", 6);
	m.gates = gates(r, h, user);

	expr c = load(m.c, r->s.at), i = gate(&m, GATE_I, 0, c), k = gate(&m, GATE_K, 1, c);
	expr f = input_forget ? sub(with(i, 1), i) : gate(&m, GATE_F, 0, c);

	next_c = lower_map(l, "next_c", r->compute, &r->s, recurrent_keep(r, add(mul(f, c), mul(i, k)), m.c));
	c = load(next_c, r->s.at);
	next_h = lower_map(l, "next_h", r->compute, &r->s,
	                   recurrent_keep(r, mul(gate(&m, GATE_O, 0, c), recurrent_apply(r, 2, r->s.at[0], c)), h));
	lower_next(l, &r->loop, m.c, next_c);
	recurrent_end(r, h, next_h);
	recurrent_last(r, 1, h);
	recurrent_last(r, 2, m.c);
	return 0;
}

/* What the inputs give, and h times the recurrence weights. */
static struct value sums(struct recurrent *r, struct value h, void *user)
{
	const struct value *inputs = user;
	struct space s = recurrent_gates(r, r->gates);
	expr sum = add(acc(r->l, r->compute), recurrent_step(r, *inputs, &s, s.at[2]));

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
