/* Writing a model: one file, or a file and "<file>.data" with the tensors' bytes. See onnx_model_write.
 *
 * A tensor in the data file is changed in place while writing and restored afterwards. */
#include "onnx/onnx_internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"

enum { ALIGN = 4096 }; /* a page: readers map the data file */

struct moved {
	Onnx__TensorProto *tensor, saved;
};

struct writer {
	struct onnx_model *model;
	const struct onnx_write_options *options;
	struct arena *scratch;
	const char *data_name, *data_path; /* of the data file: its name in the model, and the path it is written to */
	bool move_external;                /* copy existing external data */
	bool has_data;                     /* `data` is open */
	uint64_t position;                 /* bytes in the data file */
	struct file_out data;
	struct {
		VEC(struct moved);
	} moved;
	struct err *e;
};

/* ------------------------------------------------------------------ where external data is now */

struct survey {
	const char *data_name;
	bool any, same_name;
};

static const char *plain(const char *location)
{
	while (str_starts(location, "./"))
		location += 2;
	return location;
}

static int survey_tensor(void *arg, ProtobufCMessage *message)
{
	struct survey *s = arg;
	const Onnx__TensorProto *t = (const Onnx__TensorProto *)message;
	if (onnx_tensor_is_external(t)) {
		s->any = true;
		s->same_name |= strcmp(plain(onnx_external_location(t)), s->data_name) == 0;
	}
	return 0;
}

static bool same_folder(const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX];
	return a && b && realpath(a, x) && realpath(b, y) && strcmp(x, y) == 0;
}

/* ------------------------------------------------------------------ one tensor into the data file */

static Onnx__StringStringEntryProto *entry(struct writer *w, const char *key, const char *value)
{
	Onnx__StringStringEntryProto *x = NEW(w->scratch, Onnx__StringStringEntryProto);
	onnx__string_string_entry_proto__init(x);
	x->key = drop_const(key);
	x->value = drop_const(value);
	return x;
}

static void refer(struct writer *w, Onnx__TensorProto *t, uint64_t offset, uint64_t length)
{
	Onnx__StringStringEntryProto **list = NEWN(w->scratch, Onnx__StringStringEntryProto *, t->n_external_data + 3);
	size_t n = 0;
	list[n++] = entry(w, "location", w->data_name);
	list[n++] = entry(w, "offset", arena_printf(w->scratch, "%llu", (unsigned long long)offset));
	list[n++] = entry(w, "length", arena_printf(w->scratch, "%llu", (unsigned long long)length));
	for (size_t i = 0; i < t->n_external_data; i++) { /* a checksum of the bytes stays valid */
		const char *key = onnx_text(t->external_data[i]->key);
		if (strcmp(key, "location") != 0 && strcmp(key, "offset") != 0 && strcmp(key, "length") != 0)
			list[n++] = t->external_data[i];
	}
	t->external_data = list;
	t->n_external_data = n;
	t->has_data_location = 1;
	t->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	t->has_raw_data = 0;
	t->n_float_data = t->n_int32_data = t->n_int64_data = t->n_double_data = t->n_uint64_data = 0;
}

static int put_data(struct writer *w, uint64_t *offset, const void *data, size_t size)
{
	static const char zeros[ALIGN];
	size_t gap = (size_t)(-w->position % ALIGN);
	if (!w->has_data)
		TRY(file_out_begin(&w->data, w->data_path, w->e));
	w->has_data = true;
	if (gap)
		TRY(file_out_put(&w->data, zeros, gap, w->e));
	*offset = w->position + gap;
	w->position = *offset + size;
	return size ? file_out_put(&w->data, data, size, w->e) : 0;
}

static int move(struct writer *w, Onnx__TensorProto *t)
{
	struct arena *once = arena_new();
	struct moved saved = { t, *t };
	struct tensor x;
	uint64_t offset;
	int rc = onnx_tensor_load(&x, t, w->model, once, w->e);
	if (rc == 0)
		rc = put_data(w, &offset, x.data, (size_t)tensor_bytes(&x));
	if (rc == 0) {
		vec_push(w->scratch, &w->moved, saved);
		refer(w, t, offset, (uint64_t)tensor_bytes(&x));
	}
	arena_free(once);
	return rc;
}

/* ------------------------------------------------------------------ which tensors */

static int move_external(void *arg, ProtobufCMessage *message)
{
	Onnx__TensorProto *t = (Onnx__TensorProto *)message;
	return onnx_tensor_is_external(t) ? move(arg, t) : 0;
}

