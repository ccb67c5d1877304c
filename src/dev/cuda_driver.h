/* The CUDA driver functions that tpat calls, from libcuda.so.1 by dlopen. tpat declares their stable C ABI itself, so
 * that it needs no CUDA header. */
#ifndef TPAT_DEV_CUDA_DRIVER_H
#define TPAT_DEV_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tpat/tpat_cuda.h"

typedef uint64_t cu_pointer;
typedef struct cu_context_opaque *cu_context;
typedef struct cu_stream_opaque *cu_stream;
typedef struct cu_module_opaque *cu_module;
typedef struct cu_function_opaque *cu_function;
typedef struct cu_event_opaque *cu_event;
typedef struct cu_graph_opaque *cu_graph;
typedef struct cu_graph_exec_opaque *cu_graph_exec;

/* CUdevice_attribute */
enum {
	CU_THREADS_PER_BLOCK = 1,
	CU_CLOCK_KHZ = 13,
	CU_SMS = 16,
	CU_INTEGRATED = 18,
	CU_PCI_BUS = 33,
	CU_PCI_DEVICE = 34,
	CU_MEMORY_CLOCK_KHZ = 36,
	CU_MEMORY_BUS_BITS = 37,
	CU_L2_BYTES = 38,
	CU_THREADS_PER_SM = 39,
	CU_PCI_DOMAIN = 50,
	CU_MAJOR = 75,
	CU_MINOR = 76,
	CU_SHARED_PER_SM = 81,
	CU_REGISTERS_PER_SM = 82,
	CU_COOPERATIVE = 95,
	CU_SHARED_PER_BLOCK_OPTIN = 97,
	CU_BLOCKS_PER_SM = 106,
};

/* CUfunction_attribute */
enum { CU_FUNC_SHARED = 1, CU_FUNC_LOCAL = 3, CU_FUNC_REGISTERS = 4, CU_FUNC_MAX_DYNAMIC_SHARED = 8 };

enum { CU_STREAM_NON_BLOCKING = 1, CU_CAPTURE_THREAD_LOCAL = 1, CU_EVENT_UNTIMED = 2 };
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6 }; /* CUjit_option */

/* Name in the struct, name in the library, parameters. All return 0 or an error code. */
#define CU_ENTRIES(X) \
	X(init, cuInit, (unsigned flags)) \
	X(driver_version, cuDriverGetVersion, (int *version)) \
	X(device_count, cuDeviceGetCount, (int *n)) \
	X(device_get, cuDeviceGet, (int *device, int index)) \
	X(device_name, cuDeviceGetName, (char *name, int size, int device)) \
	X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, int device)) \
	X(device_memory, cuDeviceTotalMem_v2, (size_t *bytes, int device)) \
	X(context_retain, cuDevicePrimaryCtxRetain, (cu_context * c, int device)) \
	X(context_release, cuDevicePrimaryCtxRelease_v2, (int device)) \
	X(context_set, cuCtxSetCurrent, (cu_context c)) \
	X(context_wait, cuCtxSynchronize, (void)) \
	X(stream_new, cuStreamCreate, (cu_stream * s, unsigned flags)) \
	X(stream_free, cuStreamDestroy_v2, (cu_stream s)) \
	X(stream_wait, cuStreamSynchronize, (cu_stream s)) \
	X(module_load, cuModuleLoadDataEx, (cu_module * m, const void *image, unsigned n, int *option, void **value)) \
	X(module_unload, cuModuleUnload, (cu_module m)) \
	X(module_function, cuModuleGetFunction, (cu_function * f, cu_module m, const char *name)) \
	X(function_set, cuFuncSetAttribute, (cu_function f, int attribute, int value)) \
	X(function_get, cuFuncGetAttribute, (int *value, int attribute, cu_function f)) \
	X(launch, cuLaunchKernel, \
	  (cu_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
	   unsigned shared, cu_stream s, void **args, void **extra)) \
	X(alloc, cuMemAlloc_v2, (cu_pointer * p, size_t bytes)) \
	X(free, cuMemFree_v2, (cu_pointer p)) \
	X(copy_in, cuMemcpyHtoDAsync_v2, (cu_pointer to, const void *from, size_t bytes, cu_stream s)) \
	X(copy_out, cuMemcpyDtoHAsync_v2, (void *to, cu_pointer from, size_t bytes, cu_stream s)) \
	X(copy_within, cuMemcpyDtoDAsync_v2, (cu_pointer to, cu_pointer from, size_t bytes, cu_stream s)) \
	X(memset8, cuMemsetD8Async, (cu_pointer p, unsigned char byte, size_t bytes, cu_stream s)) \
	X(event_new, cuEventCreate, (cu_event * ev, unsigned flags)) \
	X(event_free, cuEventDestroy_v2, (cu_event ev)) \
	X(event_record, cuEventRecord, (cu_event ev, cu_stream s)) \
	X(event_wait, cuEventSynchronize, (cu_event ev)) \
	X(stream_wait_event, cuStreamWaitEvent, (cu_stream s, cu_event ev, unsigned flags)) \
	X(event_ms, cuEventElapsedTime, (float *ms, cu_event from, cu_event to)) \
	X(capture_begin, cuStreamBeginCapture_v2, (cu_stream s, int mode)) \
	X(capture_end, cuStreamEndCapture, (cu_stream s, cu_graph * g)) \
	X(graph_instantiate, cuGraphInstantiateWithFlags, (cu_graph_exec * x, cu_graph g, unsigned long long flags)) \
	X(graph_launch, cuGraphLaunch, (cu_graph_exec x, cu_stream s)) \
	X(graph_exec_free, cuGraphExecDestroy, (cu_graph_exec x)) \
	X(graph_free, cuGraphDestroy, (cu_graph g)) \
	X(map_encode, cuTensorMapEncodeTiled, \
	  (void *map, int type, unsigned rank, const void *from, const unsigned long long *dim, \
	   const unsigned long long *stride, const unsigned *box, const unsigned *step, int interleave, int swizzle, \
	   int promotion, int fill)) \
	X(map_encode_walk, cuTensorMapEncodeIm2col, \
	  (void *map, int type, unsigned rank, const void *from, const unsigned long long *dim, \
	   const unsigned long long *stride, const int *low, const int *high, unsigned channels, unsigned pixels, \
	   const unsigned *step, int interleave, int swizzle, int promotion, int fill)) \
	X(error_name, cuGetErrorName, (int error, const char **text)) \
	X(error_text, cuGetErrorString, (int error, const char **text))

struct cuda_driver {
#define X(name, symbol, parameters) int(*name) parameters;
	CU_ENTRIES(X)
#undef X
	/* Null before CUDA 11.8. */
	int (*launch_with)(const struct tpat_cuda_launch *l, cu_function f, void **args, void **extra);
};

/* Opens the library and calls cuInit, once per process. ERR_DEVICE if that fails. */
int dev_driver_open(const struct cuda_driver **out, struct err *e);

/* Returns 0, or for a nonzero result ERR_DEVICE with "<what>: <the driver's words> (CUDA_ERROR_..).". */
int dev_driver_check(int result, const char *what, struct err *e);

#endif
