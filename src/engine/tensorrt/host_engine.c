/* The plugin side of the host: takes one plugin through the steps of TensorRT's engine build, in the order that its
 * headers document. */
#include "engine/tensorrt/host_inside.h"

#include <string.h>

#include "tensor/type.h"

static void release(const struct host_engine *x, void *plugin)
{
	if (plugin && x->host->old)
		host_v2_release(plugin);
	else if (plugin)
		TRT_CALL(plugin, trt_plugin, v.d0);
}

static struct trt_dynamic_desc range_of(const struct host_tensor *min, const struct host_tensor *opt,
                                        const struct host_tensor *max)
{
	struct trt_dynamic_desc d = {
		.desc = host_desc(opt), .min = host_dims(min), .max = host_dims(max), .opt = host_dims(opt)
	};

	for (int i = 0; i < d.desc.dims.rank; i++)
		if (d.min.d[i] != d.max.d[i])
			d.desc.dims.d[i] = -1;
	return d;
}

static int output_types(struct host_engine *x, void *build, const struct host_tensor *in, struct err *e)
{
	x->outputs = TRT_CALL(build, trt_build, outputs);
	if (x->outputs < 1)
		return host_failed(x, "getNbOutputs", ERR_UNSUPPORTED, e);
	x->type = NEWN(x->arena, int32_t, x->inputs + x->outputs);
	for (int32_t i = 0; i < x->inputs; i++)
		x->type[i] = trt_type_of_onnx(in[i].type);
	if (TRT_CALL(build, trt_build, output_types, x->type + x->inputs, x->outputs, x->type, x->passed))
		return host_failed(x, "getOutputDataTypes", ERR_UNSUPPORTED, e);
	return 0;
}

/* Asks, as TensorRT 10.3 and later do, which outputs may have the memory of an input. */
static int ask_aliases(struct host_engine *x, void *build, const struct host_tensor *in, const struct host_tensor *out,
                       struct err *e)
{
	bool known = TRT_CALL(build, trt_build, v.info).major >= 2;

	x->alias = NEWN(x->arena, int32_t, x->outputs + 1);
	for (int32_t o = 0; o < x->outputs; o++) {
		int32_t i = x->alias[o] = known ? TRT_CALL(build, trt_build_2, aliased_input, o) : -1;
		bool good = i >= -1 && i < x->passed;
		for (int32_t other = 0; other < o && good; other++)
			good = i < 0 || x->alias[other] != i;
		if (good && i >= 0) {
			good = x->type[i] == x->type[x->inputs + o] && in[i].rank == out[o].rank;
			for (int32_t d = 0; d < in[i].rank && good; d++)
				good = in[i].dim[d] == out[o].dim[d];
		}
		if (!good)
			return err_set(e, ERR_UNSUPPORTED,
			               "Plugin %s: getAliasedInput returns %d for output %d, which is no input of its "
			               "type and extents, or that of another output.",
			               x->name, (int)i, (int)o);
	}
	return 0;
}

/* Asks for the tactics that TensorRT would time. They are unique; 0 means that there is no choice. */
static int ask_tactics(struct host_engine *x, void *build, struct err *e)
{
	x->tactics = TRT_CALL(build, trt_build, tactics);
	if (x->tactics < 0)
		return host_failed(x, "getNbTactics", ERR_UNSUPPORTED, e);
	x->tactic = NEWN(x->arena, int32_t, x->tactics + 1);
	if (TRT_CALL(build, trt_build, valid_tactics, x->tactic, x->tactics))
		return host_failed(x, "getValidTactics", ERR_UNSUPPORTED, e);
	for (int32_t i = 0; i < x->tactics; i++) {
		bool fresh = x->tactic[i] != 0;
		for (int32_t k = 0; k < i; k++)
			fresh &= x->tactic[k] != x->tactic[i];
		if (!fresh)
			return err_set(e, ERR_UNSUPPORTED, "Plugin %s: tactic %d occurs twice or is 0.", x->name,
			               (int)x->tactic[i]);
		/* The builder sets each one on the plugin of the build phase, to time it. */
		if (TRT_CALL(host_capability(x->build, TRT_RUNTIME), trt_runtime, set_tactic, x->tactic[i]))
			return host_failed(x, "setTactic", ERR_UNSUPPORTED, e);
	}
	x->chosen = x->tactics ? x->tactic[0] : 0;
	return 0;
}

/* Asks for the host's format for each tensor in turn, and for the linear one where a plugin refuses it. */
static int ask_formats(struct host_engine *x, void *build, struct trt_dynamic_desc *desc, struct err *e)
{
	x->format = NEWN(x->arena, int32_t, x->inputs + x->outputs + 1);
	for (int32_t i = 0; i < x->passed + x->outputs; i++) {
		int32_t at = i < x->passed ? i : x->inputs + i - x->passed;
		desc[i].desc.format = x->host->format;
		if (x->host->format != TRT_LINEAR &&
		    TRT_CALL(build, trt_build, supports_format, i, desc, x->passed, x->outputs)) {
			x->format[at] = x->host->format;
			continue;
		}
		desc[i].desc.format = TRT_LINEAR;
		if (!TRT_CALL(build, trt_build, supports_format, i, desc, x->passed, x->outputs))
			return err_set(e, ERR_UNSUPPORTED,
			               "Plugin %s of %s: supportsFormatCombination refuses the type of tensor %d in "
			               "linear format.",
			               x->name, x->host->path, (int)i);
	}
	return 0;
}

