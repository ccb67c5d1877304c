/* The CPU device, the guarded memory and the registry of the tests' host. */
#include "host/trt_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device. */

static bool must_fail(const struct trt_host_device *d, const char *what, char why[256])
{
	if (!d->fail || strcmp(d->fail, what) != 0)
		return false;
	snprintf(why, 256, "the test lets %s fail", what);
	return true;
}

static int device_load(void *user, const struct tpat_rt_plugin *plugin, void **module, char why[256])
{
	struct trt_host_device *d = user;

	if (must_fail(d, "load", why))
		return -1;
	for (int32_t t = 0; t < plugin->tactics; t++)
		for (int32_t s = 0; s < plugin->tactic[t].steps; s++)
			for (int32_t k = 0; k < plugin->tactic[t].step[s].kernels; k++)
				if (!dlsym(d->library, plugin->tactic[t].step[s].kernel[k].name)) {
					snprintf(why, 256, "there is no kernel %s",
					         plugin->tactic[t].step[s].kernel[k].name);
					return -1;
				}
	__atomic_fetch_add(&d->loads, 1, __ATOMIC_RELAXED);
	*module = d->library;
	return 0;
}

static int device_upload(void *user, const void *data, size_t bytes, void **pointer, char why[256])
{
	struct trt_host_device *d = user;

	if (must_fail(d, "upload", why))
		return -1;
	d->uploads++;
	*pointer = malloc(bytes);
	memcpy(*pointer, data, bytes);
	return 0;
}

static int device_launch(void *user, void *module, const struct tpat_rt_plugin *plugin,
                         const struct tpat_rt_kernel *kernel, const uint32_t grid[3], void **args, void *stream,
                         char why[256])
{
	struct trt_host_device *d = user;
	void (*f)(const uint32_t *, const int32_t *, void **);

	(void)plugin, (void)stream;
	if (must_fail(d, "launch", why))
		return -1;
	*(void **)&f = dlsym(module, kernel->name);
	f(grid, kernel->block, args);
	__atomic_fetch_add(&d->launches, 1, __ATOMIC_RELAXED);
	return 0;
}

/* A tensor map is a copy of its parameters, except those of walks. */
static int device_map(void *user, const struct tpat_rt_map_values *values, void *out, char why[256])
{
	struct trt_host_device *d = user;

	const size_t bytes = offsetof(struct tpat_rt_map_values, pixels);
	_Static_assert(offsetof(struct tpat_rt_map_values, pixels) <= TPAT_RT_MAP_BYTES,
	               "a map has room for its values");
	if (must_fail(d, "map", why))
		return -1;
	d->maps++;
	memcpy(out, values, bytes);
	return 0;
}

static int device_copy(void *user, void *to, const void *from, size_t bytes, void *stream, char why[256])
{
	struct trt_host_device *d = user;

	(void)stream;
	if (must_fail(d, "copy", why))
		return -1;
	memcpy(to, from, bytes);
	return 0;
}

static int device_current(void *user, char why[256])
{
	const struct trt_host_device *d = user;

	if (d->current < 0)
		snprintf(why, 256, "the test has no device");
	return d->current;
}

static void device_unload(void *user, int device, void *module)
{
	(void)device, (void)module;
	((struct trt_host_device *)user)->unloads++;
}

static void device_release(void *user, int device, void *pointer)
{
	(void)device;
	((struct trt_host_device *)user)->releases++;
	free(pointer);
}

struct tpat_rt_device trt_host_device(struct trt_host_device *d)
{
	return (struct tpat_rt_device){
		.version = TPAT_RT_VERSION,
		.user = d,
		.load = device_load,
		.upload = device_upload,
		.launch = device_launch,
		.current = device_current,
		.unload = device_unload,
		.release = device_release,
		.map = device_map,
		.copy = device_copy,
	};
}

/* The memory: {bytes, guard, block, guard}. */

enum { GUARD = 256, FILL = 0xa5, GUARD_BYTE = 0xc7 };

void *trt_host_alloc(struct trt_host_memory *m, size_t bytes)
{
	unsigned char *raw = aligned_alloc(256, (2 * GUARD + GUARD + bytes + 255) / 256 * 256);

	memcpy(raw, &bytes, sizeof bytes);
	memset(raw + GUARD, GUARD_BYTE, GUARD);
	memset(raw + 2 * GUARD, FILL, bytes);
	memset(raw + 2 * GUARD + bytes, GUARD_BYTE, GUARD);
	m->blocks++;
	return raw + 2 * GUARD;
}

