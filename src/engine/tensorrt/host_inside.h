/* Shared by the host's files: an open library, and a plugin of it. */
#ifndef TPAT_ENGINE_HOST_INSIDE_H
#define TPAT_ENGINE_HOST_INSIDE_H

#include <pthread.h>

#include "base/str.h"
#include "engine/tensorrt/host.h"

/* ILogger and ILoggerFinder, one object each; their table depends on the version that the host imitates. */
struct host_object {
	const void *vptr;
	struct host *host;
};

struct host {
	void *handle;
	const char *path;
	bool pass_shape_inputs;
	int32_t format; /* wanted for tensors that can have it */
	bool old;       /* acts as TensorRT 8.5 to 9.3: IPluginV2 and its creators */
	void *const *creator;
	int32_t creators;
	struct host_object logger, finder;
	pthread_mutex_t lock; /* of the log: plugins may log from several threads */
	struct str log;
	void *const *(*get_creators)(int32_t *); /* null: the library registers its creators itself */
};

/* host_image.c: loads a library of this name that has functions of this program, for libraries that need it. False if
 * the loader refuses it. Stays loaded. */
struct host_function {
	const char *name;
	void (*address)(void);
};
bool host_image_open(const char *name, const struct host_function *f, int n);

/* host_registry.c: opens a library that may be linked with TensorRT. What is missing of TensorRT is replaced: a
 * registry and a logger. Null: *why is dlerror()'s text. One library in a process. */
void *host_open_linked(const char **why, struct host *h, int32_t version, struct arena *a);
/* The creators that the library has registered itself. */
int32_t host_registered(void *const **creators);
/* It has registered a creator of the same name, version and namespace. */
bool host_is_registered(void *creator);

/* After host_close(): runs the destructors of a library that stays loaded, as the end of the process does. C++
 * templates with static data are enough for that. The process must end without them: by _exit(). */
void host_finish(struct host *h);

/* Null matches any. */
bool host_matches(const char *want, const char *got);

struct host_engine {
	struct host *host;
	struct arena *arena;
	const char *name;
	void *build;               /* the plugin of the build phase: null in further contexts */
	void *created;             /* the plugin made from the saved fields; null in further contexts */
	void *plugin;              /* attached to a context: the one that runs */
	struct host_engine *first; /* whose build and created plugin a further context uses */
	int32_t inputs, passed;    /* all; those described to the plugin at run time */
	int32_t outputs;
	int32_t *format; /* of inputs, then outputs */
	int32_t *alias;  /* for each output the input whose memory it may have, or -1 */
	bool in_place;   /* outputs have that memory, as if the network's user had turned on aliased inputs */
	int32_t *type;   /* TensorRT's, of inputs, then outputs */
	size_t workspace;
	int32_t *tactic; /* offered by the plugin */
	int32_t tactics;
	int32_t chosen; /* one of them, which an engine would store; 0: none offered */
};

bool host_is_interface(void *object, const char *kind); /* false for null */
struct trt_dims host_dims(const struct host_tensor *t);
/* Returns a plugin's capability; null if it is missing or wrong. */
void *host_capability(void *plugin, int32_t which);
struct trt_desc host_desc(const struct host_tensor *t);
/* "plugin Softmax: getOutputShapes failed: tpat plugin Softmax: ..." */
int host_failed(const struct host_engine *x, const char *method, enum err_code code, struct err *e);
/* Gets types and extents of the outputs from the plugin's `build` capability. `found`: values of size tensors, by
 * output; null: use upper bounds. */
int host_ask_shapes(struct host_engine *x, void *build, const struct host_tensor *in, struct host_tensor *out,
                    const int64_t *found, struct err *e);
/* Bytes of a field's data, by PluginFieldType and length. Types of four bits are packed. 0 for an unknown type. */
size_t host_field_bytes(const struct trt_field *f);
/* Returns an IPluginResourceContext whose allocator has no memory and which has no error recorder. Never freed. */
void *host_resource_context(void);
int32_t host_onnx_type(int32_t type); /* the ONNX number of a TensorRT type; 0: none */

enum { HOST_MAX_TENSORS = 256 }; /* on the stack, so that enqueue allocates nothing here either */

/* host_v2.c: the same steps with an old host's plugins. in[]: for the smallest, usual and largest extents. */
int host_v2_build(struct host_engine *x, void *creator, const struct host_tensor *const in[3], struct err *e);
int host_v2_attach(struct host_engine *x, void *created, struct err *e);
void host_v2_release(void *plugin);
int host_v2_shapes(struct host_engine *x, void *plugin, const struct host_tensor *in, struct host_tensor *out,
                   struct err *e);
int host_v2_prepare(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, struct err *e);
int host_v2_enqueue(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out,
                    const void *const *inputs, void *const *outputs, void *workspace, void *stream, struct err *e);

#endif
