/* CausalConvWithState: y[n, c, t] = b[c] + sum over k of p[n, c, t + k d] * w[c, 0, k], where p is the past state
 * (zeros if not given) followed by x, and d the dilation; then y * sigmoid(y) if the attribute activation asks for it.
 * present_state is the last (kernel - 1) d places of p.
 * In com.microsoft channels may be the last axes, any number of them. States may have a window, a leading axis of
 * extent W: its j-th state is the one after place length - W + j, or zeros if there is no such place; the last one is
 * read.
 * Source: ONNX, operator CausalConvWithState, opset 27; ONNX Runtime, com.microsoft.CausalConvWithState. */
#include "ops/lower/shared.h"
#include "ops/lower/formulas.h"

#include <string.h>

struct causal {
	struct value x, past;
	bool last;      /* the channels are the last axes */
	int rank;       /* the rank of x */
	int64_t window; /* 0: states have no axis for it */
	expr length, before;
};

/* Sets the index of place t in x, or in a state with `lead` more leading axes. */
static void place(const struct causal *c, const struct space *s, int lead, expr t, expr *index)
{
	for (int i = 0; i < c->rank; i++)
		index[i] = s->at[lead + i];
	index[c->last ? 1 : 2] = t;
}

/* p at place t; s has x's axes from axis `lead` on. */
static expr padded(const struct causal *c, const struct space *s, int lead, expr t)
{
	expr index[IR_MAX_RANK], at_past[IR_MAX_RANK], now, then;

	place(c, s, lead, sub(t, c->before), index);
	now = load(c->x, index);
	if (!c->past.given)
		return select_(lt(t, c->before), with(now, 0), now);
	at_past[0] = with(t, (double)(c->window - 1));
	place(c, s, lead, t, &at_past[c->window > 0]);
	then = load(c->past, at_past);
	return select_(lt(t, c->before), then, now);
}

static int read_causal(struct lower *l, struct causal *c)
{
	bool own = l->op->domain != NULL;
	struct value w = lower_input(l, 1), bias = lower_input(l, 2);
	int64_t dilation = own ? lower_int(l, "dilation") : 1;

	*c = (struct causal){ .x = lower_input(l, 0),
		              .past = lower_input(l, 3),
		              .rank = value_rank(lower_input(l, 0)) };
	if (own) {
		c->last = lower_int(l, "channels_last") != 0;
		c->window = lower_int(l, "state_window");
		if (lower_int(l, "ndim") != 1)
			return lower_fail(l, ERR_UNSUPPORTED, "ndim is %lld; only 1 is supported.",
			                  (long long)lower_int(l, "ndim"));
	}
	if (dilation < 1 || c->window < 0)
		return lower_fail(
		        l, ERR_MODEL,
		        "dilation is %lld, which must be positive, and state_window %lld, which must not be negative.",
		        (long long)dilation, (long long)c->window);
	if ((c->last ? c->rank < 3 : c->rank != 3) || value_rank(w) != 3 ||
	    (c->past.given && value_rank(c->past) != c->rank + (c->window > 0)))
		return lower_fail(l, ERR_MODEL,
		                  "input, weights and state have %d, %d and %d axes; they do not go together.", c->rank,
		                  value_rank(w), c->past.given ? value_rank(c->past) : 0);
	if (c->rank + 1 > IR_MAX_RANK)
		return lower_fail(l, ERR_UNSUPPORTED, "the input has %d axes, which are too many.", c->rank);
	if (bias.given && value_rank(bias) != 1)
		return lower_fail(l, ERR_MODEL, "the bias has %d axes; it must have one.", value_rank(bias));
	c->length = value_dim(c->x, c->last ? 1 : 2);
	c->before = muli(addi(value_dim(w, 2), -1), dilation);
	return 0;
}

/* present_state: slot j of the window is the state after place length - W + j. */
static struct value present(struct lower *l, const struct causal *c)
{
	struct space s = { 0 };
	int lead = c->window > 0;
	expr t, shift = c->length, e;

	if (lead)
		shift = addi(add(c->length, space_push(l, &s, idx(l, c->window))), 1 - c->window);
	for (int i = 0; i < c->rank; i++)
		space_push(l, &s, i == (c->last ? 1 : 2) ? c->before : value_dim(c->x, i));
	t = add(s.at[lead + (c->last ? 1 : 2)], shift);
	e = padded(c, &s, lead, lead ? max_(t, idx(l, 0)) : t);
	if (lead)
		e = select_(gt(shift, idx(l, 0)), e, with(e, 0));
	return lower_map(l, "present_state", value_type(c->x), &s, e);
}

int causal_conv_lower(struct lower *l)
{
	struct value w = lower_input(l, 1), bias = lower_input(l, 2);
	struct causal c;
	struct space s;
	expr k, channel, y, e, t;

	TRY(read_causal(l, &c));
	if (c.past.given)
		TRY(lower_demand_extent(l, IR_SAME, c.before, c.past, (c.window > 0) + (c.last ? 1 : 2)));
	s = space_of(l, c.x);
	channel = c.last ? flatten(l, c.rank - 2, &s.dim[2], &s.at[2]) : s.at[1];
	k = space_push(l, &s, value_dim(w, 2));
	t = add(s.at[c.last ? 1 : 2], mul(k, l->op->domain ? idx(l, lower_int(l, "dilation")) : idx(l, 1)));
	e = mul(wide(padded(&c, &s, 0, t)), wide(load_list(w, 3, channel, idx(l, 0), k)));
	y = acc(l, e->type);
	if (bias.given)
		y = add(y, wide(load(bias, &channel)));
	if (strcmp(lower_word(l, "activation"), "none"))
		y = silu(y, y);
	lower_output(l, 0, lower_reduce(l, NULL, value_type(c.x), &s, c.rank, IR_SUM, e, y));
	if (lower_wants(l, 1))
		lower_output(l, 1, present(l, &c));
	return 0;
}
