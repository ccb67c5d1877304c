/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_ort_abi.h: the part of ONNX Runtime's C interface that tpat uses, so that nothing here needs its headers. The
 * interface is one table of function pointers that only ever grows: an entry keeps its place. tests/ort/custom_ops.py
 * calls those of operators on the processor in PyPI's wheel, tests/provider/provider.py those of graphs, and
 * gpu_stream where the GPU is the emulator. Functions return null, or a status that the caller releases. What they
 * return by pointer belongs to ONNX Runtime unless the table has a release function for it. */
#ifndef TPAT_ORT_ABI_H
#define TPAT_ORT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORT_OLDEST 16       /* 1.16: the first with creation and computation that return a status */
#define ORT_PARALLEL_FOR 18 /* the first with parallel_for */
#define ORT_GRAPHS 23       /* the first with graphs and execution providers of libraries */
#define ORT_HAS_SHAPE 24    /* the first with has_shape and tensor_extents */

/* Codes of a status. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_NOT_IMPLEMENTED = 9, ORT_INVALID_GRAPH = 10, ORT_EP_FAIL = 11 };

/* Memory of a kernel's input or output. */
enum { ORT_MEM_CPU_INPUT = -2, ORT_MEM_DEFAULT = 0 };

/* Types of an attribute. */
enum ort_attr_type {
	ORT_ATTR_UNDEFINED,
	ORT_ATTR_INT,
	ORT_ATTR_INTS,
	ORT_ATTR_FLOAT,
	ORT_ATTR_FLOATS,
	ORT_ATTR_STRING,
	ORT_ATTR_STRINGS,
	ORT_ATTR_GRAPH,
	ORT_ATTR_TENSOR,
};

