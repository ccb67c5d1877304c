/* The ONNX model file: read, look up, edit, check, write. Knows nothing about operators.
 * The messages are protobuf-c's structs (onnx.proto), allocated in the model's arena: build and change them freely, but
 * never free them. Fields of formats later than ours survive as unknown fields.
 *
 * Threads: one model belongs to one thread at a time (onnx_tensor_load maps external files when first needed).
 * Names: an absent string field is a null pointer; onnx_text() makes it "". */
#ifndef TPAT_ONNX_ONNX_H
#define TPAT_ONNX_ONNX_H

#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "onnx.pb-c.h"
#include "tensor/tensor.h"

/* ------------------------------------------------------------------ the file */

struct onnx_model {
	struct arena *arena;     /* of everything below; ends with the model */
	const char *path;        /* as given to onnx_model_read; "model" if there was no file */
	const char *dir;         /* the folder that external data is relative to */
	Onnx__ModelProto *proto; /* never null, and neither is proto->graph */
	struct file_map file;    /* tensors' raw_data points into it: read-only */
	struct map external;     /* private: mapped external files by name */
	struct map names, room;  /* private: names in use; capacities of arrays that grew */
};

/* The newest opset of the format of which onnx.proto names every field, version 13. Later ones are read too. */
enum { ONNX_OPSET_VERSION = 28 };

/* Read a model. Big tensors are not copied: raw_data points into the mapped file, which must not be cut short while the
 * model lives (replacing it by rename is fine). Files over 2 GB are read. `*out` is freed with onnx_model_free and is
 * null after a failure. Errors: ERR_MODEL when the file is missing, is not a model, or is cut off. */
int onnx_model_read(struct onnx_model **out, const char *path, struct err *e);

/* The same from memory, which must outlive the model. `dir`: where external data lies; null: there is none. */
int onnx_model_parse(struct onnx_model **out, const void *data, size_t size, const char *dir, struct err *e);

/* An empty model of this IR version, without opsets and external data. `path`: its name in messages. */
struct onnx_model *onnx_model_new(const char *path, int64_t ir_version);

void onnx_model_free(struct onnx_model *m); /* null is fine */

struct onnx_write_options {
	int version;                 /* ONNX_WRITE_VERSION */
	bool external;               /* put big initializers into "<file>.data" next to the file */
	uint64_t external_threshold; /* minimum bytes of a big initializer */
	uint64_t inline_limit;       /* bytes; a longer file always gets external data */
	const char *place;           /* the path that the file and its data will be moved to; null: not moved */
};
enum { ONNX_WRITE_VERSION = 2 };
/* Protobuf readers accept at most 2^31 - 1 bytes. */
#define ONNX_WRITE_OPTIONS ((struct onnx_write_options){ ONNX_WRITE_VERSION, false, 1024, 2147483647u, NULL })

/* Write the model: complete or not at all. The model is unchanged afterwards. Existing external data stays in its files
 * if `path` is in the model's own folder; else it is copied into "<file>.data". In the data file every tensor starts at
 * a multiple of 4096 bytes. `options` null: ONNX_WRITE_OPTIONS. Errors: ERR_USAGE when `path` cannot be written,
 * ERR_MODEL when external data of the source is missing. */
int onnx_model_write(struct onnx_model *m, const char *path, const struct onnx_write_options *options, struct err *e);

/* Checks the structure: undefined or doubly defined names, cycles, bad extents, missing opset imports or IR version.
 * Imports domains other than ONNX's that the graph's nodes use and the model does not import: version 1, or the newest
 * one of ai.onnx.ml. Makes sparse initializers dense. Sorts nodes that are merely out of order into a stable
 * topological order, in the graph, its subgraphs and local functions. Errors: ERR_MODEL, with file, node, tensor and
 * what to do. */
int onnx_model_check(struct onnx_model *m, struct err *e);

