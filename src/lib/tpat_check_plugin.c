/* Checks a plugin library in a process of its own, which its code may crash or stop. The child tells each call before
 * it makes it, and each finding; the parent adds one for a child that did not come to the end. */
#include "lib/tpat_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/machine.h"

enum {
	PATIENCE_MS = 60000, /* for one call */
	SAID = 1 << 14,      /* bytes of the child's output that are looked at */
	TOLD = 5             /* most texts of a message */
};

struct checking {
	const struct tpat_check_options *o;
	const char *path, *only; /* only this plugin; null: all */
	struct tpat_strings attribute;
	struct host_tensor *in, *in_min, *expect;
	const struct engine *engine;
	int32_t version;
	const char *plugin, *call; /* the last that the child told */
	bool ended;
	struct {
		VEC(struct tpat_finding);
	} findings;
	struct {
		VEC(struct tpat_plugin_time);
	} times;
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

static void tell_found(void *user, const char *plugin, const char *call, const char *what, int rule)
{
	const char number[] = { (char)('0' + rule / 10), (char)('0' + rule % 10), 0 };
	tell(user, 'f', (const char *const[]){ plugin, call, what, number }, 4);
}

static void tell_note(void *user, const char *plugin, const char *text)
{
	tell(user, 'n', (const char *const[]){ plugin, text }, 2);
}

static void tell_timed(void *user, const char *plugin, const char *inputs, int32_t tactic, double ns, bool captured)
{
	char number[32], time[32];
	snprintf(number, sizeof number, "%d", (int)tactic);
	snprintf(time, sizeof time, "%lld", (long long)(ns * 1000)); /* picoseconds */
	tell(user, 't', (const char *const[]){ plugin, inputs, number, time, captured ? "1" : "" }, 5);
}

static void tell_checked(void *user, const char *plugin)
{
	tell(user, 'c', (const char *const[]){ plugin }, 1);
}

static void tell_ended(void *user)
{
	tell(user, 'e', NULL, 0);
}

static void child(void *arg, int fd)
{
	const struct checking *c = arg;
	struct talk t = { fd };
	struct arena *a = arena_new();
	struct engine_checking checking = { .only = c->only,
		                            .version = c->version,
		                            .in = c->in,
		                            .in_min = c->in_min,
		                            .inputs = c->o->input.n,
		                            .expect = c->expect,
		                            .expects = c->o->expect.n,
		                            .attribute = c->attribute.at,
		                            .attributes = c->attribute.n,
		                            .host_memory = c->o->host_memory,
		                            .user = &t,
		                            .step = tell_step,
		                            .found = tell_found,
		                            .note = tell_note,
		                            .time = c->o->time || c->o->beside,
		                            .timed = tell_timed,
		                            .checked = tell_checked,
		                            .ended = tell_ended };
	c->engine->host->check(c->path, &checking, a);
	tell_ended(&t);
	arena_free(a);
}

/* ---- The parent. */

static void add(struct checking *c, const char *plugin, const char *call, const char *what, int rule)
{
	const struct engine_rule *r = &c->engine->host->rule[rule];
	struct tpat_finding f = { plugin, call, what, r->text, r->method, r->fix };
	vec_push(c->arena, &c->findings, f);
}

static void take(struct checking *c, const char *message, size_t n)
{
	const char *text[TOLD] = { "", "", "", "", "" }, *end = message + n;
	const char *at = message + 1;
	for (int i = 0; i < TOLD && at < end; i++, at += strnlen(at, (size_t)(end - at)) + 1)
		text[i] = arena_strndup(c->arena, at, strnlen(at, (size_t)(end - at)));
	switch (*message) {
	case 's':
		c->plugin = text[0];
		c->call = text[1];
		break;
	case 'f':
		add(c, str_printable(c->arena, text[0]), text[1], str_printable(c->arena, text[2]), atoi(text[3]));
		break;
	case 'n': vec_push(c->arena, &c->notes, arena_printf(c->arena, "%s: %s", text[0], text[1])); break;
	case 't':
		vec_push(c->arena, &c->times,
		         ((struct tpat_plugin_time){ .plugin = str_printable(c->arena, text[0]),
		                                     .inputs = text[1],
		                                     .tactic = atoi(text[2]),
		                                     .us = (double)strtoll(text[3], NULL, 10) / 1e6,
		                                     .captured = *text[4] }));
		break;
	case 'c': vec_push(c->arena, &c->checked, str_printable(c->arena, text[0])); break;
	case 'e': c->ended = true; break;
	}
}

/* The first rule is that a call returns. */
static void add_end(struct checking *c, const char *what)
{
	add(c, c->plugin, c->call, str_printable(c->arena, what), 0);
}

/* The rest of the line that begins at, or null. */
static const char *line_after(struct arena *a, const char *text, const char *mark, const char *end)
{
	const char *at = strstr(text, mark);
	at = at ? at + strlen(mark) : NULL;
	return at ? arena_strndup(a, at, strcspn(at, end)) : NULL;
}

/* The C++ library names an exception that nothing catches; others print a line before they abort. */
static const char *last_words(struct checking *c, const char *said, const char *how)
{
	struct arena *a = c->arena;
	const char *thrown = line_after(a, said, "after throwing an instance of '", "'\n");
	const char *what = line_after(a, said, "what():  ", "\n"), *last = said;
	if (!thrown) {
		thrown = line_after(a, said, "uncaught exception of type ", "\n"); /* libc++ says all in one line */
		what = NULL;
	}
	if (thrown)
		return arena_printf(a, "an exception leaves it, which ends the process: %s%s%s", thrown,
		                    what ? ": " : "", what ? what : "");
	for (const char *at = said; *at; at++)
		last = *at == '\n' && at[1] ? at + 1 : last;
	return arena_printf(a, "it ends the process: %s%s%.*s", how, *last ? ", after the line: " : "",
	                    (int)strcspn(last, "\n"), last);
}

/* What the child wrote to a file in memory. */
static const char *written(struct checking *c, int file)
{
	char *text = arena_alloc(c->arena, SAID + 1);
	off_t size = lseek(file, 0, SEEK_END);
	ssize_t n = size < 0 ? 0 : pread(file, text, SAID, size > SAID ? size - SAID : 0);
	text[n > 0 ? n : 0] = 0;
	return text;
}

static int watch(struct checking *c, struct err *e)
{
	struct child process;
	char message[4096], how[64], path[64];
	bool ready = true;
	size_t n = 1;
	int file = memfd_create("output", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	int rc = child_start(&process, child, c, file < 0 ? NULL : path, e);
	if (rc < 0) {
		close(file);
		return rc;
	}
	while (ready && n) {
		child_wait(&process.fd, &ready, 1, PATIENCE_MS);
		n = ready ? child_receive(process.fd, message, sizeof message) : 0;
		if (n)
			take(c, message, n);
	}
	child_kill(&process, how);
	if (!c->ended)
		add_end(c, ready ? last_words(c, written(c, file), how) : "it does not return");
	close(file);
	return 0;
}

static enum type type_called(const char *name)
{
	for (enum type t = TYPE_NONE + 1; t < TYPE_COUNT; t++)
		if (strcmp(type_name(t), name) == 0)
			return t;
	return TYPE_NONE;
}

/* "8" or "1:8" */
static bool read_extent(const char **at, int64_t *min, int64_t *max)
{
	char *end;
	*min = *max = strtoll(*at, &end, 10);
	bool good = end != *at;
	if (good && *end == ':') {
		*at = end + 1;
		*max = strtoll(*at, &end, 10);
		good = end != *at;
	}
	*at = end;
	return good && *min >= 0 && *max >= *min;
}

/* The elements of a shape input: integers, of rank 0 or 1. */
static bool read_value(struct host_tensor *min, struct host_tensor *max, const char *text, struct arena *a)
{
	int64_t n = max->rank ? max->dim[0] : 1;
	if (max->rank > 1 || n < 1 || n > TPAT_RT_MAX_RANK || min->dim[0] != max->dim[0] ||
	    (max->type != TYPE_I64 && max->type != TYPE_I32))
		return false;
	int64_t *value = NEWN(a, int64_t, n);
	for (int64_t i = 0; i < n; i++) {
		char *end;
		value[i] = strtoll(text, &end, 10);
		if (end == text || *end != (i + 1 < n ? ',' : 0))
			return false;
		text = end + 1;
	}
	min->value = max->value = value;
	return true;
}

/* A tensor with its values, in host memory. */
static int read_file(struct host_tensor *out, const char *path, struct arena *a, struct err *e)
{
	struct tensor t;
	TRY(tpat_tensor_read(&t, path, a, e));
	if (!t.data || t.rank > TPAT_RT_MAX_RANK)
		return err_set(e, ERR_MODEL, "%s: TensorRT has no such tensors as %s.", path, tensor_describe(&t, a));
	*out = (struct host_tensor){ .type = (int32_t)t.type, .rank = t.rank, .pointer = t.data };
	memcpy(out->dim, t.dim, (size_t)t.rank * sizeof *out->dim);
	return 0;
}

static bool names_file(const char *text)
{
	return str_ends(text, ".npy") || str_ends(text, ".npz") || str_ends(text, ".pb");
}

/* "f32[1,3,8,8]", "f32[1:4,3,8,8]", "i64[2]=3,4", or a file */
static int read_input(struct host_tensor *min, struct host_tensor *max, const char *text, struct arena *a,
                      struct err *e)
{
	const char *at = strchr(text, '[');
	enum type type = at ? type_called(arena_strndup(a, text, (size_t)(at - text))) : TYPE_NONE;
	if (names_file(text)) {
		TRY(read_file(max, text, a, e));
		*min = *max;
		return 0;
	}
	*min = *max = (struct host_tensor){ .type = (int32_t)type };
	while (type && (*at == '[' || *at == ',') && at[1] != ']' && max->rank < TPAT_RT_MAX_RANK) {
		at++;
		if (!read_extent(&at, &min->dim[max->rank], &max->dim[max->rank]))
			type = TYPE_NONE;
		min->rank = ++max->rank;
	}
	at += type && strncmp(at, "[]", 2) == 0;
	bool value = type && strncmp(at, "]=", 2) == 0;
	if (value && !read_value(min, max, at + 2, a))
		type = TYPE_NONE;
	if (type && (value || strcmp(at, "]") == 0))
		return 0;
	err_set(e, ERR_USAGE, "The input \"%s\" is not a type with extents.", text);
	return err_advise(e, "Write it like f32[1,3,224,224]; f32[1:8,3,224,224] is a range of shapes, and i64[2]=3,4 "
	                     "a shape input. A file is .npy, .npz or .pb.");
}

static int library_there(struct tpat *t, const char *path)
{
	if (!file_exists(path))
		return err_set(&t->err, ERR_MODEL, "%s: there is no such file.", path);
	TRY(file_check(path, &t->err));
	return machine_check(path, &t->err);
}

/* The least time of a tactic with these inputs; 0: none. */
static double least_time(const struct checking *c, const char *inputs)
{
	double least = 0;
	vec_each (x, &c->times)
		if (strcmp(x->inputs, inputs) == 0 && (least == 0 || x->us < least))
			least = x->us;
	return least;
}

/* Times the plugin of another library with the same inputs. */
static int time_beside(struct tpat *t, struct checking *c)
{
	struct checking other = { .o = c->o,
		                  .engine = c->engine,
		                  .version = c->version,
		                  .path = file_absolute(t->arena, c->o->beside),
		                  .in = c->in,
		                  .in_min = c->in_min,
		                  .plugin = "",
		                  .call = "",
		                  .arena = t->arena };
	TRY(library_there(t, c->o->beside));
	TRY(watch(&other, &t->err));
	if (!other.times.n) {
		const char *why = other.findings.n ? other.findings.at[0].what
		                  : other.notes.n  ? other.notes.at[0]
		                                   : "it has no plugin for these inputs";
		err_set(&t->err, ERR_MODEL, "%s could not be timed beside it: %s.", c->o->beside, why);
		return err_advise(&t->err, "Check it alone first: tpat check-plugin %s.", c->o->beside);
	}
	vec_each (x, &c->times)
		x->beside_us = least_time(&other, x->inputs);
	return 0;
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
		               "The options of tpat_check_plugin have an unknown version, or no library.");
	*c = (struct checking){ .o = call->o,
		                .only = call->o->plugin,
		                .attribute = call->o->attribute,
		                .engine = engine_find(NULL),
		                .plugin = "",
		                .call = "",
		                .arena = a };
	TRY(library_there(t, call->o->library));
	if (call->o->tensorrt)
		TRY(c->engine->version(&version, call->o->tensorrt, &t->err));
	c->version = version.number;
	c->path = file_absolute(a, call->o->library);
	c->in = NEWN(a, struct host_tensor, call->o->input.n + 1);
	c->in_min = NEWN(a, struct host_tensor, call->o->input.n + 1);
	for (int i = 0; i < call->o->input.n; i++)
		TRY(read_input(&c->in_min[i], &c->in[i], call->o->input.at[i], a, &t->err));
	c->expect = NEWN(a, struct host_tensor, call->o->expect.n + 1);
	for (int i = 0; i < call->o->expect.n; i++)
		TRY(read_file(&c->expect[i], call->o->expect.at[i], a, &t->err));
	if (call->o->expect.n && !call->o->input.n) {
		err_set(&t->err, ERR_USAGE, "--expect compares outputs, but there are no inputs.");
		return err_advise(&t->err, "Give each input as --input FILE.npy.");
	}
	if ((call->o->time || call->o->beside) && !call->o->input.n) {
		err_set(&t->err, ERR_USAGE, "--time runs a plugin, but there are no inputs.");
		return err_advise(&t->err, "Give each input as --input f32[1,3,224,224].");
	}
	TRY(watch(c, &t->err));
	if (call->o->beside && c->times.n)
		TRY(time_beside(t, c));
	if (call->o->plugin && !c->checked.n && !c->findings.n) {
		err_set(&t->err, ERR_USAGE, "%s has no plugin called %s.", call->o->library, call->o->plugin);
		return err_advise(&t->err, "Leave --plugin out to check all plugins of the library.");
	}
	struct tpat_plugin_checked *r = NEW(a, struct tpat_plugin_checked);
	*r = (struct tpat_plugin_checked){ .library = arena_strdup(a, call->o->library),
		                           .finding = c->findings.at,
		                           .findings = c->findings.n,
		                           .time = c->times.at,
		                           .times = c->times.n,
		                           .plugins = tpat_strings_of(&c->checked),
		                           .notes = tpat_strings_of(&c->notes) };
	*call->out = r;
	if (r->findings)
		return err_set(&t->err, ERR_DIFFER, "%s breaks %d rule%s.", call->o->library, r->findings,
		               r->findings == 1 ? "" : "s");
	return 0;
}

int tpat_check_plugin(struct tpat *t, const struct tpat_plugin_checked **out, const struct tpat_check_options *o)
{
	struct check_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
