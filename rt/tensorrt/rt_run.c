/* SPDX-License-Identifier: Apache-2.0 */
/* rt_run.c: IPluginV3OneRuntime 1.0: shape changes and enqueue. enqueue does not allocate or block. */
#include <string.h>

#include "rt_tensorrt.h"

static struct trt_info runtime_info(void *self)
{
	(void)self;
	return (struct trt_info){ "PLUGIN_V3ONE_RUNTIME", 1, 0 };
}

static int32_t fail(const struct tpat_rt_plugin *p, const char *method, const char why[RT_WHY])
{
	rt_log(p, TRT_LOG_ERROR, "%s: %s", method, why);
	return -1;
}

static int32_t runtime_set_tactic(void *self, int32_t tactic)
{
	struct rt_plugin *x = RT_OF(self, runtime);
	const struct tpat_rt_plugin *p = x->table;
	const struct tpat_rt_tactic *t = &p->tactic[tactic > 0 ? tactic - 1 : 0];
	char why[RT_WHY];

	if (tactic < 0 || tactic > rt_tactics(p)) {
		rt_why(why, "there is no tactic %d; there are %d", (int)tactic, (int)rt_tactics(p));
		return fail(p, "setTactic", why);
	}
	if (t == x->tactic)
		return 0;
	x->tactic = t;
	x->scratch.ready = false;
	if (!x->plan.ready)
		return 0;
	/* TensorRT may have set the extents already. */
	return rt_plan_make(p, t, x->plan.loaded, &x->plan, why) ? fail(p, "setTactic", why) : 0;
}

/* Checks the descriptions against the table, and copies their extents to plan->extent. Sets *same if they are
 * unchanged. */
static int take_extents(const struct tpat_rt_plugin *p, const struct trt_desc *in, int32_t inputs,
                        const struct trt_desc *out, struct rt_plan *plan, char why[RT_WHY])
{
	memset(plan->extent, 0xff, rt_extents(p) * sizeof *plan->extent); /* -1: unknown */
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		if (i >= inputs && i < p->inputs)
			continue;
		const struct trt_desc *d = i < p->inputs ? &in[i] : &out[i - p->inputs];
		if (rt_check_desc(p, i, d, why))
			return -1;
		memcpy(plan->extent + i * TPAT_RT_MAX_RANK, d->dims.d, (size_t)d->dims.rank * sizeof *d->dims.d);
		if (i >= p->inputs)
			plan->narrow[i - p->inputs] = rt_is_narrowed(p, i - p->inputs, d->type) ? 0 : -1;
	}
	return 0;
}

static bool same_extents(const struct tpat_rt_plugin *p, const struct trt_desc *in, int32_t inputs,
                         const struct trt_desc *out, const struct rt_plan *plan)
{
	for (int32_t i = 0; i < p->inputs + p->outputs; i++) {
		if (i >= inputs && i < p->inputs)
			continue;
		const struct trt_desc *d = i < p->inputs ? &in[i] : &out[i - p->inputs];
		if (d->dims.rank != rt_tensor(p, i)->rank ||
		    memcmp(plan->extent + i * TPAT_RT_MAX_RANK, d->dims.d, (size_t)d->dims.rank * sizeof *d->dims.d))
			return false;
	}
	return true;
}

static int32_t runtime_shape_change(void *self, const struct trt_desc *in, int32_t inputs, const struct trt_desc *out,
                                    int32_t outputs)
{
	struct rt_plugin *x = RT_OF(self, runtime);
	const struct tpat_rt_plugin *p = x->table;
	char why[RT_WHY];

	x->plan.ready = false;
	if (rt_check_counts(p, inputs, outputs, why))
		return fail(p, "onShapeChange", why);
	x->inputs_given = inputs;
	if (take_extents(p, in, inputs, out, &x->plan, why) || rt_device_bind(p, &x->binding, why) ||
	    rt_plan_make(p, x->tactic, x->binding.loaded, &x->plan, why))
		return fail(p, "onShapeChange", why);
	return 0;
}

static int32_t runtime_enqueue(void *self, const struct trt_desc *in, const struct trt_desc *out,
                               const void *const *inputs, void *const *outputs, void *workspace, void *stream)
{
	struct rt_plugin *x = RT_OF(self, runtime);
	const struct tpat_rt_plugin *p = x->table;
	const struct rt_loaded *loaded;
	/* Without onShapeChange, assume that shape inputs are not passed. */
	int32_t given = x->inputs_given >= 0 ? x->inputs_given : p->inputs - rt_shape_inputs(p);
	char why[RT_WHY];
	int rc;

	if (!in || !out || !inputs || !outputs) {
		rt_why(why, "TensorRT passed a null array");
		return fail(p, "enqueue", why);
	}
	if (rt_device_find(p, &x->binding, &loaded, why))
		return fail(p, "enqueue", why);
	if (x->plan.ready && x->plan.loaded == loaded && same_extents(p, in, given, out, &x->plan)) {
		rc = rt_plan_run(p, &x->plan, inputs, given, outputs, workspace, stream, why);
	} else {
		pthread_mutex_lock(&x->lock);
		rc = 0;
		if (!x->scratch.ready || x->scratch.loaded != loaded || !same_extents(p, in, given, out, &x->scratch))
			rc = take_extents(p, in, given, out, &x->scratch, why) ||
			     rt_plan_make(p, x->tactic, loaded, &x->scratch, why);
		rc = rc || rt_plan_run(p, &x->scratch, inputs, given, outputs, workspace, stream, why);
		pthread_mutex_unlock(&x->lock);
	}
	return rc ? fail(p, "enqueue", why) : 0;
}

static void *runtime_attach(void *self, void *context)
{
	struct rt_plugin *x = rt_plugin_clone(RT_OF(self, runtime));
	char why[RT_WHY];

	(void)context; /* its allocator and error recorder are not needed */
	if (!x)
		return NULL;
	if (rt_device_bind(x->table, &x->binding, why)) {
		fail(x->table, "attachToContext", why);
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
