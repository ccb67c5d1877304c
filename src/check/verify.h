/* Verification: a plugin of a library through its own interface, as its engine calls it, against a tensor program in
 * the interpreter, for drawn extents and values. Knows no models; what it compares is a program and a plugin's name. */
#ifndef TPAT_CHECK_VERIFY_H
#define TPAT_CHECK_VERIFY_H

#include "dev/dev.h"
#include "engine/engine.h"
#include "ir/ir.h"

/* A library opened on a device. `device`: as dev_open() takes it; on "cpu" and "emulator" the kernels are the C
 * or CUDA texts in `folder`/kernels, compiled when first needed. Memory comes from `a`. Errors: as the
 * engine's host and dev_open(). */
struct verify;
int verify_open(struct verify **out, const struct engine *engine, const char *library, const char *device,
                const char *folder, struct arena *a, struct err *e);
void verify_close(struct verify *v);                                                  /* null is fine */
const struct tpat_rt_plugin *verify_plugin(const struct verify *v, const char *name); /* null: not in the library */
const char *verify_device_name(const struct verify *v);                               /* "NVIDIA H100 80GB HBM3" */

/* What to know of one of the program's inputs; all zero: everything is drawn. */
struct verify_input {
	const struct tensor *tensor; /* its value, or null */
	int rank;                    /* extents without a value; -1 where they are drawn, too */
	int64_t dim[IR_MAX_RANK];
};

struct verify_case {
	const char *plugin, *version, *name_space;
	const struct ir_program *reference;
	const struct verify_input *input; /* one for each of the program's inputs */
	uint64_t seed;
	const struct ir_demand *demand; /* of the whole model, over symbols of the same names: drawn extents keep those
	                                 * too whose symbols the program has */
	int demands;
	int runs;         /* draws */
	double most_work; /* verify_draw computes no results that take more than that (sample_work); 0: all */
	const char *dump; /* path of the .npz that is written when results differ */
};

struct verify_result {
	bool passed;
	struct err failure;           /* the plugin could not run; code 0: it ran */
	const char *inputs, *outputs; /* "f32[4,3], f32[3]": of the run that is told of, the worst one */
	const char *output;           /* name of the output with the worst element */
	int64_t elements, differing;  /* of all runs and outputs */
	double max_absolute, max_relative;
	const char *worst; /* "[2,1]: got 1.5, want 1.25"; "" when all are equal */
	bool dumped;
};

/* Runs the case; texts are in `a`. A plugin that fails or differs is a result, not an error. Errors: ERR_USAGE where
 * given tensors do not fit the program or no extents that fit could be drawn; ERR_DEVICE, ERR_USAGE for files. */
int verify_run(struct verify_result *out, struct verify *v, const struct verify_case *c, struct arena *a,
               struct err *e);

/* ---- Inside: drawing (verify_draw.c). */

/* Inputs of run `run` for the program, and what it gives for them (`want`; null: nobody asks; of TYPE_NONE where that
 * would be too much work). Extents that nothing gives are drawn until the program takes them. Errors: as
 * verify_run(). */
int verify_draw(struct tensor *inputs, struct tensor *want, const struct verify_case *c, int run, struct arena *a,
                struct err *e);

/* What a device that is no GPU plays for the plugin that is loaded next; all zero: nothing. */
struct verify_play {
	bool may_race; /* see dev_source */
	int arch;      /* the architecture whose kernels run; 0: those of any */
};

/* verify_device.c: the runtime's device as a struct dev, with the plugins' texts (`play` is read when needed); and a
 * struct dev as the host's memory. */
void verify_rt_device(struct tpat_rt_device *out, struct dev *d, const char *folder, const struct verify_play *play,
                      struct arena *a);
struct host_memory verify_memory(struct dev *d);
/* A list of integers as a shape input's values. */
const int64_t *verify_values(const struct tensor *t, struct arena *a);

#endif
