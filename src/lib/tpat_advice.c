/* Advice for an input file that cannot be opened: what the user may have meant. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"

/* Keeps the names that are close without their ending, too: a common ending does not make "log.txt" close to "no.txt".
 */
static const char **alike(const char **list, const char *name, struct arena *a)
{
	int n = 0;
	for (int i = 0; list[i]; i++) {
		const char *dot = strrchr(name, '.'), *its = strrchr(list[i], '.');
		const char *one[] = { NULL, NULL };
		if (dot && its && strcmp(dot, its) == 0)
			one[0] = arena_strndup(a, list[i], (size_t)(its - list[i]));
		if (!one[0] || str_closest(arena_strndup(a, name, (size_t)(dot - name)), one))
			list[n++] = list[i];
	}
	list[n] = NULL;
	return list;
}

/* Returns the closest name in the folder, or null. A forgotten extension ("net" for "net.onnx") comes first. */
static const char *closest_file(const char *folder, const char *name, struct arena *a)
{
	int n;
	const char **list = file_list(&n, folder, a), **visible = NEWN(a, const char *, n + 1);
	size_t length = strlen(name);
	int count = 0;
	for (int i = 0; i < n; i++) {
		if (length && str_starts(list[i], name) && list[i][length] == '.' &&
		    !file_is_folder(path_join(a, folder, list[i])))
			return list[i];
		if (*list[i] != '.')
			visible[count++] = list[i];
	}
	return str_closest(name, alike(visible, name, a));
}

static int advise_missing(const char *path, struct arena *a, struct err *e)
{
	const char *folder = path_dir(a, path), *name;
	if (!file_is_folder(folder))
		return err_advise(e, "There is no folder %s.", folder);
	name = closest_file(folder, path_base(path), a);
	return name ? err_advise(e, "Did you mean \"%s\"?", strchr(path, '/') ? path_join(a, folder, name) : name)
	            : e->code;
}

/* A build's folder leads to its model and library, another one to a model in it. */
static int advise_folder(const char *path, struct arena *a, struct err *e)
{
	struct tpat_output o = { 0 };
	int n;
	path = path_trimmed(a, path);
	if (file_exists(path_join(a, path, "saved_model.pb")))
		return err_advise(e,
		                  "This is a TensorFlow SavedModel: python3 -m tf2onnx.convert --saved-model %s "
		                  "--output model.onnx converts it.",
		                  str_shell_path(a, path));
	if (str_ends(path, ".tpat")) {
		tpat_output_names(&o, arena_printf(a, "%.*s.onnx", (int)strlen(path) - 5, path), a);
		if (file_exists(o.model))
			return err_advise(e, "It belongs to the model %s and the library %s: give one of these.",
			                  o.model, o.library);
	}
	const char **list = file_list(&n, path, a);
	for (int i = 0; i < n; i++)
		if (str_ends(list[i], ".onnx"))
			return err_advise(e, "Name a file in it, such as %s.", path_join(a, path, list[i]));
	return err_advise(e, "Name a file in it.");
}

void tpat_advise_file(struct err *e, struct arena *a)
{
	const char *path = e->about[ERR_FILE];
	if (e->code != ERR_MODEL || !*path || *e->advice)
		return;
	if (file_is_folder(path))
		advise_folder(path, a, e);
	else if (file_is_special(path) || strcmp(path, "-") == 0)
		err_advise(e,
		           "tpat does not read pipes or standard input: save the data in a file, and name the file.");
	else if (!file_exists(path))
		advise_missing(path, a, e);
}
