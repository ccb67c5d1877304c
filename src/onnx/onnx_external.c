/* External data: tensors stored in another file of the model's folder. File names come from the model and are not
 * trusted: they must not lead out of the folder. */
#include "onnx/onnx_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void onnx_tensor_describe(char buffer[ONNX_DESCRIBE], const Onnx__TensorProto *t)
{
	if (*onnx_text(t->name))
		snprintf(buffer, ONNX_DESCRIBE, "tensor \"%s\"", t->name);
	else
		snprintf(buffer, ONNX_DESCRIBE, "a tensor without a name");
}

static const char *entry(const Onnx__TensorProto *t, const char *key)
{
	for (size_t i = 0; i < t->n_external_data; i++)
		if (strcmp(onnx_text(t->external_data[i]->key), key) == 0)
			return onnx_text(t->external_data[i]->value);
	return NULL;
}

const char *onnx_external_location(const Onnx__TensorProto *t)
{
	return onnx_text(entry(t, "location"));
}

/* Reads an entry that is a number of bytes. False if it is present but not a number. */
static bool entry_bytes(uint64_t *out, bool *there, const Onnx__TensorProto *t, const char *key)
{
	const char *text = entry(t, key);
	*out = 0;
	*there = text != NULL;
	if (!text)
		return true;
	if (!*text || strlen(text) > 18)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		*out = *out * 10 + (uint64_t)(*text - '0');
	}
	return true;
}

static bool leaves_folder(const char *location)
{
	if (*location == '/')
		return true;
	for (const char *p = location; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2]))
			return true;
	}
	return false;
}

static int refuse(const char *tensor, const char *location, const char *why, struct err *e)
{
	err_set(e, ERR_MODEL, "%s has its data in \"%s\", which %s.", tensor, location, why);
	return err_advise(
	        e, "Put the data file into the model's folder, and save the model with a plain file name for it.");
}

static int map_file(const struct file_map **out, const char *tensor, const char *location, struct onnx_model *m,
                    struct err *e)
{
	char folder[PATH_MAX], real[PATH_MAX];
	size_t n;
	if ((*out = map_get(&m->external, location)))
		return 0;
	if (!*location)
		return refuse(tensor, location, "is not a file name", e);
	if (leaves_folder(location))
		return refuse(tensor, location, "is not in the model's folder", e);
	if (!m->dir)
		return refuse(tensor, location, "cannot be found because the model was not read from a file", e);
	if (!realpath(m->dir, folder) || !realpath(path_join(m->arena, m->dir, location), real)) {
		if (errno != ENOENT)
			return refuse(tensor, location, strerror(errno), e);
		err_set(e, ERR_MODEL, "%s has its data in \"%s\", which is not there.", tensor, location);
		return err_advise(e, "Put %s into the folder %s, as it was when the model was exported.", location,
		                  m->dir);
	}
	n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	if (strncmp(real, folder, n) != 0 || real[n] != '/') {
		err_set(e, ERR_MODEL,
		        "%s has its data in \"%s\", a symbolic link that leads out of the model's folder.", tensor,
		        location);
		return err_advise(e, "Put a copy of the file itself in the place of the link in %s.", m->dir);
	}
	struct file_map *map = NEW(m->arena, struct file_map);
	TRY(file_map_open(map, real, e));
	map_put(&m->external, location, map);
	*out = map;
	return 0;
}

int onnx_external_data(const unsigned char **out, const Onnx__TensorProto *t, int64_t bytes, struct onnx_model *m,
                       struct err *e)
{
	const struct file_map *file;
	const char *location = onnx_external_location(t);
	char tensor[ONNX_DESCRIBE];
	uint64_t offset, length;
	bool has_offset, has_length;
	onnx_tensor_describe(tensor, t);
	if (!m)
		return refuse(tensor, location, "cannot be found because the tensor was not read from a model", e);
	if (!entry_bytes(&offset, &has_offset, t, "offset") || !entry_bytes(&length, &has_length, t, "length"))
		return err_set(e, ERR_MODEL, "%s has external data whose offset or length is not a number of bytes.",
		               tensor);
	if (has_length && length != (uint64_t)bytes)
		return err_set(e, ERR_MODEL,
		               "%s needs %lld bytes for its type and extents, but its external data has %llu.", tensor,
		               (long long)bytes, (unsigned long long)length);
	TRY(map_file(&file, tensor, location, m, e));
	if (offset > file->size || (uint64_t)bytes > file->size - offset) {
		err_set(e, ERR_MODEL, "%s has %lld bytes at offset %llu of \"%s\", which ends at %zu.", tensor,
		        (long long)bytes, (unsigned long long)offset, location, file->size);
		return err_advise(e, "The data file is cut off, or belongs to another model: copy it again.");
	}
	*out = file->size ? file->data + offset : (const unsigned char *)"";
	return 0;
}
