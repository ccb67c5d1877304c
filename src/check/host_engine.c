/* The plugin side of the host: one plugin through TensorRT's lifecycle, in the order that its headers document. */
#include "check/host_inside.h"

#include <string.h>

#include "tensor/type.h"

struct host_engine {
	struct host *host;
	struct arena *arena;
	const char *name;
	void *build;               /* the plugin of the build phase: null in further contexts */
	void *created;             /* the plugin made from the saved fields; null in further contexts */
	void *plugin;              /* attached: the one that runs */
	struct host_engine *first; /* whose build and created plugin a further context uses */
	int32_t inputs, passed;    /* all; those described to the plugin at run time */
	int32_t outputs;
	int32_t *type; /* TensorRT's, of inputs, then outputs */
	size_t workspace;
	int32_t *tactic; /* what the plugin offers */
	int32_t tactics;
	int32_t chosen; /* what an engine would keep: one of them; 0: none is offered */
};

/* The build. */

/* "plugin Softmax: getOutputShapes failed: tpat plugin Softmax: ..." */
static int failed(const struct host_engine *x, const char *method, enum err_code code, struct err *e)
{
	const char *log = host_log(x->host), *last = log;
	size_t n = strlen(log);

	if (n > 0 && log[n - 1] == '\n')
		n--;
	for (size_t i = 0; i < n; i++)
		if (log[i] == '\n')
			last = log + i + 1;
	n -= (size_t)(last - log);
	return err_set(e, code, "Plugin %s of %s: %s failed%s%.*s", x->name, x->host->path, method,
	               n ? ": " : " without a line in the log.", (int)n, last);
}

static void release(void *plugin)
{
	if (plugin)
		TRT_CALL(plugin, trt_plugin, v.d0);
}

static bool is_interface(void *object, const char *kind)
{
	if (!object || TRT_CALL(object, trt_plugin, v.api_language) != 0)
		return false;
	struct trt_info info = TRT_CALL(object, trt_plugin, v.info);
	return strcmp(info.kind, kind) == 0 && info.major == 1;
}

/* The capability of a plugin; null unless it is what it must be. */
static void *capability(void *plugin, int32_t which)
{
	static const char *const kind[] = { "PLUGIN_V3ONE_CORE", "PLUGIN_V3ONE_BUILD", "PLUGIN_V3ONE_RUNTIME" };
	void *c = TRT_CALL(plugin, trt_plugin, capability, which);
	return is_interface(c, kind[which]) ? c : NULL;
}

static struct trt_dims dims_of(const struct host_tensor *t)
{
	struct trt_dims d = { .rank = t->rank };

	memcpy(d.d, t->dim, sizeof d.d);
	return d;
}

static struct trt_desc desc_of(const struct host_tensor *t)
{
	return (struct trt_desc){
		.dims = dims_of(t), .type = trt_type_of_onnx(t->type), .format = TRT_LINEAR, .scale = -1
	};
}

static struct trt_dynamic_desc range_of(const struct host_tensor *min, const struct host_tensor *opt,
                                        const struct host_tensor *max)
{
	struct trt_dynamic_desc d = {
		.desc = desc_of(opt), .min = dims_of(min), .max = dims_of(max), .opt = dims_of(opt)
	};

	for (int i = 0; i < d.desc.dims.rank; i++)
		if (d.min.d[i] != d.max.d[i])
			d.desc.dims.d[i] = -1;
	return d;
}

/* Onnx's number of a TensorRT type. */
static int32_t onnx_type(int32_t type)
{
	for (int32_t t = 1; t < 64; t++)
		if (trt_type_of_onnx(t) == type)
			return t;
	return 0;
}

/* A size tensor is a scalar among the outputs, and nothing else's extent. */
static int check_sizes(const struct host_engine *x, const struct trt_expr *builder, const struct host_tensor *out,
                       struct err *e)
{
	int64_t upper;
	int o;

