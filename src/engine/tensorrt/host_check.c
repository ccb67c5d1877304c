/* Checks a plugin library against the rules of NvInferRuntime.h, one call after the other, as TensorRT 8 to 11 makes
 * them. A fault ends the checks that build on it, not those of other plugins. See engine_checking. */
#include <string.h>

#include "base/child.h"
#include "base/trap.h"
#include "engine/tensorrt/host_check.h"

const struct engine_rule host_rules[] = {
#define RULE(id, method, text, fix) { method, text, fix },
#include "engine/tensorrt/host_check_rules.def"
#undef RULE
};
const int host_rules_count = RULE_COUNT;

/* ---- Accesses that end the process. */

static const char *access_of(enum check_rule rule)
{
	switch (rule) {
	case RULE_FIELD_KEPT: return "it reads names, fields or bytes that an earlier call gave the creator";
	case RULE_FIELD_COUNT: return "it reads beyond the fields that it was given";
	case RULE_FIELD_READ: return "it reads beyond a field's elements";
	case RULE_SAVED_SIZE: return "it goes beyond the bytes of getSerializationSize()";
	case RULE_DESCRIBED: return "it reads descriptions of tensors beyond their number, or those of an earlier call";
	default: return "it reads memory that is not its own";
	}
}

/* In a signal handler. */
static void trapped(void *user, int rule)
{
	struct checker *k = user;
	char byte = (char)rule;
	if (k->probe >= 0) {
		child_send(k->probe, &byte, 1);
		return;
	}
	check_found(k, (enum check_rule)rule, "%s", access_of((enum check_rule)rule));
	k->c->ended(k->c->user);
}

/* ---- A creator. */

/* The interface decides how everything else is called. */
static bool choose_calls(struct checker *k)
{
	static const char v1[] = "PLUGIN CREATOR_V1", quick[] = "PLUGIN CREATOR_V3QUICK";
	k->calls = &check_calls_v2;
	if (k->form == 8)
		return true;
	check_step(k, "getInterfaceInfo");
	struct trt_info info = TRT_CALL(k->creator, trt_plugin, v.info);
	if (info.kind && strcmp(info.kind, v1) == 0)
		return check_interface(k, k->creator, "getInterfaceInfo", v1);
	if (info.kind && strcmp(info.kind, quick) == 0) {
		check_note(k, "quick plugins (IPluginV3QuickCreator) are not checked");
		return false;
	}
	k->calls = &check_calls_v3;
	return check_interface(k, k->creator, "getInterfaceInfo", "PLUGIN CREATOR_V3ONE");
}

/* Name, version and namespace; null if one is missing. */
static const char *names(struct checker *k, const char *text[3])
{
	static const char *const call[] = { "getPluginName", "getPluginVersion", "getPluginNamespace" };
	const char *(*get[3])(void *);
	if (k->form == 8) {
		const struct trt_creator_8 *t = *(const struct trt_creator_8 *const *)k->creator;
		memcpy(get, ((const char *(*[3])(void *)){ t->name, t->version, t->name_space }), sizeof get);
	} else if (k->calls == &check_calls_v2) {
		const struct trt_creator_v1 *t = *(const struct trt_creator_v1 *const *)k->creator;
		memcpy(get, ((const char *(*[3])(void *)){ t->name, t->version, t->name_space }), sizeof get);
	} else {
		const struct trt_creator *t = *(const struct trt_creator *const *)k->creator;
		memcpy(get, ((const char *(*[3])(void *)){ t->name, t->version, t->name_space }), sizeof get);
	}
	for (int i = 0; i < 3; i++)
		text[i] = check_text(k, call[i], get[i], k->creator, i == 2);
	if (!text[0] || !*text[0] || !text[1] || !text[2])
		return NULL;
	return arena_printf(k->arena, "%s\n%s\n%s", text[0], text[1], text[2]);
}

static const struct trt_fields *ask_fields(const struct checker *k)
{
	if (k->form == 8)
		return TRT_CALL(k->creator, trt_creator_8, field_names);
	return k->calls == &check_calls_v2 ? TRT_CALL(k->creator, trt_creator_v1, field_names)
	                                   : TRT_CALL(k->creator, trt_creator, field_names);
}

static bool same_declared(const struct trt_fields *a, const struct trt_fields *b)
{
	bool same = a->count == b->count;
	for (int32_t i = 0; same && i < a->count; i++)
		same = strcmp(a->field[i].name, b->field[i].name) == 0 && a->field[i].type == b->field[i].type &&
		       a->field[i].length == b->field[i].length;
	return same;
}

