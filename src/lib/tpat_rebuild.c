/* Rebuilds a .tpat folder after its kernels were edited: the library goes to its place next to the folder. */
#include "lib/tpat_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

struct rebuild {
	const struct tpat_rebuild_options *o;
	struct tpat_rebuilt *result;
	struct stage stage;
	const char *base; /* the folder of the model and its libraries */
	const char *view; /* the folder to rebuild with other kernels in it; null: as it is */
	struct tpat_texts libraries, compiled;
	struct tpat_talk *talk;
	struct arena *arena;
	struct err *err;
};

static bool compiling(void *user, int done, int all, const char *what)
{
	const struct rebuild *b = user;
	struct tpat_progress p = { "compile", what, done, all };
	bool stops = b->o->progress && b->o->progress(b->o->user, &p);
	return stops || tpat_stops(b->talk);
}

/* ---- The folder's tpat.json. */

static int not_understood(const char *folder, const char *what, struct err *e)
{
	err_set(e, ERR_MODEL, "%s: its tpat.json has no %s.", folder, what);
	return err_advise(e, "Name an unchanged folder that tpat build wrote: NAME.tpat.");
}

static int count(const struct json *list)
{
	int n = 0;
	for (const struct json *x = list ? list->child : NULL; x; x = x->next)
		n++;
	return n;
}

static int read_archs(struct engine_again *r, const struct json *j, struct arena *a, struct err *e)
{
	const struct json *list = json_member(j, "architectures");
	struct engine_arch *arch = NEWN(a, struct engine_arch, count(list) + 1);
	for (const struct json *x = list ? list->child : NULL; x; x = x->next) {
		const char *text = x->kind == JSON_IS_TEXT ? x->text : "";
		bool ptx = str_starts(text, "compute_");
		int number = atoi(text + (ptx ? 8 : str_starts(text, "sm_") ? 3 : strlen(text)));
		if (number < 10)
			return not_understood(r->folder, "list of architectures", e);
		arch[r->archs++] = (struct engine_arch){ number, ptx };
	}
	r->arch = arch;
	return r->archs ? 0 : not_understood(r->folder, "list of architectures", e);
}

static int read_plugins(struct engine_again *r, const struct json *j, struct arena *a, struct err *e)
{
	const struct json *list = json_member(j, "plugins");
	const char **name = NEWN(a, const char *, count(list) + 1);
	for (const struct json *x = list ? list->child : NULL; x; x = x->next) {
		if (json_member_text(x, "like")) /* it has the kernels of another one */
			continue;
		if (!(name[r->plugins++] = json_member_text(x, "name")))
			return not_understood(r->folder, "plugin's name", e);
	}
	r->plugin = name;
	return r->plugins ? 0 : not_understood(r->folder, "list of plugins", e);
}

int tpat_again_read(struct engine_again *r, const struct engine **engine, const struct json *record, struct arena *a,
                    struct err *e)
{
	TRY(tpat_record_engine(engine, record, r->folder, e));
	TRY(read_archs(r, record, a, e));
	return read_plugins(r, record, a, e);
}

/* ---- One library. */

/* `name`: the folder's path relative to the model's: "ocr.tpat", or "ocr.tpat/tpat_x" for one of several libraries. */
static int rebuild_one(struct rebuild *b, const char *name, const struct json *j)
{
	struct arena *a = b->arena;
	const struct engine *engine;
	const char *library = json_member_text(j, "library"), *made = stage_scratch(&b->stage, "library.so");
	struct engine_again r = {
		.folder = b->view ? b->view : path_join(a, b->base, name),
		.work = stage_scratch(&b->stage, arena_printf(a, "work%d", b->libraries.n)),
		.library = file_absolute(a, made),
		.workers = b->o->workers,
		.progress = compiling,
		.user = b,
	};
	if (json_member_text(j, "host"))
		TRY(machine_find(&r.machine, json_member_text(j, "host"), a, b->err));
	if (!library || !*library || strchr(library, '/'))
		return not_understood(r.folder, "name of a library", b->err);
	const char *place = path_join(a, b->base, library);
	if (file_is_special(place) || file_is_folder(place))
		return err_set(b->err, ERR_USAGE, "%s is not a regular file, so it is not replaced.", place);
	TRY(tpat_again_read(&r, &engine, j, a, b->err));
	TRY(file_mkdir(r.work, b->err));
	TRY(engine->rebuild(&r, a, b->err));
	vec_each (file, &r.made) {
		const char *to = stage_add(&b->stage, path_join(a, name, *file));
		TRY(file_rename(path_join(a, r.work, *file), to, b->err));
		if (strcmp(*file, engine->stamp) != 0)
			vec_push(a, &b->compiled, path_join(a, path_join(a, b->base, name), *file));
	}
	vec_push(a, &b->libraries, place);
	return file_rename(made, stage_add(&b->stage, library), b->err);
}

