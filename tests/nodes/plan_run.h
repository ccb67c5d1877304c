/* Runs a scheduled program's generated .cu text on the emulator or a device: the same launches that a plugin would
 * make. */
#ifndef TPAT_TESTS_PLAN_RUN_H
#define TPAT_TESTS_PLAN_RUN_H

#include "ir/kernel.h"
#include "tune/tune.h"

/* `inputs`: one a program's input. `outputs`: filled, memory in `a`. Every launch is checked by the emulator, and every
 * element of the outputs must have been written. `arch`: of the GPU that is played, 90 for sm_90, so that kernels for
 * another one do not run; 0: any. Errors: ERR_DIFFER with the emulator's report. */
int plan_run_emulated(const struct ir_plan *plan, int arch, const struct tensor *const *inputs, struct tensor *outputs,
                      struct arena *a, struct err *e);

/* The same launches on a device, each kernel that runs at these extents compiled by `code` as a text of its own without
 * a model's names, so that programs share it. Outputs are poisoned before. The program's buffers have other names
 * afterwards. */
int plan_run_on(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                const struct tensor *const *inputs, struct tensor *outputs, struct arena *a, struct err *e);

/* The same for tensors that have no place on the host: `inputs` say the extents alone. `fill` writes an input of so
 * many bytes on the device; `take` looks at output number `output` of the program. */
struct plan_edges {
	int (*fill)(void *user, const struct ir_buffer *input, void *at, size_t bytes, struct err *e);
	int (*take)(void *user, int output, const void *at, struct err *e);
	void *user;
};
int plan_run_edges(struct dev *d, const struct tune_code *code, const struct ir_plan *plan,
                   const struct tensor *const *inputs, const struct plan_edges *edges, struct arena *a, struct err *e);

/* Into out[plan->steps.n] the kernel of each step that runs at these inputs' extents on a GPU of `arch`; null where it
 * has no blocks. */
int plan_kernels(const struct ir_kernel **out, const struct ir_plan *plan, int arch, const struct tensor *const *inputs,
                 struct arena *a, struct err *e);

/* Asks `code` for what plan_run_on() would, for a GPU of `arch`, and runs nothing. */
int plan_compile(const struct tune_code *code, int arch, const struct ir_plan *plan, const struct tensor *const *inputs,
                 struct arena *a, struct err *e);

#endif
