/* Lanes: what one run of a session computes on. See provider.h.
 *
 * A stream of ONNX Runtime has a lane while it lives. ONNX Runtime keeps streams from run to run and makes another one
 * only when more runs are under way, so there are as many lanes as there were runs at the same time. Where it has no
 * stream, a call of compute takes a lane that is free.
 *
 * What is added to a lane, and what is freed, has a number in one order, and a lane knows up to which number its work
 * was waited for. So an allocator knows when a lane may have memory that another lane's work has used. */
#include "provider/provider.h"

struct provider_lanes {
	struct arena *arena; /* holds this struct */
	struct lock *lock;   /* of all that follows, also in the lanes */
	int users;           /* the provider, its streams and its allocators */
	int n;
	uint64_t now; /* the last number */
	struct provider_lane *first, **end;
};

/* ---- The list, which outlives the provider if a stream or memory does. */

static struct provider_lane *new_lane(struct provider *p)
{
	struct arena *a = arena_new();
	struct provider_lane *l = NEW(a, struct provider_lane);
	l->arena = a;
	l->of = p->lanes;
	l->gpu = p->gpu;
	l->scratch = arena_new();
	l->lock = lock_new(a);
	return l;
}

static void free_lane(struct provider_lane *l)
{
	lock_free(l->lock);
	arena_free(l->scratch);
	arena_free(l->arena);
}

static int start(struct provider *p, struct provider_lane *l, struct err *e)
{
	l->stream = l->dev->queue;
	if (!p->gpu || l->stream)
		return 0;
	l->own = true;
	TRY(provider_gpu_enter(p->gpu, e));
	return dev_driver_check(p->gpu->cu->stream_new(&l->stream, CU_STREAM_NON_BLOCKING),
	                        "Cannot create a CUDA stream", e);
}

static void stop(struct provider *p, struct provider_lane *l)
{
	struct err e = { 0 };
	if (l->own && l->stream && provider_gpu_enter(p->gpu, &e) == 0)
		p->gpu->cu->stream_free(l->stream);
	if (l->dev && l->dev != p->on.dev)
		l->dev->close(l->dev);
	l->stream = NULL;
	l->dev = NULL;
}

static void add(struct provider_lanes *x, struct provider_lane *l)
{
	lock_take(x->lock);
	l->number = x->n++;
	*x->end = l;
	x->end = &l->next;
	lock_give(x->lock);
}

int provider_lanes_open(struct provider *p, struct err *e)
{
	struct arena *a = arena_new();
	struct provider_lanes *x = p->lanes = NEW(a, struct provider_lanes);
	x->arena = a;
	x->lock = lock_new(a);
	x->users = 1;
	x->end = &x->first;
	struct provider_lane *l = new_lane(p);
	l->dev = p->on.dev;
	add(x, l);
	return start(p, l, e);
}

void provider_lanes_close(struct provider *p)
{
	struct err e = { 0 };
	if (!p->lanes)
		return;
	for (struct provider_lane *l = p->lanes->first; l; l = l->next) {
		if (l->stream)
			provider_lane_wait(l, &e); /* what failed in it was reported before */
		stop(p, l);
	}
	provider_lanes_leave(p->lanes);
}

struct provider_lanes *provider_lanes_use(struct provider_lanes *x)
{
	lock_take(x->lock);
	x->users++;
	lock_give(x->lock);
	return x;
}

void provider_lanes_leave(struct provider_lanes *x)
{
	lock_take(x->lock);
	bool last = --x->users == 0;
	lock_give(x->lock);
	if (!last)
		return;
	for (struct provider_lane *l = x->first, *next; l; l = next) {
		next = l->next;
		free_lane(l);
	}
	lock_free(x->lock);
	arena_free(x->arena);
}

struct provider_lane *provider_lanes_next(struct provider_lanes *x, const struct provider_lane *l)
{
	lock_take(x->lock);
	struct provider_lane *next = l ? l->next : x->first;
	lock_give(x->lock);
	return next;
}

/* ---- Users of a lane. */

/* One without a user, or the only one that there can be; null: there is none. */
static struct provider_lane *take_old(struct provider *p)
{
	struct provider_lanes *x = p->lanes;
	lock_take(x->lock);
	struct provider_lane *l = x->first;
	while (l && l->users && p->on.dev->also)
		l = l->next;
	if (l)
		l->users++;
	lock_give(x->lock);
	return l;
}

int provider_lane_take(struct provider_lane **out, struct provider *p, struct err *e)
{
	*out = take_old(p);
	if (*out)
		return 0;
	struct provider_lane *l = new_lane(p);
	int rc = p->on.dev->also(p->on.dev, &l->dev, e);
	rc = rc < 0 ? rc : start(p, l, e);
	if (rc < 0) {
		stop(p, l);
		free_lane(l);
		return rc;
	}
	l->users = 1;
	add(p->lanes, l);
	*out = l;
	return 0;
}

void provider_lane_give(struct provider_lane *l)
{
	lock_take(l->of->lock);
	l->users--;
	lock_give(l->of->lock);
}

struct provider_lane *provider_lane_of(struct provider *p, const void *stream)
{
	struct provider_lane *l = NULL;
	while ((l = provider_lanes_next(p->lanes, l)) && l->stream != stream)
		;
	return l;
}

/* ---- The order of a lane's work. */

void provider_lane_note(struct provider_lane *l)
{
	lock_take(l->of->lock);
	l->last = ++l->of->now;
	lock_give(l->of->lock);
}

int provider_lane_wait(struct provider_lane *l, struct err *e)
{
	struct provider_lanes *x = l->of;
	lock_take(x->lock);
	uint64_t until = x->now;
	lock_give(x->lock);
	TRY(provider_gpu_enter(l->gpu, e));
	TRY(dev_driver_check(l->gpu->cu->stream_wait(l->stream), "A kernel or a copy failed on the GPU", e));
	lock_take(x->lock);
	l->waited = until;
	lock_give(x->lock);
	return 0;
}

uint64_t provider_lanes_now(struct provider_lanes *x)
{
	lock_take(x->lock);
	uint64_t now = x->now;
	lock_give(x->lock);
	return now;
}

uint64_t provider_lanes_done(struct provider_lanes *x, const struct provider_lane *except)
{
	uint64_t done = UINT64_MAX;
	lock_take(x->lock);
	for (const struct provider_lane *l = x->first; l; l = l->next)
		if (l != except && l->last > l->waited && l->waited < done)
			done = l->waited;
	lock_give(x->lock);
	return done;
}
