/* SPDX-License-Identifier: Apache-2.0 */
/* rt_tensorrt.h: the part of the runtime that makes TensorRT plugins with rt/core: the library's entry points,
 * creators, plugin objects, and TensorRT's log. Uses TensorRT's interfaces as declared in tpat_abi.h, and no header of
 * TensorRT. */
#ifndef TPAT_RT_TENSORRT_H
#define TPAT_RT_TENSORRT_H

#include "../core/rt_core.h"
#include "tpat/tpat_abi.h"

#pragma GCC visibility push(hidden)

/* rt_log.c: writes one line to TensorRT's log, in the thread of TensorRT's call. Every function that TensorRT calls
 * logs its failure once, then returns it. */
void rt_log(const struct tpat_rt_plugin *p, int severity, const char *format, ...) RT_PRINTF(3, 4);

extern void *rt_finder; /* from setLoggerFinder */

/* rt_register.c: the library's functions for TensorRT, and the TensorRT libraries in this process. */
void *const *getCreators(int32_t *count) TPAT_RT_EXPORT;
void *const *getPluginCreators(int32_t *count) TPAT_RT_EXPORT;
void setLoggerFinder(void *finder) TPAT_RT_EXPORT;
int32_t rt_tensorrt_version(const void *object); /* of the library that made `object`, or of any loaded one; 0: none */
int32_t rt_version(void); /* of the TensorRT that loaded this library, or of any other; 0: none */

/* rt_shape.c: the outputs' extents as TensorRT's expressions. `form`: of the builder, see trt_form. */
int rt_output_shapes(const struct tpat_rt_plugin *p, const struct trt_dims_exprs *in, int32_t inputs,
                     const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                     struct trt_expr *builder, int form, char why[RT_WHY]);

/* rt_check.c: checks that TensorRT's tensors fit the plugin. */
/* `inputs` must count all inputs, or all but the shape inputs. */
int rt_check_counts(const struct tpat_rt_plugin *p, int32_t inputs, int32_t outputs, char why[RT_WHY]);
int rt_check_type(const struct tpat_rt_plugin *p, int32_t index, int32_t type, char why[RT_WHY]);
/* Returns the TensorRT type of input or output `index`: the table's, but INT32 for a size tensor if TensorRT takes no
 * other. */
int32_t rt_type(const struct tpat_rt_plugin *p, int32_t index);
bool rt_is_narrowed(const struct tpat_rt_plugin *p, int32_t output, int32_t type); /* true for an INT64 size tensor that
                                                                                      is INT32 here */
int32_t rt_tactics(const struct tpat_rt_plugin *p); /* number offered to TensorRT; 0 if there is only one */
int rt_check_desc(const struct tpat_rt_plugin *p, int32_t index, const struct trt_desc *desc, char why[RT_WHY]);

/* rt_plugin.c: a plugin object holds the four TensorRT objects of a V3 plugin, and the one of a V2 plugin. */
struct rt_plugin {
	struct trt_object plugin, core, build, runtime;
	struct trt_object old;
	const struct tpat_rt_plugin *main;  /* with row-major tensors */
	const struct tpat_rt_plugin *table; /* with the formats of the last configuration or change of shapes */
	int32_t number;                     /* of the tactic; 0: none set */
	const struct tpat_rt_tactic *tactic;
	struct rt_binding binding;
	struct rt_plan plan;    /* for the last onShapeChange; read-only in enqueue */
	struct rt_plan scratch; /* for an enqueue with other extents; under the lock */
	pthread_mutex_t lock;
	int32_t inputs_given; /* number of inputs that TensorRT passes at run time; -1: unknown yet */
	char *timing_id;      /* null: none */
	struct trt_fields fields;
	struct trt_field field[3];
};
struct rt_plugin *rt_plugin_new(const struct tpat_rt_plugin *table);
struct rt_plugin *rt_plugin_clone(const struct rt_plugin *x);
extern const struct rt_runtime_table {
	struct trt_table_head head;
	struct trt_runtime t;
} rt_runtime_table;
extern const struct rt_old_table { /* rt_v2.c */
	struct trt_table_head head;
	struct trt_plugin_8 t;
} rt_old_table;
#define RT_OF(self, member) ((struct rt_plugin *)(void *)((char *)(self) - offsetof(struct rt_plugin, member)))

int32_t rt_api_language(void *self);
void rt_keep(void *self); /* destructors D1 and D0 of objects that are not freed separately */

/* rt_layout.c: descriptions of tensors, one each `bytes`. */
struct rt_descs {
	const void *first;
	size_t bytes;
};
/* True if a table has the formats of the first n of all tensors: `inputs` inputs, then outputs. */
bool rt_layout_exists(const struct tpat_rt_plugin *main, const struct rt_descs *all, int32_t inputs, int32_t n);
/* Lets the plugin use the table with these formats. `inputs`: all, or all but the shape inputs. */
int rt_layout_take(struct rt_plugin *x, const struct rt_descs *in, int32_t inputs, const struct rt_descs *out,
                   char why[RT_WHY]);
int rt_layout_use(struct rt_plugin *x, const struct tpat_rt_plugin *p, char why[RT_WHY]);
int32_t rt_layout_tactics(const struct tpat_rt_plugin *main); /* the largest number of tactics of a table */
void rt_store(struct trt_dims *d, int32_t format);            /* replaces extents by those in memory */

/* rt_build.c: the methods of the build phase: 2.0 for a plugin with an output that replaces an input. */
const void *rt_build_methods(const struct tpat_rt_plugin *p);
/* Functions that V3 and V2 plugins share. */
/* Checks the ranges of all tensors. */
int rt_configure(const struct tpat_rt_plugin *p, const struct trt_dynamic_desc *in, int32_t inputs,
                 const struct trt_dynamic_desc *out, int32_t outputs, char why[RT_WHY]);
/* Returns the bytes of workspace for these ranges; -1 with `why` if they are unknown. */
int64_t rt_workspace(const struct tpat_rt_plugin *p, const struct trt_dynamic_desc *in, int32_t inputs,
                     const struct trt_dynamic_desc *out, int32_t outputs, char why[RT_WHY]);

/* rt_run.c: the tensors of one call, as TensorRT describes them: arrays of struct trt_desc, or of trt_desc_8 if `old`.
 */
struct rt_given {
	const void *in, *out;
	int32_t inputs; /* all, or all but the shape inputs */
	bool old;
};
/* Prepares the plugin for these extents on the current device. */
int rt_set_extents(struct rt_plugin *x, const struct rt_given *g, char why[RT_WHY]);
int rt_enqueue(struct rt_plugin *x, const struct rt_given *g, const void *const *inputs, void *const *outputs,
               void *workspace, void *stream, char why[RT_WHY]);

/* rt_creator.c: a creator of V3 plugins, and one of V2 plugins (rt_v2.c). */
struct rt_creator {
	struct trt_object creator, old;
	const struct tpat_rt_plugin *table;
};
#define RT_CREATOR(self, member) ((struct rt_creator *)(void *)((char *)(self) - offsetof(struct rt_creator, member)))
void rt_creator_init(struct rt_creator *c, const struct tpat_rt_plugin *table);
void rt_old_creator_init(struct rt_creator *c);

/* Logs a method's failure; returns -1. */
int32_t rt_fail(const struct tpat_rt_plugin *p, const char *method, const char why[RT_WHY]);

#pragma GCC visibility pop

#endif
