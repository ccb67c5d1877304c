/* Attributes and tensors of ONNX Runtime as messages of a model. See provider.h. */
#include <string.h>

#include "provider/provider.h"

#define ASK(call) TRY(provider_check(h, h->api->call, e))

/* ONNX Runtime's numbers of element types are ONNX's up to this one. */
enum { LAST_SHARED_TYPE = TYPE_I4 };

enum type provider_type(int number)
{
	return number > LAST_SHARED_TYPE || number == TYPE_STRING ? TYPE_NONE : onnx_elem_type(number);
}

int provider_extents(struct tensor *out, const struct provider_host *h, const struct ort_value *value, struct err *e)
{
	const int64_t *dim = NULL;
	size_t rank = 0;
	int type = 0;
	ASK(tensor_extents(value, &type, &dim, &rank));
	*out = (struct tensor){ .type = provider_type(type), .rank = (int)rank };
	for (size_t i = 0; i < rank && i < TENSOR_MAX_RANK; i++)
		out->dim[i] = dim[i];
	return 0;
}

int provider_tensor(Onnx__TensorProto **out, struct onnx_model *m, const struct provider_host *h, const char *name,
                    const struct ort_value *value, bool borrow, struct err *e)
{
	struct tensor t;
	const void *data = NULL;
	TRY(provider_extents(&t, h, value, e));
	if (t.type == TYPE_NONE || t.rank > TENSOR_MAX_RANK) {
		err_about(e, ERR_TENSOR, name);
		return err_set(e, ERR_UNSUPPORTED, "The tensor \"%s\" has a type or a rank that tpat lacks.", name);
	}
	size_t rank = (size_t)t.rank;
	int64_t bytes = tensor_bytes(&t);
	ck(bytes >= 0);
	ASK(const_data(value, &data));
	Onnx__TensorProto *p = NEW(m->arena, Onnx__TensorProto);
	onnx__tensor_proto__init(p);
	p->name = arena_strdup(m->arena, name);
	p->has_data_type = 1;
	p->data_type = (int32_t)t.type;
	p->n_dims = rank;
	p->dims = NEWN(m->arena, int64_t, rank + 1);
	memcpy(p->dims, t.dim, rank * sizeof *t.dim);
	p->has_raw_data = 1;
	p->raw_data.len = (size_t)bytes;
	if (borrow) {
		memcpy(&p->raw_data.data, &data, sizeof data);
	} else {
		p->raw_data.data = arena_alloc(m->arena, (size_t)bytes + 1);
		if (bytes)
			memcpy(p->raw_data.data, data, (size_t)bytes);
	}
	*out = p;
	return 0;
}

/* The bytes of an attribute's value, in the model's arena. */
static int read_value(void **out, size_t *bytes, struct onnx_model *m, const struct provider_host *h,
                      const struct ort_attr *attr, enum ort_attr_type type, struct err *e)
{
	*bytes = 0;
	struct ort_status *asked = h->api->read_attr(attr, type, NULL, 0, bytes);
	if (asked) /* as it should: there was no room */
		h->api->release_status(asked);
	*out = arena_alloc(m->arena, *bytes + 1);
	if (*bytes)
		ASK(read_attr(attr, type, *out, *bytes, bytes));
	return 0;
}

/* ONNX Runtime 1.23 counts the NUL after a string, 1.31 does not. */
static size_t ends_in_nul(const char *text, size_t bytes)
{
	return bytes && !text[bytes - 1];
}

static void set_strings(struct onnx_model *m, Onnx__AttributeProto *to, char *text, size_t bytes)
{
	to->n_strings = 0;
	for (size_t i = 0; i < bytes; i++)
		to->n_strings += !text[i];
	to->strings = NEWN(m->arena, ProtobufCBinaryData, to->n_strings + 1);
	for (size_t i = 0; i < to->n_strings; i++, text += strlen(text) + 1)
		to->strings[i] = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
}

static int set_tensor(struct onnx_model *m, Onnx__NodeProto *to, const char *name, const struct provider_host *h,
                      const struct ort_attr *attr, struct err *e)
{
	struct ort_value *value = NULL;
	Onnx__TensorProto *t;
	ASK(attr_tensor(attr, &value));
	int rc = provider_tensor(&t, m, h, "", value, false, e);
	h->api->release_value(value);
	TRY(rc);
	onnx_node_set_tensor(m, to, name, t);
	return 0;
}

static int set_attr(struct onnx_model *m, Onnx__NodeProto *to, const struct provider_host *h,
                    const struct ort_attr *attr, struct err *e)
{
	static const Onnx__AttributeProto__AttributeType onnx_type[] = {
		[ORT_ATTR_INT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
		[ORT_ATTR_INTS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
		[ORT_ATTR_FLOAT] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
		[ORT_ATTR_FLOATS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS,
		[ORT_ATTR_STRING] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING,
		[ORT_ATTR_STRINGS] = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS,
	};
	const char *name;
	int type = ORT_ATTR_UNDEFINED;
	void *value;
	size_t bytes;
	ASK(attr_name(attr, &name));
	ASK(attr_type(attr, &type));
	if (type == ORT_ATTR_GRAPH) /* node_graphs() gives it */
		return 0;
	if (type == ORT_ATTR_TENSOR)
		return set_tensor(m, to, name, h, attr, e);
	if (type <= ORT_ATTR_UNDEFINED || type > ORT_ATTR_STRINGS)
		return err_set(e, ERR_UNSUPPORTED,
		               "The attribute \"%s\" has a type that ONNX Runtime does not pass on.", name);
	TRY(read_value(&value, &bytes, m, h, attr, (enum ort_attr_type)type, e));
	Onnx__AttributeProto *p = onnx_node_attribute(m, to, name, onnx_type[type]);
	switch (type) {
	case ORT_ATTR_INT:
		p->has_i = 1;
		memcpy(&p->i, value, sizeof p->i);
		break;
	case ORT_ATTR_INTS:
		p->ints = value;
		p->n_ints = bytes / sizeof *p->ints;
		break;
	case ORT_ATTR_FLOAT:
		p->has_f = 1;
		memcpy(&p->f, value, sizeof p->f);
		break;
	case ORT_ATTR_FLOATS:
		p->floats = value;
		p->n_floats = bytes / sizeof *p->floats;
		break;
	case ORT_ATTR_STRING:
		p->has_s = 1;
		p->s = (ProtobufCBinaryData){ bytes - ends_in_nul(value, bytes), value };
		break;
	default: set_strings(m, p, value, bytes);
	}
	return 0;
}

int provider_attrs(struct onnx_model *m, Onnx__NodeProto *to, const struct provider_host *h,
                   const struct ort_node *from, struct arena *scratch, struct err *e)
{
	size_t n;
	ASK(node_attr_count(from, &n));
	const struct ort_attr **attr = NEWN(scratch, const struct ort_attr *, n + 1);
	ASK(node_attrs(from, attr, n));
	for (size_t i = 0; i < n; i++)
		TRY(set_attr(m, to, h, attr[i], e));
	return 0;
}
