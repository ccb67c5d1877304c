/* The runtime's device on top of a struct dev: it runs the kernels of `tpat verify` without a GPU. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "check/verify.h"
#include "check/verify_stages.h"
#include "gen/language.h"

/* The callbacks' `user`. Lives as long as the device. */
struct state {
	struct dev *dev;
	const char *folder;
	struct verify_play *play;
};

/* The runtime knows no codes. */
static int tell(void *user, char why[256], const struct err *e)
{
	const struct state *s = user;
	s->play->lacks |= e->code == ERR_DEVICE;
	snprintf(why, 256, "%.255s", e->text);
	return -1;
}

/* A plugin's texts, each loaded: the kernels of a large plugin are in several. */
struct texts {
	struct arena *arena; /* has this struct */
	struct dev_module *module[TPAT_RT_MAX_PARTS];
	int n;
};

/* Returns the path of one of the plugin's texts in the device's language: kernels/relu.cu, kernels/relu.2.cu ... */
static const char *text_path(const struct state *s, const struct tpat_rt_plugin *p, int number, struct arena *a)
{
	const char *ending = language_of(s->dev->props.language)->ending;
	const char *id = str_identifier(a, p->code ? p->code : p->name);
	const char *name =
	        number ? arena_printf(a, "%s.%d%s", id, number + 1, ending) : arena_printf(a, "%s%s", id, ending);
	return path_join(a, path_join(a, s->folder, "kernels"), name);
}

/* A text, compiled and loaded. */
static int load_text(struct state *s, const char *path, struct dev_module **out, struct arena *a, struct err *e)
{
	char *text;
	size_t size;
	struct dev_code code;
	const char *name = path_base(path);
	TRY(file_read(&text, &size, path, a, e));
	struct dev_source source = { .file = name, .text = text, .may_race = s->play->may_race };
	TRY(s->dev->compile(s->dev, &code, &source, NULL, a, e));
	return s->dev->load(s->dev, out, &code, e);
}

/* A compiler that fails on the plugin's text alone works. */
static bool compiles(struct state *s, struct arena *a)
{
	struct dev_code code;
	struct err ignored = { 0 };
	const bool cuda = s->dev->props.language == KERNEL_CUDA;
	const struct dev_source source = { .file = cuda ? "nothing.cu" : "nothing.c",
		                           .text = cuda ? "__global__ void nothing() {}\n" : "int nothing;\n" };
	return s->dev->compile(s->dev, &code, &source, NULL, a, &ignored) == 0;
}

static void free_texts(struct state *s, struct texts *t)
{
	for (int i = 0; i < t->n; i++)
		s->dev->unload(s->dev, t->module[i]);
	arena_free(t->arena);
}

static int load(void *user, const struct tpat_rt_plugin *p, void **module, char why[256])
{
	struct err e = { 0 };
	struct arena *a = arena_new();
	struct arena *own = arena_new();
	struct texts *all = NEW(own, struct texts);
	int rc = 0;
	all->arena = own;
	for (int i = 0; rc == 0 && i < TPAT_RT_MAX_PARTS && (!i || file_exists(text_path(user, p, i, a))); i++) {
		rc = load_text(user, text_path(user, p, i, a), &all->module[i], a, &e);
		all->n += rc == 0;
	}
	if (rc < 0)
		free_texts(user, all);
	*module = rc < 0 ? NULL : all;
	if (rc == ERR_DEVICE && compiles(user, a))
		e.code = ERR_MODEL;
	arena_free(a);
	return rc < 0 ? tell(user, why, &e) : 0;
}

static int upload(void *user, const void *data, size_t bytes, void **pointer, char why[256])
{
	struct dev *d = ((struct state *)user)->dev;
	struct err e = { 0 };
	int rc = d->alloc(d, pointer, bytes ? bytes : 1, &e);
	if (rc == 0 && d->name)
		d->name(d, *pointer, "constant");
	if (rc == 0)
		rc = d->copy_in(d, *pointer, data, bytes, &e);
	return rc < 0 ? tell(user, why, &e) : 0;
}

static int function(void *user, void *module, const struct tpat_rt_plugin *plugin, const struct tpat_rt_kernel *kernel,
                    void **out, char why[256])
{
	struct dev *d = ((struct state *)user)->dev;
	const struct texts *texts = module;
	struct err e = { 0 };
	struct dev_kernel *k = NULL;
	int rc = -1;
	(void)plugin;
	for (int i = 0; rc < 0 && i < texts->n; i++) {
		e = (struct err){ 0 };
		rc = d->kernel(d, &k, texts->module[i], kernel->name, kernel->shared_bytes, &e);
	}
	*out = k;
	return rc < 0 ? tell(user, why, &e) : 0;
}

