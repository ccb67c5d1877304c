/* SPDX-License-Identifier: Apache-2.0 */
/* rt_ort_compute.c: a node's kernel. Computing takes a state, with a plan for the extents of its last use, so that
 * threads do not wait for each other. Outputs whose extents depend on a size that kernels compute are first made at
 * their upper bounds in the workspace, then copied. */
#include <stdlib.h>
#include <string.h>

#include "rt_ort.h"

enum { SHAPE_ELEMENTS = 64 }; /* of a shape input; tpat makes no plugin that reads more */

struct state {
	struct state *next;
	struct rt_binding binding;
	struct rt_plan plan;
	int64_t *extent, *value;  /* as in a plan */
	int64_t *size;            /* of each output */
	int64_t *element;         /* SHAPE_ELEMENTS for each input */
	const int64_t **elements; /* for each input; null: not a shape input */
	size_t *count;
	const void **input;
	void **output;
	int64_t *scratch; /* for each output: its place in the workspace, or -1: the output's own memory */
};

struct kernel {
	const struct rt_ort_op *op;
	pthread_mutex_t lock;
	struct state *idle;
};

/* One computation. */
struct run {
	const struct rt_ort_op *op;
	const struct tpat_rt_plugin *table;
	const struct ort_api *api;
	struct ort_kernel_context *context;
	struct state *s;
	void *stream;
	char *workspace;
	struct ort_status *status; /* of a failed call of ONNX Runtime */
	char why[RT_WHY];          /* else why it failed */
};

static void free_state(struct state *s)
{
	rt_plan_free(&s->plan);
	free(s->extent);
	free(s->elements);
	free(s->count);
	free(s->input);
	free(s->output);
	free(s);
}

static struct state *new_state(const struct tpat_rt_plugin *p)
{
	struct state *s = calloc(1, sizeof *s);
	size_t inputs = (size_t)p->inputs, outputs = (size_t)p->outputs, exprs = (size_t)p->exprs;

	if (!s || rt_plan_alloc(p, &s->plan)) {
		free(s);
		return NULL;
	}
	s->extent = calloc(rt_extents(p) + exprs + inputs * SHAPE_ELEMENTS + 2 * outputs + 1, sizeof *s->extent);
	s->elements = calloc(inputs + 1, sizeof *s->elements);
	s->count = calloc(inputs + 1, sizeof *s->count);
	s->input = calloc(inputs + 1, sizeof *s->input);
	s->output = calloc(outputs + 1, sizeof *s->output);
	if (!s->extent || !s->elements || !s->count || !s->input || !s->output) {
		free_state(s);
		return NULL;
	}
	s->value = s->extent + rt_extents(p);
	s->element = s->value + exprs;
	s->size = s->element + inputs * SHAPE_ELEMENTS;
	s->scratch = s->size + outputs;
	return s;
}

static struct state *take_state(struct kernel *k)
{
	pthread_mutex_lock(&k->lock);
	struct state *s = k->idle;
	if (s)
		k->idle = s->next;
	pthread_mutex_unlock(&k->lock);
	return s ? s : new_state(k->op->table);
}

static void give_state(struct kernel *k, struct state *s)
{
	pthread_mutex_lock(&k->lock);
	s->next = k->idle;
	k->idle = s;
	pthread_mutex_unlock(&k->lock);
}

struct ort_status *rt_ort_create(const struct ort_custom_op *op, const struct ort_api *api,
                                 const struct ort_kernel_info *info, void **kernel)
{
	const struct rt_ort_op *x = (const struct rt_ort_op *)op;
	struct kernel *k = calloc(1, sizeof *k);
	struct rt_binding binding = { 0 };
	char why[RT_WHY];

	(void)api, (void)info;
	if (!k)
		return rt_ort_status(x, "out of memory");
	/* Fails now, not in the first run, if there is no code for the device. */
	if (rt_device_bind_on(x->table, x->on, &binding, why)) {
		free(k);
		return rt_ort_status(x, why);
	}
	k->op = x;
	pthread_mutex_init(&k->lock, NULL);
	*kernel = k;
	return NULL;
}

