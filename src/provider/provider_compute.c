/* Fused nodes: each is a session of src/run. See provider.h. */
#include <string.h>

#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

struct fused {
	struct ort_compute compute; /* first: ONNX Runtime passes its address */
	struct provider *p;
	struct arena *arena; /* holds this struct */
	int number;          /* among the provider's regions */
	struct onnx_model *model;
	struct graph *graph;
	struct run_session *session;      /* the first lane's */
	size_t *input;                    /* for each input of the graph: its number among the node's */
	size_t *output;                   /* the same for outputs */
	struct provider_context *context; /* a compiled region's, or one to write; null: neither */
	struct file_map file;             /* has the context; empty: none */
};

/* ---- Compiling. */

/* Closes the region's sessions on all lanes; the first one holds what they share. */
static void close_sessions(struct fused *f)
{
	struct provider_lane *l = NULL;
	while ((l = provider_lanes_next(f->p->lanes, l))) {
		if (f->number >= l->sessions)
			continue;
		struct provider_session *s = &l->session[f->number];
		if (s->arena) {
			run_close(s->run);
			arena_free(s->arena);
		}
		*s = (struct provider_session){ 0 };
	}
	run_close(f->session);
}

static void free_fused(struct fused *f)
{
	if (!f)
		return;
	close_sessions(f);
	graph_free(f->graph);
	onnx_model_free(f->model);
	if (f->file.data)
		file_map_close(&f->file);
	arena_free(f->arena);
}

/* The number of the tensor among the fused node's, which have an order of their own. */
static int find(size_t *out, const struct fused *f, const struct provider_values *v, const char *want, struct err *e)
{
	const char *name = "";
	for (*out = 0; *out < v->n; (*out)++) {
		TRY(provider_value_name(&name, &f->p->host, v->at[*out], e));
		if (strcmp(name, want) == 0)
			return 0;
	}
	err_about(e, ERR_TENSOR, want);
	return err_set(e, ERR_MODEL, "The fused node does not have the tensor \"%s\".", want);
}

/* Finds the graph's inputs and outputs among the fused node's. `compiled`: the node of a compiled region, whose
 * tensors have the order of those that it was written with, but may have other names; null: names are the graph's. */
static int find_tensors(struct fused *f, const struct provider_io *io, const struct provider_io *compiled,
                        struct err *e)
{
	struct graph *g = f->graph;
	const char *name;
	f->input = NEWN(f->arena, size_t, g->inputs.n + 1);
	f->output = NEWN(f->arena, size_t, g->outputs.n + 1);
	for (int i = 0; i < g->inputs.n; i++) {
		name = g->inputs.at[i]->name;
		int k = compiled ? provider_context_input(f->context, name) : 0;
		if (compiled && (k < 0 || (size_t)k >= compiled->in.n))
			return err_set(e, ERR_MODEL, "A compiled region has %d inputs, but its node has %d.",
			               g->inputs.n, (int)compiled->in.n);
		if (compiled)
			TRY(provider_value_name(&name, &f->p->host, compiled->in.at[k], e));
		TRY(find(&f->input[i], f, &io->in, name, e));
	}
	if (compiled && compiled->out.n != (size_t)g->outputs.n)
		return err_set(e, ERR_MODEL, "A compiled region has %d outputs, but its node has %d.", g->outputs.n,
		               (int)compiled->out.n);
	for (int i = 0; i < g->outputs.n; i++) {
		name = g->outputs.at[i]->name;
		if (compiled)
			TRY(provider_value_name(&name, &f->p->host, compiled->out.at[i], e));
		TRY(find(&f->output[i], f, &io->out, name, e));
	}
	return 0;
}

static void open_session(struct fused *f)
{
	struct run_device on = f->context ? provider_context_device(f->context) : f->p->on;
	f->session = run_open(&on, f->graph, f->arena);
	run_graphs(f->session, f->p->cuda_graph);
	if (f->context) {
		struct run_codes codes = provider_context_codes(f->context);
		run_codes(f->session, &codes);
	}
}

static struct ort_status *create_state(struct ort_compute *c, struct ort_compute_context *context, void **state)
{
	(void)context;
	*state = c;
	return NULL;
}

