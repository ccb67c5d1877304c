/* The cost model's formulas and constants: docs/cost-model.md. Facts of the GPU are struct sched_target's; what no data
 * sheet has is measured, and stands in one table. Nothing here knows rules. */
#ifndef TPAT_SCHED_COST_H
#define TPAT_SCHED_COST_H

#include "sched/target/target.h"

/* What was measured of an architecture. Fractions are of the fact that is named; times are nanoseconds. */
struct cost_table {
	int arch; /* it was measured on; others take the nearest before it */
	/* Of the boost clock, at which instructions are issued: of kernels with a bit of everything; of long stretches
	 * of arithmetic; of a warp's instructions, counted one by one; of tensor cores, by warps; by warpgroups. */
	double mixed_clock, steady_clock, counted_clock, mma_clock, wgmma_clock;
	double way;         /* ns in which bytes come from memory: with 16 bytes a thread this many are on their way */
	double stream_way;  /* the same where a block first reads all of what it works on */
	double alone_bytes; /* that one multiprocessor moves in a clock, with all memory to itself */
	double tiles_cache; /* of the L2 cache's rate: tiles that warps' products read */
	double bulk_cache;  /* the same by the copy engine; may be more than a gather reaches */
	double tiles_wait;  /* ns: tiles that go on from those before them, from the first to the last */
	double wave;        /* maps: ns of a wave of threads at least */
	double norm;        /* maps: of the norm that puts limits together: 1: their sum, large: the largest */
	double access, apart; /* maps: cycles of a warp's access at least; more time of the bytes for each further
	                       * plane */
	double rows_way;      /* ns: a wave's rows come, the row's elements beside each other; */
	double across_way;    /* across memory */
	double mma_way;       /* cycles until tiles are in shared memory, of products by warps; */
	double attend_way;    /* of attention's tiles */
	double shared_bytes;  /* that shared memory gives in a clock */
	double functions;     /* exponentials and the like in a clock and multiprocessor */
};
const struct cost_table *cost_table(const struct sched_target *t);

/* Instructions of single threads that all multiprocessors issue in a nanosecond. */
double cost_mixed_rate(const struct sched_target *t);
double cost_steady_rate(const struct sched_target *t);
double cost_counted_clock(const struct sched_target *t); /* GHz */
/* Bytes that the whole GPU moves in a nanosecond: tiles out of the L2 cache, by warps; by the copy engine; from memory,
 * one multiprocessor with all of it to itself. */
double cost_tiles_rate(const struct sched_target *t);
double cost_bulk_rate(const struct sched_target *t);
double cost_alone_rate(const struct sched_target *t);
/* Threads of the whole GPU that reach memory's rate, with 16 bytes on their way each. */
double cost_full_threads(const struct sched_target *t);
/* Bytes of a multiprocessor that must be on their way to reach memory's rate, where blocks read all before they
 * compute. */
double cost_in_flight(const struct sched_target *t);

#endif
