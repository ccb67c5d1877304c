/* The devices that the factory offers: the GPUs that the driver shows, or the processor if there are none. See
 * provider.h. */
#include <stdio.h>
#include <stdlib.h>

#include "dev/dev.h"
#include "provider/provider.h"

static const char number_key[] = "cuda_device"; /* of an OrtEpDevice's metadata */

int provider_find_gpus(struct provider_factory *f, struct err *e)
{
	const struct provider_host *h = &f->host;
	char why[256];
	int n = dev_cuda_count(why);
	f->gpu = NEWN(f->arena, struct provider_gpu, n + 1);
	for (; f->gpus < n; f->gpus++) {
		struct provider_gpu *g = &f->gpu[f->gpus];
		*g = (struct provider_gpu){ .index = f->gpus };
		/* The alignment is part of a device's identity, and programs name devices without one. */
		TRY(provider_check(h,
		                   h->api->create_memory_info("TpatCuda", ORT_MEMORY_GPU, ORT_VENDOR_NVIDIA, g->index,
		                                              0, 0, 0, &g->memory),
		                   e));
		g->lock = lock_new(f->arena);
	}
	return 0;
}

void provider_free_gpus(struct provider_factory *f)
{
	for (int i = 0; i < f->gpus; i++) {
		struct provider_gpu *g = &f->gpu[i];
		if (g->copies) {
			g->cu->context_set(g->context);
			g->cu->stream_free(g->copies);
		}
		if (g->context)
			g->cu->context_release(g->device);
		if (g->hardware)
			f->host.ep->release_hardware(g->hardware);
		f->host.api->release_memory_info(g->memory);
		lock_free(g->lock);
	}
	f->gpus = 0;
}

static int start(struct provider_gpu *g, struct err *e)
{
	if (g->copies)
		return 0;
	TRY(dev_driver_open(&g->cu, e));
	TRY(dev_driver_check(g->cu->device_get(&g->device, g->index), "The GPU cannot be opened", e));
	if (!g->context)
		TRY(dev_driver_check(g->cu->context_retain(&g->context, g->device), "Cannot create a CUDA context", e));
	g->cu->context_set(g->context);
	return dev_driver_check(g->cu->stream_new(&g->copies, CU_STREAM_NON_BLOCKING), "Cannot create a CUDA stream",
	                        e);
}

int provider_gpu_enter(struct provider_gpu *g, struct err *e)
{
	lock_take(g->lock);
	int rc = start(g, e);
	lock_give(g->lock);
	if (rc == 0)
		g->cu->context_set(g->context);
	return rc;
}

struct provider_gpu *provider_gpu_of(struct provider_factory *f, const struct ort_key_values *metadata)
{
	const char *number = metadata ? f->host.api->pair(metadata, number_key) : NULL;
	int i = number ? atoi(number) : -1;
	return i >= 0 && i < f->gpus ? &f->gpu[i] : NULL;
}

struct provider_gpu *provider_gpu_at(struct provider_factory *f, const struct ort_memory_device *memory)
{
	const struct ort_ep_api *ep = f->host.ep;
	if (!memory || ep->memory_kind(memory) != ORT_MEMORY_GPU || ep->memory_type(memory) != 0 ||
	    ep->memory_vendor(memory) != ORT_VENDOR_NVIDIA || ep->memory_device(memory) >= (uint32_t)f->gpus)
		return NULL;
	return &f->gpu[ep->memory_device(memory)];
}

bool provider_is_on_gpu(const struct provider_host *h, const struct ort_value *value)
{
	const struct ort_memory_device *memory = h->ep->memory_of_value(value);
	return memory && h->ep->memory_kind(memory) == ORT_MEMORY_GPU && h->ep->memory_type(memory) == 0;
}

/* ---- OrtEpDevices. */

/* The GPU as ONNX Runtime sees it, if it sees as many as the driver shows; else made. */
static struct ort_status *hardware_of(const struct ort_device **out, struct provider_factory *f, int gpu,
                                      const struct ort_device *const *device, size_t n)
{
	const struct provider_host *h = &f->host;
	struct provider_gpu *g = &f->gpu[gpu];
	int seen = 0;
	for (size_t i = 0; i < n; i++)
		if (h->api->device_type(device[i]) == ORT_DEVICE_GPU &&
		    h->api->device_vendor(device[i]) == ORT_VENDOR_NVIDIA)
			*out = seen++ == gpu ? device[i] : *out;
	if (seen == f->gpus)
		return NULL;
	struct ort_status *s = g->hardware ? NULL
	                                   : h->ep->create_hardware(ORT_DEVICE_GPU, ORT_VENDOR_NVIDIA, (uint32_t)gpu,
	                                                            "NVIDIA", NULL, &g->hardware);
	*out = g->hardware;
	return s;
}

static struct ort_status *offer_gpu(struct ort_ep_device **out, struct provider_factory *f, int gpu,
                                    const struct ort_device *const *device, size_t n)
{
	const struct provider_host *h = &f->host;
	const struct ort_device *hardware = NULL;
	struct ort_key_values *pairs = NULL;
	char number[16];
	struct ort_status *s = hardware_of(&hardware, f, gpu, device, n);
	if (s)
		return s;
	snprintf(number, sizeof number, "%d", gpu);
	h->api->create_pairs(&pairs);
	h->api->add_pair(pairs, number_key, number);
	s = h->ep->create_device(&f->factory, hardware, pairs, NULL, out);
	h->api->release_pairs(pairs);
	return s ? s : h->ep->device_has_memory(*out, f->gpu[gpu].memory);
}

struct ort_status *provider_devices(struct ort_ep_factory *factory, const struct ort_device *const *device, size_t n,
                                    struct ort_ep_device **out, size_t most, size_t *outs)
{
	struct provider_factory *f = (struct provider_factory *)factory;
	const struct provider_host *h = &f->host;
	struct ort_status *s = NULL;
	*outs = 0;
	for (int i = 0; !s && i < f->gpus && *outs < most; i++) {
		s = offer_gpu(&out[*outs], f, i, device, n);
		*outs += !s;
	}
	for (size_t i = 0; !s && !f->gpus && i < n && *outs < most; i++) {
		if (h->api->device_type(device[i]) != ORT_DEVICE_CPU)
			continue;
		s = h->ep->create_device(factory, device[i], NULL, NULL, &out[*outs]);
		*outs += !s;
	}
	return s;
}