static void release_state(struct ort_compute *c, void *state)
{
	(void)c, (void)state;
}

static struct ort_status *compute(struct ort_compute *c, void *state, struct ort_kernel_context *context);

struct compiling {
	struct provider *p;
	const struct ort_graph **graph;
	const struct ort_node **fused;
	struct ort_compute **out;
	struct ort_node **contexts; /* for a compiled model */
	size_t n;
	struct arena *arena; /* without an owner yet */
};

/* The node is a compiled region. */
static int load_one(struct fused *f, const struct provider_part *part, const struct provider_io *io,
                    struct arena *scratch, struct err *e)
{
	struct provider_io node;
	const void *bytes;
	size_t size;
	if (f->p->context) {
		err_set(e, ERR_USAGE, "The model is compiled already.");
		return err_advise(e, "Compile the original model, or leave out ep.context_enable.");
	}
	TRY(provider_node_io(&node, &f->p->host, part->nodes.at[0], scratch, e));
	TRY(provider_context_bytes(&bytes, &size, &f->file, f->p, part->graph, part->nodes.at[0], f->arena, e));
	f->context = provider_context_new(f->p, f->arena);
	TRY(provider_context_read(f->context, bytes, size, e));
	TRY(provider_context_model(&f->model, f->context, e));
	TRY(graph_new(&f->graph, f->model, NULL, e));
	TRY(find_tensors(f, io, &node, e));
	open_session(f);
	return 0;
}

/* Compiles the region, and makes the node with its code. */
static int write_one(struct ort_node **out, struct fused *f, const struct provider_part *part,
                     const struct ort_node *fused, const struct provider_io *io, struct arena *scratch, struct err *e)
{
	const char *bytes;
	size_t size;
	TRY(run_compile(f->session, e));
	TRY(provider_context_write(&bytes, &size, f->context, f->model, &io->in, e));
	return provider_context_node(out, f->p, part->graph, fused, io, bytes, size, scratch, e);
}

static int compile_one(struct compiling *c, size_t i, struct arena *scratch, struct err *e)
{
	const struct provider_host *h = &c->p->host;
	struct provider_part part = { .graph = c->graph[i] };
	struct provider_io io;
	bool compiled = false;
	c->arena = arena_new();
	struct fused *f = NEW(c->arena, struct fused);
	f->arena = c->arena;
	f->p = c->p;
	f->number = c->p->regions++;
	f->compute = (struct ort_compute){ ORT_GRAPHS, create_state, compute, release_state };
	c->out[i] = &f->compute;
	c->arena = NULL;
	TRY(provider_graph_nodes(&part.nodes, h, part.graph, scratch, e));
	TRY(provider_node_io(&io, h, c->fused[i], scratch, e));
	if (part.nodes.n == 1)
		TRY(provider_is_context(&compiled, h, part.nodes.at[0], scratch, e));
	if (compiled)
		return load_one(f, &part, &io, scratch, e);
	part.outputs = io.out;
	TRY(provider_model(&f->model, h, &part, scratch, e));
	TRY(graph_new(&f->graph, f->model, NULL, e));
	TRY(find_tensors(f, &io, NULL, e));
	if (f->p->context)
		f->context = provider_context_new(f->p, f->arena);
	open_session(f);
	return f->context ? write_one(&c->contexts[i], f, &part, c->fused[i], &io, scratch, e) : 0;
}

static int compile_all(void *arg, struct arena *scratch, struct err *e)
{
	struct compiling *c = arg;
	for (size_t i = 0; i < c->n; i++)
		TRY(compile_one(c, i, scratch, e));
	return 0;
}

struct ort_status *provider_compile(struct ort_ep *ep, const struct ort_graph **graph, const struct ort_node **fused,
                                    size_t n, struct ort_compute **out, struct ort_node **contexts)
{
	struct compiling c = { (struct provider *)ep, graph, fused, out, contexts, n, NULL };
	for (size_t i = 0; i < n; i++)
		out[i] = NULL;
	struct ort_status *status = provider_call(&c.p->host, compile_all, &c);
	arena_free(c.arena);
	if (status)
		provider_release_computes(ep, out, n);
	return status;
}

