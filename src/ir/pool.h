/* Inside src/ir/ only: how nodes are made. */
#ifndef TPAT_IR_POOL_H
#define TPAT_IR_POOL_H

#include "ir/ir.h"

struct ir_pool {
	struct arena *arena;
	expr *slot; /* open addressing by hash */
	uint32_t slots, count;
	unsigned variables;   /* their numbers */
	struct map derived;   /* those that one key has always */
	struct map of_kernel; /* those that it has as long as one kernel is built: ir_variable_of */
	/* Memo of bounds by id: see bounds.c. */
	struct ir_bounds {
		bool known;
		signed char nonnegative; /* 1: yes, -1: not provably, 0: not asked yet */
		expr low, high;
	} *bounds;
	uint32_t bounds_cap;
};

/* The unique node of this content, without any simplification. `proto` carries op, type and the union. */
expr ir_node(struct ir_pool *p, const struct ir_expr *proto, int n, const expr *arg);
expr ir_node_op(enum ir_op op, enum type t, int n, const expr *arg);

/* An integer brought into the range of its type, as it wraps. */
int64_t ir_wrap(enum type t, int64_t x);

/* The value of an operation on constants; null when it is not to be folded. */
expr ir_fold(struct ir_pool *p, enum ir_op op, enum type t, int n, const expr *arg);

/* Normal forms of index arithmetic (poly.c). */
expr ir_poly_binary(enum ir_op op, expr a, expr b); /* ADD, SUB, MUL */
expr ir_poly_floordiv(expr a, expr b);
expr ir_poly_mod(expr a, expr b);
/* Why an operation does not take these operands, or null when it does; `t`: its result's type. The one place that
 * knows, for the parser and the checker. */
const char *ir_operand_fault(enum ir_op op, enum type t, int n, const expr *arg);
/* The same for what a stage accumulates or combines, of type `t`. */
const char *ir_combine_fault(enum ir_stage_kind kind, enum ir_combine c, enum type t);

extern const char *const ir_relation_word[IR_RELATIONS]; /* in the text form */

/* A fixed order of expressions that does not depend on the pool. */
int ir_order(expr a, expr b);

#endif
