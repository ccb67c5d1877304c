/* MultiHeadAttention, DecoderMaskedMultiHeadAttention, Attention, QAttention of ONNX Runtime: attention of projected
 * queries, keys and values, with masks of padding that add mask_filter_value, an attention bias, and a cache.
 * Attention projects its input itself, with one matrix for all three; QAttention does so in 8 bits. A mask says which
 * keys take part, by their number in each sample, or by 0 and 1 for each key. Source: ONNX Runtime, com.microsoft
 * operators of these names. */
#include "ops/lower/attention_core.h"

struct rules {
	struct value mask, bias;
	expr past; /* keys before; null without a cache */
	expr held; /* place of the new key in a cache with spare room; null for other caches */
	bool causal;
	double filter; /* added where the mask forbids */
	expr batch;
};

/* The condition that the mask forbids key j; null without a mask. */
static expr forbidden(const struct rules *r, const struct space *s)
{
	expr b = s->at[0], i = s->at[2], j = s->at[3], m;
	struct value mask = r->mask;

	if (mask.given && r->held)
		j = min_(j, addi(value_dim(mask, value_rank(mask) - 1), -1));

	if (!mask.given)
		return NULL;
	switch (value_rank(mask)) {
	case 1: /* the end of the keys; with twice the entries also their start */
		m = ge(j, cast(load(mask, &b), TYPE_INDEX));
		if (value_dim(mask, 0) == muli(r->batch, 2))
			m = or_(m, lt(j, cast(load_list(mask, 1, add(r->batch, b)), TYPE_INDEX)));
		return m;
	case 2: m = load_list(mask, 2, b, j); break;
	default: m = load_list(mask, 3, b, i, j); break;
	}
	return m->type == TYPE_BOOL ? not_(m) : eq(m, with(m, 0));
}

static expr allow(struct lower *l, const struct attention *a, const struct space *s, expr score)
{
	const struct rules *r = a->user;
	expr where = forbidden(r, s), i = s->at[2], index[4];

	(void)l;
	if (where)
		score = add(score, select_(where, with(score, r->filter), with(score, 0)));
	if (r->bias.given) {
		index_axes(r->bias, 4, s, 0, index);
		if (r->held)
			index[3] = min_(index[3], addi(value_dim(r->bias, 3), -1));
		score = add(score, cast(load(r->bias, index), score->type));
	}
	if (r->causal)
		score = select_(le(s->at[3], r->past ? add(i, r->past) : i), score, attention_masked(score));
	if (r->held)
		score = select_(le(s->at[3], r->held), score, attention_masked(score));
	return score;
}

static int check_rules(struct lower *l, const struct rules *r)
{
	if (r->mask.given && (value_rank(r->mask) < 1 || value_rank(r->mask) > 3))
		return lower_fail(l, ERR_UNSUPPORTED, "the mask has %d axes; it can have 1 to 3.", value_rank(r->mask));
	if (r->bias.given && value_rank(r->bias) != 4)
		return lower_fail(l, ERR_MODEL, "the attention bias has %d axes; it must have four.",
		                  value_rank(r->bias));
	return 0;
}

/* Makes the output, once the heads are known. */
static int finish(struct lower *l, struct attention *a, struct rules *r, enum type t)
{
	double scale = lower_float(l, "scale");

	TRY(heads_agree(l, &a->q, &a->k, &a->v));
	r->batch = a->q.batch;
	r->causal = op_attr_find(l->op, "unidirectional") && lower_int(l, "unidirectional") != 0;
	r->filter = lower_float(l, "mask_filter_value");
	TRY(check_rules(l, r));
	a->scale = scale ? num(l, compute_type(t), scale) : attention_scale(l, compute_type(t), a->q.size);
	a->keep = ATTENTION_NOTHING;
	a->bias = r->mask.given || r->bias.given || r->causal || r->held ? allow : NULL;
	a->user = r;
	lower_output(l, 0, attention_lower(l, a, t, true));
	return 0;
}

/* ---- MultiHeadAttention ------------------------------------------------------------------------------------------ */

/* Part `part` of [b, s, heads, parts, size]. */
static struct heads packed(struct lower *l, struct value v, int part)
{
	return (struct heads){ .v = v,
		               .layout = HEADS_PACKED,
		               .offset = idx(l, part),
		               .batch = value_dim(v, 0),
		               .heads = value_dim(v, 2),
		               .length = value_dim(v, 1),
		               .size = value_dim(v, 4) };
}

