/* A host for plugin libraries: does toward a library what an engine does, call by call, without the engine. Opens it,
 * builds one plugin, and runs it on the device that the library was given. May not know how a library was made. */
#ifndef TPAT_ENGINE_ENGINE_HOST_H
#define TPAT_ENGINE_ENGINE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "tpat/tpat_rt.h"

/* A tensor at the plugin's edge. `value` is set for shape inputs only: the elements, in host memory. */
struct host_tensor {
	int32_t type; /* ONNX */
	int32_t rank;
	int64_t dim[TPAT_RT_MAX_RANK];
	void *pointer; /* in the device's memory */
	const int64_t *value;
};

struct host_options {
	int32_t version;        /* which version of the engine to look like, as it says it itself; 0: a late one */
	bool pass_shape_inputs; /* describe shape inputs in the plugin's methods, too, and pass their pointers */
	const struct tpat_rt_device *device; /* runs the kernels; null: CUDA, in the current context */
};

/* The device's memory, for runs. */
struct host_memory {
	void *user;
	int (*alloc)(void *user, const char *name, size_t bytes, void **pointer, struct err *e); /* name: "output 0" */
	void (*free)(void *user, void *pointer);
	int (*wait)(void *user, void *stream, struct err *e); /* until all work on the stream is done */
	int (*read)(void *user, void *to, const void *from, size_t bytes, struct err *e); /* into host memory */
};
struct host;        /* an opened library */
struct host_engine; /* a plugin of it, built and ready to run */

struct engine_host {
	/* Takes its memory from `a`. One host a library at a time: device and log are the library's. Fails when the
	 * file cannot be opened or lacks what the engine needs. */
	int (*open)(struct host **out, const char *path, const struct host_options *o, struct arena *a, struct err *e);
	void (*close)(struct host *h); /* its plugins must be gone; null is fine */
	const struct tpat_rt_library *(*library)(const struct host *h);
	void (*clear_log)(struct host *h);

	/* One plugin through the whole build for extents between `min` and `max` (n inputs each, shape inputs last and
	 * with their values; all three may be the same array), saved, made again from what was saved: ready to run.
	 * Errors name the plugin and hold what it logged. Memory comes from `a`. */
	int (*build)(struct host_engine **out, struct host *h, const char *name, const char *version,
	             const char *name_space, const struct host_tensor *min, const struct host_tensor *opt,
	             const struct host_tensor *max, int n, struct arena *a, struct err *e);
	void (*free)(struct host_engine *x); /* null is fine */
	int (*outputs)(const struct host_engine *x);
	/* How many tactics it offers to be timed (0: it has one way alone), and the i-th of them taken. */
	int (*tactics)(const struct host_engine *x);
	int (*set_tactic)(struct host_engine *x, int i, struct err *e);
	/* Shapes, memory for outputs and workspace, the work, and the sizes found. On success the pointers in `out`
	 * (outputs() of them) are the caller's to free; on failure nothing is left. */
	int (*run)(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out,
	           const struct host_memory *m, void *stream, struct err *e);
};

#endif
