/* Tensors: TensorProto decoded into struct tensor and made from it; files of one TensorProto. */
#include "onnx/onnx_internal.h"

#include <string.h>

#include "base/foreign.h"

int onnx_tensor_count(int64_t *count, const Onnx__TensorProto *t, struct err *e)
{
	char who[ONNX_DESCRIBE];
	int64_t n = 1;
	bool empty = false;
	onnx_tensor_describe(who, t);
	for (size_t i = 0; i < t->n_dims; i++) {
		if (t->dims[i] < 0)
			return err_set(e, ERR_MODEL, "%s has the negative extent %lld.", who, (long long)t->dims[i]);
		empty |= t->dims[i] == 0;
	}
	for (size_t i = 0; i < t->n_dims && !empty; i++)
		if (__builtin_mul_overflow(n, t->dims[i], &n))
			return err_set(e, ERR_MODEL, "%s has extents whose product is beyond 64 bits.", who);
	*count = empty ? 0 : n;
	return 0;
}

int onnx_tensor_size(int64_t *bytes, int64_t *count, const Onnx__TensorProto *t, struct err *e)
{
	char who[ONNX_DESCRIBE];
	enum type type = onnx_elem_type(t->data_type);
	onnx_tensor_describe(who, t);
	if (!t->has_data_type || t->data_type <= 0)
		return err_set(e, ERR_MODEL, "%s has no element type.", who);
	if (type == TYPE_NONE)
		return err_set(e, ERR_UNSUPPORTED, "%s has element type %d, which tpat does not have.", who,
		               (int)t->data_type);
	TRY(onnx_tensor_count(count, t, e));
	*bytes = type == TYPE_STRING ? 0 : type_bytes(type, *count);
	if (*bytes < 0)
		return err_set(e, ERR_MODEL, "%s has more bytes than 64 bits can count.", who);
	return 0;
}

/* The typed field that holds a type's elements, and its number of entries. */
struct typed {
	const char *field;
	const void *data;
	size_t n;     /* entries in the message */
	int64_t want; /* entries required by the extents */
	size_t size;  /* bytes of an entry */
};

static struct typed typed_field(const Onnx__TensorProto *t, enum type type, int64_t count)
{
	int bits = type_info(type)->bits;
	switch (type) {
	case TYPE_F32: return (struct typed){ "float_data", t->float_data, t->n_float_data, count, 4 };
	case TYPE_C64: return (struct typed){ "float_data", t->float_data, t->n_float_data, 2 * count, 4 };
	case TYPE_F64: return (struct typed){ "double_data", t->double_data, t->n_double_data, count, 8 };
	case TYPE_C128: return (struct typed){ "double_data", t->double_data, t->n_double_data, 2 * count, 8 };
	case TYPE_I64: return (struct typed){ "int64_data", t->int64_data, t->n_int64_data, count, 8 };
	case TYPE_U32:
	case TYPE_U64: return (struct typed){ "uint64_data", t->uint64_data, t->n_uint64_data, count, 8 };
	default: break;
	}
	/* Each entry is one element; for types below 8 bits, one byte of packed elements. */
	int each = bits < 8 ? 8 / bits : 1;
	return (struct typed){ "int32_data", t->int32_data, t->n_int32_data, count / each + (count % each != 0), 4 };
}

static void unpack_entries(void *to, const struct typed *from, enum type type, int64_t bytes)
{
	size_t width = bytes && from->want ? (size_t)(bytes / from->want) : 0;
	if (type == TYPE_BOOL)
		for (int64_t i = 0; i < from->want; i++)
			((uint8_t *)to)[i] = ((const int32_t *)from->data)[i] != 0;
	else if (width == from->size)
		memcpy(to, from->data, (size_t)bytes);
	else /* the low bytes of each entry; hosts are little-endian, like the format */
		for (int64_t i = 0; i < from->want; i++)
			memcpy((char *)to + (size_t)i * width, (const char *)from->data + (size_t)i * from->size,
			       width);
}

static int load_strings(struct tensor *out, const Onnx__TensorProto *t, int64_t count, struct arena *a, struct err *e)
{
	char who[ONNX_DESCRIBE];
	onnx_tensor_describe(who, t);
	if ((int64_t)t->n_string_data != count)
		return err_set(e, ERR_MODEL, "%s has %lld elements by its extents, but string_data has %zu.", who,
		               (long long)count, t->n_string_data);
	out->strings = NEWN(a, const char *, count);
	for (int64_t i = 0; i < count; i++) {
		const ProtobufCBinaryData *s = &t->string_data[i];
		if (s->len && memchr(s->data, 0, s->len))
			return err_set(e, ERR_UNSUPPORTED, "%s has a string with a NUL inside (element %lld).", who,
			               (long long)i);
		out->strings[i] = arena_strndup(a, s->len ? (const char *)s->data : "", s->len);
	}
	return 0;
}

