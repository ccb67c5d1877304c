/* The GPU's memory and its queue: copies, events, graphs of launches. See dev_cuda_inside.h. */
#include <stdio.h>

#include "dev/dev_cuda_inside.h"

struct dev_event {
	cu_event event;
	struct dev_event *next_free;
};

struct dev_graph {
	cu_graph_exec exec;
	struct dev_graph *next_free;
};

/* ---- Memory ---- */

static int alloc(struct dev *d, void **out, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	cu_pointer p = 0;
	int rc = cu->alloc(&p, bytes ? bytes : 1);
	if (rc != 0) {
		char what[96];
		snprintf(what, sizeof what, "Cannot allocate a buffer of %zu bytes on the GPU", bytes);
		return dev_driver_check(rc, what, e);
	}
	*out = (void *)(uintptr_t)p;
	return 0;
}

static void free_buffer(struct dev *d, void *p)
{
	struct gpu *g;
	if (p)
		dev_cuda_enter(d, &g)->free((uintptr_t)p);
}

static int copy_in(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	if (bytes == 0)
		return 0;
	int rc = cu->copy_in((uintptr_t)to, from, bytes, g->stream);
	return dev_driver_check(rc ? rc : cu->stream_wait(g->stream), "Copying to the GPU failed", e);
}

static int copy_out(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	int rc = bytes ? cu->copy_out(to, (uintptr_t)from, bytes, g->stream) : 0;
	return dev_driver_check(rc ? rc : cu->stream_wait(g->stream),
	                        "Copying from the GPU, or a kernel before it, failed", e);
}

static int copy_within(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	int rc = bytes ? cu->copy_within((uintptr_t)to, (uintptr_t)from, bytes, g->stream) : 0;
	return dev_driver_check(rc, "Copying on the GPU failed", e);
}

static int fill(struct dev *d, void *p, int byte, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	if (bytes == 0)
		return 0;
	return dev_driver_check(cu->memset8((uintptr_t)p, (unsigned char)byte, bytes, g->stream),
	                        "Filling GPU memory failed", e);
}

static int synchronize(struct dev *d, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	return dev_driver_check(cu->stream_wait(g->stream), "A kernel failed on the GPU", e);
}

/* ---- Events ---- */

static int event_new(struct dev *d, struct dev_event **out, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	cu_event event;
	TRY(dev_driver_check(cu->event_new(&event, 0), "Cannot create an event", e));
	struct dev_event *ev = g->free_events;
	if (ev)
		g->free_events = ev->next_free;
	else
		ev = NEW(g->arena, struct dev_event);
	ev->event = event;
	*out = ev;
	return 0;
}

static void event_free(struct dev *d, struct dev_event *ev)
{
	struct gpu *g;
	if (!ev)
		return;
	dev_cuda_enter(d, &g)->event_free(ev->event);
	ev->next_free = g->free_events;
	g->free_events = ev;
}

static int event_record(struct dev *d, struct dev_event *ev, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	return dev_driver_check(cu->event_record(ev->event, g->stream), "Cannot record an event", e);
}

static int event_ns(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	float ms = 0;
	int rc = cu->event_wait(to->event);
	rc = rc ? rc : cu->event_ms(&ms, from->event, to->event);
	*ns = (double)ms * 1e6;
	return dev_driver_check(rc, "A kernel failed while it was timed", e);
}

/* ---- Graphs ---- */

/* dev.queue goes with it: what code that uses the stream directly enqueues is recorded, too. */
static void swap_streams(struct dev *d, struct gpu *g)
{
	cu_stream queue = g->stream;
	g->stream = g->other;
	g->other = queue;
	d->queue = g->stream;
}

/* In a stream of its own: others may use the queue at the same time, and their work is no part of the graph. */
static int capture_begin(struct dev *d, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	int rc = g->other ? 0 : cu->stream_new(&g->other, CU_STREAM_NON_BLOCKING);
	rc = rc ? rc : cu->capture_begin(g->other, CU_CAPTURE_THREAD_LOCAL);
	if (!rc)
		swap_streams(d, g);
	return dev_driver_check(rc, "Cannot capture launches", e);
}

static int capture_end(struct dev *d, struct dev_graph **out, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	cu_graph graph = NULL;
	cu_graph_exec exec = NULL;
	int rc = cu->capture_end(g->stream, &graph);
	swap_streams(d, g);
	rc = rc ? rc : cu->graph_instantiate(&exec, graph, 0);
	if (graph)
		cu->graph_free(graph);
	TRY(dev_driver_check(rc, "Cannot make a graph of the captured launches", e));
	struct dev_graph *x = g->free_graphs;
	if (x)
		g->free_graphs = x->next_free;
	else
		x = NEW(g->arena, struct dev_graph);
	x->exec = exec;
	*out = x;
	return 0;
}

static int graph_launch(struct dev *d, struct dev_graph *x, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	return dev_driver_check(cu->graph_launch(x->exec, g->stream), "Cannot launch a graph", e);
}

static void graph_free(struct dev *d, struct dev_graph *x)
{
	struct gpu *g;
	if (!x)
		return;
	dev_cuda_enter(d, &g)->graph_exec_free(x->exec);
	x->next_free = g->free_graphs;
	g->free_graphs = x;
}

void dev_cuda_queue(struct dev *d)
{
	d->alloc = alloc;
	d->free = free_buffer;
	d->copy_in = copy_in;
	d->copy_out = copy_out;
	d->copy_within = copy_within;
	d->memset = fill;
	d->synchronize = synchronize;
	d->event_new = event_new;
	d->event_free = event_free;
	d->event_record = event_record;
	d->event_ns = event_ns;
	d->capture_begin = capture_begin;
	d->capture_end = capture_end;
	d->graph_launch = graph_launch;
	d->graph_free = graph_free;
}
