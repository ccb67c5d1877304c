/* Protobuf's wire format: reads messages with big tensors left in place, and writes them to a file.
 *
 * protobuf-c copies every bytes field, and refuses lengths of 2 GB. So a model is unpacked from a slim copy of the file
 * in which the raw_data of each tensor is replaced by an 8-byte token; afterwards the messages are pointed at the bytes
 * in the file. The first pass follows the message descriptors, locates errors by byte offset, and measures the nesting
 * depth. */
#include "onnx/onnx_internal.h"

#include <string.h>

#include "base/foreign.h"

enum {
	MAX_DEPTH = 100, /* nesting of messages, as in other protobuf readers. A subgraph takes three levels */
	TOKEN_BYTES = 8, /* replaces raw_data in the slim copy */
	RAW_DATA = 9,    /* TensorProto.raw_data */
	MAX_MESSAGES = 1 << 30,
	WRITE_BUFFER = 1 << 20,
};

struct raw {
	const unsigned char *data;
	size_t size;
};

struct scan {
	const unsigned char *start, *end; /* of the whole file */
	const char *name;
	struct arena *scratch;
	struct err *e;
	struct {
		VEC(struct raw);
	} raw;
	struct {
		VEC(size_t);
	} size;   /* slim sizes of messages, in order of their start */
	int next; /* second pass: index in `size` */
	uint64_t next_raw;
	unsigned char *out;
};

/* One field on the wire. */
struct field {
	uint32_t number;
	int wire;
	const unsigned char *begin, *data, *end; /* the key, the value (after its length), the next field */
	const ProtobufCFieldDescriptor *known;   /* or null */
};

static int bad(struct scan *s, const unsigned char *at, const char *what)
{
	return err_set(s->e, ERR_MODEL, "%s: is not an ONNX model, or is cut off: at byte %zu of %zu, %s.", s->name,
	               (size_t)(at - s->start), (size_t)(s->end - s->start), what);
}

/* Reads a varint at *p; false if it does not end before `end` or has more than 10 bytes. */
static bool read_varint(uint64_t *out, const unsigned char **p, const unsigned char *end)
{
	uint64_t x = 0;
	for (int shift = 0; shift < 70 && *p < end; shift += 7) {
		unsigned char byte = *(*p)++;
		x |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80)) {
			*out = x;
			return true;
		}
	}
	return false;
}

static int wire_of(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_FLOAT: return PROTOBUF_C_WIRE_TYPE_32BIT;
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE: return PROTOBUF_C_WIRE_TYPE_64BIT;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE: return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
	default: return PROTOBUF_C_WIRE_TYPE_VARINT;
	}
}

static int read_field(struct scan *s, struct field *f, const ProtobufCMessageDescriptor *kind, const unsigned char *p,
                      const unsigned char *end)
{
	uint64_t key, length;
	f->begin = p;
	if (!read_varint(&key, &p, end))
		return bad(s, f->begin, "a field number is not terminated");
	if (key >> 3 == 0 || key >> 3 > 0x1fffffff || p - f->begin > 5)
		return bad(s, f->begin, "a field number is impossible");
	f->number = (uint32_t)(key >> 3);
	f->wire = (int)(key & 7);
	f->known = protobuf_c_message_descriptor_get_field(kind, f->number);
	f->data = p;
	switch (f->wire) {
	case PROTOBUF_C_WIRE_TYPE_VARINT:
		if (!read_varint(&length, &p, end))
			return bad(s, f->data, "a number is not terminated");
		break;
	case PROTOBUF_C_WIRE_TYPE_64BIT:
	case PROTOBUF_C_WIRE_TYPE_32BIT:
		length = f->wire == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4;
		if ((size_t)(end - p) < length)
			return bad(s, f->data, "a number is not terminated");
		p += length;
		break;
	case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
		if (!read_varint(&length, &p, end))
			return bad(s, f->data, "a length is not terminated");
		if (length > (size_t)(end - p))
			return bad(s, f->data, "a field is longer than the rest of the file");
		f->data = p;
		p += length;
		break;
	default: return bad(s, f->begin, "a field has a wire type that ONNX does not use");
	}
	f->end = p;
	if (!f->known)
		return 0;
	if (f->wire != wire_of(f->known->type) &&
	    (f->known->label != PROTOBUF_C_LABEL_REPEATED || f->wire != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED))
		return bad(s, f->begin, "a field has another type than ONNX gives it");
	if (f->known->type == PROTOBUF_C_TYPE_STRING && memchr(f->data, 0, (size_t)(f->end - f->data)))
		return bad(s, f->data, "a text contains a NUL");
	return 0;
}

