/* GemmaRotaryEmbedding: y = q cos(emb) + q_rot sin(emb), and the same of k; emb [b, s, d] has no heads, and its sines
 * and cosines are rounded to the states' type. Source: ONNX Runtime, com.microsoft.GemmaRotaryEmbedding. */
#include "ops/lower/lower.h"

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

static int lower(struct lower *l)
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
	.lower = lower,
	.cases = { "emb:f32[B,S,64] q:f16[B,8,S,64] q_rot:f16[B,8,S,64] k:f16[B,8,S,64] k_rot:f16[B,8,S,64] "
	           "outputs=2" },
};
