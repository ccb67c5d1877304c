/* Checks a plugin library against the rules of NvInferRuntime.h, one call after the other, as TensorRT 10 and 11 make
 * them. A fault ends the checks that build on it, not those of other plugins. See engine_checking. */
#include "engine/tensorrt/host_inside.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev/cuda_driver.h"

enum { LONGEST_NAME = 1024, MOST_FIELDS = 4096, MOST_OUTPUTS = 1024, FIELD_TYPES = 14 };

struct checker {
	const struct engine_checking *c;
	struct host *host;
	struct arena *arena;
	const char *plugin;                 /* its name, or the library's path */
	const struct trt_fields *no_fields; /* its end is the end of a page: a read beyond it ends the process */
};

/* The rules that several calls share. */
static const char name_rule[] =
        "a name, version or namespace is a string of at most 1,024 characters that stays valid, and the "
        "same at each call";
static const char field_rule[] =
        "a field has a name, a type of PluginFieldType, and as many elements as its length says";

static void step(struct checker *k, const char *call)
{
	k->c->step(k->c->user, k->plugin, call);
}

static void found(struct checker *k, const char *call, const char *what, const char *rule)
{
	k->c->found(k->c->user, k->plugin, call, what, rule);
}

/* A text that the library returns; null after a fault. `empty`: it may have no characters. */
static const char *text_of(struct checker *k, const char *call, const char *(*get)(void *), void *object, bool empty)
{
	step(k, call);
	const char *text = get(object), *again = text ? arena_strdup(k->arena, text) : NULL;
	if (!text) {
		found(k, call, "it returns null", name_rule);
		return NULL;
	}
	if (!*text && !empty)
		found(k, call, "the text is empty", name_rule);
	if (strlen(text) > LONGEST_NAME)
		found(k, call, "the text is too long", name_rule);
	text = get(object);
	if (!text || strcmp(text, again) != 0)
		found(k, call, "a second call returns another text", name_rule);
	return again;
}

static bool check_interface(struct checker *k, void *object, const char *call, const char *kind)
{
	step(k, call);
	struct trt_info info = TRT_CALL(object, trt_plugin, v.info);
	if (info.kind && strcmp(info.kind, kind) == 0 && info.major == 1)
		return true;
	const char *what = arena_printf(k->arena, "getInterfaceInfo() says \"%s\" %d.%d, not \"%s\" 1.0",
	                                info.kind ? info.kind : "(null)", (int)info.major, (int)info.minor, kind);
	found(k, call, what, "an object names the interface that it implements");
	return false;
}

/* ---- Fields. */

/* `values`: each field must have its data. Returns false if the collection cannot be used. */
static bool check_fields(struct checker *k, const char *call, const struct trt_fields *f, bool values)
{
	if (!f || f->count < 0 || f->count > MOST_FIELDS || (f->count && !f->field)) {
		found(k, call,
		      !f ? "it returns null" : "the collection has an impossible number of fields, or none at all",
		      "a PluginFieldCollection has nbFields fields");
		return false;
	}
	bool good = true;
	for (int32_t i = 0; i < f->count; i++) {
		const struct trt_field *x = &f->field[i];
		const char *what = !x->name                                ? "a field has no name"
		                   : x->type < 0 || x->type >= FIELD_TYPES ? "a field has an unknown type"
		                   : x->length < 0                         ? "a field has a negative length"
		                   : values && x->length && !x->data       ? "a field has a length, but no data"
		                                                           : NULL;
		for (int32_t j = 0; j < i && !what; j++)
			if (f->field[j].name && strcmp(f->field[j].name, x->name) == 0)
				what = "two fields have one name";
		if (what)
			found(k, call, what, field_rule);
		good &= !what;
	}
	return good;
}

/* Copies the fields, as an engine file keeps them. */
static struct trt_fields copy_fields(struct checker *k, const struct trt_fields *f)
{
	struct trt_field *field = NEWN(k->arena, struct trt_field, f->count + 1);
	for (int32_t i = 0; i < f->count; i++) {
		size_t n = host_field_bytes(&f->field[i]);
		char *data = arena_alloc(k->arena, n + 1);
		memcpy(data, f->field[i].data ? f->field[i].data : "", f->field[i].data ? n : 0);
		field[i] = f->field[i];
		field[i].name = arena_strdup(k->arena, f->field[i].name);
		field[i].data = data;
	}
	return (struct trt_fields){ f->count, field };
}