void host_set_format(struct host *h, int32_t format)
{
	h->format = format;
}

const int32_t *host_formats(const struct host_engine *x)
{
	return x->format;
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
		TRY(host_ask_shapes(x, build, in[i], out[i], NULL, e));
	}
	for (int32_t i = 0; i < x->passed; i++)
		desc[i] = range_of(&min[i], &opt[i], &max[i]);
	for (int32_t o = 0; o < x->outputs; o++)
		desc[x->passed + o] = range_of(&out[0][o], &out[1][o], &out[2][o]);
	TRY(ask_formats(x, build, desc, e));
	if (TRT_CALL(build, trt_build, configure, desc, x->passed, desc + x->passed, x->outputs))
		return host_failed(x, "configurePlugin", ERR_UNSUPPORTED, e);
	TRY(ask_aliases(x, build, opt, out[1], e));
	TRY(ask_tactics(x, build, e));
	size_t logged = strlen(host_log(x->host));
	x->workspace = TRT_CALL(build, trt_build, workspace, desc, x->passed, desc + x->passed, x->outputs);
	if (strlen(host_log(x->host)) != logged)
		return host_failed(x, "getWorkspaceSize", ERR_UNSUPPORTED, e);
	return 0;
}

/* Copies the fields that the plugin serialises into an engine file. */
static int save(struct trt_fields *out, struct host_engine *x, struct err *e)
{
	void *runtime = host_capability(x->build, TRT_RUNTIME);
	const struct trt_fields *f = TRT_CALL(runtime, trt_runtime, fields);

	if (!f || f->count < 0 || (f->count > 0 && !f->field))
		return host_failed(x, "getFieldsToSerialize", ERR_UNSUPPORTED, e);
	struct trt_field *field = NEWN(x->arena, struct trt_field, f->count + 1);
	for (int32_t i = 0; i < f->count; i++) {
		size_t n = host_field_bytes(&f->field[i]);
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
	void *runtime = host_capability(created, TRT_RUNTIME);

	x->plugin = TRT_CALL(runtime, trt_runtime, attach, host_resource_context());
	if (!x->plugin)
		return host_failed(x, "attachToContext", ERR_DEVICE, e);
	runtime = host_capability(x->plugin, TRT_RUNTIME);
	if (!runtime || TRT_CALL(runtime, trt_runtime, set_tactic, x->chosen))
		return host_failed(x, "setTactic", ERR_DEVICE, e);
	return 0;
}

static int build_all(struct host_engine *x, void *creator, const struct host_tensor *min, const struct host_tensor *opt,
                     const struct host_tensor *max, struct err *e)
{
	static const struct trt_fields none;
	struct trt_fields saved = none;

	if (x->host->old)
		return host_v2_build(x, creator, (const struct host_tensor *const[]){ min, opt, max }, e);
	if (!host_is_interface(creator, "PLUGIN CREATOR_V3ONE"))
		return err_set(e, ERR_UNSUPPORTED, "Plugin %s has no V3 creator.", x->name);
	/* Like the parser: passes a plugin to the network, which keeps a clone, and deletes its own. */
	void *first = TRT_CALL(creator, trt_creator, create, x->name, &none, TRT_PHASE_BUILD);
	if (!first)
		return host_failed(x, "createPlugin", ERR_UNSUPPORTED, e);
	x->build = host_is_interface(first, "PLUGIN") ? TRT_CALL(first, trt_plugin, clone) : NULL;
	release(x, first);
	if (!x->build)
		return host_failed(x, "clone", ERR_UNSUPPORTED, e);
	void *core = host_capability(x->build, TRT_CORE), *build = host_capability(x->build, TRT_BUILD);
	if (!core || !build || !host_capability(x->build, TRT_RUNTIME))
		return host_failed(x, "getCapabilityInterface", ERR_UNSUPPORTED, e);
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
		return host_failed(x, "createPlugin (from what was saved)", ERR_UNSUPPORTED, e);
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
		        e, "Use the library that was built with this model; tpat inspect lists a library's plugins.");
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
	int rc = x->host->old ? host_v2_attach(y, first->created, e) : attach(y, first->created, e);
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
	release(x, x->plugin);
	release(x, x->created);
	release(x, x->build);
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

bool host_set_in_place(struct host_engine *x, bool on)
{
	bool any = false;

	for (int32_t o = 0; o < x->outputs && x->alias; o++)
		any |= x->alias[o] >= 0;
	x->in_place = on && any;
	return any;
}

int host_set_tactic(struct host_engine *x, int i, struct err *e)
{
	x->chosen = i < x->tactics ? x->tactic[i] : 0;
	if (x->host->old)
		return 0; /* V2 plugins have no tactics */
	if (TRT_CALL(host_capability(x->plugin, TRT_RUNTIME), trt_runtime, set_tactic, x->chosen))
		return host_failed(x, "setTactic", ERR_DEVICE, e);
	return 0;
}

void *host_runtime(const struct host_engine *x)
{
	return x->host->old ? x->plugin : host_capability(x->plugin, TRT_RUNTIME);
}

size_t host_workspace(const struct host_engine *x)
{
	return x->workspace;
}
