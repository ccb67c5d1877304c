/* DeformConv: see deformed.h. Source: ONNX, operator DeformConv, opsets 19 and 22. */
#include "ops/lower/deformed.h"

static int read_window(struct lower *l, struct deformed *d)
{
	return window_read(l, d->x, d->n, d->kernel, false, &d->win);
}

static int lower(struct lower *l)
{
	struct deformed d = { .x = lower_input(l, 0),
		              .w = lower_input(l, 1),
		              .offset = lower_input(l, 2),
		              .mask = lower_input(l, 4),
		              .groups = lower_int(l, "group"),
		              .offset_groups = lower_int(l, "offset_group") };

	return deformed_convolution(l, &d, lower_input(l, 3), read_window);
}

/* clang-format off */
const struct op_def ops_deform_conv[] = {
	{ .name = "DeformConv", .since = { 19, 22 },
	  .formula = "y = convolution of x, read at places moved by offset, with w, + b",
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)),
		      IN("offset", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)),
		      OPT("mask", TS_FLOAT, RANK_FROM(3)) },
	  .outputs = { OUT("y") },
	  .attrs = { ATTR_INTS("kernel_shape", "extents of the window"), ATTR_INTS("strides", "steps of the window"),
		     ATTR_INTS("dilations", "steps inside the window"),
		     ATTR_INTS("pads", "padding before each spatial axis, then after each"),
		     ATTR_WORD("auto_pad", "NOTSET", "must be NOTSET"),
		     ATTR_INT("group", 1, "groups of channels that do not mix"),
		     ATTR_INT("offset_group", 1, "groups of channels that share offsets") },
	  .lower = lower,
	  .cases = { "x:f32[N,4,H,W] w:f32[8,4,3,3] offset:f32[N,18,H,W] mask:f32[N,9,H,W] pads=1,1,1,1 opset=19" } },
	{ .name = NULL },
};
/* clang-format on */
