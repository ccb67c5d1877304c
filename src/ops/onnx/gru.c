/* GRU: each step computes
 *   z = f(x wz^T + h rz^T + biases)    r = f(x wr^T + h rr^T + biases)
 *   n = g(x wh^T + (r * h) rh^T + biases), or with linear_before_reset g(x wh^T + bias + r * (h rh^T + bias))
 *   h = (1 - z) * n + z * h
 * Source: ONNX, operator GRU, opsets 1 to 22 (linear_before_reset since 3). */
#include "ops/lower/recurrent.h"

struct gru {
	struct recurrent r;
	struct value inputs, h, gates; /* gates: z and r; linear_before_reset: then h rh^T + bias */
	bool linear;                   /* before the reset */
};

/* The input bias alone: r multiplies the recurrence bias of the hidden gate. */
static expr input_bias_alone(struct recurrent *r, expr d, expr n)
{
	expr both = recurrent_biases(r, d, n);

	return both ? select_(lt(n, muli(r->hidden, 2)), both, recurrent_input_bias(r, d, n)) : NULL;
}

static expr gate(struct gru *g, int k, expr h)
{
	const struct space *s = &g->r.s;

	return load_list(g->gates, 3, s->at[0], s->at[1], k ? add(muli(g->r.hidden, k), h) : h);
}

/* The new h of element (d, b, i) from the sum that makes the hidden gate's part of the state. */
static expr next_value(struct gru *g, expr from_state)
{
	struct recurrent *r = &g->r;
	const struct space *s = &r->s;
	expr d = s->at[0], i = s->at[2], z = gate(g, 0, i);
	expr sum = add(from_state, recurrent_step(r, g->inputs, s, add(muli(r->hidden, 2), i)));
	expr n = recurrent_apply(r, 1, d, recurrent_clip(r, sum));
	expr now = add(mul(sub(with(z, 1), z), n), mul(z, load(g->h, s->at)));

	return recurrent_keep(r, now, g->h);
}

static struct value gates_of(struct gru *g)
{
	struct recurrent *r = &g->r;
	struct lower *l = r->l;
	expr count = muli(r->hidden, g->linear ? 3 : 2), sum = acc(l, r->compute);
	struct space s = recurrent_gates(r, count);
	expr n = s.at[2], all = recurrent_clip(r, add(sum, recurrent_step(r, g->inputs, &s, n)));
	expr post = recurrent_apply(r, 0, s.at[0], all);
	expr plain = r->b.given ? add(sum, recurrent_state_bias(r, s.at[0], n)) : sum;

	if (g->linear)
		post = select_(lt(n, muli(r->hidden, 2)), post, plain);
	return recurrent_sum(r, "gates", &s, load_list(g->h, 3, s.at[0], s.at[1], s.at[3]), n, post);
}

static int lower(struct lower *l)
{
	struct gru g = { .linear = lower_int(l, "linear_before_reset") != 0 };
	struct recurrent *r = &g.r;
	struct value next;

	TRY(recurrent_read(l, r, false, 3, 2, (const char *const[]){ "Sigmoid", "Tanh" }));
	g.inputs = recurrent_inputs(r, g.linear ? input_bias_alone : recurrent_biases);
	recurrent_begin(r);
	g.h = recurrent_state(r, "h", 5);
	g.gates = gates_of(&g);
	if (g.linear) {
		expr i = r->s.at[2], reset = gate(&g, 1, i), state = gate(&g, 2, i);

		next = lower_map(l, "next_h", r->compute, &r->s, next_value(&g, mul(reset, state)));
	} else {
		struct space s = recurrent_gates(r, r->hidden);
		expr *at = s.at, state = load_list(g.h, 3, at[0], at[1], at[3]);
		expr reset = load_list(g.gates, 3, at[0], at[1], add(r->hidden, at[3]));

		next = recurrent_sum(r, "next_h", &s, mul(reset, state), add(muli(r->hidden, 2), at[2]),
		                     next_value(&g, acc(l, r->compute)));
	}
	recurrent_end(r, g.h, next);
	recurrent_last(r, 1, g.h);
	return 0;
}

const struct op_def op_gru = {
	.name = "GRU",
	.since = { 1, 3, 7, 14, 22 },
	.formula = "h of a step = (1 - z) * g(x wh^T + (r * h) rh^T + biases) + z * h, with z and r = f(x w^T + h r^T "
	           "+ biases)",
	.inputs = { IN("x", TS_FLOAT, RANK(3)), IN("w", TS_FLOAT, RANK(3)), IN("r", TS_FLOAT, RANK(3)),
	            OPT("b", TS_FLOAT, RANK(2)), OPT("sequence_lens", TS(I32), RANK(1)),
	            OPT("initial_h", TS_FLOAT, RANK(3)) },
	.outputs = { OPTOUT("y"), OPTOUT("y_h") },
	.attrs = { RECURRENT_ATTRS, ATTR_INT("linear_before_reset", 0, "1: r multiplies what h rh^T gives") },
	.lower = lower,
	.cases = { "x:f32[T,B,24] w:f32[1,120,24] r:f32[1,120,40] b:f32[1,240]",
	           "x:f32[3,B,8] w:f32[2,24,8] r:f32[2,24,8] b:f32[2,48] sequence_lens:i32[B] initial_h:f32[2,B,8] "
	           "direction=bidirectional linear_before_reset=1",
	           "x:f16[2,3,8] w:f16[1,24,8] r:f16[1,24,8] layout=1 direction=reverse clip=0.5" },
};
