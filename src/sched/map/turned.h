/* Inside src/sched/map/: maps that read along another axis than they write, such as transpositions (turned.c). */
#ifndef TPAT_SCHED_TURNED_H
#define TPAT_SCHED_TURNED_H

#include "sched/rule.h"

enum { MAX_TURNED = 4 };

/* The map with merged axes, and the loads that are contiguous along axis `b`; the result is contiguous along `a`. */
struct turned {
	struct ir_program *p;
	const struct ir_stage *s;
	expr value;
	int rank, a, b;
	expr dim[IR_MAX_RANK], axis[IR_MAX_RANK]; /* axis: AXIS nodes */
	expr condition;                           /* of the loads; null: none */
	int loads;
	expr load[MAX_TURNED];
};

/* Merges axes that are neighbours in all buffers. Returns false if the stage is no such map. */
bool turned_find(struct turned *t, struct ir_program *p, const struct ir_stage *s);
/* True if every factor of the position, a polynomial, is a multiple of `width`. */
bool turned_aligned(expr position, int width);
/* Declares the axes that are taken, or all others, from their flat position. */
void turned_axes(struct turned *t, struct ir_block *b, expr n, const bool *taken, bool others, expr *axis);
/* The bytes of an element's loads, and of the narrowest and the widest of them. */
int turned_load_bytes(const struct turned *t, int *least, int *most);
/* How blocks share the elements. */
struct turned_blocks {
	double blocks, bytes; /* bytes of a whole block, loaded */
	double over;          /* elements of the blocks, also past the edges, for each of the map */
	double access;        /* bytes of the narrowest access of a thread */
	double slower;        /* the time of the accesses to memory as a multiple of the usual one */
	double passes_ns;     /* of the banks of shared memory */
	double resident;      /* blocks at once on a multiprocessor */
};
/* Estimated nanoseconds. */
double turned_time(const struct turned *t, const struct turned_blocks *b, const struct sched_target *target);
/* The result's flat position. */
expr turned_place(const struct turned *t, const expr *axis);

#endif
