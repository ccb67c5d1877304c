/* Failures of tpat for ONNX Runtime, and the other way round. See provider.h. */
#include <setjmp.h>

#include "base/str.h"
#include "provider/provider.h"

int provider_check(const struct provider_host *h, struct ort_status *status, struct err *e)
{
	if (!status)
		return 0;
	err_set(e, ERR_MODEL, "ONNX Runtime: %s", h->api->get_error_message(status));
	h->api->release_status(status);
	return ERR_MODEL;
}

static int code_of(enum err_code code)
{
	switch (code) {
	case ERR_USAGE: return ORT_INVALID_ARGUMENT;
	case ERR_MODEL: return ORT_INVALID_GRAPH;
	case ERR_UNSUPPORTED: return ORT_NOT_IMPLEMENTED;
	default: return ORT_EP_FAIL;
	}
}

struct ort_status *provider_status(const struct provider_host *h, const struct err *e)
{
	char text[sizeof e->where + sizeof e->text + sizeof e->advice + 64];
	size_t n = 0;
	const char *part[] = { PROVIDER_NAME ": ", e->where, e->text, *e->advice ? " " : "", e->advice };
	if (!e->code)
		return NULL;
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		for (const char *c = part[i]; *c; c++)
			text[n++] = *c;
	text[n] = '\0';
	return h->api->create_status(code_of(e->code), text);
}

void provider_log(const struct provider *p, int level, const char *text)
{
	const struct ort_api *api = p->host.api;
	struct ort_status *s = api->log(p->logger, level, text, __FILE__, __LINE__, __func__);
	if (s)
		api->release_status(s);
}

struct ort_status *provider_call(const struct provider_host *h, provider_fn fn, void *arg)
{
	struct arena_guard guard;
	struct arena *volatile scratch = NULL;
	struct err e;
	e.code = 0;
	err_clear(&e);
	if (setjmp(*arena_guard_push(&guard))) {
		err_set_guard(&e, "");
	} else {
		scratch = arena_new();
		ck((fn(arg, scratch, &e) < 0) == (e.code != 0));
	}
	arena_guard_pop(&guard);
	arena_free(scratch);
	return provider_status(h, &e);
}

struct ort_status *provider_call_again(const struct provider_host *h, struct arena *scratch, provider_fn fn, void *arg)
{
	struct arena_guard guard;
	const struct arena_mark mark = arena_mark(scratch);
	struct err e;
	e.code = 0;
	err_clear(&e);
	if (setjmp(*arena_guard_push(&guard)))
		err_set_guard(&e, "");
	else
		ck((fn(arg, scratch, &e) < 0) == (e.code != 0));
	arena_guard_pop(&guard);
	arena_release(scratch, mark);
	return provider_status(h, &e);
}