static bool is_raw_data(const ProtobufCMessageDescriptor *kind, const struct field *f)
{
	return kind == &onnx__tensor_proto__descriptor && f->number == RAW_DATA;
}

static size_t varint_size(uint64_t x)
{
	size_t n = 1;
	while (x >>= 7)
		n++;
	return n;
}

/* First pass: check the message, collect raw data and slim sizes. Its own slim size is s->size.at[its turn]. */
static int measure(struct scan *s, const ProtobufCMessageDescriptor *kind, const unsigned char *p,
                   const unsigned char *end, int depth)
{
	struct field f;
	size_t size = 0;
	int turn = s->size.n;
	if (depth > MAX_DEPTH)
		return bad(s, p, "messages are nested more than 100 levels deep");
	if (turn == MAX_MESSAGES || s->raw.n == MAX_MESSAGES)
		return bad(s, p, "there are more messages than tpat can count");
	vec_push(s->scratch, &s->size, (size_t)0);
	for (; p < end; p = f.end) {
		TRY(read_field(s, &f, kind, p, end));
		if (is_raw_data(kind, &f)) {
			struct raw raw = { f.data, (size_t)(f.end - f.data) };
			vec_push(s->scratch, &s->raw, raw);
			size += varint_size(f.number << 3) + 1 + TOKEN_BYTES;
		} else if (f.known && f.known->type == PROTOBUF_C_TYPE_MESSAGE) {
			int inner = s->size.n;
			TRY(measure(s, f.known->descriptor, f.data, f.end, depth + 1));
			size += varint_size(f.number << 3) + varint_size(s->size.at[inner]) + s->size.at[inner];
		} else {
			size += (size_t)(f.end - f.begin);
		}
	}
	s->size.at[turn] = size;
	return 0;
}

static void put_varint(struct scan *s, uint64_t x)
{
	for (; x >= 0x80; x >>= 7)
		*s->out++ = (unsigned char)(x | 0x80);
	*s->out++ = (unsigned char)x;
}

