/* Layer normalisations of ONNX Runtime over the last axis, of a sum: x + skip + bias, or of embeddings.
 *   SkipLayerNormalization            y = (s - mean) / sqrt(var + epsilon) * gamma + beta
 *   SkipSimplifiedLayerNormalization  y = s / sqrt(mean of s^2 + epsilon) * gamma
 *   EmbedLayerNormalization           s = word[input_ids] + position[i] + segment[segment_ids], then like the first
 *   QEmbedLayerNormalization          the same with tables of 8 bits, each with its scale and zero point
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/layer_norm.h"

static int check_vector(struct lower *l, struct value v, const char *name)
{
	if (v.given && value_rank(v) != 1)
		return lower_fail(l, ERR_MODEL, "%s has %d axes; it must have one.", name, value_rank(v));
	return 0;
}

static int skip(struct lower *l, bool centred)
{
	struct value x = lower_input(l, 0), more = lower_input(l, 1), gamma = lower_input(l, 2),
	             beta = centred ? lower_input(l, 3) : (struct value){ 0 }, bias = lower_input(l, centred ? 4 : 3),
	             sum;
	struct space s = space_of(l, x);
	enum type t = value_type(x);
	struct layer_norm n;
	expr e;

	if (s.rank < 2 || value_rank(more) > s.rank)
		return lower_fail(l, ERR_MODEL, "the input has %d axes and skip %d.", s.rank, value_rank(more));
	TRY(check_vector(l, gamma, "gamma"));
	TRY(check_vector(l, beta, "beta"));
	TRY(check_vector(l, bias, "bias"));
	e = add(wide(at(x, &s)), wide(at(more, &s)));
	if (bias.given)
		e = add(e, wide(at(bias, &s)));
	sum = lower_map(l, "added", e->type, &s, e);
	n = layer_norm(l, sum, s.rank - 1, centred, gamma, beta, t);
	lower_output(l, 0, n.y);
	if (centred)
		lower_output(l, 1, n.mean);
	lower_output(l, 2, n.inverse);
	if (lower_wants(l, 3))
		lower_output(l, 3, t == e->type ? sum : lower_map(l, "input_skip_bias_sum", t, &s, at(sum, &s)));
	return 0;
}

static int skip_lower(struct lower *l)
{
	return skip(l, true);
}

static int skip_simplified_lower(struct lower *l)
{
	return skip(l, false);
}

/* The row of a table at index ids[b, i], or i itself without ids. */
static expr row(struct value table, struct value ids, const struct space *s)
{
	expr i = s->at[1], index[2];

	if (ids.given) {
		index_axes(ids, 2, s, 0, index);
		i = load(ids, index);
	}
	return wide(load_list(table, 2, wrap_index(i, value_dim(table, 0)), s->at[2]));
}

/* The number of places of each sample in the mask; zero without a mask. */
static struct value mask_lengths(struct lower *l, struct value ids, struct value mask)
{
	struct space s = { 0 };
	expr i;

	space_push(l, &s, value_dim(ids, 0));
	if (!mask.given)
		return lower_map(l, "mask_index", TYPE_I32, &s, num(l, TYPE_I32, 0));
	i = space_push(l, &s, value_dim(ids, 1));
	return lower_reduce(l, "mask_index", TYPE_I32, &s, 1, IR_SUM,
	                    cast(eq(load_list(mask, 2, s.at[0], i), num(l, TYPE_I32, 1)), TYPE_I32), NULL);
}

