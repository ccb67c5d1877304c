/* A GPU's clock at this moment, from NVIDIA's management library, which comes with the driver. Without it the clock is
 * unknown. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "dev/dev_cuda_inside.h"

enum { NVML_CLOCK_SM = 1 };

/* The functions used; results are ints, 0 is success. */
static struct {
	int (*init)(void);
	int (*handle)(const char *bus, void **device);
	int (*clock)(void *device, int type, unsigned *mhz);
} nvml;

static bool load(void *so, const char *name, void *entry)
{
	void *p = dlsym(so, name);
	memcpy(entry, &p, sizeof p);
	return p != NULL;
}

/* Finds the GPU in the library by its place on the bus. */
static bool open_library(struct gpu *g)
{
	char bus[32];
	int domain = 0, number = 0, device = 0;
	void *so = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL); /* stays open, as the driver does */
	if (!so || !load(so, "nvmlInit_v2", &nvml.init) ||
	    !load(so, "nvmlDeviceGetHandleByPciBusId_v2", &nvml.handle) ||
	    !load(so, "nvmlDeviceGetClockInfo", &nvml.clock))
		return false;
	if (g->cu->device_attribute(&domain, CU_PCI_DOMAIN, g->device) ||
	    g->cu->device_attribute(&number, CU_PCI_BUS, g->device) ||
	    g->cu->device_attribute(&device, CU_PCI_DEVICE, g->device))
		return false;
	snprintf(bus, sizeof bus, "%08X:%02X:%02X.0", (unsigned)domain, (unsigned)number, (unsigned)device);
	return nvml.init() == 0 && nvml.handle(bus, &g->managed) == 0;
}

static double clock_now(struct dev *d)
{
	struct gpu *g = d->state;
	unsigned mhz = 0;
	if (!g->looked_for_clock) {
		g->looked_for_clock = true;
		if (!open_library(g))
			d->clock = NULL;
	}
	return d->clock && nvml.clock(g->managed, NVML_CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

void dev_cuda_clock(struct gpu *g)
{
	g->dev.clock = clock_now;
}
