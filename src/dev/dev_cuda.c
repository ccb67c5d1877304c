/* The GPU through the CUDA driver: one primary context, one stream. Code comes from NVRTC. See dev.h. */
#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "dev/cuda_driver.h"
#include "dev/dev.h"
#include "dev/nvrtc.h"

struct dev_kernel {
	cu_function function;
	char name[128];
	bool waits; /* its code has what launch_early needs */
	struct dev_kernel *next;
};

struct dev_module {
	cu_module module;
	struct arena *arena;
	struct dev_kernel *kernels;
	int arch; /* of the code */
};

struct dev_event {
	cu_event event;
	struct dev_event *next_free;
};

struct dev_graph {
	cu_graph_exec exec;
	struct dev_graph *next_free;
};

struct gpu {
	struct dev dev;
	struct arena *arena;
	const struct cuda_driver *cu;
	int device;
	cu_context context;
	cu_stream stream;
	const char *device_header;
	struct dev_event *free_events; /* structs to use again; their events are gone */
	struct dev_graph *free_graphs;
};

/* The context is the calling thread's: set before each call, which costs nothing when it is there already. */
static const struct cuda_driver *enter(struct dev *d, struct gpu **g)
{
	*g = d->state;
	(*g)->cu->context_set((*g)->context);
	return (*g)->cu;
}

/* ---- Code ---- */

/* The newest architecture that NVRTC knows and this GPU can run as PTX; 0: none. */
static int ptx_arch(int arch, struct arena *a, struct err *e)
{
	int *known, n, best = 0;
	if (dev_nvrtc_archs(&known, &n, a, e) < 0)
		return 0;
	for (int i = 0; i < n; i++)
		if (known[i] <= arch && known[i] > best)
			best = known[i];
	return best;
}

int dev_cuda_compile(struct dev_code *out, int arch, const char *device_header, const struct dev_source *s, char **log,
                     struct arena *a, struct err *e)
{
	const struct embed_file *types = embed_find("rt/device/tpat_types.h"), *sort = embed_find("rt/device/tpat_sort.h"),
	                        *radix = embed_find("rt/device/tpat_radix.h"),
	                        *mma = embed_find("rt/device/tpat_mma.h"),
	                        *fma = embed_find("rt/device/tpat_fma.h"),
	                        *wgmma = embed_find("rt/device/tpat_wgmma.h"),
	                        *attention = embed_find("rt/device/tpat_attention.h"),
	                        *attention_wide = embed_find("rt/device/tpat_attention_wide.h");
	const struct dev_nvrtc_header header[] = { { "tpat_types.h", types->text },
		                                   { "tpat_sort.h", sort->text },
		                                   { "tpat_radix.h", radix->text },
		                                   { "tpat_mma.h", mma->text },
		                                   { "tpat_fma.h", fma->text },
		                                   { "tpat_wgmma.h", wgmma->text },
		                                   { "tpat_attention.h", attention->text },
		                                   { "tpat_attention_wide.h", attention_wide->text },
		                                   { "tpat_device.h", device_header } };
	struct dev_nvrtc_job job = { .file = s->file,
		                     .text = s->text,
		                     .header = header,
		                     .headers = device_header ? 9 : 8,
		                     .arch = arch,
		                     .option = s->option };
	TRY(dev_nvrtc_open(e));
	if (!dev_nvrtc_has_arch(job.arch)) {
		job.arch = ptx_arch(arch, a, e);
		job.ptx = true;
	}
	TRY(dev_nvrtc_compile(&out->data, &out->size, &job, log, a, e));
	out->arch = job.arch;
	out->ptx = job.ptx;
	return 0;
}

static int compile(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
                   struct err *e)
{
	const struct gpu *g = d->state;
	return dev_cuda_compile(out, d->props.arch, g->device_header, s, log, a, e);
}

static int load(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	char log[1024] = "";
	int option[] = { CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES };
	void *value[] = { log, (void *)(uintptr_t)(sizeof log - 1) };
	cu_module module;
	int rc = cu->module_load(&module, code->data, 2, option, value);
	if (rc != 0) {
		char what[600];
		snprintf(what, sizeof what, "The driver does not load code for sm_%d%s%.500s", code->arch,
		         *log ? ": " : "", log);
		return dev_driver_check(rc, what, e);
	}
	struct arena *a = arena_new();
	struct dev_module *m = NEW(a, struct dev_module);
	m->arena = a;
	m->module = module;
	m->arch = code->arch;
	*out = m;
	return 0;
}

