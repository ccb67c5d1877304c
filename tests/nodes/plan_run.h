/* Runs a scheduled program's generated .cu text on the emulator: the same launches that a plugin would make. */
#ifndef TPAT_TESTS_PLAN_RUN_H
#define TPAT_TESTS_PLAN_RUN_H

#include "ir/kernel.h"

/* `inputs`: one a program's input. `outputs`: filled, memory in `a`. Every launch is checked by the emulator, and every
 * element of the outputs must have been written. `arch`: of the GPU that is played, 90 for sm_90, so that kernels for another one
 * do not run; 0: any. Errors: ERR_DIFFER with the emulator's report. */
int plan_run_emulated(const struct ir_plan *plan, int arch, const struct tensor *const *inputs, struct tensor *outputs,
                      struct arena *a, struct err *e);

#endif
