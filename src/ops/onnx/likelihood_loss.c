/* NegativeLogLikelihoodLoss: loss[n, i...] = -x[n, c, i...] * weight[c] with c = target[n, i...], zero if c is
 * ignore_index; reduced to its sum, or to that divided by the sum of weights (mean). SoftmaxCrossEntropyLoss: the same
 * for log(softmax(x)) over axis 1, which is the second output.
 * Source: ONNX, operators NegativeLogLikelihoodLoss (opsets 12 to 22) and SoftmaxCrossEntropyLoss (12 and 13). */
#include "ops/lower/reduction.h"

#include <string.h>

struct loss {
	struct value x, target, weight;
	struct value top, total; /* the softmax's maximum and sum over the classes; or not given */
};

/* The logarithm of a probability at `index` in x. */
static expr log_probability(const struct loss *p, const expr *index)
{
	expr e = wide(load(p->x, index)), other[IR_MAX_RANK];

	if (!p->top.given)
		return e;
	memcpy(other, index, sizeof other);
	other[1] = with(index[0], 0);
	return sub(sub(e, load(p->top, other)), unary(IR_LOG, load(p->total, other)));
}

/* The loss of a sample at s, and its weight. */
static expr sample(struct lower *l, const struct loss *p, const struct space *s, expr *weight)
{
	int rank = value_rank(p->x);
	expr target = load(p->target, s->at), index[IR_MAX_RANK], c, e;
	enum type t = compute_type(value_type(p->x));

	c = wrap_index(target, value_dim(p->x, 1));
	index[0] = s->at[0];
	index[1] = c;
	for (int i = 2; i < rank; i++)
		index[i] = s->at[i - 1];
	e = unary(IR_NEG, log_probability(p, index));
	*weight = p->weight.given ? cast(load(p->weight, &c), t) : num(l, t, 1);
	if (lower_has(l, "ignore_index")) {
		expr ignored = eq(target, with(target, (double)lower_int(l, "ignore_index")));

		*weight = select_(ignored, with(e, 0), *weight);
		e = select_(ignored, with(e, 0), e);
	}
	return mul(e, *weight);
}

static int reduce_loss(struct lower *l, const struct loss *p)
{
	const char *reduction = lower_word(l, "reduction");
	enum type t = value_type(p->x), c = compute_type(t);
	struct space s = space_of(l, p->target), none = { 0 };
	bool all[IR_MAX_RANK];
	struct reduction r;
	struct value sum, weights;
	expr e, weight;

	if (value_rank(p->x) < 2 || value_rank(p->target) != value_rank(p->x) - 1)
		return lower_fail(l, ERR_MODEL, "the input has %d axes and the target %d; it must have one less.",
		                  value_rank(p->x), value_rank(p->target));
	if (p->weight.given && value_rank(p->weight) != 1)
		return lower_fail(l, ERR_MODEL, "the weight has %d axes; it must have one.", value_rank(p->weight));
	if (p->weight.given)
		TRY(lower_equal(l, p->weight, 0, p->x, 1));
	if (!strcmp(reduction, "none")) {
		lower_output(l, 0, lower_map(l, NULL, t, &s, sample(l, p, &s, &weight)));
		return 0;
	}
	reduce_from(all, s.rank, 0);
	r = reduce_space(l, p->target, all, false);
	e = sample(l, p, &r.s, &weight);
	if (!strcmp(reduction, "sum")) {
		lower_output(l, 0, lower_reduce(l, NULL, t, &r.s, 0, IR_SUM, e, NULL));
	} else if (!p->weight.given && !lower_has(l, "ignore_index")) {
		lower_output(l, 0, reduce_mean(l, NULL, t, &r, e));
	} else {
		sum = lower_reduce(l, "total", c, &r.s, 0, IR_SUM, e, NULL);
		weights = lower_reduce(l, "weights", c, &r.s, 0, IR_SUM, weight, NULL);
		lower_output(l, 0, lower_map(l, NULL, t, &none, divide(at(sum, &none), at(weights, &none))));
	}
	return 0;
}

static int likelihood_lower(struct lower *l)
{
	struct loss p = { .x = lower_input(l, 0), .target = lower_input(l, 1), .weight = lower_input(l, 2) };

	return reduce_loss(l, &p);
}

static int entropy_lower(struct lower *l)
{
	struct loss p = { .x = lower_input(l, 0), .target = lower_input(l, 1), .weight = lower_input(l, 2) };
	struct space s = space_of(l, p.x);
	bool classes[IR_MAX_RANK] = { [1] = true };
	struct value top, total;
	struct reduction r;
	expr e;

	if (s.rank < 2)
		return lower_fail(l, ERR_MODEL, "the input has %d axes; it needs two or more.", s.rank);
	r = reduce_space(l, p.x, classes, true);
	e = wide(load(p.x, r.index));
	top = lower_reduce(l, "largest", e->type, &r.s, r.rank, IR_MAXIMUM, e, NULL);
	total = lower_reduce(l, "total", e->type, &r.s, r.rank, IR_SUM, unary(IR_EXP, sub(e, load(top, r.s.at))), NULL);
	p.top = top;
	p.total = total;
	if (lower_wants(l, 1))
		lower_output(l, 1, lower_map(l, "log_prob", value_type(p.x), &s, log_probability(&p, s.at)));
	return reduce_loss(l, &p);
}

/* clang-format off */
#define LOSS_INPUTS { IN("input", TS_FLOAT), IN("target", TS_INDICES), OPT("weight", TS_FLOAT) }
#define LOSS_ATTRS                                                                                                     \
	{ ATTR_WORD("reduction", "mean|sum|none", "what becomes of the samples' losses"),                              \
	  ATTR_INT("ignore_index", -1, "a class whose samples do not count") }

const struct op_def ops_likelihood_loss[] = {
	{ .name = "NegativeLogLikelihoodLoss", .since = { 12, 13, 22 },
	  .formula = "loss = -x[n, target] * weight[target], reduced", .inputs = LOSS_INPUTS,
	  .outputs = { OUT("loss") },
	  .attrs = LOSS_ATTRS, .lower = likelihood_lower,
	  .cases = { "input:f32[N,5,D] target:i64[N,D] weight:f32[5]",
		     "input:f16[N,5] target:i64[N] reduction=none" } },
	{ .name = "SoftmaxCrossEntropyLoss", .since = { 12, 13 },
	  .formula = "loss = -log(softmax(x))[n, target] * weight[target], reduced", .inputs = LOSS_INPUTS,
	  .outputs = { OUT("output"), OPTOUT("log_prob") }, .attrs = LOSS_ATTRS, .lower = entropy_lower,
	  .cases = { "input:f32[N,5,D] target:i64[N,D] outputs=2", "input:f32[N,33] target:i32[N] ignore_index=2" } },
	{ .name = NULL },
};
/* clang-format on */
