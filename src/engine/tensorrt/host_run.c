/* The plugin side of the host: extents of outputs, and runs of a plugin that host_engine.c has built. */
#include "engine/tensorrt/host_inside.h"

#include <string.h>

#include "tensor/type.h"

/* Checks that a size tensor is a scalar output, and no other output's extent. */
static int check_sizes(const struct host_engine *x, const struct trt_expr *builder, const struct host_tensor *out,
                       struct err *e)
{
	int64_t upper;
	int o;

	for (int n = 0; (o = host_expr_size(builder, n, &upper)) >= 0; n++)
		if (o >= x->outputs || out[o].rank != 0 || (out[o].type != TYPE_I64 && out[o].type != TYPE_I32))
			return err_set(e, ERR_UNSUPPORTED,
			               "Plugin %s: output %d is declared a size tensor but is not a scalar integer.",
			               x->name, o);
	return 0;
}

int host_ask_shapes(struct host_engine *x, void *build, const struct host_tensor *in, struct host_tensor *out,
                    const int64_t *found, struct err *e)
{
	struct arena *a = arena_new();
	struct trt_expr *builder = host_expr_builder(a);
	struct trt_dims_exprs *exprs = NEWN(a, struct trt_dims_exprs, x->inputs + 1);
	struct trt_dims_exprs *shape_in = NEWN(a, struct trt_dims_exprs, x->inputs + 1);
	struct trt_dims_exprs *result = NEWN(a, struct trt_dims_exprs, x->outputs + 1);
	int32_t shape_inputs = 0;
	int rc = 0;

	host_expr_found(builder, found);
	for (int32_t i = 0; i < x->inputs; i++) {
		exprs[i].rank = in[i].rank;
		for (int32_t d = 0; d < in[i].rank; d++)
			exprs[i].d[d] = host_expr_new(builder, in[i].dim[d], false);
		if (!in[i].value)
			continue;
		struct trt_dims_exprs *s = &shape_in[shape_inputs++];
		s->rank = in[i].rank ? (int32_t)in[i].dim[0] : 1;
		for (int32_t d = 0; d < s->rank && d < TRT_MAX_DIMS; d++)
			s->d[d] = host_expr_new(builder, in[i].value[d], false);
	}
	if (TRT_CALL(build, trt_build, output_shapes, exprs, x->passed, shape_in, shape_inputs, result, x->outputs,
	             builder))
		rc = host_failed(x, "getOutputShapes", ERR_UNSUPPORTED, e);
	for (int32_t o = 0; rc == 0 && o < x->outputs; o++) {
		out[o].type = host_onnx_type(x->type[x->inputs + o]);
		out[o].format = x->format ? x->format[x->inputs + o] : TRT_LINEAR;
		out[o].rank = result[o].rank;
		for (int32_t d = 0; d < out[o].rank; d++) {
			if (!result[o].d[d])
				rc = err_set(e, ERR_UNSUPPORTED, "Plugin %s: extent %d of output %d is null.", x->name,
				             (int)d, (int)o);
			else
				out[o].dim[d] = host_expr_value(result[o].d[d]);
		}
	}
	if (rc == 0)
		rc = check_sizes(x, builder, out, e);
	arena_free(a);
	return rc;
}

int host_shapes(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, struct err *e)
{
	void *plugin = x->first ? x->first->build : x->build;
	if (x->host->old)
		return host_v2_shapes(x, plugin, in, out, e);
	return host_ask_shapes(x, host_capability(plugin, TRT_BUILD), in, out, NULL, e);
}

/* Reads the scalar integers among the outputs from the device. */
static int read_sizes(const struct host_engine *x, const struct host_tensor *out, const struct host_memory *m,
                      int64_t *size, bool *any, struct err *e)
{
	int32_t narrow;

	for (int32_t o = 0; o < x->outputs; o++) {
		size[o] = -1;
		if (out[o].rank != 0 || (out[o].type != TYPE_I64 && out[o].type != TYPE_I32))
			continue;
		*any = true;
		if (out[o].type == TYPE_I64)
			TRY(m->read(m->user, &size[o], out[o].pointer, sizeof size[o], e));
		else
			TRY(m->read(m->user, &narrow, out[o].pointer, sizeof narrow, e));
		size[o] = out[o].type == TYPE_I64 ? size[o] : narrow;
	}
	return 0;
}

int host_found(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out,
               const struct host_memory *m, struct err *e)
{
	struct arena *a = arena_new();
	struct host_tensor *most = NEWN(a, struct host_tensor, x->outputs + 1);
	struct host_tensor *now = NEWN(a, struct host_tensor, x->outputs + 1);
	void *build = NULL;
	int64_t *size = NEWN(a, int64_t, x->outputs + 1);
	bool any = false;
	int rc = 0;

	if (!x->host->old) { /* V2 plugins have no size tensors */
		build = host_capability(x->first ? x->first->build : x->build, TRT_BUILD);
		rc = read_sizes(x, out, m, size, &any, e);
	}
	if (rc == 0 && any)
		rc = host_ask_shapes(x, build, in, most, NULL, e);
	if (rc == 0 && any)
		rc = host_ask_shapes(x, build, in, now, size, e);
	for (int32_t o = 0; rc == 0 && any && o < x->outputs; o++)
		for (int32_t d = 0; d < out[o].rank && rc == 0; d++) {
			if (now[o].dim[d] < 0 || now[o].dim[d] > most[o].dim[d])
				rc = err_set(e, ERR_DIFFER,
				             "Plugin %s: by its size tensors output %d has extent %lld at dimension "
				             "%d; it can have 0 to %lld.",
				             x->name, (int)o, (long long)now[o].dim[d], (int)d,
				             (long long)most[o].dim[d]);
			out[o].dim[d] = now[o].dim[d];
		}
	arena_free(a);
	return rc;
}

