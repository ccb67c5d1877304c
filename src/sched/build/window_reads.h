/* Reads of the windows of a thread's elements: each position once, neighbours as vectors (window_reads.c). */
#ifndef TPAT_SCHED_WINDOW_READS_H
#define TPAT_SCHED_WINDOW_READS_H

#include "sched/rule.h"

/* An aligned vector in memory of which several elements are read. */
struct window_vector {
	const struct ir_buffer *buf;
	expr at, where;            /* where: condition common to all its reads; null: always read */
	int width, reads;          /* reads: number of its elements that are read */
	struct ir_variable *array; /* null: not declared yet */
};

struct window_reads {
	struct ir_program *p;
	expr symbol; /* an extent of the read tensors that is a multiple of `multiple`; null: none is known */
	int multiple;
	struct {
		VEC(struct window_vector);
	} vectors;
	struct {
		VEC(expr);
	} loads; /* found so far */
	struct {
		VEC(expr);
	} read, name; /* the reads as the value uses them, and their variables */
};

/* Call window_reads_find() for each value of a thread first, then window_reads_emit() for each: it returns the value
 * with variables in place of the reads, and declares a variable at its first use. Values are kernel expressions. */
void window_reads_find(struct window_reads *r, expr value);
expr window_reads_emit(struct window_reads *r, struct ir_block *b, expr value);

#endif
