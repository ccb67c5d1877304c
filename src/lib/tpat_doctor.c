/* Finds leftovers of interrupted builds in a folder, and rewritten models without the library and folder that they were
 * built with. */
#include "lib/tpat_inside.h"

#include <dirent.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

struct doctor {
	const struct tpat_doctor_options *o;
	struct tpat_diagnosis *result;
	struct onnx_model *model;
	struct {
		VEC(struct tpat_health);
	} health;
	struct arena *arena;
	struct err *err;
};

/* ---- One model. */

struct patient {
	struct doctor *d;
	struct tpat_output names;
	struct tpat_texts called, problems; /* plugins that the model's nodes call, each once */
};

static void problem(struct patient *p, const char *format, const char *x, const char *y)
{
	vec_push(p->d->arena, &p->problems, str_printable(p->d->arena, arena_printf(p->d->arena, format, x, y)));
}

static int note_call(void *arg, ProtobufCMessage *message)
{
	struct patient *p = arg;
	const Onnx__NodeProto *n = (const Onnx__NodeProto *)message;
	const char *type = onnx_text(n->op_type);
	if (strcmp(onnx_text(n->domain), GRAPH_PLUGIN_DOMAIN) != 0)
		return 0;
	vec_each (have, &p->called)
		if (strcmp(*have, type) == 0)
			return 0;
	vec_push(p->d->arena, &p->called, arena_strdup(p->d->arena, type));
	return 0;
}

static void read_model(struct patient *p)
{
	struct err why = { 0 };
	if (onnx_model_read(&p->d->model, p->names.model, &why) < 0)
		problem(p, "%s%s", why.where, why.text);
	else
		onnx_visit(&p->d->model->proto->base, &onnx__node_proto__descriptor, note_call, p);
	onnx_model_free(p->d->model);
	p->d->model = NULL;
}

/* True if the library's tables name the plugin. Does not load the library, which would run its code. */
static bool holds(const struct file_map *m, const char *plugin)
{
	return m->data && memmem(m->data, m->size, plugin, strlen(plugin) + 1);
}

static void check_library(struct patient *p, const char *plugin)
{
	struct arena *a = p->d->arena;
	const char *library = p->names.library;
	struct err why = { 0 };
	struct file_map m;
	if (file_is_folder(path_join(a, p->names.folder, str_identifier(a, plugin))))
		library = tpat_output_split(&p->names, plugin, a);
	if (file_map_open(&m, library, &why) < 0) {
		problem(p, "%s%s", why.text, "");
		return;
	}
	if (!holds(&m, plugin))
		problem(p, "%s does not contain the plugin %s, which the model calls: they are from different builds.",
		        library, plugin);
	file_map_close(&m);
}

static void check_code(struct patient *p, const char *folder)
{
	struct arena *a = p->d->arena;
	struct err none = { 0 };
	struct str now = str_new(a);
	char *then;
	const struct json *record;
	const struct engine *engine;
	if (tpat_record_read(&record, folder, a, &none) < 0) /* tpat_record_changes() said so */
		return;
	if (tpat_record_engine(&engine, record, folder, &none) < 0) {
		problem(p, "%s%s", none.text, "");
		return;
	}
	if (engine->stamp_now(&now, folder, &none) == 0 &&
	    file_read(&then, NULL, path_join(a, folder, engine->stamp), a, &none) == 0 &&
	    strcmp(then, str_text(&now)) != 0)
		problem(p, "Kernels in %s were edited since their code was compiled: run tpat rebuild %s.", folder,
		        str_shell_path(a, folder));
}

static int check_folder(struct patient *p, struct tpat_texts *edited)
{
	struct arena *a = p->d->arena;
	struct err why = { 0 };
	bool recorded;
	if (tpat_record_changes(edited, &recorded, p->names.folder, a, &why) < 0)
		problem(p, "%s%s", why.text, "");
	vec_each (plugin, &p->called) {
		const char *own = path_join(a, p->names.folder, str_identifier(a, *plugin));
		if (file_is_folder(own))
			check_code(p, own);
	}
	check_code(p, p->names.folder);
	return 0;
}

