/* tpat as an execution provider of ONNX Runtime: a library that ONNX Runtime loads by name (build/libtpat_ep.so). It
 * takes the nodes that tpat supports, in as few groups as possible, and runs each group as a session of src/run. See
 * provider_abi.h for ONNX Runtime's side. This header is shared by the files of src/provider/ only. */
#ifndef TPAT_PROVIDER_PROVIDER_H
#define TPAT_PROVIDER_PROVIDER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/threads.h"
#include "base/vec.h"
#include "dev/cuda_driver.h"
#include "onnx/onnx.h"
#include "provider/provider_abi.h"
#include "run/run.h"

#define PROVIDER_NAME "TpatExecutionProvider"

/* ONNX Runtime, as the library found it. */
struct provider_host {
	const struct ort_api *api;
	const struct ort_ep_api *ep;
	const struct ort_editor_api *editor;
	uint32_t version; /* of `api`: ORT_PROVIDER_OLDEST to ORT_FUSES_CAPTURES */
};

/* A GPU that the driver shows. The factory has one for each. Any thread. */
struct provider_gpu {
	int index;                      /* the driver's number */
	struct ort_memory_info *memory; /* its memory, for ONNX Runtime */
	struct ort_device *hardware;    /* made by the library, or null: ONNX Runtime sees the GPU itself */
	struct lock *lock;              /* of what follows, made when first used */
	const struct cuda_driver *cu;
	int device;
	cu_context context;
	cu_stream copies; /* of copies outside a session */
};

struct provider_factory {
	struct ort_ep_factory factory; /* first: ONNX Runtime passes its address */
	struct provider_host host;
	struct arena *arena; /* holds this struct */
	struct provider_gpu *gpu;
	int gpus;
};

/* The provider in one session of ONNX Runtime. */
struct provider {
	struct ort_ep ep; /* first: ONNX Runtime passes its address */
	struct provider_factory *factory;
	struct provider_host host;
	const struct ort_logger *logger; /* lives as long as the session */
	struct arena *arena;             /* holds this struct */
	struct run_device on;            /* what computes */
	struct provider_gpu *gpu;        /* the GPU that has the tensors; null: they are on the host */
	bool shares_memory;              /* kernels read and write the GPU's memory where ONNX Runtime has it */
	bool cuda_graph;                 /* as in the options */
	struct tpat_tuned *tuned;        /* the tuning database; null: none */
	bool context, embed;             /* as in the options */
	const char *context_path;
	int contexts;                 /* compiled regions written so far */
	const char *about;            /* what compiled regions are for, for ONNX Runtime */
	struct provider_lanes *lanes; /* what its runs compute on */
	struct lock *lock;            /* of what threads share: `arena`, `tuned`, and what sessions of src/run do */
	int regions;                  /* fused nodes so far */
};

/* What a run of the session computes on: a queue of the device, with memory and recorded runs for it. One run at a time
 * has it, so runs of several threads are in no order and wait for nothing of each other. See provider_lane.c. */
struct provider_lane {
	struct provider_lane *next;
	struct provider_lanes *of;
	struct provider_gpu *gpu; /* as in struct provider */
	int number;
	int users;             /* streams of ONNX Runtime, and calls of compute without a stream */
	struct dev *dev;       /* that of the provider, or another queue of it */
	cu_stream stream;      /* with `gpu`: of all of its work */
	bool own;              /* the stream is not the device's queue */
	struct lock *lock;     /* of what follows; a call of compute holds it */
	struct arena *scratch; /* of a call of compute */
	struct provider_session {
		struct run_session *run; /* null: the region was not run on this lane yet */
		struct arena *arena;     /* holds it; null: it is the region's first */
	} *session;                      /* by the region's number */
	int sessions;
	uint64_t last, waited; /* numbers of its work: the last one; the last one that was waited for */
	struct arena *arena;   /* holds this struct */
};

/* ---- provider_error.c: failures of either side for the other one. */

/* Makes a failed call of ONNX Runtime an error, and releases the status. Null is success. */
int provider_check(const struct provider_host *h, struct ort_status *status, struct err *e);
/* The status for an error; null if there is none. */
struct ort_status *provider_status(const struct provider_host *h, const struct err *e);
/* Calls fn(arg), and makes running out of memory, and bugs, an error as well. `scratch`: an arena of the call. */
typedef int (*provider_fn)(void *arg, struct arena *scratch, struct err *e);
struct ort_status *provider_call(const struct provider_host *h, provider_fn fn, void *arg);
/* The same with an arena that is kept from call to call. */
struct ort_status *provider_call_again(const struct provider_host *h, struct arena *scratch, provider_fn fn, void *arg);

/* ---- provider_lane.c: what runs compute on. */