static void unload(struct dev *d, struct dev_module *m)
{
	struct gpu *g;
	if (m) {
		enter(d, &g)->module_unload(m->module);
		arena_free(m->arena);
	}
}

static int kernel(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
                  struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	struct dev_kernel *k = m->kernels;
	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	if (!k) {
		cu_function f;
		if (cu->module_function(&f, m->module, name) != 0)
			return err_set(e, ERR_DEVICE, "The compiled code has no kernel \"%s\".", name);
		k = NEW(m->arena, struct dev_kernel);
		k->function = f;
		k->waits = m->arch >= TPAT_CUDA_EARLY_ARCH && d->props.driver >= TPAT_CUDA_EARLY_DRIVER && cu->launch_with;
		snprintf(k->name, sizeof k->name, "%s", name);
		k->next = m->kernels;
		m->kernels = k;
	}
	/* Up to 48 KiB come without asking. */
	if (shared_bytes > 48 << 10)
		TRY(dev_driver_check(cu->function_set(k->function, CU_FUNC_MAX_DYNAMIC_SHARED, shared_bytes), name, e));
	*out = k;
	return 0;
}

static int kernel_use(struct dev *d, struct dev_kernel *k, int *registers, int *local_bytes, int *shared_bytes,
                      struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	int rc = cu->function_get(registers, CU_FUNC_REGISTERS, k->function);
	rc = rc ? rc : cu->function_get(local_bytes, CU_FUNC_LOCAL, k->function);
	rc = rc ? rc : cu->function_get(shared_bytes, CU_FUNC_SHARED, k->function);
	return dev_driver_check(rc, k->name, e);
}