struct ort_custom_op;
struct ort_status;
struct ort_session_options;
struct ort_domain;
struct ort_value;
struct ort_tensor_info;
struct ort_kernel_info;
struct ort_kernel_context;
struct ort_type_info;
struct ort_value_info;
struct ort_graph;
struct ort_node;
struct ort_attr;
struct ort_logger;
struct ort_device;
struct ort_ep_api;
struct ort_editor_api;
struct ort_key_values;
struct ort_memory_info;

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
	void *before_tensor_type[3];
	/* *out null: no tensor */
	struct ort_status *(*tensor_type)(const struct ort_type_info *info, const struct ort_tensor_info **out); /* 55
	                                                                                                          */
	void *before_element[4];
	struct ort_status *(*element_type)(const struct ort_tensor_info *info, int *out); /* 60 */
	struct ort_status *(*dim_count)(const struct ort_tensor_info *info, size_t *out);
	struct ort_status *(*dims)(const struct ort_tensor_info *info, int64_t *out, size_t n);
	struct ort_status *(*symbols)(const struct ort_tensor_info *info, const char **out, size_t n); /* 63; "": none
	                                                                                                */
	void *before_info[1];
	struct ort_status *(*tensor_info)(const struct ort_value *value, struct ort_tensor_info **out); /* 65 */
	void *before_context[22];
	struct ort_status *(*input_count)(const struct ort_kernel_context *context, size_t *out); /* 88 */
	struct ort_status *(*output_count)(const struct ort_kernel_context *context, size_t *out);
	struct ort_status *(*input)(const struct ort_kernel_context *context, size_t i, const struct ort_value **out);
	struct ort_status *(*output)(struct ort_kernel_context *context, size_t i, const int64_t *dim, size_t rank,
	                             struct ort_value **out);
	void *release_env;
	void (*release_status)(struct ort_status *status);         /* 93 */
	void (*release_memory_info)(struct ort_memory_info *info); /* 94 */
	void *before_release_value[1];
	void (*release_value)(struct ort_value *value); /* 96 */
	void *before_release_info[2];
	void (*release_tensor_info)(struct ort_tensor_info *info); /* 99 */
	void *release_session_options;
	void (*release_domain)(struct ort_domain *domain); /* 101 */
	void *before_stream[91];
	struct ort_status *(*gpu_stream)(const struct ort_kernel_context *context, void **out); /* 193 */
	void *before_create_attr[17];
	/* 211. `n`: elements, or bytes of a string; copied. */
	struct ort_status *(*create_attr)(const char *name, const void *data, int n, enum ort_attr_type type,
	                                  struct ort_attr **out);
	void (*release_attr)(struct ort_attr *attr); /* 212 */
	void *before_log[34];
	struct ort_status *(*log)(const struct ort_logger *logger, int level, const char *message, const char *file,
	                          int line, const char *function); /* 247 */
	void *before_read_attr[24];
	/* *bytes: what the value needs. Fails if `size` is less. Strings end with a NUL each; from 1.31 on a single
	 * one does not. */
	struct ort_status *(*read_attr)(const struct ort_attr *attr, enum ort_attr_type type, void *out, size_t size,
	                                size_t *bytes); /* 272 */
	void *before_parallel[1];
	/* Calls task(arg, i) for each i < n, in at most `batches` parts (0: its choice), and waits. */
	struct ort_status *(*parallel_for)(const struct ort_kernel_context *context, void (*task)(void *arg, size_t i),
	                                   size_t n, size_t batches, void *arg); /* 274 */

	/* From ORT_GRAPHS on. Arrays of value infos have nulls for optional values that a node leaves out. */
	void *before_value_name[14];
	struct ort_status *(*value_name)(const struct ort_value_info *value, const char **out); /* 289 */
	struct ort_status *(*value_type)(const struct ort_value_info *value, const struct ort_type_info **out);
	const struct ort_editor_api *(*editor_api)(void); /* 291 */
	void *before_pairs[3];
	void (*create_pairs)(struct ort_key_values **out);                                  /* 295 */
	void (*add_pair)(struct ort_key_values *pairs, const char *key, const char *value); /* copied */
	const char *(*pair)(const struct ort_key_values *pairs, const char *key);           /* null: none */
	void (*all_pairs)(const struct ort_key_values *pairs, const char *const **key, const char *const **value,
	                  size_t *n);
	void *remove_pair;
	void (*release_pairs)(struct ort_key_values *pairs); /* 300 */
	void *before_device_type[6];
	int (*device_type)(const struct ort_device *device); /* 307; ORT_DEVICE_CPU */
	uint32_t (*device_vendor)(const struct ort_device *device);
	void *before_ep_api[8];
	const struct ort_ep_api *(*ep_api)(void);                                       /* 317 */
	struct ort_status *(*tensor_bytes)(const struct ort_value *value, size_t *out); /* 318 */
	void *allocator_stats;
	/* 320. `kind`: ORT_MEMORY_CPU ...; `type`: 0, the device's own; `allocator`: 0, no arena. */
	struct ort_status *(*create_memory_info)(const char *name, int kind, uint32_t vendor, int32_t device, int type,
	                                         size_t alignment, int allocator, struct ort_memory_info **out);
	void *before_initializer[5]; /* then 326 */
	struct ort_status *(*value_initializer)(const struct ort_value_info *value, const struct ort_value **out);
	void *before_is_output[3];
	struct ort_status *(*value_is_output)(const struct ort_value_info *value, bool *out); /* 330: of the graph */
	struct ort_status *(*value_is_constant)(const struct ort_value_info *value, bool *out);
	void *before_model_path[2];
	struct ort_status *(*model_path)(const struct ort_graph *graph, const char **out);   /* 334; "": none */
	struct ort_status *(*graph_ir_version)(const struct ort_graph *graph, int64_t *out); /* 335 */
	struct ort_status *(*graph_opset_count)(const struct ort_graph *graph, size_t *out);
	struct ort_status *(*graph_opsets)(const struct ort_graph *graph, const char **domain, int64_t *version,
	                                   size_t n);
	struct ort_status *(*graph_input_count)(const struct ort_graph *graph, size_t *out); /* 338 */
	struct ort_status *(*graph_inputs)(const struct ort_graph *graph, const struct ort_value_info **out, size_t n);
	struct ort_status *(*graph_output_count)(const struct ort_graph *graph, size_t *out);
	struct ort_status *(*graph_outputs)(const struct ort_graph *graph, const struct ort_value_info **out, size_t n);
	struct ort_status *(*graph_initializer_count)(const struct ort_graph *graph, size_t *out); /* 342 */
	struct ort_status *(*graph_initializers)(const struct ort_graph *graph, const struct ort_value_info **out,
	                                         size_t n);
	struct ort_status *(*graph_node_count)(const struct ort_graph *graph, size_t *out); /* 344 */
	/* In topological order. */
	struct ort_status *(*graph_nodes)(const struct ort_graph *graph, const struct ort_node **out, size_t n);
	struct ort_status *(*graph_holder)(const struct ort_graph *graph, const struct ort_node **out); /* null: none */
	void *before_node_name[2];
	struct ort_status *(*node_name)(const struct ort_node *node, const char **out); /* 349 */
	struct ort_status *(*node_type)(const struct ort_node *node, const char **out);
	struct ort_status *(*node_domain)(const struct ort_node *node, const char **out);
	void *before_node_inputs;
	struct ort_status *(*node_input_count)(const struct ort_node *node, size_t *out); /* 353 */
	struct ort_status *(*node_inputs)(const struct ort_node *node, const struct ort_value_info **out, size_t n);
	struct ort_status *(*node_output_count)(const struct ort_node *node, size_t *out);
	struct ort_status *(*node_outputs)(const struct ort_node *node, const struct ort_value_info **out, size_t n);
	/* The outer tensors that its inner graphs capture. */
	struct ort_status *(*node_capture_count)(const struct ort_node *node, size_t *out); /* 357 */
	struct ort_status *(*node_captures)(const struct ort_node *node, const struct ort_value_info **out, size_t n);
	struct ort_status *(*node_attr_count)(const struct ort_node *node, size_t *out); /* 359 */
	struct ort_status *(*node_attrs)(const struct ort_node *node, const struct ort_attr **out, size_t n);
	void *before_attr_tensor;
	struct ort_status *(*attr_tensor)(const struct ort_attr *attr, struct ort_value **out); /* 362; released */
	struct ort_status *(*attr_type)(const struct ort_attr *attr, int *out);
	struct ort_status *(*attr_name)(const struct ort_attr *attr, const char **out);
	struct ort_status *(*node_graph_count)(const struct ort_node *node, size_t *out); /* 365 */
	/* The graphs inside a node, and their attributes' names. */
	struct ort_status *(*node_graphs)(const struct ort_node *node, const struct ort_graph **out, size_t n,
	                                  const char **name);
	void *before_const_data[11];
	struct ort_status *(*const_data)(const struct ort_value *value, const void **out); /* 378 */
	/* 379. *out: the caller's, to release. */
	struct ort_status *(*session_entries)(const struct ort_session_options *options, struct ort_key_values **out);
	void *before_has_shape[10];
	/* From ORT_HAS_SHAPE on. */
	bool (*has_shape)(const struct ort_tensor_info *info); /* 390 */
	void *before_tensor_extents[23];
	/* 414. *dim is the value's own; null: a scalar. */
	struct ort_status *(*tensor_extents)(const struct ort_value *value, int *type, const int64_t **dim,
	                                     size_t *rank);
};

