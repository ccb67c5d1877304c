/* ONNX Runtime's interface of execution providers that a library implements, as of version 1.23. Its structs start with
 * the version that the library knows: ONNX Runtime reads no entry of a later one. The interface of graphs is in
 * tpat/tpat_ort_abi.h. Layouts: onnxruntime_ep_c_api.h of ONNX Runtime 1.23. */
#ifndef TPAT_PROVIDER_PROVIDER_ABI_H
#define TPAT_PROVIDER_PROVIDER_ABI_H

#include "tpat/tpat_ort_abi.h"

/* The first that the provider runs in. 1.23 does not say which graphs are inside a node, and names fused nodes of
 * several graphs alike. */
#define ORT_PROVIDER_OLDEST ORT_HAS_SHAPE
/* The first whose fused nodes have all inputs that graphs inside them read. 1.23 to 1.25 leave some out. */
#define ORT_FUSES_CAPTURES 28

struct ort_ep_factory;
struct ort_ep_device;
struct ort_memory_device;
struct ort_sync_stream; /* ONNX Runtime's, of a struct ort_stream */
struct ort_run_options;
struct ort_graph_support; /* what a provider takes of a graph */
struct ort_compute_context;

struct ort_fusion {
	uint32_t version;
	bool drop_constants; /* the fused node has no constant initializers among its inputs */
};

/* What ONNX Runtime offers to providers, up to version 1.24. */
struct ort_ep_api {
	struct ort_status *(*create_device)(struct ort_ep_factory *factory, const struct ort_device *device,
	                                    const struct ort_key_values *metadata, const struct ort_key_values *options,
	                                    struct ort_ep_device **out);
	void (*release_device)(struct ort_ep_device *device);
	/* These nodes become one. No path between two of them may leave them. */
	struct ort_status *(*fuse)(struct ort_graph_support *support, const struct ort_node *const *node, size_t n,
	                           const struct ort_fusion *options);
	void *before_memory[2];
	struct ort_status *(*device_has_memory)(struct ort_ep_device *device, const struct ort_memory_info *memory);
	const struct ort_memory_device *(*memory_of_info)(const struct ort_memory_info *info);
	/* Null: no tensor. */
	const struct ort_memory_device *(*memory_of_value)(const struct ort_value *value);
	void *same_memory;
	int (*memory_kind)(const struct ort_memory_device *memory); /* ORT_MEMORY_CPU ... */
	int (*memory_type)(const struct ort_memory_device *memory); /* 0: the device's own */
	uint32_t (*memory_vendor)(const struct ort_memory_device *memory);
	uint32_t (*memory_device)(const struct ort_memory_device *memory);
	const struct ort_stream *(*stream)(const struct ort_sync_stream *stream); /* 13 */
	void *before_hardware[2];
	/* From version 1.24 on: hardware that ONNX Runtime does not see. */
	struct ort_status *(*create_hardware)(int type, uint32_t vendor, uint32_t id, const char *vendor_name,
	                                      const struct ort_key_values *metadata, struct ort_device **out);
	void (*release_hardware)(struct ort_device *device); /* 17 */
};
_Static_assert(offsetof(struct ort_ep_api, stream) == 13 * sizeof(void *), "stream is entry 13");
_Static_assert(offsetof(struct ort_ep_api, release_hardware) == 17 * sizeof(void *), "release_hardware is entry 17");

/* Builds parts of models; here only nodes. */
struct ort_editor_api {
	void *before_node[6];
	/* 6. Copies all; ONNX Runtime owns the node once compile() has returned it. */
	struct ort_status *(*create_node)(const char *type, const char *domain, const char *name,
	                                  const char *const *input, size_t inputs, const char *const *output,
	                                  size_t outputs, struct ort_attr **attr, size_t attrs, struct ort_node **out);
};

/* Memory of a device. The library makes it, and ONNX Runtime calls it from any thread. */
struct ort_allocator {
	uint32_t version;
	void *(*alloc)(struct ort_allocator *a, size_t bytes); /* null: there is none */
	void (*free)(struct ort_allocator *a, void *p);
	const struct ort_memory_info *(*info)(const struct ort_allocator *a);
	void *(*reserve)(struct ort_allocator *a, size_t bytes); /* memory that stays for long, such as weights */
	void *stats;                                             /* (optional) */
	/* (optional) Memory that the work of one stream uses. Freed memory may be used again in its order. */
	void *(*alloc_on_stream)(struct ort_allocator *a, size_t bytes, struct ort_sync_stream *stream);
};

/* Copies between devices. Streams may be null, or null in part: then the copy is done on return. */
struct ort_data_transfer {
	uint32_t version;
	void (*release)(struct ort_data_transfer *t);
	bool (*can_copy)(const struct ort_data_transfer *t, const struct ort_memory_device *from,
	                 const struct ort_memory_device *to);
	struct ort_status *(*copy)(struct ort_data_transfer *t, const struct ort_value **from, struct ort_value **to,
	                           struct ort_sync_stream **stream, size_t n);
};

