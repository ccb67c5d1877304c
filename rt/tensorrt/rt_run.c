/* SPDX-License-Identifier: Apache-2.0 */
/* rt_run.c: IPluginV3OneRuntime 1.0: shape changes and enqueue. enqueue does not allocate or block. */
#include <string.h>

#include "rt_tensorrt.h"

static struct trt_info runtime_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_RUNTIME", 1, 0 };
}

static int32_t runtime_set_tactic(void *self, int32_t tactic)
{
	struct rt_plugin *x = RT_OF(self, runtime);
	const struct tpat_rt_plugin *p = x->table;
	int32_t most = rt_layout_tactics(x->main);
	char why[RT_WHY];

	if (tactic < 0 || tactic > most) {
		rt_why(why, "there is no tactic %d; there are %d", (int)tactic, (int)most);
		return rt_fail(p, "setTactic", why);
	}
	/* An engine sets the tactic before the first change of shapes tells the formats. */
	x->number = tactic;
	const struct tpat_rt_tactic *t = &p->tactic[tactic > 0 && tactic <= rt_tactics(p) ? tactic - 1 : 0];
	if (t == x->tactic)
		return 0;
	x->tactic = t;
	x->scratch.ready = false;
	if (!x->plan.ready)
		return 0;
	/* TensorRT may have set the extents already. */
	return rt_plan_make(p, t, x->plan.loaded, &x->plan, why) ? rt_fail(p, "setTactic", why) : 0;
}

/* Returns the description of a tensor (inputs come first, then outputs). */
static struct trt_desc given_desc(const struct tpat_rt_plugin *p, const struct rt_given *g, int32_t index)
{
	const void *array = index < p->inputs ? g->in : g->out;
	int32_t i = index < p->inputs ? index : index - p->inputs;

	if (!g->old) {
		struct trt_desc given = ((const struct trt_desc *)array)[i];
		if (given.format != TRT_LINEAR)
			rt_store(&given.dims, given.format);
		return given;
	}
	const struct trt_desc_8 *d = (const struct trt_desc_8 *)array + i;
	struct trt_desc wide = { .type = d->type, .format = d->format, .scale = d->scale };
	wide.dims.rank = d->dims.rank;
	for (int32_t k = 0; k < TRT_MAX_DIMS && k < d->dims.rank; k++)
		wide.dims.d[k] = d->dims.d[k];
	return wide;
}

/* True for a shape input that TensorRT did not pass. */
static bool is_left_out(const struct tpat_rt_plugin *p, const struct rt_given *g, int32_t index)
{
	return index >= g->inputs && index < p->inputs;
}

/* Checks the descriptions against the table, and copies their extents to plan->extent. */
static int take_extents(const struct tpat_rt_plugin *p, const struct rt_given *g, struct rt_plan *plan,
                        char why[RT_WHY])
{
	memset(plan->extent, 0xff, rt_extents(p) * sizeof *plan->extent); /* -1: unknown */
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		if (is_left_out(p, g, i))
			continue;
		const struct trt_desc d = given_desc(p, g, i);
		if (rt_check_desc(p, i, &d, why))
			return -1;
		memcpy(plan->extent + i * TPAT_RT_MAX_RANK, d.dims.d, (size_t)d.dims.rank * sizeof *d.dims.d);
		if (i >= p->inputs)
			plan->narrow[i - p->inputs] = rt_is_narrowed(p, i - p->inputs, d.type) ? 0 : -1;
	}
	return 0;
}

static bool same_extents(const struct tpat_rt_plugin *p, const struct rt_given *g, const struct rt_plan *plan)
{
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		if (is_left_out(p, g, i))
			continue;
		const struct trt_desc d = given_desc(p, g, i);
		if (d.dims.rank != rt_tensor(p, i)->rank ||
		    memcmp(plan->extent + i * TPAT_RT_MAX_RANK, d.dims.d, (size_t)d.dims.rank * sizeof *d.dims.d))
			return false;
	}
	return true;
}

