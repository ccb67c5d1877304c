/* The host that acts as TensorRT for a plugin library: the members of engine_host, and their parts, for tests. Builds
 * one plugin like TensorRT (types, shapes, formats, tactics, workspace, serialisation). */
#ifndef TPAT_ENGINE_HOST_H
#define TPAT_ENGINE_HOST_H

#include "engine/engine_host.h"
#include "tpat/tpat_abi.h"

/* Opens a library like TensorRT's registry. Memory comes from `a`. One host for each library at a time, since device
 * and log belong to the library. Fails if the file cannot be opened or lacks a function that TensorRT needs. */
int host_open(struct host **out, const char *path, const struct host_options *o, struct arena *a, struct err *e);
void host_close(struct host *h); /* its engines must be gone; null is fine */
const struct tpat_rt_library *host_library(const struct host *h);
void *host_symbol(const struct host *h, const char *name); /* null if the library does not export it */
/* Returns the plugins' log since host_log_clear(), as lines; never null. */
const char *host_log(struct host *h);
void host_log_clear(struct host *h);

/* Returns a plugin's creator, whose first word points to a struct trt_creator, or trt_creator_8 if the host acts as
 * TensorRT 8 or 9; null if there is none. Null names match any. */
void *host_creator(struct host *h, const char *name, const char *version, const char *name_space);

/* Takes one plugin through the whole build, for extents between `min` and `max` (n inputs each, shape inputs last and
 * with their values; all three may be the same array), serialises and deserialises it, and attaches it to a context:
 * ready to run. Errors name the plugin and include its log. Memory comes from `a`. */
int host_build(struct host_engine **out, struct host *h, const char *name, const char *version, const char *name_space,
               const struct host_tensor *min, const struct host_tensor *opt, const struct host_tensor *max, int n,
               struct arena *a, struct err *e);
void host_engine_free(struct host_engine *x); /* null is fine */
int host_outputs(const struct host_engine *x);
size_t host_workspace(const struct host_engine *x); /* bytes requested */
/* host_tactics() returns the number of tactics to time (0: there is no choice). host_set_tactic() selects the i-th,
 * like an engine that was built with it, also for further contexts; the first is the default. Call host_prepare()
 * afterwards. */
int host_tactics(const struct host_engine *x);
int host_set_tactic(struct host_engine *x, int i, struct err *e);
void host_set_format(struct host *h, int32_t format); /* see engine_host.set_format */
const int32_t *host_formats(const struct host_engine *x);
bool host_set_in_place(struct host_engine *x, bool on); /* see engine_host.set_in_place */
/* The attached plugin's struct trt_runtime, or its struct trt_plugin_8, to call it without the host. */
void *host_runtime(const struct host_engine *x);
/* Makes another execution context of the same engine; shares no mutable state. */
int host_engine_context(struct host_engine **out, struct host_engine *x, struct arena *a, struct err *e);

/* host_check.c: see engine_host.check and engine_host.rule. */
extern const struct engine_rule host_rules[];
extern const int host_rules_count;
void host_check(const char *path, const struct engine_checking *c, struct arena *a);

/* Computes types and extents of the outputs for these inputs, by the plugin's symbolic shapes. */
int host_shapes(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, struct err *e);
/* host_prepare() calls onShapeChange; host_enqueue() only starts the work. `workspace` holds host_workspace() bytes. */
int host_prepare(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, struct err *e);
int host_enqueue(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, void *workspace,
                 void *stream, struct err *e);

/* After the work is done: sets the final extents of outputs that depend on size tensors (scalars among the outputs);
 * host_shapes() sets upper bounds. Fails if a size tensor has an impossible value. */
int host_found(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out,
               const struct host_memory *m, struct err *e);
/* Does all of the above: shapes, memory for outputs and workspace, prepare, enqueue, wait, sizes. On success the caller
 * frees the pointers in `out` (host_outputs() of them); on failure nothing stays allocated. */
int host_run(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, const struct host_memory *m,
             void *stream, struct err *e);

/* host_expr.c: an IExprBuilder that computes at once. Every expression is a number; inputs' extents are not constant,
 * as in a network with dynamic shapes. Lives as long as the arena. */
struct trt_expr *host_expr_builder(struct arena *a);
struct trt_expr *host_expr_builder_8(struct arena *a); /* of TensorRT 8 and 9: no size tensors */
const struct trt_expr *host_expr_new(struct trt_expr *builder, int64_t value, bool constant);
bool host_expr_made(const struct trt_expr *builder, const struct trt_expr *x); /* by this builder; reads no *x */
int64_t host_expr_value(const struct trt_expr *x);
int host_expr_count(const struct trt_expr *builder); /* operations made so far */
/* Sets the values of size tensors, by output; null: not known yet, use upper bounds. */
void host_expr_found(struct trt_expr *builder, const int64_t *size);
/* Returns the n-th output that was declared a size tensor, and its upper bound; -1 after the last. */
int host_expr_size(const struct trt_expr *builder, int n, int64_t *upper);

#endif