void provider_release_computes(struct ort_ep *ep, struct ort_compute **compute, size_t n)
{
	(void)ep;
	for (size_t i = 0; i < n; i++) {
		free_fused((struct fused *)compute[i]);
		compute[i] = NULL;
	}
}

/* ---- Computing. */

struct computing {
	struct fused *f;
	struct provider_lane *lane;
	bool taken; /* the lane is that of this call */
	struct ort_kernel_context *context;
	struct arena *scratch;
	struct place *place; /* of each output of the graph */
};

/* ONNX Runtime's memory for an output. */
struct place {
	struct ort_value *value; /* null: not asked for yet, or not wanted */
	bool asked, on_gpu;
	void *at;
};

static int check_type(struct run_tensor *out, const struct computing *c, int i, const struct ort_value *value,
                      struct err *e)
{
	const struct graph_value *v = c->f->graph->inputs.at[i];
	TRY(provider_extents(&out->tensor, &c->f->p->host, value, e));
	if (out->tensor.type == v->type && out->tensor.rank == v->rank)
		return 0;
	err_about(e, ERR_TENSOR, v->name);
	return err_set(e, ERR_USAGE, "The tensor \"%s\" is %s of rank %d, but the model declares %s of rank %d.",
	               v->name, type_name(out->tensor.type), out->tensor.rank, type_name(v->type), v->rank);
}

/* An input where it is, if the device reads it there; else a copy on the host. */
static int read_input(struct run_tensor *out, const struct computing *c, int i, struct err *e)
{
	static char empty; /* of a tensor without elements */
	const struct provider *p = c->f->p;
	const struct provider_host *h = &p->host;
	const struct ort_value *value = NULL;
	const void *data = NULL;
	ASK(input(c->context, c->f->input[i], &value));
	TRY(check_type(out, c, i, value, e));
	ASK(const_data(value, &data));
	int64_t bytes = tensor_bytes(&out->tensor);
	if (!data && bytes)
		return err_set(e, ERR_DEVICE, "ONNX Runtime has no memory for the tensor \"%s\".",
		               c->f->graph->inputs.at[i]->name);
	if (!bytes)
		data = &empty;
	bool on_gpu = bytes && provider_is_on_gpu(h, value);
	if (on_gpu && !p->shares_memory) {
		const struct tensor t = out->tensor;
		TRY(tensor_new(&out->tensor, t.type, t.rank, t.dim, c->scratch, e));
		return provider_gpu_copy(p->gpu,
		                         &(struct provider_copy){ .to = out->tensor.data,
		                                                  .from = data,
		                                                  .from_gpu = true,
		                                                  .bytes = (size_t)bytes,
		                                                  .stream = c->lane->stream },
		                         e);
	}
	memcpy(on_gpu ? &out->at : &out->tensor.data, &data, sizeof data); /* a run writes to no input */
	return 0;
}

/* Asks ONNX Runtime for an output's memory. */
static int take_place(const struct computing *c, int i, const struct tensor *t, struct err *e)
{
	const struct provider_host *h = &c->f->p->host;
	struct place *p = &c->place[i];
	if (p->asked)
		return 0;
	p->asked = true;
	ASK(output(c->context, c->f->output[i], t->dim, (size_t)t->rank, &p->value));
	if (!p->value || tensor_bytes(t) <= 0)
		return 0;
	ASK(tensor_data(p->value, &p->at));
	p->on_gpu = provider_is_on_gpu(h, p->value);
	return p->at ? 0
	             : err_set(e, ERR_DEVICE, "ONNX Runtime has no memory for the tensor \"%s\".",
	                       c->f->graph->outputs.at[i]->name);
}

static int place(void *user, void **at, int i, const struct tensor *t, struct err *e)
{
	const struct computing *c = user;
	TRY(take_place(c, i, t, e));
	*at = c->place[i].on_gpu && c->f->p->shares_memory ? c->place[i].at : NULL;
	return 0;
}