static int read_heads(struct lower *l, struct attention *a)
{
	struct value q = lower_input(l, 0), k = lower_input(l, 1), v = lower_input(l, 2);
	int64_t heads = lower_int(l, "num_heads");

	if (value_rank(q) == 5) {
		a->q = packed(l, q, 0);
		a->k = packed(l, q, 1);
		a->v = packed(l, q, 2);
		return 0;
	}
	TRY(heads_read(l, q, heads, "the query", &a->q));
	if (!k.given)
		return lower_fail(l, ERR_MODEL, "the key is missing.");
	if (value_rank(k) == 5) {
		a->k = packed(l, k, 0);
		a->v = packed(l, k, 1);
		return 0;
	}
	if (!v.given)
		return lower_fail(l, ERR_MODEL, "the value is missing.");
	TRY(heads_read(l, k, heads, "the key", &a->k));
	return heads_read(l, v, heads, "the value", &a->v);
}

/* Adds the concatenated bias of queries, keys and values. Keys and values of four axes include it already. */
static void add_bias(struct attention *a, struct value bias)
{
	expr q = mul(a->q.heads, a->q.size), k = mul(a->k.heads, a->k.size);

	a->q.bias = bias;
	if (a->k.layout != HEADS_BNSH)
		a->k.bias = bias;
	a->k.bias_offset = q;
	if (a->v.layout != HEADS_BNSH)
		a->v.bias = bias;
	a->v.bias_offset = add(q, k);
}

/* The cache with each head's new element: at its place, or appended. */
static struct value present(struct lower *l, const char *name, const struct rules *r, const struct heads *x,
                            struct value past)
{
	struct space s;

	if (!r->held)
		return heads_join(l, name, x, past);
	s = space_of(l, past);
	return lower_map(l, name, value_type(past), &s,
	                 select_(eq(s.at[2], r->held),
	                         narrow(heads_at(x, s.at[0], s.at[1], idx(l, 0), s.at[3]), value_type(past)),
	                         load(past, s.at)));
}

/* Lowers the node from the inputs that differ between the operators. */
static int attend(struct lower *l, struct rules *rules, struct value bias, struct value past_key,
                  struct value past_value)
{
	struct attention a = { .keep = ATTENTION_NOTHING };
	struct rules r = *rules;
	enum type t = value_type(lower_input(l, 0));
	struct value joined;
	expr values;

	if (past_key.given != past_value.given || (past_key.given && value_rank(past_key) != 4))
		return lower_fail(l, ERR_MODEL, "past_key and past_value must be given together, with four axes.");
	TRY(read_heads(l, &a));
	if (bias.given) {
		add_bias(&a, bias);
		values = a.v.layout != HEADS_BNSH ? mul(a.v.heads, a.v.size) : idx(l, 0);
		TRY(lower_demand_extent(l, IR_AT_MOST, add(a.v.bias_offset, values), bias, 0));
	}
	if (past_key.given || lower_wants(l, 1)) {
		joined = present(l, "present_key", &r, &a.k, past_key);
		lower_output(l, 1, joined);
		a.k = heads_of(joined);
	}
	if (past_value.given || lower_wants(l, 2)) {
		joined = present(l, "present_value", &r, &a.v, past_value);
		lower_output(l, 2, joined);
		a.v = heads_of(joined);
	}
	if (past_key.given)
		r.past = value_dim(past_key, 2);
	return finish(l, &a, &r, t);
}

static int fail_long_cache(struct lower *l)
{
	return lower_fail(l, ERR_UNSUPPORTED,
	                  "a cache that is longer than what it holds (past_sequence_length, cache_indirection) is not "
	                  "supported.");
}

static int multi_head_lower(struct lower *l)
{
	struct rules r = { .mask = lower_input(l, 4), .bias = lower_input(l, 5) };

	if (lower_input(l, 8).given || lower_input(l, 9).given)
		return fail_long_cache(l);
	return attend(l, &r, lower_input(l, 3), lower_input(l, 6), lower_input(l, 7));
}