/* ---- Runs. */

static int check_room(const struct host_engine *x, struct err *e)
{
	if (x->inputs > HOST_MAX_TENSORS || x->outputs > HOST_MAX_TENSORS)
		return err_set(e, ERR_UNSUPPORTED, "Plugin %s has more than %d inputs or outputs.", x->name,
		               HOST_MAX_TENSORS);
	return 0;
}

int host_prepare(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, struct err *e)
{
	struct trt_desc in_desc[HOST_MAX_TENSORS], out_desc[HOST_MAX_TENSORS];

	TRY(check_room(x, e));
	if (x->host->old)
		return host_v2_prepare(x, in, out, e);
	void *runtime = host_capability(x->plugin, TRT_RUNTIME);
	for (int32_t i = 0; i < x->passed; i++)
		in_desc[i] = host_desc(&in[i]);
	for (int32_t o = 0; o < x->outputs; o++)
		out_desc[o] = host_desc(&out[o]);
	if (TRT_CALL(runtime, trt_runtime, shape_change, in_desc, x->passed, out_desc, x->outputs))
		return host_failed(x, "onShapeChange", ERR_DEVICE, e);
	return 0;
}

int host_enqueue(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, void *workspace,
                 void *stream, struct err *e)
{
	struct trt_desc in_desc[HOST_MAX_TENSORS], out_desc[HOST_MAX_TENSORS];
	const void *inputs[HOST_MAX_TENSORS];
	void *outputs[HOST_MAX_TENSORS];

	TRY(check_room(x, e));
	for (int32_t i = 0; i < x->passed; i++) {
		in_desc[i] = host_desc(&in[i]);
		inputs[i] = in[i].pointer;
	}
	for (int32_t o = 0; o < x->outputs; o++) {
		out_desc[o] = host_desc(&out[o]);
		outputs[o] = out[o].pointer;
	}
	if (x->host->old)
		return host_v2_enqueue(x, in, out, inputs, outputs, workspace, stream, e);
	void *runtime = host_capability(x->plugin, TRT_RUNTIME);
	if (TRT_CALL(runtime, trt_runtime, enqueue, in_desc, out_desc, inputs, outputs, workspace, stream))
		return host_failed(x, "enqueue", ERR_DEVICE, e);
	return 0;
}

static int bytes_of(size_t *out, const struct host_engine *x, const struct host_tensor *t, struct err *e)
{
	int64_t n = 1, dim[TRT_MAX_DIMS];

	*out = 0;
	memcpy(dim, t->dim, sizeof dim);
	int32_t rank = trt_stored(dim, t->rank, t->format);
	for (int32_t d = 0; d < rank; d++)
		if (dim[d] < 0 || __builtin_mul_overflow(n, dim[d], &n))
			return err_set(e, ERR_MODEL, "Plugin %s: an output has extent %lld at dimension %d.", x->name,
			               (long long)dim[d], (int)d);
	n = type_bytes((enum type)t->type, n);
	if (n < 0)
		return err_set(e, ERR_MODEL, "Plugin %s: an output's size cannot be computed.", x->name);
	*out = (size_t)n;
	return 0;
}

/* What starts a run. */
struct start {
	struct host_engine *x;
	const struct host_tensor *in, *out;
	void *workspace, *stream;
};

static int start(void *of, struct err *e)
{
	const struct start *s = of;
	return host_enqueue(s->x, s->in, s->out, s->workspace, s->stream, e);
}

static int run_in(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, void **workspace,
                  const struct host_memory *m, void *stream, struct err *e)
{
	size_t bytes;

	for (int32_t o = 0; o < x->outputs; o++) {
		TRY(bytes_of(&bytes, x, &out[o], e));
		if (x->in_place && x->alias[o] >= 0)
			out[o].pointer = in[x->alias[o]].pointer;
		else
			TRY(m->alloc(m->user, arena_printf(x->arena, "output %d", (int)o), bytes, &out[o].pointer, e));
	}
	if (x->workspace)
		TRY(m->alloc(m->user, "workspace", x->workspace, workspace, e));
	TRY(host_prepare(x, in, out, e));
	struct start s = { x, in, out, *workspace, stream };
	TRY(start(&s, e));
	TRY(m->wait(m->user, stream, e));
	if (m->again)
		TRY(m->again(m->again_user, start, &s, e));
	return host_found(x, in, out, m, e);
}

int host_run(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, const struct host_memory *m,
             void *stream, struct err *e)
{
	void *workspace = NULL;

	memset(out, 0, (size_t)x->outputs * sizeof *out);
	TRY(host_shapes(x, in, out, e));
	int rc = run_in(x, in, out, &workspace, m, stream, e);
	if (workspace)
		m->free(m->user, workspace);
	for (int32_t o = 0; rc < 0 && o < x->outputs; o++) {
		if (out[o].pointer && !(x->in_place && x->alias[o] >= 0))
			m->free(m->user, out[o].pointer);
		out[o].pointer = NULL;
	}
	return rc < 0 ? rc : 0;
}
