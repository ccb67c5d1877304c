/* tpat_session_open, run and close: a model that runs many times on the caller's tensors. */
#include "lib/tpat_inside.h"
#include "run/run.h"

#include <string.h>

enum { DEVICE_ALIGNMENT = 256 }; /* bytes, of a caller's device memory: kernels load vectors */

struct tpat_session {
	struct arena *arena; /* holds this struct */
	struct onnx_model *model;
	struct graph *graph;
	struct run_device on;
	struct run_session *run;    /* null with phases, which have sessions of their own */
	struct tpat_phases *phases; /* null: the model needs none */
	struct tpat_session_about about;
	bool stay;
	bool broken;        /* memory ran out in the middle of a run */
	struct arena *last; /* the last run's results */
	struct map extents; /* of symbols, in that run: int64_t by name, in `last` */
};

/* ---- Opening and closing. */

void tpat_session_close(struct tpat_session *s)
{
	if (!s)
		return;
	run_close(s->run);
	tpat_phases_free(s->phases);
	if (s->on.dev)
		s->on.dev->close(s->on.dev);
	graph_free(s->graph);
	onnx_model_free(s->model);
	arena_free(s->last);
	arena_free(s->arena);
}

const struct tpat_session_about *tpat_session_about(const struct tpat_session *s)
{
	return &s->about;
}

static const struct tpat_tensor *about_tensors(struct arena *a, struct graph_value *const *value, int n)
{
	struct tpat_tensor *out = NEWN(a, struct tpat_tensor, n + 1);
	for (int i = 0; i < n; i++) {
		const struct graph_value *v = value[i];
		int64_t *dim = NEWN(a, int64_t, (v->rank > 0 ? v->rank : 0) + 1);
		for (int k = 0; k < v->rank; k++)
			if (!ir_const_int(v->dim[k], &dim[k]))
				dim[k] = -1;
		out[i] = (struct tpat_tensor){
			.name = v->name, .type = (enum tpat_type)v->type, .rank = v->rank, .dim = dim
		};
	}
	return out;
}

/* Fails for the first input or node that would stop every run. *phases: a node needs the values of integers. */
static int check_graph(const struct graph *g, const char *model, bool *phases, struct err *e)
{
	vec_each (v, &g->inputs)
		if ((*v)->type == TYPE_NONE || (*v)->rank < 0) {
			err_about(e, ERR_FILE, model);
			err_about(e, ERR_TENSOR, (*v)->name);
			err_set(e, ERR_USAGE, "%s: the shape of input \"%s\" is not known.", model, (*v)->name);
			return err_advise(e, "Give its shape, or its value.");
		}
	struct tpat_phase_end end = { 0 };
	int rc = tpat_phase_end(&end, g, g->arena, e);
	*phases = end.constants > 0;
	err_about(e, ERR_FILE, model);
	return rc;
}

static int open_session(struct tpat_session *s, const struct tpat_session_options *o, struct err *e)
{
	const struct tpat_open_options open = { &o->shape, NULL, true };
	TRY(tpat_open_as(&s->model, &s->graph, o->model, &open, &o->value, s->arena, e));
	bool phases = false;
	TRY(check_graph(s->graph, o->model, &phases, e));
	TRY(tpat_open_device(&s->on.dev, &s->on.target, o->device, e));
	struct graph *g = s->graph;
	if (phases)
		s->phases = tpat_phases_new(&s->on, s->model, &o->value, s->arena);
	else
		s->run = run_open(&s->on, g, s->arena);
	s->stay = o->stay;
	s->about = (struct tpat_session_about){
		.device = s->on.dev ? s->on.dev->props.name : "interpreter",
		.input = about_tensors(s->arena, g->inputs.at, g->inputs.n),
		.output = about_tensors(s->arena, g->outputs.at, g->outputs.n),
		.inputs = g->inputs.n,
		.outputs = g->outputs.n,
	};
	return 0;
}

struct open_call {
	struct tpat_session **out;
	const struct tpat_session_options *o;
};

static void close_unfinished(void *session)
{
	tpat_session_close(session);
}

