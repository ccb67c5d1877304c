/* Measures the cost of enqueue: opens a plugin library as TensorRT does, sets a plugin's extents once, and calls
 * enqueue repeatedly, using only the plugin's ABI.
 *
 *     launch LIBRARY [PLUGIN] [EXTENT]
 *
 * EXTENT, of every dynamic dimension, defaults to 8.
 *
 * For each plugin and tactic prints the host's time per call, and the GPU's time per call in a recorded graph; and both
 * for the same number of bare launches of an empty kernel, the driver's floor. Host times are the median and the
 * fastest of batches that end before the queue is full; enqueues and bare launches alternate, so that clock drift
 * affects both. Needs a GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/tensorrt/host.h"
#include "tensor/type.h"

enum { CALLS = 100, BATCHES = 60, REPLAYS = 20, WARM_UP = 2 };

typedef void *handle;

/* The driver functions that this program needs. */
static struct {
	int (*init)(unsigned);
	int (*device)(int *, int);
	int (*retain)(handle *, int);
	int (*set)(handle);
	int (*alloc)(unsigned long long *, size_t);
	int (*fill)(unsigned long long, unsigned char, size_t);
	int (*stream)(handle *, unsigned);
	int (*wait)(handle);
	int (*begin)(handle, int);
	int (*end)(handle, handle *);
	int (*instantiate)(handle *, handle, unsigned long long);
	int (*replay)(handle, handle);
	int (*load)(handle *, const void *);
	int (*function)(handle *, handle, const char *);
	int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle, void **,
	              void **);
} cu;

static const char *const names[] = { "cuInit",
	                             "cuDeviceGet",
	                             "cuDevicePrimaryCtxRetain",
	                             "cuCtxSetCurrent",
	                             "cuMemAlloc_v2",
	                             "cuMemsetD8_v2",
	                             "cuStreamCreate",
	                             "cuStreamSynchronize",
	                             "cuStreamBeginCapture_v2",
	                             "cuStreamEndCapture",
	                             "cuGraphInstantiateWithFlags",
	                             "cuGraphLaunch",
	                             "cuModuleLoadData",
	                             "cuModuleGetFunction",
	                             "cuLaunchKernel" };

static const char empty_ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                                ".visible .entry empty(.param .u64 x, .param .u64 y, .param .u32 n)\n{\nret;\n}\n";

static handle stream;
static struct arena *arena;
static struct err err;

static void must(int code, const char *what)
{
	if (code == 0)
		return;
	fprintf(stderr, "%s failed: %d %s\n", what, code, err.text);
	exit(1);
}

