/* Runs programs and whole models with tpat's own kernels, without an inference engine. */
#ifndef TPAT_RUN_RUN_H
#define TPAT_RUN_RUN_H

#include "dev/dev.h"
#include "graph/graph.h"
#include "sched/sched.h"

struct run_device {
	struct dev *dev;            /* null: the interpreter */
	struct sched_target target; /* for schedules; ignored by the interpreter */
};

/* Runs an optimised program once. `inputs`: one tensor per input, which determine the symbols; `outputs`: filled, data
 * in `a`. *kernels (may be null) grows by the number of launches. Errors: ERR_DEVICE from compiler and device;
 * ERR_MODEL for extents that do not fit; those of eval_program(). */
int run_program(const struct run_device *on, struct ir_program *p, const struct tensor *const *inputs,
                struct tensor *outputs, int *kernels, struct arena *a, struct err *e);

struct run_counts {
	int nodes, pieces, kernels;
};

/* Runs the main graph, whose inputs `in` gives in their order, and fills one tensor per output. A piece is as many
 * consecutive nodes as one program can have. Errors: as run_program(); ERR_UNSUPPORTED names the first node that tpat
 * does not support. */
int run_graph(struct tensor *out, struct run_counts *counts, const struct run_device *on, struct graph *g,
              const struct tensor *in, struct arena *a, struct err *e);

#endif