/* Makes the list with the first lane, once `p->on.dev` is there. */
int provider_lanes_open(struct provider *p, struct err *e);
void provider_lanes_close(struct provider *p); /* waits for all work; null is fine */
/* The list is there until everyone has left who uses it: the allocators and streams of a session may outlive it. */
struct provider_lanes *provider_lanes_use(struct provider_lanes *x);
void provider_lanes_leave(struct provider_lanes *x);
/* The lane after `l`; of null, the first one. Null: the end. */
struct provider_lane *provider_lanes_next(struct provider_lanes *x, const struct provider_lane *l);

/* Takes a lane that nobody has, for give(). On a device that one thread at a time may use there is a single one. */
int provider_lane_take(struct provider_lane **out, struct provider *p, struct err *e);
void provider_lane_give(struct provider_lane *l);
/* The one with this stream; null: none. */
struct provider_lane *provider_lane_of(struct provider *p, const void *stream);

/* Counts work that was added to the lane's stream. */
void provider_lane_note(struct provider_lane *l);
/* Waits for all of its work. With a stream only. */
int provider_lane_wait(struct provider_lane *l, struct err *e);
/* The number of what was added last, to any lane. */
uint64_t provider_lanes_now(struct provider_lanes *x);
/* The number up to which the work of all other lanes was waited for. */
uint64_t provider_lanes_done(struct provider_lanes *x, const struct provider_lane *except);

/* ---- provider_graph.c: ONNX Runtime's graphs, read into arrays in `a`. */
struct provider_values {
	const struct ort_value_info **at; /* null: left out */
	size_t n;
};
struct provider_nodes {
	const struct ort_node **at;
	size_t n;
};
struct provider_io { /* of a node */
	struct provider_values in, captured, out;
};
int provider_graph_nodes(struct provider_nodes *out, const struct provider_host *h, const struct ort_graph *g,
                         struct arena *a, struct err *e);
int provider_graph_outputs(struct provider_values *out, const struct provider_host *h, const struct ort_graph *g,
                           struct arena *a, struct err *e);
int provider_node_io(struct provider_io *out, const struct provider_host *h, const struct ort_node *n, struct arena *a,
                     struct err *e);
/* The value's name; "" for null. */
int provider_value_name(const char **out, const struct provider_host *h, const struct ort_value_info *v, struct err *e);

/* ---- provider_model.c: nodes of ONNX Runtime as a model of tpat. */

struct provider_part {
	const struct ort_graph *graph;
	struct provider_nodes nodes;    /* of the graph, in its order */
	struct provider_values outputs; /* what the nodes make for others */
	bool borrow; /* constants point into ONNX Runtime's memory, which is valid while it asks for capabilities; else
	                they are copied */
	bool types;  /* declare the types of all tensors, for nodes that tpat does not know */
};
/* Makes a checked model of these nodes, in their order. Its inputs are the tensors that the nodes read and do not make,
 * in the order of first use, without constants; its outputs are those of the part, in their order. Free it with
 * onnx_model_free(); null after a failure. Errors: ERR_MODEL for a graph that is wrong; ERR_UNSUPPORTED for an
 * attribute or a constant of a type that tpat lacks. */
int provider_model(struct onnx_model **out, const struct provider_host *h, const struct provider_part *part,
                   struct arena *scratch, struct err *e);

/* provider_attr.c: adds all attributes but graphs to a node of the model. */
int provider_attrs(struct onnx_model *m, Onnx__NodeProto *to, const struct provider_host *h,
                   const struct ort_node *from, struct arena *scratch, struct err *e);
/* The tensor of a value as a message. `borrow`: its elements stay where they are. */
int provider_tensor(Onnx__TensorProto **out, struct onnx_model *m, const struct provider_host *h, const char *name,
                    const struct ort_value *value, bool borrow, struct err *e);
/* The element type for ONNX Runtime's number; TYPE_NONE if tpat has no tensors of it. */
enum type provider_type(int number);
/* The type and the extents of a tensor, without data. The rank may be too large; then only the first extents are there.
 */
int provider_extents(struct tensor *out, const struct provider_host *h, const struct ort_value *value, struct err *e);

/* ---- provider_options.c: the options of a session, as text. */
struct provider_options {
	const char *device;       /* "cpu", "cuda", "emulator"; null: that of the chosen OrtEpDevice */
	bool cuda_graph;          /* launch what repeats as a graph */
	const char *database;     /* the tuning database's path, or "none"; null: the default one, if there is one */
	bool context, embed;      /* ONNX Runtime writes a compiled model; with the regions in it */
	const char *context_path; /* of that model; null: next to the original */
};
/* Reads and checks the session's options for this provider. In `a`. ERR_USAGE names an option or a value that there is
 * not. */
int provider_options(struct provider_options *out, const struct provider_host *h, const struct ort_session_options *o,
                     struct arena *a, struct err *e);

/* ---- provider_tuned.c: schedules from the tuning database. */
int provider_tuned_open(struct provider *p, const struct provider_options *o, struct err *e);
void provider_tuned_close(struct provider *p);

/* provider_error.c: one line in the session's log. */
void provider_log(const struct provider *p, int level, const char *text);

