/* The null device: an architecture to generate for where there is no GPU. Compiles to nothing, runs nothing. */
#include "dev/dev.h"
#include "dev/dev_host.h"

struct dev_event {
	int unused;
};
struct dev_module {
	int unused;
};
struct dev_kernel {
	int unused;
};

struct null {
	struct dev dev;
	struct arena *arena;
	struct dev_module module;
	struct dev_kernel kernel;
	struct dev_event event;
};

static int compile(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
                   struct err *e)
{
	(void)s;
	(void)a;
	(void)e;
	*out = (struct dev_code){ .data = "", .arch = d->props.arch };
	if (log)
		*log = "";
	return 0;
}

static int load(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e)
{
	(void)code;
	(void)e;
	*out = &((struct null *)d->state)->module;
	return 0;
}

static void unload(struct dev *d, struct dev_module *m)
{
	(void)d;
	(void)m;
}

static int kernel(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
                  struct err *e)
{
	(void)m;
	(void)name;
	(void)shared_bytes;
	(void)e;
	*out = &((struct null *)d->state)->kernel;
	return 0;
}

static int launch(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                  int shared_bytes, void **args, struct err *e)
{
	(void)d;
	(void)k;
	(void)grid;
	(void)block;
	(void)shared_bytes;
	(void)args;
	(void)e;
	return 0;
}

static int event_new(struct dev *d, struct dev_event **out, struct err *e)
{
	(void)e;
	*out = &((struct null *)d->state)->event;
	return 0;
}

static void event_free(struct dev *d, struct dev_event *ev)
{
	(void)d;
	(void)ev;
}

static int event_record(struct dev *d, struct dev_event *ev, struct err *e)
{
	(void)d;
	(void)ev;
	(void)e;
	return 0;
}

static int event_ns(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e)
{
	(void)d;
	(void)from;
	(void)to;
	(void)e;
	*ns = 0;
	return 0;
}

static void close_null(struct dev *d)
{
	arena_free(((struct null *)d->state)->arena);
}

int dev_null_open(struct dev **out, int arch, struct err *e)
{
	(void)e;
	struct arena *a = arena_new();
	struct null *n = NEW(a, struct null);
	n->arena = a;
	n->dev = (struct dev){
		.kind = "null",
		.props = { .name = "null", .arch = arch },
		.state = n,
		.compile = compile,
		.load = load,
		.unload = unload,
		.kernel = kernel,
		.launch = launch,
		.event_new = event_new,
		.event_free = event_free,
		.event_record = event_record,
		.event_ns = event_ns,
		.close = close_null,
	};
	dev_host_memory(&n->dev);
	*out = &n->dev;
	return 0;
}