static int not_launched(int rc, const struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3], struct err *e)
{
	char what[256];
	snprintf(what, sizeof what, "%s cannot be launched with a grid of %u x %u x %u blocks of %u x %u x %u threads",
	         k->name, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
	return dev_driver_check(rc, what, e);
}

static int launch(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                  int shared_bytes, void **args, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	int rc = cu->launch(k->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
	                    (unsigned)shared_bytes, g->stream, args, NULL);
	return rc ? not_launched(rc, k, grid, block, e) : 0;
}

static int launch_early(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                        int shared_bytes, void **args, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	const struct tpat_cuda_attribute early = { .id = TPAT_CUDA_EARLY, .value.number = 1 };
	const struct tpat_cuda_launch c = { { grid[0], grid[1], grid[2] },
		                            { block[0], block[1], block[2] },
		                            (unsigned)shared_bytes,
		                            g->stream,
		                            &early,
		                            1 };
	if (!k->waits)
		return launch(d, k, grid, block, shared_bytes, args, e);
	int rc = cu->launch_with(&c, k->function, args, NULL);
	return rc ? not_launched(rc, k, grid, block, e) : 0;
}

static int tensor_map(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	unsigned long long dim[TPAT_RT_MAP_RANK], stride[TPAT_RT_MAP_RANK];
	unsigned box[TPAT_RT_MAP_RANK], step[TPAT_RT_MAP_RANK];
	int low[TPAT_RT_MAP_RANK], high[TPAT_RT_MAP_RANK], rc;
	int type = v->element_bytes == 1 ? TPAT_CUDA_MAP_U8 : TPAT_CUDA_MAP_U16;
	if (!cu->map_encode)
		return err_set(e, ERR_DEVICE, "The CUDA driver is too old for tensor maps (12.0 or newer is needed).");
	for (int i = 0; i < v->rank; i++) {
		dim[i] = (unsigned long long)v->dim[i];
		box[i] = (unsigned)v->box[i];
		step[i] = 1;
		if (i > 0)
			stride[i - 1] = (unsigned long long)(v->stride[i] * v->element_bytes);
	}
	for (int i = 1; v->pixels && i < v->rank - 1; i++) {
		step[i] = (unsigned)v->step[i];
		low[i - 1] = v->first[i];
		high[i - 1] = (int)((v->count[i] - 1) * v->step[i] + v->first[i] - (v->dim[i] - 1));
	}
	if (v->pixels)
		rc = cu->map_encode_walk(out, type, (unsigned)v->rank, v->from, dim, stride, low, high, box[0], (unsigned)v->pixels,
		                         step, 0, TPAT_CUDA_MAP_SWIZZLE_128B, TPAT_CUDA_MAP_L2_256B, 0);
	else
		rc = cu->map_encode(out, type, (unsigned)v->rank, v->from, dim, stride, box, step, 0, TPAT_CUDA_MAP_SWIZZLE_128B,
		                    TPAT_CUDA_MAP_L2_256B, 0);
	return dev_driver_check(rc, "A tensor map cannot be made", e);
}

/* ---- Memory ---- */

static int alloc(struct dev *d, void **out, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	cu_pointer p = 0;
	int rc = cu->alloc(&p, bytes ? bytes : 1);
	if (rc != 0) {
		char what[96];
		snprintf(what, sizeof what, "A buffer of %zu bytes cannot be had on the GPU", bytes);
		return dev_driver_check(rc, what, e);
	}
	*out = (void *)(uintptr_t)p;
	return 0;
}

static void free_buffer(struct dev *d, void *p)
{
	struct gpu *g;
	if (p)
		enter(d, &g)->free((uintptr_t)p);
}

static int copy_in(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	if (bytes == 0)
		return 0;
	int rc = cu->copy_in((uintptr_t)to, from, bytes, g->stream);
	return dev_driver_check(rc ? rc : cu->stream_wait(g->stream), "Copying to the GPU failed", e);
}

static int copy_out(struct dev *d, void *to, const void *from, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	int rc = bytes ? cu->copy_out(to, (uintptr_t)from, bytes, g->stream) : 0;
	return dev_driver_check(rc ? rc : cu->stream_wait(g->stream),
	                        "Copying from the GPU, or a kernel before it, failed", e);
}

static int fill(struct dev *d, void *p, int byte, size_t bytes, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	if (bytes == 0)
		return 0;
	return dev_driver_check(cu->memset8((uintptr_t)p, (unsigned char)byte, bytes, g->stream),
	                        "Filling GPU memory failed", e);
}

static int synchronize(struct dev *d, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	return dev_driver_check(cu->stream_wait(g->stream), "A kernel failed on the GPU", e);
}

/* ---- Events ---- */

static int event_new(struct dev *d, struct dev_event **out, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	cu_event event;
	TRY(dev_driver_check(cu->event_new(&event, 0), "An event cannot be had", e));
	struct dev_event *ev = g->free_events;
	if (ev)
		g->free_events = ev->next_free;
	else
		ev = NEW(g->arena, struct dev_event);
	ev->event = event;
	*out = ev;
	return 0;
}

static void event_free(struct dev *d, struct dev_event *ev)
{
	struct gpu *g;
	if (!ev)
		return;
	enter(d, &g)->event_free(ev->event);
	ev->next_free = g->free_events;
	g->free_events = ev;
}

static int event_record(struct dev *d, struct dev_event *ev, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	return dev_driver_check(cu->event_record(ev->event, g->stream), "An event cannot be recorded", e);
}

static int event_ns(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	float ms = 0;
	int rc = cu->event_wait(to->event);
	rc = rc ? rc : cu->event_ms(&ms, from->event, to->event);
	*ns = (double)ms * 1e6;
	return dev_driver_check(rc, "A kernel failed while it was timed", e);
}

/* ---- Graphs ---- */

static int capture_begin(struct dev *d, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	return dev_driver_check(cu->capture_begin(g->stream, CU_CAPTURE_THREAD_LOCAL), "Launches cannot be captured",
	                        e);
}

static int capture_end(struct dev *d, struct dev_graph **out, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	cu_graph graph = NULL;
	cu_graph_exec exec = NULL;
	int rc = cu->capture_end(g->stream, &graph);
	rc = rc ? rc : cu->graph_instantiate(&exec, graph, 0);
	if (graph)
		cu->graph_free(graph);
	TRY(dev_driver_check(rc, "Captured launches do not make a graph", e));
	struct dev_graph *x = g->free_graphs;
	if (x)
		g->free_graphs = x->next_free;
	else
		x = NEW(g->arena, struct dev_graph);
	x->exec = exec;
	*out = x;
	return 0;
}

static int graph_launch(struct dev *d, struct dev_graph *x, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	return dev_driver_check(cu->graph_launch(x->exec, g->stream), "A graph cannot be launched", e);
}

static void graph_free(struct dev *d, struct dev_graph *x)
{
	struct gpu *g;
	if (!x)
		return;
	enter(d, &g)->graph_exec_free(x->exec);
	x->next_free = g->free_graphs;
	g->free_graphs = x;
}

/* ---- Opening ---- */

static void close_cuda(struct dev *d)
{
	struct gpu *g;
	const struct cuda_driver *cu = enter(d, &g);
	if (g->stream)
		cu->stream_free(g->stream);
	if (g->context)
		cu->context_release(g->device);
	arena_free(g->arena);
}

static int read_props(struct gpu *g, struct err *e)
{
	struct dev_props *p = &g->dev.props;
	int major = 0, minor = 0;
	const struct {
		int attribute, *value;
	} wanted[] = {
		{ CU_MAJOR, &major },
		{ CU_MINOR, &minor },
		{ CU_SMS, &p->sms },
		{ CU_THREADS_PER_SM, &p->threads_per_sm },
		{ CU_THREADS_PER_BLOCK, &p->threads_per_block },
		{ CU_SHARED_PER_SM, &p->shared_per_sm },
		{ CU_SHARED_PER_BLOCK_OPTIN, &p->shared_per_block },
		{ CU_REGISTERS_PER_SM, &p->registers_per_sm },
		{ CU_L2_BYTES, &p->l2_bytes },
		{ CU_CLOCK_KHZ, &p->clock_khz },
		{ CU_MEMORY_CLOCK_KHZ, &p->memory_clock_khz },
		{ CU_MEMORY_BUS_BITS, &p->memory_bus_bits },
	};
	int rc = g->cu->device_name(p->name, sizeof p->name, g->device);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && rc == 0; i++)
		rc = g->cu->device_attribute(wanted[i].value, wanted[i].attribute, g->device);
	rc = rc ? rc : g->cu->device_memory(&p->memory_bytes, g->device);
	rc = rc ? rc : g->cu->driver_version(&p->driver);
	p->arch = major * 10 + minor;
	return dev_driver_check(rc, "The GPU does not tell its properties", e);
}

