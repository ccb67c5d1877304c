/* Inside src/ir/ only: construction of nodes. */
#ifndef TPAT_IR_POOL_H
#define TPAT_IR_POOL_H

#include "ir/ir.h"

struct ir_pool {
	struct arena *arena;
	expr *slot; /* open addressing by hash */
	uint32_t slots, count;
	unsigned variables;   /* number of variables so far */
	struct map derived;   /* variables with one key for the pool's lifetime */
	struct map of_kernel; /* variables with one key while a kernel is built: ir_variable_of */
	/* Memo of bounds by id: see bounds.c. */
	struct ir_bounds {
		bool known;
		signed char nonnegative; /* 1: yes, -1: not provable, 0: not computed yet */
		expr low, high;
	} *bounds;
	uint32_t bounds_cap;
};

expr ir_node_op(enum ir_op op, enum type t, int n, const expr *arg);

/* Wraps an integer into the range of its type. */
int64_t ir_wrap(enum type t, int64_t x);

/* Folds an operation on constants; null if it must not be folded. */
expr ir_fold(struct ir_pool *p, enum ir_op op, enum type t, int n, const expr *arg);

/* Normal forms of index arithmetic (poly.c). */
expr ir_poly_binary(enum ir_op op, expr a, expr b); /* ADD, SUB, MUL */
expr ir_poly_floordiv(expr a, expr b);
expr ir_poly_mod(expr a, expr b);
/* Returns the reason why an operation rejects these operands, or null; `t`: the result's type. Used by both the parser
 * and the checker. */
const char *ir_operand_fault(enum ir_op op, enum type t, int n, const expr *arg);
/* The same for accumulating or combining values of type `t`. */
const char *ir_combine_fault(enum ir_stage_kind kind, enum ir_combine c, enum type t);

extern const char *const ir_relation_word[IR_RELATIONS]; /* in the text form */

/* A total order of expressions that does not depend on the pool. */
int ir_order(expr a, expr b);

#endif
