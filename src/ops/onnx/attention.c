/* Attention: scaled dot-product attention with grouped heads, masks, windows and a cache of keys and values.
 *   query i attends key j if the mask allows it (a numeric mask is added), j <= i + offset if is_causal,
 *   i + offset - left_window_size <= j <= i + offset + right_window_size, and j < nonpad_kv_seqlen[b]
 * offset: past keys; or nonpad_kv_seqlen[b] - queries. A mask shorter than the keys forbids the keys beyond it.
 * Source: ONNX, operator Attention, opsets 23 to 25. */
#include "ops/lower/attention_core.h"

struct rules {
	struct value mask, valid; /* valid: nonpad_kv_seqlen */
	expr past;                /* keys before; null without a cache */
	bool causal;
	int64_t left, right; /* -1: unbounded */
	expr queries, keys;
};

static expr both(expr a, expr b)
{
	return a ? and_(a, b) : b;
}

/* The mask at (b, h, i, j), aligned right; *where: the condition that it reaches j. */
static expr mask_at(const struct rules *r, const struct space *s, expr *where)
{
	int rank = value_rank(r->mask);
	expr index[4], j = s->at[3], extent = value_dim(r->mask, rank - 1);

	index_axes(r->mask, rank - 1, s, 4 - rank, index);
	index[rank - 1] = j;
	if (extent != r->keys)
		*where = both(*where, lt(j, extent));
	return load(r->mask, index);
}

static expr allow(struct lower *l, const struct attention *a, const struct space *s, expr score)
{
	const struct rules *r = a->user;
	expr b = s->at[0], i = s->at[2], j = s->at[3], where = NULL, at = i, valid = NULL;

	(void)l;
	if (r->valid.given) {
		valid = cast(load(r->valid, &b), TYPE_INDEX);
		where = lt(j, valid);
		at = add(i, sub(valid, r->queries));
	} else if (r->past) {
		at = add(i, r->past);
	}
	if (r->causal)
		where = both(where, le(j, at));
	if (r->left >= 0)
		where = both(where, le(sub(at, j), with(at, (double)r->left)));
	if (r->right >= 0)
		where = both(where, le(sub(j, at), with(at, (double)r->right)));
	if (r->mask.given) {
		expr m = mask_at(r, s, &where);

		if (m->type == TYPE_BOOL)
			where = both(where, m);
		else
			score = add(score, cast(m, score->type));
	}
	return where ? select_(where, score, attention_masked(score)) : score;
}

static int read_rules(struct lower *l, const struct attention *a, struct value past, struct rules *r)
{
	*r = (struct rules){ .mask = lower_input(l, 3),
		             .valid = lower_input(l, 6),
		             .causal = lower_int(l, "is_causal") != 0,
		             .left = lower_int(l, "left_window_size"),
		             .right = lower_int(l, "right_window_size"),
		             .queries = a->q.length,
		             .keys = a->k.length };
	if (r->left < -1 || r->right < -1)
		return lower_fail(l, ERR_MODEL, "a window size is below -1.");
	if (past.given)
		r->past = value_dim(past, 2);
	if (r->valid.given && past.given)
		return lower_fail(l, ERR_MODEL, "nonpad_kv_seqlen cannot be used together with past_key.");
	if (r->valid.given && value_rank(r->valid) != 1)
		return lower_fail(l, ERR_MODEL, "nonpad_kv_seqlen has %d axes; it must have one.",
		                  value_rank(r->valid));
	if (r->mask.given && (value_rank(r->mask) < 1 || value_rank(r->mask) > 4))
		return lower_fail(l, ERR_MODEL, "the mask has %d axes; it can have 1 to 4.", value_rank(r->mask));
	return 0;
}

/* Reads the scale, the cap and the mode of the fourth output. */
static int read_numbers(struct lower *l, struct attention *a)
{
	enum type c = compute_type(value_type(a->q.v));
	int64_t precision = lower_int(l, "softmax_precision"), mode = lower_int(l, "qk_matmul_output_mode");

	a->scale = lower_has(l, "scale") ? num(l, c, lower_float(l, "scale")) : attention_scale(l, c, a->q.size);
	a->softcap = lower_float(l, "softcap");
	a->f64 = precision == TYPE_F64;
	if (a->softcap < 0)
		return lower_fail(l, ERR_MODEL, "softcap is %g; it cannot be negative.", a->softcap);
	if (precision && (precision < 0 || precision >= TYPE_COUNT || !(TS_FLOAT & 1u << precision)))
		return lower_fail(l, ERR_MODEL, "softmax_precision %lld is not a float type.", (long long)precision);
	if (mode < 0 || mode > 3)
		return lower_fail(l, ERR_MODEL, "qk_matmul_output_mode is %lld; it must be 0 to 3.", (long long)mode);
	a->keep = lower_wants(l, 3) ? (enum attention_stage)mode : ATTENTION_NOTHING;
	return 0;
}

