/* Shared by all parts of rt_test.c: the fake TensorRT process, the open library, small constructors. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "host/trt_host.h"
#include "unit/test.h"

#define SHOWN __attribute__((visibility("default"), used))

/* Symbols of a process that contains TensorRT. */
static int32_t fake_version;
static struct trt_host_registry *fake_registry;
SHOWN int32_t getInferLibVersion(void);
SHOWN void *getPluginRegistry(void);

int32_t getInferLibVersion(void)
{
	return fake_version;
}

void *getPluginRegistry(void)
{
	return fake_registry;
}

/* Counts allocations of this thread, including the library's. Not under AddressSanitizer, which has its own malloc. */
#if defined(__SANITIZE_ADDRESS__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS 1
#endif
static _Thread_local long allocations, fail_at; /* fail_at: the n-th allocation from now on fails */
#if COUNTS_ALLOCATIONS
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
static bool refuse(void)
{
	allocations++;
	return fail_at > 0 && --fail_at == 0;
}
SHOWN void *malloc(size_t size)
{
	return refuse() ? NULL : __libc_malloc(size);
}
SHOWN void *calloc(size_t n, size_t size)
{
	return refuse() ? NULL : __libc_calloc(n, size);
}
SHOWN void *realloc(void *p, size_t size)
{
	return refuse() ? NULL : __libc_realloc(p, size);
}
#endif

/* The test opens two copies of a library on purpose. */
SHOWN const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_odr_violation=0";
}

static const char *library_path;
static struct arena *arena;
static struct err err;
static struct trt_host_device device;
static struct trt_host_memory memory;
static uint32_t seed = 1;

static int random_in(int low, int high)
{
	seed = seed * 1664525u + 1013904223u;
	return low + (int)((seed >> 8) % (uint32_t)(high - low + 1));
}

static bool log_has(struct host *h, const char *text)
{
	bool has = strstr(host_log(h), text) != NULL;

	if (!has)
		printf("  the log says: %s", host_log(h));
	return has;
}

static bool err_has(const char *text)
{
	bool has = strstr(err.text, text) != NULL;

	if (!has)
		printf("  the error says: %s\n", err.text);
	err_clear(&err);
	return has;
}

static struct host_tensor tensor(int32_t type, int32_t rank, int64_t d0, int64_t d1)
{
	return (struct host_tensor){ .type = type, .rank = rank, .dim = { d0, d1 } };
}

/* Opens the library for the CPU device, as a TensorRT of that version. */
static struct host *open_as(int32_t version, bool pass_shape_inputs)
{
	struct tpat_rt_device d = trt_host_device(&device);
	struct host_options o = { .version = version, .pass_shape_inputs = pass_shape_inputs, .device = &d };
	struct host *h = NULL;

	fake_version = version;
	device = (struct trt_host_device){ 0 };
	if (host_open(&h, library_path, &o, arena, &err) < 0) {
		printf("cannot open the library: %s\n", err.text);
		exit(2);
	}
	device.library = dlopen(library_path, RTLD_NOW | RTLD_NOLOAD);
	dlclose(device.library); /* the host keeps it open */
	return h;
}

/* Closes everything and checks that nothing is left: no block, module, constant or damaged guard zone. */
static void close_all(struct host *h)
{
	host_close(h);
	CHECK_INT(device.unloads, device.loads);
	CHECK_INT(device.releases, device.uploads);
	CHECK_INT(memory.blocks, 0);
	CHECK_INT(memory.damaged, 0);
}

static struct host_engine *build(struct host *h, const char *name, const struct host_tensor *min,
                                 const struct host_tensor *max, int n)
{
	struct host_engine *x = NULL;

	host_build(&x, h, name, "1", "tpat", min, max, max, n, arena, &err);
	return x;
}

static void free_outputs(struct host_tensor *out, int n)
{
	for (int i = 0; i < n; i++)
		trt_host_free(&memory, out[i].pointer);
}

/* Methods called one by one, with arguments that a host never sends. */
struct raw {
	void *plugin, *build, *runtime;
};

static struct raw raw_new(struct host *h, const char *name)
{
	void *creator = host_creator(h, name, NULL, NULL);
	struct raw r = { .plugin = TRT_CALL(creator, trt_creator, create, NULL, NULL, TRT_PHASE_BUILD) };

	r.build = TRT_CALL(r.plugin, trt_plugin, capability, TRT_BUILD);
	r.runtime = TRT_CALL(r.plugin, trt_plugin, capability, TRT_RUNTIME);
	return r;
}

static struct trt_dynamic_desc desc(int32_t type, int32_t format, int32_t rank, int64_t d0, int64_t d1)
{
	struct trt_dynamic_desc d = { .desc = { { rank, { d0, d1 } }, type, format, -1 } };

	d.min = d.opt = d.max = d.desc.dims;
	return d;
}
