/* SPDX-License-Identifier: Apache-2.0 */
/* rt_plan.c: everything that depends on the extents: values of all expressions, workspace layout, launches. Running a
 * plan allocates nothing and only reads the plan, except for the tensor maps that it keeps. */
#include <stdlib.h>

#include "rt_core.h"

/* Adds a buffer after `*total` bytes; false on overflow. */
static bool add_buffer(int64_t bytes, int64_t *total)
{
	int64_t end;

	if (bytes < 0 || __builtin_add_overflow(*total, bytes, &end) ||
	    __builtin_add_overflow(end, RT_WORKSPACE_ALIGN - 1, &end))
		return false;
	*total = end / RT_WORKSPACE_ALIGN * RT_WORKSPACE_ALIGN;
	return true;
}

static int no_value(const struct tpat_rt_plugin *p, const int64_t *value, int32_t node, const char *what, int32_t index,
                    const char *name, char why[RT_WHY])
{
	char reason[160];

	rt_explain(p, value, node, reason, sizeof reason);
	return rt_why(why, "%s %d (%s) cannot be computed: %s", what, (int)index, name, reason);
}

/* True if a row is an extent of an input, but not this one. */
static bool is_other(const struct tpat_rt_plugin *p, int32_t row, int32_t input, int32_t axis)
{
	const struct tpat_rt_expr *e = &p->expr[row];

	return e->op == TPAT_RT_DIM && (e->a != input || e->b != axis);
}

static int differs(const struct tpat_rt_plugin *p, int32_t input, int32_t axis, int64_t got, int64_t want,
                   char why[RT_WHY])
{
	const struct tpat_rt_expr *e = &p->expr[p->input[input].dim[axis]];

	return rt_why(
	        why,
	        "input %d (%.60s) has extent %lld at dimension %d and input %d (%.60s) has %lld at dimension %d; they "
	        "must be equal",
	        (int)e->a, p->input[e->a].name, (long long)want, (int)e->b, (int)input, p->input[input].name,
	        (long long)got, (int)axis);
}

/* Checks every extent against the plugin's expression for it. Sizes that kernels compute are unknown. */
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
			if (want != got && input && is_other(p, t->dim[d], i, d))
				return differs(p, i, d, got, want, why);
			if (want != got)
				return rt_why(why, "%s %d (%s) must have extent %lld at dimension %d, but it has %lld",
				              input ? "input" : "output", (int)(input ? i : i - p->inputs), t->name,
				              (long long)want, (int)d, (long long)got);
		}
	}
	return 0;
}

static int check_demands(const struct tpat_rt_plugin *p, const struct rt_plan *plan, char why[RT_WHY])
{
	for (int32_t i = 0; i < p->demands; i++) {
		const struct tpat_rt_demand *d = &p->demand[i];
		if (plan->value[d->holds]) /* true, or RT_NONE: unknown */
			continue;
		long long a = plan->value[d->extent[0]], b = plan->value[d->extent[1]];
		if (!d->name[0])
			return rt_why(why, "node %.60s: %.80s is %lld; %s %lld", d->node, d->name[1], b, d->rule, a);
		return rt_why(why, "node %.60s: %.50s is %lld and %.50s is %lld; %s", d->node, d->name[0], a,
		              d->name[1], b, d->rule);
	}
	return 0;
}

/* True if a kernel whose blocks wait for each other can run. check_kernel() reports a grid without a value. */
static bool run_together(const struct rt_plan *plan, const struct tpat_rt_kernel *k)
{
	int64_t blocks = 1;

	for (int i = 0; i < 3; i++)
		blocks *= plan->value[k->grid[i]];
	return !k->together || blocks <= rt_device_together(plan->loaded, k->block[0]);
}

/* Returns the kernel of a step that runs for these values with the loaded code; null with `why` if its guard has no
 * value, or no kernel fits. */
