/* Shared by the files of src/run/. */
#ifndef TPAT_RUN_RUN_INSIDE_H
#define TPAT_RUN_RUN_INSIDE_H

#include "base/map.h"
#include "run/run.h"

/* ---- run_memory.c: device memory that later tensors use again. The device's queue is in order, so a block may be
 * given back as soon as its last reader is launched. */
struct run_block {
	void *at;
	size_t bytes;
	bool free, kept; /* kept: for later runs too */
};
struct run_memory {
	struct dev *dev;
	struct arena *arena;
	size_t held, weights; /* bytes */
	struct {
		VEC(struct run_block);
	} blocks;
};
int run_memory_take(void **out, struct run_memory *m, size_t bytes, const char *name, struct err *e);
void run_memory_give(struct run_memory *m, const void *at);
void run_memory_keep(struct run_memory *m, const void *at);
void run_memory_give_all(struct run_memory *m); /* except what is kept */
void run_memory_free(struct run_memory *m);

enum { RUN_ALIGNMENT = 256 }; /* bytes, of device memory: kernels load vectors */

/* ---- A tensor of the graph: on the host, on the device, or both. */
struct run_value {
	const struct graph_value *value;
	struct tensor tensor; /* data null: not on the host */
	void *at;             /* null: not on the device */
	bool shared;          /* several values have this memory */
	bool given_back;
};

/* Consecutive nodes with their compiled program. */
struct run_piece {
	const int *node;
	int nodes;
	struct graph_region *region;
	struct ir_program *program; /* null: the nodes are not one program */
	const struct ir_plan *plan; /* null: not scheduled yet, or interpreted */
	struct dev_module *module;  /* null: not compiled yet, or without kernels */
	void **constant;            /* by buffer id: device memory of constants, once they are there */
};

/* A launch with a copy of its arguments. */
struct run_launch {
	const char *piece, *node;
	const struct ir_kernel *kernel;
	struct dev_kernel *function;
	uint32_t grid[3], block[3];
	void **args;
	double bytes;
};

struct run_session {
	struct run_device on;
	struct run_watch watch;
	struct graph *graph;
	struct arena *arena;
	struct run_memory memory;
	struct map constants; /* struct run_value, by name */
	struct {
		VEC(struct run_piece *);
	} pieces;

	/* The last run. */
	struct arena *run;
	struct map values; /* struct run_value, by name: inputs and nodes' results */
	struct {
		VEC(struct run_launch);
	} launches;
	struct run_counts *counts, own_counts; /* counts: the caller's, or own_counts */
	struct graph_value *const *want;       /* results of the run, `wants` */
	int wants;
	const struct run_places *places; /* null: results are in the session's memory */
};

/* run_value.c: the value in host memory, or in device memory. */
int run_value_host(struct run_session *s, struct run_value *v, struct err *e);
int run_value_device(struct run_session *s, struct run_value *v, struct err *e);
/* The caller's memory for a result of the run with these extents; null: none. */
int run_value_place(void **at, struct run_session *s, const struct graph_value *v, const struct tensor *t,
                    struct err *e);

/* run_program.c: compiles a piece's program unless it is compiled, runs it, and keeps the launches. `outputs`: filled;
 * their tensors have no data unless the interpreter made them. */
int run_program(struct run_session *s, struct run_piece *p, struct run_value *const *inputs, struct run_value *outputs,
                struct err *e);

#endif