static int move_if_big(void *arg, ProtobufCMessage *message)
{
	struct writer *w = arg;
	Onnx__TensorProto *t = (Onnx__TensorProto *)message;
	struct err ignored = { 0 };
	int64_t bytes, count;
	if (onnx_tensor_is_external(t) || t->data_type == TYPE_STRING ||
	    onnx_tensor_size(&bytes, &count, t, &ignored) < 0 || (uint64_t)bytes < w->options->external_threshold)
		return 0;
	return move(w, t);
}

static int move_initializers(void *arg, ProtobufCMessage *message)
{
	const Onnx__GraphProto *g = (const Onnx__GraphProto *)message;
	for (size_t i = 0; i < g->n_initializer; i++)
		TRY(move_if_big(arg, &g->initializer[i]->base));
	return 0;
}

static int move_tensors(struct writer *w)
{
	ProtobufCMessage *root = &w->model->proto->base;
	const uint64_t limit = w->options->inline_limit;
	if (w->move_external)
		TRY(onnx_visit(root, &onnx__tensor_proto__descriptor, move_external, w));
	if (w->options->external || protobuf_c_message_get_packed_size(root) > limit)
		TRY(onnx_visit(root, &onnx__graph_proto__descriptor, move_initializers, w));
	/* Keep constants in attributes inline if possible: not every reader supports external ones. */
	if (protobuf_c_message_get_packed_size(root) > limit)
		TRY(onnx_visit(root, &onnx__tensor_proto__descriptor, move_if_big, w));
	if (protobuf_c_message_get_packed_size(root) <= limit)
		return 0;
	err_set(w->e, ERR_MODEL, "%s: the model is larger than %llu bytes even without its tensors' data.",
	        w->model->path, (unsigned long long)limit);
	return err_advise(w->e, "No reader takes such a file; split the model, or store its weights as raw data.");
}

static int write_files(struct writer *w, const char *path)
{
	struct file_out f = { .fd = -1 };
	TRY(move_tensors(w));
	TRY(file_out_begin(&f, path, w->e));
	int rc = onnx_wire_write(&f, &w->model->proto->base, w->e);
	if (rc == 0 && w->has_data)
		rc = file_out_commit(&w->data, w->e);
	if (rc == 0)
		rc = file_out_commit(&f, w->e);
	file_out_abandon(&f);
	return rc;
}

/* True if the new data file would replace the one used by the model's own file, which stays. */
static bool replaces_own(const struct onnx_model *m, const char *place, struct arena *a)
{
	return same_folder(m->dir, path_dir(a, place)) && !file_same(m->path, place);
}

static int refuse_own(const struct onnx_model *m, const char *data, struct err *e)
{
	err_set(e, ERR_USAGE, "%s has its data in %s, which writing the new model's data would replace.", m->path,
	        data);
	return err_advise(e, "Give the output another name.");
}

int onnx_model_write(struct onnx_model *m, const char *path, const struct onnx_write_options *options, struct err *e)
{
	const struct onnx_write_options defaults = ONNX_WRITE_OPTIONS;
	struct writer w = { .model = m, .options = options ? options : &defaults, .scratch = arena_new(), .e = e };
	struct survey s = { 0 };
	int rc;
	w.data.fd = -1;
	const char *place = w.options->place ? w.options->place : path;
	w.data_name = arena_printf(w.scratch, "%s.data", path_base(place));
	w.data_path = arena_printf(w.scratch, "%s.data", path);
	s.data_name = w.data_name;
	ck(w.options->version == ONNX_WRITE_VERSION);
	onnx_visit(&m->proto->base, &onnx__tensor_proto__descriptor, survey_tensor, &s);
	/* The new data file must not overwrite a file that the model uses: copy that one's data instead. */
	w.move_external = s.any && !same_folder(m->dir, path_dir(w.scratch, place));
	if (s.same_name &&
	    (w.options->external || protobuf_c_message_get_packed_size(&m->proto->base) > w.options->inline_limit))
		w.move_external = true;
	rc = s.same_name && w.move_external && replaces_own(m, place, w.scratch) ? refuse_own(m, w.data_name, e)
	                                                                         : write_files(&w, path);
	for (int i = w.moved.n - 1; i >= 0; i--)
		*w.moved.at[i].tensor = w.moved.at[i].saved;
	file_out_abandon(&w.data);
	arena_free(w.scratch);
	return rc;
}
