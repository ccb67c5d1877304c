/* The library side of the host: opens a library like TensorRT's registry, gives it a logger, finds creators. */
#include "engine/tensorrt/host_inside.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "base/file.h"
#include "base/machine.h"

static void log_line(struct host *h, const char *line)
{
	pthread_mutex_lock(&h->lock);
	str_printf(&h->log, "%s\n", line);
	pthread_mutex_unlock(&h->lock);
}

static void logger_log(void *self, int32_t severity, const char *message)
{
	(void)severity;
	log_line(((struct host_object *)self)->host, message);
}

static void device_log(void *user, int severity, const char *line)
{
	(void)severity;
	log_line(user, line);
}

static void *finder_find(void *self)
{
	return &((struct host_object *)self)->host->logger;
}

static void nothing(void *self)
{
	(void)self;
}

static int32_t language(void *self)
{
	(void)self;
	return 0;
}

static struct trt_info logger_info(void *self)
{
	(void)self;
	return (struct trt_info){ "ILogger", 1, 0 };
}

static struct trt_info finder_info(void *self)
{
	(void)self;
	return (struct trt_info){ "ILoggerFinder", 1, 0 };
}

static const struct {
	struct trt_table_head head;
	struct trt_logger_10 t;
} logger_10 = { .t = { logger_log, nothing, nothing } };
static const struct {
	struct trt_table_head head;
	struct trt_logger_11 t;
} logger_11 = { .t = { { language, logger_info, nothing, nothing }, logger_log } };
static const struct {
	struct trt_table_head head;
	struct trt_finder_10 t;
} finder_10 = { .t = { finder_find, nothing, nothing } };
static const struct {
	struct trt_table_head head;
	struct trt_finder_11 t;
} finder_11 = { .t = { { language, finder_info, nothing, nothing }, finder_find } };

const char *host_log(struct host *h)
{
	return str_text(&h->log);
}

void host_log_clear(struct host *h)
{
	h->log.n = 0;
	if (h->log.at)
		h->log.at[0] = 0;
}

/* The library. */

const struct tpat_rt_library *host_library(const struct host *h)
{
	return host_symbol(h, "tpat_library");
}

void *host_symbol(const struct host *h, const char *name)
{
	return dlsym(h->handle, name);
}

static int lacks(const struct host *h, const char *name, struct err *e)
{
	return err_set(e, ERR_MODEL, "%s is not a TensorRT plugin library: it has no %s.", h->path, name);
}

/* As dlopen() and a static constructor do, without loadLibrary(). */
static bool registers_itself(struct host *h)
{
	h->creators = host_registered(&h->creator);
	return h->creators > 0;
}

static int open_library(struct host *h, const struct host_options *o, struct arena *a, struct err *e)
{
	void (*set_finder)(void *) = NULL;
	void (*set_device)(const struct tpat_rt_device *) = NULL;
	struct tpat_rt_device device = { .version = TPAT_RT_VERSION };
	const char *why = "";

	TRY(file_check(h->path, e));
	TRY(machine_check(h->path, e));
	h->handle = o->linked ? host_open_linked(&why, h, o->version, a) : dlopen(h->path, RTLD_NOW | RTLD_LOCAL);
	if (!h->handle && o->linked)
		return err_set(e, ERR_DEVICE, "it cannot be opened: %s", why);
	if (!h->handle) {
		err_set(e, ERR_MODEL, "%s cannot be opened as a plugin library: %s.", h->path, dlerror());
		return err_advise(e, "Give the library that was built with the model: libtpat_NAME.so.");
	}
	*(void **)&set_finder = host_symbol(h, "setLoggerFinder");
	const char *creators = h->old ? "getPluginCreators" : "getCreators";
	*(void **)&h->get_creators = host_symbol(h, creators);
	*(void **)&set_device = host_symbol(h, "tpat_rt_set_device");
	if (o->linked && !h->get_creators && registers_itself(h))
		return 0;
	if (!set_finder)
		return lacks(h, "setLoggerFinder", e);
	if (!h->get_creators)
		return lacks(h, creators, e);
	const struct tpat_rt_library *tables = host_library(h);
	if (set_device && tables && tables->version == TPAT_RT_VERSION) {
		if (o->device)
			device = *o->device;
		if (!device.log) {
			device.log = device_log;
			device.log_user = h;
		}
		set_device(&device);
	} else if (o->device && !set_device) {
		return lacks(h, "tpat_rt_set_device", e);
	}
	set_finder(&h->finder);
	h->creator = h->get_creators(&h->creators);
	if (h->creators < 1 || !h->creator)
		return err_set(e, ERR_MODEL, "%s offers no plugin. %s", h->path, host_log(h));
	return 0;
}