/* Second pass: the slim copy. Does not repeat the checks of measure(). */
static void slim(struct scan *s, const ProtobufCMessageDescriptor *kind, const unsigned char *p,
                 const unsigned char *end)
{
	struct field f;
	s->next++;
	for (; p < end; p = f.end) {
		ck(read_field(s, &f, kind, p, end) == 0);
		if (is_raw_data(kind, &f)) {
			put_varint(s, f.number << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
			put_varint(s, TOKEN_BYTES);
			memcpy(s->out, &s->next_raw, TOKEN_BYTES);
			s->out += TOKEN_BYTES;
			s->next_raw++;
		} else if (f.known && f.known->type == PROTOBUF_C_TYPE_MESSAGE) {
			put_varint(s, f.number << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
			put_varint(s, s->size.at[s->next]);
			slim(s, f.known->descriptor, f.data, f.end);
		} else {
			memcpy(s->out, f.begin, (size_t)(f.end - f.begin));
			s->out += f.end - f.begin;
		}
	}
}

static int attach(void *arg, ProtobufCMessage *message)
{
	const struct scan *s = arg;
	Onnx__TensorProto *t = (Onnx__TensorProto *)message;
	uint64_t index;
	if (!t->has_raw_data)
		return 0;
	ck(t->raw_data.len == TOKEN_BYTES);
	memcpy(&index, t->raw_data.data, TOKEN_BYTES);
	ck(index < (uint64_t)s->raw.n);
	t->raw_data.data = drop_const(s->raw.at[index].data);
	t->raw_data.len = s->raw.at[index].size;
	return 0;
}

static void *allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void forget(void *arena, void *pointer)
{
	(void)arena;
	(void)pointer;
}

/* protobuf-c's allocator over an arena: free does nothing. */
static ProtobufCAllocator arena_allocator(struct arena *a)
{
	return (ProtobufCAllocator){ allocate, forget, a };
}

int onnx_wire_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *kind, const void *data, size_t size,
                     const char *name, struct arena *a, struct err *e)
{
	struct scan s = { .start = size ? data : (const void *)"", .name = name, .scratch = arena_new(), .e = e };
	ProtobufCAllocator allocator = arena_allocator(a);
	unsigned char *copy;
	int rc;
	s.end = s.start + size;
	rc = measure(&s, kind, s.start, s.end, 0);
	if (rc < 0)
		goto done;
	if (s.size.at[0] > INT32_MAX) { /* protobuf-c's limit for one message */
		rc = err_set(e, ERR_UNSUPPORTED, "%s: has more than 2 GB outside of its tensors' raw_data.", name);
		err_advise(e, "Save the model's weights as raw data or as external data.");
		goto done;
	}
	copy = s.out = arena_alloc(s.scratch, s.size.at[0]);
	slim(&s, kind, s.start, s.end);
	ck((size_t)(s.out - copy) == s.size.at[0]);
	*out = protobuf_c_message_unpack(kind, &allocator, s.size.at[0], copy);
	if (*out)
		onnx_visit(*out, &onnx__tensor_proto__descriptor, attach, &s);
	else
		rc = err_set(e, ERR_MODEL, "%s: is not an ONNX model, or is damaged: protobuf-c cannot read it.", name);
done:
	arena_free(s.scratch);
	return rc;
}

int onnx_visit(ProtobufCMessage *root, const ProtobufCMessageDescriptor *kind,
               int (*fn)(void *arg, ProtobufCMessage *message), void *arg)
{
	const ProtobufCMessageDescriptor *d = root->descriptor;
	if (d == kind)
		TRY(fn(arg, root));
	for (unsigned i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &d->fields[i];
		char *member = (char *)root + f->offset;
		if (f->type != PROTOBUF_C_TYPE_MESSAGE)
			continue;
		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			size_t n = *(size_t *)((char *)root + f->quantifier_offset);
			for (size_t k = 0; k < n; k++)
				TRY(onnx_visit((*(ProtobufCMessage ***)member)[k], kind, fn, arg));
		} else if (*(ProtobufCMessage **)member) {
			TRY(onnx_visit(*(ProtobufCMessage **)member, kind, fn, arg));
		}
	}
	return 0;
}

/* Buffers the many tiny pieces from protobuf-c; big ones go straight to the file. */
struct sink {
	ProtobufCBuffer base;
	struct file_out *file;
	struct err *e;
	int rc;
	size_t n;
	unsigned char *buffer;
};

static void flush(struct sink *s)
{
	if (!s->rc)
		s->rc = file_out_put(s->file, s->buffer, s->n, s->e);
	s->n = 0;
}

static void append(ProtobufCBuffer *base, size_t n, const uint8_t *data)
{
	struct sink *s = (struct sink *)base;
	if (n > WRITE_BUFFER - s->n)
		flush(s);
	if (n <= WRITE_BUFFER) {
		if (n)
			memcpy(s->buffer + s->n, data, n);
		s->n += n;
	} else if (!s->rc) {
		s->rc = file_out_put(s->file, data, n, s->e);
	}
}

int onnx_wire_write(struct file_out *f, const ProtobufCMessage *message, struct err *e)
{
	struct arena *scratch = arena_new();
	struct sink s = { .base = { append }, .file = f, .e = e, .buffer = arena_alloc(scratch, WRITE_BUFFER) };
	protobuf_c_message_pack_to_buffer(message, &s.base);
	flush(&s);
	arena_free(scratch);
	return s.rc;
}
