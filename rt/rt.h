/* SPDX-License-Identifier: Apache-2.0 */
/* rt.h: what the files of the runtime say to each other. The runtime is the part of a plugin library that is the same
 * in all of them: it reads tpat_library and is the TensorRT plugin. It includes only tpat's two public headers and the
 * C library, so that a library's sources build anywhere with a plain C compiler. */
#ifndef TPAT_RT_INTERNAL_H
#define TPAT_RT_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>

#include "tpat/tpat_abi.h"
#include "tpat/tpat_rt.h"

#pragma GCC visibility push(hidden)

enum { RT_WHY = 256 }; /* bytes of a sentence that says why something failed */
#define RT_PRINTF(text, first) __attribute__((format(printf, text, first)))

/* rt_log.c: one line to TensorRT's own log, from the thread in which TensorRT called. Every function of the runtime
 * that TensorRT calls logs its failure once, then returns it. */
void rt_log(const struct tpat_rt_plugin *p, int severity, const char *format, ...) RT_PRINTF(3, 4);
int rt_why(char why[RT_WHY], const char *format, ...) RT_PRINTF(2, 3); /* fills `why`; returns -1 */
void rt_log_device(void (*log)(void *user, int severity, const char *line), void *user);

extern void *rt_finder; /* what setLoggerFinder gave */

/* rt_register.c: TensorRT in this process. */
int32_t rt_tensorrt_version(const void *object); /* of the library that made `object`, or of any loaded one; 0: none */
int32_t rt_version(void);                        /* of the TensorRT that loaded this library, or of any; 0: none */

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

/* rt_shape.c: the outputs' extents as TensorRT's expressions. */
int rt_output_shapes(const struct tpat_rt_plugin *p, const struct trt_dims_exprs *in, int32_t inputs,
                     const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                     struct trt_expr *builder, char why[RT_WHY]);

/* rt_check.c: does what TensorRT offers fit the plugin? */
int rt_check_table(const struct tpat_rt_plugin *p, char why[RT_WHY]); /* the generated table itself */
int32_t rt_shape_inputs(const struct tpat_rt_plugin *p);              /* how many inputs are shape inputs */
const struct tpat_rt_tensor *rt_tensor(const struct tpat_rt_plugin *p, int32_t index); /* inputs, then outputs */
/* `inputs` is right when all are there, or all but the shape inputs. */
int rt_check_counts(const struct tpat_rt_plugin *p, int32_t inputs, int32_t outputs, char why[RT_WHY]);
int rt_check_type(const struct tpat_rt_plugin *p, int32_t index, int32_t type, char why[RT_WHY]);
/* The TensorRT type of input or output `index`: the table's; of a size tensor INT32 where TensorRT takes no other. */
int32_t rt_type(const struct tpat_rt_plugin *p, int32_t index);
bool rt_is_narrowed(const struct tpat_rt_plugin *p, int32_t output, int32_t type); /* an INT64 size tensor that became
                                                                                      INT32 */
int32_t rt_tactics(const struct tpat_rt_plugin *p); /* offered to TensorRT: one alone is nothing to choose from */
int rt_check_desc(const struct tpat_rt_plugin *p, int32_t index, const struct trt_desc *desc, char why[RT_WHY]);

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
bool rt_device_is_hosted(void); /* tpat_rt_set_device was called: the host is one of tpat's, not TensorRT */
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
	int64_t *narrow;    /* an output's: kernels write an INT64 there, and TensorRT gets its lower half; -1: none */
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

/* rt_plugin.c: a plugin object is four TensorRT objects side by side. */
struct rt_plugin {
	struct trt_object plugin, core, build, runtime;
	const struct tpat_rt_plugin *table;
	const struct tpat_rt_tactic *tactic;
	struct rt_binding binding;
	struct rt_plan plan;    /* of the last onShapeChange; enqueue only reads it */
	struct rt_plan scratch; /* of an enqueue whose extents differ from it; under the lock */
	pthread_mutex_t lock;
	int32_t inputs_given; /* how many inputs TensorRT passes at run time; -1: not known yet */
	char *timing_id;      /* null: none */
	struct trt_fields fields;
	struct trt_field field[3];
};
struct rt_plugin *rt_plugin_new(const struct tpat_rt_plugin *table);
struct rt_plugin *rt_plugin_clone(const struct rt_plugin *x);
extern const struct rt_build_table {
	struct trt_table_head head;
	struct trt_build t;
} rt_build_table;
extern const struct rt_runtime_table {
	struct trt_table_head head;
	struct trt_runtime t;
} rt_runtime_table;
#define RT_OF(self, member) ((struct rt_plugin *)(void *)((char *)(self) - offsetof(struct rt_plugin, member)))

int32_t rt_api_language(void *self);
void rt_keep(void *self); /* D1 and D0 of what is never freed alone */

/* rt_creator.c */
struct rt_creator {
	struct trt_object creator;
	const struct tpat_rt_plugin *table;
};
void rt_creator_init(struct rt_creator *c, const struct tpat_rt_plugin *table);

#pragma GCC visibility pop

#endif
