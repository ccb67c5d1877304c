/* The cost model's formulas and constants: docs/cost-model.md. Facts of a GPU are in struct sched_target; constants
 * that no data sheet has are measured and kept in one table. Nothing here depends on rules. */
#ifndef TPAT_SCHED_COST_H
#define TPAT_SCHED_COST_H

#include "base/error.h"
#include "sched/target/target.h"

/* Measured constants of an architecture: cost.def describes each number, calibration.def has the rows. */
struct cost_table {
	int arch; /* measured on; an architecture without a row uses the nearest older one */
#define COST(NAME, UNIT, WHAT) double NAME;
#include "sched/target/cost.def"
#undef COST
};

/* The constants' names, units and offsets, in the order of cost.def; a null name ends them. */
struct cost_column {
	const char *name, *unit;
	size_t at; /* offset of the double in struct cost_table */
};
extern const struct cost_column cost_columns[];

/* Returns the target's own row, else that of its architecture, else of the nearest older one. */
const struct cost_table *cost_table(const struct sched_target *t);

/* Thread instructions per nanosecond, of all multiprocessors together. */
double cost_mixed_rate(const struct sched_target *t);
double cost_steady_rate(const struct sched_target *t);
double cost_counted_clock(const struct sched_target *t); /* GHz */
/* Scales a time of instructions, barriers and shared memory, `ns` on an H100 SXM at its boost clock, to this GPU's
 * clock. Memory latency is about the same on all GPUs, and is not scaled. */
double cost_wait(const struct sched_target *t, double ns);
/* The part of a launch's time that a kernel takes if it follows another one, which ends while it begins. Measured on an
 * H200 in quantised convolutions of few channels, as a map and a plain sum or as one kernel. */
double cost_following(const struct sched_target *t);
/* Bytes per nanosecond. Tiles from the L2 cache into shared memory, whole GPU, copied by warps; the same by the copy
 * engine; from memory, one block while nothing else runs. */
double cost_tiles_rate(const struct sched_target *t);
double cost_bulk_rate(const struct sched_target *t);
double cost_alone_rate(const struct sched_target *t);
/* The time of so many clocks of tensor cores in nanoseconds: the clock falls in the first microseconds under that load.
 */
double cost_mma_time(const struct sched_target *t, double clocks);
/* The L2 miss rate of a second read after `bytes` other bytes: one half if these are the cache's size. */
double cost_missed(const struct sched_target *t, double bytes);
/* Number of threads on the whole GPU that reach the memory bandwidth with 16 bytes in flight each. */
double cost_full_threads(const struct sched_target *t);
/* The share of a full GPU's rate that threads reach which fill the share `fill`: at most 1, and never nothing. */
double cost_rate_reached(double fill);
/* Nanoseconds of threads that would take `time` on a full GPU, of which they fill the share `fill` (above 1: all of
 * it). Whatever is idle, no thread takes longer than its `instructions` and `waits` nanoseconds for memory. */
double cost_of_threads(const struct sched_target *t, double time, double fill, double instructions, double waits);
/* Bytes in flight per multiprocessor that reach the memory bandwidth, if blocks load everything before they compute. */
double cost_in_flight(const struct sched_target *t);

#endif
