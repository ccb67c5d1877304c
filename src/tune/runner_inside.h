/* Inside src/tune/: a plan on a device, its memory and its times. */
#ifndef TPAT_TUNE_RUNNER_INSIDE_H
#define TPAT_TUNE_RUNNER_INSIDE_H

#include "ir/buffers.h"
#include "tune/tune.h"

/* A kernel that runs. */
struct runner_step {
	const struct ir_kernel *kernel;
	struct dev_kernel *function;
};

/* Launches recorded for timing (runner_time.c). */
struct runner_timing {
	struct tune_runner *r;
	struct dev_graph *graph; /* null: the device has no graphs */
	struct dev_event *from, *to;
	int rounds;
	double once; /* approximate ns of one run; 0: not recorded yet */
};

struct tune_runner {
	const struct ir_plan *plan;
	struct dev *dev;
	struct {
		VEC(struct dev_module *);
	} modules;
	struct {
		VEC(struct runner_step);
	} steps;
	const struct tensor *const *inputs;
	struct ir_inputs values; /* determine the symbols */
	struct ir_launcher launcher;
	void **memory; /* index copy * buffers + id, after a guard zone; inner buffers are shared by all copies */
	size_t *bytes; /* by id */
	int copies;
	struct tune_pool *pool; /* or null */
	double moved;
	struct runner_timing *timing; /* null: not recorded yet */
	struct arena *arena;
};

/* Launches all steps on one copy of the inputs and outputs. */
int runner_run_once(struct tune_runner *r, int copy, struct err *e);

/* ---- Memory (runner_memory.c). */
/* Computes all buffer sizes, and the number of copies of inputs and outputs that together exceed `rotate` bytes. */
int runner_measure_buffers(struct tune_runner *r, size_t rotate, struct err *e);
int runner_allocate(struct tune_runner *r, struct err *e);
void runner_free_memory(struct tune_runner *r);
void *runner_memory(const struct tune_runner *r, int copy, const struct ir_buffer *b);

#endif