void rt_ort_destroy(void *kernel)
{
	struct kernel *k = kernel;

	for (struct state *s = k->idle, *next; s; s = next) {
		next = s->next;
		free_state(s);
	}
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static int call(struct run *r, struct ort_status *status)
{
	r->status = status;
	return status ? -1 : 0;
}

/* ---- Inputs. */

/* Copies the elements of a shape input, INT32 or INT64. */
static int take_elements(struct run *r, int32_t i)
{
	const struct tpat_rt_tensor *t = &r->table->input[i];
	int64_t *to = r->s->element + (size_t)i * SHAPE_ELEMENTS, n = 1;

	for (int32_t d = 0; d < t->rank; d++)
		n *= r->s->extent[i * TPAT_RT_MAX_RANK + d];
	if (n > SHAPE_ELEMENTS)
		return rt_why(r->why,
		              "input %d (%.60s) has %lld elements; a tensor whose values decide extents has at "
		              "most %d",
		              (int)i, t->name, (long long)n, SHAPE_ELEMENTS);
	for (int64_t k = 0; k < n; k++)
		to[k] = t->type == 7 ? ((const int64_t *)r->s->input[i])[k] : ((const int32_t *)r->s->input[i])[k];
	r->s->elements[i] = to;
	r->s->count[i] = (size_t)n;
	return 0;
}

static int take_shape(struct run *r, int32_t i, const struct ort_tensor_info *info)
{
	const struct tpat_rt_tensor *t = &r->table->input[i];
	size_t rank = 0;
	int type = 0;

	if (call(r, r->api->element_type(info, &type)) || call(r, r->api->dim_count(info, &rank)))
		return -1;
	if (type != t->type)
		return rt_why(r->why, "input %d (%.60s) has ONNX type %d instead of %d", (int)i, t->name, type,
		              (int)t->type);
	if (rank != (size_t)t->rank)
		return rt_why(r->why, "input %d (%.60s) has %zu dimensions instead of %d", (int)i, t->name, rank,
		              (int)t->rank);
	return rank ? call(r, r->api->dims(info, r->s->extent + i * TPAT_RT_MAX_RANK, rank)) : 0;
}

static int take_input(struct run *r, int32_t i)
{
	const struct ort_value *value = NULL;
	struct ort_tensor_info *info = NULL;
	void *data = NULL;

	if (call(r, r->api->input(r->context, (size_t)i, &value)))
		return -1;
	if (!value)
		return rt_why(r->why, "input %d (%.60s) is missing", (int)i, r->table->input[i].name);
	if (call(r, r->api->tensor_info(value, &info)))
		return -1;
	int rc = take_shape(r, i, info);
	r->api->release_tensor_info(info);
	if (rc || call(r, r->api->tensor_data(rt_drop_const(value), &data)))
		return -1;
	r->s->input[i] = data;
	return r->table->input[i].shape_input ? take_elements(r, i) : 0;
}

/* ---- Outputs. */

/* Bits of an element, by ONNX's number of its type. */
static int64_t bits_of(int32_t type)
{
	static const uint8_t bits[] = { [1] = 32, [2] = 8,   [3] = 8,   [4] = 16,  [5] = 16,  [6] = 32,  [7] = 64,
		                        [9] = 8,  [10] = 16, [11] = 64, [12] = 32, [13] = 64, [16] = 16, [17] = 8,
		                        [18] = 8, [19] = 8,  [20] = 8,  [21] = 4,  [22] = 4,  [23] = 4,  [24] = 8 };
	return type > 0 && type < (int32_t)sizeof bits ? bits[type] : 0;
}

static int64_t *output_extent(const struct run *r, int32_t o)
{
	return r->s->extent + (r->table->inputs + o) * TPAT_RT_MAX_RANK;
}

static int64_t bytes_of(const struct run *r, int32_t o)
{
	const struct tpat_rt_tensor *t = &r->table->output[o];
	int64_t n = 1;

	for (int32_t d = 0; d < t->rank; d++)
		if (__builtin_mul_overflow(n, output_extent(r, o)[d], &n) || n > INT64_MAX / 64)
			return -1;
	return (n * bits_of(t->type) + 7) / 8;
}

/* Copies the extents of an output from the values; false if one has none. */
static bool put_extents(struct run *r, int32_t o)
{
	const struct tpat_rt_tensor *t = &r->table->output[o];

	for (int32_t d = 0; d < t->rank; d++) {
		int64_t n = r->s->value[t->dim[d]];
		if (n == RT_NONE || n < 0)
			return false;
		output_extent(r, o)[d] = n;
	}
	return true;
}

static int bad_extents(struct run *r, int32_t o)
{
	return rt_why(r->why, "the extents of output %d (%.60s) cannot be computed from those of the inputs", (int)o,
	              r->table->output[o].name);
}

/* Computes the extents of all outputs, those of size-dependent ones as upper bounds, and adds the bytes of these to the
 * workspace. */
static int take_output_extents(struct run *r)
{
	const struct tpat_rt_plugin *p = r->table;
	struct rt_known known = { .element = r->s->elements, .elements = r->s->count, .size = r->s->size };

	for (int32_t o = 0; o < p->outputs; o++)
		r->s->size[o] = -1;
	rt_evaluate_known(p, r->s->extent, &known, r->s->value);
	for (int32_t o = 0; o < p->outputs; o++)
		r->s->scratch[o] = put_extents(r, o) ? -1 : 0;
	known.size = NULL;
	rt_evaluate_known(p, r->s->extent, &known, r->s->value);
	for (int32_t o = 0; o < p->outputs; o++)
		if (r->s->scratch[o] >= 0 && !put_extents(r, o))
			return bad_extents(r, o);
	return 0;
}

static int make_output(struct run *r, int32_t o, void **data)
{
	struct ort_value *value = NULL;

	return call(r, r->api->output(r->context, (size_t)o, output_extent(r, o), (size_t)r->table->output[o].rank,
	                              &value)) ||
	       call(r, r->api->tensor_data(value, data));
}

static int read_size(struct run *r, int32_t o)
{
	bool wide = r->table->output[o].type == 7;
	int32_t narrow = 0;

	if (r->op->on->read(r->op->on->user, wide ? (void *)&r->s->size[o] : &narrow, r->s->output[o],
	                    wide ? sizeof(int64_t) : sizeof narrow, r->stream, r->why))
		return -1;
	if (!wide)
		r->s->size[o] = narrow;
	return 0;
}

/* Makes outputs of the extents that the kernels found, and copies their elements. */
static int finish_outputs(struct run *r)
{
	const struct tpat_rt_plugin *p = r->table;
	struct rt_known known = { .element = r->s->elements, .elements = r->s->count, .size = r->s->size };
	bool any = false;
	void *data;

	for (int32_t o = 0; o < p->outputs; o++)
		any = any || r->s->scratch[o] >= 0;
	if (!any)
		return 0;
	for (int32_t o = 0; o < p->outputs; o++)
		if (rt_is_size(p, o) && read_size(r, o))
			return -1;
	rt_evaluate_known(p, r->s->extent, &known, r->s->value);
	for (int32_t o = 0; o < p->outputs; o++) {
		if (r->s->scratch[o] < 0)
			continue;
		if (!put_extents(r, o))
			return bad_extents(r, o);
		if (make_output(r, o, &data) ||
		    rt_device_copy(r->s->plan.loaded, data, r->s->output[o], (size_t)bytes_of(r, o), r->stream, r->why))
			return -1;
	}
	return 0;
}

/* ---- The computation. */

/* Makes the plan, unless the last one is for these extents. */
static int take_plan(struct run *r)
{
	struct state *s = r->s;
	size_t bytes = rt_extents(r->table) * sizeof *s->extent;

	if (s->plan.ready && s->plan.loaded == s->binding.loaded && memcmp(s->plan.extent, s->extent, bytes) == 0)
		return 0;
	memcpy(s->plan.extent, s->extent, bytes);
	for (int32_t o = 0; o < r->table->outputs; o++)
		s->plan.narrow[o] = -1;
	return rt_plan_make(r->table, r->table->tactic, s->binding.loaded, &s->plan, r->why);
}

/* Gets outputs and workspace: that of the plan, then the outputs whose extents are not known yet. */
static int take_memory(struct run *r)
{
	const struct tpat_rt_device *on = r->op->on;
	int64_t bytes = r->s->plan.bytes;

	for (int32_t o = 0; o < r->table->outputs; o++) {
		if (r->s->scratch[o] < 0) {
			if (make_output(r, o, &r->s->output[o]))
				return -1;
			continue;
		}
		int64_t n = bytes_of(r, o);
		r->s->scratch[o] = bytes;
		if (n < 0 || n > INT64_MAX / 2 - bytes)
			return bad_extents(r, o);
		bytes += (n + RT_WORKSPACE_ALIGN - 1) / RT_WORKSPACE_ALIGN * RT_WORKSPACE_ALIGN;
	}
	if (bytes && on->alloc(on->user, (size_t)bytes, r->stream, (void **)&r->workspace, r->why))
		return -1;
	for (int32_t o = 0; o < r->table->outputs; o++)
		if (r->s->scratch[o] >= 0)
			r->s->output[o] = r->workspace + r->s->scratch[o];
	return 0;
}

/* The threads of ONNX Runtime's session. */
struct task {
	void (*run)(void *arg);
	void *arg;
};

static void run_task(void *arg, size_t i)
{
	const struct task *t = arg;

	(void)i;
	t->run(t->arg);
}

static void run_parallel(void *user, size_t n, void (*task)(void *arg), void *arg)
{
	enum { MOST = 64 }; /* threads */
	struct run *r = user;
	struct task t = { task, arg };
	struct ort_status *status = r->api->parallel_for(r->context, run_task, n < MOST ? n : MOST, 0, &t);

	if (!status)
		return;
	r->api->release_status(status);
	task(arg); /* whatever is left */
}

static int compute(struct run *r)
{
	const struct tpat_rt_plugin *p = r->table;
	struct rt_pool pool = { run_parallel, r };
	/* On a GPU the values of shape inputs are in the host's memory. */
	int32_t given = p->inputs - (r->op->on == &rt_cuda ? rt_shape_inputs(p) : 0);

	if (r->op->on == &rt_cuda && call(r, r->api->gpu_stream(r->context, &r->stream)))
		return -1;
	if (r->op->on == &rt_cpu)
		r->stream = r->op->minor >= ORT_PARALLEL_FOR ? &pool : NULL;
	memset(r->s->extent, 0xff, rt_extents(p) * sizeof *r->s->extent); /* -1: unknown */
	for (int32_t i = 0; i < p->inputs; i++)
		if (take_input(r, i))
			return -1;
	int rc = rt_device_bind_on(p, r->op->on, &r->s->binding, r->why) || take_output_extents(r) || take_plan(r) ||
	         take_memory(r) ||
	         rt_plan_run(p, &r->s->plan, r->s->input, given, r->s->output, r->workspace, r->stream, r->why) ||
	         finish_outputs(r);
	if (r->workspace)
		r->op->on->free(r->op->on->user, r->workspace, r->stream);
	return rc;
}

struct ort_status *rt_ort_compute(void *kernel, struct ort_kernel_context *context)
{
	struct kernel *k = kernel;
	struct run r = { .op = k->op, .table = k->op->table, .api = k->op->api, .context = context };

	r.s = take_state(k);
	if (!r.s)
		return rt_ort_status(k->op, "out of memory");
	int rc = compute(&r);
	give_state(k, r.s);
	return r.status ? r.status : rc ? rt_ort_status(k->op, r.why) : NULL;
}
