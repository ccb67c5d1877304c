/* Inside ir/: polynomials of index arithmetic. See poly.c. */
#ifndef TPAT_IR_POLY_H
#define TPAT_IR_POLY_H

#include "ir/pool.h"

enum {
	POLY_FACTORS = 12,
	POLY_TERMS = 64,
};

struct poly_term {
	int64_t c;
	int n;
	expr factor[POLY_FACTORS]; /* sorted by ir_order */
};

struct poly {
	int n;
	bool failed; /* too large, or a coefficient overflows: the caller keeps the plain node */
	struct poly_term term[POLY_TERMS];
};

int poly_order(const struct poly_term *a, const struct poly_term *b); /* by factors; the constant comes last */
void poly_add(struct poly *p, const struct poly_term *t);
void poly_multiply(struct poly *out, const struct poly_term *a, const struct poly_term *b); /* out += a * b */
void poly_collect(struct poly *p, expr e, int64_t scale);                                   /* p += scale * e */
expr poly_build(struct ir_pool *pool, const struct poly *p);

#endif
