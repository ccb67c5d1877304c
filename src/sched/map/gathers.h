/* Gathers: reads at data-dependent positions, as in grid sampling. A position is computed once for all planes that
 * share it (gathers.c). */
#ifndef TPAT_SCHED_GATHERS_H
#define TPAT_SCHED_GATHERS_H

#include "sched/build/axes.h"

enum { GATHERS_MAX = 32, GATHERS_MAX_SHARED = 48, GATHERS_MAX_VECTORS = 4, GATHERS_MAX_STRIDE = 4 };

/* One gather: a load, or a select between it and a constant. */
struct gather {
	expr node;        /* the node in the value */
	expr load, where; /* where: null: always */
	expr other;
	bool sure; /* evaluated unconditionally: in bounds whenever `where` holds */
};

/* Adjacent loads of neighbouring elements, such as the two or three coordinates of a position: one vector for all. */
struct gather_vector {
	const struct ir_buffer *buf;
	struct ir_variable *array;
	int stride;                    /* elements per position */
	expr load[GATHERS_MAX_STRIDE]; /* one per element */
};

struct gathers {
	struct ir_program *p;
	int axis; /* the axis of the planes */
	int n;
	struct gather at[GATHERS_MAX];
	int shared;
	expr what[GATHERS_MAX_SHARED + GATHERS_MAX]; /* common subexpressions of the positions, operands first; then
	                                              * the gathers */
	expr with[GATHERS_MAX_SHARED + GATHERS_MAX]; /* their variables */
	int vectors;
	struct gather_vector vector[GATHERS_MAX_VECTORS];
	int inner, width;
	expr lane; /* number of the position, for gathers_vector_item() */
};

/* Finds the gathers of a value whose positions do not depend on that axis. False if there are none or too many, or if
 * a position is only valid under a condition. */
bool gathers_find(struct gathers *g, struct ir_program *p, expr value, int axis);
bool gathers_decided(expr index); /* true if the index is data-dependent: it contains a load */

/* The vectors of `width` positions along `inner`, from `axis` on; unaligned loads stay scalar. gathers_load_vectors
 * loads them into new arrays, or into existing ones if `declared`. gathers_vector_item is the callback for struct axes,
 * with `lane` set; user: the gathers. */
void gathers_find_vectors(struct gathers *g, expr value, int inner, int width, const expr *axis);
void gathers_declare_vectors(const struct gathers *g, struct ir_block *b);
void gathers_load_vectors(const struct gathers *g, struct ir_block *b, const expr *axis, bool declared);
expr gathers_vector_item(void *user, expr e, expr flat);

/* Declares the common subexpressions of a position; later expressions use their variables. */
void gathers_emit_shared(struct gathers *g, struct ir_block *b, const struct axes *here);
/* Returns the value's expression e with variables for common subexpressions and with[i] for gather i (with is null if e
 * has no gathers). */
expr gathers_replace(struct gathers *g, expr e, const expr *with);

#endif
