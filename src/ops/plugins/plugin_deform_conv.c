/* DeformConv as plugins: ONNX's, with inputs in another order, and strides, padding and dilations under other names.
 * Sources: the READMEs of TensorRT's modulatedDeformConvPlugin and of mmdeploy's TensorRT and ONNX Runtime operators;
 * mmcv's symbolic function of DeformConv2d. */
#include "ops/lower/deformed.h"

#include <string.h>

/* Entry i of a list attribute: the list has one entry for both axes, or one for each; padding may also have the ones
 * before and after each axis. */
static int plugin_entry(struct lower *l, const char *name, int i, int64_t otherwise, int64_t least, int64_t *out)
{
	struct ints v = lower_ints(l, name);

	if (v.n != 0 && v.n != 1 && v.n != 2 && !(v.n == 4 && !strcmp(name, "padding")))
		return lower_fail(l, ERR_MODEL, "%s has %d entries; it needs one for each of two axes.", name, v.n);
	*out = !v.n ? otherwise : v.at[i * v.n / 2];
	if (*out < least)
		return lower_fail(l, ERR_MODEL, "%s has the entry %lld; %lld is the least.", name, (long long)*out,
		                  (long long)least);
	return 0;
}

static int plugin_window(struct lower *l, struct deformed *d)
{
	struct window *w = &d->win;
	int64_t padding;
	expr reach;

	if (d->n != 2)
		return lower_fail(l, ERR_MODEL, "the input has %d spatial axes; it must have two.", d->n);
	w->n = d->n;
	for (int i = 0; i < d->n; i++) {
		TRY(plugin_entry(l, "stride", i, 1, 1, &w->stride[i]));
		TRY(plugin_entry(l, "dilation", i, 1, 1, &w->dilation[i]));
		TRY(plugin_entry(l, "padding", i, 0, 0, &padding));
		w->in[i] = value_dim(d->x, 2 + i);
		w->kernel[i] = d->kernel[i];
		w->before[i] = w->after[i] = idx(l, padding);
		reach = addi(muli(addi(w->kernel[i], -1), w->dilation[i]), 1);
		w->out[i] = addi(floordiv(sub(addi(w->in[i], 2 * padding), reach), idx(l, w->stride[i])), 1);
	}
	return 0;
}

/* The number of groups, by either of its two names. */
static int64_t either(struct lower *l, const char *name, const char *other)
{
	return lower_int(l, lower_has(l, name) ? name : other);
}

static int plugin_convolve(struct lower *l, struct value mask, struct value w, struct value bias)
{
	struct deformed d = { .x = lower_input(l, 0),
		              .w = w,
		              .offset = lower_input(l, 1),
		              .mask = mask,
		              .groups = either(l, "group", "groups"),
		              .offset_groups = either(l, "deformable_group", "deform_groups") };

	return deformed_convolution(l, &d, bias, plugin_window);
}

static int modulated_lower(struct lower *l)
{
	return plugin_convolve(l, lower_input(l, 2), lower_input(l, 3), lower_input(l, 4));
}

static int plain_lower(struct lower *l)
{
	return plugin_convolve(l, lower_input(l, 3), lower_input(l, 2), lower_input(l, 4));
}

/* clang-format off */
#define PLUGIN                                                                                                         \
	.domain = OP_ANY_DOMAIN, .since = { 1 }, \
	.formula = "y = convolution of x, read at places moved by offset, with w, + b"
#define PLUGIN_ATTRS                                                                                                   \
	ATTR_INTS("stride", "steps of the window"), ATTR_INTS("padding", "padding on both sides of each axis"),        \
	ATTR_INTS("dilation", "steps inside the window"), ATTR_INT("group", 1, "groups of channels that do not mix"),  \
	ATTR_INT("groups", 1, "the same"),                                                                             \
	ATTR_INT("deformable_group", 1, "groups of channels that share offsets"),                                      \
	ATTR_INT("deform_groups", 1, "the same")
#define MODULATED                                                                                                      \
	PLUGIN,                                                                                                        \
	.inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("offset", TS_FLOAT, RANK_FROM(3)), \
	            IN("mask", TS_FLOAT, RANK_FROM(3)), IN("w", TS_FLOAT, RANK_FROM(3)), \
	            OPT("b", TS_FLOAT, RANK(1)) }, \
	.outputs = { OUT("y") }, .attrs = { PLUGIN_ATTRS }, .lower = modulated_lower

const struct op_def ops_plugin_deform_conv[] = {
	{ .name = "ModulatedDeformConv2d", MODULATED,
	  .cases = { "x:f32[N,4,H,W] offset:f32[N,18,H,W] mask:f32[N,9,H,W] w:f32[8,4,3,3] b:f32[8] stride=1,1 "
		     "padding=1,1 dilation=1,1 group=1 deformable_group=1" } },
	{ .name = "MMCVModulatedDeformConv2d", MODULATED,
	  .cases = { "x:f16[N,4,H,W] offset:f16[N,36,H,W] mask:f16[N,18,H,W] w:f16[8,2,3,3] padding=1 groups=2 "
		     "deform_groups=2" } },
	{ .name = "MMCVDeformConv2d", PLUGIN,
	  .inputs = { IN("x", TS_FLOAT, RANK_FROM(3)), IN("offset", TS_FLOAT, RANK_FROM(3)),
		      IN("w", TS_FLOAT, RANK_FROM(3)), OPT("mask", TS_FLOAT, RANK_FROM(3)),
		      OPT("b", TS_FLOAT, RANK(1)) },
	  .outputs = { OUT("y") },
	  .attrs = { PLUGIN_ATTRS, ATTR_INT("bias", 0, "no meaning"), ATTR_INT("im2col_step", 32, "no meaning") },
	  .lower = plain_lower,
	  .cases = { "x:f32[N,4,H,W] offset:f32[N,18,5,5] w:f32[8,4,3,3] stride=2,2 padding=0,0,0,0 dilation=1,1 "
		     "groups=1 deform_groups=1" } },
	{ .name = NULL },
};
/* clang-format on */
