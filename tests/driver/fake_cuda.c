/* A CUDA driver without a GPU, as libcuda.so.1 for LD_LIBRARY_PATH: device memory is the process's, copies and launches
 * happen at once. A plugin library's code runs as its kernels for the processor, which its tables point to; a stream
 * that is captured keeps its launches in a graph instead. Everything belongs to a context and ends with it; all of it
 * counts as device memory, to the byte, and a handle that does not exist aborts the process.
 *
 *   FAKE_CUDA_BREAKS=1       waiting for a stream fails, as after a fault of a kernel
 *   FAKE_CUDA_VERSION=11080  the driver's version: it refuses PTX of a later toolkit
 *   FAKE_CUDA_CUBINS=209     loading compiled code fails with this error, as for one of another GPU or a later toolkit
 *   FAKE_CUDA_INIT=100       cuInit fails with this error
 *   FAKE_CUDA_ARCH=87        the GPUs' architecture */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tpat/tpat_cuda.h"
#include "tpat/tpat_rt.h"

enum {
	INVALID = 1,
	DEINITIALIZED = 4,
	NO_BINARY = 209,
	PTX_VERSION = 222,
	NOT_FOUND = 500,
	CAPTURING = 900,
	UPDATE_FAILED = 910,
	BROKEN = 700,
	DEVICES = 2,
	MAX_GRAPH = 4096,
};
static const size_t total = (size_t)16 << 30;

/* ---- Objects: each belongs to a context, and counts as so much memory. */

enum kind { CONTEXT, MEMORY, LIBRARY, KERNEL, STREAM, EVENT, GRAPH, EXEC };

struct object {
	struct object *next, **place;
	struct object *context; /* null for contexts */
	enum kind kind;
	size_t bytes;
	/* context */
	int device, retained;
	unsigned long long id;
	/* memory */
	void *pointer;
	/* library, kernel */
	const struct tpat_rt_plugin *plugin;
	const struct tpat_rt_kernel *kernel;
	struct object *library;
	/* stream: the graph in which it is captured; graph: its nodes */
	struct object *captured;
	struct node *node;
	int nodes;
	double seconds; /* event: when it was recorded */
};

/* A launch with its arguments, or a copy. */
struct node {
	const struct tpat_rt_kernel *kernel;
	unsigned grid[3];
	char (*arg)[TPAT_RT_MAP_BYTES];
	void *to;
	void *from;
	size_t bytes;
};

static struct object *all, *primary[DEVICES];
static size_t used;
static unsigned long long ids;
static bool ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct object *current;

static void stop(const char *call)
{
	fprintf(stderr, "fake_cuda: %s of what does not exist\n", call);
	abort();
}

static int number(const char *variable, int otherwise)
{
	const char *text = getenv(variable);
	return text ? atoi(text) : otherwise;
}

static struct object *add(enum kind kind, size_t bytes)
{
	struct object *x = calloc(1, sizeof *x);
	*x = (struct object){ .kind = kind, .bytes = bytes, .context = kind == CONTEXT ? NULL : current };
	pthread_mutex_lock(&lock);
	x->next = all;
	x->place = &all;
	if (all)
		all->place = &x->next;
	all = x;
	used += bytes;
	pthread_mutex_unlock(&lock);
	return x;
}

static struct object *find(const void *handle, enum kind kind, const char *call)
{
	pthread_mutex_lock(&lock);
	struct object *x = all;
	while (x && (x != handle || x->kind != kind))
		x = x->next;
	pthread_mutex_unlock(&lock);
	if (!x)
		stop(call);
	return x;
}

static void drop(struct object *x)
{
	pthread_mutex_lock(&lock);
	*x->place = x->next;
	if (x->next)
		x->next->place = x->place;
	used -= x->bytes;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < x->nodes; i++)
		free(x->node[i].arg);
	free(x->node);
	free(x->pointer);
	free(x);
}

/* ---- The driver, its devices and contexts. */

