/* The resources that the host offers a plugin of a context: an IGpuAllocator without memory, no error recorder. */
#include "engine/tensorrt/host_inside.h"

#include <stddef.h>

/* IGpuAllocator, "IGpuAllocator" 1.0 */
struct allocator_table {
	struct trt_versioned v;
	void *(*allocate)(void *self, uint64_t size, uint64_t alignment, uint32_t flags);
	void *(*reallocate)(void *self, void *memory, uint64_t alignment, uint64_t size);
	bool (*deallocate)(void *self, void *memory);
	void *(*allocate_async)(void *self, uint64_t size, uint64_t alignment, uint32_t flags, void *stream);
	bool (*deallocate_async)(void *self, void *memory, void *stream);
};

/* IPluginResourceContext: not versioned */
struct context_table {
	void *(*allocator)(void *self);
	void *(*recorder)(void *self);
	void (*d1)(void *self);
	void (*d0)(void *self);
};

static int32_t language(void *self)
{
	(void)self;
	return 0;
}

static struct trt_info allocator_info(void *self)
{
	(void)self;
	return (struct trt_info){ "IGpuAllocator", 1, 0 };
}

static void nothing(void *self)
{
	(void)self;
}

static void *allocate(void *self, uint64_t size, uint64_t alignment, uint32_t flags)
{
	(void)self, (void)size, (void)alignment, (void)flags;
	return NULL;
}

static void *reallocate(void *self, void *memory, uint64_t alignment, uint64_t size)
{
	(void)self, (void)memory, (void)alignment, (void)size;
	return NULL;
}

static void *allocate_async(void *self, uint64_t size, uint64_t alignment, uint32_t flags, void *stream)
{
	(void)self, (void)size, (void)alignment, (void)flags, (void)stream;
	return NULL;
}

/* Null is all that the allocator has given. */
static bool deallocate(void *self, void *memory)
{
	(void)self;
	return !memory;
}

static bool deallocate_async(void *self, void *memory, void *stream)
{
	(void)self, (void)stream;
	return !memory;
}

static const struct {
	struct trt_table_head head;
	struct allocator_table t;
} allocator_table = { .t = { { language, allocator_info, nothing, nothing },
	                     allocate,
	                     reallocate,
	                     deallocate,
	                     allocate_async,
	                     deallocate_async } };
static struct trt_object allocator = { &allocator_table.t };

static void *get_allocator(void *self)
{
	(void)self;
	return &allocator;
}

static void *get_recorder(void *self)
{
	(void)self;
	return NULL;
}

static const struct {
	struct trt_table_head head;
	struct context_table t;
} context_table = { .t = { get_allocator, get_recorder, nothing, nothing } };
static struct trt_object context = { &context_table.t };

void *host_resource_context(void)
{
	return &context;
}
