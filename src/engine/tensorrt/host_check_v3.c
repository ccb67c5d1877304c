/* The calls of IPluginV3 (TensorRT 10 and later), and the rules that only it has. */
#include <string.h>

#include "engine/tensorrt/host_check.h"

static void *part(void *plugin, int32_t which)
{
	return TRT_CALL(plugin, trt_plugin, capability, which);
}

static void *make(struct checker *k, const struct trt_fields *f, int32_t phase)
{
	return TRT_CALL(k->creator, trt_creator, create, k->plugin, f, phase);
}

static void end(void *plugin)
{
	TRT_CALL(plugin, trt_plugin, v.d0);
}

static int32_t begin(void *plugin)
{
	(void)plugin;
	return 0;
}

static void stop(void *plugin)
{
	(void)plugin;
}

static void *copy_of(void *plugin)
{
	return TRT_CALL(plugin, trt_plugin, clone);
}

/* All three capabilities; false if one is missing. */
static bool own_capabilities(struct checker *k, void *plugin)
{
	static const char *const call[] = { "getCapabilityInterface(kCORE)", "getCapabilityInterface(kBUILD)",
		                            "getCapabilityInterface(kRUNTIME)" };
	static const char *const kind[] = { "PLUGIN_V3ONE_CORE", "PLUGIN_V3ONE_BUILD", "PLUGIN_V3ONE_RUNTIME" };
	bool all = true;
	for (int32_t i = 0; i < 3; i++) {
		check_step(k, call[i]);
		void *object = part(plugin, i);
		if (!object)
			check_found(k, RULE_CAPABILITY, "it returns null");
		else if (part(plugin, i) != object)
			check_found(k, RULE_CAPABILITY, "a second call returns another object");
		all &= object && check_interface(k, object, call[i], kind[i]);
	}
	return all;
}

static void own_names(struct checker *k, void *plugin)
{
	void *core = part(plugin, TRT_CORE);
	const struct trt_creator *t = *(const struct trt_creator *const *)k->creator;
	const struct trt_core *own = *(const struct trt_core *const *)core;
	const char *(*const of[2][3])(void *) = { { t->name, t->version, t->name_space },
		                                  { own->name, own->version, own->name_space } };
	static const char *const call[] = { "getPluginName", "getPluginVersion", "getPluginNamespace" };
	for (int i = 0; i < 3; i++) {
		const char *want = of[0][i](k->creator), *got = check_text(k, call[i], of[1][i], core, i > 0);
		if (want && got && strcmp(want, got) != 0)
			check_found(k, RULE_CREATOR_NAME, "plugin and creator differ: \"%s\" and \"%s\"", got, want);
	}
}

static void own_tactics(struct checker *k, void *build)
{
	check_step(k, "getFormatCombinationLimit");
	if (TRT_CALL(build, trt_build, format_limit) < 1)
		check_found(k, RULE_FORMAT_LIMIT, "it is below 1");
	check_step(k, "getNbTactics");
	int32_t n = TRT_CALL(build, trt_build, tactics);
	if (n < 0 || n > CHECK_MOST_FIELDS) {
		check_found(k, RULE_TACTICS, "%d is an impossible number of tactics", (int)n);
		return;
	}
	int32_t *tactic = NEWN(k->arena, int32_t, n + 1);
	check_step(k, "getValidTactics");
	tactic[n] = -7;
	if (n && TRT_CALL(build, trt_build, valid_tactics, tactic, n))
		check_found(k, RULE_TACTICS, "it fails%s", check_log(k));
	else if (tactic[n] != -7)
		check_found(k, RULE_TACTICS, "it writes more than the %d tactics of getNbTactics()", (int)n);
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j <= i; j++)
			if (tactic[i] < 1 || (j < i && tactic[i] == tactic[j])) {
				check_found(k, RULE_TACTICS, "tactic %d is not positive, or occurs twice",
				            (int)tactic[i]);
				return;
			}
}

static bool own(struct checker *k, void *plugin)
{
	if (!check_interface(k, plugin, "createPlugin(kBUILD)", "PLUGIN") || !own_capabilities(k, plugin))
		return false;
	own_names(k, plugin);
	own_tactics(k, part(plugin, TRT_BUILD));
	return true;
}

static int32_t outputs(void *plugin)
{
	return TRT_CALL(part(plugin, TRT_BUILD), trt_build, outputs);
}