static int check_heads(struct lower *l, const struct attention *a)
{
	int64_t q, k, v;

	if (ir_const_int(a->q.heads, &q) && ir_const_int(a->k.heads, &k) && (k < 1 || q % k))
		return lower_fail(l, ERR_MODEL, "%lld query heads cannot share %lld key heads.", (long long)q,
		                  (long long)k);
	if (ir_const_int(a->k.heads, &k) && ir_const_int(a->v.heads, &v) && k != v)
		return lower_fail(l, ERR_MODEL, "there are %lld key heads and %lld value heads.", (long long)k,
		                  (long long)v);
	if (ir_const_int(a->q.size, &q) && ir_const_int(a->k.size, &k) && q != k)
		return lower_fail(l, ERR_MODEL, "query heads have size %lld and key heads %lld.", (long long)q,
		                  (long long)k);
	return 0;
}

static int lower(struct lower *l)
{
	struct value past_key = lower_input(l, 4), past_value = lower_input(l, 5), key, value;
	int64_t q_heads = lower_int(l, "q_num_heads"), kv_heads = lower_int(l, "kv_num_heads");
	enum type t = value_type(lower_input(l, 0));
	struct attention a = { .bias = allow };
	struct rules r;

	if (value_type(lower_input(l, 1)) != t)
		return lower_fail(l, ERR_MODEL, "the query is %s and the key %s; they must be of one type.",
		                  type_name(t), type_name(value_type(lower_input(l, 1))));
	TRY(heads_read(l, lower_input(l, 0), q_heads, "the query", &a.q));
	TRY(heads_read(l, lower_input(l, 1), kv_heads, "the key", &a.k));
	TRY(heads_read(l, lower_input(l, 2), kv_heads, "the value", &a.v));
	TRY(check_heads(l, &a));
	if (past_key.given != past_value.given)
		return lower_fail(l, ERR_MODEL, "past_key and past_value must be given together.");
	if (past_key.given && (value_rank(past_key) != 4 || value_rank(past_value) != 4))
		return lower_fail(l, ERR_MODEL, "past_key and past_value must have four axes.");
	if (past_key.given || lower_wants(l, 1)) {
		key = heads_join(l, "present_key", &a.k, past_key);
		a.k = heads_of(key);
		lower_output(l, 1, key);
	}
	if (past_value.given || lower_wants(l, 2)) {
		value = heads_join(l, "present_value", &a.v, past_value);
		a.v = heads_of(value);
		lower_output(l, 2, value);
	}
	TRY(heads_agree(l, &a.q, &a.k, &a.v));
	TRY(read_rules(l, &a, past_key, &r));
	TRY(read_numbers(l, &a));
	a.user = &r;
	if (!r.mask.given && !r.valid.given && !r.causal && r.left < 0 && r.right < 0)
		a.bias = NULL;
	lower_output(l, 0, attention_lower(l, &a, t, value_rank(lower_input(l, 0)) == 3));
	if (lower_wants(l, 3)) {
		struct space s = space_of(l, a.kept);

		lower_output(l, 3, lower_map(l, "qk_matmul_output", t, &s, cast(at(a.kept, &s), t)));
	}
	return 0;
}

const struct op_def op_attention = {
	.name = "Attention",
	.since = { 23, 24, 25 },
	.formula = "y = softmax(scale * q k' + bias) v, for each head",
	.inputs = { IN("q", TS_FLOAT, RANKS(3, 4)), IN("k", TS_FLOAT, RANKS(3, 4)), IN("v", TS_FLOAT, RANKS(3, 4)),
	            OPT("attn_mask", TS_NUMBER | TS(BOOL)), OPT("past_key", TS_FLOAT, RANK(4)),
	            OPT("past_value", TS_FLOAT, RANK(4)), OPT("nonpad_kv_seqlen", TS(I64), RANK(1)) },
	.outputs = { OUT("y"), OPTOUT("present_key"), OPTOUT("present_value"), OPTOUT("qk_matmul_output") },
	.attrs = { ATTR_INT("is_causal", 0, "1: a query attends to no later key"),
	           ATTR_INT("q_num_heads", 0, "of queries, with inputs of three axes"),
	           ATTR_INT("kv_num_heads", 0, "of keys and values, with inputs of three axes"),
	           ATTR_FLOAT("scale", 0, "of the products; 1 / sqrt(head size) when absent"),
	           ATTR_FLOAT("softcap", 0, "c: scores become c tanh(score / c)"),
	           ATTR_INT("softmax_precision", 0, "type of the softmax, as a number; f32 at least"),
	           ATTR_INT("qk_matmul_output_mode", 0, "fourth output: 0 products, 1 capped, 2 with bias, 3 softmax"),
	           ATTR_INT("left_window_size", -1, "keys before a query's own that it attends; -1: all"),
	           ATTR_INT("right_window_size", -1, "number of later keys that a query attends to; -1: all") },
	.lower = lower,
	.cases = { "q:f16[B,12,S,64] k:f16[B,12,T,64] v:f16[B,12,T,64] opset=23",
	           "q:f32[B,S,96] k:f32[B,S,48] v:f32[B,S,48] q_num_heads=6 kv_num_heads=3 is_causal=1 opset=23",
	           "q:f32[2,3,S,8] k:f32[2,3,T,8] v:f32[2,3,T,8] attn_mask:bool[S,T] softcap=2 opset=24",
	           "q:f32[B,4,S,8] k:f32[B,4,S,8] v:f32[B,4,S,8] past_key:f32[B,4,P,8] past_value:f32[B,4,P,8] "
	           "outputs=3 is_causal=1 opset=24" },
};
