/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_ort_abi.h: the part of ONNX Runtime's C interface that tpat uses, so that nothing here needs its headers. The
 * interface is one table of function pointers that only ever grows: an entry keeps its place. tests/ort/custom_ops.py
 * calls those of operators on the processor in PyPI's wheel; gpu_stream was never called. Functions return null, or a
 * status that the caller releases. */
#ifndef TPAT_ORT_ABI_H
#define TPAT_ORT_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ORT_OLDEST 16       /* 1.16: the first with creation and computation that return a status */
#define ORT_PARALLEL_FOR 18 /* the first with parallel_for */

/* Codes of a status. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9 };

/* Memory of a kernel's input or output. */
enum { ORT_MEM_CPU_INPUT = -2, ORT_MEM_DEFAULT = 0 };

struct ort_custom_op;
struct ort_status;
struct ort_session_options;
struct ort_domain;
struct ort_value;
struct ort_tensor_info;
struct ort_kernel_info;
struct ort_kernel_context;

struct ort_api {
	struct ort_status *(*create_status)(int code, const char *message); /* 0 */
	int (*get_error_code)(const struct ort_status *status);
	const char *(*get_error_message)(const struct ort_status *status);
	void *before_domain[23];
	struct ort_status *(*create_domain)(const char *name, struct ort_domain **out); /* 26 */
	struct ort_status *(*domain_add)(struct ort_domain *domain, const struct ort_custom_op *op);
	struct ort_status *(*add_domain)(struct ort_session_options *options, struct ort_domain *domain);
	void *before_data[22];
	struct ort_status *(*tensor_data)(struct ort_value *value, void **out); /* 51 */
	void *before_element[8];
	struct ort_status *(*element_type)(const struct ort_tensor_info *info, int *out); /* 60 */
	struct ort_status *(*dim_count)(const struct ort_tensor_info *info, size_t *out);
	struct ort_status *(*dims)(const struct ort_tensor_info *info, int64_t *out, size_t n);
	void *before_info[2];
	struct ort_status *(*tensor_info)(const struct ort_value *value, struct ort_tensor_info **out); /* 65 */
	void *before_context[22];
	struct ort_status *(*input_count)(const struct ort_kernel_context *context, size_t *out); /* 88 */
	struct ort_status *(*output_count)(const struct ort_kernel_context *context, size_t *out);
	struct ort_status *(*input)(const struct ort_kernel_context *context, size_t i, const struct ort_value **out);
	struct ort_status *(*output)(struct ort_kernel_context *context, size_t i, const int64_t *dim, size_t rank,
	                             struct ort_value **out);
	void *release_env;
	void (*release_status)(struct ort_status *status); /* 93 */
	void *before_release_info[5];
	void (*release_tensor_info)(struct ort_tensor_info *info); /* 99 */
	void *release_session_options;
	void (*release_domain)(struct ort_domain *domain); /* 101 */
	void *before_stream[91];
	struct ort_status *(*gpu_stream)(const struct ort_kernel_context *context, void **out); /* 193 */
	void *before_parallel[80];
	/* Calls task(arg, i) for each i < n, in at most `batches` parts (0: its choice), and waits. */
	struct ort_status *(*parallel_for)(const struct ort_kernel_context *context, void (*task)(void *arg, size_t i),
	                                   size_t n, size_t batches, void *arg); /* 274 */
};

#define ORT_SLOT(member, number) \
	_Static_assert(offsetof(struct ort_api, member) == (number) * sizeof(void *), #member " is entry " #number)
ORT_SLOT(create_domain, 26);
ORT_SLOT(tensor_data, 51);
ORT_SLOT(element_type, 60);
ORT_SLOT(tensor_info, 65);
ORT_SLOT(input_count, 88);
ORT_SLOT(release_status, 93);
ORT_SLOT(release_tensor_info, 99);
ORT_SLOT(release_domain, 101);
ORT_SLOT(gpu_stream, 193);
ORT_SLOT(parallel_for, 274);

/* Passed to a library: get() returns null for a version that this ONNX Runtime does not know. */
struct ort_api_base {
	const struct ort_api *(*get)(uint32_t version);
	const char *(*version)(void); /* "1.31.0" */
};

/* A custom operator of version 16. Entries of later versions are not read. */
struct ort_custom_op {
	uint32_t version;
	void *create_1;
	const char *(*name)(const struct ort_custom_op *op);
	const char *(*provider)(const struct ort_custom_op *op); /* null: the processor */
	int (*input_type)(const struct ort_custom_op *op, size_t i);
	size_t (*inputs)(const struct ort_custom_op *op);
	int (*output_type)(const struct ort_custom_op *op, size_t i);
	size_t (*outputs)(const struct ort_custom_op *op);
	void *compute_1;
	void (*destroy)(void *kernel);
	int (*input_kind)(const struct ort_custom_op *op, size_t i); /* 0: required */
	int (*output_kind)(const struct ort_custom_op *op, size_t i);
	int (*input_memory)(const struct ort_custom_op *op, size_t i);
	int (*variadic[4])(const struct ort_custom_op *op);
	struct ort_status *(*create)(const struct ort_custom_op *op, const struct ort_api *api,
	                             const struct ort_kernel_info *info, void **kernel);
	struct ort_status *(*compute)(void *kernel, struct ort_kernel_context *context);
	void *later[8];
};
_Static_assert(offsetof(struct ort_custom_op, compute) == 18 * sizeof(void *), "version 16 ends with compute");

#endif
