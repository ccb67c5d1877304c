/* SPDX-License-Identifier: Apache-2.0 */
/* rt_cuda.c: the CUDA driver as a device, opened on first use, so that the library loads on machines without one.
 * Everything runs in the calling thread's current context. Numbers and signatures: CUDA driver API, cuda.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_core.h"
#include "tpat/tpat_cuda.h"

typedef void *handle; /* CUcontext, CUlibrary, CUkernel, CUmodule, CUfunction, CUstream */

enum {
	CUDA_NO_BINARY = 209, /* of this GPU, or of this driver */
	CUDA_LATER_PTX = 222,
	ATTR_PROCESSORS = 16, /* of a device */
	ATTR_MAJOR = 75,
	ATTR_MINOR = 76,
	ATTR_COOPERATIVE = 95,
	FUNC_NUM_REGS = 4, /* of a function; asking loads it */
	FUNC_MAX_DYNAMIC = 8,
	JIT_ERROR_BUFFER = 5, /* options of loading */
	JIT_ERROR_BYTES = 6,
	STREAM_NON_BLOCKING = 1,
	CAPTURE_RELAXED = 2,
	MAX_CONTEXTS = 256,
};

/* The driver. Entries marked optional are null on older ones. */
static struct {
	int (*init)(unsigned flags);
	int (*error_string)(int code, const char **text);
	int (*context)(handle *context);
	int (*context_id)(handle context, unsigned long long *id); /* optional: 12.0 */
	int (*context_device)(int *device);
	int (*attribute)(int *value, int attribute, int device);
	int (*library_load)(handle *library, const void *code, int *option, void **value, unsigned options, int *,
	                    void **, unsigned); /* optional: 12.0, with the next three */
	int (*library_unload)(handle library);
	int (*library_kernel)(handle *kernel, handle library, const char *name);
	int (*kernel_function)(handle *function, handle kernel);
	int (*module_load)(handle *module, const void *code, unsigned options, int *option, void **value);
	int (*module_unload)(handle module);
	int (*module_function)(handle *function, handle module, const char *name);
	int (*function_get)(int *value, int attribute, handle function);
	int (*function_set)(handle function, int attribute, int value);
	int (*launch)(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	              unsigned shared, handle stream, void **args, void **extra);
	int (*launch_with)(const struct tpat_cuda_launch *l, handle function, void **args, void **extra); /* optional:
	                                                                                                   * 11.8 */
	int (*version)(int *version);
	int (*alloc)(unsigned long long *pointer, size_t bytes);
	int (*free)(unsigned long long pointer);
	int (*copy)(unsigned long long to, const void *from, size_t bytes, handle stream);
	int (*copy_within)(unsigned long long to, unsigned long long from, size_t bytes, handle stream);
	int (*alloc_ordered)(unsigned long long *pointer, size_t bytes, handle stream); /* optional: 11.2, like the next
	                                                                                 */
	int (*free_ordered)(unsigned long long pointer, handle stream);
	int (*copy_out)(void *to, unsigned long long from, size_t bytes, handle stream);
	int (*stream_new)(handle *stream, unsigned flags);
	int (*stream_wait)(handle stream);
	int (*stream_free)(handle stream);
	int (*capture_mode)(int *mode); /* optional: 10.1 */
	int (*map_encode)(void *map, int type, unsigned rank, const void *from, const unsigned long long *dim,
	                  const unsigned long long *stride, const unsigned *box, const unsigned *step, int interleave,
	                  int swizzle, int promotion, int fill); /* optional: 12.0, like the next */
	int (*map_encode_walk)(void *map, int type, unsigned rank, const void *from, const unsigned long long *dim,
	                       const unsigned long long *stride, const int *low, const int *high, unsigned channels,
	                       unsigned pixels, const unsigned *step, int interleave, int swizzle, int promotion,
	                       int fill);
	char problem[RT_WHY]; /* why there is no driver; empty if there is one */
} cu;

