/* SPDX-License-Identifier: Apache-2.0 */
/* rt_v2.c: IPluginV2DynamicExt and its creator, for TensorRT 8.5 to 9.3, which have no IPluginV3. The same plugin
 * objects and tables; extents are 32 bits wide, a plugin saves itself as bytes, and has no tactics, shape inputs or
 * size tensors. */
#include <stdlib.h>
#include <string.h>

#include "rt_tensorrt.h"

#define SELF(self) RT_OF(self, old)

/* ---- Checks, and structs of the other layout. */

/* Fails if TensorRT 8 or 9 lacks something that the plugin needs. */
static int check_old(const struct tpat_rt_plugin *p, char why[RT_WHY])
{
	if (rt_check_table(p, why))
		return -1;
	if (rt_shape_inputs(p))
		return rt_why(why,
		              "it reads extents from a shape input, which plugins of TensorRT 8 and 9 cannot have");
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		int32_t type = trt_type_of_onnx(rt_tensor(p, i)->type);
		if (i >= p->inputs && rt_is_size(p, i - p->inputs))
			return rt_why(why,
			              "its kernels compute the extents of an output, which TensorRT 8 and 9 do not "
			              "support");
		bool lacks = type >= TRT_PRIVATE ? !rt_device_is_hosted() : type > TRT_UINT8;
		if (lacks)
			return rt_why(
			        why,
			        "TensorRT 8 and 9 lack the type of its tensor %s; build the model again with tpat "
			        "build --tensorrt 8.6",
			        rt_tensor(p, i)->name);
	}
	return 0;
}

static struct trt_dims wide_dims(const struct trt_dims_8 *d)
{
	struct trt_dims wide = { .rank = d->rank };

	for (int32_t i = 0; i < TRT_MAX_DIMS && i < d->rank; i++)
		wide.d[i] = d->d[i];
	return wide;
}

static struct trt_dynamic_desc wide_desc(const struct trt_desc_8 *d)
{
	return (struct trt_dynamic_desc){
		.desc = { .dims = wide_dims(&d->dims), .type = d->type, .format = d->format, .scale = d->scale },
	};
}

/* ---- The plugin. */

static int32_t old_tensorrt_version(void *self)
{
	int32_t version = rt_version();

	(void)self;
	return TRT_V2_DYNAMIC_EXT << 24 | ((version ? version : 8601) & 0xffffff);
}

static const char *old_type(void *self)
{
	return SELF(self)->table->name;
}

static const char *old_version(void *self)
{
	return SELF(self)->table->version;
}

static const char *old_name_space(void *self)
{
	return SELF(self)->table->name_space;
}

/* A plugin's namespace is part of its library: models and engines name it. */
static void old_set_name_space(void *self, const char *name_space)
{
	(void)self, (void)name_space;
}

static int32_t old_outputs(void *self)
{
	return SELF(self)->table->outputs;
}

static int32_t old_output_type(void *self, int32_t index, const int32_t *in, int32_t inputs)
{
	const struct tpat_rt_plugin *p = SELF(self)->table;

	(void)in, (void)inputs; /* supportsFormatCombination checks them */
	return index >= 0 && index < p->outputs ? rt_type(p, p->inputs + index) : TRT_FLOAT;
}

static struct trt_dims_exprs old_output_dimensions(void *self, int32_t index, const struct trt_dims_exprs *in,
                                                   int32_t inputs, struct trt_expr *builder)
{
	const struct tpat_rt_plugin *p = SELF(self)->table;
	struct trt_dims_exprs result = { .rank = -1 };
	char why[RT_WHY];
	struct trt_dims_exprs *out = calloc((size_t)p->outputs + 1, sizeof *out);

	if (!out)
		rt_why(why, "out of memory");
	if (!out || rt_check_counts(p, inputs, p->outputs, why) ||
	    rt_output_shapes(p, in, inputs, NULL, 0, out, builder, 8, why))
		rt_fail(p, "getOutputDimensions", why);
	else if (index >= 0 && index < p->outputs)
		result = out[index];
	free(out);
	return result;
}

