/* SPDX-License-Identifier: Apache-2.0 */
/* rt_creator.c: IPluginCreatorV3One: makes plugin objects, from an ONNX node (build) or from the fields saved in an
 * engine (runtime). The saved hashes must match the library: an engine never runs the code of another program, nor
 * kernels with other workspace or tactics. */
#include <string.h>

#include "rt_tensorrt.h"

#define SELF(self) (RT_CREATOR(self, creator)->table)

static struct trt_info creator_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN CREATOR_V3ONE", 1, 0 };
}

static const struct trt_field *find(const struct trt_fields *fields, const char *name)
{
	for (int32_t i = 0; fields && fields->field && i < fields->count; i++)
		if (fields->field[i].name && strcmp(fields->field[i].name, name) == 0)
			return &fields->field[i];
	return NULL;
}

/* Texts come with or without their NUL. */
static bool equal_text(const struct trt_field *f, const char *text)
{
	size_t n = strlen(text), m = f->length > 0 ? (size_t)f->length : 0;

	while (m > 0 && f->data && ((const char *)f->data)[m - 1] == 0)
		m--;
	return f->type == TRT_FIELD_CHAR && m == n && (n == 0 || (f->data && memcmp(f->data, text, n) == 0));
}

static void *creator_create(void *self, const char *name, const struct trt_fields *fields, int32_t phase)
{
	const struct tpat_rt_plugin *p = SELF(self);
	const struct trt_field *hash = find(fields, "hash"), *kernels = find(fields, "kernels");
	char why[RT_WHY];

	(void)name; /* the node's */
	if (rt_check_table(p, why)) {
		rt_log(p, TRT_LOG_ERROR, "createPlugin: %s", why);
		return NULL;
	}
	if (p->hash && !hash && phase == TRT_PHASE_RUNTIME) {
		rt_log(p, TRT_LOG_ERROR, "createPlugin: the engine holds no hash of the program; build it again");
		return NULL;
	}
	if (p->hash && hash && !equal_text(hash, p->hash)) {
		rt_log(p, TRT_LOG_ERROR,
		       "createPlugin: the %s was made with another program than this library's (%s); use the library "
		       "that belongs to it, or build again",
		       phase == TRT_PHASE_RUNTIME ? "engine" : "model", p->hash);
		return NULL;
	}
	/* Other kernels may need more workspace than the engine allocates, and number their tactics differently. */
	if (p->kernels && phase == TRT_PHASE_RUNTIME && (!kernels || !equal_text(kernels, p->kernels))) {
		rt_log(p, TRT_LOG_ERROR,
		       "createPlugin: the engine was made with other kernels of this program than this library's (%s); "
		       "use the library that belongs to it, or build the engine again",
		       p->kernels);
		return NULL;
	}
	struct rt_plugin *x = rt_plugin_new(p);
	return x ? &x->plugin : NULL;
}

/* None: the plugin reads no attributes of a node, and TensorRT's parser would warn about listed names that a node
 * lacks. */
static const struct trt_fields *creator_field_names(void *self)
{
	static const struct trt_fields none;

	(void)self;
	return &none;
}

static const char *creator_name(void *self)
{
	return SELF(self)->name;
}

static const char *creator_version(void *self)
{
	return SELF(self)->version;
}

static const char *creator_namespace(void *self)
{
	return SELF(self)->name_space;
}

static const struct {
	struct trt_table_head head;
	struct trt_creator t;
} creator_table = {
	.t = {
		.v = { rt_api_language, creator_info, rt_keep, rt_keep },
		.create = creator_create,
		.field_names = creator_field_names,
		.name = creator_name,
		.version = creator_version,
		.name_space = creator_namespace,
	},
};

void rt_creator_init(struct rt_creator *c, const struct tpat_rt_plugin *table)
{
	c->creator.vptr = &creator_table.t;
	c->table = table;
	rt_old_creator_init(c);
}