__attribute__((destructor)) static void end(void)
{
	ended = true;
}

int cuInit(unsigned flags)
{
	return flags ? INVALID : ended ? DEINITIALIZED : number("FAKE_CUDA_INIT", 0);
}
int cuDriverGetVersion(int *version)
{
	*version = number("FAKE_CUDA_VERSION", 99000);
	return 0;
}
int cuDeviceGetCount(int *n)
{
	*n = DEVICES;
	return 0;
}
int cuDeviceGet(int *device, int index)
{
	*device = index;
	return index < 0 || index >= DEVICES;
}
int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake GPU %d", device);
	return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	(void)device;
	int arch = number("FAKE_CUDA_ARCH", 90);
	*value = attribute == 75 ? arch / 10 : attribute == 76 ? arch % 10 : attribute == 16 ? 8 : 1;
	return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = total;
	return 0;
}

static struct object *context_new(int device)
{
	struct object *x = add(CONTEXT, 1 << 20);
	x->device = device;
	x->id = ++ids;
	return x;
}

static void context_end(struct object *context)
{
	for (struct object *x = all, *next; x; x = next) {
		next = x->next;
		if (x->context == context)
			drop(x);
	}
	if (current == context)
		current = NULL;
	drop(context);
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	if (device < 0 || device >= DEVICES)
		return INVALID;
	if (!primary[device])
		primary[device] = context_new(device);
	primary[device]->retained++;
	*context = primary[device];
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
	if (!primary[device])
		stop("cuDevicePrimaryCtxRelease");
	if (--primary[device]->retained == 0) {
		context_end(primary[device]);
		primary[device] = NULL;
	}
	return 0;
}
int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	(void)flags;
	*context = current = context_new(device);
	return 0;
}
int cuCtxDestroy_v2(void *context)
{
	context_end(find(context, CONTEXT, "cuCtxDestroy"));
	return 0;
}
int cuCtxSetCurrent(void *context)
{
	current = context ? find(context, CONTEXT, "cuCtxSetCurrent") : NULL;
	return 0;
}
int cuCtxGetCurrent(void **context)
{
	*context = current;
	return ended ? DEINITIALIZED : 0;
}
int cuCtxGetId(const void *context, unsigned long long *id)
{
	*id = find(context, CONTEXT, "cuCtxGetId")->id;
	return 0;
}
int cuCtxGetDevice(int *device)
{
	*device = current ? current->device : 0;
	return !current;
}
int cuCtxSynchronize(void)
{
	return !current;
}
int cuThreadExchangeStreamCaptureMode(int *mode)
{
	static _Thread_local int now;
	int before = now;
	now = *mode;
	*mode = before;
	return 0;
}

/* ---- Memory. */

int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
	struct object *x;
	if (!current || bytes == 0)
		return INVALID;
	if (bytes > total - used)
		return 2;
	x = add(MEMORY, bytes);
	x->pointer = aligned_alloc(256, (bytes + 255) / 256 * 256);
	*p = (uint64_t)(uintptr_t)x->pointer;
	return x->pointer ? 0 : 2;
}
int cuMemFree_v2(uint64_t p)
{
	pthread_mutex_lock(&lock);
	struct object *x = all;
	while (x && (x->kind != MEMORY || x->pointer != (void *)(uintptr_t)p))
		x = x->next;
	pthread_mutex_unlock(&lock);
	if (!x)
		stop("cuMemFree");
	drop(x);
	return 0;
}
int cuMemAllocAsync(uint64_t *p, size_t bytes, void *stream)
{
	(void)stream;
	return cuMemAlloc_v2(p, bytes);
}
int cuMemFreeAsync(uint64_t p, void *stream)
{
	(void)stream;
	return cuMemFree_v2(p);
}
int cuMemGetInfo_v2(size_t *free_bytes, size_t *all_bytes)
{
	*free_bytes = total - used;
	*all_bytes = total;
	return !current;
}

/* ---- Streams, copies and graphs. */

