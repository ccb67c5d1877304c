/* The library's context: errors, memory, and the start of every call. The pipeline is in tpat_build.c. */
#include "base/threads.h"
#include "lib/tpat_inside.h"

#include <setjmp.h>

struct tpat *tpat_new(void)
{
	struct arena_guard guard;
	if (setjmp(*arena_guard_push(&guard))) {
		arena_guard_pop(&guard);
		return NULL;
	}
	struct arena *own = arena_new();
	struct tpat *t = NEW(own, struct tpat);
	t->own = own;
	t->talk.lock = lock_new(own);
	arena_guard_pop(&guard);
	return t;
}

void tpat_free(struct tpat *t)
{
	if (!t)
		return;
	lock_free(t->talk.lock);
	arena_free(t->arena);
	arena_free(t->own);
}

const char *tpat_version(void)
{
	return TPAT_VERSION;
}

const char *tpat_error(const struct tpat *t)
{
	return t->err.text;
}

const char *tpat_error_where(const struct tpat *t)
{
	return t->err.where;
}

const char *tpat_error_advice(const struct tpat *t)
{
	return t->err.advice;
}

const char *tpat_error_file(const struct tpat *t)
{
	return t->err.about[ERR_FILE];
}

const char *tpat_error_node(const struct tpat *t)
{
	return t->err.about[ERR_NODE];
}

const char *tpat_error_tensor(const struct tpat *t)
{
	return t->err.about[ERR_TENSOR];
}

int tpat_call(struct tpat *t, int (*fn)(struct tpat *t, void *arg), void *arg)
{
	struct arena_guard guard;
	arena_free(t->arena);
	t->arena = NULL;
	t->cleanup = NULL;
	err_clear(&t->err);
	if (setjmp(*arena_guard_push(&guard))) {
		err_set_guard(&t->err, "");
	} else {
		t->arena = arena_new();
		ck((fn(t, arg) < 0) == (t->err.code != 0));
		tpat_advise_file(&t->err, t->arena);
	}
	arena_guard_pop(&guard);
	if (t->cleanup)
		t->cleanup(t->cleanup_arg);
	return t->err.code;
}

int tpat_graph(struct graph **graph, struct onnx_model *model, const struct tpat_open_options *open, struct arena *a,
               struct err *e)
{
	const struct tpat_strings text = tpat_split_inputs(open->shape, model, a);
	struct graph_shape *shapes = NEWN(a, struct graph_shape, text.n + 1);
	struct graph_options o = { .shapes = text.n,
		                   .shape = shapes,
		                   .version = open->version,
		                   .engine_ranks = !open->run,
		                   .take_apart = open->run };
	for (int i = 0; i < text.n; i++)
		TRY(tpat_parse_shape(&shapes[i], text.at[i], a, e));
	return graph_open(graph, model, &o, e);
}

int tpat_open_as(struct onnx_model **model, struct graph **graph, const char *path,
                 const struct tpat_open_options *open, const struct tpat_strings *value, struct arena *a, struct err *e)
{
	struct graph_shape ignored;
	for (int i = 0; i < open->shape->n; i++) /* before the file */
		TRY(tpat_parse_shape(&ignored, open->shape->at[i], a, e));
	int rc = onnx_model_read(model, path, e);
	if (rc == 0)
		rc = onnx_model_check(*model, e);
	if (rc == 0)
		rc = tpat_bind_values(*model, value, a, e);
	if (rc == 0)
		rc = tpat_graph(graph, *model, open, a, e);
	err_about(e, ERR_FILE, path);
	return rc;
}

int tpat_open(struct onnx_model **model, struct graph **graph, const char *path, const struct tpat_strings *shape,
              const struct tpat_strings *value, const char *version, struct arena *a, struct err *e)
{
	return tpat_open_as(model, graph, path, &(struct tpat_open_options){ shape, version, false }, value, a, e);
}
