/* grid_sampler: ONNX's GridSample with numbered modes, as in PyTorch's aten::grid_sampler.
 * Source: mmdeploy's TensorRT operators. */
#include "ops/lower/shared.h"

static int numbered_lower(struct lower *l)
{
	static const char *const modes[] = { "linear", "nearest", "cubic" };
	static const char *const paddings[] = { "zeros", "border", "reflection" };
	int64_t mode = lower_int(l, "interpolation_mode"), padding = lower_int(l, "padding_mode");

	if (mode < 0 || mode > 2 || padding < 0 || padding > 2)
		return lower_fail(l, ERR_MODEL, "interpolation_mode %lld and padding_mode %lld must be 0, 1 or 2.",
		                  (long long)mode, (long long)padding);
	return grid_sample(l, modes[mode], paddings[padding]);
}

/* clang-format off */
const struct op_def ops_plugin_grid_sample[] = {
	{ .name = "grid_sampler", .domain = OP_ANY_DOMAIN, .since = { 1 },
	  .formula = "y[n, c, i..] = x[n, c, ..] interpolated at grid[n, i.., :]",
	  .inputs = { IN("x", TS_FLOAT), IN("grid", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_INT("interpolation_mode", 0, "0: linear, 1: nearest, 2: cubic"),
		     ATTR_INT("padding_mode", 0, "what lies outside; 0: zeros, 1: border, 2: reflection"),
		     GRID_SAMPLE_CORNERS },
	  .lower = numbered_lower,
	  .cases = { "x:f32[N,3,H,W] grid:f32[N,5,6,2]",
		     "x:f16[N,2,4,5] grid:f16[N,7,3,2] interpolation_mode=1 padding_mode=1 align_corners=1" } },
	{ .name = NULL },
};
/* clang-format on */
