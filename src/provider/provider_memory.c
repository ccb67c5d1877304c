/* Memory of a GPU for ONNX Runtime. See provider.h.
 *
 * A session's allocator keeps freed memory: the session has one stream, so what is launched later may use it at once.
 * One for all sessions gives it back to the driver, which waits for the kernels that use it. */
#include "provider/provider.h"

struct block {
	void *at;
	size_t bytes;
	bool free;
};

struct allocator {
	struct ort_allocator allocator; /* first: ONNX Runtime passes its address */
	const struct provider_host *host;
	struct provider_gpu *gpu;
	bool keeps;
	struct arena *arena; /* holds this struct */
	struct lock *lock;   /* of the blocks */
	struct {
		VEC(struct block);
	} blocks;
};

enum { UNIT = 512 }; /* bytes: sizes are rounded up to it */

static struct block *find(struct allocator *a, size_t bytes)
{
	struct block *best = NULL;
	vec_each (b, &a->blocks)
		if (b->free && b->bytes >= bytes && b->bytes / 2 <= bytes && (!best || b->bytes < best->bytes))
			best = b;
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
	vec_push(a->arena, &a->blocks, ((struct block){ (void *)(uintptr_t)p, t->bytes, false }));
	t->locked = false;
	lock_give(a->lock);
	t->p = (void *)(uintptr_t)p;
	return 0;
}

static void *alloc(struct ort_allocator *x, size_t bytes)
{
	struct allocator *a = (struct allocator *)x;
	struct taking t = { .from = a, .bytes = bytes > SIZE_MAX - UNIT ? bytes : (bytes + UNIT - 1) / UNIT * UNIT };
	if (!bytes)
		return NULL;
	lock_take(a->lock);
	struct block *b = find(a, t.bytes);
	if (b) {
		b->free = false;
		t.p = b->at;
	}
	lock_give(a->lock);
	if (t.p)
		return t.p;
	struct ort_status *s = provider_call(a->host, take_new, &t);
	if (t.locked)
		lock_give(a->lock);
	if (s)
		a->host->api->release_status(s); /* ONNX Runtime reports the null */
	return t.p;
}

/* Takes the block out of the list, or makes it free. Returns true if the driver gets it back. */
static bool give(struct allocator *a, void *p)
{
	vec_each (b, &a->blocks) {
		if (b->at != p)
			continue;
		b->free = true;
		if (a->keeps)
			return false;
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
	bool keeps;
};

static int make(void *arg, struct arena *scratch, struct err *e)
{
	struct making *m = arg;
	struct arena *a = arena_new();
	struct allocator *x = NEW(a, struct allocator);
	(void)scratch, (void)e;
	x->allocator = (struct ort_allocator){ ORT_GRAPHS, alloc, free_memory, info, alloc, NULL, NULL };
	x->host = &m->f->host;
	x->gpu = m->gpu;
	x->keeps = m->keeps;
	x->arena = a;
	x->lock = lock_new(a);
	m->out = x;
	return 0;
}

struct ort_status *provider_allocator_new(struct ort_allocator **out, struct provider_factory *f, struct provider *p,
                                          const struct ort_memory_info *memory)
{
	struct making m = { .f = f, .gpu = p ? p->gpu : NULL, .keeps = p != NULL };
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
	lock_free(a->lock);
	arena_free(a->arena);
}
