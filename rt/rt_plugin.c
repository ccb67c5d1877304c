/* SPDX-License-Identifier: Apache-2.0 */
/* rt_plugin.c: the plugin object. One struct holds the four TensorRT objects that a V3 plugin is (the plugin and its
 * core, build and runtime capabilities), each a pointer to its own table; this file makes, clones and frees it, and
 * holds the tables of the plugin and of its core. */
#include <stdlib.h>
#include <string.h>

#include "rt.h"

int32_t rt_api_language(void *self)
{
	(void)self;
	return 0; /* C++ */
}

void rt_keep(void *self)
{
	(void)self;
}

static int plan_alloc(const struct tpat_rt_plugin *p, struct rt_plan *plan)
{
	size_t extents = rt_extents(p), n = extents + (size_t)p->exprs + (size_t)p->buffers;

	plan->extent = calloc(n + 1, sizeof(int64_t));
	if (!plan->extent)
		return -1;
	plan->value = plan->extent + extents;
	plan->offset = plan->value + p->exprs;
	return 0;
}

static void plugin_destroy(void *self)
{
	struct rt_plugin *x = RT_OF(self, plugin);

	free(x->plan.extent);
	free(x->scratch.extent);
	free(x->timing_id);
	x->plan.extent = x->scratch.extent = NULL;
	x->timing_id = NULL;
	pthread_mutex_destroy(&x->lock);
}

static void plugin_free(void *self)
{
	plugin_destroy(self);
	free(RT_OF(self, plugin));
}

static struct trt_info plugin_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN", 1, 0 };
}

static void *plugin_capability(void *self, int32_t type)
{
	struct rt_plugin *x = RT_OF(self, plugin);

	switch (type) {
	case TRT_CORE: return &x->core;
	case TRT_BUILD: return &x->build;
	case TRT_RUNTIME: return &x->runtime;
	default: return NULL;
	}
}

static void *plugin_clone(void *self)
{
	struct rt_plugin *x = rt_plugin_clone(RT_OF(self, plugin));
	return x ? &x->plugin : NULL;
}

static struct trt_info core_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_CORE", 1, 0 };
}

static const char *core_name(void *self)
{
	return RT_OF(self, core)->table->name;
}

static const char *core_version(void *self)
{
	return RT_OF(self, core)->table->version;
}

static const char *core_namespace(void *self)
{
	return RT_OF(self, core)->table->name_space;
}

static const struct {
	struct trt_table_head head;
	struct trt_plugin t;
} plugin_table = {
	.t = {
		.v = { rt_api_language, plugin_info, plugin_destroy, plugin_free },
		.capability = plugin_capability,
		.clone = plugin_clone,
	},
};

static const struct {
	struct trt_table_head head;
	struct trt_core t;
} core_table = {
	.t = {
		.v = { rt_api_language, core_info, rt_keep, rt_keep },
		.name = core_name,
		.version = core_version,
		.name_space = core_namespace,
	},
};

/* Name and hash: depends only on what was created, as TensorRT asks. Null (no caching) when there is no hash. */
static char *timing_id(const struct tpat_rt_plugin *p)
{
	if (!p->hash)
		return NULL;
	size_t n = strlen(p->name), h = strlen(p->hash);
	if (n + h + 2 > TRT_MAX_STRING)
		return NULL;
	char *id = malloc(n + h + 2);
	if (!id)
		return NULL;
	memcpy(id, p->name, n);
	id[n] = '/';
	memcpy(id + n + 1, p->hash, h + 1);
	return id;
}

struct rt_plugin *rt_plugin_new(const struct tpat_rt_plugin *table)
{
	struct rt_plugin *x = calloc(1, sizeof *x);

	if (!x || plan_alloc(table, &x->plan) || plan_alloc(table, &x->scratch)) {
		rt_log(table, TRT_LOG_ERROR, "out of memory");
		if (x)
			free(x->plan.extent);
		free(x);
		return NULL;
	}
	pthread_mutex_init(&x->lock, NULL);
	x->plugin.vptr = &plugin_table.t;
	x->core.vptr = &core_table.t;
	x->build.vptr = &rt_build_table.t;
	x->runtime.vptr = &rt_runtime_table.t;
	x->table = table;
	x->inputs_given = -1;
	x->timing_id = timing_id(table);
	if (table->hash)
		x->field[x->fields.count++] =
		        (struct trt_field){ "hash", table->hash, TRT_FIELD_CHAR, (int32_t)strlen(table->hash) + 1 };
	x->field[x->fields.count++] =
	        (struct trt_field){ "version", table->version, TRT_FIELD_CHAR, (int32_t)strlen(table->version) + 1 };
	x->fields.field = x->field;
	return x;
}

struct rt_plugin *rt_plugin_clone(const struct rt_plugin *x)
{
	const struct tpat_rt_plugin *p = x->table;
	struct rt_plugin *y = rt_plugin_new(p);

	if (!y)
		return NULL;
	y->inputs_given = x->inputs_given;
	y->binding = x->binding;
	y->plan.ready = x->plan.ready;
	y->plan.bytes = x->plan.bytes;
	memcpy(y->plan.extent, x->plan.extent,
	       (rt_extents(p) + (size_t)p->exprs + (size_t)p->buffers) * sizeof *y->plan.extent);
	return y;
}
