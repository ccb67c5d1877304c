/* The options of a session, as ONNX Runtime keeps them: its entries that begin with the provider's name. See
 * provider.h. */
#include <string.h>

#include "base/str.h"
#include "provider/provider.h"

#define PREFIX "ep.tpatexecutionprovider." /* ONNX Runtime writes the provider's name in small letters */

/* ONNX Runtime's own entries about compiled models. */
#define CONTEXT_ENABLE "ep.context_enable"
#define CONTEXT_PATH "ep.context_file_path"
#define CONTEXT_EMBED "ep.context_embed_mode"

struct reading {
	struct provider_options *out;
	struct arena *arena;
	struct err *err;
};

static int wrong(const struct reading *r, const char *key, const char *value, const char *values)
{
	err_set(r->err, ERR_USAGE, "The option \"%s\" cannot be \"%s\".", key, value);
	return err_advise(r->err, "Give %s.", values);
}

static int set_device(const struct reading *r, const char *key, const char *value)
{
	if (strcmp(value, "cpu") != 0 && strcmp(value, "cuda") != 0 && strcmp(value, "emulator") != 0)
		return wrong(r, key, value, "cpu, cuda or emulator");
	r->out->device = arena_strdup(r->arena, value);
	return 0;
}

static int set_cuda_graph(const struct reading *r, const char *key, const char *value)
{
	if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
		return wrong(r, key, value, "0 or 1");
	r->out->cuda_graph = *value == '1';
	return 0;
}

static int set_database(const struct reading *r, const char *key, const char *value)
{
	if (!*value)
		return wrong(r, key, value, "the path of a tuning database, or none");
	r->out->database = arena_strdup(r->arena, value);
	return 0;
}

static const struct {
	const char *key;
	int (*set)(const struct reading *r, const char *key, const char *value);
} options[] = {
	{ "device", set_device },
	{ "cuda_graph", set_cuda_graph },
	{ "database", set_database },
};

static int unknown(const struct reading *r, const char *key)
{
	struct str names = str_new(r->arena);
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		str_printf(&names, "%s%s", i ? ", " : "", options[i].key);
	err_set(r->err, ERR_USAGE, "There is no option \"%s\".", key);
	return err_advise(r->err, "The provider's options are: %s.", str_text(&names));
}

static int set(const struct reading *r, const char *key, const char *value)
{
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (strcmp(options[i].key, key) == 0)
			return options[i].set(r, key, value);
	return unknown(r, key);
}

static void read_context(const struct reading *r, const char *key, const char *value)
{
	if (strcmp(key, CONTEXT_ENABLE) == 0)
		r->out->context = strcmp(value, "1") == 0;
	if (strcmp(key, CONTEXT_EMBED) == 0)
		r->out->embed = strcmp(value, "1") == 0;
	if (strcmp(key, CONTEXT_PATH) == 0 && *value)
		r->out->context_path = arena_strdup(r->arena, value);
}

int provider_options(struct provider_options *out, const struct provider_host *h, const struct ort_session_options *o,
                     struct arena *a, struct err *e)
{
	const struct reading r = { out, a, e };
	struct ort_key_values *pairs = NULL;
	const char *const *key, *const *value;
	size_t n = 0;
	*out = (struct provider_options){ .cuda_graph = true };
	TRY(provider_check(h, h->api->session_entries(o, &pairs), e));
	int rc = 0;
	h->api->all_pairs(pairs, &key, &value, &n);
	for (size_t i = 0; i < n && rc == 0; i++) {
		read_context(&r, key[i], value[i]);
		if (str_starts(key[i], PREFIX))
			rc = set(&r, key[i] + strlen(PREFIX), value[i]);
	}
	h->api->release_pairs(pairs);
	return rc;
}
