/* A host for plugin libraries: makes an engine's calls to a library, one by one, without the engine. Opens it, builds
 * one plugin, and runs it on the library's device. Must not know how a library was made. */
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
	int32_t format; /* in which it is stored; 0: row-major */
};

struct host_options {
	int32_t version;        /* the engine version to imitate, in its own numbering; 0: a late one */
	bool pass_shape_inputs; /* also describe shape inputs to the plugin's methods, and pass their pointers */
	bool linked;            /* the library may be linked with the engine, of which what is missing is replaced */
	const struct tpat_rt_device *device; /* runs the kernels; null: CUDA, in the current context */
};

/* Device memory for runs. */
struct host_memory {
	void *user;
	int (*alloc)(void *user, const char *name, size_t bytes, void **pointer, struct err *e); /* name: "output 0" */
	void (*free)(void *user, void *pointer);
	int (*wait)(void *user, void *stream, struct err *e);                             /* until the stream is idle */
	int (*read)(void *user, void *to, const void *from, size_t bytes, struct err *e); /* into host memory */
	/* (optional) Called after a run; run(of, e) starts the same run once more, for times. */
	int (*again)(void *user, int (*run)(void *of, struct err *e), void *of, struct err *e);
	void *again_user;
};
/* A rule of the engine's headers that a library can break. */
struct engine_rule {
	const char *method; /* of the headers: "IPluginV2::clone"; several are separated by commas */
	const char *text;   /* the rule, a clause */
	const char *fix;    /* what to do, sentences */
};

/* Checks of a library that anybody may have made. The functions are called in order; the process may die in between, if
 * the library's code does. */
struct engine_checking {
	const char *only;                      /* this plugin; null: all */
	int32_t version;                       /* of the engine, as host_options.version */
	const struct host_tensor *in, *in_min; /* inputs of a build: largest and smallest extents; `pointer`: values
	                                        * for runs, in host memory and row-major, or null */
	int inputs;
	const struct host_tensor *expect; /* outputs of these inputs, in host memory */
	int expects;
	const char *const *attribute; /* "NAME=VALUE": given to createPlugin */
	int attributes;
	bool host_memory; /* enqueue with memory of the processor: for plugins that compute there */
	void *user;
	void (*step)(void *user, const char *plugin, const char *call); /* about to call the library */
	/* A rule is broken; `what` is a clause. `rule`: an index into engine_host.rules. */
	void (*found)(void *user, const char *plugin, const char *call, const char *what, int rule);
	void (*note)(void *user, const char *plugin, const char *text);
	bool time; /* of enqueue(), where no rule is broken */
	/* `inputs`: their types and extents, "f32[2,3] i64[4]". `captured`: in a CUDA graph. */
	void (*timed)(void *user, const char *plugin, const char *inputs, int32_t tactic, double ns, bool captured);
	void (*checked)(void *user, const char *plugin); /* all checks of this plugin were made */
	void (*ended)(void *user);                       /* nothing follows: the end, or of the process */
};

struct host;        /* an opened library */
struct host_engine; /* a plugin of it, built and ready to run */

struct engine_host {
	/* Opens a library; memory comes from `a`. One host for each library at a time, since device and log belong to
	 * the library. Fails if the file cannot be opened or lacks a function that the engine needs. */
	int (*open)(struct host **out, const char *path, const struct host_options *o, struct arena *a, struct err *e);
	void (*close)(struct host *h); /* its plugins must be gone; null is fine */
	const struct tpat_rt_library *(*library)(const struct host *h);
	void (*clear_log)(struct host *h);

	/* Takes one plugin through the whole build, for extents between `min` and `max` (n inputs each, shape inputs
	 * last and with their values; all three may be the same array), then serialises and deserialises it: ready to
	 * run. Errors name the plugin and include its log. Memory comes from `a`. */
	int (*build)(struct host_engine **out, struct host *h, const char *name, const char *version,
	             const char *name_space, const struct host_tensor *min, const struct host_tensor *opt,
	             const struct host_tensor *max, int n, struct arena *a, struct err *e);
	void (*free)(struct host_engine *x); /* null is fine */
	int (*outputs)(const struct host_engine *x);
	/* tactics() returns the number of tactics to time (0: there is no choice); set_tactic() selects the i-th. */
	int (*tactics)(const struct host_engine *x);
	int (*set_tactic)(struct host_engine *x, int i, struct err *e);
	/* Checks all plugins of a library by themselves. Memory comes from `a`. */
	void (*check)(const char *path, const struct engine_checking *c, struct arena *a);
	const struct engine_rule *rule; /* those that check() finds broken; the first: a call returns */
	const int *rules;
	/* (optional) Lets outputs have the memory of the inputs that they replace, for engines that can, or memory of
	 * their own, as at first. False if no output replaces an input. */
	bool (*set_in_place)(struct host_engine *x, bool on);
	/* (optional) Lets later builds ask for this format (engine_layout.number) for each tensor that can have it; 0:
	 * row-major. formats(): those of a plugin's inputs, then outputs. */
	void (*set_format)(struct host *h, int32_t format);
	const int32_t *(*formats)(const struct host_engine *x);
	/* Computes shapes, allocates outputs and workspace, runs the plugin, and reads the sizes. On success the caller
	 * frees the pointers in `out` (outputs() of them; some may be inputs': set_in_place()); on failure nothing
	 * stays allocated. */
	int (*run)(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out,
	           const struct host_memory *m, void *stream, struct err *e);
};

#endif
