/* Hashes of a .tpat folder's files as tpat made them, in its tpat.json, so that a later build does not lose edits. */
#include "lib/tpat_inside.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"

enum { MOST_NAMED = 8 };

/* Lists all files below the folder, by relative path. */
static void walk(struct tpat_texts *out, const char *folder, const char *below, struct arena *a)
{
	DIR *d = opendir(*below ? path_join(a, folder, below) : folder);
	struct stat st;
	for (struct dirent *entry; d && (entry = readdir(d));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		const char *name = *below ? path_join(a, below, entry->d_name) : arena_strdup(a, entry->d_name);
		if (lstat(path_join(a, folder, name), &st) == 0 && S_ISDIR(st.st_mode))
			walk(out, folder, name, a);
		else
			vec_push(a, out, name);
	}
	if (d)
		closedir(d);
}

static void list_files(struct tpat_texts *out, const char *folder, struct arena *a)
{
	*out = (struct tpat_texts){ 0 };
	walk(out, folder, "", a);
	vec_sort_texts(out->at, out->n);
}

/* Returns the hash as text; "" if the file is unreadable, or not a regular one. */
static const char *hash_of(const char *folder, const char *name, struct arena *a)
{
	const char *path = path_join(a, folder, name);
	struct err none = { 0 };
	struct file_map m;
	struct stat st;
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || file_map_open(&m, path, &none) < 0)
		return "";
	uint64_t hash = hash_bytes(0, m.data ? (const void *)m.data : "", m.size);
	file_map_close(&m);
	return arena_printf(a, "%016" PRIx64, hash);
}

int tpat_record_write(const char *folder, struct arena *a, struct err *e)
{
	const char *path = path_join(a, folder, "tpat.json");
	struct tpat_texts files;
	struct str text = str_new(a);
	bool first = true;
	char *json;
	size_t n;
	TRY(file_read(&json, &n, path, a, e));
	while (n && json[n - 1] != '}') /* the end of the existing text */
		n--;
	while (n > 1 && (json[n - 2] == '\n' || json[n - 2] == ' '))
		n--;
	list_files(&files, folder, a);
	str_addn(&text, json, n ? n - 1 : 0);
	str_add(&text, ",\n  \"files\": {");
	vec_each (name, &files) {
		if (strcmp(*name, "tpat.json") == 0)
			continue;
		str_printf(&text, "%s\n   \"%s\": \"%s\"", first ? "" : ",", *name, hash_of(folder, *name, a));
		first = false;
	}
	str_add(&text, "\n  }\n}\n");
	return file_make(path, str_text(&text), text.n, e);
}

int tpat_record_read(const struct json **out, const char *folder, struct arena *a, struct err *e)
{
	const char *path = path_join(a, folder, "tpat.json");
	char *text;
	size_t n;
	if (!file_exists(path)) {
		err_set(e, ERR_USAGE, "%s is not a folder that tpat made: it has no tpat.json.", folder);
		return err_advise(e, "tpat build writes one next to the rewritten model: NAME.tpat.");
	}
	TRY(file_read(&text, &n, path, a, e));
	*out = json_read(text, n, a);
	return *out ? 0 : err_set(e, ERR_MODEL, "%s is not JSON.", path);
}

/* ---- Checking. */

/* True for compiled files: the kernels' code that tpat made, and the libraries that `make` links. */
static bool is_derived(const char *name, bool recorded)
{
	const char *base = path_base(name), *code = base - strlen("code/");
	if (recorded)
		return code >= name && str_starts(code, "code/") && (code == name || code[-1] == '/');
	return str_starts(base, "libtpat_") && (str_ends(base, ".so") || str_ends(base, ".dll"));
}

