/* RotaryEmbedding: for each pair (a, b) of a head's elements, at position p and with the pair's number j:
 *   a' = a cos[p, j] - b sin[p, j],  b' = a sin[p, j] + b cos[p, j]
 * Positions come from position_ids, a list for each sample, or the caches hold them for each sample.
 * Source: ONNX, operator RotaryEmbedding, opset 23. */
#include "ops/lower/rotary.h"

static int lower(struct lower *l)
{
	TRY(rotary_check_positions(l, lower_input(l, 3)));
	return rotary_embed(l, lower_input(l, 3), lower_input(l, 1), lower_input(l, 2));
}

/* clang-format off */
const struct op_def ops_rotary_embedding[] = {
	{ .name = "RotaryEmbedding", .since = { 23 }, .formula = ROTARY_FORMULA,
	  .inputs = { IN("x", TS_FLOAT), IN("cos_cache", TS_FLOAT), IN("sin_cache", TS_FLOAT),
		      OPT("position_ids", TS(I64)) },
	  .outputs = { OUT("y") }, .attrs = { ROTARY_ATTRS }, .lower = lower,
	  .cases = { "x:f16[B,8,S,64] cos_cache:f16[128,32] sin_cache:f16[128,32] position_ids:i64[B,S]",
		     "x:f32[B,S,96] cos_cache:f32[B,S,4] sin_cache:f32[B,S,4] num_heads=12 interleaved=1" } },
	{ .name = NULL },
};
/* clang-format on */
