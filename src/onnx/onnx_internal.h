/* Shared by the files of src/onnx/ only. */
#ifndef TPAT_ONNX_ONNX_INTERNAL_H
#define TPAT_ONNX_ONNX_INTERNAL_H

#include "onnx/onnx.h"

/* Unpack `size` bytes as the message `kind` into `a`; tensors' raw_data is not copied but points into `data`. `name`:
 * the file's, for messages. Errors: ERR_MODEL with the offset of the bad byte. */
int onnx_wire_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *kind, const void *data, size_t size,
                     const char *name, struct arena *a, struct err *e);

/* Pack a message into an open file. */
int onnx_wire_write(struct file_out *f, const ProtobufCMessage *message, struct err *e);

/* The bytes of a tensor whose data_location is EXTERNAL: inside a mapped file that lives as long as the model. `bytes`:
 * the tensor's size. */
int onnx_external_data(const unsigned char **out, const Onnx__TensorProto *t, int64_t bytes, struct onnx_model *m,
                       struct err *e);
/* The file it names; "" if none. */
const char *onnx_external_location(const Onnx__TensorProto *t);
static inline bool onnx_tensor_is_external(const Onnx__TensorProto *t)
{
	return t->has_data_location && t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Number of elements. ERR_MODEL for negative extents and for a product beyond 64 bits. */
int onnx_tensor_count(int64_t *count, const Onnx__TensorProto *t, struct err *e);
/* Packed bytes that the tensor's type and dims need, and its number of elements. ERR_MODEL, ERR_UNSUPPORTED. */
int onnx_tensor_size(int64_t *bytes, int64_t *count, const Onnx__TensorProto *t, struct err *e);
void onnx_tensor_describe(char buffer[ONNX_DESCRIBE], const Onnx__TensorProto *t); /* "tensor "w"" */

/* Replace sparse initializers and values of Constant nodes by dense ones, up to 256 MB each, of types of whole bytes.
 */
int onnx_sparse_drop(struct onnx_model *m, struct err *e);

/* Sort the nodes into the stable topological order. If there is a cycle, the error lists it, and nothing is reordered.
 */
int onnx_sort_nodes(Onnx__NodeProto **node, size_t n, struct err *e);

/* Names that a graph's nodes may read: its own, and those of enclosing graphs. */
struct onnx_scope {
	const struct onnx_scope *outer;
	struct map defined; /* values are not null */
};
bool onnx_scope_has(const struct onnx_scope *s, const char *name);

/* Labels of nodes: see onnx_node_label. */
const char **onnx_label_nodes(Onnx__NodeProto *const *node, size_t n, struct arena *a);

/* Advises what to do about a file that is no ONNX model, from its bytes, or else its name. Returns e->code. */
int onnx_advise_kind(const unsigned char *data, size_t size, const char *path, struct err *e);

/* Append a pointer to an array of a message. */
void onnx_array_push(struct onnx_model *m, void *array, size_t *n, void *item);

/* Private: record a name as used, once names are tracked. */
void onnx_name_use(struct onnx_model *m, const char *name);

Onnx__OperatorSetIdProto *onnx_opset_new(struct onnx_model *m, const char *domain, int64_t version);

#endif
