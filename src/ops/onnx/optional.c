/* Operators on optional values; here the input is a tensor, or absent.
 *   OptionalGetElement: y = x, the tensor itself
 *   OptionalHasElement: y = true if there is an input
 * Source: ONNX, operators OptionalGetElement and OptionalHasElement, opsets 15 to 28; tensors from 18 on. */
#include "ops/lower/lower.h"

static int lower_get(struct lower *l)
{
	if (l->opset < 18)
		return lower_fail(l, ERR_MODEL, "its input is a tensor; before opset 18 it must be an optional value.");
	lower_output(l, 0, lower_input(l, 0));
	return 0;
}

static int lower_has_element(struct lower *l)
{
	struct value x = lower_input(l, 0);
	struct space s = { 0 };

	if (l->opset < 18)
		return lower_fail(l, ERR_MODEL, "its input is %s; before opset 18 it must be an optional value.",
		                  x.given ? "a tensor" : "left out");
	lower_output(l, 0, lower_map(l, NULL, TYPE_BOOL, &s, num(l, TYPE_BOOL, x.given)));
	return 0;
}

const struct op_def ops_optional[] = {
	{ .name = "OptionalGetElement",
	  .since = { 15, 18, 28 },
	  .formula = "y = x",
	  .inputs = { IN("input", TS_ALL) },
	  .outputs = { OUT("output") },
	  .lower = lower_get,
	  .cases = { "input:f32[N,3,H,W]" } },
	{ .name = "OptionalHasElement",
	  .since = { 15, 18, 28 },
	  .formula = "y = whether there is an x",
	  .inputs = { OPT("input", TS_ALL) },
	  .outputs = { OUT("output") },
	  .lower = lower_has_element,
	  .cases = { "input:f32[N,3]" } },
	{ .name = NULL },
};