enum { ORT_DEVICE_CPU, ORT_DEVICE_GPU, ORT_DEVICE_NPU };
enum { ORT_MEMORY_CPU, ORT_MEMORY_GPU };
enum { ORT_VENDOR_NVIDIA = 0x10de };

/* Levels of log(). */
enum { ORT_LOG_VERBOSE, ORT_LOG_INFO, ORT_LOG_WARNING, ORT_LOG_ERROR };

#define ORT_SLOT(member, number) \
	_Static_assert(offsetof(struct ort_api, member) == (number) * sizeof(void *), #member " is entry " #number)
ORT_SLOT(create_domain, 26);
ORT_SLOT(tensor_data, 51);
ORT_SLOT(tensor_type, 55);
ORT_SLOT(element_type, 60);
ORT_SLOT(symbols, 63);
ORT_SLOT(tensor_info, 65);
ORT_SLOT(input_count, 88);
ORT_SLOT(release_status, 93);
ORT_SLOT(release_memory_info, 94);
ORT_SLOT(release_value, 96);
ORT_SLOT(release_tensor_info, 99);
ORT_SLOT(release_domain, 101);
ORT_SLOT(gpu_stream, 193);
ORT_SLOT(create_attr, 211);
ORT_SLOT(log, 247);
ORT_SLOT(read_attr, 272);
ORT_SLOT(parallel_for, 274);
ORT_SLOT(value_name, 289);
ORT_SLOT(editor_api, 291);
ORT_SLOT(create_pairs, 295);
ORT_SLOT(release_pairs, 300);
ORT_SLOT(device_type, 307);
ORT_SLOT(ep_api, 317);
ORT_SLOT(create_memory_info, 320);
ORT_SLOT(value_initializer, 326);
ORT_SLOT(value_is_output, 330);
ORT_SLOT(model_path, 334);
ORT_SLOT(graph_ir_version, 335);
ORT_SLOT(graph_input_count, 338);
ORT_SLOT(graph_initializer_count, 342);
ORT_SLOT(graph_node_count, 344);
ORT_SLOT(node_name, 349);
ORT_SLOT(node_input_count, 353);
ORT_SLOT(node_capture_count, 357);
ORT_SLOT(node_attr_count, 359);
ORT_SLOT(attr_tensor, 362);
ORT_SLOT(node_graph_count, 365);
ORT_SLOT(const_data, 378);
ORT_SLOT(session_entries, 379);
ORT_SLOT(has_shape, 390);
ORT_SLOT(tensor_extents, 414);

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