/* Does not log: "no" is an ordinary answer. */
static bool old_supports_format(void *self, int32_t pos, const struct trt_desc_8 *in_out, int32_t inputs,
                                int32_t outputs)
{
	const struct tpat_rt_plugin *p = SELF(self)->table;
	char why[RT_WHY];

	if (rt_check_counts(p, inputs, outputs, why) || pos < 0 || pos >= inputs + outputs)
		return false;
	return in_out[pos].format == TRT_LINEAR && rt_check_type(p, pos, in_out[pos].type, why) == 0;
}

static bool is_known(const struct trt_dims_8 *d)
{
	for (int32_t i = 0; i < d->rank; i++)
		if (d->d[i] < 0)
			return false;
	return d->rank >= 0;
}

/* Prepares the plugin if all extents are known, as they are when an engine runs. */
static int configure_known(struct rt_plugin *x, const struct trt_dynamic_desc_8 *in, int32_t inputs,
                           const struct trt_dynamic_desc_8 *out, int32_t outputs, char why[RT_WHY])
{
	struct trt_desc_8 *desc = calloc((size_t)(inputs + outputs) + 1, sizeof *desc);
	const struct rt_given g = { desc, desc + inputs, inputs, true };
	bool known = true;
	int rc = 0;

	if (!desc)
		return rt_why(why, "out of memory");
	for (int32_t i = 0; i < inputs + outputs; i++) {
		desc[i] = i < inputs ? in[i].desc : out[i - inputs].desc;
		known = known && is_known(&desc[i].dims);
	}
	if (known)
		rc = rt_set_extents(x, &g, why);
	free(desc);
	return rc;
}

static void old_configure(void *self, const struct trt_dynamic_desc_8 *in, int32_t inputs,
                          const struct trt_dynamic_desc_8 *out, int32_t outputs)
{
	struct rt_plugin *x = SELF(self);
	const struct tpat_rt_plugin *p = x->table;
	struct trt_dynamic_desc *wide = NULL;
	char why[RT_WHY];
	int rc = rt_check_counts(p, inputs, outputs, why);

	x->plan.ready = false;
	if (rc == 0 && !(wide = calloc((size_t)(inputs + outputs) + 1, sizeof *wide)))
		rc = rt_why(why, "out of memory");
	for (int32_t i = 0; rc == 0 && i < inputs + outputs; i++) {
		const struct trt_dynamic_desc_8 *d = i < inputs ? &in[i] : &out[i - inputs];
		wide[i] = wide_desc(&d->desc);
		wide[i].min = wide_dims(&d->min);
		wide[i].max = wide_dims(&d->max);
	}
	if (rc == 0)
		rc = rt_configure(p, wide, inputs, wide + inputs, outputs, why);
	free(wide);
	/* Before initialize() there may be no device. */
	if (rc == 0 && x->binding.loaded)
		rc = configure_known(x, in, inputs, out, outputs, why);
	if (rc)
		rt_fail(p, "configurePlugin", why);
}

/* TensorRT asks for extents up to the given ones. */
static size_t old_workspace(void *self, const struct trt_desc_8 *in, int32_t inputs, const struct trt_desc_8 *out,
                            int32_t outputs)
{
	const struct tpat_rt_plugin *p = SELF(self)->table;
	struct trt_dynamic_desc *wide = NULL;
	char why[RT_WHY];
	int64_t bytes = rt_check_counts(p, inputs, outputs, why);

	if (bytes == 0 && !(wide = calloc((size_t)(inputs + outputs) + 1, sizeof *wide)))
		bytes = rt_why(why, "out of memory");
	for (int32_t i = 0; bytes == 0 && i < inputs + outputs; i++) {
		wide[i] = wide_desc(i < inputs ? &in[i] : &out[i - inputs]);
		wide[i].max = wide[i].desc.dims;
		wide[i].min.rank = wide[i].desc.dims.rank; /* of zeros */
	}
	if (bytes == 0)
		bytes = rt_workspace(p, wide, inputs, wide + inputs, outputs, why);
	free(wide);
	if (bytes >= 0)
		return (size_t)bytes;
	rt_fail(p, "getWorkspaceSize", why);
	return 0;
}

