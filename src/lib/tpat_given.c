/* Tensors from the user's files: TENSOR=FILE.npy, .npz or .pb. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "base/file.h"
#include "tensor/npy.h"

/* Reads the array `name` of a .npz file, or its only one; without a name all of them. */
static int read_npz(struct tpat_given *out, const char *name, const char *path, struct arena *a, struct err *e)
{
	struct npz_entry *entry;
	int n, before = out->n;
	TRY(npz_read(&entry, &n, path, a, e));
	for (int i = 0; i < n; i++) {
		struct tpat_given_tensor t = { .tensor = entry[i].tensor, .raw = entry[i].raw };
		t.name = name ? name : entry[i].name;
		if (!name || n == 1 || strcmp(entry[i].name, name) == 0)
			vec_push(a, out, t);
	}
	if (out->n > before)
		return 0;
	return name ? err_set(e, ERR_MODEL, "%s has no array %s.", path, name)
	            : err_set(e, ERR_MODEL, "%s has no arrays.", path);
}

/* Elements of a type that NumPy cannot name stay raw. */
static int read_npy(struct tpat_given_tensor *out, const char *path, struct arena *a, struct err *e)
{
	struct file_map m;
	TRY(file_map_open(&m, path, e));
	int rc = npy_decode(&out->tensor, &out->raw, path, m.data, m.size, TYPE_NONE, a, e);
	file_map_close(&m);
	return rc;
}

static int read_file(struct tpat_given *out, const char *name, const char *path, struct arena *a, struct err *e)
{
	struct tpat_given_tensor t = { .name = name };
	if (str_ends(path, ".npz"))
		return read_npz(out, name, path, a, e);
	TRY(str_ends(path, ".pb") ? onnx_tensor_read_file(&t.tensor, NULL, path, a, e) : read_npy(&t, path, a, e));
	vec_push(a, out, t);
	return 0;
}

int tpat_tensor_read(struct tensor *out, const char *path, struct arena *a, struct err *e)
{
	struct tpat_given one = { 0 };
	TRY(read_file(&one, "", path, a, e));
	*out = one.at[0].tensor;
	if (!one.at[0].raw)
		return 0;
	err_set(e, ERR_MODEL, "%s: holds void elements, whose type the file does not name.", path);
	return err_advise(e, "Save the array as float32.");
}

/* The '=' between a tensor's name and a path. Both may have one: the first with a file's path after it. */
static const char *divider(const char *text)
{
	const char *first = strchr(text, '=');
	for (const char *p = first; p; p = strchr(p + 1, '='))
		if (p > text && file_exists(p + 1))
			return p;
	return first;
}

static int read_one(struct tpat_given *out, const char *text, const char *only, struct arena *a, struct err *e)
{
	const char *equal = file_exists(text) ? NULL : divider(text);
	if (equal > text)
		return read_file(out, arena_strndup(a, text, (size_t)(equal - text)), equal + 1, a, e);
	bool archive = str_ends(text, ".npz"), file = archive || str_ends(text, ".npy") || str_ends(text, ".pb");
	if (!equal && file && (archive || only))
		return read_file(out, archive ? NULL : only, text, a, e);
	if (!equal && file)
		err_set(e, ERR_USAGE, "\"%s\" does not say which tensor it is.", text);
	else
		err_set(e, ERR_USAGE, "\"%s\" names no tensor and file.", text);
	return err_advise(e, "Write it as --input TENSOR=FILE.npy (or .npz, .pb).");
}

int tpat_given_read(struct tpat_given *out, const struct tpat_strings *text, const char *only, struct arena *a,
                    struct err *e)
{
	for (int i = 0; i < text->n; i++) {
		const char *equal = strchr(text->at[i], '='), *comma = strchr(text->at[i], ',');
		int rc = read_one(out, text->at[i], only, a, e);
		if (rc < 0 && equal && comma && strchr(comma, '=')) /* "a=a.npy,b=b.npy" */
			return err_advise(e, "Give --input once for each tensor.");
		TRY(rc);
	}
	return 0;
}

int tpat_given_type(struct tpat_given *given, const char *name, enum type type, struct arena *a, struct err *e)
{
	vec_each (t, given)
		if (t->raw && strcmp(t->name, name) == 0) {
			TRY(npy_retype(&t->tensor, type, name, a, e));
			t->raw = false;
		}
	return 0;
}

const struct tensor *tpat_given_find(struct tpat_given *given, const char *name)
{
	const struct tensor *found = NULL;
	vec_each (t, given)
		if (strcmp(t->name, name) == 0) {
			found = &t->tensor;
			t->used = true;
		}
	return found;
}

const char *tpat_given_unused(const struct tpat_given *given)
{
	vec_each (t, given)
		if (!t->used)
			return t->name;
	return NULL;
}