static int load(struct tensor *out, const Onnx__TensorProto *t, struct onnx_model *m, struct arena *a, struct err *e)
{
	char who[ONNX_DESCRIBE];
	const unsigned char *raw = NULL;
	int64_t bytes, count;
	*out = (struct tensor){ .type = onnx_elem_type(t->data_type), .rank = (int)t->n_dims };
	onnx_tensor_describe(who, t);
	TRY(onnx_tensor_size(&bytes, &count, t, e));
	if (t->n_dims > TENSOR_MAX_RANK)
		return err_set(e, ERR_UNSUPPORTED, "%s has %zu dimensions; tpat takes %d at most.", who, t->n_dims,
		               TENSOR_MAX_RANK);
	if (t->segment)
		return err_set(e, ERR_UNSUPPORTED, "%s is stored in segments.", who);
	for (int i = 0; i < out->rank; i++)
		out->dim[i] = t->dims[i];
	if (out->type == TYPE_STRING)
		return load_strings(out, t, count, a, e);
	if (onnx_tensor_is_external(t)) {
		TRY(onnx_external_data(&raw, t, bytes, m, e));
	} else if (t->has_raw_data && (t->raw_data.len || !bytes)) {
		raw = t->raw_data.data;
		if (t->raw_data.len != (size_t)bytes)
			return err_set(e, ERR_MODEL,
			               "%s needs %lld bytes for its type and extents, but raw_data has %zu.", who,
			               (long long)bytes, t->raw_data.len);
	} else {
		struct typed from = typed_field(t, out->type, count);
		if (from.n != (size_t)from.want)
			return err_set(e, ERR_MODEL, "%s needs %lld entries for its type and extents, but %s has %zu.",
			               who, (long long)from.want, from.field, from.n);
		out->data = arena_alloc(a, (size_t)bytes);
		unpack_entries(out->data, &from, out->type, bytes);
		return 0;
	}
	int width = type_info(out->type)->bits / 8;
	if (out->type == TYPE_C64 || out->type == TYPE_C128)
		width /= 2;
	if (bytes && (width <= 1 || (uintptr_t)raw % (unsigned)width == 0)) {
		out->data = drop_const(raw); /* of the mapped file: a model's tensors are only read */
		return 0;
	}
	out->data = arena_alloc(a, (size_t)bytes);
	if (bytes)
		memcpy(out->data, raw, (size_t)bytes);
	return 0;
}

int onnx_tensor_load(struct tensor *out, const Onnx__TensorProto *proto, struct onnx_model *model, struct arena *a,
                     struct err *e)
{
	int rc = load(out, proto, model, a, e);
	err_about(e, ERR_TENSOR, onnx_text(proto->name));
	return rc < 0 && model ? err_where(e, "%s: ", model->path) : rc;
}

Onnx__TensorProto *onnx_tensor_store(const struct tensor *t, const char *name, struct arena *a)
{
	Onnx__TensorProto *p = NEW(a, Onnx__TensorProto);
	int64_t count = tensor_count(t);
	onnx__tensor_proto__init(p);
	ck(count >= 0 && t->type > TYPE_NONE && t->type < TYPE_COUNT);
	p->name = name ? arena_strdup(a, name) : NULL;
	p->has_data_type = 1;
	p->data_type = (int32_t)t->type;
	p->n_dims = (size_t)t->rank;
	p->dims = NEWN(a, int64_t, t->rank);
	for (int i = 0; i < t->rank; i++)
		p->dims[i] = t->dim[i];
	if (t->type == TYPE_STRING) {
		p->n_string_data = (size_t)count;
		p->string_data = NEWN(a, ProtobufCBinaryData, count);
		for (int64_t i = 0; i < count; i++) {
			p->string_data[i].len = strlen(t->strings[i]);
			p->string_data[i].data = (uint8_t *)arena_strdup(a, t->strings[i]);
		}
	} else {
		p->has_raw_data = 1;
		p->raw_data.len = (size_t)tensor_bytes(t);
		p->raw_data.data = arena_alloc(a, p->raw_data.len);
		if (p->raw_data.len)
			memcpy(p->raw_data.data, t->data, p->raw_data.len);
	}
	return p;
}

int onnx_tensor_read_file(struct tensor *out, const char **name, const char *path, struct arena *a, struct err *e)
{
	ProtobufCMessage *message = NULL;
	char *data;
	size_t size;
	TRY(file_read(&data, &size, path, a, e));
	TRY(onnx_wire_unpack(&message, &onnx__tensor_proto__descriptor, data, size, path, a, e));
	const Onnx__TensorProto *t = (const Onnx__TensorProto *)message;
	if (t->segment) /* a SequenceProto has its tensors in the field of this number */
		return err_set(e, ERR_UNSUPPORTED, "%s: holds a sequence, where a tensor is needed.", path);
	if (name)
		*name = onnx_text(t->name);
	/* No model, hence no external data. */
	return onnx_tensor_load(out, t, NULL, a, e) < 0 ? err_where(e, "%s: ", path) : 0;
}
