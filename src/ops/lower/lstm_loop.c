/* The loop of an LSTM over its steps; the operator supplies the gates' sums. */
#include "ops/lower/recurrent.h"

struct lstm {
	struct recurrent r;
	struct value gates, c, p; /* gates: sums of gates i, o, f and k; p: peephole weights of i, o and f, optional */
};

enum { GATE_I, GATE_O, GATE_F, GATE_K };

expr lstm_gate(struct recurrent *r, bool peephole, const struct space *s, expr n, expr sum)
{
	expr d = s->at[0], x = recurrent_clip(r, sum);

	if (peephole)
		return sum;
	return select_(lt(n, muli(r->hidden, GATE_K)), recurrent_apply(r, 0, d, x), recurrent_apply(r, 1, d, x));
}

/* Gate k at the space's element, with the peephole weight times `cell`. */
static expr gate(struct lstm *m, int k, int function, expr cell)
{
	struct recurrent *r = &m->r;
	const struct space *s = &r->s;
	expr n = add(muli(r->hidden, k), s->at[2]), sum = load_list(m->gates, 3, s->at[0], s->at[1], n);

	if (!m->p.given) /* lstm_gate() was first */
		return sum;
	if (k != GATE_K)
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
