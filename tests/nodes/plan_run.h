/* Runs a scheduled program's generated .cu text on the emulator or a device, with a plugin's launches. */
#ifndef TPAT_TESTS_PLAN_RUN_H
#define TPAT_TESTS_PLAN_RUN_H

#include "ir/kernel.h"
#include "tune/tune.h"

/* `inputs`: one for each input of the program. Fills `outputs`, with memory from `a`. The emulator checks every launch,
 * and that every element of the outputs is written. `arch`: architecture of the emulated GPU, 90 for sm_90; kernels for
 * another one do not run; 0: any. Errors: ERR_DIFFER with the emulator's report. */
int plan_run_emulated(const struct ir_plan *plan, int arch, const struct tensor *const *inputs, struct tensor *outputs,
                      struct arena *a, struct err *e);

/* The same launches on a device. `code` compiles each kernel that runs at these extents as a text of its own, without a
 * model's names, so that programs share it. Poisons the outputs first. Renames the program's buffers. */
int plan_run_on(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                const struct tensor *const *inputs, struct tensor *outputs, struct arena *a, struct err *e);

/* The same for tensors too large for the host: `inputs` only have extents. `fill` writes an input of this many bytes on
 * the device; `take` checks output `output` of the program. */
struct plan_edges {
	int (*fill)(void *user, const struct ir_buffer *input, void *at, size_t bytes, struct err *e);
	int (*take)(void *user, int output, const void *at, struct err *e);
	void *user;
};
int plan_run_edges(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                   const struct tensor *const *inputs, const struct plan_edges *edges, struct arena *a, struct err *e);

/* Writes to out[plan->steps.n] the kernel of each step that runs at these inputs' extents on a GPU of `arch`; null if
 * it has no blocks. */
int plan_kernels(const struct ir_kernel **out, const struct ir_plan *plan, int arch, const struct tensor *const *inputs,
                 struct arena *a, struct err *e);

/* Compiles what plan_run_on() would, for a GPU of `arch`, without running it. */
int plan_compile(const struct tune_code *code, int arch, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct arena *a, struct err *e);

#endif