static int examine(struct doctor *d, const char *model)
{
	struct patient *p = NEW(d->arena, struct patient);
	struct tpat_texts edited = { 0 };
	p->d = d;
	tpat_output_names(&p->names, model, d->arena);
	read_model(p);
	vec_each (plugin, &p->called)
		check_library(p, *plugin);
	if (p->called.n || file_exists(p->names.folder))
		TRY(check_folder(p, &edited));
	struct tpat_health h = { model, p->called.n, tpat_strings_of(&p->problems), tpat_strings_of(&edited) };
	vec_push(d->arena, &d->health, h);
	d->result->problems += p->problems.n;
	return 0;
}

/* ---- A whole folder. */

/* Returns the model that a .tpat folder was made for, by its tpat.json; by the first one's if there are several
 * libraries. */
static const char *model_of(struct doctor *d, const char *folder)
{
	struct err none = { 0 };
	const struct json *j, *files;
	const char *name;
	if (tpat_record_read(&j, folder, d->arena, &none) < 0)
		return NULL;
	if ((name = json_member_text(j, "rewritten")))
		return name;
	files = json_member(j, "files");
	for (const struct json *f = files ? files->child : NULL; f; f = f->next)
		if (str_ends(f->name, "/tpat.json"))
			return model_of(d, path_join(d->arena, folder, path_dir(d->arena, f->name)));
	return NULL;
}

static int examine_all(struct doctor *d, const char *folder)
{
	struct tpat_texts found = { 0 };
	DIR *dir = opendir(folder);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		const char *name = str_ends(entry->d_name, ".tpat")
		                           ? model_of(d, path_join(d->arena, folder, entry->d_name))
		                           : NULL;
		if (name && !strchr(name, '/'))
			vec_push(d->arena, &found, path_join(d->arena, folder, name));
	}
	if (dir)
		closedir(dir);
	vec_sort_texts(found.at, found.n);
	vec_each (model, &found)
		TRY(examine(d, *model));
	return 0;
}

static int no_place(struct doctor *d)
{
	err_set(d->err, ERR_MODEL, "There is no file or folder %s.", d->o->path);
	return err_about(d->err, ERR_FILE, d->o->path);
}

/* A build's folder stands for its model. */
static const char *place(struct doctor *d)
{
	const char *path = path_trimmed(d->arena, d->o->path);
	const char *model = str_ends(path, ".tpat") ? model_of(d, path) : NULL;
	if (model && !strchr(model, '/'))
		return strchr(path, '/') ? path_join(d->arena, path_dir(d->arena, path), model) : model;
	return arena_strdup(d->arena, d->o->path);
}

static int diagnose(struct doctor *d)
{
	const struct tpat_doctor_options *o = d->o;
	enum tpat_recovery how = o->look    ? TPAT_RECOVER_LOOK
	                         : o->undo  ? TPAT_RECOVER_UNDO
	                         : o->force ? TPAT_RECOVER_FORCE
	                                    : TPAT_RECOVER;
	const char *path = place(d);
	bool all = file_is_folder(path);
	struct stage_left left;
	if (!all && !file_exists(path) && !file_is_folder(path_dir(d->arena, path)))
		return no_place(d);
	TRY(tpat_recover(&left, all ? path : path_dir(d->arena, path), how, d->arena, d->err));
	if (!all && !file_exists(path))
		return no_place(d);
	TRY(all ? examine_all(d, path) : examine(d, path));
	d->result->finished = left.finished;
	d->result->undone = left.undone;
	d->result->removed = left.removed;
	d->result->busy = left.busy;
	d->result->model = d->health.at;
	d->result->models = d->health.n;
	return 0;
}

static void clean_up(void *arg)
{
	onnx_model_free(((struct doctor *)arg)->model);
}

struct doctor_call {
	const struct tpat_doctor_options *o;
	const struct tpat_diagnosis **out;
};

static int run(struct tpat *t, void *arg)
{
	struct doctor_call *c = arg;
	struct doctor *d = NEW(t->arena, struct doctor);
	*d = (struct doctor){
		.o = c->o, .result = NEW(t->arena, struct tpat_diagnosis), .arena = t->arena, .err = &t->err
	};
	if (c->o->version != TPAT_DOCTOR_VERSION || !c->o->path)
		return err_set(&t->err, ERR_USAGE, "The options of tpat_doctor have an unknown version, or no path.");
	t->cleanup = clean_up;
	t->cleanup_arg = d;
	TRY(diagnose(d));
	*c->out = d->result;
	return 0;
}

int tpat_doctor(struct tpat *t, const struct tpat_diagnosis **out, const struct tpat_doctor_options *o)
{
	struct doctor_call c = { o, out };
	*out = NULL;
	return tpat_call(t, run, &c);
}
