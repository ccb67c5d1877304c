/* How a checker speaks, and the rules of names and interfaces. */
#include <string.h>

#include "base/number.h"
#include "engine/tensorrt/host_check.h"

void check_step(struct checker *k, const char *call)
{
	k->call = call;
	k->c->step(k->c->user, k->plugin, call);
}

void check_found(struct checker *k, enum check_rule rule, const char *what, ...)
{
	char text[1024];
	va_list ap;
	vec_each (said, &k->said)
		if (said->rule == (int)rule && strcmp(said->call, k->call) == 0)
			return;
	struct check_said said = { (int)rule, k->call };
	vec_push(k->arena, &k->said, said);
	va_start(ap, what);
	number_vsnprintf(text, sizeof text, what, ap);
	va_end(ap);
	k->c->found(k->c->user, k->plugin, k->call, text, (int)rule);
}

void check_note(struct checker *k, const char *text, ...)
{
	char note[1024];
	va_list ap;
	va_start(ap, text);
	number_vsnprintf(note, sizeof note, text, ap);
	va_end(ap);
	k->c->note(k->c->user, k->plugin, note);
}

const char *check_log(struct checker *k)
{
	const char *log = host_log(k->host), *last = log;
	size_t n = strlen(log);
	while (n > 0 && log[n - 1] == '\n')
		n--;
	for (size_t i = 0; i < n; i++)
		if (log[i] == '\n')
			last = log + i + 1;
	const char *line = n ? arena_printf(k->arena, ": %.*s", (int)(n - (size_t)(last - log)), last) : "";
	host_log_clear(k->host);
	return line;
}

const char *check_text(struct checker *k, const char *call, const char *(*get)(void *), void *object, bool empty)
{
	check_step(k, call);
	const char *text = get(object), *again = text ? arena_strdup(k->arena, text) : NULL;
	if (!text) {
		check_found(k, RULE_NAME, "it returns null");
		return NULL;
	}
	if (!*text && !empty)
		check_found(k, RULE_NAME, "the text is empty");
	if (strlen(text) > CHECK_LONGEST_NAME)
		check_found(k, RULE_NAME, "the text is too long");
	text = get(object);
	if (!text || strcmp(text, again) != 0)
		check_found(k, RULE_NAME, "a second call returns another text");
	return again;
}

/* IPluginV3OneBuildV2 is the only interface of a second version. */
bool check_interface(struct checker *k, void *object, const char *call, const char *kind)
{
	check_step(k, call);
	struct trt_info info = TRT_CALL(object, trt_plugin, v.info);
	bool second = info.major == 2 && strcmp(kind, "PLUGIN_V3ONE_BUILD") == 0;
	if (!info.kind || strcmp(info.kind, kind) != 0 || (info.major != 1 && !second)) {
		check_found(k, RULE_INTERFACE, "getInterfaceInfo() says \"%s\" %d.%d, not \"%s\" 1.0",
		            info.kind ? info.kind : "(null)", (int)info.major, (int)info.minor, kind);
		return false;
	}
	int32_t language = TRT_CALL(object, trt_plugin, v.api_language);
	if (language != 0 && language != 1)
		check_found(k, RULE_INTERFACE, "getAPILanguage() says %d, which is neither C++ nor Python",
		            (int)language);
	return true;
}
