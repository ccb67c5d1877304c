/* Attention of tokens without padding: the sequences follow each other, and cumulative_sequence_length has the sums of
 * their lengths, from 0 on. A token attends the tokens of its own sequence.
 *   PackedMultiHeadAttention: of queries, keys and values [tokens, heads * size], or all three in [tokens, heads, 3,
 *     size]
 *   PackedAttention: of input weights + bias
 * attention_bias is over places in sequences. Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/attention_core.h"

struct packing {
	struct value sequence, sums, bias; /* sequence: [tokens]; of each token */
};

/* [tokens]: the number of sequences that end at a token or before it. */
static struct value sequences(struct lower *l, struct value sums, expr tokens)
{
	struct space s = { 0 };
	expr t = space_push(l, &s, tokens), b = addi(space_push(l, &s, addi(value_dim(sums, 0), -1)), 1);
	expr ended = le(cast(load(sums, &b), TYPE_INDEX), t);

	return lower_reduce(l, "sequence", TYPE_I32, &s, 1, IR_SUM, cast(ended, TYPE_I32), NULL);
}

static expr allow(struct lower *l, const struct attention *a, const struct space *s, expr score)
{
	const struct packing *p = a->user;
	expr i = s->at[2], j = s->at[3], own = load(p->sequence, &i), b, start, index[4], zero = idx(l, 0), dim;

	if (p->bias.given) {
		b = clamp(cast(own, TYPE_INDEX), zero, addi(value_dim(p->sums, 0), -2));
		start = cast(load(p->sums, &b), TYPE_INDEX);
		dim = value_dim(p->bias, 0);
		index[0] = select_(eq(dim, with(dim, 1)), zero, b);
		dim = value_dim(p->bias, 1);
		index[1] = select_(eq(dim, with(dim, 1)), zero, s->at[1]);
		index[2] = clamp(sub(i, start), zero, addi(value_dim(p->bias, 2), -1));
		index[3] = clamp(sub(j, start), zero, addi(value_dim(p->bias, 3), -1));
		score = add(score, cast(load(p->bias, index), score->type));
	}
	return select_(eq(own, load(p->sequence, &j)), score, attention_masked(score));
}

/* `v`, [tokens, ...], as the one sample [1, tokens, ...]. */
static struct value one_sample(struct lower *l, struct value v)
{
	struct space s = { 0 };

	space_push(l, &s, idx(l, 1));
	for (int i = 0; i < value_rank(v); i++)
		space_push(l, &s, value_dim(v, i));
	return lower_map(l, "tokens", value_type(v), &s, load(v, &s.at[1]));
}

static int finish(struct lower *l, struct attention *a, int offset, int sums, int bias)
{
	struct packing p = { .sums = lower_input(l, sums), .bias = lower_input(l, bias) };
	enum type t = value_type(lower_input(l, 0));
	double scale = lower_float(l, "scale");
	struct space s = { 0 };
	struct value y;

	if (value_rank(lower_input(l, offset)) != 2 || value_rank(p.sums) != 1 ||
	    (p.bias.given && value_rank(p.bias) != 4))
		return lower_fail(l, ERR_MODEL,
		                  "token_offset needs 2 axes, cumulative_sequence_length 1, attention_bias 4.");
	if (p.bias.given) {
		TRY(lower_demand_extent(l, IR_AT_MOST, idx(l, 1), p.bias, 0));
		TRY(lower_demand_of(l, IR_ONE_OR, "the heads of attention_bias", value_dim(p.bias, 1),
		                    "the number of heads", a->q.heads));
	}
	if (a->v.bias.given)
		TRY(lower_demand_extent(l, IR_AT_MOST, add(a->v.bias_offset, mul(a->v.heads, a->v.size)), a->v.bias,
		                        0));
	TRY(lower_demand_of(l, IR_SAME, "the size of queries", a->q.size, "the size of keys", a->k.size));
	p.sequence = sequences(l, p.sums, a->q.length);
	a->scale = scale ? num(l, compute_type(t), scale) : attention_scale(l, compute_type(t), a->q.size);
	a->keep = ATTENTION_NOTHING;
	a->bias = allow;
	a->user = &p;
	y = attention_lower(l, a, t, true);
	space_push(l, &s, value_dim(y, 1));
	space_push(l, &s, value_dim(y, 2));
	lower_output(l, 0, lower_map(l, NULL, t, &s, load_list(y, 3, idx(l, 0), s.at[0], s.at[1])));
	return 0;
}

