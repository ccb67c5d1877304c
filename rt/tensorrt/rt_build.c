/* SPDX-License-Identifier: Apache-2.0 */
/* rt_build.c: IPluginV3OneBuild 1.0: types, shapes, formats and workspace, while TensorRT builds an engine. Needs no
 * GPU. */
#include <stdlib.h>
#include <string.h>

#include "rt_tensorrt.h"

static struct trt_info build_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_BUILD", 1, 0 };
}

static struct trt_info build_info_2(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_BUILD", 2, 0 };
}

/* A profile's minimum and maximum must also fit the plugin. */
static int check_dynamic(const struct tpat_rt_plugin *p, int32_t index, const struct trt_dynamic_desc *d,
                         char why[RT_WHY])
{
	struct trt_desc end = d->desc;

	rt_store(&end.dims, end.format);
	if (rt_check_desc(p, index, &end, why))
		return -1;
	const struct trt_dims *ends[2] = { &d->min, &d->max };
	for (int i = 0; i < 2; i++) {
		if (ends[i]->rank != d->desc.dims.rank)
			continue; /* no profile, as for tensors inside a static network */
		end.dims = *ends[i];
		rt_store(&end.dims, end.format);
		if (rt_check_desc(p, index, &end, why))
			return -1;
	}
	return 0;
}

int rt_configure(const struct tpat_rt_plugin *p, const struct trt_dynamic_desc *in, int32_t inputs,
                 const struct trt_dynamic_desc *out, int32_t outputs, char why[RT_WHY])
{
	if (rt_check_counts(p, inputs, outputs, why))
		return -1;
	for (int32_t i = 0; i < inputs; i++)
		if (check_dynamic(p, i, &in[i], why))
			return -1;
	for (int32_t o = 0; o < outputs; o++)
		if (check_dynamic(p, p->inputs + o, &out[o], why))
			return -1;
	return 0;
}

static int32_t build_configure(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
                               const struct trt_dynamic_desc *out, int32_t outputs)
{
	struct rt_plugin *x = RT_OF(self, build);
	const struct rt_descs ins = { in, sizeof *in }, outs = { out, sizeof *out };
	char why[RT_WHY];

	if (rt_check_counts(x->main, inputs, outputs, why) || rt_layout_take(x, &ins, inputs, &outs, why) ||
	    rt_configure(x->table, in, inputs, out, outputs, why))
		return rt_fail(x->main, "configurePlugin", why);
	return 0;
}

static int32_t build_output_types(void *self, int32_t *out, int32_t outputs, const int32_t *in, int32_t inputs)
{
	const struct tpat_rt_plugin *p = RT_OF(self, build)->main;
	char why[RT_WHY];

	if (rt_check_counts(p, inputs, outputs, why))
		return rt_fail(p, "getOutputDataTypes", why);
	for (int32_t i = 0; i < inputs; i++)
		if (rt_check_type(p, i, in[i], why))
			return rt_fail(p, "getOutputDataTypes", why);
	for (int32_t o = 0; o < outputs; o++) {
		out[o] = rt_type(p, p->inputs + o);
		/* TensorRT must never see a private type number. */
		if (out[o] >= TRT_PRIVATE && !rt_device_is_hosted()) {
			rt_why(why, "output %d (%s) has a type that TensorRT does not have (ONNX type %d)", (int)o,
			       p->output[o].name, (int)p->output[o].type);
			return rt_fail(p, "getOutputDataTypes", why);
		}
	}
	return 0;
}

static int32_t build_output_shapes(void *self, const struct trt_dims_exprs *in, int32_t inputs,
                                   const struct trt_dims_exprs *shape_in, int32_t shape_inputs,
                                   struct trt_dims_exprs *out, int32_t outputs, struct trt_expr *builder)
{
	const struct tpat_rt_plugin *p = RT_OF(self, build)->main;
	char why[RT_WHY];

	if (rt_check_counts(p, inputs, outputs, why) ||
	    rt_output_shapes(p, in, inputs, shape_in, shape_inputs, out, builder, 10, why))
		return rt_fail(p, "getOutputShapes", why);
	return 0;
}

/* Does not log: TensorRT asks for every combination, and "no" is an ordinary answer. */
static bool build_supports_format(void *self, int32_t pos, const struct trt_dynamic_desc *in_out, int32_t inputs,
                                  int32_t outputs)
{
	const struct tpat_rt_plugin *p = RT_OF(self, build)->main;
	const struct rt_descs all = { in_out, sizeof *in_out };
	char why[RT_WHY];

	if (rt_check_counts(p, inputs, outputs, why) || pos < 0 || pos >= inputs + outputs)
		return false;
	/* In the table all inputs come first, including those that TensorRT omits. */
	int32_t index = pos < inputs ? pos : p->inputs + pos - inputs;
	return rt_layout_exists(p, &all, inputs, pos + 1) && rt_check_type(p, index, in_out[pos].desc.type, why) == 0;
}

static int32_t build_outputs(void *self)
{
	return RT_OF(self, build)->table->outputs;
}