static bool same_fields(const struct trt_fields *a, const struct trt_fields *b)
{
	bool same = a->count == b->count;
	for (int32_t i = 0; same && i < a->count; i++) {
		const struct trt_field *x = &a->field[i], *y = &b->field[i];
		same = strcmp(x->name, y->name) == 0 && x->type == y->type && x->length == y->length &&
		       memcmp(x->data, y->data, host_field_bytes(x)) == 0;
	}
	return same;
}

/* ---- A plugin. */

static void destroy(struct checker *k, void *plugin)
{
	step(k, "the destructor");
	TRT_CALL(plugin, trt_plugin, v.d0);
}

/* All three capabilities; false if one is missing. */
static bool check_capabilities(struct checker *k, void *plugin)
{
	static const char *const call[] = { "getCapabilityInterface(kCORE)", "getCapabilityInterface(kBUILD)",
		                            "getCapabilityInterface(kRUNTIME)" };
	static const char *const kind[] = { "PLUGIN_V3ONE_CORE", "PLUGIN_V3ONE_BUILD", "PLUGIN_V3ONE_RUNTIME" };
	bool all = true;
	for (int32_t i = 0; i < 3; i++) {
		step(k, call[i]);
		void *object = TRT_CALL(plugin, trt_plugin, capability, i);
		if (!object)
			found(k, call[i], "it returns null",
			      "a plugin of IPluginCreatorV3One has all three capabilities");
		else if (TRT_CALL(plugin, trt_plugin, capability, i) != object)
			found(k, call[i], "a second call returns another object",
			      "a capability belongs to the plugin object, and lives as long");
		all &= object && check_interface(k, object, call[i], kind[i]);
	}
	return all;
}

static void check_core(struct checker *k, void *creator, void *plugin)
{
	void *core = TRT_CALL(plugin, trt_plugin, capability, TRT_CORE);
	static const char rule[] =
	        "a plugin has the name, version and namespace of its creator, by which it is found again";
	const struct trt_creator *t = *(const struct trt_creator *const *)creator;
	const struct trt_core *own = *(const struct trt_core *const *)core;
	const char *(*const of[2][3])(void *) = { { t->name, t->version, t->name_space },
		                                  { own->name, own->version, own->name_space } };
	static const char *const call[] = { "getPluginName", "getPluginVersion", "getPluginNamespace" };
	for (int i = 0; i < 3; i++) {
		const char *want = of[0][i](creator), *got = text_of(k, call[i], of[1][i], core, i > 0);
		if (want && got && strcmp(want, got) != 0)
			found(k, call[i], "plugin and creator differ", rule);
	}
}

static void check_build(struct checker *k, void *plugin)
{
	void *build = TRT_CALL(plugin, trt_plugin, capability, TRT_BUILD);
	step(k, "getNbOutputs");
	int32_t outputs = TRT_CALL(build, trt_build, outputs);
	if (outputs < 1 || outputs > MOST_OUTPUTS)
		found(k, "getNbOutputs", "the number is impossible", "a plugin has at least one output");
	if (TRT_CALL(build, trt_build, outputs) != outputs)
		found(k, "getNbOutputs", "a second call returns another number",
		      "the number of outputs depends only on the arguments of createPlugin");
	step(k, "getFormatCombinationLimit");
	if (TRT_CALL(build, trt_build, format_limit) < 1)
		found(k, "getFormatCombinationLimit", "it is below 1",
		      "TensorRT times at most this many formats: with none the plugin never runs");
	step(k, "getNbTactics");
	int32_t n = TRT_CALL(build, trt_build, tactics);
	if (n < 0 || n > MOST_FIELDS) {
		found(k, "getNbTactics", "the number is impossible", "it is the number of getValidTactics()'s tactics");
		return;
	}
	int32_t *tactic = NEWN(k->arena, int32_t, n + 1);
	step(k, "getValidTactics");
	if (n && TRT_CALL(build, trt_build, valid_tactics, tactic, n))
		found(k, "getValidTactics", "it fails", "it fills in getNbTactics() tactics, and returns 0");
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j <= i; j++)
			if (tactic[i] < 1 || (j < i && tactic[i] == tactic[j])) {
				found(k, "getValidTactics", "a tactic is not positive, or occurs twice",
				      "tactics are different positive numbers");
				return;
			}
}

