/* Plain nodes: nodes that the engine supports, in place of one that it refuses. Only files of src/graph/ include this.
 *
 * Two sources. A table has operators that mean the same as others with other attributes, types or inputs
 * (graph_plain_table.c). For all other operators the node's own program is written as ONNX nodes, if its stages are
 * maps and reductions whose elements are read in order (graph_plain_stage.c, graph_plain_expr.c): so every operator
 * that lowers to such stages has plain nodes, without a line about it.
 *
 * Integers of 8 and 16 bits that only plain nodes exchange are *carried*: as floats, which hold them exactly; or, where
 * a quantisation to uint8 has the zero point 128, as int8 with the zero point 0. */
#ifndef TPAT_GRAPH_GRAPH_PLAIN_H
#define TPAT_GRAPH_GRAPH_PLAIN_H

#include "graph/graph_internal.h"

enum plain_carrier {
	PLAIN_AS_IS,
	PLAIN_FLOATS,
	PLAIN_SHIFTED, /* int8, less by 128 */
};
struct plain_carried {
	enum plain_carrier as;
	const char *name; /* of the carrier */
};

/* A tensor while plain nodes are written. In a space of axes its last axis is the space's last. */
struct plain_value {
	const char *name; /* null: it cannot be written */
	enum type type;   /* that of the carrier: never an integer of 8 or 16 bits, unless it is an operand only */
	int rank;
	uint32_t axes; /* of the space, along which it has the space's extent; along others 1 */
};

/* The nodes that take the place of one node. */
struct plain {
	struct graph *g;
	const struct graph_node *n;
	const char *stem;          /* of names of tensors: no other name of the model begins so */
	const struct map *carried; /* struct plain_carried by the tensor's name */
	int opset;
	int names; /* given */
	struct {
		VEC(Onnx__NodeProto *);
	} nodes;
	struct {
		VEC(Onnx__TensorProto *);
	} constants;
	struct map known;   /* names of constants by value */
	struct map renamed; /* by the names of tensors that became outputs: the outputs' names */
};

/* ---- Writing (graph_plain_new.c). Results without a name: a part of them cannot be written. */

/* Adds a node with these inputs (an input of null ends them) and returns it; it has no output yet. */
Onnx__NodeProto *plain_node(struct plain *p, const char *op, const char *first, const char *second, const char *third);
/* Gives the node its output, a new name. */
const char *plain_output(struct plain *p, Onnx__NodeProto *node);
/* The same in one call. */
const char *plain_op(struct plain *p, const char *op, const char *first, const char *second, const char *third);
const char *plain_cast(struct plain *p, const char *in, enum type to);
const char *plain_number(struct plain *p, enum type t, double x); /* a scalar constant */
const char *plain_ints(struct plain *p, const int64_t *x, int n); /* a constant i64[n] */
const char *plain_tensor(struct plain *p, const struct tensor *t);
/* Nodes whose axes are an attribute in early opsets and an input in later ones, from `since` on. */
const char *plain_with_axes(struct plain *p, const char *op, const char *in, const int64_t *axis, int n, int since);

/* The type of a tensor's elements while plain nodes compute with them: floats for narrow integers. TYPE_NONE: no plain
 * node can compute with them. */
enum type plain_type(enum type t);
/* True for integers of 8 and 16 bits. */
bool plain_narrow(enum type t);
/* Reads a tensor of the model, as floats if it is narrow. Null: not possible. */
const char *plain_read(struct plain *p, struct graph_value *v);
/* Makes `made`, of plain_type(), the output number `k` of the node that is replaced. */
bool plain_result(struct plain *p, int k, const char *made);
enum plain_carrier plain_carrier_of(const struct plain *p, const char *name);
/* The tensor's name for plain nodes that take it as it is carried. */
const char *plain_name(const struct plain *p, const char *name);

/* ---- Parts of the table's rewrites (graph_plain_parts.c): of the node that is replaced. */
struct graph_value *plain_input(const struct plain *p, size_t i); /* null: absent */
struct graph_value *plain_made(const struct plain *p, size_t i);  /* an output; null: absent */
int64_t plain_int(const struct plain *p, const char *name, int64_t otherwise);
float plain_float(const struct plain *p, const char *name, float otherwise);
/* Adds a node of this operator with the same domain and attributes, without inputs and outputs. */
Onnx__NodeProto *plain_like(struct plain *p, const char *op);
void plain_drop(Onnx__NodeProto *node, const char *attribute);
void plain_copy_inputs(struct plain *p, Onnx__NodeProto *node, size_t from); /* from this number on */
void plain_copy_outputs(struct plain *p, Onnx__NodeProto *node);
/* graph_plain_fused.c. False: not possible. */
bool plain_write_fused_conv(struct plain *p);
bool plain_write_fused_product(struct plain *p);
bool plain_write_fused_gemm(struct plain *p);

/* ---- The two sources. False: they have no plain nodes for it; then `p` is spoilt. */
bool plain_from_table(struct plain *p);
bool plain_from_program(struct plain *p);
/* True for weights whose values are known, but take several times the bytes of what they are computed from. */
bool plain_keeps_size(const struct graph *g, const struct graph_node *n);
/* True if the node can take its narrow tensors as int8, less by 128. */
bool plain_shifts(struct graph *g, const struct graph_node *n);

/* ---- Expressions (graph_plain_expr.c). */
struct plain_space {
	struct plain *p;
	struct ir_program *program;
	int rank;
	expr extent[2 * IR_MAX_RANK];
	int axis[2 * IR_MAX_RANK];     /* of the expressions, at each place of the space */
	struct plain_value *buffer;    /* by id; name null: not written yet */
	const struct plain_value *acc; /* of a reduction */
	struct map done;               /* struct plain_value by the expression's id */
	struct arena *scratch;
};
struct plain_value plain_expr(struct plain_space *s, expr e);
/* The place of an axis of the expressions; -1: the space does not have it. */
int plain_place(const struct plain_space *s, int axis);
/* A tensor of the space's whole extents, of its rank; null: not possible. */
const char *plain_whole(struct plain_space *s, struct plain_value v);
/* An extent, or any expression over symbols, as an i64 scalar; with `axis` as i64[1]. */
const char *plain_extent(struct plain_space *s, expr e, bool axis);
/* Reads a buffer at these indices (graph_plain_load.c). */
struct plain_value plain_load(struct plain_space *s, const struct ir_buffer *b, const expr *index);

#endif
