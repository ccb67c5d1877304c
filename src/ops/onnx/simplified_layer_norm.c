/* SimplifiedLayerNormalization: y = x / sqrt(mean of x^2 + epsilon) * scale over the axes from `axis` on.
 * Source: ONNX Runtime, which has the operator in ai.onnx. */
#include "ops/lower/layer_norm.h"

static int lower(struct lower *l)
{
	struct value x = lower_input(l, 0), scale = lower_input(l, 1);
	struct layer_norm n;
	int axis;

	TRY(lower_axis(l, lower_int(l, "axis"), value_rank(x), false, &axis));
	if (value_rank(scale) > value_rank(x))
		return lower_fail(l, ERR_MODEL, "the scale has more axes than the input.");
	n = layer_norm(l, x, axis, false, scale, (struct value){ 0 }, value_type(scale));
	lower_output(l, 0, n.y);
	lower_output(l, 1, n.inverse);
	return 0;
}

/* clang-format off */
const struct op_def ops_simplified_layer_norm[] = {
	{ .name = "SimplifiedLayerNormalization", .since = { 1 },
	  .formula = "y = x / sqrt(mean of x^2 + epsilon) * scale",
	  .inputs = { IN("x", TS_FLOAT), IN("scale", TS_FLOAT) }, .outputs = { OUT("y"), OPTOUT("inv_std_var") },
	  .attrs = { ATTR_FLOAT("epsilon", 1e-5, "added to the variance"),
		     ATTR_INT("axis", -1, "first axis of the statistics"),
		     ATTR_INT("stash_type", 1, "type of the statistics") },
	  .lower = lower, .cases = { "x:f16[B,S,768] scale:f16[768] opset=17" } },
	{ .name = NULL },
};
/* clang-format on */
