/* The GPU through the CUDA driver: the primary context, one stream. Opens and closes it; dev_cuda_code.c and
 * dev_cuda_queue.c do the rest. See dev.h. */
#include <stdio.h>

#include "dev/dev_cuda_inside.h"

static void close_cuda(struct dev *d)
{
	struct gpu *g;
	const struct cuda_driver *cu = dev_cuda_enter(d, &g);
	if (g->other)
		cu->stream_free(g->other);
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
		{ CU_BLOCKS_PER_SM, &p->blocks_per_sm },
		{ CU_SHARED_PER_SM, &p->shared_per_sm },
		{ CU_SHARED_PER_BLOCK_OPTIN, &p->shared_per_block },
		{ CU_REGISTERS_PER_SM, &p->registers_per_sm },
		{ CU_L2_BYTES, &p->l2_bytes },
		{ CU_CLOCK_KHZ, &p->clock_khz },
		{ CU_INTEGRATED, &p->integrated },
		{ CU_MEMORY_CLOCK_KHZ, &p->memory_clock_khz },
		{ CU_MEMORY_BUS_BITS, &p->memory_bus_bits },
	};
	int rc = g->cu->device_name(p->name, sizeof p->name, g->device);
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted && rc == 0; i++)
		rc = g->cu->device_attribute(wanted[i].value, wanted[i].attribute, g->device);
	rc = rc ? rc : g->cu->device_memory(&p->memory_bytes, g->device);
	rc = rc ? rc : g->cu->driver_version(&p->driver);
	p->arch = major * 10 + minor;
	return dev_driver_check(rc, "Cannot read the GPU's properties", e);
}

static int find_gpu(struct gpu *g, int index, struct err *e)
{
	int n = 0;
	TRY(dev_driver_open(&g->cu, e));
	TRY(dev_driver_check(g->cu->device_count(&n), "Cannot count the GPUs", e));
	if (index >= n)
		return err_set(e, ERR_DEVICE, "There is no GPU number %d: the driver shows %d.", index, n);
	TRY(dev_driver_check(g->cu->device_get(&g->device, index), "The GPU cannot be opened", e));
	TRY(read_props(g, e));
	if (g->dev.props.arch < 75)
		return err_set(e, ERR_DEVICE, "%s is of compute capability %d.%d; kernels are made for 7.5 and newer.",
		               g->dev.props.name, g->dev.props.arch / 10, g->dev.props.arch % 10);
	return 0;
}

static int start(struct gpu *g, struct err *e)
{
	TRY(dev_driver_check(g->cu->context_retain(&g->context, g->device), "Cannot create a CUDA context", e));
	g->cu->context_set(g->context);
	TRY(dev_driver_check(g->cu->stream_new(&g->stream, CU_STREAM_NON_BLOCKING), "Cannot create a CUDA stream", e));
	g->dev.queue = g->stream;
	return 0;
}

static struct gpu *new_gpu(void)
{
	struct arena *a = arena_new();
	struct gpu *g = NEW(a, struct gpu);
	g->arena = a;
	g->dev = (struct dev){ .kind = "cuda", .state = g, .close = close_cuda };
	dev_cuda_code(&g->dev);
	dev_cuda_queue(&g->dev);
	dev_cuda_clock(g);
	return g;
}

/* `rc`: of opening it. */
static int opened(struct dev **out, struct gpu *g, int rc)
{
	if (rc < 0 && g->context)
		close_cuda(&g->dev);
	else if (rc < 0)
		arena_free(g->arena);
	else
		*out = &g->dev;
	return rc;
}

static int also(struct dev *d, struct dev **out, struct err *e)
{
	const struct gpu *first = d->state;
	struct gpu *g = new_gpu();
	g->cu = first->cu;
	g->device = first->device;
	g->dev.props = first->dev.props;
	g->dev.also = also;
	return opened(out, g, start(g, e));
}

int dev_cuda_open(struct dev **out, int index, struct err *e)
{
	struct gpu *g = new_gpu();
	g->dev.also = also;
	int rc = find_gpu(g, index, e);
	return opened(out, g, rc < 0 ? rc : start(g, e));
}

int dev_cuda_count(char why[256])
{
	struct err e = { 0 };
	const struct cuda_driver *cu;
	int n = 0;
	if (dev_driver_open(&cu, &e) == 0 && dev_driver_check(cu->device_count(&n), "Cannot count the GPUs", &e) == 0)
		return n;
	if (why)
		snprintf(why, 256, "%.255s", e.text);
	return 0;
}
