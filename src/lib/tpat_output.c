/* Names and places of a build's results. They are made in a hidden folder next to their final place and moved there
 * together (base/staging.h), so that a failure or an interrupt leaves the earlier files unchanged. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"

static int refuse_input(const char *input, const char *model, struct err *e)
{
	if (!file_same(input, model))
		return 0;
	err_set(e, ERR_USAGE, "The output %s is the model itself, which is never overwritten.", model);
	return err_advise(e, "Give the output another name: -o NAME.");
}

/* Results are renamed into place, which would replace a device file. */
static int refuse_special(const char *path, struct err *e)
{
	if (!file_is_special(path))
		return 0;
	err_set(e, ERR_USAGE, "The output %s is a device, pipe or socket; it is not replaced.", path);
	return err_advise(e, "Give the output the name of a file: -o NAME.onnx.");
}

/* -o names the model. People also give it the name of the library, of the engine or of the folder. */
static int refuse_kind(const char *model, struct arena *a, struct err *e)
{
	static const struct {
		const char *extension, *what;
	} other[] = {
		{ ".so", "a library" },           { ".dll", "a library" },
		{ ".plan", "a TensorRT engine" }, { ".engine", "a TensorRT engine" },
		{ ".trt", "a TensorRT engine" },  { ".tpat", "a folder" },
		{ ".cu", "CUDA code" },
	};
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (str_ends(model, other[i].extension)) {
			struct tpat_output o = { 0 };
			const char *better =
			        path_join(a, path_dir(a, model), arena_printf(a, "%s.onnx", path_stem(a, model)));
			tpat_output_names(&o, better, a);
			err_set(e, ERR_USAGE, "-o names the rewritten model, but %s is a name for %s.", model,
			        other[i].what);
			return err_advise(e, "With -o %s the library becomes %s.", str_shell_path(a, better),
			                  o.library);
		}
	return 0;
}

/* Refuses names that are not file names, or that the command lines of make and TensorRT cannot hold. */
static int refuse_name(const char *model, struct err *e)
{
	if (strcmp(model, "-") == 0) {
		err_set(e, ERR_USAGE,
		        "The rewritten model cannot go to standard output: a library and a folder come with it.");
		return err_advise(e, "Give it the name of a file: -o NAME.onnx (-o ./- for a file named \"-\").");
	}
	if (!*path_base(model) || file_is_folder(model)) {
		err_set(e, ERR_USAGE, *model ? "The output %s is a folder." : "The output has no name.", model);
		return err_advise(e, "Give the output the name of a file: -o NAME.onnx.");
	}
	for (const char *c = path_base(model); *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			err_set(e, ERR_USAGE, "The output's name \"%s\" contains a control character.",
			        path_base(model));
			return err_advise(e, "Give the output another name: -o NAME.onnx.");
		}
	return 0;
}

const char *tpat_output_model(const char *input, struct arena *a)
{
	return path_join(a, path_dir(a, input), arena_printf(a, "%s_tpat.onnx", path_stem(a, input)));
}

/* "ocr_tpat": "ocr"; null for other names. */
static const char *before_tpat(const char *stem, struct arena *a)
{
	bool added = str_ends(stem, "_tpat") && strlen(stem) > 5;
	return added ? arena_strndup(a, stem, strlen(stem) - 5) : NULL;
}

/* ocr_tpat.onnx: libtpat_ocr.so, ocr_tpat.tpat */
void tpat_output_names(struct tpat_output *out, const char *model, struct arena *a)
{
	const char *dir = path_dir(a, model), *stem = path_stem(a, model), *base = before_tpat(stem, a);
	out->model = model;
	out->library = path_join(a, dir, arena_printf(a, "libtpat_%s.so", base ? base : stem));
	out->folder = path_join(a, dir, arena_printf(a, "%s.tpat", stem));
}

/* Outputs ocr.onnx and ocr_tpat.onnx have a library of the same name: a build of one takes it from the other. */
static int refuse_library(const struct tpat_output *o, struct arena *a, struct err *e)
{
	const char *base = before_tpat(path_stem(a, o->model), a);
	struct tpat_output other = { 0 };
	tpat_output_names(&other,
	                  base ? path_join(a, path_dir(a, o->model), arena_printf(a, "%s.onnx", base))
	                       : tpat_output_model(o->model, a),
	                  a);
	if (o->force || strcmp(other.library, o->library) != 0 || !file_exists(other.library) ||
	    !file_exists(other.model) || !file_exists(path_join(a, other.folder, "tpat.json")))
		return 0;
	err_set(e, ERR_USAGE, "The library %s belongs to the model %s, which would lose it.", o->library, other.model);
	return err_advise(e, "Give the output another name: -o NAME.onnx. --force replaces the library.");
}

