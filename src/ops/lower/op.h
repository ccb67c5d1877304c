/* struct op_def describes an operator. The attribute parser, shape inference, code generation, `tpat list`, the
 * documentation and the tests all read it. A file of src/ops/onnx, ml, microsoft or plugins holds one operator or one
 * family and ends in its op_def. */
#ifndef TPAT_OPS_OP_H
#define TPAT_OPS_OP_H

#include "ir/ir.h"

struct lower;

/* Sets of element types, as bits 1 << enum type. */
#define TS(t) (1u << TYPE_##t)
#define TS_FLOAT (TS(F32) | TS(F64) | TS(F16) | TS(BF16))
#define TS_FLOAT32 (TS(F32) | TS(F16) | TS(BF16)) /* at most 32 bits */
#define TS_F8 (TS(F8E4M3FN) | TS(F8E4M3FNUZ) | TS(F8E5M2) | TS(F8E5M2FNUZ))
#define TS_SINT (TS(I8) | TS(I16) | TS(I32) | TS(I64))
#define TS_UINT (TS(U8) | TS(U16) | TS(U32) | TS(U64))
#define TS_INT (TS_SINT | TS_UINT)
#define TS_NUMBER (TS_FLOAT | TS_INT)
#define TS_WIDE (TS_FLOAT | TS(I32) | TS(I64) | TS(U32) | TS(U64)) /* without integers of 8 and 16 bits */
#define TS_INDICES (TS(I32) | TS(I64))
#define TS_PLAIN (TS_NUMBER | TS(BOOL)) /* accepted by operators that only move data */
#define TS_DATA (TS_PLAIN | TS_F8)
#define TS_PACKED (TS(I4) | TS(U4) | TS(I2) | TS(U2) | TS(F4E2M1)) /* narrower than a byte */
#define TS_ALL (TS_DATA | TS_PACKED | TS(F8E8M0))

enum { OP_MAX_INPUTS = 24, OP_MAX_OUTPUTS = 8, OP_MAX_ATTRS = 24, OP_MAX_VERSIONS = 16, OP_MAX_CASES = 8 };

enum op_slot_kind { OP_REQUIRED = 1, OP_OPTIONAL, OP_VARIADIC, OP_ANY }; /* OP_ANY: variadic, possibly empty */
struct op_slot {
	const char *name;       /* ONNX's name in lower case: "x", "scale" */
	enum op_slot_kind kind; /* 0 ends the list */
	uint32_t types;         /* 0: not restricted here */
	uint32_t ranks;         /* inputs: bits 1 << rank; 0: not restricted here */
};
/* Ranks may follow the types: IN("x", TS_FLOAT, RANK_FROM(3)), OPT("b", TS_FLOAT, RANK(1)). An operator that reads an
 * input with a number of indices states its rank here, or checks it itself. */
#define SLOT(n, k, t, ...) { .name = n, .kind = k, .types = t, ##__VA_ARGS__ }
#define IN(name, types, ...) SLOT(name, OP_REQUIRED, types, ##__VA_ARGS__)
#define OPT(name, types, ...) SLOT(name, OP_OPTIONAL, types, ##__VA_ARGS__)
#define MANY(name, types, ...) SLOT(name, OP_VARIADIC, types, ##__VA_ARGS__)
#define ANY(name, types, ...) SLOT(name, OP_ANY, types, ##__VA_ARGS__)
#define OUT(name) SLOT(name, OP_REQUIRED, 0)
#define OPTOUT(name) SLOT(name, OP_OPTIONAL, 0)
#define RANK(n) .ranks = 1u << (n)
#define RANKS(least, most) .ranks = (2u << (most)) - (1u << (least))
#define RANK_FROM(least) RANKS(least, IR_MAX_RANK)
/* A list of opset versions as an argument of a macro that makes rows. */
#define SINCE(...) { __VA_ARGS__ }

