/* Inside src/ir/ only: how nodes are made. */
#ifndef TPAT_IR_POOL_H
#define TPAT_IR_POOL_H

#include "ir/ir.h"

struct ir_pool {
	struct arena *arena;
	expr *slot; /* open addressing by hash */
	uint32_t slots, count;
	/* Memo of bounds by id: see bounds.c. */
	struct ir_bounds {
		bool known;
		expr low, high;
	} *bounds;
	uint32_t bounds_cap;
};

/* The unique node of this content, without any simplification. `proto` carries op, type and the union. */
expr ir_node(struct ir_pool *p, const struct ir_expr *proto, int n, const expr *arg);
expr ir_node_op(enum ir_op op, enum type t, int n, const expr *arg);

/* The value of an operation on constants; null when it is not to be folded. */
expr ir_fold(struct ir_pool *p, enum ir_op op, enum type t, int n, const expr *arg);

/* Normal forms of index arithmetic (poly.c). */
expr ir_poly_binary(enum ir_op op, expr a, expr b); /* ADD, SUB, MUL */
expr ir_poly_floordiv(expr a, expr b);
expr ir_poly_mod(expr a, expr b);
/* A fixed order of expressions that does not depend on the pool. */
int ir_order(expr a, expr b);

#endif
