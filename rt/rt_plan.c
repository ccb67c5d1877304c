/* SPDX-License-Identifier: Apache-2.0 */
/* rt_plan.c: what one set of extents decides (the value of every expression, the layout of the workspace), and the
 * launches made of it. Running a plan allocates nothing and only reads the plan. */
#include <stdlib.h>

#include "rt.h"

enum { WORKSPACE_ALIGN = 256 };

/* Adds a buffer behind `*total` bytes; false on overflow. */
static bool add_buffer(int64_t bytes, int64_t *total)
{
	int64_t end;

	if (bytes < 0 || __builtin_add_overflow(*total, bytes, &end) ||
	    __builtin_add_overflow(end, WORKSPACE_ALIGN - 1, &end))
		return false;
	*total = end / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
	return true;
}

static int no_value(const struct tpat_rt_plugin *p, const int64_t *value, int32_t node, const char *what, int32_t index,
                    const char *name, char why[RT_WHY])
{
	char reason[160];

	rt_explain(p, value, node, reason, sizeof reason);
	return rt_why(why, "%s %d (%s) cannot be computed: %s", what, (int)index, name, reason);
}

/* Every extent must be what the plugin computes for it. Outputs whose size only the kernels find out are not known. */
static int check_extents(const struct tpat_rt_plugin *p, const struct rt_plan *plan, char why[RT_WHY])
{
	bool sizes = false;

	for (int32_t i = 0; i < p->exprs; i++)
		sizes = sizes || p->expr[i].op == TPAT_RT_SIZE;
	for (int32_t i = 0; i < p->inputs + (sizes ? 0 : p->outputs); i++) {
		const struct tpat_rt_tensor *t = rt_tensor(p, i);
		bool input = i < p->inputs;
		for (int32_t d = 0; d < t->rank; d++) {
			int64_t got = plan->extent[i * TPAT_RT_MAX_RANK + d], want = plan->value[t->dim[d]];
			if (got < 0 && input && t->shape_input)
				continue; /* not passed */
			if (got < 0)
				return rt_why(why, "%s %d (%s) has an unknown extent at dimension %d",
				              input ? "input" : "output", (int)(input ? i : i - p->inputs), t->name,
				              (int)d);
			if (want == RT_NONE)
				return no_value(p, plan->value, t->dim[d], "an extent of tensor", i, t->name, why);
			if (want != got)
				return rt_why(why, "%s %d (%s) must have extent %lld at dimension %d, but it has %lld",
				              input ? "input" : "output", (int)(input ? i : i - p->inputs), t->name,
				              (long long)want, (int)d, (long long)got);
		}
	}
	return 0;
}

/* The kernel of a step, from number *from on, that runs for these values; null with `why` when its guard cannot be computed or
 * none fits. *from becomes the number behind it. */
static const struct tpat_rt_kernel *pick(const struct tpat_rt_plugin *p, const struct rt_plan *plan, int32_t step,
                                         int32_t *from, char why[RT_WHY])
{
	while (*from < p->step[step].kernels) {
		const struct tpat_rt_kernel *k = &p->step[step].kernel[(*from)++];
		if (k->guard < 0)
			return k;
		if (plan->value[k->guard] == RT_NONE) {
			no_value(p, plan->value, k->guard, "the guard of a kernel of step", step, k->name, why);
			return NULL;
		}
		if (plan->value[k->guard])
			return k;
	}
	rt_why(why, "no kernel of step %d fits these extents", (int)step);
	return NULL;
}

static int check_kernel(const struct tpat_rt_plugin *p, const struct rt_plan *plan, const struct tpat_rt_kernel *k,
                        int32_t step, char why[RT_WHY])
{
	static const int64_t most[3] = { INT32_MAX, 65535, 65535 }; /* Source: CUDA, compute capabilities */

	for (int i = 0; i < 3; i++) {
		int64_t n = plan->value[k->grid[i]];
		if (n == RT_NONE)
			return no_value(p, plan->value, k->grid[i], "the grid of step", step, k->name, why);
		if (n < 0 || n > most[i])
			return rt_why(why,
			              "kernel %s would need %lld blocks in direction %d, and CUDA has at most %lld",
			              k->name, (long long)n, i, (long long)most[i]);
	}
	for (int32_t i = 0; i < k->args; i++) {
		const struct tpat_rt_arg *a = &k->arg[i];
		if (a->kind != TPAT_RT_ARG_INT && a->kind != TPAT_RT_ARG_LONG)
			continue;
		int64_t x = plan->value[a->index];
		if (x == RT_NONE)
			return no_value(p, plan->value, a->index, "a kernel argument of step", step, k->name, why);
		if (a->kind == TPAT_RT_ARG_INT && (x < INT32_MIN || x > INT32_MAX))
			return rt_why(why, "argument %d of kernel %s is %lld, which does not fit 32 bits", (int)i,
			              k->name, (long long)x);
	}
	return 0;
}

