/* SPDX-License-Identifier: Apache-2.0 */
/* rt_ort.h: the part of the runtime that makes custom operators of ONNX Runtime with rt/core: one for each plugin,
 * under the plugin's name. Uses ONNX Runtime's interface as declared in tpat_ort_abi.h, and no header of ONNX Runtime.
 */
#ifndef TPAT_RT_ORT_H
#define TPAT_RT_ORT_H

#include "../core/rt_core.h"
#include "tpat/tpat_ort_abi.h"

#define RT_ORT_DOMAIN "tpat" /* of the plugins' nodes in a rewritten model */

/* Adds the library's operators to the session's options. For SessionOptions.register_custom_ops_library(). */
struct ort_status *RegisterCustomOps(struct ort_session_options *options,
                                     const struct ort_api_base *base) TPAT_RT_EXPORT;

#pragma GCC visibility push(hidden)

/* A custom operator: a plugin on one of ONNX Runtime's execution providers. */
struct rt_ort_op {
	struct ort_custom_op op; /* first: ONNX Runtime passes its address */
	const struct tpat_rt_plugin *table;
	const struct tpat_rt_device *on;
	const struct ort_api *api;
	int minor; /* ONNX Runtime 1.MINOR */
};

/* rt_ort_compute.c: a kernel of one node in one session. Any number of threads may compute with it at the same time. */
struct ort_status *rt_ort_create(const struct ort_custom_op *op, const struct ort_api *api,
                                 const struct ort_kernel_info *info, void **kernel);
struct ort_status *rt_ort_compute(void *kernel, struct ort_kernel_context *context);
void rt_ort_destroy(void *kernel);

/* Returns a status with "tpat plugin NAME: " and the sentence. */
struct ort_status *rt_ort_status(const struct rt_ort_op *op, const char *why);

#pragma GCC visibility pop

#endif