static int embed_lower(struct lower *l)
{
	struct value ids = lower_input(l, 0), segments = lower_input(l, 1), words = lower_input(l, 2),
	             places = lower_input(l, 3), segment = lower_input(l, 4), mask = lower_input(l, 7), sum;
	struct space s = { 0 };
	enum type t = value_type(words);
	expr e;

	if (value_rank(ids) != 2 || value_rank(words) != 2 || value_rank(places) != 2 ||
	    (segments.given && value_rank(segments) != 2) || (segment.given && value_rank(segment) != 2) ||
	    (mask.given && value_rank(mask) != 2) || (lower_input(l, 8).given && value_rank(lower_input(l, 8)) != 2))
		return lower_fail(l, ERR_MODEL, "indices, tables and mask must have two axes.");
	TRY(check_vector(l, lower_input(l, 5), "gamma"));
	TRY(check_vector(l, lower_input(l, 6), "beta"));
	space_push(l, &s, value_dim(ids, 0));
	space_push(l, &s, value_dim(ids, 1));
	space_push(l, &s, value_dim(words, 1));
	e = add(row(words, ids, &s), row(places, lower_input(l, 8), &s));
	if (segments.given && segment.given)
		e = add(e, row(segment, segments, &s));
	sum = lower_map(l, "added", e->type, &s, e);
	lower_output(l, 0, layer_norm(l, sum, 2, true, lower_input(l, 5), lower_input(l, 6), t).y);
	if (lower_wants(l, 1))
		lower_output(l, 1, mask_lengths(l, ids, mask));
	if (lower_wants(l, 2))
		lower_output(l, 2, t == e->type ? sum : lower_map(l, "embedding_sum", t, &s, at(sum, &s)));
	return 0;
}

/* Input i, of 8 bits, as f32. Its scale is input `scale`; its zero point comes 5 inputs later. */
static struct value dequantised(struct lower *l, int i, int scale)
{
	struct value q = lower_input(l, i);
	struct space s = space_of(l, q);
	expr e = sub(cast(at(q, &s), TYPE_I32), cast(at_first(lower_input(l, scale + 5)), TYPE_I32));

	return lower_map(l, l->op->inputs[i].name, TYPE_F32, &s,
	                 mul(cast(e, TYPE_F32), at_first(lower_input(l, scale))));
}

static int quantised_embed_lower(struct lower *l)
{
	struct value ids = lower_input(l, 0), segments = lower_input(l, 1), mask = lower_input(l, 7), none = { 0 },
	             words, sum;
	bool has = lower_input(l, 4).given && segments.given;
	struct space s = { 0 };
	expr e;

	if (has && (!lower_input(l, 10).given || !lower_input(l, 15).given))
		return lower_fail(l, ERR_MODEL, "the segment embedding has no scale or no zero point.");
	for (int i = 8; i < 18; i++)
		if (lower_input(l, i).given && !ir_is_int(value_count(lower_input(l, i)), 1))
			return lower_fail(l, ERR_MODEL, "input \"%s\" must be one number.", l->op->inputs[i].name);
	if (value_rank(ids) != 2 || (has && value_rank(segments) != 2) || (mask.given && value_rank(mask) != 2) ||
	    value_rank(lower_input(l, 2)) != 2 || value_rank(lower_input(l, 3)) != 2 ||
	    (has && value_rank(lower_input(l, 4)) != 2))
		return lower_fail(l, ERR_MODEL, "indices, tables and mask must have two axes.");
	TRY(check_vector(l, lower_input(l, 5), "gamma_quant"));
	TRY(check_vector(l, lower_input(l, 6), "beta_quant"));
	words = dequantised(l, 2, 8);
	space_push(l, &s, value_dim(ids, 0));
	space_push(l, &s, value_dim(ids, 1));
	space_push(l, &s, value_dim(words, 1));
	e = add(row(words, ids, &s), row(dequantised(l, 3, 9), none, &s));
	if (has)
		e = add(e, row(dequantised(l, 4, 10), segments, &s));
	sum = lower_map(l, "added", TYPE_F32, &s, e);
	lower_output(l, 0, layer_norm(l, sum, 2, true, dequantised(l, 5, 11), dequantised(l, 6, 12), TYPE_F32).y);
	if (lower_wants(l, 1))
		lower_output(l, 1, mask_lengths(l, ids, mask));
	return 0;
}

/* clang-format off */
#define EPSILON(x) ATTR_FLOAT("epsilon", x, "added to the variance")
#define TS_Q (TS(I8) | TS(U8))
#define SKIP_OUTPUTS { OUT("output"), OPTOUT("mean"), OPTOUT("inv_std_var"), OPTOUT("input_skip_bias_sum") }

