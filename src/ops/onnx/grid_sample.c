/* GridSample: see shared_grid_sample.c. Source: ONNX, opsets 16 (two spatial axes), 20 and 22 (any number). */
#include "ops/lower/shared.h"

/* clang-format off */
const struct op_def ops_grid_sample[] = {
	{ .name = "GridSample", .since = { 16, 20, 22 },
	  .formula = "y[n, c, i..] = x[n, c, ..] interpolated at grid[n, i.., :]",
	  .inputs = { IN("x", TS_PLAIN), IN("grid", TS_FLOAT) }, .outputs = { OUT("y") },
	  .attrs = { ATTR_WORD("mode", "linear|bilinear|nearest|cubic|bicubic", "interpolation"),
		     ATTR_WORD("padding_mode", "zeros|border|reflection", "what lies outside"), GRID_SAMPLE_CORNERS },
	  .lower = grid_sample_lower,
	  .cases = { "x:f32[N,3,H,W] grid:f32[N,5,6,2] opset=16",
		     "x:f16[N,2,4,5] grid:f32[N,7,3,2] mode=cubic padding_mode=border opset=20",
		     "x:f32[1,2,3,4,5] grid:f32[1,2,3,4,3] padding_mode=reflection align_corners=1 opset=20" } },
	{ .name = NULL },
};
/* clang-format on */
