/* Memory of a GPU for ONNX Runtime. See provider.h.
 *
 * A session's allocator keeps freed memory. The stream that it was for may have it again at once, since all work of a
 * stream is in order; another one when all other streams have done what there was when it was freed. An allocator for
 * all sessions gives memory back to the driver, which waits for the kernels that use it. */
#include "provider/provider.h"

struct block {
	void *at;
	size_t bytes;
	bool free;
	const struct provider_lane *lane; /* whose work uses it; null: any lane's */
	uint64_t freed;                   /* the lanes' number then */
};

struct allocator {
	struct ort_allocator allocator; /* first: ONNX Runtime passes its address */
	const struct provider_host *host;
	struct provider_gpu *gpu;
	struct provider_lanes *lanes; /* of the session; null: it keeps nothing */
	struct arena *arena;          /* holds this struct */
	struct lock *lock;            /* of the blocks */
	struct {
		VEC(struct block);
	} blocks;
};

enum {
	UNIT = 512,       /* bytes: sizes are rounded up to it */
	MOST_BLOCKED = 4, /* free blocks of a size that wait for other lanes; with more of them, the host waits */
};

/* The smallest free block that fits and that the lane may have. *blocked: there are too many that it may not. */
static struct block *find(struct allocator *a, size_t bytes, const struct provider_lane *lane, bool *blocked)
{
	struct block *best = NULL;
	const uint64_t done = a->lanes ? provider_lanes_done(a->lanes, lane) : 0;
	int others = 0;
	vec_each (b, &a->blocks) {
		if (!b->free || b->bytes < bytes || b->bytes / 2 > bytes)
			continue;
		if ((!lane || b->lane != lane) && b->freed > done)
			others++;
		else if (!best || b->bytes < best->bytes)
			best = b;
	}
	*blocked = !best && others > MOST_BLOCKED;
	return best;
}

/* Gives free blocks back to the driver. */
static void trim(struct allocator *a)
{
	int n = 0;
	lock_take(a->lock);
	vec_each (b, &a->blocks)
		if (b->free)
			a->gpu->cu->free((uintptr_t)b->at);
		else
			a->blocks.at[n++] = *b;
	a->blocks.n = n;
	lock_give(a->lock);
}

struct taking {
	struct allocator *from;
	size_t bytes;
	const struct provider_lane *lane;
	void *p;     /* the result */
	bool locked; /* memory ran out while it held the lock */
};

static int take_new(void *arg, struct arena *scratch, struct err *e)
{
	struct taking *t = arg;
	struct allocator *a = t->from;
	cu_pointer p = 0;
	(void)scratch;
	TRY(provider_gpu_enter(a->gpu, e));
	int rc = a->gpu->cu->alloc(&p, t->bytes);
	if (rc) {
		trim(a);
		rc = a->gpu->cu->alloc(&p, t->bytes);
	}
	TRY(dev_driver_check(rc, "The GPU has no memory", e));
	lock_take(a->lock);
	t->locked = true;
	vec_push(a->arena, &a->blocks, ((struct block){ (void *)(uintptr_t)p, t->bytes, false, t->lane, 0 }));
	t->locked = false;
	lock_give(a->lock);
	t->p = (void *)(uintptr_t)p;
	return 0;
}

/* Takes a block that is there. *blocked: as in find(). */
static void take_old(struct taking *t, bool *blocked)
{
	struct allocator *a = t->from;
	lock_take(a->lock);
	struct block *b = find(a, t->bytes, t->lane, blocked);
	if (b) {
		b->free = false;
		b->lane = t->lane;
		t->p = b->at;
	}
	lock_give(a->lock);
}

/* Waits for all lanes but the one that asks: runs that nobody waits for must not take more and more memory. */
static int wait_for_others(void *arg, struct arena *scratch, struct err *e)
{
	const struct taking *t = arg;
	struct provider_lane *l = NULL;
	(void)scratch;
	while ((l = provider_lanes_next(t->from->lanes, l)))
		if (l != t->lane && l->stream)
			TRY(provider_lane_wait(l, e));
	return 0;
}

