/* The host that plays TensorRT toward a plugin library: the members of engine_host, and their parts, for tests. Builds
 * one plugin as TensorRT does (types, shapes, formats, tactics, workspace, serialisation). */
#ifndef TPAT_ENGINE_HOST_H
#define TPAT_ENGINE_HOST_H

#include "engine/engine_host.h"
#include "tpat/tpat_abi.h"

/* A library, opened as TensorRT's registry does it. The host takes its memory from `a`. One host a library at a time:
 * device and log are the library's. Fails when the file cannot be opened or lacks what TensorRT needs. */
int host_open(struct host **out, const char *path, const struct host_options *o, struct arena *a, struct err *e);
void host_close(struct host *h); /* its engines must be gone; null is fine */
const struct tpat_rt_library *host_library(const struct host *h);
void *host_symbol(const struct host *h, const char *name); /* null when the library does not show it */
/* What the plugins logged since host_log_clear: lines; never null. */
const char *host_log(struct host *h);
void host_log_clear(struct host *h);

/* A plugin's creator (struct trt_creator behind its first word); null when there is none. Null names match all. */
void *host_creator(struct host *h, const char *name, const char *version, const char *name_space);

/* One plugin through the whole build for extents between `min` and `max` (n inputs each, shape inputs last and with
 * their values; all three may be the same array), saved, made again from what was saved, and attached to a context:
 * ready to run. Errors name the plugin and hold what it logged. Memory comes from `a`. */
int host_build(struct host_engine **out, struct host *h, const char *name, const char *version, const char *name_space,
               const struct host_tensor *min, const struct host_tensor *opt, const struct host_tensor *max, int n,
               struct arena *a, struct err *e);
void host_engine_free(struct host_engine *x); /* null is fine */
int host_outputs(const struct host_engine *x);
size_t host_workspace(const struct host_engine *x); /* bytes that it asked for */
/* How many tactics it offers to be timed (0: it has one way alone), and the i-th of them taken, as an engine does that
 * was built with it; its further contexts take it, too. It starts with the first. After it: host_prepare. */
int host_tactics(const struct host_engine *x);
int host_set_tactic(struct host_engine *x, int i, struct err *e);
/* The attached plugin's struct trt_runtime, to call it without the host. */
void *host_runtime(const struct host_engine *x);
/* Another execution context of the same engine: shares nothing that changes. */
int host_engine_context(struct host_engine **out, struct host_engine *x, struct arena *a, struct err *e);

/* Types and extents of the outputs for these inputs, through the plugin's symbolic shapes. */
int host_shapes(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, struct err *e);
/* onShapeChange; then enqueue, which only starts the work. `workspace` holds host_workspace() bytes. */
int host_prepare(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, struct err *e);
int host_enqueue(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, void *workspace,
                 void *stream, struct err *e);

/* The work is done: outputs whose extents depend on size tensors (scalars among the outputs) get the extents that these
 * say; host_shapes() gave the most that they can be. Fails when a size tensor says what cannot be. */
int host_found(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out,
               const struct host_memory *m, struct err *e);
/* All of the above in a row: shapes, memory for outputs and workspace, prepare, enqueue, wait, the sizes found. On
 * success the pointers in `out` (host_outputs() of them) are the caller's to free; on failure nothing is left. */
int host_run(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, const struct host_memory *m,
             void *stream, struct err *e);

/* host_expr.c: an IExprBuilder that computes at once. Every expression is a number; inputs' extents are not constant,
 * as in a network with dynamic shapes. Lives as long as the arena. */
struct trt_expr *host_expr_builder(struct arena *a);
const struct trt_expr *host_expr_new(struct trt_expr *builder, int64_t value, bool constant);
int64_t host_expr_value(const struct trt_expr *x);
int host_expr_count(const struct trt_expr *builder); /* operations made so far */
/* What size tensors say, by output; null (before that is known): the most that they can be. */
void host_expr_found(struct trt_expr *builder, const int64_t *size);
/* The n-th output that was declared a size tensor, and its upper bound; -1: there are no more. */
int host_expr_size(const struct trt_expr *builder, int n, int64_t *upper);

#endif