static struct node *record(struct object *graph)
{
	if (graph->nodes == MAX_GRAPH)
		stop("more nodes");
	struct node *n = &graph->node[graph->nodes++];
	*n = (struct node){ 0 };
	return n;
}

static struct object *graph_of(void *stream)
{
	return stream ? find(stream, STREAM, "a call with a stream")->captured : NULL;
}

static int copy(void *to, void *from, size_t bytes, void *stream)
{
	struct object *graph = graph_of(stream);
	if (graph) {
		struct node *n = record(graph);
		n->to = to, n->from = from, n->bytes = bytes;
	} else {
		memcpy(to, from, bytes);
	}
	return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
	(void)flags;
	*stream = add(STREAM, 1024);
	return 0;
}
int cuStreamDestroy_v2(void *stream)
{
	drop(find(stream, STREAM, "cuStreamDestroy"));
	return 0;
}
int cuStreamSynchronize(void *stream)
{
	return !stream || getenv("FAKE_CUDA_BREAKS") ? BROKEN : graph_of(stream) ? CAPTURING : 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	return copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	return copy(to, (void *)(uintptr_t)from, bytes, stream);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream)
{
	return copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes, stream);
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	struct object *x = find(stream, STREAM, "cuStreamBeginCapture");
	(void)mode;
	if (x->captured)
		return CAPTURING;
	x->captured = add(GRAPH, 4096);
	x->captured->node = calloc(MAX_GRAPH, sizeof *x->captured->node);
	return 0;
}
int cuStreamEndCapture(void *stream, void **graph)
{
	struct object *x = find(stream, STREAM, "cuStreamEndCapture");
	*graph = x->captured;
	x->captured = NULL;
	return *graph ? 0 : INVALID;
}
int cuGraphDestroy(void *graph)
{
	drop(find(graph, GRAPH, "cuGraphDestroy"));
	return 0;
}

static void copy_nodes(struct object *to, const struct object *from)
{
	for (int i = 0; i < to->nodes; i++)
		free(to->node[i].arg);
	free(to->node);
	to->nodes = from->nodes;
	to->node = calloc((size_t)from->nodes + 1, sizeof *to->node);
	for (int i = 0; i < from->nodes; i++) {
		to->node[i] = from->node[i];
		if (!from->node[i].kernel)
			continue;
		size_t bytes =
		        (size_t)(from->node[i].kernel->args + from->node[i].kernel->maps + 1) * TPAT_RT_MAP_BYTES;
		to->node[i].arg = aligned_alloc(64, bytes);
		memcpy(to->node[i].arg, from->node[i].arg, bytes);
	}
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	struct object *x = add(EXEC, 4096);
	(void)flags;
	copy_nodes(x, find(graph, GRAPH, "cuGraphInstantiate"));
	*exec = x;
	return 0;
}
int cuGraphExecUpdate_v2(void *exec, void *graph, void *result)
{
	struct object *x = find(exec, EXEC, "cuGraphExecUpdate");
	const struct object *g = find(graph, GRAPH, "cuGraphExecUpdate");
	*(int *)result = x->nodes != g->nodes; /* CU_GRAPH_EXEC_UPDATE_SUCCESS, CU_GRAPH_EXEC_UPDATE_ERROR */
	for (int i = 0; i < x->nodes && *(int *)result == 0; i++)
		*(int *)result = x->node[i].kernel != g->node[i].kernel;
	if (*(int *)result)
		return UPDATE_FAILED;
	copy_nodes(x, g);
	return 0;
}
int cuGraphExecDestroy(void *exec)
{
	drop(find(exec, EXEC, "cuGraphExecDestroy"));
	return 0;
}

/* ---- Code. */

/* The toolkit that made PTX, by its ".version 8.5": 12.5; 0: it is not PTX. */
static int toolkit_of(const char *code)
{
	const char *at = code[0] == '\177' ? NULL : strstr(code, ".version ");
	int major = 0, minor = 0;
	if (!at || sscanf(at, ".version %d.%d", &major, &minor) != 2)
		return 0;
	if (major == 8 && minor > 5) /* CUDA 12.6 has PTX 8.5, 12.7 and later one less than their own number */
		minor++;
	return (major + 4) * 1000 + minor * 10;
}

