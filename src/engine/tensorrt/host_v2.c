/* The host as TensorRT 8.5 to 9.3: takes one plugin of the library's IPluginV2DynamicExt creators through a build and
 * runs it, in the order that the headers document. host_engine.c and host_run.c call these if the host is `old`. */
#include <string.h>

#include "engine/tensorrt/host_inside.h"

static struct trt_dims_8 narrow_dims(const int64_t *dim, int32_t rank)
{
	struct trt_dims_8 d = { .rank = rank };

	for (int32_t i = 0; i < rank; i++)
		d.d[i] = (int32_t)dim[i];
	return d;
}

static struct trt_desc_8 desc_of(const struct host_tensor *t)
{
	return (struct trt_desc_8){ .dims = narrow_dims(t->dim, t->rank),
		                    .type = trt_type_of_onnx(t->type),
		                    .format = TRT_LINEAR,
		                    .scale = -1 };
}

static struct trt_dynamic_desc_8 range_of(const struct host_tensor *min, const struct host_tensor *now,
                                          const struct host_tensor *max)
{
	struct trt_dynamic_desc_8 d = { .desc = desc_of(now),
		                        .min = narrow_dims(min->dim, min->rank),
		                        .max = narrow_dims(max->dim, max->rank) };

	for (int i = 0; i < d.desc.dims.rank; i++)
		if (d.min.d[i] != d.max.d[i])
			d.desc.dims.d[i] = -1;
	return d;
}

int host_v2_shapes(struct host_engine *x, void *plugin, const struct host_tensor *in, struct host_tensor *out,
                   struct err *e)
{
	struct arena *a = arena_new();
	struct trt_expr *builder = host_expr_builder_8(a);
	struct trt_dims_exprs *exprs = NEWN(a, struct trt_dims_exprs, x->inputs + 1);
	int rc = 0;

	for (int32_t i = 0; i < x->inputs; i++) {
		exprs[i].rank = in[i].rank;
		for (int32_t d = 0; d < in[i].rank; d++)
			exprs[i].d[d] = host_expr_new(builder, in[i].dim[d], false);
	}
	for (int32_t o = 0; rc == 0 && o < x->outputs; o++) {
		struct trt_dims_exprs r =
		        TRT_CALL(plugin, trt_plugin_8, output_dimensions, o, exprs, x->inputs, builder);
		if (r.rank < 0 || r.rank > TRT_MAX_DIMS)
			rc = host_failed(x, "getOutputDimensions", ERR_UNSUPPORTED, e);
		out[o].type = host_onnx_type(x->type[x->inputs + o]);
		out[o].rank = r.rank;
		for (int32_t d = 0; rc == 0 && d < r.rank; d++) {
			if (!r.d[d])
				rc = err_set(e, ERR_UNSUPPORTED, "Plugin %s: extent %d of output %d is null.", x->name,
				             (int)d, (int)o);
			else
				out[o].dim[d] = host_expr_value(r.d[d]);
		}
	}
	arena_free(a);
	return rc;
}

/* configurePlugin with the given ranges; it returns nothing, so its log says whether it failed. */
static int configure(struct host_engine *x, void *plugin, const struct trt_dynamic_desc_8 *desc, struct err *e)
{
	size_t logged = strlen(host_log(x->host));

	TRT_CALL(plugin, trt_plugin_8, configure, desc, x->inputs, desc + x->inputs, x->outputs);
	return strlen(host_log(x->host)) == logged ? 0 : host_failed(x, "configurePlugin", ERR_UNSUPPORTED, e);
}

/* Types, formats, ranges, and workspace for the largest extents. */
static int build(struct host_engine *x, void *plugin, const struct host_tensor *const in[3], struct err *e)
{
	struct trt_dynamic_desc_8 *range, *exact;
	struct trt_desc_8 *most;
	struct host_tensor *out[3];

	x->outputs = TRT_CALL(plugin, trt_plugin_8, outputs);
	if (x->outputs < 1)
		return host_failed(x, "getNbOutputs", ERR_UNSUPPORTED, e);
	int32_t n = x->inputs + x->outputs;
	x->type = NEWN(x->arena, int32_t, n);
	for (int32_t i = 0; i < x->inputs; i++)
		x->type[i] = trt_type_of_onnx(in[1][i].type);
	for (int32_t o = 0; o < x->outputs; o++)
		x->type[x->inputs + o] = TRT_CALL(plugin, trt_plugin_8, output_type, o, x->type, x->inputs);
	for (int k = 0; k < 3; k++) {
		out[k] = NEWN(x->arena, struct host_tensor, x->outputs);
		TRY(host_v2_shapes(x, plugin, in[k], out[k], e));
	}
	range = NEWN(x->arena, struct trt_dynamic_desc_8, n);
	exact = NEWN(x->arena, struct trt_dynamic_desc_8, n);
	most = NEWN(x->arena, struct trt_desc_8, n);
	for (int32_t i = 0; i < n; i++) {
		const struct host_tensor *t[3];
		for (int k = 0; k < 3; k++)
			t[k] = i < x->inputs ? &in[k][i] : &out[k][i - x->inputs];
		range[i] = range_of(t[0], t[1], t[2]);
		exact[i] = range_of(t[1], t[1], t[1]);
		most[i] = desc_of(t[2]);
	}
	for (int32_t i = 0; i < n; i++)
		if (!TRT_CALL(plugin, trt_plugin_8, supports_format, i, most, x->inputs, x->outputs))
			return err_set(e, ERR_UNSUPPORTED,
			               "Plugin %s of %s: supportsFormatCombination refuses the type of tensor %d in "
			               "linear format.",
			               x->name, x->host->path, (int)i);
	TRY(configure(x, plugin, range, e));
	if (TRT_CALL(plugin, trt_plugin_8, initialize))
		return host_failed(x, "initialize", ERR_DEVICE, e);
	TRY(configure(x, plugin, exact, e));
	size_t logged = strlen(host_log(x->host));
	x->workspace = TRT_CALL(plugin, trt_plugin_8, workspace, most, x->inputs, most + x->inputs, x->outputs);
	if (strlen(host_log(x->host)) != logged)
		return host_failed(x, "getWorkspaceSize", ERR_UNSUPPORTED, e);
	return 0;
}

