/* SPDX-License-Identifier: Apache-2.0 */
/* rt_register.c: the library's entry points. A TensorRT that loads it (loadLibrary) calls setLoggerFinder and
 * getCreators; if a program just opens it, it registers itself with every TensorRT in the process. Both would collide
 * ("exists already"), so the first getCreators undoes the library's own registration; later calls (TensorRT makes one
 * when it unloads the library) change nothing. Source: TensorRT-RTX 1.7.1 and TensorRT lean 11.4, observed. Only
 * accepted creators are deregistered: the registry looks them up by name, which may be another library's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr, dl_iterate_phdr */
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_tensorrt.h"

enum { MAX_TENSORRT = 8 };

struct registry {
	void *object;
	int form;   /* 8, 10 or 11, see trt_form */
	bool *took; /* for each creator: registered here */
};

static struct {
	struct rt_creator *creator;
	void **list, **old_list; /* what getCreators and getPluginCreators return */
	int32_t creators;
	struct registry registry[MAX_TENSORRT];
	int registries;
	bool *took;      /* for all registries */
	int32_t version; /* of a TensorRT where creators were registered */
	bool asked;      /* TensorRT called getCreators or getPluginCreators */
	pthread_mutex_t lock;
} library = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Calls f at dlclose and at exit: what atexit() does, except that a sanitizer's atexit() knows no library, and calls f
 * when its code is gone. */
static void at_exit(void (*f)(void *))
{
	extern void *__dso_handle __attribute__((visibility("hidden")));
	extern int __cxa_atexit(void (*)(void *), void *, void *);

	__cxa_atexit(f, NULL, &__dso_handle);
}

/* TensorRT libraries in this process, however they were opened. */
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

	/* Try the library that holds the object's function table, then a global symbol search. */
	if (object && dladdr(*(void *const *)object, &info) && info.dli_fname) {
		void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (handle) {
			version = version_in(handle);
			dlclose(handle);
		}
	}
	return version ? version : version_in(RTLD_DEFAULT);
}

int32_t rt_version(void)
{
	int32_t version = rt_tensorrt_version(rt_finder);
	return version ? version : library.version;
}

static bool registry_call(const struct registry *r, struct rt_creator *c, bool add)
{
	if (r->form == 8)
		return add ? TRT_CALL(r->object, trt_registry_8, add, &c->old, c->table->name_space)
		           : TRT_CALL(r->object, trt_registry_8, remove, &c->old);
	if (r->form == 11)
		return add ? TRT_CALL(r->object, trt_registry_11, add, c, c->table->name_space)
		           : TRT_CALL(r->object, trt_registry_11, remove, c);
	return add ? TRT_CALL(r->object, trt_registry_10, add, c, c->table->name_space)
	           : TRT_CALL(r->object, trt_registry_10, remove, c);
}

static void add_creators(struct registry *r)
{
	int32_t refused = 0, first = 0;

	for (int32_t i = 0; i < library.creators; i++) {
		r->took[i] = registry_call(r, &library.creator[i], true);
		if (!r->took[i] && !refused++)
			first = i;
	}
	if (refused)
		rt_log(NULL, TRT_LOG_WARNING,
		       "TensorRT did not register %d of %d plugins, %s among them: it has plugins of these names "
		       "already, from another library, and uses those",
		       (int)refused, (int)library.creators, library.creator[first].table->name);
}

/* Warns about TensorRT 5 to 8.4, which have a registry, too. */
static void too_old(int32_t version)
{
	rt_log(NULL, TRT_LOG_WARNING,
	       "TensorRT %d.%d is too old for the library's plugins; they need TensorRT 8.5 or later",
	       (int)version / 1000, (int)version / 100 % 10);
}

static bool is_too_old(int32_t version)
{
	return version >= 5000 && version < 10000 && !trt_form(version);
}

static void register_with(void *handle)
{
	void *(*get)(void) = NULL;
	int32_t version = version_in(handle);

	*(void **)&get = dlsym(handle, "getPluginRegistry");
	struct registry r = { .object = get ? get() : NULL, .form = trt_form(version) };
	if (!r.object || library.registries == MAX_TENSORRT)
		return;
	for (int i = 0; i < library.registries; i++)
		if (library.registry[i].object == r.object)
			return;
	if (is_too_old(version))
		too_old(version);
	if (!r.form)
		return;
	r.took = library.took + (size_t)library.registries * (size_t)library.creators;
	library.version = version;
	library.registry[library.registries++] = r;
	add_creators(&r);
}

static void register_with_all(void)
{
	struct paths paths = { .n = 0 };

	register_with(RTLD_DEFAULT);
	dl_iterate_phdr(collect, &paths);
	for (int i = 0; i < paths.n; i++) {
		/* Kept open: TensorRT must outlive the registration. */
		void *handle = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD);
		if (handle)
			register_with(handle);
	}
}

