/* Inside rule flat: the vectors that a thread loads (flat_vectors.c). */
#ifndef TPAT_SCHED_FLAT_VECTORS_H
#define TPAT_SCHED_FLAT_VECTORS_H

#include "sched/rule.h"

/* A load whose elements are contiguous where the thread's are, and its vector. */
struct flat_load {
	expr load, apart; /* apart: its position less the element's, over the axes before `first` */
	bool shifted;     /* the vector begins anywhere; else it is aligned */
	bool sure;        /* evaluated for all elements */
	struct ir_variable *array;
	expr start; /* its first element in the kernel */
};

/* A map in vectors. */
struct flat {
	struct ir_program *p;
	const struct ir_stage *s;
	int inner, width, piece; /* the last axis; elements per thread; per piece, which divides width */
	expr own;                /* position of an element, over its axes */
	int first;               /* shifted vectors lie within the axes from this one on */
	bool *sure;              /* by node: evaluated for all elements */
	bool *positional;        /* by node: evaluated for all elements, or where conditions on positions hold */
	struct {
		VEC(struct flat_load);
	} found;
	expr lane; /* of an element in the thread's vectors */
};

/* Fills `found`; `shifted`: also with vectors that are not aligned. Returns the number of these. */
int flat_find_vectors(struct flat *f, bool shifted);
/* The vector of a load; null: it is none. */
const struct flat_load *flat_find_load(const struct flat *f, expr load);
/* The first axis from which on e is the same everywhere. */
int flat_first_axis(const struct flat *f, expr e);
/* The number of elements of the axes from `first` on. */
expr flat_together(const struct flat *f, int first);

#endif