static const struct {
	const char *name;
	void *at;
	bool optional;
} symbols[] = {
	{ "cuInit", &cu.init, false },
	{ "cuGetErrorString", &cu.error_string, false },
	{ "cuCtxGetCurrent", &cu.context, false },
	{ "cuCtxGetId", &cu.context_id, true },
	{ "cuCtxGetDevice", &cu.context_device, false },
	{ "cuDeviceGetAttribute", &cu.attribute, false },
	{ "cuLibraryLoadData", &cu.library_load, true },
	{ "cuLibraryUnload", &cu.library_unload, true },
	{ "cuLibraryGetKernel", &cu.library_kernel, true },
	{ "cuKernelGetFunction", &cu.kernel_function, true },
	{ "cuModuleLoadDataEx", &cu.module_load, false },
	{ "cuModuleUnload", &cu.module_unload, false },
	{ "cuModuleGetFunction", &cu.module_function, false },
	{ "cuFuncGetAttribute", &cu.function_get, false },
	{ "cuFuncSetAttribute", &cu.function_set, false },
	{ "cuLaunchKernel", &cu.launch, false },
	{ "cuLaunchKernelEx", &cu.launch_with, true },
	{ "cuDriverGetVersion", &cu.version, false },
	{ "cuMemAlloc_v2", &cu.alloc, false },
	{ "cuMemFree_v2", &cu.free, false },
	{ "cuMemcpyHtoDAsync_v2", &cu.copy, false },
	{ "cuMemcpyDtoDAsync_v2", &cu.copy_within, false },
	{ "cuMemAllocAsync", &cu.alloc_ordered, true },
	{ "cuMemFreeAsync", &cu.free_ordered, true },
	{ "cuMemcpyDtoHAsync_v2", &cu.copy_out, false },
	{ "cuStreamCreate", &cu.stream_new, false },
	{ "cuStreamSynchronize", &cu.stream_wait, false },
	{ "cuStreamDestroy_v2", &cu.stream_free, false },
	{ "cuThreadExchangeStreamCaptureMode", &cu.capture_mode, true },
	{ "cuTensorMapEncodeTiled", &cu.map_encode, true },
	{ "cuTensorMapEncodeIm2col", &cu.map_encode_walk, true },
};

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static bool opened; /* the driver is there; whether it works says cu.problem */

static int cuda_why(char why[RT_WHY], int code, const char *call)
{
	const char *text = NULL;

	if (cu.error_string(code, &text) || !text)
		text = "unknown error";
	return rt_why(why, "%s failed: %s (CUDA error %d)%s", call, text, code,
	              code == TPAT_CUDA_FORKED ? "; " TPAT_CUDA_FORKED_HELP : "");
}

static void load_driver(void *library)
{
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *f = dlsym(library, symbols[i].name);
		memcpy(symbols[i].at, &f, sizeof f);
		if (!f && !symbols[i].optional) {
			rt_why(cu.problem, "the CUDA driver is too old: it has no %s", symbols[i].name);
			return;
		}
	}
	int code = cu.init(0);
	if (code)
		cuda_why(cu.problem, code, "cuInit");
}

