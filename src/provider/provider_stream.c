/* Streams of ONNX Runtime. One of a session has a lane, whose CUDA stream it is. See provider.h. */
#include "provider/provider.h"

struct stream {
	struct ort_stream stream; /* first: ONNX Runtime passes its address */
	const struct provider_host *host;
	struct provider_gpu *gpu;
	cu_stream cuda;
	struct provider_lane *lane; /* null: the CUDA stream is its own */
	struct arena *arena;        /* holds this struct */
};

struct notification {
	struct ort_notification notification; /* first: ONNX Runtime passes its address */
	struct stream *of;
	cu_event event;
	struct arena *arena; /* holds this struct */
};

cu_stream provider_stream_of(struct provider_lane **lane, const struct provider_host *h,
                             const struct ort_sync_stream *s)
{
	const struct stream *x = s ? (const struct stream *)h->ep->stream(s) : NULL;
	*lane = x ? x->lane : NULL;
	return x ? x->cuda : NULL;
}

/* ---- Notifications. */

static void release_notification(struct ort_notification *x)
{
	struct notification *n = (struct notification *)x;
	struct err e = { 0 };
	if (n->event && provider_gpu_enter(n->of->gpu, &e) == 0)
		n->of->gpu->cu->event_free(n->event);
	arena_free(n->arena);
}

static int activate_call(void *arg, struct arena *scratch, struct err *e)
{
	struct notification *n = arg;
	(void)scratch;
	TRY(provider_gpu_enter(n->of->gpu, e));
	return dev_driver_check(n->of->gpu->cu->event_record(n->event, n->of->cuda), "Cannot record an event", e);
}

static struct ort_status *activate(struct ort_notification *x)
{
	return provider_call(((struct notification *)x)->of->host, activate_call, x);
}

struct waiting {
	struct notification *n;
	cu_stream waits; /* null: the host */
};

static int wait_call(void *arg, struct arena *scratch, struct err *e)
{
	struct waiting *w = arg;
	struct provider_gpu *g = w->n->of->gpu;
	(void)scratch;
	TRY(provider_gpu_enter(g, e));
	int rc = w->waits ? g->cu->stream_wait_event(w->waits, w->n->event, 0) : g->cu->event_wait(w->n->event);
	return dev_driver_check(rc, "Waiting for the GPU failed", e);
}

/* A null stream is the host's. */
static struct ort_status *wait_on_device(struct ort_notification *x, struct ort_sync_stream *waits)
{
	struct waiting w = { (struct notification *)x, NULL };
	struct provider_lane *lane;
	w.waits = provider_stream_of(&lane, w.n->of->host, waits);
	return w.waits == w.n->of->cuda ? NULL : provider_call(w.n->of->host, wait_call, &w);
}

static struct ort_status *wait_on_host(struct ort_notification *x)
{
	struct waiting w = { (struct notification *)x, NULL };
	return provider_call(w.n->of->host, wait_call, &w);
}

struct noting {
	struct stream *of;
	struct notification *out;
};

static int make_notification(void *arg, struct arena *scratch, struct err *e)
{
	struct noting *x = arg;
	(void)scratch;
	TRY(provider_gpu_enter(x->of->gpu, e));
	struct arena *a = arena_new();
	struct notification *n = x->out = NEW(a, struct notification);
	n->arena = a;
	n->of = x->of;
	n->notification =
	        (struct ort_notification){ ORT_GRAPHS, release_notification, activate, wait_on_device, wait_on_host };
	return dev_driver_check(x->of->gpu->cu->event_new(&n->event, CU_EVENT_UNTIMED), "Cannot create an event", e);
}

static struct ort_status *create_notification(struct ort_stream *x, struct ort_notification **out)
{
	struct noting n = { (struct stream *)x, NULL };
	struct ort_status *s = provider_call(n.of->host, make_notification, &n);
	if (s && n.out)
		release_notification(&n.out->notification);
	*out = s ? NULL : &n.out->notification;
	return s;
}

/* ---- Streams. */

static void release(struct ort_stream *x)
{
	struct stream *s = (struct stream *)x;
	struct err e = { 0 };
	struct provider_lanes *lanes = s->lane ? s->lane->of : NULL;
	if (!lanes && s->cuda && provider_gpu_enter(s->gpu, &e) == 0)
		s->gpu->cu->stream_free(s->cuda);
	if (lanes) {
		provider_lane_give(s->lane);
		provider_lanes_leave(lanes);
	}
	arena_free(s->arena);
}

static void *handle(struct ort_stream *x)
{
	return ((struct stream *)x)->cuda;
}

static int flush_call(void *arg, struct arena *scratch, struct err *e)
{
	struct stream *s = arg;
	(void)scratch;
	if (s->lane)
		return provider_lane_wait(s->lane, e);
	TRY(provider_gpu_enter(s->gpu, e));
	return dev_driver_check(s->gpu->cu->stream_wait(s->cuda), "A kernel or a copy failed on the GPU", e);
}

static struct ort_status *flush(struct ort_stream *x)
{
	return provider_call(((struct stream *)x)->host, flush_call, x);
}

static struct ort_status *run_ends(struct ort_stream *x)
{
	(void)x;
	return NULL;
}

struct making {
	struct provider_factory *factory;
	struct provider_gpu *gpu;
	struct provider *provider; /* null: a stream of its own */
	struct stream *out;
};

static int make(void *arg, struct arena *scratch, struct err *e)
{
	struct making *m = arg;
	(void)scratch;
	TRY(provider_gpu_enter(m->gpu, e));
	struct arena *a = arena_new();
	struct stream *s = m->out = NEW(a, struct stream);
	s->arena = a;
	s->host = &m->factory->host;
	s->gpu = m->gpu;
	s->stream = (struct ort_stream){ ORT_GRAPHS, release, handle, create_notification, flush, run_ends };
	if (!m->provider)
		return dev_driver_check(m->gpu->cu->stream_new(&s->cuda, CU_STREAM_NON_BLOCKING),
		                        "Cannot create a CUDA stream", e);
	struct provider_lane *l;
	TRY(provider_lane_take(&l, m->provider, e));
	provider_lanes_use(l->of);
	s->lane = l;
	s->cuda = l->stream;
	return 0;
}

struct ort_status *provider_stream_new(struct ort_stream **out, struct provider_factory *f, struct provider *p,
                                       const struct ort_memory_device *memory)
{
	struct making m = { .factory = f, .gpu = provider_gpu_at(f, memory), .provider = p };
	*out = NULL;
	if (!m.gpu)
		return NULL;
	struct ort_status *s = provider_call(&f->host, make, &m);
	if (s && m.out)
		release(&m.out->stream);
	*out = s ? NULL : &m.out->stream;
	return s;
}
