/* The processor as a device: C text through the C compiler into a shared object; blocks of the grid over its cores. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/threads.h"
#include "base/vec.h"
#include "dev/dev.h"
#include "dev/dev_host.h"

typedef void (*cpu_kernel)(void *const *args, const uint32_t block[3]);

struct dev_kernel {
	cpu_kernel call;
	char name[128];
	struct dev_kernel *next;
};

struct dev_module {
	void *so;
	struct arena *arena;
	struct dev_kernel *kernels;
};

struct dev_event {
	double ns;
	struct dev_event *next_free;
};

struct cpu {
	struct dev dev;
	struct arena *arena;
	struct dev_event *free_events;
};

static int compile_in(struct dev_code *out, const char *folder, const struct dev_source *s, char **log, struct arena *a,
                      struct err *e)
{
	const struct proc_command cc = proc_command("CC", proc_c_compilers, a);
	struct {
		VEC(const char *);
	} argv = { 0 };
	char *c = path_join(a, folder, "kernels.c"), *so = path_join(a, folder, "kernels.so"), *output, *data;
	size_t size;
	/* No implicit fused multiply-add: results must not depend on the processor. With -fwrapv and vectors of
	 * straight-line code, GCC 12 gives -1 or 0 for (max((int)(a != 0), (int)(b != 0)) != 0). */
	static const char *const option[] = { "-std=c11",
		                              "-O2",
		                              "-fPIC",
		                              "-shared",
		                              "-fwrapv",
		                              "-ffp-contract=off",
		                              "-fno-tree-slp-vectorize",
		                              "-fno-math-errno",
		                              "-fno-strict-aliasing" };
	for (int i = 0; i < cc.n; i++)
		vec_push(a, &argv, cc.word[i]);
	for (size_t i = 0; i < sizeof option / sizeof *option; i++)
		vec_push(a, &argv, option[i]);
	for (const char *const *o = s->option; o && *o; o++)
		vec_push(a, &argv, *o);
	const char *const rest[] = { "-o", so, c, "-lm", NULL };
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
		vec_push(a, &argv, rest[i]);
	const char *text = arena_printf(a, "#line 1 \"%s\"\n%s", s->file, s->text);
	TRY(file_make(c, text, strlen(text), e));
	int rc = proc_compile(&output, arena_printf(a, "%s failed on %s", cc.text, s->file), NULL, argv.at, a, e);
	if (log && output)
		*log = output;
	if (rc < 0)
		return output ? rc
		              : err_advise(e,
		                           "The device cpu needs a C compiler: gcc, clang, or the one that CC names.");
	TRY(file_read(&data, &size, so, a, e));
	*out = (struct dev_code){ .data = data, .size = size };
	return 0;
}

int dev_cpu_compile(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                    struct err *e)
{
	(void)arch;
	char *folder;
	if (log)
		*log = "";
	TRY(file_temp_dir(&folder, a, e));
	int rc = compile_in(out, folder, s, log, a, e);
	file_remove_tree(folder);
	return rc;
}

static int compile(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
                   struct err *e)
{
	return dev_cpu_compile(out, d->props.arch, s, log, a, e);
}

static int load(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e)
{
	(void)d;
	struct arena *a = arena_new();
	struct dev_module *m = NEW(a, struct dev_module);
	char *folder = NULL;
	m->arena = a;
	int rc = file_temp_dir(&folder, a, e);
	char *so = rc == 0 ? path_join(a, folder, "kernels.so") : NULL;
	if (rc == 0)
		rc = file_make(so, code->data, code->size, e);
	if (rc == 0 && !(m->so = dlopen(so, RTLD_NOW | RTLD_LOCAL)))
		rc = err_set(e, ERR_DEVICE, "Compiled C code cannot be loaded: %s.", dlerror());
	if (folder)
		file_remove_tree(folder);
	if (rc < 0)
		arena_free(a);
	else
		*out = m;
	return rc;
}

static void unload(struct dev *d, struct dev_module *m)
{
	(void)d;
	if (m) {
		dlclose(m->so);
		arena_free(m->arena);
	}
}

