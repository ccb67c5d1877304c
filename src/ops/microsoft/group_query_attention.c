/* GroupQueryAttention: causal attention of an autoregressive model over a cache with spare room.
 *   total[b] = seqlens_k[b] + 1 keys are valid; past[b] = total[b] - S of them are old, or none if S is
 *   total_sequence_length. present holds past[b] old keys, then the S new ones, then zeros.
 *   query i is at position p = past[b] + i and attends keys j <= p, j < total[b], and p - j < local_window_size
 * do_rotary applies rotary position embedding to queries and keys first. A sink adds a term to every row's sum.
 * Source: ONNX Runtime, com.microsoft.GroupQueryAttention. */
#include "ops/lower/attention_core.h"
#include "ops/lower/rotary.h"

struct cached {
	struct value seqlens, positions, cosine, sine, bias, sink;
	struct rotary rotary;
	bool turned, smooth;
	int64_t window;
	expr queries, prompt; /* prompt: the condition that there is no past */
};

static expr total_of(const struct cached *c, expr b)
{
	return addi(cast(at_flat(c->seqlens, b), TYPE_INDEX), 1);
}

static expr past_of(const struct cached *c, expr b)
{
	return select_(c->prompt, with(b, 0), max_(sub(total_of(c, b), c->queries), with(b, 0)));
}

static expr angle(const struct cached *c, struct value cache, expr b, expr s, expr pair)
{
	expr p = add(past_of(c, b), s);

	if (c->positions.given)
		p = cast(load_list(c->positions, 2, b, s), TYPE_INDEX);
	return wide(load_list(cache, 2, wrap_index(p, value_dim(cache, 0)), pair));
}

/* The element (b, h, s, d) of new queries or keys, after rotary embedding. */
static expr turned(const struct cached *c, const struct heads *x, expr b, expr h, expr s, expr d)
{
	expr e = wide(heads_at(x, b, h, s, d));
	struct rotary_pair p;

	if (!c->turned)
		return e;
	p = rotary_pair(&c->rotary, d);
	return rotary_turn(&p, e, wide(heads_at(x, b, h, s, p.partner)),
	                   cast(angle(c, c->cosine, b, s, p.number), e->type),
	                   cast(angle(c, c->sine, b, s, p.number), e->type));
}

/* Queries in the layout [b,h,s,d], after rotary embedding. */
static struct heads turn_queries(struct lower *l, const struct cached *c, const struct heads *q)
{
	expr dim[4] = { q->batch, q->heads, q->length, q->size };
	struct space s = space_new(l, 4, dim);

	return heads_of(lower_map(l, "turned", value_type(q->v), &s, turned(c, q, s.at[0], s.at[1], s.at[2], s.at[3])));
}

/* The cache after this call: `extent` places. */
static struct value present(struct lower *l, const struct cached *c, const char *name, const struct heads *x,
                            struct value past, bool turn, expr extent)
{
	expr dim[4] = { x->batch, x->heads, extent, x->size }, b, before, at, e;
	struct space s = space_new(l, 4, dim);
	enum type t = value_type(x->v);

	b = s.at[0];
	before = past_of(c, b);
	at = sub(s.at[2], before);
	e = turn ? turned(c, x, b, s.at[1], at, s.at[3]) : wide(heads_at(x, b, s.at[1], at, s.at[3]));
	e = cast(e, t);
	e = select_(lt(at, x->length), e, cast(with(wide(e), 0), t));
	if (past.given)
		e = select_(lt(s.at[2], min_(before, value_dim(past, 2))), load(past, s.at),
		            select_(ge(at, with(at, 0)), e, cast(with(wide(e), 0), t)));
	else
		e = select_(ge(at, with(at, 0)), e, cast(with(wide(e), 0), t));
	return lower_map(l, name, t, &s, e);
}

