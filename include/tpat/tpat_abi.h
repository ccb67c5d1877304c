/* SPDX-License-Identifier: Apache-2.0 */
/* tpat_abi.h: TensorRT's C++ plugin interfaces as C sees them. Virtual tables are structs of functions whose first
 * argument is the object; an object is a struct whose first word points at its table (Itanium C++ ABI, single
 * inheritance). Names and order are those of TensorRT's public headers NvInferRuntimeBase.h, NvInferRuntime.h,
 * NvInferImpl.h and NvInferPluginBase.h. V3 interfaces and all structs are the same from TensorRT 10.0 to 11.x;
 * registry, logger and logger finder moved at 11.0 and are here in both forms. TensorRT 8 and 9 have no V3 interfaces:
 * their plugins (IPluginV2DynamicExt), creators, registry and structs have names that end in 8. */
#ifndef TPAT_ABI_H
#define TPAT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enums (int32 in the ABI). */
enum trt_type {
	TRT_FLOAT = 0,
	TRT_HALF = 1,
	TRT_INT8 = 2,
	TRT_INT32 = 3,
	TRT_BOOL = 4,
	TRT_UINT8 = 5,
	TRT_FP8 = 6, /* E4M3FN */
	TRT_BF16 = 7,
	TRT_INT64 = 8,
	TRT_INT4 = 9,
	TRT_FP4 = 10,       /* 10.8 */
	TRT_E8M0 = 11,      /* 10.12 */
	TRT_PRIVATE = 1000, /* tpat: plus the ONNX type, for types that TensorRT lacks; only tpat's own hosts know these
	                     */
};
enum { TRT_LINEAR = 0 }; /* TensorFormat */
enum { TRT_FIELD_INT32 = 5, TRT_FIELD_CHAR = 6, TRT_FIELD_INT64 = 10 };
enum {
	TRT_SUM = 0,
	TRT_PROD = 1,
	TRT_MAX = 2,
	TRT_MIN = 3,
	TRT_SUB = 4,
	TRT_EQUAL = 5,
	TRT_LESS = 6,
	TRT_FLOOR_DIV = 7,
	TRT_CEIL_DIV = 8,
};
enum { TRT_CORE = 0, TRT_BUILD = 1, TRT_RUNTIME = 2 };                                    /* PluginCapabilityType */
enum { TRT_PHASE_BUILD = 0, TRT_PHASE_RUNTIME = 1 };                                      /* TensorRTPhase */
enum { TRT_LOG_INTERNAL, TRT_LOG_ERROR, TRT_LOG_WARNING, TRT_LOG_INFO, TRT_LOG_VERBOSE }; /* ILogger::Severity */
enum { TRT_MAX_DIMS = 8, TRT_MAX_STRING = 1024 }; /* the string's NUL included */

/* TensorRT's DataType of an ONNX element type; private codes for those it lacks. Source: ONNX TensorProto.DataType. */
static inline int32_t trt_type_of_onnx(int32_t onnx)
{
	switch (onnx) {
	case 1: return TRT_FLOAT;
	case 2: return TRT_UINT8;
	case 3: return TRT_INT8;
	case 6: return TRT_INT32;
	case 7: return TRT_INT64;
	case 9: return TRT_BOOL;
	case 10: return TRT_HALF;
	case 16: return TRT_BF16;
	case 17: return TRT_FP8;
	case 22: return TRT_INT4;
	case 23: return TRT_FP4;
	case 24: return TRT_E8M0;
	default: return TRT_PRIVATE + onnx;
	}
}