static int32_t old_enqueue(void *self, const struct trt_desc_8 *in, const struct trt_desc_8 *out,
                           const void *const *inputs, void *const *outputs, void *workspace, void *stream)
{
	struct rt_plugin *x = SELF(self);
	const struct rt_given g = { in, out, x->table->inputs, true };
	char why[RT_WHY];

	return rt_enqueue(x, &g, inputs, outputs, workspace, stream, why) ? rt_fail(x->table, "enqueue", why) : 0;
}

static int32_t old_initialize(void *self)
{
	struct rt_plugin *x = SELF(self);
	char why[RT_WHY];

	return rt_device_bind(x->table, &x->binding, why) ? rt_fail(x->table, "initialize", why) : 0;
}

static void old_attach(void *self, void *cudnn, void *cublas, void *allocator)
{
	struct rt_plugin *x = SELF(self);
	char why[RT_WHY];

	(void)cudnn, (void)cublas, (void)allocator;
	if (rt_device_bind(x->table, &x->binding, why))
		rt_fail(x->table, "attachToContext", why);
}

static void *old_clone(void *self)
{
	struct rt_plugin *x = rt_plugin_clone(SELF(self));
	return x ? &x->old : NULL;
}

static void old_d1(void *self)
{
	TRT_CALL(&SELF(self)->plugin, trt_plugin, v.d1);
}

static void old_destroy(void *self)
{
	TRT_CALL(&SELF(self)->plugin, trt_plugin, v.d0);
}

/* ---- What an engine saves: the hashes of the program and of the kernels, each with its NUL. */

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static size_t old_serialization_size(void *self)
{
	const struct tpat_rt_plugin *p = SELF(self)->table;
	return strlen(text_of(p->hash)) + strlen(text_of(p->kernels)) + 2;
}

static void old_serialize(void *self, void *buffer)
{
	const struct tpat_rt_plugin *p = SELF(self)->table;
	size_t n = strlen(text_of(p->hash)) + 1;

	memcpy(buffer, text_of(p->hash), n);
	memcpy((char *)buffer + n, text_of(p->kernels), strlen(text_of(p->kernels)) + 1);
}

/* True if `data` starts with the text and its NUL; moves *at after it. */
static bool takes_text(const char *data, size_t bytes, size_t *at, const char *text)
{
	size_t n = strlen(text) + 1;

	if (bytes - *at < n || memcmp(data + *at, text, n))
		return false;
	*at += n;
	return true;
}

/* ---- Slots that TensorRT does not use for plugins with dynamic shapes, or that do nothing. */

static struct trt_dims_8 unused_dimensions(void *self, int32_t index, const struct trt_dims_8 *in, int32_t inputs)
{
	(void)self, (void)index, (void)in, (void)inputs;
	return (struct trt_dims_8){ .rank = -1 };
}

static bool unused_supports_format(void *self, int32_t type, int32_t format)
{
	(void)self, (void)type, (void)format;
	return false;
}

static void unused_configure_with_format(void *self, const struct trt_dims_8 *in, int32_t inputs,
                                         const struct trt_dims_8 *out, int32_t outputs, int32_t type, int32_t format,
                                         int32_t batch)
{
	(void)self, (void)in, (void)inputs, (void)out, (void)outputs, (void)type, (void)format, (void)batch;
}

static size_t unused_workspace(void *self, int32_t batch)
{
	(void)self, (void)batch;
	return 0;
}

static int32_t unused_enqueue(void *self, int32_t batch, const void *const *inputs, void *const *outputs,
                              void *workspace, void *stream)
{
	(void)self, (void)batch, (void)inputs, (void)outputs, (void)workspace, (void)stream;
	return 1;
}

static bool unused_broadcast(void *self, int32_t index, const bool *in, int32_t inputs)
{
	(void)self, (void)index, (void)in, (void)inputs;
	return false;
}

static bool unused_can_broadcast(void *self, int32_t index)
{
	(void)self, (void)index;
	return true;
}