/* Without a driver the next call looks again: a program may load it later, from a folder of its own. */
static int open_driver(char why[RT_WHY])
{
	if (__atomic_load_n(&opened, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&opening);
	void *library = opened ? NULL : dlopen(RT_CUDA_DRIVER, RTLD_NOW);
	if (library) {
		load_driver(library);
		__atomic_store_n(&opened, true, __ATOMIC_RELEASE);
	}
	bool there = opened;
	pthread_mutex_unlock(&opening);
	return there ? 0 : rt_why(why, "there is no CUDA driver: " RT_CUDA_DRIVER " cannot be opened");
}

/* Contexts seen so far; the index in the table is the device number. A context's id is never reused, its address may
 * be. */
static struct {
	pthread_mutex_t lock;
	unsigned long long id[MAX_CONTEXTS];
	int n;
} contexts = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int cuda_current(void *user, char why[RT_WHY])
{
	handle context = NULL;
	unsigned long long id;

	(void)user;
	if (open_driver(why))
		return -1;
	if (cu.problem[0])
		return rt_why(why, "%s", cu.problem);
	int code = cu.context(&context);
	if (code)
		return cuda_why(why, code, "cuCtxGetCurrent");
	if (!context)
		return rt_why(why, "no CUDA context is current in this thread");
	if (!cu.context_id || cu.context_id(context, &id))
		id = (unsigned long long)(uintptr_t)context;
	/* Entries are only added: those below n never change. */
	int n = __atomic_load_n(&contexts.n, __ATOMIC_ACQUIRE);
	for (int i = 0; i < n; i++)
		if (contexts.id[i] == id)
			return i;
	pthread_mutex_lock(&contexts.lock);
	int i = 0;
	while (i < contexts.n && contexts.id[i] != id)
		i++;
	if (i == contexts.n && i < MAX_CONTEXTS) {
		contexts.id[i] = id;
		__atomic_store_n(&contexts.n, i + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&contexts.lock);
	return i < MAX_CONTEXTS ? i : rt_why(why, "more than %d CUDA contexts in one process", MAX_CONTEXTS);
}

/* Loading allocates and may wait, which a stream capture in this thread would refuse: relaxes its mode meanwhile. */
static int relax(void)
{
	int mode = CAPTURE_RELAXED;

	if (cu.capture_mode)
		cu.capture_mode(&mode);
	return mode; /* the earlier mode */
}

static void restore(int mode)
{
	if (cu.capture_mode)
		cu.capture_mode(&mode);
}

struct part {
	handle library, module; /* one of them */
};

struct module {
	struct part part[TPAT_RT_MAX_PARTS];
	int32_t parts;
	int32_t arch; /* of a compiled image; 0: PTX */
	bool early;   /* code of kernels that may start early and wait themselves */
	int together; /* blocks that can run at the same time and wait for each other */
	int32_t functions;
	struct function {
		const struct module *module;
		const struct tpat_rt_kernel *kernel;
		handle function;
	} function[];
};

/* Rates image `x` for a device: higher is better, 0: does not run. First a cubin of the same architecture, then of the
 * same major number with the nearest lower minor, then PTX of the nearest lower architecture. */
static int suits(const struct tpat_rt_image *x, int arch)
{
	if (x->arch > arch)
		return 0;
	if (x->ptx)
		return 1 + x->arch;
	return x->arch / 10 == arch / 10 ? 10000 + x->arch : 0;
}

/* Loads an image on a GPU of that architecture. */
static int load_image(struct part *m, const struct tpat_rt_image *x, int arch, char why[RT_WHY])
{
	char log[512] = "";
	int option[2] = { JIT_ERROR_BUFFER, JIT_ERROR_BYTES };
	void *value[2] = { log, (void *)(uintptr_t)(sizeof log - 1) };
	bool library = cu.library_load && cu.library_unload && cu.library_kernel && cu.kernel_function;
	int code = library ? cu.library_load(&m->library, x->data, option, value, 2, NULL, NULL, 0)
	                   : cu.module_load(&m->module, x->data, 2, option, value);

	if (code == 0)
		return 0;
	int version = 0;
	if (code == CUDA_NO_BINARY && x->arch != arch)
		return rt_why(why, "this GPU (sm_%d) does not run code for sm_%d: build the library with --arch sm_%d",
		              arch, (int)x->arch, arch);
	if ((code == CUDA_NO_BINARY || code == CUDA_LATER_PTX) && cu.version(&version) == 0 && version)
		return rt_why(why,
		              "the CUDA driver (%d.%d) is older than the library's code: update it, or build with "
		              "NVRTC %d.%d "
		              "(CUDA error %d)",
		              version / 1000, version % 1000 / 10, version / 1000, version % 1000 / 10, code);
	log[strcspn(log, "\r\n")] = 0;
	cuda_why(why, code, library ? "cuLibraryLoadData" : "cuModuleLoadDataEx");
	size_t n = strlen(why);
	if (log[0])
		snprintf(why + n, RT_WHY - n, ": %s", log);
	return -1;
}

static int find_function(const struct module *m, const struct tpat_rt_kernel *k, handle *function, char why[RT_WHY])
{
	const struct part *part = &m->part[k->part];
	handle kernel = NULL;
	int code, registers;

	if (k->part >= m->parts)
		return rt_why(why, "the library is damaged: kernel %s is in part %d of %d", k->name, (int)k->part + 1,
		              (int)m->parts);
	if (part->library) {
		code = cu.library_kernel(&kernel, part->library, k->name);
		if (code == 0)
			code = cu.kernel_function(function, kernel);
	} else {
		code = cu.module_function(function, part->module, k->name);
	}
	/* Querying an attribute loads the code now, not at the first launch, which may be under capture. */
	if (code == 0)
		code = cu.function_get(&registers, FUNC_NUM_REGS, *function);
	if (code == 0 && k->shared_bytes > 0)
		code = cu.function_set(*function, FUNC_MAX_DYNAMIC, k->shared_bytes);
	if (code) {
		char what[128];
		snprintf(what, sizeof what, "making kernel %s ready", k->name);
		return cuda_why(why, code, what);
	}
	return 0;
}

static void unload_parts(struct module *m)
{
	for (; m->parts; m->parts--) {
		struct part *last = &m->part[m->parts - 1];
		if (last->library)
			cu.library_unload(last->library);
		if (last->module)
			cu.module_unload(last->module);
		*last = (struct part){ 0 };
	}
}

static void free_module(struct module *m)
{
	unload_parts(m);
	free(m);
}

/* Loads all parts of the code of which x is one. */
static int load_parts(struct module *m, const struct tpat_rt_plugin *p, const struct tpat_rt_image *x, int arch,
                      char why[RT_WHY])
{
	for (int32_t i = 0; i < p->images && m->parts < TPAT_RT_MAX_PARTS; i++) {
		if (p->image[i].arch != x->arch || p->image[i].ptx != x->ptx)
			continue;
		if (load_image(&m->part[m->parts], &p->image[i], arch, why)) {
			unload_parts(m);
			return -1;
		}
		m->parts++;
	}
	return 0;
}

static bool may_launch_early(void)
{
	int version = 0;

	return cu.launch_with && cu.version(&version) == 0 && version >= TPAT_CUDA_EARLY_DRIVER;
}

/* One block on each multiprocessor; none where launches with attributes are unknown. */
static int count_together(int dev)
{
	int can = 0, processors = 0;

	if (!cu.launch_with || cu.attribute(&can, ATTR_COOPERATIVE, dev) || !can ||
	    cu.attribute(&processors, ATTR_PROCESSORS, dev))
		return 0;
	return processors;
}

/* Tries the images from best to worst, until one loads (a PTX version may be too new, a cubin for another kind of
 * GPU). */
static int load_best(struct module *m, const struct tpat_rt_plugin *p, int arch, char why[RT_WHY])
{
	int below = INT32_MAX;

	for (;;) {
		const struct tpat_rt_image *best = NULL;
		int most = 0;
		for (int32_t i = 0; i < p->images; i++) {
			int s = suits(&p->image[i], arch);
			if (s > most && s < below) {
				most = s;
				best = &p->image[i];
			}
		}
		if (!best)
			break;
		if (load_parts(m, p, best, arch, why) == 0) {
			m->arch = best->ptx ? 0 : best->arch;
			m->early = best->arch >= TPAT_CUDA_EARLY_ARCH && may_launch_early();
			return 0;
		}
		below = most;
	}
	if (below != INT32_MAX)
		return -1; /* `why` is from the last one */
	char list[128] = "";
	for (int32_t i = 0; i < p->images; i++) {
		size_t n = strlen(list);
		if (i && p->image[i].arch == p->image[i - 1].arch && p->image[i].ptx == p->image[i - 1].ptx)
			continue;
		snprintf(list + n, sizeof list - n, "%ssm_%d%s", n ? ", " : "", (int)p->image[i].arch,
		         p->image[i].ptx ? " (PTX)" : "");
	}
	return rt_why(why, "the library has no code for this GPU (sm_%d), only for: %s; build it with --arch sm_%d",
	              arch, list[0] ? list : "none", arch);
}

static const struct function *function_of(const struct module *m, const struct tpat_rt_kernel *k)
{
	for (int32_t i = 0; i < m->functions; i++)
		if (m->function[i].kernel == k)
			return &m->function[i];
	return NULL;
}

/* Loads the functions of all tactics, which may share steps. */
static int load_functions(struct module *m, const struct tpat_rt_plugin *p, char why[RT_WHY])
{
	for (int32_t t = 0; t < p->tactics; t++)
		for (int32_t s = 0; s < p->tactic[t].steps; s++)
			for (int32_t k = 0; k < p->tactic[t].step[s].kernels; k++) {
				const struct tpat_rt_kernel *kernel = &p->tactic[t].step[s].kernel[k];
				if (function_of(m, kernel))
					continue;
				if (kernel->arch && kernel->arch != m->arch) /* it may need more than this GPU has */
					continue;
				m->function[m->functions].module = m;
				m->function[m->functions].kernel = kernel;
				if (find_function(m, kernel, &m->function[m->functions].function, why))
					return -1;
				m->functions++;
			}
	return 0;
}

static int cuda_load(void *user, const struct tpat_rt_plugin *p, void **out, char why[RT_WHY])
{
	int dev, major = 0, minor = 0, code, kernels = 0;

	(void)user;
	if ((code = cu.context_device(&dev)) || (code = cu.attribute(&major, ATTR_MAJOR, dev)) ||
	    (code = cu.attribute(&minor, ATTR_MINOR, dev)))
		return cuda_why(why, code, "asking for the GPU's architecture");
	for (int32_t t = 0; t < p->tactics; t++)
		for (int32_t s = 0; s < p->tactic[t].steps; s++)
			kernels += p->tactic[t].step[s].kernels;
	struct module *m = calloc(1, sizeof *m + (size_t)kernels * sizeof m->function[0]);
	if (!m)
		return rt_why(why, "out of memory");
	m->together = count_together(dev);
	int mode = relax();
	int rc = load_best(m, p, major * 10 + minor, why) || load_functions(m, p, why);
	restore(mode);
	if (rc) {
		free_module(m);
		return -1;
	}
	*out = m;
	return 0;
}

static int cuda_upload(void *user, const void *data, size_t bytes, void **pointer, char why[RT_WHY])
{
	unsigned long long to = 0;
	handle stream = NULL;
	const char *call = "cuMemAlloc";
	int mode = relax();

	(void)user;
	int code = cu.alloc(&to, bytes ? bytes : 1);
	/* A stream of its own: the default stream may be under capture. */
	if (code == 0) {
		call = "cuStreamCreate";
		code = cu.stream_new(&stream, STREAM_NON_BLOCKING);
	}
	if (code == 0 && bytes) {
		call = "cuMemcpyHtoDAsync";
		code = cu.copy(to, data, bytes, stream);
		if (code == 0)
			code = cu.stream_wait(stream);
	}
	if (stream)
		cu.stream_free(stream);
	if (code && to)
		cu.free(to);
	restore(mode);
	if (code)
		return cuda_why(why, code, call);
	*pointer = (void *)(uintptr_t)to;
	return 0;
}

static int cuda_copy(void *user, void *to, const void *from, size_t bytes, void *stream, char why[RT_WHY])
{
	int code =
	        cu.copy_within((unsigned long long)(uintptr_t)to, (unsigned long long)(uintptr_t)from, bytes, stream);

	(void)user;
	return code ? cuda_why(why, code, "cuMemcpyDtoDAsync") : 0;
}

/* In the stream's order, from the driver's pool. */
static int cuda_alloc(void *user, size_t bytes, void *stream, void **pointer, char why[RT_WHY])
{
	unsigned long long to = 0;

	(void)user;
	if (!cu.alloc_ordered || !cu.free_ordered)
		return rt_why(why, "its workspace needs a CUDA driver of 11.2 or later");
	int code = cu.alloc_ordered(&to, bytes ? bytes : 1, stream);
	*pointer = (void *)(uintptr_t)to;
	return code ? cuda_why(why, code, "cuMemAllocAsync") : 0;
}

static void cuda_free(void *user, void *pointer, void *stream)
{
	(void)user;
	if (pointer)
		cu.free_ordered((unsigned long long)(uintptr_t)pointer, stream);
}

static int cuda_read(void *user, void *to, const void *from, size_t bytes, void *stream, char why[RT_WHY])
{
	int code = cu.copy_out(to, (unsigned long long)(uintptr_t)from, bytes, stream);

	(void)user;
	if (code)
		return cuda_why(why, code, "cuMemcpyDtoHAsync");
	code = cu.stream_wait(stream);
	return code ? cuda_why(why, code, "cuStreamSynchronize") : 0;
}

static int cuda_function(void *user, void *module, const struct tpat_rt_plugin *p, const struct tpat_rt_kernel *k,
                         void **function, char why[RT_WHY])
{
	(void)user, (void)p;
	*function = (void *)(uintptr_t)function_of(module, k);
	return *function ? 0 : rt_why(why, "kernel %s was not loaded", k->name);
}

static int cuda_launch(void *user, void *function, const struct tpat_rt_plugin *p, const struct tpat_rt_kernel *k,
                       const uint32_t grid[3], void **args, void *stream, char why[RT_WHY])
{
	const struct function *f = function;
	int code;

	(void)user, (void)p;
	if (k->together || (k->early && f->module->early)) {
		const struct tpat_cuda_attribute how = { .id = k->together ? TPAT_CUDA_TOGETHER : TPAT_CUDA_EARLY,
			                                 .value.number = 1 };
		const struct tpat_cuda_launch c = { { grid[0], grid[1], grid[2] },
			                            { (unsigned)k->block[0], (unsigned)k->block[1],
			                              (unsigned)k->block[2] },
			                            (unsigned)k->shared_bytes,
			                            stream,
			                            &how,
			                            1 };
		code = cu.launch_with(&c, f->function, args, NULL);
	} else {
		code = cu.launch(f->function, grid[0], grid[1], grid[2], (unsigned)k->block[0], (unsigned)k->block[1],
		                 (unsigned)k->block[2], (unsigned)k->shared_bytes, stream, args, NULL);
	}
	if (code) {
		char what[160];
		snprintf(what, sizeof what, "launching kernel %s", k->name);
		return cuda_why(why, code, what);
	}
	return 0;
}

static int cuda_is_arch(void *user, void *module, int32_t arch)
{
	const struct module *m = module;

	(void)user;
	return m->arch == arch && cu.map_encode; /* kernels for only one architecture may use tensor maps */
}

/* A block of any kernel fits on a multiprocessor. */
static int32_t cuda_together(void *user, void *module, int32_t threads)
{
	(void)user, (void)threads;
	return ((const struct module *)module)->together;
}

static int cuda_map(void *user, const struct tpat_rt_map_values *v, void *out, char why[RT_WHY])
{
	unsigned long long dim[TPAT_RT_MAP_RANK], stride[TPAT_RT_MAP_RANK];
	unsigned box[TPAT_RT_MAP_RANK], step[TPAT_RT_MAP_RANK];
	int low[TPAT_RT_MAP_RANK], high[TPAT_RT_MAP_RANK], code;
	int type = v->element_bytes == 1 ? TPAT_CUDA_MAP_U8 : TPAT_CUDA_MAP_U16;

	(void)user;
	for (int i = 0; i < v->rank; i++) {
		dim[i] = (unsigned long long)v->dim[i];
		box[i] = (unsigned)v->box[i];
		step[i] = 1;
		if (i > 0)
			stride[i - 1] = (unsigned long long)(v->stride[i] * v->element_bytes);
	}
	if (!v->pixels) {
		code = cu.map_encode(out, type, (unsigned)v->rank, v->from, dim, stride, box, step, 0,
		                     TPAT_CUDA_MAP_SWIZZLE_128B, TPAT_CUDA_MAP_L2_256B, 0);
		return code ? cuda_why(why, code, "cuTensorMapEncodeTiled") : 0;
	}
	for (int i = 1; i < v->rank - 1; i++) {
		step[i] = (unsigned)v->step[i];
		low[i - 1] = v->first[i];
		high[i - 1] = (int)((v->count[i] - 1) * v->step[i] + v->first[i] - (v->dim[i] - 1));
	}
	code = cu.map_encode_walk(out, type, (unsigned)v->rank, v->from, dim, stride, low, high, box[0],
	                          (unsigned)v->pixels, step, 0, TPAT_CUDA_MAP_SWIZZLE_128B, TPAT_CUDA_MAP_L2_256B, 0);
	return code ? cuda_why(why, code, "cuTensorMapEncodeIm2col") : 0;
}

/* True if the device's objects can be freed: at process exit the driver may be gone, and another context frees its own
 * objects. */
static bool still_current(int number)
{
	char why[RT_WHY];
	return cuda_current(NULL, why) == number;
}

static void cuda_unload(void *user, int number, void *module)
{
	(void)user;
	if (still_current(number))
		free_module(module);
	else
		free(module);
}

static void cuda_release(void *user, int number, void *pointer)
{
	(void)user;
	if (still_current(number))
		cu.free((unsigned long long)(uintptr_t)pointer);
}

const struct tpat_rt_device rt_cuda = {
	.version = TPAT_RT_VERSION,
	.load = cuda_load,
	.function = cuda_function,
	.upload = cuda_upload,
	.launch = cuda_launch,
	.current = cuda_current,
	.unload = cuda_unload,
	.release = cuda_release,
	.is_arch = cuda_is_arch,
	.together = cuda_together,
	.map = cuda_map,
	.copy = cuda_copy,
	.alloc = cuda_alloc,
	.free = cuda_free,
	.read = cuda_read,
};
