/* Runs a scheduled program's generated .cu text on the emulator or a device, with the launches of a plugin. */
#ifndef TPAT_TESTS_PLAN_RUN_H
#define TPAT_TESTS_PLAN_RUN_H

#include "ir/kernel.h"
#include "tune/tune.h"

/* `inputs`: one per program input. `outputs`: filled, memory in `a`. The emulator checks every launch, and every
 * element of the outputs must be written. `arch`: of the emulated GPU, 90 for sm_90; kernels for another one do not
 * run; 0: any. Errors: ERR_DIFFER with the emulator's report. */
int plan_run_emulated(const struct ir_plan *plan, int arch, const struct tensor *const *inputs, struct tensor *outputs,
                      struct arena *a, struct err *e);

/* The same launches on a device, with `code` compiling each kernel for these extents as its own text without the
 * model's names, so that programs share it. Poisons outputs first. Renames the program's buffers. */
int plan_run_on(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                const struct tensor *const *inputs, struct tensor *outputs, struct arena *a, struct err *e);

/* The same for tensors too large for the host: `inputs` give only the extents. `fill` writes an input of `bytes` on the
 * device; `take` inspects output number `output`. */
struct plan_edges {
	int (*fill)(void *user, const struct ir_buffer *input, void *at, size_t bytes, struct err *e);
	int (*take)(void *user, int output, const void *at, struct err *e);
	void *user;
};
int plan_run_edges(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                   const struct tensor *const *inputs, const struct plan_edges *edges, struct arena *a, struct err *e);

/* Fills out[plan->steps.n] with each step's kernel for these inputs' extents on a GPU of `arch`; null if its grid is
 * empty. */
int plan_kernels(const struct ir_kernel **out, const struct ir_plan *plan, int arch, const struct tensor *const *inputs,
                 struct err *e);

/* Requests from `code` what plan_run_on() would, for a GPU of `arch`, without running it. */
int plan_compile(const struct tune_code *code, int arch, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct arena *a, struct err *e);

#endif