/* Calls `fn` for every message of the kind `kind` (&onnx__tensor_proto__descriptor ...) inside `root`, root included,
 * parents first; a negative result ends the walk and is returned. Reaches subgraphs, functions and training graphs.
 * `root` is a message struct (its first member is `base`). */
int onnx_visit(ProtobufCMessage *root, const ProtobufCMessageDescriptor *kind,
               int (*fn)(void *arg, ProtobufCMessage *message), void *arg);

/* ------------------------------------------------------------------ names and versions */

static inline const char *onnx_text(const char *s)
{
	return s ? s : "";
}

/* The domain without its alias: "" for null, "" and "ai.onnx". */
const char *onnx_domain(const char *domain);

/* The imported version of a domain's operators; 0 if the model does not import the domain. */
int64_t onnx_opset(const struct onnx_model *m, const char *domain);

/* Import a domain's operators at `version`; an existing import is kept. */
void onnx_opset_import(struct onnx_model *m, const char *domain, int64_t version);

/* Removes the inputs that only declare an initializer: no caller can replace its value any more. */
void onnx_graph_drop_placeholders(Onnx__GraphProto *g);

/* Raise the IR version to at least `version`. From below 4 it removes inputs that only declare an initializer, as those
 * versions require: from version 4 on such an input would let a caller replace the constant. */
void onnx_ir_raise(struct onnx_model *m, int64_t version);

/* Converts ONNX's element type to `enum type`; TYPE_NONE if tpat lacks it. */
enum type onnx_elem_type(int32_t data_type);

/* ------------------------------------------------------------------ a graph, indexed
 * An index is a lookup table over one GraphProto, made in one pass. It is out of date as soon as nodes, inputs, outputs
 * or initializers change; then make a new one. */

struct onnx_value {
	const char *name;
	int producer; /* node index; -1: an input, an initializer, or a value of an outer graph */
	int output;   /* which of the producer's outputs */
	struct {
		VEC(int);
	} readers;                       /* node indices, ascending, unique; a node reads what its subgraphs read */
	Onnx__TensorProto *initializer;  /* or null */
	Onnx__SparseTensorProto *sparse; /* sparse initializer, or null */
	Onnx__ValueInfoProto *info;      /* type from inputs, outputs or value_info, or null */
	bool is_input, is_output;        /* of the graph */
};

struct onnx_index {
	struct onnx_model *model;
	Onnx__GraphProto *graph;
	const char **label; /* one per node: see onnx_node_label */
	struct map value;   /* struct onnx_value by name, definitions before names of outer graphs; never "" */
};

/* Index `graph` (null: the model's) in arena `a`. Accepts unchecked graphs too: the first of two definitions counts. */
struct onnx_index *onnx_index_new(struct onnx_model *m, Onnx__GraphProto *graph, struct arena *a);

/* Null if the graph does not use the name, and for "". */
struct onnx_value *onnx_value_find(const struct onnx_index *x, const char *name);

/* The user-visible label of node `i`: its name in printable form (str_printable), or "#<i>" if it has none or the name
 * is not unique. Unique in the graph. */
const char *onnx_node_label(const struct onnx_index *x, int i);

/* Finds a node by its name, by "#12", or by the name of an output, tried in this order. Errors: ERR_USAGE with the
 * closest name, or with all labels if a name is not unique. */
int onnx_node_find(int *out, const struct onnx_index *x, const char *text, struct err *e);

/* "node "conv1" (Conv)", or "the node (Gather) that makes "y"" when it has no name: for messages. */
enum { ONNX_DESCRIBE = 320 };
const char *onnx_node_describe(const Onnx__NodeProto *node, char buffer[ONNX_DESCRIBE]);

/* Names that the node's subgraphs use from outside, as the keys of a map (values are not null). */
struct map onnx_node_captures(const Onnx__NodeProto *node, struct arena *a);

/* Names that the graph's nodes and their subgraphs read, and its outputs, as the keys of a map (values are not null).
 */
struct map onnx_graph_reads(const Onnx__GraphProto *g, struct arena *a);