static void compare(struct tpat_texts *out, const struct json *files, const char *folder, struct arena *a)
{
	struct tpat_texts now;
	struct map recorded = map_new(a);
	for (const struct json *f = files->child; f; f = f->next)
		map_put(&recorded, f->name, f->text);
	list_files(&now, folder, a);
	vec_each (name, &now) {
		const char *was = map_get(&recorded, *name);
		const char *what = !was ? "new" : strcmp(was, hash_of(folder, *name, a)) != 0 ? "edited" : NULL;
		if (!what || strcmp(*name, "tpat.json") == 0 || is_derived(*name, was != NULL))
			continue;
		vec_push(a, out, arena_printf(a, "%s (%s)", str_printable(a, *name), what));
	}
}

int tpat_record_changes(struct tpat_texts *out, bool *recorded, const char *folder, struct arena *a, struct err *e)
{
	char *text;
	size_t n;
	*out = (struct tpat_texts){ 0 };
	TRY(file_read(&text, &n, path_join(a, folder, "tpat.json"), a, e));
	const struct json *files = json_member(json_read(text, n, a), "files");
	*recorded = files && files->kind == JSON_IS_OBJECT;
	if (*recorded)
		compare(out, files, folder, a);
	return 0;
}

int tpat_record_check(const char *folder, bool force, struct arena *a, struct err *e)
{
	struct tpat_texts changes;
	struct str list = str_new(a);
	bool recorded;
	if (!file_exists(folder))
		return 0;
	if (!file_is_folder(folder) || !file_exists(path_join(a, folder, "tpat.json"))) {
		err_set(e, ERR_USAGE, "%s exists and was not made by tpat; it is not replaced.", folder);
		return err_advise(e, "Move it away, or give the output another name: -o NAME.");
	}
	if (force)
		return 0;
	TRY(tpat_record_changes(&changes, &recorded, folder, a, e));
	if (!recorded) {
		err_set(e, ERR_USAGE, "%s has no record of its files as tpat wrote them, so they may have been edited.",
		        folder);
		return err_advise(e,
		                  "Move it away, give the output another name (-o NAME), or replace it with --force.");
	}
	for (int i = 0; i < changes.n && i < MOST_NAMED; i++)
		str_printf(&list, "%s%s", i ? ", " : "", changes.at[i]);
	if (changes.n > MOST_NAMED)
		str_printf(&list, " and %d more", changes.n - MOST_NAMED);
	if (!changes.n)
		return 0;
	err_set(e, ERR_USAGE, "%s contains edits that a new build would delete: %s.", folder, str_text(&list));
	return err_advise(e, "To keep them, run tpat rebuild %s or build elsewhere with -o NAME; --force deletes them.",
	                  str_shell_path(a, folder));
}

/* ---- Leftovers of interrupted builds. */

struct recovery {
	const char *folder;
	struct arena *arena;
};

static int may_replace(void *user, const char *place, struct err *e)
{
	const struct recovery *r = user;
	struct err why = { 0 };
	if (tpat_record_check(place, false, r->arena, &why) == 0)
		return 0;
	err_set(e, ERR_USAGE, "An interrupted build has not installed its results yet, and %s", why.text);
	return err_advise(e, "tpat doctor %s --undo drops its results; --force installs them and deletes those edits.",
	                  str_shell_path(r->arena, r->folder));
}

int tpat_recover(struct stage_left *out, const char *folder, enum tpat_recovery how, struct arena *a, struct err *e)
{
	struct recovery user = { folder, a };
	const struct stage_recovery r = { .look = how == TPAT_RECOVER_LOOK,
		                          .undo = how == TPAT_RECOVER_UNDO,
		                          .may_replace = how == TPAT_RECOVER ? may_replace : NULL,
		                          .user = &user };
	return stage_recover(out, folder, &r, a, e);
}

int tpat_record_engine(const struct engine **out, const struct json *record, const char *folder, struct err *e)
{
	const char *name = json_member_text(record, "engine");
	*out = engine_find(name);
	if (*out)
		return 0;
	err_set(e, ERR_UNSUPPORTED, "%s: is for the engine %s, which this tpat does not know.", folder, name);
	return err_advise(e, "Use the tpat that made it (%s).", json_member_text(record, "generator"));
}