/* Keys of four axes belong to another sequence and are not appended to. A shared cache has spare room at its end. */
static int decoder_lower(struct lower *l)
{
	struct rules r = { .mask = lower_input(l, 3), .bias = lower_input(l, 4) };
	struct value past = lower_input(l, 5), length = lower_input(l, 7);
	bool shared = lower_int(l, "past_present_share_buffer") != 0;

	if (lower_input(l, 9).given)
		return lower_fail(l, ERR_UNSUPPORTED, "cache_indirection, for beam search, is not supported.");
	if (shared && past.given) {
		if (!length.given || !ir_is_int(value_count(length), 1) || value_rank(past) != 4)
			return lower_fail(
			        l, ERR_MODEL,
			        "a shared cache needs four axes, and past_sequence_length, which is one number.");
		r.held = clamp(cast(at_first(length), TYPE_INDEX), idx(l, 0), addi(value_dim(past, 2), -1));
	}
	if (lower_int(l, "output_qk") || lower_wants(l, 3))
		return lower_fail(l, ERR_UNSUPPORTED, "the scores as an output (output_qk) are not supported.");
	if (!lower_input(l, 1).given)
		return lower_fail(l, ERR_UNSUPPORTED, "queries, keys and values in one tensor are not supported.");
	return attend(l, &r, lower_input(l, 10), lower_input(l, 5), lower_input(l, 6));
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

/* past[which] and the new heads, joined; the cache holds keys (0) and values (1) in one tensor. */
static struct heads join_half(struct lower *l, const char *name, const struct heads *x, struct value past, int which)
{
	expr before = value_dim(past, 3), dim[4] = { x->batch, x->heads, add(before, x->length), x->size }, e;
	struct space s = space_new(l, 4, dim);

	e = heads_at(x, s.at[0], s.at[1], sub(s.at[2], before), s.at[3]);
	e = select_(lt(s.at[2], before), load_list(past, 5, idx(l, which), s.at[0], s.at[1], s.at[2], s.at[3]), e);
	return heads_of(lower_map(l, name, value_type(x->v), &s, e));
}

static void output_present(struct lower *l, const struct attention *a)
{
	expr dim[5] = { idx(l, 2), a->k.batch, a->k.heads, a->k.length, a->k.size }, k, v;
	struct space s = space_new(l, 5, dim);

	k = heads_at(&a->k, s.at[1], s.at[2], s.at[3], s.at[4]);
	v = heads_at(&a->v, s.at[1], s.at[2], s.at[3], s.at[4]);
	lower_output(l, 1, lower_map(l, "present", k->type, &s, select_(eq(s.at[0], idx(l, 0)), k, v)));
}

/* Attention of the three parts of `all`, [b, s, columns]. */
static int attend_projected(struct lower *l, struct value all, struct value mask, struct value past, struct value bias)
{
	struct ints sizes = { 0 };
	int64_t heads = lower_int(l, "num_heads"), hidden;
	struct attention a = { .keep = ATTENTION_NOTHING };
	struct rules r = { .mask = mask, .bias = bias };
	expr part[3];

	if (lower_attr(l, "qkv_hidden_sizes"))
		sizes = lower_ints(l, "qkv_hidden_sizes");
	if (lower_int(l, "do_rotary") || lower_int(l, "past_present_share_buffer"))
		return lower_fail(l, ERR_UNSUPPORTED, "rotary embedding and shared caches are not supported here.");
	if (heads < 1 || (sizes.n && sizes.n != 3) ||
	    (!sizes.n && ir_const_int(value_dim(all, 2), &hidden) && hidden % (3 * heads)))
		return lower_fail(l, ERR_MODEL, "the projection cannot be split into three times %lld heads.",
		                  (long long)heads);
	if (past.given && value_rank(past) != 5)
		return lower_fail(l, ERR_MODEL, "the past has %d axes; it must have five.", value_rank(past));
	for (int k = 0; k < 3; k++)
		part[k] = sizes.n ? idx(l, sizes.at[k]) : floordiv(value_dim(all, 2), idx(l, 3));
	a.q = heads_part(l, all, heads, NULL, part[0]);
	a.k = heads_part(l, all, heads, part[0], part[1]);
	a.v = heads_part(l, all, heads, add(part[0], part[1]), part[2]);
	if (past.given) {
		a.k = join_half(l, "present_key", &a.k, past, 0);
		a.v = join_half(l, "present_value", &a.v, past, 1);
		r.past = value_dim(past, 3);
	}
	if (lower_wants(l, 1))
		output_present(l, &a);
	return finish(l, &a, &r, value_type(all));
}

/* The space of x w, over [b, s, columns], then the inner axis; x, w and bias are the first inputs. */
static int projection_space(struct lower *l, struct space *s)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, 2);
	expr inner;

	if (value_rank(x) != 3 || value_rank(w) != 2 || (bias.given && value_rank(bias) != 1))
		return lower_fail(l, ERR_MODEL, "the input must have three axes, the weights two, the bias one.");
	*s = (struct space){ 0 };
	space_push(l, s, value_dim(x, 0));
	space_push(l, s, value_dim(x, 1));
	space_push(l, s, value_dim(w, 1));
	TRY(lower_same(l, x, 2, w, 0, &inner));
	space_push(l, s, inner);
	return bias.given ? lower_equal(l, bias, 0, w, 1) : 0;
}