/* The dense tensor type of a value: element type (TYPE_NONE if tpat lacks it) and shape (null: unknown rank). False if
 * it has no type or is a sequence, map, optional, opaque or sparse. */
bool onnx_value_type(const Onnx__ValueInfoProto *info, enum type *type, const Onnx__TensorShapeProto **shape);

/* ------------------------------------------------------------------ attributes, read
 * `out` gets `fallback` (or null and 0) when the node does not have the attribute. Errors: ERR_MODEL "attribute "axis"
 * of node X must be an integer, the file has a string"; ERR_UNSUPPORTED for one that refers to an attribute of a
 * function. Pointers are into the message. */

const Onnx__AttributeProto *onnx_attr(const Onnx__NodeProto *node, const char *name); /* null when absent */
/* The attribute's type, which files of IR version 1 omit. */
Onnx__AttributeProto__AttributeType onnx_attr_type(const Onnx__AttributeProto *attr);

int onnx_attr_int(int64_t *out, const Onnx__NodeProto *node, const char *name, int64_t fallback, struct err *e);
/* Copies the NUL-terminated string to `a`; a string that contains a NUL is an error. */
int onnx_attr_string(const char **out, const Onnx__NodeProto *node, const char *name, const char *fallback,
                     struct arena *a, struct err *e);

/* ------------------------------------------------------------------ tensors */

/* Decode a tensor from raw_data, any typed field, or external data. The elements point into the model's file
 * (read-only) if they are aligned there for their type, else they are in `a`. `model` may be null if there is no
 * external data. Errors: ERR_MODEL for sizes that do not match the extents, and for external data that is missing or
 * outside the model's folder; ERR_UNSUPPORTED for element types that tpat lacks. */
int onnx_tensor_load(struct tensor *out, const Onnx__TensorProto *proto, struct onnx_model *model, struct arena *a,
                     struct err *e);

/* Makes a message with a copy of the tensor in `a`. `name` may be null. */
Onnx__TensorProto *onnx_tensor_store(const struct tensor *t, const char *name, struct arena *a);

/* Reads a file of one TensorProto, such as test data (input_0.pb). `name` (may be null) gets the tensor's name or
 * "". */
int onnx_tensor_read_file(struct tensor *out, const char **name, const char *path, struct arena *a, struct err *e);

/* ------------------------------------------------------------------ building (all in the model's arena; strings
 * copied) */

/* Returns a node without inputs and outputs, not in a graph yet. */
Onnx__NodeProto *onnx_node_new(struct onnx_model *m, const char *domain, const char *op_type, const char *name);
void onnx_node_input(struct onnx_model *m, Onnx__NodeProto *node, const char *name); /* appends; "": omitted */
void onnx_node_output(struct onnx_model *m, Onnx__NodeProto *node, const char *name);

/* Set an attribute; one of the same name is replaced. Tensors and graphs are referenced, not copied.
 * onnx_node_attribute() adds one of that type without a value. */
Onnx__AttributeProto *onnx_node_attribute(struct onnx_model *m, Onnx__NodeProto *node, const char *name,
                                          Onnx__AttributeProto__AttributeType type);
void onnx_node_set_int(struct onnx_model *m, Onnx__NodeProto *node, const char *name, int64_t x);
void onnx_node_set_string(struct onnx_model *m, Onnx__NodeProto *node, const char *name, const char *x);
void onnx_node_set_ints(struct onnx_model *m, Onnx__NodeProto *node, const char *name, const int64_t *x, int n);
void onnx_node_set_tensor(struct onnx_model *m, Onnx__NodeProto *node, const char *name, Onnx__TensorProto *x);
void onnx_node_set_graph(struct onnx_model *m, Onnx__NodeProto *node, const char *name, Onnx__GraphProto *x);

/* A value of a dense tensor type. Extent i is dim[i] or, if that is negative, symbol[i] (null: unknown). `rank` -1:
 * unknown rank. `symbol` may be null. */
