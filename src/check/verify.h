/* Verification: runs a plugin through its own interface, as an engine does, and compares it with a tensor program in
 * the interpreter, for random shapes and values. Knows no models, only a program and a plugin's name. */
#ifndef TPAT_CHECK_VERIFY_H
#define TPAT_CHECK_VERIFY_H

#include "dev/dev.h"
#include "engine/engine.h"
#include "ir/ir.h"

/* A library opened on a device by a host that acts as this version of the engine. `device`: as for dev_open(); "cpu"
 * and "emulator" compile the C or CUDA texts in `folder`/kernels on first use. Memory comes from `a`. Errors: as the
 * engine's host and dev_open(). */
struct verify;
int verify_open(struct verify **out, const struct engine *engine, const struct engine_version *version,
                const char *library, const char *device, const char *folder, struct arena *a, struct err *e);
void verify_close(struct verify *v);                    /* null is fine */
const char *verify_device_name(const struct verify *v); /* "NVIDIA H100 80GB HBM3" */

/* Given facts about one of the program's inputs; zeroed: all random. */
struct verify_input {
	const struct tensor *tensor; /* its value, or null */
	int rank;                    /* extents for a random value; -1: random too */
	int64_t dim[IR_MAX_RANK];
};

struct verify_case {
	const char *plugin, *version, *name_space;
	const struct ir_program *reference;
	const struct verify_input *input; /* one per program input */
	uint64_t seed;
	const struct ir_demand *demand; /* of the whole model, over symbols of the same names; random extents also
	                                   satisfy those on the program's symbols */
	int demands;
	int runs;         /* number of random runs; 0: 3, or 1 if extents are fixed and a run takes many operations */
	int times;        /* measurements of the first run, with each tactic; 0: none */
	double most_work; /* verify_draw skips results that take more operations (sample_work); 0: no limit */
	const char *dump; /* path of the .npz to write if results differ */
	bool (*stop)(void *user); /* asked before each run; true: ERR_CANCELLED. May be null */
	void *user;
};

enum { VERIFY_MOST_TACTICS = 16 };

struct verify_result {
	bool passed;
	struct err failure;           /* the plugin did not run; code 0: it ran */
	bool lacks;                   /* what it needs is not here: memory, code for the GPU, a compiler that works */
	const char *inputs, *outputs; /* "f32[4,3], f32[3]", of the worst run */
	const char *output;           /* name of the output with the worst element */
	int64_t elements, differing;  /* over all runs and outputs */
	double max_absolute, max_relative;
	const char *worst; /* "[2,1]: got 1.5, want 1.25"; "" if all are equal */
	/* The surroundings of the first element beyond the tolerance, in the first output that has one: a line for
	 * each,
	 * "[2,1] got 1.5, want 1.25", and "> " or "  " before it. "": all agree. */
	const char *near;
	const char *first; /* the first element of the first tensor that differs, and its neighbours; null: unknown */
	bool dumped;
	struct map launched; /* names of the kernels that ran; empty on a GPU, which does not tell */
	const char *note;    /* how results were compared where rounding errors grow: sentences; or null */
	int tactics; /* with `times`: number of tactics, of which ns[t] has that many measurements, in nanoseconds */
	double *ns[VERIFY_MOST_TACTICS];
};

/* Runs the case; texts are in `a`. A plugin that fails or differs is a result, not an error. Errors: ERR_USAGE if given
 * tensors do not fit the program or no fitting shapes were found; ERR_DEVICE, ERR_USAGE for files; ERR_CANCELLED. */
int verify_run(struct verify_result *out, struct verify *v, const struct verify_case *c, struct arena *a,
               struct err *e);

/* ---- Inside: random inputs (verify_draw.c). */

/* Makes the inputs of run `run` and their reference results (`want`; null: not needed; TYPE_NONE if that is too much
 * work). Picks random extents until the program accepts them. Errors: as verify_run(). */
int verify_draw(struct tensor *inputs, struct tensor *want, const struct verify_case *c, int run, struct arena *a,
                struct err *e);

/* True if all runs of the case have the same extents: the program's own, or given ones. */
bool verify_fixed(const struct verify_case *c);

/* Settings of a non-GPU device for the plugin loaded next; zeroed: defaults. */
struct verify_play {
	bool may_race;                /* see dev_source */
	int arch;                     /* run kernels of this architecture; 0: of any */
	struct verify_stages *stages; /* are told of each launch; or null */
	struct map *launched;         /* gets the names of kernels; or null */
	bool lacks;                   /* set when the device fails, not what runs on it */
};

/* verify_time.c: measures runs on the device with its events: a host_memory.again. `ns`: one per measurement. */
struct verify_timer {
	struct dev *dev;
	double *ns;
	int times;
};
int verify_time(void *timer, int (*run)(void *of, struct err *e), void *of, struct err *e);

/* verify_device.c: wraps a struct dev as the runtime's device, with the plugins' texts (`play` is read on each load);
 * and as the host's memory. */
void verify_rt_device(struct tpat_rt_device *out, struct dev *d, const char *folder, struct verify_play *play,
                      struct arena *a);
struct host_memory verify_memory(struct dev *d, struct verify_play *play, struct arena *a);
/* Returns an integer tensor's elements as a shape input's values. */
const int64_t *verify_values(const struct tensor *t, struct arena *a);

/* verify_text.c: "[2,1]", the place of element i; "[2,1]: got 1.5, want 1.25", of the worst element; and
 * verify_result.near. */
void verify_place(struct str *s, const struct tensor *t, int64_t i);
char *verify_worst_text(const struct tensor *t, const struct tensor_difference *d, struct arena *a);
char *verify_near_text(const struct tensor *got, const struct tensor *want, int64_t first, struct arena *a);

#endif