static void deregister(void)
{
	for (int i = 0; i < library.registries; i++)
		for (int32_t c = 0; c < library.creators; c++)
			if (library.registry[i].took[c])
				registry_call(&library.registry[i], &library.creator[c], false);
	library.registries = 0;
}

/* True if this process has a TensorRT that supports the plugins. */
static bool is_here(void)
{
	struct paths paths = { .n = 0 };
	bool here = trt_form(version_in(RTLD_DEFAULT)) && dlsym(RTLD_DEFAULT, "getPluginRegistry");

	dl_iterate_phdr(collect, &paths);
	for (int i = 0; i < paths.n && !here; i++) {
		void *handle = dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD);
		here = handle && trt_form(version_in(handle));
		if (handle)
			dlclose(handle);
	}
	return here;
}

/* Nothing calls a library that was opened before TensorRT: it can only warn. */
static void tell_unregistered(void)
{
	if (library.creators == 0 || library.version || library.asked || !is_here())
		return;
	/* TensorRT's logger may be gone. */
	fprintf(stderr,
	        "tpat library %s: its plugins were never registered, since the library was opened before TensorRT. "
	        "Open it after TensorRT, load it with the plugin registry's loadLibrary, or call tpat_rt_register()\n",
	        tpat_library.model ? tpat_library.model : "?");
}

static void deregister_at_exit(void *unused)
{
	(void)unused;
	deregister();
}

/* At dlclose and at exit: before TensorRT's registry is gone, since it is registered after that was made. */
static void leave(void *unused)
{
	(void)unused;
	tell_unregistered();
	deregister();
	rt_device_forget();
	free(library.creator);
	free(library.list);
	free(library.old_list);
	free(library.took);
	library.creator = NULL;
	library.list = library.old_list = NULL;
	library.took = NULL;
	library.creators = 0;
}

static void add_creator(const struct tpat_rt_plugin *p)
{
	int32_t n = library.creators;

	if (p->of) /* another plugin's, in other formats */
		return;
	rt_creator_init(&library.creator[n], p);
	library.list[n] = &library.creator[n].creator;
	library.old_list[n] = &library.creator[n].old;
	library.creators++;
}

__attribute__((constructor)) static void enter(void)
{
	char why[RT_WHY];

	if (rt_check_library(&tpat_library, why))
		return; /* getCreators() logs the reason */
	library.creator = calloc((size_t)tpat_library.plugins, sizeof *library.creator);
	library.list = calloc((size_t)tpat_library.plugins, sizeof *library.list);
	library.old_list = calloc((size_t)tpat_library.plugins, sizeof *library.old_list);
	library.took = calloc((size_t)tpat_library.plugins * MAX_TENSORRT, sizeof *library.took);
	if (library.creator && library.list && library.old_list && library.took)
		for (int32_t i = 0; i < tpat_library.plugins; i++)
			add_creator(&tpat_library.plugin[i]);
	register_with_all();
	at_exit(leave);
}

int32_t tpat_rt_register(void)
{
	pthread_mutex_lock(&library.lock);
	int before = library.registries;
	if (!library.asked) /* else TensorRT registered them itself */
		register_with_all();
	int n = library.registries;
	if (n > before)
		at_exit(deregister_at_exit); /* handlers run in reverse order: before this TensorRT destroys its
		                                registry */
	pthread_mutex_unlock(&library.lock);
	return n;
}

static void *const *give_creators(void **list, const char *function, int32_t *count)
{
	char why[RT_WHY];

	pthread_mutex_lock(&library.lock);
	library.asked = true;
	deregister();
	pthread_mutex_unlock(&library.lock);
	if (library.creators == 0)
		rt_log(NULL, TRT_LOG_ERROR, "%s: %s", function,
		       rt_check_library(&tpat_library, why) ? why : "out of memory");
	if (count)
		*count = library.creators;
	return list;
}

void *const *getCreators(int32_t *count)
{
	return give_creators(library.list, "getCreators", count);
}

/* TensorRT 8.6 to 9.x asks here for creators of IPluginV2; 10.0 may ask, too, but reads them in another layout: it gets
 * none. */
void *const *getPluginCreators(int32_t *count)
{
	static void *const none[1];
	int32_t version = rt_version();

	if (trt_form(version) == 8 || (!version && rt_device_is_hosted()))
		return give_creators(library.old_list, "getPluginCreators", count);
	if (is_too_old(version))
		too_old(version);
	if (count)
		*count = 0;
	return none;
}

void setLoggerFinder(void *finder)
{
	rt_finder = finder;
}