static int float_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, 2), all;
	struct space s;
	expr e, y;

	if (lower_input(l, 6).given)
		return lower_fail(l, ERR_UNSUPPORTED, "past_sequence_length, of shared caches, is not supported.");
	TRY(projection_space(l, &s));
	e = mul(wide(load_list(x, 3, s.at[0], s.at[1], s.at[3])), wide(load_list(w, 2, s.at[3], s.at[2])));
	y = acc(l, e->type);
	if (bias.given)
		y = add(y, wide(load_list(bias, 1, s.at[2])));
	all = lower_reduce(l, "projected", value_type(x), &s, 3, IR_SUM, e, y);
	return attend_projected(l, all, lower_input(l, 3), lower_input(l, 4), lower_input(l, 5));
}

static int quantized_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, 2), scale = lower_input(l, 3),
	             scale_w = lower_input(l, 4), zero = lower_input(l, 6), zero_w = lower_input(l, 7), all;
	struct space s;
	expr e, f, y, step;

	TRY(projection_space(l, &s));
	if (value_rank(scale_w) > 1 || (zero_w.given && value_rank(zero_w) > 1))
		return lower_fail(l, ERR_MODEL, "the weights' scale and zero point can have one axis, the columns.");
	e = cast(load_list(x, 3, s.at[0], s.at[1], s.at[3]), TYPE_I32);
	f = cast(load_list(w, 2, s.at[3], s.at[2]), TYPE_I32);
	if (zero.given)
		e = sub(e, cast(at_first(zero), TYPE_I32));
	if (zero_w.given) {
		TRY(lower_parameter(l, zero_w, w, 1, s.at[2], &y));
		f = sub(f, cast(y, TYPE_I32));
	}
	TRY(lower_parameter(l, scale_w, w, 1, s.at[2], &step));
	y = mul(cast(acc(l, TYPE_I32), TYPE_F32), mul(wide(at_first(scale)), wide(step)));
	y = add(y, wide(load_list(bias, 1, s.at[2])));
	all = lower_reduce(l, "projected", value_type(bias), &s, 3, IR_SUM, mul(e, f), y);
	return attend_projected(l, all, lower_input(l, 5), lower_input(l, 8), (struct value){ .given = false });
}

/* clang-format off */
#define COMMON_ATTRS                                                                                                   \
	ATTR_INT_REQUIRED("num_heads", "heads"), ATTR_FLOAT("scale", 0, "of the products; 0: 1 / sqrt(head size)"),    \
	ATTR_INT("unidirectional", 0, "1: a query attends to no later key"),                                          \
	ATTR_FLOAT("mask_filter_value", -10000, "added to scores that the mask forbids")
#define TS_MASK (TS(I32) | TS(BOOL))

