/* A CUDA driver without a GPU: device memory is the process's, and copies happen at once. For LD_LIBRARY_PATH, as
 * libcuda.so.1: so the checker's way through the driver is tested anywhere. FAKE_CUDA_BREAKS=1: waiting for a stream
 * fails, as after a fault of a kernel. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BROKEN = 700 };

int cuInit(unsigned flags)
{
	return flags != 0;
}
int cuDeviceGetCount(int *n)
{
	*n = 1;
	return 0;
}
int cuDeviceGet(int *device, int index)
{
	*device = index;
	return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static int one;
	*context = &one;
	return device;
}
int cuCtxSetCurrent(void *context)
{
	return !context;
}
int cuStreamCreate(void **stream, unsigned flags)
{
	(void)flags;
	*stream = malloc(1);
	return 0;
}
int cuStreamSynchronize(void *stream)
{
	return !stream || getenv("FAKE_CUDA_BREAKS") ? BROKEN : 0;
}
int cuMemAlloc_v2(uint64_t *p, size_t bytes)
{
	void *at = aligned_alloc(256, (bytes + 255) / 256 * 256);
	*p = (uint64_t)(uintptr_t)at;
	return at ? 0 : 2;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	memcpy((void *)(uintptr_t)to, from, bytes);
	return !stream;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return !stream;
}
int cuGetErrorName(int error, const char **text)
{
	*text = error == BROKEN ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
	return 0;
}
int cuGetErrorString(int error, const char **text)
{
	*text = error == BROKEN ? "an illegal memory access was encountered" : "unknown error";
	return 0;
}

/* What the checker does not call, but the driver must have. */
#define UNUSED(name) \
	int name(void) \
	{ \
		return 801; \
	}
UNUSED(cuDriverGetVersion)
UNUSED(cuDeviceGetName)
UNUSED(cuDeviceGetAttribute)
UNUSED(cuDeviceTotalMem_v2)
UNUSED(cuDevicePrimaryCtxRelease_v2)
UNUSED(cuCtxSynchronize)
UNUSED(cuMemcpyDtoDAsync_v2)
UNUSED(cuStreamWaitEvent)
UNUSED(cuStreamDestroy_v2)
UNUSED(cuModuleLoadDataEx)
UNUSED(cuModuleUnload)
UNUSED(cuModuleGetFunction)
UNUSED(cuFuncSetAttribute)
UNUSED(cuFuncGetAttribute)
UNUSED(cuLaunchKernel)
UNUSED(cuMemFree_v2)
UNUSED(cuMemsetD8Async)
UNUSED(cuEventCreate)
UNUSED(cuEventDestroy_v2)
UNUSED(cuEventRecord)
UNUSED(cuEventSynchronize)
UNUSED(cuEventElapsedTime)
UNUSED(cuStreamBeginCapture_v2)
UNUSED(cuStreamEndCapture)
UNUSED(cuGraphInstantiateWithFlags)
UNUSED(cuGraphLaunch)
UNUSED(cuGraphExecDestroy)
UNUSED(cuGraphDestroy)
UNUSED(cuTensorMapEncodeTiled)
UNUSED(cuTensorMapEncodeIm2col)