	for (int n = 0; (o = host_expr_size(builder, n, &upper)) >= 0; n++)
		if (o >= x->outputs || out[o].rank != 0 || (out[o].type != TYPE_I64 && out[o].type != TYPE_I32))
			return err_set(e, ERR_UNSUPPORTED,
			               "Plugin %s: output %d is declared a size tensor and is no scalar integer.", x->name,
			               o);
	return 0;
}

/* `found`: what size tensors say, by output, or null: the most that they can be. */
static int shapes(struct host_engine *x, void *build, const struct host_tensor *in, struct host_tensor *out,
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
		rc = failed(x, "getOutputShapes", ERR_UNSUPPORTED, e);
	for (int32_t o = 0; rc == 0 && o < x->outputs; o++) {
		out[o].type = onnx_type(x->type[x->inputs + o]);
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
	return shapes(x, capability(plugin, TRT_BUILD), in, out, NULL, e);
}

/* The scalar integers among the outputs, read from the device. */
static int read_sizes(const struct host_engine *x, const struct host_tensor *out, const struct host_memory *m, int64_t *size,
                      bool *any, struct err *e)
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

int host_found(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, const struct host_memory *m,
               struct err *e)
{
	struct arena *a = arena_new();
	struct host_tensor *most = NEWN(a, struct host_tensor, x->outputs + 1);
	struct host_tensor *now = NEWN(a, struct host_tensor, x->outputs + 1);
	void *build = capability(x->first ? x->first->build : x->build, TRT_BUILD);
	int64_t *size = NEWN(a, int64_t, x->outputs + 1);
	bool any = false;
	int rc = read_sizes(x, out, m, size, &any, e);

	if (rc == 0 && any)
		rc = shapes(x, build, in, most, NULL, e);
	if (rc == 0 && any)
		rc = shapes(x, build, in, now, size, e);
	for (int32_t o = 0; rc == 0 && any && o < x->outputs; o++)
		for (int32_t d = 0; d < out[o].rank && rc == 0; d++) {
			if (now[o].dim[d] < 0 || now[o].dim[d] > most[o].dim[d])
				rc = err_set(e, ERR_DIFFER,
				             "Plugin %s: by its size tensors output %d has extent %lld at dimension %d; it can "
				             "have 0 to %lld.",
				             x->name, (int)o, (long long)now[o].dim[d], (int)d, (long long)most[o].dim[d]);
			out[o].dim[d] = now[o].dim[d];
		}
	arena_free(a);
	return rc;
}

static int output_types(struct host_engine *x, void *build, const struct host_tensor *in, struct err *e)
{
	x->outputs = TRT_CALL(build, trt_build, outputs);
	if (x->outputs < 1)
		return failed(x, "getNbOutputs", ERR_UNSUPPORTED, e);
	x->type = NEWN(x->arena, int32_t, x->inputs + x->outputs);
	for (int32_t i = 0; i < x->inputs; i++)
		x->type[i] = trt_type_of_onnx(in[i].type);
	if (TRT_CALL(build, trt_build, output_types, x->type + x->inputs, x->outputs, x->type, x->passed))
		return failed(x, "getOutputDataTypes", ERR_UNSUPPORTED, e);
	return 0;
}

/* What TensorRT would time. Tactics are unique; 0 means that there are none to choose from. */
static int ask_tactics(struct host_engine *x, void *build, struct err *e)
{
	x->tactics = TRT_CALL(build, trt_build, tactics);
	if (x->tactics < 0)
		return failed(x, "getNbTactics", ERR_UNSUPPORTED, e);
	x->tactic = NEWN(x->arena, int32_t, x->tactics + 1);
	if (TRT_CALL(build, trt_build, valid_tactics, x->tactic, x->tactics))
		return failed(x, "getValidTactics", ERR_UNSUPPORTED, e);
	for (int32_t i = 0; i < x->tactics; i++) {
		bool fresh = x->tactic[i] != 0;
		for (int32_t k = 0; k < i; k++)
			fresh &= x->tactic[k] != x->tactic[i];
		if (!fresh)
			return err_set(e, ERR_UNSUPPORTED, "Plugin %s: tactic %d is offered twice, or is 0.", x->name,
			               (int)x->tactic[i]);
		/* The builder sets each on the plugin of the build phase, to time it. */
		if (TRT_CALL(capability(x->build, TRT_RUNTIME), trt_runtime, set_tactic, x->tactic[i]))
			return failed(x, "setTactic", ERR_UNSUPPORTED, e);
	}
	x->chosen = x->tactics ? x->tactic[0] : 0;
	return 0;
}

/* Formats and ranges, tactics, workspace. */
static int configure(struct host_engine *x, void *build, const struct host_tensor *min, const struct host_tensor *opt,
                     const struct host_tensor *max, struct err *e)
{
	struct trt_dynamic_desc *desc = NEWN(x->arena, struct trt_dynamic_desc, x->inputs + x->outputs);
	struct host_tensor *out[3];
	const struct host_tensor *in[3] = { min, opt, max };

	for (int i = 0; i < 3; i++) {
		out[i] = NEWN(x->arena, struct host_tensor, x->outputs);
		TRY(shapes(x, build, in[i], out[i], NULL, e));
	}
	for (int32_t i = 0; i < x->passed; i++)
		desc[i] = range_of(&min[i], &opt[i], &max[i]);
	for (int32_t o = 0; o < x->outputs; o++)
		desc[x->passed + o] = range_of(&out[0][o], &out[1][o], &out[2][o]);
	for (int32_t i = 0; i < x->passed + x->outputs; i++)
		if (!TRT_CALL(build, trt_build, supports_format, i, desc, x->passed, x->outputs))
			return err_set(e, ERR_UNSUPPORTED,
			               "Plugin %s of %s: supportsFormatCombination refuses the type of tensor %d in "
			               "linear format.",
			               x->name, x->host->path, (int)i);
	if (TRT_CALL(build, trt_build, configure, desc, x->passed, desc + x->passed, x->outputs))
		return failed(x, "configurePlugin", ERR_UNSUPPORTED, e);
	TRY(ask_tactics(x, build, e));
	size_t logged = strlen(host_log(x->host));
	x->workspace = TRT_CALL(build, trt_build, workspace, desc, x->passed, desc + x->passed, x->outputs);
	if (strlen(host_log(x->host)) != logged)
		return failed(x, "getWorkspaceSize", ERR_UNSUPPORTED, e);
	return 0;
}

/* What the plugin wants to be saved, as an engine file would hold it: a copy. */
static int save(struct trt_fields *out, struct host_engine *x, struct err *e)
{
	void *runtime = capability(x->build, TRT_RUNTIME);
	const struct trt_fields *f = TRT_CALL(runtime, trt_runtime, fields);

	if (!f || f->count < 0 || (f->count > 0 && !f->field))
		return failed(x, "getFieldsToSerialize", ERR_UNSUPPORTED, e);
	struct trt_field *field = NEWN(x->arena, struct trt_field, f->count + 1);
	for (int32_t i = 0; i < f->count; i++) {
		/* Bytes an element, by PluginFieldType. */
		static const int8_t size[] = { 2, 4, 8, 1, 2, 4, 1, 72, 1, 2, 8, 1, 1, 1 };
		size_t n = (size_t)f->field[i].length * (size_t)size[f->field[i].type];
		void *data = arena_alloc(x->arena, n + 1);
		memcpy(data, f->field[i].data, n);
		field[i] = f->field[i];
		field[i].name = arena_strdup(x->arena, f->field[i].name);
		field[i].data = data;
	}
	*out = (struct trt_fields){ f->count, field };
	return 0;
}

static int attach(struct host_engine *x, void *created, struct err *e)
{
	void *runtime = capability(created, TRT_RUNTIME);

	x->plugin = TRT_CALL(runtime, trt_runtime, attach, NULL);
	if (!x->plugin)
		return failed(x, "attachToContext", ERR_DEVICE, e);
	runtime = capability(x->plugin, TRT_RUNTIME);
	if (!runtime || TRT_CALL(runtime, trt_runtime, set_tactic, x->chosen))
		return failed(x, "setTactic", ERR_DEVICE, e);
	return 0;
}

static int build_all(struct host_engine *x, void *creator, const struct host_tensor *min, const struct host_tensor *opt,
                     const struct host_tensor *max, struct err *e)
{
	static const struct trt_fields none;
	struct trt_fields saved = none;

	if (!is_interface(creator, "PLUGIN CREATOR_V3ONE"))
		return err_set(e, ERR_UNSUPPORTED, "Plugin %s has no V3 creator.", x->name);
	/* As the parser does: it hands the network a plugin, which keeps a clone, and deletes its own. */
	void *first = TRT_CALL(creator, trt_creator, create, x->name, &none, TRT_PHASE_BUILD);
	if (!first)
		return failed(x, "createPlugin", ERR_UNSUPPORTED, e);
	x->build = is_interface(first, "PLUGIN") ? TRT_CALL(first, trt_plugin, clone) : NULL;
	release(first);
	if (!x->build)
		return failed(x, "clone", ERR_UNSUPPORTED, e);
	void *core = capability(x->build, TRT_CORE), *build = capability(x->build, TRT_BUILD);
	if (!core || !build || !capability(x->build, TRT_RUNTIME))
		return failed(x, "getCapabilityInterface", ERR_UNSUPPORTED, e);
	const char *version = TRT_CALL(core, trt_core, version), *name_space = TRT_CALL(core, trt_core, name_space);
	if (!host_matches(TRT_CALL(creator, trt_creator, name), TRT_CALL(core, trt_core, name)) ||
	    !host_matches(TRT_CALL(creator, trt_creator, version), version) ||
	    !host_matches(TRT_CALL(creator, trt_creator, name_space), name_space))
		return err_set(e, ERR_UNSUPPORTED, "Plugin %s and its creator differ in name, version or namespace.",
		               x->name);
	TRY(output_types(x, build, opt, e));
	TRY(configure(x, build, min, opt, max, e));
	TRY(save(&saved, x, e));
	void *again = host_creator(x->host, x->name, version, name_space);
	x->created = again ? TRT_CALL(again, trt_creator, create, x->name, &saved, TRT_PHASE_RUNTIME) : NULL;
	if (!x->created)
		return failed(x, "createPlugin (from what was saved)", ERR_UNSUPPORTED, e);
	return attach(x, x->created, e);
}

int host_build(struct host_engine **out, struct host *h, const char *name, const char *version, const char *name_space,
               const struct host_tensor *min, const struct host_tensor *opt, const struct host_tensor *max, int n,
               struct arena *a, struct err *e)
{
	void *creator = host_creator(h, name, version, name_space);
	struct host_engine *x = NEW(a, struct host_engine);

	*out = NULL;
	if (!creator) {
		err_set(e, ERR_MODEL, "%s has no plugin %s, version \"%s\", namespace \"%s\".", h->path, name,
		        version ? version : "", name_space ? name_space : "");
		return err_advise(
		        e, "Is it the library that was built with this model? tpat inspect shows what it holds.");
	}
	*x = (struct host_engine){ .host = h, .arena = a, .name = arena_strdup(a, name), .inputs = n };
	for (int i = 0; i < n; i++)
		x->passed += h->pass_shape_inputs || !opt[i].value;
	int rc = build_all(x, creator, min, opt, max, e);
	if (rc < 0) {
		host_engine_free(x);
		return rc;
	}
	*out = x;
	return 0;
}

int host_engine_context(struct host_engine **out, struct host_engine *x, struct arena *a, struct err *e)
{
	struct host_engine *y = NEW(a, struct host_engine);
	struct host_engine *first = x->first ? x->first : x;

	*out = NULL;
	*y = *x;
	y->arena = a;
	y->first = first;
	y->build = y->created = y->plugin = NULL;
	int rc = attach(y, first->created, e);
	if (rc < 0) {
		host_engine_free(y);
		return rc;
	}
	*out = y;
	return 0;
}

void host_engine_free(struct host_engine *x)
{
	if (!x)
		return;
	release(x->plugin);
	release(x->created);
	release(x->build);
	x->plugin = x->created = x->build = NULL;
}

int host_outputs(const struct host_engine *x)
{
	return x->outputs;
}

int host_tactics(const struct host_engine *x)
{
	return x->tactics;
}

int host_set_tactic(struct host_engine *x, int i, struct err *e)
{
	x->chosen = i < x->tactics ? x->tactic[i] : 0;
	if (TRT_CALL(capability(x->plugin, TRT_RUNTIME), trt_runtime, set_tactic, x->chosen))
		return failed(x, "setTactic", ERR_DEVICE, e);
	return 0;
}

void *host_runtime(const struct host_engine *x)
{
	return capability(x->plugin, TRT_RUNTIME);
}

size_t host_workspace(const struct host_engine *x)
{
	return x->workspace;
}

/* The run. */

enum { HOST_MAX_TENSORS = 256 }; /* on the stack, so that enqueue allocates nothing here either */

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
	void *runtime = capability(x->plugin, TRT_RUNTIME);

	TRY(check_room(x, e));
	for (int32_t i = 0; i < x->passed; i++)
		in_desc[i] = desc_of(&in[i]);
	for (int32_t o = 0; o < x->outputs; o++)
		out_desc[o] = desc_of(&out[o]);
	if (TRT_CALL(runtime, trt_runtime, shape_change, in_desc, x->passed, out_desc, x->outputs))
		return failed(x, "onShapeChange", ERR_DEVICE, e);
	return 0;
}

