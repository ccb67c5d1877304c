/* Memory with guard zones for enqueue: of the first GPU, or of the process. See host_check.h. */
#include <string.h>

#include "dev/cuda_driver.h"
#include "engine/tensorrt/host_check.h"

bool check_memory_worked(struct check_memory *m, int rc, const char *what)
{
	struct err e = { 0 };
	if (rc == 0)
		return true;
	dev_driver_check(rc, what, &e);
	memcpy(m->why, e.text, sizeof m->why - 1);
	return false;
}

bool check_memory_open(struct check_memory *m, bool host_memory, struct arena *a)
{
	struct err e = { 0 };
	cu_context context;
	int n = 0, device;
	*m = (struct check_memory){ .guard = CHECK_GUARD_BYTE, .arena = a };
	if (host_memory)
		return true;
	if (dev_driver_open(&m->cuda, &e) < 0 || m->cuda->device_count(&n) != 0 || n < 1 ||
	    m->cuda->device_get(&device, 0) != 0 || m->cuda->context_retain(&context, device) != 0)
		return false;
	m->context = context;
	return check_memory_enter(m);
}

bool check_memory_enter(struct check_memory *m)
{
	return !m->cuda ||
	       check_memory_worked(m, m->cuda->context_set(m->context), "The context cannot be made current");
}

bool check_stream_new(struct check_memory *m, void **stream)
{
	*stream = NULL;
	return !m->cuda || check_memory_worked(m, m->cuda->stream_new((cu_stream *)stream, CU_STREAM_NON_BLOCKING),
	                                       "A stream cannot be made");
}

bool check_stream_wait(struct check_memory *m, void *stream)
{
	return !m->cuda || check_memory_worked(m, m->cuda->stream_wait(stream), "The work on the stream fails");
}

bool check_block_new(struct check_memory *m, struct check_block *b, size_t bytes)
{
	size_t all = bytes + 2 * CHECK_GUARD;
	cu_pointer p = 0;
	*b = (struct check_block){ .shadow = arena_alloc(m->arena, all), .bytes = bytes };
	if (!m->cuda) {
		uintptr_t at = (uintptr_t)arena_alloc(m->arena, all + CHECK_GUARD);
		b->raw = (char *)((at + CHECK_GUARD - 1) / CHECK_GUARD * CHECK_GUARD);
		return true;
	}
	if (!check_memory_worked(m, m->cuda->alloc(&p, all), "Memory cannot be allocated"))
		return false;
	b->raw = (char *)(uintptr_t)p;
	return true;
}

void *check_block_at(const struct check_block *b)
{
	return b->raw + CHECK_GUARD;
}

static bool put(struct check_memory *m, struct check_block *b, void *stream)
{
	size_t all = b->bytes + 2 * CHECK_GUARD;
	memset(b->shadow, m->guard, CHECK_GUARD);
	memset(b->shadow + CHECK_GUARD + b->bytes, m->guard, CHECK_GUARD);
	if (m->cuda)
		return check_memory_worked(m, m->cuda->copy_in((cu_pointer)(uintptr_t)b->raw, b->shadow, all, stream),
		                           "Memory cannot be written");
	memcpy(b->raw, b->shadow, all);
	return true;
}

bool check_block_write(struct check_memory *m, struct check_block *b, const void *data, void *stream)
{
	memcpy(b->shadow + CHECK_GUARD, data, b->bytes);
	return put(m, b, stream);
}

bool check_block_fill(struct check_memory *m, struct check_block *b, int byte, void *stream)
{
	memset(b->shadow + CHECK_GUARD, byte, b->bytes);
	return put(m, b, stream);
}

bool check_block_read(struct check_memory *m, const struct check_block *b, char *to, void *stream)
{
	size_t all = b->bytes + 2 * CHECK_GUARD;
	if (!m->cuda) {
		memcpy(to, b->raw, all);
		return true;
	}
	return check_memory_worked(m, m->cuda->copy_out(to, (cu_pointer)(uintptr_t)b->raw, all, stream),
	                           "Memory cannot be read") &&
	       check_stream_wait(m, stream);
}
