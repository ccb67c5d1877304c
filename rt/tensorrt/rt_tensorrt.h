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

/* rt_shape.c: the outputs' extents as TensorRT's expressions. */
int rt_output_shapes(const struct tpat_rt_plugin *p, const struct trt_dims_exprs *in, int32_t inputs,
                     const struct trt_dims_exprs *shape_in, int32_t shape_inputs, struct trt_dims_exprs *out,
                     struct trt_expr *builder, char why[RT_WHY]);

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

/* rt_plugin.c: a plugin object holds four TensorRT objects. */
struct rt_plugin {
	struct trt_object plugin, core, build, runtime;
	const struct tpat_rt_plugin *table;
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
void rt_keep(void *self); /* destructors D1 and D0 of objects that are not freed separately */

/* rt_creator.c */
struct rt_creator {
	struct trt_object creator;
	const struct tpat_rt_plugin *table;
};
void rt_creator_init(struct rt_creator *c, const struct tpat_rt_plugin *table);

#pragma GCC visibility pop

#endif