/* Returns the plugin of the library with this code. */
static const struct tpat_rt_plugin *plugin_of(const void *code)
{
	Dl_info info;
	const struct tpat_rt_plugin *found = NULL;
	if (!dladdr(code, &info))
		return NULL;
	void *library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	const struct tpat_rt_library *l = library ? dlsym(library, "tpat_library") : NULL;
	for (int32_t p = 0; l && p < l->plugins && !found; p++)
		for (int32_t i = 0; i < l->plugin[p].images; i++)
			if (l->plugin[p].image[i].data == code)
				found = &l->plugin[p];
	if (library)
		dlclose(library);
	return found;
}

int cuLibraryLoadData(void **library, const void *code, int *option, void **value, unsigned options, int *more,
                      void **more_value, unsigned more_options)
{
	int toolkit = toolkit_of(code), version;
	(void)more, (void)more_value, (void)more_options;
	for (unsigned i = 0; i < options; i++)
		if (option[i] == 5)
			*(char *)value[i] = 0;
	cuDriverGetVersion(&version);
	if (toolkit > version / 10 * 10)
		return PTX_VERSION;
	if (!toolkit && number("FAKE_CUDA_CUBINS", 0))
		return number("FAKE_CUDA_CUBINS", 0);
	const struct tpat_rt_plugin *plugin = plugin_of(code);
	if (!plugin || !current)
		return INVALID;
	struct object *x = add(LIBRARY, 1 << 16);
	x->plugin = plugin;
	*library = x;
	return 0;
}
int cuLibraryUnload(void *library)
{
	struct object *gone = find(library, LIBRARY, "cuLibraryUnload");
	for (struct object *x = all, *next; x; x = next) {
		next = x->next;
		if (x->kind == KERNEL && x->library == gone)
			drop(x);
	}
	drop(gone);
	return 0;
}
int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
	struct object *l = find(library, LIBRARY, "cuLibraryGetKernel");
	const struct tpat_rt_plugin *p = l->plugin;
	for (int32_t t = 0; t < p->tactics; t++)
		for (int32_t s = 0; s < p->tactic[t].steps; s++)
			for (int32_t k = 0; k < p->tactic[t].step[s].kernels; k++) {
				const struct tpat_rt_kernel *found = &p->tactic[t].step[s].kernel[k];
				if (strcmp(found->name, name) != 0 || !found->cpu)
					continue;
				struct object *x = add(KERNEL, 64);
				x->kernel = found;
				x->library = l;
				*kernel = x;
				return 0;
			}
	return NOT_FOUND;
}
int cuKernelGetFunction(void **function, void *kernel)
{
	*function = find(kernel, KERNEL, "cuKernelGetFunction");
	return 0;
}
int cuModuleLoadDataEx(void **module, const void *code, unsigned options, int *option, void **value)
{
	return cuLibraryLoadData(module, code, option, value, options, NULL, NULL, 0);
}
int cuModuleUnload(void *module)
{
	return cuLibraryUnload(module);
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
	return cuLibraryGetKernel(function, module, name);
}
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
	(void)attribute;
	find(function, KERNEL, "cuFuncGetAttribute");
	*value = 32;
	return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
	(void)attribute, (void)value;
	find(function, KERNEL, "cuFuncSetAttribute");
	return 0;
}

static size_t arg_bytes(const struct tpat_rt_kernel *k, int32_t i)
{
	return i >= k->args ? TPAT_RT_MAP_BYTES : k->arg[i].kind == TPAT_RT_ARG_INT ? 4 : 8;
}