static const struct tpat_rt_kernel *pick(const struct tpat_rt_plugin *p, const struct rt_plan *plan,
                                         const struct tpat_rt_step *step, int32_t number, char why[RT_WHY])
{
	for (int32_t i = 0; i < step->kernels; i++) {
		const struct tpat_rt_kernel *k = &step->kernel[i];
		if (!rt_device_is_arch(plan->loaded, k->arch))
			continue; /* only for one architecture, and this is another */
		if (k->guard >= 0 && plan->value[k->guard] == RT_NONE) {
			no_value(p, plan->value, k->guard, "the guard of a kernel of step", number, k->name, why);
			return NULL;
		}
		if ((k->guard < 0 || plan->value[k->guard]) && run_together(plan, k))
			return k;
	}
	rt_why(why, "no kernel of step %d fits these extents", (int)number);
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

/* Returns the buffer of argument `i` of a kernel, or of a map after these; -1: it has none. */
static int32_t buffer_of(const struct tpat_rt_kernel *k, int32_t i)
{
	const struct tpat_rt_arg *a = i < k->args ? &k->arg[i] : &k->map[i - k->args].from;

	return a->kind == TPAT_RT_ARG_BUFFER ? a->index : -1;
}

/* Gives a buffer, which step `s` is the first to use, memory that no later step needs: of the same size for any
 * extents. */
static void find_room(const struct tpat_rt_plugin *p, struct rt_room *room, int32_t b, int32_t s)
{
	room[b].of = b;
	for (int32_t i = 0; i < p->buffers && room[b].of == b; i++)
		if (room[i].of == i && room[i].busy < s && p->buffer[i].bytes == p->buffer[b].bytes)
			room[b].of = i;
	room[room[b].of].busy = room[b].last;
}

/* Finds the memory of a tactic's workspace buffers. It does not depend on the extents, so that larger ones never need
 * less; so a step uses the buffers of all its kernels. */
static void find_rooms(const struct tpat_rt_plugin *p, const struct tpat_rt_tactic *t, struct rt_room *room)
{
	for (int32_t i = 0; i < p->buffers; i++)
		room[i] = (struct rt_room){ -1, -1, -1 };
	for (int32_t pass = 0; pass < 2; pass++)
		for (int32_t s = 0; s < t->steps; s++)
			for (int32_t n = 0; n < t->step[s].kernels; n++) {
				const struct tpat_rt_kernel *k = &t->step[s].kernel[n];
				for (int32_t i = 0; i < k->args + k->maps; i++) {
					int32_t b = buffer_of(k, i);
					if (b < 0 || p->buffer[b].data)
						continue;
					if (!pass)
						room[b].last = s;
					else if (room[b].of < 0)
						find_room(p, room, b, s);
				}
			}
}

/* Marks the memory that a kernel needs: sets its `offset` to 0. */
static void mark_buffers(const struct tpat_rt_kernel *k, const struct rt_room *room, int64_t *offset)
{
	for (int32_t i = 0; i < k->args + k->maps; i++) {
		int32_t b = buffer_of(k, i);
		if (b >= 0 && room[b].of >= 0)
			offset[room[b].of] = 0;
	}
}

static int place_buffers(const struct tpat_rt_plugin *p, struct rt_plan *plan, char why[RT_WHY])
{
	for (int32_t i = 0; i < p->buffers; i++) {
		if (plan->offset[i] < 0)
			continue;
		plan->offset[i] = plan->bytes;
		int64_t bytes = plan->value[p->buffer[i].bytes];
		if (bytes == RT_NONE)
			return no_value(p, plan->value, p->buffer[i].bytes, "the size of buffer", i, p->buffer[i].name,
			                why);
		if (!add_buffer(bytes, &plan->bytes))
			return rt_why(why, "buffer %d (%s) would have %lld bytes", (int)i, p->buffer[i].name,
			              (long long)bytes);
	}
	for (int32_t i = 0; i < p->buffers; i++)
		if (plan->room[i].of >= 0)
			plan->offset[i] = plan->offset[plan->room[i].of];
	for (int32_t o = 0; o < p->outputs; o++) {
		if (plan->narrow[o] < 0)
			continue;
		plan->narrow[o] = plan->bytes;
		if (!add_buffer(sizeof(int64_t), &plan->bytes))
			return rt_why(why, "the workspace would have %lld bytes", (long long)plan->bytes);
	}
	return 0;
}

int rt_plan_make(const struct tpat_rt_plugin *p, const struct tpat_rt_tactic *t, const struct rt_loaded *loaded,
                 struct rt_plan *plan, char why[RT_WHY])
{
	int32_t n = 0, maps = 0;

	plan->ready = false;
	plan->loaded = loaded;
	plan->bytes = 0;
	rt_evaluate(p, plan->extent, plan->value);
	if (check_extents(p, plan, why) || check_demands(p, plan, why))
		return -1;
	for (int32_t i = 0; i < p->buffers; i++)
		plan->offset[i] = -1;
	find_rooms(p, t, plan->room);
	for (int32_t s = 0; s < t->steps; s++) {
		const struct tpat_rt_kernel *k = pick(p, plan, &t->step[s], s, why);
		if (!k)
			return -1;
		plan->launch[s].kernel = k;
		mark_buffers(k, plan->room, plan->offset);
	}
	if (place_buffers(p, plan, why))
		return -1;
	for (int32_t s = 0; s < t->steps; s++) {
		struct rt_launch x = { .kernel = plan->launch[s].kernel };
		if (check_kernel(p, plan, x.kernel, s, why))
			return -1;
		for (int i = 0; i < 3; i++)
			x.grid[i] = (uint32_t)plan->value[x.kernel->grid[i]];
		if (!x.grid[0] || !x.grid[1] || !x.grid[2])
			continue; /* nothing to do */
		if (rt_device_function(loaded, x.kernel, &x.function, why))
			return -1;
		x.map = plan->map + maps;
		maps += x.kernel->maps;
		plan->launch[n++] = x;
	}
	rt_map_forget(plan->map, maps);
	plan->launches = n;
	plan->ready = true;
	return 0;
}

/* Returns the pointer for argument `a`. */
static const void *pointer_of(const struct rt_plan *plan, const struct tpat_rt_arg *a, const void *const *inputs,
                              void *const *outputs, const char *workspace)
{
	if (a->kind == TPAT_RT_ARG_INPUT)
		return inputs[a->index];
	if (a->kind == TPAT_RT_ARG_OUTPUT)
		return outputs[a->index];
	return plan->loaded->constant[a->index] ? plan->loaded->constant[a->index] : workspace + plan->offset[a->index];
}

/* Launches a kernel. Arguments are passed by address: in the caller's arrays, the loaded constants, and the plan's
 * values, whose first four bytes are the 32-bit number (both architectures are little-endian). */
static int launch(const struct rt_plan *plan, const struct rt_launch *x, const void *const *inputs,
                  void *const *outputs, char *workspace, void *stream, char why[RT_WHY])
{
	const struct tpat_rt_kernel *k = x->kernel;
	void *args[TPAT_RT_MAX_ARGS + TPAT_RT_MAX_MAPS], *place[TPAT_RT_MAX_ARGS];
	_Alignas(64) char map[TPAT_RT_MAX_MAPS][TPAT_RT_MAP_BYTES];

	for (int32_t i = 0; i < k->args; i++) {
		int32_t index = k->arg[i].index;
		switch (k->arg[i].kind) {
		case TPAT_RT_ARG_INPUT: args[i] = rt_drop_const(&inputs[index]); break;
		case TPAT_RT_ARG_OUTPUT:
			args[i] = rt_drop_const(&outputs[index]);
			if (plan->narrow[index] < 0)
				break;
			place[i] = workspace + plan->narrow[index];
			args[i] = &place[i];
			break;
		case TPAT_RT_ARG_BUFFER:
			args[i] = &plan->loaded->constant[index];
			if (plan->loaded->constant[index])
				break;
			place[i] = workspace + plan->offset[index];
			args[i] = &place[i];
			break;
		default: args[i] = &plan->value[index]; break;
		}
	}
	for (int32_t i = 0; i < k->maps; i++) {
		const void *from = pointer_of(plan, &k->map[i].from, inputs, outputs, workspace);
		if (rt_map_get(&x->map[i], plan, &k->map[i], from, map[i], why))
			return -1;
		args[k->args + i] = map[i];
	}
	return rt_device_launch(plan->loaded, x->function, k, x->grid, args, stream, why);
}

static int check_inputs(const struct tpat_rt_plugin *p, const struct rt_plan *plan, int32_t inputs_given,
                        char why[RT_WHY])
{
	for (int32_t n = 0; n < plan->launches; n++) {
		const struct tpat_rt_kernel *k = plan->launch[n].kernel;
		for (int32_t i = 0; i < k->args; i++)
			if (k->arg[i].kind == TPAT_RT_ARG_INPUT && k->arg[i].index >= inputs_given)
				return rt_why(why, "kernel %s reads shape input %d (%s), which was not passed", k->name,
				              (int)k->arg[i].index, p->input[k->arg[i].index].name);
	}
	return 0;
}

/* True for a kernel that fills an output with the input whose memory it has. */
static bool is_filled(const struct tpat_rt_plugin *p, const struct tpat_rt_kernel *k, const void *const *inputs,
                      void *const *outputs)
{
	return k->fills && inputs[p->output[k->fills - 1].replaces - 1] == outputs[k->fills - 1];
}

int rt_plan_run(const struct tpat_rt_plugin *p, const struct rt_plan *plan, const void *const *inputs,
                int32_t inputs_given, void *const *outputs, char *workspace, void *stream, char why[RT_WHY])
{
	if (plan->bytes > 0 && !workspace)
		return rt_why(why, "it needs %lld bytes of workspace, but was given none", (long long)plan->bytes);
	if (inputs_given < p->inputs && check_inputs(p, plan, inputs_given, why))
		return -1;
	for (int32_t i = 0; i < plan->launches; i++)
		if (!is_filled(p, plan->launch[i].kernel, inputs, outputs) &&
		    launch(plan, &plan->launch[i], inputs, outputs, workspace, stream, why))
			return -1;
	/* The lower half comes first: both architectures are little-endian. */
	for (int32_t o = 0; o < p->outputs; o++)
		if (plan->narrow[o] >= 0 &&
		    rt_device_copy(plan->loaded, outputs[o], workspace + plan->narrow[o], sizeof(int32_t), stream, why))
			return -1;
	return 0;
}

int rt_plan_alloc(const struct tpat_rt_plugin *p, struct rt_plan *plan)
{
	size_t extents = rt_extents(p), n = extents + (size_t)p->exprs + (size_t)p->buffers + (size_t)p->outputs;
	int32_t steps = 1;

	for (int32_t t = 0; t < p->tactics; t++)
		steps = p->tactic[t].steps > steps ? p->tactic[t].steps : steps;
	plan->extent = calloc(n + 1, sizeof(int64_t));
	plan->launch = calloc((size_t)steps, sizeof *plan->launch);
	plan->room = calloc((size_t)p->buffers + 1, sizeof *plan->room);
	plan->map = rt_map_alloc(p);
	if (!plan->extent || !plan->launch || !plan->room || !plan->map) {
		rt_plan_free(plan);
		return -1;
	}
	plan->value = plan->extent + extents;
	plan->offset = plan->value + p->exprs;
	plan->narrow = plan->offset + p->buffers;
	return 0;
}

void rt_plan_free(struct rt_plan *plan)
{
	free(plan->extent);
	free(plan->launch);
	free(plan->room);
	free(plan->map);
	*plan = (struct rt_plan){ 0 };
}

/* Returns an upper bound of one tactic's workspace: the memory of all buffers that its kernels need. `room`: an entry
 * for each buffer. */
static int64_t tactic_workspace(const struct tpat_rt_plugin *p, const struct tpat_rt_tactic *t, const int64_t *high,
                                struct rt_room *room)
{
	int64_t total = 0;

	find_rooms(p, t, room);
	for (int32_t i = 0; i < p->buffers; i++) {
		const struct tpat_rt_buffer *b = &p->buffer[i];
		if (room[i].of != i)
			continue;
		if (high[b->bytes] == RT_NONE || !add_buffer(high[b->bytes] > 0 ? high[b->bytes] : 0, &total))
			return -1 - i;
	}
	return total;
}

int64_t rt_plan_workspace(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent,
                          char why[RT_WHY])
{
	int64_t most = 0, bytes = 0;
	size_t exprs = (size_t)p->exprs + 1;
	int64_t *low = calloc(2 * exprs, sizeof *low), *high = low + exprs;
	struct rt_room *room = calloc((size_t)p->buffers + 1, sizeof *room);

	if (!low || !room) {
		free(low);
		free(room);
		return rt_why(why, "out of memory");
	}
	rt_range(p, low_extent, high_extent, low, high);
	for (int32_t t = 0; t < p->tactics && bytes >= 0; t++) {
		bytes = tactic_workspace(p, &p->tactic[t], high, room);
		most = bytes > most ? bytes : most;
	}
	if (bytes < 0) {
		int32_t i = (int32_t)(-1 - bytes);
		const struct tpat_rt_buffer *b = &p->buffer[i];
		if (high[b->bytes] == RT_NONE) {
			/* Ranges may fail where single values do not: explain with the largest extents. */
			rt_evaluate(p, high_extent, low);
			no_value(p, low, b->bytes, "the size of buffer", i, b->name, why);
		} else {
			rt_why(why, "buffer %d (%s) would have %lld bytes", (int)i, b->name, (long long)high[b->bytes]);
		}
		most = -1;
	}
	free(low);
	free(room);
	return most;
}