int rt_plan_make(const struct tpat_rt_plugin *p, struct rt_plan *plan, char why[RT_WHY])
{
	plan->ready = false;
	plan->bytes = 0;
	rt_evaluate(p, plan->extent, plan->value);
	if (check_extents(p, plan, why))
		return -1;
	for (int32_t i = 0; i < p->buffers; i++) {
		plan->offset[i] = plan->bytes;
		if (p->buffer[i].data)
			continue;
		int64_t bytes = plan->value[p->buffer[i].bytes];
		if (bytes == RT_NONE)
			return no_value(p, plan->value, p->buffer[i].bytes, "the size of buffer", i, p->buffer[i].name,
			                why);
		if (!add_buffer(bytes, &plan->bytes))
			return rt_why(why, "buffer %d (%s) would have %lld bytes", (int)i, p->buffer[i].name,
			              (long long)bytes);
	}
	for (int32_t s = 0; s < p->steps; s++) {
		const struct tpat_rt_kernel *k;
		int32_t from = 0;
		do { /* those for one architecture alone are passed over on others */
			k = pick(p, plan, s, &from, why);
			if (!k || check_kernel(p, plan, k, s, why))
				return -1;
		} while (k->arch);
	}
	plan->ready = true;
	return 0;
}

static const void *pointer_of(const struct rt_plan *plan, const struct rt_loaded *loaded, const struct tpat_rt_arg *a,
                              const void *const *inputs, void *const *outputs, const char *workspace)
{
	if (a->kind == TPAT_RT_ARG_INPUT)
		return inputs[a->index];
	if (a->kind == TPAT_RT_ARG_OUTPUT)
		return outputs[a->index];
	return loaded->constant[a->index] ? loaded->constant[a->index] : workspace + plan->offset[a->index];
}

int rt_plan_run(const struct tpat_rt_plugin *p, const struct rt_plan *plan, const struct rt_loaded *loaded,
                const void *const *inputs, int32_t inputs_given, void *const *outputs, char *workspace, void *stream,
                char why[RT_WHY])
{
	union {
		int32_t i;
		int64_t l;
		const void *pointer;
	} slot[TPAT_RT_MAX_ARGS];
	void *args[TPAT_RT_MAX_ARGS];
	_Alignas(64) char map[TPAT_RT_MAX_MAPS][TPAT_RT_MAP_BYTES];

	if (plan->bytes > 0 && !workspace)
		return rt_why(why, "it needs %lld bytes of workspace, but TensorRT gave none", (long long)plan->bytes);
	for (int32_t s = 0; s < p->steps; s++) {
		const struct tpat_rt_kernel *k;
		int32_t from = 0;
		do {
			k = pick(p, plan, s, &from, why);
			if (!k)
				return -1;
		} while (!rt_device_is_arch(loaded, k->arch));
		uint32_t grid[3];
		for (int i = 0; i < 3; i++)
			grid[i] = (uint32_t)plan->value[k->grid[i]];
		if (!grid[0] || !grid[1] || !grid[2])
			continue;
		for (int32_t i = 0; i < k->args; i++) {
			int32_t index = k->arg[i].index;
			if (k->arg[i].kind == TPAT_RT_ARG_INPUT && index >= inputs_given)
				return rt_why(why, "kernel %s reads shape input %d (%s), which TensorRT did not pass", k->name,
				              (int)index, p->input[index].name);
			switch (k->arg[i].kind) {
			case TPAT_RT_ARG_INT: slot[i].i = (int32_t)plan->value[index]; break;
			case TPAT_RT_ARG_LONG: slot[i].l = plan->value[index]; break;
			default: slot[i].pointer = pointer_of(plan, loaded, &k->arg[i], inputs, outputs, workspace); break;
			}
			args[i] = &slot[i];
		}
		for (int32_t i = 0; i < k->maps; i++) {
			const struct tpat_rt_map *m = &k->map[i];
			struct tpat_rt_map_values values = { .element_bytes = m->element_bytes, .rank = m->rank };
			values.from = pointer_of(plan, loaded, &m->from, inputs, outputs, workspace);
			for (int32_t d = 0; d < m->rank; d++) {
				values.dim[d] = plan->value[m->dim[d]];
				values.stride[d] = plan->value[m->stride[d]];
				values.box[d] = m->box[d];
			}
			if (rt_device_map(loaded, &values, map[i], why))
				return -1;
			args[k->args + i] = map[i];
		}
		if (rt_device_launch(loaded, k, grid, args, stream, why))
			return -1;
	}
	return 0;
}

int64_t rt_plan_workspace(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent,
                          char why[RT_WHY])
{
	int64_t total = 0;
	int64_t *low = calloc((size_t)p->exprs + 1, 2 * sizeof *low), *high = low + p->exprs + 1;

	if (!low)
		return rt_why(why, "out of memory");
	rt_range(p, low_extent, high_extent, low, high);
	for (int32_t i = 0; i < p->buffers && total >= 0; i++) {
		const struct tpat_rt_buffer *b = &p->buffer[i];
		if (b->data)
			continue;
		if (high[b->bytes] == RT_NONE) {
			/* The range may fail where single values do not: the explanation is that of the largest
			 * extents. */
			rt_evaluate(p, high_extent, low);
			total = no_value(p, low, b->bytes, "the size of buffer", i, b->name, why);
		} else if (!add_buffer(high[b->bytes] > 0 ? high[b->bytes] : 0, &total)) {
			total = rt_why(why, "buffer %d (%s) would have %lld bytes", (int)i, b->name,
			               (long long)high[b->bytes]);
		}
	}
	free(low);
	return total;
}
