/* Measures scheduled programs on a device: prepares a plan, checks it against the reference, and times it. */
#ifndef TPAT_TUNE_TUNE_H
#define TPAT_TUNE_TUNE_H

#include "check/sample.h"
#include "gen/language.h"

/* A plan loaded on a device, with memory for its buffers. Launches rotate over several copies of inputs and outputs, so
 * that no launch finds its data in the cache. */
struct tune_runner;

/* A source of code: `compile` may find it in a cache or compile it like dev.compile. */
struct tune_code {
	int (*compile)(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a, struct err *e);
	void *user;
	const struct language *language; /* of its texts */
};

/* Memory kept from freed runners for later ones, with the inputs already in it. Belongs to one device. */
struct tune_pool;
/* Returns an empty pool for device `d`. The arena holds the struct, the device the memory: see tune_pool_empty(). */
struct tune_pool *tune_pool_new(struct dev *d, struct arena *a);
void tune_pool_empty(struct tune_pool *p); /* frees the device memory; null is fine */

struct tune_setup {
	size_t rotate;                /* total bytes of all copies of inputs and outputs; 0: one copy */
	const struct tune_code *code; /* null: the device compiles the whole plan as one text; else one text per kernel
	                               */
	struct tune_pool *pool;       /* or null; its runners share inputs by their tensors' addresses */
};

/* `inputs`: one tensor per program input (copied); they determine the symbols. Errors: ERR_DEVICE from the compiler,
 * the driver, or for lack of memory; ERR_MODEL for extents that no kernel fits. Free with tune_runner_free(), also
 * after a failure. */
int tune_runner_new(struct tune_runner **out, struct dev *d, const struct ir_plan *plan,
                    const struct tensor *const *inputs, const struct tune_setup *setup, struct arena *a, struct err *e);
void tune_runner_free(struct tune_runner *r); /* null is fine */

/* Default `rotate`: more than any GPU's cache. The processor is only for experiments. */
static inline size_t tune_rotated_bytes(bool gpu)
{
	return (size_t)(gpu ? 256 : 32) << 20;
}

/* Minimum traffic in bytes: each input read once, each output written once. */
double tune_runner_bytes(const struct tune_runner *r);
int tune_runner_kernels(const struct tune_runner *r); /* launches of one run */

/* Runs once on the first copy, after poisoning its outputs, and fetches the outputs: into their existing memory if
 * types and extents match, else into `a`. */
int tune_runner_outputs(struct tune_runner *r, struct tensor *outputs, struct arena *a, struct err *e);

/* Times a single run on the first copy, to see whether the candidate is worth more. */
int tune_runner_once(struct tune_runner *r, double *ns, struct err *e);

/* After runs: the name of a buffer with writes outside its bounds, or null. */
int tune_runner_overrun(struct tune_runner *r, const char **buffer, struct err *e);

/* Requests from `code` everything that a runner would, without running it. */
int tune_compile(const struct ir_plan *plan, const struct tensor *const *inputs, const struct tune_code *code,
                 struct arena *a, struct err *e);

/* Nanoseconds of one run: the median of `repeats` replays of a recorded graph that covers all copies; *spread is (third
 * quartile - first quartile) / median. */
int tune_runner_time(struct tune_runner *r, double *ns, double *spread, int repeats, struct err *e);

/* The same in pieces, to alternate two runners: record (once) and warm up, which estimates the time of one run; then
 * take samples. The median sorts the samples; `spread` may be null. */
int tune_runner_warm(struct tune_runner *r, double *once_ns, struct err *e);
int tune_runner_sample(struct tune_runner *r, double *ns, struct err *e);
int tune_runner_runs(const struct tune_runner *r);     /* of a sample; once warm */
double tune_runner_clock(const struct tune_runner *r); /* the device's clock now, in MHz; 0: unknown */
void tune_runner_cool(struct tune_runner *r);          /* drops the recorded graph */
double tune_median(double *sample, int n, double *spread);

/* The reference for results. */
struct tune_reference {
	const struct ir_program *program;
	const struct tensor *const *inputs;
	const struct tensor *want;   /* the interpreter's results */
	const struct sample *sample; /* or sampled elements; null: all of `want` */
	struct arena *arena;         /* for the members below, computed on demand */
	struct tensor *bound, *most; /* error bounds of elements (check/error_bound.h); the largest of each output */
};

/* True if outputs equal the reference within the types' tolerances or their error bounds; *worst describes the worst
 * element. One in 10,000 8-bit integers may be off by one: quantisation rounds sums that another order moves over a
 * tie. */
bool tune_same(const struct tensor *got, struct tune_reference *r, const char **worst, struct arena *a);
/* True if outputs agree with `other`, complete outputs of which tune_same() checked a sample. */
bool tune_agrees(const struct tensor *got, const struct tensor *other, struct tune_reference *r, const char **worst,
                 struct arena *a);

struct sched_target;

/* Lower bounds of a program's time on a device, at these inputs' extents, and the largest of them: "memory" for the
 * minimum traffic, "arithmetic" (multiply-adds; products of 16-bit and narrower elements on tensor cores), "launch" of
 * its kernels. The last two are 0 for devices without known GPU rates. */
struct tune_roofline {
	double operations;
	double memory_ns, arithmetic_ns, launch_ns;
	const char *bound;
};
struct tune_roofline tune_roofline(const struct ir_program *p, const struct tensor *const *inputs,
                                   const struct dev_props *d, const struct sched_target *t, double bytes,
                                   double bytes_per_ns, int kernels);

/* The device's memory bandwidth in bytes per nanosecond: reads plus writes of the fastest of a few copy kernels over
 * buffers of `bytes` each. */
int tune_copy_rate(struct dev *d, double *bytes_per_ns, size_t bytes, struct arena *a, struct err *e);

#endif