/* A clone must work after the original is gone. Destroys `plugin`; returns the clone of its clone, or null. */
static void *check_clone(struct checker *k, void *plugin)
{
	static const char rule[] = "clone() returns a new object of the same state, which outlives the original";
	step(k, "clone");
	void *clone = TRT_CALL(plugin, trt_plugin, clone);
	if (!clone || clone == plugin) {
		found(k, "clone", clone ? "it returns the object itself" : "it returns null", rule);
		destroy(k, plugin);
		return NULL;
	}
	int32_t outputs = TRT_CALL(TRT_CALL(plugin, trt_plugin, capability, TRT_BUILD), trt_build, outputs);
	destroy(k, plugin);
	step(k, "clone, after the original is gone");
	void *build = TRT_CALL(clone, trt_plugin, capability, TRT_BUILD);
	if (!build || TRT_CALL(build, trt_build, outputs) != outputs)
		found(k, "clone", "the clone has another number of outputs", rule);
	void *second = TRT_CALL(clone, trt_plugin, clone);
	if (!second)
		found(k, "clone", "the clone of a clone is null", rule);
	destroy(k, clone);
	return second;
}

/* The fields that an engine file keeps make the same plugin again. False if they make none: no engine can be built. */
static bool check_saved(struct checker *k, void *creator, void *plugin)
{
	static const char rule[] = "createPlugin() makes the plugin again from the fields of getFieldsToSerialize()";
	void *runtime = TRT_CALL(plugin, trt_plugin, capability, TRT_RUNTIME);
	step(k, "getFieldsToSerialize");
	const struct trt_fields *f = TRT_CALL(runtime, trt_runtime, fields);
	if (!check_fields(k, "getFieldsToSerialize", f, true))
		return false;
	struct trt_fields saved = copy_fields(k, f);
	step(k, "createPlugin(kRUNTIME)");
	void *again = TRT_CALL(creator, trt_creator, create, k->plugin, &saved, TRT_PHASE_RUNTIME);
	if (!again) {
		found(k, "createPlugin(kRUNTIME)", "it returns null", rule);
		return false;
	}
	void *capability = TRT_CALL(again, trt_plugin, capability, TRT_RUNTIME);
	if (!capability || TRT_CALL(again, trt_plugin, capability, TRT_CORE) == NULL) {
		found(k, "createPlugin(kRUNTIME)", "the plugin lacks a capability", rule);
	} else {
		step(k, "getFieldsToSerialize, of a plugin made from fields");
		f = TRT_CALL(capability, trt_runtime, fields);
		if (check_fields(k, "getFieldsToSerialize", f, true) && !same_fields(&saved, f))
			found(k, "getFieldsToSerialize", "a plugin made from its fields has others", rule);
	}
	destroy(k, again);
	return true;
}

/* Makes the first GPU's primary context current, as it is in a program that runs an engine. It lives until the process
 * ends. False if there is no GPU that works. */
static bool open_device(void)
{
	const struct cuda_driver *cu;
	struct err e = { 0 };
	cu_context context;
	int n = 0, device;
	return dev_driver_open(&cu, &e) == 0 && cu->device_count(&n) == 0 && n > 0 && cu->device_get(&device, 0) == 0 &&
	       cu->context_retain(&context, device) == 0 && cu->context_set(context) == 0;
}