/* Rebuilds the folder of each plugin that has its own library. */
static int rebuild_split(struct rebuild *b, const char *name, const struct json *j)
{
	const struct json *files = json_member(j, "files");
	for (const struct json *f = files ? files->child : NULL; f; f = f->next) {
		const char *below = path_dir(b->arena, f->name);
		const struct json *own;
		if (strcmp(path_base(f->name), "tpat.json") != 0 || strchr(below, '/') || strcmp(below, ".") == 0)
			continue;
		const char *folder = path_join(b->arena, name, below);
		TRY(tpat_record_read(&own, path_join(b->arena, b->base, folder), b->arena, b->err));
		TRY(rebuild_one(b, folder, own));
	}
	return b->libraries.n ? 0 : not_understood(path_join(b->arena, b->base, name), "list of files", b->err);
}

/* "./ocr.tpat/": folder ".", name "ocr.tpat". Resolves the names "." and "..". */
static int find_folder(struct rebuild *b, const char **name, const char *given)
{
	const char *path = path_trimmed(b->arena, given), *base = path_base(path);
	char *real = strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ? file_real(b->arena, path) : NULL;
	if (real)
		path = real;
	b->base = path_dir(b->arena, path);
	*name = path_base(path);
	if (file_is_folder(path))
		return 0;
	err_set(b->err, ERR_MODEL, file_exists(path) ? "%s is not a folder." : "There is no folder %s.", given);
	return err_advise(b->err, "Name the folder that tpat build wrote next to the rewritten model: NAME.tpat.");
}

/* "FILE.cu" or "NODE=FILE.cu". A file's own name may have "=". */
static int find_kernel(struct tpat_edited *x, struct rebuild *b, const char *folder, const char *text)
{
	const char *equal = file_exists(text) ? NULL : strchr(text, '=');
	const char *node = equal ? arena_strndup(b->arena, text, (size_t)(equal - text)) : NULL;
	return tpat_edited_find(x, equal ? equal + 1 : text, folder, node, b->arena, b->err);
}

/* Makes a view of the folder with the kernels that the user names. They are put into the folder at the end. */
static int take_kernels(struct rebuild *b, const char *name)
{
	const struct tpat_strings *list = &b->o->kernel;
	const char *folder = path_join(b->arena, b->base, name);
	struct tpat_edited *x = NEWN(b->arena, struct tpat_edited, list->n + 1);
	if (!list->n)
		return 0;
	b->view = stage_scratch(&b->stage, "view");
	for (int i = 0; i < list->n; i++)
		TRY(find_kernel(&x[i], b, folder, list->at[i]));
	TRY(tpat_edited_view(x, list->n, b->view, b->arena, b->err));
	for (int i = 0; i < list->n; i++) {
		const char *text = path_join(b->arena, "kernels", x[i].text);
		const char *to = stage_add(&b->stage, path_join(b->arena, name, text));
		char *bytes;
		size_t n;
		TRY(file_read(&bytes, &n, path_join(b->arena, b->view, text), b->arena, b->err));
		TRY(file_make(to, bytes, n, b->err));
	}
	return 0;
}

static int rebuild(struct rebuild *b)
{
	const struct json *j, *outer;
	struct stage_left left;
	struct err none = { 0 };
	const char *name;
	TRY(find_folder(b, &name, b->o->folder));
	/* A folder inside another one belongs to one library of several. */
	if (file_exists(path_join(b->arena, b->base, "tpat.json")) &&
	    tpat_record_read(&outer, b->base, b->arena, &none) == 0 && json_member(outer, "libraries")) {
		const char *up = b->base;
		b->base = path_dir(b->arena, up);
		name = path_join(b->arena, path_base(up), name);
	}
	TRY(tpat_recover(&left, b->base, TPAT_RECOVER, b->arena, b->err));
	TRY(tpat_record_read(&j, path_join(b->arena, b->base, name), b->arena, b->err));
	TRY(stage_begin(&b->stage, path_join(b->arena, b->base, name), b->arena, b->err));
	TRY(take_kernels(b, name));
	TRY(json_member(j, "libraries") ? rebuild_split(b, name, j) : rebuild_one(b, name, j));
	return stage_commit(&b->stage, b->err);
}

static void clean_up(void *arg)
{
	stage_abandon(&((struct rebuild *)arg)->stage);
}

struct rebuild_call {
	const struct tpat_rebuild_options *o;
	const struct tpat_rebuilt **out;
};

static int run(struct tpat *t, void *arg)
{
	struct rebuild_call *c = arg;
	struct rebuild *b = NEW(t->arena, struct rebuild);
	*b = (struct rebuild){ .o = c->o,
		               .result = NEW(t->arena, struct tpat_rebuilt),
		               .talk = &t->talk,
		               .arena = t->arena,
		               .err = &t->err };
	if (c->o->version != TPAT_REBUILD_VERSION || !c->o->folder)
		return err_set(&t->err, ERR_USAGE,
		               "The options of tpat_rebuild have an unknown version, or no folder.");
	t->cleanup = clean_up;
	t->cleanup_arg = b;
	TRY(rebuild(b));
	b->result->libraries = tpat_strings_of(&b->libraries);
	b->result->compiled = tpat_strings_of(&b->compiled);
	*c->out = b->result;
	return 0;
}

int tpat_rebuild(struct tpat *t, const struct tpat_rebuilt **out, const struct tpat_rebuild_options *o)
{
	struct rebuild_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
