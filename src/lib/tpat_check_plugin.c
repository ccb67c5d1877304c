/* Checks a plugin library in a process of its own, which its code may crash or stop. The child tells each call before
 * it makes it, and each finding; the parent adds one for a child that did not come to the end. */
#include "lib/tpat_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
#include "base/file.h"

enum { PATIENCE_MS = 60000 }; /* for one call */

struct checking {
	const struct tpat_check_options *o;
	const char *path;
	struct host_tensor *in;
	const struct engine *engine;
	int32_t version;
	const char *plugin, *call; /* the last that the child told */
	bool ended;
	struct {
		VEC(struct tpat_finding);
	} findings;
	struct tpat_texts checked, notes;
	struct arena *arena;
};

/* ---- The child. */

struct talk {
	int fd;
};

/* Sends a letter and texts, each with its NUL. */
static void tell(const struct talk *t, char letter, const char *const *text, int n)
{
	char message[4096] = { letter };
	size_t used = 1;
	for (int i = 0; i < n && used < sizeof message; i++)
		used += (size_t)snprintf(message + used, sizeof message - used, "%s", text[i]) + 1;
	child_send(t->fd, message, used < sizeof message ? used : sizeof message);
}

static void tell_step(void *user, const char *plugin, const char *call)
{
	tell(user, 's', (const char *const[]){ plugin, call }, 2);
}

static void tell_found(void *user, const char *plugin, const char *call, const char *what, const char *rule)
{
	tell(user, 'f', (const char *const[]){ plugin, call, what, rule }, 4);
}

static void tell_note(void *user, const char *plugin, const char *text)
{
	tell(user, 'n', (const char *const[]){ plugin, text }, 2);
}

static void tell_checked(void *user, const char *plugin)
{
	tell(user, 'c', (const char *const[]){ plugin }, 1);
}

static void child(void *arg, int fd)
{
	const struct checking *c = arg;
	struct talk t = { fd };
	struct arena *a = arena_new();
	struct engine_checking checking = { .only = c->o->plugin,
		                            .version = c->version,
		                            .in = c->in,
		                            .inputs = c->o->input.n,
		                            .user = &t,
		                            .step = tell_step,
		                            .found = tell_found,
		                            .note = tell_note,
		                            .checked = tell_checked };
	c->engine->host->check(c->path, &checking, a);
	tell(&t, 'e', NULL, 0);
	arena_free(a);
}

/* ---- The parent. */

static void take(struct checking *c, const char *message, size_t n)
{
	const char *text[4] = { "", "", "", "" }, *end = message + n;
	const char *at = message + 1;
	for (int i = 0; i < 4 && at < end; i++, at += strnlen(at, (size_t)(end - at)) + 1)
		text[i] = arena_strndup(c->arena, at, strnlen(at, (size_t)(end - at)));
	switch (*message) {
	case 's':
		c->plugin = text[0];
		c->call = text[1];
		break;
	case 'f': {
		struct tpat_finding f = { str_printable(c->arena, text[0]), text[1], str_printable(c->arena, text[2]),
			                  text[3] };
		vec_push(c->arena, &c->findings, f);
		break;
	}
	case 'n': vec_push(c->arena, &c->notes, arena_printf(c->arena, "%s: %s", text[0], text[1])); break;
	case 'c': vec_push(c->arena, &c->checked, str_printable(c->arena, text[0])); break;
	case 'e': c->ended = true; break;
	}
}

static void add_end(struct checking *c, const char *how, bool stopped)
{
	struct tpat_finding f = { c->plugin, c->call,
		                  stopped ? "it does not return"
		                          : arena_printf(c->arena, "it ends the process: %s", how),
		                  "a call returns, whatever its arguments" };
	vec_push(c->arena, &c->findings, f);
}

