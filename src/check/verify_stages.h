/* The stages of a case in the reference and on the device, to find where results begin to differ. */
#ifndef TPAT_CHECK_VERIFY_STAGES_H
#define TPAT_CHECK_VERIFY_STAGES_H

#include "engine/engine.h"
#include "ir/ir.h"
#include "tensor/npy.h"

struct dev;

/* A tensor that the program makes: the result of a stage, or an output. */
struct verify_stage {
	const struct ir_buffer *buf;
	struct tensor want, got; /* got: TYPE_NONE where the kernels do not store it, or the device does not tell */
};

struct verify_stages {
	struct {
		VEC(struct verify_stage);
	} all; /* in the order of the program's stages; what a loop's body makes is local to it and not here */
	struct dev *dev;
	struct arena *arena;
	struct host_memory inner; /* that verify_stages_memory() wraps */
	const char *begin, *end;  /* of the workspace; null: none */
};

/* Runs the reference and keeps the result of every stage. Errors: as eval_program(). Memory comes from `a`. */
int verify_stages_new(struct verify_stages **out, const struct ir_program *p, const struct tensor *const *inputs,
                      struct dev *d, struct arena *a, struct err *e);
/* The same memory, but the stages know its workspace. */
struct host_memory verify_stages_memory(struct verify_stages *s, const struct host_memory *inner);
/* Sets the device's result of a stage; and whether the program has such a stage. */
void verify_stages_set(struct verify_stages *s, const struct ir_buffer *of, const struct tensor *got);
bool verify_stages_has(const struct verify_stages *s, const struct ir_buffer *of);
/* After a launch: copies the buffers that the kernel was called with and whose names are those of stages. `args`: as
 * for tpat_rt_device.launch. */
void verify_stages_launched(struct verify_stages *s, const struct tpat_rt_plugin *plugin,
                            const struct tpat_rt_kernel *kernel, void **args);
/* "mean[3,1]: got 1.5, want 1.25; from mean[3,0] on: got 2, 1.5, 7; want 2, 1.25, 7": the first element beyond its
 * tolerance, of the first tensor that has one, and its neighbours along the last axis. Null if there is none.
 * `tolerance` gives a tensor's. */
const char *verify_stages_first(const struct verify_stages *s,
                                struct tensor_tolerance (*tolerance)(void *user, const struct tensor *want), void *user,
                                struct arena *a);
/* Appends "want_NAME", and "got_NAME" where it is known, for all tensors. Returns the new number of entries; `entry`
 * has room for two for each of them. */
int verify_stages_entries(const struct verify_stages *s, struct npz_entry *entry, int n, struct arena *a);

/* ---- Formats (verify_format.c): `all` are the engine's. */
/* Makes the tensor as it is in memory in a format; padding is not a number. */
int verify_store(struct tensor *out, const struct tensor *t, const struct engine_layout *all, int32_t format,
                 struct arena *a, struct err *e);
/* Makes memory for it; verify_restore() reads the tensor from there, and returns false if padding is not zero. */
int verify_stored(struct tensor *out, const struct tensor *t, const struct engine_layout *all, int32_t format,
                  struct arena *a, struct err *e);
bool verify_restore(struct tensor *t, const struct tensor *from, const struct engine_layout *all, int32_t format);

#endif
