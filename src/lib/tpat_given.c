/* Tensors from the user's files: TENSOR=FILE.npy, .npz or .pb. */
#include "lib/tpat_inside.h"

#include <string.h>

#include "tensor/npy.h"

int tpat_tensor_read(struct tensor *out, const char *name, const char *path, struct arena *a, struct err *e)
{
	struct npz_entry *entry;
	int n;
	if (str_ends(path, ".pb"))
		return onnx_tensor_read_file(out, NULL, path, a, e);
	if (!str_ends(path, ".npz"))
		return npy_read(out, path, TYPE_NONE, a, e);
	TRY(npz_read(&entry, &n, path, a, e));
	for (int i = 0; i < n; i++)
		if (n == 1 || strcmp(entry[i].name, name) == 0) {
			*out = entry[i].tensor;
			return 0;
		}
	return err_set(e, ERR_MODEL, "%s has no array %s.", path, name);
}

int tpat_given_read(struct tpat_given *out, const struct tpat_strings *text, struct arena *a, struct err *e)
{
	for (int i = 0; i < text->n; i++) {
		const char *one = text->at[i], *equal = strchr(one, '=');
		struct tpat_given_tensor t = { 0 };
		if (!equal || equal == one) {
			err_set(e, ERR_USAGE, "\"%s\" names no tensor and file.", one);
			return err_advise(e, "Write it as --input TENSOR=FILE.npy (or .npz, .pb).");
		}
		t.name = arena_strndup(a, one, (size_t)(equal - one));
		int rc = tpat_tensor_read(&t.tensor, t.name, equal + 1, a, e);
		if (rc < 0 && strchr(equal + 1, ',') && strchr(equal + 1, '=')) /* "a=a.npy,b=b.npy" */
			return err_advise(e, "Give --input once for each tensor.");
		TRY(rc);
		vec_push(a, out, t);
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
