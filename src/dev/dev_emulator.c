/* The emulator as a device: the CUDA text itself, run on the processor with every access checked. See
 * emulator/emulator.h. A kernel's fault is an error of its launch; an unwritten output byte is an error of its copy to
 * the host. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "dev/dev.h"
#include "dev/dev_host.h"
#include "emulator/emulator.h"

struct dev_kernel {
	struct emulator_module *module;
	const char *name;
	struct dev_kernel *next;
};

struct dev_module {
	struct emulator_module *emulated;
	struct dev_kernel *kernels;
	struct arena *arena;
};

struct dev_event {
	double ns;
};

struct device {
	struct dev dev;
	struct arena *arena;
};

static int compile(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
                   struct err *e)
{
	struct emulator_text text = { .name = s->file, .text = s->text, .may_race = s->may_race };
	void *data;
	(void)d;
	if (log)
		*log = "";
	TRY(emulator_compile(&data, &out->size, &text, 1, a, e));
	out->data = data;
	out->arch = 0;
	out->ptx = false;
	return 0;
}

static int load(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e)
{
	struct arena *a = arena_new();
	struct dev_module *m = NEW(a, struct dev_module);
	(void)d;
	m->arena = a;
	if (emulator_load(&m->emulated, code->data, code->size, e) < 0) {
		arena_free(a);
		return e->code;
	}
	*out = m;
	return 0;
}

static void unload(struct dev *d, struct dev_module *m)
{
	(void)d;
	if (m) {
		emulator_unload(m->emulated);
		arena_free(m->arena);
	}
}

static int kernel(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
                  struct err *e)
{
	(void)d, (void)shared_bytes;
	for (*out = m->kernels; *out; *out = (*out)->next)
		if (strcmp((*out)->name, name) == 0)
			return 0;
	if (!emulator_has_kernel(m->emulated, name))
		return err_set(e, ERR_DEVICE, "The CUDA text has no kernel \"%s\".", name);
	struct dev_kernel *k = NEW(m->arena, struct dev_kernel);
	*k = (struct dev_kernel){ m->emulated, arena_strdup(m->arena, name), m->kernels };
	m->kernels = *out = k;
	return 0;
}

static int launch(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                  int shared_bytes, void **args, struct err *e)
{
	(void)d;
	return emulator_launch(k->module, NULL, k->name, grid, block, (uint32_t)shared_bytes, args, e);
}

static int together(struct dev *d, int threads)
{
	(void)d;
	return emulator_together(threads);
}

/* ---- Memory. */

static int alloc(struct dev *d, void **out, size_t bytes, struct err *e)
{
	(void)d;
	*out = emulator_alloc(arena_printf(((struct device *)d->state)->arena, "buffer of %zu bytes", bytes), bytes, 0);
	return *out ? 0 : err_set(e, ERR_DEVICE, "There is no memory for a buffer of %zu bytes.", bytes);
}

static void free_buffer(struct dev *d, void *p)
{
	(void)d;
	emulator_free(p);
}

static void name_buffer(struct dev *d, void *p, const char *name)
{
	(void)d;
	emulator_name(p, name);
}

static int copy_in(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	(void)d, (void)e;
	if (bytes)
		emulator_copy_in(to, from, bytes);
	return 0;
}

static int check_written(const void *from, size_t bytes, struct err *e)
{
	int64_t missing = bytes ? emulator_first_unwritten(from, bytes) : -1;
	return missing < 0 ? 0
	                   : err_set(e, ERR_DIFFER, "Byte %lld of %s was never written.", (long long)missing,
	                             emulator_name_of(from));
}

static int copy_out(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	(void)d;
	TRY(check_written(from, bytes, e));
	if (bytes)
		memcpy(to, from, bytes);
	return 0;
}

static int copy_within(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	TRY(check_written(from, bytes, e));
	return copy_in(d, to, from, bytes, e);
}

static int fill(struct dev *d, void *p, int byte, size_t bytes, struct err *e)
{
	(void)d, (void)e;
	if (bytes)
		emulator_fill(p, byte, bytes);
	return 0;
}

static int synchronize(struct dev *d, struct err *e)
{
	(void)d, (void)e;
	return 0;
}

static int tensor_map(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	(void)d, (void)e;
	emulator_tensor_map(out, v);
	return 0;
}

/* ---- Times, which say nothing about a GPU. */

static int event_new(struct dev *d, struct dev_event **out, struct err *e)
{
	(void)e;
	*out = NEW(((struct device *)d->state)->arena, struct dev_event);
	return 0;
}

static void event_free(struct dev *d, struct dev_event *ev)
{
	(void)d, (void)ev;
}

static int event_record(struct dev *d, struct dev_event *ev, struct err *e)
{
	(void)d, (void)e;
	ev->ns = dev_host_now();
	return 0;
}

static int event_ns(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e)
{
	(void)d, (void)e;
	*ns = to->ns - from->ns;
	return 0;
}

static void close_emulator(struct dev *d)
{
	arena_free(((struct device *)d->state)->arena);
}

int dev_emulator_open(struct dev **out, struct err *e)
{
	if (!emulator_has_compiler()) {
		err_set(e, ERR_DEVICE,
		        "The device emulator needs a C++ compiler: g++, clang++, or the one that CXX names.");
		return err_advise(e, "Install one (on Debian: apt-get install g++), or name the device cpu.");
	}
	struct arena *a = arena_new();
	struct device *x = NEW(a, struct device);
	x->arena = a;
	x->dev = (struct dev){
		.kind = "emulator",
		.props = { .sms = 1, .threads_per_block = 1024 },
		.state = x,
		.compile = compile,
		.load = load,
		.unload = unload,
		.kernel = kernel,
		.launch = launch,
		.together = together,
		.alloc = alloc,
		.free = free_buffer,
		.name = name_buffer,
		.copy_in = copy_in,
		.copy_out = copy_out,
		.copy_within = copy_within,
		.memset = fill,
		.synchronize = synchronize,
		.event_new = event_new,
		.event_free = event_free,
		.event_record = event_record,
		.event_ns = event_ns,
		.tensor_map = tensor_map,
		.close = close_emulator,
	};
	snprintf(x->dev.props.name, sizeof x->dev.props.name, "the CUDA emulator");
	*out = &x->dev;
	return 0;
}