/* Copies a result to its place, unless it is there. */
static int write_output(const struct computing *c, int i, const struct run_tensor *t, struct err *e)
{
	const struct provider *p = c->f->p;
	struct dev *d = c->lane->dev;
	int64_t bytes = tensor_bytes(&t->tensor);
	TRY(take_place(c, i, &t->tensor, e));
	const struct place *to = &c->place[i];
	if (!to->value || bytes <= 0 || (t->at && to->at == t->at))
		return 0;
	if (!to->on_gpu && t->at)
		return d->copy_out(d, to->at, t->at, (size_t)bytes, e);
	if (to->on_gpu && t->at && p->shares_memory)
		return d->copy_within(d, to->at, t->at, (size_t)bytes, e);
	const void *from = t->tensor.data;
	if (t->at) { /* to a GPU, from a device that does not share its memory */
		void *host = arena_alloc(c->scratch, (size_t)bytes);
		TRY(d->copy_out(d, host, t->at, (size_t)bytes, e));
		from = host;
	}
	if (to->on_gpu)
		return provider_gpu_copy(p->gpu,
		                         &(struct provider_copy){ .to = to->at,
		                                                  .from = from,
		                                                  .to_gpu = true,
		                                                  .bytes = (size_t)bytes,
		                                                  .stream = c->lane->stream },
		                         e);
	memcpy(to->at, from, (size_t)bytes);
	return 0;
}

/* The region's session on the lane. */
static struct run_session *session_on(struct fused *f, struct provider_lane *l)
{
	if (!l->number)
		return f->session;
	if (f->number >= l->sessions) {
		const int n = f->p->regions;
		struct provider_session *more = NEWN(l->arena, struct provider_session, n);
		for (int i = 0; i < l->sessions; i++)
			more[i] = l->session[i];
		l->session = more;
		l->sessions = n;
	}
	struct provider_session *s = &l->session[f->number];
	if (!s->arena)
		s->arena = arena_new();
	if (!s->run)
		s->run = run_also(f->session, l->dev, s->arena);
	return s->run;
}

static int compute_in(void *arg, struct arena *scratch, struct err *e)
{
	struct computing *c = arg;
	struct graph *g = c->f->graph;
	struct run_tensor *in = NEWN(scratch, struct run_tensor, g->inputs.n + 1);
	struct run_tensor *out = NEWN(scratch, struct run_tensor, g->outputs.n + 1);
	const struct run_places places = { place, c };
	struct run_counts counts;
	c->scratch = scratch;
	c->place = NEWN(scratch, struct place, g->outputs.n + 1);
	for (int i = 0; i < g->inputs.n; i++)
		TRY(read_input(&in[i], c, i, e));
	TRY(run_enqueue(out, &counts, session_on(c->f, c->lane), in, &places, e));
	for (int i = 0; i < g->outputs.n; i++)
		TRY(write_output(c, i, &out[i], e));
	return 0;
}

static int take_lane(void *arg, struct arena *scratch, struct err *e)
{
	struct computing *c = arg;
	(void)scratch;
	return provider_lane_take(&c->lane, c->f->p, e);
}

/* The lane of ONNX Runtime's stream, or one for this call. */
static struct ort_status *find_lane(struct computing *c)
{
	struct provider *p = c->f->p;
	void *stream = NULL;
	struct ort_status *status = p->gpu ? p->host.api->gpu_stream(c->context, &stream) : NULL;
	if (status)
		return status;
	c->lane = stream ? provider_lane_of(p, stream) : NULL;
	c->taken = !c->lane;
	return c->taken ? provider_call(&p->host, take_lane, c) : NULL;
}

static int wait_in(void *arg, struct arena *scratch, struct err *e)
{
	(void)scratch;
	return provider_lane_wait(arg, e);
}

static struct ort_status *compute(struct ort_compute *x, void *state, struct ort_kernel_context *context)
{
	struct computing c = { .f = (struct fused *)x, .context = context };
	const struct provider_host *h = &c.f->p->host;
	(void)state;
	struct ort_status *status = find_lane(&c);
	if (status)
		return status;
	lock_take(c.lane->lock);
	status = provider_call_again(h, c.lane->scratch, compute_in, &c);
	provider_lane_note(c.lane);
	lock_give(c.lane->lock);
	if (c.taken && !status && c.lane->stream) /* nobody else waits for it */
		status = provider_call(h, wait_in, c.lane);
	if (c.taken)
		provider_lane_give(c.lane);
	return status;
}