void trt_host_free(struct trt_host_memory *m, void *pointer)
{
	unsigned char *block = pointer;
	size_t bytes;
	bool damaged = false;

	memcpy(&bytes, block - 2 * GUARD, sizeof bytes);
	for (int i = 0; i < GUARD; i++)
		damaged = damaged || block[i - GUARD] != GUARD_BYTE || block[bytes + (size_t)i] != GUARD_BYTE;
	m->damaged += damaged;
	m->blocks--;
	free(block - 2 * GUARD);
}

static int memory_alloc(void *user, const char *name, size_t bytes, void **pointer, struct err *e)
{
	(void)name, (void)e;
	*pointer = trt_host_alloc(user, bytes);
	return 0;
}

static void memory_free(void *user, void *pointer)
{
	trt_host_free(user, pointer);
}

static int memory_wait(void *user, void *stream, struct err *e)
{
	(void)user, (void)stream, (void)e;
	return 0; /* launches on the CPU are synchronous */
}

static int memory_read(void *user, void *to, const void *from, size_t bytes, struct err *e)
{
	(void)user, (void)e;
	memcpy(to, from, bytes);
	return 0;
}

struct host_memory trt_host_memory(struct trt_host_memory *m)
{
	return (struct host_memory){ m, memory_alloc, memory_free, memory_wait, memory_read, NULL, NULL };
}

/* The registry. */

/* A registry's key of a creator. */
struct key {
	const char *name, *version, *name_space;
};

static struct key key_of(const struct trt_host_registry *r, const void *creator)
{
	if (r->form == 8)
		return (struct key){ TRT_CALL(creator, trt_creator_8, name), TRT_CALL(creator, trt_creator_8, version),
			             TRT_CALL(creator, trt_creator_8, name_space) };
	return (struct key){ TRT_CALL(creator, trt_creator, name), TRT_CALL(creator, trt_creator, version),
		             TRT_CALL(creator, trt_creator, name_space) };
}

static int find(const struct trt_host_registry *r, const char *name, const char *version, const char *name_space)
{
	for (int i = 0; i < r->creators; i++) {
		struct key k = key_of(r, r->creator[i]);
		if (strcmp(k.name, name) == 0 && strcmp(k.version, version) == 0 &&
		    strcmp(k.name_space, name_space) == 0)
			return i;
	}
	return -1;
}

static int find_like(const struct trt_host_registry *r, const void *creator)
{
	struct key k = key_of(r, creator);
	return find(r, k.name, k.version, k.name_space);
}

void *trt_host_find(const struct trt_host_registry *r, const char *name, const char *version, const char *name_space)
{
	int i = find(r, name, version, name_space);
	return i < 0 ? NULL : r->creator[i];
}

static bool registry_add(void *self, void *creator, const char *name_space)
{
	struct trt_host_registry *r = self;

	r->adds++;
	if (r->creators == r->most || find_like(r, creator) >= 0) {
		r->refused++;
		return false;
	}
	r->creator[r->creators] = creator;
	r->name_space[r->creators++] = name_space;
	return true;
}

static bool registry_remove(void *self, const void *creator)
{
	struct trt_host_registry *r = self;
	int i = find_like(r, creator);

	r->removes++;
	if (i < 0 || r->creator[i] != creator) {
		r->refused++;
		return false;
	}
	r->creator[i] = r->creator[--r->creators];
	r->name_space[i] = r->name_space[r->creators];
	return true;
}

/* No other slot is ever called. */
static const struct {
	struct trt_table_head head;
	struct trt_registry_8 t;
} registry_8 = { .t = { .add = registry_add, .remove = registry_remove } };
static const struct {
	struct trt_table_head head;
	struct trt_registry_10 t;
} registry_10 = { .t = { .add = registry_add, .remove = registry_remove } };
static const struct {
	struct trt_table_head head;
	struct trt_registry_11 t;
} registry_11 = { .t = { .add = registry_add, .remove = registry_remove } };

void trt_host_registry_init(struct trt_host_registry *r, int32_t version)
{
	*r = (struct trt_host_registry){ .form = trt_form(version), .most = TRT_HOST_CREATORS };
	r->vptr = r->form == 11  ? (const void *)&registry_11.t
	          : r->form == 8 ? (const void *)&registry_8.t
	                         : &registry_10.t;
}