static void unused_configure(void *self, const struct trt_dims_8 *in, int32_t inputs, const struct trt_dims_8 *out,
                             int32_t outputs, const int32_t *in_type, const int32_t *out_type, const bool *in_broadcast,
                             const bool *out_broadcast, int32_t format, int32_t batch)
{
	(void)self, (void)in, (void)inputs, (void)out, (void)outputs, (void)in_type, (void)out_type;
	(void)in_broadcast, (void)out_broadcast, (void)format, (void)batch;
}

const struct rt_old_table rt_old_table = {
	.t = {
		.tensorrt_version = old_tensorrt_version,
		.type = old_type,
		.version = old_version,
		.outputs = old_outputs,
		.old_dimensions = unused_dimensions,
		.old_supports_format = unused_supports_format,
		.old_configure_with_format = unused_configure_with_format,
		.initialize = old_initialize,
		.terminate = rt_keep,
		.old_workspace = unused_workspace,
		.old_enqueue = unused_enqueue,
		.serialization_size = old_serialization_size,
		.serialize = old_serialize,
		.destroy = old_destroy,
		.clone = old_clone,
		.set_name_space = old_set_name_space,
		.name_space = old_name_space,
		.d1 = old_d1,
		.d0 = old_destroy,
		.output_type = old_output_type,
		.broadcast = unused_broadcast,
		.can_broadcast = unused_can_broadcast,
		.old_configure = unused_configure,
		.attach = old_attach,
		.detach = rt_keep,
		.output_dimensions = old_output_dimensions,
		.supports_format = old_supports_format,
		.configure = old_configure,
		.workspace = old_workspace,
		.enqueue = old_enqueue,
	},
};

/* ---- The creator. */

#define TABLE(self) (RT_CREATOR(self, old)->table)

static int32_t creator_tensorrt_version(void *self)
{
	int32_t version = rt_version();

	(void)self;
	return version ? version : 8601;
}

static const char *creator_name(void *self)
{
	return TABLE(self)->name;
}

static const char *creator_version(void *self)
{
	return TABLE(self)->version;
}

static const char *creator_name_space(void *self)
{
	return TABLE(self)->name_space;
}

/* None, as of the V3 creator. */
static const struct trt_fields *creator_field_names(void *self)
{
	static const struct trt_fields none;

	(void)self;
	return &none;
}

static void *creator_create(void *self, const char *name, const struct trt_fields *fields)
{
	const struct tpat_rt_plugin *p = TABLE(self);
	char why[RT_WHY];

	(void)name, (void)fields;
	if (check_old(p, why)) {
		rt_fail(p, "createPlugin", why);
		return NULL;
	}
	struct rt_plugin *x = rt_plugin_new(p);
	return x ? &x->old : NULL;
}

static void *creator_deserialize(void *self, const char *name, const void *data, size_t bytes)
{
	const struct tpat_rt_plugin *p = TABLE(self);
	char why[RT_WHY];
	size_t at = 0;

	(void)name;
	if (check_old(p, why)) {
		rt_fail(p, "deserializePlugin", why);
		return NULL;
	}
	if (!data || !takes_text(data, bytes, &at, text_of(p->hash)) ||
	    !takes_text(data, bytes, &at, text_of(p->kernels)) || at != bytes) {
		rt_log(p, TRT_LOG_ERROR,
		       "deserializePlugin: the engine was made with another program or other kernels than this "
		       "library's "
		       "(%s, %s); use the library that belongs to it, or build the engine again",
		       text_of(p->hash), text_of(p->kernels));
		return NULL;
	}
	struct rt_plugin *x = rt_plugin_new(p);
	return x ? &x->old : NULL;
}

static const struct {
	struct trt_table_head head;
	struct trt_creator_8 t;
} creator_table = {
	.t = {
		.tensorrt_version = creator_tensorrt_version,
		.name = creator_name,
		.version = creator_version,
		.field_names = creator_field_names,
		.create = creator_create,
		.deserialize = creator_deserialize,
		.set_name_space = old_set_name_space,
		.name_space = creator_name_space,
		.d1 = rt_keep,
		.d0 = rt_keep,
	},
};

void rt_old_creator_init(struct rt_creator *c)
{
	c->old.vptr = &creator_table.t;
}