static void open_cuda(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	handle context;
	int device;

	if (!library) {
		fprintf(stderr, "there is no CUDA driver\n");
		exit(5);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *f = dlsym(library, names[i]);
		must(!f, names[i]);
		memcpy((char *)&cu + i * sizeof f, &f, sizeof f);
	}
	must(cu.init(0), "cuInit");
	must(cu.device(&device, 0), "cuDeviceGet");
	must(cu.retain(&context, device), "cuDevicePrimaryCtxRetain");
	must(cu.set(context), "cuCtxSetCurrent");
	must(cu.stream(&stream, 1), "cuStreamCreate");
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* One enqueue, or as many empty kernels as its plugin launches. */
struct work {
	int (*call)(const struct work *w);
	void *runtime;
	const struct trt_desc *in, *out;
	const void *const *inputs;
	void *const *outputs;
	void *workspace;
	handle empty;
	int launches;
};

static int call_enqueue(const struct work *w)
{
	return TRT_CALL(w->runtime, trt_runtime, enqueue, w->in, w->out, w->inputs, w->outputs, w->workspace, stream);
}

static int call_empty(const struct work *w)
{
	unsigned long long pointer = 0;
	int n = 0;
	void *args[] = { &pointer, &pointer, &n };

	for (int i = 0; i < w->launches; i++)
		if (cu.launch(w->empty, 1, 1, 1, 128, 1, 1, 0, stream, args, NULL))
			return -1;
	return 0;
}

struct times {
	double host[BATCHES], gpu[REPLAYS]; /* us per call, sorted */
};

static double batch(const struct work *w, const char *what)
{
	double start = now_us();

	for (int i = 0; i < CALLS; i++)
		must(w->call(w), what);
	double us = (now_us() - start) / CALLS;
	must(cu.wait(stream), "cuStreamSynchronize");
	return us;
}

static void replay(const struct work *w, const char *what, double *us)
{
	handle graph, exec;

	must(cu.begin(stream, 1), "cuStreamBeginCapture");
	for (int i = 0; i < CALLS; i++)
		must(w->call(w), what);
	must(cu.end(stream, &graph), "cuStreamEndCapture");
	must(cu.instantiate(&exec, graph, 0), "cuGraphInstantiate");
	for (int b = -WARM_UP; b < REPLAYS; b++) {
		double start = now_us();
		must(cu.replay(exec, stream), "cuGraphLaunch");
		must(cu.wait(stream), "cuStreamSynchronize");
		if (b >= 0)
			us[b] = (now_us() - start) / CALLS;
	}
	qsort(us, REPLAYS, sizeof *us, compare);
}

/* Compares an enqueue with as many launches of the empty kernel. */
static void measure(const struct work *enqueue, const char *what)
{
	struct work empty = *enqueue;
	struct times own, bare;

	empty.call = call_empty;
	for (int b = -WARM_UP; b < BATCHES; b++) {
		double us = batch(enqueue, what), floor = batch(&empty, what);
		if (b >= 0)
			own.host[b] = us, bare.host[b] = floor;
	}
	qsort(own.host, BATCHES, sizeof *own.host, compare);
	qsort(bare.host, BATCHES, sizeof *bare.host, compare);
	replay(enqueue, what, own.gpu);
	replay(&empty, what, bare.gpu);
	printf("%-52s %8.2f (%5.2f) %8.2f (%5.2f) %8.2f %8.2f\n", what, own.host[BATCHES / 2], own.host[0],
	       bare.host[BATCHES / 2], bare.host[0], own.gpu[0], bare.gpu[0]);
}

static void *device_memory(size_t bytes)
{
	unsigned long long p = 0;

	must(cu.alloc(&p, bytes ? bytes : 1), "cuMemAlloc");
	must(cu.fill(p, 0, bytes ? bytes : 1), "cuMemset");
	return (void *)(uintptr_t)p;
}

static size_t bytes_of(const struct host_tensor *t)
{
	int64_t n = 1;

	for (int k = 0; k < t->rank; k++)
		n *= t->dim[k];
	return (size_t)type_bytes((enum type)t->type, n);
}

static struct trt_desc desc_of(const struct host_tensor *t)
{
	struct trt_desc d = { .type = trt_type_of_onnx(t->type), .format = TRT_LINEAR, .scale = -1 };

	d.dims.rank = t->rank;
	memcpy(d.dims.d, t->dim, sizeof t->dim);
	return d;
}

static void measure_plugin(struct host *h, const struct tpat_rt_plugin *p, int64_t extent, handle empty)
{
	struct host_tensor in[64] = { 0 }, out[64] = { 0 };
	struct trt_desc in_desc[64], out_desc[64];
	const void *inputs[64];
	void *outputs[64];
	struct host_engine *x = NULL;

	for (int i = 0; i < p->inputs; i++) {
		const struct tpat_rt_tensor *t = &p->input[i];
		if (t->shape_input) {
			printf("%s: passed over, it has shape inputs\n", p->name);
			return;
		}
		in[i] = (struct host_tensor){ .type = t->type, .rank = t->rank };
		for (int k = 0; k < t->rank; k++) {
			const struct tpat_rt_expr *e = &p->expr[t->dim[k]];
			in[i].dim[k] = e->op == TPAT_RT_CONST ? e->value : extent;
		}
		in_desc[i] = desc_of(&in[i]);
		inputs[i] = in[i].pointer = device_memory(bytes_of(&in[i]));
	}
	must(host_build(&x, h, p->name, p->version, p->name_space, in, in, in, p->inputs, arena, &err), "host_build");
	must(host_shapes(x, in, out, &err), "host_shapes");
	for (int o = 0; o < p->outputs; o++) {
		out_desc[o] = desc_of(&out[o]);
		outputs[o] = out[o].pointer = device_memory(bytes_of(&out[o]));
	}
	void *workspace = device_memory(host_workspace(x));
	for (int t = 0; t == 0 || t < host_tactics(x); t++) {
		char what[128];
		must(host_set_tactic(x, t, &err), "host_set_tactic");
		must(host_prepare(x, in, out, &err), "host_prepare");
		struct work w = { call_enqueue, host_runtime(x), in_desc, out_desc,          inputs,
			          outputs,      workspace,       empty,   p->tactic[t].steps };
		snprintf(what, sizeof what, "%s, tactic %d, %d launch%s", p->name, t + 1, w.launches,
		         w.launches == 1 ? "" : "es");
		measure(&w, what);
	}
	host_engine_free(x);
}

int main(int argc, char **argv)
{
	struct host_options o = { 0 };
	struct host *h = NULL;
	handle module, empty;

	if (argc < 2) {
		fprintf(stderr, "usage: launch LIBRARY [PLUGIN] [EXTENT]\n");
		return 2;
	}
	open_cuda();
	must(cu.load(&module, empty_ptx), "cuModuleLoadData");
	must(cu.function(&empty, module, "empty"), "cuModuleGetFunction");
	arena = arena_new();
	must(host_open(&h, argv[1], &o, arena, &err), "host_open");
	const char *name = NULL;
	int64_t extent = 8;
	for (int i = 2; i < argc; i++)
		if (atoll(argv[i]) > 0)
			extent = atoll(argv[i]);
		else
			name = argv[i];
	const struct tpat_rt_library *l = host_library(h);
	printf("%-52s %16s %16s %17s\n", "us: median (best)", "enqueue", "bare launches", "in graphs: both");
	for (int i = 0; i < l->plugins; i++)
		if (!name || strcmp(l->plugin[i].name, name) == 0)
			measure_plugin(h, &l->plugin[i], extent, empty);
	fputs(host_log(h), stderr);
	host_close(h);
	arena_free(arena);
	return 0;
}