/* ---- provider_device.c: the devices of the factory. */
struct ort_status *provider_devices(struct ort_ep_factory *f, const struct ort_device *const *device, size_t n,
                                    struct ort_ep_device **out, size_t most, size_t *outs);
/* Finds the GPUs, without starting any. */
int provider_find_gpus(struct provider_factory *f, struct err *e);
void provider_free_gpus(struct provider_factory *f);
/* The GPU of an OrtEpDevice with these metadata; null: the processor. */
struct provider_gpu *provider_gpu_of(struct provider_factory *f, const struct ort_key_values *metadata);
/* The GPU of the factory that has this memory; null: none. */
struct provider_gpu *provider_gpu_at(struct provider_factory *f, const struct ort_memory_device *memory);
/* True if the tensor is in a GPU's memory. */
bool provider_is_on_gpu(const struct provider_host *h, const struct ort_value *value);
/* Starts the GPU when first called, and makes its context that of the calling thread. */
int provider_gpu_enter(struct provider_gpu *g, struct err *e);

/* ---- provider_memory.c: memory of a GPU. */

/* `p`: for one session, whose freed memory is used again; null: for all. */
struct ort_status *provider_allocator_new(struct ort_allocator **out, struct provider_factory *f, struct provider *p,
                                          const struct ort_memory_info *memory);
void provider_allocator_free(struct ort_allocator *a);

/* ---- provider_copy.c: copies of tensors. */
struct ort_status *provider_transfer_new(struct ort_data_transfer **out, struct provider_factory *f);

/* A copy to, from or on a GPU, in the stream's order; null: after all work of the GPU, and done on return. A copy to
 * the host is always done on return. */
struct provider_copy {
	void *to;
	const void *from;
	bool to_gpu, from_gpu;
	size_t bytes;
	cu_stream stream;
};
int provider_gpu_copy(struct provider_gpu *g, const struct provider_copy *c, struct err *e);

/* ---- provider_stream.c: streams of ONNX Runtime. */

/* `p`: with a lane of this session; null: one of its own. */
struct ort_status *provider_stream_new(struct ort_stream **out, struct provider_factory *f, struct provider *p,
                                       const struct ort_memory_device *memory);
/* The CUDA stream of one; null for null, or if ONNX Runtime does not know it. *lane: its lane; null: it has none. */
cu_stream provider_stream_of(struct provider_lane **lane, const struct provider_host *h,
                             const struct ort_sync_stream *s);

/* ---- provider_choose.c: the nodes that tpat takes. */
struct ort_status *provider_capability(struct ort_ep *ep, const struct ort_graph *graph,
                                       struct ort_graph_support *support);

/* ---- provider_context.c: compiled regions, as bytes. */

struct provider_context; /* in an arena; for one session of src/run */
struct provider_context *provider_context_new(struct provider *p, struct arena *a);
/* Reads one from bytes, which must stay as they are. ERR_MODEL if they are damaged. */
int provider_context_read(struct provider_context *c, const void *bytes, size_t size, struct err *e);
int provider_context_model(struct onnx_model **out, struct provider_context *c, struct err *e);
/* The number of this input among the inputs of the node that was written; -1: it is none. */
int provider_context_input(const struct provider_context *c, const char *name);
/* The device and the code of its session. */
struct run_device provider_context_device(struct provider_context *c);
struct run_codes provider_context_codes(struct provider_context *c);
/* The bytes of a region whose session is compiled, with these inputs. In the context's arena. */
int provider_context_write(const char **out, size_t *bytes, struct provider_context *c, const struct onnx_model *m,
                           const struct provider_values *in, struct err *e);

/* provider_epcontext.c: the nodes EPContext of a compiled model. */

/* True if the node is one of this provider. */
int provider_is_context(bool *out, const struct provider_host *h, const struct ort_node *n, struct arena *scratch,
                        struct err *e);
/* Makes the node for a fused one, and the file with its bytes unless they are in it. */
int provider_context_node(struct ort_node **out, struct provider *p, const struct ort_graph *graph,
                          const struct ort_node *fused, const struct provider_io *io, const char *bytes, size_t size,
                          struct arena *scratch, struct err *e);
/* The bytes of such a node, in `a` or in the file `map`, which the caller closes. */
int provider_context_bytes(const void **out, size_t *size, struct file_map *map, const struct provider *p,
                           const struct ort_graph *graph, const struct ort_node *n, struct arena *a, struct err *e);
/* Identifies the version and the device for which this session compiles regions: "tpat 1.2 cuda NVIDIA H200". In `a`.
 */
const char *provider_context_about(const struct provider *p, struct arena *a);

/* ---- provider_compute.c: fused nodes. */
struct ort_status *provider_compile(struct ort_ep *ep, const struct ort_graph **graph, const struct ort_node **fused,
                                    size_t n, struct ort_compute **out, struct ort_node **contexts);
void provider_release_computes(struct ort_ep *ep, struct ort_compute **compute, size_t n);

#endif