static void run(const struct tpat_rt_kernel *k, const unsigned *grid, void *const *args)
{
	uint32_t block[3];
	for (block[2] = 0; block[2] < grid[2]; block[2]++)
		for (block[1] = 0; block[1] < grid[1]; block[1]++)
			for (block[0] = 0; block[0] < grid[0]; block[0]++)
				k->cpu(args, block);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **args, void **extra)
{
	const struct tpat_rt_kernel *k = find(function, KERNEL, "cuLaunchKernel")->kernel;
	struct object *graph = graph_of(stream);
	const unsigned grid[3] = { gx, gy, gz };
	(void)bx, (void)by, (void)bz, (void)shared, (void)extra;
	if (!gx || !gy || !gz)
		return INVALID;
	if (!graph) {
		run(k, grid, args);
		return 0;
	}
	struct node *n = record(graph);
	n->kernel = k;
	memcpy(n->grid, grid, sizeof grid);
	n->arg = aligned_alloc(64, (size_t)(k->args + k->maps + 1) * TPAT_RT_MAP_BYTES);
	for (int32_t i = 0; i < k->args + k->maps; i++)
		memcpy(n->arg[i], args[i], arg_bytes(k, i));
	return 0;
}
int cuLaunchKernelEx(const struct tpat_cuda_launch *l, void *function, void **args, void **extra)
{
	return cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
	                      l->shared, l->stream, args, extra);
}
int cuGraphLaunch(void *exec, void *stream)
{
	const struct object *x = find(exec, EXEC, "cuGraphLaunch");
	find(stream, STREAM, "cuGraphLaunch");
	for (int i = 0; i < x->nodes; i++) {
		const struct node *n = &x->node[i];
		void *args[TPAT_RT_MAX_ARGS + TPAT_RT_MAX_MAPS];
		if (!n->kernel) {
			memcpy(n->to, n->from, n->bytes);
			continue;
		}
		for (int32_t k = 0; k < n->kernel->args + n->kernel->maps; k++)
			args[k] = n->arg[k];
		run(n->kernel, n->grid, args);
	}
	return 0;
}

/* ---- Events: work is done when it is given. */

int cuEventCreate(void **event, unsigned flags)
{
	(void)flags;
	*event = add(EVENT, 512);
	return 0;
}
int cuEventDestroy_v2(void *event)
{
	drop(find(event, EVENT, "cuEventDestroy"));
	return 0;
}
int cuEventRecord(void *event, void *stream)
{
	struct timespec now;
	find(stream, STREAM, "cuEventRecord");
	clock_gettime(CLOCK_MONOTONIC, &now);
	find(event, EVENT, "cuEventRecord")->seconds = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
	return 0;
}
int cuEventSynchronize(void *event)
{
	find(event, EVENT, "cuEventSynchronize");
	return getenv("FAKE_CUDA_BREAKS") ? BROKEN : 0;
}
int cuEventElapsedTime(float *ms, void *from, void *to)
{
	double first = find(from, EVENT, "cuEventElapsedTime")->seconds;
	*ms = (float)((find(to, EVENT, "cuEventElapsedTime")->seconds - first) * 1e3);
	return 0;
}

/* ---- Errors, and what nobody needs. */

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{ BROKEN, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered" },
	{ DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down" },
	{ 100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected" },
	{ NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device" },
	{ PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	  "the provided PTX was compiled with an unsupported toolchain." },
	{ INVALID, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
};

static int describe(int error, const char **out, bool name)
{
	*out = name ? "CUDA_ERROR_UNKNOWN" : "unknown error";
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == error)
			*out = name ? errors[i].name : errors[i].text;
	return 0;
}

int cuGetErrorName(int error, const char **text)
{
	return describe(error, text, true);
}
int cuGetErrorString(int error, const char **text)
{
	return describe(error, text, false);
}

#define UNUSED(name) \
	int name(void) \
	{ \
		return 801; \
	}
UNUSED(cuMemsetD8Async)
UNUSED(cuStreamWaitEvent)
UNUSED(cuTensorMapEncodeTiled)
UNUSED(cuTensorMapEncodeIm2col)