static int launch(void *user, void *of, const struct tpat_rt_plugin *plugin, const struct tpat_rt_kernel *kernel,
                  const uint32_t grid[3], void **args, void *stream, char why[256])
{
	struct dev *d = ((struct state *)user)->dev;
	struct err e = { 0 };
	const uint32_t block[3] = { (uint32_t)kernel->block[0], (uint32_t)kernel->block[1],
		                    (uint32_t)kernel->block[2] };
	struct verify_stages *stages = ((struct state *)user)->play->stages;
	struct map *launched = ((struct state *)user)->play->launched;
	(void)stream;
	if (launched)
		map_put(launched, kernel->name, launched);
	int rc = d->launch(d, of, grid, block, kernel->shared_bytes, args, &e);
	if (rc == 0 && stages)
		verify_stages_launched(stages, plugin, kernel, args);
	return rc < 0 ? tell(user, why, &e) : 0;
}

/* Kernels in C have no architecture; those in CUDA the device's, or the emulated one. */
static int is_arch(void *user, void *module, int32_t arch)
{
	const struct state *s = user;
	int own = s->dev->props.arch ? s->dev->props.arch : s->play->arch;
	(void)module;
	return !own || own == arch;
}

static int32_t together(void *user, void *module, int32_t threads)
{
	struct dev *d = ((struct state *)user)->dev;
	(void)module;
	return d->together ? d->together(d, threads) : INT32_MAX;
}

static int tensor_map(void *user, const struct tpat_rt_map_values *values, void *out, char why[256])
{
	struct dev *d = ((struct state *)user)->dev;
	struct err e = { 0 };
	int rc = d->tensor_map ? d->tensor_map(d, out, values, &e) : 0;
	return rc < 0 ? tell(user, why, &e) : 0;
}

static int current(void *user, char why[256])
{
	(void)user, (void)why;
	return 0;
}

static void unload(void *user, int device, void *module)
{
	(void)device;
	free_texts(user, module);
}

static void release(void *user, int device, void *pointer)
{
	struct dev *d = ((struct state *)user)->dev;
	(void)device;
	d->free(d, pointer);
}

void verify_rt_device(struct tpat_rt_device *out, struct dev *d, const char *folder, struct verify_play *play,
                      struct arena *a)
{
	struct state *s = NEW(a, struct state);
	*s = (struct state){ d, folder, play };
	*out = (struct tpat_rt_device){
		.version = TPAT_RT_VERSION,
		.user = s,
		.load = load,
		.function = function,
		.upload = upload,
		.launch = launch,
		.is_arch = is_arch,
		.together = together,
		.map = tensor_map,
		.current = current,
		.unload = unload,
		.release = release,
	};
}

/* ---- The host's memory. */

static int noted(void *user, int rc)
{
	const struct state *s = user;
	s->play->lacks |= rc == ERR_DEVICE;
	return rc;
}

static int memory_alloc(void *user, const char *name, size_t bytes, void **pointer, struct err *e)
{
	struct dev *d = ((struct state *)user)->dev;
	TRY(noted(user, d->alloc(d, pointer, bytes ? bytes : 1, e)));
	if (d->name)
		d->name(d, *pointer, name);
	return 0;
}

static void memory_free(void *user, void *pointer)
{
	struct dev *d = ((struct state *)user)->dev;
	d->free(d, pointer);
}

/* The plugin ran on the device's own queue. */
static int memory_wait(void *user, void *stream, struct err *e)
{
	struct dev *d = ((struct state *)user)->dev;
	(void)stream;
	return noted(user, d->synchronize(d, e));
}

static int memory_read(void *user, void *to, const void *from, size_t bytes, struct err *e)
{
	struct dev *d = ((struct state *)user)->dev;
	return noted(user, d->copy_out(d, to, from, bytes, e));
}

const int64_t *verify_values(const struct tensor *t, struct arena *a)
{
	int64_t n = tensor_count(t), *value = NEWN(a, int64_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		value[i] = tensor_int(t, i);
	return value;
}

struct host_memory verify_memory(struct dev *d, struct verify_play *play, struct arena *a)
{
	struct state *s = NEW(a, struct state);
	*s = (struct state){ .dev = d, .play = play };
	return (struct host_memory){ s, memory_alloc, memory_free, memory_wait, memory_read, NULL, NULL };
}
