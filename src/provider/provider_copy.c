/* Copies of tensors between the host and GPUs. See provider.h. */
#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

int provider_gpu_copy(struct provider_gpu *g, const struct provider_copy *c, struct err *e)
{
	cu_pointer to = (uintptr_t)c->to, from = (uintptr_t)c->from;
	int rc = 0;
	TRY(provider_gpu_enter(g, e));
	if (!c->bytes)
		return 0;
	cu_stream stream = c->stream ? c->stream : g->copies;
	if (!c->stream)
		rc = g->cu->context_wait();
	if (rc == 0 && c->to_gpu && c->from_gpu)
		rc = g->cu->copy_within(to, from, c->bytes, stream);
	else if (rc == 0 && c->to_gpu)
		rc = g->cu->copy_in(to, c->from, c->bytes, stream);
	else if (rc == 0)
		rc = g->cu->copy_out(c->to, from, c->bytes, stream);
	if (rc == 0 && (!c->stream || !c->to_gpu))
		rc = g->cu->stream_wait(stream);
	return dev_driver_check(rc, "Copying a tensor to, from or on the GPU, or a kernel before it, failed", e);
}

/* ---- ONNX Runtime's copies. */

struct transfer {
	struct ort_data_transfer transfer; /* first: ONNX Runtime passes its address */
	struct provider_factory *factory;
	struct arena *arena; /* holds this struct */
};

struct copying {
	struct provider_factory *factory;
	const struct ort_value **from;
	struct ort_value **to;
	struct ort_sync_stream **stream;
	size_t n;
};

static bool is_host(const struct provider_host *h, const struct ort_memory_device *m)
{
	return h->ep->memory_kind(m) == ORT_MEMORY_CPU || h->ep->memory_type(m) != 0;
}

static bool can_copy(const struct ort_data_transfer *x, const struct ort_memory_device *from,
                     const struct ort_memory_device *to)
{
	struct provider_factory *f = ((const struct transfer *)x)->factory;
	const struct provider_gpu *a = provider_gpu_at(f, from), *b = provider_gpu_at(f, to);
	return (a && b) ? a == b : (a && is_host(&f->host, to)) || (b && is_host(&f->host, from));
}

static int copy_one(const struct copying *c, size_t i, struct err *e)
{
	const struct provider_host *h = &c->factory->host;
	const void *from = NULL;
	struct provider_lane *lane = NULL;
	struct provider_gpu *a = provider_gpu_at(c->factory, h->ep->memory_of_value(c->from[i])),
	                    *b = provider_gpu_at(c->factory, h->ep->memory_of_value(c->to[i]));
	struct provider_copy copy = { .to_gpu = b != NULL, .from_gpu = a != NULL };
	if (!a && !b)
		return err_set(e, ERR_USAGE, "ONNX Runtime asks for a copy between devices that are not tpat's.");
	ASK(tensor_bytes(c->from[i], &copy.bytes));
	ASK(const_data(c->from[i], &from));
	ASK(tensor_data(c->to[i], &copy.to));
	copy.from = from;
	if (c->stream)
		copy.stream = provider_stream_of(&lane, h, c->stream[i]);
	int rc = provider_gpu_copy(a ? a : b, &copy, e);
	if (lane)
		provider_lane_note(lane);
	return rc;
}

static int copy_all(void *arg, struct arena *scratch, struct err *e)
{
	const struct copying *c = arg;
	(void)scratch;
	for (size_t i = 0; i < c->n; i++)
		TRY(copy_one(c, i, e));
	return 0;
}

static struct ort_status *copy(struct ort_data_transfer *x, const struct ort_value **from, struct ort_value **to,
                               struct ort_sync_stream **stream, size_t n)
{
	struct copying c = { ((struct transfer *)x)->factory, from, to, stream, n };
	return provider_call(&c.factory->host, copy_all, &c);
}

static void release(struct ort_data_transfer *x)
{
	arena_free(((struct transfer *)x)->arena);
}

static int make(void *arg, struct arena *scratch, struct err *e)
{
	struct transfer **out = arg;
	(void)scratch, (void)e;
	struct arena *a = arena_new();
	*out = NEW(a, struct transfer);
	(*out)->arena = a;
	return 0;
}

struct ort_status *provider_transfer_new(struct ort_data_transfer **out, struct provider_factory *f)
{
	struct transfer *t = NULL;
	*out = NULL;
	if (!f->gpus)
		return NULL;
	struct ort_status *s = provider_call(&f->host, make, &t);
	if (s)
		return s;
	t->transfer = (struct ort_data_transfer){ ORT_GRAPHS, release, can_copy, copy };
	t->factory = f;
	*out = &t->transfer;
	return NULL;
}