int host_enqueue(struct host_engine *x, const struct host_tensor *in, const struct host_tensor *out, void *workspace,
                 void *stream, struct err *e)
{
	struct trt_desc in_desc[HOST_MAX_TENSORS], out_desc[HOST_MAX_TENSORS];
	const void *inputs[HOST_MAX_TENSORS];
	void *outputs[HOST_MAX_TENSORS];
	void *runtime = capability(x->plugin, TRT_RUNTIME);

	TRY(check_room(x, e));
	for (int32_t i = 0; i < x->passed; i++) {
		in_desc[i] = desc_of(&in[i]);
		inputs[i] = in[i].pointer;
	}
	for (int32_t o = 0; o < x->outputs; o++) {
		out_desc[o] = desc_of(&out[o]);
		outputs[o] = out[o].pointer;
	}
	if (TRT_CALL(runtime, trt_runtime, enqueue, in_desc, out_desc, inputs, outputs, workspace, stream))
		return failed(x, "enqueue", ERR_DEVICE, e);
	return 0;
}

static int bytes_of(size_t *out, const struct host_engine *x, const struct host_tensor *t, struct err *e)
{
	int64_t n = 1;

	*out = 0;
	for (int32_t d = 0; d < t->rank; d++)
		if (t->dim[d] < 0 || __builtin_mul_overflow(n, t->dim[d], &n))
			return err_set(e, ERR_MODEL, "Plugin %s: an output has extent %lld at dimension %d.", x->name,
			               (long long)t->dim[d], (int)d);
	n = type_bytes((enum type)t->type, n);
	if (n < 0)
		return err_set(e, ERR_MODEL, "Plugin %s: an output has a size that cannot be known.", x->name);
	*out = (size_t)n;
	return 0;
}

static int run_in(struct host_engine *x, const struct host_tensor *in, struct host_tensor *out, void **workspace,
                  const struct host_memory *m, void *stream, struct err *e)
{
	size_t bytes;

	for (int32_t o = 0; o < x->outputs; o++) {
		TRY(bytes_of(&bytes, x, &out[o], e));
		TRY(m->alloc(m->user, bytes, &out[o].pointer, e));
	}
	if (x->workspace)
		TRY(m->alloc(m->user, x->workspace, workspace, e));
	TRY(host_prepare(x, in, out, e));
	TRY(host_enqueue(x, in, out, *workspace, stream, e));
	TRY(m->wait(m->user, stream, e));
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
		if (out[o].pointer)
			m->free(m->user, out[o].pointer);
		out[o].pointer = NULL;
	}
	return rc < 0 ? rc : 0;
}
