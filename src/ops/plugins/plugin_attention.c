/* Attention as plugins:
 *   ScaledDotProductAttentionTRT  p = softmax(q k' / sqrt(E) + mask), y = p v; both are outputs
 *   DisentangledAttention_TRT     y[n, i, j] = factor * (c2c[n, i, j] + c2p[n, i, at(i - j)] + p2c[n, j, at(i - j)])
 * DeBERTa's relative positions: near ones have a bucket of their own, far ones share buckets by their logarithm:
 *   bucket(d) = d for |d| <= m = span / 2, else sign(d) * (ceil(log(|d| / m) (m - 1) / log((2 span - 1) / m)) + m)
 *   at(d) = bucket(d) + span, clamped to 0..2 span - 1
 * Sources: the README of mmdeploy's TensorRT operators; He et al., DeBERTa, equation (3), and that of TensorRT's
 * disentangledAttentionPlugin. */
#include "ops/lower/lower.h"

#include <math.h>

static int scaled_lower(struct lower *l)
{
	struct value q = lower_input(l, 0), k = lower_input(l, 1), v = lower_input(l, 2), mask = lower_input(l, 3);
	struct value score, largest, sum, p;
	struct space s = { 0 }, r = { 0 }, o = { 0 };
	expr n, i, j, e, post;

	if (value_rank(q) != 3 || value_rank(k) != 3 || value_rank(v) != 3 ||
	    (mask.given && (value_rank(mask) < 2 || value_rank(mask) > 3)))
		return lower_fail(l, ERR_MODEL, "query, key and value must have three axes, the mask two or three.");
	n = space_push(l, &s, value_dim(q, 0));
	i = space_push(l, &s, value_dim(q, 1));
	j = space_push(l, &s, value_dim(k, 1));
	struct space scores = s;
	e = space_push(l, &s, value_dim(q, 2));
	e = mul(wide(load_list(q, 3, n, i, e)), wide(load_list(k, 3, n, j, e)));
	post = divide(acc(l, e->type), unary(IR_SQRT, cast(value_dim(q, 2), e->type)));
	if (mask.given)
		post = add(post, cast(at(mask, &scores), e->type));
	score = lower_reduce(l, "score", e->type, &s, 3, IR_SUM, e, post);

	space_push(l, &r, value_dim(q, 0));
	space_push(l, &r, value_dim(q, 1));
	space_push(l, &r, value_dim(k, 1));
	e = load(score, r.at);
	largest = lower_reduce(l, "largest", e->type, &r, 2, IR_MAXIMUM, e, NULL);
	e = unary(IR_EXP, sub(e, load(largest, r.at)));
	sum = lower_reduce(l, "exp_sum", e->type, &r, 2, IR_SUM, e, NULL);
	e = divide(unary(IR_EXP, sub(load(score, scores.at), load(largest, scores.at))), load(sum, scores.at));
	p = lower_map(l, NULL, value_type(q), &scores, narrow(e, value_type(q)));

	n = space_push(l, &o, value_dim(q, 0));
	i = space_push(l, &o, value_dim(q, 1));
	e = space_push(l, &o, value_dim(v, 2));
	j = space_push(l, &o, value_dim(k, 1));
	e = mul(wide(load_list(p, 3, n, i, j)), wide(load_list(v, 3, n, j, e)));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(q), &o, 3, IR_SUM, e, NULL));
	if (lower_wants(l, 1))
		lower_output(l, 1, p);
	return 0;
}

/* at(d) */
static expr relative(struct lower *l, expr d, int64_t span)
{
	int64_t middle = span / 2;
	double step = (double)(middle - 1) / (log((double)(2 * span - 1)) - log((double)middle)) * (1 - 1e-7);
	expr size = max_(d, sub(idx(l, 0), d)), far;

	/* the step is slightly smaller than exact, so that whole numbers stay themselves when rounded up */
	far = sub(unary(IR_LOG, cast(max_(size, idx(l, 1)), TYPE_F32)), num(l, TYPE_F32, log((double)middle)));
	far = addi(cast(unary(IR_CEIL, mul(far, with(far, step))), TYPE_INDEX), middle);
	far = select_(lt(d, idx(l, 0)), sub(idx(l, 0), far), far);
	return clamp(addi(select_(le(size, idx(l, middle)), d, far), span), idx(l, 0), idx(l, 2 * span - 1));
}

static int disentangled_lower(struct lower *l)
{
	struct value x[3] = { lower_input(l, 0), lower_input(l, 1), lower_input(l, 2) };
	int64_t span = lower_int(l, "span"), width;
	struct space s = space_of(l, x[0]);
	expr at, e;

	if (span < 4)
		return lower_fail(l, ERR_MODEL, "span is %lld; 4 is the least.", (long long)span);
	for (int i = 0; i < 3; i++)
		if (value_rank(x[i]) != 3 || (i && ir_const_int(value_dim(x[i], 2), &width) && width != 2 * span))
			return lower_fail(
			        l, ERR_MODEL,
			        "the inputs must have three axes, the last of the second and third 2 * span.");
	at = relative(l, sub(s.at[1], s.at[2]), span);
	for (int i = 1; i < 3; i++)
		if (!ir_const_int(value_dim(x[i], 2), &width))
			at = min_(at, addi(value_dim(x[i], 2), -1));
	e = add(wide(load_list(x[1], 3, s.at[0], s.at[1], at)), wide(load_list(x[2], 3, s.at[0], s.at[2], at)));
	e = add(wide(load(x[0], s.at)), e);
	e = mul(e, with(e, lower_float(l, "factor")));
	lower_output(l, 0, lower_map(l, NULL, value_type(x[0]), &s, narrow(e, value_type(x[0]))));
	return 0;
}

/* clang-format off */
#define PLUGIN .domain = OP_ANY_DOMAIN, .since = { 1 }

const struct op_def ops_plugin_attention[] = {
	{ .name = "ScaledDotProductAttentionTRT", PLUGIN, .formula = "y = softmax(q k' / sqrt(E) + mask) v",
	  .inputs = { IN("q", TS_FLOAT), IN("k", TS_FLOAT), IN("v", TS_FLOAT), OPT("mask", TS_FLOAT) },
	  .outputs = { OUT("y"), OPTOUT("p") }, .lower = scaled_lower,
	  .cases = { "q:f32[B,S,16] k:f32[B,T,16] v:f32[B,T,16] mask:f32[B,S,T] outputs=2",
		     "q:f16[4,S,8] k:f16[4,S,8] v:f16[4,S,8]" } },
	{ .name = "DisentangledAttention_TRT", PLUGIN,
	  .formula = "y = (c2c + c2p at relative positions + p2c at them) * factor",
	  .inputs = { IN("c2c", TS_FLOAT), IN("c2p", TS_FLOAT), IN("p2c", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INT_REQUIRED("span", "half of the relative positions"), ATTR_FLOAT("factor", 1, "scale") },
	  .lower = disentangled_lower,
	  .cases = { "c2c:f32[N,S,S] c2p:f32[N,S,16] p2c:f32[N,S,16] span=8 factor=0.07",
		     "c2c:f16[N,12,12] c2p:f16[N,12,8] p2c:f16[N,12,8] span=4" } },
	{ .name = NULL },
};
/* clang-format on */
