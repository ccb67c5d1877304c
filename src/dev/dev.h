/* A device as a struct of functions: it compiles source text, runs kernels, holds memory and measures time. There are
 * four: the CUDA driver (opened at run time), the emulator (CUDA text on the processor, every access checked), the
 * processor (C text through the C compiler), and null (compiles nothing, runs nothing).
 *
 * A struct dev is used by one thread at a time, except `compile`, which any number of threads may call at once. Several
 * threads that use one device at the same time have a struct dev each: see `also`. */
#ifndef TPAT_DEV_DEV_H
#define TPAT_DEV_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/embed.h"
#include "base/error.h"
#include "tpat/tpat_rt.h"

/* Properties for schedules and the cost model. 0 if a device has no such thing. */
struct dev_props {
	char name[128];                /* "NVIDIA H100 80GB HBM3"; the processor's model; "null" */
	enum kernel_language language; /* that it compiles */
	int arch;                      /* 90 for sm_90; 0: no GPU */
	int driver;                    /* CUDA version of the driver: 13000 for 13.0 */
	int sms;                       /* number of multiprocessors or processors */
	int threads_per_sm, threads_per_block, blocks_per_sm;
	int shared_per_sm, shared_per_block; /* bytes; per block: the maximum a launch can request */
	int registers_per_sm;
	int l2_bytes;
	int clock_khz, memory_clock_khz;
	int memory_bus_bits;
	int integrated; /* 1: shares the processor's memory; memory clock and bus width are then wrong */
	size_t memory_bytes;
};

/* A text to compile. `file` is its name in compiler messages: "softmax.cu". */
struct dev_source {
	const char *file, *text;
	const char *const *option; /* additional compiler options, null-terminated, or null */
	bool may_race; /* emulator: several threads may store different values to one element (scatter of duplicates) */
};

/* The result of compile: a cubin, PTX text or a shared object, in the caller's arena. */
struct dev_code {
	const void *data;
	size_t size;
	int arch; /* target architecture; 0: none */
	bool ptx; /* PTX, compiled by the driver: NVRTC is older than the GPU */
};

struct dev_graph;  /* launches, recorded once and replayed cheaply */
struct dev_event;  /* a timestamp in the device's queue */
struct dev_module; /* loaded code */
struct dev_kernel; /* a function of it */

/* All functions return 0 or a negative code through `e`. Launches and copies go into one queue, in order; only
 * synchronize, copy_in, copy_out and event_ns wait. `args` points to the argument values, as for cuLaunchKernel.
 * Entries marked (optional) are null if a device lacks them. */
struct dev {
	const char *kind; /* "cuda", "emulator", "cpu", "null" */
	struct dev_props props;
	void *state; /* the implementation's own */
	void *queue; /* cuda: the CUstream of launches and copies, for code that uses it directly; else null */

	/* Compiles a text into `a`. Any thread. The error quotes the compiler's messages; *log gets all of them. */
	int (*compile)(struct dev *d, struct dev_code *out, const struct dev_source *s, char **log, struct arena *a,
	               struct err *e);
	int (*load)(struct dev *d, struct dev_module **out, const struct dev_code *code, struct err *e);
	void (*unload)(struct dev *d, struct dev_module *m);
	/* The module owns its kernels. `shared_bytes`: dynamic shared memory of the launches. */
	int (*kernel)(struct dev *d, struct dev_kernel **out, struct dev_module *m, const char *name, int shared_bytes,
	              struct err *e);
	int (*launch)(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	              int shared_bytes, void **args, struct err *e);
	/* (optional) The same for a kernel that itself waits for the previous one, which may still be running. */
	int (*launch_early)(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	                    int shared_bytes, void **args, struct err *e);

	/* (optional) The same for a kernel whose blocks wait for each other: all run at the same time. together() says
	 * how many blocks of `threads` threads can: at least one on every multiprocessor, or none. Without it, any
	 * number. */
	int (*launch_together)(struct dev *d, struct dev_kernel *k, const uint32_t grid[3], const uint32_t block[3],
	                       int shared_bytes, void **args, struct err *e);
	int (*together)(struct dev *d, int threads);

