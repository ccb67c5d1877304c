/* A CUDA driver without a GPU, beside fake_nvrtc.c: kernels run on the emulator, device memory is the emulator's. For
 * LD_LIBRARY_PATH as libcuda.so.1, and for TPAT_NVRTC. A stream's work is done as late as a GPU may do it: when
 * something waits for it. So a missing wait, or memory that is used again too early, gives wrong results.
 * FAKE_GPU_COUNT: the number of GPUs (1). FAKE_GPU_LOG: a file to which what happened, and what was not freed, is
 * appended at the end of the process. FAKE_GPU_IDLE: kernels do nothing, at once: what is left is the host's time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/emulator.h"
#include "tests/provider/fake_gpu.h"

enum { INVALID = 1, NO_MEMORY = 2, FORKED = 3, NOT_FOUND = 500, FAULT = 700, UNKNOWN = 999, MOST_ARGS = 128 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fault; /* once a kernel failed, everything does */
static struct {
	long launches, in, out, within, waits, replays;
	long memory, streams, events, modules, graphs, contexts; /* not freed */
} count;

static void enter(void)
{
	pthread_mutex_lock(&lock);
}

static int leave(int rc)
{
	static pid_t process;
	pthread_mutex_unlock(&lock);
	if (!process)
		process = getpid();
	return getpid() != process ? FORKED : rc ? rc : fault;
}

static int gpus(void)
{
	const char *n = getenv("FAKE_GPU_COUNT");
	return n ? atoi(n) : 1;
}

