/* Code on the GPU: texts through NVRTC, modules, kernels and their launches, tensor maps. See dev_cuda_inside.h. */
#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "base/file.h"
#include "dev/dev_cuda_inside.h"
#include "dev/nvrtc.h"

struct dev_kernel {
	cu_function function;
	char name[128];
	bool waits; /* its code supports launch_early */
	struct dev_kernel *next;
};

struct dev_module {
	cu_module module;
	struct arena *arena;
	struct dev_kernel *kernels;
	int arch; /* the code's */
};

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

/* Headers that kernels may include: all embedded ones. */
static int device_headers(struct dev_nvrtc_header **out, struct arena *a)
{
	int n = 0;
	for (const struct embed_file *f = embed_files; f->name; f++)
		n += embed_is_header(f, KERNEL_CUDA);
	*out = NEWN(a, struct dev_nvrtc_header, n);
	n = 0;
	for (const struct embed_file *f = embed_files; f->name; f++)
		if (embed_is_header(f, KERNEL_CUDA))
			(*out)[n++] = (struct dev_nvrtc_header){ path_base(f->name), f->text };
	return n;
}

int dev_cuda_compile(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                     struct err *e)
{
	struct dev_nvrtc_header *header;
	struct dev_nvrtc_job job = { .file = s->file, .text = s->text, .arch = arch, .option = s->option };
	job.headers = device_headers(&header, a);
	job.header = header;
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
	return dev_cuda_compile(out, d->props.arch, s, log, a, e);
}

static int load(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	char log[1024] = "";
	int option[] = { CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES };
	void *value[] = { log, (void *)(uintptr_t)(sizeof log - 1) };
	cu_module module;
	int rc = cu->module_load(&module, code->data, 2, option, value);
	if (rc != 0) {
		char what[600];
		snprintf(what, sizeof what, "The driver cannot load code for sm_%d%s%.500s", code->arch,
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
		dev_cuda_enter(d, &g)->module_unload(m->module);
		arena_free(m->arena);
	}
}

static int kernel(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
                  struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	struct dev_kernel *k = m->kernels;
	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	if (!k) {
		cu_function f;
		if (cu->module_function(&f, m->module, name) != 0)
			return err_set(e, ERR_DEVICE, "The compiled code has no kernel \"%s\".", name);
		k = NEW(m->arena, struct dev_kernel);
		k->function = f;
		k->waits =
		        m->arch >= TPAT_CUDA_EARLY_ARCH && d->props.driver >= TPAT_CUDA_EARLY_DRIVER && cu->launch_with;
		snprintf(k->name, sizeof k->name, "%s", name);
		k->next = m->kernels;
		m->kernels = k;
	}
	/* 48 KiB, with what the kernel declares, need no opt-in. */
	if (shared_bytes > 0)
		TRY(dev_driver_check(cu->function_set(k->function, CU_FUNC_MAX_DYNAMIC_SHARED, shared_bytes), name, e));
	*out = k;
	return 0;
}

static int kernel_use(struct dev *d, struct dev_kernel *k, int *registers, int *local_bytes, int *shared_bytes,
                      struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	int rc = cu->function_get(registers, CU_FUNC_REGISTERS, k->function);
	rc = rc ? rc : cu->function_get(local_bytes, CU_FUNC_LOCAL, k->function);
	rc = rc ? rc : cu->function_get(shared_bytes, CU_FUNC_SHARED, k->function);
	return dev_driver_check(rc, k->name, e);
}

static int not_launched(int rc, const struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                        struct err *e)
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
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	int rc = cu->launch(k->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
	                    (unsigned)shared_bytes, g->stream, args, NULL);
	return rc ? not_launched(rc, k, grid, block, e) : 0;
}

static int launch_with(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                       int shared_bytes, void **args, int attribute, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	const struct tpat_cuda_attribute how = { .id = attribute, .value.number = 1 };
	const struct tpat_cuda_launch c = { { grid[0], grid[1], grid[2] },
		                            { block[0], block[1], block[2] },
		                            (unsigned)shared_bytes,
		                            g->stream,
		                            &how,
		                            1 };
	int rc = cu->launch_with(&c, k->function, args, NULL);
	return rc ? not_launched(rc, k, grid, block, e) : 0;
}

static int launch_early(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                        int shared_bytes, void **args, struct err *e)
{
	if (!k->waits)
		return launch(d, k, grid, block, shared_bytes, args, e);
	return launch_with(d, k, grid, block, shared_bytes, args, TPAT_CUDA_EARLY, e);
}

static int launch_together(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
                           int shared_bytes, void **args, struct err *e)
{
	return launch_with(d, k, grid, block, shared_bytes, args, TPAT_CUDA_TOGETHER, e);
}

/* A block of any kernel fits on a multiprocessor. */
static int together(struct dev *d, int threads)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	int can = 0;
	(void)threads;
	return cu->launch_with && !cu->device_attribute(&can, CU_COOPERATIVE, g->device) && can ? d->props.sms : 0;
}

static int tensor_map(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
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
		rc = cu->map_encode_walk(out, type, (unsigned)v->rank, v->from, dim, stride, low, high, box[0],
		                         (unsigned)v->pixels, step, 0, TPAT_CUDA_MAP_SWIZZLE_128B,
		                         TPAT_CUDA_MAP_L2_256B, 0);
	else
		rc = cu->map_encode(out, type, (unsigned)v->rank, v->from, dim, stride, box, step, 0,
		                    TPAT_CUDA_MAP_SWIZZLE_128B, TPAT_CUDA_MAP_L2_256B, 0);
	return dev_driver_check(rc, "Cannot create a tensor map", e);
}

void dev_cuda_code(struct dev *d)
{
	d->compile = compile;
	d->load = load;
	d->unload = unload;
	d->kernel = kernel;
	d->kernel_use = kernel_use;
	d->launch = launch;
	d->launch_early = launch_early;
	d->launch_together = launch_together;
	d->together = together;
	d->tensor_map = tensor_map;
}

const struct cuda_driver *dev_cuda_enter(struct dev *d, struct gpu **g)
{
	*g = d->state;
	(*g)->cu->context_set((*g)->context);
	return (*g)->cu;
}
