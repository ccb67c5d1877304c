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
struct ort_key_values;
struct ort_ep_device;
struct ort_memory_info;
struct ort_memory_device;
struct ort_allocator;
struct ort_data_transfer;
struct ort_stream;
struct ort_graph_support; /* what a provider takes of a graph */
struct ort_compute_context;

struct ort_fusion {
	uint32_t version;
	bool drop_constants; /* the fused node has no constant initializers among its inputs */
};

/* What ONNX Runtime offers to providers. The first entries of version 1.22 and 1.23. */
struct ort_ep_api {
	struct ort_status *(*create_device)(struct ort_ep_factory *factory, const struct ort_device *device,
	                                    const struct ort_key_values *metadata, const struct ort_key_values *options,
	                                    struct ort_ep_device **out);
	void (*release_device)(struct ort_ep_device *device);
	/* These nodes become one. No path between two of them may leave them. */
	struct ort_status *(*fuse)(struct ort_graph_support *support, const struct ort_node *const *node, size_t n,
	                           const struct ort_fusion *options);
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
	void *layout[2];        /* (optional) */
	void *dynamic_options;  /* (optional) */
	void *run[2];           /* (optional) start and end of a run */
	void *create_allocator; /* (optional) */
	void *create_stream;    /* (optional) */
	void *compatibility;    /* (optional) */
};
_Static_assert(sizeof(struct ort_ep) == 13 * sizeof(void *), "an execution provider of version 23 has 13 entries");

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
	/* *out: 0: the provider has no compiled models */
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