static __attribute__((destructor)) void report(void)
{
	const char *path = getenv("FAKE_GPU_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	if (!f)
		return;
	fprintf(f,
	        "launches %ld in %ld out %ld within %ld waits %ld replays %ld memory %ld streams %ld events %ld "
	        "modules %ld "
	        "graphs %ld contexts %ld\n",
	        count.launches, count.in, count.out, count.within, count.waits, count.replays, count.memory,
	        count.streams, count.events, count.modules, count.graphs, count.contexts);
	fclose(f);
}

/* ---- Streams and what is in them. */

struct function {
	struct module *of;
	char name[256];
	int args;
	struct function *next;
};

struct stream;
struct op {
	enum { LAUNCH, COPY, FILL, WAIT } kind;
	const struct function *function;
	uint32_t grid[3], block[3], shared;
	uint64_t arg[MOST_ARGS];
	void *to, *from, *staged; /* `staged`: the copy of host memory that is `from` */
	int byte;
	size_t bytes;
	struct stream *other;
	long until; /* of the other's operations */
	struct op *next;
};

struct stream {
	struct op *first, **last;
	long added, done;
	struct graph *recording;
	int device;
	struct stream *next;
};

struct graph {
	struct op *first, **last;
};

static struct stream *streams;

static void fail(const char *what, const struct err *e)
{
	fprintf(stderr, "fake GPU: %s: %s\n", what, e ? e->text : "");
	fault = FAULT;
}

static void launch(const struct op *o);

static void run(struct stream *s, long until)
{
	while (s->first && s->done < until) {
		struct op *o = s->first;
		s->first = o->next;
		if (!s->first)
			s->last = &s->first;
		s->done++;
		switch (o->kind) {
		case LAUNCH: launch(o); break;
		case COPY: emulator_copy_in(o->to, o->from, o->bytes); break;
		case FILL: emulator_fill(o->to, o->byte, o->bytes); break;
		case WAIT: run(o->other, o->until); break;
		}
		free(o->staged);
		free(o);
	}
}

static void run_all(void)
{
	for (struct stream *s = streams; s; s = s->next)
		run(s, s->added);
}

static bool is_idle(void)
{
	static int idle = -1;
	if (idle < 0)
		idle = getenv("FAKE_GPU_IDLE") != NULL;
	return idle;
}

static void add(struct stream *s, const struct op *o)
{
	if (is_idle() && o->kind == LAUNCH && !s->recording)
		return;
	struct op *x = malloc(sizeof *x);
	*x = *o;
	x->next = NULL;
	if (s->recording) {
		*s->recording->last = x;
		s->recording->last = &x->next;
		return;
	}
	*s->last = x;
	s->last = &x->next;
	s->added++;
}

EXPORT int cuStreamCreate(struct stream **out, unsigned flags)
{
	if (flags != 1)
		return INVALID;
	enter();
	struct stream *s = *out = calloc(1, sizeof *s);
	s->last = &s->first;
	s->next = streams;
	streams = s;
	count.streams++;
	return leave(0);
}

EXPORT int cuStreamDestroy_v2(struct stream *s)
{
	enter();
	run(s, s->added); /* others may wait for its events */
	struct stream **p = &streams;
	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	free(s);
	count.streams--;
	return leave(0);
}

EXPORT int cuStreamSynchronize(struct stream *s)
{
	enter();
	count.waits++;
	run(s, s->added);
	return leave(0);
}

EXPORT int cuCtxSynchronize(void)
{
	enter();
	count.waits++;
	run_all();
	return leave(0);
}

/* ---- Events. */

struct event {
	struct stream *of;
	long until;
};

EXPORT int cuEventCreate(struct event **out, unsigned flags)
{
	(void)flags;
	enter();
	*out = calloc(1, sizeof **out);
	count.events++;
	return leave(0);
}

EXPORT int cuEventDestroy_v2(struct event *ev)
{
	enter();
	free(ev);
	count.events--;
	return leave(0);
}

EXPORT int cuEventRecord(struct event *ev, struct stream *s)
{
	enter();
	*ev = (struct event){ s, s->added };
	return leave(0);
}

EXPORT int cuEventSynchronize(struct event *ev)
{
	enter();
	count.waits++;
	if (ev->of)
		run(ev->of, ev->until);
	return leave(0);
}

EXPORT int cuStreamWaitEvent(struct stream *s, struct event *ev, unsigned flags)
{
	enter();
	if (ev->of)
		add(s, &(struct op){ .kind = WAIT, .other = ev->of, .until = ev->until });
	return leave(flags ? INVALID : 0);
}

EXPORT int cuEventElapsedTime(float *ms, struct event *from, struct event *to)
{
	*ms = 0;
	return from && to ? 0 : INVALID;
}

/* ---- Memory. */

EXPORT int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
	enter();
	void *at = bytes >> 40 ? NULL : emulator_alloc("memory", bytes, 0);
	*p = (uint64_t)(uintptr_t)at;
	count.memory += at != NULL;
	return at ? leave(0) : (leave(0), NO_MEMORY);
}

EXPORT int cuMemFree_v2(uint64_t p)
{
	enter();
	run_all();
	emulator_free((void *)(uintptr_t)p);
	count.memory -= p != 0;
	return leave(p ? 0 : INVALID);
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct stream *s)
{
	enter();
	void *staged = malloc(bytes);
	memcpy(staged, from, bytes);
	count.in++;
	add(s, &(struct op){
	               .kind = COPY, .to = (void *)(uintptr_t)to, .from = staged, .staged = staged, .bytes = bytes });
	return leave(0);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *s)
{
	enter();
	count.out++;
	run(s, s->added); /* as a driver does for memory that is not pinned */
	int64_t missing = emulator_first_unwritten((const void *)(uintptr_t)from, bytes);
	if (missing >= 0 && !is_idle()) {
		fprintf(stderr, "fake GPU: byte %lld of %zu that are copied to the host was never written\n",
		        (long long)missing, bytes);
		fault = FAULT;
	}
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return leave(0);
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, struct stream *s)
{
	enter();
	count.within++;
	add(s,
	    &(struct op){ .kind = COPY, .to = (void *)(uintptr_t)to, .from = (void *)(uintptr_t)from, .bytes = bytes });
	return leave(0);
}