int host_v2_attach(struct host_engine *x, void *created, struct err *e)
{
	size_t logged = strlen(host_log(x->host));

	x->plugin = TRT_CALL(created, trt_plugin_8, clone);
	if (!x->plugin)
		return host_failed(x, "clone", ERR_DEVICE, e);
	TRT_CALL(x->plugin, trt_plugin_8, attach, NULL, NULL, NULL);
	return strlen(host_log(x->host)) == logged ? 0 : host_failed(x, "attachToContext", ERR_DEVICE, e);
}

int host_v2_build(struct host_engine *x, void *creator, const struct host_tensor *const in[3], struct err *e)
{
	static const struct trt_fields none;

	/* Like the parser: passes a plugin to the network, which keeps a clone, and destroys its own. */
	void *first = TRT_CALL(creator, trt_creator_8, create, x->name, &none);
	if (!first)
		return host_failed(x, "createPlugin", ERR_UNSUPPORTED, e);
	x->build = TRT_CALL(first, trt_plugin_8, clone);
	host_v2_release(first);
	if (!x->build)
		return host_failed(x, "clone", ERR_UNSUPPORTED, e);
	if (TRT_CALL(x->build, trt_plugin_8, tensorrt_version) >> 24 != TRT_V2_DYNAMIC_EXT)
		return err_set(e, ERR_UNSUPPORTED, "Plugin %s is not an IPluginV2DynamicExt.", x->name);
	const char *name_space = TRT_CALL(x->build, trt_plugin_8, name_space);
	if (!host_matches(TRT_CALL(creator, trt_creator_8, name), TRT_CALL(x->build, trt_plugin_8, type)) ||
	    !host_matches(TRT_CALL(creator, trt_creator_8, version), TRT_CALL(x->build, trt_plugin_8, version)) ||
	    !host_matches(TRT_CALL(creator, trt_creator_8, name_space), name_space))
		return err_set(e, ERR_UNSUPPORTED, "Plugin %s and its creator differ in name, version or namespace.",
		               x->name);
	TRY(build(x, x->build, in, e));
	size_t bytes = TRT_CALL(x->build, trt_plugin_8, serialization_size);
	char *saved = arena_alloc(x->arena, bytes + 1);
	TRT_CALL(x->build, trt_plugin_8, serialize, saved);
	TRT_CALL(x->build, trt_plugin_8, terminate);
	x->created = TRT_CALL(creator, trt_creator_8, deserialize, x->name, saved, bytes);
	if (!x->created)
		return host_failed(x, "deserializePlugin", ERR_UNSUPPORTED, e);
	if (TRT_CALL(x->created, trt_plugin_8, initialize))
		return host_failed(x, "initialize", ERR_DEVICE, e);
	return host_v2_attach(x, x->created, e);
}

void host_v2_release(void *plugin)
{
	TRT_CALL(plugin, trt_plugin_8, destroy);
}

int host_v2_prepare(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, struct err *e)
{
	struct trt_dynamic_desc_8 desc[2 * HOST_MAX_TENSORS];

	for (int32_t i = 0; i < x->inputs; i++)
		desc[i] = range_of(&in[i], &in[i], &in[i]);
	for (int32_t o = 0; o < x->outputs; o++)
		desc[x->inputs + o] = range_of(&out[o], &out[o], &out[o]);
	return configure(x, x->plugin, desc, e);
}

int host_v2_enqueue(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out,
                    const void *const *inputs, void *const *outputs, void *workspace, void *stream, struct err *e)
{
	struct trt_desc_8 in_desc[HOST_MAX_TENSORS], out_desc[HOST_MAX_TENSORS];

	for (int32_t i = 0; i < x->inputs; i++)
		in_desc[i] = desc_of(&in[i]);
	for (int32_t o = 0; o < x->outputs; o++)
		out_desc[o] = desc_of(&out[o]);
	if (TRT_CALL(x->plugin, trt_plugin_8, enqueue, in_desc, out_desc, inputs, outputs, workspace, stream))
		return host_failed(x, "enqueue", ERR_DEVICE, e);
	return 0;
}
