/* A device as a struct of functions: source text in; modules, memory and times out. Four of them: the CUDA driver
 * (opened at run time), the emulator (CUDA text on the processor, every access checked), the processor (C text through
 * the C compiler), and null (compiles nothing, runs nothing).
 *
 * A struct dev is used by one thread at a time, except `compile`, which any number of threads may call at once. */
#ifndef TPAT_DEV_DEV_H
#define TPAT_DEV_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/embed.h"
#include "base/error.h"
#include "tpat/tpat_rt.h"

/* What a schedule and the cost model may ask about the device. Where a device has no such thing: 0. */
struct dev_props {
	char name[128];                /* "NVIDIA H100 80GB HBM3"; the processor's model; "null" */
	enum kernel_language language; /* of the texts that it compiles */
	int arch;                      /* 90 for sm_90; 0: no GPU */
	int driver;                    /* CUDA version of the driver: 13000 for 13.0 */
	int sms;                       /* multiprocessors; processors */
	int threads_per_sm, threads_per_block, blocks_per_sm;
	int shared_per_sm, shared_per_block; /* bytes; per block: the most that can be asked for */
	int shared_per_block_declared;       /* and what declarations may take */
	int registers_per_sm;
	int l2_bytes;
	int clock_khz, memory_clock_khz;
	int memory_bus_bits;
	int integrated; /* 1: its memory is the processor's; clock and bus of the memory are then wrong */
	size_t memory_bytes;
};

/* A text to compile. `file` is the name in the compiler's messages: "softmax.cu". */
struct dev_source {
	const char *file, *text;
	const char *const *option; /* more options for the compiler, or null; ends with null */
	bool may_race; /* emulator: several threads may store different values to one element (scatter of duplicates) */
};

/* What compile gives: a cubin, PTX text or a shared object, as bytes in the caller's arena. */
struct dev_code {
	const void *data;
	size_t size;
	int arch; /* the architecture it was made for; 0: none */
	bool ptx; /* for the driver to compile: NVRTC is older than the GPU */
};

struct dev_graph;  /* launches, recorded once and replayed cheaply */
struct dev_event;  /* a point in the device's queue that knows its time */
struct dev_module; /* loaded code */
struct dev_kernel; /* a function of it */

/* All functions return 0 or a negative code through `e`. Launches and copies go into one queue, in order; only
 * synchronize, copy_out and event_ns wait. `args` points at the arguments' values, as cuLaunchKernel takes them.
 * Entries marked (optional) are null where a device has no such thing. */
struct dev {
	const char *kind; /* "cuda", "emulator", "cpu", "null" */
	struct dev_props props;
	void *state; /* the implementation's own */
	void *queue; /* cuda: the CUstream of launches and copies, for code that launches into it itself; else null */

	/* Text to code, into `a`. Any thread. The compiler's messages become the error's sentence (whole: in *log). */
	int (*compile)(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
	               struct err *e);
	int (*load)(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e);
	void (*unload)(struct dev *d, struct dev_module *m);
	/* Kernels are owned by the module. `shared_bytes`: the dynamic shared memory it will be launched with. */
	int (*kernel)(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
	              struct err *e);
	int (*launch)(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	              int shared_bytes, void **args, struct err *e);
	/* (optional) The same for a kernel that waits by itself for the one before it, which may still run. */
	int (*launch_early)(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	                    int shared_bytes, void **args, struct err *e);

	int (*alloc)(struct dev *d, void **out, size_t bytes, struct err *e); /* at least 256-byte aligned; not
	                                                                       * zeroed */
	void (*free)(struct dev *d, void *p);                                 /* null is fine */
	/* (optional) Names a buffer in messages about wrong accesses; copied. */
	void (*name)(struct dev *d, void *p, const char *name);
	int (*copy_in)(struct dev *d, void *to, const void *from_host, size_t bytes, struct err *e);
	int (*copy_out)(struct dev *d, void *to_host, const void *from, size_t bytes, struct err *e); /* waits */
	int (*memset)(struct dev *d, void *p, int byte, size_t bytes, struct err *e);
	int (*synchronize)(struct dev *d, struct err *e); /* waits for the queue; failed kernels show here */

	int (*event_new)(struct dev *d, struct dev_event **out, struct err *e);
	void (*event_free)(struct dev *d, struct dev_event *ev);
	int (*event_record)(struct dev *d, struct dev_event *ev, struct err *e);
	/* Nanoseconds from one event to the other; waits for both. */
	int (*event_ns)(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e);

	/* (optional) Between begin and end, launches and memsets are recorded instead of run. */
	int (*capture_begin)(struct dev *d, struct err *e);
	int (*capture_end)(struct dev *d, struct dev_graph **out, struct err *e);
	int (*graph_launch)(struct dev *d, struct dev_graph *g, struct err *e);
	void (*graph_free)(struct dev *d, struct dev_graph *g);

	/* (optional) A tensor map as kernels take it, TPAT_RT_MAP_BYTES at a multiple of 64. */
	int (*tensor_map)(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e);

	/* (optional) Registers a thread, bytes of local memory (spills) a thread, static shared bytes a block. */
	int (*kernel_use)(struct dev *d, struct dev_kernel *k, int *registers, int *local_bytes, int *shared_bytes,
	                  struct err *e);

	void (*close)(struct dev *d); /* gives everything back, `d` included */
};

/* GPU number `index` through the driver; code is compiled by NVRTC, and may include the headers of rt/device/ that the
 * program carries. ERR_DEVICE with a sentence where there is no driver, no such GPU or no NVRTC. */
int dev_cuda_open(struct dev **out, int index, struct err *e);

/* What `compile` of such a device does, without one: for a GPU of architecture `arch`. Touches no driver. */
int dev_cuda_compile(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                     struct err *e);

/* GPUs that the driver shows; 0 where there is no driver, with the reason in `why` (may be null). */
int dev_cuda_count(char why[256]);

/* The processor. The text is C11; a kernel is `void NAME(void *const *args, const uint32_t block[3])`, called once for
 * each block of the grid, by several threads at once. Compiled by $CC or cc. */
int dev_cpu_open(struct dev **out, struct err *e);

/* What `compile` of the processor does; `arch` is not looked at. */
int dev_cpu_compile(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                    struct err *e);

/* The emulator of CUDA. Compiled by $CXX or g++; ERR_DEVICE where there is no such compiler. */
int dev_emulator_open(struct dev **out, struct err *e);

/* Knows an architecture and allocates host memory; compiles to nothing, launches do nothing, every time is 0. */
int dev_null_open(struct dev **out, int arch, struct err *e);

/* "cuda", "cuda:1", "emulator", "cpu", "null", "null:90". */
int dev_open(struct dev **out, const char *name, struct err *e);

#endif
