/* FlexAttention: attention whose scores and probabilities are modified by graphs of the node. For each head
 *   score = score_mod(scale * q k'), p = prob_mod(exp(score - largest) / sum over keys of it), y = p v
 * Scores and probabilities have the type softmax_precision. Both graphs are optional; each maps the whole tensor
 * [batch, query head, query, key] to one of the same shape. As ONNX defines it, a row whose scores are all minus
 * infinity gives NaN. Source: ONNX, operator FlexAttention of ai.onnx.preview, opset 1. */
#include "ops/lower/attention_core.h"

struct flex {
	struct heads q, k, v;
	expr shared; /* query heads of a key head */
	expr scale;
	enum type soft; /* type of scores and probabilities */
	struct space s; /* their space: batch, query head, query, key */
};

static int check_inputs(struct lower *l, const struct flex *f)
{
	int64_t q, k;

	if (ir_const_int(f->q.heads, &q) && ir_const_int(f->k.heads, &k) && (k < 1 || q % k))
		return lower_fail(l, ERR_MODEL, "%lld query heads cannot share %lld key heads.", (long long)q,
		                  (long long)k);
	return heads_agree(l, &f->q, &f->k, &f->v);
}

static int read_inputs(struct lower *l, struct flex *f)
{
	enum type t = value_type(lower_input(l, 0)), c = compute_type(t);
	int64_t precision = lower_int(l, "softmax_precision");

	for (int i = 0; i < 3; i++)
		if (value_rank(lower_input(l, i)) != 4 || value_type(lower_input(l, i)) != t)
			return lower_fail(l, ERR_MODEL, "query, key and value must be of one type and have four axes.");
	*f = (struct flex){ .q = heads_of(lower_input(l, 0)),
		            .k = heads_of(lower_input(l, 1)),
		            .v = heads_of(lower_input(l, 2)) };
	TRY(check_inputs(l, f));
	f->shared = floordiv(f->q.heads, f->k.heads);
	f->scale = lower_has(l, "scale") ? num(l, c, lower_float(l, "scale")) : attention_scale(l, c, f->q.size);
	f->soft = lower_has(l, "softmax_precision") ? (enum type)precision : c;
	if (lower_has(l, "softmax_precision") &&
	    (precision < 0 || precision >= TYPE_COUNT || !(TS_FLOAT & 1u << precision)))
		return lower_fail(l, ERR_MODEL, "softmax_precision %lld is not a float type.", (long long)precision);
	f->s = space_new(l, 4, (expr[]){ f->q.batch, f->q.heads, f->q.length, f->k.length });
	return 0;
}

/* Applies graph `attr` to scores or probabilities; without the attribute they stay. */
static int modify(struct lower *l, const struct flex *f, const char *attr, struct value *v)
{
	struct value made;

	if (!lower_attr(l, attr))
		return 0;
	TRY(lower_graph(l, attr, 1, v, 1, &made));
	if (!made.given || value_rank(made) != 4 || value_type(made) != f->soft)
		return lower_fail(l, ERR_MODEL, "its \"%s\" must give %s of four axes.", attr, type_name(f->soft));
	for (int i = 0; i < 4; i++)
		TRY(lower_demand_extent(l, IR_SAME, f->s.dim[i], made, i));
	*v = made;
	return 0;
}

static struct value scores(struct lower *l, const struct flex *f)
{
	struct space s = f->s;
	expr b = s.at[0], h = s.at[1], d = space_push(l, &s, f->q.size), e;

	e = mul(wide(heads_at(&f->q, b, h, s.at[2], d)), wide(heads_at(&f->k, b, floordiv(h, f->shared), s.at[3], d)));
	return lower_reduce(l, "scores", f->soft, &s, 4, IR_SUM, e, mul(acc(l, e->type), f->scale));
}

struct softmax {
	struct value score, largest, sum;
};

static expr exponential(const struct softmax *x, expr b, expr h, expr i, expr j)
{
	return unary(IR_EXP, sub(wide(load_list(x->score, 4, b, h, i, j)), load_list(x->largest, 3, b, h, i)));
}

static struct softmax softmax_of(struct lower *l, const struct flex *f, struct value score)
{
	const struct space *s = &f->s;
	expr e = wide(load(score, s->at));
	struct softmax x = { .score = score };

	x.largest = lower_reduce(l, "largest", e->type, s, 3, IR_MAXIMUM, e, NULL);
	x.sum = lower_reduce(l, "exp_sum", e->type, s, 3, IR_SUM,
	                     exponential(&x, s->at[0], s->at[1], s->at[2], s->at[3]), NULL);
	return x;
}

static int lower(struct lower *l)
{
	struct flex f;
	struct softmax x;
	struct value score, p = { 0 };
	struct space y = { 0 };
	expr b, h, i, d, j, e, v, sum;

	TRY(read_inputs(l, &f));
	score = scores(l, &f);
	TRY(modify(l, &f, "score_mod", &score));
	x = softmax_of(l, &f, score);
	/* Probabilities in a compute type are divided once, after their sum. */
	if (lower_attr(l, "prob_mod") || compute_type(f.soft) != f.soft) {
		e = exponential(&x, f.s.at[0], f.s.at[1], f.s.at[2], f.s.at[3]);
		p = lower_map(l, "probabilities", f.soft, &f.s, divide(e, load(x.sum, f.s.at)));
		TRY(modify(l, &f, "prob_mod", &p));
	}
	b = space_push(l, &y, f.q.batch);
	h = space_push(l, &y, f.q.heads);
	i = space_push(l, &y, f.q.length);
	d = space_push(l, &y, f.v.size);
	j = space_push(l, &y, f.k.length);
	v = wide(cast(heads_at(&f.v, b, floordiv(h, f.shared), j, d), f.soft));
	e = mul(p.given ? wide(load_list(p, 4, b, h, i, j)) : exponential(&x, b, h, i, j), v);
	sum = acc(l, e->type);
	if (!p.given)
		sum = divide(sum, load_list(x.sum, 3, b, h, i));
	lower_output(l, 0, lower_reduce(l, NULL, value_type(f.v.v), &y, 4, IR_SUM, e, sum));
	return 0;
}

const struct op_def op_flex_attention = {
	.name = "FlexAttention",
	.domain = "ai.onnx.preview",
	.since = { 1 },
	.formula = "y = prob_mod(softmax(score_mod(scale * q k'))) v, for each head",
	.inputs = { IN("q", TS_FLOAT), IN("k", TS_FLOAT), IN("v", TS_FLOAT) },
	.outputs = { OUT("y") },
	.attrs = { ATTR_FLOAT("scale", 0, "of the products; 1 / sqrt(head size) when absent"),
	           ATTR_INT("softmax_precision", 0,
	                    "type of scores and probabilities, as a number; f32 at least when absent"),
	           ATTR("score_mod", OP_GRAPH, 0, NULL, "what becomes of all scores", false),
	           ATTR("prob_mod", OP_GRAPH, 0, NULL, "what becomes of all probabilities", false) },
	.lower = lower,
	.cases = { "q:f32[B,4,S,16] k:f32[B,2,T,16] v:f32[B,2,T,8]",
	           "q:f16[B,3,S,16] k:f16[B,3,T,16] v:f16[B,3,T,16] scale=0.5",
	           "q:f16[2,3,S,8] k:f16[2,1,T,8] v:f16[2,1,T,8] softmax_precision=10",
	           "q:f32[2,3,S,8] k:f32[2,3,T,8] v:f32[2,3,T,8] softmax_precision=11" },
};
