/* What the windows of a thread's elements read: each place once, neighbours as vectors (window_reads.c). */
#ifndef TPAT_SCHED_WINDOW_READS_H
#define TPAT_SCHED_WINDOW_READS_H

#include "sched/rule.h"

/* A vector of memory of which several elements are read. */
struct window_vector {
	const struct ir_buffer *buf;
	expr at, where;            /* where: what guards all that is read of it; null: always read */
	int width, reads;          /* how many of its elements are read */
	struct ir_variable *array; /* null: it does not stand yet */
};

struct window_reads {
	struct ir_program *p;
	struct {
		VEC(struct window_vector);
	} vectors;
	struct {
		VEC(expr);
	} loads; /* that were found */
	struct {
		VEC(expr);
	} read, name; /* what is read, as it is used, and the variables that hold it */
};

/* First for each value of a thread (of a kernel's expressions), then again: the value with variables in place of what
 * it reads, which are declared when they are first met. */
void window_reads_find(struct window_reads *r, expr value);
expr window_reads_emit(struct window_reads *r, struct ir_block *b, expr value);

#endif