/* The whole build with the user's inputs. */
static void check_inputs(struct checker *k)
{
	struct err e = { 0 };
	struct host_engine *x;
	bool device = open_device();
	step(k, "an engine's build");
	host_log_clear(k->host);
	if (host_build(&x, k->host, k->plugin, NULL, NULL, k->c->in, k->c->in, k->c->in, k->c->inputs, k->arena, &e) <
	    0) {
		if (strstr(e.text, "attachToContext") && !device)
			k->c->note(k->c->user, k->plugin, "its context is not checked: there is no CUDA device");
		else
			found(k, "an engine's build", arena_strdup(k->arena, e.text),
			      "each step succeeds for inputs that the plugin takes");
		return;
	}
	step(k, "the destructors of an engine's plugins");
	host_engine_free(x);
}

static void check_creator(struct checker *k, void *creator)
{
	step(k, "getFieldNames");
	check_fields(k, "getFieldNames", TRT_CALL(creator, trt_creator, field_names), false);
	step(k, "createPlugin(kBUILD), without attributes");
	void *plugin = TRT_CALL(creator, trt_creator, create, k->plugin, k->no_fields, TRT_PHASE_BUILD);
	if (!plugin) {
		k->c->note(k->c->user, k->plugin, "it makes no plugin without attributes: the checks end there");
		return;
	}
	if (!check_interface(k, plugin, "createPlugin(kBUILD)", "PLUGIN") || !check_capabilities(k, plugin)) {
		destroy(k, plugin);
		return;
	}
	check_core(k, creator, plugin);
	check_build(k, plugin);
	void *clone = check_clone(k, plugin);
	if (!clone)
		return;
	bool saved = check_saved(k, creator, clone);
	destroy(k, clone);
	if (saved && k->c->inputs)
		check_inputs(k);
}

/* An empty collection whose pointer is the last byte before memory that cannot be read. */
static const struct trt_fields *no_fields(struct arena *a)
{
	struct trt_fields *f = NEW(a, struct trt_fields);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (two != MAP_FAILED && mprotect(two + page, page, PROT_NONE) == 0)
		f->field = (const struct trt_field *)(const void *)(two + page);
	return f;
}

void host_check(const char *path, const struct engine_checking *c, struct arena *a)
{
	struct host_options o = { .version = c->version };
	struct checker k = { .c = c, .arena = a, .plugin = path, .no_fields = no_fields(a) };
	struct err e = { 0 };
	static const char unique[] = "a registry refuses a second creator of the same name, version and namespace";
	int32_t n = 0;
	step(&k, "loading the library");
	if (host_open(&k.host, path, &o, a, &e) < 0) {
		found(&k, "loading the library", arena_strdup(a, e.text),
		      "TensorRT calls setLoggerFinder() and getCreators()");
		return;
	}
	const char **key = NEWN(a, const char *, k.host->creators + 1);
	for (int32_t i = 0; i < k.host->creators; i++) {
		void *creator = k.host->creator[i];
		k.plugin = arena_printf(a, "creator %d", (int)i + 1);
		if (!creator) {
			found(&k, "getCreators", "a creator is null", "it returns nbCreators creators");
			continue;
		}
		if (!check_interface(&k, creator, "getInterfaceInfo", "PLUGIN CREATOR_V3ONE"))
			continue;
		const struct trt_creator *t = *(const struct trt_creator *const *)creator;
		const char *name = text_of(&k, "getPluginName", t->name, creator, false);
		const char *version = text_of(&k, "getPluginVersion", t->version, creator, false);
		const char *space = text_of(&k, "getPluginNamespace", t->name_space, creator, true);
		if (!name || !*name || !version || !space || !host_matches(c->only, name))
			continue;
		k.plugin = name;
		key[n] = arena_printf(a, "%s\n%s\n%s", name, version, space);
		for (int32_t j = 0; j < n; j++)
			if (strcmp(key[j], key[n]) == 0)
				found(&k, "getCreators", "two creators have its name, version and namespace", unique);
		n++;
		check_creator(&k, creator);
		k.c->checked(k.c->user, name);
	}
	k.plugin = path;
	if (c->only && n == 0)
		found(&k, "getCreators", arena_printf(a, "no plugin is called %s", c->only),
		      "--plugin names one of the library");
	step(&k, "unloading the library");
	host_close(k.host);
}