static int open_call(struct tpat *t, void *arg)
{
	struct open_call *c = arg;
	if (c->o->version != TPAT_SESSION_VERSION || !c->o->model)
		return err_set(&t->err, ERR_USAGE,
		               "The options of tpat_session_open have an unknown version, or no model.");
	struct arena *a = arena_new();
	struct tpat_session *s = NEW(a, struct tpat_session);
	s->arena = a;
	t->cleanup = close_unfinished;
	t->cleanup_arg = s;
	TRY(open_session(s, c->o, &t->err));
	t->cleanup = NULL;
	*c->out = s;
	return 0;
}

int tpat_session_open(struct tpat *t, struct tpat_session **out, const struct tpat_session_options *o)
{
	struct open_call c = { out, o };
	*out = NULL;
	return tpat_call(t, open_call, &c);
}

/* ---- A run's inputs. */

struct run_call {
	struct tpat_session *s;
	const struct tpat_session_ran **out;
	const struct tpat_tensor *input;
	int inputs;
	struct tpat_talk *talk;
	struct err *err;
};

static int wrong(const struct run_call *c, const char *name)
{
	err_about(c->err, ERR_FILE, c->s->model->path);
	return err_about(c->err, ERR_TENSOR, name);
}

static const struct tpat_tensor *given(const struct run_call *c, const char *name)
{
	for (int i = 0; i < c->inputs; i++)
		if (c->input[i].name && strcmp(c->input[i].name, name) == 0)
			return &c->input[i];
	return NULL;
}

/* Each tensor is of an input, and none of the same input as another. */
static int check_names(const struct run_call *c)
{
	const struct graph *g = c->s->graph;
	for (int i = 0; i < c->inputs; i++) {
		const char *name = c->input[i].name ? c->input[i].name : "";
		bool known = false;
		for (int k = 0; k < g->inputs.n; k++)
			known |= strcmp(g->inputs.at[k]->name, name) == 0;
		if (known && given(c, name) == &c->input[i])
			continue;
		err_set(c->err, ERR_USAGE, known ? "%s: input \"%s\" is given twice." : "%s has no input \"%s\".",
		        c->s->model->path, name);
		return wrong(c, name);
	}
	return 0;
}

/* An extent of an input: the number that the model has, or for all inputs the same value of a symbol. */
static int check_extent(const struct run_call *c, const struct graph_value *v, int axis, int64_t n)
{
	struct tpat_session *s = c->s;
	int64_t number, *known = NULL;
	bool constant = ir_const_int(v->dim[axis], &number);
	const char *symbol = v->dim[axis]->op == IR_SYMBOL ? v->dim[axis]->name : NULL;
	if (!constant && symbol)
		known = map_get(&s->extents, symbol);
	if (known)
		number = *known;
	if (n >= 0 && (!(constant || known) || n == number)) {
		if (symbol && !known) {
			known = NEW(s->last, int64_t);
			*known = n;
			map_put(&s->extents, symbol, known);
		}
		return 0;
	}
	if (n < 0)
		err_set(c->err, ERR_USAGE, "%s: extent %d of input \"%s\" is negative.", s->model->path, axis, v->name);
	else if (constant)
		err_set(c->err, ERR_USAGE, "%s: extent %d of input \"%s\" is %lld; the given tensor has %lld.",
		        s->model->path, axis, v->name, (long long)number, (long long)n);
	else
		err_set(c->err, ERR_USAGE,
		        "%s: extent %d of input \"%s\" is %s, which is %lld in another input; the "
		        "given tensor has %lld.",
		        s->model->path, axis, v->name, symbol, (long long)number, (long long)n);
	return wrong(c, v->name);
}

static int check_type(const struct run_call *c, const struct graph_value *v, const struct tpat_tensor *t)
{
	const char *model = c->s->model->path;
	if ((int)t->type != (int)v->type) {
		bool type = t->type > 0 && (int)t->type < TYPE_COUNT;
		err_set(c->err, ERR_USAGE, "%s: input \"%s\" is %s; the given tensor is %s.", model, v->name,
		        type_name(v->type), type ? type_name((enum type)t->type) : "of no known type");
		return wrong(c, v->name);
	}
	if (t->rank != v->rank || (t->rank > 0 && !t->dim)) {
		err_set(c->err, ERR_USAGE, "%s: input \"%s\" has %d axes; the given tensor has %d.", model, v->name,
		        v->rank, t->dim || t->rank <= 0 ? t->rank : 0);
		return wrong(c, v->name);
	}
	for (int k = 0; k < t->rank; k++)
		TRY(check_extent(c, v, k, t->dim[k]));
	return 0;
}

