/* Compiling a library's folder, for the first time (tensorrt_build.c) and again (tensorrt_rebuild.c). */
#ifndef TPAT_EMIT_TENSORRT_INSIDE_H
#define TPAT_EMIT_TENSORRT_INSIDE_H

#include <stdatomic.h>

#include "base/embed.h"
#include "dev/nvrtc.h"
#include "engine/tensorrt/tensorrt.h"

#define OBJECTS "obj" /* of the compiler; not kept */
#define RUNTIME OBJECTS "/runtime.o"
#define RT_CORE "rt/core" /* sources of the runtime, in the folder and in the tree */
#define RT_TENSORRT "rt/tensorrt"
#define RT_ONNXRUNTIME "rt/onnxruntime"

struct build {
	const struct engine_library *library;
	const char *folder;
	const struct machine *machine; /* that the library is for; null: this one */
	struct job *job;
	int jobs;
	struct dev_nvrtc_header *header; /* for kernels to include */
	int headers;
	const char **source; /* the runtime's */
	int sources;
	const char *compiler; /* what tells it from others, once it is asked for objects to keep; null: unknown */
	struct {
		VEC(const char *);
	} cpu; /* objects of the kernels for the processor */
	atomic_int done;
	atomic_bool stop; /* a job failed, or the user asked */
	int workers;
	bool (*progress)(void *user, int done, int all, const char *what);
	void *user;
};

/* One call of a compiler: `source` (C) or a plugin's kernels. */
struct job {
	const char *source, *object;
	bool keep; /* the object, for later builds */
	const struct engine_plugin *plugin;
	const char *cuda;
	int part; /* of the plugin's texts */
	const struct engine_arch *arch;
	bool refused; /* NVRTC refuses the text */
	bool found;   /* its code was in the cache */
	struct err err;
};

char *tensorrt_id(const struct engine_plugin *p, struct arena *a);
int tensorrt_compile_c(const struct build *b, const char *source, const char *object, struct arena *a, struct err *e);
/* Adds a job that compiles a plugin's kernels for the processor. */
void tensorrt_add_cpu(struct build *b, const char *source, struct arena *a);
/* Runs all jobs. Reports the failure of the first in order, so that messages do not depend on timing. */
int tensorrt_run_jobs(struct build *b, struct err *e);
/* Links the embedded runtime, the folder's tables (obj/library.o), and the processor's kernels. */
int tensorrt_link(const struct build *b, const char *const *object, int objects, const char *library, struct arena *a,
                  struct err *e);
/* The same, with the runtime compiled from its sources. */
int tensorrt_link_sources(struct build *b, const char *tables, const char *library, struct arena *a, struct err *e);
/* Returns the path in the folder of an embedded file; null if it is not copied there. */
const char *tensorrt_place(const struct embed_file *f, struct arena *a);

#endif