static void declared(struct checker *k)
{
	static const struct trt_fields none;
	static struct trt_fields kept;
	check_step(k, "getFieldNames");
	const struct trt_fields *f = ask_fields(k);
	k->declared = &none;
	if (!check_fields(k, RULE_FIELD_NAMES, f, false))
		return;
	struct trt_field *field = NEWN(k->arena, struct trt_field, f->count + 1);
	for (int32_t i = 0; i < f->count; i++) {
		field[i] = f->field[i];
		field[i].name = arena_strdup(k->arena, f->field[i].name);
	}
	kept = (struct trt_fields){ f->count, field };
	k->declared = &kept;
	f = ask_fields(k);
	if (!check_fields(k, RULE_FIELD_NAMES, f, false) || !same_declared(&kept, f))
		check_found(k, RULE_FIELD_NAMES, "a second call returns other fields");
}

/* A build with the user's inputs, and runs. */
static void check_inputs(struct checker *k, const struct check_saved *saved)
{
	struct subject s = { .k = k };
	check_step(k, k->calls->create);
	s.plugin = check_create(k, &k->given, TRT_PHASE_BUILD);
	if (!s.plugin) {
		check_found(k, RULE_RETURNS, "it made a plugin before, but returns null now");
		return;
	}
	if (check_build(&s))
		check_run(&s, saved);
	check_step(k, k->calls->destroy);
	k->calls->end(s.plugin);
}

static void check_creator(struct checker *k)
{
	struct check_saved saved;
	declared(k);
	k->given = check_attributes(k);
	check_step(k, k->calls->create);
	void *plugin = check_create(k, &k->given, TRT_PHASE_BUILD);
	if (!plugin) {
		check_note(k, "it makes no plugin %s: the checks end there%s%s",
		           k->given.count ? "of these attributes"
		                          : "without attributes, which --attribute NAME=VALUE gives",
		           check_declared(k), check_log(k));
		return;
	}
	if (!k->calls->own(k, plugin)) {
		check_step(k, k->calls->destroy);
		k->calls->end(plugin);
		return;
	}
	if (check_object(k, plugin, &saved) && k->c->inputs)
		check_inputs(k, &saved);
}

/* ---- The library. */

static void same_creators(struct checker *k, void *const *creators)
{
	int32_t n = -1;
	if (!k->host->get_creators)
		return;
	check_step(k, k->form == 8 ? "getPluginCreators" : "getCreators");
	void *const *again = k->host->get_creators(&n);
	if (!again || n != k->host->creators || memcmp(again, creators, (size_t)n * sizeof *again) != 0)
		check_found(k, RULE_CREATORS, "a second call returns other creators");
}

static void check_creators(struct checker *k, const char *path)
{
	const char **key = NEWN(k->arena, const char *, k->host->creators + 1), *text[3];
	int32_t n = 0;
	for (int32_t i = 0; i < k->host->creators; i++) {
		k->creator = k->host->creator[i];
		k->plugin = arena_printf(k->arena, "creator %d", (int)i + 1);
		k->said.n = 0;
		check_step(k, "getCreators");
		if (!k->creator) {
			check_found(k, RULE_CREATORS, "a creator is null");
			continue;
		}
		if (!choose_calls(k))
			continue;
		key[n] = names(k, text);
		if (!key[n] || !host_matches(k->c->only, text[0]))
			continue;
		k->plugin = text[0];
		k->call = "getCreators";
		for (int32_t j = 0; j < n; j++)
			if (strcmp(key[j], key[n]) == 0)
				check_found(k, RULE_UNIQUE, "two creators have its name, version and namespace");
		if (!k->host->get_creators)
			check_note(k,
			           "the library registers it when it is opened, and has no %s(): loadLibrary() "
			           "and trtexec --dynamicPlugins refuse the library; open it with dlopen(), "
			           "ctypes.CDLL or trtexec --staticPlugins",
			           k->form == 8 ? "getPluginCreators" : "getCreators");
		else if (host_is_registered(k->creator))
			check_found(k, RULE_UNIQUE,
			            "the library has also registered it itself, so that "
			            "loadLibrary() finds that it exists already");
		n++;
		check_creator(k);
		k->c->checked(k->c->user, k->plugin);
	}
	k->plugin = path;
}

void host_check(const char *path, const struct engine_checking *c, struct arena *a)
{
	struct host_options o = { .version = c->version, .linked = true };
	struct checker k = { .c = c, .arena = a, .plugin = path, .probe = -1 };
	struct trt_fields none = { .field = trap_new(0, RULE_FIELD_COUNT) };
	struct err e = { 0 };
	k.no_fields = &none;
	k.form = trt_form(c->version ? c->version : 110100);
	trap_begin(trapped, &k);
	check_step(&k, "loading the library");
	if (host_open(&k.host, path, &o, a, &e) < 0) {
		check_found(&k, e.code == ERR_DEVICE ? RULE_OPENS : RULE_EXPORTS, "%s", e.text);
		c->ended(c->user);
		return;
	}
	size_t n = (size_t)k.host->creators;
	void **creators = NEWN(a, void *, n);
	memcpy(creators, k.host->creator, n * sizeof *creators);
	check_creators(&k, path);
	same_creators(&k, creators);
	check_step(&k, "unloading the library");
	host_close(k.host);
	check_step(&k, "the end of the process");
	host_finish(k.host);
	k.c->ended(k.c->user);
}