static int32_t output_types(void *plugin, int32_t *out, int32_t n, const int32_t *in, int32_t inputs)
{
	return TRT_CALL(part(plugin, TRT_BUILD), trt_build, output_types, out, n, in, inputs);
}

static int32_t output_shapes(const struct checker *k, void *plugin, const struct trt_dims_exprs *in, int32_t inputs,
                             const struct trt_dims_exprs *values, int32_t shapes, struct trt_dims_exprs *out, int32_t n,
                             struct trt_expr *builder)
{
	(void)k;
	return TRT_CALL(part(plugin, TRT_BUILD), trt_build, output_shapes, in, inputs, values, shapes, out, n, builder);
}

static int32_t aliased_input(void *plugin, int32_t output)
{
	void *build = part(plugin, TRT_BUILD);
	return TRT_CALL(build, trt_build, v.info).major < 2 ? -1 : TRT_CALL(build, trt_build_2, aliased_input, output);
}

static bool supports(const struct checker *k, void *plugin, int32_t at, const struct trt_dynamic_desc *desc,
                     const int32_t n[2])
{
	(void)k;
	return TRT_CALL(part(plugin, TRT_BUILD), trt_build, supports_format, at, desc, n[0], n[1]);
}

static int32_t configure(const struct checker *k, void *plugin, const struct trt_dynamic_desc *desc, const int32_t n[2])
{
	(void)k;
	return TRT_CALL(part(plugin, TRT_BUILD), trt_build, configure, desc, n[0], desc + n[0], n[1]);
}

static size_t workspace(const struct checker *k, void *plugin, const struct trt_dynamic_desc *desc, const int32_t n[2])
{
	(void)k;
	return TRT_CALL(part(plugin, TRT_BUILD), trt_build, workspace, desc, n[0], desc + n[0], n[1]);
}

static bool saved(struct checker *k, void *plugin, struct check_saved *out)
{
	check_step(k, "getFieldsToSerialize");
	const struct trt_fields *f = TRT_CALL(part(plugin, TRT_RUNTIME), trt_runtime, fields);
	if (!check_fields(k, RULE_SAVED_FIELDS, f, true))
		return false;
	out->fields = check_copy_fields(k->arena, f);
	check_flatten(k->arena, out);
	return true;
}

static void *again(struct checker *k, const struct check_saved *s)
{
	check_step(k, "createPlugin(kRUNTIME)");
	return check_create(k, &s->fields, TRT_PHASE_RUNTIME);
}

static void *attach(struct checker *k, void *plugin)
{
	check_step(k, "attachToContext");
	void *attached = TRT_CALL(part(plugin, TRT_RUNTIME), trt_runtime, attach, host_resource_context());
	if (attached != plugin)
		return attached;
	check_found(k, RULE_ATTACH, "it returns the object itself");
	return NULL;
}

static int32_t tactics(void *plugin, int32_t *tactic, int32_t most)
{
	void *build = part(plugin, TRT_BUILD);
	int32_t n = TRT_CALL(build, trt_build, tactics);
	n = n < 0 ? 0 : n > most ? most : n;
	return n && TRT_CALL(build, trt_build, valid_tactics, tactic, n) == 0 ? n : 0;
}

static int32_t set_tactic(void *plugin, int32_t tactic)
{
	return TRT_CALL(part(plugin, TRT_RUNTIME), trt_runtime, set_tactic, tactic);
}

static int32_t shape_change(const struct checker *k, void *plugin, const struct trt_desc *desc, const int32_t n[2])
{
	(void)k;
	return TRT_CALL(part(plugin, TRT_RUNTIME), trt_runtime, shape_change, desc, n[0], desc + n[0], n[1]);
}

static int32_t enqueue(const struct checker *k, void *plugin, const struct trt_desc *desc, const int32_t n[2],
                       const void *const *in, void *const *out, void *space, void *stream)
{
	(void)k;
	return TRT_CALL(part(plugin, TRT_RUNTIME), trt_runtime, enqueue, desc, desc + n[0], in, out, space, stream);
}

const struct check_calls check_calls_v3 = { .create = "createPlugin(kBUILD)",
	                                    .restore = "createPlugin(kRUNTIME)",
	                                    .destroy = "the destructor",
	                                    .types = "getOutputDataTypes",
	                                    .shapes = "getOutputShapes",
	                                    .prepare = "onShapeChange",
	                                    .save = "getFieldsToSerialize",
	                                    .attach = "attachToContext",
	                                    CHECK_FUNCTIONS };