	int (*alloc)(struct dev *d, void **out, size_t bytes, struct err *e); /* at least 256-byte aligned; not
	                                                                       * zeroed */
	void (*free)(struct dev *d, void *p);                                 /* null is fine */
	/* (optional) Names a buffer for messages about invalid accesses; copied. */
	void (*name)(struct dev *d, void *p, const char *name);
	int (*copy_in)(struct dev *d, void *to, const void *from_host, size_t bytes, struct err *e);
	int (*copy_out)(struct dev *d, void *to_host, const void *from, size_t bytes, struct err *e); /* waits */
	int (*copy_within)(struct dev *d, void *to, const void *from, size_t bytes, struct err *e);
	int (*memset)(struct dev *d, void *p, int byte, size_t bytes, struct err *e);
	int (*synchronize)(struct dev *d, struct err *e); /* waits for the queue; reports failed kernels */

	int (*event_new)(struct dev *d, struct dev_event **out, struct err *e);
	void (*event_free)(struct dev *d, struct dev_event *ev);
	int (*event_record)(struct dev *d, struct dev_event *ev, struct err *e);
	/* Nanoseconds between two events; waits for both. */
	int (*event_ns)(struct dev *d, double *ns, struct dev_event *from, struct dev_event *to, struct err *e);

	/* (optional) Between begin and end, launches and memsets are recorded instead of run. */
	int (*capture_begin)(struct dev *d, struct err *e);
	int (*capture_end)(struct dev *d, struct dev_graph **out, struct err *e);
	int (*graph_launch)(struct dev *d, struct dev_graph *g, struct err *e);
	void (*graph_free)(struct dev *d, struct dev_graph *g);

	/* (optional) Makes a tensor map for kernels, TPAT_RT_MAP_BYTES bytes aligned to 64. */
	int (*tensor_map)(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e);

	/* (optional) Registers and local memory (spills, bytes) per thread, static shared bytes per block. */
	int (*kernel_use)(struct dev *d, struct dev_kernel *k, int *registers, int *local_bytes, int *shared_bytes,
	                  struct err *e);

	/* (optional) The clock of the multiprocessors now, in MHz; 0: unknown. */
	double (*clock)(struct dev *d);

	/* (optional) Another queue of the same device, for another thread. Modules, kernels and memory of either are
	 * valid in both, but one thread at a time loads, unloads or looks up kernels. What is in one queue is not in
	 * order with what is in the other. */
	int (*also)(struct dev *d, struct dev **out, struct err *e);

	void (*close)(struct dev *d); /* frees everything, including `d` */
};

/* GPU number `index` through the driver; NVRTC compiles the code, which may include the embedded headers of rt/device/.
 * ERR_DEVICE if there is no driver, no such GPU or no NVRTC. */
int dev_cuda_open(struct dev **out, int index, struct err *e);

/* `compile` of such a device, for a GPU of architecture `arch`. Needs no GPU and no driver. */
int dev_cuda_compile(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                     struct err *e);

/* The number of GPUs; 0 without a driver, with the reason in `why` (may be null). */
int dev_cuda_count(char why[256]);

/* The processor. The text is C11; a kernel is `void NAME(void *const *args, const uint32_t block[3])`, called once per
 * block of the grid, by several threads at once. Compiled by $CC or cc. */
int dev_cpu_open(struct dev **out, struct err *e);

/* `compile` of the processor; ignores `arch`. */
int dev_cpu_compile(struct dev_code *out, int arch, const struct dev_source *s, char **log, struct arena *a,
                    struct err *e);

/* The CUDA emulator. Compiled by $CXX or g++; ERR_DEVICE if there is no such compiler. */
int dev_emulator_open(struct dev **out, struct err *e);

/* A device of architecture `arch` that allocates host memory; compiles and launches do nothing, every time is 0. */
int dev_null_open(struct dev **out, int arch, struct err *e);

/* A launch: `early` for a kernel that waits for the previous one itself, `together` for one whose blocks wait for each
 * other. Devices that lack such launches take it as any other. */
struct dev_launch {
	const uint32_t *grid, *block; /* three numbers each */
	int shared_bytes;
	bool early, together;
};
int dev_launch(struct dev *d, struct dev_kernel *k, const struct dev_launch *l, void **args, struct err *e);
/* The optional entries: any number of blocks, and no tensor map, on a device that lacks them. */
int dev_together(struct dev *d, int threads);
int dev_tensor_map(struct dev *d, void *out, const struct tpat_rt_map_values *v, struct err *e);

/* "cuda", "cuda:1", "emulator", "cpu", "null", "null:90". */
int dev_open(struct dev **out, const char *name, struct err *e);

#endif
