/* SPDX-License-Identifier: Apache-2.0 */
/* rt_core.h: the part of the runtime that does not depend on the inference engine: reads a plugin's tables (tpat_rt.h),
 * evaluates its expressions, loads its code on a device and launches its kernels. Includes only tpat's public headers
 * and the C library, no header of an engine, so that a library's sources build anywhere with a plain C compiler. The
 * files in ../tensorrt/ make TensorRT plugins with it, and log its errors. */
#ifndef TPAT_RT_CORE_H
#define TPAT_RT_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "rt_os.h"
#include "tpat/tpat_rt.h"

/* glibc 2.34 gave these functions a new version. The old one is there as well, so that a library that a new system
 * links loads on an older one, such as a container of Ubuntu 20.04. */
#if defined __GLIBC__ && defined __x86_64__
#define RT_OLDEST(function) __asm__(".symver " #function "," #function "@GLIBC_2.2.5")
#elif defined __GLIBC__ && defined __aarch64__
#define RT_OLDEST(function) __asm__(".symver " #function "," #function "@GLIBC_2.17")
#endif
#ifdef RT_OLDEST
RT_OLDEST(dlopen);
RT_OLDEST(dlsym);
RT_OLDEST(dlclose);
RT_OLDEST(dladdr);
#endif

#pragma GCC visibility push(hidden)

/* Functions that can fail return nonzero, with a sentence about the error in `why`. */
enum { RT_WHY = 256 }; /* size of `why` in bytes */
#ifdef __MINGW32__
#define RT_PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define RT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* rt_table.c: the generated tables. */
int rt_why(char why[RT_WHY], const char *format, ...) RT_PRINTF(2, 3);   /* fills `why`; returns -1 */
int rt_check_library(const struct tpat_rt_library *l, char why[RT_WHY]); /* nonzero: no plugins for this runtime */
int rt_check_table(const struct tpat_rt_plugin *p, char why[RT_WHY]);    /* nonzero if reading a plugin is unsafe */
int32_t rt_shape_inputs(const struct tpat_rt_plugin *p);                 /* number of shape inputs */
bool rt_is_size(const struct tpat_rt_plugin *p, int32_t output); /* true for a size tensor, which kernels compute */
const struct tpat_rt_tensor *rt_tensor(const struct tpat_rt_plugin *p, int32_t index); /* inputs, then outputs */

/* rt_expr.c: the value of a node without one (overflow, unknown VALUE or extent, or an operand without one). */
#define RT_NONE INT64_MIN

/* Extents of all inputs, then all outputs, TPAT_RT_MAX_RANK numbers each; -1: unknown. */
size_t rt_extents(const struct tpat_rt_plugin *p);
int64_t rt_apply(int32_t op, int64_t a, int64_t b, int64_t c);
void rt_evaluate(const struct tpat_rt_plugin *p, const int64_t *extent, int64_t *value);
/* The same, with what only some engines know: elements of shape inputs, and sizes that kernels have stored. */
struct rt_known {
	const int64_t *const *element; /* for each input; null: unknown */
	const size_t *elements;        /* their numbers */
	const int64_t *size;           /* for each output; negative: unknown, then it has no value. Null: the largest */
};
void rt_evaluate_known(const struct tpat_rt_plugin *p, const int64_t *extent, const struct rt_known *known,
                       int64_t *value);
/* Computes lower and upper bounds of each node for extents between two bounds. */
void rt_range(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent, int64_t *low,
              int64_t *high);
/* Writes why `node` has no value, as the end of a sentence: "input 0 has an unknown extent 1". */
void rt_explain(const struct tpat_rt_plugin *p, const int64_t *value, int32_t node, char *text, size_t size);
int rt_truth(int32_t op); /* nonzero if the result is always 0 or 1 */

/* rt_device.c: the current device, and the code loaded on it. */
struct rt_loaded { /* immutable once made */
	struct rt_loaded *next;
	const struct tpat_rt_plugin *plugin;
	const struct tpat_rt_device *on;
	int device;      /* its number */
	void *module;    /* shared with plugins of the same code */
	void **constant; /* a pointer for each buffer, shared with plugins of the same data; null for workspace */
};
struct rt_binding { /* kept in a plugin object */
	const struct rt_loaded *loaded;
	uint64_t generation;
};
/* Finds the plugin's code and constants on the current device, in `binding` first; loads them if needed. */
int rt_device_find(const struct tpat_rt_plugin *p, const struct rt_binding *binding, const struct rt_loaded **out,
                   char why[RT_WHY]);
int rt_device_bind(const struct tpat_rt_plugin *p, struct rt_binding *binding, char why[RT_WHY]);
/* The same on a device of the engine's choice: &rt_cuda, &rt_cpu. */
int rt_device_bind_on(const struct tpat_rt_plugin *p, const struct tpat_rt_device *on, struct rt_binding *binding,
                      char why[RT_WHY]);