/* OP_WEIGHTS: a tensor or a list of floats, which plugins treat alike; no attribute of a model is of this kind. */
enum op_attr_kind { OP_INT = 1, OP_FLOAT, OP_STRING, OP_INTS, OP_FLOATS, OP_TENSOR, OP_STRINGS, OP_GRAPH, OP_WEIGHTS };
struct op_attr {
	const char *name;
	enum op_attr_kind kind; /* 0 ends the list */
	double number;    /* default of OP_INT and OP_FLOAT; OP_INTS: nonzero: of any length, for lower_int_list() */
	const char *text; /* OP_STRING: the allowed words, separated by '|', the default first */
	bool required;
};
/* `help` is for readers of the source. */
#define ATTR(name, kind, number, text, help, required) { name, kind, number, text, required }
#define ATTR_INT(name, def, help) ATTR(name, OP_INT, def, NULL, help, false)
#define ATTR_FLOAT(name, def, help) ATTR(name, OP_FLOAT, def, NULL, help, false)
#define ATTR_WORD(name, words, help) ATTR(name, OP_STRING, 0, words, help, false)
#define ATTR_INTS(name, help) ATTR(name, OP_INTS, 0, NULL, help, false)
#define ATTR_LONG_INTS(name, help) ATTR(name, OP_INTS, 1, NULL, help, false) /* read with lower_int_list() */
#define ATTR_STRINGS(name, help) ATTR(name, OP_STRINGS, 0, NULL, help, false)
#define ATTR_FLOATS(name, help) ATTR(name, OP_FLOATS, 0, NULL, help, false)
#define ATTR_TENSOR(name, help) ATTR(name, OP_TENSOR, 0, NULL, help, false)
#define ATTR_WEIGHTS(name, help) ATTR(name, OP_WEIGHTS, 0, NULL, help, false)
#define ATTR_INT_REQUIRED(name, help) ATTR(name, OP_INT, 0, NULL, help, true)
#define ATTR_INTS_REQUIRED(name, help) ATTR(name, OP_INTS, 0, NULL, help, true)
/* Attributes of the first opsets: one without meaning, and the alignment of the second operand before opset 7. */
#define ATTR_CONSUMED ATTR_INTS("consumed_inputs", "opset 1 only; no meaning")
#define ATTR_OLD_BROADCAST \
	ATTR_INT("broadcast", 0, "before opset 7: broadcast b to a"), \
	        ATTR_INT("axis", 0, "before opset 7: the axis of a where b's axes start")

/* TensorRT looks plugins up by name alone. Exporters put their nodes into ONNX's own domain, a framework's, or one of
 * their own. Their attributes come as numbers or as lists of one number. */
#define OP_ANY_DOMAIN "*"

struct op_def {
	const char *name;
	const char *domain;         /* null: ai.onnx; OP_ANY_DOMAIN: any, found by name alone */
	int since[OP_MAX_VERSIONS]; /* the opset versions that changed it, ascending; 0 ends the list */
	const char *formula;        /* one line for the documentation and the kernel's head: "y = max(x, 0)" */
	struct op_slot inputs[OP_MAX_INPUTS], outputs[OP_MAX_OUTPUTS];
	struct op_attr attrs[OP_MAX_ATTRS];
	int (*lower)(struct lower *l);
	expr (*map)(struct lower *l, const expr *x); /* elementwise rows: the formula; see elementwise.h */
	int result;                                  /* elementwise rows: enum type of the result; 0: as the operands */
	const char *cases[OP_MAX_CASES]; /* for tests and benchmarks: "x:f16[4,768] scale:f16[768] axis=-1 opset=17" */
};

/* The operator, or null. `domain` "" is ai.onnx. Operators of OP_ANY_DOMAIN are searched last. */
const struct op_def *op_find(const char *domain, const char *name);
bool op_any_domain(const struct op_def *op);
/* All operators, sorted by domain and name; null ends the list. */
const struct op_def *const *op_all(void);

/* The slot of input or output `i`; a variadic slot covers all from its index on. Null beyond the list. */
const struct op_slot *op_slot_of(const struct op_slot *slot, int max, int i);
const struct op_attr *op_attr_find(const struct op_def *op, const char *name); /* null if there is none */

#endif