static int check_again(void *user, struct err *e)
{
	const struct tpat_output *o = user;
	return tpat_record_check(o->folder, o->force, o->arena, e);
}

/* Checks the folder under the lock, so that no other build replaces it meanwhile. */
static int check_folder(struct tpat_output *o, struct err *e)
{
	const char *at = path_dir(o->arena, o->model);
	int lock;
	if (!file_is_folder(at)) /* stage_begin() reports this */
		return 0;
	TRY(stage_lock(&lock, at, e));
	check_again(o, e);
	file_unlock(lock);
	return e->code;
}

int tpat_output_begin(struct tpat_output *out, const char *input, const char *model, bool force, struct arena *a,
                      struct err *e)
{
	struct stage_left left;
	memset(out, 0, sizeof *out);
	out->arena = a;
	out->force = force;
	if (!model)
		model = tpat_output_model(input, a);
	TRY(refuse_kind(model, a, e));
	TRY(refuse_name(model, e));
	TRY(refuse_input(input, model, e));
	tpat_output_names(out, model, a);
	TRY(refuse_special(model, e));
	TRY(refuse_special(out->library, e));
	TRY(refuse_library(out, a, e));
	TRY(tpat_recover(&left, path_dir(a, model), force ? TPAT_RECOVER_FORCE : TPAT_RECOVER, a, e));
	TRY(check_folder(out, e));
	TRY(stage_begin(&out->stage, model, a, e));
	out->made_folder = stage_scratch(&out->stage, "folder");
	return file_mkdir(out->made_folder, e);
}

const char *tpat_portable_name(const char *model, struct arena *a)
{
	return path_join(a, path_dir(a, model), arena_printf(a, "%s_portable.onnx", path_stem(a, model)));
}

int tpat_output_portable(struct tpat_output *o, const char *input, struct arena *a, struct err *e)
{
	o->portable = tpat_portable_name(o->model, a);
	TRY(refuse_input(input, o->portable, e));
	return refuse_special(o->portable, e);
}

const char *tpat_output_split(const struct tpat_output *o, const char *plugin, struct arena *a)
{
	const char *stem = arena_strndup(a, o->library, strlen(o->library) - strlen(".so"));
	return arena_printf(a, "%s_%s.so", stem, str_identifier(a, plugin));
}

const char *tpat_output_library(struct tpat_output *o, const char *place)
{
	vec_push(o->arena, &o->libraries, place);
	return file_absolute(o->arena, stage_add(&o->stage, path_base(place)));
}

int tpat_output_restart(struct tpat_output *o, struct err *e)
{
	vec_each (item, &o->stage.items)
		file_remove_tree(item->made);
	o->stage.items.n = o->libraries.n = 0;
	file_remove_tree(o->made_folder);
	return file_mkdir(o->made_folder, e);
}

static int write_model(struct tpat_output *o, const char *place, struct onnx_model *m, struct err *e)
{
	struct onnx_write_options options = ONNX_WRITE_OPTIONS;
	const char *made = stage_scratch(&o->stage, "model"), *data = arena_printf(o->arena, "%s.data", made);
	const char *name = path_base(place);
	options.place = place;
	TRY(onnx_model_write(m, made, &options, e));
	if (file_exists(data))
		TRY(file_rename(data, stage_add(&o->stage, arena_printf(o->arena, "%s.data", name)), e));
	return file_rename(made, stage_add(&o->stage, name), e);
}

int tpat_output_commit(struct tpat_output *o, struct onnx_model *m, struct err *e)
{
	if (o->libraries.n) {
		TRY(tpat_record_write(o->made_folder, o->arena, e));
		o->stage.check = check_again; /* it may have changed during the build */
		o->stage.user = o;
		TRY(file_rename(o->made_folder, stage_add(&o->stage, path_base(o->folder)), e));
	}
	if (o->portable) {
		TRY(write_model(o, o->portable, m, e));
		graph_drop_functions(m);
	}
	/* The model comes last: until then readers see the old one. */
	TRY(write_model(o, o->model, m, e));
	return stage_commit(&o->stage, e);
}

void tpat_output_abandon(struct tpat_output *o)
{
	stage_abandon(&o->stage);
}