const struct op_def ops_skip_layer_norm[] = {
	{ .name = "SkipLayerNormalization", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = (s - mean) / sqrt(var + epsilon) * gamma + beta, s = input + skip + bias",
	  .inputs = { IN("input", TS_FLOAT), IN("skip", TS_FLOAT), IN("gamma", TS_FLOAT), OPT("beta", TS_FLOAT),
		      OPT("bias", TS_FLOAT) },
	  .outputs = SKIP_OUTPUTS, .attrs = { EPSILON(1e-12) }, .lower = skip_lower,
	  .cases = { "input:f16[B,S,768] skip:f16[B,S,768] gamma:f16[768] beta:f16[768] bias:f16[768]",
		     "input:f32[2,S,33] skip:f32[S,33] gamma:f32[33] outputs=4" } },
	{ .name = "SkipSimplifiedLayerNormalization", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = s / sqrt(mean of s^2 + epsilon) * gamma, s = input + skip + bias",
	  .inputs = { IN("input", TS_FLOAT), IN("skip", TS_FLOAT), IN("gamma", TS_FLOAT), OPT("bias", TS_FLOAT) },
	  .outputs = SKIP_OUTPUTS, .attrs = { EPSILON(1e-12) }, .lower = skip_simplified_lower,
	  .cases = { "input:f16[B,S,768] skip:f16[B,S,768] gamma:f16[768]" } },
	{ .name = "EmbedLayerNormalization", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = layer normalisation of word, position and segment embeddings, added",
	  .inputs = { IN("input_ids", TS(I32)), OPT("segment_ids", TS(I32)), IN("word_embedding", TS_FLOAT),
		      IN("position_embedding", TS_FLOAT), OPT("segment_embedding", TS_FLOAT), IN("gamma", TS_FLOAT),
		      IN("beta", TS_FLOAT), OPT("mask", TS(I32)), OPT("position_ids", TS(I32)) },
	  .outputs = { OUT("output"), OPTOUT("mask_index"), OPTOUT("embedding_sum") },
	  .attrs = { EPSILON(1e-12), ATTR_INT("mask_index_type", 0, "has no effect") }, .lower = embed_lower,
	  .cases = { "input_ids:i32[B,S] segment_ids:i32[B,S] word_embedding:f16[1000,64] "
		     "position_embedding:f16[128,64] segment_embedding:f16[2,64] gamma:f16[64] beta:f16[64]" } },
	{ .name = "QEmbedLayerNormalization", .domain = "com.microsoft", .since = { 1 },
	  .formula = "y = layer normalisation of word, position and segment embeddings of 8 bits, added",
	  .inputs = { IN("input_ids", TS(I32)), OPT("segment_ids", TS(I32)), IN("word_embedding_quant", TS_Q),
		      IN("position_embedding_quant", TS_Q), OPT("segment_embedding", TS_Q), IN("gamma_quant", TS_Q),
		      IN("beta_quant", TS_Q), OPT("mask", TS(I32)), IN("word_embedding_scale", TS(F32)),
		      IN("position_embedding_scale", TS(F32)), OPT("segment_embedding_scale", TS(F32)),
		      IN("gamma_scale", TS(F32)), IN("beta_scale", TS(F32)), IN("word_embedding_zero_point", TS_Q),
		      IN("position_embedding_zero_point", TS_Q), OPT("segment_embedding_zero_point", TS_Q),
		      IN("gamma_zero_point", TS_Q), IN("beta_zero_point", TS_Q) },
	  .outputs = { OUT("layernorm_out"), OUT("mask_index_out") }, .attrs = { EPSILON(1e-12) },
	  .lower = quantised_embed_lower,
	  .cases = { "input_ids:i32[B,S] word_embedding_quant:u8[100,64] position_embedding_quant:u8[70,64] "
		     "gamma_quant:u8[64] beta_quant:u8[64] word_embedding_scale:f32[] position_embedding_scale:f32[] "
		     "gamma_scale:f32[] beta_scale:f32[] word_embedding_zero_point:u8[] "
		     "position_embedding_zero_point:u8[] gamma_zero_point:u8[] beta_zero_point:u8[] outputs=2" } },
	{ .name = NULL },
};
/* clang-format on */
