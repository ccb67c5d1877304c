/* Fused nodes: each is a session of src/run. See provider.h. */
#include <string.h>

#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

struct fused {
	struct ort_compute compute; /* first: ONNX Runtime passes its address */
	struct provider *p;
	struct arena *arena; /* holds this struct */
	struct onnx_model *model;
	struct graph *graph;
	struct run_session *session;
	size_t *input; /* for each input of the graph: its number among the node's */
	size_t inputs; /* of the node */
};

/* ---- Compiling. */

static void free_fused(struct fused *f)
{
	if (!f)
		return;
	run_close(f->session);
	graph_free(f->graph);
	onnx_model_free(f->model);
	arena_free(f->arena);
}

/* Finds the graph's inputs among the fused node's, which have an order of their own. */
static int find_inputs(struct fused *f, const struct provider_values *in, struct err *e)
{
	f->inputs = in->n;
	f->input = NEWN(f->arena, size_t, f->graph->inputs.n + 1);
	for (int i = 0; i < f->graph->inputs.n; i++) {
		const char *want = f->graph->inputs.at[i]->name, *name = "";
		size_t k = 0;
		for (; k < in->n; k++) {
			TRY(provider_value_name(&name, &f->p->host, in->at[k], e));
			if (strcmp(name, want) == 0)
				break;
		}
		if (k == in->n) {
			err_about(e, ERR_TENSOR, want);
			return err_set(e, ERR_MODEL, "The fused node does not have the input \"%s\".", want);
		}
		f->input[i] = k;
	}
	return 0;
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
	size_t n;
	struct arena *arena; /* without an owner yet */
};

static int compile_one(struct compiling *c, size_t i, struct arena *scratch, struct err *e)
{
	const struct provider_host *h = &c->p->host;
	struct provider_part part = { .graph = c->graph[i] };
	struct provider_io io;
	c->arena = arena_new();
	struct fused *f = NEW(c->arena, struct fused);
	f->arena = c->arena;
	f->p = c->p;
	f->compute = (struct ort_compute){ ORT_GRAPHS, create_state, compute, release_state };
	c->out[i] = &f->compute;
	c->arena = NULL;
	TRY(provider_graph_nodes(&part.nodes, h, part.graph, scratch, e));
	TRY(provider_node_io(&io, h, c->fused[i], scratch, e));
	part.outputs = io.out;
	TRY(provider_model(&f->model, h, &part, scratch, e));
	TRY(graph_new(&f->graph, f->model, NULL, e));
	TRY(find_inputs(f, &io.in, e));
	f->session = run_open(&f->p->on, f->graph, f->arena);
	return 0;
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
	struct compiling c = { (struct provider *)ep, graph, fused, out, n, NULL };
	(void)contexts; /* tpat writes no compiled models */
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
	struct provider *p = (struct provider *)ep;
	lock_take(p->lock);
	for (size_t i = 0; i < n; i++) {
		free_fused((struct fused *)compute[i]);
		compute[i] = NULL;
	}
	lock_give(p->lock);
}

/* ---- Computing. */

struct computing {
	struct fused *f;
	struct ort_kernel_context *context;
};

static int read_input(struct tensor *out, const struct computing *c, int i, struct err *e)
{
	static char empty; /* of a tensor without elements */
	const struct provider_host *h = &c->f->p->host;
	const struct graph_value *v = c->f->graph->inputs.at[i];
	const struct ort_value *value = NULL;
	struct ort_tensor_info *info;
	const void *data = NULL;
	size_t rank = 0;
	int type = 0;
	ASK(input(c->context, c->f->input[i], &value));
	ASK(tensor_info(value, &info));
	int rc = provider_check(h, h->api->element_type(info, &type), e);
	if (rc == 0)
		rc = provider_check(h, h->api->dim_count(info, &rank), e);
	*out = (struct tensor){ .type = provider_type(type), .rank = (int)rank };
	bool fits = out->type == v->type && (int)rank == v->rank;
	if (rc == 0 && fits)
		rc = provider_check(h, h->api->dims(info, out->dim, rank), e);
	h->api->release_tensor_info(info);
	TRY(rc);
	if (!fits) {
		err_about(e, ERR_TENSOR, v->name);
		return err_set(e, ERR_USAGE,
		               "The tensor \"%s\" is %s of rank %d, but the model declares %s of rank %d.", v->name,
		               type_name(out->type), (int)rank, type_name(v->type), v->rank);
	}
	ASK(const_data(value, &data));
	if (!data)
		data = &empty;
	memcpy(&out->data, &data, sizeof data); /* run_graph() writes to no input */
	return 0;
}

static int write_output(const struct computing *c, int i, const struct tensor *t, struct err *e)
{
	const struct provider_host *h = &c->f->p->host;
	struct ort_value *value = NULL;
	void *data = NULL;
	int64_t bytes = tensor_bytes(t);
	ASK(output(c->context, (size_t)i, t->dim, (size_t)t->rank, &value));
	ck(bytes >= 0);
	if (!value || !bytes)
		return 0;
	ASK(tensor_data(value, &data));
	memcpy(data, t->data, (size_t)bytes);
	return 0;
}

static int compute_in(void *arg, struct arena *scratch, struct err *e)
{
	const struct computing *c = arg;
	struct graph *g = c->f->graph;
	struct tensor *in = NEWN(scratch, struct tensor, g->inputs.n + 1);
	struct tensor *out = NEWN(scratch, struct tensor, g->outputs.n + 1);
	struct run_counts counts;
	for (int i = 0; i < g->inputs.n; i++)
		TRY(read_input(&in[i], c, i, e));
	TRY(run_graph(out, &counts, c->f->session, in, e));
	for (int i = 0; i < g->outputs.n; i++)
		TRY(write_output(c, i, &out[i], e));
	return 0;
}

static struct ort_status *compute(struct ort_compute *x, void *state, struct ort_kernel_context *context)
{
	struct computing c = { (struct fused *)x, context };
	struct provider *p = c.f->p;
	(void)state;
	lock_take(p->lock);
	struct ort_status *status = provider_call(&p->host, compute_in, &c);
	lock_give(p->lock);
	return status;
}