static expr allow(struct lower *l, const struct attention *a, const struct space *s, expr score)
{
	const struct cached *c = a->user;
	expr b = s->at[0], j = s->at[3], p = add(past_of(c, b), s->at[2]), where, index[4];

	(void)l;
	where = and_(le(j, p), lt(j, total_of(c, b)));
	if (c->window >= 0)
		where = and_(where, lt(sub(p, j), with(p, (double)c->window)));
	if (c->bias.given) {
		index_axes(c->bias, 3, s, 0, index);
		index[3] = j;
		score = add(score, cast(load(c->bias, index), score->type));
	}
	return select_(where, score, attention_masked(score));
}

/* Reads queries, keys and values, which may be one tensor. */
static int read_heads(struct lower *l, struct attention *a)
{
	struct value q = lower_input(l, 0), k = lower_input(l, 1), v = lower_input(l, 2);
	int64_t heads = lower_int(l, "num_heads"), kv = lower_int(l, "kv_num_heads");

	if (heads < 1 || kv < 1 || heads % kv)
		return lower_fail(l, ERR_MODEL, "%lld query heads cannot share %lld key heads.", (long long)heads,
		                  (long long)kv);
	if (k.given && v.given) {
		TRY(heads_read(l, q, heads, "the query", &a->q));
		TRY(heads_read(l, k, kv, "the key", &a->k));
		return heads_read(l, v, kv, "the value", &a->v);
	}
	TRY(heads_read(l, q, heads + 2 * kv, "the query", &a->q));
	a->k = a->v = a->q;
	a->q.heads = idx(l, heads);
	a->k.heads = a->v.heads = idx(l, kv);
	a->k.offset = muli(a->q.size, heads);
	a->v.offset = muli(a->q.size, heads + kv);
	return 0;
}

static int read_cached(struct lower *l, const struct attention *a, expr total, struct cached *c)
{
	*c = (struct cached){ .seqlens = lower_input(l, 5),
		              .cosine = lower_input(l, 7),
		              .sine = lower_input(l, 8),
		              .positions = lower_input(l, 9),
		              .bias = lower_input(l, 10),
		              .sink = lower_input(l, 11),
		              .turned = lower_int(l, "do_rotary") != 0,
		              .smooth = lower_int(l, "smooth_softmax") == 1,
		              .window = lower_int(l, "local_window_size"),
		              .queries = a->q.length,
		              .prompt = eq(a->q.length, total) };
	if (c->turned && (!c->cosine.given || !c->sine.given || value_rank(c->cosine) != 2 || value_rank(c->sine) != 2))
		return lower_fail(l, ERR_MODEL, "do_rotary needs cos_cache and sin_cache with two axes.");
	if (c->turned)
		TRY(lower_equal(l, c->cosine, 1, c->sine, 1));
	if (c->turned)
		c->rotary = (struct rotary){ .interleaved = lower_int(l, "rotary_interleaved") != 0,
			                     .size = muli(value_dim(c->cosine, 1), 2) };
	if (c->bias.given && value_rank(c->bias) != 4)
		return lower_fail(l, ERR_MODEL, "the attention bias has %d axes; it must have four.",
		                  value_rank(c->bias));
	if (c->positions.given && value_rank(c->positions) != 2)
		return lower_fail(l, ERR_MODEL, "position_ids has %d axes; it must have two.",
		                  value_rank(c->positions));
	return 0;
}