/* Sets the range of each extent: the profile's, or without a profile the extent itself. */
static void put_range(const struct trt_dynamic_desc *of, int64_t *low, int64_t *high)
{
	struct trt_dynamic_desc stored = *of, *d = &stored;

	rt_store(&d->desc.dims, of->desc.format);
	rt_store(&d->min, of->desc.format);
	rt_store(&d->max, of->desc.format);
	for (int32_t i = 0; i < TPAT_RT_MAX_RANK && i < d->desc.dims.rank; i++) {
		int64_t known = d->desc.dims.d[i];
		int64_t min = i < d->min.rank ? d->min.d[i] : known, max = i < d->max.rank ? d->max.d[i] : known;
		high[i] = max >= 0 ? max : known;
		low[i] = min >= 0 && min <= high[i] ? min : 0;
	}
}

int64_t rt_workspace(const struct tpat_rt_plugin *p, const struct trt_dynamic_desc *in, int32_t inputs,
                     const struct trt_dynamic_desc *out, int32_t outputs, char why[RT_WHY])
{
	size_t n = rt_extents(p);

	if (rt_check_counts(p, inputs, outputs, why))
		return -1;
	int64_t *low = malloc((2 * n + 1) * sizeof *low), *high = low + n;
	if (!low)
		return rt_why(why, "out of memory");
	memset(low, 0xff, 2 * n * sizeof *low); /* -1: unknown */
	for (int32_t i = 0; i < inputs; i++)
		put_range(&in[i], low + i * TPAT_RT_MAX_RANK, high + i * TPAT_RT_MAX_RANK);
	for (int32_t o = 0; o < outputs; o++)
		put_range(&out[o], low + (p->inputs + o) * TPAT_RT_MAX_RANK, high + (p->inputs + o) * TPAT_RT_MAX_RANK);
	int64_t bytes = rt_plan_workspace(p, low, high, why);
	for (int32_t o = 0; o < outputs && bytes >= 0; o++)
		bytes += rt_is_narrowed(p, o, out[o].desc.type) ? RT_WORKSPACE_ALIGN : 0;
	free(low);
	return bytes;
}

static size_t build_workspace(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
                              const struct trt_dynamic_desc *out, int32_t outputs)
{
	const struct tpat_rt_plugin *p = RT_OF(self, build)->table;
	char why[RT_WHY];
	int64_t bytes = rt_workspace(p, in, inputs, out, outputs, why);

	if (bytes >= 0)
		return (size_t)bytes;
	rt_fail(p, "getWorkspaceSize", why);
	return 0;
}

static int32_t build_valid_tactics(void *self, int32_t *tactics, int32_t count)
{
	const struct tpat_rt_plugin *p = RT_OF(self, build)->table;
	char why[RT_WHY];

	if (count != rt_tactics(p)) {
		rt_why(why, "it has %d tactics, but TensorRT asks for %d", (int)rt_tactics(p), (int)count);
		return rt_fail(p, "getValidTactics", why);
	}
	for (int32_t i = 0; i < count; i++)
		tactics[i] = i + 1;
	return 0;
}

static int32_t build_tactics(void *self)
{
	return rt_tactics(RT_OF(self, build)->table);
}

static const char *build_timing_cache_id(void *self)
{
	return RT_OF(self, build)->timing_id;
}

static int32_t build_format_limit(void *self)
{
	(void)self;
	return 100;
}

static const char *build_metadata(void *self)
{
	const char *about = RT_OF(self, build)->table->about;
	return about && strlen(about) < TRT_MAX_STRING ? about : NULL;
}

/* The input whose memory an output may have. TensorRT asks only if the network's user has turned that on
 * (PreviewFeature::kALIASED_PLUGIN_IO_10_03); kernels decide by the pointers that they get. */
static int32_t build_aliased_input(void *self, int32_t output)
{
	const struct tpat_rt_plugin *p = RT_OF(self, build)->table;

	return output >= 0 && output < p->outputs ? p->output[output].replaces - 1 : -1;
}

/* clang-format off */
#define BUILD_METHODS(info) \
	.v = { rt_api_language, info, rt_keep, rt_keep }, \
	.configure = build_configure, \
	.output_types = build_output_types, \
	.output_shapes = build_output_shapes, \
	.supports_format = build_supports_format, \
	.outputs = build_outputs, \
	.workspace = build_workspace, \
	.valid_tactics = build_valid_tactics, \
	.tactics = build_tactics, \
	.timing_cache_id = build_timing_cache_id, \
	.format_limit = build_format_limit, \
	.metadata = build_metadata,
/* clang-format on */

static const struct {
	struct trt_table_head head;
	struct trt_build t;
} build_table = { .t = { BUILD_METHODS(build_info) } };
static const struct {
	struct trt_table_head head;
	struct trt_build_2 t;
} build_2_table = {
	.t = { .first = { BUILD_METHODS(build_info_2) }, .aliased_input = build_aliased_input },
};

const void *rt_build_methods(const struct tpat_rt_plugin *p)
{
	enum { RTX_END = 20000, TEN_3 = 100300 };
	bool replaces = false;

	for (int32_t o = 0; o < p->outputs; o++)
		replaces |= p->output[o].replaces > 0;
	if (!replaces)
		return &build_table.t;
	/* 10.0 to 10.2 know only 1.0. TensorRT-RTX has numbers of its own. */
	int32_t version = rt_version();
	return version < RTX_END || version >= TEN_3 ? (const void *)&build_2_table.t : &build_table.t;
}
