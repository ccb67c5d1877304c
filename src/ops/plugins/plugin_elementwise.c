/* Elementwise plugins, with their own attributes' names.
 * Source: the plugins of these names in TensorRT's plugin library. */
#include "ops/lower/elementwise.h"

static expr leaky(struct lower *l, const expr *x)
{
	return select_(gt(x[0], with(x[0], 0)), x[0], mul(x[0], with(x[0], lower_float(l, "negSlope"))));
}

static expr clip(struct lower *l, const expr *x)
{
	return clamp(x[0], with(x[0], lower_float(l, "clipMin")), with(x[0], lower_float(l, "clipMax")));
}

/* clang-format off */
#define PLUGIN .domain = OP_ANY_DOMAIN, .since = { 1 }, .inputs = { IN("x", TS_FLOAT) }, .outputs = { OUT("y") }, \
	.lower = elementwise_lower

const struct op_def ops_plugin_elementwise[] = {
	{ .name = "LReLU_TRT", PLUGIN, .formula = "y = x where x > 0, else negSlope * x", .map = leaky,
	  .attrs = { ATTR_FLOAT("negSlope", 0.1, "slope below zero") },
	  .cases = { "x:f32[N,C,H,W]", "x:f16[N,9] negSlope=0.3" } },
	{ .name = "Clip_TRT", PLUGIN, .formula = "y = min(max(x, clipMin), clipMax)", .map = clip,
	  .attrs = { ATTR_FLOAT("clipMin", 0, "the least"), ATTR_FLOAT("clipMax", 1, "the largest") },
	  .cases = { "x:f32[N,C,H,W] clipMin=-1 clipMax=1" } },
	{ .name = NULL },
};
/* clang-format on */