Onnx__ValueInfoProto *onnx_value_info_new(struct onnx_model *m, const char *name, enum type type, int rank,
                                          const int64_t *dim, const char *const *symbol);

/* Returns an empty graph. The adders keep the pointer and do not copy. */
Onnx__GraphProto *onnx_graph_new(struct onnx_model *m, const char *name);
void onnx_graph_add_initializer(struct onnx_model *m, Onnx__GraphProto *g, Onnx__TensorProto *t);
void onnx_graph_add_value_info(struct onnx_model *m, Onnx__GraphProto *g, Onnx__ValueInfoProto *v);
void onnx_graph_add_input(struct onnx_model *m, Onnx__GraphProto *g, Onnx__ValueInfoProto *v);
void onnx_graph_add_output(struct onnx_model *m, Onnx__GraphProto *g, Onnx__ValueInfoProto *v);
void onnx_graph_add_node(struct onnx_model *m, Onnx__GraphProto *g, Onnx__NodeProto *n);

/* Returns `base`, or base_1, base_2 ...: a name that no value, node or function in the model has. */
char *onnx_name_unique(struct onnx_model *m, const char *base);

/* ------------------------------------------------------------------ copying nodes
 * under other names, in the model's arena: a name defined by a copied node or by a graph inside it becomes a new one of
 * the model, others stay. Tensors and types are referenced, not copied. */

struct onnx_copy {
	struct onnx_model *model;
	const struct onnx_copy *outer; /* private: of a copied graph, what surrounds it */
	struct map names;              /* new names by old; the caller may add to it, "": an omitted input */
	const struct map *attributes;  /* of a function's call, by name; null: it is no function */
};
struct onnx_copy onnx_copy_new(struct onnx_model *m, const struct map *attributes);
/* Copy nodes in topological order: an input gets the name of the copy that makes it. An attribute that refers to one of
 * the function's becomes that one, or is left out. */
Onnx__NodeProto *onnx_copy_node(struct onnx_copy *c, const Onnx__NodeProto *n);
Onnx__TensorProto *onnx_copy_initializer(struct onnx_copy *c, const Onnx__TensorProto *t);
const char *onnx_copy_name(const struct onnx_copy *c, const char *name); /* its new name, or the old one */

/* ------------------------------------------------------------------ changing */

/* Remove the initializers that neither a node of the graph or its subgraphs reads nor is a graph output, the inputs of
 * the same names (not a subgraph's), and value_info of removed names. Returns the number of removed initializers. */
int onnx_graph_drop_unused(struct onnx_model *m, Onnx__GraphProto *g);

/* Make input number `input` of the graph a constant: the initializer `t`, of the same name, replaces it and its
 * default. */
void onnx_graph_bind_input(struct onnx_model *m, Onnx__GraphProto *g, int input, Onnx__TensorProto *t);

/* Put the nodes into a stable topological order: of those ready to run, always the first. Errors: ERR_MODEL with the
 * labels of the nodes on a cycle; the order is then unchanged. */
int onnx_graph_sort(struct onnx_model *m, Onnx__GraphProto *g, struct err *e);

/* Makes a local function with these inputs, outputs and nodes (referenced, not copied), and the model's opset imports.
 * Does not add it to the model. */
Onnx__FunctionProto *onnx_function_new(struct onnx_model *m, const char *domain, const char *name,
                                       const char *const *input, int inputs, const char *const *output, int outputs,
                                       Onnx__NodeProto *const *node, int nodes);

/* Add a function to the model: raises the IR version to at least 8 and imports its domain (version 1) if missing.
 * Errors: ERR_USAGE if the model has a function of this name in any domain (TensorRT matches functions by name
 * alone). */
int onnx_model_add_function(struct onnx_model *m, Onnx__FunctionProto *f, struct err *e);

/* Null if the model does not have it. `overload` null: "". */
Onnx__FunctionProto *onnx_function_find(const struct onnx_model *m, const char *domain, const char *name,
                                        const char *overload);

#endif
