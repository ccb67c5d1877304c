/* Names and places of what a build gives. Everything is made in one temporary folder beside its place; putting it there
 * is a few renames at the end, so that a failure or an interrupt leaves what was there before. */
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

/* Putting a result in place is a rename, which would remove a device's name for good. */
static int refuse_special(const char *path, struct err *e)
{
	if (!file_is_special(path))
		return 0;
	err_set(e, ERR_USAGE, "The output %s is a device, pipe or socket; it is not replaced.", path);
	return err_advise(e, "Give the output the name of a file: -o NAME.onnx.");
}

/* A folder of that name that tpat did not make is not replaced. */
static int refuse_foreign(const char *folder, struct arena *a, struct err *e)
{
	if (!file_exists(folder) || file_exists(path_join(a, folder, "tpat.json")))
		return 0;
	err_set(e, ERR_USAGE, "%s exists and was not made by tpat; it is not replaced.", folder);
	return err_advise(e, "Move it away, or give the output another name: -o NAME.");
}

void tpat_output_names(struct tpat_output *out, const char *model, struct arena *a)
{
	const char *dir = path_dir(a, model), *stem = path_stem(a, model);
	/* ocr_tpat.onnx: libtpat_ocr.so, ocr_tpat.tpat */
	const char *base =
	        str_ends(stem, "_tpat") && strlen(stem) > 5 ? arena_strndup(a, stem, strlen(stem) - 5) : stem;
	out->model = model;
	out->library = path_join(a, dir, arena_printf(a, "libtpat_%s.so", base));
	out->folder = path_join(a, dir, arena_printf(a, "%s.tpat", stem));
}

int tpat_output_begin(struct tpat_output *out, const char *input, const char *model, struct arena *a, struct err *e)
{
	memset(out, 0, sizeof *out);
	if (!model)
		model = path_join(a, path_dir(a, input), arena_printf(a, "%s_tpat.onnx", path_stem(a, input)));
	if (!*path_base(model) || file_is_folder(model)) {
		err_set(e, ERR_USAGE, *model ? "The output %s is a folder." : "The output has no name.", model);
		return err_advise(e, "Give the output the name of a file: -o NAME.onnx.");
	}
	TRY(refuse_input(input, model, e));
	tpat_output_names(out, model, a);
	TRY(refuse_special(model, e));
	TRY(refuse_special(out->library, e));
	TRY(refuse_foreign(out->folder, a, e));
	char *temporary;
	TRY(file_temp_beside(&temporary, model, a, e));
	out->temporary = temporary;
	out->temporary_folder = path_join(a, temporary, "folder");
	out->replaced_folder = path_join(a, temporary, "replaced");
	return file_mkdir(out->temporary_folder, e);
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

const char *tpat_output_library(struct tpat_output *o, const char *place, struct arena *a)
{
	const char *made = path_join(a, o->temporary, path_base(place));
	vec_push(a, &o->libraries, place);
	vec_push(a, &o->made, made);
	return file_absolute(a, made);
}

int tpat_output_commit(struct tpat_output *o, struct err *e)
{
	for (int i = 0; i < o->libraries.n; i++)
		TRY(file_rename(o->made.at[i], o->libraries.at[i], e));
	if (file_exists(o->folder))
		TRY(file_rename(o->folder, o->replaced_folder, e));
	TRY(file_rename(o->temporary_folder, o->folder, e));
	return 0;
}

void tpat_output_abandon(struct tpat_output *o)
{
	if (o->temporary)
		file_remove_tree(o->temporary);
	o->temporary = NULL;
}