static int lower(struct lower *l)
{
	struct value past_key = lower_input(l, 3), past_value = lower_input(l, 4), k, v;
	enum type t = value_type(lower_input(l, 0));
	struct attention a = { .keep = ATTENTION_NOTHING, .bias = allow };
	double scale = lower_float(l, "scale");
	struct exprs total;
	struct cached c;
	expr extent;

	if (lower_word(l, "k_quant_type")[0] != 'N' || lower_word(l, "v_quant_type")[0] != 'N')
		return lower_fail(l, ERR_UNSUPPORTED, "a quantised cache is not supported.");
	if (past_key.given != past_value.given || (past_key.given && value_rank(past_key) != 4))
		return lower_fail(l, ERR_MODEL, "past_key and past_value must be given together, with four axes.");
	TRY(lower_known(l, 6, &total));
	if (total.n != 1)
		return lower_fail(l, ERR_MODEL, "total_sequence_length has %d elements; it must have one.", total.n);
	TRY(read_heads(l, &a));
	TRY(read_cached(l, &a, total.at[0], &c));
	extent = past_key.given ? max_(total.at[0], value_dim(past_key, 2)) : total.at[0];
	k = present(l, &c, "present_key", &a.k, past_key, c.turned, extent);
	v = present(l, &c, "present_value", &a.v, past_value, false, extent);
	lower_output(l, 1, k);
	lower_output(l, 2, v);
	if (c.turned)
		a.q = turn_queries(l, &c, &a.q);
	a.k = heads_of(k);
	a.v = heads_of(v);
	a.scale = scale ? num(l, compute_type(t), scale) : attention_scale(l, compute_type(t), a.q.size);
	a.softcap = lower_float(l, "softcap");
	a.user = &c;
	if (c.sink.given) /* one for each head; the axes of a row are b, h, i */
		a.extra = wide(at_flat(c.sink, ir_axis(l->program->pool, 1, a.q.heads)));
	else if (c.smooth)
		a.extra = num(l, compute_type(t), 0);
	lower_output(l, 0, attention_lower(l, &a, t, true));
	return 0;
}

const struct op_def op_group_query_attention = {
	.name = "GroupQueryAttention",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = softmax(scale * q k') v, for each head, causal, over a cache",
	.inputs = { IN("query", TS_FLOAT), OPT("key", TS_FLOAT), OPT("value", TS_FLOAT),
	            OPT("past_key", TS_FLOAT, RANK(4)), OPT("past_value", TS_FLOAT, RANK(4)), IN("seqlens_k", TS(I32)),
	            IN("total_sequence_length", TS(I32)), OPT("cos_cache", TS_FLOAT, RANK(2)),
	            OPT("sin_cache", TS_FLOAT, RANK(2)), OPT("position_ids", TS(I64), RANK(2)),
	            OPT("attention_bias", TS_FLOAT, RANK(4)), OPT("head_sink", TS_FLOAT) },
	.outputs = { OUT("output"), OPTOUT("present_key"), OPTOUT("present_value") },
	.attrs = { ATTR_INT_REQUIRED("num_heads", "of queries"),
	           ATTR_INT_REQUIRED("kv_num_heads", "of keys and values"),
	           ATTR_FLOAT("scale", 0, "of the products; 0: 1 / sqrt(head size)"),
	           ATTR_FLOAT("softcap", 0, "c: scores become c tanh(score / c)"),
	           ATTR_INT("local_window_size", -1, "keys that a query attends, its own the last; -1: all"),
	           ATTR_INT("do_rotary", 0, "queries and keys are turned by their position"),
	           ATTR_INT("rotary_interleaved", 0, "pairs are neighbours"),
	           ATTR_INT("smooth_softmax", 0, "1: a term exp(0) in every sum"),
	           ATTR_INT("qk_output", 0, "must be 0"), ATTR_INT("kv_cache_bit_width", 0, "has no effect"),
	           ATTR_WORD("k_quant_type", "NONE|PER_TENSOR|PER_CHANNEL", "must be NONE"),
	           ATTR_WORD("v_quant_type", "NONE|PER_TENSOR|PER_CHANNEL", "must be NONE") },
	.lower = lower,
	.cases = { "query:f32[B,S,64] key:f32[B,S,32] value:f32[B,S,32] past_key:f32[B,4,P,8] past_value:f32[B,4,P,8] "
	           "seqlens_k:i32[B] total_sequence_length:i32[]={7} outputs=3 num_heads=8 kv_num_heads=4",
	           "query:f16[B,1,96] past_key:f16[B,2,32,16] past_value:f16[B,2,32,16] seqlens_k:i32[B] "
	           "total_sequence_length:i32[]={9} cos_cache:f16[32,8] sin_cache:f16[32,8] outputs=3 num_heads=2 "
	           "kv_num_heads=2 do_rotary=1" },
};