/* Structs. */
struct trt_dims {
	int32_t rank;
	int64_t d[TRT_MAX_DIMS]; /* -1: unknown */
};
struct trt_desc { /* PluginTensorDesc */
	struct trt_dims dims;
	int32_t type, format;
	float scale;
};
struct trt_dynamic_desc { /* DynamicPluginTensorDesc */
	struct trt_desc desc;
	struct trt_dims min, max, opt;
};
struct trt_expr { /* IDimensionExpr and IExprBuilder: their methods are inline and call impl's table with impl */
	const void *vptr;
	void *impl;
};
struct trt_dims_exprs {
	int32_t rank;
	const struct trt_expr *d[TRT_MAX_DIMS];
};
struct trt_field {
	const char *name;
	const void *data;
	int32_t type, length;
};
struct trt_fields {
	int32_t count;
	const struct trt_field *field;
};
struct trt_info { /* InterfaceInfo: returned in two registers */
	const char *kind;
	int32_t major, minor;
};

_Static_assert(sizeof(struct trt_dims) == 72, "Dims");
_Static_assert(sizeof(struct trt_desc) == 88 && offsetof(struct trt_desc, scale) == 80, "PluginTensorDesc");
_Static_assert(sizeof(struct trt_dynamic_desc) == 304 && offsetof(struct trt_dynamic_desc, opt) == 232, "DynamicDesc");
_Static_assert(sizeof(struct trt_dims_exprs) == 72, "DimsExprs");
_Static_assert(sizeof(struct trt_field) == 24 && sizeof(struct trt_fields) == 16, "PluginField");
_Static_assert(sizeof(struct trt_info) == 16, "InterfaceInfo");