int host_open(struct host **out, const char *path, const struct host_options *o, struct arena *a, struct err *e)
{
	struct host *h = NEW(a, struct host);
	bool eleven = trt_form(o->version ? o->version : 110100) == 11;

	*out = NULL;
	*h = (struct host){ .path = arena_strdup(a, path), .log = str_new(a) };
	h->pass_shape_inputs = o->pass_shape_inputs;
	h->old = o->version && trt_form(o->version) == 8;
	h->logger = (struct host_object){ eleven ? (const void *)&logger_11.t : &logger_10.t, h };
	h->finder = (struct host_object){ eleven ? (const void *)&finder_11.t : &finder_10.t, h };
	pthread_mutex_init(&h->lock, NULL);
	int rc = open_library(h, o, a, e);
	if (rc < 0) {
		if (h->handle)
			dlclose(h->handle);
		pthread_mutex_destroy(&h->lock);
		return rc;
	}
	*out = h;
	return 0;
}

void host_close(struct host *h)
{
	int32_t n;

	if (!h)
		return;
	/* Like TensorRT's deregisterLibrary. */
	if (h->get_creators)
		h->get_creators(&n);
	dlclose(h->handle);
	pthread_mutex_destroy(&h->lock);
}

void host_finish(struct host *h)
{
	struct link_map *map;
	void (**array)(void) = NULL, (*last)(void) = NULL;
	size_t n = 0;
	void *handle = dlopen(h->path, RTLD_NOW | RTLD_NOLOAD);
	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		const ElfW(Addr) at = map->l_addr + d->d_un.d_ptr;
		if (d->d_tag == DT_FINI_ARRAY)
			memcpy(&array, &at, sizeof array);
		else if (d->d_tag == DT_FINI)
			memcpy(&last, &at, sizeof last);
		else if (d->d_tag == DT_FINI_ARRAYSZ)
			n = d->d_un.d_val / sizeof *array;
	}
	while (array && n--)
		array[n]();
	if (last)
		last();
}

bool host_matches(const char *want, const char *got)
{
	return !want || (got && strcmp(want, got) == 0);
}

void *host_creator(struct host *h, const char *name, const char *version, const char *name_space)
{
	for (int32_t i = 0; i < h->creators; i++) {
		void *c = h->creator[i];
		const char *its_name = h->old ? TRT_CALL(c, trt_creator_8, name) : TRT_CALL(c, trt_creator, name);
		const char *its_version =
		        h->old ? TRT_CALL(c, trt_creator_8, version) : TRT_CALL(c, trt_creator, version);
		const char *its_space =
		        h->old ? TRT_CALL(c, trt_creator_8, name_space) : TRT_CALL(c, trt_creator, name_space);
		if (host_matches(name, its_name) && host_matches(version, its_version) &&
		    host_matches(name_space, its_space))
			return c;
	}
	return NULL;
}

int host_failed(const struct host_engine *x, const char *method, enum err_code code, struct err *e)
{
	const char *log = host_log(x->host), *last = log;
	size_t n = strlen(log);

	if (n > 0 && log[n - 1] == '\n')
		n--;
	for (size_t i = 0; i < n; i++)
		if (log[i] == '\n')
			last = log + i + 1;
	n -= (size_t)(last - log);
	return err_set(e, code, "Plugin %s of %s: %s failed%s%.*s", x->name, x->host->path, method,
	               n ? ": " : " without a line in the log.", (int)n, last);
}

int32_t host_onnx_type(int32_t type)
{
	for (int32_t t = 1; t < 64; t++)
		if (trt_type_of_onnx(t) == type)
			return t;
	return 0;
}