static int watch(struct checking *c, struct err *e)
{
	struct child process;
	char message[4096], how[64];
	bool ready = true;
	size_t n = 1;
	TRY(child_start(&process, child, c, NULL, e));
	while (ready && n) {
		child_wait(&process.fd, &ready, 1, PATIENCE_MS);
		n = ready ? child_receive(process.fd, message, sizeof message) : 0;
		if (n)
			take(c, message, n);
	}
	child_kill(&process, how);
	if (!c->ended)
		add_end(c, how, !ready);
	return 0;
}

static enum type type_called(const char *name)
{
	for (enum type t = TYPE_NONE + 1; t < TYPE_COUNT; t++)
		if (strcmp(type_name(t), name) == 0)
			return t;
	return TYPE_NONE;
}

/* "f32[1,3,8,8]" */
static int read_input(struct host_tensor *t, const char *text, struct arena *a, struct err *e)
{
	const char *from = strchr(text, '[');
	char *end = (char *)(uintptr_t)from;
	enum type type = from ? type_called(arena_strndup(a, text, (size_t)(from - text))) : TYPE_NONE;
	*t = (struct host_tensor){ .type = (int32_t)type };
	while (type && end && (*end == '[' || *end == ',') && end[1] != ']' && t->rank < TPAT_RT_MAX_RANK) {
		const char *digits = end + 1;
		t->dim[t->rank++] = strtoll(digits, &end, 10);
		if (end == digits || t->dim[t->rank - 1] < 0)
			type = TYPE_NONE;
	}
	if (type && end && (strcmp(end, "]") == 0 || strcmp(end, "[]") == 0))
		return 0;
	err_set(e, ERR_USAGE, "The input \"%s\" is not a type with extents.", text);
	return err_advise(e, "Write it like f32[1,3,224,224].");
}

struct check_call {
	const struct tpat_check_options *o;
	const struct tpat_plugin_checked **out;
};

static int run(struct tpat *t, void *arg)
{
	struct check_call *call = arg;
	struct arena *a = t->arena;
	struct checking *c = NEW(a, struct checking);
	struct engine_version version = { 0 };
	if (call->o->version != TPAT_CHECK_VERSION || !call->o->library)
		return err_set(&t->err, ERR_USAGE,
		               "The options of tpat_check_plugin have another version, or no library.");
	*c = (struct checking){ .o = call->o, .engine = engine_find(NULL), .plugin = "", .call = "", .arena = a };
	if (!file_exists(call->o->library))
		return err_set(&t->err, ERR_MODEL, "%s: there is no such file.", call->o->library);
	TRY(file_check(call->o->library, &t->err));
	if (call->o->tensorrt)
		TRY(c->engine->version(&version, call->o->tensorrt, &t->err));
	if (version.number && version.number < 100000) {
		err_set(&t->err, ERR_UNSUPPORTED,
		        "Plugins of TensorRT 8 and 9 (IPluginV2DynamicExt) are not checked yet.");
		return err_advise(&t->err, "tpat verify runs those of its own libraries with --tensorrt 8.6.");
	}
	c->version = version.number;
	c->path = file_absolute(a, call->o->library);
	c->in = NEWN(a, struct host_tensor, call->o->input.n + 1);
	for (int i = 0; i < call->o->input.n; i++)
		TRY(read_input(&c->in[i], call->o->input.at[i], a, &t->err));
	TRY(watch(c, &t->err));
	struct tpat_plugin_checked *r = NEW(a, struct tpat_plugin_checked);
	*r = (struct tpat_plugin_checked){ .library = arena_strdup(a, call->o->library),
		                           .finding = c->findings.at,
		                           .findings = c->findings.n,
		                           .plugins = tpat_strings_of(&c->checked),
		                           .notes = tpat_strings_of(&c->notes) };
	*call->out = r;
	return r->findings ? err_set(&t->err, ERR_DIFFER, "%s breaks %d rules.", call->o->library, r->findings) : 0;
}

int tpat_check_plugin(struct tpat *t, const struct tpat_plugin_checked **out, const struct tpat_check_options *o)
{
	struct check_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
