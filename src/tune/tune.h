/* Measuring scheduled programs on a device: a plan made ready to run, checked against the reference, and timed. */
#ifndef TPAT_TUNE_TUNE_H
#define TPAT_TUNE_TUNE_H

#include "check/sample.h"
#include "gen/language.h"

/* A plan loaded on a device, with memory for its buffers. Inputs and outputs stand there several times: launches take
 * them in turn, so that nothing of one launch is in the cache for the next. */
struct tune_runner;

/* Where code comes from: `compile` may find it somewhere, or make it as dev.compile does. */
struct tune_code {
	int (*compile)(void *user, struct dev_code *out, const struct dev_source *s, struct arena *a, struct err *e);
	void *user;
	const struct language *language; /* of its texts */
};

/* Memory of runners that are gone, for those to come: inputs stand in it already. It belongs to one device. */
struct tune_pool;
struct tune_pool *tune_pool_new(struct dev *d, struct arena *a);
void tune_pool_empty(struct tune_pool *p); /* gives the device's memory back; null is fine */

struct tune_setup {
	size_t rotate;                /* bytes that the copies of inputs and outputs shall span together; 0: one copy */
	const struct tune_code *code; /* null: the device compiles the whole plan as one text; else each kernel that
	                                 runs is one */
	struct tune_pool *pool;       /* or null. Then runners share inputs by their tensors' addresses */
};

/* `inputs`: one tensor for each of the program's inputs (copied); they decide the symbols. Errors: ERR_DEVICE from the
 * compiler, the driver, or when memory is out; ERR_MODEL for extents that no kernel fits. To be freed with
 * tune_runner_free(), also after a failure. */
int tune_runner_new(struct tune_runner **out, struct dev *d, const struct ir_plan *plan,
                    const struct tensor *const *inputs, const struct tune_setup *setup, struct arena *a, struct err *e);
void tune_runner_free(struct tune_runner *r); /* null is fine */

/* What inputs and outputs shall span together: more than any GPU's cache holds; the processor is there to try things
 * out. */
static inline size_t tune_rotated_bytes(bool gpu)
{
	return (size_t)(gpu ? 256 : 32) << 20;
}

/* The bytes that must move: each input read once, each output written once. */
double tune_runner_bytes(const struct tune_runner *r);
int tune_runner_kernels(const struct tune_runner *r); /* launches of one run */

/* Runs once with the first copy, whose outputs are poisoned before, and fetches the outputs: into the memory that they
 * have, where they have their types and extents already, else into `a`. */
int tune_runner_outputs(struct tune_runner *r, struct tensor *outputs, struct arena *a, struct err *e);

/* One run with the first copy, timed by itself: whether it is worth more. */
int tune_runner_once(struct tune_runner *r, double *ns, struct err *e);

/* After runs: the name of a buffer beside which something was written, or null. */
int tune_runner_overrun(struct tune_runner *r, const char **buffer, struct err *e);

/* Asks `code` for all that a runner would, and runs nothing. */
int tune_compile(const struct ir_plan *plan, const struct tensor *const *inputs, const struct tune_code *code,
                 struct arena *a, struct err *e);

/* Nanoseconds of one run: the median of `repeats` replays of a recorded graph that runs through all copies; *spread is
 * (third quartile - first quartile) / median. */
int tune_runner_time(struct tune_runner *r, double *ns, double *spread, int repeats, struct err *e);

/* The same in pieces, to time two runners by turns: record and warm up (what is recorded already stays so), giving
 * about how long one run takes; then samples. The median sorts the samples; `spread` may be null. */
int tune_runner_warm(struct tune_runner *r, double *once_ns, struct err *e);
int tune_runner_sample(struct tune_runner *r, double *ns, struct err *e);
void tune_runner_cool(struct tune_runner *r); /* forgets what was recorded */
double tune_median(double *sample, int n, double *spread);

/* What results are compared with. */
struct tune_reference {
	const struct ir_program *program;
	const struct tensor *const *inputs;
	const struct tensor *want;   /* the interpreter's results */
	const struct sample *sample; /* or some elements of them; null: all of `want` */
	struct arena *arena;         /* for what follows, which is found when it is needed */
	struct tensor *bound, *most; /* how far elements may be from the reference (check/error_bound.h); the largest of
	                                each */
};

/* Whether outputs are what the interpreter gave, within the types' tolerances or else within the bounds of their
 * errors; *worst a text for people. Of 8-bit integers one in 10,000 may be the next number: quantisation rounds what
 * sums in another order have moved over a tie. */
bool tune_same(const struct tensor *got, struct tune_reference *r, const char **worst, struct arena *a);
/* Whether outputs agree with `other`, whole outputs that tune_same() found right by a sample. */
bool tune_agrees(const struct tensor *got, const struct tensor *other, struct tune_reference *r, const char **worst,
                 struct arena *a);

/* What a program takes at least on a device, at these inputs' extents, and the largest of these: "memory" for the bytes
 * that must move, "arithmetic" (multiply-adds; products of 16-bit and narrower elements on tensor cores), "launch" of
 * its kernels. Of what has no GPU's rates the last two are 0. */
struct tune_roofline {
	double operations;
	double memory_ns, arithmetic_ns, launch_ns;
	const char *bound;
};
struct tune_roofline tune_roofline(const struct ir_program *p, const struct tensor *const *inputs,
                                   const struct dev_props *d, double bytes, double bytes_per_ns, int kernels);

/* The device's best rate for moving bytes, in bytes a nanosecond: reads plus writes of a few copy kernels over buffers
 * of `bytes` each, the fastest of them. */
int tune_copy_rate(struct dev *d, double *bytes_per_ns, size_t bytes, struct arena *a, struct err *e);

#endif
