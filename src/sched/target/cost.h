/* The cost model's formulas and constants: docs/cost-model.md. Facts of the GPU are struct sched_target's; what no data
 * sheet has is measured, and stands in one table. Nothing here knows rules. */
#ifndef TPAT_SCHED_COST_H
#define TPAT_SCHED_COST_H

#include "base/error.h"
#include "sched/target/target.h"

/* What was measured of an architecture: cost.def says what each number is, calibration.def has the rows. */
struct cost_table {
	int arch; /* it was measured on; others take the nearest before it */
#define COST(NAME, UNIT, WHAT) double NAME;
#include "sched/target/cost.def"
#undef COST
};

/* The constants' names, units and places, in the order of cost.def; a null name ends them. */
struct cost_column {
	const char *name, *unit, *what;
	size_t at; /* of a double in struct cost_table */
};
extern const struct cost_column cost_columns[];

/* The target's own row, or that of its architecture, or of the nearest before it. */
const struct cost_table *cost_table(const struct sched_target *t);
/* Reads a row as bench/calibrate writes it, "CALIBRATION(90, .mixed_clock = 0.75, ...)", with comments. ERR_MODEL
 * where a number is missing, unknown or not above zero. */
int cost_table_read(struct cost_table *out, const char *text, struct err *e);

/* Instructions of single threads that all multiprocessors issue in a nanosecond. */
double cost_mixed_rate(const struct sched_target *t);
double cost_steady_rate(const struct sched_target *t);
double cost_counted_clock(const struct sched_target *t); /* GHz */
/* Nanoseconds that instructions, barriers and shared memory take, which took `ns` on an H100 SXM at its boost clock: as
 * many clocks. Waits for memory are about as long on all GPUs. */
double cost_wait(const struct sched_target *t, double ns);
/* Bytes that the whole GPU moves in a nanosecond: tiles out of the L2 cache, by warps; by the copy engine; from memory,
 * one multiprocessor with all of it to itself. */
double cost_tiles_rate(const struct sched_target *t);
double cost_bulk_rate(const struct sched_target *t);
double cost_alone_rate(const struct sched_target *t);
/* The share of what is read again that is no longer in the L2 cache, where so many bytes came in between: half of them,
 * if these are as many as it holds. */
double cost_missed(const struct sched_target *t, double bytes);
/* Threads of the whole GPU that reach memory's rate, with 16 bytes on their way each. */
double cost_full_threads(const struct sched_target *t);
/* Bytes of a multiprocessor that must be on their way to reach memory's rate, where blocks read all before they
 * compute. */
double cost_in_flight(const struct sched_target *t);

#endif
