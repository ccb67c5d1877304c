/* SPDX-License-Identifier: Apache-2.0 */
/* rt_core.h: the part of the runtime that any inference engine would need: reads a plugin's tables (tpat_rt.h),
 * evaluates its expressions, loads its code on a device and launches its kernels. Includes only tpat's public headers
 * and the C library, so that a library's sources build anywhere with a plain C compiler, and no header of an engine:
 * the files in the folder beside this one (tensorrt/) make the engine's plugin of it, and log what fails here. */
#ifndef TPAT_RT_CORE_H
#define TPAT_RT_CORE_H

#include <pthread.h>
#include <stdbool.h>

#include "tpat/tpat_rt.h"

#pragma GCC visibility push(hidden)

/* Functions that can fail return nonzero, with a sentence in `why` that says so. */
enum { RT_WHY = 256 }; /* bytes of it */
#define RT_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* rt_table.c: the generated tables. */
int rt_why(char why[RT_WHY], const char *format, ...) RT_PRINTF(2, 3); /* fills `why`; returns -1 */
int rt_check_table(const struct tpat_rt_plugin *p, char why[RT_WHY]);  /* whether they can be read without harm */
int32_t rt_shape_inputs(const struct tpat_rt_plugin *p);               /* how many inputs are shape inputs */
bool rt_is_size(const struct tpat_rt_plugin *p, int32_t output);       /* holds a size that the kernels find out */
const struct tpat_rt_tensor *rt_tensor(const struct tpat_rt_plugin *p, int32_t index); /* inputs, then outputs */

/* rt_expr.c: a node without a value (overflow, unknown VALUE or extent, or an operand without one) has this one. */
#define RT_NONE INT64_MIN

/* Extents of all inputs, then all outputs, TPAT_RT_MAX_RANK numbers each; -1: unknown. */
size_t rt_extents(const struct tpat_rt_plugin *p);
int64_t rt_apply(int32_t op, int64_t a, int64_t b, int64_t c);
void rt_evaluate(const struct tpat_rt_plugin *p, const int64_t *extent, int64_t *value);
/* The least and the largest value of each node for extents from `low` to `high`. */
void rt_range(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent, int64_t *low,
              int64_t *high);
/* Why `node` has no value, as the end of a sentence: "input 0 has an unknown extent 1". */
void rt_explain(const struct tpat_rt_plugin *p, const int64_t *value, int32_t node, char *text, size_t size);
int rt_truth(int32_t op); /* nonzero when the operation gives only 0 and 1 */

/* rt_device.c: the device in use, and what it has loaded. */
struct rt_loaded { /* constant once made */
	struct rt_loaded *next;
	const struct tpat_rt_plugin *plugin;
	int device;
	void *module;
	void **constant; /* a pointer a buffer; null for workspace */
};
struct rt_binding { /* what a plugin object keeps of it */
	const struct rt_loaded *loaded;
	uint64_t generation;
};
/* The plugin's code and constants on the current device, loaded when they are not yet; `binding` is read first. */
int rt_device_find(const struct tpat_rt_plugin *p, const struct rt_binding *binding, const struct rt_loaded **out,
                   char why[RT_WHY]);
int rt_device_bind(const struct tpat_rt_plugin *p, struct rt_binding *binding, char why[RT_WHY]);
/* Whether kernels for this architecture alone can be launched. */
bool rt_device_is_arch(const struct rt_loaded *loaded, int32_t arch);
int rt_device_map(const struct rt_loaded *loaded, const struct tpat_rt_map_values *values, void *out, char why[RT_WHY]);
int rt_device_function(const struct rt_loaded *loaded, const struct tpat_rt_kernel *kernel, void **function,
                       char why[RT_WHY]);
int rt_device_copy(void *to, const void *from, size_t bytes, void *stream, char why[RT_WHY]);
int rt_device_launch(const struct rt_loaded *loaded, void *function, const struct tpat_rt_kernel *kernel,
                     const uint32_t grid[3], void **args, void *stream, char why[RT_WHY]);
/* What tpat_rt_set_device() is given; null: back to CUDA. */
int rt_device_set(const struct tpat_rt_device *device, char why[RT_WHY]);
bool rt_device_is_hosted(void); /* a device was set: the caller is one of tpat's own hosts */
void rt_device_forget(void);    /* gives everything back; at unload */

/* rt_cuda.c */
extern const struct tpat_rt_device rt_cuda;

enum { RT_WORKSPACE_ALIGN = 256 }; /* of each buffer */

/* rt_plan.c: everything that one set of extents and a tactic decide. */
struct rt_launch {
	const struct tpat_rt_kernel *kernel;
	void *function; /* of the kernel on the plan's device */
	uint32_t grid[3];
	struct rt_map *map; /* one a tensor map of the kernel */
};
struct rt_plan {
	int64_t *extent;    /* rt_extents() */
	int64_t *value;     /* a value a node */
	int64_t *offset;    /* a buffer's place in the workspace; -1: no launch needs it */
	int64_t *narrow;    /* an output's: kernels write an INT64 there, and the output is its lower half; -1: none */
	struct rt_map *map; /* of all launches */
	struct rt_launch *launch; /* what is to be launched, in this order */
	int32_t launches;
	int64_t bytes;                  /* of workspace in use */
	const struct rt_loaded *loaded; /* the device that the functions are of */
	bool ready;
};
int rt_plan_alloc(const struct tpat_rt_plugin *p, struct rt_plan *plan); /* -1 when out of memory */
void rt_plan_free(struct rt_plan *plan);
/* From plan->extent and plan->narrow (0: is one), for what is loaded. */
int rt_plan_make(const struct tpat_rt_plugin *p, const struct tpat_rt_tactic *t, const struct rt_loaded *loaded,
                 struct rt_plan *plan, char why[RT_WHY]);
int rt_plan_run(const struct tpat_rt_plugin *p, const struct rt_plan *plan, const void *const *inputs,
                int32_t inputs_given, void *const *outputs, char *workspace, void *stream, char why[RT_WHY]);
/* The largest workspace of any tactic for extents in a range; -1 with `why` when it cannot be known. */
int64_t rt_plan_workspace(const struct tpat_rt_plugin *p, const int64_t *low_extent, const int64_t *high_extent,
                          char why[RT_WHY]);

/* rt_map.c: tensor maps, as a plan's kernels took them last. The extents are the plan's, so that a pointer says
 * which. */
enum { RT_MAP_KEPT = 4 }; /* pointers: hosts take their buffers by turns */
struct rt_map {
	char encoded[RT_MAP_KEPT][TPAT_RT_MAP_BYTES];
	const void *from[RT_MAP_KEPT]; /* null: none */
	int32_t oldest;
	bool busy; /* some thread reads or changes it */
};
struct rt_map *rt_map_alloc(const struct tpat_rt_plugin *p); /* enough for any tactic; null when out of memory */
void rt_map_forget(struct rt_map *kept, int32_t n);
/* Map `m` of a kernel for the pointer `from`, into `out`. */
int rt_map_get(struct rt_map *kept, const struct rt_plan *plan, const struct tpat_rt_map *m, const void *from,
               void *out, char why[RT_WHY]);

#pragma GCC visibility pop

#endif
