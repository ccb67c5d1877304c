/* Probabilities of classes from those of pairs: p minimises the sum over pairs of (r_ji p_i - r_ij p_j)^2 with sum p =
 * 1, where r_ij is the probability of class i against class j. In each round every p_i in turn takes its best value
 * for the current others; a row whose error is below 0.005 / classes is done. Source: Wu, Lin and Weng: Probability
 * estimates for multi-class classification by pairwise coupling (2004), algorithm 2; the rounds and the final error
 * are those of LIBSVM and ONNX Runtime. */
#include "ops/ml/svm.h"

enum { ROUNDS = 100 };

struct coupling {
	struct lower *l;
	int64_t classes;
	expr rows;
	struct value q; /* [rows, classes, classes]: the quadratic form to minimise is 2 p' q p */
};

static struct space space(const struct coupling *c, int rank)
{
	return space_new(c->l, rank, (expr[]){ c->rows, idx(c->l, c->classes), idx(c->l, c->classes) });
}

/* r_ij, the probability of class i against class j, in [1e-7, 1 - 1e-7]. */
static expr against(struct lower *l, struct value pair, struct value number, expr row, expr i, expr j)
{
	expr first = lt(i, j), low = min_(i, j), high = max_(i, j), r;

	r = load_list(pair, 2, row, cast(load_list(number, 2, low, high), TYPE_INDEX));
	r = clamp(r, with(r, 1e-7), with(r, 1 - 1e-7));
	return select_(first, r, sub(num(l, r->type, 1), r));
}

static void make_q(struct coupling *c, struct value pair, struct value number)
{
	struct space s = space(c, 2), full = space(c, 3);
	expr other = space_push(c->l, &s, idx(c->l, c->classes)), r, e;
	struct value diagonal;

	r = against(c->l, pair, number, s.at[0], other, s.at[1]);
	r = select_(eq(other, s.at[1]), with(r, 0), mul(r, r));
	diagonal = lower_reduce(c->l, "diagonal", r->type, &s, 2, IR_SUM, r, NULL);
	e = mul(against(c->l, pair, number, full.at[0], full.at[2], full.at[1]),
	        against(c->l, pair, number, full.at[0], full.at[1], full.at[2]));
	e = select_(eq(full.at[1], full.at[2]), load_list(diagonal, 2, full.at[0], full.at[1]), unary(IR_NEG, e));
	c->q = lower_map(c->l, "q", r->type, &full, e);
}

/* One turn for each class i: p_i takes its best value; p, q p and p' q p follow. */
static struct value improve(struct coupling *c, struct value p, struct value qp, struct value pqp)
{
	struct lower *l = c->l;
	struct space s = space(c, 2), row = space(c, 1);
	struct lower_loop loop = lower_loop_begin(l, idx(l, c->classes));
	enum type t = value_type(p);
	struct value now_p = lower_carry(l, &loop, "p_now", t, &s, at(p, &s));
	struct value now_qp = lower_carry(l, &loop, "qp_now", t, &s, at(qp, &s));
	struct value now_pqp = lower_carry(l, &loop, "pqp_now", t, &row, load(pqp, row.at)), step;
	expr qii = load_list(c->q, 3, row.at[0], loop.turn, loop.turn), qi = load_list(now_qp, 2, row.at[0], loop.turn);
	expr d, one, e;

	step = lower_map(l, "step", t, &row, divide(sub(load(now_pqp, row.at), qi), qii));
	d = load(step, row.at);
	one = add(with(d, 1), d);
	e = add(load(now_pqp, row.at), mul(d, add(mul(d, qii), mul(qi, with(qi, 2)))));
	lower_next(l, &loop, now_pqp, lower_map(l, "pqp_next", t, &row, divide(divide(e, one), one)));
	d = load(step, s.at);
	one = add(with(d, 1), d);
	e = add(at(now_p, &s), select_(eq(s.at[1], loop.turn), d, with(d, 0)));
	lower_next(l, &loop, now_p, lower_map(l, "p_next", t, &s, divide(e, one)));
	e = add(at(now_qp, &s), mul(d, load_list(c->q, 3, s.at[0], loop.turn, s.at[1])));
	lower_next(l, &loop, now_qp, lower_map(l, "qp_next", t, &s, divide(e, one)));
	lower_loop_end(l, &loop);
	return now_p;
}

struct value svm_couple(struct lower *l, struct value pair, struct value number, int64_t classes)
{
	struct coupling c = { .l = l, .classes = classes, .rows = value_dim(pair, 0) };
	struct space s = space(&c, 2), sum = space(&c, 3), each = s;
	enum type t = value_type(pair);
	struct lower_loop loop;
	struct value p, qp, pqp, error, better;

	make_q(&c, pair, number);
	loop = lower_loop_begin(l, idx(l, ROUNDS));
	p = lower_carry(l, &loop, "p", t, &s, num(l, t, 1. / (double)classes));
	qp = lower_reduce(l, "qp", t, &sum, 2, IR_SUM, mul(load(c.q, sum.at), load_list(p, 2, sum.at[0], sum.at[2])),
	                  NULL);
	pqp = lower_reduce(l, "pqp", t, &each, 1, IR_SUM, mul(at(p, &each), at(qp, &each)), NULL);
	error = lower_reduce(l, "error", t, &each, 1, IR_MAXIMUM, unary(IR_ABS, sub(at(qp, &each), load(pqp, each.at))),
	                     NULL);
	better = improve(&c, p, qp, pqp);
	lower_next(l, &loop, p,
	           lower_map(l, "p_better", t, &s,
	                     select_(lt(load(error, s.at), num(l, t, 0.005 / (double)classes)), at(p, &s),
	                             at(better, &s))));
	lower_loop_end(l, &loop);
	return p;
}
