/* The CUDA driver's functions that tests of libraries call, and memory of its device. The driver may be
 * tests/driver/fake_cuda.c. */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "unit/test.h"

typedef void *handle;

/* ---- The driver. */

static struct {
	int (*init)(unsigned);
	int (*count)(int *);
	int (*device)(int *, int);
	int (*retain)(handle *, int);
	int (*release)(int);
	int (*create)(handle *, unsigned, int);
	int (*destroy)(handle);
	int (*set)(handle);
	int (*synchronize)(void);
	int (*info)(size_t *, size_t *);
	int (*alloc)(unsigned long long *, size_t);
	int (*free)(unsigned long long);
	int (*to)(unsigned long long, const void *, size_t, handle);
	int (*from)(void *, unsigned long long, size_t, handle);
	int (*stream)(handle *, unsigned);
	int (*stream_free)(handle);
	int (*wait)(handle);
	int (*begin)(handle, int);
	int (*end)(handle, handle *);
	int (*instantiate)(handle *, handle, unsigned long long);
	int (*update)(handle, handle, void *);
	int (*launch)(handle, handle);
	int (*exec_free)(handle);
	int (*graph_free)(handle);
	int (*name)(char *, int, int);
} cu;

static const struct {
	const char *name;
	void *at;
} driver[] = {
	{ "cuInit", &cu.init },
	{ "cuDeviceGetCount", &cu.count },
	{ "cuDeviceGet", &cu.device },
	{ "cuDevicePrimaryCtxRetain", &cu.retain },
	{ "cuDevicePrimaryCtxRelease_v2", &cu.release },
	{ "cuCtxCreate_v2", &cu.create },
	{ "cuCtxDestroy_v2", &cu.destroy },
	{ "cuCtxSetCurrent", &cu.set },
	{ "cuCtxSynchronize", &cu.synchronize },
	{ "cuMemGetInfo_v2", &cu.info },
	{ "cuMemAlloc_v2", &cu.alloc },
	{ "cuMemFree_v2", &cu.free },
	{ "cuMemcpyHtoDAsync_v2", &cu.to },
	{ "cuMemcpyDtoHAsync_v2", &cu.from },
	{ "cuStreamCreate", &cu.stream },
	{ "cuStreamDestroy_v2", &cu.stream_free },
	{ "cuStreamSynchronize", &cu.wait },
	{ "cuStreamBeginCapture_v2", &cu.begin },
	{ "cuStreamEndCapture", &cu.end },
	{ "cuGraphInstantiateWithFlags", &cu.instantiate },
	{ "cuGraphExecUpdate_v2", &cu.update },
	{ "cuGraphLaunch", &cu.launch },
	{ "cuGraphExecDestroy", &cu.exec_free },
	{ "cuGraphDestroy", &cu.graph_free },
	{ "cuDeviceGetName", &cu.name },
};

/* False if there is no GPU; `text` is then the reason. */
static bool open_driver(const char **text)
{
	static char why[200];
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	*text = why;
	if (!library) {
		snprintf(why, sizeof why, "there is no CUDA driver");
		return false;
	}
	for (size_t i = 0; i < sizeof driver / sizeof *driver; i++) {
		void *f = dlsym(library, driver[i].name);
		memcpy(driver[i].at, &f, sizeof f);
		if (!f) {
			snprintf(why, sizeof why, "the driver has no %s", driver[i].name);
			return false;
		}
	}
	int code = cu.init(0), n = 0;
	if (code || cu.count(&n) || n == 0) {
		snprintf(why, sizeof why, "there is no GPU (cuInit: %d)", code);
		return false;
	}
	return true;
}

static handle stream;

static void *device_new(size_t bytes)
{
	unsigned long long p = 0;
	CHECK_INT(cu.alloc(&p, bytes + 256), 0);
	return (void *)(uintptr_t)p;
}

static void device_free(void *p)
{
	cu.free((unsigned long long)(uintptr_t)p);
}

static void send(void *to, const void *from, size_t bytes)
{
	CHECK_INT(cu.to((unsigned long long)(uintptr_t)to, from, bytes, stream), 0);
	CHECK_INT(cu.wait(stream), 0);
}

static void fetch(void *to, const void *from, size_t bytes)
{
	CHECK_INT(cu.from(to, (unsigned long long)(uintptr_t)from, bytes, stream), 0);
	CHECK_INT(cu.wait(stream), 0);
}