const struct op_def ops_multi_head_attention[] = {
	{ .name = "MultiHeadAttention", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = softmax(scale * q k' + mask) v, for each head",
	  .inputs = { IN("query", TS_FLOAT), OPT("key", TS_FLOAT), OPT("value", TS_FLOAT),
		      OPT("bias", TS_FLOAT, RANK(1)), OPT("key_padding_mask", TS_MASK),
		      OPT("attention_bias", TS_FLOAT, RANK(4)), OPT("past_key", TS_FLOAT, RANK(4)),
		      OPT("past_value", TS_FLOAT, RANK(4)), OPT("past_sequence_length", TS(I32)),
		      OPT("cache_indirection", TS(I32)) },
	  .outputs = { OUT("output"), OPTOUT("present_key"), OPTOUT("present_value") },
	  .attrs = { COMMON_ATTRS }, .lower = multi_head_lower,
	  .cases = { "query:f16[B,S,768] key:f16[B,T,768] value:f16[B,T,768] num_heads=12",
		     "query:f32[B,S,24] key:f32[B,S,24] value:f32[B,S,24] bias:f32[72] key_padding_mask:i32[B,S] "
		     "num_heads=3" } },
	{ .name = "DecoderMaskedMultiHeadAttention", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = softmax(scale * q k' + mask) v, for each head, of one query a sample",
	  .inputs = { IN("query", TS_FLOAT), OPT("key", TS_FLOAT), OPT("value", TS_FLOAT), OPT("mask_index", TS(I32)),
		      OPT("attention_bias", TS_FLOAT, RANK(4)), OPT("past_key", TS_FLOAT, RANK(4)),
		      OPT("past_value", TS_FLOAT, RANK(4)),
		      OPT("past_sequence_length", TS(I32)), OPT("beam_width", TS(I32)),
		      OPT("cache_indirection", TS(I32)),
		      OPT("bias", TS_FLOAT, RANK(1)) },
	  .outputs = { OUT("output"), OPTOUT("present_key"), OPTOUT("present_value"), OPTOUT("qk") },
	  .attrs = { ATTR_INT_REQUIRED("num_heads", "heads"),
		     ATTR_FLOAT("scale", 0, "of the products; 0: 1 / sqrt(head size)"),
		     ATTR_FLOAT("mask_filter_value", -10000, "added to scores that the mask forbids"),
		     ATTR_INT("past_present_share_buffer", 0, "the cache is longer than past_sequence_length"),
		     ATTR_INT("output_qk", 0, "must be 0") },
	  .lower = decoder_lower,
	  .cases = { "query:f16[B,1,64] key:f16[B,1,64] value:f16[B,1,64] past_key:f16[B,4,70,16] "
		     "past_value:f16[B,4,70,16] past_sequence_length:i32[] num_heads=4 past_present_share_buffer=1 "
		     "outputs=3",
		      "query:f16[B,1,64] key:f16[B,1,64] value:f16[B,1,64] mask_index:i32[B,9] past_key:f16[B,4,8,16] "
		     "past_value:f16[B,4,8,16] num_heads=4 outputs=3",
		     "query:f32[B,1,24] key:f32[B,3,T,8] value:f32[B,3,T,8] bias:f32[72] num_heads=3" } },
	{ .name = "Attention", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = softmax(scale * q k' + mask) v, for each head; q, k, v = input weights + bias",
	  .inputs = { IN("input", TS_FLOAT), IN("weights", TS_FLOAT), OPT("bias", TS_FLOAT, RANK(1)),
		      OPT("mask_index", TS_MASK), OPT("past", TS_FLOAT), OPT("attention_bias", TS_FLOAT, RANK(4)),
		      OPT("past_sequence_length", TS(I32)) },
	  .outputs = { OUT("output"), OPTOUT("present") },
	  .attrs = { COMMON_ATTRS, ATTR_INTS("qkv_hidden_sizes", "columns of queries, keys and values"),
		     ATTR_INT("do_rotary", 0, "must be 0"), ATTR_INT("rotary_embedding_dim", 0, "has no effect"),
		     ATTR_INT("past_present_share_buffer", 0, "must be 0") },
	  .lower = float_lower,
	  .cases = { "input:f32[B,S,64] weights:f32[64,192] bias:f32[192] mask_index:i32[B] num_heads=4" } },
	{ .name = "QAttention", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = softmax(scale * q k' + mask) v, for each head; q, k, v = dequantized(input weights) + bias",
	  .inputs = { IN("input", TS(I8) | TS(U8)), IN("weight", TS(I8) | TS(U8)), IN("bias", TS_FLOAT, RANK(1)),
		      IN("input_scale", TS_FLOAT), IN("weight_scale", TS_FLOAT), OPT("mask_index", TS_MASK),
		      OPT("input_zero_point", TS(I8) | TS(U8)), OPT("weight_zero_point", TS(I8) | TS(U8)),
		      OPT("past", TS_FLOAT) },
	  .outputs = { OUT("output"), OPTOUT("present") },
	  .attrs = { COMMON_ATTRS, ATTR_INT("do_rotary", 0, "must be 0"),
		     ATTR_INT("past_present_share_buffer", 0, "must be 0") },
	  .lower = quantized_lower,
	  .cases = { "input:u8[B,S,64] weight:i8[64,192] bias:f32[192] input_scale:f32[] weight_scale:f32[192] "
		     "mask_index:i32[B] input_zero_point:u8[] weight_zero_point:i8[192] num_heads=4" } },
	{ .name = NULL },
};
/* clang-format on */