static int kernel(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
                  struct err *e)
{
	(void)d;
	(void)shared_bytes;
	for (struct dev_kernel *k = m->kernels; k; k = k->next)
		if (strcmp(k->name, name) == 0) {
			*out = k;
			return 0;
		}
	void *symbol = dlsym(m->so, name);
	if (!symbol)
		return err_set(e, ERR_DEVICE, "The compiled C code has no function \"%s\".", name);
	struct dev_kernel *k = NEW(m->arena, struct dev_kernel);
	memcpy(&k->call, &symbol, sizeof k->call);
	snprintf(k->name, sizeof k->name, "%s", name);
	k->next = m->kernels;
	m->kernels = k;
	*out = k;
	return 0;
}

struct grid {
	cpu_kernel call;
	void *const *args;
	const uint32_t *grid;
};

static void run_block(void *arg, int i)
{
	const struct grid *g = arg;
	const uint32_t u = (uint32_t)i;
	const uint32_t block[3] = { u % g->grid[0], u / g->grid[0] % g->grid[1], u / g->grid[0] / g->grid[1] };
	g->call(g->args, block);
}

static int launch(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                  int shared_bytes, void **args, struct err *e)
{
	(void)d;
	(void)block;
	(void)shared_bytes;
	uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	if (blocks > INT32_MAX)
		return err_set(e, ERR_DEVICE, "%s: a grid of %u x %u x %u blocks is too large for the device cpu.",
		               k->name, grid[0], grid[1], grid[2]);
	struct grid g = { k->call, args, grid };
	threads_for((int)blocks, 0, run_block, &g);
	return 0;
}

static int event_new(struct dev *d, struct dev_event **out, struct err *e)
{
	(void)e;
	struct cpu *c = d->state;
	struct dev_event *ev = c->free_events;
	if (ev)
		c->free_events = ev->next_free;
	else
		ev = NEW(c->arena, struct dev_event);
	*out = ev;
	return 0;
}

static void event_free(struct dev *d, struct dev_event *ev)
{
	struct cpu *c = d->state;
	if (ev) {
		ev->next_free = c->free_events;
		c->free_events = ev;
	}
}

static int event_record(struct dev *d, struct dev_event *ev, struct err *e)
{
	(void)d;
	(void)e;
	ev->ns = dev_host_now();
	return 0;
}

static int event_ns(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e)
{
	(void)d;
	(void)e;
	*ns = to->ns - from->ns;
	return 0;
}

static void close_cpu(struct dev *d)
{
	arena_free(((struct cpu *)d->state)->arena);
}

static int also(struct dev *d, struct dev **out, struct err *e)
{
	(void)d;
	return dev_cpu_open(out, e);
}

/* The processor's name from the kernel, else the machine's. */
static void name_processor(char *out, size_t size)
{
	struct utsname u;
	char line[256];
	snprintf(out, size, "%s", uname(&u) == 0 ? u.machine : "cpu");
	FILE *f = fopen("/proc/cpuinfo", "r");
	while (f && fgets(line, sizeof line, f)) {
		char *value = strchr(line, ':');
		if (strncmp(line, "model name", 10) == 0 && value && value[1]) {
			snprintf(out, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
			break;
		}
	}
	if (f)
		fclose(f);
}

int dev_cpu_open(struct dev **out, struct err *e)
{
	(void)e;
	struct arena *a = arena_new();
	struct cpu *c = NEW(a, struct cpu);
	c->arena = a;
	c->dev = (struct dev){
		.kind = "cpu",
		.props = { .language = KERNEL_C,
		           .sms = threads_count(),
		           .threads_per_block = 1,
		           .memory_bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) },
		.state = c,
		.compile = compile,
		.load = load,
		.unload = unload,
		.kernel = kernel,
		.launch = launch,
		.event_new = event_new,
		.event_free = event_free,
		.event_record = event_record,
		.event_ns = event_ns,
		.also = also,
		.close = close_cpu,
	};
	dev_host_memory(&c->dev);
	name_processor(c->dev.props.name, sizeof c->dev.props.name);
	*out = &c->dev;
	return 0;
}
