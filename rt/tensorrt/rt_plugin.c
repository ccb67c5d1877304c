/* SPDX-License-Identifier: Apache-2.0 */
/* rt_plugin.c: the plugin object. One struct holds the four TensorRT objects of a V3 plugin (the plugin and its core,
 * build and runtime capabilities), each a pointer to its own table. This file makes, clones and frees it, and holds the
 * tables of the plugin and its core. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_tensorrt.h"

int32_t rt_api_language(void *self)
{
	(void)self;
	return 0; /* C++ */
}

void rt_keep(void *self)
{
	(void)self;
}

static void plugin_destroy(void *self)
{
	struct rt_plugin *x = RT_OF(self, plugin);

	rt_plan_free(&x->plan);
	rt_plan_free(&x->scratch);
	free(x->timing_id);
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
	return RT_OF(self, core)->main->name;
}

static const char *core_version(void *self)
{
	return RT_OF(self, core)->main->version;
}

static const char *core_namespace(void *self)
{
	return RT_OF(self, core)->main->name_space;
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

/* "NAME/HASH/KERNELS", the key of cached times. Depends only on creation parameters, as TensorRT requires, and differs
 * between libraries whose tactic numbers differ. Null (no caching) without a hash. */
static char *timing_id(const struct tpat_rt_plugin *p)
{
	char *id = p->hash ? malloc(TRT_MAX_STRING) : NULL;

	if (!id)
		return NULL;
	int n = snprintf(id, TRT_MAX_STRING, "%s/%s/%s", p->name, p->hash, p->kernels ? p->kernels : "");
	if (n > 0 && n < TRT_MAX_STRING)
		return id;
	free(id);
	return NULL;
}

static void add_field(struct rt_plugin *x, const char *name, const char *text)
{
	if (text)
		x->field[x->fields.count++] =
		        (struct trt_field){ name, text, TRT_FIELD_CHAR, (int32_t)strlen(text) + 1 };
}

struct rt_plugin *rt_plugin_new(const struct tpat_rt_plugin *table)
{
	struct rt_plugin *x = calloc(1, sizeof *x);

	if (!x || rt_plan_alloc(table, &x->plan) || rt_plan_alloc(table, &x->scratch)) {
		rt_log(table, TRT_LOG_ERROR, "out of memory");
		if (x)
			rt_plan_free(&x->plan);
		free(x);
		return NULL;
	}
	pthread_mutex_init(&x->lock, NULL);
	x->plugin.vptr = &plugin_table.t;
	x->core.vptr = &core_table.t;
	x->build.vptr = rt_build_methods(table);
	x->runtime.vptr = &rt_runtime_table.t;
	x->old.vptr = &rt_old_table.t;
	x->main = x->table = table;
	x->tactic = table->tactic;
	x->inputs_given = -1;
	x->timing_id = timing_id(table);
	add_field(x, "hash", table->hash);
	add_field(x, "kernels", table->kernels);
	add_field(x, "version", table->version);
	x->fields.field = x->field;
	return x;
}

struct rt_plugin *rt_plugin_clone(const struct rt_plugin *x)
{
	const struct tpat_rt_plugin *p = x->table;
	struct rt_plugin *y = rt_plugin_new(x->main);
	char why[RT_WHY];

	if (!y)
		return NULL;
	y->number = x->number;
	if (rt_layout_use(y, p, why)) {
		rt_fail(p, "clone", why);
		TRT_CALL(&y->plugin, trt_plugin, v.d0);
		return NULL;
	}
	y->inputs_given = x->inputs_given;
	y->tactic = x->tactic;
	y->binding = x->binding;
	if (!x->plan.ready)
		return y;
	/* Cannot fail: it succeeded before. */
	memcpy(y->plan.extent, x->plan.extent, rt_extents(p) * sizeof *y->plan.extent);
	memcpy(y->plan.narrow, x->plan.narrow, (size_t)p->outputs * sizeof *y->plan.narrow);
	rt_plan_make(p, y->tactic, x->plan.loaded, &y->plan, why);
	return y;
}