/* An object of any interface, and a call of one of its methods. */
struct trt_object {
	const void *vptr;
};
#define TRT_CALL(object, table, method, ...) \
	((*(const struct table *const *)(object))->method((void *)(uintptr_t)(object), ##__VA_ARGS__))

/* The words before the first slot of a table. */
struct trt_table_head {
	ptrdiff_t offset_to_top; /* 0 */
	const void *type_info;   /* may be null */
};

/* IVersionedInterface: the first four slots of nearly all tables. D1 destroys the object, D0 also frees its memory. */
struct trt_versioned {
	int32_t (*api_language)(void *self); /* 0: C++ */
	struct trt_info (*info)(void *self);
	void (*d1)(void *self);
	void (*d0)(void *self);
};

struct trt_plugin { /* IPluginV3, "PLUGIN" 1.0 */
	struct trt_versioned v;
	void *(*capability)(void *self, int32_t type);
	void *(*clone)(void *self);
};

struct trt_core { /* IPluginV3OneCore, "PLUGIN_V3ONE_CORE" 1.0 */
	struct trt_versioned v;
	const char *(*name)(void *self);
	const char *(*version)(void *self);
	const char *(*name_space)(void *self);
};

struct trt_build { /* IPluginV3OneBuild, "PLUGIN_V3ONE_BUILD" 1.0 */
	struct trt_versioned v;
	int32_t (*configure)(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
	                     const struct trt_dynamic_desc *out, int32_t outputs);
	int32_t (*output_types)(void *self, int32_t *out, int32_t outputs, const int32_t *in, int32_t inputs);
	int32_t (*output_shapes)(void *self, const struct trt_dims_exprs *in, int32_t inputs,
	                         const struct trt_dims_exprs *shape_in, int32_t shape_inputs,
	                         struct trt_dims_exprs *out, int32_t outputs, struct trt_expr *builder);
	bool (*supports_format)(void *self, int32_t pos, const struct trt_dynamic_desc *in_out, int32_t inputs,
	                        int32_t outputs);
	int32_t (*outputs)(void *self);
	size_t (*workspace)(void *self, const struct trt_dynamic_desc *in, int32_t inputs,
	                    const struct trt_dynamic_desc *out, int32_t outputs);
	int32_t (*valid_tactics)(void *self, int32_t *tactics, int32_t count);
	int32_t (*tactics)(void *self);
	const char *(*timing_cache_id)(void *self);
	int32_t (*format_limit)(void *self);
	const char *(*metadata)(void *self);
};

struct trt_build_2 { /* IPluginV3OneBuildV2, "PLUGIN_V3ONE_BUILD" 2.0: TensorRT 10.3 */
	struct trt_build first;
	int32_t (*aliased_input)(void *self, int32_t output); /* -1: none */
};

struct trt_runtime { /* IPluginV3OneRuntime, "PLUGIN_V3ONE_RUNTIME" 1.0 */
	struct trt_versioned v;
	int32_t (*set_tactic)(void *self, int32_t tactic);
	int32_t (*shape_change)(void *self, const struct trt_desc *in, int32_t inputs, const struct trt_desc *out,
	                        int32_t outputs);
	int32_t (*enqueue)(void *self, const struct trt_desc *in, const struct trt_desc *out, const void *const *inputs,
	                   void *const *outputs, void *workspace, void *stream);
	void *(*attach)(void *self, void *context); /* a clone of the whole plugin */
	const struct trt_fields *(*fields)(void *self);
};

struct trt_creator { /* IPluginCreatorV3One, "PLUGIN CREATOR_V3ONE" 1.0 */
	struct trt_versioned v;
	void *(*create)(void *self, const char *name, const struct trt_fields *fields, int32_t phase);
	const struct trt_fields *(*field_names)(void *self);
	const char *(*name)(void *self);
	const char *(*version)(void *self);
	const char *(*name_space)(void *self);
};

struct trt_creator_v1 { /* IPluginCreator, "PLUGIN CREATOR_V1" 1.0, as it is from TensorRT 10 on; makes IPluginV2 */
	struct trt_versioned v;
	const char *(*name)(void *self);
	const char *(*version)(void *self);
	const struct trt_fields *(*field_names)(void *self);
	void *(*create)(void *self, const char *name, const struct trt_fields *fields);
	void *(*deserialize)(void *self, const char *name, const void *data, size_t bytes);
	void (*set_name_space)(void *self, const char *name_space);
	const char *(*name_space)(void *self);
};

/* apiv::VExprBuilder and apiv::VDimensionExpr: the tables of trt_expr.impl. */
struct trt_expr_builder {
	void (*d1)(void *impl);
	void (*d0)(void *impl);
	const struct trt_expr *(*constant)(void *impl, int64_t value);
	const struct trt_expr *(*operation)(void *impl, int32_t operation, const struct trt_expr *a,
	                                    const struct trt_expr *b);
	const struct trt_expr *(*size_tensor)(void *impl, int32_t output, const struct trt_expr *likely,
	                                      const struct trt_expr *upper);
};
struct trt_expr_value {
	void (*d1)(void *impl);
	void (*d0)(void *impl);
	bool (*is_constant)(void *impl);
	int64_t (*value)(void *impl); /* INT64_MIN if not constant */
	bool (*is_size_tensor)(void *impl);
};

/* ---- TensorRT 8.0 to 9.3: extents are int32, and plugins are IPluginV2DynamicExt. */

struct trt_dims_8 {
	int32_t rank;
	int32_t d[TRT_MAX_DIMS];
};
struct trt_desc_8 {
	struct trt_dims_8 dims;
	int32_t type, format;
	float scale;
};
struct trt_dynamic_desc_8 {
	struct trt_desc_8 desc;
	struct trt_dims_8 min, max;
};

_Static_assert(sizeof(struct trt_dims_8) == 36, "Dims");
_Static_assert(sizeof(struct trt_desc_8) == 48 && offsetof(struct trt_desc_8, scale) == 44, "PluginTensorDesc");
_Static_assert(sizeof(struct trt_dynamic_desc_8) == 120 && offsetof(struct trt_dynamic_desc_8, max) == 84,
               "DynamicDesc");

enum { TRT_V2_DYNAMIC_EXT = 3 }; /* PluginVersion, the first byte of getTensorRTVersion */

/* IPluginV2DynamicExt. The slots of its bases that a plugin with dynamic shapes must have, but TensorRT does not use:
 * old_dimensions to old_workspace, old_enqueue, broadcast and can_broadcast, old_configure. */
struct trt_plugin_8 {
	int32_t (*tensorrt_version)(void *self);
	const char *(*type)(void *self);
	const char *(*version)(void *self);
	int32_t (*outputs)(void *self);
	struct trt_dims_8 (*old_dimensions)(void *self, int32_t index, const struct trt_dims_8 *in, int32_t inputs);
	bool (*old_supports_format)(void *self, int32_t type, int32_t format);
	void (*old_configure_with_format)(void *self, const struct trt_dims_8 *in, int32_t inputs,
	                                  const struct trt_dims_8 *out, int32_t outputs, int32_t type, int32_t format,
	                                  int32_t batch);
	int32_t (*initialize)(void *self);
	void (*terminate)(void *self);
	size_t (*old_workspace)(void *self, int32_t batch);
	int32_t (*old_enqueue)(void *self, int32_t batch, const void *const *inputs, void *const *outputs,
	                       void *workspace, void *stream);
	size_t (*serialization_size)(void *self);
	void (*serialize)(void *self, void *buffer);
	void (*destroy)(void *self);
	void *(*clone)(void *self);
	void (*set_name_space)(void *self, const char *name_space);
	const char *(*name_space)(void *self);
	void (*d1)(void *self);
	void (*d0)(void *self);
	int32_t (*output_type)(void *self, int32_t index, const int32_t *in, int32_t inputs);
	bool (*broadcast)(void *self, int32_t index, const bool *in, int32_t inputs);
	bool (*can_broadcast)(void *self, int32_t index);
	void (*old_configure)(void *self, const struct trt_dims_8 *in, int32_t inputs, const struct trt_dims_8 *out,
	                      int32_t outputs, const int32_t *in_type, const int32_t *out_type,
	                      const bool *in_broadcast, const bool *out_broadcast, int32_t format, int32_t batch);
	void (*attach)(void *self, void *cudnn, void *cublas, void *allocator);
	void (*detach)(void *self);
	struct trt_dims_exprs (*output_dimensions)(void *self, int32_t index, const struct trt_dims_exprs *in,
	                                           int32_t inputs, struct trt_expr *builder);
	bool (*supports_format)(void *self, int32_t pos, const struct trt_desc_8 *in_out, int32_t inputs,
	                        int32_t outputs);
	void (*configure)(void *self, const struct trt_dynamic_desc_8 *in, int32_t inputs,
	                  const struct trt_dynamic_desc_8 *out, int32_t outputs);
	size_t (*workspace)(void *self, const struct trt_desc_8 *in, int32_t inputs, const struct trt_desc_8 *out,
	                    int32_t outputs);
	int32_t (*enqueue)(void *self, const struct trt_desc_8 *in, const struct trt_desc_8 *out,
	                   const void *const *inputs, void *const *outputs, void *workspace, void *stream);
};
_Static_assert(sizeof(struct trt_plugin_8) == 30 * sizeof(void *), "IPluginV2DynamicExt has 30 slots");

struct trt_creator_8 { /* IPluginCreator */
	int32_t (*tensorrt_version)(void *self);
	const char *(*name)(void *self);
	const char *(*version)(void *self);
	const struct trt_fields *(*field_names)(void *self);
	void *(*create)(void *self, const char *name, const struct trt_fields *fields);
	void *(*deserialize)(void *self, const char *name, const void *data, size_t bytes);
	void (*set_name_space)(void *self, const char *name_space);
	const char *(*name_space)(void *self);
	void (*d1)(void *self);
	void (*d0)(void *self);
};
_Static_assert(sizeof(struct trt_creator_8) == 10 * sizeof(void *), "IPluginCreator has 10 slots");

/* The tables of trt_expr.impl. A constant's value is only as wide as an extent. */
struct trt_expr_builder_8 {
	void (*d1)(void *impl);
	void (*d0)(void *impl);
	const struct trt_expr *(*constant)(void *impl, int32_t value);
	const struct trt_expr *(*operation)(void *impl, int32_t operation, const struct trt_expr *a,
	                                    const struct trt_expr *b);
};
struct trt_expr_value_8 {
	void (*d1)(void *impl);
	void (*d0)(void *impl);
	bool (*is_constant)(void *impl);
	int32_t (*value)(void *impl); /* INT32_MIN if not constant */
};

/* ILogger and ILoggerFinder; those of 10 also serve 8 and 9. */
struct trt_logger_10 {
	void (*log)(void *self, int32_t severity, const char *message);
	void (*d1)(void *self);
	void (*d0)(void *self);
};
struct trt_logger_11 {
	struct trt_versioned v;
	void (*log)(void *self, int32_t severity, const char *message);
};
struct trt_finder_10 {
	void *(*find)(void *self);
	void (*d1)(void *self);
	void (*d0)(void *self);
};
struct trt_finder_11 {
	struct trt_versioned v;
	void *(*find)(void *self);
};

/* The parts of IPluginRegistry that are called here. `slot` stands for the entries between. */
struct trt_registry_10 {
	void *slot_0_to_11[12];
	bool (*add)(void *self, void *creator, const char *name_space); /* registerCreator */
	void *slot_13_to_14[2];
	bool (*remove)(void *self, const void *creator); /* deregisterCreator */
};
struct trt_registry_8 {
	bool (*add)(void *self, void *creator, const char *name_space);
	void *slot_1_to_6[6];
	bool (*remove)(void *self, const void *creator);
};
struct trt_registry_11 {
	void *slot_0_to_7[8];
	bool (*add)(void *self, void *creator, const char *name_space);
	void *slot_9_to_10[2];
	bool (*remove)(void *self, const void *creator);
};

/* The form of a library's interfaces, from its getInferLibVersion(): 8 (8.5 to 9.3), 10, 11, or 0 if unknown. TensorRT
 * encodes 8.6.1 as 8601 and 10.3.0 as 100300; TensorRT-RTX has its own numbers (1.7.1 is 10701) and the form of 11
 * (seen from 1.6 on). */
static inline int trt_form(int32_t version)
{
	if (version >= 110000 || (version >= 10600 && version < 20000))
		return 11;
	if (version >= 100000)
		return 10;
	return version >= 8500 && version < 10000 ? 8 : 0;
}

/* How a TensorFormat stores a tensor. The channels are the axis `axis`, counted from the end, padded to a multiple of
 * `block`. They are the last axis in memory; or, if `inner`, only those of a block are. */
struct trt_layout {
	int8_t axis, block, inner; /* axis 0: the format is not known here */
};
static inline struct trt_layout trt_layout_of(int32_t format)
{
	static const struct trt_layout layout[] = {
		{ 0, 0, 0 },  { 3, 2, 1 }, { 3, 8, 0 }, { 3, 4, 1 }, { 3, 16, 1 }, { 3, 32, 1 }, { 4, 8, 0 },
		{ 4, 32, 1 }, { 3, 1, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 3, 16, 0 }, { 4, 1, 0 },
	};
	return format >= 0 && format < (int32_t)(sizeof layout / sizeof *layout) ? layout[format] : layout[0];
}

/* Replaces extents by those in memory; an unknown one stays -1. Returns the new rank; -1: no such tensor can have the
 * format. */
static inline int32_t trt_stored(int64_t *dim, int32_t rank, int32_t format)
{
	const struct trt_layout l = trt_layout_of(format);
	int32_t c = rank - l.axis;

	if (format == 0)
		return rank;
	if (!l.axis || c < 0 || rank + l.inner > TRT_MAX_DIMS)
		return -1;
	int64_t channels = dim[c], blocks = channels < 0 ? -1 : (channels + l.block - 1) / l.block;
	if (l.inner) {
		dim[c] = blocks;
		dim[rank] = l.block;
		return rank + 1;
	}
	for (int32_t d = c; d < rank - 1; d++)
		dim[d] = dim[d + 1];
	dim[rank - 1] = blocks < 0 ? -1 : blocks * l.block;
	return rank;
}

#endif
