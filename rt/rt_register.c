/* SPDX-License-Identifier: Apache-2.0 */
/* rt_register.c: the doors of the library. A TensorRT that loads it (loadLibrary) calls setLoggerFinder and
 * getCreators; when a program merely opens it, it registers itself with every TensorRT in the process. Both at once
 * would collide
 * ("exists already"), so the first getCreators takes the own registration back; later calls (TensorRT makes one when it
 * unloads the library) change nothing. Source: TensorRT-RTX 1.7.1 and TensorRT lean 11.4, observed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr, dl_iterate_phdr */
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "rt.h"

enum { MAX_TENSORRT = 8 };

struct registry {
	void *object;
	int form; /* 10 or 11, see trt_form */
};

static struct {
	struct rt_creator *creator;
	void **list; /* what getCreators returns */
	int32_t creators;
	struct registry registry[MAX_TENSORRT];
	int registries;
	pthread_mutex_t lock;
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* TensorRT libraries in this process, whatever opened them. */
struct paths {
	char path[MAX_TENSORRT][512];
	int n;
};

static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const names[] = { "libnvinfer.so", "libnvinfer_lean.so", "libnvinfer_dispatch.so",
		                             "libtensorrt_rtx.so" };
	struct paths *paths = arg;
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	for (size_t i = 0; base && i < sizeof names / sizeof *names; i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0 && paths->n < MAX_TENSORRT &&
		    strlen(info->dlpi_name) < sizeof paths->path[0])
			strcpy(paths->path[paths->n++], info->dlpi_name);
	return 0;
}

static int32_t version_in(void *handle)
{
	int32_t (*version)(void) = NULL;

	*(void **)&version = dlsym(handle, "getInferLibVersion");
	return version ? version() : 0;
}

int32_t rt_tensorrt_version(const void *object)
{
	Dl_info info;
	int32_t version = 0;

	/* The library that holds the object's table of functions, then what any symbol search sees. */
	if (object && dladdr(*(void *const *)object, &info) && info.dli_fname) {
		void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (handle) {
			version = version_in(handle);
			dlclose(handle);
		}
	}
	return version ? version : version_in(RTLD_DEFAULT);
}

static bool registry_call(const struct registry *r, struct rt_creator *c, bool add)
{
	if (r->form == 11)
		return add ? TRT_CALL(r->object, trt_registry_11, add, c, c->table->name_space)
		           : TRT_CALL(r->object, trt_registry_11, remove, c);
	return add ? TRT_CALL(r->object, trt_registry_10, add, c, c->table->name_space)
	           : TRT_CALL(r->object, trt_registry_10, remove, c);
}

static void register_with(void *handle)
{
	void *(*get)(void) = NULL;

	*(void **)&get = dlsym(handle, "getPluginRegistry");
	struct registry r = { get ? get() : NULL, trt_form(version_in(handle)) };
	if (!r.object || !r.form || library.registries == MAX_TENSORRT)
		return;
	for (int i = 0; i < library.registries; i++)
		if (library.registry[i].object == r.object)
			return;
	for (int32_t i = 0; i < library.creators; i++)
		registry_call(&r, &library.creator[i], true); /* false: it is there already, from another library */
	library.registry[library.registries++] = r;
}

static void deregister(void)
{
	for (int i = 0; i < library.registries; i++)
		for (int32_t c = 0; c < library.creators; c++)
			registry_call(&library.registry[i], &library.creator[c], false);
	library.registries = 0;
}

/* At dlclose and at exit. Registered with atexit after TensorRT's registry was made, so it runs before that is gone. */
static void leave(void)
{
	deregister();
	rt_device_forget();
	free(library.creator);
	free(library.list);
	library.creator = NULL;
	library.list = NULL;
	library.creators = 0;
}

__attribute__((constructor)) static void enter(void)
{
	struct paths paths = { .n = 0 };

	if (tpat_library.version != TPAT_RT_VERSION || tpat_library.plugins <= 0)
		return;
	library.creator = calloc((size_t)tpat_library.plugins, sizeof *library.creator);
	library.list = calloc((size_t)tpat_library.plugins, sizeof *library.list);
	if (library.creator && library.list)
		library.creators = tpat_library.plugins;
	for (int32_t i = 0; i < library.creators; i++) {
		rt_creator_init(&library.creator[i], &tpat_library.plugin[i]);
		library.list[i] = &library.creator[i].creator;
	}
	register_with(RTLD_DEFAULT);
	dl_iterate_phdr(collect, &paths);
	for (int i = 0; i < paths.n; i++) {
		/* Kept open: TensorRT must outlive the registration. */
		void *handle = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD);
		if (handle)
			register_with(handle);
	}
	atexit(leave);
}

void *const *getCreators(int32_t *count)
{
	pthread_mutex_lock(&library.lock);
	deregister();
	pthread_mutex_unlock(&library.lock);
	if (library.creators == 0)
		rt_log(NULL, TRT_LOG_ERROR,
		       "getCreators: the library has no plugins for this runtime (version %u, runtime %d)",
		       (unsigned)tpat_library.version, TPAT_RT_VERSION);
	if (count)
		*count = library.creators;
	return library.list;
}

/* TensorRT 8.6 to 9.x asks here for creators of IPluginV2. The library has V3 plugins only: none. */
void *const *getPluginCreators(int32_t *count)
{
	static void *const none[1];

	if (count)
		*count = 0;
	return none;
}

void setLoggerFinder(void *finder)
{
	rt_finder = finder;
}