static int check_memory(const struct run_call *c, const struct tpat_tensor *t, int64_t bytes)
{
	const struct dev *d = c->s->on.dev;
	const char *why = NULL, *advice = "Give its host memory.";
	if (bytes < 0)
		why = "is too large";
	else if (t->device && (!d || (strcmp(d->kind, "cuda") != 0 && strcmp(d->kind, "cpu") != 0)))
		why = "has device memory, which this device does not take";
	else if ((uintptr_t)t->device % DEVICE_ALIGNMENT)
		why = "has device memory that is not aligned to 256 bytes";
	else if (bytes && !t->device && !t->data)
		why = "has no memory", advice = "Set data, or device.";
	if (!why)
		return 0;
	err_set(c->err, ERR_USAGE, "%s: the tensor for input \"%s\" %s.", c->s->model->path, t->name, why);
	if (bytes >= 0)
		err_advise(c->err, "%s", advice);
	return wrong(c, t->name);
}

static int take_input(struct run_tensor *out, const struct run_call *c, const struct graph_value *v)
{
	const struct tpat_tensor *t = given(c, v->name);
	if (!t) {
		err_set(c->err, ERR_USAGE, "%s: the input \"%s\" is not given.", c->s->model->path, v->name);
		return wrong(c, v->name);
	}
	TRY(check_type(c, v, t));
	out->tensor = (struct tensor){ .type = v->type, .rank = v->rank };
	for (int k = 0; k < v->rank; k++)
		out->tensor.dim[k] = t->dim[k];
	int64_t bytes = tensor_bytes(&out->tensor);
	TRY(check_memory(c, t, bytes));
	out->at = (void *)(uintptr_t)t->device;
	out->tensor.data = out->at ? NULL : (void *)(uintptr_t)t->data;
	if (out->at || (t->data && (uintptr_t)t->data % 64 == 0))
		return 0;
	/* The interpreter reads whole vectors. Others copy it to the device anyway, if it has elements. */
	if (!c->s->on.dev || !t->data) {
		TRY(tensor_new(&out->tensor, v->type, v->rank, t->dim, c->s->last, c->err));
		if (bytes)
			memcpy(out->tensor.data, t->data, (size_t)bytes);
	}
	return 0;
}

/* ---- A run's outputs. */

/* The caller's memory may change after the call: a result that is in it gets memory of its own, on the host. */
static int own(struct run_tensor *x, const struct run_call *c, const struct run_tensor *in, const struct graph *g)
{
	const struct tensor borrowed = x->tensor;
	int64_t bytes = tensor_bytes(&borrowed);
	for (int i = 0; i < g->inputs.n && bytes > 0; i++) {
		if (c->s->phases && tpat_phases_kept(c->s->phases, g->inputs.at[i]->name))
			continue; /* the session's own */
		if (x->at && x->at == in[i].at) {
			x->at = NULL;
			if (!borrowed.data) {
				struct dev *d = c->s->on.dev;
				TRY(tensor_new(&x->tensor, borrowed.type, borrowed.rank, borrowed.dim, c->s->last,
				               c->err));
				TRY(d->copy_out(d, x->tensor.data, in[i].at, (size_t)bytes, c->err));
			}
		}
		if (borrowed.data && borrowed.data == in[i].tensor.data) {
			TRY(tensor_new(&x->tensor, borrowed.type, borrowed.rank, borrowed.dim, c->s->last, c->err));
			memcpy(x->tensor.data, borrowed.data, (size_t)bytes);
		}
	}
	return 0;
}

/* ---- A run in phases. */

struct phase_inputs {
	const struct run_call *c;
	struct run_tensor *in; /* of the model's inputs, in their order */
};

static struct run_tensor *phase_input(const struct phase_inputs *x, const char *name)
{
	const struct graph *g = x->c->s->graph;
	for (int i = 0; i < g->inputs.n; i++)
		if (strcmp(g->inputs.at[i]->name, name) == 0)
			return &x->in[i];
	ck(false);
	return NULL;
}