/* True if kernels for only this architecture can be launched. */
bool rt_device_is_arch(const struct rt_loaded *loaded, int32_t arch);
/* The most blocks of `threads` threads that run at the same time. */
int32_t rt_device_together(const struct rt_loaded *loaded, int32_t threads);
int rt_device_map(const struct rt_loaded *loaded, const struct tpat_rt_map_values *values, void *out, char why[RT_WHY]);
int rt_device_function(const struct rt_loaded *loaded, const struct tpat_rt_kernel *kernel, void **function,
                       char why[RT_WHY]);
int rt_device_copy(const struct rt_loaded *loaded, void *to, const void *from, size_t bytes, void *stream,
                   char why[RT_WHY]);
int rt_device_launch(const struct rt_loaded *loaded, void *function, const struct tpat_rt_kernel *kernel,
                     const uint32_t grid[3], void **args, void *stream, char why[RT_WHY]);
/* Implements tpat_rt_set_device(); null: back to CUDA. */
int rt_device_set(const struct tpat_rt_device *device, char why[RT_WHY]);
bool rt_device_is_hosted(void); /* true if a device was set: a host of tpat is running */
void rt_device_forget(void);    /* frees everything; at unload */

/* rt_cuda.c */
extern const struct tpat_rt_device rt_cuda;

/* The pointer without its const: for launches and engines, whose interfaces take such pointers and only read. */
static inline void *rt_drop_const(const void *p)
{
	return (void *)(uintptr_t)p;
}

/* rt_cpu.c: the processor, by the functions in the kernels' tables. `stream` is a struct rt_pool; null: the caller's
 * thread alone. */
extern const struct tpat_rt_device rt_cpu;
struct rt_pool {
	/* Calls task(arg) up to `n` times, on several threads, and waits for them. */
	void (*run)(void *user, size_t n, void (*task)(void *arg), void *arg);
	void *user;
};

enum { RT_WORKSPACE_ALIGN = 256 }; /* of each buffer */

/* rt_plan.c: everything that depends on the extents and the tactic. */
struct rt_launch {
	const struct tpat_rt_kernel *kernel;
	void *function; /* of the kernel on the plan's device */
	uint32_t grid[3];
	struct rt_map *map; /* one for each tensor map of the kernel */
};
/* The memory of a workspace buffer: its own, or that of an earlier one of the same size that is not used any more. */
struct rt_room {
	int32_t of;   /* the buffer whose memory it is; -1: no step uses the buffer */
	int32_t last; /* the last step that uses the buffer */
	int32_t busy; /* the last step that uses this buffer's memory */
};
struct rt_plan {
	int64_t *extent;          /* rt_extents() */
	int64_t *value;           /* one for each node */
	int64_t *offset;          /* a buffer's offset in the workspace; -1: unused */
	struct rt_room *room;     /* one for each buffer */
	int64_t *narrow;          /* workspace offset of an output's INT64, whose lower half is the output; -1: none */
	struct rt_map *map;       /* of all launches */
	struct rt_launch *launch; /* the launches, in order */
	int32_t launches;
	int64_t bytes;                  /* of workspace used */
	const struct rt_loaded *loaded; /* for the device of the functions */
	bool ready;
};
int rt_plan_alloc(const struct tpat_rt_plugin *p, struct rt_plan *plan); /* -1 if out of memory */
void rt_plan_free(struct rt_plan *plan);
/* Makes the plan from plan->extent and plan->narrow (0: narrowed), for the loaded code. */
int rt_plan_make(const struct tpat_rt_plugin *p, const struct tpat_rt_tactic *t, const struct rt_loaded *loaded,
                 struct rt_plan *plan, char why[RT_WHY]);
int rt_plan_run(const struct tpat_rt_plugin *p, const struct rt_plan *plan, const void *const *inputs,
                int32_t inputs_given, void *const *outputs, char *workspace, void *stream, char why[RT_WHY]);
/* Returns the largest workspace, in bytes, of any tactic for extents in a range; -1 with `why` if it is unknown. */
int64_t rt_plan_workspace(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent,
                          char why[RT_WHY]);

/* rt_map.c: the last tensor maps of a plan's kernels. The extents are the plan's, so a pointer identifies a map. */
enum { RT_MAP_KEPT = 4 }; /* pointers: hosts may alternate between buffers */
struct rt_map {
	char encoded[RT_MAP_KEPT][TPAT_RT_MAP_BYTES];
	const void *from[RT_MAP_KEPT]; /* null: none */
	int32_t oldest;
	bool busy; /* a thread reads or changes it */
};
struct rt_map *rt_map_alloc(const struct tpat_rt_plugin *p); /* enough for any tactic; null if out of memory */
void rt_map_forget(struct rt_map *kept, int32_t n);
/* Writes map `m` of a kernel for the pointer `from` to `out`. */
int rt_map_get(struct rt_map *kept, const struct rt_plan *plan, const struct tpat_rt_map *m, const void *from,
               void *out, char why[RT_WHY]);

#pragma GCC visibility pop

#endif