/* A point in a stream's work that others wait for. */
struct ort_notification {
	uint32_t version;
	void (*release)(struct ort_notification *n);
	struct ort_status *(*activate)(struct ort_notification *n);
	struct ort_status *(*wait_on_device)(struct ort_notification *n, struct ort_sync_stream *waits);
	struct ort_status *(*wait_on_host)(struct ort_notification *n);
};

struct ort_stream {
	uint32_t version;
	void (*release)(struct ort_stream *s);
	void *(*handle)(struct ort_stream *s); /* CUstream */
	struct ort_status *(*create_notification)(struct ort_stream *s, struct ort_notification **out);
	struct ort_status *(*flush)(struct ort_stream *s); /* waits for all of its work */
	struct ort_status *(*run_ends)(struct ort_stream *s);
};

/* How a fused node runs. */
struct ort_compute {
	uint32_t version;
	struct ort_status *(*create_state)(struct ort_compute *c, struct ort_compute_context *context, void **state);
	struct ort_status *(*compute)(struct ort_compute *c, void *state, struct ort_kernel_context *context);
	void (*release_state)(struct ort_compute *c, void *state);
};

/* A provider in one session. Entries marked (optional) may be null. */
struct ort_ep {
	uint32_t version;
	const char *(*name)(const struct ort_ep *ep);
	struct ort_status *(*capability)(struct ort_ep *ep, const struct ort_graph *graph,
	                                 struct ort_graph_support *support);
	/* The graphs are valid during the call only. */
	struct ort_status *(*compile)(struct ort_ep *ep, const struct ort_graph **graph, const struct ort_node **fused,
	                              size_t n, struct ort_compute **out, struct ort_node **contexts);
	void (*release_computes)(struct ort_ep *ep, struct ort_compute **compute, size_t n);
	void *layout[2];       /* (optional) */
	void *dynamic_options; /* (optional) */
	void *run_starts;      /* (optional) */
	/* (optional) `wait`: for the device. */
	struct ort_status *(*run_ends)(struct ort_ep *ep, const struct ort_run_options *options, bool wait);
	/* (optional) For this session; else the factory's. */
	struct ort_status *(*create_allocator)(struct ort_ep *ep, const struct ort_memory_info *memory,
	                                       struct ort_allocator **out);
	struct ort_status *(*create_stream)(struct ort_ep *ep, const struct ort_memory_device *device,
	                                    struct ort_stream **out);
	/* (optional) What compiled models are for, as text, which the library owns. */
	const char *(*compatibility)(struct ort_ep *ep, const struct ort_graph *graph);
};
_Static_assert(sizeof(struct ort_ep) == 13 * sizeof(void *), "an execution provider of version 23 has 13 entries");

enum { ORT_COMPILED_OTHER, ORT_COMPILED_BEST, ORT_COMPILED_SLOWLY, ORT_COMPILED_NOT };

struct ort_ep_factory {
	uint32_t version;
	const char *(*name)(const struct ort_ep_factory *f);
	const char *(*vendor)(const struct ort_ep_factory *f);
	/* Fills at most `most` of `out`, which ONNX Runtime then owns. */
	struct ort_status *(*devices)(struct ort_ep_factory *f, const struct ort_device *const *device, size_t n,
	                              struct ort_ep_device **out, size_t most, size_t *outs);
	struct ort_status *(*create)(struct ort_ep_factory *f, const struct ort_device *const *device,
	                             const struct ort_key_values *const *metadata, size_t n,
	                             const struct ort_session_options *options, const struct ort_logger *logger,
	                             struct ort_ep **out);
	void (*release)(struct ort_ep_factory *f, struct ort_ep *ep);
	uint32_t (*vendor_id)(const struct ort_ep_factory *f);
	const char *(*library_version)(const struct ort_ep_factory *f);
	/* Tells whether a compiled model with this text can run: ORT_COMPILED_... */
	struct ort_status *(*validate)(struct ort_ep_factory *f, const struct ort_device *const *device, size_t n,
	                               const char *info, int *out);
	/* Null: the processor's allocator. */
	struct ort_status *(*create_allocator)(struct ort_ep_factory *f, const struct ort_memory_info *memory,
	                                       const struct ort_key_values *options, struct ort_allocator **out);
	void (*release_allocator)(struct ort_ep_factory *f, struct ort_allocator *allocator);
	struct ort_status *(*create_data_transfer)(struct ort_ep_factory *f, struct ort_data_transfer **out);
	bool (*has_streams)(const struct ort_ep_factory *f);
	struct ort_status *(*create_stream)(struct ort_ep_factory *f, const struct ort_memory_device *device,
	                                    const struct ort_key_values *options, struct ort_stream **out);
};
_Static_assert(sizeof(struct ort_ep_factory) == 14 * sizeof(void *), "a factory of version 23 has 14 entries");

#endif
