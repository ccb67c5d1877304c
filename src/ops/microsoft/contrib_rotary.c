/* RotaryEmbedding: ONNX's, with a list of positions for each sample, or only the first position. MRotaryEmbedding has
 * three lists, of time, height and width; mrope_section assigns each pair to one.
 * GemmaRotaryEmbedding: y = q cos(emb) + q_rot sin(emb), and the same for k; emb [b, s, d] has no heads, and its sines
 * and cosines are rounded to the states' type.
 * Source: ONNX Runtime, the operators of these names in com.microsoft. */
#include "ops/lower/rotary.h"

static int lower(struct lower *l)
{
	TRY(rotary_check_positions(l, lower_input(l, 1)));
	return rotary_embed(l, lower_input(l, 1), lower_input(l, 2), lower_input(l, 3));
}

static int three_lower(struct lower *l)
{
	struct value position = lower_input(l, 1), cosine = lower_input(l, 2), sine = lower_input(l, 3);
	struct ints size = lower_ints(l, "mrope_section");
	int64_t pairs, layout = lower_int(l, "mrope_layout");

	if (value_rank(position) != 3 || value_rank(cosine) != 2 || value_rank(sine) != 2)
		return lower_fail(l, ERR_MODEL, "position_ids needs 3 axes, and the caches 2.");
	TRY(lower_demand_extent(l, IR_AT_MOST, idx(l, 3), position, 0));
	if (size.n != 3 || size.at[0] < 0 || size.at[1] < 0 || size.at[2] < 0 || layout < 0 || layout > 1)
		return lower_fail(l, ERR_MODEL,
		                  "mrope_section must have three numbers, none negative, and mrope_layout must be 0 or "
		                  "1; there are %d numbers, and mrope_layout is %lld.",
		                  size.n, (long long)layout);
	if (ir_const_int(value_dim(cosine, 1), &pairs) && pairs != size.at[0] + size.at[1] + size.at[2])
		return lower_fail(l, ERR_MODEL, "the numbers in mrope_section make %lld; the caches have %lld pairs.",
		                  (long long)(size.at[0] + size.at[1] + size.at[2]), (long long)pairs);
	return rotary_embed(l, position, cosine, sine);
}

static int turn(struct lower *l, int output, struct value x, struct value turned)
{
	struct value emb = lower_input(l, 0);
	struct space s = space_of(l, x);
	enum type t = value_type(x);
	expr angle, cosine, sine;

	if (value_rank(emb) != 3 || s.rank != 4 || value_rank(turned) != 4)
		return lower_fail(l, ERR_MODEL, "the embedding needs 3 axes, and the states 4.");
	angle = wide(load_list(emb, 3, s.at[0], s.at[2], s.at[3]));
	cosine = wide(cast(unary(IR_COS, angle), t));
	sine = wide(cast(unary(IR_SIN, angle), t));
	lower_output(l, output,
	             lower_map(l, NULL, t, &s, add(mul(wide(at(x, &s)), cosine), mul(wide(at(turned, &s)), sine))));
	return 0;
}

static int gemma_lower(struct lower *l)
{
	TRY(turn(l, 0, lower_input(l, 1), lower_input(l, 2)));
	return turn(l, 1, lower_input(l, 3), lower_input(l, 4));
}

const struct op_def op_gemma_rotary_embedding = {
	.name = "GemmaRotaryEmbedding",
	.domain = "com.microsoft",
	.since = { 1 },
	.formula = "y = q cos(emb) + q_rot sin(emb), and the same of k",
	.inputs = { IN("emb", TS(F32)), IN("q", TS(F16)), IN("q_rot", TS(F16)), IN("k", TS(F16)),
	            IN("k_rot", TS(F16)) },
	.outputs = { OUT("output1"), OUT("output2") },
	.lower = gemma_lower,
	.cases = { "emb:f32[B,S,64] q:f16[B,8,S,64] q_rot:f16[B,8,S,64] k:f16[B,8,S,64] k_rot:f16[B,8,S,64] "
	           "outputs=2" },
};

/* clang-format off */
const struct op_def ops_contrib_rotary[] = {
	{ .name = "RotaryEmbedding", .domain = "com.microsoft", .since = { 1 }, .formula = ROTARY_FORMULA,
	  .inputs = { IN("input", TS_FLOAT), IN("position_ids", TS(I64)), IN("cos_cache", TS_FLOAT),
		      IN("sin_cache", TS_FLOAT) },
	  .outputs = { OUT("output") },
	  .attrs = { ROTARY_ATTRS, ATTR_FLOAT("scale", 1, "has no effect"),
		     ATTR_INT("is_packed_batching", 0, "samples have different lengths, without padding") },
	  .lower = lower,
	  .cases = { "input:f16[B,S,512] position_ids:i64[B,S] cos_cache:f16[128,32] sin_cache:f16[128,32]" } },
	{ .name = "MRotaryEmbedding", .domain = "com.microsoft", .since = { 1 }, .formula = ROTARY_FORMULA,
	  .inputs = { IN("input", TS_FLOAT), IN("position_ids", TS(I64)), IN("cos_cache", TS_FLOAT),
		      IN("sin_cache", TS_FLOAT) },
	  .outputs = { OUT("output") },
	  .attrs = { ROTARY_ATTRS, ATTR_FLOAT("scale", 1, "has no effect"),
		     ATTR_INT("is_packed_batching", 0, "samples have different lengths, without padding"),
		     ATTR_INTS_REQUIRED("mrope_section", "pairs that go by time, height and width"),
		     ATTR_INT("mrope_layout", 0, "1: the sections are interleaved") },
	  .lower = three_lower,
	  .cases = { "input:f16[B,S,512] position_ids:i64[3,B,S] cos_cache:f16[128,32] sin_cache:f16[128,32] "
		     "mrope_section=8,12,12",
		     "input:f32[B,3,S,24] position_ids:i64[3,B,S] cos_cache:f32[70,10] sin_cache:f32[70,10] "
		     "mrope_section=4,3,3 mrope_layout=1 rotary_embedding_dim=20 num_heads=3" } },
	{ .name = NULL },
};
/* clang-format on */