static int multi_head_lower(struct lower *l)
{
	struct value q = lower_input(l, 0), k = lower_input(l, 1), v = lower_input(l, 2), bias = lower_input(l, 3), all;
	struct attention a = { .keep = ATTENTION_NOTHING };
	struct heads *part[3] = { &a.q, &a.k, &a.v };
	int64_t heads = lower_int(l, "num_heads");
	expr offset = idx(l, 0);

	if (heads < 1 || value_rank(q) != (k.given ? 2 : 4) || k.given != v.given ||
	    (k.given && (value_rank(k) != 2 || value_rank(v) != 2)) || (bias.given && value_rank(bias) != 1))
		return lower_fail(l, ERR_MODEL,
		                  "the query has %d axes: with key and value all must have two, alone it has four.",
		                  value_rank(q));
	if (!k.given)
		all = one_sample(l, q);
	for (int i = 0; i < 3; i++) {
		struct value x = i == 0 ? q : i == 1 ? k : v;

		if (k.given)
			*part[i] = heads_part(l, one_sample(l, x), heads, NULL, value_dim(x, 1));
		else
			*part[i] = (struct heads){ .v = all,
				                   .layout = HEADS_PACKED,
				                   .offset = idx(l, i),
				                   .batch = idx(l, 1),
				                   .heads = value_dim(q, 1),
				                   .length = value_dim(q, 0),
				                   .size = value_dim(q, 3) };
		part[i]->bias = bias;
		part[i]->bias_offset = offset;
		offset = add(offset, mul(part[i]->heads, part[i]->size));
	}
	return finish(l, &a, 4, 5, 6);
}

static int projected_lower(struct lower *l)
{
	struct value x = lower_input(l, 0), w = lower_input(l, 1), bias = lower_input(l, 2), all;
	struct ints sizes = lower_ints(l, "qkv_hidden_sizes");
	struct attention a = { .keep = ATTENTION_NOTHING };
	int64_t heads = lower_int(l, "num_heads");
	struct space s = { 0 };
	expr e, k, part[3];

	if (value_rank(x) != 2 || value_rank(w) != 2 || value_rank(bias) != 1 || heads < 1 || (sizes.n && sizes.n != 3))
		return lower_fail(l, ERR_MODEL, "input and weights need two axes, the bias one; num_heads is %lld.",
		                  (long long)heads);
	space_push(l, &s, idx(l, 1));
	space_push(l, &s, value_dim(x, 0));
	space_push(l, &s, value_dim(w, 1));
	k = space_push(l, &s, value_dim(w, 0));
	e = mul(wide(load_list(x, 2, s.at[1], k)), wide(load_list(w, 2, k, s.at[2])));
	all = lower_reduce(l, "projected", value_type(x), &s, 3, IR_SUM, e,
	                   add(acc(l, e->type), wide(load(bias, &s.at[2]))));
	for (int i = 0; i < 3; i++)
		part[i] = sizes.n ? idx(l, sizes.at[i]) : floordiv(value_dim(all, 2), idx(l, 3));
	a.q = heads_part(l, all, heads, NULL, part[0]);
	a.k = heads_part(l, all, heads, part[0], part[1]);
	a.v = heads_part(l, all, heads, add(part[0], part[1]), part[2]);
	return finish(l, &a, 3, 4, 5);
}

/* clang-format off */
#define TS_T (TS(F32) | TS(F16))
#define PACKED_ATTRS ATTR_INT_REQUIRED("num_heads", "heads"), \
	ATTR_FLOAT("scale", 0, "of the products; 0: 1 / sqrt(head size)")

const struct op_def ops_packed_attention[] = {
	{ .name = "PackedMultiHeadAttention", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = softmax(scale * q k') v, for each head, over the tokens of the same sequence",
	  .inputs = { IN("query", TS_T), OPT("key", TS_T), OPT("value", TS_T), OPT("bias", TS_T),
		      IN("token_offset", TS(I32)),
		      IN("cumulative_sequence_length", TS(I32)), OPT("attention_bias", TS_T) },
	  .outputs = { OUT("output") },
	  .attrs = { PACKED_ATTRS, ATTR_FLOAT("mask_filter_value", -10000, "has no effect: padding is not there") },
	  .lower = multi_head_lower,
	  .cases = { "query:f16[T,64] key:f16[T,64] value:f16[T,64] bias:f16[192] token_offset:i32[2,S] "
		     "cumulative_sequence_length:i32[3] num_heads=4",
		     "query:f32[7,3,3,8] token_offset:i32[2,5] cumulative_sequence_length:i32[3]={0,5,7} "
		     "attention_bias:f32[1,3,5,5] num_heads=3" } },
	{ .name = "PackedAttention", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = softmax(scale * q k') v over the tokens of the same sequence; q, k, v = input weights + bias",
	  .inputs = { IN("input", TS_T), IN("weights", TS_T), IN("bias", TS_T), IN("token_offset", TS(I32)),
		      IN("cumulative_sequence_length", TS(I32)), OPT("attention_bias", TS_T) },
	  .outputs = { OUT("output") },
	  .attrs = { PACKED_ATTRS, ATTR_INTS("qkv_hidden_sizes", "columns of queries, keys and values") },
	  .lower = projected_lower,
	  .cases = { "input:f32[7,9] weights:f32[9,72] bias:f32[72] token_offset:i32[2,5] "
		     "cumulative_sequence_length:i32[3]={0,2,7} num_heads=3" } },
	{ .name = NULL },
};
/* clang-format on */