static void *take(struct allocator *a, size_t bytes, const struct provider_lane *lane)
{
	struct taking t = { .from = a,
		            .bytes = bytes > SIZE_MAX - UNIT ? bytes : (bytes + UNIT - 1) / UNIT * UNIT,
		            .lane = lane };
	struct ort_status *s = NULL;
	bool blocked;
	if (!bytes)
		return NULL;
	take_old(&t, &blocked);
	if (blocked && !(s = provider_call(a->host, wait_for_others, &t)))
		take_old(&t, &blocked);
	if (!t.p && !s)
		s = provider_call(a->host, take_new, &t);
	if (t.locked)
		lock_give(a->lock);
	if (s)
		a->host->api->release_status(s); /* ONNX Runtime reports the null */
	return t.p;
}

static void *alloc(struct ort_allocator *x, size_t bytes)
{
	return take((struct allocator *)x, bytes, NULL);
}

static void *alloc_on_stream(struct ort_allocator *x, size_t bytes, struct ort_sync_stream *stream)
{
	struct allocator *a = (struct allocator *)x;
	struct provider_lane *lane;
	provider_stream_of(&lane, a->host, stream);
	return take(a, bytes, lane);
}

/* Takes the block out of the list, or makes it free. Returns true if the driver gets it back. */
static bool give(struct allocator *a, void *p)
{
	vec_each (b, &a->blocks) {
		if (b->at != p)
			continue;
		b->free = true;
		if (a->lanes) {
			b->freed = provider_lanes_now(a->lanes);
			return false;
		}
		*b = a->blocks.at[--a->blocks.n];
		return true;
	}
	return false;
}

static void free_memory(struct ort_allocator *x, void *p)
{
	struct allocator *a = (struct allocator *)x;
	struct err e = { 0 };
	if (!p)
		return;
	lock_take(a->lock);
	bool back = give(a, p);
	lock_give(a->lock);
	if (back && provider_gpu_enter(a->gpu, &e) == 0)
		a->gpu->cu->free((uintptr_t)p);
}

static const struct ort_memory_info *info(const struct ort_allocator *x)
{
	return ((const struct allocator *)x)->gpu->memory;
}

struct making {
	struct allocator *out;
	struct provider_factory *f;
	struct provider_gpu *gpu;
	struct provider_lanes *lanes;
};

static int make(void *arg, struct arena *scratch, struct err *e)
{
	struct making *m = arg;
	struct arena *a = arena_new();
	struct allocator *x = NEW(a, struct allocator);
	(void)scratch, (void)e;
	x->allocator = (struct ort_allocator){ ORT_GRAPHS, alloc, free_memory, info, alloc, NULL, NULL };
	if (m->lanes) {
		x->allocator.alloc_on_stream = alloc_on_stream;
		x->lanes = provider_lanes_use(m->lanes);
	}
	x->host = &m->f->host;
	x->gpu = m->gpu;
	x->arena = a;
	x->lock = lock_new(a);
	m->out = x;
	return 0;
}

struct ort_status *provider_allocator_new(struct ort_allocator **out, struct provider_factory *f, struct provider *p,
                                          const struct ort_memory_info *memory)
{
	struct making m = { .f = f, .gpu = p ? p->gpu : NULL, .lanes = p ? p->lanes : NULL };
	*out = NULL;
	if (!p && memory)
		m.gpu = provider_gpu_at(f, f->host.ep->memory_of_info(memory));
	if (!m.gpu)
		return NULL;
	struct ort_status *s = provider_call(&f->host, make, &m);
	*out = m.out ? &m.out->allocator : NULL;
	return s;
}

void provider_allocator_free(struct ort_allocator *x)
{
	struct allocator *a = (struct allocator *)x;
	struct err e = { 0 };
	if (!a)
		return;
	if (a->blocks.n && provider_gpu_enter(a->gpu, &e) == 0)
		vec_each (b, &a->blocks)
			a->gpu->cu->free((uintptr_t)b->at);
	if (a->lanes)
		provider_lanes_leave(a->lanes);
	lock_free(a->lock);
	arena_free(a->arena);
}
