/* Shared by the files of src/run/. */
#ifndef TPAT_RUN_RUN_INSIDE_H
#define TPAT_RUN_RUN_INSIDE_H

#include "base/map.h"
#include "base/threads.h"
#include "ir/launch.h"
#include "run/run.h"

/* ---- run_memory.c: device memory that later tensors use again. The device's queue is in order, so a block may be
 * given back as soon as its last reader is launched. */
struct run_block {
	void *at;
	size_t bytes;
	bool free;
};
struct run_memory {
	struct dev *dev;
	struct arena *arena;
	size_t held; /* bytes */
	struct {
		VEC(struct run_block);
	} blocks;
};
int run_memory_take(void **out, struct run_memory *m, size_t bytes, const char *name, struct err *e);
void run_memory_give(struct run_memory *m, const void *at);
void run_memory_give_all(struct run_memory *m);
void run_memory_free(struct run_memory *m);

enum { RUN_ALIGNMENT = 256 }; /* bytes, of device memory: kernels load vectors */

/* ---- A tensor of the graph: on the host, on the device, or both. */
struct run_value {
	const struct graph_value *value;
	struct tensor tensor; /* data null: not on the host */
	void *at;             /* null: not on the device */
	int ref;              /* what `at` is: see run_repeat.c */
	bool shared;          /* several values have this memory */
	bool given_back;
};

/* Consecutive nodes with their compiled program. */
struct run_piece {
	const int *node;
	int nodes;
	struct graph_region *region;
	struct ir_program *program; /* null: the nodes are not one program */
	int prefix;                 /* then as many of the first nodes are */
	bool on_host;               /* the interpreter computes these few numbers, which the host needs anyway */
	struct run_piece *next;     /* with the same hash */
	const struct ir_plan *plan; /* null: not scheduled yet, or interpreted */
	struct dev_module *module;  /* null: not compiled yet, or without kernels; equal pieces have the same */
	void **constant;            /* by buffer id: device memory of constants, once they are there */
	bool too_large;             /* the last run failed since sizes that it computes may be too large for others */
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

struct run_launches {
	VEC(struct run_launch);
};

/* ---- Recorded runs. */

/* What an address is: that of an input or of a result in the caller's memory; 0: the session's own. */
#define RUN_INPUT(i) (1 + (i))
#define RUN_RESULT(i) (-1 - (i))

enum run_from { RUN_FROM_HOST, RUN_FROM_DEVICE, RUN_FROM_ODD, RUN_FROM_NOWHERE }; /* odd: a misaligned address */

struct run_recorded_input {
	struct tensor tensor;
	enum run_from from;
	void *at; /* the session's own, to which it is copied; from the device: the last run's */
};
struct run_recorded_output {
	struct run_tensor result;
	int input; /* it is this input; -1: none */
	int ref;   /* what its memory is */
	void *now; /* its place in the present run */
};
struct run_patch { /* an argument that is an address */
	void *arg;
	int ref;
	struct tpat_rt_map_values *map; /* it is a tensor map of these values; null: a pointer */
};
enum { RUN_MISSED = 8 };
struct run_record {
	struct arena *arena; /* holds this struct */
	uint64_t used;       /* the number of the last run that was this one */
	uint64_t missed[RUN_MISSED];
	unsigned misses; /* addresses of inputs, hashed, for which it was not the one; the last ones in `missed` */
	struct run_recorded_input *in;
	struct run_recorded_output *out;
	struct run_launches launches;
	struct {
		VEC(struct run_patch);
	} patches;
	struct run_counts counts;
	struct dev_graph *graph; /* the launches with the last run's addresses; null: none */
	int steady, graphs;      /* repeats with the same addresses; graphs made */
};

/* What sessions of one model share. */
struct run_shared {
	struct run_codes codes;
	struct arena *arena;
	struct run_memory memory; /* of constants */
	size_t weights;           /* bytes of constants */
	struct map constants;     /* struct run_value, by name */
	struct map gains;         /* of graph_turn() */
	struct {
		VEC(struct run_piece *);
	} pieces;
	struct map piece;   /* struct run_piece, by a hash of its nodes */
	struct map modules; /* struct dev_module, by text */
};

struct run_session {
	struct run_device on;
	struct run_watch watch;
	struct graph *graph;
	struct arena *arena;
	struct run_shared *shared;
	struct run_memory memory; /* of the runs */
	bool also;                /* another session closes what is shared */
	bool locked;              /* it holds the lock of what is shared */

	/* The last run. */
	struct arena *run;
	struct map values; /* struct run_value, by name: inputs and nodes' results */
	struct run_launches launches;
	struct run_counts *counts, own_counts; /* counts: the caller's, or own_counts */
	struct graph_value *const *want;       /* results of the run, `wants` */
	int wants;
	const struct run_places *places; /* null: results are in the session's memory */
	struct run_record *record;       /* in the making; null: none */

	bool graphs; /* repeat steady runs as graphs */
	struct {
		VEC(struct run_record *);
	} records;
	uint64_t repeats; /* runs that were recorded or repeated one */
};

/* run_lock.c: between these two, while the device works, the session does not hold the lock of what is shared. */
void run_unlock(struct run_session *s);
void run_lock(struct run_session *s);

/* run_value.c: the value in host memory, or in device memory. */
int run_value_host(struct run_session *s, struct run_value *v, struct err *e);
int run_value_device(struct run_session *s, struct run_value *v, struct err *e);
/* Device memory with these bytes for as long as the session is open. */
int run_constant(void **out, struct run_session *s, const void *data, size_t bytes, const char *name, struct err *e);
/* The caller's memory for a result of the run with these extents, and what it is; null: none. */
int run_value_place(void **at, int *ref, struct run_session *s, const struct graph_value *v, const struct tensor *t,
                    struct err *e);

/* run_program.c: compiles a piece's program unless it is compiled, runs it, and keeps the launches. `outputs`: filled;
 * their tensors have no data unless the interpreter made them. */
int run_program(struct run_session *s, struct run_piece *p, struct run_value *const *inputs, struct run_value *outputs,
                struct err *e);

/* run_host.c: what the interpreter computes. run_reads(): the program needs elements of the input, not only extents. */
bool run_is_host_work(const struct run_piece *p);
bool run_reads(const struct ir_program *p, int input);
int run_interpret(struct run_session *s, struct ir_program *p, const struct tensor *const *in,
                  struct run_value *outputs, struct err *e);

/* run_program.c: only compiles it. `inputs` null: open extents count as the target says. */
int run_program_compile(struct run_session *s, struct run_piece *p, struct ir_inputs *inputs, struct err *e);

/* run_time.c: launches all; or records them as a graph. */
int run_launches(struct dev *d, const struct run_launches *l, struct err *e);
int run_launches_graph(struct dev_graph **out, struct dev *d, const struct run_launches *l, struct err *e);

/* run_repeat.c: records a run while it goes on, unless something stops it, and repeats it. */
void run_record_begin(struct run_session *s, const struct run_tensor *in);
void run_record_stop(struct run_session *s); /* another run may launch something else */
void run_record_end(struct run_session *s, const struct run_tensor *out);
void run_record_free_all(struct run_session *s);
struct run_record *run_record_find(struct run_session *s, const struct run_tensor *in); /* null: none */
/* *done false: nothing was run, since a result has no place this time. */
int run_record_repeat(struct run_tensor *out, struct run_session *s, struct run_record *x, const struct run_tensor *in,
                      const struct run_places *places, bool *done, struct err *e);

#endif