EXPORT int cuMemsetD8Async(uint64_t p, unsigned char byte, size_t bytes, struct stream *s)
{
	enter();
	add(s, &(struct op){ .kind = FILL, .to = (void *)(uintptr_t)p, .byte = byte, .bytes = bytes });
	return leave(0);
}

/* ---- Code. */

struct module {
	struct emulator_module *code;
	char *text;
	struct function *functions;
};

EXPORT int cuModuleLoadDataEx(struct module **out, const void *image, unsigned n, int *option, void **value)
{
	const struct image *x = image;
	struct err e = { 0 };
	(void)n, (void)option, (void)value;
	if (memcmp(x->magic, "fakegpu", 8) != 0)
		return INVALID;
	enter();
	struct module *m = calloc(1, sizeof *m);
	if (emulator_load(&m->code, x + 1, x->code, &e) < 0) {
		fail("cuModuleLoadDataEx", &e);
		free(m);
		return leave(0);
	}
	m->text = strndup((const char *)(x + 1) + x->code, x->text);
	*out = m;
	count.modules++;
	return leave(0);
}

EXPORT int cuModuleUnload(struct module *m)
{
	enter();
	run_all();
	for (struct function *f = m->functions, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	emulator_unload(m->code);
	free(m->text);
	free(m);
	count.modules--;
	return leave(0);
}

static int args_of(const char *text, const char *name)
{
	char head[300];
	snprintf(head, sizeof head, " %s(", name);
	for (const char *p = strstr(text, "__global__"); p; p = strstr(p + 1, "__global__")) {
		const char *open = strchr(strstr(p, "void ") ? strstr(p, "void ") : p, '('), *at = open;
		if (!open || strncmp(open - strlen(head) + 1, head, strlen(head)) != 0)
			continue;
		int n = open[1] != ')';
		for (at = open; *at && *at != ')'; at++)
			n += *at == ',';
		return n;
	}
	return -1;
}

EXPORT int cuModuleGetFunction(struct function **out, struct module *m, const char *name)
{
	if (!emulator_has_kernel(m->code, name))
		return NOT_FOUND;
	enter();
	struct function *f = calloc(1, sizeof *f);
	snprintf(f->name, sizeof f->name, "%s", name);
	f->of = m;
	f->args = args_of(m->text, name);
	f->next = m->functions;
	m->functions = *out = f;
	return leave(f->args < 0 || f->args > MOST_ARGS ? UNKNOWN : 0);
}

EXPORT int cuFuncSetAttribute(struct function *f, int attribute, int value)
{
	(void)f;
	return attribute == 8 && value <= 100 << 10 ? 0 : INVALID;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, struct function *f)
{
	*value = 0;
	return f && attribute ? 0 : INVALID;
}

static void launch(const struct op *o)
{
	struct err e = { 0 };
	void *arg[MOST_ARGS];
	if (fault)
		return;
	for (int i = 0; i < o->function->args; i++)
		arg[i] = (void *)(uintptr_t)&o->arg[i];
	if (emulator_launch(o->function->of->code, NULL, o->function->name, o->grid, o->block, o->shared, arg, &e) < 0)
		fail(o->function->name, &e);
}

EXPORT int cuLaunchKernel(struct function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, struct stream *s, void **args, void **extra)
{
	struct op o = {
		.kind = LAUNCH, .function = f, .grid = { gx, gy, gz }, .block = { bx, by, bz }, .shared = shared
	};
	if (extra || !s)
		return INVALID;
	for (int i = 0; i < f->args; i++)
		memcpy(&o.arg[i], args[i], sizeof o.arg[i]);
	enter();
	count.launches++;
	add(s, &o);
	return leave(0);
}

/* ---- Graphs. */

EXPORT int cuStreamBeginCapture_v2(struct stream *s, int mode)
{
	enter();
	int rc = mode != 1 || s->recording ? INVALID : 0;
	if (!rc) {
		s->recording = calloc(1, sizeof *s->recording);
		s->recording->last = &s->recording->first;
		count.graphs++;
	}
	return leave(rc);
}

EXPORT int cuStreamEndCapture(struct stream *s, struct graph **out)
{
	enter();
	*out = s->recording;
	s->recording = NULL;
	return leave(*out ? 0 : INVALID);
}

static struct graph *copy_graph(const struct graph *g)
{
	struct graph *x = calloc(1, sizeof *x);
	struct stream to = { .recording = x };
	x->last = &x->first;
	for (const struct op *o = g->first; o; o = o->next)
		add(&to, o);
	return x;
}

static void free_graph(struct graph *g)
{
	for (struct op *o = g->first, *next; o; o = next) {
		next = o->next;
		free(o);
	}
	free(g);
	count.graphs--;
}

EXPORT int cuGraphInstantiateWithFlags(struct graph **out, struct graph *g, unsigned long long flags)
{
	enter();
	*out = copy_graph(g);
	count.graphs++;
	return leave(flags ? INVALID : 0);
}

EXPORT int cuGraphLaunch(struct graph *g, struct stream *s)
{
	enter();
	count.replays++;
	for (const struct op *o = g->first; o; o = o->next)
		add(s, o);
	return leave(0);
}

/* For tests: the number of graph launches so far. */
EXPORT long fake_gpu_replays(void)
{
	return count.replays;
}

/* For tests: operations that are not done yet; streams and blocks of memory that there are now. */
EXPORT long fake_gpu_pending(void)
{
	long n = 0;
	enter();
	for (const struct stream *s = streams; s; s = s->next)
		n += s->added - s->done;
	leave(0);
	return n;
}

EXPORT long fake_gpu_streams(void)
{
	return count.streams;
}

EXPORT long fake_gpu_memory(void)
{
	return count.memory;
}

EXPORT int cuGraphExecDestroy(struct graph *g)
{
	enter();
	free_graph(g);
	return leave(0);
}

EXPORT int cuGraphDestroy(struct graph *g)
{
	enter();
	free_graph(g);
	return leave(0);
}

/* ---- The device. */

EXPORT int cuInit(unsigned flags)
{
	return flags != 0;
}
EXPORT int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}
EXPORT int cuDeviceGetCount(int *n)
{
	*n = gpus();
	return 0;
}
EXPORT int cuDeviceGet(int *device, int index)
{
	*device = index;
	return index < 0 || index >= gpus();
}
EXPORT int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake GPU %d", device);
	return 0;
}
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	static const int values[][2] = { { 1, 1024 },   { 13, 1700000 },   { 16, 84 },        { 38, 6 << 20 },
		                         { 39, 1536 },  { 75, ARCH / 10 }, { 76, ARCH % 10 }, { 81, 100 << 10 },
		                         { 82, 65536 }, { 97, 99 << 10 },  { 106, 16 },       { 36, 9000000 },
		                         { 37, 384 } };
	*value = 0;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (values[i][0] == attribute)
			*value = values[i][1];
	return device < 0 || device >= gpus();
}
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = (size_t)8 << 30;
	return device < 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static char context_of[8];
	enter();
	*context = &context_of[device];
	count.contexts++;
	return leave(0);
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
	enter();
	count.contexts--;
	return leave(device < 0);
}
EXPORT int cuCtxSetCurrent(void *context)
{
	return !context;
}
EXPORT int cuTensorMapEncodeTiled(void)
{
	return INVALID;
}
EXPORT int cuTensorMapEncodeIm2col(void)
{
	return INVALID;
}
EXPORT int cuGetErrorName(int error, const char **text)
{
	*text = error == FAULT       ? "CUDA_ERROR_ILLEGAL_ADDRESS"
	        : error == NO_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
	                             : "CUDA_ERROR_UNKNOWN";
	return 0;
}
EXPORT int cuGetErrorString(int error, const char **text)
{
	*text = error == FAULT       ? "an illegal memory access was encountered"
	        : error == NO_MEMORY ? "out of memory"
	                             : "unknown error";
	return 0;
}