int rt_set_extents(struct rt_plugin *x, const struct rt_given *g, char why[RT_WHY])
{
	const struct rt_descs in = { g->in, sizeof(struct trt_desc) }, out = { g->out, sizeof(struct trt_desc) };

	x->plan.ready = false;
	x->inputs_given = g->inputs;
	if (!g->old && rt_layout_take(x, &in, g->inputs, &out, why))
		return -1;
	const struct tpat_rt_plugin *p = x->table;
	if (x->number > rt_tactics(p))
		return rt_why(why, "there is no tactic %d for these formats; there are %d", (int)x->number,
		              (int)rt_tactics(p));
	return take_extents(p, g, &x->plan, why) || rt_device_bind(p, &x->binding, why) ||
	       rt_plan_make(p, x->tactic, x->binding.loaded, &x->plan, why);
}

static int32_t runtime_shape_change(void *self, const struct trt_desc *in, int32_t inputs, const struct trt_desc *out,
                                    int32_t outputs)
{
	struct rt_plugin *x = RT_OF(self, runtime);
	const struct rt_given g = { in, out, inputs, false };
	char why[RT_WHY];

	x->plan.ready = false;
	if (rt_check_counts(x->table, inputs, outputs, why) || rt_set_extents(x, &g, why))
		return rt_fail(x->table, "onShapeChange", why);
	return 0;
}

int rt_enqueue(struct rt_plugin *x, const struct rt_given *g, const void *const *inputs, void *const *outputs,
               void *workspace, void *stream, char why[RT_WHY])
{
	const struct tpat_rt_plugin *p = x->table;
	const struct rt_loaded *loaded;
	int rc = 0;

	if (!g->in || !g->out || !inputs || !outputs)
		return rt_why(why, "TensorRT passed a null array");
	if (rt_device_find(p, &x->binding, &loaded, why))
		return -1;
	if (x->plan.ready && x->plan.loaded == loaded && same_extents(p, g, &x->plan))
		return rt_plan_run(p, &x->plan, inputs, g->inputs, outputs, workspace, stream, why);
	pthread_mutex_lock(&x->lock);
	if (!x->scratch.ready || x->scratch.loaded != loaded || !same_extents(p, g, &x->scratch))
		rc = take_extents(p, g, &x->scratch, why) || rt_plan_make(p, x->tactic, loaded, &x->scratch, why);
	rc = rc || rt_plan_run(p, &x->scratch, inputs, g->inputs, outputs, workspace, stream, why);
	pthread_mutex_unlock(&x->lock);
	return rc;
}

static int32_t runtime_enqueue(void *self, const struct trt_desc *in, const struct trt_desc *out,
                               const void *const *inputs, void *const *outputs, void *workspace, void *stream)
{
	struct rt_plugin *x = RT_OF(self, runtime);
	const struct tpat_rt_plugin *p = x->table;
	/* Without onShapeChange, assume that shape inputs are not passed. */
	int32_t inputs_given = x->inputs_given >= 0 ? x->inputs_given : p->inputs - rt_shape_inputs(p);
	const struct rt_given g = { in, out, inputs_given, false };
	char why[RT_WHY];

	return rt_enqueue(x, &g, inputs, outputs, workspace, stream, why) ? rt_fail(p, "enqueue", why) : 0;
}

static void *runtime_attach(void *self, void *context)
{
	struct rt_plugin *x = rt_plugin_clone(RT_OF(self, runtime));
	char why[RT_WHY];

	(void)context; /* its allocator and error recorder are not needed */
	if (!x)
		return NULL;
	if (rt_device_bind(x->table, &x->binding, why)) {
		rt_fail(x->table, "attachToContext", why);
		TRT_CALL(&x->plugin, trt_plugin, v.d0);
		return NULL;
	}
	return &x->plugin;
}

static const struct trt_fields *runtime_fields(void *self)
{
	return &RT_OF(self, runtime)->fields;
}

const struct rt_runtime_table rt_runtime_table = {
	.t = {
		.v = { rt_api_language, runtime_info, rt_keep, rt_keep },
		.set_tactic = runtime_set_tactic,
		.shape_change = runtime_shape_change,
		.enqueue = runtime_enqueue,
		.attach = runtime_attach,
		.fields = runtime_fields,
	},
};