static int host_input(struct tensor *out, void *user, const char *name, struct err *e)
{
	const struct phase_inputs *x = user;
	struct run_tensor *t = phase_input(x, name);
	struct dev *d = x->c->s->on.dev;
	if (t->at && !t->tensor.data) {
		TRY(tensor_new(&t->tensor, t->tensor.type, t->tensor.rank, t->tensor.dim, x->c->s->last, e));
		if (tensor_bytes(&t->tensor))
			TRY(d->copy_out(d, t->tensor.data, t->at, (size_t)tensor_bytes(&t->tensor), e));
	}
	*out = t->tensor;
	return 0;
}

/* Replaces the graph and its inputs by those of the last phase. */
static int run_phases(struct run_session **run, struct graph **g, struct run_tensor **in, const struct run_call *c)
{
	struct tpat_session *s = c->s;
	struct phase_inputs x = { c, *in };
	struct graph_shape *shape = NEWN(s->last, struct graph_shape, (*g)->inputs.n + 1);
	int n = (*g)->inputs.n;
	for (int i = 0; i < n; i++) {
		shape[i].name = (*g)->inputs.at[i]->name;
		shape[i].rank = (*in)[i].tensor.rank;
		for (int k = 0; k < shape[i].rank; k++)
			shape[i].dim[k].value = (*in)[i].tensor.dim[k];
	}
	TRY(tpat_phases_run(run, g, s->phases, shape, n, host_input, &x, c->talk, c->err));
	*in = NEWN(s->last, struct run_tensor, (*g)->inputs.n + 1);
	for (int i = 0; i < (*g)->inputs.n; i++) {
		const struct run_tensor *kept = tpat_phases_kept(s->phases, (*g)->inputs.at[i]->name);
		(*in)[i] = kept ? *kept : *phase_input(&x, (*g)->inputs.at[i]->name);
	}
	return 0;
}

static int run_session(const struct run_call *c)
{
	struct tpat_session *s = c->s;
	struct graph *g = s->graph;
	struct run_session *run = s->run;
	struct run_counts counts = { 0 };
	struct run_tensor *in = NEWN(s->last, struct run_tensor, g->inputs.n + 1),
	                  *out = NEWN(s->last, struct run_tensor, g->outputs.n + 1);
	struct tpat_tensor *tensor = NEWN(s->last, struct tpat_tensor, g->outputs.n + 1);
	struct tpat_session_ran *r = NEW(s->last, struct tpat_session_ran);
	TRY(check_names(c));
	for (int i = 0; i < g->inputs.n; i++)
		TRY(take_input(&in[i], c, g->inputs.at[i]));
	if (s->phases)
		TRY(run_phases(&run, &g, &in, c));
	TRY(run_tensors(out, &counts, run, in, !s->stay, c->err));
	for (int i = 0; i < g->outputs.n; i++) {
		TRY(own(&out[i], c, in, g));
		tensor[i] = (struct tpat_tensor){ .name = g->outputs.at[i]->name,
			                          .type = (enum tpat_type)out[i].tensor.type,
			                          .rank = out[i].tensor.rank,
			                          .dim = out[i].tensor.dim,
			                          .data = out[i].tensor.data,
			                          .device = out[i].at };
	}
	*r = (struct tpat_session_ran){ .output = tensor,
		                        .outputs = g->outputs.n,
		                        .nodes = counts.nodes,
		                        .pieces = counts.pieces,
		                        .kernels = counts.kernels,
		                        .held = (int64_t)counts.held,
		                        .weights = (int64_t)counts.weights };
	*c->out = r;
	return 0;
}

static int run_call(struct tpat *t, void *arg)
{
	struct run_call *c = arg;
	struct tpat_session *s = c->s;
	c->err = &t->err;
	c->talk = &t->talk;
	if (s->broken) {
		err_set(&t->err, ERR_DEVICE, "%s: memory ran out in an earlier run of this session.", s->model->path);
		return err_advise(&t->err, "Close the session and open another one.");
	}
	s->broken = true;
	arena_free(s->last);
	s->last = arena_new();
	s->extents = map_new(s->last);
	if (s->run)
		tpat_watch(s->run, &t->talk);
	int rc = run_session(c);
	s->broken = false;
	return rc;
}

int tpat_session_run(struct tpat *t, const struct tpat_session_ran **out, struct tpat_session *s,
                     const struct tpat_tensor *input, int inputs)
{
	struct run_call c = { .s = s, .out = out, .input = input, .inputs = inputs };
	*out = NULL;
	return tpat_call(t, run_call, &c);
}