static int open_gpu(struct gpu *g, int index, struct err *e)
{
	int n = 0;
	TRY(dev_driver_open(&g->cu, e));
	TRY(dev_driver_check(g->cu->device_count(&n), "The driver does not count its GPUs", e));
	if (index >= n)
		return err_set(e, ERR_DEVICE, "There is no GPU number %d: the driver shows %d.", index, n);
	TRY(dev_driver_check(g->cu->device_get(&g->device, index), "The GPU cannot be opened", e));
	TRY(read_props(g, e));
	if (g->dev.props.arch < 75)
		return err_set(e, ERR_DEVICE, "%s is of compute capability %d.%d; kernels are made for 7.5 and newer.",
		               g->dev.props.name, g->dev.props.arch / 10, g->dev.props.arch % 10);
	TRY(dev_driver_check(g->cu->context_retain(&g->context, g->device), "The GPU gives no context", e));
	g->cu->context_set(g->context);
	TRY(dev_driver_check(g->cu->stream_new(&g->stream, CU_STREAM_NON_BLOCKING), "The GPU gives no stream", e));
	g->dev.queue = g->stream;
	return 0;
}

int dev_cuda_open(struct dev **out, int index, const char *device_header, struct err *e)
{
	struct arena *a = arena_new();
	struct gpu *g = NEW(a, struct gpu);
	g->arena = a;
	g->device_header = device_header;
	g->dev = (struct dev){
		.kind = "cuda",
		.state = g,
		.compile = compile,
		.load = load,
		.unload = unload,
		.kernel = kernel,
		.launch = launch,
		.launch_early = launch_early,
		.alloc = alloc,
		.free = free_buffer,
		.copy_in = copy_in,
		.copy_out = copy_out,
		.memset = fill,
		.synchronize = synchronize,
		.event_new = event_new,
		.event_free = event_free,
		.event_record = event_record,
		.event_ns = event_ns,
		.capture_begin = capture_begin,
		.capture_end = capture_end,
		.graph_launch = graph_launch,
		.graph_free = graph_free,
		.kernel_use = kernel_use,
		.tensor_map = tensor_map,
		.close = close_cuda,
	};
	int rc = open_gpu(g, index, e);
	if (rc < 0) {
		if (g->context)
			close_cuda(&g->dev);
		else
			arena_free(a);
		return rc;
	}
	*out = &g->dev;
	return 0;
}

int dev_cuda_count(char why[256])
{
	struct err e = { 0 };
	const struct cuda_driver *cu;
	int n = 0;
	if (dev_driver_open(&cu, &e) == 0 &&
	    dev_driver_check(cu->device_count(&n), "The driver does not count its GPUs", &e) == 0)
		return n;
	if (why)
		snprintf(why, 256, "%.255s", e.text);
	return 0;
}
